"""The mark of a run: a number that all its descendants inherit, even without their environment or their parents.

The mark is the hard limit RLIMIT_LOCKS, which has had no effect since Linux 2.4, is inherited by every child, and
cannot be raised without privileges. On other systems there is no mark.
"""

from __future__ import annotations

import hashlib
import resource
import sys
from typing import Final

_RLIMIT_LOCKS: Final = 10


def of_run(run_uid: str) -> int:
    """Return the mark of a run, a number that nobody sets as a limit by chance."""
    return 1 << 60 | int.from_bytes(hashlib.sha256(run_uid.encode()).digest()[:7], "big")


def of_process(pid: int = 0) -> int | None:
    """Return the mark of a process, by default of this one; None without a mark. A lowered limit is another number.

    Raises:
        OSError: the process is gone, or belongs to another user.
    """
    if sys.platform != "linux":
        return None
    limit: int = resource.prlimit(pid, _RLIMIT_LOCKS)[1]
    return None if limit == resource.RLIM_INFINITY else limit


def put(mark: int) -> None:
    """Set the mark of this process and its later children; called between fork and exec."""
    if sys.platform == "linux":
        resource.setrlimit(_RLIMIT_LOCKS, (mark, mark))
