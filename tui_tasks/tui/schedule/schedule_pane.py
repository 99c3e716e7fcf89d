"""The schedule: which jobs there are, what runs, what comes next and when, what failed and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from tui_tasks.core.read.jobs import job_rows
from tui_tasks.core.read.jobs.job_rows import JobLine
from tui_tasks.core.schedule.schedule import system_zone
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, fit
from tui_tasks.text.times import count
from tui_tasks.tui.app.actions import Action, bindings
from tui_tasks.tui.app.context import Context
from tui_tasks.tui.app.database_link import Changes
from tui_tasks.tui.inputs.filter_bar import FilterBar
from tui_tasks.tui.inputs.filter_syntax import Language, Parsed
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_list import RowMessage, VirtualList
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.schedule.job_actions import JobActions
from tui_tasks.tui.schedule.job_detail import JobDetail
from tui_tasks.tui.schedule.timeline import ScheduleStrip
from tui_tasks.tui.widgets.frame import FrameLine, Rule
from tui_tasks.tui.widgets.styles import Part

OF_JOBS: Final = Language(("who",), {})
# So many touched jobs are read one by one; beyond that all are.
_FEW = 50


def columns(width: int) -> tuple[int, int, int, int, int]:
    """How wide task, when, last run, next and history are."""
    if width >= 100:
        rest = width - 7 - 19 - 14 - job_rows.HISTORY - 1
        return rest * 9 // 20, rest - rest * 9 // 20, 19, 14, job_rows.HISTORY + 1
    rest = width - 7 - 18 - 12 - 1
    return rest // 2, rest - rest // 2, 18, 12, 0


class JobWindow(VirtualList[JobLine]):
    """Jobs, a line each."""

    numbers: dict[str, int]

    def draw(self, row: JobLine, look_: RowLook, line: int) -> Sequence[Part]:
        """`>✗ S4  Digest mail   08:00 daily    failed 4h ago   in 11h   ✓✓✓✗✗`."""
        host, width = self.host, look_.width
        now, ascii_only, job = host.now(), host.ascii_only, row.job
        state = job_text.state(row, now)
        shown = job_text.job_look(state)
        self.lasts(job_text.lasts(row, now))
        number = f" S{self.numbers.get(job.uid, 0):<3}"
        next_ = job_text.next_(job, now, ascii_only=ascii_only)
        head = (
            (
                sign("cursor", ascii_only=ascii_only) if look_.cursor else " ",
                "$primary bold" if look_.focused else "$muted",
            ),
            (shown.mark(ascii_only=ascii_only), shown.color),
            (number, "$muted"),
        )
        quiet = "$muted" if not job.enabled else ""
        urgent = shown.color if state == "overdue" else quiet
        if width < 60:
            room = max(1, width - 2 - len(number) - cell_len(next_) - 2)
            return (*head, (fit(job.name, room), quiet), (f" {next_} ", urgent or "$muted"))
        task, when, last, next_wide, history = columns(width)
        last_ink = "$state-failed" if row.failing else "$state-in-progress" if row.running is not None else "$muted"
        return (
            *head,
            (fit(job.name, task - 1) + " ", quiet),
            (fit(job_text.when(job), when - 1) + " ", "$muted"),
            (fit(job_text.last(row, now), last - 1) + " ", last_ink),
            (fit(next_, next_wide - 1) + " ", urgent),
            *(self._history(row) if history else ()),
        )

    def _history(self, row: JobLine) -> list[Part]:
        ascii_only = self.host.ascii_only
        if not row.history:
            return [(sign("log", ascii_only=ascii_only), "$muted")]
        looks = (look(outcome) for outcome in row.history)
        return [(each.mark(ascii_only=ascii_only), each.color) for each in looks]

    def draw_empty(self, line: int) -> Sequence[Part]:
        """What to do next."""
        new = self.host.key_of("job_new")
        more = ": by a cron schedule, by dates, or run by hand" if self.size.width >= 60 else ""
        text = ("   Nothing is scheduled.", "", f"   {new:<5} add a job{more}")
        return [(text[line - 1], "" if line == 1 else "$muted")] if 0 < line <= len(text) else ()


class JobHead(FrameLine):
    """The titles of the columns; at the right what is wrong."""

    def left(self, width: int) -> Sequence[Part]:
        """`       task    when    last run    next    history`."""
        task, when, last, next_, history = columns(width)
        words = f"{'task':<{task}}{'when':<{when}}{'last run' if width >= 100 else 'last':<{last}}{'next':<{next_}}"
        return [(f"       {words}{'history' if history else ''}", "$muted")]


class Titled(FrameLine):
    """A rule with a title in it: `─ next 24 h ──────`."""

    title = ""

    def left(self, width: int) -> Sequence[Part]:
        """The title within the rule."""
        rule = sign("rule", ascii_only=self.host.ascii_only)
        if not self.title:
            return [(rule * width, "$rule")]
        told = fit(self.title, min(cell_len(self.title), max(1, width - 4)))
        return [(f"{rule} ", "$rule"), (told, "$muted"), (f" {rule * max(0, width - 3 - cell_len(told))}", "$rule")]

    def say(self, title: str) -> None:
        """Have another title; it has been made safe, or is here."""
        self.title = title
        self.again()


class SchedulePane(JobActions):
    """Pane 4."""

    NAME = "schedule"
    SCOPES = ("rows", "jobs")
    FOOTER = ("help", "job_filter", "job_new", "job_run", "job_toggle", "job_edit", "job_runs", "undo")
    FOOTER_SMALL = ("help", "job_run", "job_toggle", "job_new")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    # The screen's breakpoints are above the pane.
    SCOPED_CSS = False
    DEFAULT_CSS = """
    SchedulePane #jobs { height: 1fr; min-height: 3; }
    SchedulePane ScheduleStrip { height: 8; }
    Screen.-narrow ScheduleStrip, Screen.-stacked ScheduleStrip, Screen.-short ScheduleStrip { display: none; }
    Screen.-narrow #strip-title, Screen.-stacked #strip-title, Screen.-short #strip-title { display: none; }
    Screen.-narrow JobDetail, Screen.-short JobDetail { height: 1; }
    Screen.-stacked.-tall JobDetail { height: 4; }
    Screen.-wide.-tall JobDetail { height: 6; }
    Screen.-narrow JobHead, Screen.-short JobHead { display: none; }
    SchedulePane.-filtering JobHead { display: none; }
    """

    window: JobWindow

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.listed: InMemorySource[JobLine] = InMemorySource(lambda line: line.job.uid, lambda line: line.job.id)
        self._all: list[JobLine] = []
        self._wanted = Parsed()

    def compose(self) -> ComposeResult:
        """Titles, jobs, the next 24 hours, one job."""
        yield Rule()
        yield FilterBar(lambda: {"who": sorted({line.job.created_by for line in self._all})}, OF_JOBS, id="job-filter")
        yield JobHead()
        self.window = JobWindow(id="jobs")
        self.window.numbers = {}
        yield self.window
        yield Titled(id="strip-title")
        yield ScheduleStrip(id="strip")
        yield Titled(id="job-title")
        yield JobDetail(id="job-detail")

    def on_mount(self) -> None:
        """Read the jobs."""
        zone = getattr(self.host.zone, "key", None) or system_zone()
        self.query_one("#strip-title", Titled).say(f"next 24 h (local, {zone})")
        self._read(None)
        self.window.show(self.listed)
        self._show()

    def focus_target(self) -> Widget:
        """The rows."""
        return self.window

    @property
    def is_busy(self) -> bool:
        """Whether something is being typed."""
        return self.query_one(FilterBar).has_focus_within

    # What is there

    @property
    def line(self) -> JobLine | None:
        """The job that keys are about."""
        return self.listed.get(self.window.cursor)

    def number(self, uid: str) -> int:
        """The number of a job: its place among all jobs."""
        return self.window.numbers.get(uid, 0)

    def changed(self, changes: Changes) -> None:
        """Read the jobs that were touched."""
        if not changes.touches("job", "run"):
            return
        touched = job_rows.touched(self.host.bridge.db, changes.entries) if not changes.all else None
        self.window.change(self._read(touched if touched is None or len(touched) <= _FEW else None))
        self._show()

    def refreshed(self) -> None:
        """Look anew."""
        self.window.change(self._read(None))
        self.window.again()
        self._show()

    def _read(self, touched: set[str] | None) -> set[str]:
        """Read the touched jobs again, all where it is not known which; return the keys of rows that differ."""
        known = [] if touched is None else [line for line in self._all if line.job.uid not in touched]
        self._all = job_rows.lines(self.host.bridge.db, known)
        numbers = {line.job.uid: place for place, line in enumerate(self._all, 1)}
        renumbered = {uid for uid, number in numbers.items() if self.window.numbers.get(uid) != number}
        self.window.numbers = numbers
        changed = self.listed.take(line for line in self._all if self._is_wanted(line))
        if renumbered - changed:
            self.window.again()
        return changed

    def on_virtual_list_moved(self) -> None:
        """Another job."""
        self._show()

    def on_virtual_list_opened(self, event: RowMessage) -> None:
        """A double click does as Enter."""
        self.action_act("job_runs")

    def on_resize(self) -> None:
        """There is more to tell, or less."""
        self._show()

    def _show(self) -> None:
        line = self.line
        number = self.number(line.job.uid) if line is not None else 0
        title = f"S{number} {line.job.name}" if line is not None and self.host.is_wide else ""
        self.query_one("#job-title", Titled).say(title)
        self.query_one(JobDetail).put(line, number)
        self.query_one(ScheduleStrip).put([(self.number(each.job.uid), each) for each in self._all])
        self.set_class(self.query_one(FilterBar).is_open, "-filtering")

    # The filter

    def do_job_filter(self) -> None:
        """Begin to filter, or go on."""
        self.query_one(FilterBar).open()
        self._show()

    def on_filter_bar_wanted(self, event: FilterBar.Wanted) -> None:
        """Show what matches."""
        self._filter(event.parsed)

    def on_filter_bar_kept(self) -> None:
        """Back to the rows."""
        self.window.focus()

    def on_filter_bar_cleared(self) -> None:
        """Show all again."""
        self._filter(Parsed())
        self.window.focus()

    def _filter(self, wanted: Parsed) -> None:
        self._wanted = wanted
        cursor = self.window.cursor
        self.listed.take(line for line in self._all if self._is_wanted(line))
        self.window.refilter(self.listed, cursor if self.listed.get(cursor) is not None else None)
        self.query_one(FilterBar).say(f"{len(self.listed.rows)} of {count(len(self._all), 'job')}")
        self._show()

    def _is_wanted(self, line: JobLine) -> bool:
        """Whether every word is in the name, the prompt or the schedule's words, and `who:` made it."""
        job = line.job
        text = f"{job.name}\n{job.prompt}\n{job_text.when(job)}\n{job.type}".casefold()
        for term in self._wanted.terms:
            value = term.value.casefold()
            maker = job.created_by.casefold()
            found = maker.startswith(value) if term.field == "who" and term.prefix else value == maker
            if (found if term.field == "who" else value in text) == term.negated:
                return False
        return True

    def why_not(self, action: Action) -> str | None:
        """As `Actor.why_not`; what needs a job needs one here."""
        if action.needs in ("job", "run") and self.line is None:
            return "no job here"
        return super().why_not(action)
