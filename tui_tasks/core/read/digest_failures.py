"""The lines of a digest about failures: what has failed, why, how often, and what it is now."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import job_lines, job_queries, work_queries, work_text
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.digest_lines import (
    CLAIM_LAPSED,
    DISMISSED,
    FAILED,
    OK_AGAIN,
    DigestLine,
    EventEntry,
    Recovery,
    StatusEntry,
)
from tui_tasks.core.read.job_lines import FailingJob
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_records
from tui_tasks.core.unjournaled import local_values
from tui_tasks.core.unjournaled.local_values import Dismissed

_STARTED_BY: Final = ", started by job {job}"


class _Failure(msgspec.Struct, gc=False):
    """A failure with all its entries; `status` is that of its task now. `what` and `reason`: see `Recovery`. `is_open`:
    the human has not dealt with the work that failed. `texts`: what each of the entries says. `run`: the job's run, if
    it has failed.
    """

    kind: str
    uid: str
    name: str
    who: str
    text: str
    task: str | None
    at: int = 0
    entries: list[int] = []
    status: str | None = None
    what: str = "failed"
    reason: str = ""
    is_open: bool = False
    texts: set[str] = set()
    run: FailingJob | None = None


def failed(db: Database, statuses: list[StatusEntry], events: list[EventEntry], now: int) -> Iterator[DigestLine]:
    """Yield a line for each thing that has failed, or gone wrong otherwise, however often it did.

    A failure that was undone has none, and an undo that restores one does not count.
    """
    each = [
        (entry.seq, entry.at, _of_task(db, entry))
        for entry in statuses
        if vocab.task_failed(entry.become) and entry.undoes is None and journal.stands(db, entry.change)
    ]
    works = {(one.agent, one.at): one for one in work_text.failed(db)} if any(map(_of_work, events)) else {}
    each += [(event.seq, event.at, failure) for event in events if (failure := _failure(db, event, works)) is not None]
    failures: dict[tuple[str, str], _Failure] = {}
    for seq, at, failure in sorted(_without_runs_of_tasks(each), key=lambda one: one[0]):
        one = failures.setdefault((failure.kind, failure.uid), failure)
        one.at, one.text, one.who = at, failure.text, failure.who
        one.what, one.reason, one.is_open = failure.what, failure.reason, failure.is_open
        one.entries.append(seq)
        one.texts.add(failure.text)
    passed: dict[tuple[str | None, Any], list[int]] = {}
    for event in filter(_has_passed, events):
        passed.setdefault((event.task, event.values.get("name")), []).append(event.at)
    away = local_values.dismissed(db, now)
    for one in failures.values():
        many, ok_since = len(one.entries), _ok_since(db, one, passed)
        state = _state(db, one, ok_since, now, away)
        state = DISMISSED if state == FAILED and _is_dismissed(db, one, away) else state
        text = one.text
        if one.kind == "session" and (state == "gone" or not text):
            # Beside the word "gone" a reason alone would say why it has gone.
            text = f"its turn failed{': ' * bool(text)}{text}"
        has_failed_otherwise = one.kind == "task" and len(one.texts) > 1
        text += f" ({'failed ' * has_failed_otherwise}{many} times)" * (many > 1)
        if one.status is not None and state not in (FAILED, CLAIM_LAPSED, DISMISSED):
            text += f"; {_task_now(db, one)}"
        elif state == OK_AGAIN:
            text += ", ok again"
        yield DigestLine(
            "failed", one.kind, one.uid, one.name, one.who, text, one.at, tuple(one.entries), one.task, many,
            state=state, recovery=Recovery(one.what, one.reason, many, ok_since) if ok_since is not None else None,
            done_at=_done_at(db, one),
        )  # fmt: skip


def _done_at(db: Database, one: _Failure) -> int | None:
    """Return when the task that failed was done; None where it is not."""
    line = list_pages.line(db, one.task) if one.status == "done" and one.task is not None else None
    return line.finished_at if line is not None else None


def _without_runs_of_tasks(each: list[tuple[int, int, _Failure]]) -> Iterator[tuple[int, int, _Failure]]:
    """Yield failures with their seqs and instants, without the runs that are one failure with a task that is failed."""
    tasks: defaultdict[str | None, list[tuple[int, _Failure]]] = defaultdict(list)
    for _, at, one in each:
        if one.kind == "task" and vocab.task_failed(one.status or ""):
            tasks[one.who].append((at, one))
    for seq, at, one in each:
        of_agent = tasks[one.run.agent] if one.run is not None else []
        its = [task for failed_at, task in of_agent if one.run is not None and one.run.is_of_task(task.who, failed_at)]
        for task in its:
            task.text = task.text.removesuffix(_STARTED_BY.format(job=one.name)) + _STARTED_BY.format(job=one.name)
        if not its:
            yield seq, at, one


def _task_now(db: Database, one: _Failure) -> str:
    """Return what has become of the task that failed."""
    line = list_pages.line(db, one.task) if one.status == "done" and one.task is not None else None
    if line is not None and (merges := work_text.merges(db, line.uid)):
        return merges[-1][0]
    if line is not None and line.who not in (one.who, vocab.HUMAN):
        return f"{line.who} has done it since"
    if one.status == "in_progress" and (line := list_pages.line(db, one.task or "")) is not None and line.who:
        waits = any(work.state in ("ready", "conflict") for work in work_queries.of_task(db, line.uid))
        return "its work waits for review" if waits else f"{line.who} is at work on it"
    return f"the task is {(one.status or '').replace('_', ' ')} now"


def _state(db: Database, one: _Failure, ok_since: int | None, now: int, away: Dismissed) -> str:
    """Return what a failure is now, of `digest_lines.STATES`."""
    if one.is_open:
        return FAILED
    if one.status is not None:
        return _state_of_task(one.kind, one.status)
    if one.kind == "run":
        return _state_of_job(db, one.uid)
    if one.kind == "session":
        return _state_of_agent(db, one.uid, now, away.at)
    if ok_since is not None:
        return OK_AGAIN
    return {"check": "check_failed", "tool": "tool_error", "refusal": "refused"}[one.kind]


def _is_dismissed(db: Database, one: _Failure, away: Dismissed) -> bool:
    """Return whether the human has dismissed what failed."""
    if one.kind == "run":
        job = next((job for job in job_lines.failing_jobs(db) if job.uid == one.uid), None)
        return job is not None and job.at is not None and away.has(local_values.key_of_job(one.uid), job.at)
    if one.is_open:
        return away.has(local_values.key_of_agent(one.who), one.at)
    task = list_pages.line(db, one.task) if one.task is not None else None
    if task is not None and vocab.task_failed(task.status):
        return away.has(local_values.key_of_task(task.uid), task_records.failed_at(db, task))
    return one.kind == "session" and away.has(local_values.key_of_agent(one.uid), one.at)


def _state_of_task(kind: str, status: str) -> str:
    if vocab.task_failed(status):
        return FAILED
    if status == "done":
        return OK_AGAIN
    if status not in vocab.OPEN:
        return "dropped"
    return CLAIM_LAPSED if kind == "claim" and status == "pending" else "open_again"


def _state_of_job(db: Database, uid: str) -> str:
    job = job_queries.any_job(db, uid)
    if job is None or job.deleted:
        return "dropped"
    if vocab.job_failed(job.failures, job.last_outcome):
        return FAILED
    return OK_AGAIN if job.last_outcome == "success" else "interrupted"


def _state_of_agent(db: Database, uid: str, now: int, seen_at: int) -> str:
    seen = session_queries.seen(db, uid)
    if seen is None:
        return "gone"
    if vocab.agent_failed(seen.state, seen.session.ended_at, seen_at, now):
        return FAILED
    return "gone" if seen.session.ended_at is not None else OK_AGAIN


def _of_work(event: EventEntry) -> bool:
    return event.kind == "work.failed"


def _has_passed(event: EventEntry) -> bool:
    return event.kind == "check.finished" and event.values.get("state") == "passed"


def _ok_since(db: Database, one: _Failure, passed: Mapping[tuple[str | None, Any], list[int]]) -> int | None:
    """Return when a job or a check succeeded first after its last failure; None if it has not, and for others."""
    if one.kind == "run":
        last = job_queries.last_ended(db, one.uid)
        is_over = last is not None and last.outcome == "success" and (last.ended_at or 0) > one.at
        return job_queries.ok_since(db, one.uid, one.at) if is_over else None
    if one.kind == "check":
        return min((at for at in passed.get((one.task, one.uid.partition("/")[2]), ()) if at > one.at), default=None)
    return None


def _of_task(db: Database, entry: StatusEntry) -> _Failure:
    """Return a task's failure with its reason; where the entry has none, and it still holds, what the list shows."""
    why = task_records.result_text(_from_json(entry.reason))
    if not why and vocab.task_failed(entry.status) and (line := list_pages.line(db, entry.uid)) is not None:
        why = task_records.end_reason(db, line)
    text = f"failed: {why}" if why else "failed"
    status = "deleted" if entry.deleted else entry.status
    who = entry.actor
    if who == vocab.SYSTEM and (task := list_pages.line(db, entry.uid)) is not None:
        # A process has ended: its agent's task has failed, and the run of the job that started the agent.
        who = task.agent or ""
        job = job_queries.job_of_agent(db, who)
        text += _STARTED_BY.format(job=job) if job else ""
    return _Failure("task", entry.uid, entry.name, who, text, entry.uid, status=status)


