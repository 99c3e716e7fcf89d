"""The statistics screen: charts of the list's last seven days."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from typing_extensions import override

from tui_tasks.core.commit import journal
from tui_tasks.core.read import check_queries, statistics
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.unjournaled.local_values import Dismissed, key_of_job
from tui_tasks.text.glyphs import bar
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import SECOND
from tui_tasks.tui import layout
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.keys.actions import ScrollKeys
from tui_tasks.tui.needs.open_needs import ALL, Kind, Needs
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, TextLines
from tui_tasks.tui.screens.stats_text import DAYS, QUARTERS, Failure, Figures, drawn, whole_failures
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Overlay
from tui_tasks.tui.widgets.screen_head import ScreenHead

# The most failed tasks that are named, and the most cells of a name.
_MAX_FAILURES: Final = 5
_MAX_NAME: Final = 60
# Progress is shown when reading takes at least so many steps.
_LONG: Final = 5
# Seconds at least between two counts while agents write without a pause.
_PACE: Final = 0.5


def bounds(now: int, zone: tzinfo) -> list[int]:
    """Return the instants at which the quarters of the last seven days begin in a time zone; the last day is today."""
    today = datetime.fromtimestamp(now // SECOND, zone).date()
    instants = []
    for ahead in range(DAYS):
        day = today - timedelta(days=DAYS - 1 - ahead)
        start, end = (_midnight(day + timedelta(days=more), zone) for more in (0, 1))
        instants += [start + (end - start) * quarter // QUARTERS for quarter in range(QUARTERS)]
    return instants


def _midnight(day: date, zone: tzinfo) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * SECOND


class StatsText(TextDrawing):
    """Draws the figures, or the progress of reading them."""

    figures: Figures | None = None
    progress = 0.0

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return all lines, as what is around them scrolls."""
        if self.figures is None:
            progress = bar(self.progress, max(10, width // 3), ascii_only=self.context.ascii_only)
            return [[], [(" reading the journal  ", "$muted"), (progress, "$primary")]] if self.progress else []
        return drawn(self.figures, width, ascii_only=self.context.ascii_only)


class Stats(Overlay):
    """The statistics screen."""

    NAME = "stats"
    OF_LIST: ClassVar[bool] = True
    SCOPES: ClassVar[tuple[str, ...]] = ("rows",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    Stats #stats-scroll { height: 1fr; scrollbar-gutter: stable; }
    Stats.-narrow #stats-now, Stats.-short #stats-now { display: none; }
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.controllers = (ScrollKeys(self),)
        self._drawing = StatsText(context)
        self._lines = TextLines(context, self._drawing, id="stats")
        self._head = ScreenHead(context, self._title, id="stats", kinds=self._kinds_above, has_row=False)
        self._tally: statistics.Tally | None = None
        # The task of each question that names none.
        self._about: dict[str, TaskLine | None] = {}
        self._list_id = 0
        self._seq = 0
        self._since = 0
        self._cut = False
        self._is_reading = False
        self._again = False

    def compose(self) -> ComposeResult:
        """Compose head and figures."""
        yield from self._head.compose()
        with VerticalScroll(id="stats-scroll"):
            yield self._lines
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Start reading."""
        self.set_focus(self.query_one(VerticalScroll))
        self.hint(("j/k", "Scroll", ""), *map(self.hint_of, ("back", "help")))
        self._begin()

    def _title(self, width: int) -> Sequence[Part]:
        """` Stats   only list Plan, last 7 days`."""
        home = self.context.state.current_list
        kind = "only list " if home is not None and width >= layout.NARROW else ""
        name = safe_line(home.name, max(4, width - 30 - len(kind))) if home is not None else ""
        named = [(kind, "$muted"), (name, "bold")]
        return [(" Stats   ", "bold"), *named, (f"{', ' * bool(name)}last {DAYS} days", "$muted")]

    def _kinds_above(self) -> Sequence[Kind]:
        """Return what stands above: no failed tasks where the figures name all of them with the whole reason."""
        figures, failed = self._drawing.figures, self.context.state.failures.last
        if figures is None or not failed or self.context.state.failed > len(failed):
            return ALL
        below = whole_failures(figures, self.size.width - 1)
        is_below = {f"#{task.number}" for task, _ in failed} <= below
        return [kind for kind in ALL if kind != Kind.FAILED or not is_below]

    def _begin(self) -> None:
        db, now = self.context.db, self.context.clock.now()
        assert self.context.clock.zone is not None
        starts = bounds(now, self.context.clock.zone)
        self._list_id, self._since = self.context.state.list_id, starts[0]
        self._tally = statistics.Tally(starts)
        oldest, newest = journal.seq_before(db, starts[0]), journal.newest(db)
        self._seq = max(oldest, newest - statistics.MAX)
        self._cut = self._seq > oldest
        self._drawing.figures = None
        self._head.redraw()
        self._read()

    @override
    def list_turned(self) -> None:
        self._begin()

    def changed(self, changes: StateChanges) -> None:
        """Count what is new."""
        self._read()
        self.agents_changed()

    def agents_changed(self) -> None:
        """Draw the lines above the figures again."""
        self._head.redraw()

    def _read(self) -> None:
        if self._is_reading:
            self._again = True
            return
        self._is_reading = True
        self.run_worker(self._count(), exit_on_error=True)

    async def _count(self) -> None:
        """Read the journal in steps; keys are handled between two steps."""
        while True:
            self._again = False
            await self._count_up_to(journal.newest(self.context.db))
            if not self.is_open:
                return
            self._drawing.figures = self._figures()
            self._lines.redraw()
            self._head.redraw()
            if not self._again:
                break
            await asyncio.sleep(_PACE)
        self._is_reading = False

    async def _count_up_to(self, newest: int) -> None:
        assert self._tally is not None
        start = self._seq
        while self._seq < newest:
            high = min(self._seq + statistics.STRETCH, newest)
            self._tally.count(statistics.events(self.context.db, self._list_id, self._seq, high))
            self._seq = high
            if newest - start > _LONG * statistics.STRETCH and self._drawing.figures is None:
                self._drawing.progress = (high - start) / (newest - start)
                self._lines.redraw()
            await asyncio.sleep(0)

    def _figures(self) -> Figures:
        assert self._tally is not None
        assert self.context.clock.zone is not None
        waits = statistics.waits(self.context.db, self._list_id, self._since, self._about)
        now = self.context.clock.now()
        longest = statistics.longest_wait(waits, now)
        about = list_pages.line(self.context.db, longest[1].task_uid or "") if longest is not None else None
        home = self.context.state.lists.get(self._list_id)
        return Figures(
            tally=self._tally,
            now_open=home.pending + home.in_progress if home is not None else 0,
            waits=waits,
            longest=longest[0] if longest is not None else None,
            longest_about=f"#{about.number}" if about is not None else "",
            jobs=statistics.job_counts(self.context.db, now),
            runs=statistics.runs(self.context.db, self._since),
            now=now,
            zone=self.context.clock.zone,
            cut=self._cut,
            failures=tuple(self._failures()),
            **self._failed_now(),
            proven=check_queries.counts(self.context.db, home, self._tally.done_tasks) if home is not None else {},
        )

    def _failed_now(self) -> dict[str, int]:
        """Return how many of the failures that are counted above are of other lists, of agents and of checks; and how
        many of the failed tasks and jobs below are dismissed.
        """
        assert self._tally is not None
        found = [need for need in Needs(self.context).all() if need.counted_as == "failed"]
        tasks = [need for need in found if need.kind == Kind.FAILED]
        numbers = Counter(need.kind for need in found)
        shown = {need.task for need in tasks}
        is_cut = any(need.is_rest for need in tasks)
        state = self.context.state
        dismissed = Dismissed(state.seen.dismissed_at, state.seen.dismissed)
        jobs_dismissed = sum(dismissed.has(key_of_job(job.uid), job.at or 0) for job in state.failing_jobs)
        return {
            "failed_elsewhere": sum(one.count for one in tasks if one.row is None or one.row.list_id != self._list_id),
            "failed_agents": numbers[Kind.AGENTS],
            "failed_checks": numbers[Kind.CHECKS],
            "tasks_dismissed": 0 if is_cut else sum(uid not in shown for uid, _ in self._tally.failed_tasks),
            "jobs_dismissed": jobs_dismissed,
            "jobs_with_task": len(state.failing_jobs) - jobs_dismissed - numbers[Kind.JOBS],
        }

    def _failures(self) -> Iterator[Failure]:
        assert self._tally is not None
        for uid, _ in self._tally.failed_tasks[:_MAX_FAILURES]:
            task = list_pages.line(self.context.db, uid)
            if task is not None:
                why = task_records.end_reason(self.context.db, task)
                when = task_records.failed_at(self.context.db, task)
                yield Failure(f"#{task.number}", safe_line(task.name, _MAX_NAME), why, when)

    @property
    def page_rows(self) -> int:
        """The lines of a page: less the lines above and below, and one that stays visible."""
        return self.size.height - 6

    def scroll_rows(self, by: int) -> None:
        """Scroll the figures."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)
