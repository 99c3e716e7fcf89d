"""What reads of questions, messages and work of agents return (see `snapshots`). Instants are microseconds, UTC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tui_tasks.core.snapshots import iso


class Ask(msgspec.Struct, frozen=True, gc=False):
    """A question to the human. Its fields are described in `schema.tables.agents.AskRow`."""

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


class Agent(msgspec.Struct, frozen=True, gc=False):
    """Whether the human has paused an agent, and with what message."""

    uid: str
    paused: bool
    message: str


class HumanMessage(msgspec.Struct, frozen=True, gc=False):
    """A message of the human to an agent. `seq` and `delivered_seq` are the entries of sending and delivery."""

    id: int
    uid: str
    agent: str
    text: str
    sent_at: int
    seq: int
    delivered_at: int | None = None
    delivered_seq: int | None = None
    ends_turn: bool = False


class Work(msgspec.Struct, frozen=True, gc=False):
    """An agent at work on a task. Its fields are described in `schema.tables.work.WorkRow`."""

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
    """Whether a list works itself off. Its fields are described in `schema.tables.work.AutoRow`."""

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
