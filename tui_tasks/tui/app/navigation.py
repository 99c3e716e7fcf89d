"""The main screen, and what it shows: the pane, the list, and a task wherever it is.

The main screen lies below all others. `ActionLookup` finds what performs an action now.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NamedTuple

from textual.app import App
from textual.reactive import Reactive
from textual.widget import Widget
from typing_extensions import override

from tui_tasks.core.commit import journal
from tui_tasks.core.read import overview
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.pages import list_pages
from tui_tasks.dialects.requests.filter_syntax import quoted
from tui_tasks.tui.app.frame import Frame
from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import Actor
from tui_tasks.tui.state.app_state import AppState
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.database_link import DatabaseLink
from tui_tasks.tui.tasks.task_pane import TaskPane
from tui_tasks.tui.widgets.needs_lines import NeedsLines
from tui_tasks.tui.widgets.screen_bases import Overlay, Pane
from tui_tasks.tui.widgets.textual_overrides import CellsScreen, NoRelayout


class MainScreen(CellsScreen[Any], NoRelayout):
    """Paints nothing itself when the focus moves: its widgets paint what differs."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    @override
    def set_focus(self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False) -> None:
        """Leave out a part of a hidden pane, whose message may come late: keys go to what is on screen."""
        parts = widget.ancestors_with_self if widget is not None else ()
        if all(part.display for part in parts if isinstance(part, Widget)):
            super().set_focus(widget, scroll_visible, from_app_focus)

    def on_screen_resume(self) -> None:
        """Let the lines of what needs the human take the room they need, after a screen over the panes."""
        if not self._is_opening:
            for line in self.walk_children(NeedsLines):
                line.free()


class _Place(NamedTuple):
    """Where the human is: the pane, the list and the row under the cursor."""

    pane: str
    list_id: int
    row: str | None


