"""One thing that the lines above the panes show, and how it gives way where there is little room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from tui_tasks.text.safe import cell_len, safe_ends, safe_line, safe_question
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.painting.styles import Part

# In cells: the longest name of an agent, and the name that is never cut.
WHO: Final = 16
SHORT_WHO: Final = 9
# In cells: the least of a text that is worth showing on a narrow screen, and the least of a task's name beside its
# agent's last word.
LEAST_NARROW: Final = 10
_LEAST_NAME: Final = 10

TROUBLE, ASKS, COUNTS, WORK, OTHERS, FAILED, JOBS, LATE = range(8)
"""The kinds of entries, most urgent first; `JOBS` are those that failed, `LATE` tasks that are due."""
_COUNTED: Final = (COUNTS, FAILED, JOBS, LATE)


class Entry(msgspec.Struct, frozen=True):
    """One thing that the lines show: its first text, and the others as far as there is room.

    The texts of an agent at work are its task's number, that task's name, and its own last word, which gives way last.
    Of an agent that does nothing now, the name suffices. `act` is performed by a click on it.
    """

    kind: int
    mark: str
    color: str
    who: str
    texts: tuple[str, ...]
    act: Callable[[], None]
    text_color: str = ""
    number: int = 1
    """How many entries it counts."""
    rank: int = 0
    """Its place among those of its kind."""
    label: str = ""
    """What it is, in a line of its own; empty: its agent."""
    whole: str = ""
    """Its text in a line of its own."""
    brief: str = ""
    """The same where `whole` is cut: without what its number stands for."""
    since: int | None = None
    noun: str = ""
    """What it counts, where only the number is shown."""
    is_question: bool = False
    """Whether its text is cut in the middle, as the end says what is asked."""

    @property
    def name(self) -> str:
        """The name of its agent as it is shown."""
        return agent_text.who(self.who)

    def least(self, text: int) -> int:
        """Return the least width in cells that is worth showing; `text`: that of its texts."""
        least = text + {TROUBLE: 2, ASKS: 8}.get(self.kind, 0)
        head = self._head(min(cell_len(self.name), WHO if text > LEAST_NARROW else SHORT_WHO))
        if self.kind == OTHERS:
            return head - 1
        is_counted = self.kind in _COUNTED
        return head + (cell_len(self.texts[0]) if is_counted else min(cell_len(" ".join(self.texts)), least))

    @property
    def most(self) -> int:
        """The width in cells with which nothing is cut."""
        return self._head(min(cell_len(self.name), WHO)) + cell_len(" ".join(self.texts))

    def parts(self, cells: int, *, ascii_only: bool) -> list[Part]:
        """Return it in at most so many cells."""
        parts: list[Part] = [(f"{self.mark} ", self.color)] if self.mark else []
        if self.who:
            texts = cell_len(" ".join(self.texts))
            room = min(WHO, max(SHORT_WHO, cells - self._head(0) - 1 - min(texts, _LEAST_NAME)))
            who = safe_ends(self.name, room, ascii_only=ascii_only)
            parts.append((f"{who} ", "$muted" if self.kind == WORK else self.color))
        left = cells - sum(cell_len(text) for text, _ in parts)
        if self.kind == OTHERS and cell_len(" ".join(self.texts)) > left:
            return [*parts[:-1], (parts[-1][0].rstrip(), parts[-1][1])]
        return [*parts, (self._fitted(left, ascii_only), self.text_color)]

    def _head(self, who: int) -> int:
        return 2 * bool(self.mark) + (who + 1 if who else 0)

    def _fitted(self, room: int, ascii_only: bool) -> str:
        """Return the texts in so many cells."""
        whole = " ".join(self.texts)
        if cell_len(whole) <= room:
            return whole
        if self.is_question:
            return safe_question(whole, room, ascii_only=ascii_only)
        if self.kind in _COUNTED and room - cell_len(self.texts[0]) <= LEAST_NARROW:
            return safe_line(self.texts[0], room, ascii_only=ascii_only)
        if self.kind != WORK or len(self.texts) < 3:
            return safe_line(whole, room, ascii_only=ascii_only)
        number, name, said = self.texts
        left = room - cell_len(number) - cell_len(said) - 2
        if left >= _LEAST_NAME:
            return f"{number} {safe_line(name, left, ascii_only=ascii_only)} {said}"
        return safe_line(f"{number} {said}", room, ascii_only=ascii_only)
