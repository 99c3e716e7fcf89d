"""What every pane shows beside its rows: lists, questions, failures, agents, what is new to the human."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tui_tasks.core import pages, queries, views
from tui_tasks.core.database import Database
from tui_tasks.core.pages import Change, TaskLine
from tui_tasks.core.snapshots import Ask, LogEntry, TaskList
from tui_tasks.core.views import Looked
from tui_tasks.core.vocab import HUMAN
from tui_tasks.tui.bridge import Changes

# More changed tasks than this are not told apart: every later change counts as one.
MOST_NEW: Final = 10_000
_TASK_ENTITIES: Final = ("task", "log", "state", "list")


@dataclass(slots=True)
class Speaker:
    """An agent that has written, and when it last did."""

    name: str
    at: int


class Situation:
    """Read once at the start, and then only what a batch of changes touches."""

    def __init__(self, db: Database, now: int) -> None:
        self._db = db
        self.lists: dict[int, TaskList] = {}
        self.asks: list[Ask] = []
        self.asking: set[str] = set()
        self.failed = 0
        self.active: TaskLine | None = None
        self.active_log: LogEntry | None = None
        self.active_place = 0
        self.speakers: dict[str, Speaker] = {}
        newest = pages.changes(db, 0, 1)
        self.looked = views.looked(db) or Looked(self._newest() if newest else 0, now)
        self.new: dict[str, int] = {}
        self._read_lists()
        self._read_asks()
        self._read_active()
        self.speakers = {name: Speaker(name, at) for name, _, at in pages.speakers(db)}
        self._note_new(pages.changes(db, self.looked.seq, MOST_NEW))

    def _newest(self) -> int:
        from tui_tasks.core import journal

        return journal.newest(self._db)

    def take(self, changes: Changes) -> None:
        """Take in what changed."""
        if changes.touches(*_TASK_ENTITIES):
            self._read_lists()
            self._read_active()
        if changes.touches("ask", "task"):
            self._read_asks()
        entries = changes.entries
        if changes.all:
            self.speakers = {name: Speaker(name, at) for name, _, at in pages.speakers(self._db)}
            entries = tuple(pages.changes(self._db, changes.since, MOST_NEW))
        self._note_new(entries)
        for entry in entries:
            if entry.actor not in (HUMAN, "system"):
                self.speakers[entry.actor] = Speaker(entry.actor, entry.at)

    def all_seen(self, now: int) -> Looked:
        """Nothing is new any more; return what to remember."""
        self.looked = Looked(self._newest(), now)
        self.new.clear()
        return self.looked

    def is_new(self, uid: str) -> bool:
        """Whether an agent has changed the task since the human last looked."""
        return uid in self.new

    def new_in(self, list_id: int) -> int:
        """How many tasks of a list have changed since the human last looked."""
        return sum(1 for home in self.new.values() if home == list_id)

    def agents_since(self, instant: int) -> list[str]:
        """The agents that have written since an instant."""
        return [speaker.name for speaker in self.speakers.values() if speaker.at >= instant]

    def status_of(self, task: TaskLine) -> str:
        """The state to show (`format.look`): the task's own, or `needs_you`, or `blocked`."""
        if task.uid in self.asking and task.status in ("pending", "in_progress"):
            return "needs_you"
        return "blocked" if task.blocked else task.status

    def list_of(self, task: TaskLine) -> TaskList | None:
        """The list that a task is in."""
        return self.lists.get(task.list_id)

    def _read_lists(self) -> None:
        self.lists = {found.id: found for found in queries.lists(self._db)}
        self.failed = sum(found.failed for found in self.lists.values())

    def _read_asks(self) -> None:
        self.asks = queries.open_asks(self._db)
        self.asking = {ask.task_uid for ask in self.asks if ask.task_uid is not None}

    def _read_active(self) -> None:
        found = pages.active(self._db, 1)
        self.active = found[0] if found else None
        if self.active is None:
            self.active_log = None
            return
        log = pages.log_page(self._db, self.active.uid, 1)
        self.active_log = log[0] if log else None
        self.active_place = pages.ahead(self._db, self.active.list_id, self.active.rank) + 1

    def _note_new(self, entries: list[Change] | tuple[Change, ...]) -> None:
        for entry in entries:
            if entry.task is None or entry.actor == HUMAN or entry.list_id is None:
                continue
            if entry.kind == "task.deleted":
                self.new.pop(entry.task, None)
            elif len(self.new) < MOST_NEW or entry.task in self.new:
                self.new[entry.task] = entry.list_id
