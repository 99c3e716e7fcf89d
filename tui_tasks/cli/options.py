"""The options that commands share: declaring them, parsing a command line, and opening what they name."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse

    from tui_tasks.channel.session import Session
    from tui_tasks.cli.main import WordReader
    from tui_tasks.core.engine.database import Database
    from tui_tasks.core.errors import ReservedName
    from tui_tasks.core.read.agents.agent_states import LeftTask
    from tui_tasks.core.store import Store
    from tui_tasks.dialects.requests import Identity
    from tui_tasks.dialects.tool_table import Table

TASK_REFERENCE: Final = "its number, or the beginning of its uid"
"""What a TASK is, for help."""
# Exit statuses.
REFUSED, USAGE, INTERRUPTED = 1, 2, 130

# Arguments that are paths, which may be any bytes.
_PATHS: Final = frozenset({"db", "file"})
# Arguments that take any number of words.
_REST: Final = ("arguments", "filter", "words", "links", "reason", "message", "tasks")


# The shared options by name, each with the title of its group in `--help` and argparse's arguments. A row of
# `command_table` names those of a command.
_STATE: Final = "database and scope"
_AGENTS: Final = "what agents may do"
_FLAG: Final = {"action": "store_true"}
SHARED: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "db": (_STATE, {"metavar": "PATH", "help": "the database (default: TUI_TASKS_DB, else your own)"}),
    "agent": (_STATE, {"metavar": "NAME", "help": "who speaks (default: %s)"}),
    "list": (_STATE, {"metavar": "NAME", "help": "the list (default: the project's)"}),
    "project": (
        _STATE,
        {"metavar": "NAME", "help": "the project (default: the nearest .tui-tasks.toml upwards; '': none)"},
    ),
    "read-only": (_STATE, {**_FLAG, "help": "write nothing"}),
    "no-scheduler": ("", {**_FLAG, "help": "start no jobs"}),
    "ascii": ("", {**_FLAG, "help": "letters instead of glyphs"}),
    "agent-only": (_AGENTS, {"metavar": "NAME", "help": "as --agent; requests cannot name another agent"}),
    "list-only": (_AGENTS, {"metavar": "NAME", "help": "as --list; nothing else can be reached"}),
    "tools": (_AGENTS, {"metavar": "NAMES", "help": "serve only these dialects and tools (tasklist,ask,claim)"}),
}


def declare_options(command: argparse.ArgumentParser | WordReader, names: str, default: str | None) -> None:
    """Declare options of `SHARED`, named in a text with spaces between (docs: protocol, section 1).

    With the default `argparse.SUPPRESS`, an option that is not given after the command keeps the value given before it.
    """
    groups: dict[str, argparse._ActionsContainer | WordReader] = {"": command}
    for name in names.split():
        title, given = SHARED[name]
        if title not in groups:
            groups[title] = command.add_argument_group(title)
        off = False if default is None and "action" in given else default
        if name == "agent":
            given = {**given, "help": given["help"] % (command.get_default("speaks_as") or "agent")}
        elif name == "list" and "list-only" in names.split():
            given = {**given, "help": "the one list that all tools work on"}
        groups[title].add_argument(f"--{name}", default=off, **given)


def table_of(options: argparse.Namespace) -> Table:
    """Return the tools to serve: all, or those of `--tools`.

    Raises:
        InvalidRequest: a word of `--tools` names no tool.
    """
    from tui_tasks.dialects.tool_table import TABLE

    named = getattr(options, "tools", None)
    if named is None:
        return TABLE
    from tui_tasks.dialects.requests import confinement

    return confinement.select(confinement.words_of(named))


def print_missing_extra(what: str, extra: str) -> None:
    """Print to standard error that something needs an extra that is not installed, and how to install it."""
    from tui_tasks.installation import install_command

    print(f"{what} needs the extra `{extra}`: {install_command(extra)}", file=sys.stderr)


def print_refusal(refused: Exception, what: str = "tui-tasks") -> None:
    """Print to standard error why something was refused; unsafe characters of the message are replaced.

    Several problems are a line each.
    """
    from tui_tasks.text.safe import safe_line

    problems = getattr(refused, "data", {}).get("problems", ())
    if len(problems) < 2:
        print(f"{what}: {safe_line(str(refused))}", file=sys.stderr)
        return
    print(f"{what}: {safe_line(str(refused).partition(':')[0])}:", file=sys.stderr)
    for problem in problems:
        print(f"  {safe_line(problem['message'])}", file=sys.stderr)


def _own_parser(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.ArgumentParser:
    """Return the parser of the command, or of its action."""
    for name in (options.command.name, getattr(options, "action", None)):
        parsers = (each.choices for each in parser._actions if isinstance(each.choices, dict))
        parser = next((each[name] for each in parsers if name in each), parser)
    return parser


def _take_behind_options(parser: argparse.ArgumentParser, options: argparse.Namespace, words: Sequence[str]) -> bool:
    """Give words behind the options to the arguments that may be missing; return whether all were taken."""
    missing = [
        action.dest
        for action in _own_parser(parser, options)._actions
        if action.nargs == "?" and not action.option_strings and getattr(options, action.dest) is None
    ]
    if len(words) > len(missing) or any(word.startswith("-") for word in words):
        return False
    for name, word in zip(missing, words, strict=False):
        setattr(options, name, word)
    return True


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Return the parsed options and words. Wrong usage ends the process with status 2, as argparse does."""
    options, more = parser.parse_known_args(arguments)
    # Arguments that take any number of words may stand on both sides of the options.
    name = next((name for name in _REST if isinstance(getattr(options, name, None), list)), "")
    rest = getattr(options, name, None)
    name = options.command.name
    if more and rest is not None and all(not word.startswith("-") or _is_word(name, word) for word in more):
        rest += more
        more = []
    if more and not _take_behind_options(parser, options, more):
        from tui_tasks.cli.command_parser import exit_unrecognized

        own = _own_parser(parser, options)
        exit_unrecognized(own, own.prog, more)
    _take_bounds(parser, options)
    for name, given in vars(options).items():
        texts = given if isinstance(given, list) else [given]
        if name not in _PATHS and any(isinstance(text, str) and not _is_text(text) for text in texts):
            parser.error(f"{name}: not valid UTF-8")
    return options


