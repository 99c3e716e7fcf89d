"""What a supervisor runs, for jobs and for checks: the command with its environment and folder; and what is recorded of
its beginning and end.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final, Protocol

import msgspec

from tui_tasks import clock
from tui_tasks.core.errors import Conflict
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.jobs import BeginCheck, BeginRun, EndCheck, EndRun
from tui_tasks.core.read import check_queries, job_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM
from tui_tasks.runner import git, git_trees, processes, run_marks
from tui_tasks.runner.checks.input_files import CannotCopy, InputHasher
from tui_tasks.runner.checks.input_watch import RunInputs
from tui_tasks.runner.run_process import RunProcess
from tui_tasks.runner.supervisor_launch import Assignment, folder
from tui_tasks.text.times import SECOND

# How many characters of the end of a check's output are kept.
OUTPUT_CHARACTERS: Final = 4_000
LOOK_SECONDS: Final = 0.5


class RunEnding(msgspec.Struct, frozen=True):
    """How a run ended.

    Attributes:
        outcome: success, error or interrupted.
        exit_code: that of the command; 128 plus the number of a signal that killed it.
        result: the end of its standard output.
        reason: why it was no success.
        was_ended: whether the supervisor ended the command.
        retry: whether the job's retries apply.
        turns: how many answers the agent's model gave; None: unknown.
        tokens: the tokens that the agent used.
        cost_usd: what it cost, in US dollars.
    """

    outcome: str
    exit_code: int | None = None
    result: str | None = None
    reason: str | None = None
    was_ended: bool = False
    retry: bool = True
    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None


class CannotStart(Exception):
    """A run cannot be started as configured; the message is the reason."""


class CommandSpec(msgspec.Struct, frozen=True):
    """A command to start.

    Attributes:
        argv: the command and its arguments.
        cwd: its working directory.
        environment: its environment.
        text: its standard input.
    """

    argv: tuple[str, ...]
    cwd: Path
    environment: dict[str, str]
    text: str = ""


class RunRecord(Protocol):
    """The database's side of one run."""

    @property
    def look_seconds(self) -> float | None:
        """The seconds between two calls of `look` while the command runs; None: it need not be called."""

    def look(self) -> None:
        """Process what the kernel reported about the inputs."""

    def begin(self, store: Store) -> bool:
        """Take the run over from the scheduler; return whether it may begin."""

    def prepare(self, private: Path) -> CommandSpec:
        """Return the command to start; `private` is the run's own folder, to be made where it is needed.

        Raises:
            CannotStart: the configuration names something that is missing.
            OSError: the folder cannot be made.
        """

    def end_requested(self, store: Store) -> str | None:
        """Return why the run is to end; "" if its end is already recorded, None if it may continue."""

    def end_operation(self, ending: RunEnding, command: RunProcess | None) -> Operation:
        """Return the operation that records the end; `command` is None if it was not started."""


def record_of(assignment: Assignment) -> RunRecord:
    """Return the record for the run of an assignment."""
    return JobRecord(assignment) if assignment.inputs is None else CheckRecord(assignment)


def _heartbeat(assignment: Assignment, store: Store, now: int) -> Heartbeat:
    return Heartbeat(assignment.run_uid, True, *processes.identity(machine=store.db.machine), at=now)


class JobRecord:
    """The record of a job's run."""

    look_seconds: float | None = None

    def look(self) -> None:
        """Do nothing: jobs have no inputs."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment

    def begin(self, store: Store) -> bool:
        """Begin the run, unless somebody ended it meanwhile; return whether it may begin."""
        assignment, now = self._assignment, clock.now()
        deadline = now + int(assignment.timeout * SECOND)
        begin = BeginRun(
            assignment.run_uid, _heartbeat(assignment, store, now), run_marks.hashed(assignment.token), deadline
        )
        (run,) = store.commit(begin, actor=SYSTEM, now=now)
        if run is None:
            return False
        job = job_queries.any_job(store.db, run.job_uid)
        assert job is not None
        self._system_prompt, self._database = job.system_prompt, store.db.address
        self._text = f"{run.context}\n\n{job.prompt}" if run.context else job.prompt
        return True

    def prepare(self, private: Path) -> CommandSpec:
        """Return the command, after writing the system prompt to a file and determining the working directory.

        Raises:
            CannotStart: the runner's `cwd` is no folder.
        """
        private_folder(private)
        assignment = self._assignment
        prompt_file = _prompt_file(private, self._system_prompt)
        if assignment.cwd is None:
            cwd = private / "work"
            private_folder(cwd)
        else:
            cwd = Path(os.path.expanduser(assignment.cwd))  # noqa: PTH111 - Path.expanduser raises for unknown users
            if not cwd.is_dir():
                raise CannotStart(f"the runner's cwd is not a folder: {assignment.cwd}")
        argv = tuple(word.replace("{system_prompt_file}", str(prompt_file)) for word in assignment.command)
        variables = {
            run_marks.DATABASE: self._database,
            run_marks.RUN_ID: assignment.run_uid,
            run_marks.RUN_TOKEN: assignment.token,
            run_marks.SYSTEM_PROMPT_FILE: str(prompt_file),
        }
        return CommandSpec(argv, cwd, {**assignment.environment, **variables}, self._text)

    def end_requested(self, store: Store) -> str | None:
        """Return the human's reason to stop the run; "" if a scheduler has abandoned it."""
        run = job_queries.any_run(store.db, self._assignment.run_uid)
        return "" if run is None or run.state == "final" else run.stop_reason

    def end_operation(self, ending: RunEnding, command: RunProcess | None) -> Operation:
        """Return the operation that records how the command ended."""
        return EndRun(
            self._assignment.run_uid,
            ending.outcome,
            ending.exit_code,
            ending.result,
            ending.reason,
            ending.retry,
            ending.turns,
            ending.tokens,
            ending.cost_usd,
        )


