"""Reads of work: the agents that the human has started on tasks, and lists that work themselves off.

docs: protocol, section 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tui_tasks.core.agent_snapshots import Auto, HumanMessage, Work
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import NotFound
from tui_tasks.core.schema.record_tables import AutoRow, WorkRow
from tui_tasks.core.snapshots import Task, reader
from tui_tasks.core.vocab import LIVE_WORK

_COLUMNS: Final = ", ".join(Work.__struct_fields__)
SILENT_AFTER: Final = 5_000_000
"""Microseconds after which a program that has reported nothing may ask something at its terminal."""
LIVE: Final = ", ".join(f"'{state}'" for state in sorted(LIVE_WORK))
"""The states of works that go on, as SQL has them."""
_OF_LIVE_TASK: Final = (
    "EXISTS (SELECT 1 FROM task JOIN list ON list.id = task.list_id"
    " WHERE task.uid = work.task_uid AND task.deleted = 0 AND list.deleted = 0)"
)
_read = reader(Work, WorkRow)


def find(db: Database, uid: str) -> Work:
    """Return the work with that uid.

    Raises:
        NotFound: there is none.
    """
    works = _where(db, "uid = ?", (uid,))
    if not works:
        raise NotFound("work", uid)
    return works[0]


def of_task(db: Database, task_uid: str) -> list[Work]:
    """Return the works of a task, oldest first."""
    return _where(db, "task_uid = ?", (task_uid,))


def reference(db: Database, work: Work, number: int) -> str:
    """Return how a command names a work: by its task's `number`, and by its agent if several have worked on it."""
    return f"{number} --by {work.agent}" if len(of_task(db, work.task_uid)) > 1 else str(number)


def must_reopen(db: Database, task: Task) -> bool:
    """Return whether a task is done, and no work on it goes on: to start an agent on it, the human reopens it first."""
    return task.status == "done" and not any(work.state in LIVE_WORK for work in of_task(db, task.uid))


def owner(db: Database, work: Work) -> Work | None:
    """Return the older live work on the same task and in the same worktree; None if the worktree is not shared."""
    place = (work.worktree, work.machine)
    older = (one for one in of_task(db, work.task_uid) if one.id < work.id and one.state in LIVE_WORK)
    return next((one for one in older if (one.worktree, one.machine) == place), None)


def live(db: Database) -> list[Work]:
    """Return the works that were neither merged, discarded nor failed, oldest first."""
    return _where(db, f"state IN ({LIVE})")


def races(db: Database) -> dict[str, list[Work]]:
    """Return the works of each task that has several such ones, oldest first, by the uid of the task."""
    several = f"SELECT task_uid FROM work WHERE state IN ({LIVE}) GROUP BY task_uid HAVING count(*) > 1"
    found: dict[str, list[Work]] = {}
    for work in _where(db, f"state IN ({LIVE}) AND task_uid IN ({several})"):
        found.setdefault(work.task_uid, []).append(work)
    return found


def live_here(db: Database) -> list[Work]:
    """Return those of them whose worktrees this machine has."""
    return _where(db, f"state IN ({LIVE}) AND machine = ?", (db.machine,))


def begun(db: Database) -> list[Work]:
    """Return the works whose merge, undo or clean-up this machine has begun and not ended, oldest first."""
    return _where(db, "intent IS NOT NULL AND intent <> 'null' AND machine = ?", (db.machine,))


def host_of_other(db: Database, work: Work) -> str | None:
    """Return the host that has the worktree of a work; None: this machine has it."""
    if work.machine == db.machine:
        return None
    from tui_tasks.core.unjournaled import heartbeats  # for work on another machine alone

    return heartbeats.machine_name(db, work.machine) or "another machine"


def is_elsewhere(db: Database, work: Work) -> str | None:
    """Return in a line that another machine has the worktree of a work, and what to do; None: this one has it."""
    host = host_of_other(db, work)
    if host is None:
        return None
    branch = f", or fetch its branch {work.branch}" if work.branch is not None else ""
    return f"the work of {work.agent} is on {host}: go on with it there{branch}"


