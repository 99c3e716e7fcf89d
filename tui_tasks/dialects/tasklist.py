"""`tasklist:*` (seed 000): one ordered list, at most one task of it in progress."""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from tui_tasks.core.errors import NotFound
from tui_tasks.core.operations.lists import ClearList
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, LogTask, SwapTasks
from tui_tasks.core.read.tasks import queries, records, task_summary
from tui_tasks.core.read.tasks.task_summary import TaskSummary
from tui_tasks.core.snapshots import LogEntry, Task
from tui_tasks.dialects.base import Call, Table, Words, one_of
from tui_tasks.dialects.json_shapes.paging import Page, page_array
from tui_tasks.dialects.requests.arguments import Arguments, Name, Nothing, TaskUid, Text

TASKLIST = Table()
Status = Literal["pending", "in_progress", "done", "failed", "skipped"]

WORDS = Words(
    {
        "pending": "pending",
        "in_progress": "in_progress",
        "done": "done",
        "failed": "failed",
        "skipped": "skipped",
        "cancelled": "skipped",
    }
)

NamedTask = TaskUid
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
    at = datetime.fromtimestamp(entry.at // 1_000_000)
    return {"timestamp": f"{at:%Y-%m-%d %H:%M:%S}", "message": entry.message}


class _Named(Arguments):
    uid: NamedTask


class _New(Arguments):
    name: NewName
    description: NewDescription = ""


class _NewBeside(Arguments):
    uid: Annotated[TaskUid, Meta(description="The other one.")]
    name: NewName
    description: NewDescription = ""


@TASKLIST.tool("tasklist:add_task", _New, writes=True)
def add_task(call: Call, given: _New) -> dict[str, Any]:
    """Append a task to the tasklist, to plan work as steps. Returns the task; keep its uid."""
    home = call.made_home("tasklist")
    return task_json(call.run(AddTask(given.name, home.uid, given.description)))


@TASKLIST.tool("tasklist:add_task_before", _NewBeside, writes=True)
def add_task_before(call: Call, given: _NewBeside) -> dict[str, Any]:
    """Insert a task right before another, into its list. Returns the new one."""
    return task_json(call.run(AddTask(given.name, description=given.description, before=given.uid)))


@TASKLIST.tool("tasklist:add_task_after", _NewBeside, writes=True)
def add_task_after(call: Call, given: _NewBeside) -> dict[str, Any]:
    """Insert a task right after another, into its list. Returns the new one."""
    return task_json(call.run(AddTask(given.name, description=given.description, after=given.uid)))


@TASKLIST.tool("tasklist:delete_task", _Named, writes=True, subject="uid")
def delete_task(call: Call, given: _Named) -> dict[str, Any]:
    """Remove a task. Returns it as it was. One you will not do is better skipped: it stays for reference."""
    return task_json(call.run(DeleteTask(given.uid)))


class _Update(Arguments):
    uid: NamedTask
    name: Name | None = None
    description: Text | None = None
    status: Status | None = None


@TASKLIST.tool("tasklist:update_task", _Update, writes=True, subject="uid")
def update_task(call: Call, given: _Update) -> dict[str, Any]:
    """Set a task's name, description or status; at least one. Returns the task."""
    changes = {"name": given.name, "description": given.description, "status": given.status}
    one_of("name", changes)
    return _edited_json(call, given.uid, {name: value for name, value in changes.items() if value is not None})


def _edited_json(call: Call, uid: str, changes: dict[str, Any]) -> dict[str, Any]:
    if "status" in changes:
        changes["status"] = WORDS.status_of(changes["status"], queries.task(call.db, uid).status)
    return task_json(call.run(EditTask(uid, changes)))


class _Swap(Arguments):
    uid1: TaskUid
    uid2: TaskUid


@TASKLIST.tool("tasklist:swap_tasks", _Swap, writes=True)
def swap_tasks(call: Call, given: _Swap) -> list[dict[str, Any]]:
    """Let two tasks of one list change places. Returns both, in their new order."""
    return [task_json(task) for task in call.run(SwapTasks(given.uid1, given.uid2))]


def _declare_setter(status: Status, explanation: str) -> None:
    def set_status(call: Call, given: _Named) -> dict[str, Any]:
        return _edited_json(call, given.uid, {"status": status})

    set_status.__doc__ = f'Set a task\'s status to "{status}"{explanation} Returns the task.'
    TASKLIST.tool(f"tasklist:set_task_{status}", _Named, writes=True, subject="uid")(set_status)


_declare_setter("pending", ": it is to be done, and nobody works on it.")
_declare_setter(
    "in_progress",
    ": you start to work on it. Log every significant action. "
    "One task of the list at a time: set the other done, failed, skipped or pending first.",
)
_declare_setter("done", ": it was completed successfully.")
_declare_setter("failed", ": it could not be completed. Log the error as well.")
_declare_setter("skipped", ": you will not do it, but keep it for reference. Log the reason as well.")


class _Log(Arguments):
    uid: NamedTask
    message: Annotated[Text, Meta(description="What was done, found or decided.")]


@TASKLIST.tool("tasklist:log_task_progress", _Log, writes=True, subject="uid")
def log_task_progress(call: Call, given: _Log) -> dict[str, str]:
    """Add a log entry to a task, for the human and for your later self. Returns the entry."""
    return _log_json(call.run(LogTask(given.uid, given.message)))


@TASKLIST.tool("tasklist:get_task_logs", _Named)
def get_task_logs(call: Call, given: _Named) -> Any:
    """Read a task's log, oldest first."""
    queries.task(call.db, given.uid)
    return page_array(call.db, records.each_log(call.db, given.uid), None, _log_json)


@TASKLIST.tool("tasklist:get_task_in_progress", Nothing)
def get_task_in_progress(call: Call, given: Nothing) -> dict[str, Any] | None:
    """Read the task that is in progress; null when there is none."""
    home = call.home("tasklist")
    task = queries.in_progress(call.db, home.id) if home else None
    return task_json(task) if task else None


@TASKLIST.tool("tasklist:get_task", _Named)
def get_task(call: Call, given: _Named) -> dict[str, Any]:
    """Read one task, whichever list it is in."""
    return task_json(task_summary.one(call.db, given.uid))


class _Filter(Page):
    status: Annotated[list[Status], Meta(min_length=1, description="One or more.")]


@TASKLIST.tool("tasklist:get_tasks", _Filter)
def get_tasks(call: Call, given: _Filter) -> Any:
    """Read the tasks that have one of the given statuses, in order."""
    home = call.home("tasklist")
    statuses = {status for word in given.status for status in WORDS.statuses(word)}
    return _page(call, given, task_summary.of_statuses(call.db, home.id, statuses, given.after) if home else None)


@TASKLIST.tool("tasklist:clear", Nothing, writes=True, in_steps=True)
def clear(call: Call, given: Nothing) -> dict[str, int]:
    """Delete every task of the tasklist, whatever its status. Returns how many; the human can bring them back."""
    home = call.home("tasklist")
    return {"deleted": call.run(ClearList(home.uid)) if home else 0}


@TASKLIST.tool("tasklist:display", Page)
def display(call: Call, given: Page) -> Any:
    """Read the tasklist in order; logs are read apart, with tasklist:get_task_logs."""
    home = call.home("tasklist")
    return _page(call, given, task_summary.of_list(call.db, home.id, given.after) if home else None)


def _page(call: Call, given: Page, tasks: Generator[TaskSummary, None, None] | None) -> Any:
    """Return a part of the tasks of a list; None means that the list does not exist yet."""
    if tasks is not None:
        return page_array(call.db, tasks, given.limit, task_json, _BRIEF if given.brief else None)
    if given.after is not None:
        raise NotFound("task", given.after)
    return []
