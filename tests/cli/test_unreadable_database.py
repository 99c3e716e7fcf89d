"""A database that cannot be read, at the command line: one line says so."""

from __future__ import annotations

import pytest

from tui_tasks.cli import main
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.journal import journal
from tui_tasks.core.read.tasks import json_export, ready_tasks, task_queries
from tui_tasks.core.store import Store


@pytest.mark.parametrize(
    ("command", "broken"),
    [
        (["ls"], (task_queries, "lists")),
        (["ls", "--json"], (json_export, "_pages")),
        (["show", "abc"], (task_queries, "tasks_beginning")),
        (["next"], (ready_tasks, "next_task")),
        (["watch", "--plain"], (journal, "newest")),
    ],
    ids=str,
)
def test_a_database_that_cannot_be_read_is_told_in_one_line(path, monkeypatch, capsys, command, broken) -> None:
    def fail(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with Store(str(path)):
        pass
    monkeypatch.setattr(*broken, fail)
    assert main.main([*command, "--db", str(path)]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"tui-tasks: {path} cannot be read: disk I/O error\n")
