"""Undo: a new change, the inverse of the old one. Compaction drops what can no more be undone.

Compaction of the journal is the human's alone (docs: events-and-errors, `cursor_expired`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.commit.compaction import Base
from tui_tasks.core.commit.journal import UndoColumns
from tui_tasks.core.commit.rebalancing import Reranks
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import CannotUndo, Conflict, Forbidden, NotFound, NotProven
from tui_tasks.core.operations import CompactJournal, Redo, Revert, Undo
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.inverses import INVERSES, Places
from tui_tasks.core.rules.redo import RedoneEnds, brings_back, entries_of, is_revert, next_redo
from tui_tasks.core.rules.run_steps import refuse_inside_run
from tui_tasks.core.schema.tables import JournalRow as J
from tui_tasks.core.snapshots import Entry
from tui_tasks.text.times import MINUTE

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


# A change of more entries than this is checked whole before the first step of its undo is committed.
_SOON_DONE: Final = 500
# Changes of which a part is outside the database: git undoes it.
_NOT_BY_UNDO: Final = {
    "work.started": "it has started an agent",
    "work.merged": "it has merged work, which `tui-tasks work restore` undoes",
    "work.discarded": "it has discarded work, which `tui-tasks work restore` brings back",
    "work.restored": "it has brought work back: discard that instead",
    "work.commented": "the agent has the comments already",
}
_TASK_LATER = Statement(
    lambda: J.select(J.actor, J.change, J.undoes, J.entity, J.uid, J.new).where(
        (J.task == slot("task")) & (J.seq > slot("seq"))
    )
)
_JOB_LATER = Statement(
    lambda: J.select(J.actor, J.change, J.undoes, J.entity, J.uid, J.new).where(
        (J.entity == "job") & (J.uid == slot("uid")) & (J.seq > slot("seq"))
    )
)


@rule(Undo)
def undo(tx: Transaction, op: Undo) -> tuple[int, int]:
    """Undo one change of the speaker (docs: protocol, section 7, `control:undo`)."""
    change = op.change
    if change is None:
        change = _newest_of(tx, op)
    elif not journal.stands(tx.db, change):
        raise Conflict(f"change {change} has been undone already", seq=change)
    try:
        return undo_change(tx, change)
    except NotProven:
        # It is answered as any other way to set the task done: the checks are started, and a later try succeeds.
        raise
    except (Conflict, NotFound) as refused:
        before = _before(tx, op, change) if op.change is None and tx.actor == vocab.HUMAN else None
        raise CannotUndo(refused.message, change, before, **refused.data) from refused


def _before(tx: Transaction, op: Undo, change: int) -> int | None:
    """Return the change that is undone once another is passed over; None if there is none."""
    try:
        return _newest_of(tx, msgspec.structs.replace(op, passed_over=(*op.passed_over, change)))
    except Conflict:
        return None


def next_to_undo(db: Database, actor: str, op: Undo) -> int | None:
    """Return the change that `op`, which names none, would undo; None if there is none."""
    entries = entries_of(db, actor, journal.newest(db) + 1, lambda: None)
    return _newest_standing(db, actor, op, entries, None)


def newest_kinds(db: Database, actor: str) -> list[str]:
    """Return the kinds of an actor's newest entries, newest first."""
    return [kind for _, kind, _ in islice(entries_of(db, actor, journal.newest(db) + 1, lambda: None), 100)]


def is_going_back(db: Database, actor: str, now: int) -> bool:
    """Return whether an actor is going back: its newest change is an undo, or has brought work back, made in the last
    minute.
    """
    for change, kind, undoes in entries_of(db, actor, journal.newest(db) + 1, lambda: None):
        if brings_back(db, change) or (undoes is not None and not is_revert(db, change)):
            return now - journal.entry(db, change).at < MINUTE
        if kind in vocab.UNDOABLE:
            return False
    return False


def _newest_of(tx: Transaction, op: Undo) -> int:
    # The current batch, which asks for the undo, does not count.
    entries = entries_of(tx.db, tx.actor, tx.seq + 1, tx.pause)
    change = _newest_standing(tx.db, tx.actor, op, entries, tx.current)
    if change is None:
        where = f" in {op.project}" if op.project is not None else ""
        instead = ": u on the screen undoes what you did there" if tx.actor == vocab.SHELL else ""
        who_has = {vocab.HUMAN: "you have", vocab.SHELL: "the shell has"}.get(tx.actor, f"{tx.actor} has")
        raise Conflict(f"{who_has} no change to undo{where}{instead}")
    return change


