"""Reads of jobs and runs. Each takes the database and returns frozen snapshots."""

from __future__ import annotations

from collections.abc import Collection, Generator
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Case, Statement, fn, slot
from tui_tasks.core.errors import NotFound
from tui_tasks.core.job_snapshots import Job, Run
from tui_tasks.core.schedule import policy
from tui_tasks.core.schedule.policy import Load
from tui_tasks.core.schema.agent_tables import HeartbeatRow
from tui_tasks.core.schema.job_tables import OF_JOB, OPEN_RUN, JobRow, RunRow
from tui_tasks.core.schema.tables import columns
from tui_tasks.core.snapshots import reader
from tui_tasks.text.times import HOUR

_JOB = tuple(columns(JobRow).values())
_RUN = tuple(columns(RunRow).values())
_LIVE: Any = JobRow.deleted == SQL("0")
_RAN: Any = RunRow.decision == SQL("'ran'")

read_job = reader(Job, JobRow)
read_run = reader(Run, RunRow)

_JOB_BY_UID = Statement(lambda: JobRow.select(*_JOB).where(JobRow.uid == slot("uid")))
_JOB_BY_NAME = Statement(lambda: JobRow.select(*_JOB).where(_LIVE & (JobRow.name_key == slot("name"))))
_HELD = Statement(lambda: JobRow.select(*_JOB).where(_LIVE & (JobRow.held == SQL("1"))).order_by(JobRow.id))
_JOBS = Statement(lambda: JobRow.select(*_JOB).where(_LIVE).order_by(JobRow.id))
_JOBS_LIKE = Statement(
    lambda: JobRow.select(*_JOB).where(_LIVE & (fn.instr(JobRow.name_key, slot("part")) > 0)).order_by(JobRow.id)
)
_DUE = Statement(
    lambda: (
        JobRow.select(JobRow.uid)
        .where(_LIVE & JobRow.next_run.is_null(False) & (JobRow.next_run <= slot("now")))
        .order_by(JobRow.next_run)
        .limit(slot("limit"))
    )
)
_DECIDED_AHEAD = Statement(
    lambda: JobRow.select(JobRow.uid, JobRow.decided_until).where(_LIVE & (JobRow.decided_until > slot("now")))
)
_KEPT_SINCE = Statement(
    lambda: RunRow.select(fn.MIN(RunRow.scheduled_for)).where(OF_JOB & _RAN & (RunRow.scheduled_for <= slot("until")))
)
_NEXT_DUE = Statement(lambda: JobRow.select(fn.MIN(JobRow.next_run)).where(_LIVE & JobRow.next_run.is_null(False)))
_RUN_BY_UID = Statement(lambda: RunRow.select(*_RUN).where(RunRow.uid == slot("uid")))
_RUNS = Statement(lambda: RunRow.select(*_RUN).where(OF_JOB).order_by(RunRow.id.desc()).limit(slot("limit")))
_LAST_ENDED = Statement(
    lambda: (
        RunRow.select(*_RUN)
        .where(OF_JOB & _RAN & (RunRow.state == SQL("'final'")))
        .order_by(RunRow.ended_at.desc(), RunRow.id.desc())
        .limit(1)
    )
)


class OpenRun(msgspec.Struct, frozen=True, gc=False):
    """A run that has not ended, without its texts: hundreds may wait with a megabyte each."""

    id: int
    uid: str
    job_uid: str
    state: str
    dedicated: bool
    scheduled_for: int | None
    deadline: int | None
    not_before: int | None


