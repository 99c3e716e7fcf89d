"""Going from kind to kind in the inbox, marking its held tasks, and filtering it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.tui.inbox.ask_rows import kind_of
from tui_tasks.tui.inbox.held_tasks import HeldTasks
from tui_tasks.tui.inputs.dialogs import LineDialog
from tui_tasks.tui.keys.actions import Controller

if TYPE_CHECKING:
    from tui_tasks.tui.inbox.inbox_screen import Inbox


class RowActions(Controller):
    """The actions on the rows of the inbox as a list."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def do_inbox_part(self) -> None:
        """Go to the first row of the next kind."""
        if self._inbox.is_replying or not self._inbox.listed.rows:
            return
        here = self._inbox.listed.get(self._inbox.window.cursor)
        kinds = [kind_of(line) for line in self._inbox.listed.rows]
        at = kinds.index(kind_of(here)) if here is not None else 0
        others = [kind for kind in dict.fromkeys(kinds[at:] + kinds[:at]) if here is None or kind != kind_of(here)]
        if others:
            self._inbox.window.move_to(self._inbox.listed.rows[kinds.index(others[0])].uid)

    def do_review_mark(self) -> None:
        """Mark the held task, or take its mark away, and go on."""
        if self._inbox.item is None or self._inbox.item.kind != HeldTasks.KIND:
            self._inbox.context.say("Only held tasks are marked.")
        else:
            self._inbox.window.mark([self._inbox.item.uid])
            self._inbox.window.move(1)
            self._inbox.marks_changed()

    def do_review_mark_all(self) -> None:
        """Mark all held tasks that are listed, or none where all are marked."""
        keys = [line.uid for line in self._inbox.listed.rows if kind_of(line) == HeldTasks.KIND]
        self._inbox.window.mark(keys, on=len(self._inbox.window.marks) < len(keys))
        self._inbox.marks_changed()

    async def do_review_filter(self) -> None:
        """List only the rows that contain some words."""
        prompt = LineDialog(
            self._inbox.context, "Show only", self._inbox.filter, done="Filter", hint="words, a list, an agent"
        )
        text = await self._inbox.context.ask(prompt)
        if text is not None:
            self._inbox.filter_by(text.strip())
