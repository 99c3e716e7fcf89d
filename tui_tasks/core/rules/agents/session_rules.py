"""Sessions of agent programs: what their hooks' payloads change (docs: protocol, section 10).

The journal has what a person asked for, what the program waits for, and how its turns end. What changes many times a
second (the tool that runs, when the session was last heard) is kept beside the journal, in `activity`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.operations.sessions import (
    EndSession,
    PromptSubmitted,
    RecordReport,
    RefuseReport,
    RestoreSession,
    SessionReport,
    SessionStarted,
    ToolEnded,
)
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import AgentSession, SessionActivity
from tui_tasks.core.rules import rule
from tui_tasks.core.rules.agents import session_rows
from tui_tasks.core.rules.agents.session_events import ReportHandler
from tui_tasks.core.schema.agent_tables import ProcessedPayloadRow

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
    return session_rows.next_name(tx, report.program)


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
    if not _is_new(tx, op.name) or _is_second(tx, report):
        return
    known = session_queries.by_session(tx.db, report.program, report.session)
    if known is not None and known[1] == "former":
        return
    if known is not None and known[1] == "subagent":
        report = msgspec.structs.replace(report, subagent=report.session)
    ReportHandler(tx, report, tasks=op.tasks).apply()


def _is_new(tx: Transaction, name: str) -> bool:
    """Return whether a name was not recorded before, and record it."""
    if not name:
        return True
    if tx.db.one(_PROCESSED, name=name) is not None:
        return False
    tx.db.run(_PUT_PROCESSED, {"name": name, "at": tx.now})
    return True


def _is_second(tx: Transaction, report: SessionReport) -> bool:
    """Return whether another hook, of the user or of the project, has reported the same event, which would count twice.

    Events without an id of their own may be alike: they are all reported.
    """
    counts = any(
        isinstance(event, PromptSubmitted) or (isinstance(event, ToolEnded) and event.error is not None)
        for event in report.events
    )
    if not counts or not report.is_unique:
        return False
    name = f"event {report.program} {report.session} {report.hash}"
    before = tx.db.one(_PROCESSED, name=name)
    if before is None:
        tx.db.run(_PUT_PROCESSED, {"name": name, "at": report.at})
    return before is not None and abs(report.at - before[0]) < _TOGETHER


@rule(RefuseReport)
def refuse_report(tx: Transaction, op: RefuseReport) -> None:
    """Record that an agent's hook spoke for another agent (docs: protocol, section 10)."""
    if _is_new(tx, op.name) and _is_new(tx, f"refused {tx.actor} {op.agent}"):
        message = f"a hook from under the process of {tx.actor} named the session of {op.agent}"
        tx.emit("agent.refused", "refusal", tx.actor, new={"tool": f"hook {op.program}", "message": message})


@rule(EndSession)
def end_session(tx: Transaction, op: EndSession) -> bool:
    """End a session whose process has died."""
    session = session_queries.find(tx.db, op.agent)
    if session is None or session.state == session_queries.GONE:
        return False
    activity = session_queries.activity(tx.db, op.agent) or SessionActivity(op.agent, session.started_at)
    session_rows.withdraw_requests(tx, op.agent, op.reason)
    session_rows.end(tx, session, activity, op.by, tx.now)
    return True


@rule(RestoreSession)
def restore_session(tx: Transaction, op: RestoreSession) -> bool:
    """Go on with a session that ended because its machine was not heard of."""
    session = session_queries.find(tx.db, op.agent)
    if session is None or session.ended_by != session_queries.BY_MACHINE:
        return False
    session_rows.emit(tx, "session.started", session, {"state": "idle", "ended_at": None, "ended_by": None})
    return True
