"""Processes the payloads that hooks left beside a database (docs: protocol, section 10).

Each report becomes an operation of its session's agent. The payload's name is stored in the same transaction, so that a
payload whose file could not be removed is not processed twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import is_storage_error
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import Refusal, RoleRefused, StorageFailed, WritesJournal
from tui_tasks.core.operations.sessions import RecordReport, RefuseReport, SessionReport, TurnInterrupted
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.rules.agents.session_rules import agent_of, goes_on
from tui_tasks.core.schema.agent_tables import ProcessedPayloadRow
from tui_tasks.core.store import Store
from tui_tasks.hooks import programs, redaction, session_processes, session_records
from tui_tasks.hooks.hook_folder import Payload, Spool
from tui_tasks.hooks.replies import answer_pipes
from tui_tasks.hooks.session_records import Record
from tui_tasks.settings import config, paths, project
from tui_tasks.settings.config import SessionSettings
from tui_tasks.settings.project import ProjectRefused
from tui_tasks.text.times import DAY

_log = logging.getLogger(__name__)

AT_ONCE: Final = 100
"""How many payloads are processed in one transaction, during which other writers wait."""
_LOCK_WAIT_S: Final = 0.3
"""Seconds to wait for another process that is processing payloads."""
_NAME_RETENTION: Final = DAY

_FORGET = Statement(lambda: ProcessedPayloadRow.delete().where(ProcessedPayloadRow.at < slot("before")))
_decode = msgspec.json.Decoder().decode
# Fields by which a program tells one of its events from another.
_IDS: Final = re.compile(rb'"(?:prompt_id|turn_id|tool_use_id|timestamp|messageID|callID)"\s*:')


def process_payloads(store: Store, now: int, settings: SessionSettings | None = None) -> int:
    """Process the waiting payloads in order, as the human's settings say; return their number.

    If another process is doing so, wait for it for a short time, then process what it left.

    Raises:
        StorageFailed: the rest is processed another time.
    """
    try:
        spool = Spool(store.path, make=False)
    except OSError:
        # There are no payloads, or none of this user.
        return 0
    with spool:
        if not spool.pending():
            return 0
        with _intake_lock(spool):
            return _process_payloads(store, spool, now, settings or human_settings())


def human_settings() -> SessionSettings:
    """Return the human's settings for sessions."""
    return config.load(paths.configuration())[0].sessions


@contextlib.contextmanager
def _intake_lock(spool: Spool) -> Iterator[None]:
    until = time.monotonic() + _LOCK_WAIT_S
    lock = None
    with contextlib.suppress(OSError):
        while (lock := spool.lock_intake()) is None and time.monotonic() < until:
            time.sleep(0.005)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


class _Read(NamedTuple):
    """A payload that was read: its report (None: it has none), and the other agent from under whose process it came."""

    name: str
    report: SessionReport | None
    other: str | None


def _process_payloads(store: Store, spool: Spool, now: int, settings: SessionSettings) -> int:
    count = 0
    records = _Records(store.db)
    while names := spool.pending()[:AT_ONCE]:
        payloads = _read_some(store.db, spool, names, records, settings)
        reports = [(name, report, other) for name, report, other in payloads if report is not None]
        try:
            count += _record_all(store, reports, now, settings)
        except RoleRefused:
            count += sum(_record_one(store, one, now, settings) for one in reports)
        for _, report, _ in reports:
            # A hook whose request was refused, or had been reported by another hook, waits for nothing.
            if report.answer is not None and ask_queries.waiting_as(store.db, report.answer) is None:
                answer_pipes.send(spool.folder, report.answer, report.hash, b"")
        for name, _, _ in payloads:
            spool.drop(name)
    return count


_Named = tuple[str, SessionReport, str | None]


def _record_one(store: Store, report: _Named, now: int, settings: SessionSettings) -> int:
    """Write one report by a role that may not write all; return how many were written.

    Where the role may not answer by the human's rules, a permission stays open for a machine that may.
    """
    for answers_by_rule in (True, False):
        try:
            return _record_all(store, [report], now, settings, answers_by_rule=answers_by_rule)
        except RoleRefused as refused:
            problem = refused.message
    _log.warning("a payload of %s was left out: %s", report[1].program, problem)
    return 0


