"""What reads return: frozen values, not rows that could write themselves back. Instants are microseconds, UTC.

The values of jobs and of sessions of agent programs are in `job_snapshots` and `read.agents.session_queries`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.orm import Model
from tui_tasks.core.schema.tables import Flag, JsonField, columns
from tui_tasks.core.schema.task_fields import FIELDS


class TaskList(msgspec.Struct, frozen=True, gc=False):
    """A list of tasks, with the number of its tasks in each status. Its fields are described in
    `schema.tables.tasks.ListRow`.
    """

    id: int
    uid: str
    kind: str
    name: str
    description: str
    agent: str | None
    origin: str
    one_in_progress: bool
    created_at: int
    deleted: bool
    pending: int
    in_progress: int
    done: int
    failed: int
    skipped: int
    cancelled: int
    archived: bool = False
    review: bool = False
    project: str | None = None

    @property
    def handle(self) -> str:
        """Return its name on the channel: a list's name, a plan's id (docs: protocol, section 7, `control:claim`)."""
        return self.uid if self.kind == "plan" else self.name

    @property
    def total(self) -> int:
        """Return the number of its tasks."""
        return self.pending + self.in_progress + self.done + self.failed + self.skipped + self.cancelled


class Task(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A task with all its fields (docs: protocol, section 4), described in `schema.tables.tasks.TaskRow`.

    A field that older journal entries, copies or backups lack has its default here.
    """

    id: int
    uid: str
    list_id: int
    rank: str
    key: str | None
    name: str
    description: str
    status: str
    priority: int
    tags: tuple[str, ...]
    domain: str | None
    result: Any
    metadata: Any
    agent: str | None
    intent: str | None
    depends_on: tuple[str, ...]
    node_ids: tuple[str, ...]
    version: int
    created_at: int
    created_by: str
    updated_at: int
    updated_by: str
    started_at: int | None
    finished_at: int | None
    deleted: bool
    solo: bool
    waiting_on: int
    claimed_by: str | None
    fenced: tuple[str, ...]
    due: str | None = None  # a date, or an instant in UTC: `task_fields.parse_due`
    estimate: int | None = None  # minutes
    held: bool = False
    decline_reason: str | None = None
    checks: tuple[str, ...] | None = None  # names of checks that the human gave it; None: its list's checks
    links: tuple[dict[str, str], ...] = ()  # `work_links`
    status_by: str | None = None  # who set its status; None: unknown, or pending since it was made
    accepted: str | None = None  # a digest of what the human accepted: `core.rules.tasks.held_rules`

    @property
    def who(self) -> str:
        """Return its agent, otherwise who set its status, otherwise who changed it last."""
        return self.agent or self.status_by or self.updated_by

    @property
    def number(self) -> int:
        """Return its number, by which people and agents name it: `#12`."""
        return self.id

    @property
    def blocked(self) -> bool:
        """Return whether an unfinished dependency blocks it, or the human has not accepted it yet."""
        return self.waiting_on > 0


class LogEntry(msgspec.Struct, frozen=True, gc=False):
    """One log entry, or note, of a task."""

    id: int
    uid: str
    task_uid: str
    at: int
    agent: str
    message: str
    deleted: bool


class SavedState(msgspec.Struct, frozen=True, gc=False):
    """The state that an agent saved to resume a task (seed 004)."""

    uid: str
    agent: str
    approach: str | None
    files_modified: tuple[Any, ...]
    completed_steps: tuple[Any, ...]
    remaining_steps: tuple[Any, ...]
    blockers: tuple[Any, ...]
    decisions: tuple[Any, ...]
    context_snapshot: str | None
    saved_at: int
    deleted: bool


class Memory(msgspec.Struct, frozen=True, gc=False):
    """The kept result of a completed task (seed 001)."""

    id: int
    uid: str
    task_uid: str
    title: str
    domain: str | None
    content: Any
    created_at: int
    updated_at: int
    deleted: bool


class Claim(msgspec.Struct, frozen=True, gc=False):
    """An agent's hold on a task; `lease` is in microseconds. Its fields are described in
    `schema.tables.tasks.ClaimRow`.
    """

    id: int
    uid: str
    task_uid: str
    agent: str
    was_agent: str | None
    lease: int
    expires_at: int
    state: str


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


