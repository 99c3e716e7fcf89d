"""What reads return: frozen values, not rows that could write themselves back. Instants are microseconds, UTC.

Here are those of tasks and of the journal; others are in `agent_snapshots`, `job_snapshots` and `session_queries`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.engine.orm import Model
from tui_tasks.core.schema.tables import Flag, JsonField, columns
from tui_tasks.core.schema.task_fields import FIELDS


class TaskList(msgspec.Struct, frozen=True, gc=False):
    """A list of tasks, with the number of its tasks in each status. Its fields are described in
    `schema.tables.ListRow`.
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
    """A task with all its fields (docs: protocol, section 4), described in `schema.tables.TaskRow`.

    A field that is empty in most tasks has its default here. The journal entry of a new task leaves it out where it has
    that value; older entries, copies and backups lack some fields.
    """

    id: int
    uid: str
    list_id: int
    rank: str
    name: str
    status: str
    priority: int
    version: int
    created_at: int
    created_by: str
    updated_at: int
    updated_by: str
    key: str | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    domain: str | None = None
    result: Any = None
    metadata: Any = None
    agent: str | None = None
    intent: str | None = None
    depends_on: tuple[str, ...] = ()
    node_ids: tuple[str, ...] = ()
    started_at: int | None = None
    finished_at: int | None = None
    deleted: bool = False
    solo: bool = False
    waiting_on: int = 0
    claimed_by: str | None = None
    fenced: tuple[str, ...] = ()
    due: str | None = None  # a date, or an instant in UTC: `due_dates.parse_due`
    estimate: int | None = None  # minutes
    held: bool = False
    decline_reason: str | None = None
    checks: tuple[str, ...] | None = None  # names of checks that the human gave it; None: its list's checks
    links: tuple[dict[str, str], ...] = ()  # `task_links`
    status_by: str | None = None  # who set its status; None: unknown, or pending since it was made
    accepted: str | None = None  # a digest of what the human accepted: `core.rules.tasks.held_rules`

    @property
    def who(self) -> str:
        """Return its agent, otherwise who set its status, otherwise who changed it last.

        Anybody may close a task of the human's: they are named.
        """
        agent = None if self.agent == vocab.HUMAN and self.status in vocab.CLOSED else self.agent
        return agent or self.status_by or self.updated_by

    @property
    def number(self) -> int:
        """Return its number, by which people and agents name it: `#12`."""
        return self.id

    @property
    def is_of_session(self) -> bool:
        """Return whether it is a task of a session, such as an item of its program's own list."""
        return isinstance(self.metadata, dict) and self.metadata.get("origin") == vocab.SESSION_ORIGIN

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
    `schema.record_tables.ClaimRow`.
    """

    id: int
    uid: str
    task_uid: str
    agent: str
    was_agent: str | None
    lease: int
    expires_at: int
    state: str


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


def completed_image(image: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the task image of an entry, with the task's number and the default of each field that was added since the
    entry was written.
    """
    checks = image.get("checks", [])
    added_keys = {"verified": verified(check["state"] for check in checks), "checks": checks}
    added = {name: default for name, default in _ADDED.items() if name not in image}
    works = image.get("works", [])
    added_keys |= {"work": works[-1] if works else None, "works": works}
    return {"uid": image["uid"], "number": number, **image, **added, **added_keys}
