"""Shared by all places in which the human answers an agent: what is asked and shown, whether it was read, the keys of
options, and sending the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partialmethod
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec
from typing_extensions import override

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.operations.sessions import InputRequested
from tui_tasks.core.rules.agents.request_text import (
    ALLOW,
    ALWAYS,
    DENY,
    MAX_TEXT,
    NEWLINE,
    as_kept,
    ask_lines,
    ask_options,
    decided_lines,
    is_kept_whole,
    option_lines,
    permission_lines,
    question_options,
    question_text,
    request_options,
    request_text,
    takes_yes,
)
from tui_tasks.text.glyphs import sign
from tui_tasks.text.safe import TEXT_CHARS, safe_line
from tui_tasks.tui.agents import agent_actions, agent_text
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.painting.text_lines import Drawn, block, broken_whole

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

READ_SECONDS = 0.5
"""For so long something must have stood on screen when a key answers it."""
LOOK_SECONDS: Final = 0.5
"""Between two looks whether programs still wait for the answers to what is on screen."""

Given = tuple[int | None, str]
"""The answer to one question: the option that was chosen, or None, and its text."""


class AskView(msgspec.Struct, frozen=True):
    """A question as a screen shows it.

    Attributes:
        ask: the question as it is kept.
        whole: what a program asks, whole, where part of it is not kept; None: it is kept whole, or is not to be had.
        given: the answers to the first of several questions of a program, which are asked one after the other.
        why_closed: why no answer can be given here; None if one can.
        picked: the options that are chosen so far of a question that takes several.
        about: the name that the task it is about had when it was asked, and whether this screen has shown that others
            have changed that since.
        edited: what the human gives the tool in place of what it asked for.
    """

    ask: Ask
    whole: InputRequested | None = None
    given: tuple[Given, ...] = ()
    why_closed: str | None = None
    picked: frozenset[int] = frozenset()
    about: tuple[str, bool] | None = None
    edited: dict[str, Any] | None = None

    @property
    def version(self) -> object:
        """An id of this question in this version."""
        edited = None if self.edited is None else msgspec.json.encode(self.edited)
        return self.ask.uid, self.whole is not None, len(self.given), self.about, edited

    @property
    def asked(self) -> InputRequested:
        """What a program asks, as far as it is shown, and as the human has edited it."""
        asked = self.whole or as_kept(self.ask)
        edited = self.edited if self.edited is not None else (self.ask.request or {}).get("updated_input")
        return asked if edited is None else msgspec.structs.replace(asked, input=edited)

    @property
    def is_permission(self) -> bool:
        """Whether a program asks if a tool may run."""
        return (self.ask.request or {}).get("kind") == "permission"

    @property
    def questions(self) -> Sequence[dict[str, Any]]:
        """The questions of a program that stand for themselves, with options of their own; else none."""
        return self.asked.questions if self.ask.request is not None and not self.is_permission else ()

    @property
    def question(self) -> dict[str, Any] | None:
        """The one of several questions that is asked now."""
        return self.questions[len(self.given)] if len(self.questions) > 1 else None

    @property
    def options(self) -> tuple[str, ...]:
        """The answers to choose from now."""
        if self.question is not None:
            return question_options(self.question)
        if self.whole is None:
            return self.ask.options
        options = request_options(self.whole)
        if self.is_permission and len(options) != len(self.ask.options):
            # Suggestions that differ only in what is redacted are one option where they are kept.
            return ALLOW, DENY
        return options

    def shown_options(self, *, ascii_only: bool) -> list[str]:
        """Return the answers to choose from now, as the human reads them."""
        return ask_options(self.ask, self.options, ascii_only=ascii_only)

    @property
    def takes_several(self) -> bool:
        """Whether several options can be chosen; not where part of them is not kept, as the answer keeps their text."""
        questions = self.questions
        return (
            len(questions) > len(self.given)
            and self.whole is None
            and bool(questions[len(self.given)].get("multiSelect"))
        )

    @property
    def picks(self) -> str:
        """The chosen options as one answer."""
        return ", ".join(self.options[at] for at in sorted(self.picked) if at < len(self.options))

    @property
    def is_whole(self) -> bool:
        """Whether all of it can be shown."""
        if self.whole is None and not (is_kept_whole(self.ask) and agent_text.has_no_unseen(self.ask)):
            return False
        is_given = self.whole is not None or self.edited is not None
        text = request_text(self.asked) if is_given else self.ask.question
        return len(text) <= (MAX_TEXT if self.is_permission else TEXT_CHARS)

    @property
    def approving(self) -> str | None:
        """The answer that approves; None where it is ambiguous, or where the question takes other words."""
        return agent_text.approving(self.options) if self.options or self._takes_yes else None

    @property
    def denying(self) -> str | None:
        """The answer that denies; None where it is ambiguous, or where the question takes other words."""
        return agent_text.denying(self.options) if self.options or self._takes_yes else None

    @property
    def _takes_yes(self) -> bool:
        return self.ask.request is None and takes_yes(self.ask.question)

    @property
    def always(self) -> list[str]:
        """The options that allow from now on what a program suggests to allow."""
        return [option for option in self.options if self.is_permission and option.startswith(f"{ALWAYS}: ")]

    def answered(self, answer: str) -> AskView | AnswerAsk:
        """Return the operation for an answer; the view of the next question while there is one."""
        ask = self.ask
        if ask.request is None:
            return AnswerAsk(ask.uid, answer)
        shown = str(ask.request.get("hash") or "") if self.whole is not None else ""
        at = self.options.index(answer) if answer in self.options else None
        if self.is_permission:
            # What is kept of the chosen option; the program knows all of it.
            kept = ask.options[at] if at is not None and len(ask.options) == len(self.options) else answer
            return AnswerAsk(ask.uid, kept, self.edited if answer == ALLOW else None, shown=shown)
        given = (*self.given, (at, answer if at is None else self._kept_label(at)))
        if len(given) < len(self.questions):
            return msgspec.structs.replace(self, given=given)
        choices = tuple(choice for choice, _ in given)
        return AnswerAsk(ask.uid, "\n".join(text for _, text in given), choices=choices, shown=shown)

    def _kept_label(self, at: int) -> str:
        """Return what is kept of an option's label."""
        kept = as_kept(self.ask).questions
        labels = question_options(kept[len(self.given)]) if len(kept) == len(self.questions) else ()
        return labels[at] if at < len(labels) else f"option {at + 1}"


