"""The record that an agent program keeps of a session: read further, only what is new, and at most `MAX` bytes of a
file at once; and as people read it: prompts, words, tools with their results, edits as diffs.

opencode keeps its sessions in a database of its own, which its command `export` prints.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final, Literal

import msgspec

from tui_tasks import regular_files
from tui_tasks.core.engine.database import Database
from tui_tasks.core.operations.sessions import (
    ModelFailed,
    SessionEnded,
    SessionEvent,
    SessionReport,
    TurnEnded,
    TurnFailed,
    TurnInterrupted,
    UsageReported,
)
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import SessionActivity


class Ending(msgspec.Struct, frozen=True):
    """How the last turn read ended, with the message in `words`.

    `faltered`: the model's service reported an error that may not have ended the turn.
    """

    kind: Literal["faltered", "failed", "interrupted"]
    words: str = ""


class Part(msgspec.Struct):
    """A file of a record.

    Attributes:
        read: the bytes read.
        tokens: the tokens counted in them.
        message: the id of the message that was counted last.
        of_message: its tokens.
    """

    read: int = 0
    tokens: int = 0
    message: str | None = None
    of_message: int = 0

    def count(self, message: str | None, tokens: int) -> None:
        """Count the tokens of a message. If it has several lines, the last one is right."""
        if message is not None and message == self.message:
            self.tokens -= self.of_message
        self.message, self.of_message = message, tokens
        self.tokens += tokens


class Record(msgspec.Struct):
    """The record of one session, as far as it was read.

    Attributes:
        path: the path of its file; files of subagents are beside it.
        parts: its files, by name.
        total: the tokens of the session by the program's own sum; 0: it gives none.
        before: the tokens of earlier records of the same agent, whose session was cleared.
        cost_usd: what the session has cost, in US dollars; None: unknown.
        model: the name of the model.
        is_headless: whether the program was started without a terminal, for one prompt.
        ending: how the last turn ended; None: it has not, or regularly.
        context: the share of the model's context window that its last message took, from 0 to 1; None: unknown.
    """

    path: str = ""
    parts: dict[str, Part] = {}
    total: int = 0
    before: int = 0
    cost_usd: float | None = None
    model: str | None = None
    is_headless: bool = False
    ending: Ending | None = None
    context: float | None = None

    @property
    def tokens(self) -> int:
        """The tokens of the session so far; 0: unknown."""
        return self.before + max(self.total, sum(part.tokens for part in self.parts.values()))


WITH_RECORDS: Final = frozenset({"claude", "codex", "gemini"})
"""The programs whose records are read: each has a module here, with `files` and `apply_line`."""
MAX: Final = 16 * 1024 * 1024
MAX_RECORD: Final = 1024**3
"""The size in bytes above which a file is not read: no record of a session is that long."""
# Events at which a record is read on, as the program may report nothing more.
_EDGES: Final = (TurnEnded, TurnFailed, TurnInterrupted, SessionEnded)


def of(activity: SessionActivity | None) -> Record:
    """Return the record of a session, as far as it has been read."""
    try:
        return msgspec.convert(activity.record if activity is not None else {}, Record)
    except msgspec.ValidationError:
        return Record()  # a later version has written it


def with_record(report: SessionReport, record: Record) -> SessionReport:
    """Return a report with the events in the program's record of its session added; `record` is read on."""
    path = report.transcript
    if report.program not in WITH_RECORDS or report.subagent is not None or path is None or not os.path.isabs(path):
        return report
    events = report.events
    if not any(isinstance(event, _EDGES) for event in events):
        if path == record.path:
            return report
        _begin(record, path)
        return msgspec.structs.replace(report, record=msgspec.to_builtins(record))
    if path != record.path:
        _begin(record, path)
    new_events = read_on(report.program, record)
    if (
        any(isinstance(event, SessionEnded) for event in events)
        and record.is_headless
        and (failure := _failure(record))
    ):
        # Without a person to continue, the error ended the process.
        new_events = [*(event for event in new_events if isinstance(event, UsageReported)), failure]
    if any(isinstance(event, TurnFailed | TurnInterrupted) for event in new_events):
        # The program reports such a turn only as ended.
        events = tuple(event for event in events if not isinstance(event, TurnEnded))
    return msgspec.structs.replace(
        report, events=(*new_events, *events), model=report.model or record.model, record=msgspec.to_builtins(record)
    )


def _begin(record: Record, path: str) -> None:
    """Begin with another file, as the session was cleared or is new."""
    record.before, record.path, record.parts, record.total = record.tokens, path, {}, 0
    record.ending = record.context = None


def _failure(record: Record) -> TurnFailed | None:
    ending = record.ending
    return TurnFailed(ending.words) if ending is not None and ending.kind != "interrupted" else None


def read_on(program: str, record: Record) -> list[SessionEvent]:
    """Read what is new in a record; return the new events."""
    module = import_module(f"tui_tasks.hooks.programs.{program}")
    tokens, cost, ending = record.tokens, record.cost_usd, record.ending
    for path in module.files(record.path):
        part = record.parts.setdefault(os.path.basename(path), Part())
        for line in lines_of(path, part):
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                module.apply_line(record, part, line, is_own=path == record.path)
    new_events: list[SessionEvent] = []
    if (record.tokens, record.cost_usd) != (tokens, cost):
        new_events.append(UsageReported(record.tokens or None, record.cost_usd))
    # An equal ending may belong to another turn.
    if record.ending is not None and record.ending is not ending:
        new_events.append(_ending_event(record.ending))
    return new_events


