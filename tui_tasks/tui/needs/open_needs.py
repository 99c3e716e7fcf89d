"""All that needs the human, in one list: the lines above every pane, the counts, the inbox and `!` read it.

The most urgent kind comes first, as in `vocab.NEEDS`, each kind from the oldest.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.job_snapshots import ON_TIME, is_late
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.schema import due_dates, task_fields
from tui_tasks.core.unjournaled.local_values import key_of_agent, key_of_job, key_of_left, key_of_task
from tui_tasks.tui.needs.agent_entries import TROUBLE, AgentEntries, AgentEntry
from tui_tasks.tui.state.app_state import MAX_DUE, MAX_NEXT_JOBS

if TYPE_CHECKING:
    from tui_tasks.core.read.agents.agent_views import AgentView
    from tui_tasks.core.read.job_lines import FailingJob
    from tui_tasks.core.read.pages.list_pages import TaskLine
    from tui_tasks.tui.state.app_state import AppState
    from tui_tasks.tui.state.context import Context


class Kind(IntEnum):
    """What needs the human, most urgent first. `CHECKS` are failed checks, `JOBS` failed jobs, `LATE` late tasks."""

    ASKS = 0
    AGENTS = 1
    CHECKS = 2
    FAILED = 3
    JOBS = 4
    LATE_JOBS = 5
    LATE = 6
    REVIEW = 7
    HELD = 8


ALL: Final = tuple(Kind)
BY_TIME: Final = (Kind.LATE_JOBS, Kind.LATE)
"""What time alone has brought."""
FAILURES: Final = (Kind.FAILED, Kind.JOBS, *BY_TIME)
"""What has failed or is late."""
CAN_BE_DISMISSED: Final = (Kind.AGENTS, *FAILURES)
"""What stays as it is when the human has seen it."""

# For so many microseconds what was read stays right if the state is the same: long enough for all who ask at once.
_FRESH: Final = 500_000
_REST_HELD: Final = "held"
_REST_FAILED: Final = "failed"


class Need(msgspec.Struct, frozen=True):
    """One thing that needs the human.

    Attributes:
        kind: what it is.
        key: its name, unique among all.
        word: why it is here, as it is counted.
        at: since when; None: unknown.
        task: the uid of its task; None: it has none.
        job: the name of its job.
        agent: the name of its agent.
        row: what the state has of it: an `Ask`, `HeldTask`, `Work`, `AgentEntry`, `LeftTask`, `TaskLine`, `FailingJob`
            or `NextJob`.
        count: how many things it stands for.
        parts: those that it stands for: failed tasks with one reason, or all that is proposed.
        rank: its urgency within the kind; low is urgent.
        is_later: whether the human has put it off: it comes after all others.
    """

    kind: Kind
    key: str
    word: str
    at: int | None = None
    task: str | None = None
    job: str | None = None
    agent: str = ""
    row: Any = None
    count: int = 1
    rank: int = 0
    is_later: bool = False
    parts: tuple[Need, ...] = ()

    @property
    def is_rest(self) -> bool:
        """Whether it stands for those that are not read one by one, of which there may be one."""
        return self.key in (_REST_HELD, _REST_FAILED)

    @property
    def order(self) -> tuple[int, int, int, int, str]:
        """What needs are sorted by: urgency, then age; questions of one instant as `ask_queries.by_age` has them."""
        kind = len(ALL) if self.is_later else self.kind
        return kind, self.rank, self.at or 0, self.row.id if self.kind == Kind.ASKS else 0, self.key

    @property
    def counted_as(self) -> str:
        """The word under which it is counted: a failed check is a failure like any other."""
        if self.is_later:
            return "later"
        return "failed" if self.kind == Kind.CHECKS else self.word

    @property
    def target(self) -> str:
        """The task, the job or itself: where `!` goes."""
        return self.task or self.job or self.key


class Needs:
    """Reads the list from the state. It calls `lasts` with how many microseconds that stays true."""

    def __init__(self, context: Context, lasts: Callable[[int], None] = lambda span: None) -> None:
        self._context = context
        self._lasts = lasts
        self._spans: list[int] = []
        self._agents = AgentEntries(context, self._spans.append)

    def all(self) -> list[Need]:
        """Return all that needs the human and is not dismissed, in order."""
        return [need for need in self.every() if not self.is_dismissed(need)]

    def every(self) -> list[Need]:
        """Return the same with what is dismissed. It is read once for all who ask after a change."""
        now, last, read_from = self._context.clock.now(), self._context.last_needs, self._read_from()
        until = last.at + _FRESH if last.ends is None else min(last.at + _FRESH, last.ends)
        is_same = len(last.state) == len(read_from) and all(map(operator.is_, last.state, read_from))
        if not is_same or not last.at <= now < until:
            kinds = (self._asks, self._checks, self._held, self._work, self._in_trouble, self._failed, self._late)
            self._spans.clear()
            last.needs = sorted((need for of_kind in kinds for need in of_kind()), key=lambda need: need.order)
            last.state, last.at = read_from, now
            last.ends = now + min(self._spans) if self._spans else None
        if last.ends is not None:
            self._lasts(last.ends - now)
        return last.needs

    def _read_from(self) -> tuple[Any, ...]:
        """Return the objects of the state from which needs are read; a change replaces those that it changes."""
        state = self._context.state
        return (
            state.lists,
            state.asks,
            state.asked_about,
            state.failing_checks,
            state.held_first,
            state.works.to_review,
            state.works.failed,
            state.present,
            state.left,
            state.lapsed,
            state.failures.tasks,
            state.failing_jobs,
            state.next_jobs,
            state.due,
            state.seen.put_off,
            state.seen.dismissed_at,
            state.seen.dismissed,
            state.held,
            state.works.races,
        )

    def is_dismissed(self, need: Need) -> bool:
        """Return whether the human has dismissed it, and it has not come again since."""
        return need.kind in CAN_BE_DISMISSED and (need.at or 0) <= self._context.state.seen.dismissed.get(need.key, -1)

    def _asks(self) -> Iterator[Need]:
        about, put_off = self._context.state.asked_about, self._context.state.seen.put_off
        now = self._context.clock.now()
        for ask in self._context.state.asks:
            left = put_off.get(ask.uid, now) - now
            if left > 0:
                self._spans.append(left)
            task, is_later = about.get(ask.uid), left > 0
            yield Need(Kind.ASKS, ask.uid, "question", ask.opened_at, task, agent=ask.agent, row=ask, is_later=is_later)

    def _checks(self) -> Iterator[Need]:
        for uid, at in self._context.state.failing_checks.items():
            yield Need(Kind.CHECKS, f"failed:{uid}", "check failed", at, uid)

    def _held(self) -> Iterator[Need]:
        for row in self._context.state.held_first:
            task, job = (None, row.name) if row.is_job else (row.uid, None)
            yield Need(Kind.HELD, f"held:{row.uid}", "proposed", row.at, task, job, row.maker, row)
        if more := self._context.state.held - len(self._context.state.held_first):
            yield Need(Kind.HELD, _REST_HELD, "proposed", count=more, rank=1)

    def _work(self) -> Iterator[Need]:
        state = self._context.state
        for work, since in state.works.to_review:
            if work.task_uid in state.failing_checks and work.task_uid not in state.works.races:
                continue  # its failed check needs the human, in the same row
            yield Need(Kind.REVIEW, f"work:{work.uid}", "to review", since, work.task_uid, agent=work.agent, row=work)

    def _in_trouble(self) -> Iterator[Need]:
        """Return the agents in trouble; of one that is gone, each task that it has left."""
        state = self._context.state
        left = {uid: one for uid, one in (state.lapsed | state.left).items() if one.agent_is == "gone"}
        for uid, one in left.items():
            yield Need(Kind.AGENTS, key_of_left(uid), "gone", one.at, uid, agent=one.agent, row=one, rank=_GONE)
        for entry in self._agents.in_trouble():
            if entry.state != "gone" and not self._is_in_row_of_task(entry.member):
                yield self._of_agent(entry)

    def _is_in_row_of_task(self, member: AgentView) -> bool:
        """Return whether another row says that the task of an agent has failed: one task is one row."""
        state, task = self._context.state, member.failed_task
        if member.state != "failed" or task is None:
            return False
        if (work := member.failed_work) is not None:
            # Of several agents that failed on a task, the last one has the row.
            last = state.works.failed.get(work.task)
            return work.task in state.failing_checks or (last is not None and last.agent != member.name)
        return any(task.uid == failed.uid for failed in self._failed_tasks())

    @staticmethod
    def _of_agent(entry: AgentEntry) -> Need:
        member, state = entry.member, "stuck" if entry.state == "stopped" else entry.state
        task = member.last_task.uid if member.last_task is not None else None
        rank = TROUBLE.index(state)
        return Need(
            Kind.AGENTS, key_of_agent(member.name), state, entry.at, task, agent=member.name, row=entry, rank=rank
        )

    def _failed_tasks(self) -> list[TaskLine]:
        """Return the tasks that have failed since the human said that all was seen."""
        state = self._context.state
        return [task for task in state.failures.tasks if state.failures.at(task) >= state.seen.dismissed_at]

    def _failed(self) -> Iterator[Need]:
        """Yield the tasks and the jobs that have failed since the human said that all was seen. A task is one row with
        the run in which it failed, until it is dismissed: the job that has failed stays.
        """
        state = self._context.state
        unseen = self._failed_tasks()
        # Of very many, those that failed last are read.
        if len(unseen) == len(state.failures.tasks) < state.failed:
            yield Need(Kind.FAILED, _REST_FAILED, "failed", count=state.failed - len(unseen), rank=1)
        in_rows: set[str] = set()
        for task in unseen:
            need = Need(Kind.FAILED, key_of_task(task.uid), "failed", state.failures.at(task), task.uid, row=task)
            if not self.is_dismissed(need):
                in_rows.update(job.uid for job in jobs_of(state, task))
            yield need
        for job in state.failing_jobs:
            if job.uid not in in_rows and (job.at is None or job.at >= state.seen.dismissed_at):
                yield Need(Kind.JOBS, key_of_job(job.uid), "failed", job.at, job=job.name, row=job)

    def _late(self) -> Iterator[Need]:
        """Yield the jobs that nothing has started in time, and the open tasks whose due date is over."""
        state, now = self._context.state, self._context.clock.now()
        for job in state.next_jobs:
            if not is_late(job.when, now):
                self._spans.append(job.when + ON_TIME - now)
                break
            yield Need(Kind.LATE_JOBS, f"late:{job.name}", "late", job.when, job=job.name, row=job)
        if not state.due:
            return
        local = task_fields.local_time(now, self._context.clock.zone)
        self._spans.append(min(task_fields.FIELDS["due"].lasts(due, local) for _, due in state.due))
        for uid, due in state.due:
            if due_dates.is_overdue(due, local):
                yield Need(Kind.LATE, f"late:{uid}", "late", due_dates.late_since(due, local), uid, row=due)


def jobs_of(state: AppState, task: TaskLine) -> list[FailingJob]:
    """Return the failed jobs whose run is one failure with a failed task."""
    failed_by = task.agent if task.status_by == vocab.SYSTEM else task.status_by
    return [job for job in state.failing_jobs if job.is_of_task(failed_by, state.failures.at(task))]


_GONE: Final = TROUBLE.index("gone")


def grouped(needs: Iterable[Need], reason: Callable[[Need], str]) -> list[Need]:
    """Return the same with one for all failed tasks that have the same reason, and one for all that is proposed, in the
    place of the first.
    """
    found: list[Need] = []
    places: dict[str | int, int] = {}
    for need in needs:
        of: str | int = reason(need) if need.kind == Kind.FAILED and need.row is not None else ""
        of = Kind.HELD if need.kind == Kind.HELD else of
        if of not in places:
            if of:
                places[of] = len(found)
            found.append(need)
            continue
        first = found[places[of]]
        parts = (*(first.parts or (first,)), need)
        # What is proposed waits since the first of it; of failures the newest is news.
        at = first.at if need.kind == Kind.HELD else max(part.at or 0 for part in parts)
        count = sum(part.count for part in parts)
        found[places[of]] = msgspec.structs.replace(first, parts=parts, count=count, at=at)
    return found


def late_number(needs: Iterable[Need]) -> str:
    """Return how many of these are late: `3`, or `100+` where no more are read."""
    numbers = Counter(need.kind for need in needs)
    is_cut = numbers[Kind.LATE] >= MAX_DUE or numbers[Kind.LATE_JOBS] >= MAX_NEXT_JOBS
    return f"{numbers[Kind.LATE] + numbers[Kind.LATE_JOBS]}{'+' * is_cut}"


def tally(needs: Iterable[Need]) -> dict[str, int]:
    """Return how many needs there are of each word, in order."""
    return counted_by_word((need.counted_as, need.agent, need.count) for need in needs)


def counted_by_word(found: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """Return how many there are of each word, in order; agents that are gone once each.

    `found`: words, each with the agent, and how many things it stands for.
    """
    numbers: Counter[str] = Counter()
    gone: set[str] = set()
    for word, agent, number in found:
        if word != "gone" or agent not in gone:
            numbers[word] += number
            gone |= {agent} if word == "gone" else set()
    return dict(numbers)


def trouble_text(numbers: Mapping[str, int]) -> str:
    """Return how many agents are stuck, gone or quiet: `1 stuck, 2 gone`, or that none is."""
    return ", ".join(counted(numbers[word], word) for word in TROUBLE if word in numbers) or "0 stuck or gone"


def is_new(state: AppState, need: Need) -> bool:
    """Return whether it has come since the human looked, by what somebody did. What is late came by time alone."""
    if need.parts:
        return any(is_new(state, part) for part in need.parts)
    task = need.row.task_uid if need.kind == Kind.ASKS else need.task if need.kind in (Kind.HELD, Kind.FAILED) else None
    return need.kind not in BY_TIME and not need.is_later and state.seen.is_new(need.at, task)


def came_by_time(context: Context, needs: Iterable[Need]) -> Iterator[Need]:
    """Yield what time alone has made late, and the jobs that it has made slow, since the human looked."""
    since, now = context.state.seen.since, context.clock.now()
    for job in context.state.running_jobs:
        if since < job.slow_from <= now:
            yield Need(Kind.LATE_JOBS, f"slow:{job.name}", "slow", job.slow_from, job=job.name, row=job)
    yield from (need for need in needs if need.kind in BY_TIME and (need.at or 0) > since)


def counted(number: int, word: str) -> str:
    """Return `2 failed`, `1 question`."""
    return f"{number:,} {word}{'s' * (number != 1 and word == 'question')}"


def visit(context: Context, need: Need) -> None:
    """Show its task in the list, its job in the schedule, or itself in the inbox, as where its task was deleted."""
    context.navigation.close_overlays()
    task = list_pages.line(context.db, need.task) if need.task is not None else None
    if task is not None and not task.deleted and task.list_id in context.state.lists:
        context.navigation.go_to(task.uid)
    elif need.job is not None:
        context.navigation.show_job(need.job)
    else:
        context.navigation.show_need(context, need.key)
