"""The standard streams of the commands: full, closed, of another encoding; names that are not UTF-8."""

from __future__ import annotations

import json
import os
import select
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import fork_server
from tests.contract.client import environment, line, program
from tests.started import DEADLINE, Started
from tui_tasks.core.store import Store
from tui_tasks.dialects.tool_table import TABLE

FULL = ">/dev/full"


@pytest.fixture
def run(tmp_path: Path, path: Path):
    """Run a command, with redirections behind it in a shell; Python as the environment asks for it."""

    def run(
        command: str, redirected: str = "", given: bytes = b"", stdout: int = subprocess.PIPE, **more: str
    ) -> subprocess.CompletedProcess[bytes]:
        kept = environment(tmp_path, TUI_TASKS_DB=str(path)) | more
        # Python takes it for unset where it is empty.
        if not more.get("PYTHONUNBUFFERED"):
            kept.pop("PYTHONUNBUFFERED", None)
        asked = {name for name in more if name.startswith(("PYTHON", "TUI_TASKS_SQLITE"))} & kept.keys()
        if redirected in ("", FULL) and "$" not in command and not asked:
            words = program(*shlex.split(command))
            with Path(redirected.removeprefix(">") or os.devnull).open("wb") as file:
                out = file if redirected else stdout
                return fork_server.run(
                    words, given, DEADLINE, env=kept, cwd=tmp_path, stdout=out, stderr=subprocess.PIPE
                )
        shell = ["sh", "-c", f'"$@" {command} {redirected}', "sh", *program()]
        return subprocess.run(
            shell,
            input=given,
            env=kept,
            cwd=tmp_path,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=DEADLINE,
            check=False,
        )

    return run


@pytest.fixture
def names(path: Path):
    """The names of the tasks that there are."""

    def names() -> list[str]:
        with Store(str(path)) as store:
            return [name for (name,) in store.db.sql("SELECT name FROM task ORDER BY id")]

    return names


def one_line_error(done: subprocess.CompletedProcess[bytes]) -> str:
    """What standard error has: one line, and no traceback."""
    text = done.stderr.decode()
    assert "Traceback" not in text
    assert "Exception ignored" not in text
    assert text.count("\n") == 1, text
    return text


