"""Whether this process was started by a run, inside which no jobs are made, and the mark that shows it.

The mark is the hard limit RLIMIT_LOCKS, which has had no effect since Linux 2.4, is inherited by every child, and
cannot be raised without privileges. On other systems there is no mark.
"""

from __future__ import annotations

import hashlib
import os
import resource
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tui_tasks.core.engine.database import Database

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


RUN_ID: Final = "TUI_TASKS_RUN_ID"
RUN_TOKEN: Final = "TUI_TASKS_RUN_TOKEN"
DATABASE: Final = "TUI_TASKS_DB"
SYSTEM_PROMPT_FILE: Final = "TUI_TASKS_SYSTEM_PROMPT_FILE"


def hashed(token: str) -> str:
    """Return the SHA-256 of a token in hexadecimal, which is what is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_marked(environ: Mapping[str, str]) -> bool:
    """Return whether this process has a run's token in its environment, or a run's mark.

    The run may belong to any database: a run of one must not create jobs in another.
    """
    return bool(environ.get(RUN_TOKEN)) or of_process() is not None


def inside_run(environ: Mapping[str, str], db: Database) -> bool:
    """Return whether this process was started by a run: it has a run's token or mark, or descends from a supervisor.

    Mark and descent remain if the environment was cleared. A supervisor inherits the orphans of its run, and the mark
    remains even after the supervisor's death.
    """
    if is_marked(environ):
        return True
    if not db.scalar("SELECT EXISTS (SELECT 1 FROM beat WHERE supervised)"):
        return False
    from tui_tasks.core.unjournaled import heartbeats  # few databases have a supervisor
    from tui_tasks.runner import processes

    supervisors = {
        (heartbeat.boot, heartbeat.namespace, heartbeat.pid, heartbeat.born)
        for heartbeat in heartbeats.heartbeats(db)
        if heartbeat.supervised
    }
    return any(processes.identity(pid, db.machine) in supervisors for pid in processes.ancestors(os.getpid()))
