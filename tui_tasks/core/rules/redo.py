"""Redo: which undo it cancels next. Git undoes the end of a work, a merge or a discard, and ends the work again:
here it is only found which of all undos is the newest that stands.

A work that ends again is redone if neither its agent nor the human has done something about it since it was brought
back. It keeps the place of its first end among the changes to undo.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, Final, NamedTuple

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, slot
from tui_tasks.core.read import work_queries
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.vocab import WORK_ENDS, WORK_RESTORED

_BY_ACTOR = Statement(
    lambda: (
        J.select(J.seq, J.change, J.kind, J.undoes)
        .where((J.actor == slot("actor")) & (J.seq < slot("below")))
        .order_by(J.seq.desc())
        .limit(slot("limit"))
    )
)
_PAGE: Final = 100
_Undone: Any = J.alias("undone")
_REVERTED = Statement(
    lambda: (
        J.select(SQL("1"))
        .join(_Undone, on=(_Undone.seq == J.undoes))
        .where((J.seq == slot("change")) & (J.actor != _Undone.actor))
    )
)
_BEFORE: Final = f"""
SELECT kind FROM journal WHERE task = ? AND uid = ? AND seq < ?
AND kind IN {(WORK_RESTORED, *WORK_ENDS, "work.ready", "work.commented", "work.failed")} ORDER BY seq DESC LIMIT 2
"""


class NextRedo(NamedTuple):
    """What a redo does next: cancel the undo `change`, or end the work `work` again."""

    change: int | None = None
    work: str | None = None


class _WorkEnd(NamedTuple):
    """What a change did to works: it ended them, or brought them back. `last`: its last entry about a work."""

    kind: str
    uids: tuple[str, ...]
    last: journal.UndoColumns


def entries_of(db: Database, actor: str, below: int, pause: Callable[[], None]) -> Iterator[Any]:
    """Yield change, kind and what it undoes of an actor's entries, newest first; the one wanted is seldom far."""
    while page := db.all(_BY_ACTOR, actor=actor, below=below, limit=_PAGE):
        for below, *entry in page:  # noqa: B007 - the next page begins below the last of this one
            yield entry
        pause()


def is_revert(db: Database, change: int) -> bool:
    """Return whether a change undid one of another actor. Like any change of its own, it can be undone."""
    return db.one(_REVERTED, change=change) is not None


class RedoneEnds:
    """Tells which changes have redone the end of works. Each is looked at once, as it depends on those before it."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.end = cache(partial(_work_end, db))
        self._known: dict[int, bool] = {}

    def has(self, change: int) -> bool:
        """Return whether a change has redone the end of works, a merge or a discard."""
        if change not in self._known:
            actor = journal.entry(self._db, change).actor
            # From the oldest: then none is decided within another, however many there are.
            for one in reversed(self._undecided(change, actor)):
                self._known[one] = self._is_again(one, actor)
        return self._known[change]

    def _undecided(self, change: int, actor: str) -> list[int]:
        """Return a change, and the ends of works before it on which it depends, the newest first."""
        found = [change]
        for older, kind, undoes in entries_of(self._db, actor, change, lambda: None):
            if older in self._known or (self.end(older) is None and undoes is None and kind in vocab.UNDOABLE):
                break
            if older != found[-1] and self.end(older) is not None:
                found.append(older)
        return found

    def _is_again(self, change: int, actor: str) -> bool:
        end = self.end(change)
        if end is None or end.kind not in WORK_ENDS:
            return False
        before = [row[0] for row in self._db.sql(_BEFORE, (end.last.task, end.last.uid, end.last.seq)).fetchall()]
        return before == [WORK_RESTORED, end.kind] and _next(self._db, actor, change, self) == NextRedo(
            work=end.last.uid
        )


def next_redo(
    db: Database, actor: str, below: int | None = None, pause: Callable[[], None] = lambda: None
) -> NextRedo | None:
    """Return what a redo of an actor does next; None if nothing was undone since its newest change.

    `below`: the seq above its newest entry that counts; None: all do.
    """
    found = _next(db, actor, below or journal.newest(db) + 1, RedoneEnds(db), pause)
    if found is None:
        return None
    is_open = journal.stands(db, found.change) if found.change is not None else is_back(db, found.work or "")
    return found if is_open else None


def _next(
    db: Database, actor: str, below: int, redone_ends: RedoneEnds, pause: Callable[[], None] = lambda: None
) -> NextRedo | None:
    """Return what a redo did next when the newest entry was below a seq."""
    reverts, seen = cache(partial(is_revert, db)), set[int]()
    # Undos that were cancelled later, and how often works were ended again.
    redone, again = set[int](), Counter[str]()
    has_work = work_queries.has_any(db)
    for change, kind, undoes in entries_of(db, actor, below, pause):
        if change in seen:
            continue
        end = redone_ends.end(change) if has_work and undoes is None else None
        if end is not None:
            seen.add(change)
            if end.kind in WORK_ENDS and not redone_ends.has(change):
                return None
            for uid in end.uids:
                if end.kind in WORK_ENDS:
                    again[uid] += 1
                elif again[uid]:
                    again[uid] -= 1
                else:
                    return NextRedo(work=uid)
        elif undoes is None or reverts(change):
            if kind in vocab.UNDOABLE:
                return None
        elif journal.undoes(db, undoes) is not None and not reverts(undoes):
            redone.add(undoes)
        elif change not in redone:
            return NextRedo(change=change)
    return None


def brings_back(db: Database, change: int) -> bool:
    """Return whether a change has brought works back."""
    return work_queries.has_any(db) and (end := _work_end(db, change)) is not None and end.kind == WORK_RESTORED


def is_back(db: Database, uid: str) -> bool:
    """Return whether the last end of a work, a merge or a discard, was undone, and none has followed."""
    work = work_queries.find(db, uid)
    seq = work_queries.last_entry(db, work, WORK_RESTORED)
    ends = (work_queries.last_entry(db, work, kind) for kind in (*WORK_ENDS, "work.failed"))
    if (
        seq is None
        or work.state not in (*vocab.LIVE_WORK, "failed")
        or any(end is not None and end > seq for end in ends)
    ):
        return False
    return (journal.entry(db, seq).old or {}).get("state") != "failed"


def _work_end(db: Database, change: int) -> _WorkEnd | None:
    """Return what a change did to works; None if it did nothing to any."""
    parts = [part for part in journal.each_of_change(db, change) if part.kind in (WORK_RESTORED, *WORK_ENDS)]
    # A merge discards the other works of its task: it comes last.
    return _WorkEnd(parts[-1].kind, tuple(part.uid for part in parts), parts[-1]) if parts else None