def private_folder(path: Path) -> None:
    """Create a folder with mode 0700, whatever the umask."""
    path.mkdir(mode=0o700)
    path.chmod(0o700)


def _prompt_file(private: Path, text: str) -> Path:
    """Write the system prompt to a file with mode 0600 and return its path."""
    file = private / "system-prompt.txt"
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_bytes(text.encode())
    return file


class CheckRecord:
    """The record of a check's run."""

    def __init__(self, assignment: Assignment) -> None:
        assert assignment.cwd is not None
        self._assignment = assignment
        self._cwd = Path(assignment.cwd)
        self._inputs = RunInputs(assignment.cwd, assignment.inputs or ())
        # The hash of the inputs that were copied, and why they could not be.
        self._copied: str | None = None
        self._cannot: str | None = None
        self._tree: str | None = None

    look_seconds: float | None = LOOK_SECONDS

    def look(self) -> None:
        """Process events of the inputs before the kernel's buffer is full."""
        self._inputs.look()

    def begin(self, store: Store) -> bool:
        """Begin the run, recording the digest of its inputs and the folder's git state before the command starts.

        For a snapshot, the inputs are copied first.
        """
        assignment = self._assignment
        state = git_trees.look(self._cwd)
        self._tree = self._read_tree()
        if assignment.snapshot:
            self._copy()
            if self._read_tree() != self._tree:
                self._cannot = self._cannot or "the files of the worktree changed while they were copied"
        begun, now = self._inputs.begin(), clock.now()
        inputs = begun if self._copied is None else self._copied
        self._cannot = self._cannot or self._inputs.first_refused
        begin = BeginCheck(
            assignment.run_uid, _heartbeat(assignment, store, now), inputs, state.commit, state.diff, self._tree
        )
        may_begin = store.commit(begin, actor=SYSTEM, now=now) != [None]
        if not may_begin and self._copied is not None:
            shutil.rmtree(self._cwd.parent, ignore_errors=True)
        return may_begin

    def prepare(self, private: Path) -> CommandSpec:
        """Return the check's command. Its environment adds that it is inside a run, where no jobs are started.

        Unless the check says otherwise, Python has its caches in the run's own folder: a `__pycache__` beside the files
        that are checked would count as a change of them, and an agent can forge one.

        Raises:
            CannotStart: the check's `cwd` is no folder, an input cannot be one, or the inputs cannot be copied.
        """
        assignment = self._assignment
        if not self._cwd.is_dir():
            raise CannotStart(f"the check's cwd is not a folder: {assignment.cwd}")
        if self._cannot is not None:
            raise CannotStart(self._cannot)
        if self._copied is None:
            private_folder(private)
        caches = {"PYTHONPYCACHEPREFIX": str(private / "python")}
        variables = {run_marks.RUN_ID: assignment.run_uid, run_marks.RUN_TOKEN: assignment.token}
        return CommandSpec(assignment.command, self._cwd, {**caches, **assignment.environment, **variables})

    def _read_tree(self) -> str | None:
        """Return the tree that the run is about; None without a worktree, or if it cannot be read."""
        if self._assignment.worktree is None:
            return None
        try:
            return git_trees.checked_tree(
                Path(self._assignment.worktree),
                self._assignment.cwd or "",
                self._assignment.inputs or (),
                database=self._assignment.database,
                filters=self._assignment.filters,
            )
        except (git.GitFailed, Conflict, OSError) as error:
            self._cannot = self._cannot or f"the worktree cannot be read: {error}"
            return None

    def _copy(self) -> None:
        """Copy the inputs into the run's own folder; the copy takes the place of the check's folder."""
        live, private = InputHasher(str(self._cwd), self._assignment.inputs or ()), folder(self._assignment.run_uid)
        try:
            private_folder(private)
            self._copied = live.copy(str(private / "inputs"))
        except (OSError, CannotCopy) as error:
            self._cannot = str(error)
            return
        self._cannot = live.first_refused
        self._cwd = private / "inputs"
        self._inputs = RunInputs(str(self._cwd), self._assignment.inputs or ())

    def end_requested(self, store: Store) -> str | None:
        """Return "" if a scheduler has abandoned the run."""
        run = check_queries.run(store.db, self._assignment.run_uid)
        return None if run is not None and run.state == "running" else ""

    def end_operation(self, ending: RunEnding, command: RunProcess | None) -> Operation:
        """Return the operation that records the outcome, the inputs as they are now and the end of the output."""
        outcome = {"success": "passed", "error": "failed"}.get(ending.outcome, "interrupted")
        output = command.output.text() if command is not None else ""
        if ending.reason and (command is None or ending.was_ended):
            # The command's own output does not contain the reason.
            output = f"{output.rstrip()}\n[{ending.reason}]".lstrip()
        inputs = self._inputs.end()
        if inputs is not None and self._copied is not None:
            inputs = self._copied
        if outcome == "passed" and inputs is None:
            output = f"{output.rstrip()}\n[changed while it ran: {self._inputs.changed}]".lstrip()
        # The copy of a snapshot was made of the tree with which the run began.
        tree = self._read_tree() if self._copied is None else self._tree
        if outcome == "passed" and inputs is not None and tree != self._tree:
            output = (
                f"{output.rstrip()}\n[files of the worktree that git does not ignore changed while it ran]".lstrip()
            )
        output = output[-OUTPUT_CHARACTERS:]
        return EndCheck(self._assignment.run_uid, outcome, inputs, ending.exit_code, output, tree)
