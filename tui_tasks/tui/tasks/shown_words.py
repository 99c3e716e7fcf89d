"""The tasks of a list that a filter finds by the words of the notes that rows show."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Final

from tui_tasks.core.read.overview import changes_since
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.board_pages import NEEDS_YOU, page
from tui_tasks.core.read.pages.list_pages import TaskLine
from tui_tasks.core.read.pages.task_filter import says
from tui_tasks.text.glyphs import look
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.tasks import task_text

if TYPE_CHECKING:
    from tui_tasks.core.engine.database import Database

MOST: Final = 300
"""How many tasks of each state have their notes searched: a note is read from the log of its task."""
_WITH_NOTES: Final = ("in_progress", "failed", "skipped", "cancelled")
# The states that the screen adds to the statuses of tasks.
_ADDED: Final = ("needs_you", "check_failed", "left", "quiet", "reviewable", "agent_failed")


class ShownWords:
    """Searches the notes of a list's tasks. They are read once; then, of each task that has changed, again."""

    def __init__(self, context: Context) -> None:
        self._context = context
        # The database, the list, and the entry of the journal up to which the notes were read.
        self._read_at: tuple[Database, int, int] | None = None
        self._marked: Set[str] = frozenset()
        self._notes: dict[str, tuple[str, str]] = {}

    def on_screen(self, word: str) -> list[str]:
        """Return the uids of those tasks of the current list: `Filter.shown`."""
        return self.of_list(self._context.state.list_id, word)

    def of_list(self, list_id: int, word: str) -> list[str]:
        """Return the uids of those tasks of a list."""
        now = self._context.db, list_id, self._context.link.seq
        if now != self._read_at:
            self._read(list_id)
            self._read_at = now
        part = word.casefold()
        return [uid for uid, (state, text) in self._notes.items() if part in text or says(state, part)]

    def _read(self, list_id: int) -> None:
        """Read the notes of the tasks that have changed; of another list, those of all."""
        state, was_marked, touched = self._context.state, self._marked, self._touched(list_id)
        self._marked = state.needing | state.asking | state.standing_still | state.works.failed.keys()
        if touched is None:
            self._notes = {task.uid: self._note(task) for task in self._tasks(list_id)}
            return
        for uid in touched | (was_marked ^ self._marked):
            task = list_pages.line(self._context.db, uid)
            if task is not None and task.list_id == list_id and not task.deleted:
                self._notes[uid] = self._note(task)
            else:
                self._notes.pop(uid, None)

    def _touched(self, list_id: int) -> Set[str] | None:
        """Return the tasks that the journal says have changed; None where all are to be read."""
        context = self._context
        if self._read_at is None or self._read_at[:2] != (context.db, list_id) or context.link.as_of is not None:
            return None
        changes = changes_since(context.db, self._read_at[2])
        if changes is None or changes.all:
            return None
        return changes.tasks() | (context.state.asking if changes.touches("ask") else set())

    def _tasks(self, list_id: int) -> Iterator[TaskLine]:
        context, needing = self._context, self._context.state.needing
        for part in (NEEDS_YOU, *_WITH_NOTES):
            yield from page(context.db, list_id, part, list_pages.FIRST, MOST, needing=needing)
        still = (list_pages.line(context.db, uid) for uid in context.state.standing_still)
        yield from (task for task in still if task is not None and task.list_id == list_id and not task.deleted)

    def _note(self, task: TaskLine) -> tuple[str, str]:
        """Return the state that the screen adds, and the note as the row shows it."""
        context, state = self._context, self._context.state.status_of(task)
        why, failed = task_text.reason(context, task, state), task_text.failed_check(context, task)
        said = task_text.last_word(context, task, state) if why is None else ""
        texts = [why[0] if why is not None else "", failed or "", said]
        return look(state).word if state in _ADDED else "", "\n".join(texts).casefold()
