"""Work: the agents that the human starts on tasks, until what they made is ready, and lists that work themselves off:
`work.auto_lists` starts their ready tasks, and turns a list off after failures in a row (docs: protocol, section 12).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import asdict

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import KEPT_COUNTS, Auto, Process, Work
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.core.operations.sessions import PromptSubmitted, RecordReport, SessionReport
from tui_tasks.core.operations.tasks import ClaimTask, LogTask
from tui_tasks.core.operations.work import (
    CommentWork,
    CountWork,
    HostAuto,
    ReportWork,
    RunWork,
    SetAuto,
    SetWork,
    StartWork,
    StopAuto,
    WorkReady,
)
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import SessionActivity
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.read.tasks.task_names import named
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.agents import session_rules
from tui_tasks.core.rules.agents.message_rules import send_message
from tui_tasks.core.rules.agents.session_rules import record_report
from tui_tasks.core.rules.tasks.claim_rules import claim_task
from tui_tasks.core.rules.tasks.record_rules import log_task
from tui_tasks.core.rules.tasks.task_rules import change_task
from tui_tasks.core.rules.work_refusals import check_here, check_open, in_state, require_human
from tui_tasks.core.schema import task_links
from tui_tasks.core.snapshots import Task
from tui_tasks.text.times import YEAR

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction


LEASE: Final = YEAR
"""Microseconds of the claim of an agent that the human started: it ends with the work."""


def set_columns(tx: Transaction, work: Work, kind: str, **changes: Any) -> Work:
    """Emit an entry with the columns of a work that it changes."""
    new = {name: value for name, value in changes.items() if getattr(work, name) != value}
    if not new:
        if kind == "work.updated":
            return work
        new = {"state": work.state}  # it has happened again
    changed = msgspec.structs.replace(work, **new)
    task = task_queries.any_task(tx.db, work.task_uid)
    tx.emit(kind, "work", work.uid, old={name: getattr(work, name) for name in new}, new=new, task=task)
    return changed


@rule(StartWork)
def start_work(tx: Transaction, op: StartWork) -> Work:
    """Start an agent: its session, its claim on the task and its work are written before git makes anything.

    Raises:
        Conflict: an agent is at work on the task or in the folder, the repository is another project's, or the task
            cannot be taken up.
    """
    require_human(tx)
    if op.limits:
        from tui_tasks.core.rules import work_limit_rules  # it is built upon this module

        work_limit_rules.check_limits(op.limits)
    task = task_queries.task(tx.db, op.task_uid)
    _refuse_start(tx, op, task)
    uid = tx.new_uid()
    work = Work(
        id=tx.state_cache.next_id("work"),
        uid=uid,
        task_uid=task.uid,
        agent=_begin_session(tx, op, uid),
        program=op.program,
        repository=op.repository,
        worktree=op.worktree,
        makes_worktree=op.makes_worktree,
        branch=op.branch,
        base=op.base,
        base_commit=op.base_commit,
        terminal=f"work-{task.number}-{uid[:6]}" if op.has_terminal else None,
        state="starting",
        message=None,
        summary=None,
        pull_request=None,
        started_at=tx.now,
        limits={"own": op.limits} if op.limits else None,
        machine=tx.db.machine,
    )
    task = _take_up(tx, task, work)
    tx.emit("work.started", "work", uid, new=asdict(work), task=task)
    return work


def _refuse_start(tx: Transaction, op: StartWork, task: Task) -> None:
    """Refuse a start in another project's repository, on a done task, or where an agent is at work already."""
    own = task_queries.list_by_id(tx.db, task.list_id).project
    if own is not None and op.project is not None and own != op.project:
        raise Conflict(
            f"{named(task)} belongs to the project {own}, and {op.repository} is the project {op.project}: start the "
            f"agent from a folder of {own}",
            project=own,
        )
    check_open(tx.db, task)
    for other in work_queries.live(tx.db):
        if other.task_uid == task.uid and not op.is_race:
            beside = "start another agent on it as well (--race)"
            if other.state in ("ready", "conflict"):
                waits = f"the work of {other.agent} on {named(task)} waits for review"
                raise Conflict(f"{waits}: merge or discard it first, or {beside}", id=task.uid)
            raise Conflict(f"{other.agent} is at work on {named(task)}: wait for it, or {beside}", id=task.uid)
        if (other.machine, other.worktree) == (tx.db.machine, op.worktree) and not op.is_shared:
            beside = "merge or discard its work first, or start another agent there as well (--share)"
            raise Conflict(
                f"{other.agent} is at work in {op.worktree}: {beside}", worktree=op.worktree, agent=other.agent
            )


