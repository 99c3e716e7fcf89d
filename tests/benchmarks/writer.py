"""Another process that writes: `python -m tests.benchmarks.writer DB RATE` commits edits at that rate until it ends.

Each is a durable change of its own, of one task of the first thousand after the other. On any input it writes one last
name for the first task, prints when that was durable, in seconds of the monotonic clock, and ends.
"""

from __future__ import annotations

import select
import sys
import time
from pathlib import Path
from typing import Final

from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store

LAST: Final = "THE-VERY-LAST-NAME"


def main() -> None:
    """Write."""
    path, rate = Path(sys.argv[1]), float(sys.argv[2])
    with Store(str(path)) as store:
        home = task_queries.find_list(store.db, "task")
        assert home is not None
        uids = [task.uid for task in list_pages.after(store.db, home.id, list_pages.FIRST, 1_000)]
        made, begin = 0, time.monotonic()
        while not select.select([sys.stdin], [], [], max(0.0, begin + made / rate - time.monotonic()))[0]:
            edit = EditTask(uids[made % len(uids)], {"name": f"named {made} times"})
            store.commit(edit, actor="writer", now=time.time_ns() // 1000)
            made += 1
        rate = made / (time.monotonic() - begin)
        store.commit(EditTask(uids[0], {"name": LAST}), actor="writer", now=time.time_ns() // 1000)
        print(time.monotonic(), rate, flush=True)


if __name__ == "__main__":
    main()
