"""A program on a pseudo-terminal, and when it painted: the terminal reads what is written and notes the time."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store

COLUMNS: Final = 120
LINES: Final = 40
FRAME: Final = 1000 / 60
"""Milliseconds."""
QUIET: Final = 0.05
"""Seconds with nothing written after which what was asked for stands on the screen: three frames."""
PATIENCE: Final = 30.0

# What everything is measured against. It paints one line, and nothing is looked up.
MINIMAL: Final = """
from textual.app import App
from textual.widgets import Static


class Minimal(App):
    def compose(self):
        yield Static("a minimal app")


Minimal().run()
"""


class Painted:
    """A program with a terminal of its own, from its exec on; `shows` is the last that its first screen has."""

    def __init__(self, command: Sequence[str], folder: Path, shows: bytes = b"") -> None:
        self._shows = shows
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=_environment(folder)
        )
        os.close(slave)
        self.written = 0
        self.pieces: list[tuple[float, bytes]] | None = None
        self.last = self.began

    def read(self, seconds: float) -> bool:
        """Take in what is written, waiting for it up to so long; False where nothing was."""
        if not select.select([self._master], [], [], max(0.0, seconds))[0]:
            return False
        try:
            data = os.read(self._master, 1 << 20)
        except OSError as error:
            raise EOFError(f"the program has ended with {self.process.wait()}") from error
        self.last = time.perf_counter()
        self.written += len(data)
        if self.pieces is not None:
            self.pieces.append((self.last, data))
        return True

    def stand(self, quiet: float = 0.4) -> float:
        """Wait until the whole of the first screen stands; return the instant of its last byte."""
        self.wait_for(self._shows)
        while self.read(quiet):
            pass
        return self.last

    def settle(self, quiet: float = QUIET) -> float:
        """Wait for something to be written and then for nothing; return the instant of the last byte."""
        if not self.read(PATIENCE):
            raise TimeoutError(f"nothing was painted for {PATIENCE} s")
        while self.read(quiet):
            pass
        return self.last

    def drain(self, seconds: float) -> int:
        """Take in what is written for so long; return how many bytes that was."""
        before, end = self.written, time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)
        return self.written - before

    def press(self, keys: str) -> float:
        """Type; return the milliseconds until the last byte of what that painted."""
        begin = self.type(keys)
        return (self.settle() - begin) * 1000

    def record(self, keys: str) -> tuple[float, list[tuple[float, bytes]]]:
        """Type; return when, and what was then written, each piece with the instant at which it was there."""
        self.pieces = []
        begin = self.type(keys)
        self.settle()
        pieces, self.pieces = self.pieces, None
        return begin, pieces

    def wait_for(self, shown: bytes | re.Pattern[bytes]) -> float:
        """Wait until this was written; return the instant of its last byte."""
        pattern = shown if isinstance(shown, re.Pattern) else re.compile(re.escape(shown))
        self.pieces, told = [], b""
        while not pattern.search(told):
            if not self.read(PATIENCE):
                raise TimeoutError(f"{shown!r} was not painted within {PATIENCE} s")
            told += self.pieces[-1][1]
        self.pieces = None
        return self.last

    def type(self, keys: str) -> float:
        """Type; return when."""
        begin = time.perf_counter()
        os.write(self._master, keys.encode())
        return begin

    def close(self) -> None:
        """End the program."""
        with self.process:
            self.process.kill()
        os.close(self._master)

    def __enter__(self) -> Painted:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def ours(db: Path, *arguments: str) -> Painted:
    """The screen of a database."""
    return Painted([sys.executable, "-m", "tui_tasks", "--db", str(db), *arguments], db.parent, b"Quit")


def minimal(folder: Path) -> Painted:
    """The yardstick."""
    return Painted([sys.executable, "-c", MINIMAL], folder, b"a minimal app")


def _environment(folder: Path) -> dict[str, str]:
    """As a human's shell has it: bytecode is kept, and nobody's own settings or theme count."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TEXTUAL", "NO_COLOR"))}
    return {
        **kept,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TUI_TASKS_CONFIG": str(folder / "config.toml"),
    }


def first_tasks(store: Store, count: int) -> list[str]:
    """Return the uids of the first tasks of the list that a screen shows."""
    home = task_queries.find_list(store.db, "task")
    assert home is not None
    return [task.uid for task in list_pages.after(store.db, home.id, list_pages.FIRST, count)]
