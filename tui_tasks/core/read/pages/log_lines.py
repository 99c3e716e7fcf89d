"""A journal entry as one line of the log: its kind by name, its text, and how many entries it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal, rebalancing
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import JOIN, SQL, Statement, fn, slot
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import job_lines, job_queries
from tui_tasks.core.read.pages import log_folds
from tui_tasks.core.read.pages.log_folds import MAX_FOLDED, GoodRuns
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.schema.tables import JournalRow, ListRow, TaskRow

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "new": ("task.created", "list.created", "job.created"),
    "status": ("task.updated",),
    "fail": ("task.updated", "run.finished", "check.finished", "tool.failed", "session.failed"),
    "log": ("task.logged",),
    "edit": ("task.updated", "list.updated", "job.updated"),
    "move": ("task.moved",),
    "delete": ("task.deleted", "list.deleted", "job.deleted"),
    "back": ("task.restored", "list.restored", "job.restored"),
    "link": ("task.linked",),
    "save": ("state.saved", "memory.saved"),
    "ask": ("ask.opened",),
    "close": ("ask.timeout", "ask.withdrawn"),
    "answer": ("ask.answered", "ask.timeout", "ask.withdrawn"),
    "claim": ("claim.taken", "claim.extended", "claim.released", "claim.finished", "claim.lapsed", "claim.restored"),
    "run": ("run.requested", "run.started", "run.finished", "job.decided"),
    "tell": ("message.sent", "message.delivered", "message.withdrawn", "message.returned", "message"),
    "pause": ("agent.paused",),
    "resume": ("agent.resumed",),
    "refuse": ("agent.refused",),
    "terminal": ("terminal.used",),
    "review": ("task.accepted", "task.declined"),
    "stuck": ("agent.stuck", "agent.unstuck"),
    "check": ("check.finished", "check.requested", "check.waived", "check.stale", "check.defined"),
    "settings": ("settings.recorded", "list.auto"),
    "session": (
        *("session.started", "session.prompted", "session.waiting", "session.idle"),
        *("session.failed", "session.interrupted", "session.ended"),
    ),
    "tool": ("tool.failed",),
    "work": (
        *("work.started", "work.ready", "work.commented", "work.merged", "work.conflict", "work.discarded"),
        *("work.restored", "work.failed", "work.limit", "work.updated"),
    ),
    "compact": ("journal.compacted",),
}
"""For each word of a filter, the kinds of journal entries that it selects."""
WORD_OF_KIND: Final = {kind: word for word, kinds in reversed(KINDS.items()) if word != "fail" for kind in kinds}
FAILURES: Final = ("tool.failed", "session.failed")
# Entries that are not shown: the scheduler's bookkeeping, reordering of lists, and steps of checks.
HIDDEN: Final = (
    *("job.advanced", "job.pruned", "job.stopping", "run.agent", rebalancing.RERANK),
    *("check.queued", "check.started", "check.ended", "check.pruned"),
)
NEWS_OF_WORK: Final = ("state", "summary", "limits", "pull_request", "terminal", "machine")
"""The columns of a work whose new value is news for people."""

J = JournalRow

# How many characters of a text a line shows.
MAX_TEXT: Final = 400
_STATUSES_WITH_REASON: Final = ("failed", "skipped")
_NO_RUNS: Final[Mapping[int, GoodRuns]] = MappingProxyType({})
_NO_JOBS: Final[Mapping[int, str]] = MappingProxyType({})


class LogLine(msgspec.Struct, frozen=True):
    """A journal entry as one line shows it. `old` and `new` are its values, long ones cut, without bookkeeping.

    `word` is its kind as in `KINDS`; `name` that of the task, list or job that it is about, a task's as it was called
    then; `number` is the task's, `list_id` its list now; `job` is the uid of the job; `reason` why a task failed or was
    skipped; `took` how long a run was, in microseconds; `is_redo` marks an undo that reverted another; `count` is how
    many progress entries, moves or good runs this line stands for, itself included; `has_more`: there are more;
    `holder` is the agent whose claim, session or work somebody else has changed, or who asked; `asked` is the question
    that an entry is about.
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
    number: int | None
    gone: bool
    job: str | None = None
    reason: str | None = None
    took: int | None = None
    is_redo: bool = False
    count: int = 1
    has_more: bool = False
    holder: str | None = None
    asked: str | None = None


