"""The entries in each program's settings that run our hook: events, command, time limits.

`cli.setup` decides where they go beside existing settings.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

# Seconds after which a program is to end a hook; one that waits for the human gets more.
_LIMIT: Final = 10
_MARGIN: Final = 10

# Events for which the program waits for the hook, which can return an answer or a message.
_ANSWERED: Final = {
    "claude": (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
    ),
    "codex": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop"),
    "gemini": ("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"),
}
# Events that are only reported.
_REPORT_ONLY: Final = {
    "claude": (
        "Notification",
        "SubagentStart",
        "SubagentStop",
        "StopFailure",
        "TaskCreated",
        "TaskCompleted",
        "SessionEnd",
    ),
    "codex": ("SubagentStart", "SubagentStop", "Interrupt", "SessionEnd"),
    "gemini": ("Notification", "SessionEnd"),
}
# Events in which a hook may wait for the human.
_WAITING: Final = frozenset({"PermissionRequest", "PreToolUse", "BeforeTool"})
# Claude Code need not wait for these. At the end of a session nothing waits for the hook.
_ASYNC: Final = frozenset(_REPORT_ONLY["claude"]) - {"SessionEnd"}


def hook_settings(program: str, command: Sequence[str], wait: float) -> dict[str, Any]:
    """Return the object for our hook in the settings of `claude`, `codex` or `gemini`.

    Args:
        program: the name of the program.
        command: the argv to run.
        wait: the seconds that a hook of the program may wait for the human.
    """
    hooks = {event: [{"hooks": [_hook(program, event, command, wait)]}] for event in events(program)}
    return {"hooks": hooks} | ({"hooksConfig": {"enabled": True}} if program == "gemini" else {})


def events(program: str) -> tuple[str, ...]:
    """Return the events of a program at which our hook is run."""
    return (*_ANSWERED[program], *_REPORT_ONLY[program])


def _hook(program: str, event: str, command: Sequence[str], wait: float) -> dict[str, Any]:
    limit = int(wait) + _MARGIN if event in _WAITING and wait else _LIMIT
    entry: dict[str, Any] = {"type": "command", "command": shlex.join(command)}
    if program == "gemini":
        return {"name": "tui-tasks", **entry, "timeout": limit * 1000}
    if program == "codex" and event in ("SessionEnd", "Interrupt"):
        return entry | {"timeout": 3}
    return entry | {"timeout": limit} | ({"async": True} if program == "claude" and event in _ASYNC else {})


def opencode_plugin(command: Sequence[str], outbox: str) -> str:
    """Return the text of the plugin for opencode.

    Args:
        command: the argv to run for each event.
        outbox: the folder of messages for its sessions.
    """
    text = resources.files("tui_tasks.hooks").joinpath("opencode_plugin.js").read_text("utf-8")
    return text.replace('["tui-tasks", "hook", "opencode"]', json.dumps(list(command))).replace(
        'const OUTBOX = ""', f"const OUTBOX = {json.dumps(outbox)}"
    )
