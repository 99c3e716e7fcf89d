"""Reads of sessions of agent programs (docs: protocol, section 10). Instants are microseconds, UTC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, Final

import msgspec

from tui_tasks.core.agent_snapshots import Ask, Process
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.read import ask_queries
from tui_tasks.core.schema.agent_tables import ActivityRow, SessionNameRow, SessionRow
from tui_tasks.core.schema.tables import JournalRow, columns
from tui_tasks.core.snapshots import reader


class AgentSession(msgspec.Struct, frozen=True, gc=False):
    """A session of an agent program. Its fields are described in `schema.agent_tables.SessionRow`.

    `state` is the one in the journal; `read.agents.session_queries` finds what the session is doing.
    """

    id: int
    uid: str
    program: str
    number: int
    session: str
    boot: str
    namespace: str
    pid: int
    born: str
    cwd: str | None
    project: str | None
    model: str | None
    mode: str | None
    state: str
    waiting_for: str | None
    last_prompt: str | None
    last_message: str | None
    task: str | None
    tokens: int | None
    cost_usd: float | None
    started_at: int
    ended_at: int | None
    ended_by: str | None


PROMPT_OF_WORK: Final = "Work on task #"
"""How the prompt begins with which `work` starts an agent."""
COMMENT_HEADS: Final = ("A comment on your work:", "Review of your work:")
"""The lines above one comment, and above several, that are sent to an agent."""
ADDED_BY_HUMAN: Final = "The person adds: "
"""What stands in it before the human's own words."""


def asked_for(session: AgentSession | None) -> str:
    """Return what a person asked of a session last, in their words; empty where they added none to a task."""
    return own_words(session.last_prompt) if session is not None else ""


def own_words(prompt: str | None) -> str:
    """Return what a person wrote in a prompt: all of it, or what they added to the prompt of `work`, or their comments
    on a work without the line above them; of what they added, the first paragraph.
    """
    is_added = prompt is not None and prompt.startswith(PROMPT_OF_WORK)
    words = (prompt or "").partition(f"\n\n{ADDED_BY_HUMAN}")[2] if is_added else prompt or ""
    for head in COMMENT_HEADS:
        if words.startswith(f"{head}\n\n"):
            words = words.removeprefix(head).lstrip()
    return words.partition("\n\n")[0] if is_added else words


class SessionActivity(msgspec.Struct, gc=False):
    """What a session is doing, between two entries about it; `news` are columns that the next entry writes.

    Its fields are described in `schema.agent_tables.ActivityRow`.
    """

    uid: str
    last_seen: int
    busy: bool = False
    tool: str | None = None
    tool_since: int | None = None
    tool_target: str | None = None  # what the tool works on: a file, a command, a search
    call: str | None = None
    turn: str | None = None
    background: list[str] = []
    request: str | None = None
    news: dict[str, Any] = {}
    tool_times: dict[str, list[int]] = {}  # microseconds that each tool took the last times
    pulse: list[int] = []  # how often it was heard, per minute up to that of `last_seen`, oldest first
    worked_at: int | None = None  # when it was last heard that its turn goes on
    failure: str | None = None  # the last error of its model's service in its turn
    record: dict[str, Any] = {}  # how far its program's transcript was read
    stopped_at: int | None = None  # when it was seen that its process is suspended
    no_task: str | None = None  # why its last prompt, or an item of its own list, became no task


class Stuck(msgspec.Struct, frozen=True, gc=False):
    """Whether an agent is stuck.

    Attributes:
        uid: the agent's name.
        cause: a kind of `stuck_causes.Cause`; None: it is not stuck.
        text: a line about the cause.
        since: when it became stuck, in microseconds since the epoch.
    """

    uid: str
    cause: str | None
    text: str
    since: int | None

    def has_ended(self, heard_at: int, acted_at: int) -> bool:
        """Return whether a sign of the agent has ended its silence; of one that renewed a lease alone, an act."""
        signs = {"silent": heard_at, "lease": acted_at}
        return self.cause in signs and self.since is not None and signs[self.cause] > self.since


GONE: Final = "gone"
STOPPED: Final = "stopped"
"""The state of an agent whose process is suspended, whatever it was doing."""
BY_REPORT: Final = "told"
"""`ended_by` of a session whose program reported its end."""
BY_ERROR: Final = "error"
"""`ended_by` of a session whose process ended by an error of its model's service."""

BY_PROCESS: Final = "process"
"""`ended_by` of a session whose process ended without a report."""
BY_MACHINE: Final = "machine"
"""`ended_by` of a session whose machine was not heard of."""

_ASKING_TOOLS: Final = ("__ask", "answer_of")
"""How the names of our tools end that wait for an answer, as a program has them."""

PLACEHOLDER: Final = "work:"
"""How the id of a session begins that we started, until its program has reported its own."""

_COLUMNS: Final = tuple(columns(SessionRow).values())
_ACTIVITY_COLUMNS: Final = tuple(columns(ActivityRow).values())
_read = reader(AgentSession, SessionRow)
_read_activity = reader(SessionActivity, ActivityRow)

