"""The schedule: all jobs, what runs, what is due next, what failed and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget
from typing_extensions import override

from tui_tasks.core.read import job_lines
from tui_tasks.core.read.job_lines import JobLine
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.schedule.fire_times import system_zone
from tui_tasks.dialects.requests.filter_syntax import Language, Parsed
from tui_tasks.text.times import count
from tui_tasks.tui import layout
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.keys.actions import RowMoves
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import TextLines
from tui_tasks.tui.rows.row_cache import InMemorySource
from tui_tasks.tui.rows.row_list import RowMessage
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.schedule.job_actions import JobActions
from tui_tasks.tui.schedule.job_rows import JobDetail, JobList, JobRows, titled_rule
from tui_tasks.tui.schedule.timeline import Timeline
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.filter_bar import FilterBar
from tui_tasks.tui.widgets.screen_bases import Pane
from tui_tasks.tui.widgets.screen_head import ChangesRule

OF_JOBS: Final = Language(("who",), {})
# Up to so many changed jobs are read one by one; for more, all jobs are read.
_FEW: Final = 50
# The most lines of the next 24 hours.
_MOST_OF_STRIP: Final = 8


class SchedulePane(Pane):
    """Pane 4."""

    NAME = "schedule"
    SCOPES = ("rows", "jobs")
    FOOTER = ("job_run", "job_runs", "job_toggle", "job_edit", "job_new", "job_filter", "asks", "undo", "quit", "help")
    FOOTER_SMALL = ("job_run", "job_toggle", "job_new", "help")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    # The classes for the size are set on the screen, which is above the pane.
    SCOPED_CSS = False
    DEFAULT_CSS = """
    SchedulePane #jobs { height: 99fr; min-height: 3; }
    SchedulePane #strip { height: 3; }
    Screen.-narrow #strip, Screen.-stacked #strip, Screen.-short #strip { display: none; }
    Screen.-narrow #strip-title, Screen.-stacked #strip-title, Screen.-short #strip-title { display: none; }
    Screen.-narrow #job-detail, Screen.-short #job-detail { height: 1; }
    Screen.-stacked.-tall #job-detail { height: 1fr; min-height: 3; }
    Screen.-wide.-tall #job-detail { height: 1fr; min-height: 6; }
    Screen.-narrow #job-titles, Screen.-short #job-titles { display: none; }
    SchedulePane.-filtering #job-titles { display: none; }
    """

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        self.listed: InMemorySource[JobLine] = InMemorySource(lambda line: line.job.uid, lambda line: line.job.id)
        """The jobs that match the filter."""
        self._drawing = JobRows(context)
        self.row_list = JobList(context, self._drawing)
        self.filter_bar = FilterBar(self.context, self._completions, OF_JOBS, id="job-filter")
        self._drawing.no_match = self.filter_bar.no_match
        self._titles = FrameLine(context, self._drawing.titles, id="job-titles")
        zone = getattr(context.clock.zone, "key", None) or system_zone()
        strip_title = f"next 24 h (local, {zone})"
        self._strip_title = FrameLine(context, lambda width: titled_rule(context, strip_title, width), id="strip-title")
        self._timeline = Timeline(context)
        self._strip = TextLines(context, self._timeline, id="strip")
        self._detail_title = FrameLine(context, self._title_of_job, id="job-title")
        self._job_detail = JobDetail(context)
        self._detail = TextLines(context, self._job_detail, id="job-detail")
        self._job_actions = JobActions(context, lambda: self.line, self.row_list.move_to)
        self.controllers = (RowMoves(lambda: self.row_list), self._job_actions)
        self._all: Sequence[JobLine] = ()
        self._shown: JobLine | None = None
        self._filter = Parsed()

    def compose(self) -> ComposeResult:
        """Compose titles, jobs, the next 24 hours, and the detail of one job."""
        yield ChangesRule(self.context, self._title)
        yield self.filter_bar
        yield self._titles
        yield self.row_list
        yield self._strip_title
        yield self._strip
        yield self._detail_title
        yield self._detail

    def on_mount(self) -> None:
        """Read the jobs."""
        self._read(None)
        self.row_list.show(self.listed, self._first_in_trouble())
        self._show()

    def _first_in_trouble(self) -> str | None:
        """Return the uid of a job that needs the human: one that is overdue, else one that has failed."""
        now = self.context.clock.now()
        states = {line.job.uid: job_text.state(line, now) for line in self._all}
        return next((uid for state in ("overdue", "error") for uid in states if states[uid] == state), None)

    @override
    def focus_target(self) -> Widget:
        """The rows."""
        return self.row_list

    @override
    def select(self, uid: str) -> None:
        self._job_actions.landing.forget()
        self.row_list.move_to(uid)

    @override
    def go_to(self, uid: str) -> None:
        """A filter that hides the job is removed."""
        if not self.row_list.move_to(uid):
            self.filter_bar.clear()
            self._show_matching(Parsed())
            self.row_list.move_to(uid)

    @property
    @override
    def is_busy(self) -> bool:
        return self.filter_bar.has_focus_within

    # Content

    @override
    def shows(self, kind: str) -> bool:
        return kind.startswith(("job.", "run."))

    @property
    def line(self) -> JobLine | None:
        """The job under the cursor."""
        return self.listed.get(self.row_list.cursor)

    @override
    def changed(self, changes: StateChanges) -> None:
        """Read the jobs that were touched."""
        if not changes.touches("job", "run"):
            return
        touched = job_lines.touched(self.context.db, changes.entries) if not changes.all else None
        before = self.row_list.cursor
        self.row_list.change(self._read(touched if touched is None or len(touched) <= _FEW else None))
        self._job_actions.landing.note(before, self.row_list.cursor, changes)
        if self._job_actions.ending is not None:
            self._job_actions.ending.look()
        self._show()

    @override
    def refreshed(self) -> None:
        self.row_list.change(self._read(None))
        self.row_list.redraw()
        self._show()

    def _read(self, touched: set[str] | None) -> set[str]:
        """Read the touched jobs, None: all; return the keys of rows that changed."""
        known = [] if touched is None else [line for line in self._all if line.job.uid not in touched]
        self._all = job_lines.lines(self.context.db, known)
        changed = self.listed.replace(line for line in self._all if self._matches(line))
        self._show_count()
        if self._drawing.fit(self._all):
            self.row_list.redraw()
            self._titles.redraw()
        return changed

    def on_virtual_list_moved(self) -> None:
        """Show the detail of the job under the cursor."""
        self._show()

    def on_virtual_list_opened(self, event: RowMessage) -> None:
        """Show the job's runs, on a double click or Enter."""
        self.action_act("job_runs")

    def on_resize(self) -> None:
        """Show more or less of the job."""
        self._show()

    def _title(self) -> Sequence[Part]:
        """Return the title of the rule above: `Jobs   5`; on a small screen, which has no tabs, `Schedule`."""
        if layout.is_compact(self.app.size):
            return [("Schedule", "bold")]
        return [("Jobs", "bold"), (f"   {len(self._all):,}", "$muted")]

    def _title_of_job(self, width: int) -> Sequence[Part]:
        """Return the rule above the detail, with number and name of the job if there is room."""
        # Not that under the cursor, which may have moved since the detail was drawn.
        line = None if layout.is_compact(self.app.size) else self._shown
        title = f"S{line.job.number} {line.job.name}" if line is not None else ""
        return titled_rule(self.context, title, width, "bold")

    def _show(self) -> None:
        self._shown = line = self.line
        is_titled = line is not None and not layout.is_compact(self.app.size)
        # Each part ends one line after what it shows, so that spare lines are at the foot.
        self.row_list.styles.max_height = self.row_list.most_lines(self._all, self.app.size.width)
        self._timeline.put(self._all)
        self._strip.styles.height = min(_MOST_OF_STRIP, self._timeline.most_lines)
        self._detail_title.redraw()
        self._job_detail.put(line, is_titled=is_titled, last_start=self._last_start())
        self._detail.redraw()
        self._strip.redraw()
        self.set_class(self.filter_bar.is_open, "-filtering")
        # Whether the job can be run follows from it.
        self.context.redraw_frame()

    def _last_start(self) -> str:
        """Return `it started S1 at 20:15`; empty where no run was started."""
        runs = ((run, line.job) for line in self._all for run in (line.running, line.last) if run is not None)
        started = [(run.started_at, job.number) for run, job in runs if run.started_at is not None]
        if not started:
            return ""
        at, number = max(started)
        return f"it started S{number} at {self.context.clock.time_of(at)}"

    # The filter

    def do_job_filter(self) -> None:
        """Begin to filter, or go on typing."""
        self.filter_bar.open()
        self._show()

    def do_back(self) -> None:
        """Leave the filter."""
        if self.filter_bar.is_open:
            self.filter_bar.clear()

    def _completions(self) -> Mapping[str, Sequence[str]]:
        """Return the values that Tab completes to, by field."""
        return {"who": sorted({line.job.created_by for line in self._all})}

    def on_filter_bar_opened(self) -> None:
        """Count the jobs that match."""
        self._show_count()

    def on_filter_bar_changed(self, event: FilterBar.Changed) -> None:
        """Show the matching jobs."""
        self._show_matching(event.parsed)

    def on_filter_bar_submitted(self) -> None:
        """Return to the rows."""
        self.row_list.focus()

    def on_filter_bar_cleared(self) -> None:
        """Show all jobs."""
        self._show_matching(Parsed())
        self.row_list.focus()

    def _show_matching(self, parsed: Parsed) -> None:
        self._filter = parsed
        cursor = self.row_list.cursor
        self.listed.replace(line for line in self._all if self._matches(line))
        self.row_list.refilter(self.listed, cursor if self.listed.get(cursor) is not None else None)
        self._show_count()
        self._show()

    def _show_count(self) -> None:
        if self.filter_bar.is_open:
            self.filter_bar.show_count(f"{len(self.listed.rows)} of {count(len(self._all), 'job')}")

    def _matches(self, line: JobLine) -> bool:
        """Return whether each word is in what the row shows or in the prompt, and `who:` created the job."""
        job, text = line.job, self._drawing.says(line)
        for term in self._filter.terms:
            value = term.value.casefold()
            maker = job.created_by.casefold()
            is_equal = maker.startswith(value) if term.field == "who" and term.prefix else value == maker
            if (is_equal if term.field == "who" else value in text) == term.negated:
                return False
        return True