def _record_all(
    store: Store, reports: list[_Named], now: int, settings: SessionSettings, *, answers_by_rule: bool = True
) -> int:
    """Write reports in one transaction, without a server if they only say what a session is doing; return how many."""
    if store.db.machine:
        with contextlib.suppress(WritesJournal), store.transaction(store.db.server_time(now), is_local=True) as own:
            return _record_within(own, reports, settings)
    with store.transaction(now) as transaction:
        transaction.answers_by_rule = answers_by_rule
        return _record_within(transaction, reports, settings)


def _record_within(transaction: Transaction, reports: list[_Named], settings: SessionSettings) -> int:
    transaction.db.run(_FORGET, {"before": transaction.now - _NAME_RETENTION})
    count = 0
    for name, report, other in reports:
        if other is not None:
            _refuse_report(transaction, name, report, other)
        else:
            count += record_report(transaction, name, report, tasks=settings.tasks)
    return count


def _read_some(
    db: Database, spool: Spool, names: list[str], records: _Records, settings: SessionSettings
) -> list[_Read]:
    """Read payloads in order, up to one whose session or ancestors an earlier one of these may change."""
    payloads: list[_Read] = []
    owners: dict[Process, tuple[str, str]] = {}
    for name in names:
        payload = _payload(spool, name)
        report = _report(payload, db.machine) if payload is not None else None
        if payload is None or report is None:
            payloads.append(_Read(name, None, None))
            continue
        whose, above = (report.program, report.session), _above(payload.head, db.machine)
        nearest = next((owners[process] for process in above if process in owners), whose)
        if above and (nearest != whose or any(owners[process] == whose for process in owners.keys() - set(above))):
            break
        if report.process.born:
            owners[report.process] = whose
        if session_queries.by_session(db, *whose) is None:
            report = msgspec.structs.replace(
                report, agent=session_queries.without_id(db, report.program, (report.process, *above))
            )
        other = session_processes.other_above(db, *whose, above)
        payloads.append(_Read(name, report if other is not None else _with_record(report, records, settings), other))
    return payloads


def _with_record(report: SessionReport, records: _Records, settings: SessionSettings) -> SessionReport | None:
    try:
        return redaction.discreet(records.add_to(report), settings)
    except (OSError, ValueError) as error:
        _log.warning("a payload of %s was left out: %s", report.program, error)
        return None


def _above(head: dict[str, Any], machine: str) -> list[Process]:
    """Return the processes above the hook of a payload, nearest first."""
    born_by_pid = [one.partition(":") for one in _text_field(head, "ancestors").split()]
    boot, namespace = _text_field(head, "boot"), _text_field(head, "namespace")
    return [
        Process(boot, namespace, int(pid), born).on(machine) for pid, _, born in born_by_pid if pid.isdecimal() and boot
    ]


class _Records:
    """The programs' records of the sessions whose payloads are processed; each is read further when needed."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._found: dict[tuple[str, str], Record] = {}

    def add_to(self, report: SessionReport) -> SessionReport:
        """Return a report with the events in the program's record of its session added."""
        whose = report.program, report.session
        if whose not in self._found:
            agent = self._agent_of(report)
            self._found[whose] = session_records.of(
                session_queries.activity(self._db, agent) if agent is not None else None
            )
        return session_records.with_record(report, self._found[whose])

    def _agent_of(self, report: SessionReport) -> str | None:
        if (known := session_queries.by_session(self._db, report.program, report.session)) is not None:
            return known[0]
        former = goes_on(self._db, report)
        return former.uid if former is not None else None


def _payload(spool: Spool, name: str) -> Payload | None:
    try:
        return spool.read(name)
    except FileNotFoundError:
        return None  # another process has processed it
    except (OSError, ValueError) as error:
        _log.warning("payload %s of a hook was left out: %s", name, error)
        return None


def _report(payload: Payload, machine: str) -> SessionReport | None:
    try:
        return read(payload, machine)
    except (OSError, ValueError) as error:
        _log.warning("payload %s of a hook was left out: %s", payload.name, error)
        return None


