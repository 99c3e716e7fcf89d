"""The human's actions on held tasks: accept, edit, join, decline, mark, filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.operations.jobs import DeleteJob, EnableJob
from tui_tasks.core.operations.operation import Operation
from tui_tasks.core.operations.tasks import AcceptTask, DeclineTask, JoinTask
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.read.tasks.held import HeldTask
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.inputs.dialogs import LineDialog
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.state.context import Context

if TYPE_CHECKING:
    from tui_tasks.tui.inbox.review.review_screen import Review


class ReviewActions(Controller):
    """The actions of the scope `review`. An action on several tasks is one change, and one undo takes it back."""

    def __init__(self, context: Context, review: Review) -> None:
        self._context = context
        self._review = review

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; most actions need a held task."""
        return "nothing waits for you" if action.needs == "held" and not self._review.chosen else None

    async def do_review_accept(self) -> None:
        """Let what is marked, or the task here, be taken up."""
        rows = self._review.chosen
        accepting = [EnableJob(row.uid) if row.is_job else AcceptTask(row.uid, version=row.version) for row in rows]
        await self._commit(rows, accepting, "Accepted")

    async def do_review_decline(self) -> None:
        """Cancel it, with a reason that its agents read."""
        rows = self._review.chosen
        title = f"Why not? {self._named(rows)}"
        reason = await self._context.ask(LineDialog(self._context, title, done="Decline", hint="may be empty"))
        if reason is not None:
            declining = [each for row in rows for each in self._declining(row, reason.strip())]
            await self._commit(rows, declining, "Declined")

    @staticmethod
    def _declining(row: HeldTask, reason: str) -> Sequence[Operation]:
        if not row.is_job:
            return [DeclineTask(row.uid, reason)]
        message = f"The human has declined the job {row.name[:200]}{f': {reason}' if reason else ''}"
        return [DeleteJob(row.uid), SendMessage(row.maker, message)]

    async def do_review_edit(self) -> None:
        """Edit the task here, and accept it as it is then."""
        from tui_tasks.tui.forms.task_edit import TaskForm

        row = self._review.row
        if row is None or self._is_of_jobs([row]):
            return
        task = queries.task(self._context.db, row.uid)
        changes = await TaskForm(self._context).ask(task, "Edit and accept")
        if changes is not None:
            await self._commit([row], [AcceptTask(row.uid, changes, task.version)], "Accepted")

    def do_review_join(self) -> None:
        """Choose the task that says the same already."""
        from tui_tasks.tui.screens.search_all import SearchAll

        rows = self._review.chosen
        if self._is_of_jobs(rows):
            return

        def join(uid: str) -> None:
            self._context.run(self._commit(rows, [JoinTask(row.uid, uid) for row in rows], "Joined"))

        self._context.push(SearchAll(self._context, chosen=join))

    def _is_of_jobs(self, rows: Sequence[HeldTask]) -> bool:
        """Return whether there is a job among these, and show that jobs are changed in the schedule."""
        if found := any(row.is_job for row in rows):
            key = self._context.keymap.key_of("pane_schedule")
            self._context.say(f"A job is changed in the schedule ({key}), and accepted or declined here.")
        return found

    async def _commit(self, rows: Sequence[HeldTask], operations: Sequence[Operation], done: str) -> None:
        try:
            await self._context.link.commit(*operations)
        except Conflict as refused:
            if "version" not in refused.data:
                raise
            self._context.say("Changed by its agent meanwhile: nothing was accepted, look again.")
            return
        undo = self._context.keymap.key_of("undo")
        self._context.say(f"{done} {self._named(rows)}. {undo} takes it back.")

    @staticmethod
    def _named(rows: Sequence[HeldTask]) -> str:
        what = "job" if all(row.is_job for row in rows) else "task"
        return f"“{safe_line(rows[0].name, 40)}”" if len(rows) == 1 else count(len(rows), what)

    def do_review_mark(self) -> None:
        """Mark the task, or take its mark away, and go on."""
        window = self._review.window
        if window.cursor is not None:
            window.mark([window.cursor])
            window.move(1)
            self._review.marks_changed()

    def do_review_mark_all(self) -> None:
        """Mark all that are shown, or none where all are marked."""
        window, keys = self._review.window, [row.uid for row in self._review.listed.rows]
        window.mark(keys, on=len(window.marks) < len(keys))
        self._review.marks_changed()

    async def do_review_filter(self) -> None:
        """Show only those that say something."""
        prompt = LineDialog(
            self._context, "Show only", self._review.filter, done="Filter", hint="words, a list, an agent"
        )
        text = await self._context.ask(prompt)
        if text is not None:
            self._review.filter_by(text)

    def do_review_open(self) -> None:
        """Show the task among the others of its list."""
        row = self._review.row
        if row is not None:
            self._context.navigation.close_overlays()
            if row.is_job:
                self._context.navigation.show_pane("schedule")
            else:
                self._context.navigation.go_to(row.uid)
