"""`tasklist:*` (seed 000): one ordered list, at most one task of it in progress for each agent."""

from __future__ import annotations

from collections.abc import Generator
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from tui_tasks.core import vocab
from tui_tasks.core.errors import NotFound
from tui_tasks.core.operations.tasks import AddTask, ClearList, DeleteTask, EditTask, LogTask, SwapTasks
from tui_tasks.core.read.tasks import task_queries, task_summary
from tui_tasks.core.read.tasks.task_summary import TaskSummary
from tui_tasks.core.snapshots import LogEntry, Task
from tui_tasks.dialects.long_replies import Page, page_array
from tui_tasks.dialects.requests import StatusWords
from tui_tasks.dialects.requests.arguments import Arguments, Name, Nothing, TaskUid, Text
from tui_tasks.dialects.tool_table import INTEGER, TEXT, Call, Table, list_of, object_of, or_null, require_one_of

_TASK: Final = object_of("uid name status", uid=TEXT, name=TEXT, description=TEXT, status=TEXT)
_ENTRY: Final = object_of("timestamp message", timestamp=TEXT, message=TEXT)


TASKLIST = Table()
Status = Literal["pending", "in_progress", "done", "failed", "skipped"]

WORDS = StatusWords(
    {
        "pending": "pending",
        "in_progress": "in_progress",
        "done": "done",
        "failed": "failed",
        "skipped": "skipped",
        "cancelled": "skipped",
    }
)

NewName = Annotated[Name, Meta(description="A concise but accurate headline.")]
NewDescription = Annotated[Text, Meta(description="Enough detail to do it later.")]


def task_json(task: Task | TaskSummary) -> dict[str, Any]:
    """Return a task in the dialect's form (docs: protocol, section 6)."""
    return {
        "uid": task.uid,
        "name": task.name,
        "description": task.description,
        "status": WORDS.words[task.status],
    }


_BRIEF = ("uid", "name", "status")


def _log_json(entry: LogEntry) -> dict[str, str]:
    from tui_tasks.text.times import local_second  # a short command that reads no log does without it

    return {"timestamp": local_second(entry.at), "message": entry.message}


class _Named(Arguments):
    uid: TaskUid


class _New(Arguments):
    name: NewName
    description: NewDescription = ""


class _NewBeside(Arguments):
    uid: Annotated[TaskUid, Meta(description="The other one.")]
    name: NewName
    description: NewDescription = ""


@TASKLIST.tool("tasklist:add_task", _New, writes=True, output=_TASK)
def add_task(call: Call, given: _New) -> dict[str, Any]:
    """Append a task to the tasklist, to plan work in steps. Returns the task; keep its uid."""
    home = call.made_home("tasklist")
    return task_json(call.run(AddTask(given.name, home.uid, given.description)))


@TASKLIST.tool("tasklist:add_task_before", _NewBeside, writes=True, output=_TASK)
def add_task_before(call: Call, given: _NewBeside) -> dict[str, Any]:
    """Insert a task right before another. Returns the new one."""
    return task_json(call.run(AddTask(given.name, description=given.description, before=given.uid)))


@TASKLIST.tool("tasklist:add_task_after", _NewBeside, writes=True, output=_TASK)
def add_task_after(call: Call, given: _NewBeside) -> dict[str, Any]:
    """Insert a task right after another. Returns the new one."""
    return task_json(call.run(AddTask(given.name, description=given.description, after=given.uid)))


@TASKLIST.tool("tasklist:delete_task", _Named, writes=True, subject="uid", destructive=True, output=_TASK)
def delete_task(call: Call, given: _Named) -> dict[str, Any]:
    """Delete a task. Returns it. Skip one that you will not do: it stays for reference."""
    return task_json(call.run(DeleteTask(given.uid)))


class _Update(Arguments):
    uid: TaskUid
    name: Name | None = None
    description: Text | None = None
    status: Status | None = None


@TASKLIST.tool("tasklist:update_task", _Update, writes=True, subject="uid", idempotent=True, output=_TASK)
def update_task(call: Call, given: _Update) -> dict[str, Any]:
    """Set a task's name, description or status; at least one. Returns the task."""
    changes = {"name": given.name, "description": given.description, "status": given.status}
    require_one_of("name", changes)
    return _edited_json(call, given.uid, {name: value for name, value in changes.items() if value is not None})


def _edited_json(call: Call, uid: str, changes: dict[str, Any]) -> dict[str, Any]:
    if "status" in changes:
        changes["status"] = WORDS.status_of(changes["status"], task_queries.task(call.db, uid).status)
    return task_json(call.run(EditTask(uid, changes)))


