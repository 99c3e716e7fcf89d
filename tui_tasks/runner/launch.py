"""Starts the supervisor of a claimed run with the command that the human has configured."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

import tui_tasks
from tui_tasks.core.engine.driver import DRIVER
from tui_tasks.core.job_snapshots import Job, Run
from tui_tasks.core.operations.jobs import EndCheck, EndRun
from tui_tasks.core.schedule import job_settings
from tui_tasks.core.snapshots import CheckRun
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner.assignment import HEARTBEAT_SECONDS, Assignment
from tui_tasks.runner.checks.check_profiles import CheckProfile
from tui_tasks.runner.profiles import ALWAYS_PASSED, Runners, passed_on

# Seconds between SIGTERM and SIGKILL for a check.
CHECK_GRACE_SECONDS: Final = 10
# The variables that the supervisor itself needs beside those passed to every run.
SUPERVISOR_VARIABLES: Final = ("PYTHON*", "LD_LIBRARY_PATH", "DYLD_*", "TUI_TASKS_CONFIG", DRIVER)
# By name, as the runner may not import the second, which depends on hooks.
SUPERVISOR: Final = "tui_tasks.runner.supervisor"
AGENT_SUPERVISOR: Final = "tui_tasks.agent_runs.supervisor"


class Launcher:
    """Starts supervisors.

    Args:
        runners: returns the configured runners; called for each start.
        clock: returns the time of day, in microseconds since the epoch.
        heartbeat_seconds: seconds between two heartbeats of a supervisor.
        die_at: the step at which a supervisor kills itself; used by tests.
    """

    def __init__(
        self,
        runners: Callable[[], Runners],
        clock: Callable[[], int],
        *,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        die_at: str = "",
    ) -> None:
        self._runners = runners
        self._clock = clock
        self._heartbeat_seconds = heartbeat_seconds
        self._die_at = die_at

    def __call__(self, store: Store, run: Run, job: Job) -> subprocess.Popen[bytes] | None:
        """Start and return the supervisor of a job's run. If that is impossible, end the run with the reason, and
        return None.
        """
        runners = self._runners()
        settings = job_settings.read(job.settings)
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
            heartbeat_seconds=self._heartbeat_seconds,
            die_at=self._die_at,
        )
        try:
            return _start_supervisor(assignment)
        except OSError as error:
            failed = EndRun(run.uid, "error", reason=f"cannot start a supervisor: {error.strerror or error}")
            store.commit(failed, actor=SYSTEM, now=self._clock())
            return None

    def check(self, store: Store, run: CheckRun, profile: CheckProfile) -> subprocess.Popen[bytes] | None:
        """Start and return the supervisor of a check's run. If that is impossible, end the run with the reason, and
        return None.
        """
        runners = self._runners()
        assignment = Assignment(
            database=str(Path(store.path).absolute()),
            run_uid=run.uid,
            token=secrets.token_urlsafe(32),
            command=profile.command,
            cwd=run.cwd or profile.cwd,
            environment=profile.passed_on(os.environ),
            timeout=min(profile.timeout, runners.max_timeout),
            grace=CHECK_GRACE_SECONDS,
            heartbeat_seconds=self._heartbeat_seconds,
            die_at=self._die_at,
            inputs=profile.inputs,
            snapshot=profile.snapshot,
            worktree=run.worktree,
            filters=profile.filters,
        )
        try:
            return _start_supervisor(assignment)
        except OSError as error:
            output = f"[cannot start a supervisor: {error.strerror or error}]"
            store.commit(EndCheck(run.uid, "interrupted", output=output), actor=SYSTEM, now=self._clock())
            return None


def _start_supervisor(assignment: Assignment) -> subprocess.Popen[bytes]:
    """Start a supervisor that outlives this process: it has its own session and inherits no descriptors.

    Its environment is limited to what every run sees and what Python needs, because its run can read it.
    """
    package = str(Path(tui_tasks.__file__).parent.parent)
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    supervisor = subprocess.Popen(
        [sys.executable, "-P", "-m", SUPERVISOR if assignment.agent is None else AGENT_SUPERVISOR],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**passed_on(os.environ, (*ALWAYS_PASSED, *SUPERVISOR_VARIABLES)), "PYTHONPATH": path},
        start_new_session=True,
    )
    assert supervisor.stdin is not None
    # If the supervisor dies here, its run never begins, and the lease ends it.
    with contextlib.suppress(BrokenPipeError), supervisor.stdin as pipe:
        pipe.write(msgspec.json.encode(assignment))
    return supervisor