class Navigation:
    """Shows panes and lists. A hidden pane is marked as stale, and reads when it is shown."""

    def __init__(
        self,
        app: App[Any],
        link: DatabaseLink,
        state: AppState,
        frame: Frame,
        *,
        pane_name: str,
        make_pane: Callable[[str], Pane],
        open_in_turn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """`app` is used for its screens."""
        self.pane_name = pane_name
        self._app = app
        self._link = link
        self._state = state
        self._frame = frame
        self._make_pane = make_pane
        self._open_in_turn = open_in_turn
        # The list or the board, whichever was shown last, and the task under its cursor then.
        self._of_tasks: TaskPane | None = None
        self._selected: str | None = None
        # The list to which Back leads from the task that was gone to last.
        self._came_from = 0

    @property
    def pane(self) -> Pane:
        """The pane on screen."""
        return self._app.screen_stack[0].query_one(f"#{self.pane_name}", Pane)

    @property
    def task_pane(self) -> TaskPane | None:
        """The pane on screen where it is one of tasks."""
        pane = self.pane
        return pane if isinstance(pane, TaskPane) else None

    @property
    def screen_name(self) -> str:
        """The name of the screen over the panes; empty without one."""
        over = self._app.screen
        return over.NAME if isinstance(over, Overlay) else ""

    def _overlays(self) -> list[Overlay]:
        return [screen for screen in self._app.screen_stack if isinstance(screen, Overlay)]

    @property
    def shows_list(self) -> bool:
        """Whether a list is on screen: a pane with its tasks, or a screen that is about it; dialogs do not count."""
        over = self._overlays()
        return over[-1].OF_LIST if over else self.task_pane is not None

    def may_be_done_here(self, change: int) -> bool:
        """Return whether a change may have been made where the human is: what the pane shows was changed, or the screen
        over the panes was there already.
        """
        if over := self._overlays():
            return change > over[-1].opened_at
        return all(self.pane.shows(part.kind) for part in journal.each_of_change(self._link.db, change))

    def made_panes(self) -> list[Pane]:
        """The panes that have been made."""
        return list(self._app.screen_stack[0].walk_children(Pane))

    # Lists

    def first_list(self, name: str | None = None) -> int:
        """Return the number of the list to start with: that of the uid or name, else the one that the human saw last,
        else the one changed last, else any.

        Lists with tasks come before empty ones.
        """
        lists = self._state.lists
        named = [home for home in lists.values() if name in (home.uid, home.name)]
        wanted = next((home.id for home in sorted(named, key=lambda home: home.uid != name)), None)
        touched = overview.list_touched_last(self._link.db)
        # An archived list is shown only when it is named.
        offered = [home.id for home in sorted(self._state.project_lists, key=lambda home: not home.total)]
        if not offered and self._state.projects.chosen is None:
            offered = list(lists)
        seen = [*reversed(self._state.cursors), touched]
        has_tasks = [each for each in seen if each in offered and lists[each].total]
        return wanted or next(iter([*has_tasks, *offered]), 0)

    def show_list(self, list_id: int) -> None:
        """Show another list in list and board."""
        self._link.check()
        self._frame.free_rows()
        if (tasks := self.task_pane) is not None and (cursor := tasks.target()) is not None:
            self._state.cursors[self._state.list_id] = cursor
        self._state.list_id = list_id
        self.outdate_panes()
        self._refresh_pane()
        for screen in self._overlays():
            screen.list_turned()

    def all_seen(self) -> None:
        """Draw what is shown without the marks of what was new; a task of which a failure was dismissed can start."""
        self._state.read_next()
        self.pane.refreshed()
        for screen in self._overlays():
            screen.all_seen()
        self._frame.free_rows()

    def outdate_panes(self) -> None:
        """Make all panes read again when they are shown."""
        for pane in self.made_panes():
            pane.stale = True

    def show_project(self) -> bool:
        """Show a list of the chosen project, unless one is shown; return False when it has none: no list is shown."""
        here = self._state.current_list
        if here is None or not self._state.projects.has(here.project):
            self.show_list(self.first_list())
        self.refresh_all()
        return self._state.current_list is not None

    def refresh_all(self) -> None:
        """Reread all panes and screens after the choice of projects has changed."""
        self._state.read_next()
        self.outdate_panes()
        self._refresh_pane()
        seq = self._link.seq
        for screen in self._overlays():
            if screen.is_mounted:
                screen.changed(StateChanges(seq, seq, (), all=True))

    def follow(self, changes: StateChanges) -> None:
        """Leave an empty list for the one in which the first tasks are added, or a list that is gone."""
        here = self._state.current_list
        if here is None and (changes.all or changes.touches("list")):
            self.show_list(self.first_list())
            return
        if (here is None or not here.total) and not self.pane.is_busy:
            created = [entry.list_id for entry in changes.entries if entry.kind == "task.created"]
            numbers = [self.first_list()] if changes.all else created
            # The list of a task may be gone again.
            home = next((self._state.lists[number] for number in numbers if number in self._state.lists), None)
            if home is not None and home.total and self._state.projects.has(home.project):
                self.show_list(home.id)

    # Panes

    def show_pane(self, name: str) -> None:
        """Show a pane; make it the first time. The one that is shown goes back to its rows."""
        self.close_overlays()
        tasks = self.task_pane
        if name == self.pane_name and tasks is not None and tasks.is_inside:
            tasks.left()
            tasks.uncover()
            self._app.screen_stack[0].set_focus(tasks.focus_target())
        self._open_in_turn(self._show_pane(name))

    def open_list(self, list_id: int) -> None:
        """Leave the screen above the panes for a list, in the list or on the board."""
        self.close_overlays()
        if self.task_pane is None:
            self.show_pane("list")
        self.show_list(list_id)

    def filter_by(self, text: str) -> None:
        """Show the matches of a saved filter in the list."""
        self.close_overlays()
        self._open_in_turn(self._filter_pane("list", text))

    def show_log(self, who: str, back: Callable[[], Overlay]) -> None:
        """Show the log of one agent only, from which Back leads to the screen that `back` makes."""
        before = self._here
        self.close_overlays()
        self._open_in_turn(self._filter_pane("log", f"agent:{quoted(who)}"))
        self._open_in_turn(self._lay_way_back(before, back))

    def show_entry(self, seq: int, back: Callable[[], Overlay]) -> None:
        """Show one entry of the journal in the log, from which Back leads to the screen that `back` makes."""
        before = self._here
        self.close_overlays()
        self._open_in_turn(self._show_entry(seq))
        self._open_in_turn(self._lay_way_back(before, back))

    @property
    def list_to_return_to(self) -> int:
        """The number of the list to which Back leads after the next `go_to`, if that goes to a task of another list."""
        tasks = self.task_pane
        return (self._came_from if tasks is not None and tasks.has_way_back else 0) or self._state.list_id

    def go_to(self, uid: str) -> None:
        """Show a task in the list, wherever it is; Back leads to the list that was shown before."""
        self._open_in_turn(self._go_to(uid))

    def open_task(self, uid: str, back: Callable[[], Overlay]) -> None:
        """Show a task in full, from which Back leads to the screen that `back` makes."""
        before = self._here
        self.close_overlays()
        self._open_in_turn(self._open_task(uid, before, back))

    def show_job(self, name: str) -> None:
        """Show a job in the schedule, by its name."""
        self._open_in_turn(self._show_job(name))

    def show_need(self, context: Context, key: str) -> None:
        """Show a question, or another row, in the inbox by its key."""
        from tui_tasks.tui.inbox.inbox_screen import Inbox

        self._link.check()
        self.close_overlays()
        self._app.push_screen(Inbox(context, key))

    def close_overlays(self) -> None:
        """Return to the pane."""
        while isinstance(self._app.screen, Overlay):
            self._app.screen.left()
            self._app.pop_screen()

    async def _go_to(self, uid: str) -> None:
        task = list_pages.line(self._link.db, uid)
        if task is None or task.deleted:
            self._frame.say("That task is gone.")
            return
        came_from = self.list_to_return_to
        if self.task_pane is None:
            await self._show_pane("list")
        if task.list_id != self._state.list_id:
            self.show_list(task.list_id)
        self.pane.go_to(uid)
        self._came_from = came_from if came_from != task.list_id else 0
        if self._came_from:
            self.pane.lay_way_back(lambda: self._show_again(came_from))

    def _show_again(self, list_id: int) -> None:
        if list_id in self._state.lists:
            self.show_list(list_id)

    @property
    def _here(self) -> _Place:
        return _Place(self.pane_name, self._state.list_id, self.pane.target())

    async def _open_task(self, uid: str, before: _Place, back: Callable[[], Overlay]) -> None:
        await self._go_to(uid)
        if (tasks := self.task_pane) is not None and tasks.target() == uid:
            tasks.show_in_full()
            await self._lay_way_back(before, back)

    async def _show_job(self, name: str) -> None:
        from tui_tasks.core.read import job_queries

        await self._show_pane("schedule")
        job = job_queries.job_named(self._link.db, name)
        if job is not None:
            self.pane.go_to(job.uid)

    async def _show_entry(self, seq: int) -> None:
        from tui_tasks.tui.log.log_pane import LogPane

        await self._show_pane("log")
        self._app.screen_stack[0].query_one(LogPane).show_entry(seq)

    async def _lay_way_back(self, before: _Place, make: Callable[[], Overlay]) -> None:
        self._came_from = 0
        self.pane.lay_way_back(lambda: self._open_in_turn(self._go_back(before, make)))
        self._frame.redraw()

    async def _go_back(self, before: _Place, make: Callable[[], Overlay]) -> None:
        await self._show_pane(before.pane)
        if before.list_id != self._state.list_id:
            self._show_again(before.list_id)
        if before.row is not None:
            self.pane.select(before.row)
        self._app.push_screen(make())

    async def _filter_pane(self, name: str, text: str) -> None:
        await self._show_pane(name)
        self.pane.filter_by(text)

    async def _show_pane(self, name: str) -> None:
        if name == self.pane_name:
            return
        held = self._app.screen_stack[0].query_one("#panes")
        if all(made.id != name for made in held.children):
            self._link.check()
            made = self._make_pane(name)
            made.display = False
            await held.mount(made)
        self._frame.free_rows()
        self.pane.left()
        if (tasks := self.task_pane) is not None:
            self._of_tasks, self._selected = tasks, tasks.target()
        with self._app.batch_update():
            self.pane.display = False
            self.pane_name = name
            self.pane.display = True
        self._refresh_pane()
        if (tasks := self.task_pane) is not None and self._of_tasks is not None:
            await tasks.take_filter(self._of_tasks)
            if self._selected is not None:
                tasks.select(self._selected)
        # At once, before the next key is handled: `Widget.focus` defers it.
        self._app.screen_stack[0].set_focus(self.pane.focus_target())

    def _refresh_pane(self) -> None:
        if self.pane.stale:
            self.pane.stale = False
            self.pane.refreshed()
        self._frame.redraw()


class ActionLookup:
    """Looks actions up from the focused widget of the App's screen."""

    def __init__(self, app: App[Any], navigation: Navigation) -> None:
        self._app = app
        self._navigation = navigation

    def actors(self) -> Iterator[Actor]:
        """Yield the objects that perform actions now, nearest to the focus first."""
        seen: list[Actor] = []
        screen = next(each for each in reversed(self._app.screen_stack) if not each.is_modal)
        nodes = screen.focused.ancestors_with_self if screen.focused is not None else [screen]
        if not screen.is_mounted:
            # The screen is not composed yet.
            nodes = []
        for node in (*nodes, *([] if isinstance(screen, Overlay) else [self._navigation.pane]), self._app):
            if isinstance(node, Actor) and node not in seen:
                seen.append(node)
                yield node

    def actor_of(self, action: Action) -> Actor | None:
        """Return the object that performs an action now; None when none offers it."""
        return next((actor for actor in self.actors() if actor.does_offer(action)), None)

    def can(self, id: str) -> bool:
        """Return whether an action can be performed now."""
        action = ACTIONS[id]
        actor = self.actor_of(action)
        return actor is not None and actor.why_not(action) is None and actor.opens_input(action)

    def do(self, id: str) -> None:
        """Perform an action by its id, as its key would."""
        actor = self.actor_of(ACTIONS[id])
        if actor is not None:
            actor.action_act(id)
