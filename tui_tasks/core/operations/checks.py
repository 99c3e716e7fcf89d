"""The writes about checks, as frozen values beside those of `operations` (docs: protocol, section 11)."""

from __future__ import annotations

from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations.operation import Operation

# What the human does


class NamedCheck(Operation, frozen=True):
    """A check as a configuration file names it; `digest` is of what it runs and looks at. Not an operation itself."""

    name: str
    digest: str
    lists: tuple[str, ...] = ()
    gate: bool = False


class DefineChecks(Operation, frozen=True):
    """Let the checks of a configuration file be these. Result: whether anything was changed.

    `kept` are names of others that stand as they are: what the file says of them cannot be read. `alone`: no other file
    counts any more.
    """

    source: str
    checks: tuple[NamedCheck, ...]
    kept: frozenset[str] = frozenset()
    alone: bool = False


class GiveChecks(Operation, frozen=True):
    """Let a task have the checks of these names; None: those of its list. The human's alone. Result: the task."""

    uid: str
    names: tuple[str, ...] | None


class WaiveChecks(Operation, frozen=True):
    """Let a task be done though checks of it have failed: it needs the human no more. Result: their names."""

    uid: str


# What agents may ask for


class RequestChecks(Operation, frozen=True):
    """Run a task's checks, or the one of that name, whether it is done or not. Result: what is verified of it.

    `unproven_alone`: those that have passed, and of which nothing has changed since, are not run again.
    """

    uid: str
    name: str | None = None
    unproven_alone: bool = False


# What a scheduler and a supervisor do


class ClaimCheck(Operation, frozen=True):
    """Take a waiting run of a check in hand, once for all processes. Result: the run, None where it is not to be had.

    `by` is the process that will start its supervisor; at most `max_parallel` runs may be in hand at a time.
    """

    uid: str
    by: Heartbeat
    max_parallel: int


class BeginCheck(Operation, frozen=True):
    """A supervisor takes over a claimed run, about to start its command. Result: the run, None where it may not.

    `inputs` is a hash of the inputs as they are now, `commit` and `diff` what git tells of the folder.
    """

    uid: str
    by: Heartbeat
    inputs: str
    commit: str | None = None
    diff: str | None = None


class EndCheck(Operation, frozen=True):
    """Record how a run of a check ended: passed, failed or interrupted. Result: the run.

    `inputs` is a hash of the inputs as they are now: one that has changed meanwhile makes stale what has passed.
    """

    uid: str
    outcome: str
    inputs: str | None = None
    exit_code: int | None = None
    output: str = ""


class AbandonCheck(Operation, frozen=True):
    """End a run whose process is gone, unless another sign of life than `seen` has come. Result: whether it was."""

    uid: str
    seen: Heartbeat | None


class ChangeInputs(Operation, frozen=True):
    """Make stale what has passed of a check with other inputs than those that hash to `inputs`. Result: how many runs.

    `digest` is of the definition that they were hashed by.
    """

    check_uid: str
    digest: str
    inputs: str
