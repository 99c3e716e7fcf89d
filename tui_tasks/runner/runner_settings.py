"""Reads what the human has configured to run: the tables `[runner]` and `[runner.NAME]`; checks: `check_settings`.

No agent writes that file; a job can only name one of these runners (docs: scheduling, "Who executes").
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

# The variables that every run sees; a runner's own `environment` adds to them.
ALWAYS_PASSED: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
)

Argument = Annotated[str, Meta(pattern=r"^[^\x00]*$")]
Word = Annotated[str, Meta(min_length=1, pattern=r"^[^\x00]*$")]
Seconds = Annotated[int, Meta(ge=1, le=31_536_000)]
Kind = Literal["command", "claude", "codex"]
# The command of an agent program, if the configuration names no other.
DEFAULT_COMMANDS: Final[dict[Kind, tuple[str, ...]]] = {"claude": ("claude",), "codex": ("codex",)}


class _RunnerTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The keys of `[runner]` and `[runner.NAME]`."""

    kind: Kind = "command"
    command: Annotated[tuple[Argument, ...], Meta(min_length=1)] | None = None
    cwd: Word | None = None
    environment: tuple[Word, ...] = ()
    timeout: Seconds = 3_600
    grace: Seconds = 10
    # Of the kinds that are agent programs.
    args: tuple[Argument, ...] = ()
    model: Word | None = None
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


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a run speaks to an agent program.

    Attributes:
        kind: the program, whose protocol is used.
        args: arguments to add to its command.
        model: the model to use; None: the program's choice.
        max_turns: how many answers its model may give in a run; None: no limit.
        max_cost: the US dollars that a run may cost; None: no limit.
        wait: seconds that a permission or a question waits for the human before it is denied.
    """

    kind: Literal["claude", "codex"]
    args: tuple[str, ...] = ()
    model: str | None = None
    max_turns: int | None = None
    max_cost: float | None = None
    wait: int = 600


@dataclass(frozen=True, slots=True)
class RunnerProfile:
    """A way to run a job.

    Attributes:
        name: its name; "" for the default.
        command: the argv, never a shell; `{system_prompt_file}` in it is replaced by the path of that file.
        cwd: the working directory; None: a new one for each run, removed after it.
        environment: names or patterns (`ANTHROPIC_*`) of variables to pass on, or `NAME=value`.
        timeout: seconds after which a run is ended, if its job sets no timeout.
        grace: seconds between SIGTERM and SIGKILL.
        agent: how to speak to the agent program that the command is; None: it is a plain command.
    """

    name: str
    command: tuple[str, ...]
    cwd: str | None = None
    environment: tuple[str, ...] = ()
    timeout: int = 3_600
    grace: int = 10
    agent: AgentSettings | None = None

    def passed_on(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a run: the allowed variables of `environ` and those that the runner sets."""
        return run_environment(environ, self.environment)


def run_environment(environ: Mapping[str, str], entries: Sequence[str]) -> dict[str, str]:
    """Return the variables of `environ` that every run sees or `entries` allow, and those that `entries` set."""
    allowed = passed_on(environ, [*ALWAYS_PASSED, *(entry for entry in entries if "=" not in entry)])
    given = (entry.partition("=") for entry in entries if "=" in entry)
    return allowed | {name: value for name, _, value in given}


def passed_on(environ: Mapping[str, str], patterns: Sequence[str]) -> dict[str, str]:
    """Return the variables of an environment whose names match one of the patterns."""
    return {
        name: value
        for name, value in environ.items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """An invalid key of the configuration file, such as `runner.claude.command`, and the reason."""

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}"


@dataclass(frozen=True, slots=True)
class Runners:
    """The runners of one configuration file.

    Attributes:
        file: the path of the file.
        profiles: the valid runners by name; the default one is "".
        wrong: the problems found.
        max_parallel: the most runs at a time.
        max_timeout: the largest timeout of a job, in seconds.
    """

    file: str
    profiles: Mapping[str, RunnerProfile] = field(default_factory=dict)
    wrong: tuple[ConfigProblem, ...] = ()
    max_parallel: int = 4
    max_timeout: int = 86_400

    def missing(self, name: str) -> str:
        """Return why no runner has that name, and which file to edit (docs: scheduling, "Who executes")."""
        table = f"runner.{name}" if name else "runner"
        for wrong in self.wrong:
            if wrong.key.rpartition(".")[0] == table:
                return f"{wrong}, in {self.file}"
        if name:
            return f"no runner is called {name[:100]!r}: add [{table}] with a command to {self.file}"
        return f'no command is configured: add [runner] with command = ["program", "argument"] to {self.file}'


