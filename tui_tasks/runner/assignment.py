"""The assignment that a scheduler writes to its supervisor's standard input, as one JSON object."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

from tui_tasks.runner.process import processes, run_context
from tui_tasks.runner.process.run_context import RUN_ID
from tui_tasks.runner.profiles import AgentSettings

# Seconds between two heartbeats of a supervisor.
HEARTBEAT_SECONDS: Final = 10.0
# How often the processes that an abandoned run left behind are killed: they may start others meanwhile.
MAX_ROUNDS: Final = 20


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """One run and how to execute it.

    Attributes:
        database: the path of the database.
        run_uid: the run.
        token: the run's token, by which a process shows that it is inside the run.
        command: the argv, never a shell.
        cwd: the working directory; None: a new one for the run.
        environment: the environment of the command.
        timeout: seconds after which the run is ended.
        grace: seconds between SIGTERM and SIGKILL.
        heartbeat_seconds: seconds between two heartbeats.
        agent: how to speak to the agent program that the command is; None: it is a plain command.
        inputs: the globs of a check's input files; None: it is a run of a job.
        snapshot: whether the command runs in a private copy of these files.
        worktree: the git worktree whose files a check's run is about; None: none.
        filters: git filters that may run when these files are hashed.
        die_at: the step at which the supervisor kills itself; used by tests.
    """

    database: str
    run_uid: str
    token: str
    command: tuple[str, ...]
    cwd: str | None
    environment: dict[str, str]
    timeout: float
    grace: float
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    agent: AgentSettings | None = None
    inputs: tuple[str, ...] | None = None
    snapshot: bool = False
    worktree: str | None = None
    filters: tuple[str, ...] = ()
    die_at: str = ""

    def step(self, name: str) -> None:
        """Mark a step of the work as reached; the process kills itself at the step `die_at`."""
        if name == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def folder(run_uid: str) -> Path:
    """Return the path of a run's private folder."""
    return Path(tempfile.gettempdir()) / f"tui-tasks-run-{run_uid}"


def clear_away(run_uid: str) -> None:
    """Kill the processes that a run without a supervisor left behind, as far as they are visible, and remove its
    folder.
    """
    for _ in range(MAX_ROUNDS):
        found = {*processes.with_variable(RUN_ID, run_uid), *processes.with_mark(run_context.of_run(run_uid))}
        left = [pid for pid in found if processes.is_alive(processes.identity(pid)) is not False]
        if not left:
            break
        processes.send(left, signal.SIGKILL)
        time.sleep(processes.KILL_AGAIN)
    shutil.rmtree(folder(run_uid), ignore_errors=True)
