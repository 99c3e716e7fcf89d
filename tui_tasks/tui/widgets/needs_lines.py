"""What needs the human, has failed or is late, in rows above every pane and screen, which keep most of the lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace
from textual import events
from textual.geometry import Size

from tui_tasks.text.safe import cell_len, safe_ends, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.text.word_cuts import safe_question
from tui_tasks.tui.layout import WIDE, has_air, has_row_of_changes, is_compact
from tui_tasks.tui.needs.agent_entries import WHO
from tui_tasks.tui.needs.need_counts import Changes
from tui_tasks.tui.needs.open_needs import ALL, Kind, Need, Needs, grouped, is_new, late_number, visit
from tui_tasks.tui.painting.styles import Act, Part, parts_width
from tui_tasks.tui.painting.text_lines import Drawn, HeldLines, TextDrawing, wrapped
from tui_tasks.tui.rows.row_painter import GUTTER, NUMBER_GAP, gutter

if TYPE_CHECKING:
    from tui_tasks.tui.needs.needs_entries import NeedEntry
    from tui_tasks.tui.state.context import Context

# The lines of the screen for each row here, rounded up; the other lines around a pane: above it, the rule, the foot.
_SHARE: Final = 8
_AROUND: Final = 6
ROWS_BELOW: Final = 8
"""The rows that a pane keeps."""
ROWS_AND_DETAIL: Final = 14
"""The rows that a screen keeps which shows a detail below its list."""
_MOST_OF_ONE: Final = 4
"""The most lines of one text."""
# In cells: what stands around an agent, and an age with the margin after it.
_ASIDE: Final = 8
_WIDE_ASIDE: Final = 10
_AGE: Final = 5


class _Columns(msgspec.Struct, frozen=True):
    """The widths in cells of the number, of the words with nothing beside them, and of what stands beside them."""

    number: int
    words: int
    aside: int

    def beside(self, number: str) -> _Columns:
        """Return the columns of a row with this number, which may be wider than those of the others."""
        more = max(0, cell_len(number) - self.number)
        return replace(self, number=self.number + more, words=max(1, self.words - more))

    def room_beside(self, aside: str, *, has_age: bool = True) -> int:
        """Return how many cells the words have beside an agent and an age."""
        words = self.words if has_age else self.words + _AGE - 1
        return max(1, words - max(self.aside, cell_len(aside)) - 4) if aside else words


class _Fitted(msgspec.Struct, frozen=True):
    """The words of a row in lines, and what stands beside them: an agent and an age, if at all."""

    lines: Sequence[str]
    aside: str
    has_age: bool = True


def rows_for_needs(size: Size, below: int) -> int:
    """Return how many rows there are for what needs the human on a screen of a size that keeps so many rows below: 4 of
    24, 6 of 40.
    """
    if is_compact(size):
        return 0
    return max(0, min(1 - -size.height // _SHARE, size.height - _AROUND - below))


class NeedsText(TextDrawing):
    """Draws a row for what has changed, if `has_changes`, and one for each thing that needs the human, as far as the
    rows suffice; then how many more there are, which the counts above name or count.

    `rows` returns how many there are, `kinds` the kinds of entries, `leaves_out` which of these stand below. Below
    them is a row where there is air, empty but for how many more there are; without entries only if `has_title`: else
    the rule below is empty.
    """

    def __init__(
        self,
        context: Context,
        size: Callable[[], Size],
        rows: Callable[[], int],
        kinds: Callable[[], Collection[Kind]],
        leaves_out: Callable[[Need], bool],
        *,
        has_title: bool,
        has_changes: bool,
    ) -> None:
        super().__init__(context)
        self._size = size
        self._has_title = has_title
        self._changes = Changes(context, self.lasts) if has_changes else None
        self._rows = rows
        self._kinds = kinds
        self._leaves_out = leaves_out
        self._needs = Needs(context, self.lasts)
        # How many things have no row; empty: none.
        self._without_row = ""
        self.acts: list[Act] = []
        """What a click does on each line."""
        self.has_needs = False
        """Whether something that needs the human stands here."""

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines, the most urgent thing first."""
        changes = self._changes.row(self._size()) if self._changes is not None else []
        self.acts = [lambda: None] if changes else []
        entries = self._entries(width)
        self.has_needs = bool(entries)
        shown = [*([changes] if changes else []), *entries]
        if not has_air(self._size()) or not (shown or self._has_title):
            return shown
        more = self._more()
        self.acts += [self._open_inbox] * bool(more)
        return [*shown, [(" " * GUTTER, ""), *more] if more else ()]

    def _entries(self, width: int) -> list[Drawn]:
        rows, kinds = self._rows(), self._kinds()
        own = (need for need in self._needs.all() if need.kind in kinds and not self._leaves_out(need))
        needs = grouped(own, self._why) if rows else []
        self._without_row = ""
        if not needs:
            return []
        # Imported here, as nothing may need the human when a screen begins.
        from tui_tasks.tui.needs import needs_entries

        words = needs_entries.NeedsEntries(self.context, self.lasts)
        shown = needs
        if len(needs) > rows:
            shown = self._chosen(needs, rows)
            is_cut = late_number(needs).endswith("+")
            self._without_row = f"{sum(each.count for each in needs) - sum(each.count for each in shown)}{'+' * is_cut}"
        return self._listed([words.entry(need) for need in shown], rows, width)

    def _chosen(self, needs: Sequence[Need], number: int) -> list[Need]:
        new = [need for need in needs if is_new(self.context.state, need)]
        newest = max(new, key=lambda need: need.at or 0).key if new else ""
        return chosen(needs, number, self._waiting(), newest)

    def _more(self) -> list[Part]:
        """Return `2 more: a`, with the key of the inbox that has them; nothing where each thing has a row."""
        if not self._without_row:
            return []
        return [(f"{self._without_row} more: ", "$muted"), (self.context.keymap.key_of("asks"), "$key")]

    def _open_inbox(self) -> None:
        self.context.navigation.show_need(self.context, "")

    def _listed(self, shown: Sequence[NeedEntry], rows: int, width: int) -> list[Drawn]:
        """Return one thing a row, and more of its words where there are rows for them."""
        numbers = (cell_len(entry.number) for entry in shown if not entry.need.parts)
        number = max((self.context.state.number_width, *numbers))
        columns = self._columns(number, width)
        ways = [self._ways(entry, columns.beside(entry.number)) for entry in shown]
        shared = self._shared([len(each[0].lines) for each in ways], rows)
        drawn: list[Drawn] = []
        for entry, each, most in zip(shown, ways, shared, strict=True):
            fitted = next((way for way in each if len(way.lines) <= most), each[-1])
            more = self._more() if entry is shown[-1] and not has_air(self._size()) else []
            more = [("(", "$muted"), *more, (")", "$muted")] if more else []
            lines = self._row(entry, fitted, most, columns.beside(entry.number), more)
            drawn += lines
            self.acts += [self._act(entry.need)] * len(lines)
        return drawn

    @staticmethod
    def _columns(number: int, width: int) -> _Columns:
        room = max(8, width - GUTTER - number - NUMBER_GAP - _AGE)
        return _Columns(number, room, _WIDE_ASIDE if width >= WIDE else _ASIDE)

    def _act(self, need: Need) -> Act:
        """Return what a click does: show what is decided in the inbox there, and all else where it is."""
        if need.kind in (Kind.ASKS, Kind.CHECKS, Kind.HELD, Kind.REVIEW, Kind.AGENTS):
            return lambda: self.context.navigation.show_need(self.context, need.key)
        return lambda: visit(self.context, need)

    def _why(self, need: Need) -> str:
        return self.context.state.failures.why(need.row)

    def _waiting(self) -> set[str]:
        """Return the agents that cannot go on without an answer."""
        return {
            member.name
            for member in self.context.state.present
            if member.ask is not None and not member.goes_on and (member.is_there or member.calls_alone)
        }

    def _gutter(self, glyph: Part, needs: Sequence[Need]) -> list[Part]:
        """Return what a row begins with, with the mark of what is new to the human where one of these is."""
        has_new = any(is_new(self.context.state, need) for need in needs)
        return gutter(None, glyph, is_new=has_new, ascii_only=self.context.ascii_only)

    def _ways(self, entry: NeedEntry, columns: _Columns) -> list[_Fitted]:
        """Return the lines of an entry's words, and what stands beside them. The agent gives way where a number says
        what the entry is about. Of a question about a task agent and age give way before a word does, as the
        line of the agents has both: its ways, those with more beside it first.
        """
        ascii_only, aside = self.context.ascii_only, safe_ends(entry.aside, WHO, ascii_only=self.context.ascii_only)
        is_asked = entry.need.kind == Kind.ASKS and bool(entry.number)
        without = [("", True), ("", False)] if is_asked else [("", True)] * bool(entry.number and not entry.has_agent)
        found = [
            _Fitted(wrapped(text, columns.room_beside(agent, has_age=has_age), ascii_only=ascii_only), agent, has_age)
            for text, (agent, has_age) in product(entry.ways, [(aside, True), *without])
        ]
        return found if is_asked else [next((way for way in found if len(way.lines) == 1), found[-1])]

    @staticmethod
    def _shared(wanted: Sequence[int], rows: int) -> list[int]:
        """Return how many lines each text gets: one, and more in the order of their urgency."""
        left, shared = rows - len(wanted), []
        for number in wanted:
            more = min(number, _MOST_OF_ONE) - 1
            shared.append(1 + min(more, max(0, left)))
            left -= shared[-1] - 1
        return shared

    def _row(
        self, entry: NeedEntry, fitted: _Fitted, most: int, columns: _Columns, more: Sequence[Part]
    ) -> list[Drawn]:
        """Return `? #4  Which one?   claude-1   9m`, and below it the rest of its words, in so many lines at most.
        `more` stands before what is beside the words, where they leave room.
        """
        ascii_only, now = self.context.ascii_only, self.context.clock.now()
        text, aside = fitted.lines, fitted.aside
        since, room = "", columns.room_beside(aside, has_age=fitted.has_age)
        if (at := entry.need.at) is not None and fitted.has_age:
            self.lasts(age_lasts(at, now))
            since = age(at, now)
        shown, whole = list(text[:most]), " ".join(text)
        if len(text) > most:
            cut = safe_question if entry.is_question else safe_line
            shown[-1] = cut(" ".join(text[most - 1 :]), room, ascii_only=ascii_only)
        beside = f"  {aside}{' ' * (columns.aside - cell_len(aside))}  " if aside else ""
        free = room - cell_len(shown[0])
        more = more if free >= parts_width(more) + len("  ") else []
        first, *below = _toned(entry, whole, shown)
        head: list[Part] = [
            *self._gutter((entry.mark, entry.color), [entry.need]),
            (f"{entry.number:<{columns.number + NUMBER_GAP}}", "$muted"),
            *first,
            (" " * (free - parts_width(more)), ""),
            *more,
            (f"{beside}{since:>{(_AGE - 1) * fitted.has_age}} ", "$muted"),
        ]
        indent = " " * (GUTTER + columns.number + NUMBER_GAP)
        return [head, *([(indent, ""), *line] for line in below)]


