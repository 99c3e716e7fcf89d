"""What the formats share: lists, tasks and log entries of a file, validated as an agent's arguments are.

Instants are microseconds since the epoch, and of any year: agents may set instants whose year exists in no zone but
UTC.
"""

from __future__ import annotations

import pickle
import re
import uuid
import weakref
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec
from msgspec import Meta

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.schema import task_fields
from tui_tasks.core.schema.due_dates import is_day
from tui_tasks.core.snapshots import LogEntry, Task, TaskList
from tui_tasks.core.vocab import CLOSED, MAX_NAME, MAX_TEXT

Step = Callable[[], None]
"""Called for each task, for a progress bar."""

_Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME, pattern=r"\S")]
_Word = Annotated[str, Meta(max_length=MAX_NAME)]
_Text = Annotated[str, Meta(max_length=MAX_TEXT)]
_Status = Literal["pending", "in_progress", "done", "failed", "skipped", "cancelled"]
_VISIBLE_CONTROLS: Final = {
    **{code: 0x2400 + code for code in range(0x20) if code not in b"\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
_LINE_BREAKS: Final = re.compile("[\t\n\u2028\u2029]")
# The ids of other programs become UUIDs of version 5 in this namespace, so each id has one uid.
_NAMESPACE: Final = uuid.UUID("8f1d6c52-0a5e-5b0e-9f53-6f0d5f3f7a11")


class _Fields(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The fields of a task that a file may set; those that it does not set stay as they are."""

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


class LogRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A log entry of a file.

    Attributes:
        uid: its uid; None if the file has none: entries of a task with the same message are then the same.
        at: microseconds since the epoch.
        agent: who logged it.
        message: its text.
    """

    uid: _Name | None
    at: int
    agent: _Name
    message: _Text


class ListRecord(msgspec.Struct):
    """A list of a file. `id` is the file's own."""

    id: str
    kind: Literal["list", "plan"]
    name: _Name
    description: _Text = ""
    agent: _Name | None = None
    origin: str = "tasklist"
    one_in_progress: bool = False
    project: str | None = None


class TaskRecord(msgspec.Struct):
    """A task of a file.

    Attributes:
        where: its place in the file, for messages to the user.
        id: its id in the file.
        fields: the fields that the file sets, by name.
        home: the `ListRecord.id` of its list; None: the list of the import.
        rank: its rank in the list, if the file has ranks.
        times: `created_at`, `started_at` and `finished_at`, in microseconds since the epoch.
        log: its log entries.
        changed: the version and the instant of its last change, if the file has them.
        foreign: what only the file's program knows of the task, such as its id there. It is kept in the task's
            metadata, under the name of the format.
        open_id: for a task that may be the occasion of a repeating one: the id of that one's open line. The occasion
            is that task where the file has no such line.
    """

    where: str
    id: str
    fields: dict[str, Any]
    home: str | None = None
    rank: str | None = None
    times: dict[str, int | None] = {}
    log: list[LogRecord] = []
    changed: tuple[int, int] | None = None
    foreign: dict[str, Any] = {}
    open_id: str | None = None


class RecordStore:
    """The tasks of a file in order. Many are in a temporary file, so that they take little memory.

    Attributes:
        homes: the lists that they name.
    """

    _IN_MEMORY: Final = 4_000_000

    def __init__(self) -> None:
        self.homes: set[str] = set()
        self._file = SpooledTemporaryFile(self._IN_MEMORY)  # noqa: SIM115 - open as long as the store
        self._ends = array("Q", [0])
        weakref.finalize(self, self._file.close)

    def append(self, record: TaskRecord) -> None:
        """Add a task."""
        if record.home:
            self.homes.add(record.home)
        self._file.seek(self._ends[-1])
        self._file.write(pickle.dumps(record, pickle.HIGHEST_PROTOCOL))
        self._ends.append(self._file.tell())

    def __getitem__(self, at: int) -> TaskRecord:
        begin, end = self._ends[at], self._ends[at + 1]
        self._file.seek(begin)
        record: TaskRecord = pickle.loads(self._file.read(end - begin))
        return record

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[TaskRecord]:
        return (self[at] for at in range(len(self)))


class ParsedFile(msgspec.Struct):
    """The contents of a file, and a count of what in it has no place in the database.

    Attributes:
        lists: its lists.
        records: its tasks.
        lost: counts by description.
        passed_over: the files of a folder that are no task, each with the reason.
        reducers: functions by field that reduce a value to what the format can express. A task whose value reduces to
            the same as that of the file keeps its own.
        deleted: the version and the instant of their deletion by uid, of tasks that the file says were deleted.
        has_places: whether the file determines the list and the rank of tasks; else existing tasks keep theirs.
    """

    lists: list[ListRecord] = []
    records: RecordStore = msgspec.field(default_factory=RecordStore)
    lost: Counter[str] = msgspec.field(default_factory=Counter)
    passed_over: list[str] = []
    reducers: dict[str, Callable[[Any], Any]] = {}
    deleted: dict[str, tuple[int, int]] = {}
    has_places: bool = False

    def add_named_lists(self) -> None:
        """Add a list for each name that a task gives."""
        self.lists += (ListRecord(name, "list", name) for name in sorted(self.records.homes))


class Tasks(Protocol):
    """Tasks in order: in memory, or read from the database each time."""

    def __iter__(self) -> Iterator[Task]: ...

    def __len__(self) -> int: ...


class Logs(Protocol):
    """The log entries of the tasks that have any, by uid: in memory, or read from the database each time."""

    def get(self, uid: str, default: list[LogEntry], /) -> list[LogEntry]:
        """Return the log of a task."""


class ExportData(msgspec.Struct):
    """What is exported.

    Attributes:
        lists: the lists with their tasks in order.
        logs: the log entries of the tasks that have any, by uid.
        by_uid: returns all tasks by uid, each with its list; None: `lists` are in memory, and are sorted.
        jobs: the jobs.
        deleted: of each deleted task of the lists its list, uid, version and the instant of its deletion, if that is
            to be exported.
    """

    lists: Sequence[tuple[TaskList, Tasks]]
    logs: Logs = msgspec.field(default_factory=lambda: dict[str, list[LogEntry]]())
    by_uid: Callable[[], Iterator[tuple[Task, TaskList]]] | None = None
    jobs: list[Job] = []
    deleted: list[tuple[TaskList, str, int, int]] = []


def checked_fields(where: str, given: dict[str, Any], read: ParsedFile, now: datetime) -> dict[str, Any]:
    """Return the validated fields of a task. An invalid due date or estimate is left out, and counted as lost.

    Raises:
        InvalidArgument: another field is invalid; the message names its place in the file.
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


def valid_times(status: str | None, times: dict[str, int | None]) -> dict[str, int | None]:
    """Return those of the instants that a task of that status has."""
    has = {
        "created_at": True,
        "started_at": status == "in_progress" or status in CLOSED,
        "finished_at": status in CLOSED,
    }
    return {name: at for name, at in times.items() if has[name]}


def no_step() -> None:
    """Do nothing: the progress is not shown."""


def plain(text: str, *, one_line: bool = False) -> str:
    """Return a text for a file of another program, which may print it: the text as it is, with visible controls.

    Control characters become their pictures, and U+FFFD stands for those that reorder what is around them. All others
    stay: words and emoji are made of joiners, variation selectors and tags.
    """
    text = text.replace("\r\n", "\n").translate(_VISIBLE_CONTROLS)
    return _LINE_BREAKS.sub(" ", text) if one_line else text


def plain_json(value: Any) -> Any:
    """Return a JSON value with each text in it made `plain`."""
    if isinstance(value, dict):
        return {plain(str(name)): plain_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(each) for each in value]
    return plain(value) if isinstance(value, str) else value


def plain_name(name: str, *, one_line: bool = True) -> str:
    """Return a task's name made `plain`, or the replacement character if nothing is left of it."""
    return plain(name, one_line=one_line).strip() or "\ufffd"


def with_foreign(metadata: Any, format_: str, foreign: dict[str, Any]) -> Any:
    """Return metadata with what another program knows of the task. Metadata that is no object is returned unchanged."""
    if not foreign or not isinstance(metadata, dict | None):
        return metadata
    return {**(metadata or {}), format_: foreign}


def foreign_of(task: Task, format_: str) -> dict[str, Any]:
    """Return what an import kept of a task in its metadata, for the program that it came from.

    Agents write metadata, too, so its content may be of any type.
    """
    kept = task.metadata.get(format_) if isinstance(task.metadata, dict) else None
    return plain_json(kept) if isinstance(kept, dict) else {}


def uid_of(format_: str, id_: str) -> str:
    """Return the uid of a task of a file: its id if that is a uid of ours, else one derived from it."""
    return id_ if is_uid(id_) else str(uuid.uuid5(_NAMESPACE, f"{format_}\0{id_}"))


def is_uid(text: str) -> bool:
    """Return whether a text is a UUID in the form that tasks have."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def format_instant(at: int | None) -> str | None:
    """Return an instant as ISO 8601 in UTC, with microseconds."""
    return None if at is None else utc(at).isoformat(timespec="microseconds")


def utc(at: int) -> datetime:
    """Return an instant as a time in UTC."""
    return _EPOCH + timedelta(microseconds=at)


def parse_instant(text: Any) -> int | None:
    """Parse an instant in ISO 8601.

    Raises:
        ValueError: it is no such text, or has no offset.
    """
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError("an instant is a text in ISO 8601")
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("an instant needs an offset, such as Z")
    return since_epoch(at)


def since_epoch(at: datetime) -> int:
    """Return a time as an instant.

    Raises:
        ValueError: in UTC it is outside the years 1 to 9999.
    """
    try:
        return (at.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)
    except OverflowError:
        raise ValueError(f"{at.isoformat()} is beyond the years that there are") from None


def in_zone(at: datetime, zone: tzinfo | None) -> datetime:
    """Return a time in another zone, or unchanged if it is outside the years 1 to 9999 there."""
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at


def day_of(at: int, now: datetime) -> date:
    """Return the day of an instant in the zone of `now`."""
    return in_zone(utc(at), now.tzinfo).date()


def day_of_due(due: str, now: datetime) -> str:
    """Return the day of a due date: of an instant, that in the zone of `now`."""
    return due if is_day(due) else in_zone(datetime.fromisoformat(due), now.tzinfo).date().isoformat()
