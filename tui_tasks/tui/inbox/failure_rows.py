"""What failed or is late in the inbox, checks, tasks and jobs: what became of it, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from typing_extensions import override

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Check
from tui_tasks.core.errors import Refusal
from tui_tasks.core.job_snapshots import is_late
from tui_tasks.core.operations.jobs import RequestChecks, RunJob, WaiveChecks
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import check_queries, job_lines, job_queries
from tui_tasks.core.read.check_queries import FailedTask
from tui_tasks.core.read.job_lines import JobLine
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.schema import due_dates, task_fields
from tui_tasks.text.output_lines import check_failure
from tui_tasks.text.safe import TEXT_CHARS, safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_actions import ask_status, why_not_pending
from tui_tasks.tui.inbox.inbox_lines import InboxItem, RowSource
from tui_tasks.tui.inputs.dialogs import Choice, Menu
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.needs.needs_entries import late_words
from tui_tasks.tui.needs.open_needs import Kind, Need, jobs_of
from tui_tasks.tui.painting.text_lines import Drawn, block
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks import task_text
from tui_tasks.tui.work import work_actions

OUTPUT_LINES: Final = 200
"""The most lines of a check's output that are shown."""
_OTHERS: Final = "other tasks have failed: the lists show them"


class FailedChecks(RowSource[FailedTask]):
    """Lists tasks with a failed check; runs the checks again, or sets the task's status.

    A row whose checks the human runs again stays until they have ended.
    """

    KIND = "failed"
    KINDS = (Kind.CHECKS,)
    ONE = "failed check"
    OPEN = "failed_open"
    FOOT = ("failed_run", "failed_done", "agent_message", "failed_open")

    def __init__(
        self, context: Context, item_here: Callable[[], InboxItem | None], has_stood: Callable[[InboxItem], bool]
    ) -> None:
        super().__init__(context, item_here, has_stood)
        # By the uid of a task whose checks are run again: what it needed, and the failed run of each of these checks.
        self._again: dict[str, tuple[Need, Mapping[str, str]]] = {}

    @override
    def read(self, needs: Iterable[Need]) -> Iterable[InboxItem]:
        own = {str(need.task): need for need in needs if need.kind == Kind.CHECKS}
        for uid, (need, _) in tuple(self._again.items()):
            checks = self._checks_again(uid)
            if any(check.run is not None and check.run.state in ("waiting", "running") for check in checks):
                own[uid] = msgspec.structs.replace(need, word=_AGAIN)
            elif checks:
                del self._again[uid]
                if any(check.state == "failed" for check in checks):
                    own.setdefault(uid, need)
                name = safe_line(task_queries.task_or_deleted(self.context.db, uid).name, 40)
                self.context.say(f"“{name}”: {task_text.ended_text(checks)}.")
        return self.items([*own.values()]) if own else ()

    def _checks_again(self, uid: str) -> list[Check]:
        """Return the checks of a task that were run again; none before that is written."""
        failed, task = self._again[uid][1], task_queries.any_task(self.context.db, uid)
        checks = task_text.checks_of(self.context, task) if task is not None and not task.deleted else []
        return [
            check for check in checks if check.run is not None and failed.get(check.uid, check.run.uid) != check.run.uid
        ]

    @override
    def items(self, needs: Sequence[Need]) -> Iterator[InboxItem]:
        known = check_queries.definitions(self.context.db)
        for need in needs:
            row = check_queries.failed_task(self.context.db, need.task or "", known)
            is_again = need.word == _AGAIN
            names = ", ".join(safe_line(check.name, 16) for check in self._checks_again(row.uid)) if is_again else ""
            why = f"{names} {_AGAIN}" if is_again else _why_failed(row)
            state = "running" if is_again else "failed"
            title, number = f"{safe_line(row.task.name)}: {why}", f"#{row.task.number}"
            who = "" if row.who in vocab.RESERVED_AGENTS else row.who
            yield InboxItem(need, self.KIND, row, state, title, number, who, row.list_name, brief=why)

    @override
    def version(self, row: FailedTask) -> Hashable:
        """Return what the status key changes and why: an agent that renames the task keeps nobody from it."""
        return row.task.status, row.at

    @override
    def name(self, row: FailedTask) -> str:
        return row.task.name

    @override
    def lines(self, row: FailedTask, room: int, is_named: bool) -> list[Drawn]:
        """Return title, who reported it, its checks with the output of failed ones, and the description."""
        what = "reported it done" if row.task.status == "done" else "is kept from setting it done"
        when = self.ago(row.at)
        who = f"{agent_text.who(row.who, 40)} {what}, in {row.list_name}; checked {when}"
        lines = [] if is_named else block(f"#{row.task.number} {safe_line(row.task.name)}", room, "bold")
        lines += block(who, room, "$muted")
        if row.uid in self.context.state.works.reviewable:
            key = self.context.keymap.key_of(self.OPEN)
            lines += block(f"Its work waits for review: {key} shows it.", room, "$muted")
        lines += [[], *task_text.check_lines(self.context, row.task, room, OUTPUT_LINES)]
        return lines + ([[], *block(row.task.description, room)] if row.task.description else [])

    @override
    def foot(self, row: FailedTask) -> Sequence[str]:
        """Leave out to run checks that run."""
        return [name for name in self.FOOT if name != "failed_run" or row.uid not in self._again]

    @override
    def why_not(self, action: Action) -> str | None:
        """Checks that run are not run again."""
        if action.id == "failed_run" and self.row is not None and self.row.uid in self._again:
            return "Its checks run: wait for the end."
        return super().why_not(action)

    async def do_failed_run(self) -> None:
        """Run the checks of the task again, but those that have passed."""
        row, item = self.row, self._item_here()
        if row is not None and item is not None:
            self._again[row.uid] = (
                item.need,
                {check.uid: check.run.uid for check in row.checks if check.run is not None},
            )
            try:
                await self.context.link.commit(RequestChecks(row.uid, unproven_alone=True))
            except Refusal:
                del self._again[row.uid]
                raise

    async def do_failed_done(self) -> None:
        """Ask for the status: done though its check has failed, which the log keeps, or pending."""
        row = self.row_that_was_read()
        if row is None:
            return
        name = f"“{safe_line(row.task.name, 40)}”"
        why_not = why_not_pending(self.context, row.uid, row.task.number) or ""
        choices = [
            Choice("d", "done, though its check failed"),
            Choice("p", "pending, without an agent", why_not=why_not),
        ]
        key = await self.context.ask(Menu(self.context, f"Status of {name}", choices))
        if key == "p":
            await self.context.link.commit(EditTask(row.uid, {"status": "pending", "agent": None}))
            self.context.say(f"{name} is pending again.")
        elif key == "d":
            is_done = row.task.status == "done"
            await self.context.link.commit(WaiveChecks(row.uid) if is_done else EditTask(row.uid, {"status": "done"}))
            self.context.say(f"{name} is done, though its check failed.")

    def do_failed_open(self) -> None:
        """Review the work on the task; without one, show the task in full."""
        row = self.row
        if row is not None and not work_actions.review(self.context, row.uid):
            self.open_task(row.uid)


