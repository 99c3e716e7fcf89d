"""Every agent as its supervisor sees it: its state and since when, its task, tool, last word, pulse and costs.

It covers agents of the channel and sessions of agent programs (docs: protocol, section 10). The journal is never read
whole: agents are found by steps in its index on (actor, seq), and an agent's last words among its newest few entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import ask_queries, work_queries, work_text
from tui_tasks.core.read.agents import agent_states, last_words, session_queries
from tui_tasks.core.read.agents.agent_states import LapsedClaim, LapsedClaims, LeftTask
from tui_tasks.core.read.agents.last_words import NewestEntries, Word, read_newest
from tui_tasks.core.read.agents.session_queries import GONE, STOPPED, AgentSession, Seen, Stuck
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.work_text import FailedWork
from tui_tasks.core.schema.agent_tables import AgentRow
from tui_tasks.core.unjournaled import connections, local_values
from tui_tasks.core.unjournaled.connections import AgentConnection
from tui_tasks.text.times import DAY, MINUTE

_PAUSED = Statement(lambda: AgentRow.select(AgentRow.uid, AgentRow.message).where(AgentRow.paused == SQL("1")))


class AgentView(msgspec.Struct, frozen=True, gc=False):
    """An agent and what it is doing.

    `state` is `waiting`, `failed`, `stuck`, `stopped`, `interrupted`, `paused`, `working`, `idle`, `ended` or `gone`;
    `since` is when that began, None if unknown. One has `ended` while its work is read or started again, which
    `between` says. `session` is None for an agent on the channel. `ask` is the oldest of the `questions`, a number,
    that it waits for a person to answer; `task` the task in progress that it touched last; `last_seen` the last sign of
    it. `pulse` counts its signs per minute up to that of `last_seen`, oldest first. `projects` are those of its
    session, or of its connections to the channel. `is_there`: its session has not ended or it has just `ended`, or it
    is connected to the channel.
    `calls_alone`: it has neither session nor connection, as it makes single calls from a shell. `no_task`: why its last
    prompt became no task. `near`: the limit that it is near to, for people. `goes_on`: it asks, and works on at
    its task. `lapsed`: its claims that lapsed, with nothing heard of it since. `left_undone`: it went while it waited
    for an answer, or others have changed since the task that it had not ended. `failed_work`: that on which the human
    started it, where that has failed and is not seen yet; `failed_task` its task, or that of the prompt whose turn has
    failed. `to_review`: the task of its work
    that waits for review. `tool_target`: what the running tool works on.
    """

    name: str
    state: str
    since: int | None
    last_seen: int
    session: AgentSession | None
    waiting_for: str | None
    ask: Ask | None
    task: TaskLine | None
    tool: str | None
    tool_since: int | None
    paused: bool
    message: str
    stuck: Stuck | None
    pulse: tuple[int, ...]
    newest: NewestEntries
    projects: tuple[str, ...] = ()
    is_there: bool = True
    calls_alone: bool = False
    no_task: str | None = None
    questions: int = 0
    near: str | None = None
    goes_on: bool = False
    lapsed: tuple[LapsedClaim, ...] = ()
    left_undone: bool = False
    failed_work: FailedWork | None = None
    failed_task: TaskLine | None = None
    to_review: TaskLine | None = None
    between: str = ""
    tool_target: str | None = None

    @property
    def tool_use(self) -> str:
        """Return the running tool with what it works on; empty without one."""
        return " ".join(filter(None, (self.tool, self.tool_target)))

    @property
    def is_plain(self) -> bool:
        """Return whether it has only made single calls, is not there, and has nothing open."""
        is_gone = self.calls_alone and not self.is_there and self.state == GONE
        return is_gone and self.task is None and self.ask is None and not self.lapsed and self.near is None

    @property
    def word(self) -> Word | None:
        """Return what it said or did last."""
        return self.newest.word

    @property
    def lapsed_claim(self) -> LapsedClaim | None:
        """Return its lapsed claim that has left a task to nobody, which the human has not seen."""
        return next((claim for claim in self.lapsed if claim.is_open), None)

    @property
    def refused_claim(self) -> LapsedClaim | None:
        """Return its lapsed claim, as `lapsed_claim`, though it makes requests since: what it writes about the task is
        refused. None where it has another task.
        """
        if not self.is_there or self.session is not None or self.task is not None:
            return None
        return next((one for one in self.lapsed if one.is_open and self.last_seen > one.at), None)

    @property
    def lapsed_task(self) -> TaskLine | None:
        """Return the task of that claim."""
        return self.lapsed_claim.task if self.lapsed_claim is not None else None

    @property
    def last_task(self) -> TaskLine | None:
        """Return the task at which it failed, else that in progress, else the one that its lapsed claim has left, else
        the one of its work to review.
        """
        return self.failed_task or self.task or self.lapsed_task or self.to_review

    @property
    def left_at(self) -> int:
        """Return when it was last there, if it has left; else when it was last heard. In microseconds."""
        return (self.session.ended_at if self.session is not None else None) or self.last_seen


class LastLook:
    """What was read of the journal at the last look: who wrote when, and which claims have lapsed."""

    def __init__(self) -> None:
        self.speakers = last_words.Speakers()
        self.lapsed = LapsedClaims()
        self._unfinished: dict[str, tuple[int, str | None]] = {}

    def unfinished_task(self, db: Database, name: str, newest: int) -> str | None:
        """Return what `last_words.unfinished_task` does; `newest` is the seq of the agent's newest entry."""
        if (known := self._unfinished.get(name)) is None or known[0] != newest:
            known = self._unfinished[name] = newest, last_words.unfinished_task(db, name)
        return known[1]