def _begin_session(tx: Transaction, op: StartWork, uid: str) -> str:
    """Record the session of an agent that is about to be started; return the agent's name."""
    agent = session_rules.next_name(tx, op.program)
    report = SessionReport(
        op.program,
        f"{session_queries.PLACEHOLDER}{uid}",
        at=tx.now,
        process=Process().on(tx.db.machine),
        cwd=op.folder or op.worktree,
        project=op.project,
    )
    with tx.speaking_as(agent):
        session_rules.begin(tx, report, tx.now)
        session_rules.keep_activity(tx, SessionActivity(agent, tx.now))
    return agent


def _take_up(tx: Transaction, task: Task, work: Work) -> Task:
    """Let the agent of a work claim its task, and link the task to the branch. In a race the first agent claims it."""
    is_race = any(other.task_uid == task.uid for other in work_queries.live(tx.db))
    if task.claimed_by is not None and not is_race:
        raise Conflict(f"{task.claimed_by} has claimed {named(task)}: release it first", claimed_by=task.claimed_by)
    if task.status != "pending" and not is_race:
        task = change_task(tx, task, "task.updated", {"status": "pending", "agent": None})
    links = task.links
    if work.branch is not None:
        link = task_links.checked(task_links.BRANCH, work.branch)
        links = links if link in links else (*links, link)
    if task.status == "pending":
        claim_task(tx, ClaimTask(work.agent, LEASE, task.uid))
        task = task_queries.task(tx.db, task.uid)
    return change_task(tx, task, "task.updated", {"links": links})


@rule(RunWork)
def run_work(tx: Transaction, op: RunWork) -> Work:
    """Record the process of a work's agent, and the prompt that it was given."""
    require_human(tx)
    work = in_state(tx, op.uid, "starting", "working", "ready", "conflict")
    session = session_queries.find(tx.db, work.agent)
    placeholder = f"{session_queries.PLACEHOLDER}{work.uid}"
    if session is not None and (session.session == placeholder or session.state == session_queries.GONE):
        is_back = {"session": placeholder, "state": "idle", "ended_at": None, "ended_by": None}
        changes = is_back if session.state == session_queries.GONE else {"state": session.state}
        with tx.speaking_as(work.agent):
            session_rules.emit(tx, "session.started", session, {**asdict(op.process), **changes})
            if op.prompt:
                report = SessionReport(work.program, placeholder, (PromptSubmitted(op.prompt),), tx.now, op.process)
                record_report(tx, RecordReport(report, "", tasks=False))
    return set_columns(tx, work, "work.updated", state="working") if work.state != "working" else work


@rule(ReportWork)
def report_work(tx: Transaction, op: ReportWork) -> Work:
    """Report the speaker's own work ready; the human may report any.

    In another agent's worktree, as of a reviewer, only its words are kept: what is to be reviewed may be the other's.

    Raises:
        Conflict: the task has no work that could be ready.
        Forbidden: it is another agent's.
    """
    task = task_queries.task(tx.db, op.task_uid)
    works = [work for work in work_queries.of_task(tx.db, task.uid) if work.state in vocab.LIVE_WORK]
    if not works:
        raise Conflict(f"no agent was started on {named(task)}, or its work is over", id=task.uid)
    own = [work for work in works if tx.actor in (work.agent, vocab.HUMAN)]
    if not own:
        raise Forbidden(f"{works[-1].agent} is at work on {named(task)}: only it reports it ready")
    if tx.actor != vocab.HUMAN and own[-1].state != "ready" and work_queries.owner(tx.db, own[-1]) is not None:
        # It is ready once git shows a commit of its own.
        return set_columns(tx, own[-1], "work.updated", summary=op.summary or "")
    return _be_ready(tx, own[-1], op.summary)


def _be_ready(tx: Transaction, work: Work, summary: str | None, message: str | None = None) -> Work:
    if work.state not in ("starting", "working", "ready", "conflict"):
        raise Conflict(f"the work is {work.state}", state=work.state)
    if work.state == "ready" and summary in (None, work.summary):
        return work
    more = {} if summary is None else {"summary": summary}
    return set_columns(tx, work, "work.ready", state="ready", message=message, **more)


@rule(WorkReady)
def work_ready(tx: Transaction, op: WorkReady) -> Work:
    """Record that a turn is over with something to review."""
    require_human(tx)
    return _be_ready(tx, work_queries.find(tx.db, op.uid), op.summary, op.message)


def follow_status(tx: Transaction, task: Task) -> None:
    """Let the work on a task follow the task's new status: done makes it ready, and in progress makes it go on."""
    works = work_queries.of_task(tx.db, task.uid)
    own = [work for work in works if work.agent == tx.actor] or works
    if not own:
        return
    work = own[-1]
    if work.agent != tx.actor:
        work = work_queries.owner(tx.db, work) or work
    if task.status == "done" and work.state in ("starting", "working", "conflict"):
        _be_ready(tx, work, None)
    elif task.status == "in_progress" and work.state == "ready" and tx.actor == work.agent:
        set_columns(tx, work, "work.updated", state="working")


