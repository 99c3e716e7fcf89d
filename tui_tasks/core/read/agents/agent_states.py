"""Which state an agent is in, in one word for people: from what its program or the channel reported, for how long it
was not heard, and what it has left. Screen and shell take it from here.

Left are tasks in progress by an agent that is gone, and those with a claim that has lapsed, of an agent that was not
heard since. Claims are found by the entries that say that they lapsed, among all that the system wrote lately. A
process that stays looks at each entry once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import last_words
from tui_tasks.core.read.agents.session_queries import BY_MACHINE, BY_PROCESS, PLACEHOLDER, STOPPED, AgentSession
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.read.work_queries import SILENT_AFTER
from tui_tasks.core.snapshots import Claim
from tui_tasks.text.times import MINUTE, WEEK, age, ago

if TYPE_CHECKING:
    from tui_tasks.core.read.agents.agent_views import AgentView

MOST: Final = 1_000
"""How many of one agent's claims are looked at, the newest ones."""
# What lapsed longer before the newest entry is not looked at.
_LOOKED_BACK: Final = WEEK
_LAPSED: Final = f"""
SELECT claim.agent, claim.uid, journal.at FROM journal JOIN claim ON claim.uid = journal.uid
WHERE journal.actor = '{vocab.SYSTEM}' AND journal.seq > ? AND journal.seq <= ?
AND journal.kind = 'claim.lapsed' AND journal.at >= ? ORDER BY journal.seq
"""


class LeftTask(msgspec.Struct, frozen=True, gc=False):
    """A task that an agent has left, or says nothing about: the agent, and since when, in microseconds.

    `agent_is`: `gone`; `quiet`: there, and not heard for long; `heard`, though its claim has lapsed. `has_lapsed`: the
    task is pending again; otherwise in progress.
    """

    agent: str
    at: int
    agent_is: Literal["gone", "quiet", "heard"] = "gone"
    has_lapsed: bool = False


class StuckTask(msgspec.Struct, frozen=True, gc=False):
    """A task in progress whose agent is there and does not go on: the agent, why, and since when if that is known."""

    agent: str
    why: str
    since: int | None = None


class LapsedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim that lapsed at an instant, in microseconds, as is its lease; `task` is as it is now.

    `is_open`: nobody has taken, closed or deleted the task since, and the human has not seen that it lapsed.
    """

    task: TaskLine
    at: int
    is_open: bool
    lease: int = 0


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
        first = max(since, at - _LOOKED_BACK)
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
                is_open = at > seen_at and _is_free(db, claim, task)
                found.append(LapsedClaim(task, at, is_open, claim.lease))
        return tuple(sorted(found, key=lambda one: not one.is_open))


def _is_free(db: Database, claim: Claim, task: TaskLine) -> bool:
    """Return whether a task is as the end of its claim has left it."""
    last = task_records.last_of_task(db, task.uid)
    is_last = last is not None and last.uid == claim.uid
    return is_last and task.status == "pending" and not task.deleted and task.agent == claim.was_agent


def has_left(member: AgentView, now: int, grace: int) -> bool:
    """Return whether an agent is gone. One that makes single calls is gone after `grace` microseconds of silence."""
    return not member.is_there and (not member.calls_alone or now - member.last_seen > grace)


def left_task(member: AgentView, now: int, grace: int) -> TaskLine | None:
    """Return the task that an agent has left as it went; None if it is there, or had none in progress."""
    if member.task is not None:
        return member.task if has_left(member, now, grace) else None
    return None if member.is_there else member.lapsed_task


def is_quiet(member: AgentView, now: int, grace: int) -> bool:
    """Return whether an agent of the channel was not heard for `grace` microseconds though it has a task, or since
    a claim of its lapsed: for the lease, and a minute at the least.
    """
    if not member.is_there or member.session is not None:
        return False
    silence = now - member.last_seen
    if member.task is not None:
        return silence > grace
    claim = member.lapsed_claim
    return claim is not None and silence >= min(max(claim.lease, MINUTE), grace)


def of_gone_agents(db: Database, members: Iterable[AgentView], now: int, grace: int) -> dict[str, LeftTask]:
    """Return the tasks in progress whose agent is gone, by uid, but for those on which work waits for review or is
    being merged, or another agent goes on; for `grace` see `has_left`.
    """
    gone = {
        one.name: one
        for one in members
        if one.task is not None and has_left(one, now, grace)
        if one.to_review is None or one.to_review.uid != one.task.uid
    }
    tasks = _tasks_of(db, gone.keys())
    works = work_queries.live(db) if tasks else []
    cared_for = {one.task_uid for one in works if one.state not in ("starting", "working") or one.agent not in gone}
    return {uid: LeftTask(agent, gone[agent].left_at) for uid, agent in tasks.items() if uid not in cared_for}


def of_lapsed_claims(members: Iterable[AgentView], now: int, grace: int) -> dict[str, LeftTask]:
    """Return the tasks that are pending again since a claim on them lapsed, by uid. For `grace` see `is_quiet`."""
    return {
        claim.task.uid: _lapsed(member, claim, is_quiet=is_quiet(member, now, grace) or member.state == STOPPED)
        for member in members
        for claim in member.lapsed
        if claim.is_open
    }


def _lapsed(member: AgentView, claim: LapsedClaim, *, is_quiet: bool) -> LeftTask:
    if member.is_there and not is_quiet:
        return LeftTask(member.name, claim.at, "heard", has_lapsed=True)
    return LeftTask(member.name, member.left_at, "quiet" if member.is_there else "gone", has_lapsed=True)


def of_stuck_agents(db: Database, members: Iterable[AgentView]) -> dict[str, StuckTask]:
    """Return the tasks in progress whose agent is stuck, or whose agent's process is suspended, by uid."""
    at_work = {member.name: member for member in members if member.task is not None and not member.paused}
    stuck = {name: found for name, one in at_work.items() if (found := _stuck(one)) is not None}
    return {uid: stuck[agent] for uid, agent in _tasks_of(db, stuck.keys()).items()}


