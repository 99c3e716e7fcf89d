"""An agent on the other end of a real pipe: a process that serves, lines to it, replies and events from it.

Every wait has a deadline; nothing sleeps.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import pty
import queue
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tui_tasks
from tests.fork_server import Forked
from tests.on_server import url_of
from tests.started import DEADLINE, Started

ROOT = Path(tui_tasks.__file__).parents[1]


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a program that sees nothing of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TUI_TASKS_", "XDG_"))}
    return kept | {"HOME": str(home), "PYTHONPATH": str(ROOT), "TUI_TASKS_CONFIG": str(home / "no-config")} | more


def program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tui_tasks", *arguments]


@contextlib.contextmanager
def terminal_input() -> Iterator[int]:
    """A terminal as the standard input of a command that is for a person."""
    ours, theirs = pty.openpty()
    try:
        yield theirs
    finally:
        os.close(ours)
        os.close(theirs)


def line(tool: str, id: object = None, **arguments) -> bytes:
    """A request as it is sent."""
    return json.dumps({"id": id, "tool": tool, "arguments": arguments}).encode() + b"\n"


# The program, which waits for others' writes as long as a test does: many processes may be slow on a busy machine.
PATIENT = f"""
import sys
from tui_tasks.core.engine import driver
driver.BUSY_SECONDS = {DEADLINE}
from tui_tasks.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


class Agent:
    """A `serve` process and the conversation with it."""

    def __init__(
        self,
        db: Path,
        *options: str,
        reading: bool = True,
        is_patient: bool = False,
        start: type[Started] = Forked,
        **environ: str,
    ) -> None:
        self.errors = db.parent / f"stderr-{id(self)}.txt"
        self._log = self.errors.open("wb")
        command = [sys.executable, "-c", PATIENT] if is_patient else program()
        self.process = start(
            [*command, "serve", "--db", url_of(str(db)), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment(db.parent, **environ),
        )
        self._replies: queue.Queue[Any] = queue.Queue()
        self._events: queue.Queue[Any] = queue.Queue()
        # Everything that came, in order.
        self.lines: list[Any] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        if reading:
            self.read()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._log.close()

    def read(self) -> None:
        """Begin to read what the process writes."""
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            if not line.endswith(b"\n"):
                # It was killed in the middle of a reply.
                break
            value = json.loads(line)
            self.lines.append(value)
            is_event = isinstance(value, dict) and "event" in value and "ok" not in value
            (self._events if is_event else self._replies).put(value)
        self._replies.put(None)
        self._events.put(None)

    def send(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def write(self, *values: Any) -> None:
        """Write each value as a line."""
        self.send(b"".join(json.dumps(value).encode() + b"\n" for value in values))

    def reply(self, deadline: float = DEADLINE) -> Any:
        """The next reply; None after the last."""
        return self._replies.get(timeout=deadline)

    def event(self, deadline: float = DEADLINE) -> Any:
        """The next event; None after the last."""
        return self._events.get(timeout=deadline)

    def ask(self, tool: str, envelope: dict[str, Any] | None = None, /, **arguments: Any) -> Any:
        """Send one request and take the next reply."""
        self.write({"tool": tool, "arguments": arguments, **(envelope or {})})
        return self.reply()

    def ok(self, tool: str, envelope: dict[str, Any] | None = None, /, **arguments: Any) -> Any:
        """The result of a request that must be served."""
        reply = self.ask(tool, envelope, **arguments)
        assert reply["ok"], reply
        return reply["result"]

    def refused(self, tool: str, envelope: dict[str, Any] | None = None, /, **arguments: Any) -> Any:
        """The error of a request that must be refused."""
        reply = self.ask(tool, envelope, **arguments)
        assert not reply["ok"], reply
        return reply["error"]

    def end_input(self) -> None:
        self.process.stdin.close()

    def finish(self, deadline: float = DEADLINE) -> list[Any]:
        """End the input, and return what is still written until the process has left as it should."""
        self.end_input()
        rest = []
        while (reply := self.reply(deadline)) is not None:
            rest.append(reply)
        assert self.process.wait(deadline) == 0, self.said()
        assert self.said() == "", self.said()
        return rest

    def said(self) -> str:
        """What it has written on standard error."""
        return self.errors.read_text()

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.process.kill()
        self.process.wait(DEADLINE)
        if self._reader.ident is not None:
            self._reader.join(DEADLINE)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def unread(self) -> int:
        """How many bytes stand in the pipe that it writes to."""
        held = array.array("i", [0])
        fcntl.ioctl(self.process.stdout, termios.FIONREAD, held)
        return held[0]

    def peak(self) -> int:
        """The most memory that it has held, in KiB."""
        rows = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(row.split()[1]) for row in rows if row.startswith("VmHWM"))
