"""Connections to the channel: the process through which each agent makes requests, when it made one last, and those
that wait for an answer.

They are not in the journal, like the processes themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

import msgspec

from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import JOIN, SQL, Statement, slot
from tui_tasks.core.schema.agent_tables import ActivityRow, AskerRow, AskRow, SessionRow
from tui_tasks.core.schema.agent_tables import ConnectionRow as C

_IS: Any = (
    (C.agent == slot("agent"))
    & (C.boot == slot("boot"))
    & (C.namespace == slot("namespace"))
    & (C.pid == slot("pid"))
    & (C.born == slot("born"))
)
_ALL = Statement(
    lambda: C.select(
        C.agent, C.boot, C.namespace, C.pid, C.born, C.opened_at, C.closed_at, C.project, C.stopped_at
    ).order_by(C.opened_at, C.agent)
)
_CONNECTED = Statement(lambda: C.select(C.agent).where(C.closed_at.is_null()).distinct().order_by(C.agent))
_PUT = Statement(
    lambda: C.insert(
        {
            C.agent: slot("agent"),
            C.boot: slot("boot"),
            C.namespace: slot("namespace"),
            C.pid: slot("pid"),
            C.born: slot("born"),
            C.opened_at: slot("opened_at"),
            C.project: slot("project"),
        }
    )
)
_DROP = Statement(lambda: C.delete().where(_IS))
# Of an agent's closed connections only the last is kept.
_DROP_CLOSED = Statement(lambda: C.delete().where((C.agent == slot("agent")) & C.closed_at.is_null(False)))
_IS_OPEN = Statement(lambda: C.select(C.pid).where(_IS & C.closed_at.is_null()))
_SET_STOPPED = Statement(lambda: C.update({C.stopped_at: slot("at")}).where(_IS & C.closed_at.is_null()))
_CLOSE = Statement(lambda: C.update({C.closed_at: slot("at")}).where(_IS & C.closed_at.is_null()))
_ASKERS = Statement(
    lambda: (
        AskerRow.select(AskerRow.ask, AskerRow.boot, AskerRow.namespace, AskerRow.pid, AskerRow.born)
        .join(AskRow, on=(AskRow.uid == AskerRow.ask))
        .where(AskRow.state == SQL("'open'"))
    )
)
_PUT_ASKER = Statement(
    lambda: AskerRow.insert(
        {
            AskerRow.ask: slot("ask"),
            AskerRow.boot: slot("boot"),
            AskerRow.namespace: slot("namespace"),
            AskerRow.pid: slot("pid"),
            AskerRow.born: slot("born"),
        }
    )
)
# A session's row is written from what its hooks report.
_SIGNS = Statement(
    lambda: (
        ActivityRow.select(ActivityRow.uid, ActivityRow.last_seen, ActivityRow.request, ActivityRow.tool_since)
        .join(SessionRow, JOIN.LEFT_OUTER, on=(SessionRow.uid == ActivityRow.uid))
        .where(SessionRow.id.is_null())
    )
)
_PUT_SIGN: Final = """
INSERT INTO activity (uid, last_seen, busy, background, news)
SELECT ?1, ?2, 0, '[]', '{}' WHERE NOT EXISTS (SELECT 1 FROM session WHERE uid = ?1)
ON CONFLICT (uid) DO UPDATE SET last_seen = ?2
"""
_PUT_WAIT: Final = "UPDATE activity SET request = ?2, tool_since = ?3 WHERE uid = ?1"
_NOT_OF_SESSION: Final = " AND NOT EXISTS (SELECT 1 FROM session WHERE uid = ?1)"
_DROP_ASKER = Statement(lambda: AskerRow.delete().where(AskerRow.ask == slot("ask")))


class AgentConnection(msgspec.Struct, frozen=True, gc=False):
    """A process through which an agent makes, or made, requests.

    Attributes:
        agent: the agent.
        process: the process.
        opened_at: in microseconds since the epoch.
        closed_at: None while it is open.
        project: the project of the channel.
        stopped_at: when it was seen that the process is suspended; None if it is not.
    """

    agent: str
    process: Process
    opened_at: int
    closed_at: int | None
    project: str | None = None
    stopped_at: int | None = None


class LastSign(msgspec.Struct, frozen=True, gc=False):
    """The last sign of an agent of the channel, also a request that has changed nothing; in microseconds.

    Attributes:
        at: when it was.
        waits_for: the uid of the question to which the agent waits for the answer; None: it does not wait.
        waits_since: since when.
    """

    at: int
    waits_for: str | None = None
    waits_since: int | None = None


def stopped_since(open_connections: Iterable[AgentConnection]) -> int | None:
    """Return since when an agent is stopped: all processes of its open connections are suspended. None if it is not."""
    instants = [one.stopped_at for one in open_connections]
    known = [at for at in instants if at is not None]
    return max(known) if known and len(known) == len(instants) else None


def everyone(db: Database) -> list[AgentConnection]:
    """Return every open connection, and the last one of each agent without any, in the order in which they were
    opened.
    """
    rows = db.all(_ALL)
    return [AgentConnection(row[0], Process(*row[1:5]), *row[5:9]) for row in rows]


def as_known(db: Database) -> list[AgentConnection]:
    """Return what `everyone` does; a connection whose process is known to have ended is closed, at the agent's last
    sign.
    """
    found = everyone(db)
    ended = {one.process for one in found if one.closed_at is None and db.has_ended(one.process)}
    at = {agent: sign.at for agent, sign in signs(db).items()} if ended else {}
    return [
        msgspec.structs.replace(one, closed_at=max(one.opened_at, at.get(one.agent, 0)), stopped_at=None)
        if one.closed_at is None and one.process in ended
        else one
        for one in found
    ]


class Connected:
    """Which agents are connected to the channel, as far as one read of their connections tells."""

    def __init__(self, db: Database, had_ended: Callable[[AgentConnection], bool] | None = None) -> None:
        """Read the connections. `had_ended`: of the past, whether it is known that a connection had ended: only such
        ones count.
        """
        self._is_past = had_ended is not None
        # When the last connection was closed; None: one is open.
        self._closed_at: dict[str, int | None] = {}
        self._projects: dict[str, set[str]] = {}
        self._opened_at: dict[str, int] = {}
        open_connections: dict[str, list[AgentConnection]] = {}
        for one in as_known(db):
            if had_ended is not None and not had_ended(one):
                continue
            self._opened_at[one.agent] = one.opened_at
            if one.project is not None:
                self._projects.setdefault(one.agent, set()).add(one.project)
            is_open = one.closed_at is None or self._closed_at.get(one.agent, 0) is None
            self._closed_at[one.agent] = None if is_open else one.closed_at
            if one.closed_at is None:
                open_connections.setdefault(one.agent, []).append(one)
        self._stopped = {name: stopped_since(each) for name, each in open_connections.items()}

    @property
    def agents(self) -> Collection[str]:
        """The agents that have, or had, a connection."""
        return self._closed_at.keys()

    def has_none(self, name: str) -> bool:
        """Return whether an agent has no open connection; of the past, whether that is known."""
        if self._is_past:
            return name in self._closed_at
        return self._closed_at.get(name, 0) is not None

    def opened_at(self, name: str) -> int:
        """Return when an agent's last connection was opened; 0 without one."""
        return self._opened_at.get(name, 0)

    def closed_at(self, name: str) -> int | None:
        """Return when an agent's last connection was closed; None where one is open, or it had none."""
        return self._closed_at.get(name)

    def stopped_since(self, name: str) -> int | None:
        """Return since when the processes of an agent are suspended; None where they are not."""
        return self._stopped.get(name)

    def projects(self, name: str) -> tuple[str, ...]:
        """Return the projects of an agent's connections."""
        return tuple(sorted(self._projects.get(name, ())))