_OPEN_COLUMNS = tuple(columns(RunRow)[name] for name in OpenRun.__struct_fields__)
# Sorted by `open_runs`: to sort, SQLite would go through all runs of the job.
_OPEN_OF_JOB = Statement(lambda: RunRow.select(*_OPEN_COLUMNS).where(OF_JOB & OPEN_RUN))
_OPEN_RUNS = Statement(lambda: RunRow.select(*_OPEN_COLUMNS).where(OPEN_RUN))
_RUN_OF_AGENT = Statement(lambda: RunRow.select(RunRow.uid).where(OPEN_RUN & (RunRow.agent == slot("agent"))).limit(1))
_ROOM = Statement(lambda: JobRow.select(JobRow.active, JobRow.settings).where(JobRow.uid == slot("uid")))
# How many runs and due times are read of a job's history at most.
_MAX_HISTORY: Final = 500
_HISTORY = Statement(
    lambda: (
        RunRow.select(RunRow.outcome, RunRow.decision)
        .where(OF_JOB & (RunRow.outcome.is_null(False) | RunRow.decision.in_([SQL("'skipped'"), SQL("'missed'")])))
        .order_by(RunRow.id.desc())
        .limit(_MAX_HISTORY)
    )
)
_IN_A_ROW: Final = f"""
SELECT count(*) FROM run WHERE job_uid = ? AND outcome = '{vocab.FAILED_OUTCOME}'
    AND id > (SELECT IFNULL(max(id), 0) FROM run WHERE job_uid = ? AND outcome = 'success')
"""
_RETRY = Statement(lambda: RunRow.select(*_RUN).where(RunRow.retry_of == slot("uid")))
_DECIDED = Statement(
    lambda: RunRow.select(RunRow.scheduled_for).where(
        OF_JOB & (RunRow.scheduled_for >= slot("first")) & (RunRow.scheduled_for <= slot("last"))
    )
)
_COALESCED = Statement(
    lambda: RunRow.select(fn.COUNT(RunRow.id)).where(
        OF_JOB & (RunRow.decision == SQL("'coalesced'")) & (RunRow.id > slot("after"))
    )
)
_NTH_RAN_ID = Statement(
    lambda: RunRow.select(RunRow.id).where(OF_JOB & _RAN).order_by(RunRow.id.desc()).limit(1).offset(slot("nth"))
)
_ANY_OLDER = Statement(
    lambda: (
        RunRow.select(RunRow.id).where(OF_JOB & (RunRow.id < slot("below")) & (RunRow.state == SQL("'final'"))).limit(1)
    )
)
_QUEUED = Statement(
    lambda: RunRow.select(fn.COUNT(RunRow.id)).where(OF_JOB & OPEN_RUN & (RunRow.state == SQL("'queued'")))
)
_STARTED = Statement(
    lambda: RunRow.select(fn.COUNT(RunRow.id)).where(
        OF_JOB & _RAN & ((RunRow.started_at > slot("since")) | (RunRow.started_at.is_null() & OPEN_RUN))
    )
)
_IN_HAND = Statement(
    lambda: (
        RunRow.select(fn.COUNT(RunRow.id)).join(HeartbeatRow, on=(HeartbeatRow.run_uid == RunRow.uid)).where(OPEN_RUN)
    )
)
_IN_HAND_HERE = """SELECT count(*) FROM run JOIN beat ON beat.run_uid = run.uid
WHERE run.state != 'final' AND substr(beat.namespace, instr(beat.namespace, '@') + 1) = ?"""
_acts_at: Any = Case(
    None, [((RunRow.state == SQL("'running'")) & (RunRow.dedicated == 0), RunRow.deadline)], RunRow.not_before
)
_NEXT_OPEN = Statement(lambda: RunRow.select(fn.MIN(_acts_at)).where(OPEN_RUN & (_acts_at > slot("now"))))


def any_job(db: Database, uid: str) -> Job | None:
    """Return the job with that uid, also if it was deleted; None if there is none."""
    row = db.one(_JOB_BY_UID, uid=uid)
    return read_job(row) if row else None


def job(db: Database, uid: str) -> Job:
    """Return the job with that uid.

    Raises:
        NotFound: there is none, or it was deleted.
    """
    row = any_job(db, uid)
    if row is None or row.deleted:
        raise NotFound("job", uid)
    return row


