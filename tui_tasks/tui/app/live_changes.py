"""What follows from changes of the database: the shared state takes them, then panes and screens draw them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from msgspec.structs import replace
from textual.app import App
from textual.message import Message

from tui_tasks.core.engine.driver import READ_ERRORS
from tui_tasks.core.read import overview, work_queries
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.app.frame import Frame
from tui_tasks.tui.app.notifier import FocusTracking
from tui_tasks.tui.state.context import Context

LOOK: Final = 1.0
"""Seconds between two looks at the agents' processes."""
# Seconds at least between two reads of what agents do that leaves no journal entries.
_PACE: Final = 0.1


class Changed(Message):
    """Changes were written to the database."""


class LiveChanges:
    """Passes changes on, and what agents do that leaves no journal entries."""

    def __init__(self, app: App[Any], context: Context, frame: Frame, focus_tracking: FocusTracking) -> None:
        """`app` is used for its screens, its timers, and a message to itself."""
        self._app = app
        self._context = context
        self._link, self._state, self._navigation = context.link, context.state, context.navigation
        self._frame = frame
        self._focus_tracking = focus_tracking
        self._pending: list[StateChanges] = []
        self._is_look_due = False

    def collect(self, changes: StateChanges) -> None:
        """Note changes; the App gets one message for all that come at once."""
        if not self._pending:
            self._app.post_message(Changed())
        self._pending.append(changes)

    def pass_on(self) -> None:
        """Pass changes to the shared state, then to what is on screen; hidden panes read when they are shown."""
        pending, self._pending = self._pending, []
        if not pending or not self._app.screen_stack:  # it is closing
            return
        changes = overview.joined(pending)
        try:
            self._apply(changes)
        except READ_ERRORS as error:
            # When the database can be read again, everything is reread.
            self._pending.insert(0, replace(changes, all=True))
            self._link.cannot_read(error)

    def _apply(self, changes: StateChanges) -> None:
        now, was_new = self._context.clock.now(), set(self._state.seen.new)
        autos, was_still = self._state.autos, self._state.standing_still
        self._state.apply(changes, now)
        # An agent that is back, or has left, has not changed its task by that.
        changes = replace(changes, waiting=changes.waiting | (was_still ^ self._state.standing_still))
        self._focus_tracking.follow(changes)
        self._navigation.follow(changes)
        for pane in self._navigation.made_panes():
            if pane is self._navigation.pane:
                pane.changed(changes)
            else:
                pane.stale = True
        seen: Collection[str] = ()
        if self._link.read_only:
            seen = self._state.seen.follow_looked()
        elif len(self._app.screen_stack) == 1 and self._focus_tracking.is_watched(now):
            seen = self._state.seen.see(changes, was_new, self._navigation.pane.tasks_on_screen())
        if seen:
            self._navigation.pane.marks_changed(seen)
        for screen in self._app.screen_stack[1:]:
            changed = getattr(screen, "changed", None)
            # A screen that is being made reads the current state itself.
            if changed is not None and screen.is_mounted:
                changed(changes)
        self._frame.redraw(has_own=changes.has_own)
        if changes.touches("terminal"):
            self._frame.say_terminals(
                overview.terminals(self._link.db, changes.since, changes.seq), self._context.keymap
            )
        for uid, auto in self._state.autos.items():
            if auto.message is not None and not auto.is_on and uid in autos and autos[uid].is_on:
                name = task_queries.list_by_uid(self._link.db, uid).name
                self._frame.say(f"{safe_line(name, 40)}: {work_queries.auto_text(auto)}")

    def look_at_processes(self) -> None:
        """Look which processes of agents have ended, where no other screen records it."""
        from tui_tasks.runner.processes import EndedProcesses  # the first paint goes without

        db = self._link.db
        if not isinstance(db.has_ended, EndedProcesses):
            db.has_ended = EndedProcesses(db.machine)
            self.look_soon()
        elif db.has_ended.look():
            self.look_soon()

    def look_soon(self) -> None:
        """Read soon what agents do: something without a journal entry has changed, such as who is connected."""
        if not self._is_look_due:
            self._is_look_due = True
            self._app.set_timer(_PACE, self._look)

    def _look(self) -> None:
        self._is_look_due = False
        was_still = self._state.standing_still
        try:
            recounted = self._state.read_counts()
            if not self._state.read_agents(self._context.clock.now()) and not recounted:
                return
            if changed := (was_still ^ self._state.standing_still) | recounted:
                seq = self._link.seq
                self._navigation.pane.changed(StateChanges(seq, seq, (), waiting=changed))
            for screen in self._app.screen_stack[1:]:
                agents_changed = getattr(screen, "agents_changed", None)
                if agents_changed is not None and screen.is_mounted:
                    agents_changed()
            self._frame.redraw()
        except READ_ERRORS as error:
            self._link.cannot_read(error)
