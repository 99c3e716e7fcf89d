"""The human's actions on existing tasks: status, edit, note, copy, move to another list, delete.

Forms, dialogs and writes are imported at their use: together they take longer to import than the first screen takes to
appear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, TypeVar

from typing_extensions import override

from tui_tasks.core.errors import Conflict
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.text.glyphs import LOOKS
from tui_tasks.text.safe import is_blank, safe_copy, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.rows.row_cache import Source
from tui_tasks.tui.tasks import task_text
from tui_tasks.tui.tasks.task_guards import MOVED_BY_ITSELF, deleted_before, goes_on, why_ask

if TYPE_CHECKING:
    from tui_tasks.core.operations import Operation
    from tui_tasks.tui.tasks.task_pane import TaskPane

STATUS_KEYS: Final = {
    "p": "pending", "i": "in_progress", "d": "done", "f": "failed", "s": "skipped", "c": "cancelled",
}  # fmt: skip
ASKED_WHY: Final = ("failed", "skipped")
# Of several tasks to be deleted, how many are named.
_NAMED: Final = 3
# The cells of a question around the title of a task.
_AROUND_TITLE: Final = 30


class TaskActions(Controller):
    """Acts on the marked tasks of a pane, else on the task under the cursor."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context

    @override
    def why_not(self, action: Action) -> str | None:
        """An editor edits one task."""
        marks = self._pane.row_list.marks
        if len(marks) > 1 and action.id in ("edit_in_editor", "checks"):
            back = self._context.keymap.key_of("back")
            return f"{count(len(marks), 'task')} are marked, and this takes one: {back} unmarks them."
        return super().why_not(action)

    def _tasks(self) -> list[Task]:
        return task_queries.live_tasks(self._context.db, self._pane.selection())

    def _named(self, tasks: Sequence[Task], most: int = 40) -> str:
        """Return the tasks that an action is about, a title with at most so many cells; marked ones are called so, as
        the cursor may be elsewhere.
        """
        if len(tasks) > 1:
            return count(len(tasks), "marked task")
        one = f"“{safe_line(tasks[0].name, most)}”"
        return one if tasks[0].uid == self._pane.target() else f"the marked {one}"

    def _listed(self, tasks: Sequence[Task]) -> str:
        """Return `_named`, with the names of the first of several."""
        if len(tasks) == 1:
            return self._named(tasks)
        shown = tasks if len(tasks) <= _NAMED else tasks[: _NAMED - 1]
        parts = [f"#{task.number} “{safe_line(task.name, 30)}”" for task in shown]
        last = f"{len(tasks) - len(shown):,} more" if len(shown) < len(tasks) else parts.pop()
        return f"{self._named(tasks)}, {', '.join(parts)} and {last}"

    async def do_take_back(self) -> None:
        """Take back the newest deletion in the list on screen, whoever made it."""
        from tui_tasks.tui.agents.agent_actions import take_back_deletion

        await take_back_deletion(self._context)

    # Status

    async def do_status(self) -> None:
        """Ask for the status, and why where a task failed or is skipped."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        tasks = self._tasks()
        if not tasks:
            return
        choices = []
        for letter, status in STATUS_KEYS.items():
            shown = LOOKS[status]
            already = all(task.status == status for task in tasks)
            word = f"{shown.mark(ascii_only=self._context.ascii_only)} {shown.word}"
            why_not = f"It is {shown.word} already." if already else ""
            choices.append(Choice(letter, word, shown.color, why_not or self._why_not_set(tasks, status)))
        named = self._named(tasks, max(40, self._pane.app.size.width - _AROUND_TITLE))
        key = await self._context.ask(Menu(self._context, f"Status of {named}", choices))
        if key is None or self._pane.unread.have_changed(tasks, "Not set"):
            return
        if await self.set_status([task.uid for task in tasks], STATUS_KEYS[key]):
            self._pane.row_list.clear_marks()

    def _why_not_set(self, tasks: Sequence[Task], status: str) -> str:
        """Return why one of the tasks cannot get a status; empty where all can."""
        from tui_tasks.tui.agents.agent_actions import why_not_pending

        if status != "pending":
            return ""
        found = (why_not_pending(self._context, task.uid, task.number) for task in tasks)
        return next(filter(None, found), "")

    async def set_status(self, uids: Sequence[str], status: str, *, is_seen: bool = False) -> bool:
        """Set the status of tasks as one change; ask for the reason first if it is one of `ASKED_WHY`.

        Say what was set, unless it `is_seen` of one task. Return False if the human went back.
        """
        from tui_tasks.core.operations.tasks import EditTask, LogTask
        from tui_tasks.tui.inputs.editor import TextDialog

        operations: list[Operation] = [EditTask(uid, {"status": status}) for uid in uids]
        keeps: AbstractContextManager[None] = nullcontext()
        if status in ASKED_WHY:
            word, draft = LOOKS[status].word, f"{status} {' '.join(sorted(uids))}"
            prompt = TextDialog(
                self._context, f"Why {word}?", done=f"Set {word}", hint="goes into the log", draft=draft
            )
            why = await self._context.ask(prompt)
            if why is None:
                return False
            keeps = prompt.keeps_unless_done()
            operations += [LogTask(uid, why.strip()) for uid in uids if why.strip()]
        tasks = task_queries.live_tasks(self._context.db, uids)
        notes = self._notes_of_status(tasks, status, is_seen=is_seen)
        with keeps:
            try:
                await self._context.link.commit(*operations)
            except Conflict as conflict:
                if conflict.data.get("in_progress") in uids:
                    # The one that it names was to be in progress by this change, of which nothing is left.
                    reason = "This list takes one task in progress at a time for each agent"
                    named = count(len(tasks), "task") if len(tasks) > 1 else self._named(tasks)
                    raise Conflict(f"{reason}, not {named}.") from conflict
                raise
        if notes:
            self._context.say(" ".join(notes))
        return True

    def _notes_of_status(self, tasks: Sequence[Task], status: str, *, is_seen: bool) -> list[str]:
        """Return what to say once a status is set: of which tasks, which begin early, and which wait for review."""
        from tui_tasks.core.read.tasks import ready_tasks

        early = (
            ready_tasks.starts_early(self._context.db, [task.uid for task in tasks]) if status == "in_progress" else ""
        )
        notes = [f"{early}."] if early else []
        waits = [one for one in tasks if status == "done" and one.uid in self._context.state.works.reviewable]
        if waits:
            numbers = ", ".join(f"#{one.number}" for one in waits[:3]) + "…" * (len(waits) > 3)
            notes.append(f"Not merged: {numbers} {'waits' if len(waits) == 1 else 'wait'} for your review.")
        if len(tasks) == 1 and is_seen:
            return notes
        undo, word = f"{self._context.keymap.key_of('undo')} undoes it.", LOOKS[status].word
        if len(tasks) == 1:
            return [f"{self._named(tasks)}: {word}.", *notes, undo]
        # Marked tasks whose work waits for review are not shown as done.
        others = [one for one in tasks if one not in waits]
        changed = sum(task.status != status for task in others)
        same = len(others) - changed
        word += f", {same} {'was' if same == 1 else 'were'} so already" if same else ""
        return [*([f"{count(changed, 'task')}: {word}."] if others else []), *notes, undo]

    # Checks

    async def do_checks(self) -> None:
        """Give and take the checks of one task, or have them run; again and again until the human goes back."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        context = self._context
        while tasks := self._tasks()[:1]:
            choices = {key: (word, style, wanted) for key, word, style, wanted in task_text.choices(context, tasks[0])}
            if not choices:
                context.say("No check is configured: add [check.NAME] to the configuration file.")
                return
            offered = [Choice(key, word, style) for key, (word, style, _) in choices.items()]
            key = await context.ask(Menu(context, f"Checks of {self._named(tasks)}", offered))
            if key is None:
                return
            await context.link.commit(*choices[key][2])
            if key == "r":
                context.say("Its checks were started: the row shows how they end.")
                return

    # Editing

    async def do_edit(self) -> None:
        """Edit the task in the form; of several, set fields in one line."""
        tasks = self._tasks()
        if len(tasks) > 1:
            from tui_tasks.tui.tasks.mark_actions import edit_together

            await edit_together(self._context, tasks)
        elif tasks:
            from tui_tasks.tui.inputs.task_form import TaskForm

            await TaskForm(self._context).edit(tasks[0])

    async def do_edit_in_editor(self) -> None:
        """Edit title and description in $EDITOR."""
        from tui_tasks.tui.inputs.task_form import edit_outside

        for task in self._tasks()[:1]:
            await edit_outside(self._context, task)

    # The rest

    async def do_delete(self) -> None:
        """Delete; ask about marked tasks, about one that an agent works on, and about one that others wait for.

        Ask once as well about one that may not have been read: the cursor moved there by itself, or an agent has just
        changed it.
        """
        from tui_tasks.core.operations.tasks import DeleteTask
        from tui_tasks.tui.inputs.dialogs import confirm

        tasks, context = self._tasks(), self._context
        if not tasks:
            return
        named = self._named(tasks)
        is_elsewhere = [task.uid for task in tasks] != [self._pane.target()]
        has_moved = len(tasks) == 1 and self._pane.unread.landing.is_surprise(tasks[0].uid)
        why = [*[MOVED_BY_ITSELF] * has_moved, *filter(None, [why_ask(context.db, tasks, context.clock.now())])]
        self._pane.unread.landing.forget()
        question = " ".join((f"Delete {self._listed(tasks)}?", *(f"{words}." for words in why)))
        if (is_elsewhere or why) and not await confirm(
            context, question, "delete them" if len(tasks) > 1 else "delete it"
        ):
            return
        if self._pane.unread.have_changed(tasks, "Not deleted"):
            return
        context.state.cursor_deleted, context.state.was_open_deleted = self._pane.target(), self._pane.is_inside
        then = deleted_before(context.db, context.clock.now())
        await context.link.commit(*(DeleteTask(task.uid) for task in tasks))
        named, them = (named, "it") if len(tasks) == 1 else (count(len(tasks), "task"), "them")
        on = goes_on(context.db, tasks)
        context.say(f"Deleted {named}.{on} {context.keymap.key_of('undo')} brings {them} back{then}.")

    async def do_move_to_list(self) -> None:
        """Choose a list, or type the name of a new one, and put the tasks at its end."""
        from tui_tasks.tui.screens.picker import PaletteEntry, Picker

        tasks, context = self._tasks(), self._context
        uids = [task.uid for task in tasks]

        def entry(home: TaskList) -> PaletteEntry:
            is_there = all(task.list_id == home.id for task in tasks)
            why_not = f"{'it is' if len(tasks) == 1 else 'they are'} in that list" if is_there else ""
            return PaletteEntry(
                safe_line(home.name, 80),
                "" if is_there else f"{'archived, ' * home.archived}{count(home.total, 'task')}",
                why_not=why_not,
                run=lambda: context.run(self._move(uids, home.name, home)),
            )

        def typed(name: str) -> Sequence[PaletteEntry]:
            name = name.removeprefix("/")
            if is_blank(name):
                return ()
            if homes := [home for home in context.state.lists.values() if home.name.casefold() == name.casefold()]:
                return [one for one in map(entry, homes) if one.why_not]
            title = f"Make the list “{safe_line(name, 60)}”"
            return [PaletteEntry(title, run=lambda: context.run(self._move(uids, name)), is_last=True)]

        entries = [one for one in map(entry, context.state.lists.values()) if not one.why_not]
        context.push(Picker(context, "→", entries, enter="Move", typed=typed))

    async def _move(self, uids: list[str], name: str, home: TaskList | None = None) -> None:
        """Move tasks to the end of a list; None: of that with the name, which is made in the same change if need be."""
        from tui_tasks.core.operations.tasks import EnsureList, MoveTask

        context = self._context
        is_made = home is None and task_queries.find_list(context.db, name) is None
        list_uid = home.uid if home is not None else None
        new_list = EnsureList(name, "task", context.state.projects.chosen or None) if home is None else None
        await context.link.commit(*(MoveTask(uid, list_uid=list_uid, new_list=new_list) for uid in uids))
        self._pane.row_list.clear_marks()
        them, undo, to = "it" if len(uids) == 1 else "them", context.keymap.key_of("undo"), safe_line(name, 40)
        if is_made:
            context.say(f"Made the list {to} and moved {them} there. {undo} takes both back.")
        else:
            again = ", which is no longer archived" if home is not None and home.archived else ""
            context.say(f"Moved to {to}{again}. {undo} brings {them} back.")

    async def do_note(self) -> None:
        """Write a message to the agent of the tasks, or a note into their log."""
        from tui_tasks.tui.agents.agent_messages import write

        tasks = self._tasks()
        if tasks:
            named = f"#{tasks[0].number} {self._named(tasks)}" if len(tasks) == 1 else self._named(tasks)
            uids = [task.uid for task in tasks]
            typed = self._context.typed_for("note")
            await write(self._context, _agent_of(tasks), uids, named, is_at_work=_are_at_work(tasks), typed=typed)

    @property
    def writes_to_agent(self) -> bool:
        """Whether `note` writes a message to an agent first."""
        from tui_tasks.tui.agents.agent_messages import is_there

        tasks = self._tasks()
        agent = _agent_of(tasks)
        return agent is not None and _are_at_work(tasks) and is_there(self._context, agent)

    async def do_copy(self) -> None:
        """Copy ids, titles, or tasks as Markdown."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        tasks, context = self._tasks(), self._context
        choices = [Choice("i", "id"), Choice("m", "Markdown"), Choice("t", "title")]
        key = await context.ask(Menu(context, f"Copy of {self._named(tasks)}", choices))
        if key is None:
            return
        if key == "m":
            text = "\n\n".join(as_markdown(task) for task in tasks)
        else:
            text = "\n".join(task.uid if key == "i" else safe_copy(task.name, one_line=True) for task in tasks)
        context.copy(text)
        context.say(f"Copied {count(len(text), 'character')}.")


Row = TypeVar("Row", bound=TaskLine)


def in_order_with_next(source: Source[Row], rows: Iterable[Row], by: int) -> tuple[list[Row], Row | None]:
    """Return rows in their order, and the one after the last or before the first; None: there is none."""
    in_order = sorted(rows, key=source.order)
    near = (source.after(in_order[-1], 1) if by > 0 else source.before(in_order[0], 1)) if in_order else ()
    return in_order, next(iter(near), None)


def moves_beside(tasks: Sequence[TaskLine], other: TaskLine, *, after: bool) -> list[Operation]:
    """Return what puts tasks right after or before another, in their order."""
    from tui_tasks.core.operations.tasks import MoveTask

    if after:
        return [MoveTask(task.uid, after=other.uid) for task in reversed(tasks)]
    return [MoveTask(task.uid, before=other.uid) for task in tasks]


def _agent_of(tasks: Sequence[Task]) -> str | None:
    """Return the one agent that tasks are of; None: there is none, or more than one."""
    agents = {task.who for task in tasks} - {"human", "system"}
    return agents.pop() if len(agents) == 1 else None


def _are_at_work(tasks: Sequence[Task]) -> bool:
    """Return whether tasks are in progress, or next for their agents."""
    return all(task.status == "in_progress" or (task.agent is not None and task.status == "pending") for task in tasks)


def as_markdown(task: Task) -> str:
    """Return a task as an item of a Markdown list, with its description below it."""
    box = "x" if task.status == "done" else " "
    lines = [f"- [{box}] {' '.join(task.name.split())}"]
    lines += [f"  {line}".rstrip() for line in task.description.splitlines()]
    return "\n".join(lines)