_AGAIN: Final = "runs again"


def _why_failed(row: FailedTask) -> str:
    """Return the names of the failed checks, and why the first one failed: `tests, lint failed: assert 403 == 200`."""
    names = ", ".join(safe_line(check.name, 16) for check in row.checks)
    run = row.checks[0].run if row.checks else None
    why = safe_line(check_failure(run.output or ""), TEXT_CHARS) if run is not None else ""
    if not why and run is not None and run.exit_code is not None:
        why = f"exit {run.exit_code}"
    return f"{names} failed{': ' * bool(why)}{why}"


class FailedTasks(RowSource[TaskLine]):
    """Lists the tasks that failed, and the open ones that are late; sets their status, or starts an agent on them."""

    KIND = "task"
    KINDS = (Kind.FAILED, Kind.LATE)
    ONE = "failed or late task"
    OPEN = "wanted_open"
    FOOT = ("wanted_status", "wanted_start", "agent_message", "wanted_open", "dismiss")

    @override
    def items(self, needs: Sequence[Need]) -> Iterator[InboxItem]:
        for need in needs:
            row = list_pages.line(self.context.db, need.task) if need.task is not None else None
            if need.is_rest:
                yield InboxItem(need, self.KIND, None, "failed", f"{need.count:,} {_OTHERS}")
            elif row is not None:
                state = "failed" if need.kind == Kind.FAILED else "overdue"
                why = self._reason(row) if need.kind == Kind.FAILED else self._was_due(str(need.row))
                title = f"{safe_line(row.name)}{': ' * bool(why)}{why}"
                home = self.context.state.lists.get(row.list_id)
                place = home.name if home is not None else ""
                yield InboxItem(need, self.KIND, row, state, title, f"#{row.number}", row.who, place, brief=why)

    @override
    def foot(self, row: TaskLine | None) -> Sequence[str]:
        """Leave out to write where no agent has worked on the task."""
        has_agent = row is not None and bool(row.who) and row.who not in vocab.RESERVED_AGENTS
        return [name for name in self.FOOT if has_agent or name != "agent_message"]

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
        task = task_queries.task_or_deleted(self.context.db, row.uid)
        lines = [] if is_named else block(f"#{row.number} {safe_line(row.name)}", room, "bold")
        why = self._reason(row) if row.status == "failed" else ""
        if row.status == "failed":
            at = self.ago(row.finished_at or row.updated_at)
            setter = row.status_by or row.who
            worker = f", {agent_text.who(row.who, 40)} had worked on it" if row.who not in ("", setter) else ""
            job = job_queries.job_of_agent(self.context.db, row.who) if row.who else None
            starter = f", started by job {safe_line(job, 40)}" if job else ""
            lines += block(f"{agent_text.who(setter, 40)} set it failed {at}{worker}{starter}", room, "$muted")
            lines += block(why, room, "$state-failed") if why else []
            for failing in jobs_of(self.context.state, row):
                of_job = job_lines.why_failed(self.context.db, failing.uid)
                said_of_job = f"job {safe_line(failing.name, 40)} failed{': ' * bool(of_job)}{of_job}"
                lines += block(said_of_job, room, "$state-failed")
        elif task.due is not None:
            lines += block(self._was_due(task.due), room, "$state-overdue")
        said = task_records.last_said(self.context.db, row.uid, row.who)
        lines += block(f'"{said}"', room, "$muted") if said and said != why else []
        return lines + ([[], *block(task.description, room)] if task.description else [])

    async def do_wanted_status(self) -> None:
        """Ask for the status of the task."""
        if (row := self.row) is not None:
            await ask_status(self.context, row.uid, f"#{row.number} “{safe_line(row.name, 40)}”")

    async def do_wanted_start(self) -> None:
        """Start an agent on the task."""
        from tui_tasks.tui.work import start_form  # for those who start agents alone

        if (row := self.row) is not None:
            await start_form.start(self.context, [row.uid], lambda: self.row is not None)

    def do_wanted_open(self) -> None:
        """Show the task in full."""
        if (row := self.row) is not None:
            self.open_task(row.uid)


