"""Sessions of agent programs: what their hooks' payloads change (docs: protocol, section 10).

The journal has what a person asked for, what the program waits for, and how its turns end. What changes many times a
second (the tool that runs, when the session was last heard) is kept beside the journal, in `activity`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tui_tasks.core import names
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.operations.sessions import (
    EndSession,
    RecordReport,
    SessionReport,
    SessionStarted,
)
from tui_tasks.core.read.agents import sessions
from tui_tasks.core.rules.agents import session_rows
from tui_tasks.core.rules.agents.session_events import ReportHandler
from tui_tasks.core.rules.registry import rule
from tui_tasks.core.schema.tables.sessions import ProcessedPayloadRow
from tui_tasks.core.session_snapshots import AgentSession, SessionActivity

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

_PROCESSED = Statement(
    ProcessedPayloadRow.select(ProcessedPayloadRow.at).where(ProcessedPayloadRow.name == slot("name"))
)
_PUT_PROCESSED = Statement(
    ProcessedPayloadRow.insert({ProcessedPayloadRow.name: slot("name"), ProcessedPayloadRow.at: slot("at")})
)


def agent_of(tx: Transaction, report: SessionReport) -> str:
    """Return the name under which a session speaks: the one that it has, or the next free one of its program."""
    known = sessions.by_session(tx.db, report.program, report.session)
    if known is not None:
        return known[0]
    if (former := goes_on(tx.db, report)) is not None:
        return former.uid
    number = sessions.last_number(tx.db, report.program) + 1
    # An agent on the control channel may have taken the name.
    while names.has_spoken(tx.db, f"{report.program}-{number}"):
        number += 1
    return f"{report.program}-{number}"


def goes_on(db: Database, report: SessionReport) -> AgentSession | None:
    """Return the session of the same process that goes on under another id, as after a program's `/clear`."""
    if not any(isinstance(event, SessionStarted) and event.source == "clear" for event in report.events):
        return None
    found = [one for one in sessions.of_process(db, report.process.pid) if sessions.process(one) == report.process]
    return found[-1] if found else None


@rule(RecordReport)
def record_report(tx: Transaction, op: RecordReport) -> None:
    """Write what follows from a report. One whose name was recorded before, or of a former session id, is ignored."""
    if op.name:
        if tx.db.one(_PROCESSED, name=op.name) is not None:
            return
        tx.db.run(_PUT_PROCESSED, {"name": op.name, "at": tx.now})
    report = op.report
    known = sessions.by_session(tx.db, report.program, report.session)
    if known is not None and known[1] == "former":
        return
    if known is not None and known[1] == "subagent":
        report = msgspec.structs.replace(report, subagent=report.session)
    ReportHandler(tx, report, tasks=op.tasks).apply()


@rule(EndSession)
def end_session(tx: Transaction, op: EndSession) -> bool:
    """End a session whose process has died."""
    session = sessions.find(tx.db, op.agent)
    if session is None or session.state == sessions.GONE:
        return False
    activity = sessions.activity(tx.db, op.agent) or SessionActivity(op.agent, session.started_at)
    session_rows.withdraw_requests(tx, op.agent, op.reason)
    session_rows.end(tx, session, activity, "process", tx.now)
    return True
