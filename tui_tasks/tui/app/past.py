"""A database at a past moment: the link that shows it and moves through time, the keys that do so, and the App."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from tui_tasks.core import agent_names, schema
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.maintenance import moments
from tui_tasks.core.maintenance.moments import Moment
from tui_tasks.core.maintenance.past_state import PastReader, PastState, Report
from tui_tasks.core.read.pages import log_pages
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.app.app import TaskApp
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.log.log_text import names_task, text_of, who_of
from tui_tasks.tui.state.database_link import TOLD_EVERY, DatabaseLink, StateChanges

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class PastActions(Controller):
    """Moves through time. Each action shows the last change in the state that it moves to."""

    def __init__(self, context: Context, link: PastLink) -> None:
        self._context = context
        self._link = link

    async def do_past_change_back(self) -> None:
        """Show the state before the last change."""
        await self._move(lambda db, moment, now: moments.by_change(db, moment, back=True), "earlier")

    async def do_past_change_on(self) -> None:
        """Show the state after the next change."""
        await self._move(lambda db, moment, now: moments.by_change(db, moment, back=False), "later")

    async def do_past_hour_back(self) -> None:
        """Show the state an hour before."""
        await self._move(lambda db, moment, now: moments.by_hour(db, moment, now, back=True), "earlier")

    async def do_past_hour_on(self) -> None:
        """Show the state an hour later."""
        await self._move(lambda db, moment, now: moments.by_hour(db, moment, now, back=False), "later")

    async def _move(self, step: Step, direction: str) -> None:
        if await self._link.move(step, self._say_progress):
            self._context.say(self._last_change())
        else:
            self._context.say(f"The journal has nothing {direction}.")

    def _say_progress(self, done: int, total: int) -> None:
        if total:
            self._context.say(f"Replaying the journal: {done:,} of {total:,} entries")

    def _last_change(self) -> str:
        """Return the last change in the shown state, in one line."""
        db, clock = self._context.db, self._context.clock
        newest = journal.newest(db)
        if not newest:
            return "Here the journal begins."
        entry = journal.entry(db, newest)
        line = log_pages.find(db, [newest]).get(newest)
        before = moments.previous_change(db, newest) or 0
        more = f"  (and {count(newest - before - 1, 'more', 'more')})" if newest - before > 1 else ""
        if line is None:
            # Entries that the log does not show are internal to the scheduler.
            return f"{clock.time_of(entry.at)}  {agent_names.shown(entry.actor)}  {entry.kind}{more}"
        name = f"{safe_line(line.name or '', 40)}: " if names_task(line) else ""
        return f"{clock.time_of(entry.at)}  {who_of(line)}  {line.word}  {name}{text_of(line)}{more}"


T = TypeVar("T")

Step = Callable[[Database, Moment, int], Moment | None]
"""Finds the moment to go to, given the live database, the moment that is shown, and the time of day."""


class _Left(Exception):
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
                raise _Left
            report(done, total)

        return checked

    def _wait_for(self, work: Callable[[], T]) -> T:
        """Run work in the thread, and block until it has ended."""
        return self._worker.submit(work).result()

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


def past_app(link: PastLink, **options: Any) -> TaskApp:
    """Return the App for a database at a past moment, with keys that move backward and forward in time."""
    app = TaskApp(link, **options)
    app.controllers = (*app.controllers, PastActions(app.context, link))
    return app
