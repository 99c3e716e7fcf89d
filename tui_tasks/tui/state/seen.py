"""What the human has seen: what agents have changed since they looked last, and what was dismissed; and taking
that back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import overview, unseen_changes
from tui_tasks.core.read.overview import Change, StateChanges
from tui_tasks.core.read.unseen_changes import MAX_NEW, UnseenChanges
from tui_tasks.core.unjournaled import local_values
from tui_tasks.core.unjournaled.local_values import Looked, key_of_agent

MAX_DISMISSED: Final = 1_000


class Marks(msgspec.Struct, frozen=True):
    """What was new to the human, as `Seen` has it."""

    looked: Looked
    since: int
    dismissed_at: int
    dismissed: Mapping[str, int]
    put_off: Mapping[str, int]
    unseen: UnseenChanges | None
    """None: no change was marked as seen."""


class Seen:
    """What the human has seen.

    - `looked`: when they looked last, and the newest entry then. `since`: the instant from which on changes are new: an
      earlier one, if they have left some unseen. `dismissed_at`: when they dismissed all failures.
    - `dismissed`: when they dismissed what needed them, by the keys of `open_needs.Need`.
    - `put_off`: the questions that they have put off, each with the instant until which it is.
    - `offered`: the failures of which they were told last that they can be dismissed, in words, and when, `offered_at`.
    """

    def __init__(self, db: Database, now: int, lists: Callable[[], Mapping[int, object]], *, is_past: bool) -> None:
        """`lists` returns the lists that are there, by number. `is_past`: the past is shown, where nothing is new."""
        self._db = db
        self._lists = lists
        self._is_past = is_past
        self._unseen, since = (UnseenChanges(), None) if is_past else unseen_changes.unseen_before(db)
        self.dismissed_at = 0
        self.dismissed: dict[str, int] = {}
        self.read_dismissed(now)
        self.put_off: dict[str, int] = {} if is_past else local_values.put_off(db, now)
        self.offered: tuple[str, ...] = ()
        self.offered_at = 0
        # What was new, and not dismissed, before each of these acts, until the human changes something.
        self._before_seen: list[Marks] = []
        self.looked = local_values.looked(db) or Looked(0 if is_past else journal.newest(db), now)
        self.since = since or self.looked.at
        self.note(overview.changes(db, self.looked.seq, MAX_NEW))

    def read_dismissed(self, now: int) -> None:
        """Read what the human had dismissed at an instant."""
        away = local_values.dismissed(self._db, now)
        self.dismissed_at, self.dismissed = away.at, away.by_key

    def note(self, entries: Iterable[Change]) -> None:
        """Note what entries of the journal have changed."""
        if not self._is_past:
            self._unseen.note(entries)

    def forget_marks(self) -> None:
        """Let nothing be taken back any more, as the human has changed something since."""
        self._before_seen.clear()

    def all_seen(self, now: int) -> None:
        """Mark everything as seen. Failures stay above the panes."""
        if self.new or self.deleted or not self._before_seen:
            self._before_seen.append(self._marks(self._unseen))
        self.looked, self.since = Looked(journal.newest(self._db), now), now
        self._unseen = UnseenChanges()

    def leave(self, now: int) -> None:
        """Note that the human leaves: what they have not seen stays new."""
        self.looked = Looked(journal.newest(self._db), now)
        if not self.new and not self.deleted:
            self.since = now

    @property
    def unseen(self) -> dict[str, Any]:
        """What to remember under `local_values.UNSEEN`, before `looked`."""
        return self._unseen.to_json(self.since)

    def _marks(self, unseen: UnseenChanges | None) -> Marks:
        return Marks(self.looked, self.since, self.dismissed_at, self.dismissed, self.put_off, unseen)

    def dismiss_failures(self, now: int) -> None:
        """Dismiss past failures."""
        self._before_seen.append(self._marks(None))
        self.dismissed_at = now

    def dismiss(self, key: str, now: int, failed: str | None = None) -> None:
        """Dismiss what needs the human, by its key, until it needs them again. Of a task that `failed` that is seen."""
        self._before_seen.append(self._marks(None))
        self.dismissed = {**dict(list(self.dismissed.items())[-MAX_DISMISSED + 1 :]), key: now}
        if failed is not None:
            self._unseen.forget(failed)

    def put_question_off(self, uid: str, until: int) -> bool:
        """Put a question off until an instant, or take it up again if it was; return whether it is put off now."""
        self._before_seen.append(self._marks(None))
        others = {other: instant for other, instant in self.put_off.items() if other != uid}
        is_off = uid not in self.put_off
        self.put_off = others | ({uid: until} if is_off else {})
        return is_off

    def take_up(self, now: int) -> bool:
        """Take up the questions that were put off until now; return whether there were any."""
        before = self.put_off
        if any(until <= now for until in before.values()):
            self.put_off = {uid: until for uid, until in before.items() if until > now}
        return self.put_off is not before

    def follow_put_off(self, now: int) -> bool:
        """Take over what was put off or taken up in another screen; return whether anything was."""
        put_off = {} if self._is_past else local_values.put_off(self._db, now)
        if put_off == self.put_off:
            return False
        self.put_off = put_off
        return True

    def shows_agent(self, name: str, at: int) -> bool:
        """Return whether an agent's failure at an instant was not dismissed."""
        return at > max(self.dismissed_at, self.dismissed.get(key_of_agent(name), -1))

    @property
    def new(self) -> dict[str, int]:
        """Uid to list of each task that agents have changed since the human `looked`."""
        return self._unseen.new

    @property
    def deleted(self) -> dict[str, int]:
        """The same for tasks that they have deleted, except those that they had created since."""
        return self._unseen.deleted

    def follow_looked(self) -> set[str]:
        """Take over when the human looked last in another screen, as this one only reads; return the tasks that are not
        new any more, or new again.
        """
        looked, was = local_values.looked(self._db), set(self.new)
        if self._is_past or looked is None or looked == self.looked:
            return set()
        self._unseen, since = unseen_changes.unseen_before(self._db)
        self.looked, self.since = looked, since or looked.at
        self.note(overview.changes(self._db, looked.seq, MAX_NEW))
        return was ^ self.new.keys()

    def changed_tasks(self) -> list[str]:
        """Return the uids of the tasks in `new` whose lists are still there."""
        return [uid for uid, number in self.new.items() if number in self._lists()]

    def change_counts(self) -> Counter[str]:
        """Return how many of these tasks have each of the words of `unseen_changes.UnseenChanges`."""
        found: Counter[str] = Counter()
        for (number, word), tasks in self._unseen.counts.items():
            if number in self._lists():
                found[word] += tasks
        return +found

    def named_changes(self) -> Iterator[tuple[str, str]]:
        """Yield the uid of each of these tasks with its word."""
        return ((uid, self._unseen.words[uid]) for uid in self.changed_tasks())

    def word_of(self, uid: str) -> str:
        """Return the word of one of these tasks."""
        return self._unseen.words[uid]

    @property
    def has_changes(self) -> bool:
        """Whether there are such tasks, or deleted ones."""
        return bool(self.deleted or self.change_counts())

    def is_new(self, at: int | None, task: str | None = None) -> bool:
        """Return whether something has come since the human looked; with a task, not once its changes were seen."""
        return (at or 0) > self.looked.at if task is None else (at or 0) > self.since and task in self.new

    def unsee(self) -> bool | None:
        """Take back the last `all_seen`, `dismiss_failures`, `dismiss` or `put_question_off`; return whether
        anything was dismissed or put off.

        None: none was done, or the human has changed something since.
        """
        if not self._before_seen:
            return None
        before = self._before_seen.pop()
        self.looked, self.since = before.looked, before.since
        self.dismissed_at, self.dismissed, self.put_off = (
            before.dismissed_at,
            dict(before.dismissed),
            dict(before.put_off),
        )
        if before.unseen is not None:
            self._unseen = before.unseen.followed_by(self._unseen)
        return before.unseen is None

    def see(self, changes: StateChanges, was_new: Collection[str], on_screen: Collection[str]) -> set[str]:
        """Count the changes of tasks on screen as seen, of those that were not new before; return these tasks.

        Nobody follows a flood of changes. A failure is marked until the human opens its task or says that all is seen.
        """
        changed = () if changes.all else [uid for uid in on_screen if uid in self.new and uid not in was_new]
        seen = {uid for uid in changed if self.word_of(uid) not in unseen_changes.FAILED_WORDS}
        for uid in seen:
            self._unseen.forget(uid)
        return seen

    def read(self, uid: str) -> bool:
        """Count the changes of a task that the human has opened as seen; return whether it was new."""
        was_new = uid in self.new
        self._unseen.forget(uid)
        return was_new