def connected_agents(db: Database) -> list[str]:
    """Return the names of the agents that have an open connection."""
    return [name for (name,) in db.all(_CONNECTED)]


def begin(db: Database, agent: str, process: Process, now: int, project: str | None = None) -> None:
    """Record that an agent makes requests through a process, in a project, within the open write transaction."""
    db.run(_DROP_CLOSED, {"agent": agent})
    db.run(_DROP, _parameters(agent, process))
    db.run(_PUT, {**_parameters(agent, process), "opened_at": now, "project": project})


def end(db: Database, agent: str, process: Process, now: int) -> None:
    """Record that a connection has ended, within the open write transaction; of several processes that find so, the
    first does.
    """
    if db.one(_IS_OPEN, **_parameters(agent, process)) is None:
        return
    db.run(_DROP_CLOSED, {"agent": agent})
    db.run(_CLOSE, {**_parameters(agent, process), "at": now})


def signs(db: Database) -> dict[str, LastSign]:
    """Return the last sign of each agent of the channel, as far as it is recorded."""
    return {row[0]: LastSign(*row[1:]) for row in db.all(_SIGNS)}


def put_sign(db: Database, agent: str, now: int) -> None:
    """Record that an agent of the channel made a request, within the open write transaction."""
    db.sql(_PUT_SIGN, (agent, now))


def put_wait(db: Database, agent: str, ask: str, now: int) -> None:
    """Record that an agent of the channel waits for the answer to a question, within the open write transaction."""
    put_sign(db, agent, now)
    db.sql(_PUT_WAIT + _NOT_OF_SESSION, (agent, ask, now))


def drop_wait(db: Database, agent: str, ask: str | None = None) -> None:
    """Record that it no longer waits for that question, or for any, within the open write transaction."""
    more = _NOT_OF_SESSION if ask is None else f"{_NOT_OF_SESSION} AND request = ?4"
    db.sql(_PUT_WAIT + more, (agent, None, None) if ask is None else (agent, None, None, ask))


def wait_for_other(db: Database, agent: str, ask: str, other: str) -> None:
    """Record that it waits for another question since it waited for that one, within the open write transaction."""
    db.sql(f"UPDATE activity SET request = ?3 WHERE uid = ?1 AND request = ?2{_NOT_OF_SESSION}", (agent, ask, other))


def set_stopped(db: Database, agent: str, process: Process, at: int | None) -> None:
    """Record that the process of an open connection is suspended, or is not, within the open write transaction."""
    db.run(_SET_STOPPED, {**_parameters(agent, process), "at": at})


def _parameters(agent: str, process: Process) -> dict[str, Any]:
    return {"agent": agent, **msgspec.structs.asdict(process)}


def askers(db: Database) -> list[tuple[str, Process]]:
    """Return the questions (uids) that a process waits for, each with the process."""
    return [(row[0], Process(*row[1:5])) for row in db.all(_ASKERS)]


def put_asker(db: Database, ask: str, process: Process) -> None:
    """Record which process waits for the answer to a question, within the write transaction that opened it."""
    db.run(_DROP_ASKER, {"ask": ask})
    db.run(_PUT_ASKER, {"ask": ask, **msgspec.structs.asdict(process)})


def drop_asker(db: Database, ask: str) -> None:
    """Delete the record of who waits for the answer to a question, within the open write transaction."""
    db.run(_DROP_ASKER, {"ask": ask})
