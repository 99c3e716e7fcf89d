"""Writes of whole lists and plans, and of imports."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.operations import Operation


class EnsureList(Operation, frozen=True):
    """Create the list with that name, unless it exists. Result: the list.

    `origin` is the dialect that needs it; `project` is its maker's, which a new list belongs to.
    """

    name: str
    origin: str
    project: str | None = None


class CreatePlan(Operation, frozen=True):
    """Create a plan, which is a list of its own (docs: protocol, section 5). Result: the list."""

    title: str
    description: str = ""
    agent: str | None = None
    project: str | None = None


class SetListRule(Operation, frozen=True):
    """Limit a list to one task in progress for each agent, or lift the limit. Result: the list."""

    uid: str
    one_in_progress: bool


class SetListReview(Operation, frozen=True):
    """Hold tasks that agents add to a list until the human accepts them, or no longer. Only for the human. Result: the
    list.
    """

    uid: str
    review: bool


class RenameList(Operation, frozen=True):
    """Rename a list. Only for the human. Result: the list."""

    uid: str
    name: str


class ArchiveList(Operation, frozen=True):
    """Archive a list, or restore it. Only for the human. Result: the list."""

    uid: str
    archived: bool


class DeleteList(Operation, frozen=True):
    """Delete a list with its tasks; undo restores them together. Only for the human. Result: the list as it was."""

    uid: str


class DeletePlan(Operation, frozen=True):
    """Delete a plan with its tasks; undo restores them together. Result: the plan as it was."""

    uid: str


class ClearList(Operation, frozen=True):
    """Delete every task of a list except those with the uids in `keep`. Result: how many."""

    list_uid: str
    keep: frozenset[str] = frozenset()


class ImportList(Operation, frozen=True):
    """Create a list or plan of a file, unless it exists. Result: the list.

    Attributes:
        replaces: whether one that exists gets the description, the agent, the origin and the rule of the file.
    """

    uid: str
    kind: str
    name: str
    description: str = ""
    agent: str | None = None
    origin: str = "tasklist"
    one_in_progress: bool = False
    project: str | None = None
    replaces: bool = False


class ImportTask(Operation, frozen=True):
    """Write a task of a file: create it, restore it if it was deleted, or change it. Result: the task.

    Attributes:
        uid: its uid.
        list_uid: its list.
        fields: the arguments of `AddTask`, and `node_ids`; missing ones stay as they are.
        rank: its rank, which no other task of the list keeps; None: the end of the list, or its present place.
        times: `created_at`, `started_at`, `finished_at`, as far as the file has them.
        changed: the version and the instant of its last change, so that it has them in every database that has the
            same file; None: those of this import.
        status_by: for whom a task counts that is in progress without an agent; None: who imports it.
    """

    uid: str
    list_uid: str
    fields: dict[str, Any]
    rank: str | None = None
    times: dict[str, int | None] = {}
    changed: tuple[int, int] | None = None
    status_by: str | None = None


class ImportDeletion(Operation, frozen=True):
    """Delete a task that a file says was deleted. Result: the task.

    Attributes:
        uid: its uid.
        changed: the version and the instant of its deletion.
    """

    uid: str
    changed: tuple[int, int]


class ImportLog(Operation, frozen=True):
    """Add a log entry of a file, unless it exists. Result: whether it was added."""

    uid: str
    task_uid: str
    at: int
    agent: str
    message: str
