"""Processes: identifies them despite reused pids, and ends everything that a run has started. Their temporary folders
have their name: what a killed process has left, the next one removes.

What is specific to Linux (`/proc`, subreapers) stays here. Without `/proc`, psutil gives the same facts. Without psutil
no process has an identity, and only its heartbeats show whether it is alive.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tui_tasks.runner import run_marks

if TYPE_CHECKING:
    from tui_tasks.core.agent_snapshots import Process
    from tui_tasks.core.read.agents.session_queries import AgentSession
    from tui_tasks.core.unjournaled.heartbeats import Scheduler

PROC: Final = Path("/proc")
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_ENDED: Final = frozenset({"Z", "X", "zombie", "dead"})
# By a signal, or by a debugger that holds it.
_STOPPED: Final = frozenset({"T", "t", "stopped", "tracing-stop"})
# Seconds between two rounds of killing processes.
KILL_AGAIN: Final = 0.05
LAUNCHER: Final = "tui_tasks.work.launcher"
"""The module that starts an agent's program, as `python -m` has it."""

_prctl: Any = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None) if sys.platform == "linux" else None


class ProcessIdentity(NamedTuple):
    """A process, distinguished from any other one; "" if a part is unknown.

    Attributes:
        boot: the id of the machine's boot.
        namespace: the pid namespace; in a server's journal `@` and the id of the machine follow.
        pid: the pid.
        born: the start time, in clock ticks since boot (`/proc`) or in seconds since the epoch (psutil).
    """

    boot: str
    namespace: str
    pid: int
    born: str

    @classmethod
    def of(cls, recorded: Process | AgentSession | Scheduler) -> ProcessIdentity:
        """Return the identity of a process that a database has."""
        return cls(recorded.boot, recorded.namespace, recorded.pid, recorded.born)


class _Stat(NamedTuple):
    state: str
    parent: int
    born: str


def identity(pid: int | None = None, machine: str = "") -> ProcessIdentity:
    """Return the identity of a process, by default of this one; `machine` is this machine's id in its database."""
    pid = os.getpid() if pid is None else pid
    stat = _stat(pid)
    return ProcessIdentity(_boot(), _namespace(machine), pid, stat.born if stat else "")


def is_alive(process: ProcessIdentity, machine: str = "") -> bool | None:
    """Return whether a process is alive; None if this process cannot know: another machine, boot or container."""
    if not process.boot or (process.boot, process.namespace) != (_boot(), _namespace(machine)):
        return None
    stat = _stat(process.pid)
    if stat is None or stat.state in _ENDED:
        return False
    if stat.born == process.born:
        return True
    # Another process has its pid; with psutil, the clock may instead have been set since the process started.
    return None if _psutil() else False


def has_departed(process: Process, machine: str) -> bool:
    """Return whether a process is known to have ended; one on another machine, or unknown, may be running. The end of a
    program that our launcher has started is known once that has recorded it, and reaps the process.

    `machine` is that of the database.
    """
    if (its := process.machine) != machine:
        # The database was moved from a file to a server or back, without the process.
        return not (its and machine)
    if process.boot and process.namespace == _namespace(machine) and process.boot != _boot():
        # The machine was restarted. Another one has another id, or cannot open the file, as its log is shared memory.
        return True
    if process.pid == 0 or not process.born:
        return False
    return is_alive(ProcessIdentity.of(process), machine) is False and not _is_unrecorded(process.pid, process.born)


def _is_unrecorded(pid: int, born: str) -> bool:
    """Return whether a process has ended, and waits for the launcher that has started it, which is not stopped."""
    stat = _stat(pid)
    if stat is None or (stat.state, stat.born) != ("Z", born):
        return False
    launcher = _stat(stat.parent)
    if launcher is None or launcher.state in _STOPPED:
        return False
    try:
        return LAUNCHER.encode() in (PROC / str(stat.parent) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


class EndedProcesses:
    """Tells which processes have ended, and finds those that end later."""

    def __init__(self, machine: str) -> None:
        """`machine` is that of the database."""
        self._machine = machine
        self._running: set[Process] = set()
        self._ended: set[Process] = set()

    def __call__(self, process: Process) -> bool:
        """Return whether a process is known to have ended."""
        if process not in self._ended and process not in self._running:
            (self._ended if has_departed(process, self._machine) else self._running).add(process)
        return process in self._ended

    def look(self) -> bool:
        """Return whether one has ended since it was asked for."""
        over = {process for process in self._running if has_departed(process, self._machine)}
        self._running -= over
        self._ended |= over
        return bool(over)


def name(pid: int) -> str:
    """Return the name of a process's program; "?" if it is gone or another user's."""
    if psutil := _psutil():
        with contextlib.suppress(psutil.Error, OSError):
            return str(psutil.Process(pid).name())
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / "comm").read_text(errors="replace").strip()
    return "?"


def is_stopped(process: ProcessIdentity, machine: str = "") -> bool:
    """Return whether a process is known to be suspended (SIGSTOP, `^Z`)."""
    return is_alive(process, machine) is True and (stat := _stat(process.pid)) is not None and stat.state in _STOPPED


def ancestors(pid: int) -> Iterator[int]:
    """Yield the pids of a process's parent, grandparent and so on."""
    while pid > 1 and (stat := _stat(pid)) is not None:
        pid = stat.parent
        if pid > 0:
            yield pid