def job_named(db: Database, name: str) -> Job | None:
    """Return the job of that name, ignoring case (rule S2); None if there is none."""
    row = db.one(_JOB_BY_NAME, name=name.casefold())
    return read_job(row) if row else None


def jobs(
    db: Database, *, states: Collection[str] = (), types: Collection[str] = (), name: str | None = None
) -> list[Job]:
    """Return the jobs, oldest first: in one of these states, of one of these types, with this in their name
    (ignoring case).
    """
    return list(each_job(db, states=states, types=types, name=name))


def each_job(
    db: Database, *, states: Collection[str] = (), types: Collection[str] = (), name: str | None = None
) -> Generator[Job, None, None]:
    """Yield the jobs one by one, as `jobs` does: their prompts may be long."""
    rows = db.each(_JOBS) if name is None else db.each(_JOBS_LIKE, part=name.casefold())
    for one in map(read_job, rows):
        if (not states or one.state in states) and (not types or one.type in types):
            yield one


def any_run(db: Database, uid: str) -> Run | None:
    """Return the run with that id, or None."""
    row = db.one(_RUN_BY_UID, uid=uid)
    return read_run(row) if row else None


def run(db: Database, uid: str) -> Run:
    """Return the run with that id.

    Raises:
        NotFound: there is none.
    """
    row = any_run(db, uid)
    if row is None:
        raise NotFound("run", uid)
    return row


def each_run(db: Database, job_uid: str, limit: int) -> Generator[Run, None, None]:
    """Yield the runs of a job, and the due times that were not run, one by one, newest first."""
    for row in db.each(_RUNS, job=job_uid, limit=limit):
        yield read_run(row)


def last_ended(db: Database, job_uid: str) -> Run | None:
    """Return the run of a job that ended last, or None."""
    row = db.one(_LAST_ENDED, job=job_uid)
    return read_run(row) if row else None


def ok_since(db: Database, job_uid: str, after: int) -> int | None:
    """Return the instant at which a job's first successful run after another instant ended, or None."""
    sql = "SELECT min(ended_at) FROM run WHERE job_uid = ? AND outcome = 'success' AND ended_at > ?"
    at: int | None = db.scalar(sql, (job_uid, after))
    return at


def history(db: Database, job_uid: str, limit: int) -> list[str]:
    """Return how a job's newest runs ended, newest first, and between them what was decided about each stretch of due
    times that were skipped or missed.
    """
    marks: list[str] = []
    for outcome, decision in db.all(_HISTORY, job=job_uid):
        if outcome is not None or marks[-1:] != [decision]:
            marks.append(outcome or decision)
    return marks[:limit]


def failures_in_a_row(db: Database, one: Job) -> int:
    """Return how many runs of a job have failed since one succeeded; 0 where the job has not failed.

    Those that are no longer kept count if their times failed; an interrupted run changes nothing.
    """
    if not vocab.job_failed(one.failures, one.last_outcome):
        return 0
    kept: int = db.scalar(_IN_A_ROW, (one.uid, one.uid))
    return max(kept, one.failures)


def retry_of(db: Database, one: Run) -> Run | None:
    """Return the retry of a failed run, or None."""
    row = db.one(_RETRY, uid=one.uid)
    return read_run(row) if row else None


def open_runs(db: Database, job_uid: str | None = None) -> list[OpenRun]:
    """Return the runs that have not ended, oldest first: of one job, or all."""
    rows = db.all(_OPEN_RUNS) if job_uid is None else db.all(_OPEN_OF_JOB, job=job_uid)
    return sorted((OpenRun(*row) for row in rows), key=lambda one: one.id)


def run_of_agent(db: Database, agent: str) -> str | None:
    """Return the uid of the running run that started an agent; None if there is none."""
    row = db.one(_RUN_OF_AGENT, agent=agent)
    return row[0] if row else None


