"""Which tasks agents have changed or deleted since the human last looked: what `•` marks and `status:changed` finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.overview import Change, changes
from tui_tasks.core.unjournaled import local_values
from tui_tasks.core.vocab import HUMAN

MAX_NEW: Final = 10_000
"""At most so many tasks are noted."""
_OF_STATUSES: Final = {
    "failed": "failed",
    "done": "done",
    "in_progress": "started",
    "pending": "reopened",
    "skipped": "skipped",
    "cancelled": "cancelled",
}
LAPSED: Final = "claim lapsed"
CLOSED: Final = "question closed"
_OF_KINDS: Final = {
    "ask.opened": "asked",
    **dict.fromkeys(("ask.answered", "ask.timeout", "ask.withdrawn"), CLOSED),
    "check.finished": "checked",
    "claim.lapsed": LAPSED,
    "task.created": "new",
    "task.logged": "logged",
    "work.failed": "agent failed",
    "work.ready": "to review",
}
_NO_NEWS: Final = ("work.updated", "claim.extended")
"""What git or a forge says of a work, or the removal of its worktree, and heartbeats: they change nothing of a task."""
FAILED_WORDS: Final = ("failed", "agent failed", "check failed")
WORDS: Final = (
    *(*FAILED_WORDS, "stuck", "gone", "quiet", "asked", "to review"),
    *("done", "started", LAPSED, "reopened", "skipped", "cancelled", CLOSED, "checked", "new", "logged", "edited"),
)
"""What has happened to a task or its agent, in words, the most important first. Of a task the last of its statuses
counts more than what is noted of it; a claim that has lapsed says why the task is pending again.
"""
_RANKS: Final = {word: at for at, word in enumerate(WORDS) if word not in (*_OF_STATUSES.values(), LAPSED)}


class UnseenChanges:
    """Notes these tasks, each with its list and in a word what has happened to it.

    `deleted` is without those that agents had created since. `counts`: how many tasks there are of a list and a word.
    """

    def __init__(self) -> None:
        self.new: dict[str, int] = {}
        self.words: dict[str, str] = {}
        self.counts: Counter[tuple[int, str]] = Counter()
        self.deleted: dict[str, int] = {}
        self._made: set[str] = set()

    def to_json(self, since: int) -> dict[str, Any]:
        """Return what `unseen_before` reads; `since`: the instant from which on changes are new, in microseconds."""
        new = {uid: [home, self.words[uid]] for uid, home in self.new.items()}
        return {"since": since, "new": new, "deleted": self.deleted}

    def followed_by(self, later: UnseenChanges) -> UnseenChanges:
        """Return these changes with later ones."""
        joined = UnseenChanges()
        deleted = self.deleted | {uid: home for uid, home in later.deleted.items() if uid not in self._made}
        for each in (self, later):
            for uid, home in each.new.items():
                if uid not in later.deleted:
                    joined._put(uid, home, each.words[uid])
        joined.deleted = {uid: home for uid, home in deleted.items() if uid not in later.new}
        joined._made = self._made | later._made
        return joined

    def note(self, entries: Iterable[Change]) -> None:
        """Note what journal entries changed, oldest first."""
        for entry in entries:
            if entry.task is None or entry.list_id is None or entry.kind in _NO_NEWS:
                continue
            if entry.actor != HUMAN:
                word = _OF_STATUSES.get(entry.become or "") or _OF_KINDS.get(entry.kind, "edited")
                self._note_one(entry.kind, entry.task, entry.list_id, word)
            elif entry.kind in ("task.deleted", "ask.answered") or entry.become is not None:
                # The human has just decided about the task.
                self.forget(entry.task)
            elif entry.kind == "task.restored":
                self.deleted.pop(entry.task, None)

    def forget(self, uid: str) -> None:
        """Forget a task, which the human has seen."""
        if (home := self.new.pop(uid, None)) is not None:
            self.counts[home, self.words.pop(uid)] -= 1

    def _put(self, uid: str, home: int, word: str) -> None:
        """Note a task; a word that says less does not replace another."""
        before = self.words.get(uid, word)
        if uid in self.new:
            self.counts[self.new[uid], before] -= 1
        says_less = word in _RANKS and (before not in _RANKS or _RANKS[before] < _RANKS[word])
        says_less &= (before, word) != ("asked", CLOSED)
        self.new[uid], self.words[uid] = home, before if says_less else word
        self.counts[home, self.words[uid]] += 1

    def _note_one(self, kind: str, uid: str, list_id: int, word: str) -> None:
        if kind == "task.deleted":
            self.forget(uid)
            if uid not in self._made and len(self.deleted) < MAX_NEW:
                self.deleted[uid] = list_id
            return
        self.deleted.pop(uid, None)
        if kind == "task.created" and len(self._made) < MAX_NEW:
            self._made.add(uid)
        if len(self.new) < MAX_NEW or uid in self.new:
            self._put(uid, list_id, word)


def unseen_before(db: Database) -> tuple[UnseenChanges, int | None]:
    """Return the changes that the human had not seen when they last looked, and the instant from which on they count;
    None: from that look on.
    """
    unseen, kept = UnseenChanges(), local_values.get(db, local_values.UNSEEN) or {}
    for uid, (home, word) in kept.get("new", {}).items():
        unseen._put(uid, home, word)
    unseen.deleted = kept.get("deleted", {})
    return unseen, kept.get("since")


def since_looked(db: Database) -> list[str]:
    """Return the uids of the tasks with changes that the human has not seen, as a screen last noted that."""
    looked, (unseen, _) = local_values.looked(db), unseen_before(db)
    if looked is not None:
        unseen.note(changes(db, looked.seq, MAX_NEW))
    return list(unseen.new)
