"""The columns of the board at each width; the cards of a column as rows of a list, and how many each column has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import humanize
from textual.timer import Timer

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.pages import board_pages, list_pages
from tui_tasks.core.read.pages.board_pages import NEEDS_YOU, Card
from tui_tasks.core.read.pages.list_pages import FIRST, LAST
from tui_tasks.core.read.pages.task_filter import ALL, Filter
from tui_tasks.text.glyphs import look
from tui_tasks.tui import layout
from tui_tasks.tui.needs.agent_entries import one_line
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_cache import RowPage
from tui_tasks.tui.state.task_cache import FAILED_OTHERWISE, TO_REVIEW
from tui_tasks.tui.tasks.filter_actions import sorted_by
from tui_tasks.tui.widgets.textual_overrides import LEAST_TIMER

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.tui.widgets.screen_bases import Pane


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column. `parts` are the parts of `board_pages` that it holds, in the order of its cards."""

    name: str
    parts: tuple[str, ...]
    sets: str | None
    """The status that a card gets by being moved here; None where cards cannot be moved."""
    lines: int
    """How many lines a card has at most where not all cards fit."""
    gap: bool = False
    """Whether an empty line follows each card where all fit with it."""
    state: str = ""
    """The state (`text.glyphs.look`) whose glyph and colour the head has; empty: it has the number of each state."""
    counts: tuple[str, ...] = ()
    """What the number beside the name counts: parts, `FAILED_OTHERWISE` and `TO_REVIEW`."""
    apart: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What has a number of its own in the head, each with the state whose glyph it has."""
    share: int = 10
    """How much it gets of the room that no column needs, in proportion to the others."""

    @property
    def is_mixed(self) -> bool:
        """Whether its cards are of several states, so that a card shows its own."""
        return len(self.parts) > 1


def _of_part(name: str, part: str, lines: int, share: int) -> ColumnSpec:
    sets = None if part == NEEDS_YOU else part
    return ColumnSpec(name, (part,), sets, lines, gap=True, state=part, counts=(part,), share=share)


def _each(parts: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((part, (part,)) for part in parts)


_OVER: Final = ("skipped", "cancelled")
_ACTIVE: Final = (NEEDS_YOU, "in_progress")
# What needs the human for another reason than a question.
_OTHERWISE: Final = (("failed", (FAILED_OTHERWISE,)), ("reviewable", (TO_REVIEW,)))
_CLOSED: Final = ("failed", "done", *_OVER)
# Done comes before Failed, so that a card moved right from In progress becomes done.
WIDE: Final = (
    _of_part("Pending", "pending", 2, 11),
    _of_part("In progress", "in_progress", 4, 11),
    replace(_of_part("Needs you", NEEDS_YOU, 4, 13), apart=_OTHERWISE),
    ColumnSpec(
        "Done",
        ("done", *_OVER),
        "done",
        2,
        gap=True,
        state="done",
        counts=("done",),
        apart=(("skipped", _OVER),),
        share=11,
    ),
    _of_part("Failed", "failed", 4, 12),
)
"""From `layout.WIDE` cells."""
STACKED: Final = (
    replace(WIDE[0], gap=False),
    ColumnSpec(
        "Active",
        _ACTIVE,
        "in_progress",
        3,
        counts=(FAILED_OTHERWISE, TO_REVIEW, *_ACTIVE),
        apart=(*_each(_ACTIVE[:1]), *_OTHERWISE, *_each(_ACTIVE[1:])),
        share=13,
    ),
    ColumnSpec("Closed", _CLOSED, "done", 2, counts=_CLOSED, apart=(*_each(_CLOSED[:2]), ("skipped", _OVER)), share=12),
)
"""From `layout.NARROW` cells."""
NARROW: Final = tuple(replace(spec, lines=2, gap=False) for spec in WIDE)
"""Below that: one column at a time."""


def columns_at(width: int) -> tuple[ColumnSpec, ...]:
    """Return the columns of a board that is `width` cells wide."""
    return WIDE if width >= layout.WIDE else STACKED if width >= layout.NARROW else NARROW


# In cells: the longest name of the list in the rule, and on a small screen.
_LIST_NAME: Final = 40
_SHORT_LIST_NAME: Final = 20


def title_of(context: Context, marked: int, sort: str, *, is_small: bool) -> list[Part]:
    """Return the list, where there is room, the order, and how many cards are marked."""
    home = context.state.current_list
    more = "   ".join(filter(None, (sorted_by(sort), f"{marked:,} marked" if marked else "")))
    cells = (0 if more else _SHORT_LIST_NAME) if is_small else _LIST_NAME
    name = one_line(home.name, cells) if home is not None and cells else ""
    gap = "   " if name and more else ""
    return [part for part in ((name, "bold"), (f"{gap}{more}", "$muted")) if part[0]]


# In cells: an empty column has room for its head, and any other for who has a task and since when.
_EMPTY: Final = 18
_LEAST: Final = 22


def widths(specs: Sequence[ColumnSpec], wanted: Sequence[int], total: int) -> list[int]:
    """Divide a width among columns. `wanted`: what each wants for its cards; 0: it has none.

    An empty column has room for its head. What is left when all have what they want goes to the others by their shares;
    where it is not enough, those that want most get less.
    """
    shares = [spec.share if cells else 0 for spec, cells in zip(specs, wanted, strict=True)]
    if not any(shares):
        return [spec.share for spec in specs]
    empty = min(_EMPTY, total // len(specs))
    found = [max(cells, _LEAST) if cells else empty for cells in wanted]
    while (over := sum(found) - total) > 0 and (most := max(found)) > min(_LEAST, total // len(specs)):
        widest = [at for at, cells in enumerate(found) if cells == most]
        below = max((cells for cells in found if cells < most), default=0)
        for at in widest:
            found[at] -= max(1, min(most - below, over // len(widest)))
    left = max(0, total - sum(found))
    return [cells + left * share // sum(shares) for cells, share in zip(found, shares, strict=True)]


class CardsOfColumn:
    """A `Source` of the cards in some parts of a list that match a filter, part by part, in the filter's order.

    With a filter, a read ends early when nothing matches for long; repeated, it continues from there. `needing` returns
    the uids of the tasks that need the human for another reason than a question.
    """

    def __init__(
        self,
        db: Database,
        list_id: int,
        parts: Sequence[str],
        only: Filter = ALL,
        needing: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._needing = needing
        self._db = db
        self.list_id = list_id
        self.parts = tuple(parts)
        self.only = only
        # Where a read from a place in a direction ended early: part and rank.
        self._reached: dict[tuple[int, str, bool], tuple[int, str]] = {}

    def first(self, limit: int) -> RowPage[Card]:
        """See `Source`."""
        if self.only.sort:
            return self._read_sorted(0, None, limit, backwards=False)
        return self._read(0, FIRST, limit, backwards=False)

    def last(self, limit: int) -> RowPage[Card]:
        """See `Source`."""
        if self.only.sort:
            return self._read_sorted(len(self.parts) - 1, None, limit, backwards=True)
        return self._read(len(self.parts) - 1, LAST, limit, backwards=True)

    def after(self, row: Card, limit: int) -> RowPage[Card]:
        """See `Source`."""
        return self._read_from(row, limit, backwards=False)

    def before(self, row: Card, limit: int) -> RowPage[Card]:
        """See `Source`."""
        return self._read_from(row, limit, backwards=True)

    def _read_from(self, row: Card, limit: int, *, backwards: bool) -> RowPage[Card]:
        part, *place = self.order(row)
        if self.only.sort:
            return self._read_sorted(part, tuple(place), limit, backwards=backwards)
        return self._read(part, row.rank, limit, backwards=backwards)

    def _read_sorted(self, part: int, start: tuple[Any, ...] | None, limit: int, *, backwards: bool) -> RowPage[Card]:
        page: RowPage[Card] = RowPage()
        while 0 <= part < len(self.parts) and len(page) < limit:
            more = board_pages.sorted_page(
                self._db,
                self.list_id,
                self.parts[part],
                start,
                limit - len(page),
                self.only,
                backwards=backwards,
                needing=self._needing(),
            )
            page[:] = [*more, *page] if backwards else [*page, *more]
            part, start = part + (-1 if backwards else 1), None
        return page

    def _read(self, part: int, rank: str, limit: int, *, backwards: bool) -> RowPage[Card]:
        asked = (part, rank, backwards)
        at, start = self._reached.pop(asked, (part, rank))
        page: RowPage[Card] = RowPage()
        while 0 <= at < len(self.parts):
            wanted = limit - len(page)
            more = board_pages.page(
                self._db,
                self.list_id,
                self.parts[at],
                start,
                wanted,
                self.only,
                backwards=backwards,
                needing=self._needing(),
            )
            page[:] = [*more, *page] if backwards else [*page, *more]
            if more.reached is not None:
                # The caller continues from the last card that it got.
                edge = self.order(page[0 if backwards else -1]) if page else asked[:2]
                self._reached[(*edge, backwards)] = (at, more.reached)
                page.cut = True
            if page.cut or len(page) >= limit:
                break
            at, start = (at - 1, LAST) if backwards else (at + 1, FIRST)
        return page

    def find(self, keys: Collection[str]) -> dict[str, Card]:
        """See `Source`."""
        cards = board_pages.find(self._db, self.list_id, keys, self.only, needing=self._needing())
        if cards:
            # A card that a read skipped may match now, so those reads start again.
            self._reached.clear()
        return {uid: card for uid, card in cards.items() if card.part in self.parts}

    def key(self, row: Card) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: Card) -> tuple[Any, ...]:
        """See `Source`. A card that has left the column keeps its place there, at the end."""
        part = self.parts.index(row.part) if row.part in self.parts else len(self.parts) - 1
        return (part, *(list_pages.sorted_place(self.only.sort, row) if self.only.sort else (row.rank,)))

    def place(self, row: Card) -> int:
        """See `Source`; -1, as cards would have to be counted."""
        return -1

    def total(self) -> int:
        """See `Source`."""
        return -1


# Seconds after the last letter of a filter at which matching cards are counted, and between two reads for that, in
# which keys are handled.
_COUNT_AFTER: Final = 0.15
_READ_ON_AFTER: Final = LEAST_TIMER
# How many reads of `board_pages.MAX_PASSED` cards count a part; the number of a longer one has a plus.
_MAX_READS: Final = 10


class CardCounts:
    """The counts of a board. `on_counted` is called when the cards that match a filter have been counted."""

    def __init__(self, pane: Pane, on_counted: Callable[[], None]) -> None:
        self._pane = pane
        self._context = pane.context
        self._on_counted = on_counted
        self._only = ALL
        self._counts: dict[str, int] = {}
        # The parts with more cards than were counted.
        self._open_ended: set[str] = set()
        self._counting: Timer | None = None
        # The list and the filter that are being counted, and whether the cards may have changed since that began.
        self._counted: tuple[int, Filter] = (0, ALL)
        self._is_outdated = False

    def update(self, only: Filter) -> None:
        """Count the cards of the current list that match a filter: at once without one, soon with one."""
        self._only = only
        home = self._context.state.current_list
        if only:
            self._is_outdated = True
            self._counting = self._counting or self._pane.set_timer(_COUNT_AFTER, self._count)
            return
        if self._counting is not None:
            self._counting.stop()
            self._counting = None
        if home is not None:
            self._counts, self._open_ended = self._context.state.counts.of(home), set()

    def _count(self) -> None:
        """Begin to count the cards of every part."""
        self._counted, self._is_outdated = (self._context.state.list_id, self._only), False
        self._read_on(0, FIRST, 0, 0)

    def _read_on(self, at: int, after: str, counted: int, reads: int) -> None:
        """Count the next cards of a part, and soon those that follow: of a long list each read takes a while."""
        if self._counted != (self._context.state.list_id, self._only):
            self._count()
            return
        part, state = board_pages.PARTS[at], self._context.state
        number, end = board_pages.count(self._context.db, state.list_id, part, self._only, state.needing, after)
        counted, reads = counted + number, reads + 1
        if end is not None and reads < _MAX_READS:
            self._soon(lambda: self._read_on(at, end, counted, reads))
            return
        self._counts[part] = counted
        (self._open_ended.discard if end is None else self._open_ended.add)(part)
        if at + 1 < len(board_pages.PARTS):
            self._soon(lambda: self._read_on(at + 1, FIRST, 0, 0))
            return
        self._counting = None
        for part, uids in (
            (FAILED_OTHERWISE, state.counts.failed_otherwise(state.list_id)),
            (TO_REVIEW, state.counts.to_review_alone(state.list_id)),
        ):
            matching = board_pages.find(self._context.db, state.list_id, uids, self._only, needing=uids)
            self._counts[part] = len(matching)
            self._counts[NEEDS_YOU] -= len(matching)
        self._on_counted()
        if self._is_outdated:
            self._counting = self._pane.set_timer(_COUNT_AFTER, self._count)

    def _soon(self, reads: Callable[[], None]) -> None:
        self._counting = self._pane.set_timer(_READ_ON_AFTER, reads)

    def text(self, parts: Sequence[str]) -> str:
        """Return how many cards some parts have, with a plus where there may be more."""
        number = humanize.intcomma(sum(self._counts.get(part, 0) for part in parts))
        return number if self._open_ended.isdisjoint(parts) else f"{number}+"

    def of_tab(self, spec: ColumnSpec) -> str:
        """Return how many cards a tab shows, `2 ✗ 1` where one of three has a check or an agent that failed."""
        words = [self.text(spec.counts)]
        for state, parts in _OTHERWISE if spec.state == NEEDS_YOU else ():
            if (number := self.text(parts)) != "0":
                words += [look(state).mark(ascii_only=self._context.ascii_only), number]
        return " ".join(words)
