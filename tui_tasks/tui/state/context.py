"""What panes, screens and widgets are given of the program around them, and the local clock."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.settings.config import Config
from tui_tasks.text.times import SECOND, clock, moment
from tui_tasks.tui.keys.user_keys import Keymap
from tui_tasks.tui.state.app_state import AppState
from tui_tasks.tui.state.database_link import DatabaseLink

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui_tasks.tui.app.navigation import Navigation
    from tui_tasks.tui.keys.stray_words import StrayWords


class LocalClock:
    """Formats instants (microseconds since 1970, UTC) in one time zone. `now` returns the current instant."""

    def __init__(self, now: Callable[[], int], zone: tzinfo | None = None) -> None:
        """`zone`: the time zone to use; None: the system's."""
        self.now = now
        self._zone = zone

    @cached_property
    def zone(self) -> tzinfo | None:
        """The time zone in which times of day are shown."""
        return self._zone or _system_zone()

    def time_of(self, instant: int) -> str:
        """Return an instant as `19:58`, with the day when that is not today."""
        # Uses the system's offset, since looking the zone up by its name would take time.
        today = moment(self.now(), self._zone)[:-5]
        full = moment(instant, self._zone)
        return clock(instant, self._zone) if full.startswith(today) else full

    def midnight(self) -> int:
        """Return the instant at which today began."""
        today = datetime.fromtimestamp(self.now() // SECOND, self.zone)
        return int(today.replace(hour=0, minute=0, second=0).timestamp()) * SECOND


def _system_zone() -> tzinfo | None:
    """Return the system's zone by name, which knows changes of offset; without a name, its current offset."""
    # Imported here: the screen starts sooner when no time of day is shown.
    from tui_tasks.core.schedule.fire_times import system_zone, zone_of

    now = datetime.now().astimezone()
    named = zone_of(system_zone())
    return named if now.astimezone(named).utcoffset() == now.utcoffset() else now.tzinfo


Hint = tuple[str, str, str]
"""A key in the footer: the key, a word for what it does, and the id of its action or an empty string."""


class LastInput(msgspec.Struct):
    """The key or click that is being handled."""

    at: float = 0.0
    """When it came, by the monotonic clock."""
    number: int = 0
    """How many keys and clicks there have been with it."""


class LastNeeds(msgspec.Struct):
    """What needed the human when it was read last: a change is read once, for all lines that show it."""

    state: tuple[Any, ...] = ()
    """The objects of the state from which it was read."""
    at: int = 0
    """When, in microseconds."""
    ends: int | None = None
    """The instant at which it changes by time alone; None: never."""
    needs: list[Any] = []


class Context(msgspec.Struct, frozen=True, eq=False):
    """What the parts of one App share. It is made before them."""

    link: DatabaseLink
    """The database: `link.commit` writes, unless it is `link.read_only`."""
    state: AppState
    """What several panes show: the current list, all lists, open questions, the active task."""
    clock: LocalClock
    """The time in the human's time zone."""
    config: Config
    keymap: Keymap
    """The keys of each action, in the form shown to people."""
    navigation: Navigation
    """Shows panes, lists and tasks."""

    pressed: LastInput
    """When the human last pressed a key or clicked."""
    say: Callable[[str], None]
    """Shows a message of one line for a moment; the text is made safe."""
    hint: Callable[..., None]
    """Shows the given `Hint`s in the footer in place of the pane's; without any, the pane's own again."""
    redraw_frame: Callable[[], None]
    """Draws the lines around the pane again; only what differs is painted."""
    redraw_feet: Callable[[], None]
    """Draws only the keys at the foot again, for what is under the cursor."""
    run: Callable[[Coroutine[Any, Any, None]], None]
    """Runs an action that waits for a write or an answer; shows its refusal, if any."""
    words: StrayWords
    """What becomes of words that are typed where no input is open."""
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
    last_needs: LastNeeds = msgspec.field(default_factory=LastNeeds)

    def typed_for(self, action: str) -> str:
        """Return what was typed for an action whose key was to be pressed again, and forget it; empty: nothing."""
        return self.drafts.pop(f"typed {action}", "")

    @property
    def drafts(self) -> dict[str, str]:
        """What was typed in dialogs that were left by Esc, by what it is about; and for keys to be pressed again."""
        return self.words.drafts

    @property
    def db(self) -> Database:
        """The connection that the screen reads through."""
        return self.link.db

    @property
    def ascii_only(self) -> bool:
        """Whether letters are drawn instead of glyphs."""
        return self.config.ascii
