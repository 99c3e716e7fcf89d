"""The types of the objects that a state returns, which are those of the channel (docs: protocol, section 7)."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Status = Literal["pending", "in_progress", "done", "failed", "skipped", "cancelled"]
Verified = Literal["unproven", "running", "passed", "failed", "stale"]


class CheckObject(TypedDict):
    """A check of a task and its last run."""

    name: str
    state: Verified
    run_id: str | None
    exit_code: int | None
    output: str | None
    at: str | None
    commit: str | None
    diff: str | None


class LinkObject(TypedDict):
    """What a task is about: a branch, a commit, a pull request or a file."""

    kind: Literal["branch", "commit", "pull_request", "file"]
    target: str


class TaskObject(TypedDict):
    """A task with every field. Instants are ISO 8601 in UTC; `priority` 1 is the most urgent; `estimate` is in
    minutes.
    """

    uid: str
    key: str | None
    list: str
    name: str
    description: str
    status: Status
    priority: int
    tags: list[str]
    domain: str | None
    result: Any
    metadata: Any
    agent: str | None
    intent: str | None
    depends_on: list[str]
    blocked: bool
    held: bool
    node_ids: list[str]
    version: int
    created_at: str
    updated_at: str
    started_at: str | None
    finished_at: str | None
    due: str | None
    estimate: int | None
    links: list[LinkObject]
    verified: Verified | None
    checks: list[CheckObject]


class ListObject(TypedDict):
    """A list or plan. `handle` names it in calls: a list's name, a plan's id."""

    handle: str
    uid: str
    kind: Literal["list", "plan"]
    name: str
    project: str | None
    archived: bool
    counts: dict[Status, int]


class Event(TypedDict):
    """A change. `event` is its kind, such as `task.updated`; some kinds have further keys."""

    event: str
    seq: int
    at: str
    actor: str
    task: NotRequired[TaskObject]
    changes: NotRequired[dict[str, list[Any]]]
    why: dict[str, Any] | None
