"""`python -m tui_tasks.runner.run_supervisor`: executes one run from its beginning to its record.

The supervisor outlives the program that started it. If it dies before it has recorded the end, the next scheduler
records the run as interrupted.

Two processes watch each other, so that killing either ends the run: the keeper, started by the scheduler, kills the
processes that its child leaves behind; the supervisor, its child, kills its command when the keeper dies.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from tui_tasks import clock
from tui_tasks.core.engine.commit_watch import Watch
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.core.unjournaled.run_output import write_output
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import processes, run_marks
from tui_tasks.runner.run_process import RunProcess
from tui_tasks.runner.run_records import CannotStart, CommandSpec, RunEnding, RunRecord, record_of
from tui_tasks.runner.supervisor_launch import PASSWORD, Assignment, folder


class Conversation(Protocol):
    """One run's conversation with its agent program."""

    def prepare(self, spec: CommandSpec) -> CommandSpec:
        """Return the command to start: with the arguments of the program's protocol, and without input."""

    def read_output(self, data: bytes) -> bytes:
        """Handle standard output of the program; return the part for people, as UTF-8."""

    def begin(self, command: RunProcess) -> None:
        """Send the first messages to the started program."""

    def update(self, *, changed: bool) -> None:
        """Write pending reports, and send what the human decided. `changed`: whether something was committed since."""

    def seconds_to_wait(self) -> float:
        """Return the seconds until `update` has something to do even if nothing is committed."""

    def end(self) -> None:
        """Write what is left, after the program and its descendants have ended."""

    def ending_of(self, plain: RunEnding) -> RunEnding:
        """Return how the run ended; `plain` is what the exit status says."""


Converse = Callable[[Store, Assignment], Conversation]

_log = logging.getLogger(__name__)

# Seconds between two writes of output.
FLUSH_SECONDS: Final = 0.5
# Seconds for which writing the record is retried.
GIVE_UP_SECONDS: Final = 3_600.0
# The signal that the kernel sends a supervisor when its keeper dies.
KEEPER_DIED: Final = signal.SIGUSR1


class Supervisor:
    """Supervises one run that has begun."""

    def __init__(
        self,
        store: Store,
        assignment: Assignment,
        record: RunRecord,
        command: RunProcess,
        signals: Signals,
        conversation: Conversation | None = None,
    ) -> None:
        self._conversation = conversation
        self._signals = signals
        self._record = record
        self._store = store
        self._assignment = assignment
        self._command = command
        self._watch = Watch(store.db)
        self._selector = selectors.DefaultSelector()
        self._deadline = time.monotonic() + assignment.timeout
        self._flush_at = 0.0
        self._heartbeat_at = time.monotonic() + assignment.heartbeat_seconds
        # The outcome and reason with which the command was ended; None while it may run.
        self._ended_as: tuple[str, str] | None = None
        self._recorded_elsewhere = False

    def run(self) -> RunEnding | None:
        """Supervise the run until all its processes are gone; return None if its end is already recorded."""
        self._command.register(self._selector)
        self._selector.register(self._signals.fd, selectors.EVENT_READ, lambda *_: self._on_signals())
        if self._watch.fd is not None:
            self._selector.register(self._watch.fd, selectors.EVENT_READ, lambda *_: self._watch.arm(time.monotonic()))
        if self._conversation is not None:
            self._conversation.begin(self._command)
        # It may have been stopped while its command was being started; the watch reports only later commits.
        self._check_end_requested()
        self._turn()
        while not self._command.is_gone:
            for key, _ in self._selector.select(self._seconds_to_wait()):
                key.data(self._selector, key.fileobj)
            self._turn()
        self._command.drain()
        if self._conversation is not None:
            self._conversation.end()
        self._flush()
        self._watch.close()
        if self._recorded_elsewhere:
            return None
        plain = self._plain_ending()
        return plain if self._conversation is None else self._conversation.ending_of(plain)

    def _on_signals(self) -> None:
        came = set(self._signals.read())
        if KEEPER_DIED in came:
            self._end("interrupted", "its supervisor's keeper died")
            self._command.kill()
        if {signal.SIGTERM, signal.SIGINT} & came:
            self._end("interrupted", "its supervisor got a signal to end")

    def _turn(self) -> None:
        now = time.monotonic()
        changed = self._watch.changed(now)
        if changed:
            self._check_end_requested()
        if self._conversation is not None:
            self._conversation.update(changed=changed)
        if now >= self._deadline:
            self._end("error", f"timed out after {self._assignment.timeout:g} s")
        self._command.reap()
        self._record.look()
        if now >= self._flush_at and self._command.log.pending:
            self._flush()
        if now >= self._heartbeat_at:
            self._heartbeat_at = now + self._assignment.heartbeat_seconds
            with contextlib.suppress(StorageFailed):
                heartbeats.renew_heartbeat(self._store.db, self._assignment.run_uid, clock.now())

    def _seconds_to_wait(self) -> float:
        now = time.monotonic()
        times = [self._heartbeat_at - now, self._watch.wait(now)]
        if self._record.look_seconds is not None:
            times.append(self._record.look_seconds)
        if self._ended_as is None:
            times.append(self._deadline - now)
        if self._command.log.pending:
            times.append(self._flush_at - now)
        if self._conversation is not None:
            times.append(self._conversation.seconds_to_wait())
        if (seconds := self._command.seconds_to_kill()) is not None:
            times.append(seconds)
        return max(0.0, min(times))

    def _check_end_requested(self) -> None:
        """End the command if somebody asked for it or recorded its end."""
        with contextlib.suppress(StorageFailed):
            reason = self._record.end_requested(self._store)
            if reason == "":
                self._recorded_elsewhere = True
                self._end("interrupted", "ended")
            elif reason is not None:
                self._end("interrupted", reason)

    def _end(self, outcome: str, reason: str) -> None:
        if self._ended_as is None:
            self._ended_as = (outcome, reason)
            self._command.end(self._assignment.grace)

    def _flush(self) -> None:
        self._flush_at = time.monotonic() + FLUSH_SECONDS
        log = self._command.log
        with contextlib.suppress(StorageFailed):
            write_output(self._store.db, self._assignment.run_uid, log.unwritten_pieces(), log.total)
            log.mark_written()

    def _plain_ending(self) -> RunEnding:
        command = self._command
        assert command.status is not None
        code = os.waitstatus_to_exitcode(command.status)
        exit_code = code if code >= 0 else 128 - code
        result = command.result.text()
        if self._ended_as is not None:
            outcome, reason = self._ended_as
            return RunEnding(outcome, exit_code, result, reason, was_ended=True)
        if code == 0:
            return RunEnding("success", 0, result)
        how = f"exit {code}" if code > 0 else f"killed by {_signal_name(-code)}"
        why = command.last_words.telling_line() or command.result.telling_line()
        return RunEnding("error", exit_code, result, f"{how}: {why}" if why else how)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Signals:
    """Received signals as a file descriptor to wait for: a child ended, or this process is to end.

    It is created before the command is started, so that no signal is missed. The signals have handlers, as the command
    would inherit SIG_IGN.
    """

    def __init__(self) -> None:
        self.fd, self._wake_in = socket.socketpair()
        self.fd.setblocking(False)
        self._wake_in.setblocking(False)
        signal.set_wakeup_fd(self._wake_in.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, KEEPER_DIED):
            signal.signal(number, lambda *_: None)

    def read(self) -> bytes:
        """Return the numbers of the signals received since the last call."""
        with contextlib.suppress(BlockingIOError):
            return self.fd.recv(4096)
        return b""


