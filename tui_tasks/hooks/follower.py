"""Follows a database: processes what hooks leave beside it, watches the records of live sessions, and finds processes
that have ended, changes that they left half done, and machines of a team's server that are no longer heard of.

For long-running processes; it has a thread and a connection of its own.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from tui_tasks.clock import Uptime, uptime_beside
from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.commit import unfinished_changes
from tui_tasks.core.commit.database_clock import DatabaseClock
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.engine.commit_watch import Watch
from tui_tasks.core.errors import DatabaseRefused, Refusal, RoleRefused
from tui_tasks.core.operations.asks import AnswerByRule
from tui_tasks.core.operations.jobs import AbandonCheck, AbandonRun, FreeCheck
from tui_tasks.core.operations.sessions import EndSession, RestoreSession, SessionReport, TurnInterrupted
from tui_tasks.core.read import ask_queries, check_queries, job_queries
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import Seen
from tui_tasks.core.rules.recorded_settings import recorded
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections, heartbeats
from tui_tasks.core.unjournaled.heartbeats import LEASE, begin_lease, end_lease, lost_machines, unknown_machines
from tui_tasks.hooks import hooks_folder, intake, redaction, session_processes, session_records
from tui_tasks.hooks.programs import claude
from tui_tasks.hooks.programs.codex import CodexQueue
from tui_tasks.hooks.replies.reply_sender import ReplySender
from tui_tasks.runner import processes
from tui_tasks.runner.processes import ProcessIdentity
from tui_tasks.settings.config import SessionSettings
from tui_tasks.text.times import MINUTE

_log = logging.getLogger(__name__)

LOOK: Final = 0.15
"""Seconds between looks at the folder."""
_BETWEEN_COMMITS: Final = 0.01
"""Seconds at least between two looks for an answer, while others commit without a pause."""
LOOKS_A_CHECK: Final = 6
"""Looks between checks of processes: an agent whose process has ended is gone within two seconds."""
_PATIENCE: Final = 5.0
"""Seconds until a failed step is retried."""
_STOP: Final = 2.0
_SERVER_PATIENCE: Final = 60.0
"""Seconds until a refused step is retried: the server may allow it to other roles alone."""


class Follower:
    """Periodic work on a database; `run` does it until `stop`."""

    def __init__(self, path: str, clock: Callable[[], int]) -> None:
        self._path = path
        self._payloads = os.path.join(hooks_folder(path), "payloads")
        self._clock = clock
        self._stopped = threading.Event()
        self._looks = 0
        # The refusal that was logged last; "" after a success.
        self._refusal = ""
        self._store: Store | None = None
        self._sender: ReplySender | None = None
        self._watch: Watch | None = None
        self._records: RecordWatch | None = None
        self._codex: CodexQueue | None = None
        self._lost: LostMachines | None = None
        self._rules: StandingAnswers | None = None

    def run(self) -> None:
        """Follow the database's hooks until `stop`."""
        try:
            while not self._stopped.is_set():
                try:
                    self._look()
                    self._refusal = ""
                    self._pause()
                except (Refusal, DatabaseRefused) as refusal:
                    if str(refusal) != self._refusal:
                        self._refusal = str(refusal)
                        _log.warning("hook payloads will be read later: %s", refusal)
                    self._stopped.wait(_PATIENCE)
                except Exception:  # the front end continues
                    _log.exception("hook payloads could not be read")
                    self._stopped.wait(_PATIENCE)
        finally:
            if self._watch is not None:
                self._watch.close()
            if self._store is not None:
                self._store.close()

    def stop(self) -> None:
        """End `run` soon; may be called in any thread."""
        self._stopped.set()

    def _look(self) -> None:
        self._looks += 1
        if _has_payloads(self._payloads):
            self._process_payloads()
        if self._looks % LOOKS_A_CHECK == 0:
            self._opened().undo_left_changes(self._clock())
            session_processes.end_departed(self._opened(), self._clock())
            session_processes.note_stopped(self._opened(), self._clock())
            self._lost = self._lost or LostMachines(self._opened(), uptime_beside(self._clock))
            self._lost.look(self._clock())
            self._rules = self._rules or StandingAnswers(self._opened())
            self._rules.look(self._clock())
            self._records = self._records or RecordWatch(self._opened(), self._process_payloads, intake.human_settings)
            self._records.look(self._clock())
            self._codex = self._codex or CodexQueue(self._opened())
            self._codex.look()
        if os.path.isdir(self._payloads):
            self._sender = self._sender or ReplySender(self._opened())
            self._sender.look(self._clock())

    def _pause(self) -> None:
        """Wait until the next look. While a hook waits for an answer, send what a commit brings at once."""
        sender = self._sender
        if sender is None or not sender.is_waited_for:
            self._stopped.wait(LOOK)
            return
        self._watch = self._watch or Watch(self._opened().db)
        until = time.monotonic() + LOOK
        while (left := until - time.monotonic()) > 0 and not self._stopped.is_set():
            self._watch.sleep(left)
            if self._watch.changed(time.monotonic()):
                sender.look(self._clock())
                self._stopped.wait(_BETWEEN_COMMITS)

    def _process_payloads(self) -> None:
        intake.process_payloads(self._opened(), self._clock())

    def _opened(self) -> Store:
        self._store = self._store or Store(self._path, makes=False)
        return self._store


