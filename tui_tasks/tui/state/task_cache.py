"""What is kept of tasks, as reading it each time would cost much: their places in long lists, why they failed, what
agents did on them that waits for the human, and how many there are of each status.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Work
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import READ_ERRORS
from tui_tasks.core.read import check_queries, overview, work_queries, work_text
from tui_tasks.core.read.overview import Change
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.read.work_text import FailedWork
from tui_tasks.core.snapshots import TaskList
from tui_tasks.core.vocab import MAY_NEED

STRETCH: Final = 1_000
# A list of up to so many tasks is counted each time, which takes a fraction of a millisecond.
SHORT: Final = 4_000
# At most so many failed tasks are listed; of so many the reason is read.
MAX_FAILED: Final = 100
_MAX_REASONS: Final = 3
FAILED_OTHERWISE: Final = "failed_otherwise"
"""The key of `ListCounts.of` for tasks with another status than failed whose check, or agent, has failed."""
TO_REVIEW: Final = "to_review"
"""The key of `ListCounts.of` for tasks that need the human for a review alone."""


class _Marks:
    """The stretches of a long list: the rank after which each begins, and its number of tasks."""

    def __init__(self, db: Database, list_id: int) -> None:
        self._db = db
        self._list = list_id
        # A stretch begins after its rank: the task of that rank ends the stretch before.
        self.ranks: list[str] = [list_pages.FIRST]
        self.counts: list[int] = []
        while (rank := list_pages.step(db, list_id, self.ranks[-1], STRETCH)) is not None:
            self.ranks.append(rank)
            self.counts.append(STRETCH)
        self.counts.append(list_pages.between(db, list_id, self.ranks[-1]))

    def ahead(self, rank: str) -> int:
        at = max(0, bisect_left(self.ranks, rank) - 1)
        return sum(self.counts[:at]) + list_pages.between(self._db, self._list, self.ranks[at], rank)

    def count_again(self, rank: str) -> bool:
        """Count the stretch of a rank again; return False when it has become too long."""
        at = max(0, bisect_left(self.ranks, rank) - 1)
        ends = at + 1 < len(self.ranks)
        # Up to and including the next mark; a blank sorts before every digit.
        end = f"{self.ranks[at + 1]} " if ends else list_pages.LAST
        self.counts[at] = list_pages.between(self._db, self._list, self.ranks[at], end)
        return self.counts[at] <= 4 * STRETCH


class RowPlaces:
    """How many tasks come before one in its list, at a cost that does not grow with the list.

    A short list is counted. For a long one the rank of every thousandth task is kept, so that only one stretch between
    two ranks is counted; the journal tells which changes move tasks between stretches.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._marks: dict[int, _Marks] = {}
        self._short: set[int] = set()

    def ahead(self, list_id: int, rank: str) -> int:
        """Return how many tasks of the list come before a rank."""
        known = self._ahead_near_an_end(list_id, rank)
        if known is not None:
            return known
        marks = self._of(list_id)
        return list_pages.between(self._db, list_id, high=rank) if marks is None else marks.ahead(rank)

    def _ahead_near_an_end(self, list_id: int, rank: str) -> int | None:
        """As `ahead`, but None when a long list would have to be counted first."""
        marks = self._marks.get(list_id)
        if marks is not None:
            return marks.ahead(rank)
        near = list_pages.step(self._db, list_id, list_pages.FIRST, STRETCH)
        if near is None or rank <= near:
            return list_pages.between(self._db, list_id, high=rank)
        far = list_pages.step(self._db, list_id, list_pages.LAST, STRETCH, backwards=True)
        if far is not None and rank > far:
            # Near the end, count backwards from the total, which is kept with the list.
            return task_queries.list_by_id(self._db, list_id).total - list_pages.count_from(self._db, list_id, rank)
        return None

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply changes that moved tasks."""
        for list_id, rank in [place for change in changes for place in change.places()]:
            self._short.discard(list_id)
            marks = self._marks.get(list_id)
            if marks is not None and not marks.count_again(rank):
                del self._marks[list_id]

    def forget(self) -> None:
        """Drop all counts, as too much has changed."""
        self._marks.clear()
        self._short.clear()

    def _is_long(self, list_id: int) -> bool:
        return list_pages.step(self._db, list_id, list_pages.FIRST, SHORT) is not None

    def _of(self, list_id: int) -> _Marks | None:
        marks = self._marks.get(list_id)
        if marks is None and list_id not in self._short:
            if not self._is_long(list_id):
                self._short.add(list_id)
                return None
            marks = self._marks[list_id] = _Marks(self._db, list_id)
        return marks


class NewestFailures:
    """The tasks that failed last, each with when and why; `tasks`: newest first."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.tasks: list[TaskLine] = []
        self.last: list[tuple[TaskLine, str]] = []
        """The first of them, each with the reason."""
        # By their uids and versions.
        self._why: dict[tuple[str, int], str] = {}
        self._at: dict[tuple[str, int], int] = {}

    def read(self, lists: Sequence[int]) -> None:
        """Read which tasks of some lists failed last."""
        self.tasks = overview.failed_last(self._db, lists, MAX_FAILED)
        shown = {(task.uid, task.version) for task in self.tasks}
        self._why = {version: why for version, why in self._why.items() if version in shown}
        self._at = {version: at for version, at in self._at.items() if version in shown}
        self.last = [(task, self.why(task)) for task in self.tasks[:_MAX_REASONS]]

    def are_touched_by(self, entries: Iterable[Change]) -> bool:
        """Return whether entries are about failed tasks, or about those."""
        known = {task.uid for task in self.tasks}
        return any(entry.entity == "list" or entry.status == "failed" or entry.task in known for entry in entries)

    def why(self, task: TaskLine) -> str:
        """Return why one of them failed; it is read once of a version, as the task's journal may be long."""
        version = task.uid, task.version
        if version not in self._why:
            self._why[version] = task_records.end_reason(self._db, task)
        return self._why[version]

    def at(self, task: TaskLine) -> int:
        """Return when one of them failed, as `task_records.failed_at` does; it is read as seldom."""
        version = task.uid, task.version
        if version not in self._at:
            self._at[version] = task_records.failed_at(self._db, task)
        return self._at[version]


