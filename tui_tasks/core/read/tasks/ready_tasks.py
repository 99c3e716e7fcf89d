"""Tasks to start: the next one, all open ones, and why none is ready."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from contextlib import closing
from functools import cache
from operator import attrgetter
from typing import Any, Final

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, slot
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.read.tasks.task_queries import LIVE, TASK, read_task
from tui_tasks.core.schema.tables import WAITS, ListRow, TaskRow
from tui_tasks.core.snapshots import Task, TaskList

# How many ready tasks of unsuitable lists are passed over, before each list is queried by itself.
_MAX_PASSED: Final = 100
# How many pending tasks of a list are looked at for a reason, and how many lists.
_MAX_LOOKED_AT: Final = 100
_MAX_LISTS: Final = 20
_IS: Final = {"pending": "is pending", "in_progress": "is in progress", "failed": "has failed"}


def _whose(agent: Any, *, alone: bool) -> Any:
    mine: Any = TaskRow.agent == agent
    return mine if alone else TaskRow.agent.is_null() | mine


@cache
def _ready(of_list: bool, of_agent: bool, alone: bool) -> Statement:
    wanted: Any = LIVE & (TaskRow.status == SQL("'pending'"))
    # The same condition, written as the index to be used has it: SQLite does not recognize the equivalence.
    if of_list:
        wanted &= (TaskRow.list_id == slot("list")) & (SQL("0") == WAITS)
    else:
        wanted &= TaskRow.waiting_on == SQL("0")
    if of_agent:
        wanted &= _whose(slot("agent"), alone=alone)
    if of_list:
        query = TaskRow.select(*TASK)
    else:
        of_home = (ListRow.deleted | ListRow.archived, ListRow.project, ListRow.one_in_progress)
        query = TaskRow.select(*TASK, *of_home).join(ListRow, on=(ListRow.id == TaskRow.list_id))
    # A literal number, as SQLite prepares the statement again for a bound one.
    limit = SQL(str(_MAX_PASSED))
    return Statement(lambda: query.where(wanted).order_by(TaskRow.priority, TaskRow.id).limit(limit))


def next_task(
    db: Database,
    list_id: int | None,
    agent: str | None,
    *,
    project: str | None = None,
    alone: bool = False,
    claimer: str | None = None,
    without: Collection[str] = (),
) -> Task | None:
    """Return the next task to start, or None: pending and not blocked, most urgent first, then oldest.

    With an agent it is that agent's or nobody's (`alone`: the agent's only); with a project it is in one of its lists
    (empty: in one of no project). With a claimer that agent may have one more task in progress in its list. `without`:
    the uids of tasks to pass over. See docs: protocol, section 6 (`tasks`) and 7 (`control:claim`).
    """
    if list_id is not None:
        home = task_queries.list_by_id(db, list_id)
        return _ready_in(db, home, agent, alone=alone, without=without) if takes_more(db, home, claimer) else None
    if project:
        return _ready_in_lists(db, project, agent, alone=alone, claimer=claimer, without=without)
    passed = 0
    full: dict[int, bool] = {}
    with closing(db.each(_ready(False, agent is not None, alone), agent=agent)) as rows:
        for *row, is_away, of_project, one_in_progress in rows:
            task = read_task(row)
            if one_in_progress and claimer is not None and task.list_id not in full:
                full[task.list_id] = task_queries.in_progress_for(db, task.list_id, claimer) is not None
            is_elsewhere = is_away or (project is not None and of_project is not None)
            if not is_elsewhere and not full.get(task.list_id) and task.uid not in without:
                return task
            passed += 1
    if passed < _MAX_PASSED:
        return None
    return _ready_in_lists(db, project, agent, alone=alone, claimer=claimer, without=without)


def takes_more(db: Database, home: TaskList, agent: str | None) -> bool:
    """Return whether an agent may have one more task of a list in progress (docs: protocol, section 5)."""
    if agent is None or not home.one_in_progress or not home.in_progress:
        return True
    return task_queries.in_progress_for(db, home.id, agent) is None


def _ready_in_lists(
    db: Database,
    project: str | None,
    agent: str | None,
    *,
    alone: bool,
    claimer: str | None,
    without: Collection[str],
) -> Task | None:
    there = (home for home in task_queries.lists(db, project) if not home.archived)
    homes = (home for home in there if home.pending and takes_more(db, home, claimer))
    first = (_ready_in(db, home, agent, alone=alone, without=without) for home in homes)
    return min((task for task in first if task is not None), key=lambda task: (task.priority, task.id), default=None)


def _ready_in(db: Database, home: TaskList, agent: str | None, *, alone: bool, without: Collection[str]) -> Task | None:
    with closing(db.each(_ready(True, agent is not None, alone), list=home.id, agent=agent)) as rows:
        return next((task for task in map(read_task, rows) if task.uid not in without), None)


def _homes_with_open_tasks(db: Database, project: str | None) -> list[int]:
    homes = (home for home in task_queries.each_list(db) if task_queries.is_of(home, project))
    return [home.id for home in homes if (home.pending or home.in_progress) and not home.archived]


@cache
def _open(of_agent: bool, alone: bool) -> Statement:
    wanted: Any = LIVE & (TaskRow.list_id == slot("list")) & (TaskRow.status == slot("status"))
    wanted &= TaskRow.rank > slot("behind")
    if of_agent:
        wanted &= _whose(slot("agent"), alone=alone)
    return Statement(lambda: TaskRow.select(*TASK).where(wanted).order_by(TaskRow.rank))


def open_tasks(
    db: Database,
    list_id: int | None,
    agent: str | None,
    *,
    project: str | None = None,
    alone: bool = False,
    after: str | None = None,
) -> Generator[Task, None, None]:
    """Yield the pending and in-progress tasks in the order of lists (oldest first) and of their places.

    With an agent only its and nobody's tasks (`alone`: only its own), with a project only those of its lists (empty: of
    no project). `after`: only tasks after the one of that uid.

    Raises:
        NotFound: that task is not, or no longer, among them.
    """
    from heapq import merge  # short commands start without

    homes = _homes_with_open_tasks(db, project) if list_id is None else [list_id]
    behind = ""
    if after is not None:
        last = task_queries.task(db, after)
        is_whose = agent is None or last.agent == agent or (last.agent is None and not alone)
        if last.list_id not in homes or last.status not in vocab.OPEN or not is_whose:
            raise NotFound("task", after)
        homes, behind = homes[homes.index(last.list_id) :], last.rank
    statement = _open(agent is not None, alone)
    for home in homes:
        of_statuses = (
            map(read_task, db.each(statement, list=home, status=status, behind=behind, agent=agent))
            for status in vocab.OPEN
        )
        yield from merge(*of_statuses, key=attrgetter("rank"))
        behind = ""


def why_none(
    db: Database,
    list_id: int | None,
    agent: str | None,
    *,
    project: str | None,
    claimable: bool = True,
    is_confined: bool = False,
) -> str:
    """Return why a list, or a project, has no task for an agent to start.

    `claimable`: the agent asked to claim one, not which is next. `is_confined`: tasks of other lists are not named.
    """
    if list_id is not None:
        return _why(db, task_queries.list_by_id(db, list_id), agent, claimable=claimable, is_confined=is_confined)
    there = [home for home in task_queries.lists(db, project) if not home.archived]
    homes = [home for home in there if home.pending]
    if not homes:
        where = f" of {project}" if project else ""
        return f"nothing is pending in any list{where}" + _in_progress_text(sum(home.in_progress for home in there))
    reasons = [_why(db, home, agent, claimable=claimable) for home in homes[:_MAX_LISTS]]
    more = len(homes) - 1
    return reasons[0] + (f"; nor is there anything in {more} other list{'s' * (more > 1)}" if more else "")


def why_none_briefly(db: Database, project: str | None) -> tuple[Task | None, str]:
    """Return the first pending task that others hold up only for now, and in few words when it can start: `after #5`.
    Without the task the words are about all, and why none can start; they are empty if that is not known.
    """
    homes = [home for home in task_queries.lists(db, project) if home.pending and not home.archived]
    tasks = [
        task
        for home in homes[:_MAX_LISTS]
        for task in task_queries.tasks_of_status(db, home.id, "pending", _MAX_LOOKED_AT // _MAX_LISTS)
    ]
    failed = ""
    for task in tasks:
        if (on := _waits_for(db, task)) is None:
            continue
        behind = _failed_behind(db, task)
        if behind is None:
            return task, f"after #{on.number}"
        failed = failed or f"#{task.number} is blocked by failed #{behind.number}"
    if failed:
        return None, failed
    held = [task for task in tasks if task.held]
    if held and len(held) == sum(home.pending for home in homes):
        return (None, "all are held") if len(held) > 1 else (held[0], "once accepted")
    return None, ""


def _why(db: Database, home: TaskList, agent: str | None, *, claimable: bool, is_confined: bool = False) -> str:
    if claimable and agent is not None and not takes_more(db, home, agent):
        first = task_queries.in_progress_for(db, home.id, agent)
        assert first is not None
        return (
            f"{named(first)} of {home.name} is in progress already for {agent}, and the list takes one at a time "
            "for each agent"
        )
    if not home.pending:
        return f"nothing is pending in {home.name}{_in_progress_text(home.in_progress)}"
    tasks = task_queries.tasks_of_status(db, home.id, "pending", _MAX_LOOKED_AT)
    waiting = [(task, on) for task in tasks if (on := _waits_for(db, task)) is not None]
    failed = [pair for pair in waiting if pair[1].status == "failed"]
    for task, on in failed or waiting:
        what = named(on) if on.list_id == home.id or not is_confined else "a task of another list"
        return f"{named(task)} of {home.name} waits for {what}, which {_IS[on.status]}"
    for task in tasks:
        if task.held:
            return f"{named(task)} of {home.name} is held until the human accepts it"
        if agent is not None and task.agent not in (None, agent):
            return f"{named(task)} of {home.name} is assigned to {task.agent}"
    return f"what is pending in {home.name} is not ready"


def _in_progress_text(count: int) -> str:
    return f"; {count:,} {'task is' if count == 1 else 'tasks are'} in progress" if count else ""


def waiting_on(db: Database, task: Task) -> list[Task]:
    """Return the tasks that block another, in the order of its dependencies."""
    tasks = [task_queries.any_task(db, uid) for uid in task.depends_on] if task.blocked else []
    there = [on for on in tasks if on is not None and vocab.blocks_dependents(on.status, on.deleted)]
    return [on for on in there if on.list_id == task.list_id or not task_queries.list_by_id(db, on.list_id).deleted]


def _failed_behind(db: Database, task: Task) -> Task | None:
    """Return a failed task that another waits for, also by way of those between; None if there is none."""
    left, seen = [task], {task.uid}
    while left and len(seen) <= _MAX_LOOKED_AT:
        for on in waiting_on(db, left.pop()):
            if on.status == "failed":
                return on
            if on.uid not in seen:
                seen.add(on.uid)
                left.append(on)
    return None


def after_text(db: Database, task: Task) -> str:
    """Return what blocks a task, as `blocked_text` has it; empty if nothing does."""
    first = _waits_for(db, task)
    return blocked_text(first.number, first.status, len(waiting_on(db, task)) - 1) if first is not None else ""


def blocked_text(number: int, status: str, more: int) -> str:
    """Return `after #5 +1`, of a task that blocks another and how many more do, and whether it has failed: that one
    does not become done by itself.
    """
    words = [f"after #{number}", *["(failed)"] * (status == "failed"), *[f"+{more}"] * (more > 0)]
    return " ".join(words)


def starts_early(db: Database, uids: Iterable[str]) -> str:
    """Return `#6 starts before #5 is done`, of the first blocked one of pending tasks; empty if none is blocked."""
    for uid in uids:
        task = task_queries.any_task(db, uid)
        first = _waits_for(db, task) if task is not None else None
        if task is not None and first is not None:
            return f"#{task.number} starts before #{first.number} is done"
    return ""


def _waits_for(db: Database, task: Task) -> Task | None:
    """Return the task that blocks another, a failed one first; None if none does."""
    blocking = waiting_on(db, task)
    return next((on for on in blocking if on.status == "failed"), blocking[0] if blocking else None)
