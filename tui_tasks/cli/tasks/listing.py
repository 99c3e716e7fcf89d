"""`tui-tasks ls --json`: every task, for programs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import IO, Final

from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.read.tasks import json_export
from tui_tasks.core.schema import migrations
from tui_tasks.text.json_text import readable

# Characters that are held before they are printed.
IN_MEMORY: Final = 8 << 20


def print_json(
    database: str, handle: str | None, statuses: Collection[str], project: str | None = None, *, read_only: bool
) -> None:
    """Print the tasks of one list, or of all (of a project), as one JSON array (docs: protocol, section 7).

    Raises:
        DatabaseRefused: the database cannot be used.
        NotFound: there is no such list.
        StorageFailed: the database cannot be read.
    """
    with contextlib.closing(migrations.opened(database, read_only=read_only)) as db:
        if not read_only and db.scalar("SELECT EXISTS (SELECT 1 FROM check_run WHERE state = 'passed')"):
            _look_at_checks(database)
        with contextlib.closing(json_export.tasks(db, handle, statuses, project)) as told:
            texts = _held(told)
    print("[", end="")
    for at, text in enumerate(texts):
        print(", " if at else "", readable(text), sep="", end="")
    print("]")


def _held(texts: Iterator[str]) -> Iterable[str]:
    """All texts, so that the read transaction ends before they are printed, which may take long: the long in a file."""
    held, size = [], 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size > IN_MEMORY:
            return _in_file(chain(held, texts))
    return held


def _in_file(texts: Iterable[str]) -> Iterator[str]:
    try:
        file = _nameless_file()
        # JSON on one line has no line end within it.
        file.writelines(f"{text}\n" for text in texts)
        file.seek(0)
    except OSError as error:
        told = f"the list is too long for memory and cannot be put on disk: {error.strerror}; name one with --list"
        raise StorageFailed(told, retryable=True) from error
    return (line[:-1] for line in file)


def _nameless_file() -> IO[str]:
    import tempfile  # only now: nearly no list is so long

    return tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")


def _look_at_checks(database: str) -> None:
    """Let what is told to have passed be true of the files as they are; nearly nobody has checks."""
    from tui_tasks import clock
    from tui_tasks.core.store import Store
    from tui_tasks.runner.checks.check_keeper import CheckKeeper
    from tui_tasks.runner.process.run_context import inside_run
    from tui_tasks.settings.checks import CheckSettings

    with contextlib.suppress(StorageFailed), Store(database) as store:
        if not inside_run(os.environ, store.db):
            CheckKeeper(CheckSettings()).look(store, clock.now())