def execute_run(assignment: Assignment, converse: Converse | None = None) -> None:
    """Execute a run: begin it if it may begin, supervise it, record its end.

    `converse` returns the conversation with an agent program; None: the command is a plain one.
    """
    processes.adopt_orphans()
    signals = Signals()
    record = record_of(assignment)
    with Store(assignment.database) as store:
        # Another machine may stop the run.
        store.db.follow()
        assignment.step("opened")
        if not record.begin(store):
            return
        assignment.step("begun")
        command: RunProcess | None = None
        try:
            conversation = None if converse is None else converse(store, assignment)
            command = _start_command(assignment, record, conversation)
            assignment.step("started")
            ending = Supervisor(store, assignment, record, command, signals, conversation).run()
        except CannotStart as refused:
            ending = RunEnding("error", reason=str(refused))
        except OSError as error:
            ending = RunEnding("error", reason=f"cannot start {assignment.command[0]}: {error.strerror or error}")
        except Exception as error:  # the run must get an end, whatever happens
            _log.exception("a defect of the supervisor")
            processes.send(processes.descendants(os.getpid()), signal.SIGKILL)
            ending = RunEnding("interrupted", reason=f"a defect of the supervisor: {error!r}")
        try:
            operation = record.end_operation(ending, command) if ending is not None else None
        finally:
            shutil.rmtree(folder(assignment.run_uid), ignore_errors=True)
        assignment.step("ended")
        if operation is not None:
            _retry_write(lambda: store.commit_each([operation], SYSTEM, clock.now(), in_steps=True))
        assignment.step("recorded")


def _start_command(assignment: Assignment, record: RunRecord, conversation: Conversation | None) -> RunProcess:
    """Start the command of a run.

    Raises:
        CannotStart: the configuration names something that is missing.
        OSError: the command cannot be started.
    """
    spec = record.prepare(folder(assignment.run_uid))
    run_mark = run_marks.of_run(assignment.run_uid)
    read_output = None
    if conversation is not None:
        spec, read_output = conversation.prepare(spec), conversation.read_output
    return RunProcess(spec.argv, spec.cwd, spec.environment, spec.text.encode(), run_mark, read_output)


def _retry_write(write: Any) -> Any:
    """Call a write that must not be lost, retrying for `GIVE_UP_SECONDS` while the storage fails.

    Raises:
        StorageFailed: the last attempt failed.
    """
    give_up_at = time.monotonic() + GIVE_UP_SECONDS
    while True:
        try:
            return write()
        except StorageFailed:
            if time.monotonic() >= give_up_at:
                raise
            time.sleep(1)  # the disk may have room again


def main(converse: Converse | None = None) -> None:
    """Read the assignment and execute it; `converse` as for `execute_run`."""
    try:
        assignment = msgspec.json.decode(sys.stdin.buffer.read(), type=Assignment)
    except msgspec.DecodeError:
        # The scheduler died while writing the assignment.
        sys.exit(1)
    if assignment.server_password:
        os.environ[PASSWORD] = assignment.server_password
    if not processes.can_adopt() or _fork_supervisor():
        execute_run(assignment, converse)


def _fork_supervisor() -> bool:
    """Fork into keeper and supervisor; return True in the supervisor, and False in the keeper once the run is gone."""
    processes.adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Only the supervisor ends on these; a signal sent to a whole service reaches the keeper too.
        signal.signal(number, lambda *_: None)
    keeper = os.getpid()
    supervisor = os.fork()
    if supervisor:
        os.waitpid(supervisor, 0)
        processes.kill_descendants()
        return False
    processes.die_with_parent(KEEPER_DIED)
    if os.getppid() != keeper:
        sys.exit(1)  # the keeper died before the kernel was asked to signal it
    return True


if __name__ == "__main__":
    main()
