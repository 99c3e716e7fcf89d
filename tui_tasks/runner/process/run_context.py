"""Detects whether this process was started by a run, inside which no jobs are made or started (rule S1)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.schedule import heartbeats
from tui_tasks.runner.process import mark

RUN_ID: Final = "TUI_TASKS_RUN_ID"
RUN_TOKEN: Final = "TUI_TASKS_RUN_TOKEN"
DATABASE: Final = "TUI_TASKS_DB"
SYSTEM_PROMPT_FILE: Final = "TUI_TASKS_SYSTEM_PROMPT_FILE"


def hashed(token: str) -> str:
    """Return the SHA-256 of a run's token in hexadecimal, which is what the state stores."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_marked(environ: Mapping[str, str]) -> bool:
    """Return whether this process has a run's token in its environment, or a run's mark.

    The run may belong to any database: a run of one must not create jobs in another.
    """
    return bool(environ.get(RUN_TOKEN)) or mark.of_process() is not None


def inside_run(environ: Mapping[str, str], db: Database) -> bool:
    """Return whether this process was started by a run: it has a run's token or mark, or descends from a supervisor.

    Mark and descent remain if the environment was cleared. A supervisor inherits the orphans of its run, and the mark
    remains even after the supervisor's death.
    """
    if is_marked(environ):
        return True
    supervisors = {
        (heartbeat.boot, heartbeat.namespace, heartbeat.pid, heartbeat.born)
        for heartbeat in heartbeats.everyone(db)
        if heartbeat.supervised
    }
    if not supervisors:
        return False
    from tui_tasks.runner.process import processes  # few databases have a supervisor

    return any(processes.identity(pid) in supervisors for pid in processes.ancestors(os.getpid()))
