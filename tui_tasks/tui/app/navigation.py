"""The App's part with what is on screen: which pane and which list, and going to a task wherever it is."""

from __future__ import annotations

from textual.app import App

from tui_tasks.core.read.tasks import pages
from tui_tasks.tui.app import panes
from tui_tasks.tui.app.actions import AppAccess
from tui_tasks.tui.app.database_link import Changes
from tui_tasks.tui.inputs.filter_syntax import quoted
from tui_tasks.tui.widgets.overlay import Overlay
from tui_tasks.tui.widgets.pane import Pane


class Navigation(AppAccess, App[None]):
    """Mixed into the App. A pane that is not on screen is only marked as stale, and looks when it is shown."""

    pane_name: str
    _selected: str | None = None
    """The task that the cursor was on in the list or on the board, whichever was shown last."""

    @property
    def pane(self) -> Pane:
        """The pane on screen."""
        return self.screen_stack[0].query_one(f"#{self.pane_name}", Pane)

    def show_list(self, list_id: int) -> None:
        """Let the list and the board show another list."""
        self.host.bridge.check()
        self.context.state.list_id = list_id
        for pane in self.made_panes():
            pane.stale = True
        self._wake()
        for screen in self.screen_stack[1:]:
            if isinstance(screen, Overlay):
                screen.list_turned()

    def follow(self, changes: Changes) -> None:
        """An empty list has nothing to look at: go where the first tasks come in, or away from one that is gone."""
        here = self.host.current_list
        if here is None and (changes.all or changes.touches("list")):
            self.show_list(self.host.first_list())
            return
        if (here is None or not here.total) and not self.pane.is_busy:
            elsewhere = next((entry.list_id for entry in changes.entries if entry.kind == "task.created"), None)
            if elsewhere is not None and self.host.situation.lists[elsewhere].total:
                self.show_list(elsewhere)

    def filter_by(self, text: str) -> None:
        """Show what a saved filter wants, in the list."""
        self.host.opening(self._filter_by(text))

    async def _filter_by(self, text: str) -> None:
        await self._show_pane("list")
        self.pane.filter_by(text)

    def go_to(self, uid: str) -> None:
        """Show a task in the list, wherever it is."""
        self.host.opening(self._go_to(uid))

    async def _go_to(self, uid: str) -> None:
        task = pages.line(self.host.bridge.db, uid)
        if task is None or task.deleted:
            self.host.say("That task is gone.")
            return
        if self.pane_name not in ("list", "board"):
            await self._show_pane("list")
        if task.list_id != self.context.state.list_id:
            self.show_list(task.list_id)
        self.pane.go_to(uid)

    def show_pane(self, name: str) -> None:
        """Show a pane, making it at the first time."""
        self.close_overlays()
        self.host.opening(self._show_pane(name))

    def show_log(self, who: str) -> None:
        """Show the log of one agent alone."""
        self.close_overlays()
        self.host.opening(self._show_log(who))

    async def _show_log(self, who: str) -> None:
        await self._show_pane("log")
        self.pane.filter_by(f"who:{quoted(who)}")

    def close_overlays(self) -> None:
        """Go back to the pane."""
        while isinstance(self.screen, Overlay):
            self.pop_screen()

    async def _show_pane(self, name: str) -> None:
        if name == self.pane_name:
            return
        held = self.screen_stack[0].query_one("#panes")
        if not held.query(f"#{name}"):
            self.host.bridge.check()
            made = panes.pane(name, self.context)
            made.display = False
            await held.mount(made)
        self.pane.left()
        if self.pane.HAS_TASKS:
            self._selected = self.pane.target()
        with self.batch_update():
            self.pane.display = False
            self.pane_name = name
            self.pane.display = True
        self._wake()
        if self.pane.HAS_TASKS and self._selected is not None:
            self.pane.select(self._selected)
        # At once, before the next key is looked at: `Widget.focus` waits its turn.
        self.screen_stack[0].set_focus(self.pane.focus_target())

    def made_panes(self) -> list[Pane]:
        """The panes that were on screen once, or are."""
        return list(self.screen_stack[0].query(Pane))

    def _wake(self) -> None:
        if self.pane.stale:
            self.pane.stale = False
            self.pane.refreshed()
        self.host.frame_again()
