"""Tasks that others have changed while the human typed: both changes are saved, and of a field that both have changed
the human chooses a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from tui_tasks.core import vocab
from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.operations import AtVersion
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema import task_fields
from tui_tasks.core.snapshots import Task
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.painting.line_painter import rule
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.screen_bases import Dialog, block, plain

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


class ConflictScreen(Dialog[str | None]):
    """Shows both texts side by side. Result: `mine`, `theirs`, or None to continue editing."""

    AUTO_FOCUS = "VerticalScroll"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "choose('mine')", "Keep mine", show=False),
        Binding("t", "choose('theirs')", "Take theirs", show=False),
        Binding("escape,e,q", "choose(None)", "Back to the form", show=False),
    ]

    def __init__(
        self, context: Context, title: str, who: str, mine: Mapping[str, str], theirs: Mapping[str, str]
    ) -> None:
        """`mine` and `theirs` are the texts of the fields that both have changed, by the fields' names for people."""
        super().__init__(context)
        self._head = title
        self._who = who
        self._mine = mine
        self._theirs = theirs

    def compose(self) -> ComposeResult:
        """Compose the fields that both have changed."""
        with Vertical(classes="whole"):
            yield Static(plain(f" {self._head}", "bold"))
            yield rule(self.context)
            with Horizontal(id="sides"):
                yield from self._side("Yours", self._mine)
                yield from self._side(f"{safe_line(self._who, 40)}, saved", self._theirs)
            yield FootLine(self.context, id="foot")

    @staticmethod
    def _side(title: str, texts: Mapping[str, str]) -> ComposeResult:
        with VerticalScroll(classes="side"):
            yield Static(plain(title, "$key bold"))
            for name, text in texts.items():
                yield Static(plain(name, "$muted"))
                yield Static(block(text))

    def on_mount(self) -> None:
        """Show the keys."""
        self.query_one(FootLine).hint(("m", "Save mine", ""), ("t", "Keep theirs", ""), ("Esc", "Back to the form", ""))

    def take_key(self, event: events.Key) -> bool:
        """Say which keys choose: Enter, by which a form is saved, chooses neither text."""
        if event.key == "enter":
            self.context.say("Both have changed it: m saves your text, t keeps theirs.")
        return event.key == "enter"

    def action_choose(self, choice: str | None) -> None:
        """End with a choice."""
        self.dismiss(choice)


async def save(context: Context, base: Task, changes: dict[str, Any]) -> bool:
    """Save what the human changed of the task `base`; return False if they want to continue editing.

    If others changed other fields meanwhile, both changes hold. If they changed the same field, the human sees both
    texts and chooses one; the journal keeps the other.
    """
    if not changes:
        return True
    version = base.version
    while True:
        try:
            await context.link.commit(AtVersion(base.uid, version), EditTask(base.uid, changes))
            return True
        except NotFound:
            pass
        except Conflict as conflict:
            if "version" not in conflict.data:
                raise
        now = task_queries.any_task(context.db, base.uid)
        if now is None or now.deleted:
            by = f" by {agent_text.who(now.updated_by)}" if now is not None else ""
            raise Conflict(f"#{base.number} was deleted{by} while you were typing: `: revert` brings it back")
        version, kept = now.version, await chosen(context, base, changes, now)
        if not kept:
            return kept is not None
        changes = kept


async def chosen(context: Context, base: Task, changes: dict[str, Any], now: Task) -> dict[str, Any] | None:
    """Return which changes of the task `base` to save: all, unless others have changed the same fields and the human
    chooses theirs; None where the human goes on typing.
    """
    both = [name for name in changes if getattr(now, name) not in (getattr(base, name), changes[name])]
    if not both:
        return changes
    mine = {FIELDS[name]: _text_of(context, name, changes[name]) for name in both}
    theirs = {FIELDS[name]: _text_of(context, name, getattr(now, name)) for name in both}
    title = f"#{base.number} was changed by {agent_text.who(now.updated_by)} while you were typing"
    choice = await context.ask(ConflictScreen(context, title, now.updated_by, mine, theirs))
    if choice is None:
        return None
    return changes if choice == "mine" else {name: value for name, value in changes.items() if name not in both}


def _text_of(context: Context, name: str, value: Any) -> str:
    if name == "priority":
        return vocab.priority_word(value)
    if name == "depends_on":
        return ", ".join(f"#{task.number}" for uid in value if (task := task_queries.any_task(context.db, uid))) or "—"
    if name == "tags":
        return " ".join(f"#{safe_line(tag)}" for tag in value) or "—"
    if name in task_fields.FIELDS and value is not None:
        return task_fields.FIELDS[name].long(value, task_fields.local_time(context.clock.now(), context.clock.zone))
    return value or "—"
