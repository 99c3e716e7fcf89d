"""What list and board show of a task beside its name: due date, priority, questions, the last log entry."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core import vocab
from tui_tasks.core.read.pages.pages import TaskLine
from tui_tasks.core.read.tasks import records
from tui_tasks.core.schema import task_fields
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.glyphs import look
from tui_tasks.text.safe import safe_ends, safe_line
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.tasks import proof

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

_NOTE_CHARS: Final = 400
_PRIORITIES: Final[dict[int, Part]] = {
    vocab.URGENT: ("urgent", "$changed"),
    vocab.HIGH: ("high", "$changed"),
    vocab.LOW: ("low", "$muted"),
}


def ask_of(context: Context, task: TaskLine) -> Ask | None:
    """Return the oldest open question about a task."""
    return next((ask for ask in context.state.asks if ask.task_uid == task.uid), None)


def last_word(context: Context, task: TaskLine, state: str) -> str:
    """Return the newest log entry: quoted for a task in progress; the reason for a failed or cancelled one."""
    if state not in ("in_progress", "failed", "skipped", "cancelled"):
        return ""
    log = records.log_page(context.db, task.uid, 1)
    if not log:
        return ""
    return quoted(log[0].message) if state == "in_progress" else safe_line(log[0].message, _NOTE_CHARS)


def quoted(text: str) -> str:
    """Return a text as one safe line in quotes."""
    return f'"{safe_line(text, _NOTE_CHARS)}"'


def field_parts(
    context: Context, task: Any, *, long: bool = False, without: Collection[str] = ()
) -> Iterator[tuple[Part, int]]:
    """Return a part for each of `task_fields.FIELDS` with a value, and for how many microseconds they stay true.

    `without`: fields to leave out. A late value is marked. `task`: a `Task`, or a `TaskLine`, which has only some
    fields.
    """
    values = task_fields.of(task)
    if not values:
        return
    now = task_fields.local_time(context.clock.now(), context.clock.zone)
    late = look("overdue")
    for name, value in values.items():
        if name in without:
            continue
        field = task_fields.FIELDS[name]
        words = (field.long if long else field.short)(value, now)
        is_late = not task.finished_at and field.is_late(value, now)
        mark = f"{late.mark(ascii_only=context.ascii_only)} " if is_late else ""
        yield (f"{mark}{words}", late.color if is_late else "$muted"), field.lasts(value, now)


def late_mark(context: Context, task: TaskLine) -> Part | None:
    """Return the mark of an open task with a late value, for a row without room for the value."""
    values = {} if task.finished_at else task_fields.of(task)
    if not values:
        return None
    now = task_fields.local_time(context.clock.now(), context.clock.zone)
    late = look("overdue")
    is_late = any(task_fields.FIELDS[name].is_late(value, now) for name, value in values.items())
    return (late.mark(ascii_only=context.ascii_only), late.color) if is_late else None


def notes(context: Context, task: TaskLine, state: str) -> list[Part]:
    """Return what is proven, due date, priority, tags, and the last question or log entry, most important first."""
    checked = proof.note(context, task)
    found = [checked] if checked is not None else []
    found += [] if task.finished_at else [part for part, _ in field_parts(context, task)]
    found += [_PRIORITIES[task.priority]] if task.priority in _PRIORITIES and not task.finished_at else []
    found += [(f"#{safe_line(tag, 20)}", "$muted") for tag in task.tags]
    ask = ask_of(context, task) if state == "needs_you" else None
    if ask is not None:
        found.append((f"{safe_ends(ask.agent, 16)} asks: {quoted(ask.question)}", "$state-needs-you"))
    elif word := last_word(context, task, state):
        found.append((word, "$muted"))
    return found
