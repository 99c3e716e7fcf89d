"""`completion`: prints the script by which a shell completes, and the words that may stand at the cursor.

The shell runs the program without arguments, with the line in its environment (`completion_command` prints the script
for that). To answer within the time of a keystroke, only the command on the line is declared, and the database is read
without Peewee. Names that agents chose are given to the shell as words only, never as code; unprintable ones are left
out.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import argcomplete
from argcomplete.completers import FilesCompleter, SuppressCompleter
from argcomplete.lexers import split_line

from tui_tasks.cli.command_parser import parser
from tui_tasks.cli.options import project_of
from tui_tasks.core.vocab import OPEN, STATUSES

_TEXT: Final = 60  # characters of the text beside a word
# The statuses of the tasks that a command proposes; other commands propose all tasks.
_STATUSES: Final = {"start": ("pending", "failed"), "done": OPEN, "fail": OPEN, "skip": OPEN}
_FILES: Final = frozenset({"db", "file", "tls_cert", "tls_key"})


def complete(command_of: Callable[[Sequence[str]], str | None]) -> None:
    """Print the words that may stand at the cursor, and end the process.

    `command_of` returns the word that is the command.

    Any failure, such as a missing or damaged database, gives no words and no message.
    """
    try:
        _complete(command_of)
    except Exception:
        os._exit(1)


def _complete(command_of: Callable[[Sequence[str]], str | None]) -> None:
    line, point = os.environ.get("COMP_LINE", ""), int(os.environ.get("COMP_POINT", "0"))
    *_, words, _ = split_line(line, point)
    command = command_of(words[1:])
    made = parser(command)
    for each in _parsers(made):
        for action in each._actions:
            _attach(action, command or "")
    # Unlike argcomplete's default, an argument without a source proposes no files.
    argcomplete.autocomplete(made, always_complete_options=False, default_completer=SuppressCompleter())


def _parsers(made: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield made
    for action in made._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _parsers(child)


def _attach(action: Any, command: str) -> None:
    """Set where the words of an argument come from, looked up by command and argument name, or by the latter alone."""
    if action.dest in _FILES:
        action.completer = FilesCompleter()
    elif source := _SOURCES.get(f"{command} {action.dest}") or _SOURCES.get(action.dest):

        def words(prefix: str, parsed_args: argparse.Namespace, **_: object) -> dict[str, str]:
            return _printable(source(prefix, parsed_args, command))

        action.completer = words


def _printable(words: dict[str, str]) -> dict[str, str]:
    return {
        word: "".join(char if char.isprintable() else " " for char in text[:_TEXT])
        for word, text in words.items()
        if word and word.isprintable()
    }


@contextlib.contextmanager
def _database(options: argparse.Namespace) -> Iterator[Any]:
    from tui_tasks.core.engine.database import Database
    from tui_tasks.settings import paths

    with contextlib.closing(Database(paths.database(options.db), read_only=True)) as db:
        yield db


def _named(name: str) -> Callable[[str, argparse.Namespace, str], dict[str, str]]:
    """Return a source of names, which reads them with a function of `completion_words`."""

    def words(prefix: str, options: argparse.Namespace, command: str) -> dict[str, str]:
        from tui_tasks.core.read import completion_words

        with _database(options) as db:
            names: dict[str, str] = getattr(completion_words, name)(db)
        return names

    return words


def _tasks(prefix: str, options: argparse.Namespace, command: str) -> dict[str, str]:
    from tui_tasks.core.read import completion_words

    with _database(options) as db:
        return completion_words.tasks(db, prefix, options.list, project_of(options), _STATUSES.get(command, STATUSES))


def _tools(prefix: str, options: argparse.Namespace, command: str) -> dict[str, str]:
    import json

    from tui_tasks.cli.help import SCHEMA

    # Importing the dialects would take longer.
    return dict.fromkeys(json.loads(SCHEMA.read_text(encoding="utf-8"))["requests"], "")


def _topics(prefix: str, options: argparse.Namespace, command: str) -> dict[str, str]:
    from tui_tasks.cli.help import topics

    return dict.fromkeys(("commands", *topics()), "")


def _runners(prefix: str, options: argparse.Namespace, command: str) -> dict[str, str]:
    import tomllib

    from tui_tasks import regular_files
    from tui_tasks.settings import paths

    tables = tomllib.loads(regular_files.read_text(paths.configuration_path(), paths.MAX_SETTINGS_BYTES))["runner"]
    return {name: "" for name, values in tables.items() if isinstance(values, dict)}


_SOURCES: Final[dict[str, Callable[[str, argparse.Namespace, str], dict[str, str]]]] = {
    "task": _tasks,
    "tasks": _tasks,
    "into": _tasks,
    "not_after": _tasks,
    "check words": _tasks,
    "token name": _named("agents"),
    "before": _tasks,
    "after": _tasks,
    "list": _named("lists"),
    "list_only": _named("lists"),
    "target": _named("lists"),
    "agent": _named("agents"),
    "agent_only": _named("agents"),
    "agents name": _named("agents"),
    "project": _named("projects"),
    "check": _named("checks"),
    "job": _named("jobs"),
    "ask": _named("asks"),
    "tool": _tools,
    "topic": _topics,
    "runner": _runners,
}

SHELLS: Final = ("bash", "zsh", "fish")
_EPILOG: Final = """\
bash, in ~/.bashrc:
  eval "$(tui-tasks completion bash)"
zsh, in ~/.zshrc after compinit:
  eval "$(tui-tasks completion zsh)"
fish, once:
  tui-tasks completion fish > ~/.config/fish/completions/tui-tasks.fish"""


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    command.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")
    command.epilog = _EPILOG


def run(name: str, options: argparse.Namespace) -> int:
    """Print the script. Exit status 0."""
    from argcomplete.shell_integration import shellcode

    # Where nothing fits, bash would propose files by default; few arguments are files.
    print(shellcode(["tui-tasks"], shell=options.shell, complete_arguments=["-o", "nospace"]), end="")
    return 0
