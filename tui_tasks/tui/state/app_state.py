"""The state that panes share: lists, open questions, failures, and agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from tui_tasks.core.agent_snapshots import Ask, Auto
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import ask_queries, check_queries, job_lines, overview, work_queries
from tui_tasks.core.read.agents import agent_states, agent_views, last_words
from tui_tasks.core.read.agents.agent_states import LeftTask, StuckTask
from tui_tasks.core.read.agents.agent_views import AgentView
from tui_tasks.core.read.job_lines import FailingJob, NextJob, RunningJob
from tui_tasks.core.read.overview import Change, StateChanges
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.tasks import held_queries, ready_tasks, task_queries
from tui_tasks.core.read.tasks.held_queries import HeldTask
from tui_tasks.core.read.unseen_changes import MAX_NEW
from tui_tasks.core.read.work_text import FailedWork
from tui_tasks.core.schema import task_fields
from tui_tasks.core.snapshots import Task, TaskList
from tui_tasks.core.vocab import MAY_NEED, RESERVED_AGENTS
from tui_tasks.text.times import DAY, MINUTE
from tui_tasks.tui.state.projects import ALL_PROJECTS, ProjectChoice, Projects
from tui_tasks.tui.state.seen import Seen
from tui_tasks.tui.state.task_cache import ListCounts, NeedingTasks, NewestFailures, RowPlaces, Works

# At most so many tasks with a failed check are listed.
MAX_UNPROVEN: Final = 1_000
# At most so many held tasks are listed.
MAX_HELD: Final = 1_000
# At most so many jobs, and so many tasks, that are late are counted.
MAX_NEXT_JOBS: Final = 10
MAX_DUE: Final = 100
# Tasks that are due in so many days are read, as they may become late while nothing changes.
_SOON: Final = 7
_OF_TASKS: Final = ("task", "log", "state", "list")
# The states of agents that are news.
_IN_TROUBLE: Final = ("stuck", "stopped", "failed")


class AppState:
    """State read once at the start; each batch of changes rereads only what it touches."""

    # Of lists and tasks
    list_id = 0
    """The list that the list and the board show."""
    sort = ""
    """The order in which tasks are shown; empty: a list's own."""
    lists: dict[int, TaskList]
    """All lists, by number."""
    number_width = 2
    """How many cells the number of the newest task has: 3 for `#12`."""
    next_task: Task | None
    """The next task that can start."""
    why_none_next: tuple[Task | None, str]
    """One that cannot, and why."""
    due: list[tuple[str, str]]
    """The uids and the due dates of open tasks that are late or due soon, the first due first."""
    failing_checks: dict[str, int]
    """Since when tasks need the human because a check of theirs has failed, by uid, oldest first."""
    held: int
    """How many tasks and jobs wait for the human to accept them."""
    held_first: list[HeldTask]
    """The oldest of them."""
    next_jobs: list[NextJob]
    """The jobs that run next."""
    running_jobs: list[RunningJob]
    """Those that run, as far as their usual time is known."""
    failing_jobs: list[FailingJob]
    """The jobs whose last run failed, newest first."""

    # Of agents
    asks: list[Ask]
    """The open questions, oldest first."""
    stuck: dict[str, StuckTask]
    """The tasks in progress whose agent is stuck, by uid."""
    lapsed: dict[str, LeftTask]
    """The tasks that are pending again since a claim on them lapsed, whose agent is gone or silent."""
    spoke: dict[str, int]
    """The instant at which each agent last wrote."""
    autos: dict[str, Auto]
    """The lists that start agents, by uid."""

    # Of what the human did
    cursor_deleted: str | None = None
    """The uid of the task under the cursor when the human last deleted tasks."""
    was_open_deleted = False
    """Whether that task was open in full."""

    def __init__(
        self,
        db: Database,
        now: int,
        *,
        is_past: bool = False,
        project: ProjectChoice = ALL_PROJECTS,
        grace: int = 10 * MINUTE,
    ) -> None:
        """Read the state.

        `is_past`: the past is shown, where nothing is new, and who was connected is not known. `grace`: see
        `agent_states.has_left`.
        """
        self._db = db
        self._is_past = is_past
        self._grace = grace
        self.places = RowPlaces(db)
        self.failures = NewestFailures(db)
        self.works = Works(db)
        self.counts = ListCounts(db, self._tasks_needing)
        self.projects = Projects(db, lambda: self.lists, project)
        self.seen = Seen(db, now, lambda: self.lists, is_past=is_past)
        """What the human has seen, and what is new to them."""
        self.members: list[AgentView] = []
        """Every agent, without those that are gone for a day and have left nothing open."""
        self.present: list[AgentView] = []
        """Those of them that did more than single calls, or have something open."""
        self.left: dict[str, LeftTask] = {}
        """The tasks in progress whose agent is gone, by uid."""
        self.asked_about: dict[str, str] = {}
        """By the uid of each open question, the uid of the task that it is about."""
        self.asking: set[str] = set()
        """The uids of these tasks."""
        self._about: dict[str, str | None] = {}
        self._last_look = agent_views.LastLook()
        self.cursors: dict[int, str] = {}
        """The task under the cursor of each list, by number."""
        self.files_opened: dict[str, dict[str, bytes]] = {}
        """By the uid of each work, the versions of its files whose diff was on screen."""
        self.answered: list[str] = []
        """The uids of the questions that the human answered in the inbox, in that order."""
        self._read_all(now)

    def apply(self, changes: StateChanges, now: int) -> None:
        """Update the state with a batch of changes."""
        self._apply(changes, now)
        self.counts.forget()
        if self.current_list is not None:
            self.counts.of(self.current_list)

    def _apply(self, changes: StateChanges, now: int) -> None:
        self.projects.apply(changes)
        if changes.has_own:
            self.seen.forget_marks()
        if changes.all:
            self.places.forget()
            self._read_all(now)
            self.seen.note(overview.changes(self._db, changes.since, MAX_NEW))
            return
        entries = changes.entries
        self.places.apply(entries)
        if changes.touches(*_OF_TASKS):
            self._read_number_width()
            self._read_lists(entries)
            self._read_due(now)
            if self.failures.are_touched_by(entries):
                self._read_failed_last()
            self._read_held()
        if changes.touches("ask", "task"):
            self._read_asks()
        if changes.touches("work") or (self.works.has_any and changes.touches("task")):
            self.works.read()
        if changes.touches("ask", "work", *_OF_TASKS):
            self.read_next()
        if changes.touches("task", "list", "check_run", "task_check", "check_definition"):
            self.failing_checks = check_queries.failing_since(self._db, MAX_UNPROVEN)
        if changes.touches("auto"):
            self._read_autos()
        if changes.touches("job"):
            self._read_held()
        if changes.touches("job", "run"):
            self._read_jobs()
        self.seen.note(entries)
        self.read_agents(now)
        self.spoke |= {entry.actor: entry.at for entry in entries if entry.actor not in RESERVED_AGENTS}

    @property
    def has_news(self) -> bool:
        """Whether a change, or something that needs the human, is new to them."""
        left = (*self.left.values(), *self.lapsed.values())
        came = (
            *(ask.opened_at for ask in self.asks[-1:]),
            *(row.at for row in self.held_first[-1:]),
            *(since for _, since in self.works.to_review[-1:]),
            *(job.at for job in self.failing_jobs[:1]),
            *(one.at for one in left),
            *(member.since for member in self.present if member.state in _IN_TROUBLE),
        )
        return bool(self.seen.new or self.seen.deleted) or any(self.seen.is_new(at) for at in came)

    @property
    def current_list(self) -> TaskList | None:
        """The list that the list and the board show."""
        return self.lists.get(self.list_id)

    @property
    def failed(self) -> int:
        """The number of failed tasks in all lists that are not archived."""
        return sum(home.failed for home in self.active_lists)

    @property
    def active_lists(self) -> Iterator[TaskList]:
        """The lists that are not archived."""
        return (home for home in self.lists.values() if not home.archived)

    @property
    def project_lists(self) -> Iterator[TaskList]:
        """The lists of the chosen project (or of all projects) that are not archived."""
        return (home for home in self.active_lists if self.projects.has(home.project))

    def others(self, list_id: int, most: int) -> int:
        """Return how many other lists of the project have tasks, counted up to `most`."""
        others = (home for home in self.project_lists if home.id != list_id and home.total)
        return sum(1 for _ in islice(others, most))

    def read_agents(self, now: int) -> bool:
        """Read what agents do, and who is there, which leaves no journal entries; return whether it has changed."""
        was = self.members, self.left, self.asked_about
        known = () if self._is_past else self.members
        self.members = agent_views.everyone(
            self._db,
            now - DAY,
            known,
            last=self._last_look,
            seen_at=self.seen.dismissed_at,
            past=now if self._is_past else None,
            now=now,
        )
        self.present = [member for member in self.members if not member.is_plain]
        left = agent_states.of_gone_agents(self._db, self.present, now, self._grace)
        # An agent whose work is to be reviewed may be gone.
        failed = {(uid, one.agent) for uid, one in self.failed_work.items()}
        self.left = {
            uid: one for uid, one in left.items() if uid not in self.works.reviewable and (uid, one.agent) not in failed
        }
        self.lapsed = agent_states.of_lapsed_claims(self.present, now, self._grace)
        self.stuck = agent_states.of_stuck_agents(self._db, self.present)
        tasks = {member.name: member.task for member in self.present if member.task is not None}
        self.asked_about = self._read_asked_about(tasks)
        self.asking = set(self.asked_about.values())
        return was != (self.members, self.left, self.asked_about)

    def _read_asked_about(self, at_work: Mapping[str, TaskLine]) -> dict[str, str]:
        """Read what questions are about that were not read before: that does not change."""
        known = self._about
        if new := [ask for ask in self.asks if ask.uid not in known]:
            about = ask_queries.asked_about(self._db, new, at_work)
            known |= {ask.uid: about.get(ask.uid) for ask in new}
        self._about = {ask.uid: known[ask.uid] for ask in self.asks}
        return {uid: task for uid, task in self._about.items() if task is not None}

    def without_agent(self, uid: str) -> LeftTask | None:
        """Return who has left a task, or says nothing about it; None where nobody has."""
        return self.left.get(uid) or self.lapsed.get(uid)

    @property
    def standing_still(self) -> frozenset[str]:
        """The tasks whose agent is gone, quiet, stuck or suspended, or has lost its claim."""
        return frozenset((*self.left, *self.lapsed, *self.stuck))

    @property
    def waits_for_you(self) -> bool:
        """Whether the inbox has something that does not come by time alone."""
        stuck = any(member.state == "stuck" for member in self.present)
        failed = any(self.failures.at(task) >= self.seen.dismissed_at for task in self.failures.tasks)
        failed |= bool(self.failed_work)
        failed |= any((job.at or 0) >= self.seen.dismissed_at for job in self.failing_jobs[:1])
        needing = self.asks or self.failing_checks or self.left or self.works.reviewable
        return bool(needing or self.held or stuck or failed)

    @property
    def suggested(self) -> str | None:
        """The uid of the task that is named as the next one: one that can start, else one that cannot yet."""
        task = self.next_task or self.why_none_next[0]
        return task.uid if task is not None else None

    @property
    def needing(self) -> set[str]:
        """The tasks that need the human though no question names them: left by their agent, with a failed check, to be
        reviewed, with failed work, or in progress by an agent that asks.
        """
        return self._tasks_needing().every

    def _tasks_needing(self) -> NeedingTasks:
        named = {ask.task_uid for ask in self.asks}
        checks, works, to_review = {*self.failing_checks}, {*self.failed_work}, {*self.works.reviewable}
        every = self.left.keys() | checks | works | to_review | (self.asking - named)
        return NeedingTasks(every, checks, works, to_review - self.asking)

    def tasks_needing_you(self) -> Sequence[str]:
        """Return the uids of the tasks that need the human, of which some may be over: for `status:needs_you`."""
        return [*self.needing, *self.asking]

    @property
    def failed_work(self) -> dict[str, FailedWork]:
        """Those of `works.failed` that the human has not dismissed."""
        return {uid: one for uid, one in self.works.failed.items() if self.seen.shows_agent(one.agent, one.at)}

    def status_of(self, task: TaskLine) -> str:
        """Return the status to show: the task's, or `needs_you`, `check_failed`, `left`, `quiet`, `reviewable`,
        `agent_failed`, `held` or `blocked` (`text.glyphs`).
        """
        if task.uid in self.asking and task.status in MAY_NEED:
            return "needs_you"
        if task.uid in self.failing_checks:
            return "check_failed"
        if (left := self.left.get(task.uid)) is not None:
            return "left" if left.agent_is == "gone" else "quiet"
        if task.uid in self.works.reviewable:
            return "reviewable"
        if task.status == "pending" and task.uid in self.works.failed and task.uid in self.failed_work:
            return "agent_failed"
        if task.held:
            return "held"
        return "blocked" if task.blocked else task.status

    def _read_number_width(self) -> None:
        self.number_width = len(f"#{task_queries.next_id(self._db, 'task') - 1}")

    def _read_all(self, now: int) -> None:
        if self._is_past:
            self.seen.read_dismissed(now)
        self._about = {}
        self._last_look = agent_views.LastLook()
        self._read_number_width()
        self.lists = {home.id: home for home in task_queries.lists(self._db)}
        self._read_asks()
        self._read_due(now)
        self._read_failed_last()
        self.works.read()
        self.read_next()
        self.read_agents(now)
        self._read_held()
        self.failing_checks = check_queries.failing_since(self._db, MAX_UNPROVEN)
        self._read_autos()
        self._read_jobs()
        self.spoke = {name: at for name, _, at in last_words.speakers(self._db)}

    def _read_held(self) -> None:
        self.held = held_queries.count(self._db)
        self.held_first = held_queries.first(self._db, MAX_HELD, self.held)

    def _read_lists(self, entries: Iterable[Change]) -> None:
        """Reread the lists whose tasks were added, removed or changed."""
        if any(entry.entity == "list" for entry in entries):
            self.lists = {home.id: home for home in task_queries.lists(self._db)}
            return
        touched = {entry.list_id for entry in entries if entry.entity == "task"}
        touched |= {entry.was[0] for entry in entries if entry.was is not None}
        for number in touched - {None}:
            assert number is not None
            home = task_queries.list_by_id(self._db, number)
            # A claim may expire in a list that was deleted.
            if not home.deleted:
                self.lists[number] = home

    def _read_autos(self) -> None:
        self.autos = {auto.uid: auto for auto in work_queries.all_autos(self._db)}

    def _read_jobs(self) -> None:
        self.next_jobs = job_lines.next_jobs(self._db, MAX_NEXT_JOBS)
        self.running_jobs = job_lines.running_jobs(self._db)
        self.failing_jobs = job_lines.failing_jobs(self._db)

    def _read_asks(self) -> None:
        self.asks = ask_queries.open_asks(self._db)

    def read_next(self) -> None:
        """Read the next task that can start, of the chosen project, else of all lists. One with an open question, or
        with failed work that the human has not seen, cannot.
        """
        without = {ask.task_uid for ask in self.asks if ask.task_uid is not None} | self.failed_work.keys()
        project = self.projects.chosen or None
        self.next_task = ready_tasks.next_task(self._db, None, None, project=project, without=without)
        is_none = self.next_task is None
        self.why_none_next = ready_tasks.why_none_briefly(self._db, project) if is_none else (None, "")

    def _read_due(self, now: int) -> None:
        open_lists = (home.id for home in self.active_lists if home.pending or home.in_progress)
        soon = task_fields.local_time(now + _SOON * DAY).date().isoformat()
        self.due = overview.due_tasks(self._db, open_lists, soon)[:MAX_DUE]

    def _read_failed_last(self) -> None:
        self.failures.read([home.id for home in self.active_lists if home.failed])
