"""Answering what an agent has asked: by the number of an option, by approving or denying it, or in one's own words."""

from __future__ import annotations

from functools import partialmethod
from typing import Any

from tui_tasks.core.operations import AnswerAsk
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.inputs.reply import Reply
from tui_tasks.tui.screens import agent_text
from tui_tasks.tui.screens.agent_actions import AgentActions
from tui_tasks.tui.widgets.overlay import Overlay
from tui_tasks.tui.widgets.pane import RowActions


class AskAnswers(AgentActions, RowActions, Overlay):
    """The part of the inbox that answers: by a key, or by the line in which an answer is typed.

    `later` are the questions that were put off.
    """

    later: set[str]

    @property
    def ask(self) -> Ask | None:
        """The question that keys are about."""
        raise NotImplementedError

    def is_read(self, ask: Ask) -> bool:
        """Whether a question has stood on screen to its end."""
        raise NotImplementedError

    def _why_unread(self, ask: Ask) -> str | None:
        """Why no answer of the program's own words can be given: something of the question was not seen."""
        if not agent_text.is_shown_whole(ask):
            key = self.host.key_of("ask_reply")
            return f"Not all of this question can be shown: deny it, or answer it in your own words with {key}."
        return None if self.is_read(ask) else f"It goes on below: {self.host.key_of('page_down')} to its end first."

    def hints_again(self) -> None:
        """Tell at the foot what keys do now."""
        raise NotImplementedError

    def _choose(self, number: int) -> Any:
        ask = self.ask
        assert ask is not None
        if number > len(ask.options):
            self.host.say(f"There is no option {number}; {self.host.key_of('ask_reply')} replies in your own words.")
            return None
        if (why := self._why_unread(ask)) is not None:
            self.host.say(why)
            return None
        return self._answer(ask, ask.options[number - 1])

    do_ask_1 = partialmethod(_choose, 1)
    do_ask_2 = partialmethod(_choose, 2)
    do_ask_3 = partialmethod(_choose, 3)
    do_ask_4 = partialmethod(_choose, 4)
    do_ask_5 = partialmethod(_choose, 5)
    do_ask_6 = partialmethod(_choose, 6)
    do_ask_7 = partialmethod(_choose, 7)
    do_ask_8 = partialmethod(_choose, 8)
    do_ask_9 = partialmethod(_choose, 9)

    async def do_ask_approve(self) -> None:
        """Answer with the option that says yes; where there are others only, none is guessed."""
        ask = self.ask
        assert ask is not None
        answer = agent_text.approving(ask.options)
        if answer is None:
            self.host.say("None of the options says yes: choose one by its number.")
            return
        if (why := self._why_unread(ask)) is not None:
            self.host.say(why)
            return
        await self._answer(ask, answer)

    def do_ask_deny(self) -> None:
        """Ask for the reason, then answer with the option that says no."""
        ask = self.ask
        assert ask is not None
        if agent_text.denying(ask.options) is None:
            self.host.say("None of the options says no: choose one by its number, or reply.")
            return
        self._open_reply(ask, "deny")

    def do_ask_reply(self) -> None:
        """Answer in one's own words."""
        ask = self.ask
        assert ask is not None
        self._open_reply(ask, "reply")

    async def on_reply_given(self, event: Reply.Given) -> None:
        """Send it: as the answer, or as a message where the question is closed by now."""
        ask = queries.ask(self.host.bridge.db, event.uid)
        if ask.state != "open":
            if event.text:
                self.host.flow(self.message(ask.agent, event.text))
        elif event.kind == "deny":
            no = agent_text.denying(ask.options) or "deny"
            self.host.flow(self._answer(ask, f"{no}: {event.text}" if event.text else no))
        elif event.text:
            self.host.flow(self._answer(ask, event.text))

    async def _answer(self, ask: Ask, answer: str) -> None:
        # While it is written the human may leave, and then there is no such widget any more.
        reply = self.query_one(Reply)
        await self.host.bridge.commit(AnswerAsk(ask.uid, answer))
        reply.drafts.pop(ask.uid, None)
        self.later.discard(ask.uid)
        left = sum(other.uid != ask.uid for other in self.host.situation.asks)
        more = f"{self.host.key_of('ask_open')} goes on, {left} left." if left else "No more questions."
        self.host.say(f"Sent: {safe_line(answer, max(8, self.size.width - 32))}. {more}")

    def _open_reply(self, ask: Ask, kind: str) -> None:
        self.query_one(Reply).open(ask, kind)
        self.hints_again()
