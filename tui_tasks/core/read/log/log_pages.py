"""Pages of the journal for people, by entry number, at a cost that does not grow with the journal."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit import rebalancing
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import JOIN, SQL, Statement, fn, slot
from tui_tasks.core.journal import journal
from tui_tasks.core.read.agents import agents, sessions
from tui_tasks.core.read.jobs import job_queries, job_rows
from tui_tasks.core.read.pages.filter import ALL, Filter, Term, contains
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.schema.tables.journal import JournalRow
from tui_tasks.core.schema.tables.tasks import ListRow, TaskRow

J = JournalRow

# With a filter, reading stops early after this many entries, so that it does not block.
MOST_PASSED: Final = 3_000
FIRST: Final = 0
LAST: Final = 2**62
# How many characters of a text a line shows.
MOST_TEXT: Final = 400
# How many entries before a failure are searched for its reason, if it is not in the entry itself.
_LOOK_BACK: Final = 20
_STATUSES_WITH_REASON: Final = ("failed", "skipped")

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
    "answer": ("ask.answered", "ask.timeout", "ask.withdrawn"),
    "claim": ("claim.taken", "claim.extended", "claim.released", "claim.finished", "claim.lapsed", "claim.restored"),
    "run": ("run.requested", "run.started", "run.finished", "job.decided"),
    "tell": ("message.sent", "message.delivered", "message.returned", "message"),
    "pause": ("agent.paused",),
    "resume": ("agent.resumed",),
    "refuse": ("agent.refused",),
    "review": ("task.accepted", "task.declined"),
    "stuck": ("agent.stuck", "agent.unstuck"),
    "check": ("check.finished", "check.requested", "check.waived", "check.stale", "check.defined"),
    "session": (
        *("session.started", "session.prompted", "session.waiting", "session.idle"),
        *("session.failed", "session.interrupted", "session.ended"),
    ),
    "tool": ("tool.failed",),
    "compact": ("journal.compacted",),
}
"""For each word of a filter, the kinds of journal entries that it selects."""
_WORD: Final = {kind: word for word, kinds in reversed(KINDS.items()) if word != "fail" for kind in kinds}
_FAILING: Final = ("error", "interrupted")
_FAILURES: Final = ("tool.failed", "session.failed")
# Entries that are not shown: the scheduler's bookkeeping, reordering of lists, and steps of checks.
_HIDDEN: Final = (
    *("job.advanced", "job.pruned", "job.stopping", "run.agent", rebalancing.KIND),
    *("check.queued", "check.started", "check.ended", "check.pruned"),
)


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


class LogPage(list[LogLine]):
    """Entries, oldest first. `reached`: the number at which reading was stopped early, to go on from."""

    reached: int | None = None


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


def _field(column: Any, name: str) -> Any:
    return fn.COALESCE(fn.json_extract(column, f"$.{name}"), "")


def _shown() -> Any:
    """Return the condition that an entry is shown: entries of mere bookkeeping are not."""
    kept = fn.IIF(J.kind == "job.decided", fn.COALESCE(fn.json_extract(J.new, "$.decision"), "ran"), "") != "ran"
    return J.kind.not_in(_HIDDEN) & kept


def _is_shown_with_previous() -> Any:
    """Return the condition that the entry right before shows this one as its reason."""
    before = J.alias()
    same = (before.seq == J.seq - 1) & (before.change == J.change) & (before.task == J.task)
    ended = fn.json_extract(before.new, "$.status").in_(_STATUSES_WITH_REASON)
    query = before.select(SQL("1")).where(same & (before.kind == "task.updated") & ended)
    return (J.kind == "task.logged") & fn.EXISTS(query)


# How many progress entries one line counts at most.
MOST_WORDS: Final = 100
# Heartbeats of claims come between progress entries, and are ignored.
_IGNORED: Final = "claim.extended"


def _is_followed_by_progress(until: Any) -> Any:
    """Return the condition that an entry is progress, and the next entry of its agent and task is progress too."""
    of_task, of_agent, following = J.alias(), J.alias(), J.alias()
    next_of_task = of_task.select(of_task.seq).where(
        (of_task.task == J.task) & (of_task.seq > J.seq) & (of_task.kind != _IGNORED)
    )
    next_of_agent = of_agent.select(of_agent.seq).where(
        (of_agent.actor == J.actor) & (of_agent.seq > J.seq) & (of_agent.kind != _IGNORED)
    )
    one_more = following.select(SQL("1")).where(
        (following.seq == next_of_task.order_by(of_task.seq).limit(1))
        & (following.seq == next_of_agent.order_by(of_agent.seq).limit(1))
        & (following.seq <= until)
        & (following.kind == "task.logged")
        & following.undoes.is_null()
    )
    return (J.kind == "task.logged") & J.undoes.is_null() & fn.EXISTS(one_more)


def _back_from(mine: Any, limit: int) -> Statement:
    told = J.select(J.seq, J.kind, J.actor, J.task, J.undoes, J.at, J.new)
    return Statement(
        told.where(mine & (J.seq <= slot("seq")) & (J.kind != _IGNORED)).order_by(J.seq.desc()).limit(limit)
    )


_BACK: Final = {
    most: (_back_from(J.actor == slot("actor"), most), _back_from(J.task == slot("task"), most))
    for most in (2, 10, MOST_WORDS)
}


def run_of(db: Database, line: LogLine) -> list[tuple[int, str]]:
    """Return the progress entries that a line stands for, newest first, each with its instant."""
    rows = map(journal.as_text, _run(db, line.actor, line.task, line.seq))
    return [(at, str(_values(new).get("message", ""))) for *_, at, new in rows]


def _run(db: Database, actor: str, task: str | None, seq: int) -> list[Any]:
    """Return the entries of a run of progress, from its last one back."""
    run: list[Any] = []
    for most, (of_actor, of_task) in _BACK.items():
        pairs = zip(db.all(of_actor, actor=actor, seq=seq), db.all(of_task, task=task, seq=seq), strict=False)
        run = []
        for mine, its in pairs:
            _, kind, _, about, undoes, *_ = mine
            if mine[0] != its[0] or kind != "task.logged" or about != task or undoes is not None:
                break
            run.append(mine)
        if len(run) < most:
            break
    return run


def _query() -> Any:
    return J.select(*_COLUMNS).join(TaskRow, JOIN.LEFT_OUTER, on=(TaskRow.uid == J.task)).where(_shown())


_EACH = _query().where(~_is_shown_with_previous())
_AFTER = Statement(_EACH.where(J.seq > slot("seq")).order_by(J.seq).limit(slot("limit")))
_BEFORE = Statement(_EACH.where(J.seq < slot("seq")).order_by(J.seq.desc()).limit(slot("limit")))
_ONE = Statement(_EACH.where(J.seq == slot("seq")))
_FOLDED = _EACH.where(~_is_followed_by_progress(slot("fold")))
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
_NEXT_OF_CHANGE = Statement(J.select(J.change, J.task, J.kind, J.new).where(J.seq == slot("seq")))
_BEFORE_OF_TASK = Statement(
    J.select(J.kind, J.new)
    .where((J.task == slot("task")) & (J.seq < slot("seq")))
    .order_by(J.seq.desc())
    .limit(_LOOK_BACK)
)
_decode = msgspec.json.decode


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
    return LogPage(_line(db, row) for row in (reversed(rows) if backwards else rows))


def _pass_over(db: Database, seq: int, limit: int, only: Filter, *, backwards: bool, fold: int | None) -> LogPage:
    oldest, newest = edges(db)
    seq = min(max(seq, oldest - 1), newest + 1)
    end = seq - MOST_PASSED if backwards else seq + MOST_PASSED
    if len(only.terms) == 1 and only.terms[0].field == "who" and not only.terms[0].negated:
        # The index finds an actor's entries fast, however few they are.
        end = FIRST if backwards else LAST
    if fold is not None:
        folded = _FOLDED_BEFORE if backwards else _FOLDED_AFTER
        rows = db.all(folded, fold=fold, seq=seq, end=end, limit=limit)
        rows = list(reversed(rows)) if backwards else rows
    else:
        rows = _wanted_rows(db, seq, end, limit, only, backwards=backwards)
    found = LogPage(_line(db, row, fold) for row in rows)
    if len(found) < limit and oldest < end < newest:
        found.reached = end
    return found


def _wanted_rows(db: Database, seq: int, end: int, limit: int, only: Filter, *, backwards: bool) -> list[Any]:
    query = _query().where(*conditions(db, only)).limit(limit)
    if backwards:
        return list(reversed(db.query(query.where(J.seq < seq, J.seq >= end).order_by(J.seq.desc()))))
    return db.query(query.where(J.seq > seq, J.seq <= end).order_by(J.seq))


def find(db: Database, seqs: Collection[int], only: Filter = ALL, fold: int | None = None) -> dict[int, LogLine]:
    """Return those of the entries that match the filter, by number; `fold` as in `page`."""
    if not only:
        one, values = (_ONE, {}) if fold is None else (_FOLDED_ONE, {"fold": fold})
        rows = [row for seq in seqs if (row := db.one(one, seq=seq, **values)) is not None]
    else:
        rows = db.query(_query().where(J.seq.in_(list(seqs)), *conditions(db, only)))
    return {row[0]: _line(db, row, fold) for row in rows}


def edges(db: Database) -> tuple[int, int]:
    """Return the numbers of the oldest stored entry and of the newest; (1, 0) if there is none."""
    return db.one(_OLDEST)[0], db.one(_NEWEST)[0]


def actors(db: Database) -> list[str]:
    """Return every actor that has an entry, and those that always may."""
    return [*(name for name, _, _ in agents.speakers(db)), *sorted(vocab.RESERVED_AGENTS)]


# Filters


def conditions(db: Database, only: Filter) -> list[Any]:
    """Return the conditions of a filter, as Peewee expressions: one term of each field must match, and all words."""
    all_of: list[Any] = []
    any_of: dict[str, Any] = {}
    for term in only.terms:
        condition = _condition(db, term)
        if term.negated:
            all_of.append(~condition)
        elif term.field == "word":
            all_of.append(condition)
        else:
            any_of[term.field] = any_of[term.field] | condition if term.field in any_of else condition
    return [*all_of, *any_of.values()]


def _condition(db: Database, term: Term) -> Any:
    if term.field == "who":
        return J.actor.in_([name for name in actors(db) if _matches(name, term)])
    if term.field == "kind":
        return _of_kind(term.value)
    if term.field == "list":
        found = [each for each in queries.lists(db) if _matches(each.name, term)]
        of_task = fn.COALESCE(TaskRow.list_id, 0).in_([each.id for each in found])
        return of_task | ((J.entity == "list") & J.uid.in_([each.uid for each in found]))
    if term.field == "project":
        return _of_project(db, term)
    return _contains_word(term.value)


def _of_project(db: Database, term: Term) -> Any:
    """Return the condition that an entry is about a project's tasks, lists or sessions."""
    found = [each for each in queries.lists(db) if _matches(each.project or "", term)]
    told = [seen.session.uid for seen in sessions.everyone(db) if _matches(seen.session.project or "", term)]
    of_task = fn.COALESCE(TaskRow.list_id, 0).in_([each.id for each in found])
    of_list = (J.entity == "list") & J.uid.in_([each.uid for each in found])
    return of_task | of_list | (J.task.is_null() & J.actor.in_(told))


