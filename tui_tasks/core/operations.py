"""Every write that can happen, as frozen values. `store.commit` takes them; `rules` decides what each becomes.

Instants are microseconds since the epoch, UTC; names and words are the state's (`vocab`), never a dialect's.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Operation(msgspec.Struct, frozen=True):
    """A write."""


class EnsureList(Operation, frozen=True):
    """Make the list of that name where there is none. Result: the list."""

    name: str
    origin: str
    project: str | None = None


class CreatePlan(Operation, frozen=True):
    """Make a plan: a list of its own (docs: protocol, section 5). Result: the list."""

    title: str
    description: str = ""
    agent: str | None = None
    project: str | None = None


class SetListRule(Operation, frozen=True):
    """Give a list the rule of one task in progress, or take it away. Result: the list."""

    uid: str
    one_in_progress: bool


class SetListReview(Operation, frozen=True):
    """Hold what agents file in a list until the human accepts it, or no longer. The human's alone. Result: the list."""

    uid: str
    review: bool


class RenameList(Operation, frozen=True):
    """Give a list another name. The human's alone. Result: the list."""

    uid: str
    name: str


class ArchiveList(Operation, frozen=True):
    """Put a list out of the way, or back. The human's alone. Result: the list."""

    uid: str
    archived: bool


class DeleteList(Operation, frozen=True):
    """Take a list away with all its tasks, which come back with it. The human's alone. Result: the list as it was."""

    uid: str


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


class AtVersion(Operation, frozen=True):
    """Go on only if the task is still at that version (docs: protocol, section 2, `if_version`). Result: the task."""

    uid: str
    version: int


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


class ClearList(Operation, frozen=True):
    """Delete every task of a list but those to keep, by their uids. Result: how many."""

    list_uid: str
    keep: frozenset[str] = frozenset()


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


class ClaimNext(Operation, frozen=True):
    """Take the next ready task, of one list, of a project's, or of all. Result: (task, claim) or None."""

    agent: str
    lease: int
    list_uid: str | None = None
    project: str | None = None


class ExtendClaim(Operation, frozen=True):
    """Start the lease of a claim anew. Result: the claim."""

    agent: str
    claim: str


class ReleaseClaim(Operation, frozen=True):
    """Give a claimed task back as pending. Result: the task."""

    agent: str
    claim: str


class LapseClaims(Operation, frozen=True):
    """Give back every task whose lease is over. Result: how many."""


class OpenAsk(Operation, frozen=True):
    """Ask the human. Result: the question."""

    question: str
    options: tuple[str, ...] = ()
    task_uid: str | None = None
    expires_at: int | None = None


class AnswerAsk(Operation, frozen=True):
    """The human's answer to a question. Result: the question.

    `updated_input` is what a tool may run with, where its program asked for that and the human has edited it.
    """

    uid: str
    answer: str
    updated_input: Any = None


class CloseAsk(Operation, frozen=True):
    """End a question without an answer: `timeout` or `withdrawn`; `reason` says why. Result: the question."""

    uid: str
    state: str
    reason: str | None = None


class SendMessage(Operation, frozen=True):
    """The human writes to an agent, and may end its turn with it where its program can. Result: the message."""

    to: str
    text: str
    ends_turn: bool = False


class DeliverMessages(Operation, frozen=True):
    """Give an agent the human's messages that wait for it. Result: the messages, in the order in which they were sent.

    `until` is the seq of the last entry to look at: what was sent later waits on.
    """

    agent: str
    until: int | None = None


class PauseAgent(Operation, frozen=True):
    """The human pauses an agent; `message` tells it why. Result: the agent."""

    agent: str
    message: str


class ResumeAgent(Operation, frozen=True):
    """The human lets a paused agent go on. Result: the agent."""

    agent: str


class NoteStuck(Operation, frozen=True):
    """Keep that an agent is stuck, or (`cause` None) goes on. The program's own. Result: whether that is new."""

    agent: str
    cause: str | None
    text: str = ""
    since: int | None = None


class RecordRefusal(Operation, frozen=True):
    """Keep that an agent tried what it may not. Result: None."""

    tool: str
    message: str


class CompactJournal(Operation, frozen=True):
    """Give up the journal's entries up to `last`, those from before an instant. Result: how many are to be deleted.

    A step of `compacting`: `copy` names the copy of the tables that is kept from now on. `before` is in microseconds.
    """

    before: int
    last: int
    copy: str


class Undo(Operation, frozen=True):
    """Take back a change of the speaker's own: the one that is named, or the newest that still stands.

    `within` is the uid of a list: the newest that is about it and its tasks alone.

    Result: (seq of the change's last entry, seq of its first).
    """

    change: int | None = None
    within: str | None = None


class TakeBack(Operation, frozen=True):
    """Take back changes of anybody, for the human, as one change; in the order given, the newest first.

    Result: (how many were taken back, (change, why not) of each of the others).
    """

    changes: tuple[int, ...]


class Redo(Operation, frozen=True):
    """Take back the speaker's newest undo, where nothing was changed since. Result: as `Undo`."""
