"""Answers to an agent's question: an option by its number, approval or denial, or the human's own words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tui_tasks.core.read import asks
from tui_tasks.core.rules.agents.request_text import ALLOW
from tui_tasks.core.snapshots import Ask
from tui_tasks.hooks import abilities
from tui_tasks.hooks.discretion import REDACTED
from tui_tasks.hooks.replies.answers import why_unanswerable
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.agents.agent_actions import AgentActions
from tui_tasks.tui.agents.answering import send_answer
from tui_tasks.tui.inputs import editor
from tui_tasks.tui.inputs.reply import Reply
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.inbox.inbox import Inbox


class AskAnswers(Controller):
    """Answers the question under the cursor, by a key or in an input, also for `OptionKeys`."""

    def __init__(self, inbox: Inbox, agents: AgentActions) -> None:
        """`agents` sends what is typed when the question has been closed meanwhile."""
        self._inbox = inbox
        self._context = inbox.context
        self._agents = agents

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`; answers need an open question."""
        if action.needs != "ask":
            return None
        ask = self._inbox.ask
        if ask is None:
            return "nothing needs you"
        return None if ask.state == "open" else agent_text.closed(ask, self._context.clock.now())

    def _why_unread(self, ask: Ask) -> str | None:
        """Return why no answer in the program's own words can be given: part of the question has not been shown."""
        if not agent_text.is_shown_whole(ask):
            key = self._context.keymap.key_of("ask_reply")
            return f"Not all of this question can be shown: deny it, or answer it in your own words with {key}."
        return (
            None
            if self._inbox.is_read(ask)
            else f"It goes on below: {self._context.keymap.key_of('page_down')} to its end first."
        )

    def give(self, ask: Ask, answer: str) -> Any:
        """Answer a question with one of its options; it must have been shown to its end."""
        if (why := self._why_unread(ask)) is None:
            return self._answer(ask, answer)
        self._context.say(why)
        return None

    async def do_ask_edit(self) -> None:
        """Change in the editor what a tool is given, and allow it so."""
        ask = self._inbox.ask
        assert ask is not None
        request = ask.request or {}
        if request.get("kind") != "permission":
            self._context.say("Only what a tool is given can be edited first.")
            return
        if (why := abilities.why_not(request["program"], "edit_input")) is not None:
            self._context.say(why)
            return
        if (why := why_unanswerable(self._context.link.path, ask)) is not None:
            self._context.say(why)
            return
        before = json.dumps(request.get("input"), indent=2, ensure_ascii=False) + "\n"
        if REDACTED in before or self._context.config.sessions.keep != "all":
            self._context.say("Not all that the tool is given was kept, so that it cannot be edited here.")
            return
        text = editor.edit(self._context, before)
        if text is None:
            self._context.say("Nothing was changed, and nothing sent.")
            return
        try:
            given = json.loads(text)
        except ValueError as error:
            self._context.say(f"Nothing was sent: what you wrote is no JSON ({error}).")
            return
        if not isinstance(given, dict):
            self._context.say("Nothing was sent: a tool is given a JSON object.")
            return
        await self._answer(ask, ALLOW, given)

    def do_ask_deny(self) -> None:
        """Ask for the reason, then answer with the option that says no."""
        ask = self._inbox.ask
        assert ask is not None
        if agent_text.denying(ask.options) is None:
            self._context.say("None of the options says no: choose one by its number, or reply.")
            return
        self._open_reply(ask, "deny")

    def do_ask_reply(self) -> None:
        """Answer in one's own words."""
        ask = self._inbox.ask
        assert ask is not None
        self._open_reply(ask, "reply")

    def send_reply(self, event: Reply.Given) -> None:
        """Send the typed text: as the answer, or as a message when the question has been closed."""
        ask = asks.ask(self._context.db, event.uid)
        if ask.state != "open":
            if event.text:
                self._context.run(self._agents.message(ask.agent, event.text))
        elif event.kind == "deny":
            no = agent_text.denying(ask.options) or "deny"
            self._context.run(self._answer(ask, f"{no}: {event.text}" if event.text else no))
        elif event.text:
            self._context.run(self._answer(ask, event.text))

    async def _answer(self, ask: Ask, answer: str, updated_input: Any = None) -> None:
        # The human may leave during the write, which removes the widget.
        reply = self._inbox.query_one(Reply)
        if not await send_answer(self._context, ask, answer, updated_input):
            return
        reply.drafts.pop(ask.uid, None)
        self._inbox.later.discard(ask.uid)
        left = sum(other.uid != ask.uid for other in self._context.state.asks)
        more = f"{self._context.keymap.key_of('ask_open')} goes on, {left} left." if left else "No more questions."
        self._context.say(f"Sent: {safe_line(answer, max(8, self._inbox.size.width - 32))}. {more}")

    def do_ask_later(self) -> None:
        """Put the question off and go on to the next; go back where there is none."""
        ask = self._inbox.ask
        assert ask is not None
        self._inbox.put_off(ask)

    def _open_reply(self, ask: Ask, kind: str) -> None:
        self._inbox.query_one(Reply).open(ask, kind)
        self._inbox.hints_again()
