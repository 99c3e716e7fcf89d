"""What a scheduler hands to the supervisor that it starts: one JSON object on its standard input."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from tui_tasks.runner import mark, processes
from tui_tasks.runner.inside import RUN_ID

# Seconds between a supervisor's signs of life.
BEAT: Final = 10.0


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """One run, and how to run it. Durations are seconds."""

    database: str
    run_uid: str
    token: str
    command: tuple[str, ...]
    cwd: str | None
    environment: dict[str, str]
    timeout: float
    grace: float
    beat: float = BEAT
    # Of a check: globs of the files that it looks at. None: it is a run of a job.
    inputs: tuple[str, ...] | None = None
    # For tests: the step at which the supervisor kills itself.
    die_at: str = ""

    def step(self, name: str) -> None:
        """Reach a step of the work."""
        if name == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def folder(run_uid: str) -> Path:
    """The private folder of a run."""
    return Path(tempfile.gettempdir()) / f"tui-tasks-run-{run_uid}"


def clear_away(run_uid: str) -> None:
    """Remove what a run whose supervisor is gone has left: its processes, as far as they can be found, its folder."""
    left = {*processes.with_variable(RUN_ID, run_uid), *processes.with_mark(mark.of_run(run_uid))}
    processes.send(sorted(left), signal.SIGKILL)
    shutil.rmtree(folder(run_uid), ignore_errors=True)
