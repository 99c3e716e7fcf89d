"""What is recorded beside a task: its log, how its status was set and why, the state that an agent saved, the
memory of its result, and claims.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import SQL, Statement, fn, slot
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.record_tables import ClaimRow, LogRow, MemoryRow, StateRow
from tui_tasks.core.schema.tables import JournalRow, columns
from tui_tasks.core.snapshots import Claim, LogEntry, Memory, SavedState, Task, reader

if TYPE_CHECKING:
    from tui_tasks.core.read.pages.list_pages import TaskLine

J = JournalRow

_read_log = reader(LogEntry, LogRow)
_read_state = reader(SavedState, StateRow)
read_memory = reader(Memory, MemoryRow)

# The members of a failure's result that explain it, the first of them that there is.
_EXPLAINS: Final = ("reason", "error", "summary", "message")

# The parts of an agent's reasoning that may say why (docs: protocol, section 2), the most telling first.
REASONS: Final = ("thoughts", "reflection", "observations")

_LOG = tuple(columns(LogRow).values())
_OF_LOG: Any = (LogRow.task_uid == slot("task")) & (LogRow.deleted == SQL("0"))
_LOGS = Statement(lambda: LogRow.select(*_LOG).where(_OF_LOG).order_by(LogRow.id))
_LATEST_LOGS = Statement(
    lambda: LogRow.select(LogRow.id).where(_OF_LOG).order_by(LogRow.id.desc()).limit(slot("limit"))
)
_LOG_BY_ID = Statement(lambda: LogRow.select(*_LOG).where(LogRow.id == slot("id")))
_NEWEST_LOG = Statement(lambda: LogRow.select(*_LOG).where(_OF_LOG).order_by(LogRow.id.desc()).limit(slot("limit")))
# The entries of a task among which an agent's last one is looked for: a log may be long.
_SEARCHED: Final = 500
_NEWEST: Any = LogRow.select(LogRow.id).where(_OF_LOG).order_by(LogRow.id.desc()).limit(_SEARCHED).alias("newest")
_OF_AGENT: Any = LogRow.select(*_LOG).join(_NEWEST, on=(_NEWEST.c.id == LogRow.id))
_BY_AGENT: Any = LogRow.agent == slot("agent")
_LAST_OF_AGENT = Statement(
    lambda: _OF_AGENT.where(_BY_AGENT & (LogRow.at <= slot("until"))).order_by(LogRow.id.desc()).limit(1)
)
_FIRST_OF_AGENT = Statement(
    lambda: (
        _OF_AGENT.where(_BY_AGENT & (LogRow.at > slot("after")) & (LogRow.at < slot("before")))
        .order_by(LogRow.id)
        .limit(1)
    )
)
_LOG_COUNT = Statement(lambda: LogRow.select(fn.COUNT(LogRow.id)).where(_OF_LOG))
_STATE = Statement(lambda: StateRow.select(*columns(StateRow).values()).where(StateRow.uid == slot("uid")))
_MEMORY_OF = Statement(lambda: MemoryRow.select(*columns(MemoryRow).values()).where(MemoryRow.task_uid == slot("task")))


def logs(db: Database, uid: str) -> list[LogEntry]:
    """Return a task's log, oldest first."""
    return list(each_log(db, uid))


def each_log(db: Database, uid: str) -> Generator[LogEntry, None, None]:
    """Yield the entries of a task's log one by one, oldest first: each may be long."""
    for row in db.each(_LOGS, task=uid):
        yield _read_log(row)


def each_latest_log(db: Database, uid: str, limit: int) -> Generator[LogEntry, None, None]:
    """Yield the newest entries of a task's log one by one, the oldest of them first."""
    latest = db.all(_LATEST_LOGS, task=uid, limit=limit)
    for (number,) in reversed(latest):
        yield _read_log(db.one(_LOG_BY_ID, id=number))


def newest_log(db: Database, uid: str, limit: int) -> list[LogEntry]:
    """Return the newest entries of a task's log, newest first."""
    return [_read_log(row) for row in db.all(_NEWEST_LOG, task=uid, limit=limit)]


def last_said(db: Database, uid: str, agent: str, until: int = 2**62) -> str:
    """Return an agent's last message in a task's log up to an instant; empty if it wrote none."""
    row = db.one(_LAST_OF_AGENT, task=uid, agent=agent, until=until)
    return _read_log(row).message if row else ""


def _is_undone() -> Any:
    """Return the condition that an entry was undone up to a seq, and not done again."""
    undo, redo = J.alias("undo"), J.alias("redo")
    again = redo.select(SQL("1")).where((redo.undoes == undo.change) & (redo.seq <= slot("until")))
    back = undo.select(SQL("1")).where((undo.undoes == J.change) & (undo.seq <= slot("until")) & ~fn.EXISTS(again))
    return fn.EXISTS(back)


