"""The digest, "While you were away": what needs the human, failed, is proven or not, was filed and spent, with its
entries.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer
from typing_extensions import override

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.job_snapshots import is_late
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.agents.agent_states import LeftTask
from tui_tasks.core.read.digest import Digest, digest
from tui_tasks.core.read.digest_lines import PARTS, DigestLine
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import list_pages, log_pages
from tui_tasks.core.schema import due_dates, task_fields
from tui_tasks.text.times import HOUR
from tui_tasks.tui.keys.action_table import Action, bindings
from tui_tasks.tui.keys.actions import RowMoves
from tui_tasks.tui.layout import NARROW
from tui_tasks.tui.needs.needs_entries import late_words
from tui_tasks.tui.needs.open_needs import FAILURES, Kind, Needs
from tui_tasks.tui.painting.styles import Group, Part
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.screens.digest_rows import LOUD, DigestList, DigestRow, DigestRows
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Overlay
from tui_tasks.tui.widgets.screen_head import ScreenHead

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
# The lines around the rows: title, agents, counts, what has changed, rule, an empty one and the foot.
_AROUND: Final = 7


class DigestScreen(Overlay):
    """The digest's screen. Without `since`, it begins where the human last looked, at the latest 8 hours ago."""

    NAME = "digest"
    SCOPES: ClassVar[tuple[str, ...]] = ("rows",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]

    def __init__(self, context: Context, since: int | None = None) -> None:
        super().__init__(context)
        looked, least = context.state.seen.looked.at, context.clock.now() - LEAST
        self._since = min(looked, least) if since is None else since
        # Whoever looked within that time was not away.
        self._was_away = since is not None or looked < least
        self._since_words = "since you looked at" if self._was_away else "last 8 hours, since"
        if since is not None:
            self._since_words = "since you left at"
        self._digest: Digest | None = None
        self._open: str | None = None
        self._came_back_to: str | None = None
        self._reading: Timer | None = None
        self._took = 0.0
        self._left: dict[str, LeftTask] = {}
        self._late: list[DigestLine] = []
        self._is_reading = False
        self._needs = Needs(context)
        self._drawing = DigestRows(context)
        self.window = DigestList(context, self._drawing)
        self._head = ScreenHead(
            context,
            self._title,
            id="digest",
            kinds=self._kinds_above,
            counts=self._counts,
            begins=lambda: self._since,
        )
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
        """` While you were away   since you left at 12:15`: the span that it covers."""
        shown, is_small = self._digest, width < NARROW
        name = " Digest" if not self._was_away else " Away" if is_small else " While you were away"
        parts: list[Part] = [(name, "bold")]
        if shown is None:
            return parts
        covers = f"{self._since_words} {self.context.clock.time_of(self._since)}"
        cut = ", older ones were compacted away" if shown.is_cut and not is_small else ""
        return [*parts, (f"   {covers}{cut}", "$muted")]

    def _counts(self, width: int) -> Sequence[Group]:
        """How many rows there are of each part."""
        if self._digest is None:
            return ()
        lines = [row.line for row in self.listed.rows if row.entry is None]
        return self._drawing.counts(self._needs.all(), lines, width, self._head.title.lasts)

    def _kinds_above(self) -> Sequence[Kind]:
        """Return what stands above: nothing that has failed or is late where the lines have room for all of it."""
        if self._digest is None:
            return ()
        rows, room = self.listed.rows, self.size.height - _AROUND
        if len(rows) > room:
            return FAILURES
        state, failed = self.context.state, [line for line in self._digest.lines if line.part == "failed"]
        tasks = {line.task for line in self._digest.lines}
        has_tasks = state.failed <= len(state.failures.last) and all(
            task.uid in tasks for task, _ in state.failures.last
        )
        jobs = {need.job for need in self._needs.every() if need.kind == Kind.JOBS}
        has_jobs = jobs <= {line.name for line in failed if line.kind == "run"}
        return [kind for kind, is_below in ((Kind.FAILED, has_tasks), (Kind.JOBS, has_jobs)) if not is_below]

    def changed(self, changes: StateChanges) -> None:
        """Read it again after a pause, so that keys are handled first while agents write without a pause."""
        if self._reading is None:
            self._reading = self.set_timer(max(_PACE, _REST * self._took), self._read)
        self._head.redraw()

    @override
    def all_seen(self) -> None:
        self.window.redraw()

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
        self._drawing.job_numbers = dict(self._numbers_of_jobs(lines))
        self._drawing.measure(lines)
        self.window.change(self.listed.replace(self._rows()))

    def _numbers_of_jobs(self, lines: Iterable[DigestLine]) -> Iterator[tuple[str, int]]:
        """Yield the uid of each line about a job, a late one's name, with the number that the schedule shows."""
        yield from ((job.name, job.number) for job in self.context.state.next_jobs)
        for line in lines:
            if line.kind == "run" and (job := job_queries.any_job(self.context.db, line.uid)) is not None:
                yield line.uid, job.number

    def _late_lines(self) -> Iterator[DigestLine]:
        """Yield a line for each job that is late, and for the first tasks whose due dates are over."""
        context = self.context
        for job in context.state.next_jobs:
            if is_late(job.when, context.clock.now()):
                yield DigestLine("late", "job", job.name, job.name, "", late_words(context, job.when), job.when)
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
        urgent = sum(line.part in PARTS[:2] or line.state in LOUD for line in ordered)
        # What agents have left that are gone comes before tasks that failed, and these before jobs, as in the inbox.
        first = sorted(
            ordered[:urgent], key=lambda line: line.state in LOUD and 1 - line.is_gone + (line.kind == "run")
        )
        for number, line in enumerate([*first, *self._late, *ordered[urgent:]]):
            yield DigestRow((number, 0), line)
            if line.key == self._open:
                lines = log_pages.find(self.context.db, line.entries[-_MAX_ENTRIES:])
                yield from (DigestRow((number, seq), line, entry=lines[seq]) for seq in sorted(lines))

    @override
    def why_not(self, action: Action) -> str | None:
        """Some actions need a line under the cursor."""
        return (
            "No line is under the cursor."
            if action.needs == "line" and self.window.row is None
            else super().why_not(action)
        )

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
        made._was_away, made._since_words = self._was_away, self._since_words
        made._open, made._came_back_to = self._open, self.window.cursor
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
