"""Which tasks show a typed word in the note of their row: a question, why they stand still or failed, what was said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tui_tasks.core.read.pages import board_pages, list_pages
from tui_tasks.core.read.pages.board_pages import NEEDS_YOU
from tui_tasks.core.read.pages.filter import says
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.text.glyphs import look
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks import task_text

MOST: Final = 300
"""How many tasks of each state have their notes searched: a note is read from the log of its task."""
_WITH_NOTES: Final = (NEEDS_YOU, "in_progress", "failed", "skipped", "cancelled")
# The states that the screen adds to the statuses of tasks.
_ADDED: Final = ("needs_you", "reviewable")


class ShownWords:
    """Searches the notes of a list's tasks, which it reads once for each state of the journal."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._read_at: tuple[int, int] | None = None
        self._notes: dict[str, tuple[str, str]] = {}
        # What was said last of tasks that are over, each with the task as it was then.
        self._ended: dict[str, tuple[TaskLine, str]] = {}

    def on_screen(self, word: str) -> list[str]:
        """Return the uids of those tasks of the current list: `Filter.shown`."""
        return self.of_list(self._context.state.list_id, word)

    def of_list(self, list_id: int, word: str) -> list[str]:
        """Return the uids of those tasks of a list."""
        now = self._context.link.seq, list_id
        if now != self._read_at:
            self._read_at = now
            self._notes = {task.uid: self._note(task) for task in self._tasks(list_id)}
        part = word.casefold()
        return [uid for uid, (state, text) in self._notes.items() if part in text or says(state, part)]

    def _tasks(self, list_id: int) -> Iterator[TaskLine]:
        context, needing = self._context, self._context.state.needing
        for part in _WITH_NOTES:
            yield from board_pages.page(context.db, list_id, part, list_pages.FIRST, MOST, needing=needing)
        still = (list_pages.line(context.db, uid) for uid in context.state.standing_still)
        yield from (task for task in still if task is not None and task.list_id == list_id and not task.deleted)

    def _note(self, task: TaskLine) -> tuple[str, str]:
        """Return the state that the screen adds, and the note as the row shows it."""
        context, state = self._context, self._context.state.status_of(task)
        why, failed = task_text.reason(context, task, state), task_text.failed_check(context, task)
        texts = [why[0] if why is not None else "", failed or "", self._last_words(task, state) if why is None else ""]
        return look(state).word if state in _ADDED else "", "\n".join(texts).casefold()

    def _last_words(self, task: TaskLine, state: str) -> str:
        if not task.finished_at:
            return task_text.last_word(self._context, task, state)
        known = self._ended.get(task.uid)
        if known is None or known[0] != task:
            known = self._ended[task.uid] = task, task_text.last_word(self._context, task, state)
        return known[1]
