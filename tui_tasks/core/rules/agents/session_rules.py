"""Sessions of agent programs: which reports count, and how sessions are written: their names, journal entries and
questions, and the activity and ids that have no entry (docs: protocol, section 10). `session_events` says what each
event of a report changes.

The journal has what a person asked for, what the program waits for, and how its turns end. What changes many times a
second (the tool that runs, when the session was last heard) is kept beside the journal, in `activity`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import asdict

from tui_tasks.core import agent_names
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.operations.asks import CloseAsk
from tui_tasks.core.operations.sessions import (
    EndSession,
    InputRequested,
    PromptSubmitted,
    RecordReport,
    RefuseReport,
    RestoreSession,
    SessionEnded,
    SessionReport,
    SessionStarted,
    ToolEnded,
    TurnInterrupted,
)
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.last_words import PULSE_MINUTES
from tui_tasks.core.read.agents.session_queries import AgentSession, SessionActivity
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.agents.ask_rules import close_ask, open_request
from tui_tasks.core.rules.agents.request_text import is_whole, request_options, request_text
from tui_tasks.core.rules.agents.session_tasks import end_task
from tui_tasks.core.schema.agent_tables import ActivityRow, ProcessedPayloadRow, SessionNameRow
from tui_tasks.core.schema.tables import columns
from tui_tasks.text.times import MINUTE

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

_TOGETHER: Final = 10_000_000
"""Microseconds within which a program starts all hooks of an event."""
_PROCESSED = Statement(
    lambda: ProcessedPayloadRow.select(ProcessedPayloadRow.at).where(ProcessedPayloadRow.name == slot("name"))
)
_PUT_PROCESSED = Statement(
    lambda: ProcessedPayloadRow.insert({ProcessedPayloadRow.name: slot("name"), ProcessedPayloadRow.at: slot("at")})
)


def agent_of(tx: Transaction, report: SessionReport) -> str:
    """Return the name under which a session speaks: the one that it has, or the next free one of its program."""
    known = session_queries.by_session(tx.db, report.program, report.session)
    if known is not None:
        return known[0]
    if (former := goes_on(tx.db, report)) is not None:
        return former.uid
    started = session_queries.find(tx.db, report.agent) if report.agent is not None else None
    if started is not None and started.session.startswith(session_queries.PLACEHOLDER):
        return started.uid
    return next_name(tx, report.program)


def goes_on(db: Database, report: SessionReport) -> AgentSession | None:
    """Return the session of the same process that goes on under another id, as after a program's `/clear`."""
    if not any(isinstance(event, SessionStarted) and event.source == "clear" for event in report.events):
        return None
    sessions = [
        one
        for one in session_queries.of_process(db, report.process.pid)
        if session_queries.process(one) == report.process
    ]
    return sessions[-1] if sessions else None


@rule(RecordReport)
def record_report(tx: Transaction, op: RecordReport) -> None:
    """Write what follows from a report. One whose name was recorded before, or of a former session id, is ignored, and
    so is the second of two hooks that were told of the same event.
    """
    report = op.report
    if not (_record_if_new(tx, op.name) and _record_event_if_first(tx, report)):
        return
    known = session_queries.by_session(tx.db, report.program, report.session)
    if known is not None and known[1] == "former":
        return
    if known is not None and known[1] == "subagent":
        report = msgspec.structs.replace(report, subagent=report.session)
    from tui_tasks.core.rules.agents.session_events import ReportHandler  # it is built upon this module

    ReportHandler(tx, report, tasks=op.tasks).apply()


def _record_if_new(tx: Transaction, name: str) -> bool:
    """Record a name unless it was recorded before, and return whether it is new."""
    if not name:
        return True
    if tx.db.one(_PROCESSED, name=name) is not None:
        return False
    tx.db.run(_PUT_PROCESSED, {"name": name, "at": tx.now})
    return True


def _record_event_if_first(tx: Transaction, report: SessionReport) -> bool:
    """Record an event that would count twice; return False if another hook, of the user or of the project, has reported
    it before.

    Events without an id of their own may be alike: they are all reported.
    """
    counts = any(
        isinstance(event, PromptSubmitted) or (isinstance(event, ToolEnded) and event.error is not None)
        for event in report.events
    )
    if not counts or not report.is_unique:
        return True
    name = f"event {report.program} {report.session} {report.hash}"
    before = tx.db.one(_PROCESSED, name=name)
    if before is None:
        tx.db.run(_PUT_PROCESSED, {"name": name, "at": report.at})
    return before is None or abs(report.at - before[0]) >= _TOGETHER


@rule(RefuseReport)
def refuse_report(tx: Transaction, op: RefuseReport) -> None:
    """Record that an agent's hook spoke for another agent (docs: protocol, section 10)."""
    if _record_if_new(tx, op.name) and _record_if_new(tx, f"refused {tx.actor} {op.agent}"):
        message = f"a hook from under the process of {tx.actor} named the session of {op.agent}"
        tx.emit("agent.refused", "refusal", tx.actor, new={"tool": f"hook {op.program}", "message": message})


