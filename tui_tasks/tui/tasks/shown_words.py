"""The tasks of a list that a filter finds by the words of the notes that rows show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
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
STEP: Final = 50
"""How many notes are read at once, so that the screen does not stand still."""
_WITH_NOTES: Final = ("in_progress", "failed", "skipped", "cancelled")
# The states that the screen adds to the statuses of tasks.
_ADDED: Final = ("needs_you", "check_failed", "left", "quiet", "reviewable", "agent_failed")


class _Notes:
    """The notes of a list's tasks, as of a state of a database: `seq` is the newest entry of the journal.

    Attributes:
        texts: of each task, by uid, the state that the screen adds and the note.
        unread: the tasks of which no note has been read yet.
        marked: the tasks that need the human, are asked about, stand still, or of which an agent failed.
    """

    def __init__(self, db: Database, tasks: Iterable[TaskLine]) -> None:
        self.db = db
        self.seq = 0
        self.texts: dict[str, tuple[str, str]] = {}
        self.unread = {task.uid: task for task in tasks}
        self.marked: Set[str] = frozenset()


class ShownWords:
    """Searches the notes of a list's tasks. They are read once, in steps; then, of each task that has changed, again.

    `has_unread` is called when a search did not read all of a list's notes: `read_on` reads more.
    """

    def __init__(self, context: Context, has_unread: Callable[[], None] = lambda: None) -> None:
        self._context = context
        self._has_unread = has_unread
        self._lists: dict[int, _Notes] = {}

    def on_screen(self, word: str) -> list[str]:
        """Return the uids of those tasks of the current list: `Filter.shown`."""
        return self.of_list(self._context.state.list_id, word)

    def of_list(self, list_id: int, word: str) -> list[str]:
        """Return the uids of those tasks of a list, as far as their notes are read."""
        part, notes = word.casefold(), self._followed(list_id)
        if not notes.texts:
            self._read_step(notes)
        if notes.unread:
            self._has_unread()
        return [uid for uid, (state, text) in notes.texts.items() if part in text or says(state, part)]

    def read_on(self, list_id: int) -> int:
        """Read the notes of at most `STEP` more tasks of a list; return of how many."""
        return self._read_step(self._followed(list_id))

    def _followed(self, list_id: int) -> _Notes:
        """Return the notes of a list, after reading those of the tasks that have changed."""
        context, state = self._context, self._context.state
        marked = state.needing | state.asking | state.standing_still | state.works.failed.keys()
        notes = self._lists.get(list_id)
        if notes is not None and (notes.db, notes.seq) == (context.db, context.link.seq):
            return notes
        touched = self._touched(notes)
        if notes is None or touched is None:
            notes = self._lists[list_id] = _Notes(context.db, self._tasks(list_id))
        else:
            for uid in touched | (notes.marked ^ marked):
                notes.unread.pop(uid, None)
                task = list_pages.line(context.db, uid)
                if task is not None and task.list_id == list_id and not task.deleted:
                    notes.texts[uid] = self._note(task)
                else:
                    notes.texts.pop(uid, None)
        notes.marked, notes.seq = marked, context.link.seq
        return notes

    def _read_step(self, notes: _Notes) -> int:
        step = list(notes.unread)[:STEP]
        for uid in step:
            notes.texts[uid] = self._note(notes.unread.pop(uid))
        return len(step)

    def _touched(self, notes: _Notes | None) -> Set[str] | None:
        """Return the tasks that the journal says have changed; None where all are to be read."""
        context = self._context
        if notes is None or notes.db is not context.db or context.link.as_of is not None:
            return None
        changes = changes_since(context.db, notes.seq)
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
