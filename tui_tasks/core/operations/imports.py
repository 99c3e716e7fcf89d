"""Writes of one import: a list, its tasks and their log entries, under the ids that the file gives."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.operations.operation import Operation


class ImportList(Operation, frozen=True):
    """Make a list or plan that a file names, unless it is there. Result: the list."""

    uid: str
    kind: str
    name: str
    description: str = ""
    agent: str | None = None
    origin: str = "tasklist"
    one_in_progress: bool = False
    project: str | None = None


class ImportTask(Operation, frozen=True):
    """Put a task as a file has it: made under its uid, brought back where it was deleted, or changed.

    `fields` are what `AddTask` takes and `node_ids`; those left out stay as they are. `rank` is its place, None the
    list's end. `times` may hold created_at, started_at, finished_at. Result: the task.
    """

    uid: str
    list_uid: str
    fields: dict[str, Any]
    rank: str | None = None
    times: dict[str, int | None] = {}


class ImportLog(Operation, frozen=True):
    """Add a log entry that a file has, unless it is there. Result: whether it was added."""

    uid: str
    task_uid: str
    at: int
    agent: str
    message: str
