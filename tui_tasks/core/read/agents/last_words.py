"""The last words of agents: what each said or did last, which task it works on, and which are recorded as stuck.

The cost is bounded: the journal is never read whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from tui_tasks.core import agent_names, vocab
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents.session_queries import Stuck
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import LINE, TaskLine, read_line
from tui_tasks.core.read.tasks.task_queries import LIVE
from tui_tasks.core.schema.agent_tables import StuckRow
from tui_tasks.core.schema.job_tables import JobRow, RunRow
from tui_tasks.core.schema.tables import JournalRow, ListRow, TaskRow, columns
from tui_tasks.core.snapshots import reader
from tui_tasks.core.unjournaled import connections
from tui_tasks.text.times import MINUTE

# How many of an agent's newest entries are searched for its last word.
LOOKED_AT: Final = 60
# How many tasks in progress of one list are looked at, and how many of each agent are read: the last touched ones.
MAX_ACTIVE: Final = 2_000
MAX_OF_AGENT: Final = 50

PULSE_MINUTES: Final = 12
"""For so many minutes it is counted how often an agent was heard."""
# The kinds of a session's own entries by which it enters a state.
_BEGINS: Final = {
    "working": frozenset({"session.prompted"}),
    "idle": frozenset({"session.idle", "session.started"}),
    "failed": frozenset({"session.failed"}),
    "interrupted": frozenset({"session.interrupted"}),
}

J = JournalRow


class Word(msgspec.Struct, frozen=True, gc=False):
    """What an agent said or did last.

    `kind` is logged, asked, status (then `text` is the new status), ran, or the kind of a journal entry. `task` is the
    uid of the task that it is about, `job` the name of the job that ran, `ask` the uid of the question.
    """

    kind: str
    text: str
    task: str | None
    at: int
    job: str = ""
    ask: str = ""


class NewestEntries(msgspec.Struct, frozen=True, gc=False):
    """What an agent's newest entries say. `seq` is the newest; `pulse` counts entries per minute up to that one's;
    `acted_at` is the instant of the newest that does more than renew a lease; `has_steps`: it may have set a status.
    """

    seq: int
    at: int
    word: Word | None
    began: dict[str, int]
    pulse: tuple[int, ...]
    acted_at: int = 0
    has_steps: bool = False


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
    """Return the task in progress of each agent, by agent name; of several the one that was touched last.

    A task that a person has started in a shell is no work of its agent before that has touched it.
    """
    tasks: dict[str, TaskLine] = {}
    for task in in_progress(db):
        if (task.status_by, task.updated_by) == (vocab.SHELL, vocab.SHELL):
            continue
        if task.who not in tasks or task.updated_at > tasks[task.who].updated_at:
            tasks[task.who] = task
    return {who: task for who, task in tasks.items() if who not in vocab.RESERVED_AGENTS}


def at_work(db: Database) -> dict[str, TaskLine]:
    """Return the task in progress of each agent, as `working` does, and of the others in a race for one."""
    tasks = working(db)
    # Of those in a race one has the claim.
    for work in (one for works in work_queries.races(db).values() for one in works):
        is_at_work = work.state in ("starting", "working") and work.agent not in tasks
        if is_at_work and (task := list_pages.line(db, work.task_uid)) is not None:
            tasks[work.agent] = task
    return tasks


def words(db: Database, name: str, limit: int) -> list[Word]:
    """Return what an agent said last, newest first: log entries, questions, statuses, runs that it finished.

    Without any of these among its newest entries, return the newest thing that it did, but for messages to it.
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
            asked = uid if kind == "ask.opened" else ""
            spoken.append(Word(_WORDS[kind], entry.text, task, at, job, asked))
    # A message itself shows its state, and a heartbeat says nothing.
    others = (one for one in newest if not one[2].startswith("message.") and one[2] != vocab.HEARTBEAT)
    return spoken or [Word(kind, "", task, at) for _, at, kind, task, _ in islice(others, 1)]


def read_newest(db: Database, name: str, seq: int, at: int) -> NewestEntries:
    """Return what the newest entries of an agent say; `seq` and `at` are those of its newest one."""
    newest = newest_entries(db, name)
    began: dict[str, int] = {}
    counts = [0] * PULSE_MINUTES
    acted_at = max((when for _, when, kind, *_ in newest if kind != vocab.HEARTBEAT), default=0)
    for _, when, kind, *_ in newest:
        for state, kinds in _BEGINS.items():
            if kind in kinds:
                began.setdefault(state, when)
        minutes = at // MINUTE - when // MINUTE
        if 0 <= minutes < PULSE_MINUTES and kind != vocab.HEARTBEAT:
            counts[-1 - minutes] += 1
    word = next(iter(words_of(db, newest, 1)), None)
    has_steps = len(newest) == LOOKED_AT or any(kind == "task.updated" for _, _, kind, *_ in newest)
    return NewestEntries(seq, at, word, began, tuple(counts), acted_at, has_steps)


class _Step(msgspec.Struct):
    status: str | None = None


_step = msgspec.json.Decoder(_Step).decode
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
        if (status := _step(new or "{}").status) is not None:
            return str(task) if status == "in_progress" else None
    return None


def _job_of(db: Database, run: str) -> str:
    """Return the name of a run's job; empty if that is not known."""
    row = db.one(_JOB, run=run)
    return str(row[0]) if row else ""


_NOTED = Statement(lambda: StuckRow.select(*columns(StuckRow).values()))
_read_noted = reader(Stuck, StuckRow)


def noted(db: Database) -> dict[str, Stuck]:
    """Return what was recorded last about each agent that was ever stuck, by agent name."""
    return {row[0]: _read_noted(row) for row in db.all(_NOTED)}


def stuck_now(db: Database) -> list[Stuck]:
    """Return the agents that are recorded as stuck, by name."""
    return sorted((one for one in noted(db).values() if one.cause is not None), key=lambda one: one.uid)


def goes_on(asks: Sequence[Ask], acted_at: int, sign: connections.LastSign | None) -> bool:
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
