"""Reads the record of a session further: only what is new, and at most `MAX` bytes of a file at once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib import import_module
from typing import Final, Literal

import msgspec

from tui_tasks import regular_files
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


PROGRAMS: Final = frozenset({"claude", "codex", "gemini"})
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
    if report.program not in PROGRAMS or report.subagent is not None or path is None or not os.path.isabs(path):
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
    """Return the new complete lines of a file; `part` holds how far it has been read."""
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
