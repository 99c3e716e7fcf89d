"""The runs of one job, the times at which it was not run, and the output of a run as it grows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical

from tui_tasks.core.engine.database import Database
from tui_tasks.core.operations.jobs import StopRun
from tui_tasks.core.read.jobs import job_queries, job_rows
from tui_tasks.core.read.jobs.job_rows import RunLine
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import age_lasts, count, size
from tui_tasks.tui.inputs.dialogs import confirm
from tui_tasks.tui.keys.actions import Action, bindings
from tui_tasks.tui.painting.scrolling import FAR
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Divider
from tui_tasks.tui.rows.row_list import RowMessage, VirtualList
from tui_tasks.tui.rows.row_moves import RowMoves
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.runs.run_output import RunOutput
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.database_link import StateChanges
from tui_tasks.tui.widgets.breakpoints import NARROW
from tui_tasks.tui.widgets.frame import FootLine, FrameLine, Rule
from tui_tasks.tui.widgets.overlay import Overlay

# Seconds between reads of the output, which is not in the journal; nothing is painted when it has not grown.
POLL: Final = 0.25


class RunsOfJob:
    """The runs of a job, newest first: a `Source` of rows."""

    def __init__(self, db: Database, job_uid: str) -> None:
        self._db = db
        self._job = job_uid

    def first(self, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_rows.older(self._db, self._job, limit)

    def last(self, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_rows.newer(self._db, self._job, limit)

    def after(self, row: RunLine, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_rows.older(self._db, self._job, limit, row.id)

    def before(self, row: RunLine, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_rows.newer(self._db, self._job, limit, row.id)

    def find(self, keys: Collection[str]) -> dict[str, RunLine]:
        """See `Source`."""
        found = (job_rows.run_line(self._db, key) for key in keys)
        return {run.uid: run for run in found if run is not None and run.job_uid == self._job}

    def key(self, row: RunLine) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: RunLine) -> int:
        """See `Source`."""
        return -row.id

    def place(self, row: RunLine) -> int:
        """See `Source`; None, as counting is not worth it."""
        return -1

    def total(self) -> int:
        """See `Source`."""
        return -1


class RunWindow(VirtualList[RunLine]):
    """The list of runs, one in each line."""

    def draw(self, row: RunLine, look_: RowLook, line: int) -> Sequence[Part]:
        """`>✗ Sat 21 Nov 08:00  schedule  failed 41s  exit 1  smtp: 535 ...`."""
        context, width = self.context, look_.width
        now, ascii_only = context.clock.now(), context.ascii_only
        shown = job_text.run_look(row)
        at = context.clock.time_of(row.at) if row.at is not None else "-"
        if row.started_at is not None and row.ended_at is None:
            self.lasts(age_lasts(row.started_at, now))
        told = [job_text.went(row, now)] if width < 70 else [f"{row.trigger:<8}", job_text.went(row, now)]
        if row.attempt > 1:
            told.append(f"attempt {row.attempt}")
        if row.exit_code and not (row.reason or "").startswith("exit"):
            told.append(f"exit {row.exit_code}")
        head = f" {at:>16}  {' '.join(told)}" if width >= 60 else f" {at}  {' '.join(told)}"
        why = f"  {row.why}" if row.why else ""
        room = max(0, width - 2 - cell_len(head) - 1)
        return (
            (
                sign("cursor", ascii_only=ascii_only) if look_.cursor else " ",
                "$primary bold" if look_.focused else "$muted",
            ),
            (shown.mark(ascii_only=ascii_only), shown.color),
            (safe_line(head, width - 3), ""),
            (fit(why, room) if room > 4 else "", "$muted"),
        )

    def draw_empty(self, line: int) -> Sequence[Part]:
        """Draw what to do next."""
        text = "   It has never run."
        return [(text, "$muted")] if line == 1 else ()


class RunsHead(FrameLine):
    """` S4 Digest mail   08:00 daily`; at the right, the run in progress."""

    title = ""
    told = ""

    def left(self, width: int) -> Sequence[Part]:
        """The job."""
        return [(f" {safe_line(self.title, width - 2)}", "bold"), (f"   {self.told}", "$muted")]


class OutputHead(FrameLine):
    """The head of the output: of which run, and how much of it there is."""

    run: RunLine | None = None
    total = 0
    following = True

    def left(self, width: int) -> Sequence[Part]:
        """The run, what its agent has spent, and its error."""
        run = self.run
        if run is None:
            return ()
        shown = job_text.run_look(run)
        at = self.context.clock.time_of(run.at) if run.at is not None else ""
        mark = shown.mark(ascii_only=self.context.ascii_only)
        used = job_text.used(run) if width >= NARROW else ""
        used = f" · {used}" if used else ""
        why = f" · {safe_line(run.why, max(1, width - 24 - len(used)))}" if run.why else ""
        return [(f" {mark} ", shown.color), (f"{shown.word} {at}", "bold"), (used, "$muted"), (why, shown.color)]

    def right(self, width: int) -> Sequence[Part]:
        """The length, and whether its end is followed."""
        if self.run is None or not self.total:
            return ()
        goes_on = self.run.state == "running"
        follow = ("  following" if self.following else "  not following") if goes_on else ""
        return [(f"{size(self.total)}{follow} ", "$muted")]


class RunView(Overlay):
    """The screen: runs above or at the side, below them the output of the run under the cursor; one of both on a small
    one.
    """

    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "overlay", "runs")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    RunView #run-body { height: 1fr; layout: vertical; }
    RunView RunWindow { height: 30%; min-height: 3; width: 1fr; }
    RunView #run-side { height: 1fr; width: 1fr; }
    RunView Divider { display: none; }
    RunView.-wide.-tall #run-body { layout: horizontal; }
    RunView.-wide.-tall RunWindow { height: 1fr; width: 4fr; }
    RunView.-wide.-tall #run-side { width: 6fr; }
    RunView.-wide.-tall #under-runs { display: none; }
    RunView.-wide.-tall Divider { display: block; }
    RunView.-narrow RunWindow, RunView.-short RunWindow { height: 1fr; }
    RunView.-narrow #run-side, RunView.-short #run-side { display: none; }
    RunView.-narrow #under-runs, RunView.-short #under-runs { display: none; }
    RunView.-narrow.-output RunWindow, RunView.-short.-output RunWindow { display: none; }
    RunView.-narrow.-output #run-side, RunView.-short.-output #run-side { display: block; }
    """

    def __init__(self, context: Context, job_uid: str) -> None:
        super().__init__(context)
        self.window = RunWindow(context, id="runs")
        self.controllers = (RunMoves(self),)
        self._job_uid = job_uid
        self._shown: RunLine | None = None

    def compose(self) -> ComposeResult:
        """Compose head, runs and output."""
        yield RunsHead(self.context, id="runs-head")
        yield Rule(self.context)
        with Container(id="run-body"):
            yield self.window
            yield Rule(self.context, id="under-runs")
            yield Divider(self.context)
            with Vertical(id="run-side"):
                yield OutputHead(self.context, id="output-head")
                yield RunOutput(self.context, id="output")
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read the runs, and show the newest."""
        self.window.show(RunsOfJob(self.context.db, self._job_uid))
        self.window.focus()
        self._read_job()
        self.set_interval(POLL, self._poll)

    @property
    def output(self) -> RunOutput:
        """The output that is shown."""
        return self.query_one(RunOutput)

    @property
    def run(self) -> RunLine | None:
        """The run that keys act on."""
        return self.window.row

    def _read_job(self) -> None:
        job = job_queries.any_job(self.context.db, self._job_uid)
        head = self.query_one(RunsHead)
        if job is not None:
            place = [each.uid for each in job_queries.jobs(self.context.db)]
            number = f"S{place.index(job.uid) + 1} " if job.uid in place else ""
            head.title = f"{number}{job.name}"
            head.told = "deleted" if job.deleted else job_text.when(job)
        head.again()

    def changed(self, changes: StateChanges) -> None:
        """Update the runs that changed."""
        if changes.touches("job"):
            self._read_job()
        if changes.all or any(entry.kind in ("job.pruned", "job.decided") for entry in changes.entries):
            self.window.reload()
        else:
            self.window.change({entry.uid for entry in changes.entries if entry.entity == "run"})
        self._show()

    def on_virtual_list_moved(self) -> None:
        """Show the output of another run."""
        self._show()

    def on_virtual_list_opened(self, event: RowMessage) -> None:
        """Do as Enter does, on a double click."""
        self.do_run_output()

    def on_resize(self) -> None:
        """Draw the foot line again, which depends on the width."""
        self._show()

    def _show(self) -> None:
        run = self.run
        before, self._shown = self._shown, run
        if run is None or before is None or before.uid != run.uid:
            self.output.following = True
        if run is not None and (before is None or before.uid != run.uid or before != run):
            log = job_queries.run_log(self.context.db, run.uid)
            if before is None or before.uid != run.uid or log.total < self.output.total or not self.output.total:
                self.output.show(log, self._note(run))
        self.draw_head()
        if self.small:
            word = "Runs" if self.has_class("-output") else "Output"
            self.hint(self.hint_of("run_output", word), self.hint_of("run_stop", "End"), self.hint_of("back", ""))
        else:
            self.hint(*map(self.hint_of, ("run_output", "run_follow", "run_stop", "run_copy", "back")))

    def _note(self, run: RunLine) -> str:
        """Return the text that is shown instead of output."""
        found = job_queries.any_run(self.context.db, run.uid)
        if found is None:
            return ""
        told = [part for part in (found.reason, found.result) if part]
        if run.state == "running" and not run.dedicated:
            until = f" until {self.context.clock.time_of(run.deadline)}" if run.deadline is not None else ""
            told.append(f"The agent was asked; its answer is waited for{until}.")
        elif run.decision != "ran":
            told.insert(0, f"This time was not run: {job_text.run_look(run).word}.")
        elif not told:
            is_past = self.context.link.as_of is not None
            yet = "What it had printed then is not recorded." if is_past else "No output yet."
            told.append(yet if run.state != "final" else "No output.")
        if found.context:
            told.append(f"Input: {found.context}")
        return "\n\n".join(told)

    def draw_head(self) -> None:
        """Draw whose output it is, its length, and whether its end is followed."""
        head = self.query_one(OutputHead)
        head.run, head.total, head.following = self.run, self.output.total, self.output.following
        head.again()

    def _poll(self) -> None:
        """Read what has been printed since; stop when the run has ended."""
        run = self._shown
        if run is None or run.state != "running":
            return
        log = job_queries.run_log(self.context.db, run.uid, self.output.total)
        if log.pieces and not self.output.add(log):
            self.output.show(job_queries.run_log(self.context.db, run.uid))
        self.draw_head()

    # Actions

    def why_not(self, action: Action) -> str | None:
        """As `Actor.why_not`; some actions need a run, or one in progress."""
        run = self.run
        if action.needs in ("run", "any run") and run is None:
            return "no run here"
        if action.needs == "run" and run is not None and run.state == "final":
            return "it has ended"
        return super().why_not(action)

    @property
    def is_on_output(self) -> bool:
        """Whether the output has the focus instead of the runs."""
        return self.output.has_focus

    def do_run_output(self) -> None:
        """Go to the output, or back to the runs."""
        if self.is_on_output:
            self.remove_class("-output")
            self.window.focus()
        else:
            self.add_class("-output")
            self.output.focus()
        self._show()

    def do_run_follow(self) -> None:
        """Follow the output's end, or stay where it is."""
        if self.output.following:
            self.output.following = False
        else:
            self.output.scroll_rows(FAR)
        self.draw_head()

    async def do_run_stop(self) -> None:
        """End the run, once asked."""
        run = self.run
        if run is not None and await confirm(self.context, "End this run?", "end it"):
            await self.context.link.commit(StopRun(run.uid))
            self.context.say("It is being ended." if run.dedicated else "It was ended.")

    def do_run_copy(self) -> None:
        """Copy the output."""
        text = self.output.text
        self.context.copy(text)
        self.context.say(f"Copied {count(len(text), 'character')}.")

    def do_back(self) -> None:
        """From the output to the runs, from there to the pane."""
        if self.is_on_output:
            self.do_run_output()
        else:
            super().do_back()


