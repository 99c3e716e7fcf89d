"""What each agent does, in a line or two above every pane and screen, most urgent first: how they share the room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace
from textual import events

from tui_tasks.text.safe import cell_len
from tui_tasks.tui.layout import WIDE, is_compact
from tui_tasks.tui.painting.text_lines import Drawn, HeldLines, TextDrawing
from tui_tasks.tui.widgets.agent_entries import BY_MARK, LEAST_WORD, SAID_BY_MARK, AgentEntries, AgentEntry
from tui_tasks.tui.widgets.foot_line import Group

if TYPE_CHECKING:
    from textual.geometry import Size

    from tui_tasks.tui.state.context import Context

# In cells: what is worth showing of the name of a task.
_LEAST_NAME: Final = 10
# In cells: the least that an entry takes, with what parts it from the next.
_LEAST_ENTRY: Final = 5
# In cells: the room for the last word of an agent at work; in lines: the least screen that has a second row.
_ROOM_FOR_WORDS: Final = 26
_TALL: Final = 24


class _AgentsText(TextDrawing):
    def __init__(self, context: Context, size: Callable[[], Size]) -> None:
        super().__init__(context)
        self._agents = AgentEntries(context, self.lasts)
        self._size = size
        self.rows: list[list[Group]] = []

    def lines(self, width: int, height: int) -> list[Drawn]:
        self.rows = agent_rows(self.context, self._agents.entries(), self._size(), self._agents.finished())
        return [
            [part for at, group in enumerate(row) for part in ((group.gap if at else " ", ""), *group.parts)]
            for row in self.rows
        ]


class AgentLines(HeldLines):
    """The line of all agents, the same above every pane and screen, or two where those at work would lack their words.
    A click on an agent goes to it.
    """

    def __init__(self, context: Context, *, id: str, on_moved: Callable[[int], None] = lambda by: None) -> None:
        """`on_moved`: see `HeldLines`."""
        self._agents = _AgentsText(context, lambda: self.app.size)
        super().__init__(context, self._agents, id=id, on_moved=on_moved)

    def on_click(self, event: events.Click) -> None:
        """Go to what was clicked."""
        x = event.x
        for at, group in enumerate(self._agents.rows[event.y] if event.y < len(self._agents.rows) else ()):
            x -= len(group.gap) if at else 1
            if 0 <= x < group.size and group.act is not None:
                group.act()
                return
            x -= group.size


def agent_rows(
    context: Context, entries: Sequence[AgentEntry], size: Size, finished: Iterable[AgentEntry] = ()
) -> list[list[Group]]:
    """Return the agents in one row, none on a small screen; on a high one, those at work in a second row where they
    would lack room for their words. That depends on who is there, not on the words: these move nothing below.
    """
    if is_compact(size):
        return []
    urgent, work, idle = (
        [one for one in entries if (one.is_at_work, one.state == "idle") == kind]
        for kind in ((False, False), (True, False), (False, True))
    )
    fitting = _with_words(urgent + work, size.width)
    if size.height < _TALL or not work or fitting == len(urgent) + len(work):
        return [agent_groups(context, entries, size.width, finished)]
    half = min((len(work) + 1) // 2, 2 * max(1, fitting))
    rows = (urgent + idle, work) if urgent else (work[:half], work[half:] + idle)
    return [agent_groups(context, row, size.width) for row in rows if row]


def _with_words(entries: Sequence[AgentEntry], width: int) -> int:
    """Return how many of these fit in a row in which those at work have room for their words."""
    used = 1 - _gap(width)
    for at, entry in enumerate(entries):
        used += _gap(width) + 2 + cell_len(entry.bare.fixed) + (1 + cell_len(entry.asks) if entry.asks else 0)
        used += 1 + _ROOM_FOR_WORDS if entry.is_at_work else 0
        if used > width:
            return at
    return len(entries)


def agent_groups(
    context: Context, entries: Sequence[AgentEntry], width: int, finished: Iterable[AgentEntry] = ()
) -> list[Group]:
    """Return as many agents as fit in a width, and how many there are more; those that have finished where there is
    room. The words that their marks say give way before the last words of those at work, and these before an agent that
    is not idle.
    """
    gap = " " * _gap(width)
    if not entries:
        words = "no agent at work" if context.link.as_of is not None else "no agent connected"
        groups = [Group([(words, "$muted")], lambda: context.do("agents"))]
    else:
        row = _laid_out(entries, len(entries), width)
        if row.is_cut:
            first = entries[: width // _LEAST_ENTRY]
            shorter = ([one.brief for one in first], [one.silent for one in first], [one.bare for one in first])
            rows = [row, *(_laid_out(each, len(entries), width) for each in shorter)]
            row = max(rows, key=lambda each: each.worth)
        groups = [
            Group(entry.parts(name, said, row.room, ascii_only=context.ascii_only), entry.act, gap)
            for entry, name, said in zip(row.shown, row.names, row.said, strict=True)
        ]
        if row.left:
            last = Group([(f"+{row.left}", "$muted")], lambda: context.do("agents"), " ")
            are_idle = all(entry.state == "idle" for entry in entries[len(row.shown) :])
            roomy = replace(last, gap=gap)
            ways = [replace(roomy, parts=[(f"+{row.left} idle", "$muted")])] if are_idle else []
            return [*groups, next((way for way in (*ways, roomy) if _cells([*groups, way]) < width - 1), last)]
    for entry in finished:
        last = Group(entry.parts(0, 0, width, ascii_only=context.ascii_only), entry.act, gap)
        if _cells([*groups, last]) >= width - 1:
            break
        groups.append(last)
    return groups


def _cells(groups: Sequence[Group]) -> int:
    """Return the width in cells, with the gaps but the first."""
    return sum(group.size + len(group.gap) for group in groups) - len(groups[0].gap)


class _Row(msgspec.Struct, frozen=True):
    """The entries that are shown, and how many are not; the cells of the names of their tasks and of their last words;
    the room for all.
    """

    shown: Sequence[AgentEntry]
    left: int
    names: Sequence[int]
    said: Sequence[int]
    room: int

    @property
    def is_cut(self) -> bool:
        """Whether an entry, a part of a last word or the task of one at work has no room."""
        return bool(self.left) or self._has_cut_words

    @property
    def has_idle_beside_cut(self) -> bool:
        """Whether the last entry is of an idle agent that takes the room of another's words."""
        return len(self.shown) > 1 and self.shown[-1].state == "idle" and self._has_cut_words

    @property
    def _has_cut_words(self) -> bool:
        return any(
            said < cell_len(entry.said) or (entry.is_at_work and name < cell_len(entry.name))
            for entry, name, said in zip(self.shown, self.names, self.said, strict=True)
        )

    @property
    def worth(self) -> tuple[int, int, int, int, int]:
        """What makes one row better than another: how many are not idle, of how many it says why they failed or what
        they ask for, how much of their last words and of the names of their tasks is shown, and how many there are.
        """
        busy = [entry for entry in self.shown if entry.state != "idle"]
        reasons = sum(entry.state in BY_MARK and entry.word not in ("", *SAID_BY_MARK) for entry in busy)
        return len(busy), reasons, sum(self.said), sum(self.names), len(self.shown)


