"""Starts the supervisor of a claimed run with the command that the human has configured.

The assignment is what a scheduler writes to its supervisor's standard input, as one JSON object.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

import tui_tasks
from tui_tasks.core.agent_snapshots import CheckRun
from tui_tasks.core.engine.driver import DRIVER
from tui_tasks.core.job_snapshots import Job, Run
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.jobs import EndCheck, EndRun
from tui_tasks.core.schedule import policy
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import processes, run_marks
from tui_tasks.runner.run_marks import RUN_ID
from tui_tasks.runner.runner_settings import (
    ALWAYS_PASSED,
    AgentSettings,
    CheckProfile,
    Runners,
    passed_on,
    run_environment,
)

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
        server_password: the password of the database's server, for the supervisor alone; empty: none.
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
    server_password: str = ""
    die_at: str = ""

    def step(self, name: str) -> None:
        """Mark a step of the work as reached; the process kills itself at the step `die_at`."""
        if name == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def folder(run_uid: str) -> Path:
    """Return the path of a run's private folder."""
    return Path(tempfile.gettempdir()) / f"tui-tasks-run-{run_uid}"


def clear_away(run_uid: str) -> None:
    """Kill the visible processes that a run without a supervisor left behind, and remove its folder."""
    for _ in range(MAX_ROUNDS):
        pids = {*processes.with_variable(RUN_ID, run_uid), *processes.with_mark(run_marks.of_run(run_uid))}
        left = [pid for pid in pids if processes.is_alive(processes.identity(pid)) is not False]
        if not left:
            break
        processes.send(left, signal.SIGKILL)
        time.sleep(processes.KILL_AGAIN)
    shutil.rmtree(folder(run_uid), ignore_errors=True)


# Seconds between SIGTERM and SIGKILL for a check.
CHECK_GRACE_SECONDS: Final = 10
# The variable by which libpq reads a password.
PASSWORD: Final = "PGPASSWORD"
# The variables that the supervisor itself needs beside those passed to every run.
SUPERVISOR_VARIABLES: Final = ("PYTHON*", "LD_LIBRARY_PATH", "DYLD_*", "TUI_TASKS_CONFIG", "PG*", DRIVER)
# By name, as the runner may not import the second, which depends on hooks.
SUPERVISOR: Final = "tui_tasks.runner.run_supervisor"
AGENT_SUPERVISOR: Final = "tui_tasks.agent_runs.agent_supervisor"


class Launcher:
    """Starts supervisors.

    Args:
        runners: returns the configured runners; called for each start.
        clock: returns the time of day, in microseconds since the epoch.
        die_at: the step at which a supervisor kills itself; used by tests.
    """

    def __init__(self, runners: Callable[[], Runners], clock: Callable[[], int], *, die_at: str = "") -> None:
        self._runners = runners
        self._clock = clock
        self._die_at = die_at

    def __call__(self, store: Store, run: Run, job: Job) -> subprocess.Popen[bytes] | None:
        """Start and return the supervisor of a job's run; None: it is impossible, and the run has ended for that."""
        runners = self._runners()
        settings = policy.read_settings(job.settings)
        profile = runners.profiles.get(settings.runner)
        if profile is None:
            failed = EndRun(run.uid, "error", reason=runners.missing(settings.runner), retry=False)
            store.commit(failed, actor=SYSTEM, now=self._clock())
            return None
        assignment = Assignment(
            database=str(Path(store.path).absolute()),
            run_uid=run.uid,
            token=secrets.token_urlsafe(32),
            command=profile.command,
            cwd=profile.cwd,
            environment=profile.passed_on(os.environ),
            timeout=min(settings.timeout or profile.timeout, runners.max_timeout),
            grace=profile.grace,
            agent=profile.agent,
            die_at=self._die_at,
        )
        return self._start(store, assignment, lambda why: EndRun(run.uid, "error", reason=why))

    def check(self, store: Store, run: CheckRun, profile: CheckProfile) -> subprocess.Popen[bytes] | None:
        """Start and return the supervisor of a check's run; None: it is impossible, and the run has ended for that."""
        runners = self._runners()
        # Python does not read the user's own site-packages, which agents can write, unless the check says so.
        environment = {"PYTHONNOUSERSITE": "1"} | run_environment(os.environ, profile.environment)
        assignment = Assignment(
            database=str(Path(store.path).absolute()),
            run_uid=run.uid,
            token=secrets.token_urlsafe(32),
            command=profile.command,
            cwd=run.cwd or profile.cwd,
            environment=environment,
            timeout=min(profile.timeout, runners.max_timeout),
            grace=CHECK_GRACE_SECONDS,
            die_at=self._die_at,
            inputs=profile.inputs,
            snapshot=profile.snapshot,
            worktree=run.worktree,
            filters=profile.filters,
        )
        return self._start(store, assignment, lambda why: EndCheck(run.uid, "interrupted", output=f"[{why}]"))

    def _start(
        self, store: Store, assignment: Assignment, failed: Callable[[str], Operation]
    ) -> subprocess.Popen[bytes] | None:
        try:
            return _start_supervisor(assignment)
        except OSError as error:
            why = f"cannot start a supervisor: {error.strerror or error}"
            store.commit(failed(why), actor=SYSTEM, now=self._clock())
            return None


def _start_supervisor(assignment: Assignment) -> subprocess.Popen[bytes]:
    """Start a supervisor that outlives this process: it has its own session and inherits no descriptors.

    Its environment is limited to what every run sees and what Python needs, because its run can read it. A password
    goes through the pipe.
    """
    environment = passed_on(os.environ, (*ALWAYS_PASSED, *SUPERVISOR_VARIABLES))
    assignment = msgspec.structs.replace(assignment, server_password=environment.pop(PASSWORD, ""))
    package = str(Path(tui_tasks.__file__).parent.parent)
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    supervisor = subprocess.Popen(
        [sys.executable, "-P", "-m", SUPERVISOR if assignment.agent is None else AGENT_SUPERVISOR],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**environment, "PYTHONPATH": path},
        start_new_session=True,
    )
    assert supervisor.stdin is not None
    # If the supervisor dies here, its run never begins, and the lease ends it.
    with contextlib.suppress(BrokenPipeError), supervisor.stdin as pipe:
        pipe.write(msgspec.json.encode(assignment))
    return supervisor
