"""What a task tells beside its name, alike in list and board: how urgent it is, who asks what, what was said last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tui_tasks.core import vocab
from tui_tasks.core.read import overview
from tui_tasks.core.read.pages import TaskLine
from tui_tasks.core.snapshots import Ask
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


def notes(app: TaskApp, task: TaskLine, state: str) -> list[Part]:
    """Priority, tags, and what was asked or said last, for one line; the first matter most."""
    found = [_PRIORITIES[task.priority]] if task.priority in _PRIORITIES and not task.finished_at else []
    found += [(f"#{safe_line(tag, 20)}", "$muted") for tag in task.tags]
    ask = ask_of(app, task) if state == "needs_you" else None
    if ask is not None:
        found.append((f"{safe_line(ask.agent, 16)} asks: {quoted(ask.question)}", "$state-needs-you"))
    elif word := last_word(app, task, state):
        found.append((word, "$muted"))
    return found