_FIND = Statement(lambda: SessionRow.select(*_COLUMNS).where(SessionRow.uid == slot("uid")))
_SINCE = Statement(
    lambda: (
        SessionRow.select(*_COLUMNS)
        .where(SessionRow.ended_at.is_null() | (SessionRow.ended_at > slot("since")))
        .order_by(SessionRow.id)
    )
)
# Written as the index has it, so that SQLite uses it.
_IS_LIVE: Any = SessionRow.state != SQL("'gone'")
_LIVE = Statement(lambda: SessionRow.select(*_COLUMNS).where(_IS_LIVE).order_by(SessionRow.id))
_BY_MACHINE = Statement(
    lambda: SessionRow.select(*_COLUMNS).where(SessionRow.ended_by == SQL(f"'{BY_MACHINE}'")).order_by(SessionRow.id)
)
_IN_PROCESS = Statement(
    lambda: SessionRow.select(*_COLUMNS).where(_IS_LIVE & (SessionRow.pid == slot("pid"))).order_by(SessionRow.id)
)
_OF_PROCESS = Statement(
    lambda: SessionRow.select(*_COLUMNS).where(SessionRow.pid == slot("pid")).order_by(SessionRow.id)
)
_LAST_NUMBER = Statement(
    lambda: SessionRow.select(fn.IFNULL(fn.MAX(SessionRow.number), 0)).where(SessionRow.program == slot("program"))
)
_ACTIVITY = Statement(lambda: ActivityRow.select(*_ACTIVITY_COLUMNS).where(ActivityRow.uid == slot("uid")))
_ACTIVITIES = Statement(
    lambda: (
        ActivityRow.select(*_ACTIVITY_COLUMNS)
        .join(SessionRow, on=(SessionRow.uid == ActivityRow.uid))
        .where(SessionRow.ended_at.is_null() | (SessionRow.ended_at > slot("since")))
    )
)
_NAMED = Statement(
    lambda: SessionNameRow.select(SessionNameRow.agent, SessionNameRow.part).where(
        (SessionNameRow.program == slot("program")) & (SessionNameRow.session == slot("session"))
    )
)


_NAMES = Statement(lambda: SessionRow.select(SessionRow.uid))
_OF_KIND: Any = (JournalRow.actor == slot("agent")) & (JournalRow.kind == slot("kind"))
_FIRST_SEQ = Statement(lambda: JournalRow.select(fn.MIN(JournalRow.seq)).where(_OF_KIND))
_HOW_MANY = Statement(lambda: JournalRow.select(fn.COUNT(JournalRow.seq)).where(_OF_KIND))
_IS_CHANGE: Any = (JournalRow.entity == SQL("'session'")) & JournalRow.old.is_null(False)
_CHANGES = Statement(
    lambda: (
        JournalRow.select(JournalRow.old)
        .where((JournalRow.actor == slot("agent")) & _IS_CHANGE)
        .order_by(JournalRow.seq.desc())
    )
)


class _Before(msgspec.Struct):
    """What an entry about a session has changed, as it was before; None: not changed."""

    state: str = ""
    boot: str | None = None
    namespace: str | None = None
    pid: int | None = None
    born: str | None = None


_before = msgspec.json.Decoder(_Before).decode


class Seen(msgspec.Struct, frozen=True, gc=False):
    """A session as it is now: its row, and its activity since the last entry about it."""

    session: AgentSession
    activity: SessionActivity
    state: str
    waiting_for: str | None


def names(db: Database) -> frozenset[str]:
    """Return the names of the agents that are sessions of programs."""
    return frozenset(uid for (uid,) in db.all(_NAMES))


def find(db: Database, agent: str) -> AgentSession | None:
    """Return the session of an agent as the journal has it, or None."""
    row = db.one(_FIND, uid=agent)
    return _read(row) if row else None


def by_session(db: Database, program: str, session: str) -> tuple[str, str] | None:
    """Return the agent of a program's session id, and whether the id is its own, a former or a subagent's; or None."""
    row = db.one(_NAMED, program=program, session=session)
    return (row[0], row[1]) if row else None


def live(db: Database) -> list[AgentSession]:
    """Return the sessions that have not ended, oldest first."""
    return [_read(row) for row in db.all(_LIVE)]


def ended_by_others(db: Database) -> list[AgentSession]:
    """Return the sessions that ended because their machine was not heard of."""
    return [_read(row) for row in db.all(_BY_MACHINE)]


def live_here(db: Database) -> list[AgentSession]:
    """Return those of them that run on this machine."""
    return [one for one in live(db) if process(one).machine == db.machine]


def in_process(db: Database, pid: int) -> list[AgentSession]:
    """Return the sessions that have not ended and belong to a process of that number."""
    return [_read(row) for row in db.all(_IN_PROCESS, pid=pid)]


def of_process(db: Database, pid: int) -> list[AgentSession]:
    """Return the sessions, ended or not, of a process of that number, oldest first; none for 0 (unknown)."""
    return [_read(row) for row in db.all(_OF_PROCESS, pid=pid)] if pid else []