def _ending_event(ending: Ending) -> SessionEvent:
    if ending.kind == "interrupted":
        return TurnInterrupted()
    return ModelFailed(ending.words) if ending.kind == "faltered" else TurnFailed(ending.words)


def size(program: str, path: str) -> int:
    """Return the size of a record's files in bytes."""
    total = 0
    for one in import_module(f"tui_tasks.hooks.programs.{program}").files(path):
        with contextlib.suppress(OSError, ValueError):
            total += os.stat(one, follow_symlinks=False).st_size
    return total


def lines_of(path: str, part: Part) -> Iterator[bytes]:
    """Yield the new complete lines of a file; `part` holds how far it has been read."""
    try:
        handle = regular_files.open_regular(path, MAX_RECORD, follow_links=False)
    except OSError:
        return
    with os.fdopen(handle, "rb") as file:
        stat_result = os.fstat(handle)
        # A payload may name any file, so only files of this user are read.
        if stat_result.st_uid != os.getuid() or stat_result.st_size <= part.read:
            return
        file.seek(part.read)
        body = file.read(MAX)
    end = body.rfind(b"\n") + 1
    # A line of that size has nothing of interest.
    part.read += end or (len(body) if len(body) == MAX else 0)
    yield from body[:end].splitlines()


MAX_ITEMS: Final = 20_000
_EXPORT_SECONDS: Final = 60.0
_MAX_TEXT: Final = 200_000


class Source(msgspec.Struct, frozen=True):
    """Where the record of a session is: its file, or the program's id of it."""

    program: str
    path: str = ""
    session: str = ""


def source(db: Database, agent: str) -> Source | str:
    """Return where the record of an agent's session is, or why there is none."""
    session = session_queries.find(db, agent)
    if session is None:
        return "its program has no record of a session"
    if session.program in WITH_RECORDS:
        path = of(session_queries.activity(db, agent)).path
        return Source(session.program, path) if path else "its program has named no record yet"
    if session.program == "opencode" and not session.session.startswith(session_queries.PLACEHOLDER):
        return Source(session.program, session=session.session)
    return (
        f"the record of {session.program} is not known" if session.program != "opencode" else "it has begun no session"
    )


class Item(msgspec.Struct, frozen=True):
    """A part of a session.

    Attributes:
        kind: `prompt` of a person, `words` of the agent, `tool` with what it is given, its `result`, `edit` with a
            diff, or `error`.
        text: it; the name of a tool, or the path of an edited file, is in `name`.
    """

    kind: Literal["prompt", "words", "tool", "result", "edit", "error"]
    text: str
    name: str = ""


def diff(old: str, new: str) -> str:
    """Return the lines that differ between two texts, as a diff without file names."""
    import difflib  # few look at a transcript

    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3)
    return "\n".join(list(lines)[2:])


def as_given(value: Any) -> str:
    """Return what a tool is given, for people: its only text as it is, else a line for each field."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return msgspec.json.encode(value).decode() if value is not None else ""
    for name in ("command", "cmd"):
        if isinstance(value.get(name), str):
            return str(value[name])
    return "\n".join(
        f"{name}: {one if isinstance(one, str) else msgspec.json.encode(one).decode()}" for name, one in value.items()
    )


class Transcript:
    """The items of a record so far; `read_on` adds what is new. It may take long: a screen calls it in a thread."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._part = Part()
        self._seen: dict[str, int] = {}
        self.items: list[Item] = []

    @property
    def is_file(self) -> bool:
        """Whether it is read from a file, so that reading on costs little."""
        return self._source.program in WITH_RECORDS

    def read_on(self) -> bool:
        """Read on; return whether there are new items.

        Raises:
            OSError: the program that prints the record cannot be started.
        """
        before = len(self.items)
        if self._source.program in WITH_RECORDS:
            module = import_module(f"tui_tasks.hooks.programs.{self._source.program}")
            for line in lines_of(self._source.path, self._part):
                with contextlib.suppress(msgspec.DecodeError, RecursionError):
                    self.items += _bounded(module.items_of_line(line, self._seen))
            del self.items[: max(0, len(self.items) - MAX_ITEMS)]
            return len(self.items) != before or before == MAX_ITEMS
        items = _exported(self._source.session)
        is_new, self.items = items != self.items, items
        return is_new


def _bounded(items: Iterator[Item]) -> list[Item]:
    return [msgspec.structs.replace(one, text=one.text[:_MAX_TEXT]) for one in items if one.text.strip() or one.name]


def _exported(session: str) -> list[Item]:
    """Return the items of a session of opencode, as its own command prints it.

    Raises:
        OSError: it is not installed, or fails.
    """
    from tui_tasks.hooks.programs import opencode

    program = shutil.which("opencode")
    if program is None:
        raise OSError("opencode is not installed here, and it alone reads its record")
    # In an empty folder, where no settings or plugins of a repository are read.
    with tempfile.TemporaryDirectory(prefix="tui-tasks-") as folder:
        try:
            done = subprocess.run(
                [program, "export", session],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_EXPORT_SECONDS,
                check=True,
            )
            return _bounded(opencode.items_of_export(msgspec.json.decode(done.stdout)))
        except (subprocess.SubprocessError, msgspec.DecodeError) as error:
            raise OSError("opencode has printed no record of it") from error
