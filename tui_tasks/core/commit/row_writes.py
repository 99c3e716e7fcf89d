"""The only writes to the state tables: inserts a row or updates columns, and maintains the derived columns.

Commits and replay of the journal both use `apply`, so both give the same tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from itertools import compress
from operator import is_not
from typing import Any, Final

import msgspec
from msgspec.structs import astuple

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.schema.tables import EdgeRow, Flag, JsonField, ListRow, TaskRow, columns, model_of
from tui_tasks.core.snapshots import Task

_encode = msgspec.json.Encoder().encode


@cache
def _writers(entity: str) -> dict[str, Callable[[Any], Any]]:
    """Return the conversions of the columns whose values are not bound unchanged."""
    fields = columns(model_of(entity))
    json: dict[str, Callable[[Any], Any]] = {
        name: _text for name, field in fields.items() if isinstance(field, JsonField)
    }
    return json | {name: int for name, field in fields.items() if isinstance(field, Flag)}


def _text(value: Any) -> str:
    # Most arrays of a task are empty.
    return "[]" if value == () else _encode(value).decode()


# The fields that are empty in most new tasks, as SQL: a constant takes less time than binding a value.
_EMPTY: Final = {
    name: SQL(f"'{field.default}'" if isinstance(field.default, str) else str(field.default))
    for name, field in columns(TaskRow).items()
    if field.default in ("", "[]", 0)
}


def _empty_value(name: str) -> Any:
    field = columns(TaskRow)[name]
    if name not in _EMPTY:
        return None
    if isinstance(field, Flag):
        return False
    return () if field.default == "[]" else field.default


_FIELDS: Final = Task.__struct_fields__
# How many of the first fields every task has; and what stands in the others where the row has an empty field, or none:
# objects of which there is only one.
_ALWAYS: Final = _FIELDS.index("key")
_EMPTY_VALUES: Final = tuple(map(_empty_value, _FIELDS[_ALWAYS:]))


@cache
def _insert(entity: str, names: tuple[str, ...], *, row: tuple[str, ...] = ()) -> Statement:
    model = model_of(entity)
    fields = columns(model)
    values = (_EMPTY if entity == "task" else {}) | {name: slot(name) for name in names}
    return Statement(
        lambda: model.insert({fields[name]: value for name, value in values.items()}),
        _writers(entity),
        row=row,
    )


@cache
def _insert_new_task(has_value: tuple[bool, ...]) -> Statement:
    """Return the statement for a task; `has_value`: which of the fields after the first have a value."""
    names = (*_FIELDS[:_ALWAYS], *compress(_FIELDS[_ALWAYS:], has_value))
    return _insert("task", names, row=_FIELDS)


def _given(entity: str, row: dict[str, Any]) -> tuple[str, ...]:
    """Return the columns of a new row that have a value.

    None is left to the column's default: the driver looks up an adapter for each bound None, which is slow.
    """
    if entity == "task":
        return tuple([name for name, value in row.items() if value or (value is not None and name not in _EMPTY)])
    return tuple([name for name, value in row.items() if value is not None])


@cache
def _update(entity: str, names: tuple[str, ...]) -> Statement:
    model = model_of(entity)
    fields = columns(model)
    return Statement(
        lambda: model.update({fields[name]: slot(name) for name in names}).where(fields["uid"] == slot("uid_")),
        _writers(entity),
    )


@cache
def _count(status: str) -> Statement:
    field = columns(ListRow)[status]
    return Statement(lambda: ListRow.update({field: field + slot("by")}).where(ListRow.id == slot("id")))


_COUNTED = ("list_id", "status", "deleted")
# Also selects whether the task has dependents: few have any, and recounting none costs more than everything else.
_COUNTED_COLUMNS = Statement(
    lambda: TaskRow.select(
        TaskRow.list_id,
        TaskRow.status,
        TaskRow.deleted,
        fn.EXISTS(EdgeRow.select(SQL("1")).where(EdgeRow.on_uid == TaskRow.uid)),
    ).where(TaskRow.uid == slot("uid"))
)
_ONE_IN_PROGRESS = Statement(lambda: ListRow.select(ListRow.one_in_progress).where(ListRow.id == slot("id")))
_SET_SOLO = Statement(
    lambda: TaskRow.update({TaskRow.solo: slot("solo")}).where(
        TaskRow.list_id == ListRow.select(ListRow.id).where(ListRow.uid == slot("uid"))
    )
)
_SET_RANK = Statement(lambda: TaskRow.update({TaskRow.rank: slot("rank")}).where(TaskRow.uid == slot("uid")))
_DROP_EDGES = Statement(lambda: EdgeRow.delete().where(EdgeRow.task_uid == slot("uid")))
_ADD_EDGE = Statement(lambda: EdgeRow.insert({EdgeRow.task_uid: slot("uid"), EdgeRow.on_uid: slot("on")}))
# Entities in tables of their own that belong to a task; an entry about one also changes the task.
TOUCHING = frozenset({"log", "state"})
_TOUCH = Statement(
    lambda: TaskRow.update(
        {TaskRow.version: slot("version"), TaskRow.updated_at: slot("at"), TaskRow.updated_by: slot("actor")}
    ).where(TaskRow.uid == slot("uid"))
)


def _unfinished_dependencies() -> Any:
    """Select how many dependencies block a task: `vocab.blocks_dependents`, and where their lists are."""
    on = TaskRow.alias()
    home = ListRow.select(SQL("1")).where((ListRow.id == on.list_id) & (ListRow.deleted == SQL("0")))
    return (
        EdgeRow.select(fn.COUNT(EdgeRow.on_uid))
        .join(on, on=(on.uid == EdgeRow.on_uid))
        .where(
            (EdgeRow.task_uid == TaskRow.uid)
            & (on.deleted == 0)
            & on.status.not_in(sorted(vocab.RELEASING))
            # A task in a deleted list blocks only tasks of that list, which are restored together with it.
            & ((on.list_id == TaskRow.list_id) | fn.EXISTS(home))
        )
    )


def _waiting_on() -> dict[Any, Any]:
    return {TaskRow.waiting_on: TaskRow.held + _unfinished_dependencies()}


_RECOUNT = Statement(lambda: TaskRow.update(_waiting_on()).where(TaskRow.uid == slot("uid")))
_RECOUNT_DEPENDENTS = Statement(
    lambda: TaskRow.update(_waiting_on()).where(
        TaskRow.uid << EdgeRow.select(EdgeRow.task_uid).where(EdgeRow.on_uid == slot("uid"))
    )
)


# Selects the tasks of other lists that wait for a task of a list, starting from its tasks or from all dependencies.
_OTHER_LISTS: Final = """
    JOIN task AS waits ON waits.uid = edge.task_uid AND waits.list_id <> ?1
    WHERE held.list_id = ?1 AND held.deleted = 0
