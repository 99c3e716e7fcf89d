"""A journal entry as one line of the log shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import JOIN, SQL, Statement, fn, slot
from tui_tasks.core.journal import journal
from tui_tasks.core.read.jobs import job_queries, job_rows
from tui_tasks.core.read.log.log_kinds import FAILED_OUTCOMES, FAILURES, HIDDEN, WORD_OF_KIND
from tui_tasks.core.read.log.progress_folds import newest_of_run
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.schema.tables.journal import JournalRow
from tui_tasks.core.schema.tables.tasks import ListRow, TaskRow

J = JournalRow

# How many characters of a text a line shows.
MAX_TEXT: Final = 400
# How many entries before a failure are searched for its reason, if it is not in the entry itself.
_LOOK_BACK: Final = 20
_STATUSES_WITH_REASON: Final = ("failed", "skipped")


class LogLine(msgspec.Struct, frozen=True):
    """A journal entry as one line shows it. `old` and `new` are its values, long ones cut, without bookkeeping.

    `word` is its kind as in `KINDS`; `name` that of the task, list or job that it is about, a task's as it was called
    then; `rank` and `list_id` say where the task is now; `job` is the uid of the job; `reason` why a task failed or was
    skipped; `took` how long a run was, in microseconds; `is_redo` marks an undo that reverted another; `words` is how
    many progress entries this line stands for, itself included.
    """

    seq: int
    at: int
    actor: str
    kind: str
    word: str
    entity: str
    uid: str
    task: str | None
    undoes: int | None
    old: dict[str, Any]
    new: dict[str, Any]
    has_why: bool
    name: str | None
    list_id: int | None
    rank: str | None
    gone: bool
    job: str | None = None
    reason: str | None = None
    took: int | None = None
    is_redo: bool = False
    words: int = 1


def _is_undo_of_undo() -> Any:
    undone = J.alias()
    query = undone.select(SQL("1")).where((undone.seq == J.undoes) & undone.undoes.is_null(False))
    return fn.EXISTS(query)


_COLUMNS = (
    J.seq,
    J.at,
    J.actor,
    J.kind,
    J.entity,
    J.uid,
    J.task,
    J.change,
    J.undoes,
    J.old,
    J.new,
    J.why.is_null(False),
    _is_undo_of_undo(),
    # A created row has no image besides its values.
    fn.COALESCE(
        fn.json_extract(J.image, "$.name"),
        fn.IIF(J.kind == "task.created", fn.json_extract(J.new, "$.name"), None),
        TaskRow.name,
    ),
    TaskRow.list_id,
    TaskRow.rank,
    fn.IIF(queries.IN_LIVE_LIST, TaskRow.deleted, 1),
)


def _shown() -> Any:
    """Return the condition that an entry is shown: entries of mere bookkeeping are not."""
    kept = fn.IIF(J.kind == "job.decided", fn.COALESCE(fn.json_extract(J.new, "$.decision"), "ran"), "") != "ran"
    return J.kind.not_in(HIDDEN) & kept


def is_shown_with_previous() -> Any:
    """Return the condition that the entry right before shows this one as its reason."""
    before = J.alias()
    same = (before.seq == J.seq - 1) & (before.change == J.change) & (before.task == J.task)
    ended = fn.json_extract(before.new, "$.status").in_(_STATUSES_WITH_REASON)
    query = before.select(SQL("1")).where(same & (before.kind == "task.updated") & ended)
    return (J.kind == "task.logged") & fn.EXISTS(query)


def lines_query() -> Any:
    """Return the query for the rows that `read_line` reads, of all entries that are shown."""
    return J.select(*_COLUMNS).join(TaskRow, JOIN.LEFT_OUTER, on=(TaskRow.uid == J.task)).where(_shown())


_NEXT_ENTRY = Statement(J.select(J.change, J.task, J.kind, J.new).where(J.seq == slot("seq")))
_BEFORE_OF_TASK = Statement(
    J.select(J.kind, J.new)
    .where((J.task == slot("task")) & (J.seq < slot("seq")))
    .order_by(J.seq.desc())
    .limit(_LOOK_BACK)
)
_LIST_NAME = Statement(ListRow.select(ListRow.name).where(ListRow.uid == slot("uid")))


def read_line(db: Database, row: Any, fold: int | None = None) -> LogLine:
    """Return the line of a row of `lines_query`; with `fold` it stands for its run of progress up to that entry."""
    seq, at, actor, kind, entity, uid, task, change, undoes, old, new, has_why, redo, name, list_id, rank, gone = (
        journal.as_text(row)
    )
    was, now = _values(old), _values(new)
    more: dict[str, Any] = {"name": name}
    if entity == "task" and kind == "task.updated" and now.get("status") in _STATUSES_WITH_REASON:
        more["reason"] = _reason(db, seq, change, task, now)
    elif entity in ("run", "job"):
        more = _of_job(db, entity, uid, now)
    elif entity == "list":
        more["name"] = name or _name_of_list(db, uid)
    elif fold is not None and seq <= fold and kind == "task.logged" and undoes is None:
        more["words"] = max(1, len(newest_of_run(db, actor, task, seq)))
    return LogLine(
        seq, at, actor, kind, _word(kind, entity, now), entity, uid, task, undoes, was, now, bool(has_why),
        list_id=list_id, rank=rank, gone=bool(gone), is_redo=bool(redo), **more,
    )  # fmt: skip


def _word(kind: str, entity: str, new: dict[str, Any]) -> str:
    """Return the word of `KINDS` for an entry: that of its kind, unless its values say that something has failed."""
    if kind == "task.updated":
        if entity != "task" or "status" not in new:
            return "edit"
        return "fail" if new["status"] == "failed" else "status"
    has_failed = (
        kind in FAILURES
        or (kind == "check.finished" and new.get("state") == "failed")
        or (entity in ("run", "job") and new.get("outcome") in FAILED_OUTCOMES)
    )
    return "fail" if has_failed else WORD_OF_KIND.get(kind, kind.partition(".")[0])


def _values(text: str | None) -> dict[str, Any]:
    """Return the values of an entry without bookkeeping, long ones cut."""
    held = msgspec.json.decode(text) if text is not None else {}
    return {name: _short(value) for name, value in held.items() if name not in vocab.BOOKKEEPING}


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, list):
        return [each[:MAX_TEXT] if isinstance(each, str) else each for each in value[:20]]
    return None if isinstance(value, dict) else value


def _reason(db: Database, seq: int, change: int, task: str, new: dict[str, Any]) -> str | None:
    """Return why a task failed or was skipped: the entry's reason, else its result, else the last log entry."""
    row = db.one(_NEXT_ENTRY, seq=seq + 1)
    if row is not None and row[:3] == (change, task, "task.logged"):
        return str(_values(row[3]).get("message", ""))
    if isinstance(new.get("result"), str):
        return str(new["result"])
    rows: Iterable[Any] = db.all(_BEFORE_OF_TASK, task=task, seq=seq)
    return next((str(_values(said).get("message", "")) for kind, said in rows if kind == "task.logged"), None)


def _of_job(db: Database, entity: str, uid: str, new: dict[str, Any]) -> dict[str, Any]:
    """Return the uid and the name of the job of an entry, and how long a run that has ended was, and why it failed."""
    run = job_rows.run_line(db, uid) if entity == "run" else None
    job_uid = run.job_uid if run is not None else new.get("job_uid", uid)
    job = job_queries.any_job(db, job_uid)
    told: dict[str, Any] = {"job": job_uid, "name": job.name if job is not None else None}
    if run is not None and new.get("state") == "final":
        told |= {"took": run.took, "reason": run.why or None}
    return told


def _name_of_list(db: Database, uid: str) -> str | None:
    row = db.one(_LIST_NAME, uid=uid)
    return row[0] if row else None


def run_of(db: Database, line: LogLine) -> list[tuple[int, str]]:
    """Return the progress entries that a line stands for, newest first, each with its instant."""
    rows = map(journal.as_text, newest_of_run(db, line.actor, line.task, line.seq))
    return [(at, str(_values(new).get("message", ""))) for *_, at, new in rows]


assert set(_STATUSES_WITH_REASON) < set(vocab.STATUSES)