def _stuck(member: AgentView) -> StuckTask | None:
    """Return why and since when an agent that is there does not go on; None where it does, or waits for the human."""
    if member.state == STOPPED:
        return StuckTask(member.name, "suspended", member.since)
    stuck = member.stuck
    if not member.is_there or stuck is None or stuck.cause in (None, "human") or not stuck.text:
        return None
    return StuckTask(member.name, stuck.text, stuck.since)


def _tasks_of(db: Database, agents: Collection[str]) -> dict[str, str]:
    """Return the tasks in progress of some agents, each with the agent."""
    return {task.uid: task.who for task in last_words.in_progress(db) if task.who in agents} if agents else {}


def state_of(member: AgentView, now: int, quiet_after: int) -> str:
    """Return an agent's state now, a key of `AGENT_LOOKS` of `text.glyphs`.

    Args:
        member: the agent.
        now: in microseconds, as the next.
        quiet_after: an agent of the channel that was not heard for so long is quiet. A session's program reports.
    """
    state = reported_state(member, now, quiet_after)
    # The agent of work that waits for review is not at work, unless a tool runs.
    is_ready = member.to_review is not None and member.tool is None
    if is_ready and state in ("working", "idle", "interrupted", "gone"):
        return "ready"
    if member.failed_work is None and left_task(member, now, quiet_after) is not None:
        return "left"
    if state in ("working", "idle") and is_quiet(member, now, quiet_after):
        return "quiet"
    if state == "idle" and member.refused_claim is not None:
        return "stuck"
    return "finished" if has_finished(member) else state


def left_text(left: LeftTask, who: str, now: int) -> str:
    """Return why nobody is at work on a task: `claude-1 gone 5m`, `claude-1 quiet 5m`, or that its claim has lapsed."""
    if left.agent_is != "heard":
        return f"{who} {left.agent_is} {age(left.at, now)}"
    return f"claim of {who} lapsed {ago(left.at, now)}"


def lapsed_text(member: AgentView, now: int) -> str:
    """Return `its claim on #8 lapsed 5m ago`; empty where none has."""
    claim = member.refused_claim or member.lapsed_claim
    return f"its claim on #{claim.task.number} lapsed {ago(claim.at, now)}" if claim is not None else ""


def reported_state(member: AgentView, now: int, quiet_after: int) -> str:
    """Return an agent's state without regard to its silence.

    One that asked about something else than its task, and has done something since, is `asking`: it works on. An agent
    that makes single calls from a shell is not connected between them. While it has a task or a question, it is gone
    only after a silence. One that is stuck is so whatever it asks.
    """
    if member.state == "waiting" and member.stuck is not None and member.stuck.cause not in (None, "human"):
        return "stuck"
    if member.state == "gone" and member.calls_alone and not has_left(member, now, quiet_after):
        state = "waiting" if member.ask is not None else "working" if member.task is not None else "gone"
    else:
        state = member.state
    return "asking" if state == "waiting" and member.goes_on else state


def began(member: AgentView, state: str, to_review: Iterable[tuple[Work, int]]) -> int | None:
    """Return since when an agent is in a state; the question of one that works on has an age of its own.

    `to_review`: the works that wait for review, each with since when.
    """
    if state == "stuck" and member.stuck is not None:
        return member.stuck.since
    if state == "stuck" and member.refused_claim is not None:
        return member.refused_claim.at
    if state == "ready":
        return next((since for work, since in to_review if work.agent == member.name), member.since)
    if state in ("left", "gone", "finished"):
        return member.left_at or None
    if state == "quiet":
        return member.last_seen
    return member.task.started_at if state == "asking" and member.task is not None else member.since


def trouble_since(member: AgentView) -> int | None:
    """Return since when an agent is stuck, has failed or is gone."""
    if member.stuck is not None and member.stuck.since is not None:
        return member.stuck.since
    if member.refused_claim is not None:
        return member.refused_claim.at
    return member.since if member.state == "failed" else member.left_at


def has_finished(member: AgentView) -> bool:
    """Return whether an agent that is gone has ended as it should: with no task, claim or question, none taken from it
    since, and not by the end of its machine, or of its process where its program reports its end.
    """
    session = member.session
    reports = session is not None and not session.session.startswith(PLACEHOLDER)
    is_lost = session is not None and session.ended_by in (BY_MACHINE, *((BY_PROCESS,) if reports else ()))
    has_open = member.task is not None or member.ask is not None or bool(member.lapsed) or member.left_undone
    return member.state == "gone" and not has_open and not is_lost


def is_over(member: AgentView, now: int, seen_at: int) -> bool:
    """Return whether an agent needs nobody any more: it is gone, and the human has seen its failure, or an hour passed.

    `seen_at`: when the human said last that all was seen.
    """
    if member.failed_work is not None:
        return not vocab.agent_failed(member.state, member.failed_work.at, seen_at, now, has_failed_work=True)
    if member.state == "failed":
        ended_at = member.session.ended_at if member.session is not None else None
        return not vocab.agent_failed(member.state, ended_at, seen_at, now)
    return member.state == "gone"


def is_starting(session: AgentSession | None) -> bool:
    """Return whether a program that was started here has reported nothing yet."""
    return session is not None and session.last_prompt is None and session.session.startswith(PLACEHOLDER)


def is_silent(session: AgentSession, now: int) -> bool:
    """Return whether it has reported nothing for long: it may ask whether to trust the folder."""
    return is_starting(session) and now - session.started_at >= SILENT_AFTER
