"""A column of the board: where its cards come from, the window that shows them, the line above it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.strip import Strip

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.tasks import board_pages
from tui_tasks.core.read.tasks.board_pages import NEEDS_YOU, Card
from tui_tasks.core.read.tasks.filter import ALL, Filter
from tui_tasks.core.read.tasks.pages import FIRST, LAST
from tui_tasks.text.glyphs import look, sign
from tui_tasks.tui.board.cards import dot, face_of, lines_of
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.rows.source import RowPage
from tui_tasks.tui.widgets.frame import FrameLine
from tui_tasks.tui.widgets.styles import Part, StyleCache


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """What a column holds and how its cards look."""

    name: str
    parts: tuple[str, ...]
    sets: str | None
    """The status that a card gets by being moved here; None where no move brings one."""
    lines: int
    """So many lines a card has, less the empty one below it, if there is one (`gap`)."""
    gap: bool = False
    state: str = ""
    """Whose glyph and colour it has (`format.look`)."""
    counts: tuple[str, ...] = ()
    """The parts that are counted beside the name."""
    apart: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Parts that are counted by themselves, each with the state whose glyph they have."""

    @property
    def height(self) -> int:
        """How many lines a card takes."""
        return self.lines + self.gap

    @property
    def mixed(self) -> bool:
        """Whether its cards are of several states, so that those apart from the first show theirs."""
        return len(self.parts) > 1


def _plan(name: str, part: str, lines: int) -> ColumnSpec:
    return ColumnSpec(name, (part,), None if part == NEEDS_YOU else part, lines, gap=True, state=part, counts=(part,))


_OVER: Final = ("skipped", "cancelled")
# In the order of the words that a human uses most: a card that is moved on from In progress is done.
WIDE: Final = (
    _plan("Pending", "pending", 2),
    _plan("In progress", "in_progress", 4),
    _plan("Needs you", NEEDS_YOU, 4),
    ColumnSpec("Done", ("done", *_OVER), "done", 2, state="done", counts=("done",), apart=(("skipped", _OVER),)),
    _plan("Failed", "failed", 4),
)
_ACTIVE: Final = ("in_progress", NEEDS_YOU)
_CLOSED: Final = ("failed", "done", *_OVER)
STACKED: Final = (
    replace(WIDE[0], gap=False),
    replace(WIDE[1], name="Active", parts=_ACTIVE, lines=2, gap=False, apart=((NEEDS_YOU, (NEEDS_YOU,)),)),
    replace(WIDE[3], name="Closed", parts=_CLOSED, counts=_CLOSED, apart=(("failed", ("failed",)),)),
)
NARROW: Final = tuple(replace(plan, lines=2, gap=False) for plan in WIDE)


class CardsOfColumn:
    """The cards of some parts of a list, part by part, in the order of the list: a `Source` of rows."""

    def __init__(self, db: Database, list_id: int, parts: Sequence[str], only: Filter = ALL) -> None:
        self._db = db
        self.list_id = list_id
        self.parts = tuple(parts)
        self.only = only
        self._reached: dict[tuple[int, str, bool], tuple[int, str]] = {}

    def first(self, limit: int) -> RowPage[Card]:
        """See `Source`."""
        return self._read(0, FIRST, limit, backwards=False)

    def last(self, limit: int) -> RowPage[Card]:
        """See `Source`."""
        return self._read(len(self.parts) - 1, LAST, limit, backwards=True)

    def after(self, row: Card, limit: int) -> RowPage[Card]:
        """See `Source`."""
        return self._read(*self.order(row), limit, backwards=False)

    def before(self, row: Card, limit: int) -> RowPage[Card]:
        """See `Source`."""
        return self._read(*self.order(row), limit, backwards=True)

    def _read(self, part: int, rank: str, limit: int, *, backwards: bool) -> RowPage[Card]:
        asked = (part, rank, backwards)
        at, start = self._reached.pop(asked, (part, rank))
        found: RowPage[Card] = RowPage()
        while 0 <= at < len(self.parts):
            wanted = limit - len(found)
            more = board_pages.page(
                self._db, self.list_id, self.parts[at], start, wanted, self.only, backwards=backwards
            )
            found[:] = [*more, *found] if backwards else [*found, *more]
            if more.reached is not None:
                # Asked again from the last card that was found, it goes on from where it was broken off.
                edge = self.order(found[0 if backwards else -1]) if found else asked[:2]
                self._reached[(*edge, backwards)] = (at, more.reached)
                found.cut = True
            if found.cut or len(found) >= limit:
                break
            at, start = (at - 1, LAST) if backwards else (at + 1, FIRST)
        return found

    def find(self, keys: Collection[str]) -> dict[str, Card]:
        """See `Source`."""
        found = board_pages.find(self._db, self.list_id, keys, self.only)
        if found:
            # What was passed over as unwanted may be wanted by now.
            self._reached.clear()
        return {uid: card for uid, card in found.items() if card.part in self.parts}

    def key(self, row: Card) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: Card) -> tuple[int, str]:
        """See `Source`. A card that has left the column keeps its place there, at the end."""
        return (self.parts.index(row.part) if row.part in self.parts else len(self.parts) - 1, row.rank)

    def place(self, row: Card) -> int:
        """See `Source`; it would have to be counted."""
        return -1

    def total(self) -> int:
        """See `Source`."""
        return -1


