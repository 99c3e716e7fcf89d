"""Reads for what a screen shows at a glance: what has changed, what failed or is due; and the alerts for a person who
looks elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import JOIN, SQL, Case, Statement, fn, slot
from tui_tasks.core.read import check_queries
from tui_tasks.core.read.pages.list_pages import LINE, TaskLine, read_line
from tui_tasks.core.read.tasks.task_queries import IN_LIVE_LIST, LIVE
from tui_tasks.core.schema.job_tables import JobRow, RunRow
from tui_tasks.core.schema.tables import EdgeRow, JournalRow, TaskRow

J = JournalRow
_MOVES = frozenset({"task.created", "task.deleted", "task.restored", "task.moved"})


class Change(msgspec.Struct, frozen=True, gc=False):
    """What one journal entry touched, without the values.

    `list_id`, `rank` and `status` are the task's current ones; `was` is its list and rank before it was moved, `become`
    the status that the entry gave it.
    """

    seq: int
    at: int
    actor: str
    kind: str
    entity: str
    uid: str
    task: str | None
    list_id: int | None = None
    rank: str | None = None
    status: str | None = None
    was: tuple[int, str] | None = None
    become: str | None = None

    def places(self) -> list[tuple[int, str]]:
        """Return where the entry added, removed or moved a task, after and before: (list id, rank)."""
        if self.kind not in _MOVES:
            return []
        now = [(self.list_id, self.rank)] if self.list_id is not None and self.rank is not None else []
        return now + ([self.was] if self.was is not None else [])


class _Moved(msgspec.Struct):
    list_id: int | None = None
    rank: str | None = None


_CHANGES = Statement(
    lambda: (
        J.select(
            J.seq,
            J.at,
            J.actor,
            J.kind,
            J.entity,
            J.uid,
            J.task,
            TaskRow.list_id,
            TaskRow.rank,
            TaskRow.status,
            Case(None, [(J.kind == "task.moved", J.old)]),
            Case(None, [(J.kind == "task.updated", journal.value_of(J.new, "status"))]),
        )
        .join(TaskRow, JOIN.LEFT_OUTER, on=(TaskRow.uid == J.task))
        .where(J.seq > slot("since"))
        .order_by(J.seq)
        .limit(slot("limit"))
    )
)
# A bound: the entries of a deleted list may be a million.
_OF_LATE: Any = J.select(J.seq, J.task).where(J.task.is_null(False)).order_by(J.seq.desc()).limit(5_000).alias("recent")
_TOUCHED_LAST = Statement(
    lambda: (
        TaskRow.select(TaskRow.list_id)
        .join(_OF_LATE, on=(_OF_LATE.c.task == TaskRow.uid))
        .where(IN_LIVE_LIST)
        .order_by(_OF_LATE.c.seq.desc())
        .limit(1)
    )
)
# Bounds: a database may have thousands of lists, and each a million failed or due tasks.
_MAX_FAILED: Final = 100
_MAX_LISTS: Final = 20
_MAX_DUE: Final = 1_000
_FAILED_OF_LIST = Statement(
    lambda: (
        TaskRow.select(*LINE)
        .where(LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.status == SQL("'failed'")))
        .order_by(TaskRow.rank.desc())
        .limit(slot("limit"))
    )
)
_DUE_OF_LIST = Statement(
    lambda: (
        TaskRow.select(TaskRow.uid, TaskRow.due, TaskRow.status)
        .where(LIVE & (TaskRow.list_id == slot("list")) & TaskRow.due.is_null(False) & (TaskRow.due < slot("before")))
        .order_by(TaskRow.due.desc())
        .limit(SQL(str(_MAX_DUE)))
    )
)
_DEPENDENTS = Statement(
    lambda: (
        TaskRow.select(*LINE)
        .join(EdgeRow, on=(EdgeRow.task_uid == TaskRow.uid))
        .where((EdgeRow.on_uid == slot("uid")) & LIVE & IN_LIVE_LIST)
        .order_by(TaskRow.id)
        .limit(slot("limit"))
    )
)
_moved = msgspec.json.Decoder(_Moved).decode


def changes(db: Database, since: int, limit: int) -> list[Change]:
    """Return what the oldest `limit` journal entries after `since` touched."""
    return [_read_change(row) for row in db.all(_CHANGES, since=since, limit=limit)]


def _read_change(row: Any) -> Change:
    seq, at, actor, kind, entity, uid, task, list_id, rank, status, old, become = row
    try:
        before = None if old is None else _moved(old)
    except msgspec.DecodeError:
        before = None
    was = None if before is None else (before.list_id or list_id, before.rank or rank)
    return Change(seq, at, actor, kind, entity, uid, task, list_id, rank, status, was, become)


def list_touched_last(db: Database) -> int | None:
    """Return the number of the list whose task was changed last; None if the newest entries name none."""
    row = db.one(_TOUCHED_LAST)
    return row[0] if row else None


def failed_last(db: Database, lists: Iterable[int], limit: int) -> list[TaskLine]:
    """Return the failed tasks of these lists that failed last, newest first."""
    few = islice(lists, _MAX_LISTS)
    lines = (read_line(row) for number in few for row in db.all(_FAILED_OF_LIST, list=number, limit=_MAX_FAILED))
    return sorted(lines, key=lambda task: task.finished_at or 0, reverse=True)[:limit]


def due_tasks(db: Database, lists: Iterable[int], before: str) -> list[tuple[str, str]]:
    """Return the uids and the due dates of the open tasks of these lists that are due before a date, the first due
    first.

    Of each list, only the tasks with the last of these dates are read, whatever their status.
    """
    rows = (row for number in islice(lists, _MAX_LISTS) for row in db.all(_DUE_OF_LIST, list=number, before=before))
    return sorted(((uid, due) for uid, due, status in rows if status in vocab.OPEN), key=lambda pair: pair[1])


def dependents(db: Database, uid: str, limit: int = 20) -> list[TaskLine]:
    """Return the tasks that depend on a task, oldest first."""
    return [read_line(row) for row in db.all(_DEPENDENTS, uid=uid, limit=limit)]


def waiting_on(db: Database, uids: Iterable[str]) -> set[str]:
    """Return the uids of the tasks that depend on any of these: changes of these may free or block them."""
    uids = list(uids)
    waited_for: set[str] = set()
    for at in range(0, len(uids), 500):
        query = EdgeRow.select(EdgeRow.task_uid).where(EdgeRow.on_uid.in_(uids[at : at + 500]))
        waited_for.update(uid for (uid,) in db.query(query))
    return waited_for


MAX_ENTRIES: Final = 500
"""With more new entries than this, everything on screen is reread instead."""


class StateChanges(msgspec.Struct, frozen=True):
    """The changes written after entry `since`, up to entry `seq`. With `all`, anything may have changed."""

    since: int
    seq: int
    entries: tuple[Change, ...]
    all: bool = False
    waiting: frozenset[str] = frozenset()
    """Tasks that depend on one that was changed, and may be blocked, or free, by it; tasks of a check that was run."""

    @property
    def is_own(self) -> bool:
        """Whether the human alone made them."""
        return bool(self.entries) and all(entry.actor == vocab.HUMAN for entry in self.entries)

    @property
    def has_own(self) -> bool:
        """Whether the human made one of them, or may have."""
        return self.all or any(entry.actor == vocab.HUMAN for entry in self.entries)

    def touches(self, *entities: str) -> bool:
        """Whether a row of one of the tables was written (`task`, `log`, `list`, `ask`, `agent`, `job`, `run` ...)."""
        return self.all or any(entry.entity in entities for entry in self.entries)

    def tasks(self) -> set[str]:
        """Return the uids of the tasks that the entries are about, and of the tasks in `waiting`."""
        return {entry.task for entry in self.entries if entry.task is not None} | self.waiting


def joined(batches: Sequence[StateChanges]) -> StateChanges:
    """Return the changes of one or several batches that follow each other."""
    if len(batches) == 1:
        return batches[0]
    entries = tuple(entry for batch in batches for entry in batch.entries)
    waiting = frozenset(uid for batch in batches for uid in batch.waiting)
    return StateChanges(batches[0].since, batches[-1].seq, entries, any(batch.all for batch in batches), waiting)


def changes_since(db: Database, since: int) -> StateChanges | None:
    """Return the changes after an entry of the journal; None when there are none."""
    from tui_tasks.core.commit import rebalancing  # the first paint does not wait for it

    entries = changes(db, since, MAX_ENTRIES + 1)
    if not entries:
        return None
    # Dropped entries cannot be read. Rebalancing changes the ranks by which pages are cached; a check's definition
    # concerns all tasks of a list.
    is_too_much = len(entries) > MAX_ENTRIES or entries[0].seq != since + 1
    if is_too_much or any(entry.kind in (rebalancing.RERANK, "check.defined") for entry in entries):
        return StateChanges(since, journal.newest(db), (), all=True)
    changed = {entry.uid for entry in entries if entry.entity == "task"}
    waiting = waiting_on(db, changed) if changed else set()
    for entry in entries:
        if entry.entity == "check_run":
            waiting.update(check_queries.tasks_of(db, entry.uid))
    return StateChanges(since, entries[-1].seq, tuple(entries), waiting=frozenset(waiting))


MAX: Final = 1_000
"""How many alerts of one stretch are counted at most."""
STRETCH: Final = 20_000
"""How many entries of a stretch of the journal are read, the newest ones."""
KINDS: Final = frozenset(
    {"ask.opened", "task.created", "task.updated", "run.finished", "check.finished", "terminal.used"}
)
"""The kinds of journal entry that may be an alert."""

_IN: Any = J.kind.in_(sorted(KINDS))
_FAILED: Any = journal.value_of(J.new, "status") == "failed"
_CHECK_FAILED: Any = (J.kind == "check.finished") & (journal.value_of(J.new, "state") == "failed")
_ERROR: Any = journal.value_of(J.new, "outcome") == vocab.FAILED_OUTCOME


class Alert(msgspec.Struct, frozen=True, gc=False):
    """A reason to look. `kind`: ask, task, run, check, overdue or terminal; `who`: an agent, or a terminal; `text`: its
    question, a name, or a command; `seq` and `at`: its entry and that one's instant, 0 without one.
    """

    kind: str
    who: str
    text: str
    seq: int = 0
    at: int = 0


_ALERTS = Statement(
    lambda: (
        J.select(
            J.kind,
            fn.IIF(J.kind == "terminal.used", J.uid, J.actor),
            fn.COALESCE(
                journal.value_of(J.new, "question"), journal.value_of(J.new, "command"), JobRow.name, TaskRow.name, ""
            ),
            J.task,
            journal.value_of(J.new, "name"),
            J.seq,
            J.at,
            RunRow.agent,
            RunRow.started_at,
        )
        .join(TaskRow, JOIN.LEFT_OUTER, on=(TaskRow.uid == J.task))
        .join(RunRow, JOIN.LEFT_OUTER, on=((J.kind == "run.finished") & (RunRow.uid == J.uid)))
        .join(JobRow, JOIN.LEFT_OUTER, on=(JobRow.uid == RunRow.job_uid))
        .where(
            (J.seq > slot("since"))
            & (J.seq <= slot("upto"))
            & _IN
            & (
                (J.kind == "terminal.used")
                | ((J.actor != vocab.HUMAN) & ((J.kind == "ask.opened") | _FAILED | _ERROR | _CHECK_FAILED))
            )
        )
        .order_by(J.seq)
        .limit(slot("limit"))
    )
)
_BY_AGENT: Any = (J.actor == slot("agent")) | ((J.actor == vocab.SYSTEM) & (TaskRow.agent == slot("agent")))
_FAILED_WITHIN = Statement(
    lambda: (
        J.select(SQL("1"))
        .join(TaskRow, on=(TaskRow.uid == J.task))
        .where((J.seq > slot("since")) & (J.seq < slot("upto")) & (J.at >= slot("began")) & _FAILED & _BY_AGENT)
        .limit(1)
    )
)
_DUE: Any = (JobRow.deleted == SQL("0")) & (JobRow.enabled == SQL("1")) & (JobRow.next_run > slot("after"))
_OVERDUE = Statement(
    lambda: (
        JobRow.select(JobRow.name).where(_DUE & (JobRow.next_run <= slot("upto"))).order_by(JobRow.next_run).limit(MAX)
    )
)
_NEXT = Statement(lambda: JobRow.select(fn.MIN(JobRow.next_run)).where(_DUE))
_TERMINALS = Statement(
    lambda: (
        J.select(J.new)
        .where((J.seq > slot("since")) & (J.seq <= slot("upto")) & (J.kind == "terminal.used"))
        .order_by(J.seq)
        .limit(slot("limit"))
    )
)
_WORDS: Final = {"ask.opened": "ask", "run.finished": "run", "terminal.used": "terminal"}


def between(db: Database, since: int, upto: int) -> list[Alert]:
    """Return the alerts of the entries `since < seq <= upto`, oldest first, without the human's own entries.

    A run in which the task of its agent failed is one failure with the task.
    """
    rows = db.all(_ALERTS, since=max(since, upto - STRETCH), upto=upto, limit=MAX)
    # A failed check needs nobody if its task is not done yet, or if the human has waived it.
    failing = set(check_queries.failing(db, MAX)) if any(row[0] == "check.finished" for row in rows) else set()
    found: list[Alert] = []
    for kind, actor, text, task, name, seq, at, agent, began in rows:
        if kind == "check.finished":
            found += [Alert("check", actor, f"{name} of {text}", seq, at)] if task in failing else []
        elif agent is None or began is None or not _has_failed_task(db, agent, began, seq):
            found.append(Alert(_WORDS.get(kind, "task"), actor, text, seq, at))
    return found


def _has_failed_task(db: Database, agent: str, began: int, seq: int) -> bool:
    """Return whether a task of an agent has failed since an instant, before an entry."""
    return db.one(_FAILED_WITHIN, since=seq - STRETCH, upto=seq, began=began, agent=agent) is not None


def terminals(db: Database, since: int, upto: int) -> list[dict[str, Any]]:
    """Return what the entries `since < seq <= upto` tell of terminals that used the human's name, oldest first."""
    rows = db.all(_TERMINALS, since=max(since, upto - STRETCH), upto=upto, limit=MAX)
    return [journal.values_of(new) for (new,) in rows]


def overdue(db: Database, after: int, upto: int) -> list[Alert]:
    """Return the jobs that were due at an instant `after < instant <= upto` and were not started."""
    return [Alert("overdue", vocab.SYSTEM, name) for (name,) in db.all(_OVERDUE, after=after, upto=upto)]


def next_due(db: Database, after: int) -> int | None:
    """Return the instant at which the next job is due after an instant; None if none is."""
    at: int | None = db.one(_NEXT, after=after)[0]
    return at
