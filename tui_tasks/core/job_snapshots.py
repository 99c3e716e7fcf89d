"""What reads of jobs, checks and their runs return (see `snapshots`). Instants are microseconds, UTC."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from tui_tasks.core.snapshots import iso

# What the human sees of a held job, and accepts: its name, what it does, and when.
ACCEPTED: Final = ("name", "system_prompt", "prompt", "schedule", "plan", "timezone", "dedicated_context", "settings")


class Job(msgspec.Struct, frozen=True, gc=False):
    """A job of the scheduler (seed 003). Its fields are described in `schema.tables.jobs.JobRow`."""

    id: int
    uid: str
    name: str
    name_key: str
    type: str
    system_prompt: str
    prompt: str
    schedule: dict[str, str] | None
    plan: tuple[int, ...] | None
    timezone: str
    dedicated_context: bool
    enabled: bool
    settings: dict[str, Any]
    created_by: str
    created_at: int
    next_run: int | None
    last_run: int | None
    last_outcome: str | None
    last_result: str | None
    failures: int
    decided_until: int
    active: int
    deleted: bool
    held: bool = False
    accepted: str | None = None

    @property
    def version(self) -> str:
        """Return the digest of the job as it is, which names the version that is accepted."""
        return self.digest({})

    def digest(self, changes: Mapping[str, Any]) -> str:
        """Return a digest of what the human accepts of the job with these changes."""
        seen = [changes[name] if name in changes else getattr(self, name) for name in ACCEPTED]
        return hashlib.sha256(msgspec.json.encode(seen, order="deterministic")).hexdigest()

    @property
    def state(self) -> str:
        """Return its state in the words of seed 003: running, disabled, error (last run no success) or idle."""
        if self.active:
            return "running"
        if not self.enabled:
            return "disabled"
        return "idle" if self.last_outcome in (None, "success") else "error"


class Run(msgspec.Struct, frozen=True, gc=False):
    """One nominal time or manual start of a job, and its outcome. Its fields are described in
    `schema.tables.jobs.RunRow`.
    """

    id: int
    uid: str
    job_uid: str
    trigger: str
    scheduled_for: int | None
    attempt: int
    retry_of: str | None
    decision: str
    outcome: str | None
    state: str
    dedicated: bool
    context: str
    requested_by: str
    started_at: int | None
    ended_at: int | None
    exit_code: int | None
    result: str | None
    reason: str | None
    token_hash: str | None
    deadline: int | None
    not_before: int | None
    stop_reason: str | None
    agent: str | None
    session: str | None
    turns: int | None
    tokens: int | None
    cost_usd: float | None


class Heartbeat(msgspec.Struct, frozen=True, gc=False):
    """The process that holds a run of a job or of a check, and when it last reported.

    `born` distinguishes it from others of its number.
    """

    run_uid: str
    supervised: bool
    boot: str
    namespace: str
    pid: int
    born: str
    at: int

    def is_on(self, machine: str) -> bool:
        """Return whether the process is on that machine; one that was moved with a file counts as everybody's."""
        return self.namespace.partition("@")[2] in ("", machine)


def host_of(machine: str) -> str:
    """Return the host's name in the id of a machine of a server, for people."""
    return machine.rpartition("-")[0] or machine


class CheckPlace(NamedTuple):
    """How a machine runs a check: the digest of its command, folder and inputs, the folder, and the settings file."""

    digest: str
    cwd: str
    source: str


class CheckDefinition(msgspec.Struct, frozen=True, gc=False):
    """A check that a configuration file defines. `digest` is of its command, folder and inputs.

    `cwd` is empty if it was recorded before schema 4. On a server command and folder are those of each machine:
    `digest` is of the inputs alone, `cwd` is empty, and `machines` has a place for each machine that has a command.
    """

    uid: str
    source: str
    name: str
    digest: str
    lists: tuple[str, ...]
    gate: bool
    deleted: bool
    cwd: str = ""
    inputs: tuple[str, ...] = ()
    machines: dict[str, CheckPlace] = {}

    def place(self, machine: str) -> CheckPlace | None:
        """Return how a machine runs it, None if it cannot; the machine of a file is empty."""
        return self.machines.get(machine) if machine else CheckPlace(self.digest, self.cwd, self.source)


class CheckRun(msgspec.Struct, frozen=True, gc=False):
    """One run of a check's command. Its fields are described in `schema.tables.jobs.CheckRunRow`."""

    id: int
    uid: str
    check_uid: str
    digest: str
    state: str
    requested_by: str
    requested_at: int
    started_at: int | None
    ended_at: int | None
    exit_code: int | None
    output: str | None
    inputs: str | None
    git_commit: str | None
    git_diff: str | None
    cwd: str | None = None
    worktree: str | None = None
    tree: str | None = None
    machine: str = ""


class Check(msgspec.Struct, frozen=True, gc=False):
    """One check of a task with its state, one of `vocab.CHECK_STATES`."""

    name: str
    state: str
    run: CheckRun | None = None
    gate: bool = False
    uid: str = ""  # the definition's; empty if no definition has the name
    is_waived: bool = False  # the human accepts the task as done although it failed

    @property
    def host(self) -> str:
        """The host on which its last run is or was; empty but on a server."""
        return host_of(self.run.machine) if self.run is not None else ""

    def brief(self) -> dict[str, Any]:
        """Return what a journal entry keeps of it; `read.check_queries.briefs_to_json` adds the rest."""
        return {"name": self.name, "state": self.state, "run_id": self.run.uid if self.run else None}

    def to_json(self) -> dict[str, Any]:
        """Return it as the channel shows it (docs: protocol, section 11)."""
        run = self.run
        return self.brief() | {
            "exit_code": run.exit_code if run else None,
            "output": run.output if run else None,
            "at": iso(run.ended_at or run.started_at) if run else None,
            "commit": run.git_commit if run else None,
            "diff": run.git_diff if run else None,
        }