def everything(db: Database) -> list[Work]:
    """Return every work, oldest first."""
    return _where(db, "1")


def of_machine(db: Database, machine: str) -> list[Work]:
    """Return every work whose worktree a machine has, or had, oldest first."""
    return _where(db, "machine = ?", (machine,))


def count_busy(db: Database) -> int:
    """Return how many agents are at work on this machine, or being started."""
    query = "SELECT count(*) FROM work WHERE state IN ('starting', 'working') AND machine = ?"
    return int(db.scalar(query, (db.machine,)))


def count_running(db: Database) -> int:
    """Return how many agents of unfinished work run on this machine, also those that have nothing to do."""
    counted = db.scalar(
        "SELECT count(*) FROM work JOIN session ON session.uid = work.agent"
        f" WHERE work.state IN ({LIVE}) AND work.machine = ? AND session.state <> 'gone'",
        (db.machine,),
    )
    return int(counted)


def has_any(db: Database) -> bool:
    """Return whether an agent was ever started on a task."""
    return db.scalar("SELECT 1 FROM work LIMIT 1") is not None


def of_agent(db: Database, agent: str) -> Work | None:
    """Return the work on which an agent was started, or None."""
    works = _where(db, "agent = ?", (agent,))
    return works[-1] if works else None


def is_prompted(db: Database, agent: str) -> bool:
    """Return whether an agent at rest is prompted in its terminal for what the human writes to it."""
    work = of_agent(db, agent)
    return work is not None and work.terminal is not None and work.state == "working"


def is_at_work(db: Database, agent: str) -> bool:
    """Return whether an agent was started on a task that it is still at."""
    work = of_agent(db, agent)
    return work is not None and work.state in LIVE_WORK


def is_over(db: Database, agent: str) -> bool:
    """Return whether an agent was started on a task, and its work has failed, or is merged or discarded."""
    work = of_agent(db, agent)
    return work is not None and work.state not in LIVE_WORK


def _where(db: Database, condition: str, values: Sequence[Any] = ()) -> list[Work]:
    rows = db.sql(f"SELECT {_COLUMNS} FROM work WHERE {condition} ORDER BY id", tuple(values))
    return [_read(row) for row in rows.fetchall()]


def commented_at(db: Database, work: Work) -> tuple[int, int] | None:
    """Return the seq and the instant of the human's last comments on a work; None if there are none."""
    rows = db.sql(
        "SELECT seq, at FROM journal WHERE task = ? AND kind = 'work.commented' AND uid = ? ORDER BY seq DESC LIMIT 1",
        (work.task_uid, work.uid),
    ).fetchall()
    return (rows[0][0], rows[0][1]) if rows else None


def last_comments(db: Database, work: Work) -> tuple[str, int] | None:
    """Return the text and the instant of the human's last comments on a work, without those that only let it go on."""
    row = db.sql(
        "SELECT text, sent_at FROM journal AS done"
        " JOIN journal AS sent ON sent.seq BETWEEN done.change AND done.seq AND sent.kind = 'message.sent'"
        " JOIN human_message ON human_message.uid = sent.uid"
        " WHERE done.task = ? AND done.kind = 'work.commented' AND done.uid = ? ORDER BY done.seq DESC LIMIT 1",
        (work.task_uid, work.uid),
    ).fetchone()
    return (row[0], row[1]) if row else None


def last_entry(db: Database, work: Work, kind: str) -> int | None:
    """Return the seq of the newest entry of a kind about a work; None if there is none, or it was compacted away."""
    seq: int | None = db.scalar(
        "SELECT max(seq) FROM journal WHERE task = ? AND uid = ? AND kind = ?", (work.task_uid, work.uid, kind)
    )
    return seq


