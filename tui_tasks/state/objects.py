"""The types of the objects that a state returns, which are those of the channel (docs: protocol, section 7)."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Status = Literal["pending", "in_progress", "done", "failed", "skipped", "cancelled"]
Verified = Literal["unproven", "running", "passed", "failed", "stale"]


class CheckObject(TypedDict):
    """A check of a task and its last run.

    Attributes:
        name: the name of the check.
        state: what its last run shows.
        run_id: the id of that run.
        exit_code: the exit status of its command.
        output: the end of its output.
        at: when it ended, or began if it runs.
        commit: the git commit of its folder when it began.
        diff: the hash of the uncommitted changes then.
    """

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
    """A task with every field. Instants are ISO 8601 in UTC.

    Attributes:
        uid: its id.
        number: its number, `#12`, which never changes.
        key: an id that the caller chose.
        list: the handle of its list.
        priority: 1 is the most urgent.
        agent: the agent to which it is assigned.
        intent: what its agent is about to do.
        depends_on: the uids of the tasks that must be finished before.
        blocked: whether one of them is unfinished.
        held: whether it waits for the human's acceptance.
        node_ids: graph nodes that it is linked to.
        version: increased by every change, for `if_version`.
        due: a date, or an instant.
        estimate: minutes.
        verified: the state of its checks together; None without checks.
        work: the newest of `works`; None without one.
        works: the agents that the human started on it, oldest first (docs: protocol, section 12).
    """

    uid: str
    number: int
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
    work: dict[str, Any] | None
    works: list[dict[str, Any]]


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
    """A change in the state; some kinds have further keys.

    Attributes:
        event: its kind, such as `task.updated`.
        seq: its number in the journal.
        at: when, as ISO 8601 in UTC.
        actor: who made it.
        task: the task as it was afterwards.
        changes: the values before and after, by field.
        why: the reasoning given with the request.
    """

    event: str
    seq: int
    at: str
    actor: str
    task: NotRequired[TaskObject]
    changes: NotRequired[dict[str, list[Any]]]
    why: dict[str, Any] | None
