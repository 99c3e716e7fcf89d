"""What panes, screens and widgets are given of the program around them, in place of the App."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tui_tasks.core.engine.database import Database
from tui_tasks.settings.config import Config
from tui_tasks.tui.keys.keymap import Keymap
from tui_tasks.tui.state.app_state import AppState
from tui_tasks.tui.state.database_link import DatabaseLink
from tui_tasks.tui.state.local_clock import LocalClock
from tui_tasks.tui.state.task_numbers import TaskNumbers

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui_tasks.tui.app.navigation import Navigation

Hint = tuple[str, str, str]
"""A key in the footer: the key, a word for what it does, and the id of its action or an empty string."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the parts of one App share. It is made before them."""

    link: DatabaseLink
    """The database: `link.commit` writes, unless it is `link.read_only`."""
    state: AppState
    """What several panes show: the current list, all lists, open questions, the active task."""
    numbers: TaskNumbers
    """The numbers of tasks, and tasks by their numbers."""
    clock: LocalClock
    """The time in the human's time zone."""
    config: Config
    keymap: Keymap
    """The keys of each action, in the form shown to people."""
    navigation: Navigation
    """Shows panes, lists and tasks."""

    say: Callable[[str], None]
    """Shows a message of one line for a moment; the text is made safe."""
    hint: Callable[..., None]
    """Shows the given `Hint`s in the footer in place of the pane's; without any, the pane's own again."""
    redraw_frame: Callable[[], None]
    """Draws the lines around the pane again; only what differs is painted."""
    run: Callable[[Coroutine[Any, Any, None]], None]
    """Runs an action that waits for a write or an answer; shows its refusal, if any."""
    open_in_turn: Callable[[Coroutine[Any, Any, None]], None]
    """Runs a coroutine that makes and shows widgets, after earlier ones; the next key is handled when it has ended."""
    do: Callable[[str], None]
    """Performs an action by its id, as its key would."""
    push: Callable[[Screen[Any]], Any]
    """Opens a screen over the current one."""
    ask: Callable[[Screen[Any]], Coroutine[Any, Any, Any]]
    """Opens a dialog and waits for its result; for coroutines that are given to `run`."""
    copy: Callable[[str], None]
    """Copies text to the clipboard; it is made safe."""
    suspend: Callable[[], AbstractContextManager[None]]
    """Gives the terminal to another program for the duration of a `with` block."""

    @property
    def db(self) -> Database:
        """The connection that the screen reads through."""
        return self.link.db

    @property
    def ascii_only(self) -> bool:
        """Whether letters are drawn instead of glyphs."""
        return self.config.ascii