def _from_json(reason: Any) -> Any:
    """Return what a reason holds: SQLite extracts an object or an array as JSON text."""
    if isinstance(reason, str) and reason[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            return json.loads(reason)
    return reason


def _failure(db: Database, event: EventEntry, works: Mapping[tuple[str, int], work_text.FailedWork]) -> _Failure | None:
    """Return the failure that an entry reports, or None. `works`: those that the human has not dealt with."""
    kind, uid, task, name, new = event.kind, event.uid, event.task, event.name, event.values
    tool = str(new.get("tool", ""))
    if event.entity == "run":
        return _of_run(db, uid, new, event.actor)
    if kind == "check.finished" and new.get("state") == "failed":
        check = str(new.get("name", ""))
        text = f'check "{check}" failed'
        return _Failure("check", f"{task}/{check}", name or uid, event.agent or "", text, task, what=text)
    if kind == "claim.lapsed":
        # The task may be another agent's by now.
        claim = task_records.find(db, uid)
        holder = claim.agent if claim is not None else event.actor
        line = list_pages.line(db, task) if task is not None else None
        status = line.status if line is not None and not line.deleted else "deleted"
        return _Failure("claim", task or uid, name or uid, holder, "its claim lapsed", task, status=status)
    if kind == "tool.failed":
        return _Failure("tool", f"{uid}/{tool}", tool, uid, f"failed: {new.get('error', '')}", None)
    if _of_work(event):
        line = list_pages.line(db, task) if task is not None else None
        status = line.status if line is not None and not line.deleted else "deleted"
        agent = work_queries.find(db, uid).agent
        one = works.get((agent, event.at))
        why = one.text if one is not None else str(new.get("message") or "its agent failed")
        return _Failure("task", task or uid, name or uid, agent, why, task, status=status, is_open=one is not None)
    if kind == "session.failed":
        return _Failure("session", uid, uid, uid, str(new.get("last_message") or ""), None)
    if kind == "agent.refused" and uid in vocab.RESERVED_AGENTS:
        return _Failure("refusal", uid, "commands", uid, f"refused, last {tool}: {new.get('message', '')}", None)
    if kind == "agent.refused":
        return _Failure("refusal", f"{uid}/{tool}", tool, uid, f"was refused: {new.get('message', '')}", None)
    return None


def _of_run(db: Database, uid: str, new: dict[str, Any], actor: str) -> _Failure:
    row = db.sql(
        "SELECT run.job_uid, job.name, run.result, run.reason, run.agent, run.started_at, run.ended_at, job.id"
        " FROM run JOIN job ON job.uid = run.job_uid WHERE run.uid = ?",
        (uid,),
    ).fetchone()
    job, name, result, reason, agent, began, ended, number = row or (uid, uid, None, None, None, None, None, 0)
    who = agent or "" if actor == vocab.SYSTEM else actor
    why = new.get("reason") or new.get("result") or reason or result
    lines = str(why or "").strip().splitlines()
    outcome, reason = new.get("outcome"), lines[-1] if lines else ""
    text = f"{outcome}: {reason}" if lines else str(outcome)
    has_failed = vocab.run_failed(outcome)
    run = FailingJob(name, job, number, ended, began, agent) if has_failed else None
    what = "failed" if has_failed else str(outcome)
    return _Failure("run", job, name, who, text, None, what=what, reason=reason, run=run)
