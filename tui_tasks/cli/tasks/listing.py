"""`tui-tasks ls --json`: every task, for programs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection

from tui_tasks.core.read.tasks import json_export
from tui_tasks.core.schema import migrations
from tui_tasks.text.json_text import readable


def print_json(database: str, handle: str | None, statuses: Collection[str], *, read_only: bool) -> None:
    """Print the tasks of one list, or of all, as one JSON array (docs: protocol, section 7).

    Raises:
        DatabaseRefused: the database cannot be used.
        NotFound: there is no such list.
        StorageFailed: the database cannot be read.
    """
    with contextlib.closing(migrations.opened(database, read_only=read_only)) as db:
        if not read_only and db.scalar("SELECT EXISTS (SELECT 1 FROM check_run WHERE state = 'passed')"):
            _look_at_checks(database)
        texts = json_export.tasks(db, handle, statuses)
    print("[", end="")
    for at, text in enumerate(texts):
        print(", " if at else "", readable(text), sep="", end="")
    print("]")


def _look_at_checks(database: str) -> None:
    """Let what is told to have passed be true of the files as they are; nearly nobody has checks."""
    from tui_tasks import clock
    from tui_tasks.core.errors import StorageFailed
    from tui_tasks.core.store import Store
    from tui_tasks.runner.check_keeper import CheckKeeper
    from tui_tasks.runner.run_context import inside_run
    from tui_tasks.settings.checks import CheckSettings

    with contextlib.suppress(StorageFailed), Store(database) as store:
        if not inside_run(os.environ, store.db):
            CheckKeeper(CheckSettings()).look(store, clock.now())
