"""What is drawn again after changes of the database: the panes and screens, the lines around them, and the messages in
these.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from textual.app import App
from textual.css.query import NoMatches
from textual.message import Message

from tui_tasks.core.engine.driver import READ_ERRORS
from tui_tasks.core.read import overview, work_queries
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.text.glyphs import bar
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.user_keys import Keymap
from tui_tasks.tui.layout import is_wide
from tui_tasks.tui.painting.text_lines import HeldLines
from tui_tasks.tui.state.database_link import Writing
from tui_tasks.tui.widgets.foot_line import FootLine, GroupLine
from tui_tasks.tui.widgets.screen_head import ChangesRule, TopLine

if TYPE_CHECKING:
    from tui_tasks.tui.app.notifier import FocusTracking
    from tui_tasks.tui.state.context import Context

LOOK: Final = 1.0
"""Seconds between two looks at the agents' processes."""
# Seconds at least between two reads of what agents do that leaves no journal entries.
_PACE: Final = 0.1


class Frame:
    """Works on the lines in the screens of the App that it is given."""

    def __init__(self, app: App[Any], *, ascii_only: bool) -> None:
        self._app = app
        self._ascii_only = ascii_only

    def redraw(self, *, has_own: bool = False) -> None:
        """Draw the lines around the pane and around the screens over it again; only what differs is painted.

        `has_own`: after a change of the human's, or to another moment, which leaves no empty lines.
        """
        before = self._needed_rows()
        for screen in self._app.screen_stack:
            for line in screen.walk_children():
                if isinstance(line, TopLine | HeldLines | GroupLine | FootLine | ChangesRule):
                    line.redraw()
        if has_own and self._needed_rows() < before:
            self.free_rows()

    def _needed_rows(self) -> int:
        return sum(line.needed for screen in self._app.screen_stack for line in screen.walk_children(HeldLines))

    def free_rows(self) -> None:
        """Give up the empty lines of the agents and below what needs the human, who changes the layout."""
        for screen in self._app.screen_stack:
            for line in screen.walk_children(HeldLines):
                line.free()

    def redraw_feet(self) -> None:
        """Draw the last line of every screen again."""
        for screen in self._app.screen_stack:
            for foot in screen.walk_children(FootLine):
                foot.redraw()

    def say(self, text: str) -> None:
        """Show the human a message of one line for a moment. It is made safe here."""
        said = safe_line(text)
        if not self._app.screen_stack:
            return  # It has ended.
        try:
            self._app.screen.query_one(FootLine).say(said)
        except NoMatches:
            self._app.notify(said, markup=False)

    def hush(self) -> None:
        """Remove all messages: the keys of each foot are shown again."""
        for screen in self._app.screen_stack:
            for foot in screen.walk_children(FootLine):
                foot.hush()

    def hint(self, *hints: tuple[str, str, str]) -> None:
        """Show each (key, word, id of an action or empty) in the footer. Without any, the pane's own again."""
        self._app.screen_stack[0].query_one(FootLine).hint(*hints)

    def say_problems(self, problems: Sequence[object]) -> None:
        """Show the first problem in the configuration, and how many more there are."""
        more = f"   (and {len(problems) - 1} more: tui-tasks config)" if len(problems) > 1 else ""
        first = str(problems[0])
        # With little room, the problem comes before the file's path.
        self.say(f"{first if is_wide(self._app.size) else re.sub(r'^/.*?/(?=[^/]*:)', '', first)}{more}")

    def say_terminals(self, used: Sequence[Mapping[str, Any]], keymap: Keymap) -> None:
        """Show what commands at terminals have just done in the human's name, and the key that undoes it."""
        if used:
            last = used[-1]
            more = f" (and {len(used) - 1} more)" if len(used) > 1 else ""
            parents = [str(parent).rpartition(" ") for parent in last["parents"]]
            names = [name.partition(":")[0] for name, _, pid in parents if pid != "1"]
            by = " in ".join(names[:2]) or "A program"
            undo = f" {keymap.key_of('undo')} undoes it." if _can_be_undone(last["command"]) else ""
            self.say(f"{by} at {last['terminal']} ran {last['command']}{more} in your name.{undo}")

    def say_writing(self, writing: Writing | None) -> None:
        """Show the progress of a long write; None: it has ended, and its caller shows the result."""
        if writing is None:
            self.say("")
        elif not writing.has_begun:
            self.say("Waiting for another process to release the database…")
        elif writing.total == 1:
            self.say(f"Writing…  {count(writing.entries, 'change')}")
        else:
            progress = bar(writing.done / writing.total, 20, ascii_only=self._ascii_only)
            self.say(f"Writing  {progress}  {writing.done:,} of {writing.total:,}")


# The commands of a person that an undo takes back, each with its actions; "": without one.
_UNDONE: Final = {
    **dict.fromkeys(("accept", "decline", "join", "release"), ("",)),
    "lists": ("new", "rename", "archive", "unarchive", "rm", "one-in-progress", "review"),
    "work": ("merge", "discard"),
}


def _can_be_undone(command: str) -> bool:
    """Return whether a command at a terminal has done something that an undo takes back."""
    _, _, words = command.partition(" ")
    name, _, action = words.partition(" ")
    return action in _UNDONE.get(name, ())


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
        if seen and (tasks := self._navigation.task_pane) is not None:
            tasks.marks_changed()
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
        from tui_tasks.runner.processes import EndedProcesses  # the first paint does not wait for it

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
        was_still, now = self._state.standing_still, self._context.clock.now()
        try:
            recounted, is_put_off = self._state.works.read_again(), self._state.seen.follow_put_off(now)
            if not self._state.read_agents(now) and not recounted and not is_put_off:
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
