"""Codex (seen with 0.169.0): the payloads of its hooks, its record of a session, and messages sent by `codex queue`.

No hook reports that the model's service has failed; the record does. It has no prices. No hook runs while Codex waits
for its person, but its window checks for queued messages. The program is the `codex` in this process's PATH, with this
user's own settings: nothing that a payload names is run, or read as settings.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tui_tasks.core.operations.sessions import (
    InputRequested,
    SessionEnded,
    SessionEvent,
    SessionReport,
    SubagentEnded,
    SubagentStarted,
    TaskListReported,
    ToolEnded,
    TurnEnded,
    TurnInterrupted,
)
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import Seen
from tui_tasks.core.store import Store
from tui_tasks.hooks import hooks_folder, session_records
from tui_tasks.hooks.hook_folder import Folder
from tui_tasks.hooks.programs.payload_fields import (
    EventReader,
    is_own_prompt,
    number,
    prompted,
    report,
    started,
    table,
    tables,
    text,
    tool_started,
    whole_list,
)
from tui_tasks.hooks.replies import message_folders
from tui_tasks.hooks.replies.message_folders import MessageFile
from tui_tasks.hooks.session_records import Ending, Item, Part, Record, as_given

_log = logging.getLogger(__name__)

PROGRAM: Final = "codex"
_AT_REST: Final = frozenset({"idle", "interrupted", "failed"})
_THREAD: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LIMIT: Final = 10.0
"""Seconds that the command may take; it was seen to take 0.3."""


def read(payload: dict[str, Any]) -> SessionReport | None:
    """Return the report of a payload; None if it is about no session."""
    return report("codex", payload, _READERS)


def _tool_began(payload: dict[str, Any]) -> list[SessionEvent]:
    began = tool_started(payload)
    if began.tool != "update_plan":
        return [began]
    return [began, TaskListReported(whole_list(payload.get("tool_input"), "plan", "step"))]


def _tool_ended(payload: dict[str, Any]) -> list[SessionEvent]:
    # Success is unknown: the text has no exit status.
    return [ToolEnded(text(payload, "tool_name") or "?", text(payload, "tool_use_id"))]


def _permission(payload: dict[str, Any]) -> list[SessionEvent]:
    return [InputRequested("permission", text(payload, "tool_name"), payload.get("tool_input"))]


_READERS: Final[dict[str, EventReader]] = {
    "SessionStart": started,
    "UserPromptSubmit": lambda payload: prompted(payload, "turn_id"),
    "PreToolUse": _tool_began,
    "PostToolUse": _tool_ended,
    "PermissionRequest": _permission,
    "Stop": lambda payload: [TurnEnded(text(payload, "last_assistant_message"))],
    "Interrupt": lambda _: [TurnInterrupted()],
    "SubagentStart": lambda payload: [SubagentStarted(text(payload, "agent_id") or "?")],
    "SubagentStop": lambda payload: [SubagentEnded(text(payload, "agent_id") or "?")],
    "SessionEnd": lambda _: [SessionEnded()],
}

_TELLING: Final = (b'"token_count"', b'"task_started"', b'"task_complete"', b'"session_meta"')
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def files(path: str) -> list[str]:
    """Return the only file of a record."""
    return [path]


def apply_line(record: Record, part: Part, line: bytes, *, is_own: bool) -> None:
    """Apply a line."""
    if not any(word in line for word in _TELLING):
        return
    entry = _decode(line)
    payload = table(entry, "payload")
    kind = text(payload, "type")
    if text(entry, "type") == "session_meta":
        record.is_headless = text(payload, "source") == "exec"
    elif kind == "token_count":
        info = table(payload, "info")
        record.total = max(record.total, int(number(table(info, "total_token_usage"), "total_tokens") or 0))
        last, window = number(table(info, "last_token_usage"), "total_tokens"), number(info, "model_context_window")
        record.context = last / window if last is not None and window else record.context
    elif kind == "task_started":
        record.ending = None
    elif kind == "task_complete":
        error = table(payload, "error")
        record.ending = Ending("failed", _plain(text(error, "message"))) if error else None


def _plain(message: str | None) -> str:
    """Return the text of an error, which may be JSON of the service."""
    if message is None:
        return "its model's service has failed"
    try:
        entry = _decode(message)
    except msgspec.DecodeError:
        return message
    return text(table(entry, "error"), "message") or text(entry, "message") or message


_OF_TRANSCRIPT: Final = b'"response_item"'
_OUTPUT: Final = "Output:\n"
_FILE: Final = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+)")


def items_of_line(line: bytes, seen: dict[str, int]) -> Iterator[Item]:
    """Yield what a line of a record holds for people."""
    if _OF_TRANSCRIPT not in line:
        return
    entry = _decode(line)
    payload = table(entry, "payload")
    kind, name = text(payload, "type"), text(payload, "name") or "?"
    if text(entry, "type") != "response_item":
        return
    if kind == "message":
        words = "\n".join(one for part in tables(payload, "content") if (one := text(part, "text")) is not None)
        if text(payload, "role") == "assistant":
            yield Item("words", words)
        elif text(payload, "role") == "user" and not is_own_prompt(words) and not words.startswith("<"):
            yield Item("prompt", words)
    elif kind == "function_call":
        yield Item("tool", as_given(_arguments(text(payload, "arguments"))), name)
    elif kind == "custom_tool_call":
        given = text(payload, "input") or ""
        if name == "apply_patch":
            yield from _edits(given)
        else:
            yield Item("tool", given, name)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        output = text(payload, "output") or ""
        yield Item("result", output.partition(_OUTPUT)[2] or output)


def _arguments(given: str | None) -> Any:
    try:
        return _decode(given or "{}")
    except msgspec.DecodeError:
        return given


def _edits(patch: str) -> Iterator[Item]:
    """Yield the edits of a patch in the program's own form, a file each."""
    path = ""
    lines: list[str] = []
    for line in patch.split("\n"):
        if (match := _FILE.fullmatch(line)) is not None:
            if path:
                yield Item("edit", "\n".join(lines), path)
            path, lines = match[1], []
        elif not line.startswith("***"):
            lines.append(line)
    if path:
        yield Item("edit", "\n".join(lines), path)


