"""The mark of a run, which everything that it starts bears, also what scrubs its environment or loses its parents.

It is a hard limit of file locks: without effect since Linux 2.4, inherited by every child, and lifted by nobody without
privileges. Off Linux there is none.
"""

from __future__ import annotations

import hashlib
import resource
import sys
from typing import Final

_RLIMIT_LOCKS: Final = 10


def of_run(run_uid: str) -> int:
    """The mark of a run: a number that nobody sets as a limit by chance."""
    return 1 << 60 | int.from_bytes(hashlib.sha256(run_uid.encode()).digest()[:7], "big")


def of_process(pid: int = 0) -> int | None:
    """The mark that a process bears, of any run; of this process unless told. One that was lowered is another number.

    Raises:
        OSError: the process is gone, or another user's.
    """
    if sys.platform != "linux":
        return None
    limit: int = resource.prlimit(pid, _RLIMIT_LOCKS)[1]
    return None if limit == resource.RLIM_INFINITY else limit


def put(mark: int) -> None:
    """Between fork and exec: have this process, and whatever it starts, bear a mark."""
    if sys.platform == "linux":
        resource.setrlimit(_RLIMIT_LOCKS, (mark, mark))
