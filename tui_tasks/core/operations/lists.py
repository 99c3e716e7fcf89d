"""Writes of whole lists and plans."""

from __future__ import annotations

from tui_tasks.core.operations.operation import Operation


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


class ClearList(Operation, frozen=True):
    """Delete every task of a list but those to keep, by their uids. Result: how many."""

    list_uid: str
    keep: frozenset[str] = frozenset()
