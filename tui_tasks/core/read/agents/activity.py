"""What agents work on, what each said last, and what they did, for `stuck_agents` to judge.

The cost is bounded: the journal is never read whole, and `stuck_agents` looks only at agents that have work or wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from tui_tasks.core import agent_names, vocab
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import Seen, Stuck
from tui_tasks.core.read.agents.stuck_agents import AgentActivity, Sign
from tui_tasks.core.read.pages.list_pages import LINE, TaskLine, read_line
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_queries import LIVE
from tui_tasks.core.schema.agent_tables import AgentRow, StuckRow
from tui_tasks.core.schema.job_tables import JobRow, RunRow
from tui_tasks.core.schema.tables import EdgeRow, JournalRow, ListRow, TaskRow, columns
from tui_tasks.core.snapshots import reader
from tui_tasks.core.unjournaled import connections

# How many of an agent's newest entries are searched for its last word.
LOOKED_AT: Final = 60
# How many tasks in progress of one list are looked at, and how many of each agent are read: the last touched ones.
MAX_ACTIVE: Final = 2_000
MAX_OF_AGENT: Final = 50

J = JournalRow


class Word(msgspec.Struct, frozen=True, gc=False):
    """What an agent said or did last.

    `kind` is logged, asked, status (then `text` is the new status), ran, or the kind of a journal entry. `task` is the
    uid of the task that it is about, `job` the name of the job that ran.
    """

    kind: str
    text: str
    task: str | None
    at: int
    job: str = ""


_NEWEST = Statement(
    lambda: (
        J.select(J.seq, J.at, J.kind, J.task, J.uid)
        .where(J.actor == slot("actor"))
        .order_by(J.seq.desc())
        .limit(slot("limit"))
    )
)
_NEW = Statement(lambda: J.select(J.new).where(J.seq == slot("seq")))
_JOB = Statement(
    lambda: JobRow.select(JobRow.name).join(RunRow, on=(RunRow.job_uid == JobRow.uid)).where(RunRow.uid == slot("run"))
)
_BUSY_LISTS = Statement(
    lambda: ListRow.select(ListRow.id).where((ListRow.deleted == SQL("0")) & (ListRow.in_progress > SQL("0")))
)
_ACTIVE = Statement(lambda: _newest_of_each_agent())


def _newest_of_each_agent() -> Any:
    active = (
        TaskRow.select(TaskRow.id, fn.COALESCE(TaskRow.agent, TaskRow.status_by).alias("who"), TaskRow.updated_at)
        .where(LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.status == SQL("'in_progress'")))
        .limit(slot("limit"))
    )
    place = fn.ROW_NUMBER().over(partition_by=[active.c.who], order_by=[active.c.updated_at.desc()])
    placed = TaskRow.select(active.c.id, place.alias("place")).from_(active)
    few = TaskRow.select(placed.c.id).from_(placed).where(placed.c.place <= slot("each"))
    return TaskRow.select(*LINE).where(TaskRow.id.in_(few))


_SPEAKERS = f"""{agent_names.ACTORS}
SELECT known.name, last.seq, last.at FROM known
JOIN journal AS last ON last.seq = (SELECT max(seq) FROM journal WHERE actor = known.name)
"""


_FIRST_AND_LAST = f"""{agent_names.ACTORS}
SELECT known.name, first.at, last.at FROM known
JOIN journal AS first ON first.seq = (SELECT min(seq) FROM journal WHERE actor = known.name)
JOIN journal AS last ON last.seq = (SELECT max(seq) FROM journal WHERE actor = known.name)
"""


class _Said(msgspec.Struct):
    message: str = ""
    question: str = ""
    status: str = ""
    outcome: str | None = None
    # The result of a run is a text; that of a task may be any JSON.
    result: Any = None

    @property
    def text(self) -> str:
        result = self.result if isinstance(self.result, str) else None
        return self.message or self.question or self.status or result or self.outcome or ""


_decode_message = msgspec.json.Decoder(_Said).decode
_WORDS: Final = {"task.logged": "logged", "ask.opened": "asked", "task.updated": "status", "run.finished": "ran"}


def speakers(db: Database) -> list[tuple[str, int, int]]:
    """Return every agent that has changed something: name, seq and instant of its last entry."""
    return [row for row in db.sql(_SPEAKERS).fetchall() if row[0] not in vocab.RESERVED_AGENTS]


_SPOKEN_SINCE: Final = """
SELECT actor, max(seq), at FROM journal NOT INDEXED WHERE seq > ? AND seq <= ? GROUP BY actor
"""
# More entries take longer to read than a step for each agent.
_FEW_ENTRIES: Final = 10_000


class Speakers:
    """The seq and the instant of the last entry of every agent that has changed something; a look reads what is new."""

    def __init__(self) -> None:
        self._seq = 0
        self._found: dict[str, tuple[int, int]] = {}

    def look(self, db: Database) -> Mapping[str, tuple[int, int]]:
        """Return them, by agent."""
        newest = journal.newest(db)
        if 0 < self._seq <= newest <= self._seq + _FEW_ENTRIES:
            rows = db.sql(_SPOKEN_SINCE, (self._seq, newest)).fetchall() if newest > self._seq else []
            self._found |= {name: (seq, at) for name, seq, at in rows if name not in vocab.RESERVED_AGENTS}
        else:
            self._found = {name: (seq, at) for name, seq, at in speakers(db)}
        self._seq = newest
        return self._found


def first_and_last(db: Database) -> dict[str, tuple[int, int]]:
    """Return the instants of the first and the last entry of every agent that has changed something."""
    rows = db.sql(_FIRST_AND_LAST).fetchall()
    return {name: (first, last) for name, first, last in rows if name not in vocab.RESERVED_AGENTS}


def in_progress(db: Database) -> Iterator[TaskLine]:
    """Yield the tasks in progress, of each agent at most `MAX_OF_AGENT` in each list, of which `MAX_ACTIVE` are looked
    at.
    """
    for (list_id,) in db.all(_BUSY_LISTS):
        yield from map(read_line, db.all(_ACTIVE, list=list_id, limit=MAX_ACTIVE, each=MAX_OF_AGENT))


def working(db: Database) -> dict[str, TaskLine]:
    """Return the task in progress of each agent, by agent name; of several the one that was touched last."""
    tasks: dict[str, TaskLine] = {}
    for task in in_progress(db):
        if task.who not in tasks or task.updated_at > tasks[task.who].updated_at:
            tasks[task.who] = task
    return {who: task for who, task in tasks.items() if who not in vocab.RESERVED_AGENTS}


def words(db: Database, name: str, limit: int) -> list[Word]:
    """Return what an agent said last, newest first: log entries, questions, statuses, runs that it finished.

    Without any of these among its newest entries, return the newest thing that it did.
    """
    return words_of(db, newest_entries(db, name), limit)


def newest_entries(db: Database, name: str) -> list[Any]:
    """Return seq, instant, kind, task and uid of an agent's newest entries, the newest first: `LOOKED_AT` at most."""
    newest: list[Any] = db.all(_NEWEST, actor=name, limit=LOOKED_AT)
    return newest