def paused(db: Database) -> dict[str, str]:
    """Return the agents that the human has paused, each with the human's message."""
    return dict(db.all(_PAUSED))


def everyone(
    db: Database,
    since: int,
    known: Iterable[AgentView] = (),
    *,
    last: LastLook | None = None,
    seen_at: int = 0,
    past: int | None = None,
    now: int | None = None,
) -> list[AgentView]:
    """Return every agent, except those last heard before an instant that are gone and have left nothing open.

    Of the agents in `known`, and since the `last` look, only what is new is read. `seen_at`: when the human said last
    that all was seen. `past`: the instant of the past that `db` shows, at which it is known only of the last connection
    of an agent whether it had ended; otherwise an agent's state follows from what it had open. `now`: by which an agent
    has just ended; None: none has.
    """
    before = {member.name: member for member in known}
    seen = _Found(db, since, last or LastLook(), seen_at, past=past, now=now)
    members = []
    for name in sorted(seen.names(since)):
        was = before.get(name)
        if was is None or not seen.is_past(was):
            seq, at = seen.speakers.get(name, (0, 0))
            newest = was.newest if was is not None and was.newest.seq == seq else read_newest(db, name, seq, at)
            was = seen.member(name, newest)
        members.append(was)
    return members


def left_now(db: Database, now: int, grace: int) -> dict[str, LeftTask]:
    """Return the tasks that agents have left, for a process that does not follow the agents."""
    members = everyone(db, now - DAY, seen_at=local_values.seen_at(db), now=now)
    return agent_states.of_lapsed_claims(members, now, grace) | agent_states.of_gone_agents(db, members, now, grace)


