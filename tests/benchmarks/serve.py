"""The channel's speed: `serve` as a process, driven through its pipes."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Serve:
    """A `serve` process."""

    def __init__(self, db: Path) -> None:
        command = [sys.executable, "-m", "tui_tasks", "serve", "--db", str(db), "--no-scheduler"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ids = itertools.count(1)

    def send(self, tool: str, **arguments: Any) -> None:
        assert self.process.stdin is not None
        line = json.dumps({"id": next(self._ids), "tool": tool, "args": arguments})
        self.process.stdin.write(line.encode() + b"\n")

    def flush(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.flush()

    def read(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ask(self, tool: str, **arguments: Any) -> Any:
        self.send(tool, **arguments)
        self.flush()
        reply = json.loads(self.read())
        assert reply["ok"], reply
        return reply["result"]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


def one_in_flight(serve: Serve, make: Any, seconds: float) -> tuple[float, list[float]]:
    """Requests a second, each sent after the reply to the last, and how long each took."""
    took = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        tool, arguments = make()
        at = time.perf_counter()
        serve.ask(tool, **arguments)
        took.append(time.perf_counter() - at)
    return len(took) / sum(took), took


def many_in_flight(serve: Serve, make: Any, seconds: float, flight: int = 64) -> float:
    """Requests a second with `flight` of them always on their way."""
    done = 0
    for _ in range(flight):
        tool, arguments = make()
        serve.send(tool, **arguments)
    serve.flush()
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for _ in range(flight // 2):
            assert b'"ok":true' in serve.read()
            tool, arguments = make()
            serve.send(tool, **arguments)
        serve.flush()
        done += flight // 2
    rate = done / (time.perf_counter() - begin)
    for _ in range(flight):
        serve.read()
    return rate