def words_of(db: Database, newest: Sequence[Any], limit: int) -> list[Word]:
    """Return what `words` does of an agent whose newest entries are known."""
    spoken: list[Word] = []
    for seq, at, kind, task, uid in newest:
        if len(spoken) == limit:
            break
        if kind not in _WORDS:
            continue
        try:
            entry = _decode_message(db.one(_NEW, seq=seq)[0] or "{}")
        except msgspec.DecodeError:
            continue
        if entry.text:
            job = _job_of(db, uid) if kind == "run.finished" else ""
            spoken.append(Word(_WORDS[kind], entry.text, task, at, job))
    return spoken or [Word(kind, "", task, at) for _, at, kind, task, _ in newest[:1]]


# Entries of a lease or a log are read past: an agent writes many of them at one task.
_OWN_STEPS: Final = """
SELECT task, kind, new FROM (SELECT seq, task, kind, new FROM journal WHERE actor = ? ORDER BY seq DESC LIMIT ?)
WHERE kind IN ('task.updated', 'task.deleted') ORDER BY seq DESC
"""
_STEPS_LOOKED_AT: Final = 2_000


def unfinished_task(db: Database, name: str) -> str | None:
    """Return the task (uid) that an agent was at, by its own last word on a status; None if it has ended that one."""
    for task, kind, new in db.sql(_OWN_STEPS, (name, _STEPS_LOOKED_AT)):
        if kind == "task.deleted":
            return None
        if (status := _new(new or "{}").status) is not None:
            return str(task) if status == "in_progress" else None
    return None


