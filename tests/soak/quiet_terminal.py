"""A terminal that is looked at for long: what went over it is not kept."""

from __future__ import annotations

import os
import select
from typing import Any

from tests.terminals import Terminal

# As a terminal with the newer protocol says it: no key behind it makes another of it.
ESCAPE = "\x1b[27u"


class QuietTerminal(Terminal):
    """The program's own terminal; what it wrote is shown, and its lines are counted."""

    def __init__(self, command: list[str], **how: Any) -> None:
        self.lines = 0
        super().__init__(command, piped=False, **how)

    def drain(self) -> None:
        while self.draining:
            if select.select([self.master], [], [], 0.02)[0]:
                try:
                    data = os.read(self.master, 65536)
                except OSError:
                    return
                self.lines += data.count(b"\n")
                self.stream.feed(data)
