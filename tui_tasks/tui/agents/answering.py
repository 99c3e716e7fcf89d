"""Shared by all places in which the human answers an agent: the keys of options, and sending the answer."""

from __future__ import annotations

from abc import abstractmethod
from functools import partialmethod
from typing import TYPE_CHECKING, Any

from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.snapshots import Ask
from tui_tasks.hooks.replies.answers import why_unanswerable
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class OptionKeys(Controller):
    """The actions that choose an option by its number."""

    @abstractmethod
    def choose(self, number: int) -> Any:
        """Answer with an option, counted from 1, or show why it cannot be chosen."""

    def _choose(self, number: int) -> Any:
        return self.choose(number)

    do_ask_1 = partialmethod(_choose, 1)
    do_ask_2 = partialmethod(_choose, 2)
    do_ask_3 = partialmethod(_choose, 3)
    do_ask_4 = partialmethod(_choose, 4)
    do_ask_5 = partialmethod(_choose, 5)
    do_ask_6 = partialmethod(_choose, 6)
    do_ask_7 = partialmethod(_choose, 7)
    do_ask_8 = partialmethod(_choose, 8)
    do_ask_9 = partialmethod(_choose, 9)


async def send_answer(context: Context, ask: Ask, answer: str, updated_input: Any = None) -> bool:
    """Answer a question, and return whether that was done; when its program no longer waits for an answer, show why
    not.

    Raises:
        Refusal: the question is closed by now.
    """
    if (why := why_unanswerable(context.link.path, ask)) is not None:
        context.say(why)
        return False
    await context.link.commit(AnswerAsk(ask.uid, answer, updated_input))
    return True
