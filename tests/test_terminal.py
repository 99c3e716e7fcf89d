"""A screen and a pipe share one process, and the terminal comes back as it was. On real pseudo-terminals."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.terminals import DEADLINE, Terminal
from tui_tasks import terminal
from tui_tasks.core.store import Store

LEFT = b"left in order\n"
# Run by a Python of its own.
APP = """
import asyncio, json, os, signal, sys, threading, time
if "no-stdin" in sys.argv:
    os.close(0)
    sys.__stdin__ = sys.stdin = None
if "ignore-hup" in sys.argv:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
if "block-hup" in sys.argv:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])

from tui_tasks import terminal
claimed = terminal.claim()

from textual.app import App
from textual.widgets import Static
from tui_tasks.tui.keys.keyboard import Keyboard

may_leave = threading.Event()

class Demo(App):
    keys = ""

    # The end of a terminal continues (SIGCONT) what runs on it. Textual's own driver then starts a second time, within
    # the handler of the signal, and can wait for ever for a thread that the end of the terminal has ended.
    def get_driver_class(self):
        return Keyboard

    def compose(self):
        yield Static("starting", markup=False)

    def on_mount(self):
        self.query_one(Static).update(f"ready {self.size.width}x{self.size.height}")
        if claimed.input_fd is not None:
            threading.Thread(target=self.serve, daemon=True).start()
        if claimed.log_fd is not None:
            os.write(claimed.log_fd, b"a line of the log\\n")

    def serve(self):
        while data := os.read(claimed.input_fd, 65536):
            for line in data.splitlines():
                if line == b"leave":
                    may_leave.set()
                    continue
                os.write(claimed.output_fd, json.dumps({"echo": json.loads(line)}).encode() + b"\\n")

    async def on_unmount(self):
        if "wait" in sys.argv:
            await asyncio.to_thread(may_leave.wait)

    def on_key(self, event):
        print("a stray print")
        if event.key == "q":
            self.exit(return_code=3)
        elif event.key == "x":
            raise RuntimeError("boom")
        elif event.key == "z":
            os.write(claimed.output_fd, b"stuck\\n")
            time.sleep(600)
        elif event.key == "f":
            self.set_interval(0.001, self.flood)
        else:
            self.keys += event.character or ""
            self.query_one(Static).update(f"keys {self.keys}")

    def flood(self):
        self.query_one(Static).update("".join(chr(33 + (time.monotonic_ns() + i) % 90) for i in range(2000)))

# An app that leaves by itself may take its time, however busy the machine is; one that cannot is ended soon.
seconds = 1.0 if "stuck" in sys.argv else 600.0
terminal.EXIT_SECONDS_GONE = seconds
status = terminal.run(Demo(), patience=seconds)
print("a last word", flush=True)
if claimed.output_fd is not None:
    os.write(claimed.output_fd, b"left in order\\n")
