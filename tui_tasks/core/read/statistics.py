"""What the last days were like: tasks opened and done, waits for the human, runs. Read by stretches, and bounded.

The journal's instants are found by bisection, and of the days no more than the newest `MOST` entries are looked at.
Instants and durations are microseconds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from statistics import median
from typing import Any, Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL
from tui_tasks.core.engine.statements import Statement, slot
from tui_tasks.core.journal import journal
from tui_tasks.core.read.jobs import queries_jobs
from tui_tasks.core.schedule.schedule import ON_TIME
from tui_tasks.core.schema.models import AskRow, JobRow, JournalRow, RunRow, TaskRow
from tui_tasks.core.vocab import HUMAN, OPEN

MOST: Final = 200_000
STRETCH: Final = 2_000
MOST_ASKS: Final = 2_000
MOST_RUNS: Final = 500

J = JournalRow


class _State(msgspec.Struct):
    status: str | None = None


class Event(msgspec.Struct, frozen=True, gc=False):
    """A journal entry about a task: the status before and after, None for no task.

    Where the status has not changed (`same`), both are the one that the task has now.
    """

    at: int
    task: str
    before: str | None
    after: str | None
    same: bool
    by_human: bool
    begun_at: int


class AskWait(msgspec.Struct, frozen=True, gc=False):
    """A question to the human. `answered_at` is None while it waits."""

    task_uid: str | None
    opened_at: int
    answered_at: int | None
    state: str


_state = msgspec.json.Decoder(_State).decode
_AT = Statement(J.select(J.at).where(J.seq >= slot("seq")).order_by(J.seq).limit(1))
_ANY_LATER = Statement(
    J.select(J.seq)
    .where((J.seq > slot("low")) & (J.seq <= slot("high")) & (J.at >= slot("at")))
    .order_by(J.seq)
    .limit(1)
)
_OLDEST = Statement(J.select(J.seq).order_by(J.seq).limit(1))
_EVENTS = Statement(
    J.select(
        J.at,
        J.actor,
        J.kind,
        J.task,
        J.old,
        J.new,
        TaskRow.status,
        TaskRow.created_at,
        TaskRow.started_at,
    )
    .join(TaskRow, on=(TaskRow.uid == J.task))
    .where(
        (J.seq > slot("low"))
        & (J.seq <= slot("high"))
        & J.entity.in_([SQL("'task'"), SQL("'log'")])
        & (TaskRow.list_id == slot("list"))
    )
    .order_by(J.seq)
)
_ASKS = Statement(
    AskRow.select(AskRow.task_uid, AskRow.opened_at, AskRow.answered_at, AskRow.state)
    .order_by(AskRow.id.desc())
    .limit(MOST_ASKS)
)
_JOBS = Statement(JobRow.select(JobRow.uid).where(JobRow.deleted == SQL("0")))
_RUNS = Statement(
    RunRow.select(RunRow.started_at, RunRow.outcome)
    .where(RunRow.job_uid == slot("job"))
    .order_by(RunRow.id.desc())
    .limit(MOST_RUNS)
)


def seq_before(db: Database, instant: int) -> int:
    """A seq up to which no journal entry is from an instant on, most often the last such; 0 where there is none."""
    oldest = db.one(_OLDEST)
    low, high = (oldest[0] if oldest else 1), journal.newest(db) + 1
    while low < high:
        middle = (low + high) // 2
        if db.one(_AT, seq=middle)[0] < instant:
            low = middle + 1
        else:
            high = middle
    return _back_to(db, low - 1, instant)


def _back_to(db: Database, seq: int, instant: int) -> int:
    """Go back over what a clock that was set back has put before others though it came later, stretch by stretch."""
    while seq > 0 and db.one(_ANY_LATER, low=seq - STRETCH, high=seq, at=instant):
        seq -= STRETCH
    return max(seq, 0)


def events(db: Database, list_id: int, low: int, high: int) -> list[Event]:
    """What the journal's entries `low < seq <= high` tell of the tasks that are in a list now, oldest first."""
    return [_event(*row) for row in db.all(_EVENTS, list=list_id, low=low, high=high)]


def _event(
    at: int,
    actor: str,
    kind: str,
    task: str,
    old: str | None,
    new: str | None,
    status: str,
    created_at: int,
    started_at: int | None,
) -> Event:
    before: str | None = status
    after: str | None = status
    held, became = _state(old or "{}").status, _state(new or "{}").status
    if kind == "task.created":
        before, after = None, became
    elif kind == "task.deleted":
        after = None
    elif kind == "task.restored":
        before = None
    elif became is not None and held is not None:
        before, after = held, became
    return Event(at, task, before, after, before == after, actor == HUMAN, started_at or created_at)


