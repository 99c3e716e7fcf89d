"""`tui-tasks ls --json`: every task, for programs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import IO, Final

from tui_tasks.cli.streams import ProgressBar
from tui_tasks.core import schema
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.read.tasks import task_json_sql
from tui_tasks.installation import is_replica
from tui_tasks.text.safe import readable

# So many characters are held in memory; what is longer goes into a temporary file.
MEMORY_CHARS: Final = 8 << 20


def print_tasks(
    database: str, handle: str | None, statuses: Collection[str], project: str | None = None, *, read_only: bool
) -> None:
    """Print the tasks of one list, or of all (of a project), as one JSON array (docs: protocol, section 7).

    Raises:
        DatabaseRefused: the database cannot be used.
        NotFound: there is no such list.
        StorageFailed: the database cannot be read.
    """
    if is_replica(database):
        from tui_tasks.state import open_store

        with ProgressBar() as progress:
            open_store.catch_up(database, progress.show)
    with contextlib.closing(schema.opened(database, read_only=read_only)) as db:
        if not read_only and db.scalar("SELECT EXISTS (SELECT 1 FROM check_run WHERE state = 'passed')"):
            _look_at_checks(database)
        if not read_only and _has_lapsed(db):
            _release_lapsed(database)
        if not read_only and db.scalar("SELECT EXISTS (SELECT 1 FROM unfinished_change)"):
            _undo_left_changes(database)
        with contextlib.closing(task_json_sql.tasks(db, handle, statuses, project)) as rows:
            texts = _read_all(rows)
    print("[", end="")
    for at, text in enumerate(texts):
        print(", " if at else "", readable(text), sep="", end="")
    print("]")


def _read_all(texts: Iterator[str]) -> Iterable[str]:
    """Read all texts before the first is printed, so that the read transaction is short: printing may take long."""
    held, size = [], 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size > MEMORY_CHARS:
            return _through_file(chain(held, texts))
    return held


def _through_file(texts: Iterable[str]) -> Iterator[str]:
    try:
        file = _temporary_file()
        # Each text is JSON on one line, so a line break separates them.
        file.writelines(f"{text}\n" for text in texts)
        file.seek(0)
    except OSError as error:
        message = f"the list is too long for memory and cannot be put on disk: {error.strerror}; name one with --list"
        raise StorageFailed(message, retryable=True) from error
    return (line[:-1] for line in file)


def _temporary_file() -> IO[str]:
    import tempfile  # imported here, as hardly any list is so long

    return tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")


def _has_lapsed(db: Database) -> bool:
    """Return whether the lease of a claim has ended."""
    if not db.scalar("SELECT EXISTS (SELECT 1 FROM claim WHERE state = 'active')"):
        return False
    from tui_tasks import clock
    from tui_tasks.core.commit.database_clock import DatabaseClock, next_lapse

    lapse = next_lapse(db)
    return lapse is not None and lapse <= DatabaseClock(clock.uptime).look(db, clock.now())


def _release_lapsed(database: str) -> None:
    from tui_tasks import clock
    from tui_tasks.core.commit.database_clock import DatabaseClock
    from tui_tasks.core.store import Store, release_lapsed

    with contextlib.suppress(StorageFailed), Store(database) as store:
        store.database_clock = DatabaseClock(clock.uptime)
        release_lapsed(store, store.database_clock, clock.now())


def _undo_left_changes(database: str) -> None:
    from tui_tasks.core.store import Store
    from tui_tasks.state import open_store

    with Store(database) as store:
        open_store.undo_left_changes(store)


def _look_at_checks(database: str) -> None:
    """Mark passed checks as stale if their input files have changed since."""
    from tui_tasks import clock
    from tui_tasks.core.store import Store
    from tui_tasks.runner.run_marks import inside_run
    from tui_tasks.state.open_store import check_keeper

    with contextlib.suppress(StorageFailed), Store(database) as store:
        check_keeper(is_in_run=inside_run(os.environ, store.db)).look(store, clock.now())