def given_note() -> Any:
    """Return the query for the message that was logged with an entry: by the next entry, of the same change."""
    note = J.alias("note")
    return note.select(journal.value_of(note.new, "message")).where(
        (note.seq == J.seq + 1) & (note.change == J.change) & (note.task == J.task) & (note.kind == "task.logged")
    )


def next_change(column: str) -> Any:
    """Return the query for a column of the next entry that sets, or an undo restores, the status of a task."""
    later = J.alias("later")
    is_set = journal.value_of(later.new, "status").is_null(False)
    is_later = (later.task == J.task) & (later.seq > J.seq) & (later.entity == "task")
    return later.select(getattr(later, column)).where(is_later & is_set).order_by(later.seq).limit(1)


_STATUS_CHANGE = Statement(
    lambda: (
        J.select(
            *(J.at, J.actor, J.why, J.new, journal.value_of(J.image, "agent"), journal.value_of(J.image, "result")),
            *(given_note(), next_change("at")),
        )
        .where(
            (J.task == slot("task"))
            & (J.seq <= slot("until"))
            & (J.entity == "task")
            & (journal.value_of(J.new, "status") == slot("status"))
            & J.undoes.is_null()
            & ~_is_undone()
        )
        .order_by(J.seq.desc())
        .limit(1)
    )
)


class StatusChange(msgspec.Struct, frozen=True):
    """How a task's status was set: when, in microseconds, by whom, the reasons that came with it, the agent that the
    task was assigned to, its result, the note that was logged with it, and when the status was set next.
    """

    at: int
    actor: str
    why: dict[str, Any]
    agent: str | None
    result: Any
    note: str | None = None
    next_at: int | None = None


def status_change(db: Database, task: str, status: str, until: int = 2**62) -> StatusChange | None:
    """Return how a task's status was set last up to a seq, by what still stands then: not how an undo brought it back;
    None if that was compacted away.
    """
    row = db.one(_STATUS_CHANGE, task=task, status=status, until=until)
    if row is None:
        return None
    at, actor, why, new, agent, result, note, next_at = journal.as_text(row)
    result = journal.values_of(new).get("result") or result
    return StatusChange(at, actor, journal.values_of(why), agent, result, note, next_at)


def failed_at(db: Database, task: TaskLine) -> int:
    """Return when this database learned that a task has failed: an imported file may name any earlier instant."""
    change = status_change(db, task.uid, task.status)
    return change.at if change is not None else task.finished_at or 0


_LOG_UIDS = Statement(lambda: LogRow.select(LogRow.uid).where(LogRow.task_uid == slot("task")))


def had_logs(db: Database, task: Task, uids: Iterable[str]) -> bool:
    """Return whether a task has, or had in this database, each of some log entries."""
    return {uid for (uid,) in db.all(_LOG_UIDS, task=task.uid)}.issuperset(uids)


_MADE = Statement(
    lambda: J.select(J.seq).where(
        (J.task == slot("task")) & (J.uid == slot("task")) & (J.kind == SQL("'task.created'"))
    )
)


def is_compacted(db: Database, uid: str) -> bool:
    """Return whether the journal lacks the first entries of a task."""
    return db.one(_MADE, task=uid) is None


_OLD_AND_NEW = Statement(lambda: J.select(J.old, J.new).where((J.task == slot("task")) & (J.uid == slot("task"))))


def had_values(db: Database, task: Task, values: Mapping[str, Any]) -> bool:
    """Return whether a task has, or had in this database, each of some values of its fields."""
    left = {name: _comparable(value) for name, value in values.items()}
    for name in [name for name, value in left.items() if value == _comparable(getattr(task, name))]:
        del left[name]
    for row in db.all(_OLD_AND_NEW, task=task.uid) if left else ():
        for side in map(journal.values_of, journal.as_text(row)):
            for name in [name for name, value in left.items() if name in side and value == _comparable(side[name])]:
                del left[name]
    return not left


def _comparable(value: Any) -> Any:
    """Return a value of a field as the journal has it. The order of tags, dependencies and links does not count."""
    value = msgspec.to_builtins(value)
    return sorted(value, key=repr) if isinstance(value, list | tuple) else value


def end_reason(db: Database, task: TaskLine) -> str:
    """Return why a task failed or was cancelled; empty if nobody has said so."""
    change = status_change(db, task.uid, task.status)
    if change is None:
        whole = task_queries.any_task(db, task.uid)
        result = whole.result if whole is not None else None
        setter = task.status_by or task.who
        change = StatusChange(task.finished_at or task.updated_at, setter, {}, task.who, result)
    return reason_of(db, task.uid, change)


