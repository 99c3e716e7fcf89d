"""The lines around the pane as one object: it redraws them, and shows messages in the last one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from textual.app import App
from textual.css.query import NoMatches

from tui_tasks.text.glyphs import bar
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.state.writer import Writing
from tui_tasks.tui.widgets.breakpoints import is_wide
from tui_tasks.tui.widgets.frame import FootLine, NowLine, TopLine


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

    def say_writing(self, writing: Writing | None) -> None:
        """Show the progress of a long write; None: it has ended, and its caller shows the result."""
        if writing is None:
            self.say("")
        elif not writing.has_begun:
            self.say("Waiting for another process to let the database go…")
        elif writing.total == 1:
            self.say(f"Writing…  {count(writing.entries, 'change')}")
        else:
            progress = bar(writing.done / writing.total, 20, ascii_only=self._ascii_only)
            self.say(f"Writing  {progress}  {writing.done:,} of {writing.total:,}")
