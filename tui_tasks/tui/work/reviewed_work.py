"""The work that a review shows: what is known of it, read in a thread, and the comments on it that are not sent yet."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.core.agent_snapshots import Check, Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, DatabaseRefused, Refusal
from tui_tasks.core.read import work_queries, work_text
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.core.vocab import LIVE_WORK
from tui_tasks.runner.git import GitFailed
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks import task_text
from tui_tasks.tui.work.review_text import WorkFacts
from tui_tasks.work.accepting import Acceptance
from tui_tasks.work.comments import Comment

if TYPE_CHECKING:
    from tui_tasks.work.git.reviewing import Review

KEPT: Final = "comments"
"""Under this key `local_values` keeps comments that are not sent yet, by the uid of their work."""


def kept(db: Database, work_uid: str) -> list[Comment]:
    """Return the comments on a work that are not sent yet."""
    stored = (local_values.get(db, KEPT) or {}).get(work_uid, [])
    return [msgspec.convert(one, Comment) for one in stored]


def _to_keep(db: Database, work_uid: str, comments: Sequence[Comment], live: Iterable[str]) -> dict[str, Any]:
    """Return what `local_values` is to keep; comments on works that are over are dropped."""
    stored: dict[str, Any] = {uid: one for uid, one in (local_values.get(db, KEPT) or {}).items() if uid in set(live)}
    stored.pop(work_uid, None)
    return stored | ({work_uid: msgspec.to_builtins(list(comments))} if comments else {})


def read_review(path: str, clock: Callable[[], int], work: Work) -> tuple[Review, tuple[Check, ...], bool]:
    """Return what git has of a work, its checks with their states on that tree, and whether a pull request could push
    it somewhere; called in a thread.

    Raises:
        Refusal: it cannot be read, as the message says.
    """
    with Store(path, makes=False) as store:
        acceptance = Acceptance(store, clock)
        review = acceptance.review(work)
        can_push = work.pull_request is not None
        with contextlib.suppress(Conflict):
            can_push = can_push or acceptance.planned_push(work, review) is not None
        return review, acceptance.checks(work, review), can_push


def works_on(db: Database, task_uid: str) -> list[Work]:
    """Return the works on a task that can be looked at, oldest first."""
    return [work for work in work_queries.of_task(db, task_uid) if work.state in LIVE_WORK]


class ReviewedWork:
    """The work, of the works on a task.

    Attributes:
        facts: what is known of it, as it was read last.
        comments: those that are not sent yet.
    """

    facts: WorkFacts
    comments: list[Comment]

    def __init__(self, context: Context, task_uid: str, agent: str | None) -> None:
        """`agent`: whose work is shown first; None: that which waits for review."""
        self._context = context
        works = works_on(context.db, task_uid)
        first = next((work for work in works if work.agent == agent), None)
        self.show(first or next((work for work in works if work.state in ("ready", "conflict")), works[-1]))

    def show(self, work: Work) -> None:
        """Go on to another work, which is not read yet."""
        self.facts = self._facts_of(work)
        self.comments = kept(self._context.db, work.uid)
        self._counted: object = None
        # The ended runs of the checks when the human asked for others; None: how those ended is said.
        self._runs_before: set[str] | None = None

    def _facts_of(self, work: Work) -> WorkFacts:
        db = self._context.db
        works = works_on(db, work.task_uid)
        uids = [one.uid for one in works]
        return WorkFacts(
            task_queries.task_or_deleted(db, work.task_uid),
            work,
            uids.index(work.uid) + 1 if work.uid in uids else 1,
            max(1, len(works)),
            sent=work_queries.last_comments(db, work),
            sent_version=local_values.get(db, local_values.key_of_sent_back(work.uid)),
        )

    @property
    def version(self) -> object:
        """An id of its state as it was read."""
        review = self.facts.review
        return None if review is None else (self.facts.work.uid, review.head, review.tree, review.base_commit)

    @property
    def was_counted(self) -> bool:
        """Whether git has counted something else since it was read."""
        return work_text.counts(self._context.db, self.facts.work.uid) != self._counted

    async def read(self) -> bool:
        """Read it; return whether it is still the one that is reviewed."""
        work, link = self.facts.work, self._context.link
        self._counted = work_text.counts(self._context.db, work.uid)
        review: Review | None = None
        checks: tuple[Check, ...] = ()
        can_push, problem = False, ""
        try:
            review, checks, can_push = await asyncio.to_thread(read_review, link.path, link.clock, work)
        except (GitFailed, OSError, Refusal, DatabaseRefused) as error:
            problem = str(error)
        if self.facts.work.uid != work.uid:
            return False
        self.facts = msgspec.structs.replace(
            self.facts, review=review, checks=checks, problem=problem, can_push=can_push
        )
        self.update(work_queries.find(self._context.db, work.uid))
        return True

    def update(self, work: Work) -> None:
        """Take up the row of the work as it is now; git has of it what was read."""
        read = self.facts
        self.facts = msgspec.structs.replace(
            self._facts_of(work),
            review=read.review,
            checks=read.checks,
            problem=read.problem,
            can_push=read.can_push,
        )

    def await_checks(self) -> None:
        """Say how the runs of the checks end that are asked for now."""
        checks = self.facts.checks
        self._runs_before = {one.run.uid for one in checks if one.run is not None and one.state != "running"}

    def say_how_checks_ended(self) -> None:
        """Say it once all that were awaited have."""
        checks, before = self.facts.checks, self._runs_before
        ended = [one for one in checks if before is not None and one.run is not None and one.run.uid not in before]
        if not ended or any(one.state == "running" for one in checks):
            return
        self._runs_before = None
        key = self._context.keymap.key_of("work_run")
        again = f" {key} runs it again." if any(one.state == "stale" for one in ended) else ""
        self._context.say(f"{task_text.ended_text(ended)}.{again}")

    async def keep_comments(self) -> None:
        """Keep the comments for the next start; the pane below names their number."""
        db = self._context.db
        live = [work.uid for work in work_queries.live(db)]
        await self._context.link.remember(KEPT, _to_keep(db, self.facts.work.uid, self.comments, live))
        self._context.navigation.pane.refreshed()
