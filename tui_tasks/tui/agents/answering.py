"""Shared by all places in which the human answers an agent: the keys of options, and sending the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import TYPE_CHECKING, Any

from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.snapshots import Ask
from tui_tasks.hooks.replies.answers import why_unanswerable
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class OptionKeys(Controller):
    """The actions that answer a question with one of its options: by number, or with the one that says yes.

    `ask` returns the question that keys act on; `give` answers it, or shows why it cannot be answered so; `why_not` is
    `Controller.why_not` for these actions.
    """

    def __init__(
        self,
        context: Context,
        ask: Callable[[], Ask | None],
        give: Callable[[Ask, str], Any],
        why_not: Callable[[Action], str | None],
    ) -> None:
        self._context = context
        self._ask = ask
        self._give = give
        self._why_not = why_not

    def why_not(self, action: Action) -> str | None:
        """As `Controller.why_not`."""
        return self._why_not(action)

    def _answer(self, answer: str | None, otherwise: str) -> Any:
        ask = self._ask()
        if ask is not None and answer is not None:
            return self._give(ask, answer)
        self._context.say(otherwise)
        return None

    def _choose(self, number: int) -> Any:
        options = self._options
        reply = self._context.keymap.key_of("ask_reply")
        otherwise = f"There is no option {number}; {reply} replies in your own words."
        return self._answer(options[number - 1] if number <= len(options) else None, otherwise)

    do_ask_1 = partialmethod(_choose, 1)
    do_ask_2 = partialmethod(_choose, 2)
    do_ask_3 = partialmethod(_choose, 3)
    do_ask_4 = partialmethod(_choose, 4)
    do_ask_5 = partialmethod(_choose, 5)
    do_ask_6 = partialmethod(_choose, 6)
    do_ask_7 = partialmethod(_choose, 7)
    do_ask_8 = partialmethod(_choose, 8)
    do_ask_9 = partialmethod(_choose, 9)

    @property
    def _options(self) -> Sequence[str]:
        ask = self._ask()
        return ask.options if ask is not None else ()

    def do_ask_approve(self) -> Any:
        """Answer with the option that says yes; if that is ambiguous, none is guessed."""
        otherwise = "None of the options says yes: choose one by its number."
        return self._answer(agent_text.approving(self._options), otherwise)

    def do_ask_always(self) -> Any:
        """Allow it from now on, as the program suggests."""
        ask = self._ask()
        found = agent_text.allowing_always(ask) if ask is not None else []
        otherwise = agent_text.why_not_always(ask, found) if ask is not None else ""
        return self._answer(found[0] if len(found) == 1 else None, otherwise)


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
