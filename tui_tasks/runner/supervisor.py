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
from pathlib import Path
from typing import Any, Final

import msgspec

from tui_tasks import clock
from tui_tasks.core.engine.watch import Watch
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations_jobs import BeginRun, EndRun
from tui_tasks.core.read.jobs import queries_jobs
from tui_tasks.core.schedule import heartbeats, run_logs
from tui_tasks.core.snapshots import Heartbeat, Job, Run
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import inside, mark, processes
from tui_tasks.runner.assignment import Assignment, folder
from tui_tasks.runner.command import Command

_log = logging.getLogger(__name__)

# Seconds between writes of the output that has come.
FLUSH: Final = 0.5
# Seconds for which a record that cannot be written is tried again.
GIVE_UP_SECONDS: Final = 3_600.0
# What the kernel sends a supervisor when its keeper dies.
KEEPER_DIED: Final = signal.SIGUSR1


class Ending(msgspec.Struct, frozen=True):
    """How a run ended."""

    outcome: str
    exit_code: int | None = None
    result: str | None = None
    reason: str | None = None


class Supervisor:
    """Looks after one run that has begun."""

    def __init__(self, store: Store, given: Assignment, command: Command, signals: Signals) -> None:
        self._signals = signals
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
            run = queries_jobs.any_run(self._store.db, self._given.run_uid)
            if run is None or run.state == "final":
                self._recorded_elsewhere = True
                self._end("interrupted", "ended")
            elif run.stop_reason is not None:
                self._end("interrupted", run.stop_reason)

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
            return Ending(outcome, shown, result, reason)
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
    with Store(given.database) as store:
        given.step("opened")
        run = _begin(store, given)
        if run is None:
            return
        given.step("begun")
        job = queries_jobs.any_job(store.db, run.job_uid)
        assert job is not None
        try:
            ending = _looked_after(store, given, run, job, signals)
        except OSError as error:
            ending = Ending("error", reason=f"cannot start {given.command[0]}: {error.strerror or error}")
        except Exception as error:  # the run is to get an end, whatever happens
            _log.exception("a defect of the supervisor")
            processes.send(processes.descendants(os.getpid()), signal.SIGKILL)
            ending = Ending("interrupted", reason=f"a defect of the supervisor: {error!r}")
        finally:
            shutil.rmtree(folder(run.uid), ignore_errors=True)
        given.step("ended")
        if ending is not None:
            _record(store, run.uid, ending)
        given.step("recorded")


def _begin(store: Store, given: Assignment) -> Run | None:
    now = clock.now()
    beat = Heartbeat(given.run_uid, True, *processes.identity(), at=now)
    begin = BeginRun(given.run_uid, beat, inside.hashed(given.token), now + int(given.timeout * 1_000_000))
    begun: Run | None = store.commit(begin, actor=SYSTEM, now=now)[0]
    return begun


def _private_folder(folder: Path) -> None:
    """Make a folder that is nobody else's, whatever the umask."""
    folder.mkdir(mode=0o700)
    folder.chmod(0o700)


def _prompt_file(folder: Path, text: str) -> Path:
    """Write the system prompt where nobody else reads it."""
    file = folder / "system-prompt.txt"
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_bytes(text.encode())
    return file


def _looked_after(store: Store, given: Assignment, run: Run, job: Job, signals: Signals) -> Ending | None:
    private = folder(run.uid)
    _private_folder(private)
    prompt_file = _prompt_file(private, job.system_prompt)
    if given.cwd is None:
        cwd = private / "work"
        _private_folder(cwd)
    else:
        # Not `Path.expanduser`, which raises where there is no such user.
        cwd = Path(os.path.expanduser(given.cwd))  # noqa: PTH111 - as said above
        if not cwd.is_dir():
            return Ending("error", reason=f"the runner's cwd is no folder: {given.cwd}")
    argv = tuple(word.replace("{system_prompt_file}", str(prompt_file)) for word in given.command)
    told = {
        inside.DATABASE: given.database,
        inside.RUN_ID: run.uid,
        inside.RUN_TOKEN: given.token,
        inside.SYSTEM_PROMPT_FILE: str(prompt_file),
    }
    text = f"{run.context}\n\n{job.prompt}" if run.context else job.prompt
    command = Command(argv, cwd, {**given.environment, **told}, text.encode(), mark.of_run(run.uid))
    given.step("started")
    return Supervisor(store, given, command, signals).run()


def _record(store: Store, run_uid: str, ending: Ending) -> None:
    operation = EndRun(run_uid, ending.outcome, ending.exit_code, ending.result, ending.reason)
    _patiently(lambda: store.commit(operation, actor=SYSTEM, now=clock.now()))


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
