"""Which entries of the log one line stands for: progress on a task, its moves in a list, and the runs of a job."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec import json

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.schema.job_tables import RunRow
from tui_tasks.core.schema.tables import JournalRow
from tui_tasks.core.vocab import HEARTBEAT

J = JournalRow

MAX_FOLDED: Final = 100
"""How many entries one line counts at most."""
FOLDED: Final = ("task.logged", "task.moved")
"""The kinds of entries about a task of which several in a row, by one actor, have one line."""
"""Comes between progress entries and says nothing: where progress is folded, it is left out."""
# Up to so many entries apart, two runs of a job are in one line, which counts those among so many entries: a page reads
# only a part of a long journal.
_APART: Final = 200
_COUNTED: Final = 2_000
_BEGINS: Final = ("run.requested", "run.started")
_DECIDED: Final = ("job.decided", "run.requested")
"""The kinds of the entries that may have the job of a run."""
_DECIDED_BEFORE: Final = 1_000
"""So many entries before one about a run the job of the run is searched for, where the run is not kept."""
ENDS: Final = "run.finished"
"""The kind of an entry that ends a run."""
# What has a line between the runs of a job; a decision has one where a due time was not run.
_LINES_OF_JOBS: Final = (*_BEGINS, ENDS, "job.created", "job.updated", "job.deleted", "job.restored", "job.decided")


# Progress


def is_followed_by_progress(until: Any) -> Any:
    """Return the condition that an entry is progress, or a move in a list, and so is the next entry of its agent and
    task, up to `until`.
    """
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
        & (following.kind == J.kind)
        & (_new_list(following) == _new_list(J))
        & following.undoes.is_null()
    )
    return J.kind.in_(FOLDED) & J.undoes.is_null() & fn.EXISTS(one_more)


def _new_list(entry: Any) -> Any:
    """Return the expression for the list to which an entry has moved a task; 0 where that stays in its list."""
    return fn.COALESCE(journal.value_of(entry.new, "list_id"), 0)


def _newest(whose: Any, limit: int) -> Statement:
    """Return the statement for the newest entries of an agent, or about a task, up to a seq."""
    entries = J.select(J.seq, J.kind, J.actor, J.task, J.undoes, J.at, J.new, _new_list(J))
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
    """Return progress, or moves, in a row from the last entry back, up to `MAX_FOLDED`: the instant and the values of
    each.
    """
    found: list[tuple[int, str]] = []
    last: tuple[str, int] | None = None
    for limit, (of_actor, of_task) in _NEWEST.items():
        found = []
        pairs = zip(db.all(of_actor, actor=actor, seq=seq), db.all(of_task, task=task, seq=seq), strict=False)
        for row, same in pairs:
            number, kind, _, about, undoes, at, new, new_list = row
            last = last or (kind, new_list)
            is_alike = kind in FOLDED and (kind, new_list) == last
            if number != same[0] or not is_alike or about != task or undoes is not None:
                break
            found.append((at, new))
        if len(found) < limit:
            break
    return found


# Runs of jobs


def _job_of(entry: Any) -> Any:
    """Return the expression for the job that an entry is about; for a run that is not kept, the run: `jobs_of_runs`."""
    of_run = RunRow.select(RunRow.job_uid).where(RunRow.uid == entry.uid)
    return fn.COALESCE(of_run, journal.value_of(entry.new, "job_uid"), entry.uid)


def _has_line(entry: Any) -> Any:
    """Return the condition that an entry is about a job and has a line."""
    decision = fn.IIF(entry.kind == "job.decided", journal.value_of(entry.new, "decision"), "")
    return entry.kind.in_(_LINES_OF_JOBS) & (fn.COALESCE(decision, "ran") != "ran")


_RUNS = Statement(
    lambda: (
        J.select(
            *(J.seq, J.kind, J.actor, J.at, J.uid, _job_of(J)),
            fn.IIF(J.kind == ENDS, fn.COALESCE(journal.value_of(J.new, "outcome"), "") == "success", 0),
        )
        .where((J.seq > slot("low")) & (J.seq <= slot("high")) & _has_line(J))
        .order_by(J.seq)
    )
)
_uids: Any = fn.json_each(slot("uids")).alias("uids")
_KEPT = Statement(lambda: RunRow.select(RunRow.uid).where(RunRow.uid.in_(RunRow.select(_uids.c.value).from_(_uids))))
_JOBS = Statement(
    lambda: J.select(J.seq, J.uid, journal.value_of(J.new, "job_uid")).where(
        (J.seq >= slot("low")) & (J.seq <= slot("high")) & J.kind.in_(_DECIDED) & (J.entity == "run")
    )
)
_TOOK = Statement(lambda: RunRow.select(RunRow.ended_at - RunRow.started_at).where(RunRow.uid == slot("uid")))


class _Entry(NamedTuple):
    """An entry with a line about a job; `is_good`: it says that a run went well."""

    seq: int
    kind: str
    actor: str
    at: int
    uid: str
    job: str
    is_good: bool

    @property
    def is_begin(self) -> bool:
        """Whether it begins a run. Who has asked for a run by hand keeps a line."""
        return self.kind in _BEGINS and self.actor != vocab.HUMAN

    def has_line_of(self, after: _Entry | None) -> bool:
        """Return whether the next entry about its job has its line: it is about the same run, or a good one too."""
        if after is None or after.seq - self.seq > _APART:
            return False
        return after.uid == self.uid if self.is_begin else self.is_good and after.is_good


class GoodRuns(NamedTuple):
    """Runs of a job that went well in a row, the last one first: the instant and the uid of each. `has_more`: there are
    more than one line counts.
    """

    ends: list[tuple[int, str]]
    has_more: bool = False


def jobs_of_runs(db: Database, runs: Mapping[int, str]) -> dict[int, str]:
    """Return the jobs of entries about runs that are not kept, as the journal has them; `runs` has the run of each."""
    uids = json.encode([*set(runs.values())]).decode()
    kept = {uid for (uid,) in db.all(_KEPT, uids=uids)} if runs else set()
    wanted = {seq: uid for seq, uid in runs.items() if uid not in kept}
    found: dict[int, str] = {}
    for low, high in near(wanted, _DECIDED_BEFORE):
        rows = db.all(_JOBS, low=low - _DECIDED_BEFORE, high=high)
        decided = {uid: (seq, job) for seq, uid, job in rows if job is not None}
        for seq, uid in wanted.items():
            if low <= seq <= high and uid in decided and 0 <= seq - decided[uid][0] <= _DECIDED_BEFORE:
                found[seq] = str(decided[uid][1])
    return found


def _entries(db: Database, low: int, high: int) -> list[_Entry]:
    """Return the entries with a line about a job, after a number up to another, oldest first."""
    entries = [*map(_Entry._make, db.all(_RUNS, low=low, high=high))]
    unknown = {each.seq: each.uid for each in entries if each.job == each.uid and each.kind in (*_BEGINS, ENDS)}
    jobs = jobs_of_runs(db, unknown) if unknown else {}
    return [each._replace(job=jobs[each.seq]) if each.seq in jobs else each for each in entries]


def followed_runs(db: Database, low: int, high: int, until: int) -> list[int]:
    """Return the numbers of entries about runs, after `low` up to `high`, that have the line of one up to `until`."""
    followed: list[int] = []
    last: dict[str, _Entry] = {}
    last_end: dict[str, _Entry] = {}
    for entry in _entries(db, low, min(high + _APART, until)):
        before = last.get(entry.job)
        if before is not None and before.is_begin and before.has_line_of(entry):
            followed.append(before.seq)
        last[entry.job] = entry
        if not entry.is_begin:
            end = last_end.get(entry.job)
            if end is not None and end.has_line_of(entry):
                followed.append(end.seq)
            last_end[entry.job] = entry
    return followed


def good_runs(db: Database, seqs: Collection[int]) -> dict[int, GoodRuns]:
    """Return the runs that went well in a row for each of the entries that end them."""
    found: dict[int, GoodRuns] = {}
    for low, high in near(seqs, _COUNTED):
        rows: dict[str, list[_Entry]] = {}
        for entry in _entries(db, low - _COUNTED - _APART, high):
            if entry.is_begin:
                continue
            row = rows.get(entry.job, [])
            if not row or not row[-1].has_line_of(entry):
                row = rows[entry.job] = []
            row.append(entry)
            if entry.seq in seqs and entry.is_good:
                counted = [each for each in row if each.seq > entry.seq - _COUNTED][-MAX_FOLDED:]
                ends = [(each.at, each.uid) for each in reversed(counted)]
                found[entry.seq] = GoodRuns(ends, len(counted) < len(row))
    return found


def near(seqs: Collection[int], apart: int = _APART) -> Iterator[tuple[int, int]]:
    """Yield the parts of the journal that have entries near one another: the first number of each, and the last."""
    ordered = sorted(seqs)
    begin = 0
    for at, seq in enumerate(ordered, 1):
        if at == len(ordered) or ordered[at] - seq > apart:
            yield ordered[begin], seq
            begin = at


def took(db: Database, uid: str) -> int | None:
    """Return how long a run was, in microseconds; None where it is not kept."""
    row = db.one(_TOOK, uid=uid)
    return row[0] if row else None
