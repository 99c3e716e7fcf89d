"""Jobs and runs as screens show them: one line each, runs by pages. Rows are narrow: they lack the runs' output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Case, Statement, fn, slot
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.read.overview import Change
from tui_tasks.core.schema.job_tables import OF_JOB, OPEN_RUN, JobRow, RunRow
from tui_tasks.core.schema.tables import columns
from tui_tasks.text.times import SECOND

# How many marks a line shows as a job's history.
HISTORY: Final = 8
# Of so many of a job's newest runs, the successful ones say how long it usually takes; fewer than three say nothing.
_USUAL_OF: Final = 20
_LEAST_USUAL: Final = 3
# A run is slow after so many times its usual time, and after so many microseconds at least.
_SLOW_TIMES: Final = 3
_LEAST_SLOW: Final = 10 * SECOND
# How many characters of the end of a result are read to say what went wrong.
TAIL: Final = 400


class RunLine(msgspec.Struct, frozen=True, gc=False):
    """A run, or a due time that was not run, without its prompts and with only the end of its result."""

    id: int
    uid: str
    job_uid: str
    trigger: str
    scheduled_for: int | None
    attempt: int
    decision: str
    outcome: str | None
    state: str
    dedicated: bool
    requested_by: str
    started_at: int | None
    ended_at: int | None
    exit_code: int | None
    reason: str | None
    deadline: int | None
    not_before: int | None
    stop_reason: str | None
    agent: str | None
    turns: int | None
    tokens: int | None
    cost_usd: float | None
    tail: str | None

    @property
    def took(self) -> int | None:
        """Return how long it ran, in microseconds; None if it has not begun or not ended."""
        return None if self.started_at is None or self.ended_at is None else self.ended_at - self.started_at

    @property
    def at(self) -> int | None:
        """Return its instant: the time for which it was due, otherwise its start."""
        return self.scheduled_for or self.started_at or self.not_before or self.ended_at

    @property
    def why(self) -> str:
        """Return what is known of why it failed or was not run: the reason, otherwise a line of its result."""
        if self.reason or self.outcome == "success":
            return for_people(self.reason or "")
        from tui_tasks.text.output_lines import telling_line  # the first paint does not wait for it

        return telling_line(self.tail or "")


def for_people(reason: str) -> str:
    """Return the reason of a run as people read it, who are `you` themselves."""
    return "stopped by you" if reason == f"stopped by {vocab.HUMAN}" else reason


class JobLine(msgspec.Struct, frozen=True, gc=False):
    """A job as a line shows it: its history, oldest first, its open runs, how it last ended and failed.

    `history` has an outcome for each run, and `skipped` or `missed` for each stretch of due times that were not run.
    `in_a_row`: how many runs have failed since one succeeded; 0 where the job has not failed. `usual`: how long a
    successful run takes, in microseconds; None where too few are known, or none runs now.
    """

    job: Job
    history: tuple[str, ...]
    running: RunLine | None
    last: RunLine | None
    failure: RunLine | None
    in_a_row: int = 0
    usual: int | None = None


_FIELDS = columns(RunRow)
_LENGTH = fn.LENGTH(RunRow.result)
_LINE = (
    *(_FIELDS[name] for name in RunLine.__struct_fields__[:-1]),
    fn.SUBSTR(RunRow.result, Case(None, [(_LENGTH > TAIL, _LENGTH - (TAIL - 1))], 1)),
)
_FAILED: Any = SQL(f"'{vocab.FAILED_OUTCOME}'")
_BY_UID = Statement(lambda: RunRow.select(*_LINE).where(RunRow.uid == slot("uid")))
_OLDER = Statement(
    lambda: (
        RunRow.select(*_LINE).where(OF_JOB & (RunRow.id < slot("id"))).order_by(RunRow.id.desc()).limit(slot("limit"))
    )
)
_NEWER = Statement(
    lambda: RunRow.select(*_LINE).where(OF_JOB & (RunRow.id > slot("id"))).order_by(RunRow.id).limit(slot("limit"))
)
_ENDED: Any = OF_JOB & (RunRow.state == SQL("'final'")) & (RunRow.decision == SQL("'ran'"))
_LAST_ENDED = Statement(lambda: RunRow.select(*_LINE).where(_ENDED).order_by(RunRow.id.desc()).limit(1))
_TOOK = Statement(
    lambda: (
        RunRow.select(RunRow.outcome, RunRow.started_at, RunRow.ended_at)
        .where(_ENDED)
        .order_by(RunRow.id.desc())
        .limit(slot("limit"))
    )
)
_LAST_FAILURE = Statement(
    lambda: RunRow.select(*_LINE).where(OF_JOB & (RunRow.outcome == _FAILED)).order_by(RunRow.id.desc()).limit(1)
)
_OPEN_OF_JOB = Statement(lambda: RunRow.select(*_LINE).where(OF_JOB & OPEN_RUN).order_by(RunRow.id).limit(1))
_NEXT_JOBS = Statement(
    lambda: (
        JobRow.select(JobRow.id, JobRow.name, JobRow.next_run)
        .where((JobRow.deleted == SQL("0")) & JobRow.next_run.is_null(False) & (JobRow.enabled == SQL("1")))
        .order_by(JobRow.next_run)
        .limit(slot("limit"))
    )
)
_ACTIVE_JOBS = Statement(
    lambda: (
        JobRow.select(JobRow.id, JobRow.uid, JobRow.name)
        .where((JobRow.deleted == SQL("0")) & (JobRow.active > SQL("0")))
        .order_by(JobRow.id)
    )
)


def _of_failed_run(field: Any) -> Any:
    """Select a field of the last run of a job that failed."""
    of_job = RunRow.select(field).where((RunRow.job_uid == JobRow.uid) & (RunRow.outcome == _FAILED))
    return of_job.order_by(RunRow.id.desc()).limit(1)


_FAILING_JOBS = Statement(
    lambda: (
        JobRow.select(
            *(JobRow.name, JobRow.uid, JobRow.id),
            *map(_of_failed_run, (RunRow.ended_at, RunRow.started_at, RunRow.agent)),
        )
        .where((JobRow.deleted == SQL("0")) & ((JobRow.failures > SQL("0")) | (JobRow.last_outcome == _FAILED)))
        .order_by(JobRow.last_run.desc())
    )
)
_NUMBERS = Statement(lambda: JobRow.select(JobRow.uid, JobRow.id))
_NEWEST_ID: Final = 2**62


def _read(row: Any) -> RunLine:
    values = list(row)
    values[9] = bool(row[9])
    return RunLine(*values)


assert RunLine.__struct_fields__[9] == "dedicated"


def _one(db: Database, statement: Statement, job: str) -> RunLine | None:
    row = db.one(statement, job=job)
    return _read(row) if row else None


def lines(db: Database, known: Iterable[JobLine] = ()) -> list[JobLine]:
    """Return the jobs, oldest first. A job in `known` is taken from there if its row has not changed."""
    # Imported here and below, as the first screen reads only the next job, without what schedules need.
    from tui_tasks.core.read import job_queries

    before = {line.job.uid: line for line in known}
    jobs = []
    for job in job_queries.jobs(db):
        old = before.get(job.uid)
        jobs.append(old if old is not None and old.job == job else line_of(db, job))
    return jobs


def touched(db: Database, entries: Iterable[Change]) -> set[str]:
    """Return the uids of the jobs that journal entries are about, directly or by their runs."""
    jobs = {entry.uid for entry in entries if entry.entity == "job"}
    for uid in {entry.uid for entry in entries if entry.entity == "run"}:
        run = run_line(db, uid)
        # The decisions on several due times are one entry with the job's own uid.
        jobs.add(uid if run is None else run.job_uid)
    return jobs


def line_of(db: Database, job: Job) -> JobLine:
    """Return a job as a line shows it."""
    from tui_tasks.core.read import job_queries

    in_a_row = job_queries.failures_in_a_row(db, job)
    return JobLine(
        job=job,
        history=tuple(reversed(job_queries.history(db, job.uid, HISTORY))),
        running=_one(db, _OPEN_OF_JOB, job.uid) if job.active else None,
        last=_one(db, _LAST_ENDED, job.uid),
        failure=_one(db, _LAST_FAILURE, job.uid) if in_a_row else None,
        in_a_row=in_a_row,
        usual=_usual(db, job.uid) if job.active else None,
    )


def _usual(db: Database, job_uid: str) -> int | None:
    """Return the median of how long the newest successful runs of a job took, in microseconds."""
    runs = db.all(_TOOK, job=job_uid, limit=_USUAL_OF)
    took = sorted(
        ended - started for outcome, started, ended in runs if outcome == "success" and None not in (started, ended)
    )
    return took[len(took) // 2] if len(took) >= _LEAST_USUAL else None


def slow_from(run: RunLine | None, usual: int | None) -> int | None:
    """Return the instant from which a run takes much longer than usual; None where that is not known."""
    if run is None or run.started_at is None or usual is None:
        return None
    return run.started_at + max(_SLOW_TIMES * usual, _LEAST_SLOW)


def run_line(db: Database, uid: str) -> RunLine | None:
    """Return the run with that id."""
    row = db.one(_BY_UID, uid=uid)
    return _read(row) if row else None


def older(db: Database, job_uid: str, limit: int, than: int = _NEWEST_ID) -> list[RunLine]:
    """Return the newest runs of a job before a run's number, newest first."""
    return [_read(row) for row in db.all(_OLDER, job=job_uid, id=than, limit=limit)]