def _newest_standing(db: Database, actor: str, op: Undo, entries: Iterator[Any], current: int | None) -> int | None:
    seen: set[int | None] = {current, *op.passed_over}
    has_hooks = session_queries.find(db, actor) is not None
    reverts, redone_ends = cache(partial(is_revert, db)), RedoneEnds(db)
    for change, kind, undoes in entries:
        # In a batch with an undo, other entries stand for themselves.
        if kind in vocab.UNDOABLE and change not in seen and (undoes is None or reverts(change)):
            seen.add(change)
            if not journal.stands(db, change) or (has_hooks and _is_reported_by_hooks(db, change)):
                continue
            if _is_brought_back(db, change, redone_ends):
                continue
            if op.project is not None and _is_elsewhere(db, change, op.project):
                continue
            if op.within is None or _is_within(db, change, op.within):
                return int(change)
    return None


def _is_reported_by_hooks(db: Database, change: int) -> bool:
    """Return whether hooks reported a change: it is about a session, or about the task of a prompt."""
    for part in journal.each_of_change(db, change):
        task = task_queries.any_task(db, part.task) if part.task is not None else None
        if part.kind.startswith("session.") or (task is not None and task.is_of_session):
            return True
    return False


def _is_brought_back(db: Database, change: int, redone_ends: RedoneEnds) -> bool:
    """Return whether a change has ended work that git has brought back since, or has brought work back itself, or has
    ended it again: that counts as its first end.
    """
    if not work_queries.has_any(db):
        return False
    if redone_ends.has(change):
        return True
    parts = list(journal.each_of_change(db, change))
    if any(part.kind == vocab.WORK_RESTORED for part in parts):
        return True
    ended = [part for part in parts if part.kind in vocab.WORK_ENDS]
    return bool(ended) and not any(work_queries.stands(work_queries.find(db, one.uid), one.kind) for one in ended)


def _is_within(db: Database, change: int, list_uid: str) -> bool:
    """Return whether a whole change is about one list and its tasks."""
    for part in journal.each_of_change(db, change):
        task = task_queries.any_task(db, part.task) if part.task is not None else None
        of_list = task_queries.list_by_id(db, task.list_id).uid if task is not None else part.uid
        if of_list != list_uid:
            return False
    return True


def _is_elsewhere(db: Database, change: int, project: str) -> bool:
    """Return whether a change is about lists and tasks, and all of them belong to other projects."""
    lists = set[str | None]()
    for part in journal.each_of_change(db, change):
        task = task_queries.any_task(db, part.task) if part.task is not None else None
        if task is not None:
            lists.add(task_queries.list_by_id(db, task.list_id).project)
        elif part.kind.startswith("list."):
            lists.add(task_queries.any_list(db, part.uid).project)
    return bool(lists) and lists.isdisjoint((project, None))


@rule(Redo)
def redo(tx: Transaction, op: Redo) -> tuple[int, int]:
    """Cancel the newest undo that stands, unless something was changed after it."""
    found = next_redo(tx.db, tx.actor, tx.seq + 1, tx.pause)
    if found is None:
        raise Conflict(f"{'you have' if tx.actor == vocab.HUMAN else f'{tx.actor} has'} no undo to redo")
    if found.change is None:
        raise Conflict("the end of a work was undone last: redo that on the screen, or end it by its review")
    return undo_change(tx, found.change)


