"""The tables `[runner]`, `[runner.NAME]` and `[check.NAME]`: what the human has configured to run.

No agent writes that file; a job can only name one of these runners (docs: scheduling, "Who executes").
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from tui_tasks.runner.runner_settings import (
    AgentSettings,
    CheckProfile,
    CheckProfiles,
    ConfigProblem,
    RunnerProfile,
    Runners,
)
from tui_tasks.settings import setting_mistakes
from tui_tasks.settings.work_settings import Argument, Argv, Text

Seconds = Annotated[int, Meta(ge=1, le=31_536_000)]
Kind = Literal["command", "claude", "codex"]
# The command of an agent program, if the configuration names no other.
DEFAULT_COMMANDS: Final[dict[Kind, tuple[str, ...]]] = {"claude": ("claude",), "codex": ("codex",)}


class _RunnerTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The keys of `[runner]` and `[runner.NAME]`."""

    kind: Kind = "command"
    command: Argv | None = None
    cwd: Text | None = None
    environment: tuple[Text, ...] = ()
    timeout: Seconds = 3_600
    grace: Seconds = 10
    # Of the kinds that are agent programs.
    args: tuple[Argument, ...] = ()
    model: Text | None = None
    max_turns: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    max_cost: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    wait: Annotated[int, Meta(ge=0, le=86_400)] = 600

    def __post_init__(self) -> None:
        if self.command is not None and not self.command[0]:
            raise ValueError("takes the name of a program as the first word")


class _Limits(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The keys of `[runner]` that apply to all runners together."""

    max_parallel: Annotated[int, Meta(ge=1, le=1_000)] = 4
    max_timeout: Seconds = 86_400


def read_runners(table: Mapping[str, Any], file: str) -> tuple[Runners, list[ConfigProblem]]:
    """Return the valid runners of a parsed `[runner]` table of `file`, and the problems found in it.

    Keys missing in `[runner.NAME]` are taken from `[runner]`.
    """
    named = {key: value for key, value in table.items() if isinstance(value, dict)}
    common = {key: value for key, value in table.items() if key not in named}
    limits = {key: common.pop(key) for key in _Limits.__struct_fields__ if key in common}
    wrong: list[ConfigProblem] = []
    shared = _checked(limits, _Limits, "runner", wrong)
    own = _checked(common, _RunnerTable, "runner", wrong)
    _refuse_agent_settings(common, own, "runner", wrong)
    has_kind = all(problem.key != "runner.kind" for problem in wrong)
    profiles = {"": _runner_profile("", own)} if has_kind and _command(own) is not None else {}
    for name, values in named.items():
        before = len(wrong)
        taken = msgspec.to_builtins(own)
        if values.get("kind", own.kind) != own.kind:
            # They belong to the other program.
            taken = {key: value for key, value in taken.items() if key not in _OF_ONE_PROGRAM}
        merged = _checked(taken | values, _RunnerTable, f"runner.{name}", wrong)
        _refuse_agent_settings(values, merged, f"runner.{name}", wrong)
        if _command(merged) is None:
            wrong.append(ConfigProblem(f"runner.{name}.command", "is missing"))
        elif len(wrong) == before:
            profiles[name] = _runner_profile(name, merged)
    return Runners(file, profiles, tuple(wrong), shared.max_parallel, shared.max_timeout), wrong


def _checked(values: Mapping[str, Any], kind: Any, key: str, wrong: list[ConfigProblem], of: str = "a runner") -> Any:
    """Return the valid values as a `kind`; append the invalid ones to `wrong`. `of` names what they configure."""
    made, mistakes = setting_mistakes.checked(values, kind)
    known = kind.__struct_fields__
    wrong += [
        ConfigProblem(f"{key}.{name}", message if name in known else f"is not a setting of {of}")
        for name, message in mistakes.items()
    ]
    return made


_OF_ONE_PROGRAM: Final = ("command", "args", "model")
_OF_AGENTS: Final = ("args", "model", "max_turns", "max_cost", "wait")


def _refuse_agent_settings(
    values: Mapping[str, Any], table: _RunnerTable, key: str, wrong: list[ConfigProblem]
) -> None:
    """Report settings without effect: a plain command has no turns to count, and asks nothing."""
    if table.kind == "command":
        wrong += [
            ConfigProblem(f"{key}.{name}", 'needs kind = "claude" or "codex"') for name in _OF_AGENTS if name in values
        ]
    if table.kind == "codex" and "max_cost" in values:
        wrong.append(ConfigProblem(f"{key}.max_cost", "Codex reports no cost: use max_turns"))


def _command(table: _RunnerTable) -> tuple[str, ...] | None:
    return table.command or DEFAULT_COMMANDS.get(table.kind)


def _runner_profile(name: str, table: _RunnerTable) -> RunnerProfile:
    command = _command(table)
    assert command is not None
    agent = None if table.kind == "command" else msgspec.convert(table, AgentSettings, from_attributes=True)
    return RunnerProfile(name, command, table.cwd, table.environment, table.timeout, table.grace, agent)


class _CheckTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The keys of `[check.NAME]`."""

    command: Argv | None = None
    cwd: Text | None = None
    timeout: Seconds = 600
    inputs: tuple[Text, ...] = ()
    lists: tuple[Text, ...] = ()
    gate: bool = False
    snapshot: bool = False
    environment: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        if self.command is not None and not self.command[0]:
            raise ValueError("takes the name of a program as the first word")
        for pattern in self.inputs:
            if pattern.startswith("/") or ".." in pattern.split("/"):
                raise ValueError(f"takes a pattern below cwd, not {pattern}")


def read_checks(
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
            wrong.append(ConfigProblem(key, f"is not a table: write [check.{name}]"))
            continue
        given = _checked(values, _CheckTable, key, wrong, "a check")
        if given.command is None and not any(each.key == f"{key}.command" for each in wrong[before:]):
            wrong.append(ConfigProblem(f"{key}.command", "is missing"))
        if given.snapshot and not given.inputs and len(wrong) == before:
            wrong.append(ConfigProblem(f"{key}.snapshot", "needs inputs: the copy holds nothing else"))
        if len(wrong) == before:
            profiles[name] = _check_profile(name, given, file, filters)
    return CheckProfiles(file, profiles, frozenset(table) - frozenset(profiles)), wrong


def _check_profile(name: str, given: _CheckTable, file: str, filters: tuple[str, ...]) -> CheckProfile:
    assert given.command is not None
    cwd = os.path.expanduser(given.cwd or "")  # noqa: PTH111 - Path.expanduser raises for an unknown user
    folder = os.path.normpath(Path(file).absolute().parent / cwd)
    rest = {"cwd": folder, "command": given.command, "filters": filters}
    return CheckProfile(name, **{**msgspec.structs.asdict(given), **rest})
