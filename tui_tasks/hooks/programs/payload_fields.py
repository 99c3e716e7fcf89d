"""Reads fields of payloads (one of a wrong type counts as missing), and what the hooks of three programs share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tui_tasks.core.operations.sessions import (
    PromptSubmitted,
    SessionEvent,
    SessionReport,
    SessionStarted,
    TaskListItem,
    ToolStarted,
    Working,
)
from tui_tasks.hooks.hook_forms import MESSAGE_BEGINS

# Prefixes of prompts that no person typed: they come from programs themselves or from here.
_OWN_PROMPTS: Final = (
    "<task-notification",
    "<system-reminder",
    "<subagent_notification",
    "<turn_aborted",
    "<environment_context",
    "<local-command-",
    "[System: You ",
    "System: Potential loop detected. Details: ",
    MESSAGE_BEGINS,
)


def _field(payload: Any, name: str) -> Any:
    return payload.get(name) if isinstance(payload, dict) else None


def text(payload: Any, name: str) -> str | None:
    """Return the text of a field; None when it is missing or blank."""
    value = _field(payload, name)
    return value if isinstance(value, str) and value.strip() else None


def table(payload: Any, name: str) -> dict[str, Any]:
    """Return the object of a field; empty when it is missing."""
    value = _field(payload, name)
    return value if isinstance(value, dict) else {}


def items(payload: Any, name: str) -> list[Any]:
    """Return the items in the array of a field; none when it is missing."""
    value = _field(payload, name)
    return value if isinstance(value, list) else []


def tables(payload: Any, name: str) -> Iterator[dict[str, Any]]:
    """Return the objects in the array of a field."""
    return (one for one in items(payload, name) if isinstance(one, dict))


# The fields of a tool's input that name what the tool works on, the most telling first.
_TARGETS: Final = (
    "file_path",
    "filePath",
    "notebook_path",
    "absolute_path",
    "command",
    "pattern",
    "query",
    "url",
    "path",
    "description",
)
_MAX_PATCH: Final = 2_000
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)", re.MULTILINE)


def tool_target(given: Any, cwd: str | None) -> str | None:
    """Return what a tool works on, by its input: a file, a command, a search; None if the input names none.

    A file in the session's folder `cwd` is named by its path from there; of a patch, the first file is.
    """
    named = next(filter(None, (text(given, name) for name in _TARGETS)), None)
    if named is None:
        return None
    if (patched := _PATCHED.search(named, 0, _MAX_PATCH)) is not None:
        named = patched[1]
    # It is cut where it is stored, once the secrets in it are redacted.
    return named.removeprefix(f"{cwd.rstrip('/')}/") if cwd else named


def tool_started(payload: dict[str, Any]) -> ToolStarted:
    """Return the event of the hook before a tool."""
    return ToolStarted(
        text(payload, "tool_name") or "?",
        text(payload, "tool_use_id"),
        tool_target(payload.get("tool_input"), text(payload, "cwd")),
    )


def number(payload: Any, name: str) -> float | None:
    """Return the number of a field, if it is 0 or more."""
    value = _field(payload, name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53 else None


# Programs' words for the status of an item in their own lists.
_STATUSES: Final = {
    "pending": "pending",
    "in_progress": "in_progress",
    "inProgress": "in_progress",
    "completed": "done",
    "done": "done",
    "cancelled": "cancelled",
    "deleted": "deleted",
}


def item_status(word: str | None) -> str | None:
    """Return the status for a program's word; None for a missing or unknown one."""
    return _STATUSES.get(word or "")


def whole_list(payload: Any, name: str, words: str) -> tuple[TaskListItem, ...]:
    """Return the items of a program's whole list; the key of each is its place."""
    return tuple(
        TaskListItem(str(place), text(one, words) or "?", None, item_status(text(one, "status")))
        for place, one in enumerate(tables(payload, name))
    )


def is_own_prompt(prompt: str) -> bool:
    """Return whether no person has typed a prompt: it comes from the program itself, or is a message from here."""
    return prompt.lstrip().startswith(_OWN_PROMPTS)


EventReader = Callable[[dict[str, Any]], list[SessionEvent]]


def report(program: str, payload: dict[str, Any], readers: Mapping[str, EventReader]) -> SessionReport | None:
    """Return the report of a payload; None if it is about no session.

    `readers`: the events of each hook, by its name. A hook without one reports only that the session exists.
    """
    session = text(payload, "session_id")
    if session is None:
        return None
    hook = hook_name(payload)
    events = readers[hook](payload) if hook in readers else []
    return SessionReport(
        program=program,
        session=session,
        events=tuple(events),
        cwd=text(payload, "cwd"),
        transcript=text(payload, "transcript_path"),
        model=text(payload, "model"),
        mode=text(payload, "permission_mode"),
        subagent=None if hook in ("SubagentStart", "SubagentStop") else text(payload, "agent_id"),
    )


def hook_name(payload: dict[str, Any]) -> str:
    """Return the name of the hook that was run."""
    return text(payload, "hook_event_name") or ""


def started(payload: dict[str, Any]) -> list[SessionEvent]:
    """Return the events of a session's start."""
    return [SessionStarted(text(payload, "source") or "startup")]


def prompted(payload: dict[str, Any], id_field: str | None = None) -> list[SessionEvent]:
    """Return the events of a prompt; `id_field` holds its id."""
    prompt = text(payload, "prompt") or ""
    if is_own_prompt(prompt):
        return [Working()]
    return [PromptSubmitted(prompt, text(payload, id_field) if id_field is not None else None)]
