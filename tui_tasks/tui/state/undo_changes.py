"""Takes back changes of anybody in the human's name: it asks first, and redo's key restores them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_tasks.core.commit import journal
from tui_tasks.core.operations import TakeBack
from tui_tasks.core.read.pages import undoable_changes
from tui_tasks.text.times import count
from tui_tasks.tui.agents.agent_text import who
from tui_tasks.tui.inputs.dialogs import Choice, Menu

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


async def take_back(context: Context, changes: Sequence[int], what: str = "") -> None:
    """Ask the human, then take changes back, the newest first; say which could not be taken back.

    Args:
        changes: their numbers, the newest first.
        what: how they are told of, in place of their agents' names.
    """
    summary = undoable_changes.summary(context.db, changes)
    if not summary.entries:
        context.say("Nothing to undo: it changed no task, list or job.")
        return
    title = f"Revert {what or 'what ' + ' and '.join(map(who, summary.actors)) + ' did'}: {summary.text}?"
    if await context.ask(Menu(context, title, [Choice("y", "Revert it"), Choice("n", "Leave it")])) != "y":
        return
    ((taken, kept),) = await context.link.commit(TakeBack(tuple(changes)))
    key = context.keymap.key_of("redo")
    left = f" {count(len(kept), 'change')} could not be: {kept[0][1]}." if kept else ""
    if taken:
        context.say(f"Reverted: {summary.text}. {key} does it again.{left}")
    else:
        context.say(f"Nothing was reverted.{left}")


async def take_back_entry(context: Context, seq: int) -> None:
    """Take back the change that a log entry belongs to."""
    await take_back(context, [journal.entry(context.db, seq).change])


async def take_back_deletion(context: Context) -> None:
    """Take back the newest deletion in the list on screen."""
    deletion = undoable_changes.last_deletion(context.db, context.state.list_id)
    if deletion is None:
        context.say("Nothing was deleted from this list recently.")
        return
    await take_back(context, [deletion.change])