class WholeRequests:
    """What programs ask, whole, where part of it is not kept: read from the memory of what waits, and held here while
    a screen shows it.
    """

    def __init__(self, context: Context, come: Callable[[], None]) -> None:
        """`come` is called when a request has come."""
        self._context = context
        self._come = come
        self._found: dict[str, InputRequested | None] = {}

    def of(self, ask: Ask) -> InputRequested | None:
        """Return what is asked with a question, whole; None while it has not come, and where it is not needed."""
        if is_kept_whole(ask) or ask.state != "open" or self._context.link.read_only:
            return None
        if ask.uid not in self._found:
            self._found[ask.uid] = None
            self._context.run(self._fetch(ask))
        return self._found[ask.uid]

    async def _fetch(self, ask: Ask) -> None:
        from tui_tasks.hooks.replies.outbox import whole_request  # for those who answer alone

        request = await asyncio.to_thread(whole_request, self._context.link.path, ask)
        if request is not None:
            self._found[ask.uid] = request
            self._come()

    def forget(self, ask: Ask) -> None:
        """Drop what was read of a question that is closed."""
        self._found.pop(ask.uid, None)


class Reading:
    """Since when something stands on screen, so that a key answers nothing that the human could not have read."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._version: object = None
        self._since = 0.0
        self._read_since: float | None = None
        # What was on screen to its end before.
        self._read: set[object] = set()

    def painted(self, version: object, *, to_end: bool) -> None:
        """Note what is painted now (None: nothing that could be answered), and whether to its end."""
        now = monotonic()
        if version != self._version:
            self._version, self._since = version, now
            self._read_since = now if version in self._read else None
        if to_end and self._read_since is None:
            self._read_since = now
            self._read.add(version)

    def is_read(self, version: object) -> bool:
        """Return whether it has been on screen to its end."""
        return version in self._read

    def has_stood(self, version: object, *, to_end: bool = False) -> bool:
        """Return whether it, or its end, had stood on screen for long enough when the key was pressed."""
        since = self._read_since if to_end else self._since
        return version == self._version and since is not None and self.is_long_since(since)

    def is_long_since(self, at: float) -> bool:
        """Return whether what came to the screen then could be read when the key was pressed."""
        return self._context.pressed.at - at >= READ_SECONDS


def answer_keys(view: AskView) -> Sequence[str]:
    """Return the actions that approve and deny, as far as a question takes such an answer."""
    if view.why_closed is not None:
        return ()
    if view.takes_several:
        return ["ask_approve"]
    choices = (("ask_approve", view.approving), ("ask_deny", view.denying))
    return [key for key, answer in choices if answer is not None]


def answer_word(view: AskView, key: str) -> str:
    """Return the word for the key of an answer where an option says it; empty: what is sent is the key's own word."""
    return {"ask_approve": "Yes", "ask_deny": "No"}[key] if _is_by_option(view) else ""