def reason_of(db: Database, task: str, change: StatusChange) -> str:
    """Return why a task failed or was skipped, as the one who set its status said; otherwise as its worker said.

    The reasons that came with the request count, else what was logged with the change, else the task's result, else the
    last message before the change, else the first one after it while that status stands. Of nobody's words the reason
    is empty.
    """
    if words := reason_given(change.why) or result_text(change.note):
        return words
    agents = tuple(dict.fromkeys((change.actor, change.agent or change.actor)))
    logged = {agent: db.one(_LAST_OF_AGENT, task=task, agent=agent, until=change.at) for agent in agents}
    said = {agent: _read_log(row) for agent, row in logged.items() if row}
    if not any(entry.at == change.at for entry in said.values()) and (words := result_text(change.result)):
        return words
    before = 2**62 if change.next_at is None else change.next_at
    for agent in agents:
        if agent in said and (message := said[agent].message):
            return message
        if row := db.one(_FIRST_OF_AGENT, task=task, agent=agent, after=change.at, before=before):
            return _read_log(row).message
    return ""


def reason_given(why: Mapping[str, Any]) -> str:
    """Return the reason that came with a request; empty without one."""
    return next((result_text(why[name]) for name in REASONS if why.get(name)), "")


def result_text(result: Any) -> str:
    """Return a result in words: a text as it is, of an object what explains it, else its members."""
    if isinstance(result, dict):
        reason = next((result[name] for name in _EXPLAINS if isinstance(result.get(name), str) and result[name]), None)
        return reason or ", ".join(f"{name}: {result_text(value)}" for name, value in result.items())
    if isinstance(result, list):
        return ", ".join(map(result_text, result))
    return "" if result is None else str(result)


def log_count(db: Database, uid: str) -> int:
    """Return how many log entries a task has."""
    counted: int = db.one(_LOG_COUNT, task=uid)[0]
    return counted


def any_state(db: Database, uid: str) -> SavedState | None:
    """Return the saved state of a task, also if its saving was undone; None without one."""
    row = db.one(_STATE, uid=uid)
    return _read_state(row) if row else None


def saved_state(db: Database, uid: str) -> SavedState | None:
    """Return the saved state of a task, or None."""
    state = any_state(db, uid)
    return None if state is None or state.deleted else state


def any_memory_of(db: Database, task_uid: str) -> Memory | None:
    """Return the memory of a task, also if it was undone; None without one."""
    row = db.one(_MEMORY_OF, task=task_uid)
    return read_memory(row) if row else None


def memory_of(db: Database, task_uid: str) -> Memory | None:
    """Return the memory of a task, or None."""
    memory = any_memory_of(db, task_uid)
    return None if memory is None or memory.deleted else memory


_COLUMNS = tuple(columns(ClaimRow).values())
_read = reader(Claim, ClaimRow)
_BY_UID = Statement(lambda: ClaimRow.select(*_COLUMNS).where(ClaimRow.uid == slot("uid")))
_OF_TASK = Statement(
    lambda: ClaimRow.select(*_COLUMNS).where((ClaimRow.task_uid == slot("task")) & (ClaimRow.state == SQL("'active'")))
)
_LAST_OF_TASK = Statement(
    lambda: ClaimRow.select(*_COLUMNS).where(ClaimRow.task_uid == slot("task")).order_by(ClaimRow.id.desc()).limit(1)
)


_ACTIVE_OF = Statement(
    lambda: (
        ClaimRow.select(*_COLUMNS)
        .where((ClaimRow.state == SQL("'active'")) & (ClaimRow.agent == slot("agent")))
        .order_by(ClaimRow.id)
    )
)


def find(db: Database, uid: str) -> Claim | None:
    """Return the claim with that id, or None."""
    row = db.one(_BY_UID, uid=uid)
    return _read(row) if row else None


def of_task(db: Database, task_uid: str) -> Claim | None:
    """Return the claim that holds a task now, or None."""
    row = db.one(_OF_TASK, task=task_uid)
    return _read(row) if row else None


def active_of(db: Database, agent: str) -> list[Claim]:
    """Return the claims that an agent holds, oldest first."""
    return [_read(row) for row in db.all(_ACTIVE_OF, agent=agent)]


def last_of_task(db: Database, task_uid: str) -> Claim | None:
    """Return the newest claim on a task, active or not; None without one."""
    row = db.one(_LAST_OF_TASK, task=task_uid)
    return _read(row) if row else None