def job_of_agent(db: Database, agent: str) -> str | None:
    """Return the name of the job whose run has started an agent; None if none has."""
    sql = "SELECT job.name FROM run JOIN job ON job.uid = run.job_uid WHERE run.agent = ? ORDER BY run.id DESC LIMIT 1"
    name: str | None = db.scalar(sql, (agent,))
    return name


def due_jobs(db: Database, now: int, limit: int) -> list[str]:
    """Return the uids of the jobs whose next time has come, the longest due first."""
    return [row[0] for row in db.all(_DUE, now=now, limit=limit)]


def decided_ahead(db: Database, now: int) -> dict[str, int]:
    """Return the jobs with decided times that are still in the future: uid to the last decided instant."""
    return dict(db.all(_DECIDED_AHEAD, now=now))


def kept_since(db: Database, job_uid: str, until: int) -> int | None:
    """Return the nominal time of the oldest stored run of a job, among those up to an instant."""
    number: int | None = db.one(_KEPT_SINCE, job=job_uid, until=until)[0]
    return number


def next_change(db: Database, now: int) -> int | None:
    """Return when a scheduler must act next by itself: a job is due, a run may start, or an answer is overdue.

    What could have been done by `now` waits for an event, and does not count.
    """
    times = [db.one(_NEXT_DUE)[0], db.one(_NEXT_OPEN, now=now)[0]]
    return min((time for time in times if time is not None), default=None)


def decided(db: Database, job_uid: str, first: int, last: int) -> frozenset[int]:
    """Return the nominal times of a job from `first` to `last` that have been decided."""
    return frozenset(row[0] for row in db.all(_DECIDED, job=job_uid, first=first, last=last))


def coalesced(db: Database, job_uid: str) -> int:
    """Return how many times of a job were coalesced since its newest run."""
    newest = db.one(_NTH_RAN_ID, job=job_uid, nth=0)
    count: int = db.one(_COALESCED, job=job_uid, after=newest[0] if newest else 0)[0]
    return count


def load(db: Database, one: Job, now: int) -> Load:
    """Return what a job has running; `started` is counted only if the job has a limit on it."""
    queued = db.one(_QUEUED, job=one.uid)[0]
    limited = policy.read_settings(one.settings).starts_per_hour
    return Load(one.active, queued, db.one(_STARTED, job=one.uid, since=now - HOUR)[0] if limited else 0)


def held(db: Database) -> list[Job]:
    """Return the jobs that wait for the human to accept them, oldest first."""
    return [read_job(row) for row in db.all(_HELD)]


def held_count(db: Database, agent: str) -> int:
    """Return how many jobs of an agent wait for the human."""
    return sum(one.created_by == agent for one in held(db))


def in_hand(db: Database) -> int:
    """Return how many runs are held by a process of this machine."""
    if db.machine:
        return int(db.scalar(_IN_HAND_HERE, (db.machine,)))
    count: int = db.one(_IN_HAND)[0]
    return count


def startable(db: Database, one: Run | OpenRun, now: int) -> bool:
    """Return whether a run's time has come, and no other run of its job is in its way."""
    if one.state not in ("waiting", "queued") or (one.not_before is not None and one.not_before > now):
        return False
    active, settings = db.one(_ROOM, uid=one.job_uid) or (0, None)
    if settings is None:
        return False
    settings = msgspec.json.decode(settings)
    return one.state == "waiting" or active == 0 or policy.read_settings(settings).overlap == "allow"


def prunable(db: Database, job_uid: str, keep: int) -> int | None:
    """Return the number of the oldest run to keep, if there are older ones than the newest `keep`; else None."""
    row = db.one(_NTH_RAN_ID, job=job_uid, nth=keep - 1)
    if row is None or db.one(_ANY_OLDER, job=job_uid, below=row[0]) is None:
        return None
    oldest: int = row[0]
    return oldest
