"""The lines of the log, newest last: their source, how they are drawn, and the rule above them."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Final

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.pages import log_pages
from tui_tasks.core.read.pages.log_lines import LogLine
from tui_tasks.core.read.pages.log_pages import FIRST, LAST
from tui_tasks.core.read.pages.task_filter import ALL, Filter
from tui_tasks.core.vocab import HUMAN
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len, fit, fit_ends, safe_line
from tui_tasks.text.times import DAY, SECOND, moment
from tui_tasks.text.times import clock as time_of_day
from tui_tasks.text.word_cuts import safe_question
from tui_tasks.tui.layout import NARROW, WIDE, is_compact
from tui_tasks.tui.log.log_text import EARLIER, MARKS, SEEN, many, mark_of, name_and_text, text_of, who_of
from tui_tasks.tui.painting.line_painter import FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_cache import RowPage
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.app_state import AppState

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The style of what stands back.
_QUIET: Final = "$muted"
# In cells: the column of names before the text, and what is between columns.
_NAME: Final = 30
_GAP: Final = 2
# Entries of an agent about itself belong to no list.
_OF_AGENTS: Final = frozenset({"session", "ask", "message"})


class EntriesOfJournal:
    """A `Source` of the entries that match a filter, with `MARKS` between them.

    A read ends early when nothing matches for long; repeated, it continues from there.
    """

    def __init__(self, db: Database, state: AppState, only: Filter = ALL) -> None:
        self._db = db
        self._state = state
        self.only = only
        # Up to this entry, progress on a task and runs of a job are folded into one line; None: nothing is folded.
        self.fold = None if only else LAST
        self.is_bare = False
        """Whether no entry is found, so that there are no marks either."""
        # Where a read from an entry in a direction ended early.
        self._reached: dict[tuple[int, bool], int] = {}

    def first(self, limit: int) -> RowPage[LogLine]:
        """See `Source`."""
        return self._read((FIRST, False), limit, backwards=False)

    def last(self, limit: int) -> RowPage[LogLine]:
        """See `Source`."""
        return self._read((LAST, False), limit, backwards=True)

    def after(self, row: LogLine, limit: int) -> RowPage[LogLine]:
        """See `Source`."""
        return self._read(self.order(row), limit, backwards=False)

    def before(self, row: LogLine, limit: int) -> RowPage[LogLine]:
        """See `Source`."""
        return self._read(self.order(row), limit, backwards=True)

    def _read(self, place: tuple[int, bool], limit: int, *, backwards: bool) -> RowPage[LogLine]:
        """Read on from a place: the number of an entry, and whether the place is the mark after it."""
        start = place[0] + (backwards and place[1])
        begin = self._reached.pop((start, backwards), start)
        lines = log_pages.page(self._db, begin, limit, self.only, backwards=backwards, fold=self.fold)
        page: RowPage[LogLine] = RowPage(lines)
        edge = lines[0 if backwards else -1].seq if lines else start
        if lines.reached is not None:
            # The caller continues from the last entry that it got.
            self._reached[edge, backwards] = edge = lines.reached
            page.cut = True
        elif len(lines) < limit:
            edge = FIRST - 1 if backwards else LAST
        low, high = sorted((place, (edge, False)))
        for mark in self.marks():
            if low < self.order(mark) < high:
                insort(page, mark, key=self.order)
        return page

    def marks(self) -> Iterator[LogLine]:
        """Yield the mark of where the human last looked, and the mark of compacted entries."""
        looked = self._state.seen.looked
        if self.is_bare:
            return
        if FIRST < looked.seq < journal.newest(self._db):
            yield _mark(SEEN, looked.seq, looked.at)
        if not self.only and journal.oldest(self._db) > FIRST + 1:
            kept = log_pages.page(self._db, FIRST, 1)
            yield _mark(EARLIER, FIRST, kept[0].at if kept else looked.at)

    @property
    def reached(self) -> int | None:
        """The entry that a search for matches has reached; None when none ended early."""
        return min((reached for (_, backwards), reached in self._reached.items() if backwards), default=None)

    def hold_still(self, until: int) -> None:
        """Fold no line on screen into an entry that comes after `until`."""
        if self.fold == LAST:
            self.fold = until

    def fold_again(self) -> bool:
        """Fold entries up to the newest again; return whether that changes lines."""
        is_held = self.fold not in (None, LAST)
        if is_held:
            self.fold = LAST
        return is_held

    def find(self, keys: Collection[str]) -> dict[str, LogLine]:
        """See `Source`."""
        lines = log_pages.find(self._db, [int(key) for key in keys if key not in MARKS], self.only, self.fold)
        rows = {str(seq): line for seq, line in lines.items()}
        if not MARKS.keys().isdisjoint(keys):
            rows |= {mark.word: mark for mark in self.marks() if mark.word in keys}
        return rows

    def key(self, row: LogLine) -> str:
        """See `Source`."""
        return row.word if row.word in MARKS else str(row.seq)

    def order(self, row: LogLine) -> tuple[int, bool]:
        """See `Source`."""
        return row.seq, row.word in MARKS

    def place(self, row: LogLine) -> int:
        """See `Source`; -1, as entries would have to be counted."""
        return -1

    def total(self) -> int:
        """See `Source`."""
        return -1


def _mark(word: str, seq: int, at: int) -> LogLine:
    """Return the line of a mark after an entry."""
    return LogLine(
        seq=seq, at=at, actor=HUMAN, kind=word, word=word, entity="", uid="", task=None, undoes=None,
        old={}, new={}, has_why=False, name=None, list_id=None, number=None, gone=False,
    )  # fmt: skip


class LogRule(FrameLine):
    """The rule above the entries: since when all on screen are new, and whether new ones are followed or below it."""

    def __init__(
        self, context: Context, row_list: VirtualList[LogLine], entries: Callable[[], EntriesOfJournal]
    ) -> None:
        super().__init__(context, self._rule)
        self._row_list = row_list
        self._entries = entries
        self.following = True
        self.below = 0
        """How many entries came in below the screen since it stopped following."""
        self._counted_until = 0

    def follow(self, following: bool) -> None:
        """Say whether new entries are followed."""
        self.following = following
        self.below = 0 if following else self.below
        self.redraw()

    def count(self) -> None:
        """Count the new entries."""
        newest = self.context.link.seq
        self.below = 0 if self.following else self.below + newest - self._counted_until
        self._counted_until = newest
        self.redraw()

    def _rule(self, width: int) -> Sequence[Part]:
        """`─ everything since 19:58 ────────── following ↓ newest last ─`, `─ since 19:58 · 3 rows above ──`; on a
        small screen, which has no tabs, `─ Log since 19:58 ──`.
        """
        are_new, above = self._are_all_new, self._new_above(width) if self._are_all_new else ""
        all_of = "matches" if self._entries().only else "everything"
        is_small = is_compact(self.app.size)
        what = "" if above or (width < NARROW and not are_new) or (is_small and are_new) else all_of
        if alone := self.context.state.projects.alone_parts():
            what = alone[0][0].strip()
        # A small screen has no tabs.
        title = [("Log ", "bold")] if is_small else []
        title += [(what, "$muted")] if what else []
        if are_new:
            since = f"since {self.context.clock.time_of(self.context.state.seen.looked.at)}"
            title.append((f"{' ' if what else ''}{since}{above}", "$changed"))
        if title:
            title[-1] = title[-1][0].rstrip(), title[-1][1]
        return rule_parts(self.context, width, title, [self._rule_state(width)])

    def _new_above(self, width: int) -> str:
        """Return ` · 3 rows above`: how many rows since the human last looked are above the screen; empty for none.

        Where not all of them are in memory, they are not counted.
        """
        first = next(iter(self._row_list.rows_on_screen), None)
        order, held = self._entries().order, self._row_list.rows_held
        mark = next((order(mark) for mark in self._entries().marks() if mark.word == SEEN), None)
        if first is None or mark is None:
            return ""
        above = [row for row in held if order(row) < order(first)]
        new = [row for row in above if order(row) > mark]
        if not new and above:
            return ""
        number = str(len(new)) if len(new) < len(above) else "more"
        if width < NARROW:
            up = "^" if self.context.ascii_only else "↑"
            return f" {up}{number if len(new) < len(above) else ''}"
        rows = "row" if number == "1" else "rows"
        return f" · {number} {rows} above"

    @property
    def _are_all_new(self) -> bool:
        """Whether the mark of where the human last looked is above the lines on screen."""
        first = next(iter(self._row_list.rows_on_screen), None)
        mark = next((mark for mark in self._entries().marks() if mark.word == SEEN), None)
        return first is not None and mark is not None and self._entries().order(first) > self._entries().order(mark)

    def _rule_state(self, width: int) -> Part:
        """Return whether the newest entry is followed, else how many have been added below the screen."""
        is_narrow = width < NARROW
        down = "v" if self.context.ascii_only else "↓"
        if self.following:
            return (f"following {down}" if is_narrow else f"following {down} newest last"), "$muted"
        # With a filter, this number includes entries that do not match.
        number = f"{self.below:,} " if not self._entries().only else ""
        new = f"{number}new below" if self.below and not self._row_list.at_end else ""
        key = f"{self.context.keymap.key_of('log_follow')} follows"
        words = ", ".join(part for part in (new, key if not is_narrow or not new else "") if part)
        return words, "$changed" if new else "$muted"


class LogRows(RowDrawing[LogLine]):
    """Draws entries, one in each line."""

    def __init__(self, context: Context, why_empty: Callable[[], str]) -> None:
        """`why_empty` returns why there are no entries."""
        super().__init__(context)
        self._why_empty = why_empty
        self.label_width = 4
        """How many cells the number of a task or job has, with what separates it from the next column."""
        self.job_numbers: Mapping[str, int] = {}
        """The numbers of the jobs by uid."""

    def draw(self, row: LogLine, row_look: RowLook, line: int) -> Sequence[Part]:
        """`> 20:15:02  · log    claude-1   #5  Ship auth flow   running tests 14/22`.

        Each column begins at one place, and what is too long is cut at its end. A narrow screen has no names of tasks:
        their numbers say which.
        """
        ascii_only, width = self.context.ascii_only, row_look.width
        cursor = row_look.cursor_sign(after=" ")
        if row.word in MARKS:
            return [cursor, *self._mark(row, width - 1)]
        label = fit(self.label_of(row), self.label_width, ascii_only=ascii_only)
        where = self._where(row) if width >= WIDE else ""
        where += (" >" if ascii_only else " ▸") if row.count > 1 else ""
        head = [cursor, *self._head(row, width), (label, "$muted")]
        room = width - sum(cell_len(part) for part, _ in head) - cell_len(where) - 1
        messages = self._messages(row, width)
        before = ""
        if width >= WIDE:
            name, text = name_and_text(row, ascii_only=ascii_only)
            before = fit(name, min(_NAME, room // 2), ascii_only=ascii_only) + " " * _GAP if name else ""
        else:
            text = text_of(row, ascii_only=ascii_only)
        cells = max(0, room - cell_len(before + messages))
        style = _QUIET if row.word == "run" else ""
        if text.endswith("?"):
            text = safe_question(text, cells, ascii_only=ascii_only)
        said = (fit(text, cells, ascii_only=ascii_only), style)
        return [*head, (before, _QUIET), (messages, _QUIET), said, (where, _QUIET)]

    def _head(self, row: LogLine, width: int) -> list[Part]:
        """Return when it happened, to the second where there is room, its kind, and who did it.

        Mark and kind alone have a colour; that of a question goes once it is closed.
        """
        ascii_only = self.context.ascii_only
        mark, style = mark_of(row, ascii_only=ascii_only)
        if row.word == "ask" and all(ask.uid != row.uid for ask in self.context.state.asks):
            style = _QUIET
        cells = 9 if width >= WIDE else 5
        head = [(fit(self._when(row, cells), cells), "$muted"), (f" {mark} ", style)]
        if width < NARROW:
            return head
        kind = (f"{row.word:<8} ", style if row.word in ("fail", "ask") else "$muted")
        who = f"{fit_ends(who_of(row), 10, ascii_only=ascii_only)} "
        return [*head, kind, (who, "$muted")]

    def _mark(self, row: LogLine, width: int) -> list[Part]:
        """`── 19:58  you last looked here ──────────`."""
        rule, style = sign("rule", ascii_only=self.context.ascii_only), "$changed" if row.word == SEEN else "$muted"
        when_ = f"{self._when(row, 9).removesuffix(':00')}  " if row.word == SEEN else ""
        words = fit(f" {when_}{MARKS[row.word]} ", min(width - 4, cell_len(when_ + MARKS[row.word]) + 2))
        return [(rule * 2, "$rule"), (words, style), (rule * max(0, width - 4 - cell_len(words)), "$rule")]

    def _messages(self, row: LogLine, width: int) -> str:
        """Return how many messages a line stands for."""
        if row.count < 2 or row.word != "log" or width < NARROW:
            return ""
        return f"{many(row)} messages, last: " if width >= WIDE else f"last of {many(row)}: "

    def label_of(self, row: LogLine) -> str:
        """Return the number of a task or a job: `#5` or `S2`."""
        if row.job is not None:
            number = self.job_numbers.get(row.job)
            return f"S{number}" if number else "S"
        return f"#{row.number}" if row.number is not None else ""

    def _where(self, row: LogLine) -> str:
        """Return the name of the entry's list, if the list pane shows another; for an agent's entry, its project."""
        if row.list_id is None:
            project = self.context.state.projects.of_agent(row.actor) if row.entity in _OF_AGENTS else ""
            return f"  {safe_line(project, 14, ascii_only=self.context.ascii_only)}" if project else ""
        if row.list_id == self.context.state.list_id:
            return ""
        home = self.context.state.lists.get(row.list_id or 0)
        if home is None:
            return ""
        name = home.name if (home.project or "") in home.name else f"{home.project}/{home.name}"
        return f"  {safe_line(name, 14, ascii_only=self.context.ascii_only)}"

    def _when(self, row: LogLine, cells: int) -> str:
        zone = self.context.clock.zone
        assert zone is not None
        # At midnight, a time of day needs its day.
        self.lasts(DAY)
        return when(row.at, self.context.clock.now(), zone, cells)

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw why there are no entries."""
        return [(f"   {self._why_empty()}", "$muted")] if line == 1 else ()


def when(at: int, now: int, zone: tzinfo, cells: int) -> str:
    """Return an instant in 9 cells (`20:15:02`, `Fri 20:15`, `14 Nov`) or in 5 (`20:15`, `Fri`, `14Nov`), which have
    the time of day of the last 24 hours.
    """
    shown, today = moment(at, zone), moment(now, zone)
    day = shown[:-6]
    if (day == today[:-6] and abs(now - at) < 2 * DAY) or (cells < 9 and 0 <= now - at < DAY):
        return time_of_day(at, zone, seconds=cells >= 9)
    if 0 <= now - at < 6 * DAY:
        return f"{day[:3]} {shown[-5:]}" if cells >= 9 else day[:3]
    date = day[4:]
    if cells >= 9:
        year = datetime.fromtimestamp(at // SECOND, zone).year if shown != "--" else 0
        return date if year == datetime.fromtimestamp(now // SECOND, zone).year else f"{date} {year % 100:02}"
    return date.replace(" ", "")
