"""`tui-tasks digest`: what happened while the human was away, from a shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui_tasks import clock
from tui_tasks.cli.main import main
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList, LogTask
from tui_tasks.core.read.digest_entries import PARTS
from tui_tasks.core.store import Store


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A task that has failed, whose agent would have the terminal obey it; the clock stands still."""
    path, now = str(tmp_path / "tasks.db"), clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    with Store(path) as store:
        home = store.commit(EnsureList("Plan", "task"), actor="human", now=now)[0]
        task = store.commit(AddTask("Fix \x1b[31mthe test", home.uid), actor="claude-1", now=now)[0]
        store.commit(EditTask(task.uid, {"status": "failed"}), LogTask(task.uid, "exit 1"), actor="claude-1", now=now)
    return path


def test_it_tells_each_part_with_the_entries_behind_its_lines(database: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["digest", "--db", database]) == 0
    said = capfd.readouterr().out
    assert "\nFailed\n  claude-1  #1 Fix ␛[31mthe test: failed: exit 1  now  [3]\n" in said
    assert "\nFiled\n  claude-1  #1 Fix ␛[31mthe test: filed in Plan  now  [2]\n" in said
    assert "\x1b" not in said


def test_json_has_every_part_and_every_entry(database: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["digest", "--db", database, "--since", "2d", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert list(found) == ["schema_version", "since", "until", "after", "newest", "is_cut", *PARTS]
    (failed,) = found["failed"]
    assert (failed["kind"], failed["agent"], failed["entries"]) == ("task", "claude-1", [3])
    assert found["needs_you"] == []


def test_what_is_no_instant_is_refused_and_nothing_is_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["digest", "--db", str(tmp_path / "none.db"), "--since", "soon"]) == 2
    assert "--since: soon is no instant: give an age" in capfd.readouterr().err
    assert not (tmp_path / "none.db").exists()
