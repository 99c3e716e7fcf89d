"""Whether what speaks was started by a run of a job (rule S1)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.schedule import heartbeats
from tui_tasks.runner import mark

RUN_ID: Final = "TUI_TASKS_RUN_ID"
RUN_TOKEN: Final = "TUI_TASKS_RUN_TOKEN"
DATABASE: Final = "TUI_TASKS_DB"
SYSTEM_PROMPT_FILE: Final = "TUI_TASKS_SYSTEM_PROMPT_FILE"


def hashed(token: str) -> str:
    """A run's token as the state keeps it."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_marked(environ: Mapping[str, str]) -> bool:
    """Whether this process bears a run's token or mark.

    Any counts, known to a database or not: a run that was started from one does not make jobs in another.
    """
    return bool(environ.get(RUN_TOKEN)) or mark.of_process() is not None


def inside_run(environ: Mapping[str, str], db: Database) -> bool:
    """Whether this process was started by a run: it bears a run's token or mark, or descends from a supervisor.

    The mark and the descent hold where the environment was scrubbed; a supervisor is the parent of whatever its run
    orphans, and the mark holds where the supervisor is dead as well.
    """
    if is_marked(environ):
        return True
    supervisors = {
        (beat.boot, beat.namespace, beat.pid, beat.born) for beat in heartbeats.everyone(db) if beat.supervised
    }
    if not supervisors:
        return False
    from tui_tasks.runner import processes

    return any(processes.identity(pid) in supervisors for pid in processes.ancestors(os.getpid()))
