"""The tasks and jobs in the inbox that failed or are late: what became of them, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from typing_extensions import override

from tui_tasks.core.operations.jobs import RunJob
from tui_tasks.core.read import job_lines, job_queries
from tui_tasks.core.read.job_lines import JobLine
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.schema import due_dates, task_fields
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_actions import ask_status
from tui_tasks.tui.inbox.inbox_lines import InboxItem, RowSource
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, block
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.widgets.needs_entries import late_words
from tui_tasks.tui.widgets.open_needs import FAILED, JOBS, LATE, LATE_JOBS, Need
from tui_tasks.tui.work import work_actions

_OTHERS: Final = "other tasks have failed: the lists show them"


class FailedTasks(RowSource[TaskLine]):
    """Lists the tasks that failed, and the open ones that are late; sets their status, or starts an agent on them."""

    KIND = "task"
    KINDS = (FAILED, LATE)
    ONE = "failed or late task"
    OPEN = "wanted_open"
    FOOT = ("wanted_status", "wanted_start", "wanted_open", "hide")

    @override
    def items(self, needs: Sequence[Need]) -> Iterator[InboxItem]:
        for need in needs:
            row = list_pages.line(self.context.db, need.task) if need.task is not None else None
            if need.is_rest:
                yield InboxItem(need, self.KIND, None, "failed", f"{need.count:,} {_OTHERS}")
            elif row is not None:
                state = "failed" if need.kind == FAILED else "overdue"
                why = self._reason(row) if need.kind == FAILED else self._was_due(str(need.row))
                title = f"{row.name}{': ' * bool(why)}{why}"
                yield InboxItem(need, self.KIND, row, state, title, f"#{row.number}", row.who, brief=why)

    def _reason(self, row: TaskLine) -> str:
        return task_records.end_reason(self.context.db, row)

    def _was_due(self, due: str) -> str:
        clock = self.context.clock
        return f"due {due_dates.when(due, task_fields.local_time(clock.now(), clock.zone))}"

    @override
    def name(self, row: TaskLine) -> str:
        return row.name

    @override
    def lines(self, row: TaskLine | None, room: int, is_named: bool) -> list[Drawn]:
        """Return its name, who ended it when, why, and the description."""
        if row is None:
            return []
        task = task_queries.task(self.context.db, row.uid)
        lines = [] if is_named else block(f"#{row.number} {row.name}", room, "bold")
        if row.status == "failed":
            at = self.ago(row.finished_at or row.updated_at)
            lines += block(f"{agent_text.who(row.who, 40)} set it failed {at}", room, "$muted")
            lines += block(why, room, "$state-failed") if (why := self._reason(row)) else []
        elif task.due is not None:
            lines += block(self._was_due(task.due), room, "$state-overdue")
        if said := task_records.last_said(self.context.db, row.uid, row.who):
            lines += block(f'"{said}"', room, "$muted")
        return lines + ([[], *block(task.description, room)] if task.description else [])

    async def do_wanted_status(self) -> None:
        """Ask for the status of the task."""
        if (row := self.row) is not None:
            await ask_status(self.context, row.uid, f"#{row.number} “{safe_line(row.name, 40)}”")

    async def do_wanted_start(self) -> None:
        """Start an agent on the task."""
        if (row := self.row) is not None:
            await work_actions.start(self.context, [row.uid], lambda: self.row is not None)

    def do_wanted_open(self) -> None:
        """Show the task in full."""
        if (row := self.row) is not None:
            self.open_task(row.uid)


class FailedJobs(RowSource[JobLine]):
    """Lists the jobs whose last run failed, and those that nothing has started in time; runs them."""

    KIND = "job"
    KINDS = (JOBS, LATE_JOBS)
    ONE = "failed or late job"
    OPEN = "wanted_runs"
    FOOT = ("wanted_run", "wanted_runs", "hide")

    @override
    def items(self, needs: Sequence[Need]) -> Iterator[InboxItem]:
        for need in needs:
            job = job_queries.job_named(self.context.db, need.job or "")
            if job is None:
                continue
            row, number = job_lines.line_of(self.context.db, job), job_lines.place(self.context.db, job.id)
            why = self._why(row) if need.kind == JOBS else self._late(need.row.when)
            title, state = f"{job.name}{': ' * bool(why)}{why}", "failed" if need.kind == JOBS else "overdue"
            yield InboxItem(need, self.KIND, row, state, title, f"S{number}", brief=why)

    @staticmethod
    def _why(row: JobLine) -> str:
        return row.failure.why if row.failure is not None else ""

    def _late(self, when: int) -> str:
        return late_words(self.context, when)

    @override
    def more(self, row: JobLine) -> list[Part]:
        return [(f"{row.in_a_row} failed in a row", "$muted")] if row.in_a_row > 1 else []

    @override
    def name(self, row: JobLine) -> str:
        return row.job.name

    @override
    def lines(self, row: JobLine, room: int, is_named: bool) -> list[Drawn]:
        """Return its name, when it runs, why its last run failed, and the prompt."""
        job, now = row.job, self.context.clock.now()
        when = ", ".join(filter(None, (job_text.raw(job), job_text.when(job))))
        lines = [] if is_named else block(job.name, room, "bold")
        lines += block(when, room, "$muted")
        if job.next_run is not None and job.next_run < now:
            lines += block(self._late(job.next_run), room, "$state-overdue")
        if row.failure is not None:
            at = self.ago(row.failure.ended_at or row.failure.at or now)
            lines += block(f"failed {at}{': ' * bool(row.failure.why)}{row.failure.why}", room, "$state-failed")
        return lines + ([[], *block(job.prompt, room)] if job.prompt else [])

    async def do_wanted_run(self) -> None:
        """Run the job now, whatever its schedule says."""
        row = self.row_that_was_read()
        if row is None:
            return
        await self.context.link.commit(RunJob(row.job.uid, "", force=True))
        key = self.context.keymap.key_of(self.OPEN)
        self.context.say(f"Started “{safe_line(row.job.name, 40)}”; {key} shows its output.")

    def do_wanted_runs(self) -> None:
        """Show the job's runs and what they print."""
        from tui_tasks.tui.schedule.run_view import RunView

        if (row := self.row) is not None:
            self.context.link.check()
            self.context.push(RunView(self.context, row.job.uid))
