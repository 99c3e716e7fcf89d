"""Answers to an agent's question from the fleet. A question that is not shown whole there is answered in the inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui_tasks.core.snapshots import Ask
from tui_tasks.hooks.replies.answers import why_unanswerable
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.answering import send_answer
from tui_tasks.tui.inputs.dialogs import LineDialog
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.fleet.fleet_screen import Fleet


class FleetAnswers(Controller):
    """Answers the question of the agent under the cursor, also for `OptionKeys`."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._context = fleet.context

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; answers need a question, and a program that waits for the answer here."""
        if action.needs != "ask":
            return None
        ask = self._fleet.ask
        return "it asks nothing" if ask is None else why_unanswerable(self._context.link.path, ask)

    def give(self, ask: Ask, answer: str) -> Any:
        """Answer a question that is shown to its end; else show it in the inbox."""
        return self._answer(ask, answer) if self._fleet.shows_whole(ask) else self.do_agent_ask()

    async def do_ask_deny(self) -> None:
        """Ask for the reason, then answer with the option that says no."""
        ask = self._fleet.ask
        assert ask is not None
        no = agent_text.denying(ask.options)
        if no is None:
            self._context.say("None of the options says no: choose one by its number, or reply.")
            return
        why = await self._asked(f"Deny; tell {safe_line(ask.agent, 30)} why, or nothing", "Deny")
        if why is not None:
            await self._answer(ask, f"{no}: {why}" if why else no)

    async def do_ask_reply(self) -> None:
        """Answer in one's own words."""
        ask = self._fleet.ask
        assert ask is not None
        text = await self._asked(f"Reply to {safe_line(ask.agent, 30)}", "Send")
        if text:
            await self._answer(ask, text)

    def do_agent_ask(self) -> None:
        """Show the agent's question in the inbox; where it asks nothing, what others ask."""
        from tui_tasks.tui.inbox.inbox import Inbox

        ask = self._fleet.ask
        if ask is None:
            self._context.do("asks")
        else:
            self._context.push(Inbox(self._context, ask.uid))

    async def _asked(self, title: str, done: str) -> str | None:
        text: str | None = await self._context.ask(LineDialog(self._context, title, done=done))
        return text.strip() if text is not None else None

    async def _answer(self, ask: Ask, answer: str) -> None:
        # It answers the question that was shown, even if the agent has asked another meanwhile.
        if await send_answer(self._context, ask, answer):
            self._context.say(f"Sent to {safe_line(ask.agent, 30)}: {safe_line(answer, 60)}.")