def stands(work: Work, kind: str) -> bool:
    """Return whether the last merge of a work (`work.merged`), or its discard (`work.discarded`), stands."""
    if kind == "work.discarded":
        return work.state == "discarded"
    return work.merged_at is not None and work.state in ("merged", "working", "ready", "conflict")


def lets_go_on(db: Database, message: HumanMessage) -> bool:
    """Return whether the human sent a message for its agent to go on: as comments, or as an answer at a limit."""
    parts = (part for parts in journal.of_change(db, journal.entry(db, message.seq).change) for part in parts)
    return any(part.kind in ("work.commented", "ask.answered") for part in parts)


def tasks_with_merge(db: Database) -> set[str]:
    """Return the uids of the tasks of which a work was merged, whether that stands or not."""
    return {uid for (uid,) in db.sql("SELECT task_uid FROM work WHERE merged_at IS NOT NULL").fetchall()}


def has_ended_turn(db: Database, work: Work) -> bool:
    """Return whether the agent of a work has ended, or has ended a turn, since the human's last comments on it."""
    commented = commented_at(db, work)
    if commented is None:
        return True
    ended = db.scalar(
        "SELECT 1 FROM journal WHERE kind IN ('session.idle', 'session.ended')"
        " AND (actor = ? OR uid = ?) AND seq > ? LIMIT 1",
        (work.agent, work.agent, commented[0]),
    )
    return ended is not None


# When a work began to wait for review: where its merge or discard was undone, it has waited since before that.
_BEGAN_TO_WAIT: Final = """COALESCE(
    max(CASE WHEN kind != 'work.restored' OR old ->> 'state' = 'failed' THEN at END), max(at)
)"""
_BEGINS_WAIT: Final = "'work.ready', 'work.conflict', 'work.restored'"


def ready_since(db: Database, work: Work) -> int:
    """Return since when a work waits for review, in microseconds; since its start where the journal has it no more."""
    at: int | None = db.scalar(
        f"SELECT {_BEGAN_TO_WAIT} FROM journal WHERE task = ? AND uid = ? AND kind IN ({_BEGINS_WAIT})",
        (work.task_uid, work.uid),
    )
    return at if at is not None else work.started_at


def to_review(db: Database) -> list[tuple[Work, int]]:
    """Return the works that wait for the human's review, each with the instant since when it waits, oldest first."""
    works = ready(db)
    since: dict[str, int] = {}
    if works:
        rows = db.sql(
            f"SELECT uid, {_BEGAN_TO_WAIT} FROM journal WHERE task IN (SELECT value FROM json_each(?))"
            f" AND kind IN ({_BEGINS_WAIT}) GROUP BY +uid",
            (msgspec.json.encode([work.task_uid for work in works]).decode(),),
        )
        since = dict(rows.fetchall())
    waiting = [(work, since.get(work.uid, work.started_at)) for work in works]
    return sorted(waiting, key=lambda pair: pair[1])


def ready(db: Database, *, with_deleted: bool = False) -> list[Work]:
    """Return the works that wait for the human's review, oldest first: `ready` and `conflict`.

    The work of a deleted task waits until the task is brought back; `with_deleted` returns it as well.
    """
    return _where(db, "state IN ('ready', 'conflict')" + f" AND {_OF_LIVE_TASK}" * (not with_deleted))


def last_work(db: Database) -> int:
    """Return the id of the newest work; 0 without any."""
    return int(db.scalar("SELECT coalesce(max(id), 0) FROM work"))


_AUTO_COLUMNS: Final = ", ".join(Auto.__struct_fields__)
_read_auto = reader(Auto, AutoRow)


def auto_of(db: Database, list_uid: str) -> Auto | None:
    """Return whether and how a list works itself off; None if it never did."""
    return next(iter(_autos_where(db, "uid = ?", (list_uid,))), None)


def find_auto(db: Database, list_uid: str) -> Auto:
    """Return how a list works itself off.

    Raises:
        NotFound: it never did.
    """
    auto = auto_of(db, list_uid)
    if auto is None:
        raise NotFound("auto", list_uid)
    return auto


