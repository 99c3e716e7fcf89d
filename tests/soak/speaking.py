"""A process of the program that is spoken to by JSON lines."""

from __future__ import annotations

import itertools
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.fork_server import Forked

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 60.0


def program(*arguments: str | Path) -> list[str]:
    """The command that runs the program."""
    return [sys.executable, "-m", "tui_tasks", *map(str, arguments)]


class Speaker:
    """A process whose standard input takes lines and whose standard output gives them.

    Left as a context it is ended by the end of its input, and must then end with `ends_with`.
    """

    def __init__(
        self, *command: str | Path, env: Mapping[str, str] | None = None, ends_with: int = 0, **how: Any
    ) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": ROOT, "bufsize": 0}
        # A library is preloaded as a program starts, not as it is forked.
        start = Forked if env is None else subprocess.Popen
        self.process = start([str(word) for word in command], env=env, **(pipes | how))
        self._ends_with = ends_with
        self._held = b""
        self._numbers = itertools.count(1)

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)

    def send_hearing(self, data: bytes) -> None:
        """Send, and take in what the process says meanwhile: it reads no more when too much of that is unread."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        to, back = self.process.stdin.fileno(), self.process.stdout.fileno()
        rest = memoryview(data)
        while rest:
            readable, writable, _ = select.select([back], [to], [], PATIENCE)
            assert readable or writable, "it neither reads nor writes"
            if readable:
                self._held += os.read(back, 1 << 16)
            if writable:
                # A pipe that is ready takes this much whole; more could block.
                rest = rest[os.write(to, rest[: select.PIPE_BUF]) :]

    def line(self, patience: float = PATIENCE) -> bytes | None:
        """The next line; None at the end.

        Raises:
            TimeoutError: nothing came.
        """
        assert self.process.stdout is not None
        fd = self.process.stdout.fileno()
        deadline = time.monotonic() + patience
        while b"\n" not in self._held:
            if not select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"nothing came in {patience} s")
            data = os.read(fd, 1 << 16)
            if not data:
                return None
            self._held += data
        line, _, self._held = self._held.partition(b"\n")
        return line

    def hear(self, patience: float = PATIENCE) -> Any:
        """The next line, as JSON."""
        line = self.line(patience)
        assert line is not None, f"it has ended with {self.process.wait()}"
        return json.loads(line)

    def ask(self, tool: str, envelope: Mapping[str, Any] | None = None, /, **arguments: Any) -> dict[str, Any]:
        """Make a request and wait for its reply; events that come before it are passed over."""
        request = {"id": next(self._numbers), "tool": tool, "args": arguments, **(envelope or {})}
        self.send(json.dumps(request).encode() + b"\n")
        while "ok" not in (reply := self.hear()) or reply["id"] != request["id"]:
            assert "event" in reply, reply
        return dict(reply)

    def ok(self, tool: str, envelope: Mapping[str, Any] | None = None, /, **arguments: Any) -> Any:
        """The result of a request that must be served."""
        reply = self.ask(tool, envelope, **arguments)
        assert reply["ok"], reply
        return reply["result"]

    def end(self, patience: float = PATIENCE) -> int:
        """Close its input and return its exit status; what it still says is passed over."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        while self.line(patience) is not None:
            pass
        self.process.stdout.close()
        return self.process.wait(patience)

    def kill(self) -> None:
        """`kill -9`, and its pipes closed."""
        self.process.kill()
        self.process.wait(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Speaker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None or self.process.returncode is not None:
            self.kill()
            return
        status = self.end()
        assert status == self._ends_with, f"it ended with {status}"


def serve(database: Path, *options: str | Path, env: Mapping[str, str] | None = None, **how: Any) -> Speaker:
    """`serve` on a database, without a scheduler."""
    return Speaker(*program("serve", "--db", database, "--no-scheduler", *options), env=env, **how)


def memory(pid: int, what: str = "VmRSS") -> int:
    """Bytes that a process holds now; with `VmHWM` the most that it ever held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))
