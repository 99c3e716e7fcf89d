"""The table `[work]`: where agents work on tasks, what starts them, and how their work is merged."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from msgspec import Meta

Program = Literal["claude", "codex", "gemini", "opencode"]
PROGRAM_NAMES: Final[tuple[Program, ...]] = get_args(Program)

Text = Annotated[str, Meta(min_length=1, pattern=r"^[^\x00]*$")]
Argument = Annotated[str, Meta(pattern=r"^[^\x00]*$")]
Argv = Annotated[tuple[Argument, ...], Meta(min_length=1)]

DEFAULT_WORKTREE: Final = "{data}/worktrees/{repo}/{number}-{slug}"
DEFAULT_BRANCH: Final = "task/{number}-{slug}"
PROMPT: Final = "{prompt}"
_NAME: Final = r"[a-z][a-z0-9_]{0,31}"
_FIELD: Final = r"\{(\w*)\}"
_MAX_SLUG: Final = 40


class ProgramSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[work.program.NAME]`.

    Attributes:
        command: the argv that starts an agent; `{prompt}` in a word is replaced by the prompt. That of a program that
            we know may lack it: our own options follow then.
    """

    command: Argv


class LimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[work.limits]`, of each agent; None: no limit.

    Attributes:
        tokens: tokens.
        cost_usd: US dollars.
        minutes: minutes from the start.
        turns: turns.
        context: the share of the context window, from 0 to 1.
    """

    tokens: Annotated[int, Meta(ge=1)] | None = None
    cost_usd: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    minutes: Annotated[int, Meta(ge=1)] | None = None
    turns: Annotated[int, Meta(ge=1)] | None = None
    context: Annotated[float, Meta(gt=0, le=1)] | None = None


class WorkSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[work]`.

    Attributes:
        program: the program to start; empty: the last that has not failed, else claude.
        worktree: the path of a worktree: `{data}` is the folder of the database, `{repo}` the name of the checkout,
            `{number}` and `{slug}` are those of the task.
        branch: the name of its branch.
        base: the branch on which it begins and into which it is merged; empty: the checkout's.
        copy: paths in the checkout that are copied into a new worktree, such as `.env`.
        setup: the argv run in a new worktree before the agent starts; its failure starts nothing.
        merge: how accepted work is merged.
        prove: on which tree the checks that gate run: the merged one, or the branch's.
        filters: names of git filters that may run, such as `lfs`.
        max_agents: how many agents may be at work at once.
        terminal: where agents run: in tmux if it is installed, or without a terminal.
        attach: the argv that shows the terminal of an agent started elsewhere and not in tmux; `{tty}`, `{pid}` and
            `{agent}` are its own.
        programs: commands of programs, by name (`[work.program.NAME]`).
        limits: when an agent's turn is ended, to ask you.
    """

    program: str = ""
    worktree: Text = DEFAULT_WORKTREE
    branch: Text = DEFAULT_BRANCH
    base: str = ""
    copy: tuple[Text, ...] = ()
    setup: tuple[Argument, ...] = ()
    merge: Literal["squash", "merge", "rebase", "ff"] = "squash"
    prove: Literal["merged", "branch"] = "merged"
    filters: tuple[Text, ...] = ()
    max_agents: Annotated[int, Meta(ge=1, le=1_000)] = 3
    terminal: Literal["tmux", "none"] = "tmux"
    attach: tuple[Text, ...] = ()
    programs: dict[str, ProgramSettings] = {}
    limits: LimitSettings = LimitSettings()

    def __post_init__(self) -> None:
        """Refuse templates with unknown fields, and programs that could not be agents' names.

        Raises:
            ValueError: which setting, and why.
        """
        _check_template("worktree", self.worktree, {"data", "repo", "number", "slug"})
        _check_template("branch", self.branch, {"repo", "number", "slug"})
        for word in self.attach:
            _check_template("attach", word, {"tty", "pid", "agent"})
        for path in self.copy:
            if path.startswith("/") or ".." in path.split("/"):
                raise ValueError(f"copy takes paths within the checkout, not {path}")
        for name, program in self.programs.items():
            if not re.fullmatch(_NAME, name):
                raise ValueError(f"program.{name}: a name has lower-case letters, digits and _, up to 32")
            if name not in PROGRAM_NAMES and not any(PROMPT in word for word in program.command):
                raise ValueError(f"program.{name}: the command has no {PROMPT}")
        if self.program and self.program not in (*PROGRAM_NAMES, *self.programs):
            raise ValueError(f"program: no program {self.program}; `[work.program.{self.program}]` would make one")

    def names(self) -> tuple[str, ...]:
        """Return the names of the programs that can be started."""
        return (*PROGRAM_NAMES, *(name for name in self.programs if name not in PROGRAM_NAMES))


def read(table: Any) -> WorkSettings:
    """Return the settings of the table as the file has it.

    Raises:
        msgspec.ValidationError: it is not as it must be.
    """
    return msgspec.convert(with_programs(table), WorkSettings)


def with_programs(table: Any) -> Any:
    """Return the table of the file, in which `program` is a name or the table of programs, with the keys of
    `WorkSettings`. TOML cannot have `program = "x"` beside `[work.program.x]`: that table's `default` is the name then.

    Raises:
        msgspec.ValidationError: what is below `[work.program]` is no table.
    """
    if not isinstance(table, dict) or not isinstance(table.get("program"), dict):
        return table
    named = dict(table["program"])
    default = named.pop("default", "")
    if other := next((name for name, program in named.items() if not isinstance(program, dict)), None):
        raise msgspec.ValidationError(
            f"[work.program] has no {other}: it takes `default`, and tables `[work.program.NAME]`"
        )
    return {**table, "program": default, "programs": named}


def expand(template: str, **values: object) -> str:
    """Return a template with its fields replaced."""
    return re.sub(_FIELD, lambda match: str(values[match[1]]), template)


def slug(name: str) -> str:
    """Return a name as a part of a path and of a branch: lower-case ASCII letters and digits, with `-` between."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    text = "-".join(words)[:_MAX_SLUG].strip("-")
    return text or "task"


def _check_template(name: str, template: str, known: set[str]) -> None:
    for field in re.findall(_FIELD, template):
        if field not in known:
            raise ValueError(f"{name}: no {{{field}}}; use one of {', '.join(f'{{{one}}}' for one in sorted(known))}")
