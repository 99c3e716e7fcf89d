"""Reading `[check.NAME]` of the configuration file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tui_tasks.runner.checks import CheckProfile, CheckProfiles
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
