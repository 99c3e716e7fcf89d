"""Opens the store of a database and makes sessions over it, for every front end.

Modules are imported when they are needed, as short commands start through here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tui_tasks.installation import is_replica

if TYPE_CHECKING:
    from tui_tasks.channel.session import Session
    from tui_tasks.core.agent_snapshots import Process
    from tui_tasks.core.engine.database import Database
    from tui_tasks.core.rules.recorded_settings import ReviewPolicy
    from tui_tasks.core.store import Store
    from tui_tasks.dialects.requests import Identity
    from tui_tasks.dialects.tool_table import Table
    from tui_tasks.postgres import Report
    from tui_tasks.runner.checks.check_keeper import CheckKeeper


@contextlib.contextmanager
def opened_store(path: str, *, read_only: bool, report: Report | None = None) -> Iterator[Store]:
    """Open the store of a database while the block runs, after reading what agents' hooks left beside it.

    `report`: takes the progress where a replica is built first.

    Raises:
        DatabaseRefused: it cannot be used.
        StorageFailed: it cannot be read.
    """
    from tui_tasks.core.engine.driver import storage_errors
    from tui_tasks.core.store import Store

    catch_up(path, report)
    with (
        Store(path, read_only=read_only) as store,
        # A failed write raises its own error.
        storage_errors(store.path, reading=True),
    ):
        store.review, store.is_person = _review, _is_person
        store.db.has_ended = partial(_has_ended, store.db.machine)
        # On a server that is for processes that stay: a short command waits for no server.
        if not is_replica(path):
            read_payloads(store)
        if not read_only:
            undo_left_changes(store)
        yield store


def catch_up(path: str, report: Report | None = None) -> None:
    """Bring a replica up to date, or say how old it is if its server does not answer at once; no other file has one.

    Raises:
        DatabaseRefused: it cannot be used.
        StorageFailed: it was never as new as its server, which does not answer.
    """
    if is_replica(path):
        from tui_tasks.postgres import no_report, replica_following

        if (old := replica_following.caught_up(path, report or no_report)) is not None:
            import logging

            logging.getLogger(__name__).warning("tui-tasks: %s", old)


def _review() -> ReviewPolicy:
    from tui_tasks.settings.live_settings import review_settings

    return review_settings()()


def _has_ended(machine: str, process: Process) -> bool:
    from tui_tasks.runner import processes

    return processes.has_departed(process, machine)


def _is_person(db: Database) -> bool:
    from tui_tasks.state import callers

    return callers.is_person(db)


def has_hooks(path: str) -> bool:
    """Return whether agents' hooks left something beside a database, or once did."""
    from tui_tasks.hooks import hooks_folder

    return os.path.isdir(f"{hooks_folder(path)}/payloads")


def read_payloads(store: Store) -> None:
    """Read what agents' hooks left beside the database, unless it is read only."""
    if store.read_only or not has_hooks(store.path):
        return
    from tui_tasks import clock
    from tui_tasks.core.errors import StorageFailed
    from tui_tasks.hooks import intake

    with contextlib.suppress(StorageFailed):  # the next process reads it
        intake.process_payloads(store, clock.now())


def undo_left_changes(store: Store) -> None:
    """Undo what killed processes of this machine left half done; a later process does what cannot be written now."""
    from tui_tasks import clock
    from tui_tasks.core.errors import StorageFailed

    with contextlib.suppress(StorageFailed):
        store.undo_left_changes(clock.now())


def session_for(identity: Identity, store: Store, table: Table, *, stays: bool) -> Session:
    """Return a session of an identity over a store; if this process is inside a job's run, the session is, too.

    `stays`: the session is for many requests, and its agent is present until it ends.
    """
    import msgspec

    from tui_tasks import clock
    from tui_tasks.channel.presence import Presence
    from tui_tasks.channel.session import Session
    from tui_tasks.runner.run_marks import inside_run

    if stays:
        from tui_tasks.settings.live_settings import review_settings

        store.review = review_settings()
    else:
        store.review = _review
    identity = msgspec.structs.replace(identity, inside_run=inside_run(os.environ, store.db))
    session = Session(
        store, table, identity, clock.now, presence=Presence(store, stays=stays, project=identity.project)
    )
    if stays and is_replica(store.path):
        store.db.follow()
    if not identity.read_only and (stays or _may_have_checks(store.db)):
        session.checks = check_keeper(is_in_run=identity.inside_run)
    return session


def _may_have_checks(db: Database) -> bool:
    """Return whether a database has checks, or there is a settings file, which may have some."""
    from tui_tasks.core.errors import DatabaseRefused
    from tui_tasks.settings.paths import configuration_path

    with contextlib.suppress(DatabaseRefused):
        if os.path.exists(configuration_path()):
            return True
    return bool(db.scalar("SELECT EXISTS (SELECT 1 FROM check_definition)"))


def check_keeper(*, is_in_run: bool) -> CheckKeeper:
    """Return what keeps the state of checks up to date from a process that hosts no scheduler."""
    from tui_tasks.runner.checks.check_keeper import Authority, CheckKeeper
    from tui_tasks.settings.live_settings import check_profiles

    return CheckKeeper(check_profiles(), authority=Authority.LOOKS if is_in_run else Authority.ADDS)
