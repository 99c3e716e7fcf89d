"""Who holds a database's write-ahead log back: it grows for as long as a reader stands in the midst of a read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LARGE: Final = 96 << 20
"""Bytes. It is written back at 16 MiB, one large change may need more, and 64 MiB of it may stay for the next."""
_PROC: Final = Path("/proc")


def findings(database: Path, proc: Path = _PROC) -> Iterator[str]:
    """That the log is large, and which processes to look at."""
    log = Path(f"{database}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size < LARGE:
        return
    said = f"{log} has grown to {size >> 20} MiB: a process that stands still in the midst of a read holds it. "
    users = list(_users(database, proc))
    stopped = [f"kill -CONT {pid} ({command})" for pid, command, state in users if state in "Tt"]
    if stopped:
        yield f"{said}Let what is stopped go on, or end it: {', '.join(stopped)}"
    elif users:
        yield f"{said}End what does not answer among {', '.join(f'{pid} ({command})' for pid, command, _ in users)}"
    else:
        yield f"{said}Look for a tui-tasks that is stopped (state T in ps), let it go on or end it"


def _users(database: Path, proc: Path) -> Iterator[tuple[int, str, str]]:
    """The other processes that have the database open, as far as they can be told: id, command and state."""
    for place in sorted(proc.glob("[0-9]*"), key=lambda place: int(place.name)):
        try:
            if int(place.name) != os.getpid() and any(
                handle.readlink() == database for handle in (place / "fd").iterdir()
            ):
                command = (place / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").replace("\0", " ")
                state = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                yield int(place.name), command, state
        except OSError:  # it has ended, or is another user's
            continue