def _matches(name: str, term: Term) -> bool:
    name, value = name.casefold(), term.value.casefold()
    return name.startswith(value) if term.prefix else name == value


def _of_kind(word: str) -> Any:
    of_kind = J.kind.in_(KINDS.get(word, ()))
    status = _field(J.new, "status")
    if word == "status":
        return of_kind & (J.entity == "task") & (status != "")
    if word == "fail":
        failed = (status == "failed") | _field(J.new, "outcome").in_(_FAILING) | J.kind.in_(_FAILURES)
        return of_kind & (failed | ((J.kind == "check.finished") & (_field(J.new, "state") == "failed")))
    if word == "edit":
        return of_kind & (status == "")
    return of_kind


_TEXTS: Final = ("message", "question", "answer", "text", "name", "title", "description", "reason", "result", "status")


def _contains_word(word: str) -> Any:
    """Return the condition that a line, or the name of its task, contains a word."""
    within = msgspec.json.encode(word).decode()[1:-1]
    texts: Any = _field(J.new, _TEXTS[0])
    for name in _TEXTS[1:]:
        texts = texts.concat("\n").concat(_field(J.new, name))
    # Most entries do not contain it anywhere, which is fast to find out.
    said = contains(fn.COALESCE(J.new, ""), within) & contains(texts, word)
    return said | contains(fn.COALESCE(TaskRow.name, ""), word) | contains(J.actor, word)


