"""`todo` (seed 002): a list that its agent replaces or merges into, with ids of its own.

Checks and writing need no channel: the class for Python programs (`tui_tasks.todo_tool`) uses them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from tui_tasks.core import vocab
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.errors import InvalidArgument, Problem, Refusal, as_utf8
from tui_tasks.core.operations.tasks import AddTask, ClearList, EditTask, OrderTasks
from tui_tasks.core.read.tasks import task_summary
from tui_tasks.core.read.tasks.task_summary import KeyedTask
from tui_tasks.core.snapshots import TaskList
from tui_tasks.dialects.long_replies import ArrayWriter
from tui_tasks.dialects.requests import StatusWords
from tui_tasks.dialects.requests.arguments import Arguments, schema
from tui_tasks.dialects.tool_table import Call, Table, list_of, object_of

TODO = Table()
LEAST = 2
# How many items are written in one step; with more, and when a list is replaced, others may write in between.
_FEW = 500
STATUSES = ("pending", "in_progress", "completed", "cancelled")
_FIELDS = ("id", "content", "status")

WORDS = StatusWords(
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
    content: Annotated[str, Meta(min_length=1, description="What to do.")] = ""
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

    @classmethod
    def further_problems(cls, given: dict[str, Any], now: int) -> Iterable[Problem]:
        """Yield what is wrong with the items."""
        items = given.get("todos")
        if not isinstance(items, list):
            return
        if len(items) < LEAST:
            yield _problem("todos", f"at least {LEAST} items are required")
        yield from problems(items, "todos", whole=given.get("merge") is False)


def item_json(task: KeyedTask) -> dict[str, str]:
    """Return a task as an item; one made by other tools has its uid as id (docs: protocol, section 4)."""
    return {"id": task.key or task.uid, "content": task.name, "status": WORDS.word(task.status)}


def check(items: Sequence[Any], at: str, *, whole: bool, strict: bool = True) -> list[dict[str, str]]:
    """Return the items with their id, content and status, of which all but the id may be absent unless `whole`.

    `at` is the path of the items, for the messages. An item with another field is refused if `strict`; otherwise the
    field is ignored.

    Raises:
        InvalidArgument: items are invalid; it has all that is wrong, in the words of docs: protocol, section 6, `todo`.
    """
    if problems_found := list(problems(items, at, whole=whole, strict=strict)):
        raise InvalidArgument.of(problems_found)
    return [_fields(item, whole=whole) for item in items]


def items_of(given: TodoArguments) -> list[dict[str, str]]:
    """Return the items of checked arguments."""
    return [_fields(item, whole=not given.merge) for item in given.todos]


def problems(items: Sequence[Any], at: str, *, whole: bool, strict: bool = True) -> Iterator[Problem]:
    """Yield what is wrong with items, as `check` refuses it."""
    seen: set[str] = set()
    for number, item in enumerate(items):
        path = f"{at}[{number}]"
        yield from _item_problems(item, path, whole=whole, strict=strict)
        id_ = item.get("id") if isinstance(item, dict) else None
        if isinstance(id_, str) and id_ in seen:
            yield _problem(f"{path}.id", f"the id {id_[:100]!r} comes twice")
        elif isinstance(id_, str):
            seen.add(id_)


def _problem(path: str, message: str) -> Problem:
    return path, f"{path}: {message}"


def _fields(item: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    """Return the fields that an item has: null is absent, and so is a blank status where none is needed."""
    given = {name: item[name] for name in _FIELDS if item.get(name) is not None}
    if not whole and given.get("status") in ("", [], {}):
        del given["status"]
    return given


def _item_problems(item: Any, at: str, *, whole: bool, strict: bool) -> Iterator[Problem]:
    if not isinstance(item, dict):
        yield _problem(at, "must be an object with id, content and status")
        return
    given = _fields(item, whole=whole)
    for name, value in item.items():
        if strict and value is not None and name not in _FIELDS:
            yield f"{at}.{name}", f"unknown argument {at}.{name}; it takes id, content, status"
    for name in _FIELDS if whole else ("id",):
        if name not in given:
            yield f"{at}.{name}", f"{at} is missing required field: {name}"
    for name, value in given.items():
        if message := _wrong_value(name, value):
            yield _problem(f"{at}.{name}", message)


def _wrong_value(name: str, value: Any) -> str:
    """Return what is wrong with the value of a field; "" if nothing is."""
    if not isinstance(value, str):
        return "must be a string"
    if name == "status":
        if value in STATUSES:
            return ""
        from tui_tasks.dialects.requests.argument_errors import nearest  # for what is refused alone

        return f"Invalid status {value[:100]!r}; use one of {', '.join(STATUSES)}{nearest(value, list(STATUSES))}"
    if not value.strip():
        return "must not be empty"
    return "" if len(value) <= vocab.MAX_NAME else f"must be at most {vocab.MAX_NAME:,} characters long"


def write(tx: Transaction, home: TaskList, items: Sequence[dict[str, str]], at: str, *, merge: bool) -> None:
    """Write checked items into a list.

    Merging keeps the places of existing items, and appends new ones. Replacing deletes the tasks that are not among the
    items, keeps those with their ids, and orders all as the items are (docs: protocol, section 6, `todo`).

    Raises:
        InvalidArgument: ids mean the same task, or new ones lack their content or status.
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
    tasks = [by_key.get(item["id"], by_uid.get(item["id"])) for item in items]
    _check_found(items, tasks, at)
    kept = {task.uid for task in tasks if task is not None}
    if not merge:
        tx.run(ClearList(home.uid, frozenset(kept)))
    edits = [edit for item, task in zip(items, tasks, strict=True) if task and (edit := _edit_operation(item, task))]
    # If only one task may be in progress, the current one must be changed before the next is started.
    for edit in sorted(edits, key=lambda edit: edit.changes.get("status") == "in_progress"):
        tx.run(edit)
        tx.pause()
    uids = []
    for item, task in zip(items, tasks, strict=True):
        uids.append(task.uid if task else tx.run(_add_operation(item, home)).uid)
        tx.pause()
    if not merge:
        tx.run(OrderTasks(tuple(uids)))


def _check_found(items: Sequence[dict[str, str]], tasks: Sequence[KeyedTask | None], at: str) -> None:
    wrong: list[Problem] = []
    seen: set[str] = set()
    for number, (item, task) in enumerate(zip(items, tasks, strict=True)):
        if task is None:
            missing = [name for name in ("content", "status") if name not in item]
            message = (
                f"{at}[{number}] is new, and a new item requires both content and status fields; "
                f"missing: {', '.join(missing)}"
            )
            wrong += [(f"{at}[{number}].{missing[0]}", message)] if missing else []
        elif task.uid in seen:
            wrong.append(_problem(f"{at}[{number}].id", f"{item['id']!r} is an item that has come before"))
        else:
            seen.add(task.uid)
    if wrong:
        raise InvalidArgument.of(wrong)


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


@TODO.tool(
    "todo",
    TodoArguments,
    writes=True,
    refusal=_refused,
    in_steps=_may_be_long,
    destructive=True,
    idempotent=True,
    output=object_of("", todos=list_of(object_of("id content status"))),
)
def todo(call: Call, given: TodoArguments) -> dict[str, Any]:
    """Write your todo list: replace it, or merge items into it by their ids.

    Use it for work of three or more steps, and again when a step begins or ends. `merge` false makes the list exactly
    what you send. `merge` true changes the items with known ids (which may omit content or status), appends the
    others, and keeps the rest. Returns the whole list as `todos`; to only read it, call control:find with `list`
    "todo".
    """
    items = items_of(given)
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
