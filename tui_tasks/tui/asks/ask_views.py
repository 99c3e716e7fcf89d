"""Questions as the inbox shows them, the tasks that they are about, and unsent answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.read.agents import asked_tasks
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.hooks.replies.outbox import why_unanswerable
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.asks.answer_keys import AskView, Given, WholeRequests
from tui_tasks.tui.state.context import Context


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
            self._names[ask.uid] = asked_tasks.name_when_asked(self._context.db, ask, task.uid)
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
        later: the questions that were put off.
        drafts: typed text as (kind, text).
        given: the answers to the first of several questions.
        picked: the options chosen so far of a question that takes several.
        edited: what the human gives a tool in place of what it asks for.
    """

    def __init__(self, kept: Mapping[str, Any]) -> None:
        """`kept` is what `to_keep` has returned before."""
        self.later: set[str] = set(kept.get("later", ()))
        self.drafts: dict[str, tuple[str, str]] = {uid: tuple(draft) for uid, draft in kept.get("drafts", {}).items()}
        self.given: dict[str, tuple[Given, ...]] = {
            uid: tuple((choice, text) for choice, text in given) for uid, given in kept.get("given", {}).items()
        }
        self.picked: dict[str, frozenset[int]] = {}
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
        self.later.discard(uid)
        for parts in (self.given, self.picked, self.edited):
            parts.pop(uid, None)

    def to_keep(self, open_uids: set[str]) -> dict[str, Any]:
        """Return as JSON values what is worth keeping of the open questions."""
        return {
            "later": sorted(self.later & open_uids),
            "drafts": {uid: draft for uid, draft in self.drafts.items() if uid in open_uids},
            "given": {uid: given for uid, given in self.given.items() if uid in open_uids and given},
        }
