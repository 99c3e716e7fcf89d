"""A screen on each machine, on a terminal of its own: it must show what the agents of the other machine do."""

from __future__ import annotations

import re
import time
from typing import Final

from tests.soak.hosts import Host
from tests.started import Started
from tests.terminals import Terminal

WAIT: Final = 90.0
"""Seconds in which a screen must show what another machine has written, after a fault."""


class MachineScreen:
    """The screen of a machine, started again whenever it was killed.

    Args:
        shows: the beginning of a task's name, which is followed by a number that another machine counts up.

    Attributes:
        painted: how many numbers it was seen to show.
        starts: how often it was started.
    """

    def __init__(self, host: Host, shows: str) -> None:
        self._host, self._shows = host, re.compile(rf"{shows} (\d+)\b")
        self._terminal: Terminal | None = None
        self._last = -1
        self.painted = self.starts = 0

    @property
    def process(self) -> Started | None:
        return None if self._terminal is None else self._terminal.process

    def keep(self) -> None:
        """Start it unless it runs. It may have ended by a kill alone."""
        if self._terminal is not None:
            ended = self._terminal.process.poll()
            if ended is None:
                return
            assert ended == -9, (ended, self._terminal.screen.display)
            self.end()
        self._terminal = self._host.terminal("--no-scheduler")
        self.starts += 1

    def number(self) -> int:
        """Return the number that it shows; -1: none."""
        assert self._terminal is not None
        found = self._shows.search("\n".join(self._terminal.screen.display))
        number = int(found[1]) if found else -1
        if number > self._last:
            self._last = number
            self.painted += 1
        return number

    def wait_for(self, number: int) -> float:
        """Wait until it shows that number or a later one; return the seconds that this took."""
        began = time.monotonic()
        while self.number() < number:
            assert time.monotonic() - began < WAIT, (number, self._terminal and self._terminal.screen.display)
            self.keep()
            time.sleep(0.02)  # another process's work is waited for
        return time.monotonic() - began

    def end(self) -> None:
        terminal, self._terminal = self._terminal, None
        if terminal is not None:
            terminal.close()
