"""Statistics of the last days: tasks opened and done, waits for the human, runs. Read in parts, and bounded.

At most the newest `MAX` entries of the journal are read. Instants and durations are microseconds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from statistics import median
from typing import Any, Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import JOIN, SQL, Statement, slot
from tui_tasks.core.job_snapshots import is_late
from tui_tasks.core.read import ask_queries, job_lines, job_queries
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.schema.agent_tables import AskRow
from tui_tasks.core.schema.job_tables import JobRow, RunRow
from tui_tasks.core.schema.tables import JournalRow, TaskRow
from tui_tasks.core.vocab import HUMAN, OPEN, task_failed

MAX: Final = 200_000
"""How many journal entries are read at most, the newest ones."""
STRETCH: Final = 2_000
"""How many entries are read in one part."""
MAX_ASKS: Final = 2_000
"""How many questions are read at most, the newest ones."""
MAX_RUNS: Final = 500
"""How many runs of each job are read at most, the newest ones."""

J = JournalRow


class _State(msgspec.Struct):
    status: str | None = None
    finished_at: int | None = None


class TaskEvent(msgspec.Struct, frozen=True, gc=False):
    """A journal entry about a task: the status before and after, None for no task.

    If the status has not changed (`same`), both are the task's current one. An undo restores when a task was
    `finished_at`; otherwise that is None, or `at`.
    """

    at: int
    task: str
    before: str | None
    after: str | None
    same: bool
    by_human: bool
    begun_at: int
    finished_at: int | None = None


class AskWait(msgspec.Struct, frozen=True, gc=False):
    """A question to the human. `answered_at` is None while it is open."""

    task_uid: str | None
    opened_at: int
    answered_at: int | None
    state: str


_state = msgspec.json.Decoder(_State).decode
_EVENTS = Statement(
    lambda: (
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
)
_ASKS = Statement(
    lambda: (
        AskRow.select(AskRow.uid, AskRow.task_uid, AskRow.opened_at, AskRow.answered_at, AskRow.state)
        .join(TaskRow, JOIN.LEFT_OUTER, on=(TaskRow.uid == AskRow.task_uid))
        .where(AskRow.task_uid.is_null() | (TaskRow.list_id == slot("list")))
        .order_by(AskRow.id.desc())
        .limit(MAX_ASKS)
    )
)
_JOBS = Statement(lambda: JobRow.select(JobRow.uid).where(JobRow.deleted == SQL("0")))
_RUNS = Statement(
    lambda: (
        RunRow.select(RunRow.started_at, RunRow.outcome)
        .where(RunRow.job_uid == slot("job"))
        .order_by(RunRow.id.desc())
        .limit(MAX_RUNS)
    )
)


def events(db: Database, list_id: int, low: int, high: int) -> list[TaskEvent]:
    """Return the events in the entries `low < seq <= high` about tasks that are in a list now, oldest first."""
    return [_event(*row) for row in db.all(_EVENTS, list=list_id, low=low, high=high)]


def _read_state(values: str | None) -> _State:
    try:
        return _state(values or "{}")
    except msgspec.DecodeError:
        return _State()


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
) -> TaskEvent:
    before: str | None = status
    after: str | None = status
    now = _read_state(new)
    held, became = _read_state(old).status, now.status
    if kind == "task.created":
        # One that comes in as done, as by an import, was not done here.
        before, after = None if became in OPEN else became, became
    elif kind == "task.deleted":
        after = None
    elif kind == "task.restored":
        before = None
    elif became is not None and held is not None:
        before, after = held, became
    begun_at = started_at or created_at
    return TaskEvent(at, task, before, after, before == after, actor == HUMAN, begun_at, now.finished_at)


def waits(db: Database, list_id: int, since: int, about: dict[str, TaskLine | None] | None = None) -> list[AskWait]:
    """Return the questions about tasks of a list, or about none: those asked since an instant, and all that are open;
    the newest first. `about` keeps, for the next call, the task of each question that names none.
    """
    tasks: dict[str, TaskLine | None] = about if about is not None else {}
    found = []
    for uid, task_uid, opened_at, answered_at, state in db.all(_ASKS, list=list_id):
        if opened_at < since and state != "open":
            continue
        if task_uid is None:
            if uid not in tasks:
                task_uid = ask_queries.task_of(db, ask_queries.ask(db, uid))
                tasks[uid] = list_pages.line(db, task_uid) if task_uid is not None else None
            if (task := tasks[uid]) is not None and task.list_id != list_id:
                continue
            task_uid = task.uid if task is not None else None
        found.append(AskWait(task_uid, opened_at, answered_at, state))
    return found


def runs(db: Database, since: int) -> list[tuple[int, str | None]]:
    """Return the runs that were started since an instant: when, and how each ended."""
    rows = [row for (job,) in db.all(_JOBS) for row in db.all(_RUNS, job=job)]
    return [(started_at, outcome) for started_at, outcome in rows if started_at is not None and started_at >= since]


class JobCounts(msgspec.Struct, frozen=True, gc=False):
    """How many jobs there are, how many of them last failed, and how many are late."""

    total: int
    failing: int
    late: int


def job_counts(db: Database, now: int) -> JobCounts:
    """Return how many jobs there are, have failed last, and are late: as the counts above every pane say it."""
    jobs = job_queries.jobs(db)
    late = sum(job.next_run is not None and is_late(job.next_run, now) for job in jobs)
    return JobCounts(len(jobs), len(job_lines.failing_jobs(db)), late)


class Tally:
    """The counts of one list per bucket. `bounds` are the sorted instants at which the buckets begin.

    A task counts once, by its last status: one that was undone or opened again is not done.
    """

    def __init__(self, bounds: Sequence[int]) -> None:
        self.bounds = bounds
        self.change = [0] * len(bounds)
        self._done: dict[str, tuple[int, int]] = {}
        self._failed: dict[str, int] = {}
        self._quiet = 0
        self._spoke: dict[str, int] = {}

    def count(self, events: Sequence[TaskEvent]) -> None:
        """Count events."""
        for event in events:
            at = bisect_right(self.bounds, event.at) - 1
            if at < 0:
                continue
            self._note_quiet(event)
            if event.same:
                continue
            self.change[at] += (event.after in OPEN) - (event.before in OPEN)
            self._done.pop(event.task, None)
            self._failed.pop(event.task, None)
            if event.after == "done":
                self._done[event.task] = (at, max(0, (event.finished_at or event.at) - event.begun_at))
            elif task_failed(event.after):
                self._failed[event.task] = event.at

    @property
    def done(self) -> list[int]:
        """Return how many tasks were done in each bucket."""
        counts = [0] * len(self.bounds)
        for at, _ in self._done.values():
            counts[at] += 1
        return counts

    @property
    def done_tasks(self) -> list[str]:
        """Return the uids of the tasks that were done."""
        return list(self._done)

    @property
    def took(self) -> list[int]:
        """Return the times from taking a task into progress to done."""
        return [time for _, time in self._done.values()]

    @property
    def failed(self) -> int:
        """Return how many tasks have failed."""
        return len(self._failed)

    @property
    def failed_tasks(self) -> list[tuple[str, int]]:
        """Return the uid of each task that has failed and when it did, the newest first."""
        return sorted(self._failed.items(), key=lambda each: -each[1])

    def _note_quiet(self, event: TaskEvent) -> None:
        """Note how long a task in progress had no entry; the human's entries that keep its status do not count."""
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
        """Return how many tasks were open at the end of each bucket, given how many are open now."""
        counts, count = [], now_open
        for change in reversed(self.change):
            counts.append(max(0, count))
            count -= change
        return counts[::-1]

    def open_at_start(self, now_open: int) -> int:
        """Return how many tasks were open when the first bucket began."""
        return max(0, now_open - sum(self.change))

    def quiet(self, now: int) -> int:
        """Return the longest time that a task in progress was without an entry, up to now."""
        return max([self._quiet, *(now - at for at in self._spoke.values())])

    @property
    def median_took(self) -> int | None:
        """Return the median of the times from taking up to done."""
        took = self.took
        return int(median(took)) if took else None


def median_wait(waits: Sequence[AskWait]) -> int | None:
    """Return the median of the times that the human took to answer."""
    times = [wait.answered_at - wait.opened_at for wait in waits if wait.state == "answered" and wait.answered_at]
    return int(median(times)) if times else None


def longest_wait(waits: Sequence[AskWait], now: int) -> tuple[int, AskWait] | None:
    """Return the longest that a question has waited, and which."""
    ages: list[tuple[int, Any]] = [((wait.answered_at or now) - wait.opened_at, wait) for wait in waits]
    return max(ages, key=lambda age: age[0], default=None)


def spread(times: Sequence[int], edges: Sequence[int]) -> list[int]:
    """Return how many of the times are below each edge and not below the one before; the last count is the rest."""
    counts = [0] * (len(edges) + 1)
    for time in times:
        counts[bisect_right(edges, time)] += 1
    return counts
