"""A database that is read in a folder where nothing can be made, such as a snapshot or another user's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tui_tasks.cli.main import main
from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is read only, as far as SQLite and we can tell. Root writes wherever a disk lets it."""
    there = tmp_path / "there"
    there.mkdir()
    assert main(["add", "one", "--db", str(there / "x.db")]) == 0
    there.chmod(0o500)
    if os.geteuid() == 0:
        access = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(there) and access(path, mode))
    return there


def names(path: Path) -> list[str]:
    with Store(str(path), read_only=True) as store:
        return [task.name for home in task_queries.lists(store.db) for task in task_queries.tasks(store.db, home.id)]


def test_it_is_read_as_it_stands_and_nothing_is_left_beside_it(folder: Path) -> None:
    before = sorted(folder.iterdir())
    assert names(folder / "x.db") == ["one"]
    assert sorted(folder.iterdir()) == before


def test_a_log_that_cannot_be_read_there_is_named_with_what_to_copy(folder: Path, tmp_path: Path) -> None:
    log = folder / "x.db-wal"
    folder.chmod(0o700)
    log.write_bytes(b"\0" * 64)
    folder.chmod(0o500)
    with pytest.raises(DatabaseRefused, match=r"x\.db-wal.*copy both files"):
        Store(str(folder / "x.db"), read_only=True)
    folder.chmod(0o700)
    log.unlink()
    shutil.copy(folder / "x.db", tmp_path / "copy.db")
    assert names(tmp_path / "copy.db") == ["one"]
