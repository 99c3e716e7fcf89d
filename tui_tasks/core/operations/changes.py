"""Writes that are about other changes: undo, redo, compaction, a condition on a version, a refusal that is recorded."""

from __future__ import annotations

from tui_tasks.core.operations.operation import Operation


class AtVersion(Operation, frozen=True):
    """Go on only if the task is still at that version (docs: protocol, section 2, `if_version`). Result: the task."""

    uid: str
    version: int


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