def without_id(db: Database, program: str, processes: Iterable[Process]) -> str | None:
    """Return the agent of a session that we started and that has not reported its id yet, by the first of some
    processes that has a session; None if that one's is another.
    """
    for process_ in processes:
        there = [one for one in in_process(db, process_.pid) if process(one) == process_] if process_.pid else []
        if there:
            mine = [one for one in there if one.program == program and one.session.startswith(PLACEHOLDER)]
            return mine[0].uid if mine else None
    return None


def process(session: AgentSession) -> Process:
    """Return the process of a session."""
    return Process(session.boot, session.namespace, session.pid, session.born)


def left_while_live(db: Database, session: AgentSession) -> Iterator[Process]:
    """Yield the former processes of a session that moved to another process without ending, newest first."""
    then = process(session)
    with closing(db.each(_CHANGES, agent=session.uid)) as entries:
        for (old,) in entries:
            before = _before(old)
            changed = {name: was for name in Process.__struct_fields__ if (was := getattr(before, name)) is not None}
            if not changed:
                continue
            then = msgspec.structs.replace(then, **changed)
            if before.state != GONE:
                yield then


def last_number(db: Database, program: str) -> int:
    """Return the number of the newest session of a program; 0 if there is none."""
    return int(db.one(_LAST_NUMBER, program=program)[0])


def activity(db: Database, agent: str) -> SessionActivity | None:
    """Return what a session is doing, or None."""
    row = db.one(_ACTIVITY, uid=agent)
    return _read_activity(row) if row else None


def first_folder(db: Database, agent: str) -> str | None:
    """Return the folder with which the session of an agent began; None: the journal does not go back to that."""
    seq = db.one(_FIRST_SEQ, agent=agent, kind="session.started")[0]
    folder: str | None = (journal.entry(db, seq).new or {}).get("cwd") if seq is not None else None
    return folder


def turns(db: Database, agent: str) -> int:
    """Return how many prompts an agent was given, as far as the journal goes back."""
    count: int = db.one(_HOW_MANY, agent=agent, kind="session.prompted")[0]
    return count


def open_asks_of(db: Database, agent: str) -> list[Ask]:
    """Return the questions that an agent waits for a person to answer, oldest first."""
    return [ask for ask in ask_queries.open_asks(db) if ask.agent == agent]


def seen(db: Database, agent: str) -> Seen | None:
    """Return a session as it is now."""
    row = db.one(_FIND, uid=agent)
    return _seen(_read(row), activity(db, agent), open_asks_of(db, agent)) if row else None


def everyone(db: Database, since: int = 0) -> list[Seen]:
    """Return the sessions as they are now, without those that ended before an instant; oldest first.

    One whose process is known to have ended has ended when it was last seen.
    """
    activities = {one.uid: one for one in map(_read_activity, db.all(_ACTIVITIES, since=since))}
    asks_of = ask_queries.open_by_agent(db)
    sessions = map(_read, db.all(_SINCE, since=since))
    return [
        _seen(
            one,
            activities.get(one.uid),
            asks_of.get(one.uid, []),
            ended=one.state != GONE and db.has_ended(process(one)),
        )
        for one in sessions
    ]


def current(db: Database) -> list[Seen]:
    """Return the sessions that have not ended as they are now, oldest first. Ended sessions do not add to the cost."""
    sessions = live(db)
    asks_of = ask_queries.open_by_agent(db) if sessions else {}
    return [_seen(one, activity(db, one.uid), asks_of.get(one.uid, [])) for one in sessions]


def _seen(session: AgentSession, at: SessionActivity | None, asks: list[Ask], *, ended: bool = False) -> Seen:
    at = at or SessionActivity(session.uid, session.ended_at or session.started_at)
    session = msgspec.structs.replace(session, **at.news)
    if ended:
        session = msgspec.structs.replace(session, state=GONE, ended_at=at.last_seen, ended_by=BY_PROCESS)
    if session.state == GONE:
        return Seen(session, at, "failed" if session.ended_by == BY_ERROR else GONE, None)
    if at.stopped_at is not None:
        return Seen(session, at, STOPPED, None)
    if asks:
        return Seen(session, at, "waiting", waiting_for(asks[-1]))
    is_at_work = at.busy or at.tool is not None
    # The question that it waited for was answered.
    is_at_work |= session.state == "waiting"
    return Seen(session, at, "working" if is_at_work else session.state, None)


def goes_on(seen: Seen, asks: Iterable[Ask]) -> bool:
    """Return whether a session's turn goes on though it asks: through the channel alone, which gave it a ticket."""
    at, is_asking = seen.activity, (seen.activity.tool or "").endswith(_ASKING_TOOLS)
    is_in_turn = seen.session.state == "working" and not is_asking
    return is_in_turn and all(ask.request is None and at.last_seen > ask.opened_at for ask in asks)


def waiting_for(ask: Ask) -> str:
    """Return what the agent that asked this waits for: `permission: TOOL`, `permission` or `question`."""
    request = ask.request or {}
    if request.get("kind") != "permission":
        return "question"
    return f"permission: {request['tool']}" if request.get("tool") else "permission"