class FailedJobs(RowSource[JobLine]):
    """Lists the jobs whose last run failed, and those that nothing has started in time; runs them."""

    KIND = "job"
    KINDS = (Kind.JOBS, Kind.LATE_JOBS)
    ONE = "failed or late job"
    OPEN = "wanted_runs"
    FOOT = ("wanted_run", "wanted_runs", "dismiss")

    @override
    def items(self, needs: Sequence[Need]) -> Iterator[InboxItem]:
        for need in needs:
            job = job_queries.job_named(self.context.db, need.job or "")
            if job is None:
                continue
            row = job_lines.line_of(self.context.db, job)
            why = self._why(row) if need.kind == Kind.JOBS else self._late(need.row.when)
            state = "failed" if need.kind == Kind.JOBS else "overdue"
            title = f"{safe_line(job.name)}{': ' * bool(why)}{why}"
            yield InboxItem(need, self.KIND, row, state, title, f"S{job.number}", brief=why)

    @staticmethod
    def _why(row: JobLine) -> str:
        return row.failure.why if row.failure is not None else ""

    def _late(self, when: int) -> str:
        return late_words(self.context, when)

    @override
    def name(self, row: JobLine) -> str:
        return row.job.name

    @override
    def lines(self, row: JobLine, room: int, is_named: bool) -> list[Drawn]:
        """Return its name, when it runs, why its last run failed, and the prompt."""
        job, now = row.job, self.context.clock.now()
        when = ", ".join(filter(None, (job_text.raw(job), job_text.when(job))))
        lines = [] if is_named else block(safe_line(job.name), room, "bold")
        lines += block(when, room, "$muted")
        if job.next_run is not None and is_late(job.next_run, now):
            lines += block(self._late(job.next_run), room, "$state-overdue")
        if row.failure is not None:
            at = self.ago(row.failure.ended_at or row.failure.at or now)
            runs = f", {row.in_a_row} runs in a row" if row.in_a_row > 1 else ""
            lines += block(f"failed {at}{runs}{': ' * bool(row.failure.why)}{row.failure.why}", room, "$state-failed")
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
