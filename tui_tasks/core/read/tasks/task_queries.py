"""Reads of lists and tasks. Each takes the database and returns frozen snapshots."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.errors import NotFound
from tui_tasks.core.schema.tables import EdgeRow, ListRow, TaskRow, columns, model_of
from tui_tasks.core.snapshots import Task, TaskList, reader

if TYPE_CHECKING:
    from tui_tasks.core.read.pages.list_pages import TaskLine

TASK = tuple(columns(TaskRow).values())
_LIST = tuple(columns(ListRow).values())
LIVE: Any = TaskRow.deleted == SQL("0")
OF_LIST: Any = LIVE & (TaskRow.list_id == slot("list"))
# Deleting a list deletes its tasks without marking them. Reads of one list's tasks have found the list before; reads
# of tasks by uid, or of all lists, need this condition too.
IN_LIVE_LIST: Any = fn.EXISTS(
    ListRow.select(SQL("1")).where((ListRow.id == TaskRow.list_id) & (ListRow.deleted == SQL("0")))
)

read_task = reader(Task, TaskRow)
read_list = reader(TaskList, ListRow)

_LIST_BY_ID = Statement(lambda: ListRow.select(*_LIST).where(ListRow.id == slot("id")))
_LIST_BY_UID = Statement(lambda: ListRow.select(*_LIST).where(ListRow.uid == slot("uid")))
_LIST_BY_NAME = Statement(
    lambda: ListRow.select(*_LIST).where(
        (ListRow.name == slot("name")) & (ListRow.kind == SQL("'list'")) & (ListRow.deleted == SQL("0"))
    )
)
_LISTS = Statement(lambda: ListRow.select(*_LIST).where(ListRow.deleted == SQL("0")).order_by(ListRow.id))
_PLANS = Statement(
    lambda: (
        ListRow.select(*_LIST)
        .where(
            (ListRow.id > slot("after"))
            & (ListRow.deleted == SQL("0"))
            & (ListRow.kind == SQL("'plan'"))
            & (fn.IFNULL(ListRow.project, SQL("''")) == slot("project"))
        )
        .order_by(ListRow.id)
    )
)
_TASK_BY_UID = Statement(lambda: TaskRow.select(*TASK).where(TaskRow.uid == slot("uid")))
_LIVE_TASK_BY_UID = Statement(lambda: TaskRow.select(*TASK).where(LIVE & (TaskRow.uid == slot("uid")) & IN_LIVE_LIST))
_STATUS = Statement(lambda: TaskRow.select(TaskRow.status).where(LIVE & (TaskRow.uid == slot("uid")) & IN_LIVE_LIST))
_TASK_BY_KEY = Statement(lambda: TaskRow.select(*TASK).where(OF_LIST & (TaskRow.key == slot("key"))))
_IN_ORDER: Any = TaskRow.select(*TASK).where(OF_LIST).order_by(TaskRow.rank)
_TASKS = Statement(lambda: _IN_ORDER)
_TASKS_AFTER = Statement(lambda: _IN_ORDER.where(TaskRow.rank > slot("rank")).limit(500))
_DELETED = Statement(
    lambda: TaskRow.select(TaskRow.uid, TaskRow.list_id, TaskRow.version, TaskRow.updated_at).where(~LIVE)
)
_IDS = Statement(lambda: TaskRow.select(TaskRow.id).where(OF_LIST).order_by(TaskRow.rank))
TASK_BY_ID = Statement(lambda: TaskRow.select(*TASK).where(TaskRow.id == slot("id")))
_CLAIMED = Statement(lambda: TaskRow.select(TaskRow.claimed_by, TaskRow.fenced).where(TaskRow.id == slot("id")))
_CLAIMED_OR_HELD = Statement(
    lambda: TaskRow.select(*TASK).where(
        OF_LIST & (TaskRow.claimed_by.is_null(False) | (TaskRow.fenced != "[]") | (TaskRow.held == SQL("1")))
    )
)
HELD: Any = LIVE & (TaskRow.held == SQL("1")) & IN_LIVE_LIST
_HELD_COUNT = Statement(
    lambda: TaskRow.select(fn.COUNT(TaskRow.id)).where(HELD & (TaskRow.created_by == slot("agent")))
)
_NEIGHBOUR_AFTER = Statement(
    lambda: TaskRow.select(TaskRow.rank).where(OF_LIST & (TaskRow.rank > slot("rank"))).order_by(TaskRow.rank).limit(1)
)
_NEIGHBOUR_BEFORE = Statement(
    lambda: (
        TaskRow.select(TaskRow.rank)
        .where(OF_LIST & (TaskRow.rank < slot("rank")))
        .order_by(TaskRow.rank.desc())
        .limit(1)
    )
)
_AT_RANK = Statement(lambda: TaskRow.select(TaskRow.uid).where(OF_LIST & (TaskRow.rank == slot("rank"))))
_LAST_RANK = Statement(lambda: TaskRow.select(TaskRow.rank).where(OF_LIST).order_by(TaskRow.rank.desc()).limit(1))
_OF_STATUS = Statement(
    lambda: (
        TaskRow.select(*TASK)
        .where(OF_LIST & (TaskRow.status == slot("status")))
        .order_by(TaskRow.rank)
        .limit(slot("limit"))
    )
)
_IN_PROGRESS = OF_LIST & (TaskRow.status == SQL("'in_progress'"))
# `Task.who`: for whom a task in progress counts (docs: protocol, section 5).
_COUNTS_FOR: Any = fn.COALESCE(TaskRow.agent, TaskRow.status_by, TaskRow.updated_by)
_IN_PROGRESS_FOR = Statement(
    lambda: (
        TaskRow.select(*TASK)
        .where(_IN_PROGRESS & (slot("agent") == _COUNTS_FOR) & (TaskRow.uid != slot("but")))
        .order_by(TaskRow.rank)
        .limit(1)
    )
)
_WITH_SEVERAL = Statement(
    lambda: (
        TaskRow.select(_COUNTS_FOR).where(_IN_PROGRESS).group_by(_COUNTS_FOR).having(fn.COUNT(TaskRow.id) > 1).limit(1)
    )
)
_DEPENDS_ON = Statement(lambda: EdgeRow.select(EdgeRow.on_uid).where(EdgeRow.task_uid == slot("uid")))


def aged_from(task: TaskLine | Task) -> int:
    """Return the instant from which the age shown to people counts: its end, or its last change."""
    return task.finished_at or task.updated_at


@cache
def _next_id(entity: str) -> Statement:
    model = model_of(entity)
    return Statement(lambda: model.select(fn.COALESCE(fn.MAX(columns(model)["id"]), 0) + 1))


def next_id(db: Database, entity: str) -> int:
    """Return the id of the next row of a table."""
    number: int = db.one(_next_id(entity))[0]
    return number


def list_by_id(db: Database, id: int) -> TaskList:
    """Return the list with that row id, which exists."""
    return read_list(db.one(_LIST_BY_ID, id=id))


def find_list(db: Database, handle: str) -> TaskList | None:
    """Return the list of that name, otherwise the plan of that id, otherwise None."""
    row = db.one(_LIST_BY_NAME, name=handle) or db.one(_LIST_BY_UID, uid=handle)
    home = read_list(row) if row else None
    return None if home is None or home.deleted else home


def list_by_uid(db: Database, uid: str, kind: str = "list") -> TaskList:
    """Return the list with that uid.

    Raises:
        NotFound: there is none.
    """
    row = db.one(_LIST_BY_UID, uid=uid)
    if row is None or (home := read_list(row)).deleted:
        raise NotFound(kind, uid)
    return home


def any_list(db: Database, uid: str) -> TaskList:
    """Return the list with that uid, also if it was deleted."""
    return read_list(db.one(_LIST_BY_UID, uid=uid))


def lists(db: Database, project: str | None = None) -> list[TaskList]:
    """Return all lists, or those of a project (empty: of no project), oldest first."""
    return [home for home in each_list(db) if is_of(home, project)]


def is_of(home: TaskList, project: str | None) -> bool:
    """Return whether a list is of a project (empty: of none; None: whatever its project is)."""
    return project is None or (home.project or "") == project


def each_list(db: Database) -> Generator[TaskList, None, None]:
    """Yield all lists one by one, oldest first: their descriptions may be long."""
    for row in db.each(_LISTS):
        yield read_list(row)


def each_plan(db: Database, project: str | None, after: str | None) -> Generator[TaskList, None, None]:
    """Yield the plans of a project (empty or None: of none) one by one, oldest first; those after the plan `after`.

    Raises:
        NotFound: there was never such a plan.
    """
    row = None if after is None else db.one(_LIST_BY_UID, uid=after)
    if after is not None and row is None:
        raise NotFound("plan", after)
    for plan in db.each(_PLANS, after=0 if row is None else read_list(row).id, project=project or ""):
        yield read_list(plan)


def any_task(db: Database, uid: str) -> Task | None:
    """Return the task with that uid, also if it or its list was deleted; None if there is none."""
    row = db.one(_TASK_BY_UID, uid=uid)
    return read_task(row) if row else None


def task_or_deleted(db: Database, uid: str) -> Task:
    """Return the task with that uid, also if it or its list was deleted: what a row of an earlier moment shows.

    Raises:
        NotFound: there is none.
    """
    found = any_task(db, uid)
    if found is None:
        raise NotFound("task", uid)
    return found


def status(db: Database, uid: str) -> str | None:
    """Return the status of the task with that uid; None if there is none, or it was deleted."""
    row = db.one(_STATUS, uid=uid)
    return row[0] if row else None


def numbers_and_names(db: Database, uids: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Return the numbers and the names of tasks, also of deleted ones, by their uids."""
    rows = db.sql(
        "SELECT uid, id, name FROM task WHERE uid IN (SELECT value FROM json_each(?))",
        (msgspec.json.encode(list(uids)).decode(),),
    )
    return {uid: (number, name) for uid, number, name in rows.fetchall()}


