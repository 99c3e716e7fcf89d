"""What a supervisor reads and records of its run: one of a job, or one of a check."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Protocol

import msgspec

from tui_tasks import clock
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations_checks import BeginCheck, EndCheck
from tui_tasks.core.operations_jobs import BeginRun, EndRun
from tui_tasks.core.read import checks
from tui_tasks.core.read.jobs import queries_jobs
from tui_tasks.core.snapshots import Heartbeat
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import git_state, inside, processes
from tui_tasks.runner.assignment import Assignment
from tui_tasks.runner.command import Command
from tui_tasks.runner.inputs import InputHasher

# So many characters of the end of a check's output are kept with it.
OUTPUT: Final = 4_000


class Ending(msgspec.Struct, frozen=True):
    """How a run ended: success, error or interrupted."""

    outcome: str
    exit_code: int | None = None
    result: str | None = None
    reason: str | None = None
    # Whether it was ended, and did not end by itself.
    was_ended: bool = False


class CannotStart(Exception):
    """A run cannot be started as it is configured; the message says why."""


class Prepared(msgspec.Struct, frozen=True):
    """What is to be started: its words, its folder, what it is told by its environment and its standard input."""

    argv: tuple[str, ...]
    cwd: Path
    environment: dict[str, str]
    text: str = ""


class Record(Protocol):
    """One run, in the database."""

    def begin(self, store: Store) -> bool:
        """Take the run over from the scheduler; return whether it may be begun."""

    def prepare(self, private: Path) -> Prepared:
        """Return what is to be started; `private` is a folder of the run's own, which is there.

        Raises:
            CannotStart: it cannot be.
        """

    def wanted_end(self, store: Store) -> str | None:
        """Return why somebody wants the run to end, "" where its end is recorded already, None while it may go on."""

    def ended(self, ending: Ending, command: Command | None) -> Operation:
        """Return the operation that records the end; `command` is None where it was never started."""


def record_of(given: Assignment) -> Record:
    """The record of the run that a supervisor was given."""
    return JobRecord(given) if given.inputs is None else CheckRecord(given)


def _beat(given: Assignment, now: int) -> Heartbeat:
    return Heartbeat(given.run_uid, True, *processes.identity(), at=now)


class JobRecord:
    """A run of a job."""

    def __init__(self, given: Assignment) -> None:
        self._given = given

    def begin(self, store: Store) -> bool:
        """Begin it, where nobody has ended it meanwhile."""
        given, now = self._given, clock.now()
        deadline = now + int(given.timeout * 1_000_000)
        begin = BeginRun(given.run_uid, _beat(given, now), inside.hashed(given.token), deadline)
        (run,) = store.commit(begin, actor=SYSTEM, now=now)
        if run is None:
            return False
        job = queries_jobs.any_job(store.db, run.job_uid)
        assert job is not None
        self._system_prompt = job.system_prompt
        self._text = f"{run.context}\n\n{job.prompt}" if run.context else job.prompt
        return True

    def prepare(self, private: Path) -> Prepared:
        """Put the system prompt into a file, and find the folder."""
        given = self._given
        prompt_file = _prompt_file(private, self._system_prompt)
        if given.cwd is None:
            cwd = private / "work"
            private_folder(cwd)
        else:
            # Not `Path.expanduser`, which raises where there is no such user.
            cwd = Path(os.path.expanduser(given.cwd))  # noqa: PTH111 - as said above
            if not cwd.is_dir():
                raise CannotStart(f"the runner's cwd is no folder: {given.cwd}")
        argv = tuple(word.replace("{system_prompt_file}", str(prompt_file)) for word in given.command)
        told = {
            inside.DATABASE: given.database,
            inside.RUN_ID: given.run_uid,
            inside.RUN_TOKEN: given.token,
            inside.SYSTEM_PROMPT_FILE: str(prompt_file),
        }
        return Prepared(argv, cwd, {**given.environment, **told}, self._text)

    def wanted_end(self, store: Store) -> str | None:
        """The human may stop it, and a scheduler give it up."""
        run = queries_jobs.any_run(store.db, self._given.run_uid)
        return "" if run is None or run.state == "final" else run.stop_reason

    def ended(self, ending: Ending, command: Command | None) -> Operation:
        """The run's own words."""
        return EndRun(self._given.run_uid, ending.outcome, ending.exit_code, ending.result, ending.reason)


def private_folder(folder: Path) -> None:
    """Make a folder that is nobody else's, whatever the umask."""
    folder.mkdir(mode=0o700)
    folder.chmod(0o700)


def _prompt_file(folder: Path, text: str) -> Path:
    """Write the system prompt where nobody else reads it."""
    file = folder / "system-prompt.txt"
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_bytes(text.encode())
    return file


class CheckRecord:
    """A run of a check."""

    def __init__(self, given: Assignment) -> None:
        assert given.cwd is not None
        self._given = given
        self._cwd = Path(given.cwd)
        self._inputs = InputHasher(given.cwd, given.inputs or ())

    def begin(self, store: Store) -> bool:
        """Note what the inputs are, and what git says of the folder, before anything is started."""
        given = self._given
        state = git_state.look(self._cwd, given.environment)
        inputs, now = self._inputs.digest(), clock.now()
        begin = BeginCheck(given.run_uid, _beat(given, now), inputs, state.commit, state.diff)
        return store.commit(begin, actor=SYSTEM, now=now) != [None]

    def prepare(self, private: Path) -> Prepared:
        """It is told nothing but that it is inside a run, which makes and starts no jobs."""
        given = self._given
        if not self._cwd.is_dir():
            raise CannotStart(f"the check's cwd is no folder: {given.cwd}")
        told = {inside.RUN_ID: given.run_uid, inside.RUN_TOKEN: given.token}
        return Prepared(given.command, self._cwd, {**given.environment, **told})

    def wanted_end(self, store: Store) -> str | None:
        """A scheduler may have given it up."""
        run = checks.run(store.db, self._given.run_uid)
        return None if run is not None and run.state == "running" else ""

    def ended(self, ending: Ending, command: Command | None) -> Operation:
        """Whether it has passed, with the inputs that it began with; the end of its output, and why where it failed."""
        outcome = {"success": "passed", "error": "failed"}.get(ending.outcome, "interrupted")
        output = command.output.text() if command is not None else ""
        if ending.reason and (command is None or ending.was_ended):
            # What it says itself does not tell.
            output = f"{output.rstrip()}\n[{ending.reason}]".lstrip()
        return EndCheck(self._given.run_uid, outcome, self._inputs.digest(), ending.exit_code, output[-OUTPUT:])
