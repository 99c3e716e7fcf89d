"""`completion`: prints the script by which a shell completes, and the words that may stand at the cursor.

The shell runs the program without arguments, with the line in its environment (`run` prints the script for that). To
answer within the time of a keystroke, only the command on the line is declared, and the database is read without
Peewee. Names that agents chose are given to the shell as words only, never as code; unprintable ones are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import argcomplete
from argcomplete.completers import FilesCompleter, SuppressCompleter
from argcomplete.lexers import split_line

from tui_tasks.cli.command_parser import parser
from tui_tasks.cli.options import project_of
from tui_tasks.core.vocab import OPEN, RESERVED_AGENTS, STATUSES

if TYPE_CHECKING:
    from tui_tasks.core.engine.database import Database

_Words = dict[str, str]
"""Words with a text about each."""
_Source = Callable[[str, argparse.Namespace, str], _Words]
"""Returns words, given what is typed of a word, the options, and the command."""

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

        def words(prefix: str, parsed_args: argparse.Namespace, **_: object) -> _Words:
            return _printable(source(prefix, parsed_args, command))

        action.completer = words


def _printable(words: _Words) -> _Words:
    return {
        word: "".join(char if char.isprintable() else " " for char in text[:_TEXT])
        for word, text in words.items()
        if word and word.isprintable()
    }


_MAX: Final = 200
"""The most words of what may be many in a large database."""
# How many tasks are read to find those with numbers of a length that begin with the typed digits.
_NUMBERED: Final = 2_000
_MAX_DIGITS: Final = 7  # more of them are a uid's beginning
_SHORT: Final = 8  # characters of a uid, as `ls` prints it

# One step in the index for each name, however long the journal is.
_ACTORS: Final = """
WITH RECURSIVE actors(name) AS (
    SELECT min(actor) FROM journal
    UNION ALL SELECT (SELECT min(actor) FROM journal WHERE actor > name) FROM actors WHERE name IS NOT NULL
)
SELECT name FROM actors WHERE name IS NOT NULL LIMIT ?
"""
_LISTS: Final = """
SELECT IIF(kind = 'plan', uid, name), IIF(kind = 'plan', name, ''), pending + in_progress FROM list
WHERE deleted = 0 ORDER BY archived, id DESC LIMIT ?
"""
_IN_LIST: Final = """
SELECT rank, id, name FROM task INDEXED BY task_column
WHERE list_id = ?1 AND deleted = 0 AND status = ?2 ORDER BY rank LIMIT ?3
"""
_BY_NUMBER: Final = """
SELECT id, name, status, list_id FROM task WHERE id BETWEEN ?1 AND ?2 AND deleted = 0 ORDER BY id LIMIT ?3
"""
_BY_UID: Final = """
SELECT uid, name, status FROM task WHERE uid >= ?1 AND uid < ?2 AND deleted = 0
AND EXISTS (SELECT 1 FROM list WHERE list.id = task.list_id AND list.deleted = 0) LIMIT ?3
"""


def _lists(db: Database) -> _Words:
    """Return the names of lists and the ids of plans."""
    rows = db.sql(_LISTS, (_MAX,))
    return {handle: " ".join((title, f"{count:,} open")).strip() for handle, title, count in rows}


def _agents(db: Database) -> _Words:
    """Return the agents that have an entry in the journal; the human and the program's own actors are none."""
    return {name: "" for (name,) in db.sql(_ACTORS, (_MAX,)) if name not in RESERVED_AGENTS}


def _projects(db: Database) -> _Words:
    return {
        name: "" for (name,) in db.sql("SELECT DISTINCT project FROM list WHERE project IS NOT NULL AND deleted = 0")
    }


def _checks(db: Database) -> _Words:
    return {name: "" for (name,) in db.sql("SELECT DISTINCT name FROM check_definition WHERE deleted = 0")}


def _jobs(db: Database) -> _Words:
    rows = db.sql("SELECT name, IIF(enabled, '', 'off') FROM job WHERE deleted = 0 ORDER BY id LIMIT ?", (_MAX,))
    return dict(rows)


def _asks(db: Database) -> _Words:
    """Return the open questions, by the first characters of their ids."""
    rows = db.sql("SELECT uid, question FROM ask WHERE state = 'open' ORDER BY opened_at LIMIT ?", (_MAX,))
    return {uid[:_SHORT]: question for uid, question in rows}