_TWIN = """
    SELECT other.id FROM task JOIN task AS other ON other.list_id = task.list_id
    WHERE task.uid = ? AND other.uid != task.uid AND other.deleted = 0 AND other.status IN ('pending', 'in_progress')
    AND other.name = task.name COLLATE NOCASE ORDER BY other.id LIMIT 1
"""


def open_twin(db: Database, uid: str) -> int | None:
    """Return the number of another open task of the same list that has the title of a task; None if there is none."""
    number: int | None = db.scalar(_TWIN, (uid,))
    return number


def live_tasks(db: Database, uids: Sequence[str]) -> list[Task]:
    """Return those of the tasks that exist and are not deleted, in the order of `uids`."""
    by_uid: dict[str, Task] = {}
    for at in range(0, len(uids), 500):
        query = TaskRow.select(*TASK).where(LIVE & TaskRow.uid.in_(uids[at : at + 500]) & IN_LIVE_LIST)
        by_uid |= {task.uid: task for task in map(read_task, db.query(query))}
    return [by_uid[uid] for uid in uids if uid in by_uid]


def task(db: Database, uid: str) -> Task:
    """Return the task with that uid.

    Raises:
        NotFound: there is none, or it or its list was deleted.
    """
    row = db.one(_LIVE_TASK_BY_UID, uid=uid)
    if row is None:
        raise NotFound("task", uid)
    return read_task(row)