@rule(EndSession)
def end_session(tx: Transaction, op: EndSession) -> bool:
    """End a session whose process has died."""
    session = session_queries.find(tx.db, op.agent)
    if session is None or session.state == session_queries.GONE:
        return False
    activity = session_queries.activity(tx.db, op.agent) or SessionActivity(op.agent, session.started_at)
    withdraw_requests(tx, op.agent, op.reason)
    end(tx, session, activity, op.by, tx.now)
    return True


@rule(RestoreSession)
def restore_session(tx: Transaction, op: RestoreSession) -> bool:
    """Go on with a session that ended because its machine was not heard of."""
    session = session_queries.find(tx.db, op.agent)
    if session is None or session.ended_by != session_queries.BY_MACHINE:
        return False
    emit(tx, "session.started", session, {"state": "idle", "ended_at": None, "ended_by": None})
    return True


_ACTIVITY: Final = tuple(columns(ActivityRow))
_DROP_ACTIVITY = Statement(lambda: ActivityRow.delete().where(ActivityRow.uid == slot("uid")))
_PUT_ACTIVITY = Statement(
    lambda: ActivityRow.insert({column: slot(name) for name, column in columns(ActivityRow).items()})
)
_SET_STOPPED = Statement(
    lambda: ActivityRow.update({ActivityRow.stopped_at: slot("at")}).where(ActivityRow.uid == slot("uid"))
)
_DROP_NAME = Statement(
    lambda: SessionNameRow.delete().where(
        (SessionNameRow.program == slot("program")) & (SessionNameRow.session == slot("session"))
    )
)
_PUT_NAME = Statement(
    lambda: SessionNameRow.insert({column: slot(name) for name, column in columns(SessionNameRow).items()})
)

# Columns that an entry about a session always has, changed or not.
_ALWAYS: Final = frozenset({"state", "waiting_for", "last_prompt"})

# Why the task of a prompt failed.
_LOST: Final = {
    "process": "the agent's process ended within its turn",
    session_queries.BY_MACHINE: "the agent's machine has been silent too long",
}

_WENT_ON: Final = "it was answered in the program's own window, or is no longer asked"
_ASKED_ANEW: Final = "its program asks the same again"

_encode = msgspec.json.Encoder().encode
_canonical = msgspec.json.Encoder(order="deterministic").encode


def next_name(tx: Transaction, program: str) -> str:
    """Return the next free name of an agent of a program: `claude-2`."""
    number = session_queries.last_number(tx.db, program) + 1
    # An agent on the control channel may have taken the name.
    while agent_names.has_spoken(tx.db, f"{program}-{number}"):
        number += 1
    return f"{program}-{number}"


def withdraw_requests(tx: Transaction, agent: str, reason: str) -> None:
    """Withdraw the open questions that a program asks in its window. Questions asked with our tools stay open."""
    for ask in session_queries.open_asks_of(tx.db, agent):
        if ask.request is not None:
            close_ask(tx, CloseAsk(ask.uid, "withdrawn", reason))


def key_of(report: SessionReport, asked: InputRequested) -> str:
    """Return the key that identifies a request of a program."""
    what = [report.subagent, asked.kind, asked.tool, asked.input, asked.questions]
    return asked.request or hashlib.sha256(_canonical(what)).hexdigest()


def close_answered(tx: Transaction, report: SessionReport, key: str | None) -> None:
    """Close the questions that a payload shows to be answered; `key` is the question that it asks, if any."""
    # While a program asks at its terminal, nobody can prompt it there or end its turn.
    ends_all = any(isinstance(event, PromptSubmitted | TurnInterrupted | SessionEnded) for event in report.events)
    for ask in session_queries.open_asks_of(tx.db, tx.actor):
        request = ask.request
        # What a subagent does does not answer what the session or another subagent asks.
        is_of_it = request is not None and (ends_all or request["subagent"] == report.subagent)
        if is_of_it and request is not None and request["key"] != key:
            close_ask(tx, CloseAsk(ask.uid, "withdrawn", _WENT_ON))


def is_asked_anew(tx: Transaction, report: SessionReport, key: str) -> bool:
    """Return whether a second hook asks a known question again and waits for its own answer; if it does, close the
    question of the former.
    """
    former = [ask for ask in session_queries.open_asks_of(tx.db, tx.actor) if (ask.request or {})["key"] == key]
    if report.answer is None or any((ask.request or {})["answer"] == report.answer for ask in former):
        return False
    for ask in former:
        close_ask(tx, CloseAsk(ask.uid, "withdrawn", _ASKED_ANEW))
    return True


def open_asked(tx: Transaction, report: SessionReport, event: InputRequested, key: str, project: str | None) -> Ask:
    """Open the question that a program asks. A standing answer may answer it at once."""
    request = {
        "program": report.program,
        "session": report.session,
        "kind": event.kind,
        "tool": event.tool,
        "input": event.input,
        "cwd": report.cwd,
        "suggestions": event.suggestions,
        "questions": event.questions,
        "id": event.request,
        "hash": report.hash,
        "answer": report.answer,
        "key": key,
        "subagent": report.subagent,
        "note": event.note,
        "is_whole": is_whole(event),
    }
    return open_request(tx, request, request_text(event), request_options(event), project)