def waits(db: Database, since: int) -> list[AskWait]:
    """The questions that were asked since an instant, newest first, and all that wait."""
    found = [AskWait(*row) for row in db.all(_ASKS)]
    return [wait for wait in found if wait.opened_at >= since or wait.state == "open"]


def runs(db: Database, since: int) -> list[tuple[int, str | None]]:
    """The runs that were started since an instant: when, and how each ended."""
    found = [row for (job,) in db.all(_JOBS) for row in db.all(_RUNS, job=job)]
    return [(started_at, outcome) for started_at, outcome in found if started_at is not None and started_at >= since]


class JobCounts(msgspec.Struct, frozen=True, gc=False):
    """How many jobs there are, how many of them last failed, and how many are overdue."""

    total: int
    failing: int
    overdue: int


def job_counts(db: Database, now: int) -> JobCounts:
    """How it is with the jobs."""
    found = queries_jobs.jobs(db)
    overdue = sum(job.next_run is not None and now - job.next_run >= ON_TIME for job in found)
    return JobCounts(len(found), sum(job.last_outcome not in (None, "success") for job in found), overdue)


class Tally:
    """The days of one list, counted up entry by entry. `bounds` are the instants at which its buckets begin, sorted.

    A task counts once, as what it came to be last: what was taken back or opened again is not done.
    """

    def __init__(self, bounds: Sequence[int]) -> None:
        self.bounds = bounds
        self.change = [0] * len(bounds)
        self._done: dict[str, tuple[int, int]] = {}
        self._failed: set[str] = set()
        self._quiet = 0
        self._spoke: dict[str, int] = {}

    def take(self, found: Sequence[Event]) -> None:
        """Take in what has happened."""
        for event in found:
            at = bisect_right(self.bounds, event.at) - 1
            if at < 0:
                continue
            self._note_quiet(event)
            if event.same:
                continue
            self.change[at] += (event.after in OPEN) - (event.before in OPEN)
            self._done.pop(event.task, None)
            self._failed.discard(event.task)
            if event.after == "done":
                self._done[event.task] = (at, max(0, event.at - event.begun_at))
            elif event.after == "failed":
                self._failed.add(event.task)

    @property
    def done(self) -> list[int]:
        """How many were done in each bucket."""
        counts = [0] * len(self.bounds)
        for at, _ in self._done.values():
            counts[at] += 1
        return counts

    @property
    def took(self) -> list[int]:
        """How long each took from taking it up to done."""
        return [time for _, time in self._done.values()]

    @property
    def failed(self) -> int:
        """How many have failed."""
        return len(self._failed)

    def _note_quiet(self, event: Event) -> None:
        """A task in progress is quiet from one word about it to the next; the human's word is none of its agent's."""
        last = self._spoke.get(event.task)
        if event.same and event.by_human:
            return
        if last is not None:
            self._quiet = max(self._quiet, event.at - last)
        if event.after == "in_progress" or (event.same and last is not None):
            self._spoke[event.task] = event.at
        else:
            self._spoke.pop(event.task, None)

    def open(self, now_open: int) -> list[int]:
        """How many were open at the end of each bucket, where so many are now."""
        counts, count = [], now_open
        for change in reversed(self.change):
            counts.append(max(0, count))
            count -= change
        return counts[::-1]

    def open_at_start(self, now_open: int) -> int:
        """How many were open when the first bucket began."""
        return max(0, now_open - sum(self.change))

    def quiet(self, now: int) -> int:
        """The longest that a task in progress was without a word, to this moment."""
        return max([self._quiet, *(now - at for at in self._spoke.values())])

    @property
    def median_took(self) -> int | None:
        """The median of the times from taking up to done."""
        took = self.took
        return int(median(took)) if took else None


def median_wait(found: Sequence[AskWait]) -> int | None:
    """The median of the times that the human took to answer."""
    times = [wait.answered_at - wait.opened_at for wait in found if wait.state == "answered" and wait.answered_at]
    return int(median(times)) if times else None


def longest_wait(found: Sequence[AskWait], now: int) -> tuple[int, AskWait] | None:
    """The longest that a question has waited: how long, and which."""
    ages: list[tuple[int, Any]] = [((wait.answered_at or now) - wait.opened_at, wait) for wait in found]
    return max(ages, key=lambda age: age[0], default=None)


def spread(times: Sequence[int], edges: Sequence[int]) -> list[int]:
    """How many of the times are below each edge and not below the one before; the last count is the rest."""
    counts = [0] * (len(edges) + 1)
    for time in times:
        counts[bisect_right(edges, time)] += 1
    return counts
