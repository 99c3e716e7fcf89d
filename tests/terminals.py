"""A real pseudo-terminal with a program on it, as a terminal window would have it."""

from __future__ import annotations

import array
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

import pyte
from wcwidth import wcwidth

from tests.fork_server import Forked
from tests.started import DEADLINE, Started

# Makes the terminal its controlling one, and becomes the program.
_BECOME = """
import fcntl, os, sys, termios
fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
os.close(int(sys.argv[1]))
os.execvp(sys.argv[2], sys.argv[2:])
"""


class Emulator(pyte.Screen):
    """A terminal that notes which modes are on, the alternate screen among them.

    It is fed on a thread: whoever looks at more than one of its lines holds `lock`.
    """

    def __init__(self, columns: int, lines: int) -> None:
        self.modes_on: set[int] = set()
        self.lock = threading.RLock()
        self._drawn: dict[int, str] = {}
        super().__init__(columns, lines)

    @property
    def display(self) -> list[str]:
        """The lines as text; of a wide letter that was half drawn over a space is left, as on any terminal.

        Whoever waits looks a hundred times a second: only lines that have changed since are read anew.
        """
        with self.lock:
            self._drawn |= {row: self._line(row) for row in self.dirty}
            self.dirty.clear()
            return [self._drawn[row] for row in range(self.lines)]

    def _line(self, row: int) -> str:
        cells = self.buffer[row]
        letters = [cells[column].data for column in range(self.columns)]
        return "".join(letters if "" not in letters else self._without_second_halves(letters))

    def _without_second_halves(self, letters: list[str]) -> Iterator[str]:
        second_half = False
        for held in letters:
            if held or not second_half:
                yield held or " "
            second_half = bool(held) and wcwidth(held[0]) == 2

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        self.modes_on |= set(modes)
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        self.modes_on -= set(modes)
        super().reset_mode(*modes, **kwargs)

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        """Take colours, and leave what a program asks the terminal of its keyboard in the same letter."""
        if not private:
            super().select_graphic_rendition(*attributes)


class Terminal:
    """A pseudo-terminal and the program on it; with `piped` its standard input and output are pipes.

    A module that Python is to run is forked from a process that has imported the screen, unless it `is_started`.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        lines: int = 20,
        columns: int = 60,
        piped: bool = True,
        controlling: bool = True,
        log: IO[bytes] | None = None,
        environment: Mapping[str, str] | None = None,
        within: tuple[str, ...] = (),
        is_started: bool = False,
    ) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.screen = Emulator(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = bytearray()
        how = {
            "stdin": subprocess.PIPE if piped else self.slave,
            "stdout": subprocess.PIPE if piped else self.slave,
            "stderr": log or self.slave,
            "start_new_session": True,
            "env": {**os.environ, "COLUMNS": "7", "LINES": "3", "TERM": "xterm-256color", **(environment or {})},
        }
        if list(command[:2]) == [sys.executable, "-m"] and controlling and not is_started:
            self.process: Started = Forked(command, within=within, terminal=self.slave, **how)
        else:
            become = [sys.executable, "-c", _BECOME, str(self.slave)] if controlling else []
            self.process = Started([*within, *become, *command], pass_fds=[self.slave] if controlling else [], **how)
        self.start_draining()

    def start_draining(self) -> None:
        self.draining = True
        self.thread = threading.Thread(target=self.drain, daemon=True)
        self.thread.start()

    def drain(self) -> None:
        while self.draining:
            if select.select([self.master], [], [], 0.02)[0]:
                try:
                    data = os.read(self.master, 65536)
                except OSError:
                    return
                self.take(data)

    def take(self, data: bytes) -> None:
        """Have what came from the program."""
        with self.screen.lock:
            self.raw += data
            self.stream.feed(data)

    def stop_draining(self) -> None:
        self.draining = False
        self.thread.join()

    def hang_up(self) -> None:
        self.stop_draining()
        os.close(self.master)
        self.master = -1

    def wait_for(self, what: Callable[[], bool]) -> None:
        """Wait until something holds of the bytes that came and of the screen that has all of them."""
        deadline = time.monotonic() + DEADLINE
        while not self._holds(what):
            assert time.monotonic() < deadline, (self.process.poll(), self.screen.display)
            time.sleep(0.01)  # another process's work is waited for

    def _holds(self, what: Callable[[], bool]) -> bool:
        with self.screen.lock:
            return what()

    def shows(self, text: str) -> bool:
        return any(text in line for line in self.screen.display)

    def unread(self) -> int:
        """How many bytes of what was typed the program has not read."""
        held = array.array("i", [0])
        fcntl.ioctl(self.slave, termios.FIONREAD, held)
        return held[0]

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def type_bytes(self, data: bytes) -> None:
        os.write(self.master, data)

    def ends(self) -> int:
        """Return the exit status, once all that was written has been seen."""
        status = self.process.wait(DEADLINE)
        if self.draining:
            self.wait_for(lambda: not select.select([self.master], [], [], 0)[0])
        self.stop_draining()
        return status

    def assert_given_back(self) -> None:
        assert termios.tcgetattr(self.slave) == self.before
        assert self.screen.modes_on - {7, 25} == set(), "modes left on, 1049 being the alternate screen"
        assert not self.screen.cursor.hidden
        assert len(re.findall(rb"\x1b\[>\d+u", self.raw)) == self.raw.count(b"\x1b[<u"), (
            "the keyboard protocol is left on"
        )
        assert b"\x1b[?1049h" in self.raw

    def output(self) -> bytes:
        """Return what is left in the pipe, once the program has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.read()

    def close(self) -> None:
        with self.process:
            self.process.kill()
        self.stop_draining()
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)
