"""Writes of whole lists and plans."""

from __future__ import annotations

from tui_tasks.core.operations.operation import Operation


class EnsureList(Operation, frozen=True):
    """Create the list with that name, unless it exists. Result: the list.

    `origin` is the dialect that needs it.
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
    """Limit a list to one task in progress, or lift the limit. Result: the list."""

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


class ClearList(Operation, frozen=True):
    """Delete every task of a list except those with the uids in `keep`. Result: how many."""

    list_uid: str
    keep: frozenset[str] = frozenset()
