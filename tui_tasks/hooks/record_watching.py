"""Watches the records of live sessions while a process follows the database."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tui_tasks.core.operations.sessions import SessionReport, TurnInterrupted
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import Seen
from tui_tasks.core.store import Store
from tui_tasks.hooks import intake, session_records, storable
from tui_tasks.hooks.programs import claude
from tui_tasks.settings.config import SessionSettings


class RecordWatch:
    """Finds what no hook reports: usage during a turn, and turns that failed or were ended by the person."""

    def __init__(
        self, store: Store, process_payloads: Callable[[], object], settings: Callable[[], SessionSettings]
    ) -> None:
        """`process_payloads` processes the payloads so far, as a hook may report the same."""
        self._store = store
        self._process_payloads = process_payloads
        self._settings = settings
        self._sizes: dict[str, int] = {}

    def look(self, now: int, *, at_once: bool = False) -> None:
        """Report what is new; `at_once`: there will be no further call.

        Raises:
            StorageFailed: call again later.
        """
        there = [
            seen for seen in session_queries.current(self._store.db) if seen.session.program in session_records.PROGRAMS
        ]
        found = [_read_of(seen) for seen in there if self._has_rested(seen) or at_once]
        if any(map(_was_interrupted, there)):
            self._process_payloads()
            still = filter(_was_interrupted, session_queries.current(self._store.db))
            found += [msgspec.structs.replace(_found_of(seen), events=(TurnInterrupted(),)) for seen in still]
        if report := [one for one in found if one is not None]:
            self._write_reports(report, now)
        self._sizes = {seen.session.uid: self._sizes.get(seen.session.uid, 0) for seen in there}

    def _has_rested(self, seen: Seen) -> bool:
        """Return whether a record has new content, and has not grown since the last look.

        A program that ends right after its last line lets its hook report first.
        """
        record, uid = session_records.of(seen.activity), seen.session.uid
        size = session_records.size(seen.session.program, record.path) if record.path else 0
        had, self._sizes[uid] = self._sizes.get(uid), size
        return size == had and size != sum(part.read for part in record.parts.values())

    def _write_reports(self, found: list[SessionReport], now: int) -> None:
        settings = self._settings()
        with self._store.transaction(now) as transaction:
            for report in found:
                intake.record_report(transaction, "", storable.discreet(report, settings), tasks=settings.tasks)


def _read_of(seen: Seen) -> SessionReport | None:
    """Return a report of the new events in the record of a session; None if there are none."""
    record = session_records.of(seen.activity)
    before = msgspec.to_builtins(record)
    events = session_records.read_on(seen.session.program, record)
    if (read := msgspec.to_builtins(record)) == before:
        return None
    report = msgspec.structs.replace(_found_of(seen), model=record.model, record=read, ends_waiting=False)
    return msgspec.structs.replace(report, events=tuple(events))


def _found_of(seen: Seen) -> SessionReport:
    return SessionReport(seen.session.program, seen.session.session, is_payload=False)


def _was_interrupted(seen: Seen) -> bool:
    """Return whether Claude Code waits for its person while its hooks report a turn in progress."""
    session, at = seen.session, seen.activity
    if session.program != "claude" or seen.state not in ("working", "waiting") or at.background or not session.pid:
        return False
    since = claude.idle_since(session_records.of(at).path, session.session, session.pid)
    return since is not None and at.worked_at is not None and since > at.worked_at