def tasks_beginning(db: Database, prefix: str, limit: int, list_id: int | None = None) -> list[Task]:
    """Return the first `limit` tasks whose uid begins with `prefix`, of one list or of all."""
    values = {"prefix": prefix, "end": prefix + "\U0010ffff", "list": list_id}
    return [read_task(row) for row in db.all(_tasks_beginning(limit, of_one_list=list_id is not None), **values)]


@cache
def _tasks_beginning(limit: int, *, of_one_list: bool) -> Statement:
    wanted = LIVE & (TaskRow.uid >= slot("prefix")) & (TaskRow.uid < slot("end")) & IN_LIVE_LIST
    if of_one_list:
        wanted &= TaskRow.list_id == slot("list")
    return Statement(lambda: TaskRow.select(*TASK).where(wanted).limit(limit))


def task_by_key(db: Database, list_id: int, key: str) -> Task | None:
    """Return the task of a list that has the caller's id `key`, or None."""
    row = db.one(_TASK_BY_KEY, list=list_id, key=key)
    return read_task(row) if row else None


def tasks(db: Database, list_id: int, statuses: Iterable[str] | None = None) -> list[Task]:
    """Return the tasks of a list in order; with `statuses` only those in one of them."""
    if statuses is None:
        return [read_task(row) for row in db.all(_TASKS, list=list_id)]
    query = TaskRow.select(*TASK).where(LIVE & (TaskRow.list_id == list_id) & TaskRow.status.in_(sorted(statuses)))
    return [read_task(row) for row in db.query(query.order_by(TaskRow.rank))]