class _Queuing(msgspec.Struct):
    """Messages that are being queued for an agent."""

    agent: str
    session: str
    messages: list[tuple[MessageFile, str]]
    process: subprocess.Popen[bytes]
    until: float


class CodexQueue:
    """Queues waiting messages, one session at each call of `look`, without blocking."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queuing: _Queuing | None = None
        # Their next hook delivers what could not be queued.
        self._refused: set[str] = set()

    def look(self) -> None:
        """Check the running command, or run it for the next session with messages.

        Raises:
            OSError: the folder of messages cannot be read.
        """
        try:
            folder = Folder(hooks_folder(self._store.path), make=False)
        except FileNotFoundError:
            return
        with folder:
            if self._queuing is not None:
                self._follow_command(folder, self._queuing)
                return
            folders = [name for name in message_folders.sessions(folder) if name.startswith(f"{PROGRAM}-")]
            for seen in session_queries.current(self._store.db) if folders else ():
                if message_folders.name_of(PROGRAM, seen.session.session) in folders and self._can_take(seen):
                    self._start_command(folder, seen)
                    return

    def _can_take(self, seen: Seen) -> bool:
        session = seen.session
        return (
            session.program == PROGRAM
            and seen.state in _AT_REST
            and session.uid not in self._refused
            and _THREAD.fullmatch(session.session) is not None
            and _is_of_this_user(session_records.of(seen.activity).path)
        )

    def _start_command(self, folder: Folder, seen: Seen) -> None:
        program = shutil.which(PROGRAM)
        session_folder = message_folders.opened(folder, PROGRAM, seen.session.session, make=False)
        if program is None or session_folder is None:
            return
        with session_folder:
            messages = message_folders.claim(session_folder, (message_folders.MESSAGE,))
            if not messages:
                return
            text = "\n\n".join(words for _, words in messages)
            try:
                process = subprocess.Popen(
                    [program, "queue", f"--thread={seen.session.session}", f"--message={text}"],
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            except (OSError, ValueError) as error:  # it is too long, or holds a NUL
                _log.warning("codex queue: %s", error)
                self._refused.add(seen.session.uid)
                message_folders.settle(session_folder, messages, printed=False)
                return
        self._queuing = _Queuing(seen.session.uid, seen.session.session, messages, process, time.monotonic() + _LIMIT)

    def _follow_command(self, folder: Folder, queuing: _Queuing) -> None:
        status = queuing.process.poll()
        if status is None:
            if time.monotonic() < queuing.until:
                return
            queuing.process.kill()
            status = queuing.process.wait()
        self._queuing = None
        if status != 0:
            _log.warning("codex queue for %s ended with status %s", queuing.agent, status)
            self._refused.add(queuing.agent)
        session_folder = message_folders.opened(folder, PROGRAM, queuing.session, make=False)
        if session_folder is not None:
            with session_folder:
                message_folders.settle(session_folder, queuing.messages, printed=status == 0)


def _is_of_this_user(record: str) -> bool:
    """Return whether a record is in this user's own folder of Codex, which the command will use."""
    home = os.path.realpath(os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex"))
    return (
        bool(record) and "\0" not in record and os.path.realpath(record).startswith(os.path.join(home, "sessions", ""))
    )
