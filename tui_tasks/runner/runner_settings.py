"""The runners that the human has configured, and the environment of their runs; their tables: `settings.run_tables`."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

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