def _gap(width: int) -> int:
    return 3 if width >= WIDE else 2


def _laid_out(entries: Sequence[AgentEntry], total: int, width: int) -> _Row:
    """Return the first of these entries, of so many in all, that fit; idle agents give way to last words."""
    gap, room = _gap(width), width - 2
    number = _fitting((entry.least + gap for entry in entries), total, room + gap)
    row = _of_first(entries[:number], total - number, gap, room)
    while row.has_idle_beside_cut:
        row = _of_first(row.shown[:-1], row.left + 1, gap, room)
    return row


def _of_first(shown: Sequence[AgentEntry], left: int, gap: int, room: int) -> _Row:
    room -= len(f" +{left}") if left else 0
    spare = room + gap - sum(entry.least + gap for entry in shown)
    said = [entry.least_said for entry in shown]
    # A blank stands before a last word; one that need not be shown has none yet.
    blanks = [bool(entry.said) and not low for entry, low in zip(shown, said, strict=True)]
    wanted = [cell_len(entry.said) - low + blank for entry, low, blank in zip(shown, said, blanks, strict=True)]
    more = _shared(wanted, spare)
    for at, entry in enumerate(shown):
        if said[at] + more[at] - blanks[at] < min(LEAST_WORD, cell_len(entry.said)):
            more[at] = 0
        said[at] += max(0, more[at] - blanks[at])
    names = _names([cell_len(entry.name) for entry in shown], spare - sum(more))
    return _Row(shown, left, names, said, room)


def _fitting(sizes: Iterator[int], total: int, room: int) -> int:
    """Return how many of the first entries fit, and at least one; of those that do not, their number is shown.

    Only those that fit are measured: there may be thousands.
    """
    number, used = 1, next(sizes)
    for at, size in enumerate(sizes, 1):
        left = total - at - 1
        used += size
        if used + (len(f" +{left}") if left else 0) > room:
            break
        number += 1
    return number


def _names(wanted: Sequence[int], room: int) -> list[int]:
    """Return the width of each name with the blank before it left out, 0 where too little of it could be shown."""
    shares = [max(0, share - 1) for share in _shared([want + bool(want) for want in wanted], room)]
    if all(share >= min(want, _LEAST_NAME) for want, share in zip(wanted, shares, strict=True)):
        return shares
    for at, want in enumerate(wanted):
        share = min(want, max(0, room - 1))
        shares[at] = share if share >= min(want, _LEAST_NAME) else 0
        room -= shares[at] + bool(shares[at])
    return shares


def _shared(wanted: Sequence[int], room: int) -> list[int]:
    """Return the share of each in the room: what it wants, else as much as the others get."""
    shares = [0] * len(wanted)
    left = len(wanted)
    for at in sorted(range(len(wanted)), key=lambda at: wanted[at]):
        shares[at] = min(wanted[at], max(0, room) // left)
        room -= shares[at]
        left -= 1
    return shares
