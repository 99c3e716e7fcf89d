"""The screen below all others: the pane and the lines around it, which it redraws and in which it shows messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

from textual import events, messages
from textual.app import App
from textual.css.query import NoMatches
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.widget import Widget

from tui_tasks.text.glyphs import bar
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.keymap import Keymap
from tui_tasks.tui.state.writer import Writing
from tui_tasks.tui.widgets.breakpoints import is_wide
from tui_tasks.tui.widgets.frame import FootLine, TopLine
from tui_tasks.tui.widgets.now_line import NowLine
from tui_tasks.tui.widgets.textual_overrides import CellsScreen, NoRelayout


class Frame:
    """Works on the lines in the screens of the App that it is given."""

    def __init__(self, app: App[Any], *, ascii_only: bool) -> None:
        self._app = app
        self._ascii_only = ascii_only

    def redraw(self) -> None:
        """Draw the lines around the pane again; only what differs is painted."""
        for line in (TopLine, NowLine, FootLine):
            self._app.screen_stack[0].query_one(line).again()

    def redraw_feet(self) -> None:
        """Draw the last line of every screen again."""
        for screen in self._app.screen_stack:
            for foot in screen.query(FootLine):
                foot.again()

    def say(self, text: str) -> None:
        """Show the human a message of one line for a moment. It is made safe here."""
        said = safe_line(text)
        try:
            self._app.screen.query_one(FootLine).say(said)
        except NoMatches:
            self._app.notify(said, markup=False)

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
        """Show what commands at terminals have just done in the human's name, and the key that takes it back."""
        if used:
            last = used[-1]
            more = f" (and {len(used) - 1} more)" if len(used) > 1 else ""
            below = " < ".join(map(str, last["parents"][:3]))
            self.say(f"{last['terminal']}: {last['command']}, below {below}{more}. {keymap.key_of('undo')} undoes it.")

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


class MainScreen(CellsScreen[Any], NoRelayout):
    """Paints nothing itself when the focus moves: its widgets paint what differs."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    @classmethod
    def of_size(cls, size: Size, *stops: list[tuple[int, str]] | None) -> MainScreen:
        """Return a screen with the classes of a size, so that it is laid out only once."""
        reached = (
            max(stop for stop in each or () if stop[0] <= cells) for cells, each in zip(size, stops, strict=True)
        )
        return cls(classes=" ".join(name for _, name in reached))

    # True until the first layout, which paints all: requests before it would be done twice.
    _is_opening = True

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Come to the front; the first time, lay out and paint here."""
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
