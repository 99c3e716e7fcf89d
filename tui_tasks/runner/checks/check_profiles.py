"""The checks that the human configured: `[check.NAME]` of the configuration file (docs: configuration, "Checks").

Agents do not write that file, and a check's command and input files come from nowhere else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tui_tasks.core.operations.jobs import DefineChecks


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

    def passed_on(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a run. Python does not read the user's own site-packages, which agents can write,
        unless the check's `environment` says so.
        """
        from tui_tasks.runner.profiles import run_environment  # a command that runs no check needs none of it

        return {"PYTHONNOUSERSITE": "1"} | run_environment(environ, self.environment)


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

    def find(self, name: str, digest: str) -> CheckProfile | None:
        """Return the check of that name if it has that digest."""
        profile = self.profiles.get(name)
        return profile if profile is not None and profile.digest == digest else None

    def definition(self, *, alone: bool = False) -> DefineChecks:
        """Return the operation that writes these checks into the state."""
        from tui_tasks.core.operations.jobs import DefineChecks, NamedCheck  # few files have checks

        named = (
            NamedCheck(each.name, each.digest, each.lists, each.gate, each.cwd, each.inputs)
            for each in self.profiles.values()
        )
        return DefineChecks(self.source, tuple(named), self.unreadable, alone)