def _has_payloads(folder: str) -> bool:
    try:
        return any(not name.startswith(".") for name in os.listdir(folder))
    except OSError:
        return False  # no hook has left anything for this database yet


@contextlib.contextmanager
def following(path: str, clock: Callable[[], int], *, wanted: bool) -> Iterator[None]:
    """Follow the hooks of a database while the block runs, if wanted."""
    if not wanted:
        yield
        return
    follower = Follower(path, clock)
    thread = threading.Thread(target=follower.run, name="hooks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        follower.stop()
        thread.join(_STOP)


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
            seen
            for seen in session_queries.current(self._store.db)
            if seen.session.program in session_records.WITH_RECORDS
        ]
        reports = [_read_of(seen) for seen in there if self._has_rested(seen) or at_once]
        if any(map(_was_interrupted, there)):
            self._process_payloads()
            still = filter(_was_interrupted, session_queries.current(self._store.db))
            reports += [msgspec.structs.replace(_found_of(seen), events=(TurnInterrupted(),)) for seen in still]
        if report := [one for one in reports if one is not None]:
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

    def _write_reports(self, reports: list[SessionReport], now: int) -> None:
        settings = self._settings()
        with self._store.transaction(now) as transaction:
            for report in reports:
                intake.record_report(transaction, "", redaction.discreet(report, settings), tasks=settings.tasks)


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


class LostMachines:
    """Looks for machines whose lease has ended, and for this machine's sessions that others have ended."""

    def __init__(self, store: Store, uptime: Callable[[], Uptime]) -> None:
        self._store = store
        self._database_clock = DatabaseClock(uptime)
        self._refused_until = 0.0

    def look(self, now: int) -> int:
        """End what lost machines hold; return how much.

        Raises:
            Busy: the server is away.
        """
        if not self._store.db.machine or time.monotonic() < self._refused_until:
            return 0
        try:
            return _continue_sessions(self._store, now) + self._end_all(now)
        except RoleRefused as refused:
            _log.warning("what a lost machine holds stays open: %s", refused.message)
            self._refused_until = time.monotonic() + _SERVER_PATIENCE
            return 0

    def _end_all(self, now: int) -> int:
        db = self._store.db
        if not lost_machines(db, self._database_clock.look(db, now)) and not unknown_machines(db):
            return 0
        with self._store.transaction(now) as transaction:
            database_now = self._database_clock.record(db, now)
            for machine in sorted(unknown_machines(db)):
                begin_lease(db, machine, database_now)
            lost = sorted(lost_machines(db, database_now))
            count = sum(_end(transaction, machine) for machine in lost)
        for machine in lost:
            _log.warning("machine %s was not heard of: what it held is ended", machine)
        # The changes that were taken over.
        self._store.look_again()
        self._store.undo_interrupted_changes(now)
        return count


