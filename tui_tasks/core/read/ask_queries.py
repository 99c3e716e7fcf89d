"""Reads of questions, requests of programs included; and the task that a question is about.

That is the task that it names, else the one on which its agent was at work when it asked, as the journal says. It
stays that task, whatever its agent does later; about a question whose entries were compacted away nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.schema.agent_tables import AskRow
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.schema.tables import columns
from tui_tasks.core.snapshots import reader
from tui_tasks.core.vocab import HUMAN, SHELL, SYSTEM

# How many of the newest questions are searched for a closed one, for which a hook waits no longer than it takes to tell
# the hook so.
_NEWEST: Final = 200
SHORT_ID: Final = 8
"""The fewest letters of its id that name a question; listings show so many."""

_COLUMNS = tuple(columns(AskRow).values())
_read = reader(Ask, AskRow)
_ASK = Statement(lambda: AskRow.select(*_COLUMNS).where(AskRow.uid == slot("uid")))
_COUNT_OPEN = Statement(
    lambda: AskRow.select(fn.COUNT(AskRow.id)).where((AskRow.state == SQL("'open'")) & (AskRow.agent == slot("agent")))
)
_COUNT_ALL = Statement(lambda: AskRow.select(fn.COUNT(AskRow.id)).where(AskRow.state == SQL("'open'")))
_OPEN_ASKS = Statement(lambda: AskRow.select(*_COLUMNS).where(AskRow.state == SQL("'open'")).order_by(AskRow.opened_at))
_OPEN_UIDS = Statement(lambda: AskRow.select(AskRow.uid).where(AskRow.state == SQL("'open'")))
_OLDEST_LOOKED_AT = AskRow.select(fn.MAX(AskRow.id) - _NEWEST)
_WAITING_AS = Statement(
    lambda: (
        AskRow.select(AskRow.uid)
        .where(
            ((AskRow.id > _OLDEST_LOOKED_AT) | (AskRow.state == SQL("'open'")))
            & (fn.json_extract(AskRow.request, "$.answer") == slot("name"))
        )
        .limit(2)
    )
)
_CLOSED = Statement(
    lambda: (
        AskRow.select(*_COLUMNS)
        .where(
            (AskRow.id > _OLDEST_LOOKED_AT)
            & (AskRow.state != SQL("'open'"))
            & ((AskRow.task_uid == slot("task")) | (AskRow.task_uid.is_null() & (AskRow.agent == slot("agent"))))
        )
        .order_by(AskRow.id.desc())
    )
)
_ANSWERED_PERMISSIONS = Statement(
    lambda: (
        AskRow.select(*_COLUMNS)
        .where(
            (AskRow.id > _OLDEST_LOOKED_AT)
            & (AskRow.state == SQL("'answered'"))
            & AskRow.rule.is_null()
            & (fn.json_extract(AskRow.request, "$.kind") == SQL("'permission'"))
        )
        .order_by(AskRow.answered_at.desc(), AskRow.id.desc())
    )
)
_ANSWERED: Final = "ask.answered"
_LAST_OF_HUMAN = Statement(
    lambda: (
        J.select(J.kind, J.uid)
        .where((J.actor == vocab.HUMAN) & J.kind.in_(sorted({*vocab.UNDOABLE, _ANSWERED})))
        .order_by(J.seq.desc())
        .limit(1)
    )
)
_ANSWERED_BY = Statement(
    lambda: (
        J.select(J.actor)
        .where((J.actor == vocab.HUMAN) & (J.kind == _ANSWERED) & (J.uid == slot("uid")))
        .order_by(J.seq.desc())
        .limit(1)
    )
)


def ask(db: Database, uid: str) -> Ask:
    """Return the question with that id.

    Raises:
        NotFound: there is none.
    """
    row = db.one(_ASK, uid=uid)
    if row is None:
        raise NotFound("question", uid)
    return _read(row)


def own_ask(db: Database, agent: str, reference: str) -> Ask:
    """Return the question of an agent with that id, or whose id alone begins with it.

    Raises:
        NotFound: there is none, or there are several.
    """
    if len(reference) >= SHORT_ID:
        rows = db.sql(
            "SELECT uid FROM ask WHERE agent = ? AND substr(uid, 1, ?) = ? LIMIT 2", (agent, len(reference), reference)
        ).fetchall()
        if len(rows) == 1:
            return ask(db, rows[0][0])
    raise NotFound("question", reference)


def open_asks(db: Database) -> list[Ask]:
    """Return the questions that wait for the human, in the order of `by_age`."""
    return sorted(map(_read, db.all(_OPEN_ASKS)), key=by_age)


def open_uids(db: Database) -> set[str]:
    """Return the uids of all open questions."""
    return {uid for (uid,) in db.all(_OPEN_UIDS)}


def by_age(ask: Ask) -> tuple[int, int]:
    """Return what questions are sorted by wherever they are listed: the oldest comes first.

    Whether an agent waits for its answer changes without a change of the question, and would move rows under the
    cursor.
    """
    return ask.opened_at, ask.id


def is_asking(db: Database, agent: str) -> bool:
    """Return whether a question of an agent is open."""
    return count_open(db, agent) > 0


def count_open(db: Database, agent: str | None = None) -> int:
    """Return how many questions of an agent, or of all, wait for the human."""
    row = db.one(_COUNT_ALL) if agent is None else db.one(_COUNT_OPEN, agent=agent)
    return int(row[0]) if row else 0


def open_by_agent(db: Database) -> dict[str, list[Ask]]:
    """Return the questions that wait for the human by the agent that asks, oldest first."""
    asks: dict[str, list[Ask]] = {}
    for one in open_asks(db):
        asks.setdefault(one.agent, []).append(one)
    return asks


def answered_permissions(db: Database) -> list[Ask]:
    """Return the permissions that the human has answered lately without a rule, newest first."""
    return [_read(row) for row in db.all(_ANSWERED_PERMISSIONS)]


def closed(db: Database, task: str, agent: str | None) -> list[Ask]:
    """Return questions of late that wait no more, newest first: those that name a task, and those of an agent that name
    none.
    """
    return [_read(row) for row in db.all(_CLOSED, task=task, agent=agent)]


def waiting_as(db: Database, name: str) -> str | None:
    """Return the uid of the question for which a hook waits under that name; None if it is not recorded yet.

    On a server another role can record a question with the same name: then none is the hook's.
    """
    rows = db.all(_WAITING_AS, name=name)
    return rows[0][0] if len(rows) == 1 else None


def is_answered_by_human(db: Database, ask: Ask) -> bool:
    """Return whether the journal has the human's answer to a question, by themselves or by a rule of theirs."""
    return ask.state == "answered" and (ask.rule is not None or db.one(_ANSWERED_BY, uid=ask.uid) is not None)


