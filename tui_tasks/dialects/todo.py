"""`todo` (seed 002): a list that its agent replaces or merges into, with ids of its own.

Checks and writing need no channel: the class for Python programs (`tui_tasks.todo_tool`) uses them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from tui_tasks.core import vocab
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.errors import InvalidArgument, Refusal, as_utf8
from tui_tasks.core.operations.lists import ClearList
from tui_tasks.core.operations.tasks import AddTask, EditTask, OrderTasks
from tui_tasks.core.read.tasks import task_summary
from tui_tasks.core.read.tasks.task_summary import KeyedTask
from tui_tasks.core.snapshots import TaskList
from tui_tasks.dialects.base import Call, Table, Words
from tui_tasks.dialects.json_shapes.long_values import ArrayWriter
from tui_tasks.dialects.requests.arguments import Arguments, nearest, schema

TODO = Table()
LEAST = 2
# How many items are written in one step; with more, and when a list is replaced, others may write in between.
_FEW = 500
STATUSES = ("pending", "in_progress", "completed", "cancelled")

WORDS = Words(
    {
        "pending": "pending",
        "in_progress": "in_progress",
        "done": "completed",
        "failed": "cancelled",
        "skipped": "cancelled",
        "cancelled": "cancelled",
    }
)


class _Item(Arguments):
    """The schema of an item for agents; `check` checks items, in the words of the seed."""

    id: Annotated[str, Meta(min_length=1, description="Your own, unique in the list.")]
    content: Annotated[str, Meta(min_length=1, description="What is to be done.")] = ""
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"


_ITEM_SCHEMA = schema(_Item)
for _field in _ITEM_SCHEMA["properties"].values():
    _field.pop("default", None)


class TodoArguments(Arguments):
    """The arguments of the tool."""

    merge: Annotated[bool, Meta(description="false: replace the whole list.")]
    todos: Annotated[
        list[Annotated[dict[str, Any], Meta(extra_json_schema=_ITEM_SCHEMA)]],
        Meta(description="Two or more.", extra_json_schema={"minItems": LEAST}),
    ]
    as_type: Annotated[Literal["dict", "str", "pretty_str"], Meta(description="The others add a `text`.")] = "dict"
    filter_empty_fields: bool = True
    filter_metadata_fields: bool = False


def item_json(task: KeyedTask) -> dict[str, str]:
    """Return a task as an item; one made by other tools has its uid as id (docs: protocol, section 4)."""
    return {"id": task.key or task.uid, "content": task.name, "status": WORDS.word(task.status)}


def check(items: Sequence[Any], at: str, *, whole: bool, strict: bool = True) -> list[dict[str, str]]:
    """Return the items with their id, content and status, of which all but the id may be absent unless `whole`.

    `at` is the path of the items, for the messages. An item with another field is refused if `strict`; otherwise the
    field is ignored.

    Raises:
        InvalidArgument: for the first invalid item, in the words of docs: protocol, section 6, `todo`.
    """
    checked = [_checked_item(item, f"{at}[{number}]", whole=whole, strict=strict) for number, item in enumerate(items)]
    seen: set[str] = set()
    for number, item in enumerate(checked):
        if item["id"] in seen:
            raise _invalid(f"{at}[{number}].id", f"the id {item['id'][:100]!r} comes twice")
        seen.add(item["id"])
    return checked


def _invalid(path: str, message: str) -> InvalidArgument:
    return InvalidArgument(path, f"{path}: {message}")


def _checked_item(item: Any, at: str, *, whole: bool, strict: bool) -> dict[str, str]:
    if not isinstance(item, dict):
        raise _invalid(at, "must be an object with id, content and status")
    given = {name: value for name, value in item.items() if value is not None}
    unknown = [name for name in given if name not in ("id", "content", "status")]
    if unknown and strict:
        raise InvalidArgument(f"{at}.{unknown[0]}", f"unknown argument {at}.{unknown[0]}; there is id, content, status")
    for name in ("id", "content", "status") if whole else ("id",):
        if name not in given:
            raise InvalidArgument(f"{at}.{name}", f"{at} is missing required field: {name}")
    for name in given.keys() & {"id", "content", "status"}:
        if not isinstance(given[name], str):
            raise _invalid(f"{at}.{name}", "must be a string")
    for name in given.keys() & {"id", "content"}:
        if not given[name].strip():
            raise _invalid(f"{at}.{name}", "must not be empty")
        if len(given[name]) > vocab.MAX_NAME:
            raise _invalid(f"{at}.{name}", f"must be at most {vocab.MAX_NAME:,} characters long")
    if "status" in given and given["status"] not in STATUSES:
        meant = nearest(given["status"], list(STATUSES))
        raise _invalid(f"{at}.status", f"Invalid status {given['status'][:100]!r}: one of {', '.join(STATUSES)}{meant}")
    return {name: given[name] for name in ("id", "content", "status") if name in given}


def checked_todos(given: TodoArguments) -> list[dict[str, str]]:
    """Return the items of a call, as `check` does.

    Raises:
        InvalidArgument: an item is invalid, or there are too few.
    """
    if len(given.todos) < LEAST:
        raise _invalid("todos", f"at least {LEAST} items are required")
    return check(given.todos, "todos", whole=not given.merge)


def write(tx: Transaction, home: TaskList, items: Sequence[dict[str, str]], at: str, *, merge: bool) -> None:
    """Write checked items into a list.

    Merging keeps the places of existing items, and appends new ones. Replacing deletes the tasks that are not among the
    items, keeps those with their ids, and orders all as the items are (docs: protocol, section 6, `todo`).

    Raises:
        InvalidArgument: two ids mean the same task, or a new one lacks its content or status.
        Conflict: the list may not have two tasks in progress, or another agent has claimed one of them.
    """
    ids = {item["id"] for item in items}
    by_uid: dict[str, KeyedTask] = {}
    by_key: dict[str | None, KeyedTask] = {}
    for there in task_summary.keyed(tx.db, home.id):
        if there.uid in ids:
            by_uid[there.uid] = there
        if there.key in ids:
            by_key[there.key] = there
    found = [by_key.get(item["id"], by_uid.get(item["id"])) for item in items]
    _check_found(items, found, at)
    kept = {task.uid for task in found if task is not None}
    if not merge:
        tx.run(ClearList(home.uid, frozenset(kept)))
    edits = [edit for item, task in zip(items, found, strict=True) if task and (edit := _edit_operation(item, task))]
    # If only one task may be in progress, the current one must be changed before the next is started.
    for edit in sorted(edits, key=lambda edit: edit.changes.get("status") == "in_progress"):
        tx.run(edit)
        tx.pause()
    uids = []
    for item, task in zip(items, found, strict=True):
        uids.append(task.uid if task else tx.run(_add_operation(item, home)).uid)
        tx.pause()
    if not merge:
        tx.run(OrderTasks(tuple(uids)))


def _check_found(items: Sequence[dict[str, str]], found: Sequence[KeyedTask | None], at: str) -> None:
    seen: set[str] = set()
    for number, (item, task) in enumerate(zip(items, found, strict=True)):
        if task is None:
            missing = [name for name in ("content", "status") if name not in item]
            if missing:
                raise InvalidArgument(
                    f"{at}[{number}].{missing[0]}",
                    f"{at}[{number}] is new, and a new item requires both content and status fields; "
                    f"missing: {', '.join(missing)}",
                )
        elif task.uid in seen:
            raise _invalid(f"{at}[{number}].id", f"{item['id']!r} is an item that has come before")
        else:
            seen.add(task.uid)


def _edit_operation(item: dict[str, str], task: KeyedTask) -> EditTask | None:
    """Return the change of a task that an item means; None if the item has nothing new."""
    status = WORDS.status_of(item["status"], task.status) if "status" in item else task.status
    changes = {"name": item.get("content", task.name), "status": status}
    changes = {name: value for name, value in changes.items() if value != getattr(task, name)}
    return EditTask(task.uid, changes) if changes else None


def _add_operation(item: dict[str, str], home: TaskList) -> AddTask:
    return AddTask(item["content"], home.uid, status=WORDS.status_of(item["status"]), key=item["id"])


def success(todos: Any, total: int, open_: int, checkpoint: str, *, merge: bool) -> dict[str, Any]:
    """Return the result before filters: the `todos` in the dialect's form, their number, and how many are open."""
    return {
        "success": True,
        "content": f"Successfully {'merged' if merge else 'replaced'} the todos: {total} in the list, "
        f"{open_} open. Keep it true as you work: one item in_progress at a time, each completed as soon "
        "as it is done; add or cancel items as the plan changes.",
        "error": None,
        "todos": todos,
        "metadata": {"checkpoint_path": checkpoint, "merge": merge},
    }


