"""What an agent program relies on when it starts a hook (docs: protocol, section 10): real processes."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.client import environment
from tests.hooks.playing import COMMAND, claude, hook, is_silent, spooled
from tests.started import Started
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.store import Store
from tui_tasks.hooks import PROGRAM_NAMES, hook_command
from tui_tasks.hooks.hook_folder import MAX_PAYLOAD, payload_head
from tui_tasks.runner import processes

HOSTILE = {
    "nothing": b"",
    "not JSON": b"\xff\x00 {",
    "an array": b"[1, 2",
    "deep": b"[" * 200_000,
    "an event nobody knows": claude("SomethingNew"),
    "fields of another type": {"session_id": [], "hook_event_name": {"a": 1}, "cwd": 7},
    "a permission of another type": {"hook_event_name": "PermissionRequest", "session_id": None, "tool_input": 7},
    "a lone surrogate": b'{"session_id": "\\ud800", "hook_event_name": "PreToolUse"}',
    "huge": b'{"session_id": "s", "prompt": "' + b"x" * (11 * 1024 * 1024) + b'"}',
}


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hook_is_silent_and_keeps_whatever_comes(tmp_path: Path, payload: object) -> None:
    db = tmp_path / "tasks.db"
    assert is_silent(hook("claude", payload, "--db", str(db), home=tmp_path))
    given_bytes = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    [kept] = spooled(db)
    assert kept.body == given_bytes[:MAX_PAYLOAD]
    assert (kept.head["size"], kept.head["is_cut"]) == (len(given_bytes), len(given_bytes) > MAX_PAYLOAD)
    assert not db.exists()


@pytest.mark.parametrize("program", PROGRAM_NAMES)
def test_a_payload_is_kept_with_who_told_it_where(tmp_path: Path, program: str) -> None:
    db = tmp_path / "tasks.db"
    before = time.time_ns() // 1000
    assert is_silent(hook(program, {"a": 1}, f"--db={db}", "--project", "Ünder the sea", home=tmp_path))
    [kept] = spooled(db)
    assert before <= kept.head.pop("at") <= time.time_ns() // 1000
    assert [int(one.split(":")[0]) for one in kept.head.pop("ancestors").split()] == [
        os.getpid(),
        *processes.ancestors(os.getpid()),
    ]
    assert kept.head == {
        "program": program,
        **processes.identity()._asdict(),
        "cwd": str(Path.cwd()),
        "project": "Ünder the sea",
        "size": 8,
        "is_cut": False,
        "answer": None,
        "wait": 0,
    }


@pytest.mark.linux
def test_a_shell_between_the_agent_and_its_hook_is_not_taken_for_the_agent(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    command = f"true; '{sys.executable}' -m tui_tasks hook codex --db '{db}'; true"
    subprocess.run(["/bin/sh", "-c", command], input=b"{}", env=environment(tmp_path), check=True)
    [kept] = spooled(db)
    assert kept.head["pid"] == os.getpid()


@pytest.mark.linux
def test_claude_code_tells_its_process_for_its_own_sessions_alone(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    with Started([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as agent:
        named = {"CLAUDE_PID": str(agent.pid), "CLAUDE_CODE_SESSION_ID": "s-1"}
        hook("claude", claude("Stop", "s-1"), "--db", str(db), home=tmp_path, **named)
        hook("claude", claude("Stop", "another"), "--db", str(db), home=tmp_path, **named)
        hook("codex", claude("Stop", "s-1"), "--db", str(db), home=tmp_path, **named)
        agent.communicate(b"\n")
    hook("claude", claude("Stop", "s-1"), "--db", str(db), home=tmp_path, **named)
    assert [kept.head["pid"] for kept in spooled(db)] == [agent.pid, os.getpid(), os.getpid(), os.getpid()]


@pytest.mark.linux
def test_the_server_that_runs_the_hooks_of_all_windows_of_codex_is_told_as_shared(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    code = "import subprocess, sys; subprocess.run(sys.argv[2:], input=b'{}', check=True)"
    for program in ("codex", "claude"):
        words = [sys.executable, "-c", code, "app-server", *COMMAND, program, "--db", str(db)]
        subprocess.run(words, env=environment(tmp_path), check=True)
    assert [kept.head.get("is_shared") for kept in spooled(db)] == [True, None]


@pytest.mark.parametrize("arguments", [["cursor"], [], ["--db", "x"]], ids=str)
def test_an_unknown_program_is_exit_2(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run([*COMMAND, *arguments], input=b"{}", capture_output=True, env=environment(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith(b"tui-tasks hook: ")
    assert done.stdout == b""


def test_words_that_nobody_knows_keep_no_agent_from_its_tools(tmp_path: Path) -> None:
    db, log = tmp_path / "tasks.db", tmp_path / "log"
    options = ["--later", "x", "--db", str(db), "--project"]
    assert is_silent(hook("claude", b"{}", *options, home=tmp_path, TUI_TASKS_HOOK_LOG=str(log)))
    assert len(spooled(db)) == 1
    assert "ignored: ['--later', 'x', '--project']" in log.read_text()


def test_the_database_is_named_as_for_every_other_command(tmp_path: Path) -> None:
    by_variable, by_url = tmp_path / "variable.db", tmp_path / "url.db"
    hook("claude", b"1", home=tmp_path, TUI_TASKS_DB=str(by_variable))
    hook("claude", b"2", "--db", f"sqlite://{by_url}", home=tmp_path)
    hook("claude", b"3", "--db", "~/home.db", home=tmp_path)
    hook("claude", b"4", home=tmp_path, XDG_DATA_HOME=str(tmp_path / "data"))
    hook("claude", b"5", home=tmp_path)
    subprocess.run([*COMMAND[:-1], "--db", str(by_url), "hook", "codex"], input=b"6", env=environment(tmp_path))
    assert [one.body for one in spooled(by_variable)] == [b"1"]
    assert [one.body for one in spooled(by_url)] == [b"2", b"6"]
    assert [one.body for one in spooled(tmp_path / "home.db")] == [b"3"]
    assert [one.body for one in spooled(tmp_path / "data" / "tui-tasks" / "tasks.db")] == [b"4"]
    assert [one.body for one in spooled(tmp_path / ".local" / "share" / "tui-tasks" / "tasks.db")] == [b"5"]


def test_trouble_is_told_in_the_log_alone(tmp_path: Path) -> None:
    nowhere, log = tmp_path / "missing" / "tasks.db", tmp_path / "log"
    assert is_silent(hook("claude", b"{}", "--db", str(nowhere), home=tmp_path))
    assert is_silent(hook("claude", b"{}", "--db", str(nowhere), home=tmp_path, TUI_TASKS_HOOK_LOG=str(log)))
    assert is_silent(hook("claude", b"{}", "--db", "mysql://x/y", home=tmp_path, TUI_TASKS_HOOK_LOG=str(log)))
    first, second = log.read_text().splitlines()
    assert "hook claude: FileNotFoundError: " in first
    assert str(nowhere) in first
    assert "mysql databases are not supported" in second
    assert list(tmp_path.iterdir()) == [log]


def test_a_locked_database_and_a_damaged_one_hold_nothing_up(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    Store(str(db)).close()
    with sqlite3.connect(db, isolation_level=None) as locking:
        locking.execute("BEGIN EXCLUSIVE")
        assert is_silent(hook("claude", claude("Stop"), "--db", str(db), home=tmp_path))
    locking.close()
    db.write_bytes(b"damaged")
    assert is_silent(hook("claude", claude("Stop"), "--db", str(db), home=tmp_path))
    assert len(spooled(db)) == 2


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"])
def test_streams_that_are_closed_or_full_are_no_trouble(tmp_path: Path, closed: str) -> None:
    db = tmp_path / "tasks.db"
    command = f"'{sys.executable}' -m tui_tasks hook codex --db '{db}' {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", env=environment(tmp_path), capture_output=True)
    assert is_silent(done)
    assert len(spooled(db)) == 1


def test_a_hook_that_is_interrupted_at_the_terminal_keeps_its_payload_and_is_silent(tmp_path: Path) -> None:
    db = tmp_path / "tasks.db"
    code = (
        "import os, sys\n"
        "from tui_tasks.hooks import hook_command\n"
        "def interrupted(*_): raise KeyboardInterrupt\n"
        "hook_command._may_ask = interrupted\n"
        "(os.mkdir(sys.argv[1] + '-hooks'), os.mkdir(sys.argv[1] + '-hooks/screens'))\n"
        "hook_command.main(['claude', '--db', sys.argv[1]])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(db)], input=b"{}", capture_output=True, env=environment(tmp_path)
    )
    assert is_silent(done)
    assert [kept.body for kept in spooled(db)] == [b"{}"]


def test_a_hook_imports_nothing_that_takes_long(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from tui_tasks.hooks import hook_command\n"
        "assert hook_command.main(['claude', '--db', sys.argv[1]])\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "tasks.db")],
        input=json.dumps(claude("PreToolUse")).encode(),
        capture_output=True,
        env=environment(tmp_path),
        check=True,
    )
    ours = [f"tui_tasks.hooks.{name}" for name in ("hook_folder", "hook_process", "hook_command")]
    assert set(done.stdout.decode().split()) <= {
        "errno",
        "tui_tasks",
        "tui_tasks.hooks",
        "tui_tasks.regular_files",
        *ours,
    }


def test_the_script_routes_a_hook_past_the_command_line(tmp_path: Path) -> None:
    """What `pip` installs; it must work from any folder, by a link, and say so where Python cannot be found."""
    script = Path(__file__).parents[2] / "tui_tasks" / "cli" / "tui-tasks"
    home = tmp_path / "with a space"
    (home / "bin").mkdir(parents=True)
    (home / "pyvenv.cfg").touch()
    (home / "bin" / "tui-tasks").write_text(script.read_text())
    (home / "bin" / "tui-tasks").chmod(0o755)
    (home / "bin" / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (home / "bin" / "python3").chmod(0o755)
    link = tmp_path / "linked"
    link.symlink_to(home / "bin" / "tui-tasks")
    for number, command in enumerate((str(home / "bin" / "tui-tasks"), str(link))):
        db = tmp_path / f"{number}.db"
        done = subprocess.run(
            [command, "hook", "gemini", "--db", str(db)], input=b"{}", capture_output=True, env=environment(tmp_path)
        )
        assert is_silent(done)
        assert len(spooled(db)) == 1
    version = subprocess.run([str(link), "--version"], capture_output=True, env=environment(tmp_path), text=True)
    assert version.stdout.startswith("tui-tasks ")


@settings(max_examples=50, deadline=None)
@given(body=st.binary(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps).map(str.encode))
def test_any_payload_is_kept_as_it_came(tmp_path_factory: pytest.TempPathFactory, body: bytes) -> None:
    db = tmp_path_factory.mktemp("spool") / "tasks.db"
    with hook_command.Folder(f"{db}-hooks", make=True) as folder:
        head = payload_head("claude", {"pid": 1}, "", len(body), len(body))
        hook_command._carry_out(folder, "claude", head, body)
    assert [kept.body for kept in spooled(db)] == [body]


@pytest.mark.parametrize(("named", "is_kept"), [("s-1", False), ("claude", False), ("s-2", True), ("", True)])
def test_a_hook_of_an_agent_that_a_run_supervises_leaves_the_telling_to_its_supervisor(
    tmp_path: Path, named: str, is_kept: bool
) -> None:
    db = tmp_path / "tasks.db"
    environ = {"TUI_TASKS_SUPERVISED": named}
    assert is_silent(hook("claude", claude("Stop"), "--db", str(db), home=tmp_path, **environ))
    assert (tmp_path / "tasks.db-hooks").exists() == is_kept
