"""Tasks that agents have left: in progress by an agent that is gone, or with a claim that has lapsed, of an agent that
was not heard since.

Claims are found by the entries that say that they lapsed, among all that the system wrote lately. A process that stays
looks at each entry once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.agents import activity
from tui_tasks.core.read.agents.session_queries import STOPPED
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.snapshots import Claim

if TYPE_CHECKING:
    from tui_tasks.core.read.agents.fleet import Member

MOST: Final = 1_000
"""How many of one agent's claims are looked at, the newest ones."""
# In microseconds: what lapsed longer before the newest entry is not looked at.
_WEEK: Final = 7 * 24 * 3600 * 1_000_000
_LAPSED: Final = f"""
SELECT claim.agent, claim.uid, journal.at FROM journal JOIN claim ON claim.uid = journal.uid
WHERE journal.actor = '{vocab.SYSTEM}' AND journal.seq > ? AND journal.seq <= ?
AND journal.kind = 'claim.lapsed' AND journal.at >= ? ORDER BY journal.seq
"""


class LeftTask(msgspec.Struct, frozen=True, gc=False):
    """A task that an agent has left, or says nothing about: the agent, and since when, in microseconds.

    `is_gone`: the agent is. `is_quiet`: it is there, and was not heard for long; otherwise it is heard, and its claim
    has lapsed. `has_lapsed`: the task is pending again; otherwise in progress.
    """

    agent: str
    at: int
    is_gone: bool = True
    has_lapsed: bool = False
    is_quiet: bool = False


class StuckTask(msgspec.Struct, frozen=True, gc=False):
    """A task in progress whose agent is there and does not go on: the agent, and why."""

    agent: str
    why: str


class LapsedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim that lapsed at an instant, in microseconds, as is its lease; `task` is as it is now.

    `is_open`: nobody has taken, closed or deleted the task since, and the human has not seen that it lapsed;
    `is_seen`: they have.
    """

    task: TaskLine
    at: int
    is_open: bool
    lease: int = 0
    is_seen: bool = False


class LapsedClaims:
    """The claims of each agent that lapsed lately."""

    def __init__(self) -> None:
        # The newest entry that was looked at, and the instant after which claims count that lapsed.
        self._seq = self._since = 0
        # The uid of each claim, and when it lapsed, newest first.
        self._found: dict[str, deque[tuple[str, int]]] = {}

    def look(self, db: Database, since: int) -> None:
        """Find the claims that lapsed after an instant, and since the last look."""
        self._since = since
        newest = db.sql("SELECT seq, at FROM journal ORDER BY seq DESC LIMIT 1").fetchone()
        if newest is None or newest[0] == self._seq:
            return
        seq, at = newest
        first = max(since, at - _WEEK)
        for agent, uid, at in db.sql(_LAPSED, (self._seq or journal.seq_before(db, first), seq, first)).fetchall():
            self._found.setdefault(agent, deque(maxlen=MOST)).appendleft((uid, at))
        self._seq = seq

    @property
    def agents(self) -> Collection[str]:
        """The agents whose claims have lapsed."""
        return self._found.keys()

    def of(self, db: Database, agent: str, heard_at: int, seen_at: int) -> tuple[LapsedClaim, ...]:
        """Return those of an agent that lapsed without a word from it afterwards, the open ones first.

        Args:
            db: the database.
            agent: the agent.
            heard_at: when it was last heard.
            seen_at: when the human said last that all was seen.
        """
        claims = self._found.get(agent, ())
        found = []
        for uid, at in claims:
            claim = task_records.find(db, uid) if at > heard_at and at >= self._since else None
            if claim is None or claim.state != "lapsed":
                continue
            if (task := list_pages.line(db, claim.task_uid)) is not None:
                is_seen = at <= seen_at
                is_open = not is_seen and _is_free(db, claim, task)
                found.append(LapsedClaim(task, at, is_open, claim.lease, is_seen))
        return tuple(sorted(found, key=lambda one: not one.is_open))


def _is_free(db: Database, claim: Claim, task: TaskLine) -> bool:
    """Return whether a task is as the end of its claim has left it."""
    last = task_records.last_of_task(db, task.uid)
    is_last = last is not None and last.uid == claim.uid
    return is_last and task.status == "pending" and not task.deleted and task.agent == claim.was_agent


def of_gone_agents(db: Database, members: Iterable[Member], now: int, grace: int) -> dict[str, LeftTask]:
    """Return the tasks in progress whose agent is gone, by uid; for `grace` see `Member.has_left`."""
    gone = {one.name: one for one in members if one.task is not None and one.has_left(now, grace)}
    return {uid: LeftTask(agent, gone[agent].left_at) for uid, agent in _tasks_of(db, gone.keys()).items()}


def of_lapsed_claims(members: Iterable[Member], now: int, grace: int) -> dict[str, LeftTask]:
    """Return the tasks that are pending again since a claim on them lapsed, by uid; `grace`: see `Member.is_quiet`."""
    return {
        claim.task.uid: _lapsed(member, claim, is_quiet=member.is_quiet(now, grace) or member.state == STOPPED)
        for member in members
        for claim in member.lapsed
        if claim.is_open
    }


def _lapsed(member: Member, claim: LapsedClaim, *, is_quiet: bool) -> LeftTask:
    is_gone = not member.is_there
    at = member.left_at if is_gone or is_quiet else claim.at
    return LeftTask(member.name, at, is_gone=is_gone, has_lapsed=True, is_quiet=is_quiet and not is_gone)


def of_stuck_agents(db: Database, members: Iterable[Member]) -> dict[str, StuckTask]:
    """Return the tasks in progress whose agent is stuck, or whose agent's process is suspended, by uid."""
    why = {member.name: _why_stuck(member) for member in members if member.task is not None and not member.paused}
    stuck = {name: text for name, text in why.items() if text}
    return {uid: StuckTask(agent, stuck[agent]) for uid, agent in _tasks_of(db, stuck.keys()).items()}


def _why_stuck(member: Member) -> str:
    """Return why an agent that is there does not go on; empty where it does, or waits for the human."""
    if member.state == STOPPED:
        return "suspended"
    is_stuck = member.is_there and member.stuck is not None and member.stuck.cause not in (None, "human")
    return member.stuck.text if is_stuck and member.stuck is not None else ""


def _tasks_of(db: Database, agents: Collection[str]) -> dict[str, str]:
    """Return the tasks in progress of some agents, each with the agent."""
    return {task.uid: task.who for task in activity.in_progress(db) if task.who in agents} if agents else {}
