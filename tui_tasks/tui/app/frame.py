"""The lines around the pane and the screens over it: drawn again after changes, and messages in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from textual.app import App
from textual.css.query import NoMatches

from tui_tasks.text.glyphs import bar
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.user_keys import Keymap
from tui_tasks.tui.layout import is_wide
from tui_tasks.tui.painting.text_lines import HeldLines
from tui_tasks.tui.state.database_link import Writing
from tui_tasks.tui.widgets.foot_line import FootLine, GroupLine
from tui_tasks.tui.widgets.screen_head import ChangesRule, TopLine


class Frame:
    """Works on the lines in the screens of the App that it is given."""

    def __init__(self, app: App[Any], *, ascii_only: bool) -> None:
        self._app = app
        self._ascii_only = ascii_only

    def redraw(self, *, has_own: bool = False) -> None:
        """Draw the lines around the pane and around the screens over it again; only what differs is painted.

        `has_own`: after a change of the human's, or to another moment, which leaves no empty lines.
        """
        before = self._needed_rows()
        for screen in self._app.screen_stack:
            for line in screen.walk_children():
                if isinstance(line, TopLine | HeldLines | GroupLine | FootLine | ChangesRule):
                    line.redraw()
        if has_own and self._needed_rows() < before:
            self.free_rows()

    def _needed_rows(self) -> int:
        return sum(line.needed for screen in self._app.screen_stack for line in screen.walk_children(HeldLines))

    def free_rows(self) -> None:
        """Give up the empty lines of the agents and below what needs the human, who changes the layout."""
        for screen in self._app.screen_stack:
            for line in screen.walk_children(HeldLines):
                line.free()

    def redraw_feet(self) -> None:
        """Draw the last line of every screen again."""
        for screen in self._app.screen_stack:
            for foot in screen.walk_children(FootLine):
                foot.redraw()

    def say(self, text: str) -> None:
        """Show the human a message of one line for a moment. It is made safe here."""
        said = safe_line(text)
        if not self._app.screen_stack:
            return  # It has ended.
        try:
            self._app.screen.query_one(FootLine).say(said)
        except NoMatches:
            self._app.notify(said, markup=False)

    def hush(self) -> None:
        """Remove all messages: the keys of each foot are shown again."""
        for screen in self._app.screen_stack:
            for foot in screen.walk_children(FootLine):
                foot.hush()

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
        """Show what commands at terminals have just done in the human's name, and the key that undoes it."""
        if used:
            last = used[-1]
            more = f" (and {len(used) - 1} more)" if len(used) > 1 else ""
            parents = [str(parent).rpartition(" ") for parent in last["parents"]]
            names = [name.partition(":")[0] for name, _, pid in parents if pid != "1"]
            by = " in ".join(names[:2]) or "A program"
            undo = f" {keymap.key_of('undo')} undoes it." if _can_be_undone(last["command"]) else ""
            self.say(f"{by} at {last['terminal']} ran {last['command']}{more} in your name.{undo}")

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


# The commands of a person that an undo takes back, each with its actions; "": without one.
_UNDONE: Final = {
    **dict.fromkeys(("accept", "decline", "join", "release"), ("",)),
    "lists": ("new", "rename", "archive", "unarchive", "rm", "one-in-progress", "review"),
    "work": ("merge", "discard"),
}


def _can_be_undone(command: str) -> bool:
    """Return whether a command at a terminal has done something that an undo takes back."""
    _, _, words = command.partition(" ")
    name, _, action = words.partition(" ")
    return action in _UNDONE.get(name, ())
