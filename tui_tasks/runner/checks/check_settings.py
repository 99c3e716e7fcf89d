"""The checks that the human has configured, and what a database holds of them; their tables: `settings.run_tables`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tui_tasks.core.agent_snapshots import CheckDefinition
    from tui_tasks.core.operations.jobs import DefineChecks

Definition = tuple[str, tuple[str, ...], bool, str, tuple[str, ...]]
"""Digest, lists, gate, folder and inputs of a check."""


class CheckProfile(msgspec.Struct, frozen=True):
    """A configured check.

    Attributes:
        name: its name.
        command: the argv, never a shell.
        cwd: the absolute path of the folder in which the command runs.
        timeout: seconds after which the check fails.
        inputs: globs below `cwd`; a change of a matching file makes a passed check stale.
        lists: names of the lists of which every task has this check.
        gate: whether the check must pass before such a task can be set done.
        snapshot: whether the command runs in a private copy of its inputs.
        environment: names or patterns of variables to pass on, or `NAME=value`.
        filters: git filters that may run when the files of a worktree are hashed.
    """

    name: str
    command: tuple[str, ...]
    cwd: str
    timeout: int = 600
    inputs: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    gate: bool = False
    snapshot: bool = False
    environment: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The SHA-256 of what decides a run, in hexadecimal; a passed check with another is stale."""
        defined = (
            self.command,
            self.cwd,
            self.inputs,
            *[True] * self.snapshot,
            *[self.environment] * bool(self.environment),
        )
        return hashlib.sha256(msgspec.json.encode(defined)).hexdigest()

    def with_inputs_of(self, definition: CheckDefinition) -> CheckProfile:
        """Return it with the inputs that the database has: those are the same on all machines of a server."""
        inputs = definition.inputs
        return msgspec.structs.replace(self, inputs=inputs, snapshot=self.snapshot and bool(inputs))


class CheckProfiles(msgspec.Struct, frozen=True):
    """The checks of one configuration file, by name.

    Attributes:
        source: the path of the file.
        profiles: the valid checks.
        unreadable: the names of checks with an invalid table; the state keeps what it has of them.
        is_known: whether the file could be read; if not, no check is removed from the state.
    """

    source: str
    profiles: dict[str, CheckProfile] = {}
    unreadable: frozenset[str] = frozenset()
    is_known: bool = True

    def find(self, definition: CheckDefinition, machine: str) -> CheckProfile | None:
        """Return the check that a machine runs for a definition; None if this file has it not, or otherwise.

        `machine`: `Database.machine`.
        """
        profile, place = self.profiles.get(definition.name), definition.place(machine)
        if profile is None or place is None or place.source != self.source:
            return None
        profile = profile.with_inputs_of(definition) if machine else profile
        return profile if profile.digest == place.digest else None

    def definition(self, machine: str, *, alone: bool = False) -> DefineChecks:
        """Return the operation that writes these checks into the state of a database of a machine."""
        from tui_tasks.core.operations.jobs import DefineChecks, NamedCheck  # few files have checks
        from tui_tasks.core.read.check_queries import source_on

        named = (NamedCheck(name, *values) for name, values in self.defined(machine).items())
        return DefineChecks(source_on(machine, self.source), tuple(named), self.unreadable, alone)

    def defined(self, machine: str) -> dict[str, Definition]:
        """Return what a database of a machine holds of the checks, by name; a server's has no command and no folder."""
        if not self.profiles:
            return {}
        from tui_tasks.core.read.check_queries import inputs_digest  # few files have checks

        return {
            name: (
                inputs_digest(each.inputs) if machine else each.digest,
                each.lists,
                each.gate,
                "" if machine else each.cwd,
                each.inputs,
            )
            for name, each in self.profiles.items()
        }

    def places(self, definitions: Iterable[CheckDefinition]) -> dict[str, tuple[str, str]]:
        """Return digest and folder of a server's checks that have a command here, by name."""
        places = {}
        for each in definitions:
            if (profile := self.profiles.get(each.name)) is not None:
                places[each.name] = profile.with_inputs_of(each).digest, profile.cwd
        return places
