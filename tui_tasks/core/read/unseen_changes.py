"""Which tasks agents have changed or deleted since the human last looked: what `•` marks and `status:changed` finds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import overview, screen_memory
from tui_tasks.core.read.overview import Change
from tui_tasks.core.vocab import HUMAN

MAX_NEW: Final = 10_000
"""At most so many tasks are noted."""


class UnseenChanges:
    """Notes these tasks, each with its list. `deleted` is without those that agents had created since."""

    def __init__(self) -> None:
        self.new: dict[str, int] = {}
        self.deleted: dict[str, int] = {}
        self._made: set[str] = set()

    def followed_by(self, later: UnseenChanges) -> UnseenChanges:
        """Return these changes with later ones."""
        joined = UnseenChanges()
        deleted = self.deleted | {uid: home for uid, home in later.deleted.items() if uid not in self._made}
        joined.new = {uid: home for uid, home in self.new.items() if uid not in later.deleted} | later.new
        joined.deleted = {uid: home for uid, home in deleted.items() if uid not in later.new}
        joined._made = self._made | later._made
        return joined

    def note(self, entries: Iterable[Change]) -> None:
        """Note what journal entries changed, oldest first."""
        for entry in entries:
            if entry.task is None or entry.list_id is None:
                continue
            if entry.actor != HUMAN:
                self._note_one(entry.kind, entry.task, entry.list_id)
            elif entry.kind == "task.deleted":
                self.new.pop(entry.task, None)
            elif entry.kind == "task.restored":
                self.deleted.pop(entry.task, None)

    def _note_one(self, kind: str, uid: str, list_id: int) -> None:
        if kind == "task.deleted":
            self.new.pop(uid, None)
            if uid not in self._made and len(self.deleted) < MAX_NEW:
                self.deleted[uid] = list_id
            return
        self.deleted.pop(uid, None)
        if kind == "task.created" and len(self._made) < MAX_NEW:
            self._made.add(uid)
        if len(self.new) < MAX_NEW or uid in self.new:
            self.new[uid] = list_id


def since_looked(db: Database) -> list[str]:
    """Return the uids of the tasks that have changed since a screen last noted that the human had looked."""
    looked, unseen = screen_memory.looked(db), UnseenChanges()
    if looked is not None:
        unseen.note(overview.changes(db, looked.seq, MAX_NEW))
    return list(unseen.new)
