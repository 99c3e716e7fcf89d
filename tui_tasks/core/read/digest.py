"""What happened since an instant, for a person who was away: read from the journal and the state, and nothing else.

It includes every failure of that time, also one that was resolved since. Instants are microseconds, UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.database import Database
from tui_tasks.core.journal import compaction, journal
from tui_tasks.core.read import asks, checks, statistics
from tui_tasks.core.read.agents import activity
from tui_tasks.core.read.tasks import held, queries
from tui_tasks.core.snapshots import verified

PARTS: Final = ("needs_you", "failed", "not_proven", "proven", "filed", "spent")
"""The parts of a digest, in their order."""
# How many tasks with a failed check are read at most.
_MOST_FAILING: Final = 100_000
# How many entries are searched for the one that a question or an agent's state comes from.
_NEAR: Final = 10_000


class DigestLine(msgspec.Struct, frozen=True, gc=False):
    """One line: what it is about, who did it, what happened, and the journal entries behind it, oldest first.

    `kind` says what `uid` is of: ask, task, held, stuck, run (a job's), check, claim, tool, session, refusal, unchecked
    (all tasks without checks), job or spent. `at` is when it began to need the human, otherwise when it happened last.
    `task` is the uid of the task that it is about. `entries` is empty where they were compacted away.
    """

    part: str
    kind: str
    uid: str
    name: str
    who: str
    text: str
    at: int
    entries: tuple[int, ...] = ()
    task: str | None = None
    count: int = 1

    @property
    def key(self) -> str:
        """Return what identifies the line within a digest."""
        return f"{self.part}/{self.kind}/{self.who if self.kind == 'filed' else ''}/{self.uid}"


class Digest(msgspec.Struct, frozen=True):
    """What happened from `since` to `until`: the entries after seq `after` up to `newest`.

    `is_cut`: entries of that time were compacted away.
    """

    since: int
    until: int
    after: int
    newest: int
    is_cut: bool
    lines: tuple[DigestLine, ...]

    @property
    def parts(self) -> dict[str, list[DigestLine]]:
        """Return the lines of each part, in the order of `PARTS`."""
        return {part: [line for line in self.lines if line.part == part] for part in PARTS}


def digest(db: Database, since: int, now: int) -> Digest:
    """Return what happened since an instant, and what needs the human now."""
    with db.transaction(write=False):
        after = max(statistics.seq_before(db, since), journal.oldest(db) - 1)
        newest = journal.newest(db)
        needing = list(_needs_you(db))
        statuses = [_Status(*journal.as_text(row)) for row in db.sql(_STATUSES, (after,))]
        events = [_Event(*journal.as_text(row)) for row in db.sql(_EVENTS, (after,))]
        lines = [
            *needing,
            *_failed(db, statuses, events),
            *_done(db, statuses, events, {line.uid for line in needing if line.kind == "check"}),
            *_filed(db, after, events),
            *_spent(events),
        ]
        is_cut = since < _compacted_before(db)
    order = {part: number for number, part in enumerate(PARTS)}
    lines.sort(key=lambda line: (order[line.part], line.kind == "unchecked", line.at, line.key))
    return Digest(since, now, after, newest, is_cut, tuple(lines))


def _compacted_before(db: Database) -> int:
    """Return the instant before which entries were compacted away; 0 if none were."""
    base = compaction.base(db)
    row = db.sql("SELECT new FROM journal WHERE seq = ?", (base.seq,)).fetchone() if base is not None else None
    return int(msgspec.json.decode(row[0]).get("before", 0)) if row is not None else 0


def _at(db: Database, seq: int) -> int:
    found: int | None = db.scalar(f"SELECT at FROM journal WHERE seq = {int(seq)}")
    return found or 0


# What needs the human now, since whenever


def _needs_you(db: Database) -> Iterator[DigestLine]:
    for ask in asks.open_asks(db):
        entries = _entry_of(db, "ask.opened", ask.uid, ask.opened_at)
        yield DigestLine(
            "needs_you", "ask", ask.uid, ask.question, ask.agent, "asks you", ask.opened_at, entries, ask.task_uid
        )
    for task in held.everything(db):
        entries = _of_task(db, task.uid, "task.created")
        text = f"waits for you in {task.list_name}"
        yield DigestLine("needs_you", "held", task.uid, task.name, task.maker, text, task.at, entries, task.uid)
    for job in held.jobs(db):
        entries = _entry_of(db, "job.created", job.uid, job.at)
        yield DigestLine("needs_you", "job", job.uid, job.name, job.maker, "a job that waits for you", job.at, entries)
    for uid in checks.failing(db, _MOST_FAILING):
        found = queries.any_task(db, uid)
        assert found is not None
        entries = _of_task(db, uid, "check.finished")
        at = _at(db, entries[-1]) if entries else found.updated_at
        text = "was reported done, and a check of it has failed"
        if found.status != "done":
            text = "is kept from being done by a check that has failed"
        yield DigestLine("needs_you", "check", uid, found.name, found.agent or "", text, at, entries[-1:], uid)
    for stuck in activity.stuck_now(db):
        at = stuck.since or 0
        rows = db.sql("SELECT seq, at FROM journal WHERE kind = 'agent.stuck' AND uid = ? AND seq > ?",
                      (stuck.uid, max(journal.newest(db) - _NEAR, 0))).fetchall()  # fmt: skip
        entries = tuple(seq for seq, _ in rows[-1:])
        yield DigestLine("needs_you", "stuck", stuck.uid, stuck.uid, stuck.uid, stuck.text or "is stuck", at, entries)


def _entry_of(db: Database, kind: str, uid: str, at: int) -> tuple[int, ...]:
    """Return the seq of the entry of that kind about a row, written at an instant; empty if it was compacted away."""
    start = statistics.seq_before(db, at)
    found = db.sql(
        "SELECT seq FROM journal WHERE seq > ? AND seq <= ? AND kind = ? AND uid = ? LIMIT 1",
        (start, start + _NEAR, kind, uid),
    ).fetchone()
    return (found[0],) if found else ()


def _of_task(db: Database, uid: str, kind: str) -> tuple[int, ...]:
    rows = db.sql("SELECT seq FROM journal WHERE task = ? AND kind = ? ORDER BY seq", (uid, kind)).fetchall()
    return tuple(seq for (seq,) in rows)


# What has failed

# Quotes within a text are escaped in JSON, so `instr` rules out nearly all entries cheaply. What a person or an agent
# says of a failure is in the entry that follows.
_STATUSES: Final = """
SELECT journal.seq, journal.at, journal.actor, journal.uid, json_extract(journal.new, '$.status') AS become,
    iif(instr(journal.new, '"status":"failed"'), coalesce(
        (SELECT json_extract(said.new, '$.message') FROM journal AS said WHERE said.seq = journal.seq + 1
            AND said.change = journal.change AND said.task = journal.task AND said.kind = 'task.logged'),
        json_extract(journal.new, '$.result')), NULL),
    task.name, task.status, task.deleted, task.list_id, task.checks
FROM journal JOIN task ON task.uid = journal.uid
WHERE journal.seq > ? AND journal.entity = 'task'
    AND (instr(journal.new, '"status":"done"') OR instr(journal.new, '"status":"failed"'))
    AND json_extract(journal.new, '$.status') IN ('done', 'failed')
ORDER BY journal.seq
"""
# The rarer events, beside statuses and new tasks.
_EVENTS: Final = """
SELECT journal.seq, journal.at, journal.actor, journal.kind, journal.entity, journal.uid, journal.task, journal.old,
    journal.new, task.name, task.agent
FROM journal LEFT JOIN task ON task.uid = journal.task
WHERE journal.seq > ? AND (
    journal.kind IN ('check.finished', 'check.stale', 'tool.failed', 'claim.lapsed', 'agent.refused', 'job.created')
    OR journal.entity = 'session'
    OR (journal.entity = 'run' AND journal.kind != 'job.pruned'
        AND json_extract(journal.new, '$.outcome') IN ('error', 'interrupted'))
)
ORDER BY journal.seq
"""


class _Status(NamedTuple):
    """An entry that sets a task done or failed, and the task as it is now."""

    seq: int
    at: int
    actor: str
    uid: str
    become: str
    reason: Any
    name: str
    status: str
    deleted: int
    list_id: int
    checks: str | None


class _Event(NamedTuple):
    """An entry of another kind, with the name and the agent of its task."""

    seq: int
    at: int
    actor: str
    kind: str
    entity: str
    uid: str
    task: str | None
    old: str | None
    new: str | None
    name: str | None
    agent: str | None

    @property
    def values(self) -> dict[str, Any]:
        """Return the values that it set."""
        found: dict[str, Any] = msgspec.json.decode(self.new) if self.new else {}
        return found


class _Failure(msgspec.Struct, gc=False):
    kind: str
    uid: str
    name: str
    who: str
    text: str
    task: str | None
    at: int = 0
    entries: list[int] = []
    status: str | None = None


def _failed(db: Database, statuses: list[_Status], events: list[_Event]) -> Iterator[DigestLine]:
    found: dict[tuple[str, str], _Failure] = {}
    told = [(one.seq, one.at, _of_status(one)) for one in statuses if one.become == "failed"]
    told += [(one.seq, one.at, failure) for one in events if (failure := _failure(db, one)) is not None]
    for seq, at, failure in told:
        known = found.setdefault((failure.kind, failure.uid), failure)
        known.at, known.text, known.who = at, failure.text, failure.who
        known.entries.append(seq)
    for one in found.values():
        text = f"{one.text} ({len(one.entries)} times)" if len(one.entries) > 1 else one.text
        if one.kind == "task" and one.status != "failed":
            text += f", and is {str(one.status).replace('_', ' ')} now"
        yield DigestLine(
            "failed", one.kind, one.uid, one.name, one.who, text, one.at, tuple(one.entries), one.task,
            len(one.entries),
        )  # fmt: skip


def _of_status(one: _Status) -> _Failure:
    text = f"failed: {one.reason}" if isinstance(one.reason, str) and one.reason else "failed"
    return _Failure(
        "task", one.uid, one.name, one.actor, text, one.uid, status="deleted" if one.deleted else one.status
    )


def _failure(db: Database, event: _Event) -> _Failure | None:
    """Return the failure that an entry reports, or None."""
    kind, uid, task, name, new = event.kind, event.uid, event.task, event.name, event.values
    tool = str(new.get("tool", ""))
    if event.entity == "run":
        return _of_run(db, uid, new, event.actor)
    if kind == "check.finished" and new.get("state") == "failed":
        check = str(new.get("name", ""))
        return _Failure("check", f"{task}/{check}", name or uid, event.agent or "", f"check {check} failed", task)
    if kind == "claim.lapsed":
        return _Failure("claim", task or uid, name or uid, event.agent or event.actor, "its claim ran out", task)
    if kind == "tool.failed":
        return _Failure("tool", f"{uid}/{tool}", tool, uid, f"failed: {new.get('error', '')}", None)
    if kind == "session.failed":
        return _Failure("session", uid, uid, uid, str(new.get("last_message") or "its turn failed"), None)
    if kind == "agent.refused":
        return _Failure("refusal", f"{uid}/{tool}", tool, uid, f"was refused: {new.get('message', '')}", None)
    return None


def _of_run(db: Database, uid: str, new: dict[str, Any], actor: str) -> _Failure:
    row = db.sql(
        "SELECT run.job_uid, job.name, run.result, run.reason FROM run JOIN job ON job.uid = run.job_uid"
        " WHERE run.uid = ?",
        (uid,),
    ).fetchone()
    job, name, result, reason = row or (uid, uid, None, None)
    why = new.get("reason") or new.get("result") or reason or result
    lines = str(why or "").strip().splitlines()
    outcome = new.get("outcome")
    return _Failure("run", job, name, actor, f"{outcome}: {lines[-1]}" if lines else str(outcome), None)


# What was reported done

_TASKS_NOW: Final = """
SELECT task.uid, task.name, task.list_id, task.checks, task.updated_by FROM task
WHERE task.uid = ? AND task.status = 'done' AND task.deleted = 0
"""
_STATE_TEXTS: Final = {
    "unproven": "was reported done, and its checks have not run",
    "running": "was reported done, and its checks run",
    "stale": "was reported done, and what its checks had passed was changed since",
    "failed": "was reported done, and a check of it has failed",
    "passed": "is done, and its checks have passed",
}


class _Reported(msgspec.Struct, gc=False):
    uid: str
    name: str
    list_id: int
    names: list[str] | None
    entries: list[int]
    at: int
    who: str


def _done(db: Database, statuses: list[_Status], events: list[_Event], told: set[str]) -> Iterator[DigestLine]:
    """Yield lines for tasks that were reported done, or checked, since; without `told`, which are listed already."""
    reported: dict[str, _Reported] = {}
    for one in statuses:
        if one.become != "done" or one.status != "done" or one.deleted:
            continue
        known = reported.get(one.uid)
        if known is None:
            wanted = msgspec.json.decode(one.checks) if one.checks else None
            reported[one.uid] = _Reported(one.uid, one.name, one.list_id, wanted, [one.seq], one.at, one.actor)
        else:
            known.at, known.who = one.at, one.actor
            known.entries.append(one.seq)
    for event in events:
        for uid in _checked(db, event):
            known = reported.get(uid) or _done_task(db, uid)
            if known is not None:
                reported[uid] = known
                known.entries, known.at = sorted({*known.entries, event.seq}), event.at
    states = dict(_verified(db, reported.values()))
    unchecked = [task for task in reported.values() if states.get(task.uid) is None]
    for task in reported.values():
        state = states.get(task.uid)
        if state is None or (state == "failed" and task.uid in told):
            continue
        part, text = "proven" if state == "passed" else "not_proven", _STATE_TEXTS[state]
        yield DigestLine(part, "task", task.uid, task.name, task.who, text, task.at, tuple(task.entries), task.uid)
    if unchecked:
        entries = sorted({seq for task in unchecked for seq in task.entries})
        many = len(unchecked)
        what = unchecked[0].name if many == 1 else f"{many:,} tasks"
        text = "reported done, with nothing to check"
        at = max(task.at for task in unchecked)
        who = unchecked[0].who if len({task.who for task in unchecked}) == 1 else ""
        yield DigestLine("not_proven", "unchecked", "", what, who, text, at, tuple(entries), None, many)


def _checked(db: Database, event: _Event) -> list[str]:
    """Return the uids of the tasks of which an entry reports that a check has ended or is stale."""
    if event.kind == "check.finished":
        return [event.task] if event.task is not None else []
    return checks.tasks_of(db, event.uid) if event.kind == "check.stale" else []


def _done_task(db: Database, uid: str) -> _Reported | None:
    """Return a task that is done, whenever it was reported; None if it is not done."""
    row = db.sql(_TASKS_NOW, (uid,)).fetchone()
    if row is None:
        return None
    _, name, list_id, names, who = row
    return _Reported(uid, name, list_id, msgspec.json.decode(names) if names else None, [], 0, who)


def _verified(db: Database, reported: Iterable[_Reported]) -> Iterator[tuple[str, str | None]]:
    """Yield the uid of each task that has checks, and what its checks come to."""
    known = checks.definitions(db)
    wanted = [one for one in reported if known or one.names]
    homes = {home.id: home for home in queries.lists(db)} if wanted else {}
    for list_id, group in groupby(sorted(wanted, key=lambda one: one.list_id), lambda one: one.list_id):
        if list_id not in homes:
            continue
        tasks = [(one.uid, one.names) for one in group]
        for uid, found in checks.of_tasks(db, tasks, homes[list_id], known).items():
            yield uid, verified(check.state for check in found)


# What agents have filed, and what they have spent

_AGENTS: Final = f"actor NOT IN ({', '.join(repr(name) for name in sorted(vocab.RESERVED_AGENTS))})"
_FILED: Final = f"""
SELECT journal.actor, list.uid, list.name, count(*), sum(task.held AND NOT task.deleted), sum(task.deleted),
    group_concat(journal.seq), max(journal.at), min(task.name), min(task.uid)
FROM journal JOIN task ON task.uid = journal.uid JOIN list ON list.id = task.list_id
WHERE journal.seq > ? AND journal.kind = 'task.created' AND journal.{_AGENTS}
GROUP BY journal.actor, list.uid
"""


def _filed(db: Database, after: int, events: list[_Event]) -> Iterator[DigestLine]:
    for actor, uid, home, many, waiting, deleted, seqs, at, name, task in map(
        journal.as_text, db.sql(_FILED, (after,))
    ):
        more = [f"{number:,} {words}" for number, words in ((waiting, "wait for you"), (deleted, "deleted")) if number]
        text = ", ".join([f"filed in {home}", *more])
        entries = tuple(sorted(int(seq) for seq in seqs.split(",")))
        what = name if many == 1 else f"{many:,} tasks"
        yield DigestLine("filed", "filed", uid, what, actor, text, at, entries, task if many == 1 else None, many)
    for one in events:
        if one.kind == "job.created" and one.actor not in vocab.RESERVED_AGENTS:
            name = str(one.values.get("name") or one.uid)
            yield DigestLine("filed", "job", one.uid, name, one.actor, "made this job", one.at, (one.seq,))


class _Cost(msgspec.Struct, gc=False):
    tokens: int = 0
    cost_usd: float = 0.0
    at: int = 0
    entries: list[int] = []


def _spent(events: list[_Event]) -> Iterator[DigestLine]:
    found: dict[str, _Cost] = {}
    for one in events:
        new = one.values if one.entity == "session" else {}
        if new.get("tokens") is None and new.get("cost_usd") is None:
            continue
        old = msgspec.json.decode(one.old) if one.old else {}
        cost = found.setdefault(one.uid, _Cost())
        for name in ("tokens", "cost_usd"):
            if new.get(name) is not None:
                setattr(cost, name, getattr(cost, name) + new[name] - (old.get(name) or 0))
        cost.at = one.at
        cost.entries.append(one.seq)
    for agent, cost in found.items():
        words = [f"{cost.tokens:,} tokens"] * bool(cost.tokens) + [f"${cost.cost_usd:,.2f}"] * bool(cost.cost_usd)
        text = ", ".join(words) or "nothing"
        yield DigestLine("spent", "spent", agent, agent, agent, text, cost.at, tuple(cost.entries))
