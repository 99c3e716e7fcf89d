"""Writes of tasks, and of what is kept beside them."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.operations.operation import Operation


class AddTask(Operation, frozen=True):
    """Put a new task at the end of a list, or beside another task. Result: the task.

    `list_uid` may be empty where `before` or `after` names a task: the new one goes into its list.
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
    fields: dict[str, Any] = {}  # values of `task_fields.FIELDS`


class EditTask(Operation, frozen=True):
    """Set fields of a task; what is equal already changes nothing. Result: the task.

    `changes` may hold name, description, status, priority, tags, domain, result, metadata, agent, intent, depends_on,
    and any of `task_fields.FIELDS`.
    """

    uid: str
    changes: dict[str, Any] = {}


class MoveTask(Operation, frozen=True):
    """Put a task before or after another, into the other's list; or at the end of a list. Result: the task."""

    uid: str
    before: str | None = None
    after: str | None = None
    list_uid: str | None = None


class AcceptTask(Operation, frozen=True):
    """Let a held task be taken up, with what the human has changed of it. The human's alone. Result: the task.

    `changes` may hold what `EditTask` takes, but no status. `version` is the one that the human has seen.
    """

    uid: str
    changes: dict[str, Any] = {}
    version: int | None = None


class DeclineTask(Operation, frozen=True):
    """Cancel a held task, and tell the agents why. The human's alone. Result: the task."""

    uid: str
    reason: str = ""


class JoinTask(Operation, frozen=True):
    """Cancel a held task that says what another says already. The human's alone. Result: the other task.

    Its words go into the other's log, and what depends on it depends on the other from then on.
    """

    uid: str
    into: str


class SwapTasks(Operation, frozen=True):
    """Let two tasks of one list change places. Result: both, in their new order."""

    uid1: str
    uid2: str


class OrderTasks(Operation, frozen=True):
    """Let tasks of one list stand in the order given, moving as few as can be. Result: None."""

    uids: tuple[str, ...]


class DeleteTask(Operation, frozen=True):
    """Take a task out of its list; it can be restored. Result: the task as it was."""

    uid: str


class LogTask(Operation, frozen=True):
    """Add a log entry to a task. Result: the entry."""

    uid: str
    message: str


class LinkNodes(Operation, frozen=True):
    """Link a task to graph nodes, beside those it is linked to. Result: the task."""

    uid: str
    node_ids: tuple[str, ...]


class SaveState(Operation, frozen=True):
    """Save what is needed to resume a task; a field left out keeps its last value. Result: the state."""

    uid: str
    agent: str
    fields: dict[str, Any] = {}
