"""Operations on lists and on tasks: their log entries, saved states and claims; imports of both."""

from __future__ import annotations

from typing import Any

from tui_tasks.core.operations import Operation


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
    """Move a task before or after another, into the other's list; or to the end of a list. Result: the task.

    `new_list` is the list by its name, which is created unless it exists.
    """

    uid: str
    before: str | None = None
    after: str | None = None
    list_uid: str | None = None
    new_list: EnsureList | None = None


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
