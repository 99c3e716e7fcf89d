"""Context: what panes, screens and widgets need of the program around them, without the App."""

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
"""What the footer tells of a key: the key, a word for what it does, and the id of its action or an empty string."""


@dataclass(frozen=True, slots=True)
class Context:
    """What is shared by the parts of one App; made before them. A test may make its own."""

    link: DatabaseLink
    """The database: `link.commit` writes, `link.read_only` tells whether it may."""
    state: AppState
    """What the screen shows beside rows: the list on screen, all lists, questions, the active task."""
    numbers: TaskNumbers
    """Tasks by their numbers, and the numbers of tasks."""
    clock: LocalClock
    """The time, where the human is."""
    config: Config
    keymap: Keymap
    """The names of keys, for people."""
    navigation: Navigation
    """Goes to panes, lists and tasks."""

    say: Callable[[str], None]
    """Tells the human something in one line for a moment. The text need not be safe."""
    hint: Callable[..., None]
    """Shows each given `Hint` in the footer in place of the pane's; none at all: the pane's own again."""
    redraw_frame: Callable[[], None]
    """Draws the lines around the pane again, where they differ."""
    run: Callable[[Coroutine[Any, Any, None]], None]
    """Runs an action that waits, for a write or for an answer; a refusal is told."""
    open_in_turn: Callable[[Coroutine[Any, Any, None]], None]
    """Runs what makes and shows widgets: one after another, and the next key is looked at once it is done."""
    do: Callable[[str], None]
    """Does an action by its id, as its key would."""
    push: Callable[[Screen[Any]], Any]
    """Shows a screen over the one on screen."""
    ask: Callable[[Screen[Any]], Coroutine[Any, Any, Any]]
    """Shows a dialog and waits for its result, from a coroutine that is given to `run`."""
    copy: Callable[[str], None]
    """Puts text on the clipboard, made safe."""
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
