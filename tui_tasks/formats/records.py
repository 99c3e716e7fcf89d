"""What the formats have in common: a task as a file has it, checked by the rules that an agent's words are."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.schema import task_fields
from tui_tasks.core.snapshots import Job, LogEntry, Task, TaskList
from tui_tasks.core.vocab import CLOSED, MAX_NAME, MAX_TEXT
from tui_tasks.text.safe import safe_copy

Step = Callable[[], None]
"""Is called for each task, for a progress bar."""

_Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME, pattern=r"\S")]
_Word = Annotated[str, Meta(max_length=MAX_NAME)]
_Text = Annotated[str, Meta(max_length=MAX_TEXT)]
_Status = Literal["pending", "in_progress", "done", "failed", "skipped", "cancelled"]
# Ids of other programs become uids of this namespace, the same each time.
_NAMESPACE: Final = uuid.UUID("8f1d6c52-0a5e-5b0e-9f53-6f0d5f3f7a11")


class _Fields(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The fields of a task that a file may give; what it leaves out stays as it is."""

    name: _Name
    key: _Name | msgspec.UnsetType | None = msgspec.UNSET
    description: _Text | msgspec.UnsetType = msgspec.UNSET
    status: _Status | msgspec.UnsetType = msgspec.UNSET
    priority: Annotated[int, Meta(ge=1, le=2**63 - 1)] | msgspec.UnsetType = msgspec.UNSET
    tags: tuple[_Name, ...] | msgspec.UnsetType = msgspec.UNSET
    domain: _Word | msgspec.UnsetType | None = msgspec.UNSET
    result: Any = msgspec.UNSET
    metadata: Any = msgspec.UNSET
    agent: _Name | msgspec.UnsetType | None = msgspec.UNSET
    intent: _Text | msgspec.UnsetType | None = msgspec.UNSET
    depends_on: tuple[_Name, ...] | msgspec.UnsetType = msgspec.UNSET
    node_ids: tuple[_Name, ...] | msgspec.UnsetType = msgspec.UNSET
    due: _Word | msgspec.UnsetType | None = msgspec.UNSET
    estimate: int | msgspec.UnsetType | None = msgspec.UNSET
    links: tuple[dict[str, str], ...] | msgspec.UnsetType = msgspec.UNSET


class Logged(msgspec.Struct, forbid_unknown_fields=True):
    """A log entry as a file has it; `at` in microseconds. Without a uid it is known by its words."""

    uid: _Name | None
    at: int
    agent: _Name
    message: _Text


class ListRecord(msgspec.Struct):
    """A list as a file has it."""

    id: str
    kind: Literal["list", "plan"]
    name: _Name
    description: _Text = ""
    agent: _Name | None = None
    origin: str = "tasklist"
    one_in_progress: bool = False
    project: str | None = None


class Record(msgspec.Struct):
    """A task as a file has it: `id` is the file's own; `home` the id of a `ListRecord`, None that of the import.

    `where` tells a person its place in the file. `foreign` is what the program behind the file knows and no task has,
    its own id among it: it goes to the task's metadata under the format's name.
    """

    where: str
    id: str
    fields: dict[str, Any]
    home: str | None = None
    rank: str | None = None
    times: dict[str, int | None] = {}
    log: list[Logged] = []
    foreign: dict[str, Any] = {}


class Read(msgspec.Struct):
    """What a file holds, and a count of what of it does not fit.

    Attributes:
        coarse: by the name of a field, how the format tells a value of it, where it cannot tell every one. A task that
            is told as the file tells it stays as it is.
        has_places: whether the file is where a task's list and place in it are decided; else those of a task that is
            there stay.
    """

    lists: list[ListRecord] = []
    records: list[Record] = []
    lost: Counter[str] = msgspec.field(default_factory=Counter)
    coarse: dict[str, Callable[[Any], Any]] = {}
    has_places: bool = False


class Rows(msgspec.Struct):
    """What is to be written: lists with their tasks in order, the log entries of each task that has any, and jobs."""

    lists: list[tuple[TaskList, list[Task]]]
    logs: dict[str, list[LogEntry]] = {}
    jobs: list[Job] = []


def checked(where: str, given: dict[str, Any], read: Read, now: datetime) -> dict[str, Any]:
    """Return the fields of a task, typed; a due date or an estimate that is none is counted as lost.

    Raises:
        InvalidArgument: one is wrong; it is named with its place in the file.
    """
    given = dict(given)
    for name in task_fields.FIELDS:
        if given.get(name) is not None:
            try:
                given[name] = task_fields.FIELDS[name].from_json(given[name], now)
            except ValueError as error:
                read.lost[f"{name}: {error}"] += 1
                del given[name]
    try:
        fields = msgspec.convert(given, _Fields)
    except msgspec.ValidationError as error:
        raise InvalidArgument("file", f"{where}: {error}") from None
    return {name: value for name in _Fields.__struct_fields__ if (value := getattr(fields, name)) is not msgspec.UNSET}


def fitting_times(status: str | None, times: dict[str, int | None]) -> dict[str, int | None]:
    """Return those instants that a task of that status has."""
    has = {
        "created_at": True,
        "started_at": status == "in_progress" or status in CLOSED,
        "finished_at": status in CLOSED,
    }
    return {name: at for name, at in times.items() if has[name]}


def no_step() -> None:
    """Nobody is told how far long work has come."""


def plain(text: str) -> str:
    """Return a text for a file of another program, whence it comes to a terminal: what would be obeyed is shown."""
    return safe_copy(text)


def plain_json(value: Any) -> Any:
    """Return a value with every text in it as `plain` does."""
    if isinstance(value, dict):
        return {plain(str(name)): plain_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(each) for each in value]
    return plain(value) if isinstance(value, str) else value


def plain_name(name: str, *, one_line: bool = False) -> str:
    """Return a task's name as `plain` does; one of which nothing is left is the replacement character."""
    return safe_copy(name, one_line=one_line).strip() or "\ufffd"


def with_foreign(metadata: Any, format_: str, foreign: dict[str, Any]) -> Any:
    """Return metadata with what another program knows of the task; what is no object has no place for it."""
    if not foreign or not isinstance(metadata, dict | None):
        return metadata
    return {**(metadata or {}), format_: foreign}


def foreign_of(task: Task, format_: str) -> dict[str, Any]:
    """Return what an import has kept of a task for the program that it came from.

    Agents write metadata, too: whatever looks like it may be there, of any type.
    """
    kept = task.metadata.get(format_) if isinstance(task.metadata, dict) else None
    return plain_json(kept) if isinstance(kept, dict) else {}


def uid_of(format_: str, id_: str) -> str:
    """Return the uid of a task of a file: its id where that is one of ours, else one that follows from it."""
    return id_ if is_uid(id_) else str(uuid.uuid5(_NAMESPACE, f"{format_}\0{id_}"))


def is_uid(text: str) -> bool:
    """Whether a text is a UUID as tasks have them."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
