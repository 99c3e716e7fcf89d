"""What the human does to tasks, alike in every pane that has a current task.

Forms and dialogs are imported when they are opened: together they take longer to import than to show the first screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations import AddTask, DeleteTask, EditTask, LogTask, MoveTask, Operation, SendMessage
from tui_tasks.core.read.tasks import pages, queries
from tui_tasks.core.read.tasks.filter import ALL, Filter
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.text.glyphs import LOOKS
from tui_tasks.text.safe import safe_copy, safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.app.actions import Action
from tui_tasks.tui.app.context import Context
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.tasks.quick_add import NewTask, Place, QuickAdd
from tui_tasks.tui.widgets.pane import Pane, RowActions

STATUS_KEYS = {"p": "pending", "i": "in_progress", "d": "done", "f": "failed", "s": "skipped", "c": "cancelled"}
ASKED_WHY = ("failed", "skipped")
# So many tasks are marked at once, or changed as one change.
MOST_MARKED = 10_000


class TaskActions(RowActions, Pane):
    """A pane of tasks. `window` is the one with the cursor: rows by the uids of tasks."""

    HAS_TASKS = True
    window: VirtualList[TaskLine]

    def __init__(self, context: Context, *, id: str | None = None) -> None:
        super().__init__(context, id=id)
        # Held by an addition until it is written, so that the next one comes below it.
        self._adding = asyncio.Lock()

    def target(self) -> str | None:
        """The task under the cursor."""
        return self.window.cursor

    def selection(self) -> list[str]:
        """The marked tasks, else the one under the cursor."""
        target = self.target()
        return self.window.marks or ([target] if target is not None else [])

    def wanted(self) -> Filter:
        """The filter of the pane."""
        return ALL

    def why_not(self, action: Action) -> str | None:
        """As `Pane.why_not`; what was marked is what an action is about."""
        if len(self.window.marks) > 1 and action.id in ("edit", "edit_in_editor"):
            return f"{count(len(self.window.marks), 'task')} are marked; it takes one"
        return super().why_not(action)

    def _tasks(self) -> list[Task]:
        return queries.live_tasks(self.host.bridge.db, self.selection())

    @staticmethod
    def _named(tasks: Sequence[Task]) -> str:
        return f"“{safe_line(tasks[0].name, 40)}”" if len(tasks) == 1 else count(len(tasks), "task")

    # Status

    async def do_status(self) -> None:
        """Ask which, and why it failed or was skipped."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        tasks = self._tasks()
        if not tasks:
            return
        choices = []
        for letter, status in STATUS_KEYS.items():
            shown = LOOKS[status]
            already = all(task.status == status for task in tasks)
            word = f"{shown.mark(ascii_only=self.host.ascii_only)} {shown.word}"
            choices.append(Choice(letter, word, shown.color, "it is already" if already else ""))
        key = await self.host.push_screen_wait(Menu(self.context, f"Status of {self._named(tasks)}", choices))
        if key is not None and await self.set_status([task.uid for task in tasks], STATUS_KEYS[key]):
            self.window.clear_marks()

    async def set_status(self, uids: Sequence[str], status: str) -> bool:
        """Set the status of tasks as one change; failed and skipped ask why. False where the human went back."""
        from tui_tasks.tui.inputs.dialogs import Prompt

        operations: list[Operation] = [EditTask(uid, {"status": status}) for uid in uids]
        if status in ASKED_WHY:
            prompt = Prompt(
                self.context, f"Why {LOOKS[status].word}?", done=f"Set {LOOKS[status].word}", hint="goes into the log"
            )
            why = await self.host.push_screen_wait(prompt)
            if why is None:
                return False
            operations += [LogTask(uid, why.strip()) for uid in uids if why.strip()]
        await self.host.bridge.commit(*operations)
        return True

    # Adding and editing

    async def add(self, wishes: Sequence[NewTask], place: Place) -> None:
        """Add tasks as one change, in their order; the cursor goes to the last, and the next comes below that."""
        async with self._adding:
            added = await self.host.bridge.commit(*self._additions(wishes, place))
            place.beside, place.above = added[-1].uid, False
        self.show_added(added[-1].uid)

    def _additions(self, wishes: Sequence[NewTask], place: Place) -> list[Operation]:
        db, home = self.host.bridge.db, self.host.current_list
        assert home is not None
        beside = pages.line(db, place.beside) if place.beside is not None else None
        after, before = None, None
        if beside is not None and not beside.deleted:
            # Several go before the same task, so that they stand in the order in which they come.
            below = pages.after(db, beside.list_id, beside.rank, 1) if len(wishes) > 1 and not place.above else None
            before = beside.uid if place.above else below[0].uid if below else None
            after = None if before is not None or below is not None else beside.uid
            home = self.host.situation.lists[beside.list_id]
        return [
            AddTask(
                wish.draft.name,
                "" if before or after else home.uid,
                description=wish.description,
                priority=wish.draft.priority or 3,
                tags=wish.draft.tags,
                agent=wish.draft.agent,
                depends_on=wish.depends_on,
                fields=wish.draft.fields,
                before=before,
                after=after,
            )
            for wish in wishes
        ]

    def show_added(self, uid: str) -> None:
        """Put the cursor on a task that was added."""
        if not self.window.move_to(uid):
            self.host.say("Added; the filter hides it.")

    def on_quick_add_add(self, event: QuickAdd.Add) -> None:
        """Add what was typed, at once or by way of the editor or the form."""
        event.stop()
        self.host.flow(self._add(event))

    async def _add(self, event: QuickAdd.Add) -> None:
        if event.more:
            await self._add_by_form(event.wishes[0], event.place)
        elif event.describe:
            await self.add([self._described(event.wishes[0])], event.place)
        else:
            try:
                await self.add(event.wishes, event.place)
            except Refusal:
                self.query_one(QuickAdd).give_back(event)
                raise

    def _described(self, wish: NewTask) -> NewTask:
        """With a title and a description from the editor, where the human has changed anything there."""
        from tui_tasks.tui.inputs import editor

        text = editor.edit(self.context, editor.as_document(wish.draft.name, wish.description))
        if text is None:
            return wish
        name, description = editor.from_document(text, wish.description)
        return replace(
            wish, draft=msgspec.structs.replace(wish.draft, name=name or wish.draft.name), description=description
        )

    async def _add_by_form(self, wish: NewTask, place: Place) -> None:
        from tui_tasks.dialects.quick_add_syntax import fields
        from tui_tasks.tui.tasks.task_form import EditScreen, Form, TaskForm

        form = TaskForm(self.host)
        draft = wish.draft
        line = fields(draft.tags, draft.priority or 3, draft.agent, draft.after)
        for number, uid in zip(draft.after, wish.depends_on, strict=False):
            form.remember(number, uid)
        begun = Form(draft.name, line, wish.description, form.written(draft.fields))
        typed = await self.host.push_screen_wait(EditScreen("New task", begun, form.wrong))
        if typed is not None:
            values = form.values(typed)
            whole = NewTask(form.read(typed, name=values["name"]), values["depends_on"], typed.description)
            await self.add([whole], place)

    async def do_edit(self) -> None:
        """Edit in the form."""
        from tui_tasks.tui.tasks.task_form import TaskForm

        for task in self._tasks()[:1]:
            await TaskForm(self.host).edit(task)

    async def do_edit_in_editor(self) -> None:
        """Edit title and description in $EDITOR."""
        from tui_tasks.tui.tasks.task_form import edit_outside

        for task in self._tasks()[:1]:
            await edit_outside(self.host, task)

    # The rest

    async def do_delete(self) -> None:
        """Delete; several ask once."""
        from tui_tasks.tui.inputs.dialogs import confirm

        tasks = self._tasks()
        if len(tasks) > 1 and not await confirm(self.context, f"Delete {count(len(tasks), 'task')}?", "delete them"):
            return
        named = self._named(tasks)
        await self.host.bridge.commit(*(DeleteTask(task.uid) for task in tasks))
        self.host.say(f"Deleted {named}. {self.host.key_of('undo')} brings it back.")

    async def do_move_to_list(self) -> None:
        """Choose a list, and put the task at its end."""
        from tui_tasks.tui.screens.palette import PaletteEntry, Picker

        tasks, host = self._tasks(), self.host
        uids = [task.uid for task in tasks]

        def move(home: TaskList) -> Callable[[], None]:
            return lambda: host.flow(self._move_to(uids, home))

        entries = [
            PaletteEntry(safe_line(home.name, 80), count(home.total, "task"), run=move(home))
            for home in host.situation.lists.values()
            if any(task.list_id != home.id for task in tasks)
        ]
        host.push_screen(Picker(self.context, "→", entries))

    async def _move_to(self, uids: list[str], home: TaskList) -> None:
        await self.host.bridge.commit(*(MoveTask(uid, list_uid=home.uid) for uid in uids))
        self.window.clear_marks()
        self.host.say(f"Moved to {safe_line(home.name, 40)}. {self.host.key_of('undo')} brings it back.")

    async def do_note(self) -> None:
        """A note into the log, or a message to the agent."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu, Prompt

        tasks = self._tasks()
        agents = sorted({task.agent or task.updated_by for task in tasks} - {"human", "system"})
        if not tasks:
            return
        kind: str | None = "n"
        if len(agents) == 1:
            choices = [Choice("n", "note into the log"), Choice("m", f"message to {safe_line(agents[0], 40)}")]
            kind = await self.host.push_screen_wait(Menu(self.context, self._named(tasks), choices))
        if kind is None:
            return
        title = f"Note for {self._named(tasks)}" if kind == "n" else f"Message to {safe_line(agents[0], 40)}"
        text = await self.host.push_screen_wait(Prompt(self.context, title, done="Log" if kind == "n" else "Send"))
        if text is None or not text.strip():
            return
        if kind == "n":
            await self.host.bridge.commit(*(LogTask(task.uid, text.strip()) for task in tasks))
        else:
            await self.host.bridge.commit(SendMessage(agents[0], text.strip()))
            self.host.say(f"Sent to {agents[0]}.")

    async def do_copy(self) -> None:
        """Copy ids, or tasks as Markdown."""
        from tui_tasks.tui.inputs.dialogs import Choice, Menu

        tasks = self._tasks()
        choices = [Choice("i", "id"), Choice("m", "Markdown"), Choice("t", "title")]
        key = await self.host.push_screen_wait(Menu(self.context, f"Copy of {self._named(tasks)}", choices))
        if key is None:
            return
        texts = {"i": "\n".join, "m": "\n\n".join, "t": "\n".join}[key](
            {"i": task.uid, "t": safe_copy(task.name, one_line=True), "m": as_markdown(task)}[key] for task in tasks
        )
        self.host.copy_to_clipboard(texts)
        self.host.say(f"Copied {count(len(texts), 'character')}.")

    def do_mark(self) -> None:
        """Mark, and go on to the next."""
        if self.window.cursor is not None:
            self.window.mark([self.window.cursor])
            self.window.move(1)

    def do_mark_all(self) -> Coroutine[Any, Any, None] | None:
        """Mark all that match; where some are marked, none. What is at hand is marked before the next key."""
        if self.window.marks:
            self.window.clear_marks()
            return None
        only = self.wanted()
        uids, rank = pages.uids_on(self.host.bridge.db, self.host.list_id, pages.FIRST, only, MOST_MARKED)
        if rank is not None:
            return self._mark_on(uids, rank, self.host.list_id, only)
        self._mark_these(uids)
        return None

    async def _mark_on(self, uids: list[str], at: str, list_id: int, only: Filter) -> None:
        """Look on for what matches, a stretch at a time, so that keys come through; then mark it all at once."""
        host = self.host
        rank: str | None = at
        while rank is not None:
            host.say(f"Looking for all that match…  {count(len(uids), 'task')}")
            await asyncio.sleep(0.005)
            if self.wanted() != only or host.list_id != list_id:
                host.say("The filter has changed; nothing was marked.")
                return
            more, rank = pages.uids_on(host.bridge.db, list_id, rank, only, MOST_MARKED - len(uids))
            uids += more
        self._mark_these(uids)

    def _mark_these(self, uids: list[str]) -> None:
        self.window.mark(uids, on=True)
        limit = f", the first {MOST_MARKED:,}" if len(uids) == MOST_MARKED else ""
        self.host.say(f"{count(len(uids), 'task')} marked{limit}.")


def as_markdown(task: Task) -> str:
    """A task as an item of a Markdown list, with its description below it."""
    box = "x" if task.status == "done" else " "
    lines = [f"- [{box}] {' '.join(task.name.split())}"]
    lines += [f"  {line}".rstrip() for line in task.description.splitlines()]
    return "\n".join(lines)
