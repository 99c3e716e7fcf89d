"""`tui-tasks ls --json`: every task, for programs."""

from __future__ import annotations

import contextlib
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
        texts = json_export.tasks(db, handle, statuses)
    print("[", end="")
    for at, text in enumerate(texts):
        print(", " if at else "", readable(text), sep="", end="")
    print("]")
