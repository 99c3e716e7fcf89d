"""Questions as screens show them: what is asked, the options, the task, and what the human has begun to answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.operations.sessions import InputRequested
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.rules.agents.request_text import (
    ALLOW,
    ALWAYS,
    DENY,
    MAX_TEXT,
    as_kept,
    is_kept_whole,
    question_options,
    request_options,
    request_text,
    takes_yes,
)
from tui_tasks.text.safe import TEXT_CHARS, safe_line
from tui_tasks.tui.asks import ask_text
from tui_tasks.tui.state.context import Context

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
        return self.ask.is_permission

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

    def shown_options(self, context: Context) -> list[str]:
        """Return the answers to choose from now, as the human reads them."""
        project = self.ask.project or context.state.projects.of_agent(self.ask.agent)
        return ask_text.spoken_options(self.ask, self.options, project, ascii_only=context.ascii_only)

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
        """The chosen options as one answer; empty where a question takes one alone."""
        if not self.takes_several:
            return ""
        return ", ".join(self.options[at] for at in sorted(self.picked) if at < len(self.options))

    @property
    def is_whole(self) -> bool:
        """Whether all of it can be shown."""
        is_given = self.whole is not None or self.edited is not None
        text = request_text(self.asked) if is_given else self.ask.question
        if len(text) > (MAX_TEXT if self.is_permission else TEXT_CHARS):
            return False
        return self.whole is not None or (is_kept_whole(self.ask) and ask_text.has_no_unseen(self.ask))

    @property
    def approving(self) -> str | None:
        """The answer that approves; None where it is ambiguous, or where the question takes other words."""
        return ask_text.approving(self.options) if self.options or self._takes_yes else None

    @property
    def denying(self) -> str | None:
        """The answer that denies; None where it is ambiguous, or where the question takes other words."""
        return ask_text.denying(self.options) if self.options or self._takes_yes else None

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
        # Programs read an answer a line where they ask several questions.
        own = answer if len(self.questions) == 1 else " ".join(answer.split("\n"))
        given = (*self.given, (at, own if at is None else self._kept_label(at)))
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
        from tui_tasks.hooks.replies.reply_sender import whole_request  # for those who answer alone

        request = await asyncio.to_thread(whole_request, self._context.link.path, ask)
        if request is not None:
            self._found[ask.uid] = request
            self._come()

    def forget(self, ask: Ask) -> None:
        """Drop what was read of a question that is closed."""
        self._found.pop(ask.uid, None)


class AskedTask(msgspec.Struct, frozen=True):
    """The task that a question is about.

    Attributes:
        uid: its uid.
        number: its number.
        name: the name that it had when the question was asked, so that nobody changes it under the human's eyes.
        now: its name now; None when it is deleted.
        was_changed: whether another name of it, or its deletion, has been shown.
    """

    uid: str
    number: int
    name: str
    now: str | None
    was_changed: bool

    @property
    def change(self) -> str:
        """What has changed since the question; empty when nothing has."""
        if self.now is None:
            return f"#{self.number} is deleted."
        return f"#{self.number} is now: {safe_line(self.now, 60)}." if self.now != self.name else ""


class AskedTasks:
    """The tasks that questions are about; each is read once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._found: dict[str, TaskLine | None] = {}
        # The uid of the task of each question, which is kept for one that has been closed.
        self._uids: dict[str, str] = {}
        # The names when the questions were asked (None: not known), and the questions whose task has changed since.
        self._names: dict[str, str | None] = {}
        self._changed: set[str] = set()

    def of(self, ask: Ask) -> AskedTask | None:
        """Return the task that a question is about; None when it is about none, or nothing is known of that."""
        task = self._now(ask)
        if task is None:
            return None
        if ask.uid not in self._names:
            self._names[ask.uid] = ask_queries.name_when_asked(self._context.db, ask, task.uid)
        name = self._names[ask.uid]
        name = task.name if name is None else name
        # Once is enough: an agent that renames a task again and again would forbid each answer.
        if task.deleted or task.name != name:
            self._changed.add(ask.uid)
        now = None if task.deleted else task.name
        return AskedTask(task.uid, task.number, name, now, ask.uid in self._changed)

    def number(self, ask: Ask) -> str:
        """Return the number of a question's task as `#4`; empty without a task."""
        task = self._now(ask)
        return f"#{task.number}" if task is not None else ""

    def _now(self, ask: Ask) -> TaskLine | None:
        uid = ask.task_uid or self._context.state.asked_about.get(ask.uid) or self._uids.get(ask.uid)
        if uid is None:
            return None
        self._uids[ask.uid] = uid
        if uid not in self._found:
            self._found[uid] = list_pages.line(self._context.db, uid)
        return self._found[uid]

    def holds_any(self, uids: Collection[str]) -> bool:
        """Return whether one of these tasks has been read."""
        return not self._found.keys().isdisjoint(uids)

    def forget(self) -> None:
        """Have all tasks read again."""
        self._found.clear()


