"""Every agent as its supervisor sees it: its state and since when, its task, tool, last word, activity and costs.

It covers agents of the channel and sessions of agent programs (docs: protocol, section 10). The journal is never read
whole: agents are found by steps in its index on (actor, seq), and an agent's last words among its newest few entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tui_tasks.core import connections
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, slot
from tui_tasks.core.read import asks
from tui_tasks.core.read.agents import activity, agents, sessions
from tui_tasks.core.read.agents.agents import Word
from tui_tasks.core.read.agents.sessions import GONE, Seen
from tui_tasks.core.read.pages.pages import TaskLine
from tui_tasks.core.schema.tables.agents import AgentRow
from tui_tasks.core.schema.tables.journal import JournalRow
from tui_tasks.core.session_snapshots import AgentSession, Stuck
from tui_tasks.core.snapshots import Ask

MINUTE: Final = 60_000_000
PULSE_MINUTES: Final = 12

J = JournalRow
_NEWEST = Statement(J.select(J.at, J.kind).where(J.actor == slot("actor")).order_by(J.seq.desc()).limit(slot("limit")))
_PAUSED = Statement(AgentRow.select(AgentRow.uid, AgentRow.message).where(AgentRow.paused == SQL("1")))
# The kinds of a session's own entries by which it enters a state.
_BEGINS: Final = {
    "working": frozenset({"session.prompted"}),
    "idle": frozenset({"session.idle", "session.started"}),
    "failed": frozenset({"session.failed"}),
    "interrupted": frozenset({"session.interrupted"}),
}


class Told(msgspec.Struct, frozen=True, gc=False):
    """What an agent's newest entries say. `seq` is the newest; `pulse` counts entries per minute up to that one's."""

    seq: int
    at: int
    word: Word | None
    began: dict[str, int]
    pulse: tuple[int, ...]


class Member(msgspec.Struct, frozen=True, gc=False):
    """An agent and what it is doing.

    `state` is `waiting`, `failed`, `stuck`, `interrupted`, `paused`, `working`, `idle` or `gone`; `since` is when that
    began, None if unknown. `session` is None for an agent on the channel. `ask` is the question that it waits for a
    person to answer; `task` the task in progress that it touched last; `last_seen` the last sign of it. `pulse` counts
    its signs per minute up to that of `last_seen`, oldest first. `projects` are those of its session, or of its
    connections to the channel.
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
    told: Told
    projects: tuple[str, ...] = ()

    @property
    def word(self) -> Word | None:
        """Return what it said or did last."""
        return self.told.word


def paused(db: Database) -> dict[str, str]:
    """Return the agents that the human has paused, each with the human's message."""
    return dict(db.all(_PAUSED))


def everyone(db: Database, since: int, known: Iterable[Member] = (), *, knows_presence: bool = True) -> list[Member]:
    """Return every agent, except those last heard before an instant that are gone and have left nothing open.

    Of the agents in `known` only what is new is read. `knows_presence`: whether it is known who is connected to the
    channel; otherwise an agent's state follows from what it has open.
    """
    told_before = {member.name: member.told for member in known}
    found = _Found(db, since, knows_presence=knows_presence)
    members = []
    for name in sorted(found.names()):
        seq, at = found.speakers.get(name, (0, 0))
        told = told_before.get(name)
        if told is None or told.seq != seq:
            told = _read_newest(db, name, seq, at)
        member = found.member(name, told)
        is_left = member.task is not None or member.ask is not None or member.paused
        is_there = member.state != GONE if knows_presence else member.session is not None and member.state != GONE
        if is_there or is_left or member.last_seen >= since:
            members.append(member)
    return members


