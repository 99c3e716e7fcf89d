"""The commands for administration of the database: doctor, backup, restore, compact and config."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tui_tasks.cli.options import REFUSED, open_store
from tui_tasks.settings import paths

if TYPE_CHECKING:
    from tui_tasks.core.store import Store


def declare(name: str, command: argparse.ArgumentParser) -> None:
    """Declare the arguments of a command."""
    if name in _DECLARE:
        _DECLARE[name](command)


def run(name: str, options: argparse.Namespace) -> int:
    """Run a command; return the exit status."""
    return _RUN[name](options)


def _declare_doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--replay", action="store_true", help="compare the tables with the journal, however long it is"
    )


def _doctor(options: argparse.Namespace) -> int:
    from tui_tasks import clock
    from tui_tasks.cli.admin import doctor
    from tui_tasks.text.safe import safe_line

    options.read_only = True
    with open_store(options) as store:
        print(doctor.summary(store, replays=options.replay))
        named = Path(paths.database(options.db))
        found = list(doctor.findings(store, paths.configuration(), clock.now(), named, replays=options.replay))
        found += _print_programs(store)
    for finding in found:
        print(f"! {safe_line(finding)}")
    print(f"{len(found)} things to look at" if found else "all is well")
    return REFUSED if found else 0


def _print_programs(store: Store) -> Iterator[str]:
    """Print which agent programs are set up here, and when each last sent a report; yield their problems."""
    from tui_tasks.cli.setup import installed
    from tui_tasks.core.read.agents import sessions
    from tui_tasks.core.snapshots import iso
    from tui_tasks.text.safe import safe_line

    last_seen: dict[str, int] = {}
    for seen in sessions.everyone(store.db):
        program = seen.session.program
        last_seen[program] = max(last_seen.get(program, 0), seen.activity.last_seen)
    for found in installed.all_installed(Path.cwd()):
        parts = " and ".join(found.parts)
        if found.has_hooks:
            at = last_seen.get(found.name)
            parts += ", never heard" if at is None else f", last heard {iso(at)}"
        print(safe_line(f"{found.name}: {parts or 'cannot be read'}, {found.place}"))
        for problem in found.problems:
            yield f"{found.name}: {problem}"


def _declare_backup(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="the copy, which must not exist yet")


def _backup(options: argparse.Namespace) -> int:
    from tui_tasks.core.maintenance.backup import backup

    def print_progress(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{100 * done // max(total, 1):3} %", end="" if done < total else "\n", file=sys.stderr)

    options.read_only = True
    with open_store(options) as store:
        newest = backup(store.db, Path(options.file), print_progress)
    print(f"{options.file}: whole up to entry {newest:,}")
    return 0


def _declare_restore(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Put a copy of a backup in the place of the database. What was there is kept aside, and can be restored in "
        "turn; programs that have the database open go on with what is there now. For a person."
    )
    command.add_argument("file", metavar="FILE", help="the backup, which stays as it is")


def _restore(options: argparse.Namespace) -> int:
    from tui_tasks import clock
    from tui_tasks.core.errors import Forbidden
    from tui_tasks.core.maintenance.restoring import restore

    if options.read_only:
        raise Forbidden("nothing is restored with --read-only")
    if _is_inside_run(options):
        raise Forbidden("only the human restores a backup, never a run of a job")
    database = paths.database(options.db)
    done = restore(database, Path(options.file), clock.now())
    print(f"{database}: as in {options.file}, up to entry {done.newest:,}")
    if done.aside is not None:
        print(f"what was there is kept as {done.aside}")
    return 0


def _is_inside_run(options: argparse.Namespace) -> bool:
    """Return whether this process is in a run of a job; if the database is unreadable, by the environment alone."""
    from tui_tasks.core.errors import DatabaseRefused, StorageFailed
    from tui_tasks.runner.process.run_context import inside_run, is_marked

    options.read_only = True
    try:
        with open_store(options) as store:
            return inside_run(os.environ, store.db)
    except (DatabaseRefused, StorageFailed):
        return is_marked(os.environ)


def _declare_compact(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Drop the journal's oldest entries, so that the file grows no further. Tasks stay as they are; the dropped "
        "history, and undo of what it tells of, are gone. For a person: make a backup first. Others go on meanwhile."
    )
    command.add_argument("--before", metavar="WHEN", required=True, help="an age (90d, 12w), or a date (2026-01-31)")
    command.add_argument("--yes", action="store_true", help="do not ask")


def _compact(options: argparse.Namespace) -> int:
    from tui_tasks import clock
    from tui_tasks.core.errors import Forbidden
    from tui_tasks.core.journal import compaction, journal
    from tui_tasks.core.maintenance import compacting
    from tui_tasks.runner.process.run_context import inside_run

    if options.read_only:
        raise Forbidden("nothing is dropped with --read-only")
    now = clock.now()
    before = compaction.instant(options.before, now)
    with open_store(options) as store:
        if inside_run(os.environ, store.db):
            raise Forbidden("only the human drops entries of the journal, never a run of a job")
        count = compaction.older_than(store.db, before, now)
        if count > 0 and not options.yes and not _agreed(count):
            print("nothing was dropped")
            return REFUSED
        count = compacting.compact(store, before, now)
        print(f"dropped {count:,} entries; the journal begins at {journal.oldest(store.db):,}")
    return 0


def _agreed(count: int) -> bool:
    """Ask whether to drop so many entries.

    Raises:
        InvalidArgument: standard input is no terminal.
    """
    from tui_tasks.core.errors import InvalidArgument

    if not sys.stdin.isatty():
        raise InvalidArgument("yes", "nobody can be asked here: say --yes")
    question = f"{count:,} entries are dropped: history, and undo of what they tell of, end there. Drop them? [y/N] "
    return input(question).strip().lower() in ("y", "yes")


def _config(options: argparse.Namespace) -> int:
    from tui_tasks.settings import config

    path = paths.configuration()
    settings, problems = config.load(path)
    print(config.describe(path, settings))
    found: list[object] = [*problems]
    if settings.keys or (path.parent / "themes").is_dir():
        # Actions and themes are defined by the screen.
        from tui_tasks.tui.keys import keymap
        from tui_tasks.tui.themes import theme_files

        found += [*keymap.problems(path, settings.keys), *theme_files.load(path.parent / "themes")[1]]
    for problem in found:
        print(f"tui-tasks: {problem}", file=sys.stderr)
    return REFUSED if found else 0


_DECLARE: Final[dict[str, Callable[[argparse.ArgumentParser], None]]] = {
    "doctor": _declare_doctor,
    "backup": _declare_backup,
    "restore": _declare_restore,
    "compact": _declare_compact,
}
_RUN: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "doctor": _doctor,
    "backup": _backup,
    "restore": _restore,
    "compact": _compact,
    "config": _config,
}