def _job_of(db: Database, run: str) -> str:
    """Return the name of a run's job; empty if that is not known."""
    row = db.one(_JOB, run=run)
    return str(row[0]) if row else ""


# How many of an agent's newest entries are read for its signs.
JUDGED_ENTRIES: Final = 200
_NOT_ENDED: Final = 2**62
MAX_WAITING: Final = 200
_MAX_TEXT: Final = 2_000

_NEWEST_DONE = Statement(
    lambda: (
        J.select(J.at, J.kind, J.task, J.new)
        .where(J.actor == slot("actor"))
        .order_by(J.seq.desc())
        .limit(slot("limit"))
    )
)
_PAUSED = Statement(lambda: AgentRow.select(AgentRow.uid).where(AgentRow.paused == SQL("1")))
_NOTED = Statement(lambda: StuckRow.select(*columns(StuckRow).values()))
_ON: Any = TaskRow.alias()
# Agents with a task that waits for a task in progress, and who works on that one.
_WAITING = Statement(
    lambda: (
        TaskRow.select(TaskRow.agent, fn.COALESCE(_ON.agent, _ON.status_by), _ON.updated_by)
        .join(EdgeRow, on=(EdgeRow.task_uid == TaskRow.uid))
        .join(_ON, on=(_ON.uid == EdgeRow.on_uid))
        .where(
            task_queries.LIVE
            & (TaskRow.status == SQL("'pending'"))
            & (TaskRow.waiting_on > SQL("0"))
            & TaskRow.agent.is_null(False)
            & (_ON.status == SQL("'in_progress'"))
            & (_ON.deleted == SQL("0"))
        )
        .order_by(TaskRow.priority, TaskRow.id)
        .limit(slot("limit"))
    )
)
_read_noted = reader(Stuck, StuckRow)


class _New(msgspec.Struct):
    """The fields of an entry's new values that are read here."""

    status: str | None = None
    tool: str = ""
    message: str = ""
    error: str = ""


_new = msgspec.json.Decoder(_New).decode
_IS_LIMIT: Final = re.compile(r"limit|overloaded|quota|too many requests|\b(?:429|529)\b", re.IGNORECASE)
_LEFT: Final = 24 * 3600 * 1_000_000
"""Microseconds of silence after which an agent without a connection has left."""
_FAILURES: Final = frozenset({"agent.refused", "tool.failed"})


def noted(db: Database) -> dict[str, Stuck]:
    """Return what was recorded last about each agent that was ever stuck, by agent name."""
    return {row[0]: _read_noted(row) for row in db.all(_NOTED)}


def stuck_now(db: Database) -> list[Stuck]:
    """Return the agents that are recorded as stuck, by name."""
    return sorted((one for one in noted(db).values() if one.cause is not None), key=lambda one: one.uid)


def elsewhere(db: Database) -> set[str]:
    """Return the agents of a server's database that are not known to be on this machine, and have not ended."""
    live = {one.uid: session_queries.process(one).machine for one in session_queries.live(db)}
    here = {name for name, machine in live.items() if machine == db.machine} | set(connections.connected_agents(db))
    ended = session_queries.names(db) - live.keys()
    return {name for name, _, _ in speakers(db)} - here - ended


def goes_on(asks: Sequence[Ask], acted_at: int, sign: connections.Sign | None) -> bool:
    """Return whether an agent of the channel goes on though its questions are open: it has a ticket for each, or has
    done something since it began to wait.

    Args:
        asks: its open questions, oldest first.
        acted_at: when it did something last, a renewed lease apart.
        sign: its last sign; without one, whether it waits follows from what it did.
    """
    if not asks:
        return False
    if sign is None:
        return acted_at > asks[-1].opened_at
    waits = any(ask.uid == sign.waits_for for ask in asks)
    return not waits or acted_at > (sign.waits_since or 0)


