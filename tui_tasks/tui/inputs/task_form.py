"""The form of a task, as a screen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema import task_fields
from tui_tasks.core.snapshots import Task
from tui_tasks.dialects.requests.quick_add_syntax import SIGNS_HELP
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.inputs.form_screen import FormScreen
from tui_tasks.tui.inputs.text_area import LongText
from tui_tasks.tui.inputs.text_line import WordLine
from tui_tasks.tui.painting.frame_line import rule
from tui_tasks.tui.state.database_link import StateChanges
from tui_tasks.tui.widgets.bases import plain
from tui_tasks.tui.widgets.frame import FootLine

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

FIELDS: dict[str, str] = {
    "name": "Title",
    "priority": "Priority",
    "agent": "Agent",
    "tags": "Tags",
    "depends_on": "After",
    **{name: name.capitalize() for name in task_fields.FIELDS},
    "description": "Description",
}


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
        check: Callable[[Form], str],
        *,
        task: Task | None = None,
        focus: str = "name",
    ) -> None:
        super().__init__(context)
        self._head = title
        self._form = form
        # The content as the widgets return it before any edit, as they may convert line endings.
        self._shown = form
        self._check = check
        self._editing = task
        self._first = focus

    def compose(self) -> ComposeResult:
        """Compose the fields, one line each except the description; rarely used fields come last."""
        moves = {"tab": self.focus_next, "shift+tab": self.focus_previous}
        with Vertical(classes="whole"):
            yield Static(plain(f" {self._head}", "bold"), id="edit-head")
            yield rule(self.context)
            with Horizontal(classes="field"):
                yield Static(plain(" Title  "))
                yield WordLine(self._form.name, id="name", keys=moves)
            with Horizontal(classes="field"):
                yield Static(plain(" Fields "))
                yield WordLine(self._form.fields, id="fields", keys=moves, placeholder=SIGNS_HELP)
            yield Static(plain(" Description", "$muted"))
            yield LongText(self._form.description, id="description")
            for field, text in zip(task_fields.FIELDS.values(), self._form.lines, strict=True):
                with Horizontal(classes="field"):
                    yield Static(plain(f" {FIELDS[field.name]:<9}"))
                    yield WordLine(text, id=f"field-{field.name}", keys=moves, placeholder=f"e.g. {field.example}")
            yield FootLine(self.context, id="foot")

    def on_mount(self) -> None:
        """Show the keys."""
        self._shown = self._read()
        self.set_focus(self.query_one(f"#{self._first}"))
        self.query_one(FootLine).hint(
            ("^s", "Save", ""), ("Tab", "Next field", ""), ("^e", "In $EDITOR", ""), ("Esc", "Back", "")
        )

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

    def _read(self) -> Form:
        return Form(
            self.query_one("#name", Input).value,
            self.query_one("#fields", Input).value,
            self.query_one(LongText).value,
            tuple(self.query_one(f"#field-{name}", Input).value for name in task_fields.FIELDS),
        )

    def changed(self, changes: StateChanges) -> None:
        """Show when somebody else changes the task; typed text stays."""
        if self._editing is None or self._editing.uid not in changes.tasks():
            return
        now = task_queries.any_task(self.context.db, self._editing.uid)
        if now is None or now.deleted:
            self._warn("deleted meanwhile")
        elif any(getattr(now, name) != getattr(self._editing, name) for name in FIELDS):
            self._warn(f"changed by {agent_text.who(now.updated_by)} meanwhile")

    def _warn(self, text: str) -> None:
        head = plain(f" {self._head}   ", "bold") + plain(f"! {text}", "$state-overdue")
        self.query_one("#edit-head", Static).update(head)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next field."""
        event.stop()
        self.focus_next()

    def action_save(self) -> None:
        """Save, unless `check` refuses."""
        wrong = self._check(self.form)
        if wrong:
            self.context.say(wrong)
        else:
            self.dismiss(self.form)

    def action_outside(self) -> None:
        """Edit the description in $EDITOR."""
        from tui_tasks.tui.inputs import editor

        text = editor.edit(self.context, self.query_one(LongText).value)
        if text is not None:
            self.query_one(LongText).value = text

    @property
    def has_changes(self) -> bool:
        """As `FormScreen.has_changes`."""
        return self.form != self._form