# Lines


def _line(db: Database, row: Any, fold: int | None = None) -> LogLine:
    seq, at, actor, kind, entity, uid, task, change, undoes, old, new, has_why, redo, name, list_id, rank, gone = (
        journal.as_text(row)
    )
    was, now = _values(old), _values(new)
    word = _WORD.get(kind, kind.partition(".")[0])
    told: dict[str, Any] = {}
    if kind == "task.updated" and "status" in now and entity == "task":
        word = "fail" if now["status"] == "failed" else "status"
        if now["status"] in _STATUSES_WITH_REASON:
            told["reason"] = _reason(db, seq, change, task, now)
    elif kind == "task.updated":
        word = "edit"
    elif kind in _FAILURES or (kind == "check.finished" and now.get("state") == "failed"):
        word = "fail"
    elif entity in ("run", "job"):
        word = "fail" if now.get("outcome") in _FAILING else word
        told = _of_job(db, entity, uid, now)
    elif entity == "list":
        name = name or _name_of_list(db, uid)
    elif fold is not None and seq <= fold and kind == "task.logged" and undoes is None:
        told["words"] = max(1, len(_run(db, actor, task, seq)))
    told.setdefault("name", name)
    return LogLine(
        seq, at, actor, kind, word, entity, uid, task, undoes, was, now, bool(has_why), list_id=list_id, rank=rank,
        gone=bool(gone), is_redo=bool(redo), **told,
    )  # fmt: skip


