"""The checks that the human has configured: `[check.NAME]` of the configuration file (docs: configuration, "Checks").

No agent writes that file. What is run, and the files that it looks at, are read from it alone.
"""

from __future__ import annotations

import hashlib

import msgspec

from tui_tasks.core.operations_checks import DefineChecks, NamedCheck


class CheckProfile(msgspec.Struct, frozen=True):
    """One check.

    command: the argv, never a shell.
    cwd: the folder in which it is run, absolute.
    timeout: seconds after which it has failed.
    inputs: globs below `cwd`; a file that one of them names makes what has passed stale when it changes.
    lists: names of lists whose every task has this check.
    gate: whether these tasks cannot be set done before it has passed.
    """

    name: str
    command: tuple[str, ...]
    cwd: str
    timeout: int = 600
    inputs: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    gate: bool = False

    @property
    def digest(self) -> str:
        """A hash of what it runs and looks at: another one makes stale what has passed."""
        return hashlib.sha256(msgspec.json.encode((self.command, self.cwd, self.inputs))).hexdigest()


class CheckProfiles(msgspec.Struct, frozen=True):
    """The checks of one configuration file by name; `unreadable` are those of which the file says something wrong.

    `is_known`: whether the file could be read at all. One that could not takes nothing away.
    """

    source: str
    profiles: dict[str, CheckProfile] = {}
    unreadable: frozenset[str] = frozenset()
    is_known: bool = True

    def find(self, name: str, digest: str) -> CheckProfile | None:
        """The check of that name, where it is the one that is meant."""
        found = self.profiles.get(name)
        return found if found is not None and found.digest == digest else None

    def definition(self, *, alone: bool = False) -> DefineChecks:
        """What the state is to know of them."""
        named = (NamedCheck(each.name, each.digest, each.lists, each.gate) for each in self.profiles.values())
        return DefineChecks(self.source, tuple(named), self.unreadable, alone)