def _task_words(
    db: Database, prefix: str, handle: str | None, project: str | None, statuses: tuple[str, ...]
) -> _Words:
    """Return the words that begin with `prefix` and name a task in one of these statuses.

    These are the numbers of the tasks of the named list, or of the project's lists; for the beginning of a uid, the
    first characters of uids.
    """
    digits = prefix.removeprefix("#")
    sign = "#" * (digits != prefix)
    homes = _homes(db, handle, project)
    if not digits:
        return dict(_cut((f"{sign}{number}", name) for number, name in _of_lists(db, homes, statuses)))
    if digits.isdecimal() and len(digits) <= _MAX_DIGITS:
        names = _with_digits(db, digits, frozenset(homes), statuses)
        return dict(_cut((f"{sign}{number}", name) for number, name in names))
    rows = db.sql(_BY_UID, (prefix, f"{prefix}\U0010ffff", _MAX))
    return {uid[: max(_SHORT, len(prefix))]: name for uid, name, status in rows if status in statuses}


def _of_lists(db: Database, homes: list[int], statuses: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the number and the name of the tasks of lists in these statuses, in the order of each list."""
    for home in homes:
        rows = [row for status in statuses for row in db.sql(_IN_LIST, (home, status, _MAX))]
        yield from ((number, name) for _, number, name in sorted(rows))


def _with_digits(
    db: Database, digits: str, homes: frozenset[int], statuses: tuple[str, ...]
) -> Iterator[tuple[int, str]]:
    """Yield the number and the name of the tasks of lists in these statuses whose number begins with the digits."""
    if digits.startswith("0"):
        return
    newest = db.scalar("SELECT ifnull(max(id), 0) FROM task")
    low, high = int(digits), int(digits)
    while low <= newest:
        rows = db.sql(_BY_NUMBER, (low, high, _NUMBERED))
        yield from ((number, name) for number, name, status, home in rows if status in statuses and home in homes)
        low, high = low * 10, high * 10 + 9


def _homes(db: Database, handle: str | None, project: str | None) -> list[int]:
    if handle is None:
        sql = "SELECT id FROM list WHERE deleted = 0 AND IFNULL(project, '') = ?1 ORDER BY archived, id LIMIT ?2"
        return [home for (home,) in db.sql(sql, (project or "", _MAX))]
    named = (
        "SELECT id FROM list WHERE deleted = 0 AND ((kind = 'list' AND name = ?1) OR uid = ?1)"
        " ORDER BY kind = 'list' AND name = ?1 DESC LIMIT 1"
    )
    return [home for (home,) in db.sql(named, (handle,))]


def _cut(rows: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return (row for row, _ in zip(rows, range(_MAX), strict=False))


@contextlib.contextmanager
def _database(options: argparse.Namespace) -> Iterator[Database]:
    from tui_tasks.core.engine.database import Database
    from tui_tasks.settings import paths

    with contextlib.closing(Database(paths.database(options.db), read_only=True)) as db:
        yield db


def _named(names: Callable[[Database], _Words]) -> _Source:
    """Return a source of the names that a function reads in the database."""

    def words(prefix: str, options: argparse.Namespace, command: str) -> _Words:
        with _database(options) as db:
            return names(db)

    return words


def _tasks(prefix: str, options: argparse.Namespace, command: str) -> _Words:

    with _database(options) as db:
        return _task_words(db, prefix, options.list, project_of(options), _STATUSES.get(command, STATUSES))


def _tools(prefix: str, options: argparse.Namespace, command: str) -> _Words:
    import json

    from tui_tasks.cli.help import SCHEMA

    # Importing the dialects would take longer.
    return dict.fromkeys(json.loads(SCHEMA.read_text(encoding="utf-8"))["requests"], "")


def _topics(prefix: str, options: argparse.Namespace, command: str) -> _Words:
    from tui_tasks.cli.help import topics

    return dict.fromkeys(("commands", *topics()), "")


def _runners(prefix: str, options: argparse.Namespace, command: str) -> _Words:
    import tomllib

    from tui_tasks import regular_files
    from tui_tasks.settings import paths

    tables = tomllib.loads(regular_files.read_text(paths.configuration_path(), paths.MAX_SETTINGS_BYTES))["runner"]
    return {name: "" for name, values in tables.items() if isinstance(values, dict)}


_SOURCES: Final[dict[str, _Source]] = {
    "task": _tasks,
    "tasks": _tasks,
    "into": _tasks,
    "not_after": _tasks,
    "check words": _tasks,
    "token name": _named(_agents),
    "before": _tasks,
    "after": _tasks,
    "list": _named(_lists),
    "list_only": _named(_lists),
    "target": _named(_lists),
    "agent": _named(_agents),
    "agent_only": _named(_agents),
    "agents name": _named(_agents),
    "project": _named(_projects),
    "check": _named(_checks),
    "job": _named(_jobs),
    "ask": _named(_asks),
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
