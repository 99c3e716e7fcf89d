"""The App: composes the panes and passes on what changed. What the panes show and do is theirs."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import Any, ClassVar, Self

from textual import events, messages
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.css.query import NoMatches
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from tui_tasks.core.engine.storage_errors import READ_ERRORS
from tui_tasks.core.errors import Refusal
from tui_tasks.core.read import overview, views
from tui_tasks.core.read.tasks.pages import TaskLine
from tui_tasks.core.snapshots import TaskList
from tui_tasks.settings.config import Config
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import SECOND
from tui_tasks.tui.app import panes
from tui_tasks.tui.app.actions import ACTIONS, Action, Actor, bindings
from tui_tasks.tui.app.app_state import AppState
from tui_tasks.tui.app.context import Context
from tui_tasks.tui.app.database_link import Changes, DatabaseLink
from tui_tasks.tui.app.focus_tracking import FocusTracking
from tui_tasks.tui.app.global_actions import AppActions
from tui_tasks.tui.app.key_queue import KeyQueue
from tui_tasks.tui.app.keymap import Keymap
from tui_tasks.tui.app.local_clock import LocalClock
from tui_tasks.tui.app.navigation import Navigation
from tui_tasks.tui.app.theme_manager import ThemeManager
from tui_tasks.tui.app.unreadable_database import UnreadableDatabase
from tui_tasks.tui.themes import theme_files
from tui_tasks.tui.widgets import breakpoints
from tui_tasks.tui.widgets.ascii_filter import AsciiFilter
from tui_tasks.tui.widgets.frame import FootLine, NowLine, TopLine
from tui_tasks.tui.widgets.overlay import Overlay
from tui_tasks.tui.widgets.painting import NoRelayout
from tui_tasks.tui.widgets.pane import TransparentContainer
from tui_tasks.tui.widgets.textual_overrides import CellsCompositor


class Changed(Message):
    """Something was written."""


class MainScreen(Screen[Any], NoRelayout):
    """The screen under all others. What the focus makes different its widgets have painted, and not all of it."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._compositor = CellsCompositor()

    @classmethod
    def of_size(cls, size: Size, *stops: list[tuple[int, str]] | None) -> MainScreen:
        """With the classes of its width and height from the first: it is laid out once, and not again for them."""
        reached = (
            max(stop for stop in each or () if stop[0] <= cells) for cells, each in zip(size, stops, strict=True)
        )
        return cls(classes=" ".join(name for _, name in reached))

    # Until it is laid out for the first time, and painted whole: what is asked for meanwhile would be done again.
    _is_opening = True

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Come to the front; the first time it is laid out and painted here."""
        event.prevent_default()
        super()._on_screen_resume(event)
        self._is_opening = False

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """As `Screen.refresh`, once it is open."""
        if self._is_opening:
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def post_message(self, message: Message) -> bool:
        """As `Screen.post_message`, but for what widgets ask for before it is open."""
        if self._is_opening and isinstance(message, (messages.Layout, messages.Update)):
            return False
        return super().post_message(message)


class TaskApp(AppActions, Navigation, ThemeManager, FocusTracking, KeyQueue, UnreadableDatabase):
    """The screen of one database, for the thread that made the bridge to it, which it closes.

    `settings` is the file that a choice is kept in; `user_themes` the folder of the human's own themes.
    `zone` is where times of day are told, None: where the system is;
    `problems` are told to the human at the start; `painted` is called once the first screen is.
    """

    CSS_PATH = "app.tcss"
    TITLE = "tui-tasks"
    ENABLE_COMMAND_PALETTE = False
    # A key that is typed ahead goes to the rows, not into the filter, which stands before them.
    AUTO_FOCUS = "VirtualList, CardArea"
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = breakpoints.HORIZONTAL
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = breakpoints.VERTICAL
    SCOPES = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*SCOPES)]
    TABS: ClassVar[dict[str, str]] = {"list": "List", "board": "Board", "log": "Log", "schedule": "Schedule"}

    _letters: tuple[LineFilter, ...] = ()

    def __init__(
        self,
        bridge: DatabaseLink,
        *,
        config: Config | None = None,
        user_themes: Path | None = None,
        settings: Path | None = None,
        pane: str = "list",
        list_name: str | None = None,
        zone: tzinfo | None = None,
        problems: Sequence[object] = (),
        painted: Callable[[], None] = lambda: None,
    ) -> None:
        no_color = "NO_COLOR" in os.environ
        super().__init__(ansi_color=True if no_color else None)
        self.config = config or Config()
        self.clock = LocalClock(bridge.clock, zone)
        self.ascii_only = self.config.ascii
        if self.ascii_only:
            self._letters = (AsciiFilter(),)
        self.bridge = bridge
        self.situation = AppState(bridge.db, self.now())
        self.situation.list_id = self.first_list(list_name)
        self.pane_name = pane
        self._pending: list[Changes] = []
        self.user_themes = user_themes
        self.settings = settings
        self.wear(theme_files.NO_COLOR if no_color else self.config.theme)
        self.keymap_ = Keymap(self.config.keys)
        self.set_keymap(self.keymap_.own)
        self.context = Context(
            link=bridge,
            state=self.situation,
            numbers=self.situation.numbers,
            clock=self.clock,
            config=self.config,
            keymap=self.keymap_,
            navigation=self,
            say=self.say,
            hint=self.hint,
            redraw_frame=self.frame_again,
            run=self.flow,
            open_in_turn=self.opening,
            do=self.do,
            push=self.push_screen,
            ask=self.push_screen_wait,
            copy=self.copy_to_clipboard,
            suspend=self.suspend,
        )
        self._problems = problems
        self._painted = painted

    def get_line_filters(self) -> Sequence[LineFilter]:
        """With `ascii`, letters for the glyphs that are left."""
        return [*super().get_line_filters(), *self._letters]

    def get_default_screen(self) -> Screen[Any]:
        """The screen under all others."""
        return MainScreen.of_size(self.size, self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS)

    def compose(self) -> ComposeResult:
        """Tabs, Now line, the pane, the footer."""
        yield TopLine(id="top")
        yield NowLine(id="now")
        with TransparentContainer(id="panes"):
            yield panes.pane(self.pane_name, self.context)
        yield FootLine(id="foot")

    def on_mount(self) -> None:
        """Listen from now on."""
        self.bridge.writing = self.tell_of_writing
        self.bridge.settle = self.on_changed
        self.bridge.told = self._hear
        self.bridge.unread_changed = self.tell_of_reading
        self.call_after_refresh(self._begin)
        for toasts in self.screen.query("ToastRack"):
            # Textual would take it off the screen after the first paint, and paint all again.
            toasts.display = False
        if self._problems:
            self.call_after_refresh(self._tell, self._problems)
        if self.theme_problems or (self.user_themes is not None and self.user_themes.is_dir()):
            self.set_timer(1, self._tell_of_themes)

    def _begin(self) -> None:
        """The first screen stands: hear what others write."""
        self.bridge.watch()
        self._painted()

    def _tell(self, problems: Sequence[object]) -> None:
        more = f"   (and {len(problems) - 1} more: tui-tasks config)" if len(problems) > 1 else ""
        told = str(problems[0])
        # Where there is not much room, what is wrong comes before where the file is.
        self.say(f"{told if self.is_wide else re.sub(r'^/.*?/(?=[^/]*:)', '', told)}{more}")

    def _tell_of_themes(self) -> None:
        self.load_themes()
        if self.theme_problems:
            self._tell([*self.theme_problems, *self._problems])

    async def on_unmount(self) -> None:
        """Remember when the human last looked, and let what was begun be written."""
        # There is nowhere left to tell of it.
        self.bridge.writing = lambda writing: None
        with contextlib.suppress(Refusal, *READ_ERRORS):
            looked = self.situation.all_seen(self.now())
            await self.bridge.remember(views.LOOKED, {"seq": looked.seq, "at": looked.at})
        self.bridge.stop()

    # What comes in

    def _hear(self, changes: Changes) -> None:
        if not self._pending:
            self.post_message(Changed())
        self._pending.append(changes)

    def on_changed(self) -> None:
        """Pass on what changed: to what all show, then to what is on screen; other panes look when they are shown."""
        changes = _joined(self._pending)
        self._pending.clear()
        if changes is None:
            return
        try:
            self._take_in(changes)
        except READ_ERRORS as error:
            # Once it can be read again, all of it is.
            self._pending.insert(0, replace(changes, all=True))
            self.bridge.cannot_read(error)

    def _take_in(self, changes: Changes) -> None:
        self.situation.take(changes)
        self.call_for(changes)
        self.follow(changes)
        for pane in self.made_panes():
            if pane is self.pane:
                pane.changed(changes)
            else:
                pane.stale = True
        for screen in self.screen_stack[1:]:
            told = getattr(screen, "changed", None)
            # One that is being made reads how things are by itself.
            if told is not None and screen.is_mounted:
                told(changes)
        self.frame_again()

    def frame_again(self) -> None:
        """Draw the lines around the pane again, where they differ."""
        for line in (TopLine, NowLine, FootLine):
            self.screen_stack[0].query_one(line).again()

    # What panes ask for

    # As long as parts reach for them here; the context has them.

    @property
    def now(self) -> Callable[[], int]:
        """The clock."""
        return self.clock.now

    @now.setter
    def now(self, now: Callable[[], int]) -> None:
        self.clock.now = now

    @property
    def zone(self) -> tzinfo | None:
        """Where times of day are told."""
        return self.clock.zone

    @property
    def is_compact(self) -> bool:
        """See `breakpoints`."""
        return breakpoints.is_compact(self.size)

    @property
    def is_wide(self) -> bool:
        """See `breakpoints`."""
        return breakpoints.is_wide(self.size)

    @property
    def current_list(self) -> TaskList | None:
        """See `AppState`."""
        return self.situation.current_list

    @property
    def list_id(self) -> int:
        """See `AppState`."""
        return self.situation.list_id

    @list_id.setter
    def list_id(self, list_id: int) -> None:
        self.situation.list_id = list_id

    def agents_here(self) -> list[str]:
        """The agents that have not gone quiet."""
        return self.situation.speaking(self.now() - self.config.quiet_after * SECOND)

    def say(self, text: str) -> None:
        """Tell the human something, in one line, for a moment. It is made safe here."""
        said = safe_line(text)
        try:
            self.screen.query_one(FootLine).say(said)
        except NoMatches:
            self.notify(said, markup=False)

    def hint(self, *hints: tuple[str, str, str]) -> None:
        """Tell of these in the footer: (key, word, id of an action or empty). None at all: the pane's own again."""
        self.screen_stack[0].query_one(FootLine).hint(*hints)

    def actors(self) -> Iterator[Actor]:
        """Who does actions now: what has the focus, what that stands in, the pane, the App."""
        seen: list[Actor] = []
        screen = next(each for each in reversed(self.screen_stack) if not each.is_modal)
        nodes = screen.focused.ancestors_with_self if screen.focused is not None else [screen]
        if not screen.is_mounted:
            # It has no parts yet that could do anything.
            nodes = []
        for node in (*nodes, *([] if isinstance(screen, Overlay) else [self.pane]), self):
            if isinstance(node, Actor) and node not in seen:
                seen.append(node)
                yield node

    def actor_of(self, action: Action) -> Actor | None:
        """Who does an action now, None where nobody offers it."""
        return next((actor for actor in self.actors() if action in actor.offers()), None)

    def do(self, id: str) -> None:
        """Do an action by its id, as its key would."""
        actor = self.actor_of(ACTIONS[id])
        if actor is not None:
            actor.action_act(id)

    def key_of(self, id: str) -> str:
        """See `Keymap`."""
        return self.keymap_.key_of(id)

    def keys_of(self, id: str) -> str:
        """See `Keymap`."""
        return self.keymap_.keys_of(id)

    def place(self, task: TaskLine) -> int:
        """See `TaskNumbers`."""
        return self.situation.numbers.number(task)

    def place_of(self, uid: str) -> int:
        """See `TaskNumbers`."""
        return self.situation.numbers.number_of(uid)

    def number_here(self, uid: str) -> int:
        """The number of a task in the list that is shown; 0 where it is not there."""
        return self.situation.numbers.number_of(uid, self.list_id)

    def uid_at(self, number: int) -> str | None:
        """The task with a number in the list that is shown."""
        return self.situation.places.at(self.list_id, number)

    def time_of(self, instant: int) -> str:
        """See `LocalClock`."""
        return self.clock.time_of(instant)

    def first_list(self, name: str | None = None) -> int:
        """The number of the list to begin with: the one of that name, else the one touched last, else any."""
        lists = self.situation.lists
        wanted = next((found.id for found in lists.values() if name in (found.name, found.uid)), None)
        touched = overview.list_touched_last(self.bridge.db)
        # An archived list is shown to whoever names it.
        shelf = [found.id for found in self.situation.shelf] or list(lists)
        return wanted or (touched if touched in shelf else None) or next(iter(shelf), 0)


def _joined(batches: list[Changes]) -> Changes | None:
    if len(batches) < 2:
        return batches[0] if batches else None
    entries = tuple(entry for batch in batches for entry in batch.entries)
    waiting = frozenset(uid for batch in batches for uid in batch.waiting)
    return Changes(batches[0].since, batches[-1].seq, entries, any(batch.all for batch in batches), waiting)
