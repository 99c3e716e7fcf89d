"""What a task tells beside its name, alike in list and board: how urgent it is, who asks what, what was said last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core import vocab
from tui_tasks.core.read import overview
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.core.schema import task_fields
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.widgets.styles import Part

if TYPE_CHECKING:
    from tui_tasks.tui.app.app import TaskApp

_NOTE_CHARS: Final = 400
_PRIORITIES: Final[dict[int, Part]] = {
    vocab.URGENT: ("urgent", "$changed"),
    vocab.HIGH: ("high", "$changed"),
    vocab.LOW: ("low", "$muted"),
}


def ask_of(app: TaskApp, task: TaskLine) -> Ask | None:
    """The oldest open question about a task."""
    return next((ask for ask in app.situation.asks if ask.task_uid == task.uid), None)


def last_word(app: TaskApp, task: TaskLine, state: str) -> str:
    """The newest entry of the log of a task in progress, quoted, or of one that failed or was left, as the reason."""
    if state not in ("in_progress", "failed", "skipped", "cancelled"):
        return ""
    log = overview.log_page(app.bridge.db, task.uid, 1)
    if not log:
        return ""
    return quoted(log[0].message) if state == "in_progress" else safe_line(log[0].message, _NOTE_CHARS)


def quoted(text: str) -> str:
    """What somebody said, as one safe line."""
    return f'"{safe_line(text, _NOTE_CHARS)}"'


def field_parts(app: TaskApp, task: Any, *, long: bool = False) -> Iterator[tuple[Part, int]]:
    """What to tell of `task_fields.FIELDS`, each with the microseconds for which it stays true; what is late is marked.

    `task`: a `Task`, or a line of a page, which has some of the fields.
    """
    values = task_fields.of(task)
    if not values:
        return
    now = task_fields.local_time(app.now(), app.zone)
    late = look("overdue")
    for name, value in values.items():
        field = task_fields.FIELDS[name]
        words = (field.long if long else field.short)(value, now)
        is_late = not task.finished_at and field.is_late(value, now)
        mark = f"{late.mark(ascii_only=app.ascii_only)} " if is_late else ""
        yield (f"{mark}{words}", late.color if is_late else "$muted"), field.lasts(value, now)


def notes(app: TaskApp, task: TaskLine, state: str) -> list[Part]:
    """Priority, what it is due, tags, and what was asked or said last, for one line; the first matter most."""
    found = [] if task.finished_at else [part for part, _ in field_parts(app, task)]
    found += [_PRIORITIES[task.priority]] if task.priority in _PRIORITIES and not task.finished_at else []
    found += [(f"#{safe_line(tag, 20)}", "$muted") for tag in task.tags]
    ask = ask_of(app, task) if state == "needs_you" else None
    if ask is not None:
        found.append((f"{safe_line(ask.agent, 16)} asks: {quoted(ask.question)}", "$state-needs-you"))
    elif word := last_word(app, task, state):
        found.append((word, "$muted"))
    return found
