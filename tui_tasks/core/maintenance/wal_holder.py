"""Find which process keeps the write-ahead log from being cut: it grows while any read transaction stays open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LARGE: Final = 96 << 20
"""Bytes: a checkpoint runs at 16 MiB, one large change may need more, and 64 MiB may be kept for reuse."""
_PROC: Final = Path("/proc")


def findings(database: Path, proc: Path = _PROC) -> Iterator[str]:
    """Yield a finding where the log is large, with the processes to look at."""
    log = Path(f"{database}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size < LARGE:
        return
    begun = f"{log} has grown to {size >> 20} MiB: a process that stands still in the midst of a read holds it. "
    others = list(_processes_using(database, proc))
    stopped = [f"kill -CONT {pid} ({command})" for pid, command, state in others if state in "Tt"]
    if stopped:
        yield f"{begun}Let what is stopped go on, or end it: {', '.join(stopped)}"
    elif others:
        yield f"{begun}End what does not answer among {', '.join(f'{pid} ({command})' for pid, command, _ in others)}"
    else:
        yield f"{begun}Look for a tui-tasks that is stopped (state T in ps), let it go on or end it"


def _processes_using(database: Path, proc: Path) -> Iterator[tuple[int, str, str]]:
    """Yield id, command line and state of other processes with the database open, as far as /proc shows them."""
    for place in sorted(proc.glob("[0-9]*"), key=lambda place: int(place.name)):
        try:
            if int(place.name) != os.getpid() and any(
                handle.readlink() == database for handle in (place / "fd").iterdir()
            ):
                command = (place / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").replace("\0", " ")
                state = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                yield int(place.name), command, state
        except OSError:  # the process has ended, or is another user's
            continue
