"""The link to a database at a past moment, and the keys that leave while it is made.

It needs no Textual: the journal is replayed before the screen is made.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import termios
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import tzinfo
from functools import partial
from typing import Any, TypeVar

from typing_extensions import override

from tui_tasks.core import schema
from tui_tasks.core.engine.database import Database
from tui_tasks.core.maintenance import moments
from tui_tasks.core.maintenance.moments import Moment
from tui_tasks.core.maintenance.past_state import PastReader, PastState, Report
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.tui.state.database_link import TOLD_EVERY, DatabaseLink

T = TypeVar("T")

Step = Callable[[Database, Moment, int], Moment | None]
"""Finds the moment to go to, given the live database, the moment that is shown, and the time of day."""


class Left(Exception):
    """The human left while the journal was replayed."""


class PastLink(DatabaseLink):
    """A link to a database as it was at one moment. Its clock stands still at that moment, and it refuses writes.

    A thread owns the private database into which the past is replayed.
    """

    def __init__(
        self,
        path: str,
        at: str,
        *,
        clock: Callable[[], int],
        zone: tzinfo | None = None,
        report: Report = lambda done, total: None,
    ) -> None:
        """Open the database at `path` as it was at the moment that `at` names (`moments.parse`).

        `report` is called in another thread while the journal is replayed. What it raises ends the replay, and is
        raised here.

        Raises:
            DatabaseRefused: it cannot be used.
            InvalidArgument, Conflict: there is no such moment.
            StorageFailed: it cannot be read, or there is no room for what it was.
        """
        self._now = clock
        self._leaving = threading.Event()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="past")
        self._to_close: list[Any] = []
        self._progress = (0, 0)
        try:
            self._wait_for(lambda: self._build(path, at, zone, report))
            reader = partial(PastReader, self._past.path, self._source.path)
            super().__init__(path, read_only=True, clock=lambda: self._moment.instant, open_reader=reader)
        except BaseException:
            self._end()
            raise

    def _build(self, path: str, at: str, zone: tzinfo | None, report: Report) -> None:
        self._source = schema.opened(path, read_only=True)
        self._to_close.append(self._source)
        self._moment = moments.parse(self._source, at, self._now(), zone)
        self._past = PastState(self._source)
        self._to_close.append(self._past)
        self._past.build(self._moment.seq, self._unless_left(report))

    def _unless_left(self, report: Report) -> Report:
        def checked(done: int, total: int) -> None:
            if self._leaving.is_set():
                raise Left
            report(done, total)

        return checked

    def _wait_for(self, work: Callable[[], T]) -> T:
        """Run work in the thread, and block until it has ended."""
        return self._worker.submit(work).result()

    @property
    @override
    def name(self) -> str:
        return self._source.name

    @property
    @override
    def as_of(self) -> Moment | None:
        return self._moment

    def watch(self) -> None:
        """Do nothing: the past changes only by `move`, which announces it."""

    async def move(self, step: Step, report: Report) -> bool:
        """Move to the moment that a step leads to; return False when there is none.

        `report` is called with the progress of a replay that takes long enough to be noticed.

        Raises:
            StorageFailed: the journal cannot be read, or there is no room.
            Conflict: what was between is damaged, or was compacted away.
        """
        moving = asyncio.get_running_loop().run_in_executor(self._worker, self._move, step)
        # Where the screen is left meanwhile nobody awaits it, and asyncio would print the exception that ends it.
        moving.add_done_callback(lambda done: done.cancelled() or done.exception())
        while not (await asyncio.wait({moving}, timeout=TOLD_EVERY))[0]:
            report(*self._progress)
        has_moved = await moving
        if has_moved:
            self.seq = self._moment.seq
            # Ages differ at another moment, even of rows that have not changed.
            self.on_changes(StateChanges(self.seq, self.seq, (), all=True))
            self.on_own_commit()
        return has_moved

    def _move(self, step: Step) -> bool:
        moment = step(self._source, self._moment, self._now())
        if moment is None:
            return False
        self._progress = (0, 0)
        self._past.move_to(moment.seq, self._unless_left(self._note_progress))
        self._moment = moment
        return True

    def _note_progress(self, done: int, total: int) -> None:
        self._progress = (done, total)

    def stop(self) -> None:
        """Stop as `DatabaseLink.stop` does, and remove the private database."""
        super().stop()
        self._end()

    def _end(self) -> None:
        self._leaving.set()
        self._worker.submit(self._close)
        self._worker.shutdown(wait=True)

    def _close(self) -> None:
        while self._to_close:
            self._to_close.pop().close()


class LeavingKeys:
    """Reads Esc and `q` from the controlling terminal as long as the context exists; Ctrl+C stays an interrupt.

    Other keys are dropped, and none is shown. Without a terminal, or in its background, no key is read.
    """

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._terminal: int | None = None

    def __enter__(self) -> LeavingKeys:
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError, termios.error):
                self._terminal = stack.enter_context(_unbuffered_terminal())
            stack.enter_context(_ended_by_exception(signal.SIGTERM, signal.SIGHUP))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def check(self) -> None:
        """Read the keys that were pressed; any thread may call it.

        Raises:
            Left: one of them leaves.
        """
        if self._terminal is None or not select.select([self._terminal], [], [], 0)[0]:
            return
        with contextlib.suppress(OSError):  # the terminal is gone, which a signal reports
            pressed = os.read(self._terminal, 100)
            # If more bytes follow, Esc begins the sequence of another key.
            if b"q" in pressed or pressed.endswith(b"\x1b"):
                raise Left


@contextlib.contextmanager
def _unbuffered_terminal() -> Iterator[int]:
    """Open the controlling terminal so that each key is read at once, and not echoed."""
    terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():
            raise OSError("in the background")
        before = termios.tcgetattr(terminal)
        attributes = list(before)
        attributes[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        try:
            yield terminal
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(terminal, termios.TCSANOW, before)
    finally:
        os.close(terminal)


@contextlib.contextmanager
def _ended_by_exception(*signals: signal.Signals) -> Iterator[None]:
    """Turn signals that would end the process into SystemExit, so that the terminal is given back."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    default = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
    for number in default:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in default:
            signal.signal(number, signal.SIG_DFL)