def newer(db: Database, job_uid: str, limit: int, than: int = -1) -> list[RunLine]:
    """Return the oldest runs of a job after a run's number, newest first."""
    return [_read(row) for row in reversed(db.all(_NEWER, job=job_uid, id=than, limit=limit))]


class NextJob(msgspec.Struct, frozen=True):
    """A job that runs next: its name, when it is due, and its number."""

    name: str
    when: int
    number: int


def next_jobs(db: Database, limit: int) -> list[NextJob]:
    """Return the jobs that run next."""
    return [NextJob(name, when, number) for number, name, when in db.all(_NEXT_JOBS, limit=limit)]


def numbers(db: Database) -> dict[str, int]:
    """Return the numbers of all jobs by uid, deleted ones too."""
    return dict(db.all(_NUMBERS))


class RunningJob(msgspec.Struct, frozen=True):
    """A job that runs: its name, the instant from which its run is slow, its number, when its run began, and how many
    microseconds its runs usually take.
    """

    name: str
    slow_from: int
    number: int
    began: int
    usual: int


def running_jobs(db: Database) -> list[RunningJob]:
    """Return the jobs that run, as far as it is known how long they usually take, the first one first."""
    active = [(name, id_, _one(db, _OPEN_OF_JOB, uid), _usual(db, uid)) for id_, uid, name in db.all(_ACTIVE_JOBS)]
    slow = [(name, slow_from(run, usual), number, run.started_at, usual) for name, number, run, usual in active if run]
    return [RunningJob(name, at, *of) for name, at, *of in slow if at is not None]


class FailingJob(msgspec.Struct, frozen=True):
    """A job whose last run has failed: its name, uid and number, and when; when that run began, and its agent."""

    name: str
    uid: str
    number: int
    at: int | None = None
    began: int | None = None
    agent: str | None = None

    def is_of_task(self, agent: str | None, failed_at: int) -> bool:
        """Return whether a task of an agent that failed at an instant is one failure with the run: the run has started
        that agent, and the task failed within it.
        """
        if self.agent is None or self.began is None or self.at is None:
            return False
        return agent == self.agent and self.began <= failed_at <= self.at


def failing_jobs(db: Database) -> list[FailingJob]:
    """Return the jobs whose last run has failed, the most recent run first."""
    return [FailingJob(*row) for row in db.all(_FAILING_JOBS)]


def why_failed(db: Database, job_uid: str) -> str:
    """Return why the last run of a job that failed has; empty where nothing is known of it."""
    last = _one(db, _LAST_FAILURE, job_uid)
    return last.why if last is not None else ""