def filtered(result: dict[str, Any], *, empty: bool, metadata: bool) -> dict[str, Any]:
    """Return the result without its empty fields (`empty`) and without its metadata (`metadata`)."""
    dropped: tuple[Any, ...] = (None, "", [], {})
    return {
        name: value
        for name, value in result.items()
        if not (empty and value in dropped) and not (metadata and name == "metadata")
    }


def as_text(result: dict[str, Any], as_type: str) -> str:
    """Return the result as text: as `pretty_str` one line for each field, otherwise one line."""
    if as_type == "pretty_str":
        return "\n".join(f"{name}: {value}" for name, value in result.items())
    return str(result)


def _may_be_long(given: TodoArguments) -> bool:
    return not given.merge or len(given.todos) > _FEW


def _refused(refusal: Refusal) -> dict[str, Any]:
    """Return the dialect's own form of a refusal (docs: protocol, section 3)."""
    return {"success": False, "error": refusal.message}


@TODO.tool("todo", TodoArguments, writes=True, refusal=_refused, in_steps=_may_be_long)
def todo(call: Call, given: TodoArguments) -> dict[str, Any]:
    """Write your todo list: replace it, or merge items into it by their ids.

    Use it for work of three and more steps, and again whenever one of them begins or ends. Replacing (`merge` false)
    makes the list exactly what you send. Merging (`merge` true) changes the items whose ids are there, which may leave
    out content or status, adds the others at the end, and keeps the rest. Returns the whole list as `todos`.
    """
    items = checked_todos(given)
    home = call.made_home("todo")
    assert call.transaction is not None
    write(call.transaction, home, items, "todos", merge=given.merge)
    is_text = given.as_type != "dict"
    plain: list[dict[str, str]] = []
    todos = ArrayWriter(call.db)
    total = open_ = 0
    for task in task_summary.keyed(call.db, home.id):
        total += 1
        open_ += task.status in vocab.OPEN
        (plain.append if is_text else todos.add)(item_json(task))
    result = filtered(
        success(plain if is_text else todos.value(), total, open_, as_utf8(call.db.path), merge=given.merge),
        empty=given.filter_empty_fields,
        metadata=given.filter_metadata_fields,
    )
    return {**result, "text": as_text(result, given.as_type)} if is_text else result