"""
_FROM_TASKS: Final = f"SELECT edge.task_uid FROM task AS held CROSS JOIN edge ON edge.on_uid = held.uid {_OTHER_LISTS}"
_FROM_EDGES: Final = f"SELECT edge.task_uid FROM edge CROSS JOIN task AS held ON held.uid = edge.on_uid {_OTHER_LISTS}"
# For a list with more tasks than this, starting from the dependencies is usually faster.
_MANY_TASKS: Final = 1_000


def _recount_across(db: Database, list_uid: str) -> None:
    """Recount the dependencies of other lists' tasks after a list was deleted or restored."""
    home, total = db.sql(
        "SELECT id, pending + in_progress + done + failed + skipped + cancelled FROM list WHERE uid = ?", (list_uid,)
    ).fetchone()
    waiting = _FROM_EDGES if total > _MANY_TASKS else _FROM_TASKS
    for (uid,) in db.sql(f"SELECT DISTINCT task_uid FROM ({waiting})", (home,)).fetchall():
        db.run(_RECOUNT, {"uid": uid})


def apply(db: Database, entity: str, uid: str, old: dict[str, Any] | None, new: dict[str, Any]) -> None:
    """Insert the row `uid` of `entity` from `new` if `old` is None, otherwise set its columns to `new`."""
    # The modules of runs and checks are imported for them alone: a command that adds a task needs neither.
    if entity == "run":
        from tui_tasks.core.commit import run_effects

        if run_effects.apply_many(db, uid, new):
            return
    if entity in ("check_run", "task_check"):
        from tui_tasks.core.commit import run_effects

        if run_effects.apply_many_checks(db, entity, uid, new):
            return
    if entity == "list" and "ranks" in new:
        for task_uid, rank in new["ranks"].items():
            db.run(_SET_RANK, {"rank": rank, "uid": task_uid})
        return
    if old is None:
        db.run(_insert(entity, _given(entity, new)), new)
        if entity == "task":
            _follow_new_task(db, uid, new["list_id"], new["status"], new.get("depends_on"))
    elif entity == "task":
        _update_task(db, uid, old, new)
    else:
        _update_row(db, entity, uid, new)
        if entity == "list" and "one_in_progress" in new:
            db.run(_SET_SOLO, {"solo": int(new["one_in_progress"]), "uid": uid})
        if entity == "list" and "deleted" in new:
            _recount_across(db, uid)
    if entity == "run":
        run_effects.follow(db, uid, new)