def _toned(entry: NeedEntry, text: str, lines: Iterable[str]) -> Iterator[list[Part]]:
    """Yield each of the lines of a text in two tones: its cause is what one reads, and the name before it is muted, as
    all of what was put off is.
    """
    named = len(text) - len(entry.cause) if text.endswith(f": {entry.cause}") else 0
    tone = "$muted" if entry.need.is_later else ""
    for line in lines:
        at = max(0, named)
        yield [(line[:at], "$muted"), (line[at:], tone)]
        named -= len(line) + 1


def chosen(needs: Sequence[Need], number: int, waiting: Collection[str], newest: str) -> list[Need]:
    """Return so many in their order: the questions that block an agent, up to half of them, the `newest`, the first of
    each kind, the other failures, then work to review and what is proposed; of each the first of each agent, then the
    most urgent. Of the first, jobs come after others, and those of a kind of which there are two after other kinds.
    """
    kinds: dict[int, int] = {}
    agents: dict[tuple[int, str], int] = {}
    for at, need in enumerate(needs):
        kinds.setdefault(need.kind, at)
        agents.setdefault((need.kind, need.agent), at)
    is_first = [agents[need.kind, need.agent] == at for at, need in enumerate(needs)]
    blocking = [
        at
        for at, need in enumerate(needs)
        if need.kind == Kind.ASKS and not need.is_later and need.agent in waiting and is_first[at]
    ][: number // 2]
    first = Counter(need.kind for at, need in enumerate(needs) if at in blocking or need.key == newest)

    def tier(at: int) -> int:
        is_kind = needs[at].key == newest or kinds[needs[at].kind] == at
        if needs[at].kind in (Kind.REVIEW, Kind.HELD):
            return 2 if is_kind else 3
        return 0 if is_kind else 1 if needs[at].counted_as == "failed" else 3

    order = sorted(
        range(len(needs)),
        key=lambda at: (
            needs[at].is_later,
            at not in blocking,
            tier(at),
            needs[at].key != newest,
            needs[at].kind in (Kind.JOBS, Kind.LATE_JOBS, Kind.LATE),
            first[needs[at].kind] > 1,
            not is_first[at],
        ),
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
        kinds: Callable[[], Collection[Kind]] = lambda: ALL,
        leaves_out: Callable[[Need], bool] = lambda need: False,
        below: int = ROWS_BELOW,
        most: Callable[[], int] | None = None,
        has_title: bool = False,
        has_changes: bool = True,
        on_moved: Callable[[int], None] = lambda by: None,
    ) -> None:
        """`below`: the rows that are kept for what stands below. `most` returns how many rows there are at most.
        `has_title`: whether the rule below may have a title. `has_changes`: whether they begin with what has changed.
        `on_moved`: see `HeldLines`.
        """

        def rows() -> int:
            found = rows_for_needs(self.app.size, below)
            return min(found, most()) if most is not None else found

        self._most_rows = rows
        self._needs = NeedsText(
            context, lambda: self.app.size, rows, kinds, leaves_out, has_title=has_title, has_changes=has_changes
        )
        super().__init__(context, self._needs, id=id, on_moved=on_moved)

    def most(self) -> int:
        """Return how many rows there are at most, with that of what has changed and the empty one."""
        return self._most_rows() + has_row_of_changes(self.app.size) + has_air(self.app.size)

    @property
    def has_needs(self) -> bool:
        """Whether something that needs the human stands here."""
        return self._needs.has_needs

    def on_click(self, event: events.Click) -> None:
        """Go to what was clicked."""
        if event.y < len(self._needs.acts):
            self._needs.acts[event.y]()