def _is_by_option(view: AskView) -> bool:
    return bool(view.options) and not view.is_permission


def no_title(view: AskView, who: str) -> str:
    """Return the title of the input for the reason of a no."""
    return f"No to {who}; add why, or nothing" if _is_by_option(view) else f"Deny; tell {who} why, or nothing"


def why_no_no(view: AskView, context: Context) -> str:
    """Return why a question cannot be denied."""
    if view.options:
        return "None of the options says no: choose one by its number, or reply."
    return own_words("No", context)


def own_words(word: str, context: Context) -> str:
    """Return that a question takes other words than yes or no, and the key for them."""
    return f"{word} does not answer this: {context.keymap.key_of('ask_reply')} replies in your own words."


READ_FIRST: Final = "Not sent, it came up just now: read it first."
CAME_JUST_NOW: Final = "This question came up just now: read it first."
_COLORS: Final = {"-": "$state-failed", "+": "$state-done"}
_FOLDED: Final = "    "


def request_lines(view: AskView, width: int, *, ascii_only: bool) -> list[Drawn]:
    """Return the lines of what a program asks, without the keys of options.

    Removed and added text of a permission is marked and coloured. Values of several lines stand behind a bar, and the
    parts of a line that is too long behind a mark: neither looks like a name, or like a line of its own.
    """
    asked = view.asked
    if view.is_permission:
        lines_ = permission_lines(asked, ascii_only=ascii_only)
        return [line for mark, text in lines_ for line in decided_block(text, width, mark, ascii_only=ascii_only)]
    if view.ask.request is None:
        return decided_blocks(ask_lines(view.ask, ascii_only=ascii_only), width, ascii_only=ascii_only)
    if view.question is None or view.ask.state != "open":
        return block(request_text(asked) if view.whole is not None else view.ask.question, width)
    lines: list[Drawn] = []
    for number, (question, (at, text)) in enumerate(zip(view.questions, view.given, strict=False), 1):
        answer = text if at is None else question_options(question)[at]
        lines += block(f"{number}. {safe_line(question_text(question), width)}", width, "$muted")
        lines += block(f"{_FOLDED}{answer}", width)
    lines += block(f"Question {len(view.given) + 1} of {len(view.questions)}", width, "bold")
    return lines + block("\n".join((question_text(view.question), *option_lines(view.question))), width)


def decided_prose(text: str, width: int, style: str = "", *, ascii_only: bool) -> list[Drawn]:
    """Return prose that the human decides about as lines of at most `width` cells; see `decided_block`."""
    texts = decided_lines(text, is_prose=True, ascii_only=ascii_only)
    return decided_blocks(texts, width, style, ascii_only=ascii_only)


def decided_blocks(texts: Sequence[str], width: int, style: str = "", *, ascii_only: bool) -> list[Drawn]:
    """Return lines of decided text as lines of at most `width` cells; see `decided_block`."""
    return [line for text in texts for line in decided_block(text, width, ascii_only=ascii_only, style=style)]


def decided_block(text: str, width: int, mark: str = "", *, ascii_only: bool, style: str = "") -> list[Drawn]:
    """Return a line of decided text as lines of at most `width` cells behind a space; those that go on have a mark.

    `mark` is that of `permission_lines`.
    """
    style = _COLORS.get(mark, style)
    goes_on = (f" {sign('wrapped', ascii_only=ascii_only)} ", "$muted")
    bar = (f" {mark} ", style) if mark.strip() else (f" {sign('divider', ascii_only=ascii_only)} ", "$muted")
    newline = NEWLINE[ascii_only]
    lines: list[Drawn] = []
    for number, part in enumerate(broken_whole(text, max(1, width - 2))):
        head = goes_on if number else bar if mark else (" ", style)
        end = [(newline, "$muted")] if part.endswith(newline) else []
        lines.append([head, (part.removesuffix(newline), style), *end])
    return lines