def read(table: Mapping[str, Any], file: str) -> tuple[Runners, list[ConfigProblem]]:
    """Return the valid runners of a parsed `[runner]` table of `file`, and the problems found in it.

    Keys missing in `[runner.NAME]` are taken from `[runner]`.
    """
    named = {key: value for key, value in table.items() if isinstance(value, dict)}
    common = {key: value for key, value in table.items() if key not in named}
    limits = {key: common.pop(key) for key in _Limits.__struct_fields__ if key in common}
    wrong: list[ConfigProblem] = []
    shared = checked(limits, _Limits, "runner", wrong)
    own = checked(common, _RunnerTable, "runner", wrong)
    _refuse_agent_settings(common, own, "runner", wrong)
    has_kind = all(problem.key != "runner.kind" for problem in wrong)
    profiles = {"": _profile("", own)} if has_kind and _command(own) is not None else {}
    for name, values in named.items():
        before = len(wrong)
        taken = msgspec.to_builtins(own)
        if values.get("kind", own.kind) != own.kind:
            # They belong to the other program.
            taken = {key: value for key, value in taken.items() if key not in _OF_ONE_PROGRAM}
        merged = checked(taken | values, _RunnerTable, f"runner.{name}", wrong)
        _refuse_agent_settings(values, merged, f"runner.{name}", wrong)
        if _command(merged) is None:
            wrong.append(ConfigProblem(f"runner.{name}.command", "is missing"))
        elif len(wrong) == before:
            profiles[name] = _profile(name, merged)
    return Runners(file, profiles, tuple(wrong), shared.max_parallel, shared.max_timeout), wrong


def checked(values: Mapping[str, Any], kind: Any, key: str, wrong: list[ConfigProblem], of: str = "a runner") -> Any:
    """Return the valid values as a `kind`; append the invalid ones to `wrong`. `of` names what they configure."""
    good: dict[str, Any] = {}
    for name, value in values.items():
        try:
            msgspec.convert({name: value}, kind)
            good[name] = value
        except msgspec.ValidationError as error:
            known = name in kind.__struct_fields__
            message = mistake(error, {name: value}, kind)[1] if known else f"is not a setting of {of}"
            wrong.append(ConfigProblem(f"{key}.{name}", message))
    return msgspec.convert(good, kind)


_WORDS: Final = {
    "BoolType": "true or false",
    "ListType": "a list",
    "VarTupleType": "a list",
    "DictType": "a table",
    "StructType": "a table",
}
_PATTERNS: Final = {r"^[^\x00]*$": "a text without NUL", r"^[-_A-Za-z0-9]{0,64}$": "up to 64 letters, digits, - and _"}
_MAX_SHOWN: Final = 60


def mistake(error: msgspec.ValidationError, given: Any, kind: Any) -> tuple[str, str]:
    """Return the place of a mistake in settings, such as `limits.tokens`, and in plain words what it takes."""
    text, _, at = str(error).partition(" - at ")
    path = re.findall(r"\w+|\[\.\.\.\]", at.rpartition("$")[2].rstrip("`"))
    place = ".".join(step for step in path if step.isidentifier())
    if text.startswith("Object missing required field"):
        return place, f"lacks {text.split('`')[1]}"
    if not text.startswith(("Expected `", "Invalid enum value")):
        return place, text
    types = _alternatives(msgspec.inspect.type_info(kind))
    if at.startswith("`key`"):
        path.append("key")
    for step in path:
        types = [each for one in types for inner in _inside(one, step) for each in _alternatives(inner)]
        if given is not None:
            given = given.get(step) if isinstance(given, dict) else given[int(step)] if step.isdecimal() else None
    allowed = " or ".join(filter(None, map(_allowed, types)))
    shown = json.dumps(given, ensure_ascii=False, default=str)
    shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
    return place, f"takes {allowed}" + f", not {shown}" * (given is not None)


def _alternatives(kind: Any) -> list[Any]:
    kind = kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind
    return list(getattr(kind, "types", (kind,)))


def _inside(kind: Any, step: str) -> list[Any]:
    """Return the types that a type has at one step of a path."""
    if isinstance(kind, msgspec.inspect.StructType):
        return [field.type for field in kind.fields if field.name == step]
    if step == "key":
        return [kind.key_type] if hasattr(kind, "key_type") else []
    return [kind.value_type] if hasattr(kind, "value_type") else [kind.item_type] if hasattr(kind, "item_type") else []


def _allowed(kind: Any) -> str:
    """Return in words what a type allows; of no value: an empty text."""
    if isinstance(kind, msgspec.inspect.LiteralType):
        return f"one of {', '.join(json.dumps(word) for word in kind.values)}"
    if isinstance(kind, msgspec.inspect.StrType):
        return _PATTERNS.get(kind.pattern or "", "a text") + " that is not empty" * bool(kind.min_length)
    if isinstance(kind, (msgspec.inspect.IntType, msgspec.inspect.FloatType)):
        number = "a whole number" if isinstance(kind, msgspec.inspect.IntType) else "a number"
        least = f" from {kind.ge:,}" if kind.ge is not None else f" above {kind.gt:,}" if kind.gt is not None else ""
        return f"{number}{least}" + (f"{',' * (kind.gt is not None)} up to {kind.le:,}" if kind.le is not None else "")
    return _WORDS.get(type(kind).__name__, "") + " that is not empty" * bool(getattr(kind, "min_length", None))


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


def _profile(name: str, table: _RunnerTable) -> RunnerProfile:
    command = _command(table)
    assert command is not None
    agent = None if table.kind == "command" else msgspec.convert(table, AgentSettings, from_attributes=True)
    return RunnerProfile(name, command, table.cwd, table.environment, table.timeout, table.grace, agent)