def answered_last(db: Database) -> Ask | None:
    """Return the question that the human has answered, if they have changed nothing since; else None."""
    row = db.one(_LAST_OF_HUMAN)
    return ask(db, row[1]) if row is not None and row[0] == _ANSWERED else None


# How many entries of an agent before a question, and how many after it, are searched for tasks on which it may have
# been at work.
_ENTRIES_LOOKED_AT: Final = 60
# Each task that an agent touched near an entry, with the task's newest entry before that one. First comes what it
# touched last before, then what it touched after, then the task on which it is at work now.
_NEAR: Final = f"""
SELECT task, (SELECT max(seq) FROM journal WHERE task = near.task AND seq < ?2) FROM (
    SELECT task, ?2 - seq AS place FROM (
        SELECT task, seq FROM journal WHERE actor = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT {_ENTRIES_LOOKED_AT}
    ) UNION ALL SELECT task, seq FROM (
        SELECT task, seq FROM journal WHERE actor = ?1 AND seq > ?2 ORDER BY seq LIMIT {_ENTRIES_LOOKED_AT}
    ) UNION ALL SELECT ?3, {2**62}
) AS near WHERE task IS NOT NULL GROUP BY task ORDER BY min(place)
"""
_NEWEST_BEFORE: Final = "SELECT max(seq) FROM journal WHERE task = ? AND seq < ?"
_IS_NEW = (J.kind == "task.created") & journal.value_of(J.image, "status").is_null()