class OptionKeys(Controller):
    """The actions that answer a question with the option that says yes, or that allows from now on.

    `view` returns the question that keys act on; `give` answers it, or shows why it cannot be answered so; `why_not`
    and `takes_key` are those of `Controller` for these actions.
    """

    def __init__(
        self,
        context: Context,
        view: Callable[[], AskView | None],
        give: Callable[[AskView, str], Any],
        why_not: Callable[[Action], str | None],
        takes_key: Callable[[Action], bool] = lambda _: True,
    ) -> None:
        self._context = context
        self._view = view
        self._give = give
        self._why_not = why_not
        self._takes_key = takes_key

    @override
    def takes_key(self, action: Action) -> bool:
        return self._takes_key(action)

    @override
    def why_not(self, action: Action) -> str | None:
        return None if action.id == "ask_rule" else self._why_not(action)

    def _answer(self, answer: str | None, otherwise: str) -> Any:
        view = self._view()
        if view is not None and answer is not None:
            return self._give(view, answer)
        self._context.say(otherwise)
        return None

    def do_ask_approve(self) -> Any:
        """Answer with the option that says yes, if there is one; where several can be chosen, with those chosen."""
        view = self._view()
        if view is not None and view.takes_several:
            return self._answer(view.picks or None, "Choose by number first: this question takes several options.")
        return self._answer(view.approving if view is not None else None, self._why_no_yes(view))

    def _why_no_yes(self, view: AskView | None) -> str:
        if view is None or view.options:
            first = f" for “{safe_line(view.options[0], 40)}”" if view is not None else ""
            return f"Press 1{first}, or the number of another answer."
        return own_words("Yes", self._context)

    def do_ask_always(self) -> Any:
        """Allow it from now on, as the program suggests."""
        view = self._view()
        rules = view.always if view is not None else []
        otherwise = agent_text.why_not_always(view.ask, rules) if view is not None else ""
        return self._answer(rules[0] if len(rules) == 1 else None, otherwise)

    async def do_ask_rule(self) -> None:
        """Make a rule of an answer that was given several times."""
        await agent_actions.make_rule(self._context)


class NumberKeys(Controller):
    """The actions that answer a question with an option by its number.

    `give` answers with the option of a number, or shows why it cannot be answered so. Where several can be chosen,
    `pick` chooses an option, or chooses it no longer. For the others see `OptionKeys`.
    """

    def __init__(
        self,
        context: Context,
        view: Callable[[], AskView | None],
        give: Callable[[AskView, int], Any],
        why_not: Callable[[Action], str | None],
        pick: Callable[[AskView, int], None],
        takes_key: Callable[[Action], bool],
    ) -> None:
        self._context = context
        self._view = view
        self._give = give
        self._why_not = why_not
        self._pick = pick
        self._takes_key = takes_key

    @override
    def takes_key(self, action: Action) -> bool:
        return self._takes_key(action)

    @override
    def why_not(self, action: Action) -> str | None:
        return self._why_not(action)

    def _choose(self, number: int) -> Any:
        view = self._view()
        if view is None or number > len(view.options):
            reply = self._context.keymap.key_of("ask_reply")
            self._context.say(f"There is no option {number}; {reply} replies in your own words.")
        elif view.takes_several:
            self._pick(view, number - 1)
        else:
            return self._give(view, number)
        return None

    do_ask_1 = partialmethod(_choose, 1)
    do_ask_2 = partialmethod(_choose, 2)
    do_ask_3 = partialmethod(_choose, 3)
    do_ask_4 = partialmethod(_choose, 4)
    do_ask_5 = partialmethod(_choose, 5)
    do_ask_6 = partialmethod(_choose, 6)
    do_ask_7 = partialmethod(_choose, 7)
    do_ask_8 = partialmethod(_choose, 8)
    do_ask_9 = partialmethod(_choose, 9)


async def send_answer(context: Context, answer: AnswerAsk, ask: Ask) -> bool:
    """Answer a question, and return whether that was done; when its program no longer waits for an answer, show why
    not.

    Raises:
        Refusal: the question is closed by now.
    """
    from tui_tasks.hooks.replies.outbox import why_unanswerable

    if (why := why_unanswerable(context.db, ask)) is not None:
        context.say(why)
        return False
    await context.link.commit(answer)
    if (rule := agent_actions.proposal(context.db, ask)) is not None:
        named = safe_line(f"{rule.answer} {rule.pattern}", 60)
        palette = context.keymap.key_of("palette")
        context.say(f"The same answer {agent_actions.TIMES} times ({named}): {palette} rule makes it a rule.")
    return True