class RunMoves(RowMoves):
    """Moves in the runs or the output, whichever has the focus; pages are always those of the output."""

    def __init__(self, view: RunView) -> None:
        super().__init__(lambda: view.window)
        self._view = view

    def do_down(self) -> None:
        """Down, in what has the focus."""
        if not self._scrolled(1):
            super().do_down()

    def do_up(self) -> None:
        """Up."""
        if not self._scrolled(-1):
            super().do_up()

    def do_first(self) -> None:
        """To the first run, or the beginning of the output."""
        if not self._scrolled(-FAR):
            super().do_first()

    def do_last(self) -> None:
        """To the last run, or the end of the output."""
        if not self._scrolled(FAR):
            super().do_last()

    def do_page_down(self) -> None:
        """A page of the output, wherever the cursor is."""
        self._scroll(self._page)

    def do_page_up(self) -> None:
        """A page back."""
        self._scroll(-self._page)

    @property
    def _page(self) -> int:
        return max(1, self._view.output.size.height - 1)

    def _scrolled(self, by: int) -> bool:
        """Scroll the output if it has the focus; return whether it has."""
        if self._view.is_on_output:
            self._scroll(by)
        return self._view.is_on_output

    def _scroll(self, by: int) -> None:
        self._view.output.scroll_rows(by)
        self._view.draw_head()
