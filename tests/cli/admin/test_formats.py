"""`export` and `import` as a person calls them."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.formats.round_trips import filled
from tui_tasks.cli import main as program
from tui_tasks.cli import streams
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.formats.format_table import FORMATS
from tui_tasks.installation import install_command

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
    assert ("did not fit: " in lost or "left out: " in lost) == (name != "jsonl")
    would = "4 would be added, 0 would be changed, 0 as they were\n"
    assert shell("import", name, str(there), "--dry-run", db=other)[:2] == (0, would)
    assert shell("import", name, str(there), db=other) == (0, "4 added, 0 changed, 0 as they were\n", "")
    assert shell("import", name, str(there), db=other) == (0, "0 added, 0 changed, 4 as they were\n", "")
    assert shell("undo", db=other)[0] == 0
    with Store(str(other)) as store:
        assert [task_queries.tasks(store.db, home.id) for home in task_queries.lists(store.db) if home.total] == []


def test_what_did_not_fit_is_told_by_field_with_how_often(shell: Shell, full: Path) -> None:
    status, text, told = shell("export", "ics", db=full)
    assert status == 0 and text.startswith("BEGIN:VCALENDAR\r\n")
    assert told.splitlines() == [
        "did not fit: the whole task: it has no due date (2 times)",
        "left out: domain (1 task)",
        "left out: links (1 task)",
    ]


def test_a_folder_is_named_and_a_file_is_none(shell: Shell, full: Path, tmp_path: Path) -> None:
    status, _, told = shell("export", "backlog.md", db=full)
    assert (status, told) == (1, "tui-tasks: backlog.md is a folder of files: name it by -o FOLDER\n")
    (tmp_path / "empty").mkdir()
    status, _, told = shell("import", "backlog.md", "empty", db=full)
    assert (status, told) == (1, "tui-tasks: empty has no folder `tasks`: name the folder that has it\n")


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
    assert told == f"tui-tasks: todo.txt needs the library pytodotxt: {install_command('formats')}\n"


def test_what_a_file_says_wrong_is_told_with_its_place_and_changes_nothing(shell: Shell, full: Path) -> None:
    wrong = full.with_name("wrong.json")
    wrong.write_text(json.dumps([{"title": "fine", "number": 1}, {"title": "\x1b[2J", "number": "\x1b[2J"}]))
    status, _, told = shell("import", "github", str(wrong), db=full)
    assert (status, told) == (1, "tui-tasks: item 2: Expected `int`, got `str` - at `$.number`\n")
    with Store(str(full)) as store:
        assert sum(home.total for home in task_queries.lists(store.db)) == 4


def test_files_that_are_no_tasks_and_all_that_are_invalid_are_listed_by_line(
    shell: Shell, full: Path, tmp_path: Path
) -> None:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "a.md").write_bytes(b"\xef\xbb\xbf---\nid: A-1\ntitle: a\n---\n")
    (tasks / "readme.md").write_text("# Read me\n")
    status, said, told = shell("import", "backlog.md", ".", db=full)
    assert (status, said) == (0, "1 added, 0 changed, 0 as they were\n")
    assert told == "passed over: tasks/readme.md: it begins with no front matter (---)\n"
    assert shell("done", "5", db=full)[0] == 0
    assert shell("export", "backlog.md", "-o", ".", db=full)[0] == 0
    assert (tasks / "a.md").read_bytes() == b"\xef\xbb\xbf---\nid: A-1\ntitle: a\nstatus: Done\n---\n"
    for name in ("x.md", "y.md"):
        (tasks / name).write_text("---\nid: B-1\n---\n")
    status, said, told = shell("import", "backlog.md", ".", db=full)
    missing = "Object missing required field `title`"
    assert (status, said) == (1, "")
    assert told == f"tui-tasks: 2 problems:\n  tasks/x.md: {missing}\n  tasks/y.md: {missing}\n"


def test_sync_file_and_doctor_name_a_clone_that_does_not_merge_by_task(
    shell: Shell, full: Path, tmp_path: Path
) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    assert shell("sync-file", "team.jsonl", "--once", db=full) == (0, "", "")
    status, said, _ = shell("sync-file", "team.jsonl", "--install-merge", db=full)
    assert status == 0
    assert said == "git merges team.jsonl by task in this clone; commit .gitattributes for the others\n"
    assert shell("sync-file", "team.jsonl", "--once", db=full) == (0, "", "")
    git("config", "--remove-section", "merge.tui-tasks")
    named = "git merges team.jsonl line by line in this clone, as the setting merge.tui-tasks.driver is missing: run"
    assert named in shell("sync-file", "team.jsonl", "--once", db=full)[2]
    assert f"! {named}" in shell("doctor", db=full)[1]


def test_one_command_sets_git_up_and_writes_the_file(shell: Shell, full: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    status, said, _ = shell("sync-file", "team.jsonl", "--install-merge", "--once", db=full)
    assert (status, said.startswith("git merges team.jsonl by task")) == (0, True)
    assert (tmp_path / "team.jsonl").read_text().count("\n") >= 4


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_shows_how_far_it_has_come_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    times = iter([0.0, 0.4, 0.6, 0.6, 2.0, 2.0])
    monkeypatch.setattr(streams.time, "monotonic", lambda: next(times))
    with streams.ProgressBar("importing", 4) as bar:
        for _ in range(3):
            bar.step()
    assert terminal.getvalue().split("\r")[1:] == [
        "importing [############............] 2 of 4",
        "importing [##################......] 3 of 4",
        "\x1b[K",
    ]


def test_steps_of_another_kind_begin_a_line_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    times = iter([0.0, 0.1, 0.6, 0.6, 0.7, 0.8, 0.8])
    monkeypatch.setattr(streams.time, "monotonic", lambda: next(times))
    with streams.ProgressBar() as bar:
        bar.show("fetching", 1, 2)
        bar.show("fetching", 2, 2)
        bar.show("checking", 0, 1)
    assert terminal.getvalue().split("\r")[1:] == [
        "fetching [########################] 2 of 2",
        "\x1b[K",
        "checking [........................] 0 of 1",
        "\x1b[K",
    ]


WRITERS = [("export", "jsonl", "-o"), ("sync-file", "--once")]


@pytest.mark.parametrize("command", WRITERS, ids=lambda words: words[0])
def test_a_link_is_followed_to_the_file_that_it_names(shell: Shell, full: Path, command: tuple[str, ...]) -> None:
    target, link = full.with_name("target"), full.with_name("link")
    target.touch(0o640)
    link.symlink_to(target.name)
    assert shell(*command, str(link), db=full)[0] == 0
    assert link.is_symlink()
    assert target.read_text().count("\n") >= 4
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("command", WRITERS, ids=lambda words: words[0])
def test_the_reader_of_a_fifo_gets_the_tasks(shell: Shell, full: Path, command: tuple[str, ...]) -> None:
    fifo = full.with_name("fifo")
    os.mkfifo(fifo)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(fifo.read_bytes)
        assert shell(*command, str(fifo), db=full)[0] == 0
        assert read.result(30).count(b"\n") >= 4
    assert stat.S_ISFIFO(fifo.stat().st_mode)


@pytest.mark.linux
@pytest.mark.parametrize("command", WRITERS, ids=lambda words: words[0])
def test_a_link_of_the_system_to_an_open_pipe_is_written_into(
    shell: Shell, full: Path, command: tuple[str, ...]
) -> None:
    """So `/dev/stdout` leads to a pipe."""
    reading, writing = os.pipe()
    with ThreadPoolExecutor(1) as pool, os.fdopen(reading, "rb") as pipe:
        read = pool.submit(pipe.read)
        status, _, said = shell(*command, f"/proc/self/fd/{writing}", db=full)
        os.close(writing)
        assert (status, read.result(30).count(b"\n") >= 4) == (0, True), said


def test_a_file_that_cannot_be_written_is_named_as_it_was_given(shell: Shell, full: Path) -> None:
    file = full.with_name("nowhere") / "tasks.jsonl"
    status, _, said = shell("export", "jsonl", "-o", str(file), db=full)
    assert status == 1
    assert said == f"tui-tasks export: {file} cannot be used: No such file or directory\n"


@pytest.mark.linux
@pytest.mark.parametrize("command", WRITERS, ids=lambda words: words[0])
def test_a_full_device_is_told_and_stays_a_device(shell: Shell, full: Path, command: tuple[str, ...]) -> None:
    device = full.with_name("full-device")
    device.symlink_to("/dev/full")
    status, _, said = shell(*command, str(device), db=full)
    assert status == 1
    assert f"{device} cannot be used: No space left on device" in said
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_a_new_file_has_the_mode_that_the_umask_allows(shell: Shell, full: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        assert shell("export", "markdown", "-o", str(full.with_name("new.md")), db=full)[0] == 0
        assert full.with_name("new.md").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)
