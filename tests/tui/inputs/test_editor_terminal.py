"""$EDITOR, and being stopped by the shell, on a real terminal: the screen steps aside and is back as it was."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.terminals import Terminal
from tests.tui.plan import Plan
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store

pytestmark = pytest.mark.linux  # children of a process are told by /proc

Start = Callable[..., Terminal]
VIM = pytest.mark.skipif(shutil.which("vim") is None, reason="needs vim")
PIPED = pytest.mark.parametrize("piped", [False, True], ids=["alone", "with an agent on the pipe"])


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(tmp_path / "auth.db")


@pytest.fixture
def start(plan: Plan, tmp_path: Path) -> Iterator[Start]:
    """Start a program, as a rule the screen on the plan, on a terminal of its own."""
    with contextlib.ExitStack() as running:
        environment = {"TUI_TASKS_CONFIG": str(tmp_path / "config.toml"), "TUI_TASKS_DB": plan.path}
        environment |= {"HOME": str(tmp_path), "VISUAL": "", "PS1": "shell> "}

        def start(*command: str, editor: str = "", piped: bool = False) -> Terminal:
            whole = command or (sys.executable, "-m", "tui_tasks", "--no-scheduler")
            terminal = Terminal(
                whole,
                lines=24,
                columns=80,
                piped=piped,
                environment={**environment, "EDITOR": editor, "PS1": "shell> "},
            )
            running.callback(terminal.close)
            if not command:
                terminal.wait_for(lambda: terminal.shows("Ship auth flow"))
            return terminal

        yield start


def script(folder: Path, code: str) -> str:
    """A command that runs Python code as an editor; `file` in it is the file's path."""
    place = folder / "an editor.py"
    place.write_text(f"import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\n{code}\n")
    return shlex.join([sys.executable, str(place)])


def name_of(plan: Plan, number: int) -> str:
    with Store(plan.path, read_only=True) as store:
        task = task_queries.task(store.db, plan[number])
        assert task is not None
        return task.name


def asked(terminal: Terminal, tool: str) -> bool:
    """Whether the program answers a request on its pipe."""
    assert terminal.process.stdin is not None and terminal.process.stdout is not None
    terminal.process.stdin.write(json.dumps({"id": 1, "tool": tool}).encode() + b"\n")
    terminal.process.stdin.flush()
    return bool(json.loads(terminal.process.stdout.readline())["ok"])


def assert_works(terminal: Terminal) -> None:
    """Keys do what they do, and quitting gives the terminal back."""
    terminal.type("2")
    terminal.wait_for(lambda: terminal.shows("[2 Board]"))
    terminal.type("q")
    assert terminal.ends() == 0, terminal.screen.display
    terminal.assert_given_back()
    assert b"Traceback" not in terminal.raw


@PIPED
def test_a_script_as_the_editor_changes_the_task_as_often_as_it_is_called(
    start: Start, plan: Plan, tmp_path: Path, piped: bool
) -> None:
    screen = start(editor=script(tmp_path, "file.write_text('X' + file.read_text())"), piped=piped)
    name = name_of(plan, 1)
    for times in (1, 2, 3):
        screen.type("E")
        wanted = "X" * times + name[:10]
        screen.wait_for(lambda wanted=wanted: screen.shows(f" {wanted}"))
    assert name_of(plan, 1) == f"XXX{name}"
    assert_works(screen)


@VIM
@PIPED
def test_vim_has_the_terminal_to_itself_and_the_screen_is_back_after_it(start: Start, plan: Plan, piped: bool) -> None:
    screen = start(editor="vim", piped=piped)
    name = name_of(plan, 1)
    screen.type("E")
    screen.wait_for(lambda: screen.shows("task.md") and screen.shows("~"))
    if piped:
        assert asked(screen, "tasklist:display")
    screen.type("iVimmed \x1b:wq\r")
    screen.wait_for(lambda: screen.shows(f"Vimmed {name[:10]}") and screen.shows("[1 List]"))
    assert name_of(plan, 1) == f"Vimmed {name}"
    assert_works(screen)


@PIPED
def test_a_new_task_takes_its_description_from_the_editor(
    start: Start, plan: Plan, tmp_path: Path, piped: bool
) -> None:
    screen = start(editor=script(tmp_path, "file.write_text(file.read_text() + 'At length.')"), piped=piped)
    screen.type("nLong\x05")
    screen.wait_for(lambda: screen.shows(" Long"))
    screen.wait_for(lambda: screen.shows("○ #10  Long ") and screen.shows("[1 List]"))
    screen.type("\x1b")
    screen.wait_for(lambda: screen.shows("At length."))
    assert_works(screen)


def test_ctrl_c_in_an_editor_is_the_editors(start: Start, plan: Plan, tmp_path: Path) -> None:
    code = (
        "import time\ntry:\n    print('busy editing', flush=True)\n    time.sleep(600)\n"
        "except KeyboardInterrupt: sys.exit(9)"
    )
    screen = start(editor=script(tmp_path, code))
    screen.type("E")
    screen.wait_for(lambda: screen.shows("busy editing"))
    screen.type("\x03")
    screen.wait_for(lambda: screen.shows("ended with status 9"))
    assert_works(screen)


def test_a_signal_to_end_ends_the_editor_too_and_the_terminal_is_as_before(
    start: Start, plan: Plan, tmp_path: Path
) -> None:
    code = "import os, time\nprint('editor', os.getpid(), 'runs', flush=True)\ntime.sleep(600)"
    screen = start(editor=script(tmp_path, code))
    screen.type("E")
    screen.wait_for(lambda: screen.shows("runs"))
    (editor,) = [int(line.split()[1]) for line in screen.screen.display if "runs" in line]
    os.kill(screen.process.pid, signal.SIGTERM)
    assert screen.ends() == 128 + signal.SIGTERM
    assert not Path(f"/proc/{editor}").exists()
    screen.assert_given_back()


