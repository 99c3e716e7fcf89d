"""Hosting schedulers in tests: real ones in this process, and `python -m tests.runner.hosting` to be killed."""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from tests.core.job_steps import Jobs
from tests.fork_server import Forked
from tests.started import DEADLINE, until
from tui_tasks import clock
from tui_tasks.core.job_snapshots import Job, Run
from tui_tasks.core.operations.jobs import RunJob
from tui_tasks.core.read import job_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import run_output
from tui_tasks.runner import processes, runner_settings, supervisor_launch
from tui_tasks.runner.scheduler_service import SchedulerService
from tui_tasks.runner.supervisor_launch import Launcher
from tui_tasks.settings import run_tables

ROOT = Path(__file__).parent.parent.parent
FORKING = SimpleNamespace(Popen=Forked, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
"""Stands in for `subprocess` where supervisors are started: they are forked."""
STUBBORN = """
trap '' TERM
echo $$ >> PIDS
setsid sh -c 'trap "" TERM; echo $$ >> PIDS; while :; do sleep 1; done' &
(setsid sh -c 'trap "" TERM; echo $$ >> PIDS; while :; do sleep 1; done' &)
while :; do sleep 1; done
"""


def runners(**table: object) -> runner_settings.Runners:
    """Runners from the keys of `[runner]`."""
    made, wrong = run_tables.read_runners(table, "the file")
    assert not wrong
    return made


def shell(text: str, **more: object) -> dict:
    return {"command": ["sh", "-c", text], "grace": 1, **more}


def pids(file: Path) -> list[int]:
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def alive(pid: int) -> bool:
    return processes.is_alive(processes.identity(pid)) is True


class Host:
    """A scheduler at work in a thread, and the runs it brings about."""

    def __init__(self, store: Store) -> None:
        self.jobs = Jobs(store, clock.now)

    def start(self, name: str, context: str = "", **settings: object) -> Run:
        """Make a job of that name and start it."""
        job = self.jobs.make(name, "adhoc", dedicated_context=True, settings=settings)
        return self.jobs.commit(RunJob(job.uid, context), "agent")

    def run(self, uid: str) -> Run:
        return job_queries.run(self.jobs.store.db, uid)

    def ended(self, run: Run) -> Run:
        """The run, once it has ended."""
        until(lambda: self.run(run.uid).state == "final", f"the end of {run}")
        return self.run(run.uid)

    def run_to_end(self, name: str, context: str = "", **settings: object) -> Run:
        """Start a job and wait for its run to end."""
        return self.ended(self.start(name, context, **settings))

    def log(self, run: Run) -> str:
        return run_output.read_output(self.jobs.store.db, run.uid).text


@contextlib.contextmanager
def hosted(
    path: str, made: runner_settings.Runners, *, is_forking: bool = True, **more: object
) -> Iterator[SchedulerService]:
    """A scheduler that serves in a thread of its own, and forks its supervisors unless a test looks at their start."""
    service = SchedulerService(path, lambda: made, **more)
    thread = threading.Thread(target=service.run, daemon=True)
    with mock.patch.object(supervisor_launch, "subprocess", FORKING if is_forking else subprocess):
        thread.start()
        try:
            yield service
        finally:
            service.stop()
            thread.join(DEADLINE)
            assert not thread.is_alive()


def killed_host(path: str, table: dict, at: str) -> None:
    """Let a scheduler of its own process do what is due until it, or its supervisor, kills itself at a step."""
    argv = [sys.executable, "-m", "tests.runner.hosting", path, json.dumps(table), at]
    subprocess.run(argv, cwd=ROOT, timeout=DEADLINE, check=False)


def main(path: str, table: str, at: str) -> None:
    """One turn of a scheduler; `at` is "scheduler STEP" or "supervisor STEP"."""
    import os
    import signal

    made = runners(**json.loads(table))
    who, _, step = at.partition(" ")
    launcher = Launcher(lambda: made, clock.now, die_at=step if who == "supervisor" else "")

    def at_step(reached: str) -> None:
        if who == "scheduler" and reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    service = SchedulerService(path, lambda: made, start=launcher, at_step=at_step)
    with Store(path) as store:
        service.turn(store)
    for supervisor in service._children.values():
        supervisor.wait()


def job_of(host: Host, run: Run) -> Job:
    return host.jobs.job(run.job_uid)


if __name__ == "__main__":
    main(*sys.argv[1:])
