"""The checks that the human has configured: `[check.NAME]` of the configuration file (docs: configuration, "Checks").

No agent writes that file. What is run, and the files that it looks at, are read from it alone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tui_tasks.core.operations_checks import DefineChecks, NamedCheck
from tui_tasks.runner.profiles import Argument, Seconds, Word, Wrong, checked


class _Table(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The keys of `[check.NAME]`."""

    command: Annotated[tuple[Argument, ...], Meta(min_length=1)] | None = None
    cwd: Word | None = None
    timeout: Seconds = 600
    inputs: tuple[Word, ...] = ()
    lists: tuple[Word, ...] = ()
    gate: bool = False

    def __post_init__(self) -> None:
        if self.command is not None and not self.command[0]:
            raise ValueError("Expected the name of a program as the first word")
        for pattern in self.inputs:
            if pattern.startswith("/") or ".." in pattern.split("/"):
                raise ValueError(f"Expected a pattern below cwd, not {pattern}")


@dataclass(frozen=True, slots=True)
class CheckProfile:
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


@dataclass(frozen=True, slots=True)
class CheckProfiles:
    """The checks of one configuration file by name; `unreadable` are those of which the file says something wrong.

    `is_known`: whether the file could be read at all. One that could not takes nothing away.
    """

    source: str
    profiles: Mapping[str, CheckProfile] = field(default_factory=dict)
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


def read(table: Mapping[str, Any], file: str) -> tuple[CheckProfiles, list[Wrong]]:
    """The checks of a parsed `[check]` table of `file`, and what is wrong there; the rest holds.

    A `cwd` that is not absolute, and one that is not given, is told from the folder of `file`.
    """
    wrong: list[Wrong] = []
    profiles: dict[str, CheckProfile] = {}
    for name, values in table.items():
        key, before = f"check.{name}", len(wrong)
        if not isinstance(values, dict):
            wrong.append(Wrong(key, f"is no table: write [check.{name}]"))
            continue
        given = checked(values, _Table, key, wrong, "a check")
        if given.command is None and not any(each.key == f"{key}.command" for each in wrong[before:]):
            wrong.append(Wrong(f"{key}.command", "is missing"))
        if len(wrong) == before:
            profiles[name] = _profile(name, given, file)
    return CheckProfiles(file, profiles, frozenset(table) - frozenset(profiles)), wrong


def _profile(name: str, given: _Table, file: str) -> CheckProfile:
    assert given.command is not None
    # Not `Path.expanduser`, which raises where there is no such user.
    cwd = os.path.expanduser(given.cwd or "")  # noqa: PTH111 - as said above
    folder = os.path.normpath(Path(file).absolute().parent / cwd)
    return CheckProfile(name, given.command, folder, given.timeout, given.inputs, given.lists, given.gate)
