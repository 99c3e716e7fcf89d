"""What the human has configured to run: runners, the environment of their runs, and checks, with what a database holds
of those. Their tables: `settings.run_tables`.
"""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from tui_tasks.core.agent_snapshots import CheckDefinition
    from tui_tasks.core.operations.jobs import DefineChecks

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