def _value(name: str) -> Any:
    """Return the expression for a value of a task after an entry; that of a new task has its values only once."""
    return fn.IIF(_IS_NEW, journal.value_of(J.new, name), journal.value_of(J.image, name))


_STATE = Statement(lambda: J.select(_value("status"), _value("agent")).where(J.seq == slot("seq")))
_NAME = Statement(lambda: J.select(_value("name")).where(J.seq == slot("seq")))


def asked_about(db: Database, asks: Iterable[Ask], at_work: Mapping[str, TaskLine]) -> dict[str, str]:
    """Return the uid of the task that each question is about, by the uid of the question; none if it is about none.

    `at_work`: as `last_words.working` returns it.
    """
    states = _States(db)
    about = ((ask.uid, _task_of(db, ask, at_work.get(ask.agent), states)) for ask in asks)
    return {uid: task for uid, task in about if task is not None}


def task_of(db: Database, ask: Ask) -> str | None:
    """Return the uid of the task that a question is about; None if it is about none."""
    return _task_of(db, ask, None, _States(db))


def about_task(db: Database, asks: Iterable[Ask], task: str) -> list[Ask]:
    """Return those of some questions that are about a task."""
    states = _States(db)
    return [ask for ask in asks if _task_of(db, ask, None, states) == task]


def name_when_asked(db: Database, ask: Ask, task: str) -> str | None:
    """Return the name that a task had when a question about it was asked; None where that was compacted away."""
    seq = journal.seq_of(db, "ask.opened", ask.uid, ask.opened_at)
    last = db.scalar(_NEWEST_BEFORE, (task, seq)) if seq is not None else None
    row = db.one(_NAME, seq=last) if last is not None else None
    return row[0] if row is not None else None


class _States:
    """The status and the agent of tasks after an entry; each is read once for many questions."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._found: dict[int, tuple[str | None, str | None]] = {}

    def after(self, seq: int) -> tuple[str | None, str | None]:
        """Return status and agent."""
        if seq not in self._found:
            self._found[seq] = self._db.one(_STATE, seq=seq)
        return self._found[seq]


def _task_of(db: Database, ask: Ask, now: TaskLine | None, states: _States) -> str | None:
    """Return the uid of the task that a question is about; `now` is the task on which its agent is at work.

    An agent can be given a task by others, and ask before it writes to that: so what it does after its question is
    looked at as well.
    """
    # A command that asks says what it is about; many of them share the name of the shell.
    if ask.task_uid is not None or ask.agent == SHELL:
        return ask.task_uid
    seq = journal.seq_of(db, "ask.opened", ask.uid, ask.opened_at)
    if seq is None:
        return None
    near = db.sql(_NEAR, (ask.agent, seq, now.uid if now is not None else None)).fetchall()
    return next((task for task, last in near if _was_at_work(db, ask.agent, task, seq, last, states)), None)


def _was_at_work(db: Database, agent: str, task: str, seq: int, last: int | None, states: _States) -> bool:
    """Return whether a task was in progress for an agent before an entry; `last` is the task's newest before that.

    Not if another agent has put it there: that could choose what this one seems to ask about.
    """
    status, who = states.after(last) if last is not None else (None, None)
    if status != "in_progress" or who not in (None, agent):
        return False
    set_by = journal.status_set_by(db, task, seq)
    return set_by in ((agent,) if who is None else (agent, HUMAN, SYSTEM))
