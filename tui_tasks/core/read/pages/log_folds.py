"""Which entries of the log one line stands for: an agent's progress on a task, and the runs of a job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.schema.job_tables import RunRow
from tui_tasks.core.schema.tables import JournalRow

J = JournalRow

MAX_FOLDED: Final = 100
"""How many entries one line counts at most."""
HEARTBEAT: Final = "claim.extended"
"""Comes between progress entries and says nothing: where progress is folded, it is left out."""
# Up to so many entries apart, two runs of a job are in one line: a page reads only a part of a long journal.
_APART: Final = 200
_BEGINS: Final = ("run.requested", "run.started")
_ENDS: Final = "run.finished"
# What has a line between the runs of a job; a decision has one where a due time was not run.
_LINES_OF_JOBS: Final = (*_BEGINS, _ENDS, "job.created", "job.updated", "job.deleted", "job.restored", "job.decided")


def is_followed(until: Any) -> Any:
    """Return the condition that a later entry, up to `until`, has the line of an entry."""
    return _is_followed_by_progress(until) | _is_begin_of_ended_run(until) | _is_followed_by_good_run(until)


def count(db: Database, kind: str, uid: str, actor: str, task: str | None, seq: int) -> int:
    """Return how many entries the line of one stands for; 1 where it is of no kind that is folded."""
    if kind == "task.logged":
        return max(1, len(newest_progress(db, actor, task, seq)))
    return max(1, len(newest_good_runs(db, uid, seq))) if kind == _ENDS else 1


# Progress


def _is_followed_by_progress(until: Any) -> Any:
    """Return the condition that an entry is progress, and the next entry of its agent and task is progress too."""
    of_task, of_agent, following = J.alias(), J.alias(), J.alias()
    next_of_task = of_task.select(of_task.seq).where(
        (of_task.task == J.task) & (of_task.seq > J.seq) & (of_task.kind != HEARTBEAT)
    )
    next_of_agent = of_agent.select(of_agent.seq).where(
        (of_agent.actor == J.actor) & (of_agent.seq > J.seq) & (of_agent.kind != HEARTBEAT)
    )
    one_more = following.select(SQL("1")).where(
        (following.seq == next_of_task.order_by(of_task.seq).limit(1))
        & (following.seq == next_of_agent.order_by(of_agent.seq).limit(1))
        & (following.seq <= until)
        & (following.kind == "task.logged")
        & following.undoes.is_null()
    )
    return (J.kind == "task.logged") & J.undoes.is_null() & fn.EXISTS(one_more)


def _newest(whose: Any, limit: int) -> Statement:
    """Return the statement for the newest entries of an agent, or about a task, up to a seq."""
    entries = J.select(J.seq, J.kind, J.actor, J.task, J.undoes, J.at, J.new)
    return Statement(
        lambda: (
            entries.where(whose & (J.seq <= slot("seq")) & (J.kind != HEARTBEAT)).order_by(J.seq.desc()).limit(limit)
        )
    )


# Most progress is short, so few entries are read first, and more only if all of those belong to it.
_NEWEST: Final = {
    limit: (_newest(J.actor == slot("actor"), limit), _newest(J.task == slot("task"), limit))
    for limit in (2, 10, MAX_FOLDED)
}


def newest_progress(db: Database, actor: str, task: str | None, seq: int) -> list[tuple[int, str]]:
    """Return progress in a row from its last entry back, up to `MAX_FOLDED`: the instant and the values of each."""
    found: list[tuple[int, str]] = []
    for limit, (of_actor, of_task) in _NEWEST.items():
        found = []
        pairs = zip(db.all(of_actor, actor=actor, seq=seq), db.all(of_task, task=task, seq=seq), strict=False)
        for row, same in pairs:
            number, kind, _, about, undoes, at, new = row
            if number != same[0] or kind != "task.logged" or about != task or undoes is not None:
                break
            found.append((at, new))
        if len(found) < limit:
            break
    return found


# Runs of jobs


def _job_of(entry: Any) -> Any:
    """Return the expression for the job that an entry is about; for a run that is not kept, the run."""
    of_run = RunRow.select(RunRow.job_uid).where(RunRow.uid == entry.uid)
    return fn.COALESCE(of_run, journal.value_of(entry.new, "job_uid"), entry.uid)


def _has_line(entry: Any) -> Any:
    """Return the condition that an entry is about a job and has a line."""
    decision = fn.IIF(entry.kind == "job.decided", journal.value_of(entry.new, "decision"), "")
    return entry.kind.in_(_LINES_OF_JOBS) & (fn.COALESCE(decision, "ran") != "ran")


def _next_of_job(entry: Any, field: Any, until: Any, more: Any = None) -> Any:
    """Return the expression for a field of the next entry with a line about the job of an entry; empty without one."""
    near = (entry.seq > J.seq) & (entry.seq <= J.seq + _APART) & (entry.seq <= until)
    same = near & _has_line(entry) & (_job_of(entry) == _job_of(J))
    query = entry.select(field).where(same if more is None else same & more).order_by(entry.seq).limit(1)
    return fn.COALESCE(query, "")


def _is_begin_of_ended_run(until: Any) -> Any:
    """Return the condition that an entry begins a run, and the next of its job is about the same run. Who has asked for
    a run by hand keeps a line.
    """
    following = J.alias()
    return J.kind.in_(_BEGINS) & (J.actor != vocab.HUMAN) & (_next_of_job(following, following.uid, until) == J.uid)


def _is_good(entry: Any) -> Any:
    return (entry.kind == _ENDS) & (journal.value_of(entry.new, "outcome") == "success")


def _is_followed_by_good_run(until: Any) -> Any:
    """Return the condition that an entry says that a run went well, and the next that does not begin one says so."""
    following = J.alias()
    begins = following.kind.in_(_BEGINS) & (following.actor != vocab.HUMAN)
    good = fn.COALESCE(_is_good(following), 0)
    return (J.kind == _ENDS) & _is_good(J) & (_next_of_job(following, good, until, ~begins) == 1)


_BEFORE = Statement(
    lambda: (
        J.select(J.seq, J.kind, J.actor, J.at, J.uid, journal.value_of(J.new, "outcome"))
        .where((J.seq <= slot("seq")) & (J.seq > slot("low")) & _has_line(J) & (_job_of(J) == slot("job")))
        .order_by(J.seq.desc())
    )
)
_JOB = Statement(lambda: RunRow.select(RunRow.job_uid).where(RunRow.uid == slot("uid")))
_TOOK = Statement(lambda: RunRow.select(RunRow.ended_at - RunRow.started_at).where(RunRow.uid == slot("uid")))


def newest_good_runs(db: Database, uid: str, seq: int) -> list[tuple[int, str]]:
    """Return the runs that went well in a row, from the end of the last one back, up to `MAX_FOLDED`: the instant and
    the uid of each. `seq` and `uid` are those of the entry that ends it.
    """
    row = db.one(_JOB, uid=uid)
    found: list[tuple[int, str]] = []
    for number, kind, actor, at, run, outcome in _before(db, row[0] if row else uid, seq):
        if kind in _BEGINS and actor != vocab.HUMAN:
            continue
        if kind != _ENDS or outcome != "success" or len(found) == MAX_FOLDED or number < seq - _APART:
            break
        found.append((at, run))
        seq = number
    return found


def _before(db: Database, job: str, seq: int) -> Iterator[Any]:
    """Yield the entries with lines about a job from one back, as long as each is near the one after it."""
    while rows := db.all(_BEFORE, job=job, seq=seq, low=seq - _APART - 1):
        yield from rows
        seq = rows[-1][0] - 1


def took(db: Database, uid: str) -> int | None:
    """Return how long a run was, in microseconds; None where it is not kept."""
    row = db.one(_TOOK, uid=uid)
    return row[0] if row else None
