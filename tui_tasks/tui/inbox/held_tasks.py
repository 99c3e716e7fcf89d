"""Held tasks and jobs in the inbox: what agents filed, and the human's decision about it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final

from typing_extensions import override

from tui_tasks.core.errors import Conflict
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.operations.jobs import DeleteJob, EnableJob
from tui_tasks.core.operations.tasks import AcceptTask, DeclineTask, JoinTask
from tui_tasks.core.read.tasks import held_queries, task_queries
from tui_tasks.core.read.tasks.held_queries import HeldTask
from tui_tasks.core.rules.tasks import held_rules
from tui_tasks.core.unhidden_text import unhidden_line, unhidden_lines
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.asks.answer_keys import Standing
from tui_tasks.tui.inbox.held_text import changed_fields, content, held_lines, is_all_in_line
from tui_tasks.tui.inbox.inbox_lines import InboxItem, RowSource
from tui_tasks.tui.inputs.dialogs import Choice, Menu
from tui_tasks.tui.inputs.editor import TextDialog
from tui_tasks.tui.needs.open_needs import Kind, Need
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks import task_text

_ACCEPTED: Final = "Accepted"


class HeldTasks(RowSource[HeldTask]):
    """Lists held tasks and jobs. A key accepts only what has stood on the screen, to its end, long enough to be read.

    A task is accepted as it was on screen: one that its maker has changed meanwhile stays, and the human is told. An
    action on several tasks is one change, and one undo undoes it.
    """

    KIND = "held"
    KINDS = (Kind.HELD,)
    ONE = "held task"
    OPEN = "review_open"
    FOOT = ("review_accept", "review_decline", "review_edit", "review_mark", "review_open")

    def __init__(
        self,
        context: Context,
        item_here: Callable[[], InboxItem | None],
        has_stood: Callable[[InboxItem], bool],
        marked: Callable[[], Sequence[HeldTask]],
        read_again: Callable[[], None],
        show_beginning: Callable[[], None],
    ) -> None:
        """Make it.

        Args:
            context: what the App shares.
            item_here: as `RowSource`.
            has_stood: likewise.
            marked: returns the marked rows.
            read_again: reads the rows again after one turned out to have changed.
            show_beginning: scrolls the row in full to its beginning.
        """
        super().__init__(context, item_here, has_stood)
        self._show_beginning = show_beginning
        self._marked = marked
        self._read_again = read_again
        # Since when lines, and the row under the cursor in full, stand on the screen.
        self._lines_standing = Standing()
        self._standing = Standing()
        # How many lines the drawn row has to the end of what is accepted.
        self._ends: dict[str, int] = {}
        # The drawn rows of which only the beginning and the end are shown.
        self._cut: set[str] = set()

    @override
    def items(self, needs: Sequence[Need]) -> Iterator[InboxItem]:
        for need in needs:
            if (row := need.row) is None:
                continue  # too many to list each
            title = f"new {row.kind}? {unhidden_line(row.name, is_prose=True, ascii_only=self.context.ascii_only)}"
            number = "" if row.is_job else f"#{row.id}"
            yield InboxItem(need, self.KIND, row, "held", title, number, row.maker, row.list_name)

    @override
    def more(self, row: HeldTask) -> list[Part]:
        db, ascii_only = self.context.db, self.context.ascii_only
        why = held_queries.why_job(db, row) if row.is_job else held_queries.why(db, row.uid)
        home = self.context.state.current_list
        is_elsewhere = not row.is_job and (home is None or row.list_name != home.name)
        texts = (
            f"in {safe_line(row.list_name, 40)}" if is_elsewhere else "",
            f"{count(row.waiting, 'task')} wait{'s' * (row.waiting == 1)} for it" if row.waiting else "",
            f"why: {' '.join(unhidden_lines(why, is_prose=True, ascii_only=ascii_only))}" if why else "",
        )
        shown = "   ".join(filter(None, texts))
        return [(shown, "$muted")] if shown else []

    @override
    def name(self, row: HeldTask) -> str:
        return row.name

    @override
    def lines(self, row: HeldTask, room: int, is_named: bool) -> list[Drawn]:
        """Note which version of it is drawn, too."""
        text = content(self.context, row)
        shown = held_lines(self.context, row, room, "" if is_named else self.ago(row.at))
        # One that the line above has whole has been seen with the first line.
        self._ends[row.uid] = max(1, len(shown.accepted))
        if shown.is_whole:
            self._cut.discard(row.uid)
        else:
            self._cut.add(row.uid)
        if text is not None and self._standing.show(row.uid, self.version(row), text):
            self._show_beginning()
        return [*shown.accepted, *shown.around]

    @override
    def seen(self, row: HeldTask, lines: int) -> None:
        if 0 < self._ends.get(row.uid, 0) <= lines:
            self._standing.show_whole(row.uid)

    @override
    def painted(self, row: HeldTask, *, is_whole: bool) -> None:
        self._lines_standing.show(row.uid, self.version(row))
        if is_whole:
            self._lines_standing.show_whole(row.uid)

    @override
    def on_screen(self, rows: Sequence[HeldTask], in_full: HeldTask | None) -> None:
        self._lines_standing.on_screen({row.uid for row in rows})
        self._standing.on_screen({in_full.uid} if in_full is not None else ())

    @override
    def version(self, row: HeldTask) -> Hashable:
        """Return a digest of what is accepted. The log is no part of it: an agent that goes on logging keeps no task
        from being accepted.
        """
        now = content(self.context, row)
        if isinstance(now, Job):
            return now.version
        return held_rules.digest(now, {}) if now is not None and now.name == row.name else row.version

    @property
    def _chosen(self) -> Sequence[HeldTask]:
        """The marked tasks, else the one under the cursor."""
        return self._marked() or ([self.row] if self.row is not None else [])

    def _is_read(self, row: HeldTask) -> bool:
        """Return whether all that is accepted with a row was read: under the cursor, or if it is marked, in full or by
        its line.
        """
        in_full = self._standing_here(row)
        if not self._marked():
            return in_full and self.is_under_cursor()
        is_by_line = self._lines_standing.has_stood(row.uid, self.version(row), self.context.pressed.at)
        return in_full or (is_by_line and is_all_in_line(content(self.context, row)))

    async def do_review_accept(self) -> None:
        """Accept the marked tasks, or this one, in the version on the screen."""
        rows = self._chosen
        unread = [row for row in rows if not self._is_read(row)]
        if unread:
            self._say_unread(unread)
            return
        if not await self._accepts_unseen([row for row in rows if row.uid in self._cut]):
            return
        accepting = [
            EnableJob(row.uid, str(row.version)) if row.is_job else AcceptTask(row.uid, self._version_now(row))
            for row in rows
        ]
        await self._commit(rows, accepting, _ACCEPTED)

    async def _accepts_unseen(self, rows: Sequence[HeldTask]) -> bool:
        """Ask whether to accept rows of which a part is not shown, and return whether they are as they were then."""
        if not rows:
            return True
        read = {row.uid: self.version(row) for row in rows}
        choices = [Choice("y", "accept, also what is not shown"), Choice("n", "accept nothing")]
        title = f"Part of {self._named(rows)} is not shown, as it is too long"
        if await self.context.ask(Menu(self.context, title, choices)) != "y":
            return False
        if changed := [row for row in rows if self.version(row) != read[row.uid]]:
            self._say_unread(changed)
        return not changed

    def _standing_here(self, row: HeldTask) -> bool:
        return self._standing.has_stood(row.uid, self.version(row), self.context.pressed.at)

    def _version_now(self, row: HeldTask) -> int:
        """Return the version of a held task, of which all that is accepted was read."""
        return task_queries.task(self.context.db, row.uid).version

    def _say_unread(self, rows: Sequence[HeldTask]) -> None:
        """Show that some have just appeared or changed, and what has changed."""
        if len(rows) > 1:
            reason = f"{count(len(rows), 'row')} changed meanwhile, or were not shown to the end yet"
        else:
            now = content(self.context, rows[0])
            before = self._standing.before(rows[0].uid, self.version(rows[0]) if now is not None else None)
            changed = changed_fields(before, now)
            reason = f"its {changed} changed meanwhile" if changed else "it has not been shown to its end yet"
            if not changed and self._standing_here(rows[0]):
                reason = "it came up just now"
        self.context.say(f"Read it first: {reason}. Nothing was accepted.")

    async def do_review_decline(self) -> None:
        """Cancel it, with a reason that its agents read."""
        rows = self._chosen
        title, draft = f"Why not? {self._named(rows)}", f"decline {' '.join(sorted(row.uid for row in rows))}"
        reason = await self.context.ask(
            TextDialog(self.context, title, done="Decline", hint="may be empty", draft=draft)
        )
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
        from tui_tasks.tui.inputs.task_form import TaskForm

        row = self.row
        if row is None or self._refuse_jobs([row]):
            return
        task = task_queries.task(self.context.db, row.uid)
        if not (self._standing_here(row) and self.is_under_cursor()):
            self._say_unread([row])
            return
        form = TaskForm(self.context)
        changes = await form.ask(task, "Edit and accept")
        accepting = [AcceptTask(row.uid, task.version, changes)] if changes is not None else []
        if accepting and await self._commit([row], accepting, "Accepted"):
            form.drop_draft(task)

    def do_review_join(self) -> None:
        """Choose the task that says the same already."""
        from tui_tasks.tui.screens.place_pickers import SearchAll

        rows = self._chosen
        if self._refuse_jobs(rows):
            return

        read = {row.uid: self.version(row) for row in rows}

        async def join(uid: str) -> None:
            if changed := [row for row in rows if self.version(row) != read[row.uid]]:
                self._say_unread(changed)
                return
            joining = [JoinTask(row.uid, uid, self._version_now(row)) for row in rows]
            await self._commit(rows, joining, "Joined")

        self.context.push(SearchAll(self.context, chosen=lambda uid: self.context.run(join(uid))))

    def _refuse_jobs(self, rows: Sequence[HeldTask]) -> bool:
        """Say that jobs are changed in the schedule if there is one among these, and return whether there is."""
        if has_jobs := any(row.is_job for row in rows):
            key = self.context.keymap.key_of("pane_schedule")
            self.context.say(f"A job is changed in the schedule ({key}), and accepted or declined here.")
        return has_jobs

    async def _commit(self, rows: Sequence[HeldTask], operations: Sequence[Operation], done: str) -> bool:
        """Commit operations about rows, and say so; return False where one has changed meanwhile."""
        try:
            await self.context.link.commit(*operations)
        except Conflict as refused:
            if "version" not in refused.data:
                raise
            self._read_again()
            self._say_unread([row for row in rows if row.uid == refused.data.get("id", row.uid)])
            return False
        for row in rows:
            self.context.state.seen.read(row.uid)
        undo = self.context.keymap.key_of("undo")
        twin = task_text.twin(self.context, rows[0].uid) if done == _ACCEPTED and len(rows) == 1 else ""
        self.context.say(f"{done} {self._named(rows)}. {twin}{undo} undoes it.")
        return True

    @staticmethod
    def _named(rows: Sequence[HeldTask]) -> str:
        what = "job" if all(row.is_job for row in rows) else "task"
        return f"“{safe_line(rows[0].name, 40)}”" if len(rows) == 1 else count(len(rows), what)

    def do_review_open(self) -> None:
        """Show the task in full, or the jobs."""
        row = self.row
        if row is not None and row.is_job:
            self.context.navigation.close_overlays()
            self.context.navigation.show_pane("schedule")
        elif row is not None:
            self.open_task(row.uid)