def each_task(db: Database, list_id: int) -> Iterator[Task]:
    """Yield the tasks of a list in order. They are read in pages: a list of any length takes little memory, and no read
    transaction stays open between two pages.
    """
    rank = ""
    while rows := db.all(_TASKS_AFTER, list=list_id, rank=rank):
        page = [read_task(row) for row in rows]
        yield from page
        rank = page[-1].rank


def each_task_by_uid(db: Database, list_id: int | None) -> Iterator[Task]:
    """Yield the tasks of a list, or of all, in the order of their uids.

    Close the iterator soon: a read transaction lasts until then.
    """
    query = TaskRow.select(*TASK).where(LIVE).order_by(TaskRow.uid)
    rows = db.each_of(query if list_id is None else query.where(TaskRow.list_id == list_id))
    try:
        for row in rows:
            yield read_task(row)
    finally:
        rows.close()


def deleted_tasks(db: Database) -> list[tuple[str, int, int, int]]:
    """Return of each deleted task its uid, its list's id, its version and the instant of its deletion."""
    return [(uid, list_id, version, at) for uid, list_id, version, at in db.all(_DELETED)]


def ids_of_list(db: Database, list_id: int) -> list[int]:
    """Return the row ids of the tasks of a list, in order: fast, however many there are."""
    return [row[0] for row in db.all(_IDS, list=list_id)]


def task_of_number(db: Database, number: int) -> Task | None:
    """Return the task of that number, also if it or its list was deleted; None if there is none."""
    row = db.one(TASK_BY_ID, id=number)
    return read_task(row) if row else None


def task_by_id(db: Database, id: int) -> Task:
    """Return the task with that row id, also if it was deleted."""
    return read_task(db.one(TASK_BY_ID, id=id))


def is_claimed(db: Database, id: int) -> bool:
    """Return whether the task with that row id is claimed, or a claim on it has lapsed."""
    claimed_by, fenced = db.one(_CLAIMED, id=id)
    return claimed_by is not None or fenced != "[]"


def claimed_or_held(db: Database, list_id: int) -> list[Task]:
    """Return the tasks of a list that are held, claimed, or were claimed and lapsed."""
    return [read_task(row) for row in db.all(_CLAIMED_OR_HELD, list=list_id)]


def held_count(db: Database, agent: str) -> int:
    """Return how many tasks of an agent wait for the human to accept them."""
    count: int = db.one(_HELD_COUNT, agent=agent)[0]
    return count


def in_progress_for(db: Database, list_id: int, agent: str, but: str = "") -> Task | None:
    """Return the first task in progress of a list that counts for an agent, or None; `but`: a uid to leave out."""
    row = db.one(_IN_PROGRESS_FOR, list=list_id, agent=agent, but=but)
    return read_task(row) if row else None


def who_has_several_in_progress(db: Database, list_id: int) -> str | None:
    """Return for whom several tasks in progress of a list count, or None."""
    row = db.one(_WITH_SEVERAL, list=list_id)
    return row[0] if row else None


def tasks_of_status(db: Database, list_id: int, status: str, limit: int) -> list[Task]:
    """Return the first `limit` tasks of a list in a status, in order."""
    return [read_task(row) for row in db.all(_OF_STATUS, list=list_id, status=status, limit=limit)]


def last_rank(db: Database, list_id: int) -> str | None:
    """Return the rank of a list's last task, or None."""
    row = db.one(_LAST_RANK, list=list_id)
    return row[0] if row else None


def rank_beside(db: Database, list_id: int, rank: str, *, after: bool) -> str | None:
    """Return the rank of the task right after or before a rank; None at the end."""
    row = db.one(_NEIGHBOUR_AFTER if after else _NEIGHBOUR_BEFORE, list=list_id, rank=rank)
    return row[0] if row else None


def at_rank(db: Database, list_id: int, rank: str) -> set[str]:
    """Return the uids of the tasks of the list at that rank."""
    return {uid for (uid,) in db.all(_AT_RANK, list=list_id, rank=rank)}


def depends_on(db: Database, uid: str) -> list[str]:
    """Return the uids of the tasks on which a task depends."""
    return [row[0] for row in db.all(_DEPENDS_ON, uid=uid)]


assert set(vocab.STATUSES) <= set(TaskList.__struct_fields__)
