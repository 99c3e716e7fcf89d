"""Completion of the command line: which words, and in bash, zsh and fish as they are."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import START
from tests.contract.client import environment
from tests.started import DEADLINE
from tests.terminals import Terminal
from tui_tasks.cli import completion
from tui_tasks.cli.completion import SHELLS
from tui_tasks.cli.main import command_of, main
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, EnsureList
from tui_tasks.core.store import Store

HOSTILE = "$(touch harmed)"
MANY = 300


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tasks.db"
    with Store(str(path)) as store:
        for name, project in (("work", "web"), ("my list", None), (HOSTILE, None), ("\x1b[2Jgone", None)):
            (home,) = store.commit(EnsureList(name, "task", project), actor=f"of {name}", now=START)
            made = store.commit(
                *(AddTask(f"{each} of {name}", home.uid) for each in ("first", "second")), actor="bob", now=START
            )
            store.commit(EditTask(made[0].uid, {"status": "done"}), actor="bob", now=START)
        store.commit(CreatePlan("Release"), actor="bob", now=START)
        store.commit(OpenAsk("Which one?"), actor="bob", now=START)
    monkeypatch.setenv("TUI_TASKS_DB", str(path))
    monkeypatch.chdir(tmp_path)
    return path


class Ended(Exception):
    """The process would have ended."""


def complete(line: str, monkeypatch: pytest.MonkeyPatch, shell: str = "fish") -> list[str]:
    """What a shell is given at the end of a line; for fish without escapes."""
    out, given = os.pipe()
    variables = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": shell}
    for name, value in (variables | {"_ARGCOMPLETE_SUPPRESS_SPACE": "1", "_ARGCOMPLETE_IFS": "\n"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(completion.argcomplete, "autocomplete", _finder(given))
    with contextlib.suppress(Ended):
        completion._complete(command_of)
    os.close(given)
    with os.fdopen(out, encoding="utf-8") as told:
        return told.read().splitlines()


def _finder(given: int):
    def leave(_: int) -> None:
        raise Ended

    def finder(*arguments, **more) -> None:
        with os.fdopen(given, "w", closefd=False) as stream:
            made = completion.argcomplete.CompletionFinder()
            made._init_debug_stream = lambda: None
            made(*arguments, **more, output_stream=stream, exit_method=leave)

    return finder


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tui-tasks sy", ["sync-file"]),
        ("tui-tasks --db x do", ["done", "doctor"]),
        ("tui-tasks ls --st", ["--status"]),
        ("tui-tasks ls --status do", ["done"]),
        ("tui-tasks ls --no", []),
        ("tui-tasks help prot", ["protocol"]),
        ("tui-tasks call tasklist:get_task_", ["tasklist:get_task_logs", "tasklist:get_task_in_progress"]),
        ("tui-tasks ls --list w", ["work"]),
        ("tui-tasks ls --list m", ["my list"]),
        ("tui-tasks mv 1 --to m", ["my list"]),
        ("tui-tasks ls --project ", ["web"]),
        ("tui-tasks add x --agent b", ["bob"]),
        ("tui-tasks agents message b", ["bob"]),
        ("tui-tasks lists rename m", ["my list"]),
        ("tui-tasks --list work done ", ["2"]),
        ("tui-tasks --list work done \\#", ["#2"]),
        ("tui-tasks --list work show ", ["1", "2"]),
        ("tui-tasks --project web done ", ["2"]),
        ("tui-tasks edit 1 --description ", []),
        ("tui-tasks backup task", ["tasks.db"]),
    ],
)
def test_the_words_are_those_that_the_command_takes_and_the_database_has(line, words, database, monkeypatch) -> None:
    found = complete(line, monkeypatch)
    assert [word for word in found if not word.startswith("tasks.db-")] == words


def test_the_runners_are_those_of_the_configuration(database, monkeypatch) -> None:
    file = database.with_name("config.toml")
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(file))
    file.write_text('[runner]\ncommand = ["a"]\n[runner.review]\ncommand = ["b"]\n[runner.fix]\nkind = "claude"\n')
    assert complete("tui-tasks jobs new A p --runner ", monkeypatch) == ["review", "fix"]
    assert complete("tui-tasks jobs edit A --runner r", monkeypatch) == ["review"]


def test_of_tasks_in_several_lists_the_numbers_are_told_with_their_names(database, monkeypatch) -> None:
    with Store(str(database), read_only=True) as store:
        # The list `work` is a project's.
        query = "SELECT id, uid, name FROM task WHERE status = 'pending' AND name NOT LIKE '% of work'"
        rows = store.db.sql(query).fetchall()
    found = complete("tui-tasks done ", monkeypatch, "zsh")
    assert {word.partition(":")[0] for word in found} == {str(number) for number, *_ in rows}
    assert {f"{number}:{name}" for number, _, name in rows if name == "second of my list"} <= set(found)
    uid = rows[0][1]
    assert complete(f"tui-tasks done {uid[:8]}", monkeypatch) == [uid[:8]]
    assert complete(f"tui-tasks done {uid[:12]}", monkeypatch) == [uid[:12]]


def test_the_numbers_that_begin_with_the_typed_digits_are_told(database, monkeypatch) -> None:
    with Store(str(database)) as store:
        (home,) = store.commit(EnsureList("many", "task"), actor="a", now=1)
        first = store.db.scalar("SELECT max(id) FROM task") + 1
        store.commit(*(AddTask(str(at), home.uid) for at in range(first, 130)), actor="a", now=1)
    words = complete("tui-tasks --list many show \\#12", monkeypatch)
    assert words == ["#12", *(f"#{number}" for number in range(120, 130))]
    assert complete("tui-tasks --list many show 0", monkeypatch) == []


def test_a_name_that_cannot_be_printed_is_left_out(database, monkeypatch) -> None:
    words = complete("tui-tasks ls --list ", monkeypatch)
    assert "work" in words
    assert all(word.isprintable() for word in words)
    assert not any("gone" in word for word in words)


@pytest.mark.parametrize("line", ["ls --list ", "done ", "add x --agent ", "ls 'unfinished"])
@pytest.mark.parametrize("made", ["missing", "damaged"])
def test_a_database_that_cannot_be_read_gives_no_words_and_no_trouble(line, made, tmp_path) -> None:
    path = tmp_path / "none" / "x.db" if made == "missing" else tmp_path / "x.db"
    if made == "damaged":
        path.write_bytes(b"nonsense" * 1000)
    line = f"tui-tasks --db {path} {line}"
    variables = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1"}
    env = environment(tmp_path, **variables)
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "tui_tasks"],
        env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, fd, str(tmp_path / f"fd{fd}"), os.O_WRONLY | os.O_CREAT, 0o600) for fd in (1, 2, 8, 9)
        ],
    )
    os.waitpid(pid, 0)
    assert [(tmp_path / f"fd{fd}").read_text() for fd in (1, 2, 8)] == ["", "", ""]
    assert not (tmp_path / "none").exists()


def test_a_long_list_is_looked_at_from_its_top_alone(tmp_path, monkeypatch) -> None:
    with Store(str(tmp_path / "x.db")) as store:
        (home,) = store.commit(EnsureList("long", "task"), actor="bob", now=START)
        store.commit(*(AddTask(f"{at}", home.uid) for at in range(MANY)), actor="bob", now=START)
    monkeypatch.setenv("TUI_TASKS_DB", str(tmp_path / "x.db"))
    assert len(complete("tui-tasks --list long done ", monkeypatch)) == 200
    assert complete("tui-tasks --list long done 29", monkeypatch) == ["29", *(f"29{at}" for at in range(10))]


IMPORTED = """
import os, sys
needless = {"peewee", "msgspec", "textual", "rich", "tui_tasks.core.store", "tui_tasks.dialects.tool_table"}
def leave(status):
    found = needless & set(sys.modules)
    print(*found or ["none"])
    sys.stdout.flush()
    really(status)
