"""The digest, "While you were away": what needs the human, failed, is proven or not, was filed and spent, with its
entries.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer
from typing_extensions import override

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import job_lines, job_queries
from tui_tasks.core.read.agents.left_tasks import LeftTask
from tui_tasks.core.read.digest import Digest, digest
from tui_tasks.core.read.digest_entries import GROUPS, PARTS, STATES, DigestLine
from tui_tasks.core.read.pages import list_pages, log_pages
from tui_tasks.core.read.pages.log_lines import LogLine
from tui_tasks.core.schema import due_dates, task_fields
from tui_tasks.text.glyphs import LOOKS, Look
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import HOUR, age, age_lasts, duration
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.keys.action_table import Action, bindings
from tui_tasks.tui.layout import NARROW, WIDE
from tui_tasks.tui.log.log_text import mark_of, text_of, who_of
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import wrapped
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.rows.row_list import RowMoves, VirtualList
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.database_link import StateChanges
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.open_needs import FAILED, FAILURES, JOBS
from tui_tasks.tui.widgets.screen_bases import Overlay
from tui_tasks.tui.widgets.screen_head import ScreenHead

_LOOKS: Final[dict[str, Look]] = {
    "needs_you": LOOKS["needs_you"],
    "in_your_name": Look("!", "in your name", "!", "$changed"),
    "failed": LOOKS["failed"],
    "interrupted": LOOKS["interrupted"],
    "claim_lapsed": LOOKS["stuck"]._replace(word="claim lapsed"),
    "check_failed": LOOKS["pending"]._replace(word="check failed", letter="o"),
    "refused": Look("·", "refused", ".", "$muted"),
    "tool_error": Look("·", "tool error", ".", "$muted"),
    "open_again": LOOKS["pending"]._replace(word="open again", letter="o"),
    "dropped": LOOKS["skipped"]._replace(word="dropped"),
    "gone": Look("·", "gone", ".", "$muted"),
    "ok_again": LOOKS["done"]._replace(word="ok again"),
    "late": LOOKS["overdue"],
    "not_proven": LOOKS["pending"]._replace(word="not proven", letter="o"),
    "proven": LOOKS["done"]._replace(word="proven"),
    "done": LOOKS["done"],
    "filed": Look("+", "filed", "+", "$muted"),
    "spent": Look("$", "spent", "$", "$muted"),
}
# What still matters of what went wrong: it stands before what is late.
_LOUD: Final = STATES[: STATES.index("check_failed") + 1]
# The most entries shown below one line.
_MAX_ENTRIES: Final = 200
LEAST: Final = 8 * HOUR
"""Microseconds; the key shows no less than this, whenever the human last looked."""
# The most late tasks that have a line.
_MAX_LATE: Final = 8
# The least pause between two reads: in seconds, and as a multiple of the time that the last read took.
_PACE: Final = 0.5
_REST: Final = 10
# A digest of more entries is read in a thread: keys are handled meanwhile.
_MANY: Final = 20_000
# Widths in cells: of a part's title, and of the actor.
_TITLE: Final = 13
_WHO: Final = 10
# In cells: an age with the spaces around it, and more than a line has.
_WHEN: Final = 6
_LEAST_NAME: Final = 16
_WIDEST: Final = 400
# In cells: the name on a narrow screen.
_SHORT_NAME: Final = 16
# In cells: what is kept free in the head for what is next.
_NEXT: Final = 24
# The lines around the rows: title, counts, agents, rule, an empty one and the foot.
_AROUND: Final = 6
# How many lines a text has at most.
_MOST_LINES: Final = 3


def _text_of(line: DigestLine, time_of: Callable[[int], str]) -> tuple[str, str]:
    """Return what is said beside the name of a line, if that does not say it all, and its style."""
    if line.part == "needs_you":
        return "" if line.kind == "ask" else line.text, ""
    if line.part == "failed":
        text = line.words(time_of)
        if line.state in _LOUD:
            text = text.removeprefix(f"{_LOOKS[line.state].word}: ").removeprefix("error: ")
        return text, "" if line.state in _LOUD else "$muted"
    return line.text, "" if line.part == "late" else "$muted"


class DigestRow(msgspec.Struct, frozen=True):
    """A line of the digest or, with `entry`, a journal entry below its line."""

    order: tuple[int, int]
    line: DigestLine
    entry: LogLine | None = None

    @property
    def key(self) -> str:
        """Identifies the row among all rows."""
        return self.line.key if self.entry is None else f"{self.line.key} {self.entry.seq}"


class DigestRows(RowDrawing[DigestRow]):
    """Draws the lines of the digest, and entries below them. `is_read`: whether the journal has been read."""

    is_read = False
    longest_name = 0
    longest_who = 0
    """The widths in cells of the longest name, and of the longest agent's, cut."""
    heights: Mapping[str, int] = MappingProxyType({})
    """How many lines each row has on screen; one if it is not there."""
    job_numbers: Mapping[str, int] = MappingProxyType({})
    """The numbers of jobs on screen, by the uids of their lines."""

    def title(self, line: DigestLine) -> str:
        """Return the name of a line with the number of its task or job: `S4 Digest mail`."""
        number = self.job_numbers.get(line.uid) if line.kind in ("run", "job") else None
        return f"S{number} {line.name}" if number else line.title

    def draw(self, row: DigestRow, look_: RowLook, line: int) -> Sequence[Part]:
        """`> ? needs you   claude-1   #4 jose or pyjwt?   9m`; below it the rest of a text that is too long."""
        at = row.line.at if row.entry is None else row.entry.at
        now = self.context.clock.now()
        self.lasts(age_lasts(at, now))
        head, texts, style = self._laid_out(row, look_.width)
        indent = sum(cell_len(text) for text, _ in head)
        if line:
            return [(" " * indent, ""), (texts[line], style)] if line < len(texts) else ()
        room = look_.width - indent - _WHEN
        first = texts[0] if self.heights.get(row.key, 1) == len(texts) else " ".join(texts)
        cursor = look_.cursor_sign(after=" ")
        when = f" {age(at, now) if at else '':>{_WHEN - 2}} "
        said = (fit(first, max(0, room), ascii_only=self.context.ascii_only), style)
        return [cursor, *head[1:], said, (when, "$muted")]

    def height(self, row: DigestRow, width: int) -> int:
        """Return how many lines a row needs."""
        return len(self._laid_out(row, width)[1])

    def _laid_out(self, row: DigestRow, width: int) -> tuple[list[Part], list[str], str]:
        """Return what is before the text of a row, the lines of the text, and its style."""
        parts = self._entry(row.entry, width) if row.entry is not None else self._line(row, width)
        text, style = parts[-1]
        head: list[Part] = [("  ", ""), *parts[:-1]]
        room = max(8, width - sum(cell_len(part) for part, _ in head) - _WHEN)
        ascii_only = self.context.ascii_only
        lines = wrapped(safe_line(text, room * _MOST_LINES, ascii_only=ascii_only), room) or [""]
        if row.entry is not None or len(lines) > _MOST_LINES:
            lines = [safe_line(text, _WIDEST, ascii_only=ascii_only)]
        return head, lines, style

    def _line(self, row: DigestRow, width: int) -> list[Part]:
        line, ascii_only = row.line, self.context.ascii_only
        look = _LOOKS[line.group]
        parts: list[Part] = [(look.mark(ascii_only=ascii_only), look.color)]
        if width >= 60:
            parts += [(f" {look.word:<{_TITLE}}", "")]
            parts += [(f"{fit(agent_text.who(line.who), self.longest_who, ascii_only=ascii_only)} ", "$muted")]
        name = "" if line.name == line.who and width >= 60 else self.title(line)
        text, style = _text_of(line, self.context.clock.time_of)
        if not name or not text:
            return [*parts, (f"{' ' * (width < 60)}{name or text}", style)]
        if width < 60:
            return [*parts, (f" {name}: {text}", "")]
        room = width - _TITLE - self.longest_who - 11
        column = min(self.longest_name, room * 2 // 5 if width >= WIDE else _SHORT_NAME)
        return [*parts, (f"{fit(name, column, ascii_only=ascii_only)}  ", ""), (text, style)]

    def _entry(self, entry: LogLine, width: int) -> list[Part]:
        ascii_only = self.context.ascii_only
        mark, style = mark_of(entry, ascii_only=ascii_only)
        text = text_of(entry, ascii_only=ascii_only)
        if width < 60:
            return [(f"  {mark} ", style), (text, "$muted")]
        head = f"{self.context.clock.time_of(entry.at)}  {fit(who_of(entry), _WHO, ascii_only=ascii_only)} "
        return [(" " * (_TITLE + 2), ""), (f"{mark} ", style), (head, "$muted"), (text, "$muted")]

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw the text for a digest without lines."""
        back = self.context.keymap.key_of("back")
        said = f"Nothing new for you: {back} goes back." if self.is_read else "Reading the journal"
        return [(f"   {said}", "$muted")] if line == 1 else ()


class DigestList(VirtualList[DigestRow]):
    """The rows of the digest, each with as many lines as its text needs, as far as all fit."""

    def __init__(self, context: Context, drawing: DigestRows) -> None:
        super().__init__(context, drawing, id="digest")
        self._digest_rows = drawing

    @override
    def row_heights(self) -> Sequence[int] | None:
        """The first lines are those that need the human."""
        self._digest_rows.heights = {}
        rows, left = self._cache.rows, self.size.height - len(self._cache.rows)
        if not (self._cache.has_first and self._cache.has_last) or left <= 0:
            return None
        tall = []
        for row in rows:
            more = self._digest_rows.height(row, self.size.width) - 1
            tall.append(1 + more * (more <= left))
            left -= tall[-1] - 1
        self._digest_rows.heights = {row.key: lines for row, lines in zip(rows, tall, strict=True)}
        return tall


class DigestScreen(Overlay):
    """The digest's screen. Without `since`, it begins where the human last looked, at the latest 8 hours ago."""

    NAME = "digest"
    SCOPES: ClassVar[tuple[str, ...]] = ("rows",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]

    def __init__(self, context: Context, since: int | None = None) -> None:
        super().__init__(context)
        looked, least = context.state.seen.looked.at, context.clock.now() - LEAST
        self._since = min(looked, least) if since is None else since
        self._since_words = "since you left" if since is not None else "since you looked" if looked < least else "last"
        self._digest: Digest | None = None
        self._open: str | None = None
        self._came_back_to: str | None = None
        self._reading: Timer | None = None
        self._took = 0.0
        self._left: dict[str, LeftTask] = {}
        self._late: list[DigestLine] = []
        self._is_reading = False
        self._drawing = DigestRows(context)
        self.window = DigestList(context, self._drawing)
        self._head = ScreenHead(context, self._title, id="digest", kinds=self._kinds_above)
        self.listed: InMemorySource[DigestRow] = InMemorySource(lambda row: row.key, lambda row: row.order)
        self.controllers = (RowMoves(lambda: self.window),)

    def compose(self) -> ComposeResult:
        """Compose head and lines."""
        yield from self._head.compose()
        yield self.window
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read the digest."""
        self._read()
        self.window.show(self.listed, self._came_back_to)
        self.window.focus()
        self.hint(*map(self.hint_of, ("digest_open", "asks", "back", "help")))

    def _title(self, width: int) -> Sequence[Part]:
        """` While you were away   last 8h   2 more from before`: the span that it covers."""
        digest, is_small = self._digest, width < NARROW
        parts: list[Part] = [(" Away" if is_small else " While you were away", "bold")]
        if digest is None:
            return parts
        clock = self.context.clock
        since, words = clock.time_of(self._since), self._since_words
        covers = f"{words} at {since}"
        if words == "last":
            covers = f"last {duration(clock.now() - self._since, 1)}" + (f", since {since}" if width >= WIDE else "")
        parts.append((f"   {covers}", "$muted"))
        more = [f"{digest.needed_before:,} more from before"] if digest.needed_before else []
        more += ["older ones were compacted away"] if digest.is_cut else []
        room = width - _NEXT - sum(cell_len(text) for text, _ in parts)
        ways = (f"   {',  '.join(more[:number])}" for number in range(len(more), 0, -1))
        return [*parts, *((way, "$muted") for way in list(ways)[:1] if cell_len(way) <= room)]

    def _kinds_above(self) -> Sequence[int]:
        """Return what stands above: nothing that has failed or is late where the lines have room for all of it."""
        if self._digest is None:
            return ()
        rows, room = self.listed.rows, self.size.height - _AROUND
        if len(rows) > room or sum(self._drawing.height(row, self.size.width) for row in rows) > room:
            return FAILURES
        state, failed = self.context.state, [line for line in self._digest.lines if line.part == "failed"]
        tasks = {line.task for line in self._digest.lines}
        has_tasks = state.failed <= len(state.failed_last) and all(task.uid in tasks for task, _ in state.failed_last)
        has_jobs = {job.name for job in state.failing} <= {line.name for line in failed if line.kind == "run"}
        return [kind for kind, is_below in ((FAILED, has_tasks), (JOBS, has_jobs)) if not is_below]

    def changed(self, changes: StateChanges) -> None:
        """Read it again after a pause, so that keys are handled first while agents write without a pause."""
        if self._reading is None:
            self._reading = self.set_timer(max(_PACE, _REST * self._took), self._read)
        self._head.redraw()

    def agents_changed(self) -> None:
        """Read it again after an agent has come or gone."""
        self._head.redraw()
        if self._digest is not None and self._left != self._left_now:
            self._read()

    @property
    def _left_now(self) -> dict[str, LeftTask]:
        """The tasks that agents have left."""
        return self.context.state.lapsed | self.context.state.left

    def _read(self) -> None:
        self._reading = None
        if self._is_reading:
            self._reading = self.set_timer(_PACE, self._read)
            return
        db, now, left = self.context.db, self.context.clock.now(), self._left_now
        self._left = left
        if journal.newest(db) - journal.seq_before(db, self._since) > _MANY:
            self.run_worker(self._read_aside(now, left))
            return
        began = time.monotonic()
        self._show(digest(db, self._since, now, left), began)

    async def _read_aside(self, now: int, left: Mapping[str, LeftTask]) -> None:
        began, self._is_reading = time.monotonic(), True
        try:
            content = await asyncio.to_thread(_read_digest, self.context.link.open_reader, self._since, now, left)
        finally:
            self._is_reading = False
        if self.is_open:
            self._show(content, began)

    def _show(self, found: Digest, began: float) -> None:
        self._digest, self._took = found, time.monotonic() - began
        self._drawing.is_read = True
        self._list()
        self._head.redraw()
        if self._came_back_to is not None and self.window.source is not None:
            self.window.move_to(self._came_back_to)
            self._came_back_to = None

    def _list(self) -> None:
        self._late = list(self._late_lines())
        lines = (*self._digest.lines, *self._late) if self._digest is not None else ()
        time_of = self.context.clock.time_of
        self._drawing.job_numbers = dict(self._numbers_of_jobs(lines))
        names = (safe_line(self._drawing.title(line), _WIDEST) for line in lines if _text_of(line, time_of)[0])
        self._drawing.longest_name = max(map(cell_len, names), default=0)
        whos = (cell_len(agent_text.who(line.who)) + 1 for line in lines)
        self._drawing.longest_who = min(_WHO, max(whos, default=0))
        self.window.change(self.listed.replace(self._rows()))

    def _numbers_of_jobs(self, lines: Iterable[DigestLine]) -> Iterator[tuple[str, int]]:
        """Yield the uid of each line about a job, a late one's name, with the number that the schedule shows."""
        yield from ((job.name, job.number) for job in self.context.state.next_jobs)
        for line in lines:
            if line.kind == "run" and (job := job_queries.any_job(self.context.db, line.uid)) is not None:
                yield line.uid, job_lines.place(self.context.db, job.id)

    def _late_lines(self) -> Iterator[DigestLine]:
        """Yield a line for each job that is late, and for the first tasks whose due dates are over."""
        context = self.context
        for name, when, _ in context.state.next_jobs:
            if when < context.clock.now():
                text = f"due {context.clock.time_of(when)}, no scheduler has started it"
                yield DigestLine("late", "job", name, name, "", text, when)
        now = task_fields.local_time(context.clock.now(), context.clock.zone)
        late = [(uid, due) for uid, due in context.state.due if due_dates.is_overdue(due, now)]
        for uid, due in late[:_MAX_LATE]:
            task = list_pages.line(context.db, uid)
            if task is not None:
                text, at = f"due {due_dates.when(due, now)}", due_dates.late_since(due, now)
                yield DigestLine("late", "task", uid, task.name, task.who, text, at, task=uid, number=task.number)
        if more := len(late[_MAX_LATE:]):
            yield DigestLine("late", "task", "", f"{more:,} more tasks", "", "", 0)

    def _rows(self) -> Iterator[DigestRow]:
        assert self._digest is not None
        ordered = [line for lines in self._digest.groups.values() for line in lines]
        urgent = sum(line.part in PARTS[:2] or line.state in _LOUD for line in ordered)
        # Tasks that failed come before jobs, as in the inbox.
        first = sorted(ordered[:urgent], key=lambda line: line.state in _LOUD and line.kind == "run")
        for number, line in enumerate([*first, *self._late, *ordered[urgent:]]):
            yield DigestRow((number, 0), line)
            if line.key == self._open:
                lines = log_pages.find(self.context.db, line.entries[-_MAX_ENTRIES:])
                yield from (DigestRow((number, seq), line, entry=lines[seq]) for seq in sorted(lines))

    @override
    def why_not(self, action: Action) -> str | None:
        """Some actions need a line under the cursor."""
        return "nothing is here" if action.needs == "line" and self.window.row is None else super().why_not(action)

    def do_digest_open(self) -> None:
        """Open the entries behind the line, or close them; show an entry, or the only one, in the log."""
        row = self.window.row
        assert row is not None
        if row.entry is not None:
            self.context.navigation.show_entry(row.entry.seq, self._made_again)
        elif len(row.line.entries) == 1:
            self.context.navigation.show_entry(row.line.entries[0], self._made_again)
        elif row.line.entries:
            self._open = None if self._open == row.line.key else row.line.key
            self._list()
        elif row.line.part == "late":
            self._go_to_late(row.line)
        else:
            self.context.say("The entries behind it were compacted away.")

    def _made_again(self) -> DigestScreen:
        """Return a screen that shows the same, with the cursor on the same line."""
        made = DigestScreen(self.context, self._since)
        made._since_words, made._open, made._came_back_to = self._since_words, self._open, self.window.cursor
        return made

    def _go_to_late(self, line: DigestLine) -> None:
        navigation = self.context.navigation
        navigation.close_overlays()
        if line.task is not None:
            navigation.go_to(line.task)
        elif line.kind == "job":
            navigation.show_job(line.name)
        else:
            navigation.show_pane("list")

    def on_virtual_list_opened(self) -> None:
        """Do as Enter does."""
        self.action_act("digest_open")


def _read_digest(open_reader: Callable[[], Database], since: int, now: int, left: Mapping[str, LeftTask]) -> Digest:
    with contextlib.closing(open_reader()) as db:
        return digest(db, since, now, left)


assert set(_LOOKS) == {*GROUPS, "late"}