def _values(text: str | None) -> dict[str, Any]:
    held = _decode(text) if text is not None else {}
    return {name: _short(value) for name, value in held.items() if name not in vocab.BOOKKEEPING}


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MOST_TEXT]
    if isinstance(value, list):
        return [each[:MOST_TEXT] if isinstance(each, str) else each for each in value[:20]]
    return None if isinstance(value, dict) else value


def _reason(db: Database, seq: int, change: int, task: str, new: dict[str, Any]) -> str | None:
    """Return why a task failed or was skipped: the entry's reason, else its result, else the last log entry."""
    row = db.one(_NEXT_OF_CHANGE, seq=seq + 1)
    if row is not None and row[:3] == (change, task, "task.logged"):
        return str(_values(row[3]).get("message", ""))
    if isinstance(new.get("result"), str):
        return str(new["result"])
    rows: Iterable[Any] = db.all(_BEFORE_OF_TASK, task=task, seq=seq)
    return next((str(_values(said).get("message", "")) for kind, said in rows if kind == "task.logged"), None)


def _of_job(db: Database, entity: str, uid: str, new: dict[str, Any]) -> dict[str, Any]:
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


_LIST_NAME = Statement(ListRow.select(ListRow.name).where(ListRow.uid == slot("uid")))
assert set(_FAILING) < set(vocab.OUTCOMES)
assert set(_STATUSES_WITH_REASON) < set(vocab.STATUSES)
assert JournalRow is J
