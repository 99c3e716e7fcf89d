"""The App: composes the panes and passes changes on. What panes show and do is up to them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import ModalScreen, Screen
from textual.scrollbar import ScrollBar
from typing_extensions import override

from tui_tasks.core.engine.driver import READ_ERRORS
from tui_tasks.core.errors import Refusal
from tui_tasks.core.unjournaled import local_values
from tui_tasks.settings.config import Config
from tui_tasks.text.safe import safe_copy
from tui_tasks.text.times import SECOND
from tui_tasks.tui import layout
from tui_tasks.tui.app.frame import LOOK, Frame, LiveChanges
from tui_tasks.tui.app.global_actions import GlobalActions, late_controllers
from tui_tasks.tui.app.navigation import ActionLookup, MainScreen, Navigation
from tui_tasks.tui.app.notifier import Absence, FocusTracking, Notifier
from tui_tasks.tui.keys.action_table import bindings
from tui_tasks.tui.keys.actions import Actor, Controller
from tui_tasks.tui.keys.key_queue import KeyQueue
from tui_tasks.tui.keys.user_keys import REDRAWS, Keymap, renamed, unbound_message
from tui_tasks.tui.painting import styles, theme_file
from tui_tasks.tui.painting.line_painter import ThinScrollBar
from tui_tasks.tui.painting.theme_file import ThemeManager
from tui_tasks.tui.state.app_state import AppState
from tui_tasks.tui.state.context import Context, LocalClock
from tui_tasks.tui.state.database_link import DatabaseLink
from tui_tasks.tui.state.projects import ALL_PROJECTS, ProjectChoice
from tui_tasks.tui.widgets.agent_line import AgentLines
from tui_tasks.tui.widgets.counts_line import counts_line
from tui_tasks.tui.widgets.foot_line import FootLine
from tui_tasks.tui.widgets.needs_lines import NeedsLines
from tui_tasks.tui.widgets.screen_bases import DIALOG_STYLES, Overlay, Pane
from tui_tasks.tui.widgets.screen_head import pane_tabs
from tui_tasks.tui.widgets.textual_overrides import ResilientApp, TransparentContainer

_CURSORS: Final = "cursors"
"""The key under which `local_values` keeps the list on screen and the task under the cursor of each."""
_SORT: Final = "sort"
"""The key under which it keeps the order in which tasks are shown."""
_SHOWN_RENAMED_KEYS: Final = "renamed_keys"
"""The key under which `local_values` keeps the notices about renamed ids."""


ScrollBar.renderer = ThinScrollBar


class TaskApp(Actor, ResilientApp):
    """The screen of one database. It runs in the thread that made the link, and closes the link.

    - `project`: which lists are shown at first.
    - `settings`: the file in which choices are kept. `user_themes`: the folder of the human's own themes.
    - `zone`: the time zone in which times of day are shown; None: the system's.
    - `problems`: shown to the human at the start. `painted`: called after the first paint.
    """

    CSS_PATH = "app.tcss"
    TITLE = "tui-tasks"
    ENABLE_COMMAND_PALETTE = False
    # A key typed ahead goes to the rows, not to the filter, which comes before them.
    AUTO_FOCUS = "VirtualList, CardArea"
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = layout.HORIZONTAL
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = layout.VERTICAL
    SCOPES: ClassVar[tuple[str, ...]] = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(*SCOPES),
        # Textual would quit on it. It is beside ^s, and continues a terminal that ^s has stopped.
        Binding("ctrl+q", "help_quit", show=False, priority=True),
    ]

    _ascii_filters: Sequence[LineFilter] = ()

    def __init__(
        self,
        link: DatabaseLink,
        *,
        config: Config | None = None,
        user_themes: Path | None = None,
        settings: Path | None = None,
        pane: str = "list",
        list_name: str | None = None,
        project: ProjectChoice = ALL_PROJECTS,
        zone: tzinfo | None = None,
        problems: Sequence[object] = (),
        painted: Callable[[], None] = lambda: None,
    ) -> None:
        no_color = bool(os.environ.get("NO_COLOR"))
        if not no_color:  # an empty one asks for nothing (no-color.org), but Textual would paint in greys
            os.environ.pop("NO_COLOR", None)
        super().__init__(ansi_color=True if no_color else None)
        config, clock = config or Config(), LocalClock(link.clock, zone)
        self.link = link
        self._problems = problems
        self._painted = painted
        self._ascii_filters = _ascii_filters() if config.ascii else ()
        self.themes = ThemeManager(self, user_themes, settings)
        self.themes.apply_first(theme_file.NO_COLOR if no_color else config.theme)
        grace = config.quiet_after * SECOND
        self.state = AppState(link.db, clock.now(), is_past=link.as_of is not None, project=project, grace=grace)
        self.frame = Frame(self, ascii_only=config.ascii)
        self.key_queue = KeyQueue(self, link, self.frame.say, self.frame.hush, self._say_unbound)
        self.navigation = self._make_navigation(pane)
        kept = {} if link.as_of is not None else local_values.get(link.db, _CURSORS) or {}
        self.state.cursors = {int(list_id): uid for list_id, uid in kept.get("tasks", {}).items()}
        self.state.list_id = self.navigation.first_list(list_name)
        self.state.sort = "" if link.read_only else local_values.get(link.db, _SORT) or ""
        self.actions_here = ActionLookup(self, self.navigation)
        self.context = self._make_context(config, clock)
        self.controllers = self._make_controllers()
        # A read-only screen beside a writable one would call the human twice.
        calls = (not link.read_only or config.notify_read_only) and link.as_of is None
        self.focus_tracking = FocusTracking(self._make_notifier, is_on=calls)
        self.live_changes = LiveChanges(self, self.context, self.frame, self.focus_tracking)
        self.absence = Absence(self.context, lambda: len(self.screen_stack) == 1 and not self.pane.is_busy)

    def _make_navigation(self, pane: str) -> Navigation:
        return Navigation(
            self,
            self.link,
            self.state,
            self.frame,
            pane_name=pane,
            make_pane=lambda name: layout.pane(name, self.context),
            open_in_turn=self.key_queue.open_in_turn,
        )

    def _make_context(self, config: Config, clock: LocalClock) -> Context:
        """Return what panes and screens are given of the App and its parts."""
        keymap = Keymap(config.keys)
        self.set_keymap(keymap.own)
        return Context(
            link=self.link,
            state=self.state,
            clock=clock,
            config=config,
            keymap=keymap,
            navigation=self.navigation,
            pressed=self.key_queue.pressed,
            say=self.frame.say,
            hint=self.frame.hint,
            redraw_frame=self.frame.redraw,
            redraw_feet=self.frame.redraw_feet,
            run=self.key_queue.run,
            words=self.key_queue.words,
            open_in_turn=self.key_queue.open_in_turn,
            do=self.actions_here.do,
            push=self.push_screen,
            ask=self.push_screen_wait,
            copy=self.copy_to_clipboard,
            suspend=self.suspend,
        )

    def _make_controllers(self) -> Sequence[Controller]:
        actions = GlobalActions(self.context, self.themes, self.actions_here, self._leave, self._stop_job)
        controllers = (actions, *late_controllers(self.context))
        if self.link.as_of is None:
            return controllers
        from tui_tasks.tui.app.past_actions import PastActions

        return *controllers, PastActions(self.context)

    def _make_notifier(self) -> Notifier:
        return Notifier(self, self.context)

    # Content

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filter that replaces remaining glyphs with letters, with `ascii`."""
        return [*super().get_line_filters(), *self._ascii_filters]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return our theme variables, needed before there is a theme."""
        return styles.variable_defaults()

    def get_default_screen(self) -> Screen[Any]:
        """Return the screen below all others."""
        return MainScreen()

    def compose(self) -> ComposeResult:
        """Compose tabs, the agents, the counts, what needs the human, the pane and the footer."""
        yield pane_tabs(self.context, id="top")
        yield AgentLines(self.context, id="at-work", on_moved=lambda by: self.pane.hold_rows(by))
        yield counts_line(self.context, id="now")
        yield NeedsLines(self.context, id="needs", has_title=True, on_moved=lambda by: self.pane.hold_rows(by))
        with TransparentContainer(id="panes"):
            yield layout.pane(self.navigation.pane_name, self.context)
        yield FootLine(self.context, id="foot")

    def _leave(self) -> None:
        if isinstance(self.screen, Overlay):
            self.screen.do_back()
        elif self.pane.is_inside:
            self.actions_here.do("back")
        else:
            self.exit()

    def _say_unbound(self, key: str) -> None:
        """Say what helps after a key that does nothing here; words typed after the key of a filter press no keys."""
        message = unbound_message(key, self.actions_here.can, self.context.keymap)
        if self.context.keymap.means(key, "filter"):
            self.key_queue.words.expect_words(message.partition("  ")[0], "filter")
        if key in REDRAWS:
            self.refresh(layout=True)
        self.frame.say(message)

    @property
    def pane(self) -> Pane:
        """The pane on screen."""
        return self.navigation.pane

    def on_mount(self) -> None:
        """Start listening for changes."""
        self.focus_tracking.key_pressed(self.context.clock.now())
        self.link.on_writing = self.frame.say_writing
        self.link.on_own_commit = self.live_changes.pass_on
        self.link.on_changes = self.live_changes.collect
        self.link.on_silent_commit = self.live_changes.look_soon
        self.link.on_unread = self._reading_changed
        self.call_after_refresh(self._begin)
        for toasts in self.screen.query("ToastRack"):
            # Textual would remove it after the first paint, and paint all again.
            toasts.display = False
        if self._problems:
            self.call_after_refresh(self.frame.say_problems, self._problems)
        if self.themes.problems or self.themes.has_user_themes:
            self.set_timer(1, self._say_problems_of_themes)

    def _begin(self) -> None:
        """Start watching for others' changes; called after the first paint."""
        self.link.watch()
        self._painted()
        # Opening the first dialog then neither parses all styles nor applies them to all widgets again.
        self.stylesheet.add_source(DIALOG_STYLES.read_text(), read_from=(str(DIALOG_STYLES), ""))
        if self.link.db.seconds_behind() is not None:
            self.set_interval(1.0, self.frame.redraw)
        if self.link.read_only and self.link.as_of is None:
            # Beside a screen that writes, a thread records which processes have ended.
            self.set_interval(LOOK, self.live_changes.look_at_processes)
        self._tell_renamed_keys()

    def _tell_renamed_keys(self) -> None:
        """Tell once which ids of the human's own keys are others now."""
        known = local_values.get(self.link.db, _SHOWN_RENAMED_KEYS) or []
        if new := [text for text in renamed(self.context.config.keys) if text not in known]:
            self.frame.say_problems(new)
            self.context.run(self.link.remember(_SHOWN_RENAMED_KEYS, [*known, *new]))

    def _say_problems_of_themes(self) -> None:
        self.themes.load()
        if self.themes.problems:
            self.frame.say_problems([*self.themes.problems, *self._problems])

    async def on_unmount(self) -> None:
        """Remember when the human last looked and at what, and finish pending writes."""
        # There is no place left to report it.
        self.link.on_writing = lambda writing: None
        with contextlib.suppress(Refusal, *READ_ERRORS):
            self.state.seen.leave(self.context.clock.now())
            looked = self.state.seen.looked
            await self.link.remember(local_values.UNSEEN, self.state.seen.unseen)
            await self.link.remember(local_values.LOOKED, {"seq": looked.seq, "at": looked.at})
            cursors = {str(list_id): uid for list_id, uid in self.state.cursors.items() if list_id in self.state.lists}
            await self.link.remember(_CURSORS, {"tasks": cursors})
            await self.link.remember(_SORT, self.state.sort)
        self.link.stop()

    # Changes

    def on_changed(self) -> None:
        """Pass changes on that others have written."""
        self.live_changes.pass_on()

    def cannot_read(self, error: Exception) -> None:
        """Handle a failed read: what is shown stays, and the link retries each second until all can be reread."""
        self.link.cannot_read(error)

    def damage(self) -> str:
        """Return what is damaged in the database, for which no screen can be drawn; empty: nothing is."""
        from tui_tasks.core.maintenance import database_findings

        return database_findings.damage_of(self.link.db)

    def _reading_changed(self) -> None:
        """Show at the foot whether the database cannot be read; when it can again, draw what was left out."""
        self.frame.redraw_feet()
        if not self.link.unread:
            self.refresh()

    # The terminal

    def get_driver_class(self) -> type[Driver]:
        """Return the terminal driver that reads keys with our parser."""
        driver = super().get_driver_class()
        if driver.__name__ != "LinuxDriver":
            return driver
        from tui_tasks.tui.keys.keyboard import Keyboard

        return Keyboard

    def _stop_job(self) -> str:
        """Stop this process as a job of the shell; return why it cannot be stopped, empty once it goes on."""
        stop: Callable[[], bool] | None = getattr(self._driver, "stop_job", None)
        if stop is None:
            return "Only a program in a terminal can be suspended."
        return "" if stop() else "No shell to return to: the program was not started from one."

    def action_help_quit(self) -> None:
        """Say how to leave, for ^C. Textual would name a key of its own."""
        line, leave = self.focused, self.context.keymap.key_of("quit")
        is_below = isinstance(self.screen, ModalScreen) or (line is not None and line.check_consume_key("a", "a"))
        self.frame.say(f"Esc goes back, then {leave} quits." if is_below else f"{leave} quits.")

    def action_focus_next(self) -> None:
        """Go to the next part, for Tab; say that the key does nothing where there is one part alone."""
        self._focus_other("tab", self.screen.focus_next)

    def action_focus_previous(self) -> None:
        """Go to the part before, for Shift+Tab."""
        self._focus_other("shift+tab", self.screen.focus_previous)

    def _focus_other(self, key: str, go: Callable[[], object]) -> None:
        if len(self.screen.focus_chain) > 1 or self.screen.is_modal:
            go()
        else:
            self._say_unbound(key)

    async def on_event(self, event: events.Event) -> None:
        """Pass keys to the key queue, which handles them one after another."""
        if isinstance(event, events.Key):
            # A forwarded key comes back when nothing has handled it.
            if not event.is_forwarded:
                self.app_focus = True
                self.focus_tracking.key_pressed(self.context.clock.now())
                await self.key_queue.take_key(event)
        elif isinstance(event, events.AppFocus | events.AppBlur):
            self.focus_tracking.reported()
            await super().on_event(event)
        elif isinstance(event, events.Paste) and not event.is_forwarded:
            async with self.key_queue.pasting():
                await super().on_event(event)
        elif not isinstance(event, events.MouseEvent) or self.screen_stack:  # one that comes at the end has no screen
            if isinstance(event, events.MouseEvent):
                self.key_queue.pressed.at = event.time
                self.key_queue.pressed.number += isinstance(event, events.MouseDown)
            if isinstance(event, events.MouseDown) and not isinstance(self.mouse_over, FootLine):
                self.frame.hush()
            await super().on_event(event)

    def on_word_line_lines_pasted(self, message: Any) -> None:
        """Show that a field of one line has taken one line of a paste."""
        self.frame.say(f"This field takes one line: the first of {message.count} lines was pasted.")

    def watch_app_focus(self, focus: bool) -> None:
        """Handle that the terminal has lost the focus or has it again."""
        self.focus_tracking.focus_changed(focus)
        self.absence.focus_changed(focus)
        if focus and self.screen_stack and self.focused is None:
            # A page in a browser has no focus while the screen is made, so nothing on it got the focus.
            self._focus_first()

    def _focus_first(self) -> None:
        target = next((each for each in self.screen.query(str(self.AUTO_FOCUS)) if each.focusable), None)
        if target is not None:
            self.screen.set_focus(target)

    @override
    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text, made safe, since it will be pasted elsewhere."""
        super().copy_to_clipboard(safe_copy(text))

    @override
    async def push_screen_wait(self, screen: Any, *, mode: str | None = None) -> Any:
        """Push a screen at once, so that it gets the next key, and wait for its result."""
        return await self.push_screen(screen, wait_for_dismiss=True, mode=mode)


def _ascii_filters() -> Sequence[LineFilter]:
    from tui_tasks.tui.painting.styles import AsciiFilter

    return (AsciiFilter(),)
