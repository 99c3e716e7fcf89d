"""Tasks that mirror a program's own list: the human's changes go to the program's agent as messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core import vocab
from tui_tasks.core.snapshots import Task

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

ORIGIN: Final = "session"
"""In the metadata of a task of a session, and of the lists that are made for such tasks."""
_TOLD: Final = ("name", "description", "status")


def tell_agent(tx: Transaction, task: Task, changes: Mapping[str, Any] | None) -> None:
    """Send the agent what the human has changed of its task; `changes` of None: the task was deleted."""
    if tx.actor != vocab.HUMAN or not isinstance(task.metadata, dict) or task.metadata.get("origin") != ORIGIN:
        return
    # Imported for such tasks alone, which few lists hold.
    from tui_tasks.core.operations.asks import SendMessage
    from tui_tasks.core.read.agents import session_queries

    session = session_queries.find(tx.db, task.agent) if task.agent is not None else None
    if session is None or session.state == session_queries.GONE:
        return
    if changes is None:
        news = ["it is deleted"]
    else:
        news = [
            f"its {name} is now {changes[name]!r}"
            for name in _TOLD
            if name in changes and changes[name] != getattr(task, name)
        ]
    if news:
        tx.run(SendMessage(session.uid, f"I have changed your task {task.name!r}: {', '.join(news)}."))
