"""The channel's speed: `serve` as a process, driven through its pipes."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Makes the next request, a line with its end.
Make = Callable[[], bytes]


def line(tool: str, **arguments: Any) -> bytes:
    """A request as a line."""
    return json.dumps({"id": 1, "tool": tool, "args": arguments}).encode() + b"\n"


class Serve:
    """A `serve` process."""

    def __init__(self, db: Path, *options: str) -> None:
        command = [sys.executable, "-m", "tui_tasks", "serve", "--db", str(db), "--no-scheduler", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout
        self._held = b""

    def send(self, lines: bytes) -> None:
        """Write requests."""
        view = memoryview(lines)
        while view:
            view = view[os.write(self._input.fileno(), view) :]

    def replies(self, count: int) -> bytes:
        """Read so many replies, as lines."""
        pieces = [self._held]
        missing = count - self._held.count(b"\n")
        while missing > 0:
            piece = os.read(self._output.fileno(), 1 << 20)
            assert piece, "serve has ended"
            missing -= piece.count(b"\n")
            pieces.append(piece)
        lines = b"".join(pieces).split(b"\n", count)
        self._held = lines.pop()
        replies = b"\n".join(lines)
        assert b'"ok":false' not in replies, replies[:1000]
        return replies

    def has_spoken(self) -> bool:
        """Whether a reply has come in."""
        return bool(self._held) or bool(select.select([self._output], [], [], 0)[0])

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The result of one request."""
        self.send(line(tool, **arguments))
        return json.loads(self.replies(1))["result"]

    def close(self) -> None:
        """End it."""
        self._input.close()
        self.process.wait(10)
        self._output.close()


def one_in_flight(serve: Serve, make: Make, seconds: float) -> tuple[float, list[float]]:
    """Requests a second, each sent after the reply to the last, and how long each took."""
    took = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        request = make()
        at = time.perf_counter()
        serve.send(request)
        serve.replies(1)
        took.append(time.perf_counter() - at)
    return len(took) / sum(took), took


def many_in_flight(serve: Serve, make: Make, seconds: float, flight: int) -> float:
    """Requests a second with `flight` of them on their way: when half of them are answered, as many are sent."""
    half = flight // 2
    done = 0
    serve.send(b"".join(make() for _ in range(flight)))
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        serve.replies(half)
        serve.send(b"".join(make() for _ in range(half)))
        done += half
    rate = done / (time.perf_counter() - begin)
    serve.replies(flight)
    return rate