@pytest.fixture
def shell(start: Start) -> Iterator[Terminal]:
    """A shell with job control, in which the screen is started by `screen`."""
    terminal = start("bash", "--norc", "--noprofile", "-i")
    terminal.wait_for(lambda: terminal.shows("shell> "))
    command = shlex.join([sys.executable, "-m", "tui_tasks", "--no-scheduler"])
    terminal.type(f"clear; {command}\n")
    terminal.wait_for(lambda: terminal.shows("Ship auth flow") and terminal.shows("? Help"))
    yield terminal


def child(shell: Terminal) -> int:
    """The process of the screen that a shell has started."""
    (found, *_) = Path(f"/proc/{shell.process.pid}/task/{shell.process.pid}/children").read_text().split()
    return int(found)


def is_aside(shell: Terminal) -> bool:
    return 1049 not in shell.screen.modes_on


@pytest.mark.parametrize("how", ["TSTP", "STOP"])
def test_a_screen_that_the_shell_stops_is_back_whole_in_the_foreground(shell: Terminal, how: str) -> None:
    before = shell.screen.display[:-2]
    for _ in range(2):
        os.kill(child(shell), signal.Signals[f"SIG{how}"])
        shell.wait_for(lambda: shell.raw.rstrip().endswith(b"shell>"))
        assert is_aside(shell) == (how == "TSTP")
        with shell.screen.lock:
            shell.screen.erase_in_display(2)
        shell.type("fg\n")
        shell.wait_for(lambda: shell.screen.display[:-2] == before)
    shell.type("2")
    shell.wait_for(lambda: shell.shows("[2 Board]"))
    shell.type("q")
    shell.wait_for(lambda: is_aside(shell) and shell.raw.rstrip().endswith(b"shell>"))
    shell.type("echo status $?\n")
    shell.wait_for(lambda: shell.shows("status 0"))
    assert b"Traceback" not in shell.raw


def test_a_key_stops_the_screen_with_its_whole_job_and_fg_brings_it_back(shell: Terminal) -> None:
    before = shell.screen.display[:-2]
    for keys, shown in (("\x1a", ()), (":\x1a", ()), ("\x1bn\x1a", ("More fields",))):
        shell.type(keys)
        shell.wait_for(lambda: shell.raw.rstrip().endswith(b"shell>") and is_aside(shell))
        with shell.screen.lock:
            shell.screen.erase_in_display(2)
        shell.type("fg\n")
        shell.wait_for(lambda shown=shown: not is_aside(shell) and all(map(shell.shows, ("[1 List]", *shown))))
    shell.type("\x1b")
    shell.wait_for(lambda: shell.screen.display[:-2] == before)
    assert b"Traceback" not in shell.raw


def test_a_screen_without_a_shell_says_that_it_cannot_be_stopped(start: Start) -> None:
    screen = start(sys.executable, "-m", "tui_tasks", "--no-scheduler")
    screen.wait_for(lambda: screen.shows("Ship auth flow") and screen.shows("? Help"))
    screen.type("\x1a")
    screen.wait_for(lambda: screen.shows("No shell to return to"))
    screen.type("\x03")
    screen.wait_for(lambda: screen.shows("q quits."))
    screen.type("n\x03")
    screen.wait_for(lambda: screen.shows("Esc goes back, then q quits."))
    screen.type("\x1bq")
    assert screen.ends() == 0
    screen.assert_given_back()


def test_a_screen_in_the_background_paints_nothing_until_it_is_in_front(shell: Terminal) -> None:
    os.kill(child(shell), signal.SIGTSTP)
    shell.wait_for(lambda: shell.raw.rstrip().endswith(b"shell>"))
    shell.type("bg\n")

    def is_stopped_again() -> bool:
        shell.type("jobs\n")
        return shell.raw.count(b"Stopped") >= 2

    shell.wait_for(is_stopped_again)
    assert is_aside(shell)
    shell.type("fg\n")
    shell.wait_for(lambda: shell.shows("Ship auth flow") and shell.shows("? Help"))
    shell.type("2")
    shell.wait_for(lambda: shell.shows("[2 Board]"))


@VIM
def test_an_editor_that_is_stopped_takes_the_screen_with_it_and_both_come_back(shell: Terminal, plan: Plan) -> None:
    shell.type("q")
    shell.wait_for(lambda: is_aside(shell) and shell.raw.rstrip().endswith(b"shell>"))
    shell.type("clear; export EDITOR=vim; " + shlex.join([sys.executable, "-m", "tui_tasks", "--no-scheduler"]) + "\n")
    shell.wait_for(lambda: not is_aside(shell) and shell.shows("Ship auth flow") and shell.shows("? Help"))
    name = name_of(plan, 1)
    shell.type("E")
    shell.wait_for(lambda: shell.shows("task.md"))
    shell.type("\x1a")
    shell.wait_for(lambda: shell.raw.rstrip().endswith(b"shell>"))
    shell.type("fg\n")
    shell.wait_for(lambda: shell.shows(name[:10]))
    shell.type("iBack \x1b:wq\r")
    shell.wait_for(lambda: shell.shows(f"Back {name[:10]}") and shell.shows("[1 List]"))
    shell.type("q")
    shell.wait_for(lambda: is_aside(shell) and shell.raw.rstrip().endswith(b"shell>"))
    assert name_of(plan, 1) == f"Back {name}"
