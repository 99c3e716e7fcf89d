"""The columns of a task's row: which of them fit in a width, and how wide each is. Pure.

Columns are left out from the last on. What a row shows in a width, it therefore shows in every greater one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tui_tasks.text.safe import cell_len, fit, safe_ends, safe_line
from tui_tasks.tui.painting.styles import Part

# In cells: what a title keeps while anything else can be left out, beside a note and without one.
TITLE: Final = 34
_ALONE: Final = 50
# In cells: what a note keeps, and what one keeps that says why a task needs the human.
LEAST_NOTE: Final = 8
_REASON: Final = 36
# In cells: an agent's name and a tag, cut and whole.
_SHORT_WHO: Final = 8
_WHO: Final = 16
_SHORT_TAG: Final = 8
_TAG: Final = 20
# In cells: what rows leave free for the agent, for the due date and for marks, so that they stand below each other.
_AGENTS: Final = 10
_DATES: Final = 10
_MARKS: Final = 18
_AGES: Final = 4
_GAP: Final = 2


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What a row can show of a task after its number, in the order of the columns, the most important first."""

    title: Part
    note: Part | None = None
    """Why it needs the human, what it waits for, or what its agent said last."""
    is_reason: bool = False
    """Whether the note says why it needs the human; it then outlives all other columns."""
    marks: tuple[Part, ...] = ()
    """What is proven, and the priority."""
    tags: tuple[str, ...] = ()
    due: Part | None = None
    late: Part | None = None
    """The mark of a due date that is over, where the date itself has no room."""
    agent: str = ""
    age: str = ""


def laid_out(facts: RowFacts, room: int, *, ascii_only: bool = False) -> list[Part]:
    """Return the columns of a row in exactly so many cells."""
    return _Row(facts, max(1, room), ascii_only).parts()


class _Row:
    def __init__(self, facts: RowFacts, room: int, ascii_only: bool) -> None:
        self._facts = facts
        self._ascii_only = ascii_only
        self._whole_title = cell_len(safe_line(facts.title[0], room, ascii_only=ascii_only))
        self._whole_note = cell_len(facts.note[0]) if facts.note else 0
        self._tags = [f"#{safe_line(tag, _TAG, ascii_only=ascii_only)}" for tag in facts.tags]
        self._columns: dict[str, int] = {}
        self._choose(room)
        self._widen(room)

    def _choose(self, room: int) -> None:
        """Choose the columns, each in its least width; `_left` is what is left of the room."""
        facts = self._facts
        late = _GAP if facts.late else 0
        self._note = min(self._whole_note, LEAST_NOTE)
        beside = _GAP + self._note if self._note else 0
        most = TITLE if self._note else max(_ALONE, room * 3 // 4)
        self._title = max(1, min(self._whole_title, most, room - beside - late))
        left = room - self._title - beside - late
        if facts.is_reason:
            more = max(0, min(left, self._whole_note - self._note, _REASON - self._note))
            self._note += more
            left -= more
        for name, cells in self._others():
            needed = cells + _GAP - (late if name == "due" else 0)
            if needed > left:
                break
            self._columns[name] = cells
            left -= needed
        self._is_late = bool(late) and "due" not in self._columns
        self._left = max(0, left)

    def _others(self) -> Iterator[tuple[str, int]]:
        """Yield the name and the least width of each other column that the row has, the most important first."""
        facts = self._facts
        for number, (text, _) in enumerate(facts.marks):
            yield f"mark {number}", cell_len(text)
        if self._tags:
            yield "tags", min(cell_len(self._tags[0]), _SHORT_TAG)
        if facts.due:
            yield "due", cell_len(facts.due[0])
        if facts.agent:
            yield "agent", min(cell_len(facts.agent), _SHORT_WHO)
        if facts.age:
            yield "age", _AGES

    def _widen(self, room: int) -> None:
        """Share out what is left: first to what is cut, then so that columns of several rows begin at one place."""
        is_whole, columns = "age" in self._columns, self._columns
        self._title += self._take(self._whole_title - self._title)
        self._note += self._take(min(self._whole_note, 4 * LEAST_NOTE) - self._note)
        if "agent" in columns:
            self._widen_to("agent", min(cell_len(self._facts.agent), _WHO))
        if is_whole:
            self._widen_to("agent", _AGENTS)
        self._note += self._take(self._whole_note - self._note)
        if self._tags and "tags" in columns:
            self._widen_to("tags", sum(cell_len(tag) + 1 for tag in self._tags) - 1)
        if is_whole:
            self._widen_to("due", _DATES)
            marks = sum(cells + _GAP for name, cells in columns.items() if name.startswith(("mark", "tags")))
            self._widen_to("room", _MARKS + _GAP - marks)
        self._title += self._take(min(_ALONE, room * 2 // 5) - self._title)

    def _widen_to(self, name: str, cells: int) -> None:
        """Widen a column as far as there is room; one that the row does not have is left free."""
        had = self._columns.get(name, -_GAP)
        if (more := self._take(cells - had)) and had + more >= 0:
            self._columns[name] = had + more
        else:
            self._left += more

    def _take(self, wanted: int) -> int:
        taken = max(0, min(wanted, self._left))
        self._left -= taken
        return taken

    def parts(self) -> list[Part]:
        """Return the row."""
        facts = self._facts
        shown: list[Part] = [self._fitted(facts.title, self._title)]
        if facts.note:
            shown += [(" " * _GAP, ""), self._fitted(facts.note, self._note)]
        shown.append((" " * self._left, ""))
        for name, cells in sorted(self._columns.items(), key=lambda column: _ORDER[column[0].split()[0]]):
            text, ink = self._text(name, cells)
            shown += [(" " * _GAP, ""), (fit(text, cells, "right" if name == "age" else "left"), ink)]
        return [*shown, (" ", ""), facts.late] if self._is_late and facts.late else shown

    def _fitted(self, part: Part, cells: int) -> Part:
        return fit(part[0], cells, ascii_only=self._ascii_only), part[1]

    def _text(self, name: str, cells: int) -> Part:
        facts = self._facts
        if name.startswith("mark"):
            return facts.marks[int(name.split()[1])]
        if name == "due" and facts.due:
            return facts.due
        text = {
            "tags": safe_line(" ".join(self._tags), cells, ascii_only=self._ascii_only) if self._tags else "",
            "agent": safe_ends(facts.agent, cells, ascii_only=self._ascii_only) if facts.agent else "",
            "age": facts.age,
        }
        return text.get(name, ""), "$muted"


_ORDER: Final = {name: number for number, name in enumerate(("mark", "tags", "room", "due", "agent", "age"))}