def verified(states: Iterable[str]) -> str | None:
    """Return the state of a task's checks together; None without checks."""
    distinct = set(states)
    return next((state for state in vocab.CHECK_STATES if state in distinct), None)


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One entry of the journal. Its fields are described in `schema.tables.JournalRow`."""

    seq: int
    at: int
    actor: str
    kind: str
    entity: str
    uid: str
    task: str | None
    change: int
    undoes: int | None
    old: dict[str, Any] | None
    new: dict[str, Any] | None
    image: dict[str, Any] | None
    why: dict[str, Any] | None
    hash: bytes

    @property
    def changes(self) -> dict[str, list[Any]]:
        """Return the values before and after, by field, without the bookkeeping."""
        if self.old is None or self.new is None:
            return {}
        return {name: [self.old.get(name), value] for name, value in self.new.items() if name not in vocab.HIDDEN}


S = TypeVar("S", bound=msgspec.Struct)


def reader(cls: type[S], model: type[Model]) -> Callable[[Any], S]:
    """Return a function that makes the snapshot of a row (a tuple of the model's columns, in order)."""
    decoders: list[tuple[int, Callable[[Any], Any]]] | None = None

    def read(row: Any) -> S:
        nonlocal decoders
        if decoders is None:
            decoders = _decoders(cls, model)
        values = list(row)
        for at, decode in decoders:
            if values[at] is not None:
                values[at] = decode(values[at])
        return cls(*values)

    return read


def _decoders(cls: type[S], model: type[Model]) -> list[tuple[int, Callable[[Any], Any]]]:
    """Return the functions that decode columns, by position. Made at the first row, as not all tables are read."""
    fields = columns(model)
    assert tuple(fields) == cls.__struct_fields__, (cls, model)
    kinds = {field.name: field.type for field in msgspec.structs.fields(cls)}
    decoders: list[tuple[int, Callable[[Any], Any]]] = []
    for at, (name, column) in enumerate(fields.items()):
        if isinstance(column, JsonField):
            decoders.append((at, msgspec.json.Decoder(kinds[name]).decode))
        elif isinstance(column, Flag):
            decoders.append((at, bool))
    return decoders


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(1024)
def iso(instant: int | None) -> str | None:
    """Return an instant as ISO 8601 in UTC with milliseconds (docs: protocol, section 7); None for None."""
    if instant is None:
        return None
    return (_EPOCH + timedelta(microseconds=instant)).isoformat(timespec="milliseconds")


def full_task(
    task: Task, handle: str, checks: Sequence[dict[str, Any]] = (), works: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Return a task with every field that the channel shows (docs: protocol, section 7).

    `handle` names its list; `checks` are its checks (`read.check_queries`), `works` its works (`read.work_queries`),
    oldest first, as they are to be shown.
    """
    return {
        "uid": task.uid,
        "number": task.number,
        "key": task.key,
        "list": handle,
        "name": task.name,
        "description": task.description,
        "status": task.status,
        "priority": task.priority,
        "tags": task.tags,
        "domain": task.domain,
        "result": task.result,
        "metadata": task.metadata,
        "agent": task.agent,
        "intent": task.intent,
        "depends_on": task.depends_on,
        "blocked": task.waiting_on > 0,
        "held": task.held,
        "node_ids": task.node_ids,
        "version": task.version,
        "created_at": iso(task.created_at),
        "updated_at": iso(task.updated_at),
        "started_at": iso(task.started_at),
        "finished_at": iso(task.finished_at),
        **{name: getattr(task, name) for name in FIELDS},
        "verified": verified(check["state"] for check in checks) if checks else None,
        "checks": list(checks),
        "work": works[-1] if works else None,
        "works": list(works),
    }


# The fields that version 1 lacked, with their defaults.
_ADDED: Final[dict[str, Any]] = {**{name: field.none for name, field in FIELDS.items()}, "held": False}


def image_since(image: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the task image of an entry, with the task's number and the default of each field that was added since the
    entry was written.
    """
    checks = image.get("checks", [])
    added_keys = {"verified": verified(check["state"] for check in checks), "checks": checks}
    added = {name: default for name, default in _ADDED.items() if name not in image}
    works = image.get("works", [])
    added_keys |= {"work": works[-1] if works else None, "works": works}
    return {"uid": image["uid"], "number": number, **image, **added, **added_keys}
