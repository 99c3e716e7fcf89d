"""What each agent does, in a line or two above every pane and screen, most urgent first: how they share the room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from textual import events

from tui_tasks.text.safe import cell_len
from tui_tasks.text.word_cuts import cut_said
from tui_tasks.tui.layout import WIDE, has_air, is_compact
from tui_tasks.tui.needs.agent_entries import LEAST_WORD, AgentEntries, AgentEntry
from tui_tasks.tui.painting.styles import Group
from tui_tasks.tui.painting.text_lines import Drawn, HeldLines, TextDrawing

if TYPE_CHECKING:
    from textual.geometry import Size

    from tui_tasks.tui.state.context import Context

# In cells: the least that an entry takes, with what parts it from the next.
_LEAST_ENTRY: Final = 7
# In cells: the room for the last words of an agent at work beside idle ones, and the least in one row; the number of a
# task. In lines: the least screen that has a second row, and the least one on which it stands whatever agents do.
_ROOM_FOR_WORDS: Final = 26
_SOME_WORDS: Final = 18
_NUMBER: Final = 4
_TALL: Final = 24
_HIGH: Final = 30


class _AgentsText(TextDrawing):
    def __init__(self, context: Context, size: Callable[[], Size], *, has_list: bool) -> None:
        super().__init__(context)
        self._tall = _HIGH if has_list else _TALL
        self._agents = AgentEntries(context, self.lasts)
        self._size = size
        self.rows: list[list[Group]] = []

    def lines(self, width: int, height: int) -> list[Drawn]:
        entries, finished = self._agents.entries(), self._agents.finished()
        self.rows = agent_rows(self.context, entries, self._size(), finished, tall=self._tall)
        drawn: list[Drawn] = [
            [part for at, group in enumerate(row) for part in ((group.gap if at else " ", ""), *group.parts)]
            for row in self.rows
        ]
        return [*drawn, *[()] * has_air(self._size())]


class AgentLines(HeldLines):
    """The line of all agents, the same above every pane and screen, or two where those at work would lack their words;
    below it an empty one where there is air.

    A click on an agent goes to it.
    """

    def __init__(
        self, context: Context, *, id: str, has_list: bool = False, on_moved: Callable[[int], None] = lambda by: None
    ) -> None:
        """`has_list`: whether the screen lists the agents below with their words. `on_moved`: see `HeldLines`."""
        self._agents = _AgentsText(context, lambda: self.app.size, has_list=has_list)
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
    context: Context,
    entries: Sequence[AgentEntry],
    size: Size,
    finished: Iterable[AgentEntry] = (),
    *,
    tall: int = _TALL,
) -> list[list[Group]]:
    """Return the agents in one row, none on a small screen. One of `tall` lines has a second row, for those at work,
    where they would not have room for words. On a high screen that depends on who is there, not on what they do: it
    moves nothing below.
    """
    if is_compact(size):
        return []
    if size.height < tall or _has_words_in_one(entries, size):
        return [agent_groups(context, entries, size.width, finished)]
    urgent, work, idle = (
        [one for one in entries if (one.is_at_work, one.state == "idle") == kind]
        for kind in ((False, False), (True, False), (False, True))
    )
    if not work:
        busy = urgent or idle
        half = (len(busy) + 1) // 2
        rows = (busy[:half], busy[half:] + (idle if urgent else []))
    else:
        half = (len(work) + 1) // 2
        rows = (urgent, work + idle) if urgent else (work[:half], work[half:] + idle)
        if urgent and size.height < _HIGH:  # where words have little room
            rows = (urgent + idle, work)
    return [agent_groups(context, row, size.width) for row in rows if row]


def _has_words_in_one(entries: Sequence[AgentEntry], size: Size) -> bool:
    """Return whether one row has room for words of all; on a screen that is not high, as they stand there now."""
    gap = _gap(size.width)
    room = size.width + gap - 2
    if size.height >= _HIGH:
        widest = (gap + 4 + cell_len(one.who) + _NUMBER + _SOME_WORDS for one in entries)
        return _number_within(widest, room) == len(entries)
    busy = [one for one in entries if one.state != "idle"]
    sizes = (gap + one.size(_SOME_WORDS) for one in busy)
    return not any(one.is_at_work for one in busy) or _number_within(sizes, room) == len(busy)


def agent_groups(
    context: Context, entries: Sequence[AgentEntry], width: int, finished: Iterable[AgentEntry] = ()
) -> list[Group]:
    """Return as many agents as fit in a width, and how many there are more; those that have finished where there is
    room.

    Who is shown depends on who is there, not on the words of those at work. What is shown of each gives way in this
    order: the name of a task, an idle agent, a part of the last words, words that a mark says, the last words, the
    reason of a failure, what an agent asks though it works on.
    """
    act, gap = lambda: context.do("agents"), " " * _gap(width)
    if not entries:
        words = "no agent at work" if context.link.as_of is not None else "no agent connected"
        groups, left = [Group([(words, "$muted")], act)], width - 2 - len(words)
    else:
        shown = _shown(entries, width)
        more = _more(entries[len(shown) :], gap)
        room = width - 2 - (cell_len(more) if more else 0)
        names, said = _shares(shown, room, len(gap))
        groups = [
            Group(entry.parts(name, word, room, ascii_only=context.ascii_only), entry.act, gap)
            for entry, name, word in zip(shown, names, said, strict=True)
        ]
        groups = _with_idle_as_one(groups, shown)
        if more:
            return [*groups, Group([(more.strip(), "$muted")], act, gap if len(more) > len(more.strip()) + 1 else " ")]
        left = width - 2 - _cells(groups)
    for entry in finished:
        last = Group(entry.parts(0, 0, width, ascii_only=context.ascii_only), entry.act, gap)
        left -= last.size + len(gap)
        if left < 0:
            break
        groups.append(last)
    return groups


def _with_idle_as_one(groups: list[Group], shown: Sequence[AgentEntry]) -> list[Group]:
    """Return the groups with one for all that are idle: `○ codex-2, watcher idle`."""
    idle = [at for at, entry in enumerate(shown) if (entry.state, entry.word) == ("idle", "idle")]
    if len(idle) < 2 or idle != list(range(idle[0], len(shown))):
        return groups
    first = groups[idle[0]]
    parts = [first.parts[0], (", ".join(shown[at].who for at in idle), ""), (" idle", "$muted")]
    return [*groups[: idle[0]], replace(first, parts=parts)]


def _more(rest: Sequence[AgentEntry], gap: str) -> str:
    """Return `   +2 idle` for the agents that are not shown, ` +2` where some of these are not idle; empty for none."""
    if not rest:
        return ""
    return f"{gap}+{len(rest)} idle" if all(entry.state == "idle" for entry in rest) else f" +{len(rest)}"


def _shown(entries: Sequence[AgentEntry], width: int) -> list[AgentEntry]:
    """Return the entries that are shown, in the longest form in which all that are not idle fit."""
    first, gap = entries[: width // _LEAST_ENTRY], _gap(width)
    room = width - 2 + gap
    busy = sum(entry.state != "idle" for entry in entries)
    forms = (
        (first, _ROOM_FOR_WORDS),
        (first, LEAST_WORD),
        ([one.brief for one in first], LEAST_WORD),
        ([one.brief for one in first], 0),
        ([one.bare for one in first], 0),
        ([one.least for one in first], 0),
    )
    for form, words in forms:
        sizes = [gap + entry.size(words) for entry in form]
        number = len(form)
        while number and sum(sizes[:number]) + cell_len(_more(entries[number:], " " * gap)) > room:
            number -= 1
        if number >= busy or form is forms[-1][0]:
            break
    number = max(1, number)
    if words < _ROOM_FOR_WORDS or number < len(entries):
        number = min(number, busy or number)
    return list(form[:number])


def _cells(groups: Sequence[Group]) -> int:
    """Return the width in cells, with the gaps but the first."""
    return sum(group.size + len(group.gap) for group in groups) - len(groups[0].gap)


def _gap(width: int) -> int:
    return 3 if width >= WIDE else 2


def _shares(shown: Sequence[AgentEntry], room: int, gap: int) -> tuple[list[int], list[int]]:
    """Return the cells of the names of their tasks and of their last words, which come first."""
    spare = room + gap - sum(gap + entry.size(0) for entry in shown)
    said = _filled([entry.said for entry in shown], _with_blanks([cell_len(entry.said) for entry in shown], spare))
    spare -= sum(cells + bool(cells) for cells in said)
    return _with_blanks([cell_len(entry.name) for entry in shown], spare), said


def _filled(texts: Sequence[str], shares: Sequence[int]) -> list[int]:
    """Return the shares of texts with what a cut between words leaves free given to the first that lack it."""
    filled = [_needed(text, share) for text, share in zip(texts, shares, strict=True)]
    spare = sum(shares) - sum(filled)
    for at, text in enumerate(texts):
        if filled[at]:
            more = _needed(text, filled[at] + spare) - filled[at]
            spare, filled[at] = spare - more, filled[at] + more
    return filled


def _needed(text: str, share: int) -> int:
    """Return the least share in which a text is cut as in this one."""
    shown = cut_said(text, share)
    return cell_len(shown) + (shown not in ("", text) and not shown.endswith('"'))


def _number_within(sizes: Iterable[int], room: int) -> int:
    """Return how many of the first sizes have room. Only those are measured: there may be thousands."""
    number = 0
    for size in sizes:
        room -= size
        if room < 0:
            break
        number += 1
    return number


def _with_blanks(wanted: Sequence[int], room: int) -> list[int]:
    """Return the width of each text without the blank before it, 0 where too little of it could be shown."""
    shares = [max(0, share - 1) for share in _shared([want + bool(want) for want in wanted], room)]
    if all(share >= min(want, LEAST_WORD) for want, share in zip(wanted, shares, strict=True)):
        return shares
    for at, want in enumerate(wanted):
        share = min(want, max(0, room - 1))
        shares[at] = share if share >= min(want, LEAST_WORD) else 0
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
