"""The human's actions on an agent, the same wherever one is shown: a message, a pause."""

from __future__ import annotations

from collections.abc import Callable

from tui_tasks.core.operations.asks import PauseAgent, ResumeAgent, SendMessage
from tui_tasks.core.read import messages
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.inputs.dialogs import LineDialog
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.state.context import Context


class AgentActions(Controller):
    """The actions of the scope `agent`. `agent_here` returns the name of the agent that keys act on, or None."""

    def __init__(self, context: Context, agent_here: Callable[[], str | None]) -> None:
        self._context = context
        self._agent_here = agent_here

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; most actions need an agent."""
        return "no agent here" if action.needs == "agent" and self._agent_here() is None else None

    async def do_agent_message(self) -> None:
        """Write to the agent; it gets it with the next reply, or as an event."""
        name = self._agent_here()
        if name is None:
            return
        text = await self._context.ask(LineDialog(self._context, f"Message to {safe_line(name, 30)}", done="Send"))
        if text is not None and text.strip():
            await self.message(name, text.strip())

    async def message(self, name: str, text: str) -> None:
        """Send a message, and report that it was sent."""
        await self._context.link.commit(SendMessage(name, text))
        self._context.say(f"Sent to {safe_line(name, 30)}.")

    async def do_agent_pause(self) -> None:
        """Pause the agent, with a message that its calls are refused with; resume it where it is paused."""
        context, name = self._context, self._agent_here()
        if name is None:
            return
        agent = messages.agent(context.db, name)
        shown, key = safe_line(name, 30), context.keymap.key_of("agent_pause")
        if agent is not None and agent.paused:
            await context.link.commit(ResumeAgent(name))
            context.say(f"{shown} goes on.")
            return
        why = await context.ask(LineDialog(context, f"Pause {shown}; what shall it read?", done="Pause"))
        if why is not None:
            await context.link.commit(PauseAgent(name, why.strip() or "the human has paused you"))
            context.say(f"{shown} is paused. {key} lets it go on.")