really, os._exit = os._exit, leave
from tui_tasks.cli.main import main
main()
"""


@pytest.mark.parametrize("line", ["", "done ", "ls --list ", "call task"])
def test_a_tab_waits_for_no_import_that_it_does_not_need(line, database, tmp_path) -> None:
    line = f"tui-tasks {line}"
    variables = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1", "TUI_TASKS_DB": str(database)}
    command = f'exec "{sys.executable}" -c "$0" 8>"{tmp_path}/words" 9>/dev/null'
    env = environment(tmp_path, **variables)
    done = subprocess.run(["sh", "-c", command, IMPORTED], env=env, capture_output=True, text=True, timeout=DEADLINE)
    assert (done.stdout, done.stderr) == ("none\n", "")
    assert (tmp_path / "words").read_text()


# In the shells themselves


@contextlib.contextmanager
def shell(name: str, folder: Path, database: Path) -> Iterator[Terminal]:
    """A shell that completes `tui-tasks`, with a prompt of its own."""
    if shutil.which(name) is None:
        pytest.skip(f"needs {name}")
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / "tui-tasks").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tui_tasks "$@"\n')
    (binaries / "tui-tasks").chmod(0o700)
    variables = {"TUI_TASKS_DB": str(database), "PATH": f"{binaries}:{os.environ['PATH']}", "PS1": "$ "}
    env = environment(folder, **variables, ZDOTDIR=str(folder), XDG_CONFIG_HOME=str(folder / ".config"))
    command, setup = {
        "bash": (["bash", "--norc", "--noprofile"], 'eval "$(tui-tasks completion bash)"'),
        "zsh": (["zsh", "-d"], 'autoload -U compinit && compinit -u -D; eval "$(tui-tasks completion zsh)"'),
        "fish": (["fish", "--no-config", "--private"], "tui-tasks completion fish | source"),
    }[name]
    (folder / ".zshrc").write_text("PS1='$ '\n")
    terminal = Terminal(command, lines=40, columns=100, piped=False, environment=env)
    try:
        terminal.type(f"cd {folder}; {setup}; echo rea''dy\r")
        terminal.wait_for(lambda: terminal.shows("ready"))
        yield terminal
    finally:
        terminal.close()


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_completes_and_runs_what_an_agent_has_named_as_a_word_alone(name, tmp_path, database) -> None:
    with shell(name, tmp_path, database) as terminal:
        terminal.type("tui-tasks sync-\t")
        terminal.wait_for(lambda: terminal.shows("tui-tasks sync-file"))
        terminal.type("\x15tui-tasks ls --status pending --list my\t")
        terminal.wait_for(lambda: terminal.shows("my\\ list") or terminal.shows("'my list'"))
        terminal.type("\r")
        terminal.wait_for(lambda: terminal.shows("second of my list  [my list, by bob,"))
        terminal.type("tui-tasks ls --status pending --list \\$\t")
        terminal.wait_for(lambda: terminal.shows("harmed"))
        terminal.type("\r")
        terminal.wait_for(lambda: terminal.shows(f'second of {HOSTILE}  ["{HOSTILE}", by bob,'))
        assert not (tmp_path / "harmed").exists()


def test_the_script_is_printed_without_the_database_and_its_library(tmp_path, capsys) -> None:
    for name in SHELLS:
        assert main(["completion", name]) == 0
        assert "tui-tasks" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["completion", "csh"])
