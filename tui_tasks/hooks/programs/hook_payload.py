"""What the hooks of Claude Code, Codex and Gemini CLI share: the last two adopted the fields of the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tui_tasks.core.operations.sessions import PromptSubmitted, SessionEvent, SessionReport, SessionStarted, Working
from tui_tasks.hooks.programs.fields import is_own_prompt, text

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
