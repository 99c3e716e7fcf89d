"""Opening the state: the store of a database, and a session over it. Every front end opens it here.

Modules are imported when they are needed: short commands start through here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_tasks.channel.session import Session
    from tui_tasks.core.store import Store
    from tui_tasks.dialects.base import Table
    from tui_tasks.dialects.requests.identity import Identity


@contextlib.contextmanager
def opened_store(path: str, *, read_only: bool) -> Iterator[Store]:
    """Open the store of a database, and take in what agents' hooks have left beside it.

    Raises:
        DatabaseRefused: it cannot be used.
        StorageFailed: it cannot be read.
    """
    from tui_tasks.core.engine.storage_errors import storage_errors
    from tui_tasks.core.store import Store

    with (
        Store(path, read_only=read_only) as store,
        # What writes tells of its own failures.
        storage_errors(store.path, reading=True),
    ):
        take_in_hooks(store)
        yield store


def has_hooks(path: str) -> bool:
    """Whether hooks of agents have left something beside a database, or once did."""
    from tui_tasks.hooks import folder

    return os.path.isdir(f"{folder.path_of(path)}/payloads")


def take_in_hooks(store: Store) -> None:
    """Take in what agents' hooks have left beside the database, where it may be written to."""
    if store.read_only or not has_hooks(store.path):
        return
    from tui_tasks import clock
    from tui_tasks.core.errors import StorageFailed
    from tui_tasks.hooks import intake

    with contextlib.suppress(StorageFailed):  # what is left is taken in by the next
        intake.take_in(store, clock.now())


def session_for(identity: Identity, store: Store, table: Table, *, stays: bool) -> Session:
    """Make a session over a store for the one who speaks, inside the run of a job where this process is in one.

    `stays`: it is for many requests, and whoever speaks in it is there until it ends.
    """
    import msgspec

    from tui_tasks import clock
    from tui_tasks.channel.presence import Presence
    from tui_tasks.channel.session import Session
    from tui_tasks.runner.process.run_context import inside_run
    from tui_tasks.settings.current import ReviewSettings

    store.review = ReviewSettings()
    identity = msgspec.structs.replace(identity, inside_run=inside_run(os.environ, store.db))
    session = Session(
        store, table, identity, clock.now, presence=Presence(store, stays=stays, project=identity.project)
    )
    if not identity.read_only and not identity.inside_run:
        from tui_tasks.runner.checks.check_keeper import CheckKeeper
        from tui_tasks.settings.current import CheckSettings

        session.checks = CheckKeeper(CheckSettings())
    return session