class _Found:
    """What is read for all agents at once."""

    def __init__(
        self, db: Database, since: int, last: LastLook, seen_at: int, *, past: int | None, now: int | None
    ) -> None:
        self._past = past
        self._seen_at = seen_at
        self.speakers = last.speakers.look(db)
        self._db = db
        self._sessions = {seen.session.uid: seen for seen in session_queries.everyone(db, since)}
        # Read between the sessions and what is ready: a work that is read meanwhile is in one of them.
        self._between = work_text.between(db, now) if now is not None else {}
        had_ended = None if past is None else lambda one: self._had_ended(one, past)
        self._connected = connections.Connected(db, had_ended)
        self._paused = paused(db)
        # Who waits is not recorded for the past.
        self._signs = connections.signs(db) if past is None else {}
        self._near = work_text.near_limits(db)
        self._ready = {one.agent: one.task_uid for one in work_queries.ready(db)}
        self._failed = {one.agent: one for one in work_text.failed(db) if one.at > seen_at}
        for name in (self._failed.keys() | self._ready.keys()) - self._sessions.keys():
            if (ended := session_queries.seen(db, name)) is not None:
                self._sessions[name] = ended
        last.lapsed.look(db, since)
        self._last = last
        self._tasks = last_words.at_work(db)
        self._stuck = {one.uid: one for one in last_words.stuck_now(db)}
        self._open_asks = ask_queries.open_by_agent(db)
        self._asks: dict[str, Ask] = {name: asks[0] for name, asks in self._open_asks.items()}
        # The agents of which more is known than what they wrote: of many, few.
        self._known = {*self._sessions, *self._connected.agents, *self._paused, *self._signs, *self._near}
        self._known |= {*self._tasks, *self._stuck, *self._open_asks, *last.lapsed.agents}
        self._known |= {*self._failed, *self._ready}

    def names(self, since: int) -> Iterator[str]:
        """Yield the agents that are there, have something open, or were heard since an instant."""
        for name, (_, at) in self.speakers.items():
            if at >= since and name not in self._known:
                yield name
        for name in self._known & {*self.speakers, *self._sessions, *self._connected.agents, *self._paused}:
            is_open = any(name in each for each in (self._tasks, self._asks, self._paused, self._failed, self._ready))
            is_there = self._is_there(name) and (self._past is None or name in self._sessions)
            if is_open or is_there or self._last_seen(name) >= since:
                yield name

    def is_past(self, was: AgentView) -> bool:
        """Return whether an agent has made single calls alone, and has done nothing since it was read."""
        return (
            was.is_plain
            and was.name not in self._known
            and self.speakers.get(was.name) == (was.newest.seq, was.last_seen)
        )

    def _is_there(self, name: str) -> bool:
        seen = self._sessions.get(name)
        if seen is not None:
            return seen.session.state != GONE
        return not self._connected.has_none(name)

    def _had_ended(self, one: AgentConnection, past: int) -> bool:
        """Return whether a connection had ended by an instant of the past, and nothing was heard since."""
        return one.closed_at is not None and self.speakers.get(one.agent, (0, 0))[1] <= one.closed_at <= past

    def _last_seen(self, name: str) -> int:
        seen = self._sessions.get(name)
        if seen is not None:
            return seen.activity.last_seen
        sign = self._signs.get(name)
        written = self.speakers.get(name, (0, 0))[1]
        return max(written, self._connected.closed_at(name) or 0, sign.at if sign is not None else 0)

    def member(self, name: str, newest: NewestEntries) -> AgentView:
        seen = self._sessions.get(name)
        ask, task = self._asks.get(name), self._tasks.get(name)
        stuck = self._stuck_now(name, newest)
        reported = seen.state if seen is not None else self._state_on_channel(name, ask, task)
        failed_work = self._failed.get(name) if reported in (GONE, "failed") else None
        between = self._between.get(name, "") if reported == GONE else ""
        if failed_work is not None:
            state = "failed"
        elif between:
            state = "ended"
        else:
            state = self._state_now(name, reported, stuck)
        waits = seen.waiting_for if seen is not None else "question" if ask is not None else None
        return AgentView(
            name=name,
            state=state,
            since=self._since(state, name, newest),
            last_seen=self._last_seen(name),
            session=seen.session if seen is not None else None,
            waiting_for=waits,
            ask=ask,
            task=task,
            tool=seen.activity.tool if seen is not None else None,
            tool_since=seen.activity.tool_since if seen is not None else None,
            tool_target=seen.activity.tool_target if seen is not None else None,
            paused=name in self._paused,
            message=self._paused.get(name, ""),
            stuck=stuck,
            pulse=tuple(seen.activity.pulse) if seen is not None else newest.pulse,
            newest=newest,
            projects=self._projects_of(name, seen),
            is_there=self._is_there(name) or bool(between),
            calls_alone=seen is None and name not in self._connected.agents,
            no_task=seen.activity.no_task if seen is not None else None,
            questions=len(self._open_asks.get(name, ())),
            near=self._near.get(name),
            goes_on=task is not None and self._goes_on(name, newest),
            lapsed=self._last.lapsed.of(self._db, name, self._heard_at(name, newest), self._seen_at),
            left_undone=state == GONE and task is None and self._has_left_undone(name, newest),
            failed_work=failed_work,
            to_review=list_pages.line(self._db, self._ready[name]) if name in self._ready else None,
            failed_task=self._failed_task(state, failed_work, seen),
            between=between,
        )

    def _state_now(self, name: str, reported: str, stuck: Stuck | None) -> str:
        """Return the state of an agent from the reported one: paused or stuck, unless its process is suspended."""
        if reported == STOPPED:
            return reported
        if name in self._paused:
            return "paused"
        is_stuck = reported in ("working", "idle") and stuck is not None and stuck.cause != "human"
        return "stuck" if is_stuck else reported

    def _failed_task(self, state: str, failed_work: FailedWork | None, seen: Seen | None) -> TaskLine | None:
        """Return the task of the work of an agent that has failed, or of the prompt whose turn has."""
        if failed_work is not None:
            return list_pages.line(self._db, failed_work.task)
        uid = seen.session.task if state == "failed" and seen is not None else None
        task = list_pages.line(self._db, uid) if uid is not None else None
        return task if task is not None and task.status == "failed" and not task.deleted else None

    def _heard_at(self, name: str, newest: NewestEntries) -> int:
        seen = self._sessions.get(name)
        return max(newest.at, self._connected.opened_at(name), seen.activity.last_seen if seen is not None else 0)

    def _has_left_undone(self, name: str, newest: NewestEntries) -> bool:
        """Return whether an agent that is gone waited for an answer, or the last task that it was at was changed by
        others since it was heard, and not done for it.
        """
        if (sign := self._signs.get(name)) is not None and sign.waits_for is not None:
            return True
        uid = self._last.unfinished_task(self._db, name, newest.seq) if newest.has_steps else None
        left = list_pages.line(self._db, uid) if uid is not None else None
        if left is None or left.updated_at <= self._heard_at(name, newest):
            return False
        return left.deleted or left.status != "done" or left.agent != name

    def _stuck_now(self, name: str, newest: NewestEntries) -> Stuck | None:
        """Return why an agent is recorded as stuck, unless it has given a sign since that ends it."""
        stuck = self._stuck.get(name)
        heard_at = max(self._last_seen(name), newest.at)
        return None if stuck is not None and stuck.has_ended(heard_at, newest.acted_at) else stuck

    def _goes_on(self, name: str, newest: NewestEntries) -> bool:
        """Return whether an agent works on though it asks."""
        asks, seen = self._open_asks.get(name, ()), self._sessions.get(name)
        if seen is None:
            return last_words.goes_on(asks, newest.acted_at, self._signs.get(name))
        return bool(asks) and session_queries.goes_on(seen, asks)

    def _projects_of(self, name: str, seen: Seen | None) -> tuple[str, ...]:
        if seen is not None:
            return (seen.session.project,) if seen.session.project else ()
        return self._connected.projects(name)

    def _state_on_channel(self, name: str, ask: Ask | None, task: TaskLine | None) -> str:
        if self._connected.has_none(name):
            return GONE
        if self._connected.stopped_since(name) is not None:
            return STOPPED
        return "waiting" if ask is not None else "working" if task is not None else "idle"

    def _since(self, state: str, name: str, newest: NewestEntries) -> int | None:
        """Return since when an agent is in a state, in microseconds; None if that is unknown."""
        seen, ask, task = self._sessions.get(name), self._asks.get(name), self._tasks.get(name)
        stuck = self._stuck_now(name, newest)
        if state == STOPPED:
            return seen.activity.stopped_at if seen is not None else self._connected.stopped_since(name)
        if state == "waiting" and ask is not None:
            return ask.opened_at
        if state == "stuck" and stuck is not None:
            return stuck.since
        if state == "paused":
            return None
        if state == "failed" and name in self._failed:
            return self._failed[name].at
        if state in (GONE, "ended"):
            ended = seen.session.ended_at if seen is not None else self._connected.closed_at(name)
            return ended or newest.at or None
        if seen is not None:
            return newest.began.get(state) or seen.session.started_at
        since = task.started_at if state == "working" and task is not None else None
        return since or max(newest.at, self._answered_at(newest.word)) or None

    def _answered_at(self, word: Word | None) -> int:
        """Return when the question was closed that an agent said last, until when it waited; 0 where it said none."""
        if word is None or not word.ask:
            return 0
        try:
            return ask_queries.ask(self._db, word.ask).answered_at or 0
        except NotFound:  # another database may have taken the place of this one
            return 0


def pulse_at(member: AgentView, now: int, minutes: int) -> list[int]:
    """Return how often an agent was heard in each of the last minutes, oldest first, the current one included."""
    later = now // MINUTE - member.last_seen // MINUTE
    counts = [*member.pulse, *[0] * max(0, min(later, minutes))]
    return ([0] * minutes + counts)[-minutes:]
