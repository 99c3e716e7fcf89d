"""Processes: telling one from any other that has had its number, and ending all that a run has started.

What is Linux's own (`/proc`, subreapers) is kept here. Elsewhere no process is known by its identity, so that only its
heartbeat tells whether it lives, and only its process group is ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

PROC: Final = Path("/proc")
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Identity(NamedTuple):
    """A process, told from any other: the boot, the pid namespace, the pid, and when it was born. "" where unknown."""

    boot: str
    namespace: str
    pid: int
    born: str


class _Stat(NamedTuple):
    state: str
    parent: int
    born: str


def identity(pid: int | None = None) -> Identity:
    """The identity of a process; of this one unless told."""
    pid = os.getpid() if pid is None else pid
    stat = _stat(pid)
    return Identity(_boot(), _namespace(), pid, stat.born if stat else "")


def is_alive(process: Identity) -> bool | None:
    """Whether a process lives; None where that cannot be told from here: another machine, boot or container."""
    if not process.boot or (process.boot, process.namespace) != (_boot(), _namespace()):
        return None
    stat = _stat(process.pid)
    return stat is not None and stat.born == process.born and stat.state not in "ZX"


def ancestors(pid: int) -> Iterator[int]:
    """The pid's parent, its parent, and so on."""
    while pid > 1 and (stat := _stat(pid)) is not None:
        pid = stat.parent
        if pid > 0:
            yield pid


def descendants(pid: int) -> list[int]:
    """Every process that descends from one, by way of those that live."""
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        if (stat := _stat(int(entry.name))) is not None:
            children.setdefault(stat.parent, []).append(int(entry.name))
    found: list[int] = []
    ahead = [pid]
    while ahead:
        below = children.get(ahead.pop(), [])
        found += below
        ahead += below
    return found


def with_variable(name: str, value: str) -> list[int]:
    """The processes that were started with that variable in their environment, as far as they can be seen."""
    wanted = f"{name}={value}".encode()
    found = []
    for entry in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def adopt_orphans() -> None:
    """Become the parent of whatever descends from this process and loses its own (a subreaper)."""
    if _libc is not None:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Between fork and exec: let the kernel end this process when the one that started it dies."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def send(pids: list[int], number: int) -> None:
    """Send a signal to processes, those that are gone or another's passed over."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def send_group(leader: int, number: int) -> None:
    """Send a signal to a process group whose leader has not been reaped."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _stat(pid: int) -> _Stat | None:
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name stands in brackets and may itself hold brackets and blanks.
    fields = text.rpartition(")")[2].split()
    return _Stat(fields[0], int(fields[1]), fields[19])


def _boot() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str((PROC / "self/ns/pid").readlink())
    except OSError:
        return ""
