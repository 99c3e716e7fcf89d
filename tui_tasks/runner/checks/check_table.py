"""Reads the `[check.NAME]` tables of the configuration file (docs: configuration, "Checks")."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tui_tasks.runner.checks.check_profiles import CheckProfile, CheckProfiles
from tui_tasks.runner.profiles import Argument, ConfigProblem, Seconds, Word, checked


class _CheckTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The keys of `[check.NAME]`."""

    command: Annotated[tuple[Argument, ...], Meta(min_length=1)] | None = None
    cwd: Word | None = None
    timeout: Seconds = 600
    inputs: tuple[Word, ...] = ()
    lists: tuple[Word, ...] = ()
    gate: bool = False
    snapshot: bool = False
    environment: tuple[Word, ...] = ()

    def __post_init__(self) -> None:
        if self.command is not None and not self.command[0]:
            raise ValueError("Expected the name of a program as the first word")
        for pattern in self.inputs:
            if pattern.startswith("/") or ".." in pattern.split("/"):
                raise ValueError(f"Expected a pattern below cwd, not {pattern}")


def read(
    table: Mapping[str, Any], file: str, filters: tuple[str, ...] = ()
) -> tuple[CheckProfiles, list[ConfigProblem]]:
    """Return the valid checks of a parsed `[check]` table of `file`, and the problems found in it.

    A relative `cwd` is resolved against the folder of `file`, which is also its default. `filters`: the git filters
    that may run.
    """
    wrong: list[ConfigProblem] = []
    profiles: dict[str, CheckProfile] = {}
    for name, values in table.items():
        key, before = f"check.{name}", len(wrong)
        if not isinstance(values, dict):
            wrong.append(ConfigProblem(key, f"is no table: write [check.{name}]"))
            continue
        given = checked(values, _CheckTable, key, wrong, "a check")
        if given.command is None and not any(each.key == f"{key}.command" for each in wrong[before:]):
            wrong.append(ConfigProblem(f"{key}.command", "is missing"))
        if given.snapshot and not given.inputs and len(wrong) == before:
            wrong.append(ConfigProblem(f"{key}.snapshot", "needs inputs: the copy holds nothing else"))
        if len(wrong) == before:
            profiles[name] = _profile(name, given, file, filters)
    return CheckProfiles(file, profiles, frozenset(table) - frozenset(profiles)), wrong


def _profile(name: str, given: _CheckTable, file: str, filters: tuple[str, ...]) -> CheckProfile:
    assert given.command is not None
    cwd = os.path.expanduser(given.cwd or "")  # noqa: PTH111 - Path.expanduser raises for an unknown user
    folder = os.path.normpath(Path(file).absolute().parent / cwd)
    rest = {"cwd": folder, "command": given.command, "filters": filters}
    return CheckProfile(name, **{**msgspec.structs.asdict(given), **rest})
