"""The App: composes the panes and passes on what changed. What the panes show and do is theirs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import ContentSwitcher

from tui_tasks import clock as system_clock
from tui_tasks.config import Config
from tui_tasks.core import glance, pages
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.pages import TaskLine
from tui_tasks.core.snapshots import TaskList
from tui_tasks.tui import themes
from tui_tasks.tui.actions import ACTIONS, Action, Actor, bindings, show_key
from tui_tasks.tui.bridge import Bridge, Changes
from tui_tasks.tui.format import clock as time_of_day
from tui_tasks.tui.format import safe_line
from tui_tasks.tui.now_line import FootLine, NowLine, TopLine
from tui_tasks.tui.pane import Pane
from tui_tasks.tui.panes import PANES, SCREENS
from tui_tasks.tui.situation import Situation

_log = logging.getLogger(__name__)


class Changed(Message):
    """Something was written; `changes` are taken when the message is."""


class TaskApp(Actor, App[None]):
    """The screen of one database."""

    CSS_PATH = "app.tcss"
    TITLE = "tui-tasks"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (60, "-stacked"), (100, "-wide")]
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-short"), (16, "-tall")]
    SCOPES = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    TABS: ClassVar[dict[str, str]] = {"list": "List", "board": "Board", "log": "Log", "schedule": "Schedule"}

    def __init__(
        self,
        path: str,
        *,
        read_only: bool = False,
        config: Config | None = None,
        user_themes: Path | None = None,
        pane: str = "list",
        list_name: str | None = None,
        clock: Callable[[], int] = system_clock.now,
        zone: tzinfo | None = None,
        pane_types: Mapping[str, type[Pane]] | None = None,
    ) -> None:
        """Open the database.

        Raises:
            DatabaseRefused: it cannot be used, and was left as it is.
        """
        self.config = config or Config()
        no_color = "NO_COLOR" in os.environ
        super().__init__(ansi_color=True if no_color else None)
        self.bridge = Bridge(path, read_only=read_only, clock=clock)
        self.now = clock
        self.zone = zone
        self.ascii_only = self.config.ascii
        self.situation = Situation(self.bridge.db, clock())
        self.list_id = self._first_list(list_name)
        self.pane_types = pane_types or PANES
        self.pane_name = pane
        self._pending: list[Changes] = []
        known, self.theme_problems = themes.load(user_themes)
        for theme in known.values():
            self.register_theme(theme)
        self.theme = themes.NO_COLOR if no_color else self.config.theme
        if self.config.keys:
            self.set_keymap(dict(self.config.keys))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The variables of ours, before there is a theme."""
        return themes.variable_defaults()

    def compose(self) -> ComposeResult:
        """Tabs, Now line, the pane, the footer."""
        yield TopLine(id="top")
        yield NowLine(id="now")
        with ContentSwitcher(initial=self.pane_name, id="panes"):
            yield self.pane_types[self.pane_name](id=self.pane_name)
        yield FootLine(id="foot")

    def on_mount(self) -> None:
        """Listen from now on."""
        self.bridge.start(self._hear)
        # The switcher hides what it holds before it shows the pane.
        self.call_after_refresh(self.pane.focus_target().focus)

    def on_unmount(self) -> None:
        """Let what was begun be written."""
        self.bridge.stop()

    # What comes in

    def _hear(self, changes: Changes) -> None:
        if not self._pending:
            self.post_message(Changed())
        self._pending.append(changes)

    def on_changed(self, event: Changed) -> None:
        """Pass on what changed: to what all show, then to the pane on screen; the others look when they are shown."""
        changes = _joined(self._pending)
        self._pending.clear()
        if changes is None:
            return
        self.situation.take(changes)
        for pane in self.query(Pane):
            if pane is self.pane:
                pane.changed(changes)
            else:
                pane.stale = True
        for screen in self.screen_stack[1:]:
            told = getattr(screen, "changed", None)
            if told is not None:
                told(changes)
        self.frame_again()

    def frame_again(self) -> None:
        """Draw the lines around the pane again, where they differ."""
        for line in (TopLine, NowLine, FootLine):
            self.screen_stack[0].query_one(line).again()

    # What panes ask for

    @property
    def pane(self) -> Pane:
        """The pane on screen."""
        return self.screen_stack[0].query_one(f"#{self.pane_name}", Pane)

    @property
    def current_list(self) -> TaskList | None:
        """The list that the list and the board show."""
        return self.situation.lists.get(self.list_id)

    def say(self, text: str) -> None:
        """Tell the human something, in one line, for a moment. It is made safe here."""
        said = safe_line(text)
        try:
            self.screen.query_one(FootLine).say(said)
        except Exception:
            self.notify(said, markup=False)

    def flow(self, work: Coroutine[Any, Any, None]) -> None:
        """Run an action that waits (for a write, for an answer); a refusal is told."""
        self.run_worker(self._flow(work), exit_on_error=True)

    async def _flow(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Refusal as refusal:
            self.say(refusal.message)

    def do(self, id: str) -> None:
        """Do an action by its id, as its key would: by what has the focus, or stands around it."""
        actor = self.actor_of(ACTIONS[id])
        if actor is not None:
            actor.action_act(id)

    def actor_of(self, action: Action) -> Actor | None:
        """Who does an action now: what has the focus, what it stands in, the pane, the App."""
        nodes: list[Any] = [*(self.focused.ancestors_with_self if self.focused else []), self.pane, self]
        return next((node for node in nodes if isinstance(node, Actor) and action in node.offers()), None)

    def key_of(self, id: str) -> str:
        """The key of an action as a person would write it, remapped or not."""
        return show_key(self.config.keys.get(id, ACTIONS[id].keys).split(",")[0])

    def place(self, task: TaskLine) -> int:
        """A task's number: its place in its list, counted from 1."""
        return self.situation.places.ahead(task.list_id, task.rank) + 1

    def place_of(self, uid: str) -> int:
        """The number of the task with that uid; 0 where there is none."""
        task = pages.line(self.bridge.db, uid)
        return 0 if task is None or task.deleted else self.place(task)

    def time_of_day(self, instant: int) -> str:
        """`19:58`, where the human is."""
        return time_of_day(instant, self.zone or _here())

    def show_list(self, list_id: int) -> None:
        """Let the list and the board show another list."""
        self.list_id = list_id
        for pane in self.query(Pane):
            pane.stale = True
        self._wake()

    def show_pane(self, name: str) -> None:
        """Show a pane, making it at the first time."""
        if name == self.pane_name:
            return
        self.flow(self._show_pane(name))

    async def _show_pane(self, name: str) -> None:
        switcher = self.screen_stack[0].query_one(ContentSwitcher)
        if not switcher.query(f"#{name}"):
            await switcher.mount(self.pane_types[name](id=name))
        self.pane_name = switcher.current = name
        self._wake()
        self.pane.focus_target().focus()

    def _wake(self) -> None:
        if self.pane.stale:
            self.pane.stale = False
            self.pane.refreshed()
        self.frame_again()

    def _first_list(self, name: str | None) -> int:
        lists = self.situation.lists
        wanted = next((found.id for found in lists.values() if found.name == name), None)
        return wanted or glance.list_touched_last(self.bridge.db) or next(iter(lists), 0)

    # Actions

    def do_pane_list(self) -> None:
        """Pane 1."""
        self.show_pane("list")

    def do_pane_board(self) -> None:
        """Pane 2."""
        self.show_pane("board")

    def do_pane_log(self) -> None:
        """Pane 3."""
        self.show_pane("log")

    def do_pane_schedule(self) -> None:
        """Pane 4."""
        self.show_pane("schedule")

    def do_asks(self) -> None:
        """The inbox."""
        self._open("asks")

    def do_agents(self) -> None:
        """The agents."""
        self._open("agents")

    def do_stats(self) -> None:
        """The stats."""
        self._open("stats")

    def _open(self, name: str) -> None:
        self.push_screen(SCREENS[name]())

    async def do_undo(self) -> None:
        """Take back the human's newest change."""
        await self.bridge.commit(Undo())
        self.say(f"Undone. {self.key_of('redo')} does it again.")

    async def do_redo(self) -> None:
        """Take back the newest undo."""
        await self.bridge.commit(Redo())
        self.say("Done again.")

    async def do_seen(self) -> None:
        """Nothing is new any more."""
        looked = self.situation.all_seen(self.now())
        self.pane.refreshed()
        await self.bridge.remember("looked", {"seq": looked.seq, "at": looked.at})

    def do_quit(self) -> None:
        """Leave."""
        self.exit()


def _here() -> tzinfo:
    from datetime import datetime

    found = datetime.now().astimezone().tzinfo
    assert found is not None
    return found


def _joined(batches: list[Changes]) -> Changes | None:
    if len(batches) < 2:
        return batches[0] if batches else None
    entries = tuple(entry for batch in batches for entry in batch.entries)
    return Changes(batches[0].since, batches[-1].seq, entries, all=any(batch.all for batch in batches))
