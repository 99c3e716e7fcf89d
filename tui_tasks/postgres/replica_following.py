"""Keeps a replica as new as its server: at the start of a command, and in a thread while a process has it open."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tui_tasks import clock
from tui_tasks.core import schema
from tui_tasks.core.commit import unfinished_changes
from tui_tasks.core.errors import Busy, DatabaseRefused, Refusal, RoleRefused
from tui_tasks.postgres import Report, no_report
from tui_tasks.postgres.replica import BehindCut, Replica, as_refusals, client_class
from tui_tasks.postgres.replica_files import age_of, server_of

if TYPE_CHECKING:
    from tui_tasks.core.store import Store

READ_SECONDS: Final = 0.2
"""A short command that reads waits so long for the server."""
FOLLOWED_SECONDS: Final = 1.0
"""A replica that a process follows is new if that has heard from the server no longer ago."""
BEHIND_SECONDS: Final = 2.0
"""After so long without the server a replica counts as behind."""
_STOP_SECONDS: Final = 2.0
_log = logging.getLogger(__name__)


class ReplicaFollower:
    """A thread that applies to a replica what other machines write."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._problem = ""
        self._may_write = True
        # Opened once a process of this machine has left a change half done.
        self._undoes: Store | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="replica", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; wait for it, but not for a server that does not answer."""
        self._stopped.set()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        lock = os.open(f"{self._path}-follow", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not self._stopped.is_set():
                # The process that leads may be stopped.
                if self._is_leader(lock) or (age_of(self._path) or 0.0) > BEHIND_SECONDS:
                    self._follow(lock)
                self._stopped.wait(1.0)
        finally:
            os.close(lock)
            if self._undoes is not None:
                self._undoes.close()

    def _follow(self, lock: int) -> None:
        """Apply news until the thread is stopped, the replica cannot be used, or another process leads."""
        try:
            with contextlib.closing(_opened(self._path)) as replica:
                while not self._stopped.is_set():
                    try:
                        _catch_up(replica)
                        self._renew_lease(replica)
                        self._undo_left_changes(replica)
                        if not self._is_leader(lock):
                            return
                        replica._joined().wait_for_news(0.25)
                    except Busy:
                        self._stopped.wait(0.25)
            self._problem = ""
        except (Refusal, DatabaseRefused) as error:
            if str(error) != self._problem:
                self._problem = str(error)
                _log.warning("other machines' changes will be applied later: %s", error)

    def _renew_lease(self, replica: Replica) -> None:
        if not self._may_write:
            return
        try:
            replica.renew_lease()
        except RoleRefused as refused:  # a role that only reads
            self._may_write = False
            _log.info("the lease of this machine is not renewed: %s", refused.message)

    def _undo_left_changes(self, replica: Replica) -> None:
        """Undo what killed processes of this machine left half done, as no other process of it may write."""
        if not self._may_write or not any(each.is_of(replica.machine) for each in unfinished_changes.recorded(replica)):
            return
        if self._undoes is None:
            from tui_tasks.core.store import Store  # it opens replicas

            self._undoes = Store(self._path)
        self._undoes.undo_left_changes(clock.now())

    def _is_leader(self, lock: int) -> bool:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _is_followed(path: str) -> bool:
    """Return whether a process of this machine applies what other machines write."""
    try:
        lock = os.open(f"{path}-follow", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _opened(path: str) -> Replica:
    db = schema.opened(path)
    assert isinstance(db, Replica)
    return db


def _catch_up(replica: Replica, report: Report = no_report) -> None:
    """Bring a replica up to date; one that lacks entries that the server has dropped is built again first."""
    try:
        replica.catch_up(report)
    except BehindCut:
        if not replica.build(report):
            raise
        replica.catch_up(report)


def _begin(path: str, report: Report) -> None:
    """Make a replica of the server's newest snapshot; without one it begins empty."""
    if not Path(path).exists():
        with as_refusals(), contextlib.closing(client_class()(*server_of(path))) as client:
            client.build(path, clock.now(), report)


def caught_up(path: str, report: Report = no_report) -> str | None:
    """Bring a replica up to date within `READ_SECONDS`; return how old it is if that failed.

    One that was never up to date is built first, however long that takes; `report` takes the progress.

    Raises:
        DatabaseRefused: it cannot be opened.
        StorageFailed: it was never up to date, and its server does not answer.
    """
    age = age_of(path)
    if age is None:
        _begin(path, report)
        with contextlib.closing(_opened(path)) as replica:
            _catch_up(replica, report)
        return None
    if age < FOLLOWED_SECONDS and _is_followed(path):
        return None
    client_class()  # the server is not what its import waits for
    problems: list[Exception] = []

    def catch_up() -> None:
        try:
            with contextlib.closing(_opened(path)) as replica:
                replica.catch_up()
        except (Refusal, DatabaseRefused) as error:
            problems.append(error)

    thread = threading.Thread(target=catch_up, name="replica", daemon=True)
    thread.start()
    thread.join(READ_SECONDS)
    if not thread.is_alive() and not problems:
        return None
    if any(isinstance(problem, BehindCut) for problem in problems):
        with contextlib.closing(_opened(path)) as replica:
            _catch_up(replica, report)
        return None
    return f"as of {age:.0f} s ago: {problems[0] if problems else 'the server has not answered within 0.2 s'}"
