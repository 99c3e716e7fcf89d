"""`TodoTool` for Python programs: a replacement of the class of seed 002 (docs: protocol, section 6, `todo`).

    tool = TodoTool(checkpoint="./checkpoints")
    print(tool.execute(merge=False, todos=[{"id": "1", "content": "Write tests", "status": "pending"}, ...]))

The todos are in `{checkpoint}/todos.json`, and live in `{checkpoint}/tasks.db`, where `tui-tasks --db
{checkpoint}/tasks.db` shows them to a human, who can change them.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Final

from tui_tasks import clock, regular_files
from tui_tasks.core import vocab
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.engine import file_writes
from tui_tasks.core.errors import DatabaseRefused, InvalidArgument, ParseError, Paused, Refusal
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.core.read import message_queries
from tui_tasks.core.read.tasks import task_summary
from tui_tasks.core.read.tasks.task_summary import KeyedTask
from tui_tasks.core.snapshots import TaskList
from tui_tasks.core.unjournaled import local_values
from tui_tasks.dialects import todo
from tui_tasks.dialects.requests import strict_json
from tui_tasks.dialects.requests.arguments import decode
from tui_tasks.dialects.todo import TodoArguments
from tui_tasks.state.open_store import opened_store

AGENT: Final = "agent"
_FILE: Final = "todos.json"
_DATABASE: Final = "tasks.db"
_MAX_BYTES: Final = 64 * 1024 * 1024
# The key in the database for the hash of the file as it was written last.
_WRITTEN: Final = "todos.json"


class _Intact:
    """Requests the response object itself."""

    def __repr__(self) -> str:
        return "INTACT"


class ToolResponseType:
    """What `execute` returns: the response object, a dict, one line of text, or a line for each field."""

    INTACT: Final = _Intact()
    DICT: Final = "dict"
    STR: Final = "str"
    PRETTY_STR: Final = "pretty_str"


class TodoStatusType:
    """The statuses of a todo."""

    PENDING: Final = "pending"
    IN_PROGRESS: Final = "in_progress"
    COMPLETED: Final = "completed"
    CANCELLED: Final = "cancelled"

    @classmethod
    def values(cls) -> list[str]:
        """Return all statuses."""
        return list(todo.STATUSES)


@dataclass
class TodoItem:
    """A todo.

    Raises:
        ValueError: the status is none of `TodoStatusType`.
    """

    id: str
    content: str
    status: str

    def __post_init__(self) -> None:
        if self.status not in todo.STATUSES:
            raise ValueError(f"Invalid status {self.status!r}; use one of {', '.join(todo.STATUSES)}")


@dataclass
class TodoToolResponseMetadata:
    """Metadata of a response.

    Attributes:
        checkpoint_path: the path of the file.
        merge: whether the todos were merged; else they replaced the list.
    """

    checkpoint_path: str | None = None
    merge: bool | None = None


@dataclass
class TodoToolResponse:
    """The result of a call.

    Attributes:
        success: whether the todos were written.
        content: a text about them.
        error: why they were not written.
        todos: the whole list after the call.
        metadata: where it is, and how it was written.
    """

    success: bool
    content: str | None = None
    error: str | None = None
    todos: list[TodoItem] | None = None
    metadata: TodoToolResponseMetadata | None = None

    def dump(
        self,
        as_type: str | _Intact = ToolResponseType.PRETTY_STR,
        filter_empty_fields: bool = True,
        filter_metadata_fields: bool = False,
    ) -> Any:
        """Return the response in one of the forms of `ToolResponseType`.

        Raises:
            ValueError: `as_type` is none of them.
        """
        form = _checked_form(as_type)
        if isinstance(form, _Intact):
            return self
        result = todo.filtered(asdict(self), empty=filter_empty_fields, metadata=filter_metadata_fields)
        return result if form == ToolResponseType.DICT else todo.as_text(result, form)


def _checked_form(as_type: str | _Intact) -> str | _Intact:
    form = as_type.lower() if isinstance(as_type, str) else as_type
    known = (ToolResponseType.DICT, ToolResponseType.STR, ToolResponseType.PRETTY_STR)
    if not isinstance(form, _Intact) and form not in known:
        raise ValueError(f"Invalid as_type {as_type!r}: ToolResponseType.INTACT or one of {', '.join(known)}")
    return form


class _CheckpointError(Exception):
    """The file cannot be used; it was not changed."""


class TodoTool:
    """A todo list in a folder, which any number of tools, processes and threads may share."""

    name: ClassVar = "todo"

    def __init__(
        self,
        checkpoint: str | os.PathLike[str] | None = None,
        logger: logging.Logger | None = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
        **_: Any,
    ) -> None:
        """Set the folder, which the first `execute` creates.

        `callback` is called after every update with `{"event": "todos_updated", "merge", "count", "checkpoint_path"}`.
        Other settings of the seed's base class are ignored.

        Raises:
            ValueError: there is no checkpoint.
        """
        if checkpoint is None:
            raise ValueError("TodoTool requires a checkpoint: the folder that the todos are kept in")
        self.checkpoint = checkpoint
        self.checkpoint_path = Path(checkpoint) / _FILE
        self.logger = logger or logging.getLogger(type(self).__name__)
        self.callback = callback
        self._initialized = True

    def execute(
        self,
        merge: bool,
        todos: Sequence[dict[str, Any]],
        as_type: str | _Intact = ToolResponseType.PRETTY_STR,
        filter_empty_fields: bool = True,
        filter_metadata_fields: bool = False,
        **_: Any,
    ) -> Any:
        """Merge todos into the list by their ids, or replace the list.

        Errors are in the response (`success` false, `error`); nothing is then written.

        Raises:
            ValueError: `as_type` is unknown; nothing was written.
        """
        _checked_form(as_type)
        response = self._respond(merge, todos)
        if response.success:
            self._call_back(response)
        else:
            self.logger.error("todos not updated: %s", response.error)
        return response.dump(as_type, filter_empty_fields, filter_metadata_fields)

    def _respond(self, merge: bool, todos: Any) -> TodoToolResponse:
        path = str(self.checkpoint_path)
        try:
            tasks = self._update(merge, todos)
        except Refusal as refusal:
            error = refusal.message
        except (_CheckpointError, DatabaseRefused) as refused:
            error = str(refused)
        except OSError as failure:
            error = f"Checkpoint {path} failed: {failure}"
        else:
            items = [TodoItem(**todo.item_json(task)) for task in tasks]
            open_ = sum(task.status in vocab.OPEN for task in tasks)
            done = todo.success(items, len(tasks), open_, path, merge=merge)
            return TodoToolResponse(True, done["content"], None, items, TodoToolResponseMetadata(path, merge))
        return TodoToolResponse(False, error=error, metadata=TodoToolResponseMetadata(path, merge))

    def _call_back(self, response: TodoToolResponse) -> None:
        if self.callback is None or response.metadata is None:
            return
        event = {"event": "todos_updated", **asdict(response.metadata), "count": len(response.todos or ())}
        try:
            self.callback(event)
        except Exception:  # the todos are written, so a failing callback is only logged
            self.logger.exception("the callback failed")

    def _update(self, merge: bool, todos: Any) -> list[KeyedTask]:
        given = decode(TodoArguments, {"merge": merge, "todos": _as_json(todos)})
        items = todo.items_of(given)
        database = str(self.checkpoint_path.parent / _DATABASE)
        with opened_store(database, read_only=False) as store, store.transaction(clock.now()) as tx, tx.change():
            tx.speak(AGENT)
            _refuse_paused(tx)
            home: TaskList = tx.run(EnsureList("todo", "todo"))
            there = self._take_file(tx, home)
            todo.write(tx, home, items, "todos", merge=merge)
            tasks = list(task_summary.keyed(tx.db, home.id))
            # The file is written first: if the commit fails, the next call reads it.
            self._write_file(tx, tasks, there)
        return tasks

    def _take_file(self, tx: Transaction, home: TaskList) -> bytes | None:
        """Replace the list by the file's, if the file was changed since it was written; return its content.

        Raises:
            _CheckpointError: it has no JSON array.
            InvalidArgument: one of its items is invalid.
        """
        try:
            there = regular_files.read_regular(self.checkpoint_path, _MAX_BYTES)
        except FileNotFoundError:
            there = None
        if _hash(there) == local_values.get(tx.db, _WRITTEN):
            return there
        items = [] if there is None else todo.check(self._parse_array(there), _FILE, whole=True, strict=False)
        todo.write(tx, home, items, _FILE, merge=False)
        return there

    def _parse_array(self, content: bytes) -> list[Any]:
        try:
            items = strict_json.load_line(content)
        except ParseError as error:
            raise _CheckpointError(f"Invalid JSON in {self.checkpoint_path}: {error.message}") from None
        if not isinstance(items, list):
            raise _CheckpointError(f"Invalid JSON in {self.checkpoint_path}: it must be an array of todos")
        return items

    def _write_file(self, tx: Transaction, tasks: Sequence[KeyedTask], there: bytes | None) -> None:
        content = json.dumps([todo.item_json(task) for task in tasks], ensure_ascii=False, indent=4).encode() + b"\n"
        if content != there:
            file_writes.replace(self.checkpoint_path, content)
        local_values.put_within(tx.db, _WRITTEN, _hash(content))


def _as_json(todos: Any) -> Any:
    """Return the items as JSON values.

    Raises:
        InvalidArgument: they cannot be written as JSON.
    """
    try:
        return strict_json.loads(json.dumps(todos))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument("todos", f"todos: {error}") from None
    except ParseError as error:
        raise InvalidArgument("todos", f"todos: {error.message}") from None


def _refuse_paused(tx: Transaction) -> None:
    """Refuse the call if the human paused this agent (docs: events-and-errors).

    Raises:
        Paused: it is paused.
    """
    known = message_queries.agent(tx.db, AGENT)
    if known is not None and known.paused:
        raise Paused(known.message, agent=AGENT)


def _hash(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()
