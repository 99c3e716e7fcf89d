"""A terminal that is looked at for long: what went over it is not kept."""

from __future__ import annotations

from typing import Any

from tests.terminals import Terminal

# As a terminal with the newer protocol says it: no key behind it makes another of it.
ESCAPE = "\x1b[27u"


class QuietTerminal(Terminal):
    """The program's own terminal; what it wrote is shown, and its lines are counted."""

    def __init__(self, command: list[str], **how: Any) -> None:
        self.lines = 0
        super().__init__(command, piped=False, **how)

    def take(self, data: bytes) -> None:
        self.lines += data.count(b"\n")
        with self.screen.lock:
            self.stream.feed(data)
