"""The state that panes share: lists, open questions, failures, agents, and what is new to the human."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from tui_tasks.core import connections
from tui_tasks.core.engine.database import Database
from tui_tasks.core.journal import journal
from tui_tasks.core.read import asks, checks, overview, views
from tui_tasks.core.read.agents import activity, agents, fleet, sessions
from tui_tasks.core.read.jobs import job_rows
from tui_tasks.core.read.overview import Change
from tui_tasks.core.read.pages.pages import TaskLine
from tui_tasks.core.read.tasks import held, queries, records
from tui_tasks.core.read.views import Looked
from tui_tasks.core.session_snapshots import Stuck
from tui_tasks.core.snapshots import Ask, LogEntry, TaskList
from tui_tasks.core.vocab import HUMAN, OPEN, RESERVED_AGENTS
from tui_tasks.tui.state.projects import Projects
from tui_tasks.tui.state.state_changes import StateChanges
from tui_tasks.tui.state.task_numbers import TaskNumbers

_SECOND: Final = 1_000_000
# At most so many tasks are marked as new.
MAX_NEW: Final = 10_000
# At most so many tasks with a failed check are listed.
MAX_UNPROVEN: Final = 1_000
_OF_TASKS: Final = ("task", "log", "state", "list")


class AppState:
    """State read once at the start; each batch of changes rereads only what it touches.

    - `list_id`: the list that the list and the board show. `numbers`: the numbers of tasks.
    - `lists`: all lists, by number. `projects`: the projects, and which one is chosen.
    - `asks`: the open questions, oldest first. `asking`: the uids of the tasks that they are about.
    - `held`: how many tasks and jobs wait for the human to accept them.
    - `stuck`: the agents that make no progress, each with the reason. `paused`: the agents that the human has paused.
    - `unproven`: the uids of the tasks that need the human because a check of theirs has failed.
    - `active`: the task in progress that was changed last. `active_log`: its newest log entry.
    - `next_job`: the next job's name and its instant. `failing`: the names of the jobs whose last run failed.
    - `spoke`: the instant at which each agent last wrote.
    - `new`: uid to list of each task that agents have changed since the human `looked`. `deleted`: the same for tasks
      that they have deleted, except those that they had created since.
    """

    def __init__(self, db: Database, now: int, *, marks_new: bool = True, project: str | None = None) -> None:
        """Read the state; `marks_new`: whether tasks that agents change are marked as new to the human.

        `project`: choose this one, and show it alone; None: none.
        """
        self._db = db
        self._marks_new = marks_new
        self.numbers = TaskNumbers(db)
        self.list_id = 0
        self.lists: dict[int, TaskList] = {}
        self.projects = Projects(db, lambda: self.lists, project)
        self.asks: list[Ask] = []
        self.asking: set[str] = set()
        self.held = 0
        self.stuck: dict[str, Stuck] = {}
        self.paused: set[str] = set()
        self.unproven: list[str] = []
        self.active: TaskLine | None = None
        self.active_log: LogEntry | None = None
        self.next_job: tuple[str, int] | None = None
        self.failing: list[str] = []
        self.spoke: dict[str, int] = {}
        self._agent_count = self._counted_at = 0
        self.new: dict[str, int] = {}
        self.deleted: dict[str, int] = {}
        self._made: set[str] = set()
        # When the human said that all was seen, since the screen was opened.
        self.seen_at = 0
        self.looked = views.looked(db) or Looked(journal.newest(db) if marks_new else 0, now)
        self._read_all()
        self._note_new(overview.changes(db, self.looked.seq, MAX_NEW))

    def apply(self, changes: StateChanges) -> None:
        """Update the state with a batch of changes."""
        self.projects.apply(changes)
        if changes.all:
            self.numbers.forget()
            self._read_all()
            self._note_new(overview.changes(self._db, changes.since, MAX_NEW))
            return
        entries = changes.entries
        self.numbers.apply(entries)
        if changes.touches(*_OF_TASKS):
            self._read_lists(entries)
            self._read_active()
            self.held = held.count(self._db)
        if changes.touches("ask", "task"):
            self._read_asks()
        if changes.touches("stuck"):
            self._read_stuck()
        if changes.touches("agent"):
            self.paused = set(fleet.paused(self._db))
        if changes.touches("task", "list", "check_run", "task_check", "check_definition"):
            self.unproven = checks.failing(self._db, MAX_UNPROVEN)
        if changes.touches("job"):
            self.held = held.count(self._db)
        if changes.touches("job", "run"):
            self._read_jobs()
        self._note_new(entries)
        self._counted_at = 0
        self.spoke |= {entry.actor: entry.at for entry in entries if entry.actor not in RESERVED_AGENTS}

    def all_seen(self, now: int) -> Looked:
        """Mark everything as seen; return what to remember."""
        self.looked = Looked(journal.newest(self._db), now)
        self.seen_at = now
        for noted in (self.new, self.deleted, self._made):
            noted.clear()
        return self.looked

    @property
    def current_list(self) -> TaskList | None:
        """The list that the list and the board show."""
        return self.lists.get(self.list_id)

    @property
    def failed(self) -> int:
        """The number of failed tasks in all lists that are not archived."""
        return sum(found.failed for found in self.shelf)

    @property
    def shelf(self) -> Iterator[TaskList]:
        """The lists that are not archived."""
        return (found for found in self.lists.values() if not found.archived)

    @property
    def of_project(self) -> Iterator[TaskList]:
        """The lists of the chosen project (or of all projects) that are not archived."""
        return (found for found in self.shelf if self.projects.has(found.project))

    def others(self, list_id: int, most: int) -> int:
        """Return how many other lists of the project have tasks, counted up to `most`."""
        others = (found for found in self.of_project if found.id != list_id and found.total)
        return sum(1 for _ in islice(others, most))

    def new_in(self, list_id: int) -> int:
        """Return how many tasks of a list are new to the human."""
        return sum(1 for home in self.new.values() if home == list_id)

    def deleted_in(self, list_id: int) -> int:
        """Return how many tasks of a list agents have deleted that the human may have seen."""
        return sum(1 for home in self.deleted.values() if home == list_id)

    def agent_count(self, now: int) -> int:
        """Return how many agents are present: sessions that have not ended, and agents connected to the channel."""
        # Connections to the channel leave no journal entries, so they are counted anew each second.
        if abs(now - self._counted_at) >= _SECOND:
            self._counted_at = now
            self._agent_count = len(
                {session.uid for session in sessions.live(self._db)} | set(connections.connected_agents(self._db))
            )
        return self._agent_count

    def status_of(self, task: TaskLine) -> str:
        """Return the status to show (`format.look`): `needs_you`, `held`, `blocked`, or the task's own."""
        if (task.uid in self.asking and task.status in OPEN) or task.uid in self.unproven:
            return "needs_you"
        if task.held:
            return "held"
        return "blocked" if task.blocked else task.status

    def _read_stuck(self) -> None:
        self.stuck = {one.uid: one for one in activity.stuck_now(self._db)}

    def _read_all(self) -> None:
        self.lists = {found.id: found for found in queries.lists(self._db)}
        self._read_asks()
        self._read_active()
        self.held = held.count(self._db)
        self._read_stuck()
        self.paused = set(fleet.paused(self._db))
        self.unproven = checks.failing(self._db, MAX_UNPROVEN)
        self._read_jobs()
        self.spoke = {name: at for name, _, at in agents.speakers(self._db)}

    def _read_lists(self, entries: Iterable[Change]) -> None:
        """Reread the lists whose tasks were added, removed or changed."""
        if any(entry.entity == "list" for entry in entries):
            self.lists = {found.id: found for found in queries.lists(self._db)}
            return
        touched = {entry.list_id for entry in entries if entry.entity == "task"}
        touched |= {entry.was[0] for entry in entries if entry.was is not None}
        for number in touched - {None}:
            assert number is not None
            found = queries.list_by_id(self._db, number)
            # A claim may expire in a list that was deleted.
            if not found.deleted:
                self.lists[number] = found

    def _read_jobs(self) -> None:
        self.next_job = job_rows.next_job(self._db)
        self.failing = job_rows.failing_jobs(self._db)

    def _read_asks(self) -> None:
        self.asks = asks.open_asks(self._db)
        self.asking = {ask.task_uid for ask in self.asks if ask.task_uid is not None}

    def _read_active(self) -> None:
        self.active = overview.active(self._db)
        log = records.log_page(self._db, self.active.uid, 1) if self.active is not None else []
        self.active_log = log[0] if log else None

    def _note_new(self, entries: Iterable[Change]) -> None:
        if not self._marks_new:
            return
        for entry in entries:
            if entry.task is None or entry.list_id is None:
                continue
            if entry.actor == HUMAN:
                if entry.kind == "task.restored":
                    self.deleted.pop(entry.task, None)
                continue
            self._note_one(entry.kind, entry.task, entry.list_id)

    def _note_one(self, kind: str, uid: str, list_id: int) -> None:
        if kind == "task.deleted":
            self.new.pop(uid, None)
            if uid not in self._made and len(self.deleted) < MAX_NEW:
                self.deleted[uid] = list_id
            return
        self.deleted.pop(uid, None)
        if kind == "task.created" and len(self._made) < MAX_NEW:
            self._made.add(uid)
        if len(self.new) < MAX_NEW or uid in self.new:
            self.new[uid] = list_id
