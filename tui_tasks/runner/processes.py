"""Processes: telling one from any other that has had its number, and ending all that a run has started.

What is Linux's own (`/proc`, subreapers) is kept here. Where there is no `/proc`, psutil tells of processes. Where that
is missing, too, no process is known by its identity: only its heartbeat tells whether it lives.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tui_tasks.runner import mark

PROC: Final = Path("/proc")
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_ENDED: Final = frozenset({"Z", "X", "zombie", "dead"})
# Seconds between looks at processes that are being killed.
KILL_AGAIN: Final = 0.05

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class ProcessIdentity(NamedTuple):
    """A process, told from any other: the boot, the pid namespace, the pid, and when it was born. "" where unknown.

    It was born at an instant of the boot (`/proc`), or of the clock (psutil).
    """

    boot: str
    namespace: str
    pid: int
    born: str


class _Stat(NamedTuple):
    state: str
    parent: int
    born: str


def identity(pid: int | None = None) -> ProcessIdentity:
    """The identity of a process; of this one unless told."""
    pid = os.getpid() if pid is None else pid
    stat = _stat(pid)
    return ProcessIdentity(_boot(), _namespace(), pid, stat.born if stat else "")


def is_alive(process: ProcessIdentity) -> bool | None:
    """Whether a process lives; None where that cannot be told from here: another machine, boot or container."""
    if not process.boot or (process.boot, process.namespace) != (_boot(), _namespace()):
        return None
    stat = _stat(process.pid)
    if stat is None or stat.state in _ENDED:
        return False
    if stat.born == process.born:
        return True
    # Another process has its number; or, by psutil, the clock was set since it was born.
    return None if _psutil() else False


def ancestors(pid: int) -> Iterator[int]:
    """The pid's parent, its parent, and so on."""
    while pid > 1 and (stat := _stat(pid)) is not None:
        pid = stat.parent
        if pid > 0:
            yield pid


def descendants(pid: int) -> list[int]:
    """Every process that descends from one, by way of those that live."""
    children: dict[int, list[int]] = {}
    for each in _everyone():
        if (stat := _stat(each)) is not None:
            children.setdefault(stat.parent, []).append(each)
    found: list[int] = []
    ahead = [pid]
    while ahead:
        below = children.get(ahead.pop(), [])
        found += below
        ahead += below
    return found


def with_variable(name: str, value: str) -> list[int]:
    """The processes that were started with that variable in their environment, as far as they can be seen."""
    return [pid for pid in _everyone() if _has_variable(pid, name, value)]


def with_mark(wanted: int) -> list[int]:
    """The processes that bear the mark of a run, as far as they can be seen."""
    found = []
    for pid in _everyone():
        with contextlib.suppress(OSError):
            if mark.of_process(pid) == wanted:
                found.append(pid)
    return found


def can_adopt() -> bool:
    """Whether `adopt_orphans` does something here."""
    return _libc is not None


def adopt_orphans() -> None:
    """Become the parent of whatever descends from this process and loses its own (a subreaper)."""
    if _libc is not None:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """After a fork: let the kernel send this process a signal when the one that started it dies."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def kill_descendants() -> None:
    """Kill whatever descends from this process, a subreaper, until nothing is left, and reap it."""
    while True:
        send(descendants(os.getpid()), signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(KILL_AGAIN)


def send(pids: list[int], number: int) -> None:
    """Send a signal to processes, those that are gone or another's passed over."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def send_group(leader: int, number: int) -> None:
    """Send a signal to a process group whose leader has not been reaped."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _psutil() -> Any:
    """The library that tells of processes where there is no `/proc`; None where there is, or where it is missing."""
    if (PROC / "self/stat").exists():
        return None
    try:
        import psutil
    except ImportError:
        return None
    return psutil


def _everyone() -> list[int]:
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
    # The name stands in brackets and may itself hold brackets and blanks.
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
    """What macOS calls this boot, "" elsewhere. The instant of the boot is no name for it: it moves with the clock."""
    if sys.platform != "darwin":
        return ""
    held = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(held))
    failed = ctypes.CDLL(None).sysctlbyname(b"kern.bootsessionuuid", held, ctypes.byref(size), None, ctypes.c_size_t(0))
    return "" if failed else held.value.decode()


def _namespace() -> str:
    try:
        return str((PROC / "self/ns/pid").readlink())
    except OSError:
        return ""