def is_undo_of_undo() -> Any:
    """Return the condition that an entry undoes an undo."""
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
    J.undoes,
    J.old,
    J.new,
    J.why.is_null(False),
    is_undo_of_undo(),
    # A created row has no image besides its values.
    fn.COALESCE(
        journal.value_of(J.image, "name"),
        fn.IIF(J.kind == "task.created", journal.value_of(J.new, "name"), None),
        TaskRow.name,
    ),
    TaskRow.list_id,
    TaskRow.id,
    fn.IIF(task_queries.IN_LIVE_LIST, TaskRow.deleted, 1),
)


def _is_shown() -> Any:
    """Return the condition that an entry is shown: entries of mere bookkeeping are not."""
    kept = fn.IIF(J.kind == "job.decided", fn.COALESCE(journal.value_of(J.new, "decision"), "ran"), "") != "ran"
    # Other columns of a work hold steps of git, and what brings it back.
    news = fn.COALESCE(*(fn.NULLIF(journal.value_of(J.new, name), "") for name in NEWS_OF_WORK), "")
    has_news = fn.IIF(J.kind == "work.updated", news, "news") != ""
    # A session starts once, then its process is known; one that had ended starts again.
    begun = fn.COALESCE(journal.value_of(J.new, "uid"), fn.json_type(J.new, "$.ended_at"), "")
    starts = fn.IIF(J.kind == "session.started", fn.IIF(fn.json_valid(J.new), begun, ""), "starts") != ""
    return J.kind.not_in(HIDDEN) & kept & has_news & starts


def is_shown_with_previous() -> Any:
    """Return the condition that the entry right before shows this one as its reason, having no other."""
    before = J.alias()
    same = (before.seq == J.seq - 1) & (before.change == J.change) & (before.task == J.task)
    ended = journal.value_of(before.new, "status").in_(_STATUSES_WITH_REASON)
    query = before.select(SQL("1")).where(same & (before.kind == "task.updated") & ended & before.why.is_null())
    return (J.kind == "task.logged") & fn.EXISTS(query)


def lines_query() -> Any:
    """Return the query for the rows that `read_line` reads, of all entries that are shown."""
    return J.select(*_COLUMNS).join(TaskRow, JOIN.LEFT_OUTER, on=(TaskRow.uid == J.task)).where(_is_shown())


def numbers_query() -> Any:
    """Return the query for the numbers of all entries that are shown."""
    return J.select(J.seq).where(_is_shown())


_TASK = Statement(
    lambda: TaskRow.select(
        TaskRow.name, TaskRow.list_id, TaskRow.id, fn.IIF(task_queries.IN_LIVE_LIST, TaskRow.deleted, 1)
    ).where(TaskRow.uid == slot("task"))
)
_LIST_NAME = Statement(lambda: ListRow.select(ListRow.name).where(ListRow.uid == slot("uid")))


def read_line(
    db: Database,
    row: Any,
    fold: int | None = None,
    runs: Mapping[int, GoodRuns] = _NO_RUNS,
    jobs: Mapping[int, str] = _NO_JOBS,
) -> LogLine:
    """Return the line of a row of `lines_query`; with `fold` it stands for what is folded up to that entry, of `runs`.

    `jobs` has the jobs of entries about runs that are not kept.
    The line of an entry whose values cannot be read has none.
    """
    try:
        return _line(db, row, fold, runs, jobs)
    except journal.UNREADABLE:
        return _line(db, (*row[:8], None, None, *row[10:]), fold, runs, jobs)


def _line(db: Database, row: Any, fold: int | None, runs: Mapping[int, GoodRuns], jobs: Mapping[int, str]) -> LogLine:
    seq, at, actor, kind, entity, uid, task, undoes, old, new, has_why, redo, name, list_id, number, gone = (
        journal.as_text(row)
    )
    was, now = _values(old), _values(new)
    more: dict[str, Any] = {"name": name}
    if entity == "task" and kind == "task.updated" and now.get("status") in _STATUSES_WITH_REASON:
        more["reason"] = _reason(db, task, str(now["status"]), seq)
    elif entity in ("run", "job"):
        more = _of_job(db, entity, uid, now, jobs.get(seq, uid))
    elif entity == "list":
        more["name"] = name or _name_of_list(db, uid)
    elif kind == "task.logged" and actor == vocab.HUMAN:
        more["holder"] = db.scalar(_SENT_WITH, (actor, seq - _NEAR, seq, seq))
    elif entity in ("claim", "session", "work") and (holder := _holder(db, entity, uid)) not in (None, actor):
        more["holder"] = holder
    word = _word(kind, entity, now)
    if fold is not None and seq <= fold and undoes is None:
        if kind in log_folds.FOLDED:
            more["count"] = max(1, len(log_folds.newest_progress(db, actor, task, seq)))
            more["has_more"] = more["count"] == MAX_FOLDED
        elif seq in runs:
            more["count"], more["has_more"] = len(runs[seq].ends), runs[seq].has_more
    line = LogLine(
        seq, at, actor, kind, word, entity, uid, task, undoes, was, now, bool(has_why),
        list_id=list_id, number=number, gone=bool(gone), is_redo=bool(redo), **more,
    )  # fmt: skip
    return _of_ask(db, line) if entity == "ask" else line