class _Found:
    """What is read for all agents at once."""

    def __init__(self, db: Database, since: int, *, knows_presence: bool) -> None:
        self._knows_presence = knows_presence
        self.speakers = {name: (seq, at) for name, seq, at in agents.speakers(db)}
        self._db = db
        self._sessions = {seen.session.uid: seen for seen in sessions.everyone(db, since)}
        self._connected: dict[str, int | None] = {}
        self._projects: dict[str, set[str]] = {}
        for one in connections.everyone(db):
            if one.project is not None:
                self._projects.setdefault(one.agent, set()).add(one.project)
            is_open = one.closed_at is None or self._connected.get(one.agent, 0) is None
            self._connected[one.agent] = None if is_open else one.closed_at
        self._paused = paused(db)
        self._tasks = agents.working(db)
        self._stuck = {one.uid: one for one in activity.stuck_now(db)}
        self._asks: dict[str, Ask] = {ask.agent: ask for ask in asks.open_asks(db)}

    def names(self) -> set[str]:
        return {*self.speakers, *self._sessions, *self._connected, *self._paused}

    def member(self, name: str, told: Told) -> Member:
        seen = self._sessions.get(name)
        ask, task = self._asks.get(name), self._tasks.get(name)
        stuck = self._stuck.get(name)
        state = seen.state if seen is not None else self._state_on_channel(name, ask, task)
        if name in self._paused:
            state = "paused"
        elif state in ("working", "idle") and stuck is not None and stuck.cause != "human":
            state = "stuck"
        at = seen.activity.last_seen if seen is not None else max(told.at, self._connected.get(name) or 0)
        waits = seen.waiting_for if seen is not None else "question" if ask is not None else None
        return Member(
            name=name,
            state=state,
            since=self._since(state, name, told),
            last_seen=at,
            session=seen.session if seen is not None else None,
            waiting_for=waits,
            ask=ask,
            task=task,
            tool=seen.activity.tool if seen is not None else None,
            tool_since=seen.activity.tool_since if seen is not None else None,
            paused=name in self._paused,
            message=self._paused.get(name, ""),
            stuck=stuck,
            pulse=tuple(seen.activity.pulse) if seen is not None else told.pulse,
            told=told,
            projects=self._projects_of(name, seen),
        )

    def _projects_of(self, name: str, seen: Seen | None) -> tuple[str, ...]:
        if seen is not None:
            return (seen.session.project,) if seen.session.project else ()
        return tuple(sorted(self._projects.get(name, ())))

    def _state_on_channel(self, name: str, ask: Ask | None, task: TaskLine | None) -> str:
        if self._knows_presence and self._connected.get(name, 0) is not None:
            return GONE
        return "waiting" if ask is not None else "working" if task is not None else "idle"

    def _since(self, state: str, name: str, told: Told) -> int | None:
        """Return since when an agent is in a state, in microseconds; None if that is unknown."""
        seen, ask, task = self._sessions.get(name), self._asks.get(name), self._tasks.get(name)
        stuck = self._stuck.get(name)
        if state == "waiting" and ask is not None:
            return ask.opened_at
        if state == "stuck" and stuck is not None:
            return stuck.since
        if state == "paused":
            return None
        if state == GONE:
            ended = seen.session.ended_at if seen is not None else self._connected.get(name)
            return ended or told.at or None
        if seen is not None:
            return told.began.get(state) or seen.session.started_at
        return (task.started_at if state == "working" and task is not None else None) or told.at or None


def _read_newest(db: Database, name: str, seq: int, at: int) -> Told:
    newest: list[Any] = db.all(_NEWEST, actor=name, limit=agents.LOOKED_AT)
    began: dict[str, int] = {}
    counts = [0] * PULSE_MINUTES
    for when, kind in newest:
        for state, kinds in _BEGINS.items():
            if kind in kinds:
                began.setdefault(state, when)
        minutes = at // MINUTE - when // MINUTE
        if 0 <= minutes < PULSE_MINUTES:
            counts[-1 - minutes] += 1
    return Told(seq, at, next(iter(agents.words(db, name, 1)), None), began, tuple(counts))


def pulse_at(member: Member, now: int, minutes: int) -> list[int]:
    """Return how often an agent was heard in each of the last minutes, oldest first, the current one included."""
    later = now // MINUTE - member.last_seen // MINUTE
    counts = [*member.pulse, *[0] * max(0, min(later, minutes))]
    return ([0] * minutes + counts)[-minutes:]