def switched_on_autos(db: Database) -> list[Auto]:
    """Return the lists that work themselves off by agents of this machine."""
    return _autos_where(db, "is_on = 1 AND machine = ?", (db.machine,))


def all_autos(db: Database) -> list[Auto]:
    """Return the lists that work themselves off, or did."""
    return _autos_where(db, "1")


def auto_set_at(db: Database, auto: Auto) -> int | None:
    """Return the instant at which it was last turned on or changed; None where the journal has it no more."""
    at: int | None = db.scalar("SELECT max(at) FROM journal WHERE uid = ? AND kind = 'list.auto'", (auto.uid,))
    return at


def auto_json(auto: Auto) -> dict[str, Any]:
    """Return it as the shell shows it."""
    return {name: getattr(auto, name) for name in ("program", "at_once", "failures", "stays", "is_on", "message")}


def auto_text(auto: Auto) -> str:
    """Return it for people: `auto 2 claude`, or why it stopped; empty if the human turned it off."""
    if auto.is_on:
        return f"auto {auto.at_once}{f' {auto.program}' if auto.program else ''}"
    return f"auto is off: {auto.message}" if auto.message is not None else ""


def _autos_where(db: Database, condition: str, values: Sequence[Any] = ()) -> list[Auto]:
    rows = db.sql(f"SELECT {_AUTO_COLUMNS} FROM auto WHERE {condition} ORDER BY uid", tuple(values))
    return [_read_auto(row) for row in rows.fetchall()]


def next_auto_task(db: Database, auto: Auto) -> str | None:
    """Return the uid of the task to start next, or None: ready, unassigned, not tried since it was turned on, and with
    all work on its dependencies merged; most urgent first, then oldest.
    """
    row = db.sql(
        "SELECT task.uid FROM task JOIN list ON list.id = task.list_id"
        " WHERE list.uid = ? AND list.deleted = 0 AND task.deleted = 0 AND task.status = 'pending'"
        " AND 0 == (task.waiting_on > 0) AND task.held = 0 AND task.agent IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM work WHERE work.task_uid = task.uid AND work.id > ?)"
        " AND NOT EXISTS (SELECT 1 FROM edge JOIN work ON work.task_uid = edge.on_uid"
        f" WHERE edge.task_uid = task.uid AND work.state IN ({LIVE}))"
        " ORDER BY task.priority, task.id LIMIT 1",
        (auto.uid, auto.after),
    ).fetchone()
    return None if row is None else str(row[0])


def auto_busy(db: Database, auto: Auto) -> int:
    """Return how many agents are at work on tasks of the list."""
    return sum(state in ("starting", "working") for state in _auto_states(db, auto.uid, 0))


def auto_failed_in_a_row(db: Database, auto: Auto) -> int:
    """Return how many of the list's agents have failed since the last that did not, since it was turned on."""
    ended = [state for state in _auto_states(db, auto.uid, auto.after) if state not in ("starting", "working")]
    return next((at for at, state in enumerate(ended) if state != "failed"), len(ended))


def _auto_states(db: Database, list_uid: str, after: int) -> list[str]:
    """Return the states of the works on tasks of a list, newest first."""
    rows = db.sql(
        "SELECT work.state FROM work JOIN task ON task.uid = work.task_uid JOIN list ON list.id = task.list_id"
        " WHERE list.uid = ? AND work.id > ? ORDER BY work.id DESC",
        (list_uid, after),
    )
    return [state for (state,) in rows.fetchall()]


def is_silent(db: Database, work: Work, now: int) -> bool:
    """Return whether a program that reports by hooks has started and reported nothing: it may ask at its terminal."""
    if work.state != "working" or now - work.started_at < SILENT_AFTER:
        return False
    row = db.sql("SELECT session, last_prompt, state FROM session WHERE uid = ?", (work.agent,)).fetchone()
    return row is not None and row[0].startswith("work:") and row[1] is None and row[2] != "gone"
