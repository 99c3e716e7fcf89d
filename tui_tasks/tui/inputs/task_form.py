"""The form of a task, as a screen: adding and editing a task."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static
from typing_extensions import override

from tui_tasks.core.errors import Refusal
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema import task_fields
from tui_tasks.core.snapshots import Task
from tui_tasks.core.vocab import problem_with
from tui_tasks.dialects.requests.quick_add_syntax import (
    SIGNS_HELP,
    Draft,
    can_write,
    fields,
    fields_in_title,
    parse,
)
from tui_tasks.text.safe import is_blank, safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inputs import editor
from tui_tasks.tui.inputs.edit_conflicts import FIELDS, chosen, save
from tui_tasks.tui.inputs.editor import LongText
from tui_tasks.tui.inputs.form_screen import FormScreen
from tui_tasks.tui.inputs.line_inputs import WordLine
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import plain

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


_LINE: Final = "field-"
"""The ids of the lines of `task_fields.FIELDS` begin with it."""
_IN_LINE: Final = {"fields": ("priority", "agent", "tags", "depends_on")}


@dataclass(frozen=True, slots=True)
class Form:
    """The content of the form: title, the line of fields, description, and a line for each of `task_fields.FIELDS`."""

    name: str = ""
    fields: str = ""
    description: str = ""
    lines: tuple[str, ...] = ("",) * len(task_fields.FIELDS)


class EditScreen(FormScreen[Form]):
    """The form's screen. Result: the content, once `check` accepts it; None: left without saving."""

    AUTO_FOCUS = "WordLine"

    def __init__(
        self,
        context: Context,
        title: str,
        form: Form,
        check: Callable[[Form], tuple[str, str] | None],
        *,
        task: Task | None = None,
        focus: str = "name",
        draft: str = "",
    ) -> None:
        """`check` returns the field that is wrong, and why; `draft` names a form without a task, see `FormScreen`."""
        lines = (_LINE + name for name in task_fields.FIELDS)
        super().__init__(context, draft=draft or _draft_of(task), fields=("name", "fields", "description", *lines))
        self._head = title
        self._form = form
        # The content as the widgets return it before any edit, as they may convert line endings.
        self._shown = form
        self._check = check
        self._editing = task
        self.left = form
        """The content when it was left."""
        self.left_at = focus
        """The field with the focus when it was saved, for the form that opens where that is refused."""

    def compose(self) -> ComposeResult:
        """Compose the fields, one line each except the description; rarely used fields come last."""
        with Vertical(classes="whole"):
            yield Static(plain(f" {self._head}", "bold"), id="edit-head")
            yield rule(self.context)
            with Horizontal(classes="field labelled"):
                yield Static("Title", classes="label")
                yield WordLine(self._form.name, id="name", keys=self.line_keys)
            with Horizontal(classes="field labelled"):
                yield Static("Fields", classes="label")
                yield WordLine(self._form.fields, id="fields", keys=self.line_keys, placeholder=SIGNS_HELP)
            with Horizontal(classes="long labelled"):
                yield Static(FIELDS["description"], classes="label")
                yield LongText(self._form.description, id="description")
            for field, text in zip(task_fields.FIELDS.values(), self._form.lines, strict=True):
                with Horizontal(classes="field labelled"):
                    yield Static(FIELDS[field.name], classes="label")
                    example = f"e.g. {field.example}"
                    yield WordLine(text, id=_LINE + field.name, keys=self.line_keys, placeholder=example)
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show the keys."""
        self._shown = self._read()
        self.bring_back()
        if self._editing is not None:
            self._warn_of_changes(self._editing.uid)
        self.set_focus(self.query_one(f"#{self.left_at}"))
        self.show_keys()

    @property
    def form(self) -> Form:
        """The content now; an untouched field is exactly as it was given."""
        typed = self._read()
        untouched = {
            each.name: getattr(self._form, each.name)
            for each in dataclasses.fields(Form)
            if getattr(typed, each.name) == getattr(self._shown, each.name)
        }
        return replace(typed, **untouched)

    @property
    def asked(self) -> Form:
        """The content before the human typed: where a draft was brought back, before the draft."""
        lines = (
            self.began.get(_LINE + name, text) for name, text in zip(task_fields.FIELDS, self._form.lines, strict=True)
        )
        texts = {name: self.began[name] for name in ("name", "fields", "description") if name in self.began}
        return replace(self._form, lines=tuple(lines), **texts)

    @property
    def base(self) -> Task | None:
        """The task before the human typed: the fields of a draft that was brought back are as they were before it."""
        if self._editing is None or not self.began_on or not self.began:
            return self._editing
        was = msgspec.json.decode(self.began_on, type=Task)
        names = [name for field in self.began for name in _IN_LINE.get(field, (field.removeprefix(_LINE),))]
        return msgspec.structs.replace(
            self._editing, version=was.version, **{name: getattr(was, name) for name in names}
        )

    def base_text(self) -> str:
        """Return the task before the human typed."""
        return msgspec.json.encode(self.base).decode() if self._editing is not None else ""

    def _read(self) -> Form:
        return Form(
            self.query_one("#name", Input).value,
            self.query_one("#fields", Input).value,
            self.query_one(LongText).value,
            tuple(self.query_one(f"#{_LINE}{name}", Input).value for name in task_fields.FIELDS),
        )

    def changed(self, changes: StateChanges) -> None:
        """Show when somebody else changes the task; typed text stays."""
        if self._editing is not None and self._editing.uid in changes.tasks():
            self._warn_of_changes(self._editing.uid)

    def take_key(self, event: events.Key) -> bool:
        """Drop a draft, and what was said of changes since it was begun."""
        has_taken = super().take_key(event)
        if has_taken and self._editing is not None:
            self._warn_of_changes(self._editing.uid)
        return has_taken

    def _warn_of_changes(self, uid: str) -> None:
        now, base = task_queries.any_task(self.context.db, uid), self.base
        if now is None or now.deleted:
            self._warn("deleted meanwhile")
        elif any(getattr(now, name) != getattr(base, name) for name in FIELDS):
            self._warn(f"changed by {agent_text.who(now.updated_by)} meanwhile")
        else:
            self._warn("")

    def _warn(self, text: str) -> None:
        warning = plain(f"   ! {text}", "$state-overdue") if text else ""
        self.query_one("#edit-head", Static).update(plain(f" {self._head}", "bold") + warning)

    @override
    def action_leave(self) -> None:
        """What was typed of a new task goes back to the line of quick add, which is its draft."""
        self.left = self.form
        if self._editing is None:
            self.dismiss(None)
        else:
            super().action_leave()

    @override
    def action_save(self) -> None:
        """Unless `check` refuses."""
        if wrong := self._check(self.form):
            self.refuse(*wrong)
        else:
            self.left_at = (self.focused.id if self.focused is not None else None) or self.left_at
            self.keep()
            self.dismiss(self.form)

    def action_outside(self) -> None:
        """Edit the description in $EDITOR."""
        text = editor.edit(self.context, self.query_one(LongText).value)
        if text is not None:
            self.query_one(LongText).value = text


class TaskForm:
    """Converts a task to the form's content, and the content to fields."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def read(self, form: Form, name: str = "") -> Draft:
        """Parse the line of fields and the other lines; return them with a title."""
        draft = parse(form.fields, self._now())
        lines = zip(task_fields.FIELDS, form.lines, strict=True)
        typed = {field: task_fields.read(field, text, self._now()) for field, text in lines}
        return msgspec.structs.replace(draft, name=name or draft.name, fields=typed | draft.fields)

    def _now(self) -> datetime:
        return task_fields.local_time(self._context.clock.now(), self._context.clock.zone)

    def written(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the lines of `task_fields.FIELDS` for these values."""
        now, each = self._now(), [(field, values.get(name)) for name, field in task_fields.FIELDS.items()]
        return tuple("" if value is None else field.write(value, now) for field, value in each)

    def uid_of(self, number: int) -> str | None:
        """Return the uid of the task with a number."""
        line = list_pages.line_of_number(self._context.db, number)
        return line.uid if line is not None else None

    def wrong(self, form: Form) -> tuple[str, str] | None:
        """Return the field for which the form cannot be saved, and what is wrong with it; None: it can be saved."""
        if is_blank(form.name):
            return "name", "a task needs a title"
        if problem := problem_with({"name": form.name.strip(), "description": form.description}):
            return problem
        if wrong := self._wrong_fields(parse(form.fields, self._now())):
            return "fields", wrong
        for field, text in zip(task_fields.FIELDS, form.lines, strict=True):
            try:
                task_fields.read(field, text, self._now())
            except ValueError as error:
                return _LINE + field, str(error)
        return None

    def _wrong_fields(self, draft: Draft) -> str:
        """Return what is wrong with the line of fields; empty: nothing is."""
        if draft.name:
            return f"the fields hold {safe_line(draft.name, 30)!r}, which is none of {SIGNS_HELP}"
        missing = [number for number in draft.after if self.uid_of(number) is None]
        return draft.problem or (f"there is no #{missing[0]}" if missing else "")

    def values(self, form: Form) -> dict[str, Any]:
        """Return the fields of a task with the values that operations take."""
        draft = self.read(form)
        return {
            "name": form.name.strip(),
            "description": form.description,
            "tags": draft.tags,
            "priority": draft.priority or 3,
            "agent": draft.agent,
            "depends_on": tuple(uid for number in draft.after if (uid := self.uid_of(number))),
            **{name: draft.fields.get(name) for name in task_fields.FIELDS},
        }

    def of(self, task: Task) -> Form:
        """Return the form of a task, without dependencies that were deleted and tags that quick add cannot write."""
        after = [dependency.number for dependency in task_queries.live_tasks(self._context.db, task.depends_on)]
        agent = task.agent if task.agent and can_write("@", task.agent) else None
        line = fields(tuple(tag for tag in task.tags if can_write("#", tag)), task.priority, agent, tuple(after))
        return Form(task.name, line, task.description, self.written(task_fields.of(task)))

    async def edit(self, task: Task) -> None:
        """Let the human edit a task; save what they changed and nothing else."""
        asked, problem, first = self.of(task), "", "name"
        while True:
            screen = EditScreen(self._context, f"Edit #{task.number}", asked, self.wrong, task=task, focus=first)
            typed = await self._context.ask(screen.with_problem(problem))
            if typed is None:
                return
            first = screen.left_at
            base = screen.base or task
            changes = self._changes(base, screen.asked, typed)
            try:
                if await save(self._context, base, changes):
                    self._context.drafts.pop(screen.draft, None)
                    if words := safe_line(fields_in_title(changes.get("name", ""), self._now()), 60):
                        self._context.say(f"Saved. In the title: {words}. Tags and dates go into Fields.")
                    return
            except Refusal as refused:
                problem = refused.message

    async def ask(self, task: Task, title: str) -> dict[str, Any] | None:
        """Let the human edit a task, and return what they changed of it; None where they left. Nothing is saved: what
        was typed stays a draft until `drop_draft`.
        """
        asked = self.of(task)
        while True:
            screen = EditScreen(self._context, title, asked, self.wrong, task=task)
            typed = await self._context.ask(screen)
            if typed is None:
                return None
            base, now = screen.base or task, task_queries.any_task(self._context.db, task.uid) or task
            changes = await chosen(self._context, base, self._changes(base, screen.asked, typed), now)
            if changes is not None:
                return changes

    def drop_draft(self, task: Task) -> None:
        """Drop the draft of an edit that is saved."""
        self._context.drafts.pop(_draft_of(task), None)

    def _changes(self, base: Task, asked: Form, typed: Form) -> dict[str, Any]:
        """Return the fields that the human changed. Values that the form could not hold are kept."""
        was, now = self.values(asked), self.values(typed)
        changes = {name: value for name, value in now.items() if value != was[name]}
        for name in ("depends_on", "tags"):
            if name in changes:
                not_in_form = (each for each in getattr(base, name) if each not in was[name])
                changes[name] = tuple(dict.fromkeys((*changes[name], *not_in_form)))
        return changes


async def edit_outside(context: Context, task: Task) -> None:
    """Let the human edit title and description in their own editor, again until the result can be saved."""
    text = editor.edit(context, editor.as_document(task.name, task.description))
    while text is not None:
        name, description = editor.from_document(text, task.description)
        changes = {"name": name} if name != task.name.replace("\n", " ").strip() else {}
        if description != task.description:
            changes["description"] = description
        if not name:
            context.say("A task needs a title; nothing was saved.")
        if not name or await save(context, task, changes):
            return
        text = editor.edit(context, text) or text


def _draft_of(task: Task | None) -> str:
    return f"edit {task.uid}" if task is not None else "new task"
