"""What reads of agents return: questions, messages, processes, work and its checks (see `snapshots`).

Instants are in microseconds, UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from tui_tasks.core.snapshots import iso


class Ask(msgspec.Struct, frozen=True, gc=False):
    """A question to the human. Its fields are described in `schema.agent_tables.AskRow`."""

    id: int
    uid: str
    agent: str
    question: str
    options: tuple[str, ...]
    task_uid: str | None
    opened_at: int
    expires_at: int | None
    state: str
    answer: str | None
    answered_at: int | None
    request: dict[str, Any] | None = None
    reason: str | None = None
    project: str | None = None
    rule: str | None = None

    @property
    def is_permission(self) -> bool:
        """Return whether a program asks if a tool may run. Of its command, the beginning matters most."""
        return (self.request or {}).get("kind") == "permission"


class Agent(msgspec.Struct, frozen=True, gc=False):
    """Whether the human has paused an agent, and with what message."""

    uid: str
    paused: bool
    message: str


class HumanMessage(msgspec.Struct, frozen=True, gc=False):
    """A message of the human to an agent. `seq` and `delivered_seq` are the entries of sending and delivery. One that
    the human has withdrawn has `delivered_at` alone.
    """

    id: int
    uid: str
    agent: str
    text: str
    sent_at: int
    seq: int
    delivered_at: int | None = None
    delivered_seq: int | None = None
    ends_turn: bool = False

    @property
    def is_withdrawn(self) -> bool:
        """Return whether the human has withdrawn it."""
        return self.delivered_at is not None and self.delivered_seq is None


class Work(msgspec.Struct, frozen=True, gc=False):
    """An agent at work on a task. Its fields are described in `schema.record_tables.WorkRow`."""

    id: int
    uid: str
    task_uid: str
    agent: str
    program: str
    repository: str
    worktree: str
    makes_worktree: bool
    branch: str | None
    base: str | None
    base_commit: str | None
    terminal: str | None
    state: str
    message: str | None
    summary: str | None
    pull_request: str | None
    started_at: int
    merged_at: int | None = None
    head: str | None = None
    intent: dict[str, Any] | None = None
    kept: dict[str, Any] | None = None
    limits: dict[str, Any] | None = None
    machine: str = ""

    @property
    def is_on_base(self) -> bool:
        """Whether it is done on its base branch itself, so that there is nothing to merge."""
        return not self.makes_worktree and self.branch is not None and self.branch == self.base

    @property
    def merge_commit(self) -> str | None:
        """The commit to which its merge has moved the base branch; None: it has moved nothing."""
        merge = (self.kept or {}).get(KEPT_MERGE) or {}
        commit: str | None = merge.get("new")
        return commit if commit != merge.get("old") else None

    def to_json(self, counts: Mapping[str, Any] = {}) -> dict[str, Any]:
        """Return it as the channel shows it (docs: protocol, section 12), with what git last counted."""
        return {
            **{name: getattr(self, name) for name in ("agent", "program", "branch", "worktree", "base", "state")},
            **{name: counts.get(name) for name in WORK_COUNTS},
            "dirty": None if counts.get("dirty") is None else bool(counts["dirty"]),
            "pull_request": self.pull_request,
            "started_at": iso(self.started_at),
            "merged_at": iso(self.merged_at),
            "message": self.message,
        }


class Auto(msgspec.Struct, frozen=True, gc=False):
    """Whether a list works itself off. Its fields are described in `schema.record_tables.AutoRow`."""

    uid: str
    program: str
    folder: str
    at_once: int
    failures: int
    stays: bool
    is_on: bool
    host: str = ""
    after: int = 0
    message: str | None = None
    machine: str = ""


WORK_COUNTS: Final = ("ahead", "behind", "files", "insertions", "deletions")
"""What git counts of a work, beside whether its worktree has uncommitted changes."""
KEPT_MERGE: Final = "merge"
"""The key of `Work.kept` under which its merge is."""
KEPT_COUNTS: Final = ("head", *WORK_COUNTS, "dirty", "near")
"""What is kept of a work beside the journal."""


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
    """One run of a check's command. Its fields are described in `schema.job_tables.CheckRunRow`."""

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
    host: str = ""  # of the machine of its last run, for people; empty but on a server

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
            "machine": (run.machine or None) if run else None,
        }


class Process(msgspec.Struct, frozen=True):
    """The process of an agent program, with the fields of `runner.processes.ProcessIdentity`; pid 0: unknown."""

    boot: str = ""
    namespace: str = ""
    pid: int = 0
    born: str = ""

    @property
    def machine(self) -> str:
        """The machine that it runs on, if the database is on a server."""
        return self.namespace.partition("@")[2]

    def on(self, machine: str) -> Process:
        """Return a process of this machine as a database has it that has this id for the machine."""
        return msgspec.structs.replace(self, namespace=f"{self.namespace}@{machine}") if machine else self
