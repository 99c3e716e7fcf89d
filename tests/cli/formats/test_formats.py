"""`export` and `import` as a person calls them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.formats.round_trips import filled
from tui_tasks.cli import main as program
from tui_tasks.cli.formats import progress
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.store import Store
from tui_tasks.formats.table import FORMATS

BOTH_WAYS = [name for name, format_ in FORMATS.items() if format_.is_read and format_.is_written]


class Shell:
    """The program, run in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str, db: Path) -> tuple[int, str, str]:
        """Return the exit status, what was printed and what was said on standard error."""
        status = program.main([words[0], "--db", str(db), *words[1:]])
        printed = self._capsys.readouterr()
        return status, printed.out, printed.err


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


@pytest.fixture
def full(tmp_path: Path) -> Path:
    with Store(str(tmp_path / "full.db")) as store:
        filled(store, 1_770_000_000_000_000)
    return tmp_path / "full.db"


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_tasks_go_out_and_come_back_once_and_a_dry_run_does_neither(shell: Shell, full: Path, name: str) -> None:
    there, other = full.with_name("there"), full.with_name("other.db")
    assert shell("export", name, "-o", str(there), "--dry-run", db=full)[:2] == (0, "would write 4 tasks of 4 lists\n")
    assert not there.exists()
    status, said, lost = shell("export", name, "-o", str(there), db=full)
    assert (status, said) == (0, f"wrote 4 tasks of 4 lists to {there}\n")
    assert ("did not fit: " in lost) == (name != "jsonl")
    would = "4 would be added, 0 would be changed, 0 as they were\n"
    assert shell("import", name, str(there), "--dry-run", db=other)[:2] == (0, would)
    assert shell("import", name, str(there), db=other) == (0, "4 added, 0 changed, 0 as they were\n", "")
    assert shell("import", name, str(there), db=other) == (0, "0 added, 0 changed, 4 as they were\n", "")
    assert shell("undo", db=other)[0] == 0
    with Store(str(other)) as store:
        assert [queries.tasks(store.db, home.id) for home in queries.lists(store.db) if home.total] == []


def test_what_did_not_fit_is_told_by_field_with_how_often(shell: Shell, full: Path) -> None:
    status, text, told = shell("export", "ics", db=full)
    assert status == 0 and text.startswith("BEGIN:VCALENDAR\r\n")
    assert told.splitlines() == [
        "did not fit: the whole task: it has no due date (2 times)",
        "did not fit: domain: no place for it (1 time)",
        "did not fit: links: no place for it (1 time)",
    ]


def test_a_folder_is_named_and_a_file_is_none(shell: Shell, full: Path, tmp_path: Path) -> None:
    status, _, told = shell("export", "backlog.md", db=full)
    assert (status, told) == (1, "tui-tasks: backlog.md is a folder of files: name it by -o FOLDER\n")
    (tmp_path / "empty").mkdir()
    status, _, told = shell("import", "backlog.md", "empty", db=full)
    assert (status, told) == (1, "tui-tasks: empty has no folder `tasks`: name the one that has it\n")


def test_the_folder_of_a_project_has_its_backlog_in_it(shell: Shell, full: Path, tmp_path: Path) -> None:
    (tmp_path / "backlog" / "tasks").mkdir(parents=True)
    (tmp_path / "backlog" / "tasks" / "task-1 - a.md").write_text("---\nid: TASK-1\ntitle: a\n---\n")
    assert shell("import", "backlog.md", ".", db=full)[1] == "1 added, 0 changed, 0 as they were\n"
    assert shell("export", "backlog.md", "-o", ".", db=full)[0] == 0
    assert sorted(path.name.partition(" ")[0] for path in (tmp_path / "backlog" / "tasks").iterdir()) == [
        *(f"task-{number}" for number in range(1, 6))
    ]


def test_a_library_that_is_missing_is_named_with_the_extra(
    shell: Shell, full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "tui_tasks.formats.standards.todo_txt", raising=False)
    monkeypatch.setitem(sys.modules, "pytodotxt", None)
    status, _, told = shell("export", "todo.txt", db=full)
    assert status == 1
    assert told == "tui-tasks: todo.txt needs the library pytodotxt: pip install 'tui-tasks[formats]'\n"


def test_what_a_file_says_wrong_is_told_with_its_place_and_changes_nothing(shell: Shell, full: Path) -> None:
    wrong = full.with_name("wrong.json")
    wrong.write_text(json.dumps([{"title": "fine", "number": 1}, {"title": "\x1b[2J", "number": "\x1b[2J"}]))
    status, _, told = shell("import", "github", str(wrong), db=full)
    assert (status, told) == (1, "tui-tasks: item 2: Expected `int`, got `str` - at `$.number`\n")
    with Store(str(full)) as store:
        assert sum(home.total for home in queries.lists(store.db)) == 4


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_shows_how_far_it_has_come_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    times = iter([0.0, 0.4, 0.6, 0.6, 2.0, 2.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    with progress.ProgressBar("importing", 4) as bar:
        for _ in range(3):
            bar.step()
    assert terminal.getvalue().split("\r")[1:] == [
        "importing [############............] 2 of 4",
        "importing [##################......] 3 of 4",
        "\x1b[K",
    ]