class AskViews:
    """Makes views of questions from what is kept of them and what the human has begun to answer."""

    def __init__(self, context: Context, tasks: AskedTasks, unsent: UnsentAnswers, come: Callable[[], None]) -> None:
        """`come` is called when a request has come whole."""
        self._context = context
        self._tasks = tasks
        self._unsent = unsent
        self._wholes = WholeRequests(context, come)

    def of(self, ask: Ask) -> AskView:
        """Return a question as it is shown now."""
        from tui_tasks.hooks.replies.reply_sender import why_unanswerable  # for those who answer alone

        why = why_unanswerable(self._context.db, ask) if ask.state == "open" else None
        whole = self._wholes.of(ask) if why is None else None
        task, unsent = self._tasks.of(ask), self._unsent
        return AskView(
            ask,
            whole,
            unsent.given.get(ask.uid, ()),
            why,
            unsent.picked.get(ask.uid, frozenset()),
            about=(task.name, task.was_changed) if task is not None else None,
            edited=unsent.edited.get(ask.uid),
        )

    def forget(self, ask: Ask) -> None:
        """Drop what is held of a question that was answered."""
        self._unsent.forget(ask.uid)
        self._wholes.forget(ask)


class UnsentAnswers:
    """The parts of answers, each by the uid of its question. What `to_keep` returns outlives the screen.

    Attributes:
        drafts: typed text as (kind, text).
        given: the answers to the first of several questions.
        picked: the options chosen so far of a question that takes several.
        edited: what the human gives a tool in place of what it asks for.
    """

    def __init__(self, kept: Mapping[str, Any]) -> None:
        """`kept` is what `to_keep` has returned before."""
        self.drafts: dict[str, tuple[str, str]] = {uid: tuple(draft) for uid, draft in kept.get("drafts", {}).items()}
        self.given: dict[str, tuple[Given, ...]] = {
            uid: tuple((choice, text) for choice, text in given) for uid, given in kept.get("given", {}).items()
        }
        self.picked: dict[str, frozenset[int]] = {uid: frozenset(at) for uid, at in kept.get("picked", {}).items()}
        self.edited: dict[str, dict[str, Any]] = {}

    def pick(self, uid: str, option: int) -> None:
        """Choose an option of a question that takes several, or choose it no longer."""
        self.picked[uid] = self.picked.get(uid, frozenset()) ^ {option}

    def go_on(self, uid: str, given: tuple[Given, ...]) -> None:
        """Go on to the next of several questions, or back to one before it, with these answers."""
        self.given[uid] = given
        self.picked.pop(uid, None)

    def forget(self, uid: str) -> None:
        """Drop the parts of an answer that was sent. A draft goes when its text is sent."""
        for parts in (self.given, self.picked, self.edited):
            parts.pop(uid, None)

    def to_keep(self, open_uids: set[str]) -> dict[str, Any]:
        """Return as JSON values what is worth keeping of the open questions."""
        return {
            "drafts": {uid: draft for uid, draft in self.drafts.items() if uid in open_uids},
            "given": {uid: given for uid, given in self.given.items() if uid in open_uids and given},
            "picked": {uid: sorted(picked) for uid, picked in self.picked.items() if uid in open_uids and picked},
        }