class ColumnWindow(VirtualList[Card], can_focus=False):
    """The cards of one column. `number` tells a card's place in its list, 0 where that is not at hand."""

    def __init__(self, number: Callable[[Card], int]) -> None:
        super().__init__()
        self.plan = WIDE[0]
        self.current = False
        self._number = number
        self._laid: list[list[Part]] = []

    def take(self, plan: ColumnSpec) -> None:
        """Show cards otherwise."""
        self.plan = plan
        self.set_row_height(plan.height)

    def change(self, keys: Iterable[str]) -> None:
        """As ever; cards that wait for one of the tasks are seen to as well: what holds them up is no entry's."""
        keys = set(keys)
        keys.update(row.uid for row in self.rows_held if not keys.isdisjoint(row.depends_on))
        super().change(keys)

    def look_of(self, row: Card, number: int) -> RowLook:
        """As `VirtualList.look_of`; the current column alone shows its cursor, and `place` is in the list."""
        found = super().look_of(row, number)
        cursor = found.cursor and self.current
        here = self.host.current_list
        digits = len(str(here.total)) if here is not None else 1
        return found._replace(cursor=cursor, focused=cursor and self._has_keys, place=self._number(row), digits=digits)

    def draw(self, row: Card, look_: RowLook, line: int) -> Sequence[Part]:
        """One line of a card, which is laid out whole at its first."""
        if line == 0:
            self._laid = self._lay(row, look_)
        return self._laid[line] if line < len(self._laid) else ()

    def _lay(self, row: Card, look_: RowLook) -> list[list[Part]]:
        """Lay a whole card out: flag, cursor and number before its first line."""
        app, plan = self.host, self.plan
        ascii_only = app.ascii_only
        digits = look_.digits
        face = face_of(app, row, plan.mixed and row.part != plan.state)
        if face.lasts:
            self.lasts(face.lasts)
        laid = lines_of(face, look_.width - digits - 4, plan.lines, ascii_only=ascii_only)
        if look_.dragged:
            laid = [[(text, "$muted italic") for text, _ in body] for body in laid]
        flag = "+" if look_.marked else sign("changed", ascii_only=ascii_only) if row.uid in app.situation.new else " "
        cursor = sign("cursor", ascii_only=ascii_only) if look_.cursor or look_.drop else " "
        head: list[Part] = [
            (flag, "$changed"),
            (cursor, "$primary bold" if look_.focused or look_.drop else "$muted"),
            (f"{look_.place or '':>{digits}} ", "$muted"),
        ]
        return [[*head, *laid[0]], *([(" " * (digits + 3), ""), *body] for body in laid[1:])]

    def draw_empty(self, line: int) -> Sequence[Part]:
        """Say that there is nothing, where the human is; what to do where there is nothing at all."""
        if not self.current:
            return ()
        found = self.host.current_list
        if found is None or found.total or self.host.bridge.read_only:
            return [("   nothing here", "$muted")] if line == 0 else ()
        words: dict[int, list[Part]] = {
            0: [("   No tasks yet.", "")],
            2: [(f"   {self.host.key_of('new')}", "$changed"), ("  add one", "$muted")],
        }
        return words.get(line, ())

    def set_current(self, current: bool) -> None:
        """Say whether this is the column that keys are about: it alone shows its cursor."""
        if current != self.current:
            self.current = current
            self._update()
            if not self.has_rows:
                self.refresh()

    def render_line(self, y: int) -> Strip:
        """As ever, but what parts two cards is no part of the card that the cursor is on."""
        if self.plan.gap and y % self.row_height == self.plan.lines:
            return StyleCache.of(self.app).strip(" " * self.own_size.width)
        return super().render_line(y)


class ColumnHead(FrameLine):
    """` ◐ In progress 1`. `target`: a card that is being dragged would land in this column."""

    def __init__(self, column: Column) -> None:
        super().__init__()
        self.column = column
        self.target = False

    def left(self, width: int) -> Sequence[Part]:
        """Glyph, name, how many; some states are counted apart."""
        column, ascii_only = self.column, self.host.ascii_only
        plan, state = column.plan, look(column.plan.state)
        ink = "$changed bold" if self.target else "bold" if column.window.current else ""
        mark = sign("status", ascii_only=ascii_only) if self.target else state.mark(ascii_only=ascii_only)
        parts: list[Part] = [(f" {mark} ", state.color), (plan.name, ink)]
        parts.append((f" {column.count_of(plan.counts)}", ink or "$muted"))
        for other, members in plan.apart:
            number = column.count_of(members)
            if number != "0":
                shown = look(other)
                parts += [(dot(ascii_only), "$muted"), (shown.mark(ascii_only=ascii_only), shown.color)]
                parts.append((f" {number}", "$muted"))
        return parts

    def set_target(self, target: bool) -> None:
        """Say whether what is being dragged would land here."""
        if target != self.target:
            self.target = target
            self.again()

    def on_click(self, event: events.Click) -> None:
        """Back to the cards; the board has gone to the column already."""
        event.stop()
        self.screen.set_focus(self.screen.query_one("#columns"))


class Column(Vertical):
    """One column: its head and its cards."""

    DEFAULT_CSS = """
    Column { width: 1fr; height: 1fr; }
    Column ColumnHead { margin-bottom: 1; }
    Column.-bare ColumnHead { display: none; }
    """

    def __init__(self, number: Callable[[Card], int], count_of: Callable[[Sequence[str]], str]) -> None:
        super().__init__()
        self.count_of = count_of
        self.window = ColumnWindow(number)
        self.head = ColumnHead(self)

    def compose(self) -> ComposeResult:
        """Head, cards."""
        yield self.head
        yield self.window

    @property
    def plan(self) -> ColumnSpec:
        """What it holds."""
        return self.window.plan

    def take(self, plan: ColumnSpec, source: CardsOfColumn) -> None:
        """Hold other cards, or show them otherwise."""
        self.window.take(plan)
        self.window.show(source)

    def refilter(self, source: CardsOfColumn) -> None:
        """Hold more or fewer of the same cards; marks stay."""
        self.window.refilter(source, self.window.cursor)