@rule(Revert)
def revert(tx: Transaction, op: Revert) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Revert the changes that still stand. One whose tasks others have changed since is left, and reported."""
    taken, kept = 0, []
    for change in op.changes:
        before = tx.entries
        try:
            if not journal.stands(tx.db, change):
                raise Conflict("it has been undone already")
            parts = _parts_of(tx, change)
            for seq in parts.seqs:
                _refuse_if_touched(tx, journal.entry(tx.db, seq), change)
            _invert(tx, change, parts)
        except (Conflict, NotFound) as refused:
            if tx.entries != before:
                raise
            tx.undoes = None
            kept.append((change, refused.message))
        else:
            taken += 1
    return taken, tuple(kept)


class _Parts(NamedTuple):
    """The entries of a change that an undo inverts, and the places of the tasks that it has moved."""

    seqs: list[int]
    kinds: frozenset[str]
    last: int
    places: Places


def undo_change(tx: Transaction, change: int) -> tuple[int, int]:
    """Undo a change; return the seq of its last entry and its own."""
    parts = _parts_of(tx, change)
    if tx.in_steps and len(parts.seqs) > _SOON_DONE:
        # Refuse before the first step is committed, which others would see.
        for seq in parts.seqs:
            _refuse_if_touched(tx, journal.entry(tx.db, seq), change)
            tx.pause()
    _invert(tx, change, parts)
    return parts.last, change


def _parts_of(tx: Transaction, change: int) -> _Parts:
    """Return what an undo of a change inverts.

    Raises:
        Conflict: the change was compacted away.
        NotFound: there is nothing of it to invert.
    """
    base = compaction.base(tx.db)
    if base is not None and change <= base.last:
        # A part of the change may still be in the journal.
        raise Conflict("its entries were compacted away", seq=change)
    # Of a long change, only the positions of its entries are held in memory.
    seqs: list[int] = []
    kinds: set[str] = set()
    of_work: list[UndoColumns] = []
    last = change
    places = Places({}, Reranks(tx.db, change))
    for page in journal.of_change(tx.db, change):
        for part in page:
            last = part.seq
            if part.kind in _NOT_BY_UNDO:
                of_work.append(part)
            if part.kind in vocab.UNDOABLE:
                seqs.append(part.seq)
                kinds.add(part.kind)
            if part.has_rank:
                places.moved.setdefault(part.uid, part.seq)
        tx.pause()
    if of_work:
        raise Conflict(_why_not_by_undo(tx.db, of_work), seq=last)
    if not seqs:
        raise NotFound("change", str(change))
    return _Parts(seqs, frozenset(kinds), last, places)


def why_not_by_undo(db: Database, change: int) -> str | None:
    """Return why a change cannot be undone, as it is about work; None of any other change."""
    of_work = [part for part in journal.each_of_change(db, change) if part.kind in _NOT_BY_UNDO]
    return _why_not_by_undo(db, of_work) if of_work else None


def _why_not_by_undo(db: Database, of_work: list[UndoColumns]) -> str:
    kind = min(part.kind for part in of_work)
    then = _after_start(db, [part.uid for part in of_work]) if kind == "work.started" else ""
    return _NOT_BY_UNDO[kind] + then


def _after_start(db: Database, works: list[str]) -> str:
    """Return what to do instead of undoing the start of works."""
    states = {work_queries.find(db, uid).state for uid in works}
    if not states.isdisjoint(vocab.LIVE_WORK):
        return ": discard its work instead"
    return f", whose work is over ({', '.join(sorted(states))})"


def _invert(tx: Transaction, change: int, parts: _Parts) -> None:
    # From the beginning, so that a cleared list is seen to come back in its order.
    backwards = parts.kinds != {"task.deleted"}
    before, tx.undoes = tx.entries, change
    for seq in reversed(parts.seqs) if backwards else parts.seqs:
        entry = journal.entry(tx.db, seq)
        _refuse_if_touched(tx, entry, change)
        INVERSES[entry.entity](tx, entry, parts.places)
        tx.pause()
    tx.undoes = None
    if tx.entries == before:
        raise Conflict("others have used what it made since then", seq=parts.last)


def _refuse_if_touched(tx: Transaction, entry: Entry, change: int) -> None:
    """Refuse where somebody has changed the same fields since (docs: protocol, section 7)."""
    if entry.new is None or (entry.task is None and entry.entity != "job"):
        return
    made_or_gone = entry.old is None or "deleted" in entry.new
    fields = entry.new.keys() - vocab.BOOKKEEPING
    for actor, later, undoes, entity, uid, new in _later(tx.db, entry):
        if (
            actor in (tx.actor, vocab.SYSTEM)
            or later == change
            or undoes is not None
            or not journal.stands(tx.db, later)
        ):
            continue
        if entity == "claim":
            # Extending a claim changes nothing of the task; claiming and releasing have entries of the task's own.
            continue
        same_row = entity == entry.entity and uid == entry.uid
        overlap = same_row and new is not None and fields & journal.values_of(new).keys()
        if overlap or (made_or_gone and entry.entity in ("task", "job")):
            raise Conflict(f"{actor} has changed {_what(tx, entry)} since", id=entry.task or entry.uid, seq=later)


def _what(tx: Transaction, entry: Entry) -> str:
    task = task_queries.any_task(tx.db, entry.task) if entry.task is not None else None
    return named(task) if task is not None else "the same"


def _later(db: Database, entry: Entry) -> list[Any]:
    """Return the later entries about the task or job of an entry."""
    if entry.entity == "job":
        return db.all(_JOB_LATER, uid=entry.uid, seq=entry.seq)
    return db.all(_TASK_LATER, task=entry.task, seq=entry.seq)


@rule(CompactJournal)
def compact(tx: Transaction, op: CompactJournal) -> int:
    """Record which entries compaction removes; `compaction.drop_some` deletes them afterwards, in parts."""
    if tx.actor != vocab.HUMAN:
        raise Forbidden("only the human drops entries of the journal")
    refuse_inside_run(tx)
    tables = compaction.copied(tx.db, op.copy)
    oldest, hashed = compaction.old_entries(tx.db, op.last)
    if op.last > tables:
        raise Conflict("the tables were copied before that: nothing was dropped")
    tx.emit("journal.compacted", "journal", "", new={"last": op.last, "hash": hashed.hex(), "before": op.before})
    compaction.keep_base(tx.db, Base(tx.seq, op.last, hashed, tables, op.copy))
    return op.last + 1 - oldest
