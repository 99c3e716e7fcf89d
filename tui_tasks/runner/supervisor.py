"""`python -m tui_tasks.runner.supervisor`: one run, from its beginning to its record.

It outlives the program that started it. Whatever it does not live to record, the next scheduler records as interrupted.

Two processes watch one another, so that killing either ends the run: a keeper, which was started by the scheduler and
kills what its child leaves behind, and the supervisor, its child, which kills its command when the keeper dies.
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
from typing import Any, Final

import msgspec

from tui_tasks import clock
from tui_tasks.core.engine.watch import Watch
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.schedule import heartbeats, run_logs
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import mark, processes
from tui_tasks.runner.assignment import Assignment, folder
from tui_tasks.runner.command import Command
from tui_tasks.runner.records import CannotStart, Ending, Record, private_folder, record_of

_log = logging.getLogger(__name__)

# Seconds between writes of the output that has come.
FLUSH: Final = 0.5
# Seconds for which a record that cannot be written is tried again.
GIVE_UP_SECONDS: Final = 3_600.0
# What the kernel sends a supervisor when its keeper dies.
KEEPER_DIED: Final = signal.SIGUSR1


class Supervisor:
    """Looks after one run that has begun."""

    def __init__(self, store: Store, given: Assignment, record: Record, command: Command, signals: Signals) -> None:
        self._signals = signals
        self._record = record
        self._store = store
        self._given = given
        self._command = command
        self._watch = Watch(store.db)
        self._selector = selectors.DefaultSelector()
        self._deadline = time.monotonic() + given.timeout
        self._flush_at = 0.0
        self._beat_at = time.monotonic() + given.beat
        # Why the command was ended, and as what; None while it may go on.
        self._ended_as: tuple[str, str] | None = None
        self._recorded_elsewhere = False

    def run(self) -> Ending | None:
        """Look after it until nothing is left of it; None where its end has been recorded already."""
        self._command.register(self._selector)
        self._selector.register(self._signals.fd, selectors.EVENT_READ, lambda *_: self._on_signals())
        if self._watch.fd is not None:
            self._selector.register(self._watch.fd, selectors.EVENT_READ, lambda *_: self._arm())
        self._turn()
        while not self._command.is_gone:
            for key, _ in self._selector.select(self._patience()):
                key.data(self._selector, key.fileobj)
            self._turn()
        self._command.drain()
        self._flush()
        self._watch.close()
        return None if self._recorded_elsewhere else self._ending()

    def _arm(self) -> None:
        self._watch.arm(time.monotonic())

    def _on_signals(self) -> None:
        came = set(self._signals.read())
        if KEEPER_DIED in came:
            self._end("interrupted", "its supervisor's keeper died")
            self._command.kill()
        if {signal.SIGTERM, signal.SIGINT} & came:
            self._end("interrupted", "its supervisor was told to end")

    def _turn(self) -> None:
        now = time.monotonic()
        if self._watch.changed(now):
            self._look()
        if now >= self._deadline:
            self._end("error", f"timed out after {self._given.timeout:g} s")
        self._command.reap()
        if now >= self._flush_at and self._command.log.pending:
            self._flush()
        if now >= self._beat_at:
            self._beat_at = now + self._given.beat
            with contextlib.suppress(StorageFailed):
                heartbeats.renew(self._store.db, self._given.run_uid, clock.now())

    def _patience(self) -> float:
        now = time.monotonic()
        times = [self._beat_at - now, self._watch.wait(now)]
        if self._ended_as is None:
            times.append(self._deadline - now)
        if self._command.log.pending:
            times.append(self._flush_at - now)
        if (patience := self._command.patience()) is not None:
            times.append(patience)
        return max(0.0, min(times))

    def _look(self) -> None:
        """Whether somebody wants the run to end, or has recorded its end."""
        with contextlib.suppress(StorageFailed):
            reason = self._record.wanted_end(self._store)
            if reason == "":
                self._recorded_elsewhere = True
                self._end("interrupted", "ended")
            elif reason is not None:
                self._end("interrupted", reason)

    def _end(self, outcome: str, reason: str) -> None:
        if self._ended_as is None:
            self._ended_as = (outcome, reason)
            self._command.end(self._given.grace)

    def _flush(self) -> None:
        self._flush_at = time.monotonic() + FLUSH
        log = self._command.log
        with contextlib.suppress(StorageFailed):
            run_logs.write(self._store.db, self._given.run_uid, log.take(), log.total)
            log.written()

    def _ending(self) -> Ending:
        command = self._command
        assert command.status is not None
        code = os.waitstatus_to_exitcode(command.status)
        shown = code if code >= 0 else 128 - code
        result = command.result.text()
        if self._ended_as is not None:
            outcome, reason = self._ended_as
            return Ending(outcome, shown, result, reason, was_ended=True)
        if code == 0:
            return Ending("success", 0, result)
        how = f"exit {code}" if code > 0 else f"killed by {_signal_name(-code)}"
        last_line = command.last_words.last_line()
        return Ending("error", shown, result, f"{how}: {last_line}" if last_line else how)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Signals:
    """Signals as something to wait for: a child has ended, or this process is to.

    Installed before the command is started, so that none is missed. As handlers, and not SIG_IGN: that would be
    passed on to the command.
    """

    def __init__(self) -> None:
        self.fd, self._wakes = socket.socketpair()
        self.fd.setblocking(False)
        self._wakes.setblocking(False)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, KEEPER_DIED):
            signal.signal(number, lambda *_: None)

    def read(self) -> bytes:
        """The numbers of the signals that have come."""
        with contextlib.suppress(BlockingIOError):
            return self.fd.recv(4096)
        return b""


def carry_out(given: Assignment) -> None:
    """Do a run: begin it if it may be begun, look after it, record its end."""
    processes.adopt_orphans()
    signals = Signals()
    record = record_of(given)
    with Store(given.database) as store:
        given.step("opened")
        if not record.begin(store):
            return
        given.step("begun")
        command: Command | None = None
        try:
            command = _started(given, record)
            given.step("started")
            ending = Supervisor(store, given, record, command, signals).run()
        except CannotStart as refused:
            ending = Ending("error", reason=str(refused))
        except OSError as error:
            ending = Ending("error", reason=f"cannot start {given.command[0]}: {error.strerror or error}")
        except Exception as error:  # the run is to get an end, whatever happens
            _log.exception("a defect of the supervisor")
            processes.send(processes.descendants(os.getpid()), signal.SIGKILL)
            ending = Ending("interrupted", reason=f"a defect of the supervisor: {error!r}")
        finally:
            shutil.rmtree(folder(given.run_uid), ignore_errors=True)
        given.step("ended")
        if ending is not None:
            operation = record.ended(ending, command)
            _patiently(lambda: store.commit_each([operation], SYSTEM, clock.now(), in_steps=True))
        given.step("recorded")


def _started(given: Assignment, record: Record) -> Command:
    """Start the command.

    Raises:
        CannotStart, OSError: it cannot be started.
    """
    private = folder(given.run_uid)
    private_folder(private)
    wanted = record.prepare(private)
    borne = mark.of_run(given.run_uid)
    return Command(wanted.argv, wanted.cwd, wanted.environment, wanted.text.encode(), borne)


def _patiently(write: Any) -> Any:
    """Do a write that must not be lost, again and again while the storage fails."""
    give_up_at = time.monotonic() + GIVE_UP_SECONDS
    while True:
        try:
            return write()
        except StorageFailed:
            if time.monotonic() >= give_up_at:
                raise
            time.sleep(1)  # the disk may have room again


def main() -> None:
    """Read the assignment and carry it out."""
    try:
        given = msgspec.json.decode(sys.stdin.buffer.read(), type=Assignment)
    except msgspec.DecodeError:
        # The scheduler died while it wrote it.
        sys.exit(1)
    if not processes.can_adopt() or _is_supervisor():
        carry_out(given)


def _is_supervisor() -> bool:
    """Split into a keeper and its supervisor. In the keeper, return False once nothing is left of the run."""
    processes.adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # The supervisor is the one to end; what is sent to a whole service reaches the keeper too.
        signal.signal(number, lambda *_: None)
    keeper = os.getpid()
    supervisor = os.fork()
    if supervisor:
        os.waitpid(supervisor, 0)
        processes.kill_descendants()
        return False
    processes.die_with_parent(KEEPER_DIED)
    if os.getppid() != keeper:
        sys.exit(1)  # it died before the kernel was asked to tell
    return True


if __name__ == "__main__":
    main()