@pytest.mark.parametrize(("redirected", "unbuffered"), [(FULL, ""), (FULL, "1"), (">&-", "")])
@pytest.mark.parametrize("command", ["ls", "ls --json", "prime", "call tasklist:display", "config", "doctor"])
def test_output_that_cannot_be_written_is_told_in_a_line(run, command: str, redirected: str, unbuffered: str) -> None:
    assert run("add one").returncode == 0
    done = run(command, redirected, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 1
    assert "standard output cannot be written" in one_line_error(done)


PRINTS = """import sys; from tui_tasks.cli import streams
streams.prepare(); sys.stdout.write('x' * 300_000); streams.flush()"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_of_which_only_a_part_has_room_fails(tmp_path: Path, unbuffered: str) -> None:
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 400; "$@" > part', "sh", sys.executable, "-c", PRINTS],
        env=environment(tmp_path, PYTHONUNBUFFERED=unbuffered),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        timeout=DEADLINE,
        check=False,
    )
    assert 0 < (tmp_path / "part").stat().st_size < 300_000
    assert done.returncode == 1
    assert b"OutputFailed: File too large" in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_slow_reader_of_a_pipe_that_does_not_block_gets_all(tmp_path: Path, unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    kept = environment(tmp_path, PYTHONUNBUFFERED=unbuffered)
    with Started([sys.executable, "-c", PRINTS], env=kept, stdout=writing) as prints, os.fdopen(reading, "rb") as pipe:
        os.close(writing)
        assert select.select([pipe], [], [], DEADLINE)[0]
        assert pipe.read() == b"x" * 300_000
        assert prints.wait() == 0


@pytest.mark.parametrize("command", ["--help", "--version", "ls --help"])
def test_help_that_cannot_be_written_is_told_in_a_line(run, command: str) -> None:
    done = run(command, FULL)
    assert done.returncode == 1
    assert "standard output cannot be written" in one_line_error(done)


@pytest.mark.parametrize("redirected", [FULL, ">&-"])
def test_a_task_that_cannot_be_told_of_has_been_added_once(run, names, redirected: str) -> None:
    done = run("add one", redirected)
    assert done.returncode == 1
    assert "what was changed is kept" in one_line_error(done)
    assert names() == ["one"]


def test_a_reader_that_has_gone_ends_a_command_without_a_word(run) -> None:
    assert run("add one").returncode == 0
    reading, writing = os.pipe()
    os.close(reading)
    done = run("ls", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["serve", "mcp"])
@pytest.mark.parametrize("closed", [">&-", "<&-"])
def test_a_channel_without_one_of_its_ends_is_wrong_usage_and_makes_nothing(run, path, command, closed) -> None:
    done = run(f"{command}", closed, line("tasklist:add_task", name="never"))
    assert done.returncode == 2
    assert "must be open" in one_line_error(done)
    assert not path.exists()


def test_a_channel_whose_replies_cannot_be_written_serves_no_more_and_says_why(run, names) -> None:
    two = line("tasklist:add_task", 1, name="one") + line("tasklist:add_task", 2, name="two")
    done = run("serve --no-scheduler", FULL, two)
    assert done.returncode == 1
    assert "replies cannot be written (No space left on device)" in one_line_error(done)
    assert names() == ["one", "two"]


def test_nothing_but_replies_goes_to_a_channel_whose_standard_error_is_closed(run, path: Path) -> None:
    assert run("add one").returncode == 0
    path.chmod(0o666)  # which `serve` says, where it can
    done = run("serve --no-scheduler", "2>&-", line("tasklist:display", 1))
    assert done.returncode == 0
    (reply,) = [json.loads(each) for each in done.stdout.splitlines()]
    assert [task["name"] for task in reply["result"]] == ["one"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_the_encoding_has_no_letter_for_is_escaped(run, encoding: str) -> None:
    name = "é☃\U0001f600"
    assert run(f"add {name}").returncode == 0
    for command in ("prime", f"show {json.loads(run('next --json').stdout)['uid']}", "config"):
        done = run(command, PYTHONIOENCODING=encoding)
        assert (done.returncode, done.stderr) == (0, b""), command
    done = run("ls", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u2603\\ud83d\\ude00" in done.stdout
    (held,) = json.loads(run("ls --json", PYTHONIOENCODING=encoding).stdout.decode(encoding))
    assert held["name"] == name


def test_a_list_for_a_terminal_of_ascii_has_letters_for_glyphs(run) -> None:
    assert run("add one").returncode == 0
    assert run("ls", PYTHONIOENCODING="ascii").stdout.split()[1] == b"p"
    assert run("ls --ascii").stdout.split()[1] == b"p"
    assert run("ls").stdout.decode().split()[1] == "○"


def test_python_without_docstrings_tells_the_same_of_the_tools(run) -> None:
    described = {tool.name: tool.description for tool in TABLE.tools.values() if not tool.human}
    done = run("serve --no-scheduler", given=line("control:hello", tools="all"), PYTHONOPTIMIZE="2")
    assert (done.returncode, done.stderr) == (0, b"")
    hello: dict[str, Any] = json.loads(done.stdout)["result"]
    assert {tool["name"]: tool["description"] for tool in hello["tools"]} == described
    listed = run("call", PYTHONOPTIMIZE="2")
    assert (listed.returncode, listed.stdout) == (0, run("call").stdout)


@pytest.fixture
def strange(tmp_path: Path) -> dict[str, str]:
    """A database at a path that is not UTF-8, as the environment names it."""
    return {"TUI_TASKS_DB": os.fsdecode(os.fsencode(tmp_path) + b"/x\xff.db")}


@pytest.mark.parametrize(
    "command", ["add one", "ls", "prime", "doctor", "config", "call tasklist:display", "backup $(printf 'b\\377.db')"]
)
def test_a_database_may_have_any_name(run, strange, command: str) -> None:
    assert run("add first", **strange).returncode == 0
    done = run(command, **strange)
    assert (done.returncode, done.stderr) == (0, b"")
    done.stdout.decode()


def test_a_reply_that_names_such_a_database_is_sent(run, strange) -> None:
    todos = [{"id": each, "content": each, "status": "pending"} for each in "ab"]
    done = run(
        "serve --no-scheduler", given=line("todo", 1, merge=False, todos=todos) + line("control:hello", 2), **strange
    )
    assert (done.returncode, done.stderr) == (0, b"")
    first, second = [json.loads(each) for each in done.stdout.splitlines()]
    assert first["result"]["metadata"]["checkpoint_path"].endswith("x?.db")
    assert second["ok"]


def test_a_failure_that_names_such_a_database_is_sent(run, strange, tmp_path: Path) -> None:
    assert run("add one", **strange).returncode == 0
    script = 'rm x*.db; echo \'{"tool": "tasklist:display", "id": 2}\''
    given = line("tasklist:display", 1)
    kept = environment(tmp_path) | strange
    with Started(program("serve"), stdin=-1, stdout=-1, stderr=-1, env=kept, cwd=tmp_path) as serve:
        assert serve.stdin is not None
        assert serve.stdout is not None
        serve.stdin.write(given)
        serve.stdin.flush()
        assert json.loads(serve.stdout.readline())["ok"]
        later = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, check=True).stdout
        reply = json.loads(serve.communicate(later, timeout=DEADLINE)[0])
        assert reply["error"]["code"] == "storage_error"
        assert "x?.db is gone" in reply["error"]["message"]
        assert serve.returncode == 0


def test_a_server_at_such_a_path_cannot_be_set_up_and_nothing_is_written(run, strange, tmp_path: Path) -> None:
    done = run("setup claude", **strange)
    assert done.returncode == 1
    assert "not UTF-8" in one_line_error(done)
    assert not (tmp_path / ".mcp.json").exists()


def test_what_is_empty_says_so_beside_the_output(run) -> None:
    assert run("add one").returncode == 0
    assert run("done 1").returncode == 0
    done = run("ls --status pending")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"no task matches\n")


def test_a_driver_that_there_is_not_is_refused(run) -> None:
    assert run("add one").returncode == 0
    done = run("ls", TUI_TASKS_SQLITE_DRIVER="bogus")
    assert done.returncode == 1
    assert one_line_error(done).startswith("tui-tasks: TUI_TASKS_SQLITE_DRIVER=bogus: no such driver; set one of ")
