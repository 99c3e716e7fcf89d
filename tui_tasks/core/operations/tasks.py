"""Writes of tasks, their log entries, saved states and claims."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.lists import EnsureList


class AddTask(Operation, frozen=True):
    """Add a task at the end of a list, or beside another task. Result: the task.

    Attributes:
        list_uid: the list; may be empty with `before` or `after`, whose list it then is, or with `new_list`.
        new_list: the list by its name, which is created unless it exists.
        key: an id that the caller chose.
        before: the uid of the task before which to put it.
        after: the uid of the task after which to put it.
        fields: values of `task_fields.FIELDS`.
    """

    name: str
    list_uid: str = ""
    description: str = ""
    status: str = "pending"
    priority: int = 3
    tags: tuple[str, ...] = ()
    domain: str | None = None
    result: Any = None
    metadata: Any = None
    agent: str | None = None
    intent: str | None = None
    depends_on: tuple[str, ...] = ()
    key: str | None = None
    before: str | None = None
    after: str | None = None
    fields: dict[str, Any] = {}
    new_list: EnsureList | None = None


class EditTask(Operation, frozen=True):
    """Set fields of a task; equal values change nothing. Result: the task.

    `changes` may have name, description, status, priority, tags, domain, result, metadata, agent, intent, depends_on,
    and the names of `task_fields.FIELDS`.
    """

    uid: str
    changes: dict[str, Any] = {}


class MoveTask(Operation, frozen=True):
    """Move a task before or after another, into the other's list; or to the end of a list. Result: the task."""

    uid: str
    before: str | None = None
    after: str | None = None
    list_uid: str | None = None


class AcceptTask(Operation, frozen=True):
    """Accept a held task, with the human's changes. Only for the human. Result: the task.

    `version` is the version that the human has seen. `changes` may have what `EditTask` takes, except a status.
    """

    uid: str
    version: int
    changes: dict[str, Any] = {}


class DeclineTask(Operation, frozen=True):
    """Cancel a held task, with the reason for its agents. Only for the human. Result: the task."""

    uid: str
    reason: str = ""


class JoinTask(Operation, frozen=True):
    """Cancel a held task that repeats another. Only for the human. Result: the other task.

    Its text goes into the other's log, and tasks that depend on it depend on the other. `version` is the version that
    the human has seen.
    """

    uid: str
    into: str
    version: int


class SwapTasks(Operation, frozen=True):
    """Exchange the places of two tasks of one list. Result: both, in their new order."""

    uid1: str
    uid2: str


class OrderTasks(Operation, frozen=True):
    """Put tasks of one list in the given order, moving as few as possible. Result: None."""

    uids: tuple[str, ...]


class DeleteTask(Operation, frozen=True):
    """Delete a task; it can be restored. Result: the task as it was."""

    uid: str


class LogTask(Operation, frozen=True):
    """Add a log entry to a task. Result: the entry."""

    uid: str
    message: str


class LinkNodes(Operation, frozen=True):
    """Link a task to graph nodes, in addition to its present ones. Result: the task."""

    uid: str
    node_ids: tuple[str, ...]


class SaveState(Operation, frozen=True):
    """Save what is needed to resume a task; missing fields keep their last value. Result: the state."""

    uid: str
    agent: str
    fields: dict[str, Any] = {}


class ClaimNext(Operation, frozen=True):
    """Claim the next ready task, of one list, of a project, or of all. Result: (task, claim) or None.

    `lease` is in microseconds.
    """

    agent: str
    lease: int
    list_uid: str | None = None
    project: str | None = None


class ClaimTask(Operation, frozen=True):
    """Claim one task. Result: (task, claim). `lease` is in microseconds."""

    agent: str
    lease: int
    uid: str


class ExtendClaim(Operation, frozen=True):
    """Restart the lease of a claim. Result: the claim."""

    agent: str
    claim: str


class ReleaseClaim(Operation, frozen=True):
    """Return a claimed task as pending. Result: the task."""

    agent: str
    claim: str


class LapseClaims(Operation, frozen=True):
    """Return every task whose lease has ended. Result: how many."""
