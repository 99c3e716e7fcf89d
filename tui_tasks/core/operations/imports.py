"""Writes of an import: a list, its tasks and their log entries, under the ids of the file."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.operations.operation import Operation


class ImportList(Operation, frozen=True):
    """Create a list or plan of a file, unless it exists. Result: the list."""

    uid: str
    kind: str
    name: str
    description: str = ""
    agent: str | None = None
    origin: str = "tasklist"
    one_in_progress: bool = False
    project: str | None = None


class ImportTask(Operation, frozen=True):
    """Write a task of a file: create it, restore it if it was deleted, or change it. Result: the task.

    Attributes:
        uid: its uid.
        list_uid: its list.
        fields: the arguments of `AddTask`, and `node_ids`; missing ones stay as they are.
        rank: its rank; None: the end of the list.
        times: `created_at`, `started_at`, `finished_at`, as far as the file has them.
    """

    uid: str
    list_uid: str
    fields: dict[str, Any]
    rank: str | None = None
    times: dict[str, int | None] = {}


class ImportLog(Operation, frozen=True):
    """Add a log entry of a file, unless it exists. Result: whether it was added."""

    uid: str
    task_uid: str
    at: int
    agent: str
    message: str
