"""The thread in which a screen writes."""

from __future__ import annotations

from pathlib import Path

from tests.started import DEADLINE
from tui_tasks.clock import Uptime
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.tui.state.database_link import Writer


def test_a_write_after_the_stop_is_written_too(tmp_path: Path) -> None:
    path = str(tmp_path / "tasks.db")
    Store(path).close()
    writer = Writer(path, lambda: Uptime("boot", 0))
    writer.put(lambda store: local_values.put(store.db, "first", 1)).result(DEADLINE)
    writer.stop()
    writer.put(lambda store: local_values.put(store.db, "last", 2)).result(DEADLINE)
    writer.stop()
    store = Store(path)
    assert [local_values.get(store.db, key) for key in ("first", "last")] == [1, 2]
    store.close()