sys.exit(status)
"""


@pytest.fixture
def start() -> Iterator[Callable[..., Terminal]]:
    running: list[Terminal] = []

    def start(*flags: str, **how: Any) -> Terminal:
        term = Terminal([sys.executable, "-c", APP, *flags], **how)
        running.append(term)
        term.wait_for(lambda: term.shows("ready 60x20"))
        return term

    yield start
    for one in running:
        one.close()


Start = Callable[..., Terminal]


def test_keys_reach_the_app_and_json_goes_through_the_pipe_untouched(start: Start) -> None:
    term = start()
    stdin, stdout = term.process.stdin, term.process.stdout
    assert stdin is not None and stdout is not None
    term.type("hello")
    term.wait_for(lambda: term.shows("keys hello"))
    for request in ({"tool": "keys", "arguments": {"a": "\u001b[2J q x"}}, {"id": 2}):
        stdin.write(json.dumps(request).encode() + b"\n")
        stdin.flush()
        assert json.loads(stdout.readline()) == {"echo": request}
    term.type("!")
    term.wait_for(lambda: term.shows("keys hello!"))
    term.type("q")
    assert term.ends() == 3
    assert stdout.read() == LEFT, "the protocol's output has something else in it"
    term.assert_given_back()


@pytest.mark.parametrize("flags", [(), ("no-stdin",)], ids=["a terminal everywhere", "standard input closed"])
def test_without_a_pipe_the_keyboard_is_standard_input(start: Start, flags: tuple[str, ...]) -> None:
    term = start(*flags, piped=False)
    term.type("abc")
    term.wait_for(lambda: term.shows("keys abc"))
    term.type("q")
    assert term.ends() == 3
    term.assert_given_back()


def test_a_log_in_a_file_leaves_the_screen_on_the_terminal(start: Start, tmp_path: Any) -> None:
    with (tmp_path / "log").open("wb") as log:
        term = start(log=log)
        term.type("q")
        assert term.ends() == 3
    assert (tmp_path / "log").read_text() == "a line of the log\n"
    term.assert_given_back()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_gives_the_terminal_back(start: Start, number: signal.Signals) -> None:
    term = start("wait")
    assert term.process.stdin is not None
    term.process.send_signal(number)
    term.process.send_signal(number)
    term.process.stdin.write(b"leave\n")
    term.process.stdin.flush()
    assert term.ends() == 128 + number
    assert term.output() == LEFT
    assert term.shows("a last word")
    term.assert_given_back()


def test_an_exception_gives_the_terminal_back_and_is_told(start: Start) -> None:
    term = start()
    term.type("x")
    assert term.ends() == 1
    term.assert_given_back()
    assert b"RuntimeError" in term.raw[term.raw.rindex(b"\x1b[?1049l") :]
    assert term.shows("boom")


def test_an_app_that_is_stuck_is_ended_and_gives_the_terminal_back(start: Start) -> None:
    term = start("stuck")
    assert term.process.stdout is not None
    term.type("z")
    assert term.process.stdout.readline() == b"stuck\n"
    term.process.send_signal(signal.SIGTERM)
    assert term.ends() == 128 + signal.SIGTERM
    assert term.output() == b""
    term.assert_given_back()


def test_a_terminal_that_takes_no_more_does_not_keep_the_app(start: Start) -> None:
    term = start("stuck")
    term.type("f")
    term.wait_for(lambda: len(term.raw) > 20_000)
    term.stop_draining()
    full = select.poll()
    full.register(term.slave, select.POLLOUT)
    term.wait_for(lambda: not full.poll(50))
    term.process.send_signal(signal.SIGTERM)
    assert term.ends() == 128 + signal.SIGTERM
    assert termios.tcgetattr(term.slave) == term.before
    term.start_draining()
    term.wait_for(lambda: 1049 not in term.screen.modes_on and not term.screen.cursor.hidden)


@pytest.mark.parametrize(
    ("flags", "how", "keys"),
    [
        ((), {}, ""),
        (("ignore-hup",), {}, ""),
        (("ignore-hup",), {}, "f"),
        (("block-hup", "stuck"), {}, ""),
        ((), {"piped": False, "controlling": False}, ""),
    ],
    ids=["SIGHUP", "SIGHUP ignored", "SIGHUP ignored, while painting", "SIGHUP blocked", "no signal at all"],
)
def test_a_closed_terminal_ends_the_app(start: Start, flags: tuple[str, ...], how: dict[str, bool], keys: str) -> None:
    term = start(*flags, **how)
    term.type(keys)
    term.wait_for(lambda: not keys or len(term.raw) > 20_000)
    term.hang_up()
    assert term.process.wait() == 128 + signal.SIGHUP
    # Where the signal cannot be had, the app's own loop cannot be told.
    assert not how.get("piped", True) or term.output() == (b"" if "block-hup" in flags else LEFT)


def python(code: str, *how: str, **kwargs: Any) -> subprocess.CompletedProcess[bytes]:
    """Run Python code with no controlling terminal; words before it are a shell's redirections."""
    command = ["sh", "-c", f'exec "$0" -c "$1" {" ".join(how)}', sys.executable, code]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environ |= kwargs.pop("env", {})
    return subprocess.run(command, start_new_session=True, capture_output=True, timeout=DEADLINE, env=environ, **kwargs)


def test_without_a_terminal_it_says_what_to_do_and_touches_nothing() -> None:
    done = python(
        "import os, sys\nfrom tui_tasks import terminal\n"
        "try: terminal.claim()\n"
        "except terminal.NoTerminal as error: sys.stderr.write(str(error))\n"
        "sys.stdout.write(os.environ['COLUMNS'] + sys.stdin.read())",
        input=b"requests",
        env={"COLUMNS": "7"},
    )
    assert b"tui-tasks serve" in done.stderr
    assert done.stdout == b"7requests"