def has_failed_work(tx: Transaction, task: Task) -> bool:
    """Return whether an agent has failed on a task; who ends the task then has dealt with that."""
    return any(work.state == "failed" for work in work_queries.of_task(tx.db, task.uid))


@rule(CountWork)
def count_work(tx: Transaction, op: CountWork) -> None:
    """Keep counts of git beside the journal."""
    require_human(tx)
    values = [op.counts.get(name) for name in KEPT_COUNTS]
    columns = ", ".join(("uid", *KEPT_COUNTS, "at"))
    marks = ", ".join("?" * (len(KEPT_COUNTS) + 2))
    tx.db.sql(f"INSERT OR REPLACE INTO work_count ({columns}) VALUES ({marks})", (op.uid, *values, tx.now))


@rule(CommentWork)
def comment_work(tx: Transaction, op: CommentWork) -> Work:
    """Send the comments. The agent continues, and its task is in progress again."""
    require_human(tx)
    if not op.text.strip():
        raise InvalidArgument("text", "a comment must not be empty")
    work = in_state(tx, op.uid, "ready", "conflict", "working")
    task = task_queries.task(tx.db, work.task_uid)
    send_message(tx, SendMessage(work.agent, op.text))
    log_task(tx, LogTask(task.uid, op.text))
    limits = work.limits
    if limits is not None:
        from tui_tasks.core.rules import work_limit_rules  # it is built upon this module

        limits = work_limit_rules.continued_limits(work) if work_limit_rules.is_stopped_at_limit(work) else limits
    work = set_columns(tx, work, "work.commented", state="working", message=None, limits=limits)
    task = task_queries.task(tx.db, work.task_uid)
    if task.status == "done":
        change_task(tx, task, "task.updated", {"status": "in_progress"})
    return work


@rule(SetWork)
def set_work(tx: Transaction, op: SetWork) -> Work:
    """Set the columns of a work that come from git or a forge."""
    require_human(tx)
    if unknown := op.changes.keys() - {"pull_request", "intent", "kept", "terminal"}:
        raise InvalidArgument("changes", f"changes: no {', '.join(sorted(unknown))}")
    work = work_queries.find(tx.db, op.uid)
    check_here(tx.db, work)
    return set_columns(tx, work, "work.updated", **op.changes)


@rule(SetAuto)
def set_auto(tx: Transaction, op: SetAuto) -> Auto:
    """Turn on that a list works itself off, or change it.

    Raises:
        Conflict: the list is archived.
        InvalidArgument: a number is below 1.
    """
    require_human(tx)
    home = task_queries.list_by_uid(tx.db, op.list_uid)
    if home.archived:
        raise Conflict(f"{home.name} is archived", id=home.uid)
    for name in ("at_once", "failures"):
        if getattr(op, name) < 1:
            raise InvalidArgument(name, f"{name.replace('_', ' ')} must be 1 or more")
    known = work_queries.auto_of(tx.db, home.uid)
    after = known.after if known is not None and known.is_on else work_queries.last_work(tx.db)
    fields = {name: getattr(op, name) for name in ("program", "folder", "at_once", "failures", "stays", "host")}
    return _set_auto(tx, known, Auto(uid=home.uid, is_on=True, after=after, machine=tx.db.machine, **fields))


@rule(HostAuto)
def host_auto(tx: Transaction, op: HostAuto) -> Auto:
    """Record the process that starts the agents of a list from now on."""
    require_human(tx)
    known = work_queries.find_auto(tx.db, op.list_uid)
    return _set_auto(tx, known, msgspec.structs.replace(known, host=op.host))


@rule(StopAuto)
def stop_auto(tx: Transaction, op: StopAuto) -> Auto:
    """Turn off that a list works itself off. The agents that are at work continue."""
    require_human(tx)
    known = work_queries.find_auto(tx.db, op.list_uid)
    return _set_auto(tx, known, msgspec.structs.replace(known, is_on=False, message=op.message))


def _set_auto(tx: Transaction, known: Auto | None, wanted: Auto) -> Auto:
    if known is None:
        tx.emit("list.auto", "auto", wanted.uid, new=asdict(wanted))
        return wanted
    old: dict[str, Any] = asdict(known)
    new = {name: value for name, value in asdict(wanted).items() if old[name] != value}
    if new:
        tx.emit("list.auto", "auto", wanted.uid, old={name: old[name] for name in new}, new=new)
    return wanted
