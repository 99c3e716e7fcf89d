"""What keys do with a job: run it, end its run, switch, delete, make and change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_tasks.core.operations.jobs import DeleteJob, DisableJob, EnableJob, RunJob, StopRun
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.job_lines import JobLine
from tui_tasks.text.safe import safe_copy, safe_line
from tui_tasks.tui.inputs.dialogs import Choice, Menu, confirm
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks.task_guards import MOVED_BY_ITSELF, Landing

if TYPE_CHECKING:
    from tui_tasks.tui.schedule.run_view import Ending


class JobActions(Controller):
    """Acts on the job that `job` returns. `select` puts the cursor on one."""

    def __init__(
        self,
        context: Context,
        job: Callable[[], JobLine | None],
        select: Callable[[str], object],
    ) -> None:
        self._context = context
        self._job = job
        self._select = select
        self.landing = Landing(context)
        self.ending: Ending | None = None

    async def _ask_if_meant(self, line: JobLine, verb: str) -> bool:
        """Ask whether a key is for a job where the cursor came to it by itself, and return whether it is."""
        if not self.landing.is_at(line.job.uid):
            return True
        self.landing.forget()
        return await confirm(self._context, f"{verb} {self._named(line)}? {MOVED_BY_ITSELF}.", verb.casefold())

    def _named(self, line: JobLine) -> str:
        return f"S{line.job.number} {safe_line(line.job.name, 40)}"

    @override
    def why_not(self, action: Action) -> str | None:
        """A run can be ended only when there is one, and started when there is none."""
        line, key_of = self._job(), self._context.keymap.key_of
        if line is None:
            return (
                f"No job is under the cursor: {key_of('job_new')} adds one." if action.needs in ("job", "run") else None
            )
        if action.needs == "run" and line.running is None:
            return f"{self._named(line)} does not run now."
        if action.id in ("job_run", "job_run_with"):
            if not line.job.enabled:
                return f"{self._named(line)} is off: {key_of('job_toggle')} switches it on."
            if line.running is not None:
                return f"{self._named(line)} runs already: {key_of('job_stop')} ends that run."
        return super().why_not(action)

    async def do_job_run(self) -> None:
        """Run the job now, whatever its schedule says."""
        line = self._job()
        if line is not None and await self._ask_if_meant(line, "Run"):
            await self._run(line)

    async def do_job_run_with(self) -> None:
        """Run the job now, with input for this run alone."""
        line = self._job()
        if line is None:
            return
        from tui_tasks.tui.inputs.editor import TextDialog

        title, draft = f"Input for this run of {self._named(line)}", f"run {line.job.uid}"
        dialog = TextDialog(self._context, title, draft=draft, done="Run")
        given = await self._context.ask(dialog)
        if given is not None:
            with dialog.keeps_unless_done():
                await self._run(line, given)

    async def _run(self, line: JobLine, given: str = "") -> None:
        # Rule S3 lets the human start a job at any time.
        await self._context.link.commit(RunJob(line.job.uid, given, force=True))
        runs = self._context.keymap.key_of("job_runs")
        self._context.say(f"Started {self._named(line)}; {runs} shows its output.")

    async def do_job_toggle(self) -> None:
        """Switch the job on or off."""
        line, context = self._job(), self._context
        if line is None or not await self._ask_if_meant(line, "Switch off" if line.job.enabled else "Switch on"):
            return
        if line.job.enabled:
            unbegun = [run for run in job_queries.open_runs(context.db, line.job.uid) if run.state != "running"]
            await context.link.commit(DisableJob(line.job.uid))
            left = job_queries.open_runs(context.db, line.job.uid)
            ended = " Its run had not begun, and is ended." if unbegun and not left else ""
            goes_on = " A started run continues." if left else ended
            context.say(f"{self._named(line)} is off.{goes_on}")
        else:
            (job,) = await context.link.commit(EnableJob(line.job.uid))
            next_ = f"; next {job_text.next_(job, context.clock.now())}" if job.next_run is not None else ""
            context.say(f"{self._named(line)} is on{next_}.")

    async def do_job_delete(self) -> None:
        """Delete the job; ask first while it runs, as undo does not continue a run."""
        line, context = self._job(), self._context
        if line is None:
            return
        if line.running is not None:
            question = f"{self._named(line)} is running. Delete it, and end its run?"
            if not await confirm(context, question, "end the run and delete"):
                return
        elif not await self._ask_if_meant(line, "Delete"):
            return
        named = self._named(line)
        await context.link.commit(DeleteJob(line.job.uid))
        runs = " with its runs" if line.history else ""
        context.say(f"Deleted {named}. {context.keymap.key_of('undo')} brings it back{runs}.")

    async def do_job_stop(self) -> None:
        """End the run, once asked."""
        line, context = self._job(), self._context
        if line is None or line.running is None:
            return
        if await confirm(context, f"End the run of {self._named(line)}?", "end it"):
            await context.link.commit(StopRun(line.running.uid))
            from tui_tasks.tui.schedule.run_view import Ending  # for those who end one

            self.ending = Ending(context, line.running.uid, f"The run of {self._named(line)}")

    async def do_job_new(self) -> None:
        """Create a job."""
        from tui_tasks.tui.schedule.job_form import JobForm

        made = await self._context.ask(JobForm(self._context))
        if made is not None:
            self._select(made)

    async def do_job_edit(self) -> None:
        """Change the job."""
        from tui_tasks.tui.schedule.job_form import JobForm

        line = self._job()
        if line is not None:
            await self._context.ask(JobForm(self._context, line.job))

    async def do_job_copy(self) -> None:
        """Copy the job's id, name or prompt."""
        line, context = self._job(), self._context
        if line is None:
            return
        choices = [Choice("i", "id"), Choice("n", "name"), Choice("p", "prompt")]
        key = await context.ask(Menu(context, f"Copy of {self._named(line)}", choices))
        if key is not None:
            job = line.job
            context.copy({"i": job.uid, "n": safe_copy(job.name, one_line=True), "p": job.prompt}[key])
            context.say("Copied.")

    def do_job_runs(self) -> None:
        """Show the job's runs and what they print."""
        from tui_tasks.tui.schedule.run_view import RunView

        line = self._job()
        if line is not None:
            self._context.link.check()
            self._context.push(RunView(self._context, line.job.uid))