class _Swap(Arguments):
    uid1: TaskUid
    uid2: TaskUid


@TASKLIST.tool("tasklist:swap_tasks", _Swap, writes=True, output=list_of(_TASK))
def swap_tasks(call: Call, given: _Swap) -> list[dict[str, Any]]:
    """Swap two tasks of one list. Returns both, in their new order."""
    return [task_json(task) for task in call.run(SwapTasks(given.uid1, given.uid2))]


def _declare_setter(status: Status, explanation: str) -> None:
    def set_status(call: Call, given: _Named) -> dict[str, Any]:
        return _edited_json(call, given.uid, {"status": status})

    set_status.__doc__ = f'Set a task\'s status to "{status}"{explanation} Returns the task.'
    TASKLIST.tool(f"tasklist:set_task_{status}", _Named, writes=True, subject="uid", idempotent=True, output=_TASK)(
        set_status
    )


_declare_setter("pending", ": not started yet.")
_declare_setter(
    "in_progress",
    ": you start it. Log every significant action. You may have one task of the list in progress: "
    "first set the other done, failed, skipped or pending.",
)
_declare_setter("done", ": completed successfully.")
_declare_setter("failed", ": not completed. Log the error too.")
_declare_setter("skipped", ": not to be done, kept for reference. Log the reason too.")


class _Log(Arguments):
    uid: TaskUid
    message: Annotated[Text, Meta(description="What was done, found or decided.")]


@TASKLIST.tool("tasklist:log_task_progress", _Log, writes=True, subject="uid", output=_ENTRY)
def log_task_progress(call: Call, given: _Log) -> dict[str, str]:
    """Add a log entry to a task, for the human and your later self. Returns the entry."""
    return _log_json(call.run(LogTask(given.uid, given.message)))


@TASKLIST.tool("tasklist:get_task_logs", _Named, output=list_of(_ENTRY))
def get_task_logs(call: Call, given: _Named) -> Any:
    """Read a task's log, oldest first."""
    from tui_tasks.core.read.tasks import task_records  # the tables of logs, which the other tools go without

    task_queries.task(call.db, given.uid)
    return page_array(call.db, task_records.each_log(call.db, given.uid), None, _log_json)


@TASKLIST.tool("tasklist:get_task_in_progress", Nothing, output=or_null(_TASK))
def get_task_in_progress(call: Call, given: Nothing) -> dict[str, Any] | None:
    """Read your task in progress, else one without another agent, else null."""
    home = call.home("tasklist")
    if home is None:
        return None
    candidates = (
        task_queries.in_progress_for(call.db, home.id, name) for name in (call.agent, *sorted(vocab.RESERVED_AGENTS))
    )
    return next((task_json(task) for task in candidates if task is not None), None)


@TASKLIST.tool("tasklist:get_task", _Named, output=_TASK)
def get_task(call: Call, given: _Named) -> dict[str, Any]:
    """Read one task of any list."""
    return task_json(task_summary.one(call.db, given.uid))


class _Filter(Page):
    status: Annotated[list[Status], Meta(min_length=1, description="One or more.")]


@TASKLIST.tool("tasklist:get_tasks", _Filter, output=list_of(_TASK))
def get_tasks(call: Call, given: _Filter) -> Any:
    """Read the tasks with one of these statuses, in order."""
    home = call.home("tasklist")
    statuses = {status for word in given.status for status in WORDS.statuses(word)}
    return _page(call, given, task_summary.of_statuses(call.db, home.id, statuses, given.after) if home else None)


@TASKLIST.tool(
    "tasklist:clear",
    Nothing,
    writes=True,
    in_steps=True,
    destructive=True,
    output=object_of("deleted", deleted=INTEGER),
)
def clear(call: Call, given: Nothing) -> dict[str, int]:
    """Delete every task of the tasklist. Returns how many; the human can undo it."""
    home = call.home("tasklist")
    return {"deleted": call.run(ClearList(home.uid)) if home else 0}


@TASKLIST.tool("tasklist:display", Page, output=list_of(_TASK))
def display(call: Call, given: Page) -> Any:
    """Read the tasklist in order; tasklist:get_task_logs reads logs."""
    home = call.home("tasklist")
    return _page(call, given, task_summary.of_list(call.db, home.id, given.after) if home else None)


def _page(call: Call, given: Page, tasks: Generator[TaskSummary, None, None] | None) -> Any:
    """Return a part of the tasks of a list; None means that the list does not exist yet."""
    if tasks is not None:
        return page_array(call.db, tasks, given.limit, task_json, _BRIEF if given.brief else None)
    if given.after is not None:
        raise NotFound("task", given.after)
    return []
