"""The keys that answer a question, their words, sending the answer; whether the human could have read what a key
answers: how long it has stood on screen, and whether to its end; and the rule that is offered after the same answer
was given again and again (docs: configuration).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partialmethod
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from typing_extensions import override

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.rules.agents import standing_answers
from tui_tasks.core.rules.agents.request_text import MAX_OPTIONS, allows, is_kept_whole
from tui_tasks.core.rules.agents.standing_answers import AnswerRule
from tui_tasks.core.rules.recorded_settings import recorded
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.asks.ask_views import AskView
from tui_tasks.tui.inputs.dialogs import confirm
from tui_tasks.tui.keys.action_table import Action
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


def answer_keys(view: AskView) -> Sequence[str]:
    """Return the actions that answer yes and no at once, as far as a question takes such an answer."""
    if view.why_closed is not None:
        return ()
    if view.takes_several:
        return ["ask_approve"] if view.picked else []
    choices = (("ask_approve", view.approving), ("ask_no", view.denying))
    return [key for key, answer in choices if answer is not None]


def answer_word(view: AskView, key: str) -> str:
    """Return the word for the key of an answer: that of consent or refusal."""
    answer = view.approving if key == "ask_approve" else view.denying
    return ask_text.first_word(answer or "").capitalize()


def no_title(view: AskView, who: str) -> str:
    """Return the title of the input for the reason of a no."""
    return f"{answer_word(view, 'ask_no')}; tell {who} why, or nothing"


def why_not_answered(word: str, view: AskView | None, context: Context) -> str:
    """Return why `Yes` or `No` does not answer a question, and the keys that do."""
    reply = f"{context.keymap.key_of('ask_reply')} replies in your own words"
    if view is None or not view.options:
        return f"{word} does not answer this: {reply}."
    most = min(len(view.options), MAX_OPTIONS)
    if view.takes_several:
        return f"This question takes several options: {f'1-{most} choose' if most > 1 else '1 chooses'}, {reply}."
    return f"No single option says {word.lower()}: {f'1-{most} answer' if most > 1 else '1 answers'} it, {reply}."


class Answers(Protocol):
    """What answers the question of a screen."""

    def why_not(self, action: Action) -> str | None:
        """As in `Controller`."""

    def takes_key(self, action: Action) -> bool:
        """As in `Controller`."""

    def give(self, view: AskView, answer: str) -> Any:
        """Answer a question with one of its options, or show why it cannot be answered so."""

    def refuse(self, view: AskView, answer: str) -> Any:
        """Do so with the answer that says no: a permission can be refused before all of it was read."""


class NumberedAnswers(Answers, Protocol):
    """What also answers with the option of a number."""

    def give_option(self, view: AskView, number: int) -> Any:
        """Answer a question with the option of a number, or show why it cannot be answered so."""


class OptionKeys(Controller):
    """The actions that answer a question with the option that says yes, or that allows from now on.

    `view` returns the question that keys act on.
    """

    def __init__(self, context: Context, view: Callable[[], AskView | None], answers: Answers) -> None:
        self._context = context
        self._view = view
        self._answers = answers

    @override
    def takes_key(self, action: Action) -> bool:
        return self._answers.takes_key(action)

    @override
    def why_not(self, action: Action) -> str | None:
        return None if action.id == "ask_rule" else self._answers.why_not(action)

    def _answer(self, answer: str | None, otherwise: str) -> Any:
        view = self._view()
        if view is not None and answer is not None:
            return self._answers.give(view, answer)
        self._context.say(otherwise)
        return None

    def do_ask_approve(self) -> Any:
        """Answer with the option that says yes, if there is one; where several can be chosen, with those chosen."""
        view = self._view()
        if view is not None and view.takes_several:
            return self._answer(view.picks or None, "Choose by number first: this question takes several options.")
        why = why_not_answered("Yes", view, self._context)
        return self._answer(view.approving if view is not None else None, why)

    def do_ask_no(self) -> Any:
        """Answer with the option that says no, if there is one."""
        view = self._view()
        if view is not None and view.denying is not None and not view.takes_several:
            return self._answers.refuse(view, view.denying)
        self._context.say(why_not_answered("No", view, self._context))
        return None

    def do_ask_always(self) -> Any:
        """Allow it from now on, as the program suggests."""
        view = self._view()
        rules = view.always if view is not None else []
        otherwise = ask_text.why_not_always(view.ask, rules) if view is not None else ""
        return self._answer(rules[0] if len(rules) == 1 else None, otherwise)

    async def do_ask_rule(self) -> None:
        """Make a rule of an answer that was given several times."""
        await make_rule(self._context)


class NumberKeys(OptionKeys):
    """The actions that answer a question with an option by its number besides.

    Where several can be chosen, `pick` chooses an option, or chooses it no longer.
    """

    def __init__(
        self,
        context: Context,
        view: Callable[[], AskView | None],
        answers: NumberedAnswers,
        pick: Callable[[AskView, int], None],
    ) -> None:
        super().__init__(context, view, answers)
        self._give_option = answers.give_option
        self._pick = pick

    def _choose(self, number: int) -> Any:
        view = self._view()
        if view is None or number > len(view.options):
            reply, back = map(self._context.keymap.key_of, ("ask_reply", "back"))
            most, does = len(view.options) if view is not None else 0, "answer it"
            if view is not None and view.takes_several:
                does = "choose"
            ways = f"{f'1-{most} {does}' if most > 1 else f'{reply} replies'}, {back} goes back to the panes"
            self._context.say(f"There is no option {number}: {ways}.")
        elif view.takes_several:
            self._pick(view, number - 1)
        else:
            return self._give_option(view, number)
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
    from tui_tasks.hooks.replies.reply_sender import why_unanswerable

    if (why := why_unanswerable(context.db, ask)) is not None:
        context.say(why)
        return False
    await context.link.commit(answer)
    if (rule := proposal(context.db, ask)) is not None:
        named = safe_line(f"{rule.answer} {rule.pattern}", 60)
        palette = context.keymap.key_of("palette")
        context.say(f"The same answer {TIMES} times ({named}): {palette} rule makes it a rule.")
    return True


TIMES: Final = 3


def proposal(db: Database, newest: Ask | None = None) -> AnswerRule | None:
    """Return a rule for the answer that the human gave last, if it was given `TIMES` times to the same request.

    `newest`: only if that one was answered last. A rule that the database has already is none.
    """
    answered = ask_queries.answered_permissions(db)
    if not answered or (newest is not None and answered[0].uid != newest.uid):
        return None
    last = answered[0]
    if not is_kept_whole(last) or sum(_same(one) == _same(last) for one in answered) < TIMES:
        return None
    request = last.request or {}
    answer: Literal["allow", "deny"] = "allow" if allows(last.answer or "") else "deny"
    rule = standing_answers.proposed(
        answer, request.get("tool") or "", request.get("input"), program=request["program"]
    )
    settings = recorded(db)
    return None if settings is not None and rule in settings.rules else rule


def _same(ask: Ask) -> object:
    request = ask.request or {}
    return request.get("program"), request.get("tool"), request.get("input"), allows(ask.answer or "")


async def make_rule(context: Context) -> None:
    """Offer the rule, and add it to the settings file if the human agrees."""
    from tui_tasks.settings import config, paths

    rule = proposal(context.db)
    if rule is None:
        context.say(f"No command has had the same answer {TIMES} times; `tui-tasks help configuration` has rules.")
        return
    path = paths.configuration()
    if not await confirm(context, f"Add the rule: {safe_line(str(rule), 200)}?", "yes"):
        return
    try:
        config.add(path, rule)
    except (Conflict, OSError) as error:
        context.say(safe_line(str(error), 200))
        return
    context.say(f"The rule is in {safe_line(str(path), 80)}; `tui-tasks rules` lists and removes it.")


READ_SECONDS = 0.5
"""For so long something must have stood on screen when a key answers it."""
LOOK_SECONDS: Final = 0.5
"""Between two looks whether programs still wait for the answers to what is on screen."""

READ_FIRST: Final = "Not sent, as this question has only just appeared: read it first."


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

    def wait_again(self) -> None:
        """Count what is on screen as having come when this key was pressed."""
        self._since = self._context.pressed.at
        if self._read_since is not None:
            self._read_since = self._since

    def is_read(self, version: object) -> bool:
        """Return whether it has been on screen to its end."""
        return version in self._read

    def has_stood(self, version: object, *, to_end: bool = False) -> bool:
        """Return whether it, or its end, had stood on screen for long enough when the key was pressed."""
        since = self._read_since if to_end else self._since
        return version == self._version and since is not None and self.is_long_since(since)

    def was_there(self, version: object) -> bool:
        """Return whether it was on screen when the key was pressed."""
        return version == self._version and self._context.pressed.at >= self._since

    def is_long_since(self, at: float) -> bool:
        """Return whether what came to the screen then could be read when the key was pressed."""
        return self._context.pressed.at - at >= READ_SECONDS


class _Shown(NamedTuple):
    """A painted version of something.

    Attributes:
        version: which it is.
        content: what it was.
        before: the content of the version before it.
        is_whole: whether all of it was shown.
        since: since when it is on the screen after that; None: it is not there.
        has_stood: whether it was there for `READ_SECONDS` before.
    """

    version: Hashable
    content: Any
    before: Any
    is_whole: bool = False
    since: float | None = None
    has_stood: bool = False


class Standing:
    """Knows which version of each thing is or was on the screen, and for how long after all of it had been shown."""

    def __init__(self) -> None:
        self._shown: dict[str, _Shown] = {}

    def show(self, key: str, version: Hashable, content: Any = None) -> bool:
        """Note that a version is being painted, and return whether it takes the place of another one.

        `content` is what a later version is compared with.
        """
        shown = self._shown.get(key)
        if shown is not None and shown.version == version:
            return False
        self._shown[key] = _Shown(version, content, shown.content if shown is not None else None)
        return shown is not None

    def show_whole(self, key: str) -> None:
        """Note that all of the painted version is on the screen, or was part by part."""
        shown = self._shown[key]
        if not shown.is_whole:
            self._shown[key] = shown._replace(is_whole=True, since=monotonic())

    def on_screen(self, keys: Collection[str]) -> None:
        """Note what is on the screen now: what is not there is not being read."""
        now = monotonic()
        for key, shown in self._shown.items():
            if key in keys:
                if shown.is_whole and shown.since is None:
                    self._shown[key] = shown._replace(since=now)
            elif shown.since is not None:
                has_stood = shown.has_stood or now - shown.since >= READ_SECONDS
                self._shown[key] = shown._replace(since=None, has_stood=has_stood)

    def has_stood(self, key: str, version: Hashable, pressed_at: float) -> bool:
        """Return whether all of this version had been on the screen for `READ_SECONDS` when the key was pressed."""
        shown = self._shown.get(key)
        if shown is None or shown.version != version:
            return False
        return shown.has_stood or (shown.since is not None and pressed_at - shown.since >= READ_SECONDS)

    def before(self, key: str, version: Hashable) -> Any:
        """Return the content that was painted before this version; None if none was."""
        shown = self._shown.get(key)
        if shown is None:
            return None
        return shown.before if shown.version == version else shown.content
