"""The runs of one job, the times at which it was not run, and the output of a run as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from typing_extensions import override

from tui_tasks.core.operations.jobs import StopRun
from tui_tasks.core.read import job_lines, job_queries
from tui_tasks.core.read.job_lines import JobLine, RunLine
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.unjournaled import run_output
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count, size
from tui_tasks.tui.inputs.dialogs import confirm
from tui_tasks.tui.keys.action_table import ACTIONS, Action, bindings
from tui_tasks.tui.keys.actions import FAR, RowMoves
from tui_tasks.tui.layout import NARROW
from tui_tasks.tui.painting.line_painter import FrameLine, rule
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Divider
from tui_tasks.tui.rows.row_list import RowMessage, VirtualList
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.schedule.job_actions import JobActions
from tui_tasks.tui.schedule.run_rows import RunOutput, RunRows, RunsOfJob
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Overlay
from tui_tasks.tui.widgets.screen_head import ScreenHead

# Seconds between reads of the output, which is not in the journal; nothing is painted when it has not grown.
_FOOT: Final = ("run_output", "run_follow", "job_run", "run_stop", "run_copy", "back", "help")
POLL: Final = 0.25


class Ending:
    """Says that a run is being ended and, once, that it has ended."""

    def __init__(self, context: Context, uid: str, what: str) -> None:
        """`what` names the run, for people."""
        self._context = context
        self._uid = uid
        self._what = what
        self._is_over = False
        self.look()
        if not self._is_over:
            context.say(f"{what} is being ended.")

    def look(self) -> None:
        """Say that it has ended, if it has since the last look."""
        run = job_queries.any_run(self._context.db, self._uid)
        if not self._is_over and (run is None or run.state == "final"):
            self._is_over = True
            self._context.say(f"{self._what} has ended.")


class RunView(Overlay):
    """The screen: runs above or at the side, below them the output of the run under the cursor; one of both on a small
    one.
    """

    NAME = "runs"
    SCOPES: ClassVar[tuple[str, ...]] = ("rows", "jobs")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    DEFAULT_CSS = """
    RunView.-narrow #runs-now, RunView.-short #runs-now { display: none; }
    RunView #run-body { height: 1fr; layout: vertical; }
    RunView #runs { height: 30%; min-height: 3; width: 1fr; }
    RunView #run-side { height: 1fr; width: 1fr; }
    RunView Divider { display: none; }
    RunView.-wide.-tall #run-body { layout: horizontal; }
    RunView.-wide.-tall #runs { height: 1fr; width: 4fr; }
    RunView.-wide.-tall #run-side { width: 6fr; }
    RunView.-wide.-tall #under-runs { display: none; }
    RunView.-wide.-tall Divider { display: block; }
    RunView.-narrow #runs, RunView.-short #runs { height: 1fr; }
    RunView.-narrow #run-side, RunView.-short #run-side { display: none; }
    RunView.-narrow #under-runs, RunView.-short #under-runs { display: none; }
    RunView.-narrow.-output #runs, RunView.-short.-output #runs { display: none; }
    RunView.-narrow.-output #run-side, RunView.-short.-output #run-side { display: block; }
    """

    def __init__(self, context: Context, job_uid: str) -> None:
        super().__init__(context)
        self.window = VirtualList(context, RunRows(context), id="runs")
        self.output = RunOutput(context, id="output")
        # The rows of what needs the human would take the room of the output.
        self._head = ScreenHead(context, self._job_parts, id="runs", kinds=lambda: (), rows=lambda: [("Runs", "bold")])
        self._output_head = FrameLine(context, self._run_parts, self._length_parts, id="output-head")
        self.controllers = (RunMoves(self),)
        self._job_uid = job_uid
        self._job_actions = JobActions(context, self._job_line, lambda uid: None)
        self._is_deleted = False
        self._title = ""
        self._when = ""
        self._shown: RunLine | None = None
        self._ending: Ending | None = None

    def compose(self) -> ComposeResult:
        """Compose head, runs and output."""
        yield from self._head.compose()
        with Container(id="run-body"):
            yield self.window
            yield rule(self.context, id="under-runs")
            yield Divider(self.context)
            with Vertical(id="run-side"):
                yield self._output_head
                yield self.output
        yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Read the runs, and show the newest."""
        self.window.show(RunsOfJob(self.context.db, self._job_uid))
        self.window.focus()
        self._read_job()
        self.set_interval(POLL, self._poll)

    @property
    def run(self) -> RunLine | None:
        """The run that keys act on."""
        return self.window.row

    def _read_job(self) -> None:
        job = job_queries.any_job(self.context.db, self._job_uid)
        if job is not None:
            self._title, self._is_deleted = f"S{job.number} {job.name}", job.deleted
            self._when = "deleted" if job.deleted else job_text.when(job)
        self._head.redraw()

    def _job_line(self) -> JobLine | None:
        """Return the job whose runs are shown; None: it is deleted."""
        job = job_queries.any_job(self.context.db, self._job_uid)
        return job_lines.line_of(self.context.db, job) if job is not None and not job.deleted else None

    def _job_parts(self, width: int) -> Sequence[Part]:
        """` S4 Digest mail   08:00 daily`."""
        when = f"   {self._when}" if width >= NARROW else ""  # a small screen has counts there
        return [(f" {safe_line(self._title, width - 2)}", "bold"), (when, "$muted")]

    def _run_parts(self, width: int) -> Sequence[Part]:
        """Return the run whose output is shown, what its agent has spent, and its error; marked where keys go there."""
        run = self.run
        if run is None:
            return ()
        shown = job_text.run_look(run)
        at = self.context.clock.time_of(run.at) if run.at is not None else ""
        mark = shown.mark(ascii_only=self.context.ascii_only)
        used = job_text.used(run) if width >= NARROW else ""
        used = f" · {used}" if used else ""
        why = f" · {safe_line(run.why, max(1, width - 24 - len(used)))}" if run.why else ""
        here, style = (sign("cursor"), "$key ") if self.has_class("-output") else (" ", "")
        title = (f"{shown.word} {at}", f"{style}bold")
        return [(here, "$key"), (f"{mark} ", shown.color), title, (used, "$muted"), (why, "")]

    def _length_parts(self, width: int) -> Sequence[Part]:
        """Return the length of the output, and whether its end is followed."""
        run, output = self.run, self.output
        if run is None or not output.total:
            return ()
        follow = ("  following" if output.following else "  not following") if run.state == "running" else ""
        return [(f"{size(output.total)}{follow} ", "$muted")]

    def changed(self, changes: StateChanges) -> None:
        """Update the runs that changed."""
        if changes.touches("job"):
            self._read_job()
        if changes.all or any(entry.kind in ("job.pruned", "job.decided") for entry in changes.entries):
            self.window.reload()
        else:
            self.window.change({entry.uid for entry in changes.entries if entry.entity == "run"})
        if self._ending is not None:
            self._ending.look()
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
        if run is not None and before != run:
            log = run_output.read_output(self.context.db, run.uid)
            is_other = before is None or before.uid != run.uid
            if is_other or log.total < self.output.total or not self.output.total:
                self.output.show(log, self._note(run))
            else:
                # What a run prints last may be written after the last poll and before its end.
                self._add_output(run)
        self.draw_head()
        words = {"run_output": "Runs" if self.has_class("-output") else "Output"}
        if self.small:
            words |= {"run_stop": "End", "back": ""}
        ids = ("run_output", "job_run", "run_stop", "back") if self.small else _FOOT
        here = (name for name in ids if self.why_not(ACTIONS[name]) is None)
        self.hint(*(self.hint_of(name, words.get(name, "")) for name in here))

    def _note(self, run: RunLine) -> str:
        """Return the text that is shown instead of output."""
        current = job_queries.any_run(self.context.db, run.uid)
        if current is None:
            return ""
        words = [part for part in (current.reason, current.result) if part]
        if run.state == "running" and not run.dedicated:
            end = run.deadline
            left = (
                f"has until {self.context.clock.time_of(end)} to answer" if end is not None else "has not answered yet"
            )
            words.append(f"The agent was asked. It {left}.")
        elif run.decision != "ran":
            words.insert(0, f"This time was not run: {job_text.run_look(run).word}.")
        elif not words:
            is_past = self.context.link.as_of is not None
            yet = "What it had printed then is not recorded." if is_past else "No output yet."
            words.append(yet if run.state != "final" else "No output.")
        if current.context:
            words.append(f"Input: {current.context}")
        return "\n\n".join(words)

    def draw_head(self) -> None:
        """Draw whose output it is, its length, and whether its end is followed."""
        self._output_head.redraw()

    def _poll(self) -> None:
        """Read what has been printed since; stop when the run has ended."""
        run = self._shown
        if run is None or run.state != "running":
            return
        self._add_output(run)
        self.draw_head()

    def _add_output(self, run: RunLine) -> None:
        """Read what a run has printed since, and add it to what is shown."""
        log = run_output.read_output(self.context.db, run.uid, self.output.total)
        if log.pieces and not self.output.add(log):
            self.output.show(run_output.read_output(self.context.db, run.uid))

    # Actions

    @override
    def why_not(self, action: Action) -> str | None:
        """Some actions need a run, or one in progress; the job itself can be run while it does not run."""
        if action.id == "job_run" and not self.context.link.read_only:
            return self._job_actions.why_not(action) if not self._is_deleted else "This job is deleted."
        run = self.run
        if action.needs in ("run", "any run") and run is None:
            return "No run is under the cursor."
        if action.needs == "run" and run is not None and run.state == "final":
            return "This run has ended."
        return super().why_not(action)

    @property
    def is_on_output(self) -> bool:
        """Whether the output has the focus instead of the runs."""
        return self.output.has_focus

    async def do_job_run(self) -> None:
        """Run the job now, as in the schedule."""
        await self._job_actions.do_job_run()

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
            self._ending = Ending(self.context, run.uid, "The run")

    def do_run_copy(self) -> None:
        """Copy the output."""
        text = self.output.text
        if not text:
            self.context.say("This run has no output to copy.")
            return
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