class StandingAnswers:
    """Answers by the human's rules what sessions of other machines ask, whose role on a server may not answer."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked_at: set[str] = set()
        self._refused_until = 0.0

    def look(self, now: int) -> None:
        """Answer the open permissions that were not looked at before.

        Raises:
            Busy: the server is away.
        """
        db = self._store.db
        if not db.machine or time.monotonic() < self._refused_until:
            return
        asked = {ask.uid for ask in ask_queries.open_asks(db) if ask.request is not None and self._is_elsewhere(ask)}
        if (new := asked - self._looked_at) and (settings := recorded(db)) is not None and settings.rules:
            try:
                self._store.commit(*(AnswerByRule(uid) for uid in new), actor=vocab.SYSTEM, now=now)
            except RoleRefused:
                self._refused_until = time.monotonic() + _SERVER_PATIENCE
                return
        self._looked_at = asked

    def _is_elsewhere(self, ask: Ask) -> bool:
        session = session_queries.find(self._store.db, ask.agent)
        return session is not None and session_queries.process(session).machine not in ("", self._store.db.machine)


def _end(tx: Transaction, machine: str) -> int:
    """End what a machine holds: its sessions, the questions for whose answer its processes wait, and its runs.

    What waits to be run there may run elsewhere. This machine has to undo what is interrupted there.
    """
    reason = f"machine {machine} was not heard of for {LEASE // MINUTE} min"
    why = {"topic": reason}
    sessions = [one.uid for one in session_queries.live(tx.db) if session_queries.process(one).machine == machine]
    asks = [ask for ask, process in connections.askers(tx.db) if process.machine == machine]
    held = [one for one in heartbeats.heartbeats(tx.db) if one.namespace.partition("@")[2] == machine]
    for agent in sessions:
        with tx.change():
            tx.speak(vocab.SYSTEM, why)
            tx.run(EndSession(agent, reason, by="machine"))
    for ask in asks:
        session_processes.withdraw(tx, ask, reason, why)
    for one in held:
        is_job = job_queries.any_run(tx.db, one.run_uid) is not None
        with tx.change():
            tx.speak(vocab.SYSTEM, why)
            tx.run(AbandonRun(one.run_uid, one, reason) if is_job else AbandonCheck(one.run_uid, one))
    waiting = [run.uid for run in check_queries.runs_in(tx.db, "waiting") if run.machine == machine]
    for uid in waiting:
        with tx.change():
            tx.speak(vocab.SYSTEM, why)
            tx.run(FreeCheck(uid, machine))
    changes = unfinished_changes.take_over(tx.db, machine)
    end_lease(tx.db, machine)
    return len(sessions) + len(asks) + len(held) + len(waiting) + changes


def _continue_sessions(store: Store, now: int) -> int:
    """Continue sessions of this machine that another machine has ended, and whose process runs; return how many.

    Raises:
        StorageFailed: they continue at a later call.
    """
    machine = store.db.machine
    lost = [
        one.uid
        for one in session_queries.ended_by_others(store.db)
        if (process := session_queries.process(one)).machine == machine
        and processes.is_alive(ProcessIdentity.of(process), machine)
        and not any(
            session_queries.process(other) == process for other in session_queries.in_process(store.db, process.pid)
        )
    ]
    if lost:
        with store.transaction(now) as transaction:
            for agent in lost:
                with transaction.change():
                    transaction.speak(agent)
                    transaction.run(RestoreSession(agent))
    return len(lost)
