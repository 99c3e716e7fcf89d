"""What needs the human, has failed or is late, in rows above every pane and screen, which keep most of the lines.

Above them stands what has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace
from textual import events
from textual.geometry import Size

from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len, safe_ends, safe_line, safe_question
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.layout import WIDE, is_compact
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, HeldLines, TextDrawing, wrapped
from tui_tasks.tui.widgets.agent_entries import WHO
from tui_tasks.tui.widgets.counts_line import Counts
from tui_tasks.tui.widgets.foot_line import Act
from tui_tasks.tui.widgets.open_needs import (
    AGENTS,
    ALL,
    ASKS,
    CHECKS,
    HELD,
    REVIEW,
    Need,
    Needs,
    grouped,
    is_new,
    late_number,
    tally,
    visit,
)

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.widgets.needs_entries import Entry, NeedsEntries

# The lines of the screen for each row here, rounded up; the other lines around a pane: above it, the rule, the foot.
_SHARE: Final = 8
_AROUND: Final = 6
ROWS_BELOW: Final = 8
"""The rows that a pane keeps."""
ROWS_AND_DETAIL: Final = 14
"""The rows that a screen keeps which shows a detail below its list."""
_MOST_OF_ONE: Final = 4
"""The most lines of one text."""
# In cells, as in a list's rows: what stands around a number and an agent, and an age with the margin after it.
_AROUND_NUMBER: Final = 6
_ASIDE: Final = 8
_WIDE_ASIDE: Final = 10
_AGE: Final = 5
# In cells, of several things in the last row: the least of each with its number, the least of its words that are cut,
# the most that are read of them. What parts two, with the place of the mark of what is new.
_LEAST_OF_ONE: Final = 16
_SOME_WORDS: Final = 20
_MOST_BESIDE: Final = 300
_BETWEEN: Final = "   "


class _Columns(msgspec.Struct, frozen=True):
    """The widths in cells of the number, of the words with nothing beside them, and of what stands beside them."""

    number: int
    words: int
    aside: int

    def beside(self, number: str) -> _Columns:
        """Return the columns of a row with this number, which may be wider than those of the others."""
        more = max(0, cell_len(number) - self.number)
        return replace(self, number=self.number + more, words=max(1, self.words - more))

    def room_beside(self, aside: str) -> int:
        """Return how many cells the words have beside an agent."""
        return max(1, self.words - max(self.aside, cell_len(aside)) - 4) if aside else self.words


def rows_for_needs(size: Size, below: int) -> int:
    """Return how many rows there are for what needs the human on a screen of a size that keeps so many rows below: 4 of
    24, 6 of 40. The last is left for those that have none.
    """
    return 0 if is_compact(size) else max(0, min(1 - -size.height // _SHARE, size.height - _AROUND - below))


class NeedsText(TextDrawing):
    """Draws a row for each thing that needs the human, as far as the rows suffice; the last has the others.

    `rows` returns how many there are, `kinds` the kinds of entries. `changes` returns a row to put above them, or
    nothing.
    """

    def __init__(
        self,
        context: Context,
        rows: Callable[[], int],
        kinds: Callable[[], Collection[int]],
        changes: Callable[[], Drawn],
    ) -> None:
        super().__init__(context)
        self._rows = rows
        self._kinds = kinds
        self._changes = changes
        self._needs = Needs(context, self.lasts)
        self.acts: list[Act] = []
        """For each line of the rows, what a click on it does."""
        self.above: list[Drawn] = []
        """The line above the rows, if there is one."""

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines, the most urgent thing first."""
        changes = self._changes()
        self.above = [changes] if changes else []
        return [*self.above, *self._rows_of_needs(width)]

    def _rows_of_needs(self, width: int) -> list[Drawn]:
        self.acts = []
        rows = self._rows()
        if not rows:
            return []
        kinds = self._kinds()
        needs = grouped((need for need in self._needs.all() if need.kind in kinds), self._why)
        if not needs:
            return []
        # Imported here, as nothing may need the human when a screen begins.
        from tui_tasks.tui.widgets import needs_entries

        words = needs_entries.NeedsEntries(self.context, self.lasts)
        has_all = len(needs) <= rows
        chosen = needs if has_all else _chosen(needs, rows - 1, self._waiting())
        shown = [words.entry(need) for need in chosen]
        number = max((2, *(cell_len(entry.number) for entry in shown if not entry.need.parts)))
        room = max(8, width - number - _AROUND_NUMBER - _AGE)
        columns = _Columns(number, room, _WIDE_ASIDE if width >= WIDE else _ASIDE)
        texts = [self._fitted(entry, columns.beside(entry.number)) for entry in shown]
        keys = {need.key for need in chosen}
        rest = [need for need in needs if need.key not in keys]
        shared = self._shared([len(text) for text, _ in texts], rows - (not has_all))
        drawn: list[Drawn] = []
        for entry, (text, aside), most in zip(shown, texts, shared, strict=True):
            lines = self._row(entry, text, aside, most, columns.beside(entry.number))
            drawn += lines
            self.acts += [self._act(entry.need)] * len(lines)
        if rest:
            beside, hidden = self._side_by_side(rest, words, width - 3, columns)
            more = [(f" {self._flag(hidden)}", "$changed"), (f"+{_number(hidden, needs)}", "$muted")] if hidden else []
            drawn.append([*beside, *more])
            self.acts.append(self._act(rest[0]))
        return drawn

    def _side_by_side(
        self, needs: Sequence[Need], words: NeedsEntries, width: int, columns: _Columns
    ) -> tuple[list[Part], Sequence[Need]]:
        """Return ` ✗ S4  smtp: 535 authentication failed  •◷ S3 due 19:50`, and those that it hides: as many as have
        room for some words each, the first of each kind before others.
        """
        ascii_only = self.context.ascii_only
        for count in range(min(len(needs), max(1, width // _LEAST_OF_ONE)), 0, -1):
            shown = _chosen(needs, count, ())
            keys = {need.key for need in shown}
            hidden = [need for need in needs if need.key not in keys]
            entries = [words.entry(need) for need in shown]
            heads = [_head(entry, columns.number * (not at)) for at, entry in enumerate(entries)]
            room = width - sum(map(cell_len, heads)) - len(_BETWEEN) * (count - 1)
            room -= cell_len(f"  +{_number(hidden, needs)}") if hidden else 0
            texts = fitted([[_first_line(way, ascii_only=ascii_only) for way in entry.ways] for entry in entries], room)
            if sum(min(cell_len(text), _SOME_WORDS) for text in texts) <= room:
                break
        if hidden and (proposed := self._proposed(needs, words, width)):
            return proposed, ()
        parts: list[Part] = []
        cells = _widths([cell_len(text) for text in texts], room)
        for entry, head, text, most in zip(entries, heads, texts, cells, strict=True):
            cut = safe_question if entry.is_question else safe_line
            parts += [
                (f"{_BETWEEN[1:] if parts else ' '}{self._flag([entry.need])}", "$changed"),
                (entry.mark, entry.color),
                (head.removeprefix(entry.mark), "$muted"),
                (cut(text, most, ascii_only=ascii_only), ""),
            ]
        return parts, hidden

    def _proposed(self, needs: Sequence[Need], words: NeedsEntries, width: int) -> list[Part]:
        """Return ` ◇ 4 new tasks?  #10 Rewrite the session store in Rust  •#11  •#12`: all that are proposed, the first
        with its name; nothing where these are others, or too many.
        """
        if any(need.kind != HELD or need.is_rest or need.row.is_job for need in needs):
            return []
        first, *others = [words.entry(need) for need in needs]
        parts: list[Part] = [
            (f" {self._flag(needs[:1])}", "$changed"),
            (first.mark, first.color),
            (f" {len(needs)} new tasks?  {first.number} ", "$muted"),
        ]
        ends = [
            part for one in others for part in ((f"  {self._flag([one.need])}", "$changed"), (one.number, "$muted"))
        ]
        room = width - sum(cell_len(text) for text, _ in (*parts, *ends))
        name = safe_line(first.ways[-1], room, ascii_only=self.context.ascii_only) if room >= _SOME_WORDS else ""
        return [*parts, (name, ""), *ends] if name else []

    def _act(self, need: Need) -> Act:
        """Return what a click does: show what is decided in the inbox there, and all else where it is."""
        if need.kind in (ASKS, CHECKS, HELD, REVIEW, AGENTS):
            return lambda: self.context.navigation.show_need(self.context, need.key)
        return lambda: visit(self.context, need)

    def _why(self, need: Need) -> str:
        return self.context.state.why_failed(need.row)

    def _waiting(self) -> set[str]:
        """Return the agents that cannot go on without an answer."""
        return {
            member.name
            for member in self.context.state.present
            if member.ask is not None and not member.goes_on and (member.is_there or member.calls_alone)
        }

    def _flag(self, needs: Sequence[Need]) -> str:
        """Return the mark of what is new to the human, where one of these is."""
        has_new = any(is_new(self.context.state, need) for need in needs)
        return sign("changed", ascii_only=self.context.ascii_only) if has_new else " "

    def _fitted(self, entry: Entry, columns: _Columns) -> tuple[Sequence[str], str]:
        """Return the lines of an entry's words, and its agent beside them, which gives way to them where a number says
        what the entry is about.
        """
        ascii_only, aside = self.context.ascii_only, safe_ends(entry.aside, WHO, ascii_only=self.context.ascii_only)
        for text in (entry.text, *filter(None, [entry.brief])):
            for beside in dict.fromkeys((aside, "" if entry.number and not entry.has_agent else aside)):
                lines = wrapped(text, columns.room_beside(beside), ascii_only=ascii_only)
                if len(lines) == 1:
                    return lines, beside
        return lines, beside

    @staticmethod
    def _shared(wanted: Sequence[int], rows: int) -> list[int]:
        """Return how many lines each text gets: one, and more in the order of their urgency."""
        left, shared = rows - len(wanted), []
        for number in wanted:
            more = min(number, _MOST_OF_ONE) - 1
            shared.append(1 + min(more, max(0, left)))
            left -= shared[-1] - 1
        return shared

    def _row(self, entry: Entry, text: Sequence[str], aside: str, most: int, columns: _Columns) -> list[Drawn]:
        """Return `? #4  Which one?   claude-1   9m`, and below it the rest of its words, in so many lines at most."""
        ascii_only, now = self.context.ascii_only, self.context.clock.now()
        since, room = "", columns.room_beside(aside)
        if (at := entry.need.at) is not None:
            self.lasts(age_lasts(at, now))
            since = age(at, now)
        shown = list(text[:most])
        if len(text) > most:
            cut = safe_question if entry.is_question else safe_line
            shown[-1] = cut(" ".join(text[most - 1 :]), room, ascii_only=ascii_only)
        beside = f"  {aside}{' ' * (columns.aside - cell_len(aside))}  " if aside else ""
        head: list[Part] = [
            (f" {self._flag([entry.need])}", "$changed"),
            (f"{entry.mark} ", entry.color),
            (f"{entry.number:<{columns.number}}  ", "$muted"),
            (shown[0], ""),
            (f"{' ' * (room - cell_len(shown[0]))}{beside}{since:>{_AGE - 1}} ", "$muted"),
        ]
        indent = " " * (columns.number + _AROUND_NUMBER)
        return [head, *([(indent, ""), (line, "")] for line in shown[1:])]


def _head(entry: Entry, column: int) -> str:
    """Return the mark of one of several in a row, and its number or its agent: `✗ #3 `; with a `column` for the number
    as the rows above have it.
    """
    beside = entry.number or entry.aside
    return f"{entry.mark} {beside:<{column}}{' ' * (1 + bool(column))}" if beside else f"{entry.mark} "


def fitted(ways: Sequence[Sequence[str]], room: int) -> list[str]:
    """Return one text for each of several in a row: of its ways, the longest first, one with which all have room; the
    last one gets shorter first. Where that is not enough, all are at their shortest.
    """
    chosen = [0] * len(ways)
    while sum(cell_len(texts[at]) for texts, at in zip(ways, chosen, strict=True)) > room:
        longer = [at for at, texts in enumerate(ways) if chosen[at] < len(texts) - 1]
        if not longer:
            break
        chosen[longer[-1]] += 1
    return [texts[at] for texts, at in zip(ways, chosen, strict=True)]


def _first_line(text: str, *, ascii_only: bool) -> str:
    return safe_line(text, _MOST_BESIDE, ascii_only=ascii_only)


def _widths(wanted: Sequence[int], room: int) -> list[int]:
    """Return how many cells each text gets: what it wants, or an equal share of what the shorter ones leave."""
    widths = dict.fromkeys(range(len(wanted)), 0)
    for done, at in enumerate(sorted(widths, key=wanted.__getitem__)):
        widths[at] = min(wanted[at], max(0, room) // (len(wanted) - done))
        room -= widths[at]
    return list(widths.values())


def _number(rest: Sequence[Need], needs: Sequence[Need]) -> str:
    """Return how many things these stand for, as all `needs` are counted: `3`, or `95+` where not all are read."""
    counts = tally(rest)
    return f"{sum(counts.values()):,}{'+' * ('late' in counts and late_number(needs).endswith('+'))}"


def _chosen(needs: Sequence[Need], number: int, waiting: Collection[str]) -> list[Need]:
    """Return so many: the questions that block an agent, up to half of them, the first of each kind, the first of each
    agent, then the most urgent.
    """
    kinds: dict[int, int] = {}
    agents: dict[tuple[int, str], int] = {}
    for at, need in enumerate(needs):
        kinds.setdefault(need.kind, at)
        agents.setdefault((need.kind, need.agent), at)
    is_first = [agents[need.kind, need.agent] == at for at, need in enumerate(needs)]
    blocking = [at for at, need in enumerate(needs) if need.kind == ASKS and need.agent in waiting and is_first[at]][
        : (number + 1) // 2
    ]
    order = sorted(
        range(len(needs)), key=lambda at: (at not in blocking, kinds[needs[at].kind] != at, not is_first[at])
    )
    return [needs[at] for at in sorted(order[:number])]


class NeedsLines(HeldLines):
    """Those rows. They take no room where nothing needs the human, or the screen is small."""

    DEFAULT_CSS = "NeedsLines { height: auto; }"

    def __init__(
        self,
        context: Context,
        *,
        id: str,
        kinds: Callable[[], Collection[int]] = lambda: ALL,
        below: int = ROWS_BELOW,
        most: Callable[[], int] | None = None,
        has_changes: bool = True,
        on_moved: Callable[[int], None] = lambda by: None,
    ) -> None:
        """`below`: the rows that are kept for what stands below. `most` returns how many rows there are at most.
        `has_changes`: whether what has changed stands here. `on_moved`: see `HeldLines`.
        """

        def rows() -> int:
            found = rows_for_needs(self.app.size, below)
            return min(found, most()) if most is not None else found

        def changes() -> Drawn:
            return counts.changes_row(self.app.size) if has_changes else ()

        self._most_rows = rows
        self._needs = NeedsText(context, rows, kinds, changes)
        counts = Counts(context, self._needs.lasts)
        super().__init__(context, self._needs, id=id, on_moved=on_moved)

    def most(self) -> int:
        """Return how many rows there are at most, with what has changed."""
        return self._most_rows() + len(self._needs.above)

    @property
    def has_needs(self) -> bool:
        """Whether something that needs the human stands here."""
        return bool(self._needs.acts)

    def on_click(self, event: events.Click) -> None:
        """Go to what was clicked."""
        row = event.y - len(self._needs.above)
        if 0 <= row < len(self._needs.acts):
            self._needs.acts[row]()
