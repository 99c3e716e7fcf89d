"""What the human says to an agent, alike wherever an agent is shown: a message, a pause."""

from __future__ import annotations

from tui_tasks.core.operations import PauseAgent, ResumeAgent, SendMessage
from tui_tasks.core.read.tasks import queries
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.app.actions import Action, Actor
from tui_tasks.tui.inputs.dialogs import Prompt


class AgentActions(Actor):
    """Mixed into what has a current agent."""

    def agent_here(self) -> str | None:
        """The name of the agent that keys are about."""
        raise NotImplementedError

    def why_not(self, action: Action) -> str | None:
        """As `Actor.why_not`; what needs an agent needs one here."""
        if action.needs == "agent" and self.agent_here() is None:
            return "no agent here"
        return super().why_not(action)

    async def do_agent_message(self) -> None:
        """Write to the agent; it gets it with the next reply, or as an event."""
        name = self.agent_here()
        if name is None:
            return
        text = await self.host.push_screen_wait(Prompt(f"Message to {safe_line(name, 30)}", done="Send"))
        if text is not None and text.strip():
            await self.message(name, text.strip())

    async def message(self, name: str, text: str) -> None:
        """Send a message, and say so."""
        await self.host.bridge.commit(SendMessage(name, text))
        self.host.say(f"Sent to {safe_line(name, 30)}.")

    async def do_agent_pause(self) -> None:
        """Pause the agent, with a message that its calls are refused with; resume it where it is paused."""
        name = self.agent_here()
        if name is None:
            return
        known = queries.agent(self.host.bridge.db, name)
        shown, key = safe_line(name, 30), self.host.key_of("agent_pause")
        if known is not None and known.paused:
            await self.host.bridge.commit(ResumeAgent(name))
            self.host.say(f"{shown} goes on.")
            return
        why = await self.host.push_screen_wait(Prompt(f"Pause {shown}; what shall it read?", done="Pause"))
        if why is not None:
            await self.host.bridge.commit(PauseAgent(name, why.strip() or "the human has paused you"))
            self.host.say(f"{shown} is paused. {key} lets it go on.")
