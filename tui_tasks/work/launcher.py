"""What runs in an agent's terminal: starts the program, waits for it, records its end, and ends what it has left.

`python -m tui_tasks.work.launcher FILE` reads the command, its environment and the prompt from FILE, of mode 0600: tmux
takes no long command, and its server would show every agent the variables of the first.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from tui_tasks.runner import processes

_TRIES: Final = 50
_WAIT_SECONDS: Final = 0.2
_GRACE_SECONDS: Final = 2.0
# A program that suspends itself at its terminal goes on: no shell is there to continue it.
_BY_TERMINAL: Final = frozenset({signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})


class LaunchFile(msgspec.Struct, frozen=True):
    """What the launcher reads.

    Attributes:
        database: the path of the database.
        uid: the work.
        argv: the program and its arguments.
        cwd: the folder in which it runs.
        environment: its variables.
        prompt: the prompt, if the program does not tell it by hooks; else empty.
        delivered: the entries that delivered the messages in the prompt, if the program is started again; else None.
    """

    database: str
    uid: str
    argv: tuple[str, ...]
    cwd: str
    environment: dict[str, str]
    prompt: str = ""
    delivered: tuple[int, ...] | None = None

    def write(self, path: Path) -> None:
        """Write it for its owner alone.

        Raises:
            OSError: it cannot be written.
        """
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w") as file:
            # Variables may be no UTF-8, which msgspec refuses.
            json.dump(msgspec.to_builtins(self), file)


def read(path: Path) -> LaunchFile:
    """Read a launch file and remove it, as it holds the human's environment.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no launch file.
    """
    content = path.read_bytes()
    path.unlink()
    return msgspec.convert(json.loads(content), LaunchFile)


def main(path: Path) -> int:
    """Run the program of a launch file to its end; return its exit status."""
    launch = read(path)
    # The settings and folders of the human's environment, which the tmux server lacks.
    os.environ.update(
        {name: value for name, value in launch.environment.items() if name.startswith(("TUI_TASKS_", "XDG_"))}
    )
    processes.adopt_orphans()
    program = _WaitingProgram(launch)
    # It runs only once it is recorded: its first hook would else be of an agent that nobody started.
    identity = processes.identity(program.pid)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    is_recorded = False
    try:
        is_recorded = _commit(launch, lambda store, work, now: _run(store, work, now, identity, launch.prompt))
    finally:
        if not is_recorded and launch.delivered is not None:
            _commit(launch, lambda store, work, now: _take_back(store, work, now, launch.delivered or ()))
    if not is_recorded:
        # Its work was discarded meanwhile, or the start is taken back later, with all that it would have made.
        return 127
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: processes.send_group(program.pid, number))
    if message := program.run():
        _commit(launch, lambda store, work, now: _fail(store, work, now, message, launch.delivered))
        sys.stdout.write(f"{message}\n")
        return 127
    status = _wait(program.pid)
    _commit(launch, _end)
    _end_rest(program.pid)
    _commit(launch, lambda store, work, now: _judge(store, work, now, status))
    sys.stdout.write(f"\r\n[the program has ended with status {status}]\r\n")
    return status


class _WaitingProgram:
    """A process that becomes the program of a launch file once it may.

    Attributes:
        pid: its process.
    """

    def __init__(self, launch: LaunchFile) -> None:
        waits_at, self._start = os.pipe()
        self._fails_at, fails = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(waits_at)
            os.close(fails)
            return
        try:
            os.close(self._start)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program inherits that
                signal.signal(number, signal.SIG_DFL)
            _take_terminal()
            if os.read(waits_at, 1):
                what = f"its folder {launch.cwd}"
                os.chdir(launch.cwd)
                what = launch.argv[0]
                os.execvpe(what, launch.argv, launch.environment)
        except (OSError, ValueError) as error:
            os.write(fails, os.fsencode(f"{what}: {getattr(error, 'strerror', None) or error}"))
        finally:
            os._exit(127)

    def run(self) -> str:
        """Let it become the program; return what could not be used, and why, or an empty text."""
        with contextlib.suppress(BrokenPipeError):  # it was ended while it waited
            os.write(self._start, b"\n")
        os.close(self._start)
        with os.fdopen(self._fails_at, "rb") as failure:
            return failure.read().decode(errors="replace")


def _take_terminal() -> None:
    """Give the new process group the terminal, if there is one, as a shell does for a job in the foreground."""
    os.setpgid(0, 0)
    if os.isatty(0):
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with contextlib.suppress(OSError):
            os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)


def _wait(pid: int) -> int:
    """Wait for the program; return its exit status as a shell has it."""
    while True:
        if (code := _seen_status(pid)) is not None:
            return code
        ended, status = os.waitpid(-1, os.WUNTRACED)
        if ended != pid:
            continue
        if os.WIFSTOPPED(status):
            if os.WSTOPSIG(status) in _BY_TERMINAL:
                processes.send_group(pid, signal.SIGCONT)
            continue
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code


def _seen_status(pid: int) -> int | None:
    """Wait for a child; return the exit status of the program if it is the one that has ended, without reaping it: its
    process is there for others until its end is recorded (see `processes.has_departed`). macOS cannot do that.
    """
    if sys.platform == "darwin":
        return None
    found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
    if found is None or found.si_pid != pid or found.si_code == os.CLD_STOPPED:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else 128 + found.si_status


def _end_rest(pid: int) -> None:
    """End the process group, then everything below this process that is left."""
    processes.send_group(pid, signal.SIGTERM)
    end = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)
        except ChildProcessError:
            return
    processes.kill_descendants()


def _commit(launch: LaunchFile, write: Callable[[Any, Any, int], None]) -> bool:
    """Write to the database, which another process may hold for a while; return whether that was done."""
    # Imported only now, so that the process that becomes the program is small.
    from tui_tasks import clock
    from tui_tasks.core.errors import Busy, DatabaseRefused, Refusal
    from tui_tasks.core.read import work_queries
    from tui_tasks.core.store import Store

    for _ in range(_TRIES):
        try:
            with Store(launch.database, makes=False) as store:
                write(store, work_queries.find(store.db, launch.uid), clock.now())
        except Busy:
            time.sleep(_WAIT_SECONDS)
        except (DatabaseRefused, Refusal) as error:
            sys.stderr.write(f"tui-tasks: {error}\n")
            return False
        else:
            return True
    return False


def _run(store: Any, work: Any, now: int, identity: processes.ProcessIdentity, prompt: str) -> None:
    from tui_tasks.core.agent_snapshots import Process
    from tui_tasks.core.operations.work import RunWork
    from tui_tasks.core.vocab import SYSTEM

    store.commit(RunWork(work.uid, Process(*identity).on(store.db.machine), prompt), actor=SYSTEM, now=now)


def _fail(store: Any, work: Any, now: int, message: str, delivered: tuple[int, ...] | None) -> None:
    from tui_tasks.core.operations.sessions import EndSession
    from tui_tasks.core.operations.work import FailWork
    from tui_tasks.core.vocab import SYSTEM

    end = EndSession(work.agent, "it was not started")
    then = (FailWork(work.uid, message),) if delivered is None else not_again(work, message, delivered)
    store.commit(end, *then, actor=SYSTEM, now=now)


def _take_back(store: Any, work: Any, now: int, delivered: tuple[int, ...]) -> None:
    from tui_tasks.core.vocab import SYSTEM

    store.commit(*not_again(work, "its start was interrupted", delivered), actor=SYSTEM, now=now)


def not_again(work: Any, message: str, delivered: tuple[int, ...]) -> tuple[Any, ...]:
    """Return what records why the program of a work was not started again: the messages in its prompt still wait."""
    from tui_tasks.core.operations.asks import ReturnMessages
    from tui_tasks.core.operations.work import WorkReady
    from tui_tasks.core.read.work_text import NOT_AGAIN

    return ReturnMessages(delivered), WorkReady(work.uid, message=f"{NOT_AGAIN}{message}")


def _end(store: Any, work: Any, now: int) -> None:
    from tui_tasks.core.operations.sessions import EndSession
    from tui_tasks.core.vocab import SYSTEM
    from tui_tasks.hooks import intake

    intake.process_payloads(store, now)
    store.commit(EndSession(work.agent, "its process has ended"), actor=SYSTEM, now=now)


def _judge(store: Any, work: Any, now: int, status: int) -> None:
    """Record whether there is something to review; else that it failed, and how."""
    from tui_tasks.hooks import intake
    from tui_tasks.work import work_outcomes

    intake.process_payloads(store, now)
    work_outcomes.look_at(store, work, now, status=status)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