def _refuse_report(transaction: Transaction, name: str, report: SessionReport, other: str) -> None:
    """Drop a report that came from under the process of another agent, which the journal has once."""
    with transaction.change():
        transaction.speak(other)
        transaction.run(RefuseReport(report.program, agent_of(transaction, report), name))


def record_report(transaction: Transaction, name: str, report: SessionReport, *, tasks: bool) -> bool:
    """Write one report; return whether it was written. One that fails is logged and dropped, as it would fail again.

    Raises:
        StorageFailed: the database cannot be written; the payload stays.
    """
    try:
        with transaction.change():
            transaction.speak(agent_of(transaction, report))
            transaction.run(RecordReport(report, name, tasks))
    except StorageFailed:
        raise
    except Refusal as refusal:
        _log.warning("a payload of %s was left out: %s", report.program, refusal.message)
        return False
    except Exception as error:
        if is_storage_error(error):
            raise
        from tui_tasks.core.maintenance import database_findings

        if damage := database_findings.quick_damage_of(transaction.db):
            _log.error("a payload of %s was left out: %s", report.program, damage)
        else:
            _log.exception("a payload of %s could not be read", report.program)
        return False
    return True


def read(payload: Payload, machine: str = "") -> SessionReport | None:
    """Return the report of a payload; None if it is about no session. `machine` is that of the database."""
    head = payload.head
    program = str(head.get("program"))
    content, is_exact = _content(payload)
    report = programs.read(program, content, is_waited_for=bool(_text_field(head, "answer")))
    if report is None:
        return None
    if not is_exact:
        report = msgspec.structs.replace(report, events=tuple(map(redaction.inexact, report.events)))
    at, pid = (value if isinstance(value := head.get(name), int) else 0 for name in ("at", "pid"))
    return msgspec.structs.replace(
        report,
        # The program reports nothing about a turn that its hook has ended.
        events=(
            *map(redaction.bounded, report.events),
            *([TurnInterrupted()] if head.get("ends_turn") is True else []),
        ),
        at=at,
        process=Process(_text_field(head, "boot"), _text_field(head, "namespace"), pid, _text_field(head, "born")).on(
            machine
        ),
        cwd=report.cwd or _text_field(head, "cwd") or None,
        project=_project(_text_field(head, "project"), report.cwd or _text_field(head, "cwd")),
        hash=hashlib.sha256(payload.body).hexdigest(),
        is_unique=_IDS.search(payload.body) is not None,
        answer=_text_field(head, "answer") or None,
        is_shared=head.get("is_shared") is True,
    )


def _project(named: str, folder: str) -> str | None:
    """Return the project given to the hook, else that of the folder in which the program works."""
    try:
        if named:
            return project.checked(named)
        return project.of_folder(Path(folder)) if os.path.isabs(folder) else None
    except (ProjectRefused, OSError, ValueError):
        return None


def _text_field(head: dict[str, Any], name: str) -> str:
    value = head.get(name)
    return value if isinstance(value, str) else ""


def _content(payload: Payload) -> tuple[dict[str, Any], bool]:
    """Return a payload's JSON object with storable texts, and whether it is what the program wrote; for an invalid one,
    the fields that can be read.
    """
    is_exact = payload.head.get("is_cut") is not True
    try:
        content = _decode(payload.body)
    except (msgspec.DecodeError, RecursionError):
        is_exact = False
        # A character that the program cut in half is invalid for a strict JSON reader.
        try:
            content = json.loads(payload.body.decode(errors="replace"))
        except (ValueError, RecursionError):
            content = _beginning(payload.body)
    kept = redaction.json_value(content)
    return (kept, is_exact and kept == content) if isinstance(kept, dict) else ({}, False)


_NAMED: Final = re.compile(
    rb'"(session_id|hook_event_name|cwd|permission_mode|tool_name|tool_use_id)"\s*:\s*"([^"\\]{1,1000})"'
)


def _beginning(body: bytes) -> dict[str, str]:
    """Return the fields at the beginning of a payload that was too long to be kept whole."""
    fields: dict[str, str] = {}
    for name, value in _NAMED.findall(body[:65_536]):
        fields.setdefault(name.decode(), value.decode(errors="replace"))
    return fields