# The agent that a message of the human's was sent to in the change of an entry, among the entries just before it.
_NEAR: Final = 20
_SENT_WITH: Final = """
SELECT new ->> 'agent' FROM journal WHERE actor = ? AND seq BETWEEN ? AND ? AND kind = 'message.sent'
AND change = (SELECT change FROM journal WHERE seq = ?) ORDER BY seq DESC LIMIT 1
"""


def _holder(db: Database, entity: str, uid: str) -> str | None:
    """Return the agent whose claim, session or work it is; None: unknown."""
    if entity == "session":
        return uid
    if entity == "work":
        agent: str | None = db.scalar("SELECT agent FROM work WHERE uid = ?", (uid,))
        return agent
    claim = task_records.find(db, uid)
    return claim.agent if claim is not None else None


def _of_ask(db: Database, line: LogLine) -> LogLine:
    """Return the line with its question, and with the task that this is about where it names none."""
    from tui_tasks.core.read import ask_queries  # few pages of a log have questions

    try:
        ask = ask_queries.ask(db, line.uid)
    except NotFound:  # its entry was passed over
        return line
    line = replace(line, asked=ask.question[:MAX_TEXT], holder=ask.agent)
    task = ask_queries.task_of(db, ask) if line.task is None else None
    if task is None:
        return line
    name, list_id, number, gone = db.one(_TASK, task=task)
    return replace(line, task=task, name=name, list_id=list_id, number=number, gone=bool(gone))


def _word(kind: str, entity: str, new: dict[str, Any]) -> str:
    """Return the word of `KINDS` for an entry: that of its kind, unless its values say that something has failed."""
    if kind == "task.updated":
        if entity != "task" or "status" not in new:
            return "edit"
        return "fail" if vocab.task_failed(new["status"]) else "status"
    has_failed = (
        kind in FAILURES
        or (kind == "check.finished" and new.get("state") == "failed")
        or (entity in ("run", "job") and vocab.run_failed(new.get("outcome")))
    )
    return "fail" if has_failed else WORD_OF_KIND.get(kind, kind.partition(".")[0])


def _values(text: str | None) -> dict[str, Any]:
    """Return the values of an entry without bookkeeping, long ones cut."""
    return {name: _short(value) for name, value in journal.values_of(text).items() if name not in vocab.HIDDEN}


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, list):
        return [each[:MAX_TEXT] if isinstance(each, str) else each for each in value[:20]]
    return None if isinstance(value, dict) else value


def _reason(db: Database, task: str, status: str, seq: int) -> str | None:
    """Return why a task failed or was skipped, in the words that all of the screen has."""
    change = task_records.status_change(db, task, status, seq)
    return task_records.reason_of(db, task, change)[:MAX_TEXT] or None if change is not None else None


def _of_job(db: Database, entity: str, uid: str, new: dict[str, Any], found: str) -> dict[str, Any]:
    """Return the uid and the name of the job of an entry, and how long a run that has ended was, and why it failed.

    `found`: the job where neither a kept run nor the entry has it.
    """
    run = job_lines.run_line(db, uid) if entity == "run" else None
    job_uid = run.job_uid if run is not None else new.get("job_uid", found)
    job = job_queries.any_job(db, job_uid)
    details: dict[str, Any] = {"job": job_uid, "name": job.name if job is not None else None}
    if run is not None and new.get("state") == "final":
        details |= {"took": run.took, "reason": run.why or None}
    return details


def _name_of_list(db: Database, uid: str) -> str | None:
    row = db.one(_LIST_NAME, uid=uid)
    return row[0] if row else None


def progress_of(db: Database, line: LogLine) -> list[tuple[int, str]]:
    """Return the progress or moves that a line stands for, newest first: the instant and the message of each."""
    rows = map(journal.as_text, log_folds.newest_progress(db, line.actor, line.task, line.seq))
    return [(at, str(_values(new).get("message", ""))) for at, new in rows]


assert set(_STATUSES_WITH_REASON) < set(vocab.STATUSES)
