"""A database for the screen in a browser, with what an agent wrote to do harm there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import START
from tests.contract.client import environment
from tui_tasks.core.operations.tasks import AddTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store

HARMFUL = "http://evil.example/x \x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07<script>document.title='owned'</script>"


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("TUI_TASKS_DB", "NO_COLOR", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    with Store(str(tmp_path / "tasks.db")) as store:
        home = task_queries.find_list(store.db, "tasklist")
        assert home is not None
        store.commit(AddTask(f"Ship it {HARMFUL}", home.uid), actor="robin", now=START)
    return tmp_path / "tasks.db"