def _is_word(command: str, word: str) -> bool:
    """Return whether a word with a minus is no option: `ls -#auth`, `ls -status:done`, `edit -#auth`."""
    if command == "edit":
        return word.startswith("-#")
    return command == "ls" and (word[1:2] in tuple("#@!") or (word[1:2] != "-" and ":" in word))


def _take_bounds(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Set agent and list from `--agent-only` and `--list-only`; others beside them are wrong usage."""
    for name in ("agent", "list"):
        only = getattr(options, f"{name}_only", None)
        if only is None:
            continue
        if f"{name}-only" not in options.command.options.split():
            parser.error(f"--{name}-only goes with serve, mcp, call, setup and the screen")
        if getattr(options, name) not in (None, only):
            parser.error(f"--{name} names another than --{name}-only")
        setattr(options, name, only)


def _is_text(given: str) -> bool:
    """Return whether a word was UTF-8; other bytes are surrogates in it."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_speaker(options: argparse.Namespace) -> None:
    """Check the given names of agent and list, before anything is opened: a command line never speaks as the human.

    An attempt to speak as the human is recorded if the database exists.

    Raises:
        InvalidRequest: no agent or no list can have the name.
        ReservedName: the agent's name is the human's, or the program's own.
    """
    if options.agent is None and options.list is None:
        return
    from tui_tasks.core.errors import ReservedName
    from tui_tasks.dialects import requests

    tool = getattr(options, "tool", None) or ""
    requests.checked_name("--list", options.list)
    requests.checked_name("--agent", options.agent)
    try:
        requests.checked_agent_name(options.agent, tool)
    except ReservedName as refused:
        if not options.read_only:
            _record_refusal(options, tool, refused)
        raise


def _record_refusal(options: argparse.Namespace, tool: str, refused: ReservedName) -> None:
    from tui_tasks import clock
    from tui_tasks.core.errors import DatabaseRefused, Refusal
    from tui_tasks.core.operations import RecordRefusal
    from tui_tasks.core.store import Store
    from tui_tasks.settings import paths

    with contextlib.suppress(DatabaseRefused, Refusal):
        path = paths.database(options.db)
        if os.path.exists(path):
            with Store(path) as store:
                store.commit(RecordRefusal(tool, refused.message), actor=_default_agent(options), now=clock.now())


def lacks_default_database(options: argparse.Namespace) -> bool:
    """Return whether no database is named and the default one is missing."""
    from tui_tasks.settings import paths

    return options.db is None and not os.environ.get("TUI_TASKS_DB") and _is_missing(paths.database(None))


def print_no_tasks_yet() -> None:
    """Print to standard error how the first task is made."""
    print("no tasks yet: tui-tasks add 'TITLE' makes the first", file=sys.stderr)


def _is_missing(path: str) -> bool:
    from tui_tasks.state.open_store import has_hooks

    # A write-ahead log without its database is reported when it is opened.
    return not os.path.exists(path) and not os.path.exists(f"{path}-wal") and not has_hooks(path)


def require_database(options: argparse.Namespace) -> None:
    """Refuse a missing database, for commands that need an existing one.

    Raises:
        DatabaseRefused: there is none.
    """
    from tui_tasks.core.engine import open_checks
    from tui_tasks.installation import is_replica
    from tui_tasks.settings import paths

    path = paths.database(options.db)
    if _is_missing(path) and not is_replica(path):
        raise open_checks.missing(path)


@contextlib.contextmanager
def open_store(options: argparse.Namespace) -> Iterator[Store]:
    """Open the given database while the block runs.

    Raises:
        DatabaseRefused: it cannot be used.
        StorageFailed: it cannot be read.
    """
    from tui_tasks.cli.streams import ProgressBar
    from tui_tasks.settings import paths
    from tui_tasks.state.open_store import opened_store

    path = paths.database(options.db)
    with ProgressBar() as progress, opened_store(path, read_only=options.read_only, report=progress.show) as store:
        progress.clear()
        yield store


def left_now(db: Database, now: int) -> dict[str, LeftTask]:
    """Return the tasks that agents have left, by uid, as the screen shows them."""
    from tui_tasks.core.read.agents import agent_views

    return agent_views.left_now(db, now, quiet_after_microseconds())


def quiet_after_microseconds() -> int:
    """Return after how long without a request an agent is quiet."""
    from tui_tasks.settings import config, paths

    settings, _ = config.load(paths.configuration())
    return int(settings.quiet_after * 1_000_000)


def declare_new(command: argparse.ArgumentParser) -> None:
    """Declare the option of a command that may make a list."""
    command.add_argument("--new", action="store_true", help="make the named list or project if there is none")


def following_hooks(options: argparse.Namespace, store: Store) -> contextlib.AbstractContextManager[None]:
    """Read the events that agents' hooks leave beside the database while the block runs, unless it is read only."""
    from tui_tasks import clock
    from tui_tasks.hooks import follower

    return follower.following(store.path, clock.now, wanted=not options.read_only)


def print_permission_findings(options: argparse.Namespace) -> None:
    """Print who else can access the database, for processes without a screen."""
    from pathlib import Path

    from tui_tasks.settings import paths

    for finding in paths.findings_on_database(Path(paths.database(options.db))):
        from tui_tasks.text.safe import safe_line

        print(f"tui-tasks: {safe_line(finding)}", file=sys.stderr)


def identity_of(options: argparse.Namespace) -> Identity:
    """Return the speaker: agent, list and limits.

    Raises:
        ProjectRefused: as `project_of`.
    """
    from tui_tasks.dialects.requests import Identity

    return Identity(
        options.agent or _default_agent(options),
        options.list,
        options.read_only,
        agent_only=getattr(options, "agent_only", None) is not None,
        list_only=getattr(options, "list_only", None) is not None,
        project=project_of(options),
    )


def project_of(options: argparse.Namespace) -> str | None:
    """Return the project of `--project`, else that of the working directory; None outside any (docs: protocol, section
    5).

    Raises:
        ProjectRefused: the name is invalid, or the folder's file cannot be used.
    """
    from tui_tasks.settings import project

    return project.of_process(options.project)


def is_without_project(options: argparse.Namespace) -> bool:
    """Return whether the command is about the lists that all folders without a project share, in a git repository.

    Raises:
        ProjectRefused: the folder's file cannot be used.
    """
    from tui_tasks.settings import project

    return options.list is None and project.is_without(options.project)


def _default_agent(options: argparse.Namespace) -> str:
    """Return the agent that speaks without `--agent`."""
    from tui_tasks.dialects.requests import Identity

    return getattr(options, "speaks_as", None) or Identity().agent


def session_of(
    options: argparse.Namespace, store: Store, table: Table | None = None, *, stays: bool = False
) -> Session:
    """Return a session of the speaker, with the tools of a table, by default all that are served to agents.

    `stays`: the session is for many requests, and its agent is present until it ends.

    Raises:
        InvalidRequest: as `table_of`.
        ProjectRefused: as `project_of`.
    """
    from tui_tasks.state.open_store import session_for

    return session_for(identity_of(options), store, table or table_of(options), stays=stays)


def hosts_scheduler(options: argparse.Namespace) -> bool:
    """Return whether this process may start jobs."""
    return not (options.no_scheduler or options.read_only)
