"""The columns of a task's row: which of them fit in a width, where they begin, and how wide each is. Pure.

Columns are left out from the least important on. What a row shows in a width, it therefore shows in every greater one.
The places of columns follow from the width alone, so that those of several rows stand below each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from tui_tasks.text.safe import cell_len, fit, safe_ends, safe_line
from tui_tasks.text.word_cuts import safe_question
from tui_tasks.tui.painting.styles import Part

# In cells: what a title keeps while anything else can be left out, beside a note and without one.
TITLE: Final = 30
_ALONE: Final = 50
# In cells: what a note keeps, and what is kept of one that says why a task needs the human, before all columns.
LEAST_NOTE: Final = 8
# In cells: a note that is not cut.
_SHORT_NOTE: Final = 10
_REASON: Final = 18
# In cells: up to which width a note gets room before tags do, and before other columns stand in their places.
_NOTE: Final = 32
_WORDS: Final = 16
# In cells: an agent's name and a tag, cut and whole.
_SHORT_WHO: Final = 8
_WHO: Final = 16
_SHORT_TAG: Final = 8
_TAG: Final = 20
# In cells: the widths for which places are left free: titles at most, marks and tags, dates, agents and ages.
_TITLES: Final = 36
_MARKS: Final = 18
_DATES: Final = 9
_AGENTS: Final = 10
_AGES: Final = 4
# In cells: a room from which marks and tags have a place of their own, one under which those of agents are narrower,
# and one under which a note begins after its title.
_TABLE: Final = 105
_SMALL: Final = 96
_NARROW: Final = 60
_GAP: Final = 2


class RowFacts(msgspec.Struct, frozen=True):
    """What a row can show of a task after its number, in the order of the columns, the most important first."""

    title: Part
    note: Part | None = None
    """Why it needs the human, what it waits for, what its agent said last, whether it is proven, or that it is next."""
    is_reason: bool = False
    """Whether the note says why it needs the human; it then outlives all other columns."""
    marks: tuple[Part, ...] = ()
    """The priority, and tags that a filter finds."""
    tags: tuple[str, ...] = ()
    due: Part | None = None
    late: Part | None = None
    """The mark of a due date that is over, where the date itself has no room."""
    agent: str = ""
    age: str = ""
    is_question: bool = False
    """Whether the note is a question, which is cut in the middle."""
    proof: Part | None = None
    """Whether it is proven, beside another note: shown where everything else has room."""


def tag_parts(tags: Sequence[str], *, ascii_only: bool) -> list[Part]:
    """Return tags that a row shows as marks."""
    return [(f"#{safe_line(tag, _TAG, ascii_only=ascii_only)}", "$muted") for tag in tags]


def laid_out(facts: RowFacts, room: int, *, ascii_only: bool = False) -> list[Part]:
    """Return the columns of a row in exactly so many cells."""
    return _Row(facts, max(1, room), ascii_only).parts()


def _places(room: int) -> dict[str, int]:
    """Return where columns begin in a row of so many cells, if what stands before them leaves their places free."""
    less = max(0, min(2, (_SMALL - room) // 8))
    age = room - _AGES
    agent = age - _GAP - _AGENTS + less
    due = agent - _GAP - _DATES
    return {
        "note": min(_TITLES, room // 3) + _GAP,
        "mark": due - _GAP - _MARKS if room >= _TABLE else room,
        "due": due,
        "late": agent - _GAP - 1,
        "agent": agent,
        "age": age,
    }


class _Row:
    def __init__(self, facts: RowFacts, room: int, ascii_only: bool) -> None:
        self._facts = facts
        self._room = room
        self._ascii_only = ascii_only
        self._whole = {"title": cell_len(safe_line(facts.title[0], room, ascii_only=ascii_only))}
        if facts.note:
            self._whole["note"] = cell_len(facts.note[0])
        self._tags = [tag for tag, _ in tag_parts(facts.tags, ascii_only=ascii_only)]
        self._before_note = self._room_before_note()
        self._columns: dict[str, int] = {}
        self._choose()
        self._widen()

    def _room_before_note(self) -> int:
        """Return how many cells the title has so that the note begins in its place; 0 in a narrow row, where it begins
        after the title. A longer title takes what the note can spare before the next column; a reason spares less.
        """
        facts = self._facts
        if not facts.note or self._room < _NARROW:
            return 0
        places = _places(self._room)
        before = places["note"] - _GAP
        columns = (("due", facts.due), ("agent", facts.agent))
        end = next((places[name] for name, has in columns if has), places["age"])
        if self._room < _TABLE:
            end -= sum(cell_len(mark) + _GAP for mark, _ in facts.marks) + (1 + _GAP if facts.late else 0)
        elif facts.marks or self._tags or facts.is_reason:
            end = places["mark"]
        least = min(self._whole["note"], _REASON if facts.is_reason else LEAST_NOTE)
        return max(before, min(self._whole["title"], end - 2 * _GAP - least))

    def _choose(self) -> None:
        """Choose the columns, each in its least width; `_left` is what is left of the room."""
        facts, room, whole = self._facts, self._room, self._whole
        late = 1 + _GAP if facts.late else 0
        note = whole.get("note", 0)
        note = note if note <= _SHORT_NOTE else LEAST_NOTE
        beside = _GAP + note if note else 0
        in_place = min(self._before_note, _places(room)["note"] - _GAP) if room < _TABLE else self._before_note
        most = min(TITLE - late, in_place or TITLE) if note else max(_ALONE, room * 3 // 4)
        title = max(1, min(whole["title"], most, room - beside - late))
        left = room - title - beside - late
        if facts.is_reason:
            more = max(0, min(left, whole["note"] - note, _REASON - note))
            note += more
            left -= more
        self._columns["title"] = title
        if note:
            self._columns["note"] = note
        for name, cells in self._others():
            needed = cells + _GAP - (late if name == "due" else 0)
            if needed > left:
                break
            self._columns[name] = cells
            left -= needed
        if late and "due" not in self._columns:
            self._columns["late"] = 1
        self._left = max(0, left)
        if self._tags and (free := self._free_for_tags()) > 0:
            self._columns["tags"] = free
            self._left -= free + _GAP

    def _free_for_tags(self) -> int:
        """Return how many cells of tags there is room for, so that nothing gives way to them."""
        note = min(self._whole.get("note", 0), self._room if self._facts.is_reason else _NOTE)
        if self._room >= _TABLE:
            place = self._before_marks()
            if self._facts.is_reason and note > place and not self._facts.marks:
                return 0
            note = min(note, place)
        free = self._free_after(max(self._before_note, self._whole["title"]), note)
        whole = sum(cell_len(tag) + 1 for tag in self._tags) - 1
        return min(free, whole) if free >= min(cell_len(self._tags[0]), _SHORT_TAG) else 0

    def _before_marks(self) -> int:
        """Return how many cells a note has before marks and tags in their place."""
        return _places(self._room)["mark"] - 2 * _GAP - self._before_note

    def _free_after(self, *before: int) -> int:
        """Return how many cells are free between columns of these widths, with the marks, and the next in its place."""
        places, columns = _places(self._room), self._columns
        places["agent"] = min(places["agent"], places["age"] - _GAP - min(cell_len(self._facts.agent), _WHO))
        next_place = next((places[name] for name in ("due", "agent", "age") if name in columns), self._room + _GAP)
        marks = (cells for name, cells in columns.items() if name.startswith("mark") or name in ("late", "proof"))
        return next_place - _GAP - sum(cells + _GAP for cells in (*before, *marks) if cells)

    def _others(self) -> Iterator[tuple[str, int]]:
        """Yield the name and the least width of each other column that the row has, the most important first.

        A date that is over has a mark, and gives way to the agent and the age.
        """
        facts = self._facts
        for number, (text, _) in enumerate(facts.marks):
            yield f"mark {number}", cell_len(text)
        due = [("due", cell_len(facts.due[0]))] if facts.due else []
        if not facts.late:
            yield from due
        if facts.age:
            yield "age", _AGES
        if facts.agent:
            yield "agent", min(cell_len(facts.agent), _SHORT_WHO)
        if facts.late:
            yield from due
        if facts.proof:
            yield "proof", cell_len(facts.proof[0])

    def _widen(self) -> None:
        """Share out what is left: first to what is cut most."""
        self._widen_to("title", min(self._whole["title"], self._before_note or self._room))
        note = self._whole.get("note", 0)
        least = LEAST_NOTE if self._before_note else _WORDS
        in_place = max(least, self._free_after(max(self._before_note, self._columns["title"])))
        if self._facts.is_reason:
            # What comes after it stays in its place; in a wide row, it begins in its own.
            begins = max(self._columns["title"], self._before_note)
            in_place = max(self._columns.get("note", 0), self._free_after(begins))
        if self._room >= _TABLE and any(name.startswith(("mark", "tags")) for name in self._columns):
            in_place = min(in_place, self._before_marks())
        self._widen_to("note", min(note, in_place))
        self._widen_to("agent", min(cell_len(self._facts.agent), _WHO))

    def _widen_to(self, name: str, cells: int) -> None:
        """Widen a column as far as there is room."""
        if name in self._columns:
            more = max(0, min(cells - self._columns[name], self._left))
            self._columns[name] += more
            self._left -= more

    def parts(self) -> list[Part]:
        """Return the row: each column in its place, or as near to it as the others let it."""
        shown: list[Part] = []
        free, at = self._left, 0
        for name, wanted in self._wanted().items():
            blank = max(0, min(free, wanted - at - _GAP)) + (_GAP if shown else 0)
            shown.append((" " * blank, ""))
            cells = self._columns[name]
            text, style = self._text(name, cells)
            shown.append((fit(text, cells, "right" if name == "age" else "left", ascii_only=self._ascii_only), style))
            at += blank + cells
            free -= max(0, blank - _GAP)
        return [*shown, (" " * free, "")]

    def _wanted(self) -> dict[str, int]:
        """Return the columns from left to right, and where each begins if those before it leave the room."""
        end = self._room
        places, wanted = _places(end), {}
        names = sorted(self._columns, key=lambda name: _ORDER[name.split()[0]])
        for name in reversed(names):
            if name.startswith(("mark", "tags")):
                end = min(end, places["agent"] - _GAP)
            latest = end - self._columns[name]
            is_first = name == next((each for each in names if each.startswith(("mark", "tags"))), "")
            kind = "mark" if is_first else name
            wanted[name] = min(places.get(kind, latest), latest) if name != "title" else 0
            end = (latest if name.startswith(("mark", "tags")) else wanted[name]) - _GAP
        # Marks and tags stand side by side.
        for before, name in pairwise(names):
            if name.startswith(("mark", "tags")) and before.startswith("mark"):
                wanted[name] = wanted[before] + self._columns[before] + _GAP
        return {name: wanted[name] for name in names}

    def _text(self, name: str, cells: int) -> Part:
        facts, ascii_only = self._facts, self._ascii_only
        whole = {"title": facts.title, "note": facts.note, "proof": facts.proof, "due": facts.due, "late": facts.late}
        if name.startswith("mark"):
            return facts.marks[int(name.split()[1])]
        if name == "note" and facts.is_question and facts.note is not None:
            return safe_question(facts.note[0], cells, ascii_only=ascii_only), facts.note[1]
        if (part := whole.get(name)) is not None:
            return part
        text = {
            "tags": safe_line(" ".join(self._tags), cells, ascii_only=ascii_only) if self._tags else "",
            "agent": safe_ends(facts.agent, cells, ascii_only=ascii_only) if facts.agent else "",
            "age": facts.age,
        }
        return text[name], "$muted"


_LEFT_TO_RIGHT: Final = ("title", "note", "proof", "mark", "tags", "due", "late", "agent", "age")
_ORDER: Final = {name: number for number, name in enumerate(_LEFT_TO_RIGHT)}