def add_task(db: Database, task: Task) -> None:
    """Insert a new task, as `apply` does, but without a dictionary of its fields, which would double the time."""
    row = astuple(task)
    db.run(_insert_new_task(tuple(map(is_not, row[_ALWAYS:], _EMPTY_VALUES))), row)
    _follow_new_task(db, task.uid, task.list_id, task.status, task.depends_on)


def _follow_new_task(db: Database, uid: str, list_id: int, status: str, depends_on: Any) -> None:
    db.add(_count(status), list_id, +1)
    if depends_on:
        _write_edges(db, uid, depends_on)


def insert_many(db: Database, entity: str, rows: Iterable[dict[str, Any]]) -> None:
    """Insert rows as they are to be, and count tasks in their lists; `waiting_on` and the edges are left to `apply`."""
    by_names: defaultdict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if entity == "task" and not row.get("deleted"):
            db.add(_count(row["status"]), row["list_id"], +1)
        by_names[_given(entity, row)].append(row)
    for names, alike in by_names.items():
        statement = _insert(entity, names)
        db.write_many(statement.sql, map(statement.bind, alike))


def touch(db: Database, uid: str, version: int, at: int, actor: str) -> None:
    """Set a task's version, time and author of change after an entry about one of its `TOUCHING` entities."""
    db.run(_TOUCH, {"uid": uid, "version": version, "at": at, "actor": actor})


def _update_row(db: Database, entity: str, uid: str, values: dict[str, Any]) -> None:
    db.run(_update(entity, tuple(values)), {**values, "uid_": uid})


def _update_task(db: Database, uid: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    counted = any(name in new for name in _COUNTED)
    before = db.one(_COUNTED_COLUMNS, uid=uid) if counted else None
    moved = {"solo": db.one(_ONE_IN_PROGRESS, id=new["list_id"])[0]} if "list_id" in new else {}
    _update_row(db, "task", uid, new | moved)
    if before is not None:
        *before, has_dependents = before
        after = [new.get(name, was) for name, was in zip(_COUNTED, before, strict=True)]
        _recount_lists(db, before, after)
        blocked, blocks = (vocab.blocks_dependents(status, deleted) for _, status, deleted in (before, after))
        if has_dependents and blocked != blocks:
            db.run(_RECOUNT_DEPENDENTS, {"uid": uid})
    if old.get("status") == "done" and new.get("status", "done") != "done":
        # Checks prove one completion of the task; they do not count for the next.
        db.sql("DELETE FROM task_check WHERE task_uid = ?", (uid,))
    if "depends_on" in new:
        db.run(_DROP_EDGES, {"uid": uid})
        _write_edges(db, uid, new["depends_on"])
    elif "held" in new:
        db.run(_RECOUNT, {"uid": uid})


def _recount_lists(db: Database, before: Any, after: Any) -> None:
    if before == after:
        return
    for (list_id, status, deleted), by in ((before, -1), (after, +1)):
        if not deleted:
            db.add(_count(status), list_id, by)


def _write_edges(db: Database, uid: str, depends_on: Any) -> None:
    for on in depends_on:
        db.run(_ADD_EDGE, {"uid": uid, "on": on})
    db.run(_RECOUNT, {"uid": uid})
