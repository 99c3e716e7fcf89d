"""Carries out what the human decides about work, in a thread, as git runs; and takes the last decision back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import undo
from tui_tasks.core.store import Store
from tui_tasks.runner.git import GitFailed
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents import agent_text

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context
    from tui_tasks.work.accepting import Acceptance

T = TypeVar("T")
ENDED: Final = {"work.merged": "merged", "work.discarded": "discarded"}
_LOOKED_AT: Final = 200
_NEWEST: Final = """
SELECT kind, uid, change, undoes FROM journal WHERE actor = ? ORDER BY seq DESC LIMIT ?
"""


async def decide(context: Context, act: Callable[[Acceptance], T]) -> T:
    """Act in a thread with a connection of its own, then take in what has changed.

    Raises:
        Refusal: why it was not done.
    """
    from tui_tasks.work.accepting import Acceptance

    def run() -> T:
        with Store(context.link.path, makes=False) as store:
            return act(Acceptance(store, context.link.clock))

    try:
        return await asyncio.to_thread(run)
    except (GitFailed, OSError) as error:
        raise Conflict(f"git: {error}") from error
    finally:
        context.link.catch_up()


async def discard(context: Context, work: Work) -> str | None:
    """End the agent and set the task pending, once confirmed; undo brings it back. Return what was done."""
    from tui_tasks.tui.inputs.dialogs import confirm

    task = task_queries.any_task(context.db, work.task_uid)
    number = f" on #{task.number}" if task is not None else ""
    named = f"the work of {agent_text.who(work.agent, 30)}{number}"
    if not await confirm(context, f"Discard {named}? Branch and files are kept.", "discard it"):
        return None
    await decide(context, lambda acceptance: acceptance.discard(work))
    return f"Discarded {named}. {context.keymap.key_of('undo')} brings it back."


def newest_ended(db: Database) -> Work | None:
    """Return the work that the human merged or discarded last, unless they have changed something else since."""
    for kind, uid, change, undoes in db.sql(_NEWEST, (vocab.HUMAN, _LOOKED_AT)).fetchall():
        if kind in ENDED:
            work = work_queries.find(db, uid)
            if work.state == ENDED[kind]:
                return work
        elif kind in vocab.UNDOABLE and undoes is None and undo.stands(db, change) and not _has_ended(db, change):
            return None
    return None


def _has_ended(db: Database, change: int) -> bool:
    """Return whether a change is the end of a work, with what follows from it for the task."""
    rows = db.sql("SELECT kind FROM journal WHERE change = ?", (change,)).fetchall()
    return any(kind in ENDED for (kind,) in rows)


async def take_back(context: Context, work: Work) -> None:
    """Bring merged or discarded work back for review; where others have built on it, offer a revert.

    Raises:
        Refusal: why it cannot be.
    """
    from tui_tasks.tui.inputs.dialogs import confirm

    base = safe_line(work.base or "", 40)
    try:
        await decide(context, lambda acceptance: acceptance.take_back(work))
    except Conflict as refused:
        if work.state != "merged" or "base" not in refused.data:
            raise
        question = f"{base} has moved on since the merge. Revert the merge by a commit?"
        if not await confirm(context, question, "revert it", "leave it"):
            return
        await decide(context, lambda acceptance: acceptance.take_back(work, is_revert=True))
    was = f"Taken out of {base} again" if work.state == "merged" else "Brought back"
    context.say(f"{was}: the work of {agent_text.who(work.agent, 30)} waits for review.")