def descendants(pid: int) -> list[int]:
    """Return the pids of all descendants of a process that are reachable through living ones."""
    children: dict[int, list[int]] = {}
    for each in _all_pids():
        if (stat := _stat(each)) is not None:
            children.setdefault(stat.parent, []).append(each)
    pids: list[int] = []
    pending = [pid]
    while pending:
        below = children.get(pending.pop(), [])
        pids += below
        pending += below
    return pids


def with_variable(name: str, value: str) -> list[int]:
    """Return the pids of the visible processes that were started with that variable in their environment."""
    return [pid for pid in _all_pids() if _has_variable(pid, name, value)]


def with_mark(wanted: int) -> list[int]:
    """Return the pids of the visible processes that have a run's mark."""
    pids = []
    for pid in _all_pids():
        with contextlib.suppress(OSError):
            if run_marks.of_process(pid) == wanted:
                pids.append(pid)
    return pids


def can_adopt() -> bool:
    """Return whether this system has subreapers, so that `adopt_orphans` has an effect."""
    return _prctl is not None


def adopt_orphans() -> None:
    """Become a subreaper: the parent of every descendant of this process that loses its own parent."""
    if _prctl is not None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Let the kernel send this process a signal when its parent dies; called after a fork."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def kill_descendants() -> None:
    """Kill and reap all descendants of this process, a subreaper, until none is left."""
    while True:
        send(descendants(os.getpid()), signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(KILL_AGAIN)


def send(pids: list[int], number: int) -> None:
    """Send a signal to processes; those that are gone or belong to another user are skipped."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def send_group(leader: int, number: int) -> None:
    """Send a signal to a process group whose leader has not been reaped."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _psutil() -> Any:
    """Return psutil where there is no `/proc`; None if there is, or if psutil is not installed."""
    if (PROC / "self/stat").exists():
        return None
    try:
        import psutil
    except ImportError:
        return None
    return psutil


def _all_pids() -> list[int]:
    if psutil := _psutil():
        return list(psutil.pids())
    return [int(entry.name) for entry in PROC.glob("[0-9]*")]


def _has_variable(pid: int, name: str, value: str) -> bool:
    if psutil := _psutil():
        with contextlib.suppress(psutil.Error, OSError):
            return bool(psutil.Process(pid).environ().get(name) == value)
    with contextlib.suppress(OSError):
        return f"{name}={value}".encode() in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return False


def _stat(pid: int) -> _Stat | None:
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return _stat_by_psutil(pid)
    # The name is in parentheses and may itself contain parentheses and blanks.
    fields = text.rpartition(")")[2].split()
    return _Stat(fields[0], int(fields[1]), fields[19])


def _stat_by_psutil(pid: int) -> _Stat | None:
    if not (psutil := _psutil()):
        return None
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return _Stat(process.status(), process.ppid(), f"{process.create_time():.6f}")
    except psutil.ZombieProcess:
        return _Stat("zombie", 0, "")
    except psutil.NoSuchProcess:
        return None
    except psutil.Error:
        return _Stat("unknown", 0, "")


def _boot() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return _boot_session()


def _boot_session() -> str:
    """Return macOS's identifier of this boot, "" elsewhere. The boot time does not serve: it changes with the clock."""
    if sys.platform != "darwin":
        return ""
    held = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(held))
    failed = ctypes.CDLL(None).sysctlbyname(b"kern.bootsessionuuid", held, ctypes.byref(size), None, ctypes.c_size_t(0))
    return "" if failed else held.value.decode()


def _namespace(machine: str) -> str:
    """Return the pid namespace as a database has it that has this id for the machine (see `Process.on`)."""
    try:
        text = str((PROC / "self/ns/pid").readlink())
    except OSError:
        text = ""
    return f"{text}@{machine}" if machine else text


UNKNOWN_SECONDS: Final = 24 * 60 * 60
"""After so long a folder is removed whose process is not known: one of a former boot, of a container, or unnamed."""
_FOLDER_NAME: Final = re.compile(
    r"tui-tasks-(?:git|index|push|gh)-(?:(?P<system>[0-9a-f]{8})-(?P<pid>\d+)-(?P<born>[\d.]*)-)?\w{8}"
)


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Yield a private folder that is removed afterwards; `purpose` is one of those in `_FOLDER_NAME`."""
    _remove_left_once(os.getpid(), Path(tempfile.gettempdir()))
    one = identity()
    with tempfile.TemporaryDirectory(prefix=f"tui-tasks-{purpose}-{_system(one)}-{one.pid}-{one.born}-") as made:
        yield Path(made)


@functools.cache
def _remove_left_once(pid: int, folder: Path) -> None:
    remove_left(folder, time.time())


def remove_left(folder: Path, now: float) -> None:
    """Remove the folders of this user whose process has ended; `now` is in seconds since the epoch."""
    here = identity()
    for entry in os.scandir(folder):
        match = _FOLDER_NAME.fullmatch(entry.name)
        with contextlib.suppress(OSError):
            if match is None or entry.is_symlink() or entry.stat().st_uid != os.getuid():
                continue
            lives = None
            if match["system"] == _system(here):
                owner = ProcessIdentity(here.boot, here.namespace, int(match["pid"]), match["born"])
                lives = is_alive(owner)
            is_old = now - entry.stat().st_mtime > UNKNOWN_SECONDS
            if lives is False or (lives is None and is_old):
                shutil.rmtree(entry.path, ignore_errors=True)


def _system(one: ProcessIdentity) -> str:
    """Return an id of the boot and the pid namespace of a process."""
    return hashlib.sha256(f"{one.boot} {one.namespace}".encode()).hexdigest()[:8]