def begin(tx: Transaction, report: SessionReport, at: int) -> AgentSession:
    """Record a new session of the transaction's actor, first heard at `at`."""
    session = AgentSession(
        id=tx.state_cache.next_id("session"),
        uid=tx.actor,
        program=report.program,
        number=int(tx.actor.rpartition("-")[2]),
        session=report.session,
        boot=report.process.boot,
        namespace=report.process.namespace,
        pid=report.process.pid,
        born=report.process.born,
        cwd=report.cwd,
        project=report.project,
        model=report.model,
        mode=report.mode,
        state="idle",
        waiting_for=None,
        last_prompt=None,
        last_message=None,
        task=None,
        tokens=None,
        cost_usd=None,
        started_at=at,
        ended_at=None,
        ended_by=None,
    )
    tx.emit("session.started", "session", session.uid, new=asdict(session))
    name_session(tx, report.program, report.session, tx.actor, "own")
    return session


def end(tx: Transaction, session: AgentSession, activity: SessionActivity, by: str, at: int) -> None:
    """Record that a session ended, and by what: process, machine, replaced, reported, error. End its prompt's task."""
    if session.task is not None:
        # Nobody knows whether the process ended by itself.
        status, reason = ("failed", _LOST[by]) if by in _LOST else ("cancelled", None)
        end_task(tx, session.task, status, reason)
    new = {**activity.news, "state": session_queries.GONE, "ended_at": at, "ended_by": by}
    emit(tx, "session.ended", session, new)
    keep_activity(tx, SessionActivity(session.uid, activity.last_seen, pulse=activity.pulse, record=activity.record))


def emit(tx: Transaction, kind: str, session: AgentSession, changes: dict[str, Any]) -> AgentSession:
    """Add a journal entry about a session, with the changed columns."""
    new = {name: value for name, value in changes.items() if name in _ALWAYS or getattr(session, name) != value}
    tx.emit(kind, "session", session.uid, old={name: getattr(session, name) for name in new}, new=new)
    return msgspec.structs.replace(session, **new)


def keep_activity(tx: Transaction, activity: SessionActivity) -> None:
    """Write what a session is doing. This has no journal entry."""
    tx.db.run(_DROP_ACTIVITY, {"uid": activity.uid})
    values = {name: getattr(activity, name) for name in _ACTIVITY}
    values |= {"busy": int(activity.busy)}
    values |= {name: _encode(values[name]).decode() for name in ("background", "news", "tool_times", "pulse", "record")}
    tx.db.run(_PUT_ACTIVITY, values)


def set_stopped(db: Database, agent: str, at: int | None) -> None:
    """Record when a session's process was suspended (None: it runs), in the open write transaction."""
    db.run(_SET_STOPPED, {"uid": agent, "at": at})


def name_session(tx: Transaction, program: str, session: str, agent: str, part: str) -> None:
    """Record that a program's session id belongs to an agent: its own id, a former id, or a subagent's."""
    tx.db.run(_DROP_NAME, {"program": program, "session": session})
    tx.db.run(_PUT_NAME, {"program": program, "session": session, "agent": agent, "part": part})


MAX_TIMES: Final = 20
"""How many durations of each tool are kept."""


def count_pulse(activity: SessionActivity, at: int) -> None:
    """Count a payload in the minute of `at` (microseconds)."""
    at = max(activity.last_seen, at)
    later = min(at // MINUTE - activity.last_seen // MINUTE, PULSE_MINUTES)
    pulse = [*(activity.pulse or [0]), *[0] * later]
    pulse[-1] += 1
    activity.pulse, activity.last_seen = pulse[-PULSE_MINUTES:], at


def begin_tool(activity: SessionActivity, tool: str, call: str | None, target: str | None, at: int) -> None:
    """Record that a tool started at `at`; `call` is the program's id of this use, `target` what the tool works on."""
    activity.tool, activity.tool_since, activity.call, activity.tool_target = tool, at, call, target


def end_tool(activity: SessionActivity, at: int) -> None:
    """Record that the running tool ended at `at`, and its duration."""
    if activity.tool is not None and activity.tool_since is not None:
        times = [*activity.tool_times.get(activity.tool, []), max(0, at - activity.tool_since)]
        activity.tool_times = {**activity.tool_times, activity.tool: times[-MAX_TIMES:]}
    forget_tool(activity)


def forget_tool(activity: SessionActivity) -> None:
    """Record that no tool runs. The duration of the last one is unknown."""
    activity.tool = activity.tool_since = activity.call = activity.tool_target = None


def is_running(activity: SessionActivity, tool: str, call: str | None) -> bool:
    """Return whether this use of a tool is the running one; ids decide if both have one."""
    if activity.tool is None:
        return False
    return call == activity.call if call and activity.call else tool == activity.tool
