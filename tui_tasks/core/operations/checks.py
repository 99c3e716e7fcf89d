"""The writes about checks (docs: protocol, section 11)."""

from __future__ import annotations

from tui_tasks.core.operations import Operation
from tui_tasks.core.snapshots import Heartbeat

# Of the human


class NamedCheck(Operation, frozen=True):
    """A check of a configuration file. Not an operation itself.

    Attributes:
        name: its name.
        digest: the hash of its command, folder and inputs.
        lists: the names of the lists whose tasks all have it.
        gate: whether it must pass before such a task can be done.
        cwd: the folder of its inputs.
        inputs: globs below `cwd`.
    """

    name: str
    digest: str
    lists: tuple[str, ...] = ()
    gate: bool = False
    cwd: str = ""
    inputs: tuple[str, ...] = ()


class RecordSettings(Operation, frozen=True):
    """Record from which settings file checks, reviewed lists and standing answers come, and the latter two. Result:
    whether anything changed.

    Attributes:
        source: the path of the file.
        lists: the names of the lists; `*`: every list.
        limit: how many held tasks an agent may have.
        jobs: whether the jobs that agents make are held.
        rules: the standing answers, each as the fields of an `AnswerRule`.
    """

    source: str
    lists: tuple[str, ...] = ()
    limit: int = 25
    jobs: bool = False
    rules: tuple[dict[str, str], ...] = ()


class DefineChecks(Operation, frozen=True):
    """Replace the checks of a configuration file by these. Result: whether anything changed.

    Attributes:
        source: the path of the file.
        checks: its valid checks.
        kept: the names of checks that stay as they are, because the file's tables for them are invalid.
        alone: whether the checks of all other files are deleted.
    """

    source: str
    checks: tuple[NamedCheck, ...]
    kept: frozenset[str] = frozenset()
    alone: bool = False


class GiveChecks(Operation, frozen=True):
    """Set the names of a task's checks; None: those of its list. Only for the human. Result: the task."""

    uid: str
    names: tuple[str, ...] | None


class WaiveChecks(Operation, frozen=True):
    """Accept a task as done although checks failed. Result: the names of those checks."""

    uid: str


# Of agents


class RequestChecks(Operation, frozen=True):
    """Run a task's checks, or the one with that name, whether the task is done or not. Result: what is verified of it.

    `unproven_alone`: do not repeat checks that passed and whose inputs are unchanged.
    """

    uid: str
    name: str | None = None
    unproven_alone: bool = False


class ProveTree(Operation, frozen=True):
    """Have checks of a task run on one tree; what has passed on it counts again. Only for the human. Result: these
    checks.

    Attributes:
        uid: the task.
        repository: the checkout in which the checks' folders are.
        worktree: the worktree that has the tree.
        tree: the hash of the tree.
        gates_alone: whether only the checks that gate are meant.
    """

    uid: str
    repository: str
    worktree: str
    tree: str
    gates_alone: bool = False


# Of a scheduler and a supervisor


class ClaimCheck(Operation, frozen=True):
    """Claim a waiting run of a check; only one process succeeds. Result: the run, or None.

    `by` is the process that will start its supervisor; at most `max_parallel` runs are claimed or running at a time.
    """

    uid: str
    by: Heartbeat
    max_parallel: int


class BeginCheck(Operation, frozen=True):
    """Take over a claimed run as its supervisor, before starting its command. Result: the run, or None if it may not
    begin.

    Attributes:
        uid: the run.
        by: the supervisor's process.
        inputs: the hash of the inputs now.
        commit: the git commit of the folder.
        diff: the hash of the uncommitted changes.
        tree: the hash of the files of the run's worktree; None: it runs in none.
    """

    uid: str
    by: Heartbeat
    inputs: str
    commit: str | None = None
    diff: str | None = None
    tree: str | None = None


class EndCheck(Operation, frozen=True):
    """Record how a run of a check ended. Result: the run.

    Attributes:
        uid: the run.
        outcome: passed, failed or interrupted.
        inputs: the hash of the inputs now; if it changed during the run, a passed run is stale.
        exit_code: that of the command.
        output: the end of its output.
        tree: the hash of the files of the run's worktree now, to the same end as `inputs`.
    """

    uid: str
    outcome: str
    inputs: str | None = None
    exit_code: int | None = None
    output: str = ""
    tree: str | None = None


class AbandonCheck(Operation, frozen=True):
    """End a run whose process is gone, unless its heartbeat is newer than `seen`. Result: whether it ended."""

    uid: str
    seen: Heartbeat | None


class ChangeInputs(Operation, frozen=True):
    """Make the passed runs of a check stale whose inputs do not hash to `inputs`. Result: how many.

    `digest` is that of the definition with which `inputs` was hashed, in the folder of the runs `uids`; empty: of all.
    """

    check_uid: str
    digest: str
    inputs: str
    uids: tuple[str, ...] = ()
