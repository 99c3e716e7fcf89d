"""Pages of the journal for people, by entry number, at a cost that does not grow with the journal."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, fn, slot
from tui_tasks.core.read.log.log_filter import conditions
from tui_tasks.core.read.log.log_lines import LogLine, is_shown_with_previous, lines_query, read_line
from tui_tasks.core.read.log.progress_folds import is_followed_by_progress
from tui_tasks.core.read.pages.filter import ALL, Filter
from tui_tasks.core.schema.tables.journal import JournalRow

J = JournalRow

# With a filter, reading stops early after this many entries, so that it does not block.
MAX_PASSED: Final = 3_000
FIRST: Final = 0
LAST: Final = 2**62


class LogPage(list[LogLine]):
    """Entries, oldest first. `reached`: the number at which reading was stopped early, to go on from."""

    reached: int | None = None


_EACH = lines_query().where(~is_shown_with_previous())
_AFTER = Statement(_EACH.where(J.seq > slot("seq")).order_by(J.seq).limit(slot("limit")))
_BEFORE = Statement(_EACH.where(J.seq < slot("seq")).order_by(J.seq.desc()).limit(slot("limit")))
_ONE = Statement(_EACH.where(J.seq == slot("seq")))
_FOLDED = _EACH.where(~is_followed_by_progress(slot("fold")))
_FOLDED_AFTER = Statement(
    _FOLDED.where((J.seq > slot("seq")) & (J.seq <= slot("end"))).order_by(J.seq).limit(slot("limit"))
)
_FOLDED_BEFORE = Statement(
    _FOLDED.where((J.seq < slot("seq")) & (J.seq >= slot("end"))).order_by(J.seq.desc()).limit(slot("limit"))
)
_FOLDED_ONE = Statement(_FOLDED.where(J.seq == slot("seq")))
# Two queries, as SQLite would go through the whole journal for both at once.
_OLDEST = Statement(J.select(fn.COALESCE(fn.MIN(J.seq), 1)))
_NEWEST = Statement(J.select(fn.COALESCE(fn.MAX(J.seq), 0)))


def page(
    db: Database, seq: int, limit: int, only: Filter = ALL, *, backwards: bool = False, fold: int | None = None
) -> LogPage:
    """Return the next `limit` entries after a number (`FIRST`: all), or the last before it (`LAST`), oldest first.

    With `fold`, each run of one agent's progress on one task is represented by its last entry up to that number. It
    cannot be combined with a filter.
    """
    if only or fold is not None:
        return _pass_over(db, seq, limit, only, backwards=backwards, fold=fold)
    rows = db.all(_BEFORE if backwards else _AFTER, seq=seq, limit=limit)
    return LogPage(read_line(db, row) for row in (reversed(rows) if backwards else rows))


def _pass_over(db: Database, seq: int, limit: int, only: Filter, *, backwards: bool, fold: int | None) -> LogPage:
    oldest, newest = edges(db)
    seq = min(max(seq, oldest - 1), newest + 1)
    end = seq - MAX_PASSED if backwards else seq + MAX_PASSED
    if len(only.terms) == 1 and only.terms[0].field == "who" and not only.terms[0].negated:
        # The index finds an actor's entries fast, however few they are.
        end = FIRST if backwards else LAST
    if fold is not None:
        folded = _FOLDED_BEFORE if backwards else _FOLDED_AFTER
        rows = db.all(folded, fold=fold, seq=seq, end=end, limit=limit)
        rows = list(reversed(rows)) if backwards else rows
    else:
        rows = _wanted_rows(db, seq, end, limit, only, backwards=backwards)
    found = LogPage(read_line(db, row, fold) for row in rows)
    if len(found) < limit and oldest < end < newest:
        found.reached = end
    return found


def _wanted_rows(db: Database, seq: int, end: int, limit: int, only: Filter, *, backwards: bool) -> list[Any]:
    query = lines_query().where(*conditions(db, only)).limit(limit)
    if backwards:
        return list(reversed(db.query(query.where(J.seq < seq, J.seq >= end).order_by(J.seq.desc()))))
    return db.query(query.where(J.seq > seq, J.seq <= end).order_by(J.seq))


def find(db: Database, seqs: Collection[int], only: Filter = ALL, fold: int | None = None) -> dict[int, LogLine]:
    """Return those of the entries that match the filter, by number; `fold` as in `page`."""
    if not only:
        one, values = (_ONE, {}) if fold is None else (_FOLDED_ONE, {"fold": fold})
        rows = [row for seq in seqs if (row := db.one(one, seq=seq, **values)) is not None]
    else:
        rows = db.query(lines_query().where(J.seq.in_(list(seqs)), *conditions(db, only)))
    return {row[0]: read_line(db, row, fold) for row in rows}


def edges(db: Database) -> tuple[int, int]:
    """Return the numbers of the oldest stored entry and of the newest; (1, 0) if there is none."""
    return db.one(_OLDEST)[0], db.one(_NEWEST)[0]
