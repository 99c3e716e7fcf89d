"""Every possible write, as a frozen value: `store.commit` runs them, `core.rules` decides what each changes. Here are
the writes about other changes: undo, redo, compaction, conditions on versions, recorded refusals.

Instants are microseconds since the epoch. Names and words are those of the state (`core.vocab`), never of a dialect.
"""

from __future__ import annotations

import msgspec


class Operation(msgspec.Struct, frozen=True):
    """A write: `store.commit` runs it, `core.rules` decides what it changes."""


class AtVersion(Operation, frozen=True):
    """Require that a task still has that version (docs: protocol, section 2, `if_version`). Result: the task."""

    uid: str
    version: int


class RecordRefusal(Operation, frozen=True):
    """Record that an agent tried something forbidden: `tool` with `message`. Result: None."""

    tool: str
    message: str


class RecordTerminal(Operation, frozen=True):
    """Record from which terminal a command uses the human's name, for the screen to show. Result: None.

    `parents` are the processes above the command as `NAME PID`, the nearest first.
    """

    command: str
    terminal: str
    parents: tuple[str, ...]


class CompactJournal(Operation, frozen=True):
    """Drop the journal's entries up to `last`. Result: how many are to be deleted.

    It is a step of `core.maintenance.compaction_steps`.

    Attributes:
        before: the instant before which entries were to be dropped.
        last: the seq of the last entry to drop.
        copy: the prefix of the tables that are kept as of then.
    """

    before: int
    last: int
    copy: str


class Undo(Operation, frozen=True):
    """Undo a change of the actor's own: the one with that first entry, or the newest that is not undone.

    `within`: the uid of a list; only changes to it and its tasks count. `passed_over`: changes that do not count.
    `project`: changes to lists and tasks of other projects do not count; None: all count.

    Result: (seq of the change's last entry, seq of its first).
    """

    change: int | None = None
    within: str | None = None
    passed_over: tuple[int, ...] = ()
    project: str | None = None


class Revert(Operation, frozen=True):
    """Undo changes of anybody, for the human, as one change; in the given order, newest first.

    Result: (how many were undone, (change, why not) for each of the others).
    """

    changes: tuple[int, ...]


class Redo(Operation, frozen=True):
    """Undo the actor's newest undo, if nothing changed since. Result: as `Undo`."""


class ChangeMachine(Operation, frozen=True):
    """Let what belongs to one machine belong to another one, when a database is moved. Result: whether there was any.

    Attributes:
        old: the id of the machine, as `Database.machine`; empty: the one machine of a file.
        new: that of the other one, likewise.
    """

    old: str
    new: str
