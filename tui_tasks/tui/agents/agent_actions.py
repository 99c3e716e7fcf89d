"""The human's actions on an agent, the same wherever one is shown: a message, a pause, an undo of its changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from typing_extensions import override

from tui_tasks.core.commit import journal
from tui_tasks.core.operations import TakeBack
from tui_tasks.core.operations.asks import PauseAgent, ResumeAgent, SendMessage
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import ask_queries, work_queries
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.text.times import count
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_text import who
from tui_tasks.tui.inputs.dialogs import Choice, LineDialog, Menu, confirm
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.state.context import Context

_STATUS: Final = {"p": "pending", "d": "done", "f": "failed"}


async def ask_status(context: Context, uid: str, name: str) -> None:
    """Ask for the status of a task that its agent does not go on with; pending, it has no agent any more."""
    choices = [Choice("p", "pending, without an agent"), Choice("d", "done"), Choice("f", "failed")]
    key = await context.ask(Menu(context, f"Status of {name}", choices))
    if key is not None:
        changes = {"status": _STATUS[key]} | ({"agent": None} if key == "p" else {})
        await context.link.commit(EditTask(uid, changes))
        context.say(f"{name} is {_STATUS[key]}{' again' if key == 'p' else ''}.")


async def send_message(context: Context, name: str, text: str) -> None:
    """Send a message to an agent, and say whether it reads it now or when it will."""
    await context.link.commit(SendMessage(name, text))
    member = next((one for one in context.state.members if one.name == name), None)
    session, state = (member.session, member.state) if member is not None else (None, "gone")
    if session is not None and state in ("paused", "stuck"):
        state = session.state
    program = session.program if session is not None else None
    is_prompted = work_queries.is_prompted(context.db, name)
    from tui_tasks.hooks.replies.outbox import reads_when  # for those who write alone

    until = reads_when(name, program, state, has_screen=not context.link.read_only, is_prompted=is_prompted)
    shown = agent_text.who(name, 30)
    context.say(f"Sent to {shown}." if until is None else f"Queued: {shown} reads it when {until}.")


class AgentActions(Controller):
    """Writes to the agent that `agent_here` names, or pauses it; None: there is no agent here."""

    def __init__(self, context: Context, agent_here: Callable[[], str | None]) -> None:
        self._context = context
        self._agent_here = agent_here

    @override
    def why_not(self, action: Action) -> str | None:
        """Most actions need an agent."""
        return "no agent here" if action.needs == "agent" and self._agent_here() is None else None

    @override
    def title(self, action: Action) -> str:
        """The key that pauses resumes a paused agent."""
        if action.id == "agent_pause" and self._agent_here() is not None:
            return "Resume the agent" if self.is_paused else "Pause the agent"
        return super().title(action)

    @override
    def opens_input(self, action: Action) -> bool:
        """A paused agent is resumed without a question."""
        return action.id != "agent_pause" or not self.is_paused

    @property
    def is_paused(self) -> bool:
        """Whether the agent is paused."""
        name = self._agent_here()
        agent = ask_queries.agent(self._context.db, name) if name is not None else None
        return agent is not None and agent.paused

    async def do_agent_message(self) -> None:
        """Write to the agent; it gets it with the next reply, or as an event."""
        name = self._agent_here()
        if name is None:
            return
        text = await self._context.ask(LineDialog(self._context, f"Message to {agent_text.who(name, 30)}", done="Send"))
        if text is not None and text.strip():
            await self.message(name, text.strip())

    async def message(self, name: str, text: str) -> None:
        """Send a message, and say whether the agent reads it now or when it will."""
        await send_message(self._context, name, text)

    async def do_agent_pause(self) -> None:
        """Pause the agent, with a message that its calls are refused with; resume it where it is paused."""
        context, name = self._context, self._agent_here()
        if name is None:
            return
        shown, key = agent_text.who(name, 30), context.keymap.key_of("agent_pause")
        if self.is_paused:
            await context.link.commit(ResumeAgent(name))
            context.say(f"{shown} is resumed.")
            return
        why = await context.ask(LineDialog(context, f"Pause {shown} with this message:", done="Pause"))
        if why is not None:
            await context.link.commit(PauseAgent(name, why.strip() or "the human has paused you"))
            context.say(f"{shown} is paused. {key} resumes it.")


async def take_back(context: Context, changes: Sequence[int], what: str = "") -> None:
    """Ask the human, then take changes back, the newest first; say which could not be taken back.

    Args:
        changes: their numbers, the newest first.
        what: how they are told of, in place of their agents' names.
    """
    summary = change_summaries.summary(context.db, changes)
    if not summary.entries:
        context.say("Nothing to undo: it changed no task, list or job.")
        return
    title = (
        f"Revert {what}: {summary.text}?" if what else f"{' and '.join(map(who, summary.actors))}: {summary.question}"
    )
    if not await confirm(context, title, "Revert it", "Leave it"):
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
    deletion = change_summaries.last_deletion(context.db, context.state.list_id)
    if deletion is None:
        context.say("Nothing was deleted from this list recently.")
        return
    await take_back(context, [deletion.change])