def of_agents(db: Database, now: int) -> list[AgentActivity]:
    """Return the activity of each agent that has something to do or waits for something.

    Left out are paused agents, those that are gone, and those that make single calls and have made none for a day.
    """
    paused = {name for (name,) in db.all(_PAUSED)}
    at_work = working(db).keys()
    asks_of = ask_queries.open_by_agent(db)
    waiting = _waiting(db, at_work)
    activities = []
    live = {one.session.uid: one for one in session_queries.everyone(db, _NOT_ENDED)}
    there = set(connections.connected_agents(db))
    gone = {one.agent for one in connections.everyone(db)} - there
    last_signs = connections.signs(db)
    for name in sorted((at_work | asks_of.keys() | waiting.keys() | live.keys()) - paused - vocab.RESERVED_AGENTS):
        if name in live:
            activities.append(_of_session(live[name], _signs(db, name), asks_of.get(name, [])))
            continue
        if name in gone or (name not in there and session_queries.find(db, name) is not None):
            continue
        signs = _signs(db, name)
        sign, acted_at = last_signs.get(name), max((one.at for one in signs if one.kind != "renew"), default=0)
        last_seen = max(signs[-1].at if signs else 0, sign.at if sign is not None else 0)
        activity = AgentActivity(agent=name, at_work=name in at_work, signs=signs, last_seen=last_seen)
        if name not in there and activity.last_seen < now - _LEFT:
            continue
        if name in asks_of and not (name in at_work and goes_on(asks_of[name], acted_at, sign)):
            activity = _asking(activity, asks_of[name][0])
        elif name in waiting:
            activity = msgspec.structs.replace(activity, waits_for=waiting[name], waits_since=activity.last_seen)
        activities.append(activity)
    return activities


def _of_session(seen: Seen, signs: tuple[Sign, ...], asks: list[Ask]) -> AgentActivity:
    """Return the activity of a session: its hooks tell which tool runs and whether its turn has ended."""
    at, is_running = seen.activity, seen.state == "working"
    tool, since = at.tool, at.tool_since or at.last_seen
    if tool is None and at.background:
        tool, since = "a background task", at.last_seen
    activity = AgentActivity(
        agent=seen.session.uid,
        at_work=is_running,
        signs=signs,
        last_seen=at.last_seen,
        tool=tool,
        tool_since=since,
        tool_times=tuple(at.tool_times.get(tool or "", ())),
    )
    if asks:
        return _asking(activity, asks[0])
    if seen.state == "failed" and _IS_LIMIT.search(message := seen.session.last_message or ""):
        about = next(iter(message.strip().splitlines()), "")[:_MAX_TEXT]
        return msgspec.structs.replace(activity, waits_for="limit", waits_since=at.last_seen, waits_about=about)
    return activity


def _asking(activity: AgentActivity, ask: Ask) -> AgentActivity:
    about = next(iter(ask.question[:_MAX_TEXT].strip().splitlines()), "")
    return msgspec.structs.replace(activity, waits_for="human", waits_since=ask.opened_at, waits_about=about)


def _waiting(db: Database, at_work: Iterable[str]) -> dict[str, str]:
    """Return the agents without a task in progress that wait for another agent's task, with that agent's name."""
    busy, waiting = set(at_work), dict[str, str]()
    for agent, other, touched_by in db.all(_WAITING, limit=MAX_WAITING):
        if agent not in busy and (whose := other or touched_by) != agent:
            waiting.setdefault(agent, whose)
    return waiting


def _signs(db: Database, name: str) -> tuple[Sign, ...]:
    rows = db.all(_NEWEST_DONE, actor=name, limit=JUDGED_ENTRIES)
    return tuple(sorted((_sign(*row) for row in rows), key=lambda sign: sign.at))


def _sign(at: int, kind: str, task: str | None, new: str | None) -> Sign:
    try:
        return _read_sign(at, kind, task, new)
    except msgspec.DecodeError:
        return Sign(at, "act")


def _read_sign(at: int, kind: str, task: str | None, new: str | None) -> Sign:
    if kind == "claim.extended":
        return Sign(at, "renew")
    if kind == "session.prompted":
        return Sign(at, "prompt")
    if kind == "task.updated" and task is not None and new and (status := _new(new).status) is not None:
        return Sign(at, _STEPS.get(status, "finish"), task)
    if kind in _FAILURES and new:
        latest = _new(new)
        return Sign(at, "fail", latest.tool, (latest.error or latest.message)[:_MAX_TEXT])
    return Sign(at, "act")


_STEPS: Final[dict[str, Any]] = {"in_progress": "start", "pending": "stop"}
