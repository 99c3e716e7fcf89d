"""What the human does to jobs: start, switch on and off, make, change, delete, end a run."""

from __future__ import annotations

from tui_tasks.core.operations_jobs import DeleteJob, DisableJob, EnableJob, RunJob, StopRun
from tui_tasks.core.read.jobs.job_rows import JobLine
from tui_tasks.text.safe import safe_copy, safe_line
from tui_tasks.tui.app.actions import Action
from tui_tasks.tui.inputs.dialogs import Choice, Menu, Prompt, confirm
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.widgets.pane import Pane, RowActions


class JobActions(RowActions, Pane):
    """A pane with a current job."""

    @property
    def line(self) -> JobLine | None:
        """The job that keys are about."""
        raise NotImplementedError

    def number(self, uid: str) -> int:
        """The number of a job."""
        raise NotImplementedError

    def _named(self, line: JobLine) -> str:
        return f"S{self.number(line.job.uid)} {safe_line(line.job.name, 40)}"

    def why_not(self, action: Action) -> str | None:
        """As `Actor.why_not`; a run can be ended only where there is one, a job started only where there is none."""
        line = self.line
        if action.needs in ("job", "run") and line is None:
            return "no job here"
        if action.needs == "run" and line is not None and line.running is None:
            return f"{self._named(line)} does not run"
        if action.id in ("job_run", "job_run_with") and line is not None:
            if not line.job.enabled:
                return f"{self._named(line)} is off; {self.host.key_of('job_toggle')} switches it on"
            if line.running is not None:
                return f"{self._named(line)} runs already; {self.host.key_of('job_stop')} ends that run"
        return super().why_not(action)

    async def do_job_run(self) -> None:
        """Run it now, whatever its schedule says: the human may (rule S3)."""
        if self.line is not None:
            await self._run(self.line)

    async def do_job_run_with(self) -> None:
        """Run it now with input for this run alone."""
        line = self.line
        if line is None:
            return
        context = await self.host.push_screen_wait(
            Prompt(self.context, f"Input for this run of {self._named(line)}", done="Run")
        )
        if context is not None:
            await self._run(line, context)

    async def _run(self, line: JobLine, context: str = "") -> None:
        await self.host.bridge.commit(RunJob(line.job.uid, context, force=True))
        runs = self.host.key_of("job_runs")
        self.host.say(f"{self._named(line)} is to run now; {runs} shows its output.")

    async def do_job_toggle(self) -> None:
        """Switch it on or off."""
        line = self.line
        if line is None:
            return
        if line.job.enabled:
            await self.host.bridge.commit(DisableJob(line.job.uid))
            goes_on = " What runs goes on." if line.running is not None else ""
            self.host.say(f"{self._named(line)} is off.{goes_on}")
        else:
            (job,) = await self.host.bridge.commit(EnableJob(line.job.uid))
            next_ = f"; next {job_text.next_(job, self.host.now())}" if job.next_run is not None else ""
            self.host.say(f"{self._named(line)} is on{next_}.")

    async def do_job_delete(self) -> None:
        """Delete it; where it runs, ask first, for that cannot be taken back."""
        line = self.line
        if line is None:
            return
        if line.running is not None:
            question = f"{self._named(line)} is running. Delete it, and end its run?"
            if not await confirm(self.context, question, "end the run and delete"):
                return
        named = self._named(line)
        await self.host.bridge.commit(DeleteJob(line.job.uid))
        self.host.say(f"Deleted {named}. {self.host.key_of('undo')} brings it back.")

    async def do_job_stop(self) -> None:
        """End what runs, once asked."""
        line = self.line
        if line is None or line.running is None:
            return
        if await confirm(self.context, f"End the run of {self._named(line)}?", "end it"):
            await self.host.bridge.commit(StopRun(line.running.uid))
            self.host.say(f"The run of {self._named(line)} is being ended.")

    async def do_job_new(self) -> None:
        """Make a job."""
        from tui_tasks.tui.schedule.job_form import JobForm

        made = await self.host.push_screen_wait(JobForm())
        if made is not None:
            self.window.move_to(made)

    async def do_job_edit(self) -> None:
        """Change the job."""
        from tui_tasks.tui.schedule.job_form import JobForm

        if self.line is not None:
            await self.host.push_screen_wait(JobForm(self.line.job))

    async def do_job_copy(self) -> None:
        """Copy its id, its name or its prompt."""
        line = self.line
        if line is None:
            return
        choices = [Choice("i", "id"), Choice("n", "name"), Choice("p", "prompt")]
        key = await self.host.push_screen_wait(Menu(self.context, f"Copy of {self._named(line)}", choices))
        if key is not None:
            job = line.job
            text = {"i": job.uid, "n": safe_copy(job.name, one_line=True), "p": job.prompt}[key]
            self.host.copy_to_clipboard(text)
            self.host.say("Copied.")

    def do_job_runs(self) -> None:
        """Show its runs, and what they print."""
        from tui_tasks.tui.screens.runs import RunView

        if self.line is not None:
            self.host.bridge.check()
            self.host.push_screen(RunView(self.context, self.line.job.uid))