class Works:
    """The works of agents that wait for the human."""

    has_any: bool
    """Whether an agent was ever started on a task."""
    to_review: list[tuple[Work, int]]
    """The works that wait to be merged, each with the instant since when it waits, oldest first."""
    reviews: dict[str, str]
    """What there is to review, by the agents of the works."""
    reviewable: dict[str, str]
    """The same by the uid of each task whose work waits to be merged."""
    reviewed_since: dict[str, int]
    """Since when the first of these waits, by the same."""
    races: dict[str, list[Work]]
    """The unfinished works of each task that has several, by its uid."""
    failed: dict[str, FailedWork]
    """The uid of each task on which an agent has failed that the human has not dealt with, and why."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def read(self) -> None:
        """Read them all."""
        self.has_any = work_queries.has_any(self._db)
        self.failed = {one.task: one for one in work_text.failed(self._db)} if self.has_any else {}
        self.to_review = work_queries.to_review(self._db)
        texts = work_text.review_texts(self._db, (work for work, _ in self.to_review))
        self.reviews = {work.agent: text for (work, _), text in zip(self.to_review, texts, strict=True)}
        self.reviewed_since = {work.task_uid: since for work, since in reversed(self.to_review)}
        self.races = work_queries.races(self._db) if self.has_any else {}
        of_races = {uid: work_text.agents_text(works) for uid, works in self.races.items()}
        self.reviewable = {
            work.task_uid: of_races.get(work.task_uid, text)
            for (work, _), text in zip(self.to_review, texts, strict=True)
        }

    def read_again(self) -> set[str]:
        """Read what there is to review, of which counts leave no journal entries; return the tasks where it changed."""
        was = self.reviewable
        if self.has_any:
            self.read()
        return {uid for uid in was.keys() | self.reviewable.keys() if was.get(uid) != self.reviewable.get(uid)}


class NeedingTasks(NamedTuple):
    """The tasks that need the human though no question names them, by their uids."""

    every: set[str]
    failed_checks: set[str]
    """Those with a check that has failed."""
    failed_work: set[str]
    """Those on which the last agent has failed."""
    to_review: set[str]
    """Those with work to review, and without a question."""


class ListCounts:
    """How many tasks of a list have each status. They are read once after a change."""

    def __init__(self, db: Database, needing: Callable[[], NeedingTasks]) -> None:
        self._db = db
        self._needing = needing
        # By the number of a list: what its counts were made of, and these.
        self._known: dict[int, tuple[NeedingTasks, dict[str, int]]] = {}

    def forget(self) -> None:
        """Drop all counts, as something has changed."""
        self._known.clear()

    def of(self, home: TaskList) -> dict[str, int]:
        """Return how many tasks of a list have each status, without those that need the human: these are counted as
        `needs_you`, as `FAILED_OTHERWISE` where a check or an agent has failed, or as `TO_REVIEW`. While the database
        cannot be read, each counts with its status.
        """
        from tui_tasks.core.read.pages import board_pages  # an empty list goes without

        needing, known = self._needing(), self._known.get(home.id)
        if known is not None and known[0] == needing:
            return dict(known[1])
        counts = {status: getattr(home, status) for status in vocab.STATUSES}
        try:
            asked = board_pages.asked(self._db, home.id, needing.every)
            otherwise, to_review = len(self.failed_otherwise(home.id)), len(self.to_review_alone(home.id))
        except READ_ERRORS:
            return counts | {board_pages.NEEDS_YOU: 0, FAILED_OTHERWISE: 0, TO_REVIEW: 0}
        counts = {status: number - asked.get(status, 0) for status, number in counts.items()}
        alone = {FAILED_OTHERWISE: otherwise, TO_REVIEW: to_review}
        counts |= {board_pages.NEEDS_YOU: sum(asked.values()) - otherwise - to_review, **alone}
        self._known[home.id] = needing, counts
        return dict(counts)

    def failed_otherwise(self, list_id: int) -> list[str]:
        """Return the tasks of a list that need the human because a check, or the last agent on them, has failed."""
        _, checked, of_agents, _ = self._needing()
        found = self._statuses(list_id, checked | of_agents)
        return [uid for uid, status in found.items() if uid in checked or status == "pending"]

    def to_review_alone(self, list_id: int) -> list[str]:
        """Return the tasks of a list with work to review that need the human neither for a question nor a failure."""
        _, checked, of_agents, to_review = self._needing()
        found = self._statuses(list_id, to_review - checked - of_agents)
        return [uid for uid, status in found.items() if status in MAY_NEED]

    def _statuses(self, list_id: int, uids: set[str]) -> dict[str, str]:
        return check_queries.statuses_in_list(self._db, list_id, uids) if uids else {}