@pytest.mark.parametrize("arguments", [(), ("watch",)])
def test_a_terminal_that_only_prints_lines_gets_a_sentence_and_no_screen(tmp_path: Any, arguments: tuple[str]) -> None:
    settings = {"TERM": "dumb", "TUI_TASKS_DB": str(tmp_path / "tasks.db"), "TUI_TASKS_CONFIG": str(tmp_path / "c")}
    with contextlib.closing(Store(str(tmp_path / "tasks.db"))):
        pass
    term = Terminal(
        [sys.executable, "-m", "tui_tasks", *arguments], piped=False, columns=200, environment=settings, is_started=True
    )
    try:
        assert term.ends() == 1
        assert b"TERM=dumb" in term.raw and b"tui-tasks watch --plain" in term.raw
        assert b"\x1b" not in term.raw
    finally:
        term.close()


def test_under_another_driver_nothing_is_touched() -> None:
    done = python(
        "import os\nfrom tui_tasks import terminal\n"
        "print(terminal.claim() == terminal.Claimed(None, None, 2), os.environ['COLUMNS'], input())",
        input=b"a packet",
        env={"COLUMNS": "7", "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"},
    )
    assert (done.stdout, done.stderr) == (b"True 7 a packet\n", b"")


SERVE = """
import os, subprocess, sys
print("before")
from tui_tasks import terminal
claimed = terminal.claim_without_screen()
print("stray")
subprocess.run(["echo", "a child's"])
assert sys.stdin.read() == ""
os.write(claimed.output_fd, os.read(claimed.input_fd, 100))
assert min(claimed.input_fd, claimed.output_fd) > 2
assert not os.get_inheritable(claimed.input_fd) and not os.get_inheritable(claimed.output_fd)
assert "textual" not in sys.modules
"""


def test_without_a_screen_no_stray_print_reaches_the_protocol() -> None:
    done = python(SERVE, input=b"request")
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"before\nrequest"
    assert sorted(done.stderr.splitlines()) == [b"a child's", b"stray"]


def test_without_a_screen_a_closed_standard_error_breaks_nothing() -> None:
    done = python(SERVE, "2>&-", input=b"request")
    assert (done.returncode, done.stdout) == (0, b"before\nrequest")


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "0<&- 1>&- 2>&-"])
def test_without_a_screen_what_is_closed_is_none(closed: str) -> None:
    code = (
        "import os, sys\nfrom tui_tasks import terminal\nclaimed = terminal.claim_without_screen()\n"
        "assert all(os.fstat(fd) for fd in (0, 1, 2))\nprint('stray')\n"
        "sys.exit((claimed.input_fd is None) + 2 * (claimed.output_fd is None) + 10)"
    )
    assert python(code, closed, input=b"").returncode == 10 + ("0<" in closed) + 2 * ("1>" in closed)


def test_an_app_that_fails_to_start_leaves_handlers_as_they_were() -> None:
    def run() -> None:
        raise ValueError("broken")

    app: Any = SimpleNamespace(run=run, return_code=5)
    before = [signal.getsignal(number) for number in terminal.SIGNALS]
    with pytest.raises(ValueError, match="broken"):
        terminal.run(app)
    assert [signal.getsignal(number) for number in terminal.SIGNALS] == before
    assert not [thread for thread in threading.enumerate() if thread.name == "terminal"]


def test_a_further_signal_does_not_interrupt_an_app_that_is_leaving() -> None:
    left: list[int] = []

    async def told_to_leave() -> None:
        leaving = asyncio.Event()

        def leave(return_code: int) -> None:
            left.append(return_code)
            leaving.set()

        app.exit = leave
        signal.raise_signal(signal.SIGHUP)
        await leaving.wait()

    def run() -> None:
        asyncio.run(told_to_leave())
        signal.raise_signal(signal.SIGHUP)
        left.append(0)

    app: Any = SimpleNamespace(run=run, return_code=None)
    assert terminal.run(app) == 128 + signal.SIGHUP
    assert left == [128 + signal.SIGHUP, 0]


def test_a_signal_before_the_app_runs_ends_it() -> None:
    app: Any = SimpleNamespace(run=lambda: signal.raise_signal(signal.SIGTERM), return_code=None)
    with pytest.raises(SystemExit) as ended:
        terminal.run(app)
    assert ended.value.code == 128 + signal.SIGTERM
