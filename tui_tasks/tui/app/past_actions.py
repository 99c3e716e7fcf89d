"""Moving through time on the screen of a past moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.core.commit import journal
from tui_tasks.core.maintenance import moments
from tui_tasks.core.read.pages import log_pages
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.log.log_text import names_task, text_of, who_of
from tui_tasks.tui.state.past_link import PastLink, Step

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context


class PastActions(Controller):
    """Moves through time. Each action shows the last change in the state that it moves to."""

    def __init__(self, context: Context) -> None:
        assert isinstance(context.link, PastLink)
        self._context = context
        self._link = context.link

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
            return f"{clock.time_of(entry.at)}  a step that the log leaves out{more}"
        name = f"{safe_line(line.name or '', 40)}: " if names_task(line) else ""
        text = text_of(line, ascii_only=self._context.ascii_only)
        return f"{clock.time_of(entry.at)}  {who_of(line)}  {line.word}  {name}{text}{more}"
