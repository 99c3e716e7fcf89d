"""Adding tasks that were typed in quick add: at once, after the form with all fields, or with a description written in
$EDITOR.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read.pages import list_pages
from tui_tasks.dialects.requests import own_list
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.tasks import task_text
from tui_tasks.tui.tasks.quick_add import AddPlace, NewTask, QuickAdd

if TYPE_CHECKING:
    from tui_tasks.tui.tasks.task_pane import TaskPane


class AddActions(Controller):
    """Opens the quick add of a pane, and adds the tasks typed there."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context
        # Held until an addition is written, so that the next one goes below it.
        self._lock = asyncio.Lock()

    def do_new(self) -> None:
        """Add below the cursor."""
        self._open(above=False)

    def do_new_above(self) -> None:
        """Add above the cursor."""
        self._open(above=True)

    def _open(self, *, above: bool) -> None:
        self._pane.uncover()
        self._pane.quick_add.open(self._pane.row_list.cursor, above=above)

    def add_typed(self, event: QuickAdd.Add) -> None:
        """Add what was typed, at once or after the editor or the form."""
        self._context.run(self._add_typed(event))

    async def _add_typed(self, event: QuickAdd.Add) -> None:
        if event.more:
            await self._add_with_form(event)
        elif event.describe:
            await self._add([self._described(event.tasks[0])], event.place)
        else:
            try:
                await self._add(event.tasks, event.place)
            except Refusal:
                self._pane.quick_add.give_back(event)
                raise

    async def _add(self, tasks: Sequence[NewTask], place: AddPlace) -> None:
        """Add tasks as one change, in order; the cursor goes to the last, and the next task comes below it."""
        async with self._lock:
            added = await self._context.link.commit(*self._operations(tasks, place))
            place.beside, place.above = added[-1].uid, False
        self._pane.show_added(added[-1].uid)
        if len(added) == 1 and (twin := task_text.twin(self._context, added[0].uid)):
            self._context.say(f"Added. {twin}".rstrip())

    def _operations(self, tasks: Sequence[NewTask], place: AddPlace) -> list[Operation]:
        db, state = self._context.db, self._context.state
        home, project = state.current_list, state.projects.chosen or None
        beside = list_pages.line(db, place.beside) if place.beside is not None else None
        after, before = None, None
        if beside is not None and not beside.deleted and beside.list_id in state.lists:
            # All go before the same task, which keeps their order.
            below = list_pages.after(db, beside.list_id, beside.rank, 1) if len(tasks) > 1 and not place.above else None
            before = beside.uid if place.above else below[0].uid if below else None
            after = None if before is not None or below is not None else beside.uid
            home = state.lists[beside.list_id]
        # A project has no list before its first task.
        new_list = EnsureList(own_list("tasklist", project), "tasklist", project) if home is None else None
        return [
            AddTask(
                task.draft.name,
                "" if before or after or home is None else home.uid,
                description=task.description,
                priority=task.draft.priority or 3,
                tags=task.draft.tags,
                agent=task.draft.agent,
                depends_on=task.depends_on,
                fields=task.draft.fields,
                before=before,
                after=after,
                new_list=new_list,
            )
            for task in tasks
        ]

    def _described(self, task: NewTask) -> NewTask:
        """Return the task with title and description as the human changed them in the editor."""
        from tui_tasks.tui.inputs import editor

        text = editor.edit(self._context, editor.as_document(task.draft.name, task.description))
        if text is None:
            return task
        name, description = editor.from_document(text, task.description)
        draft = msgspec.structs.replace(task.draft, name=name or task.draft.name)
        return msgspec.structs.replace(task, draft=draft, description=description)

    async def _add_with_form(self, event: QuickAdd.Add) -> None:
        """Add a task after the form; Esc goes back to the line, with all that was typed in the form."""
        from tui_tasks.core.schema.task_fields import FIELDS
        from tui_tasks.dialects.requests.quick_add_syntax import fields, line
        from tui_tasks.tui.inputs.task_form import EditScreen, Form, TaskForm

        form = TaskForm(self._context)
        task, draft = event.tasks[0], event.tasks[0].draft
        of_line = fields(draft.tags, draft.priority or 3, draft.agent, draft.after)
        begun = Form(draft.name, of_line, task.description, form.written(draft.fields))
        first, problem = "fields" if draft.name else "name", ""
        while True:
            kept = f"new task {event.text}"
            screen = EditScreen(self._context, "New task", begun, form.wrong, focus=first, draft=kept)
            typed = await self._context.ask(screen.with_problem(problem))
            if typed is None:
                self._context.drafts.pop(screen.draft, None)
                text, left = event.text, screen.left
                if left != begun:
                    text = line(left.name, left.fields, dict(zip(FIELDS, left.lines, strict=True)))
                described = msgspec.structs.replace(task, description=left.description)
                self._pane.quick_add.give_back(QuickAdd.Add([described], event.place, text))
                return
            first = screen.left_at
            values = form.values(typed)
            whole = NewTask(form.read(typed, name=values["name"]), values["depends_on"], typed.description)
            try:
                await self._add([whole], event.place)
            except Refusal as refused:
                problem = refused.message
            else:
                self._context.drafts.pop(screen.draft, None)
                return
