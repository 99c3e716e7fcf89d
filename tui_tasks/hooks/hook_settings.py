"""What an agent program is given so that it runs our hooks: settings with an entry for each event, or a plugin.

`cli.admin` writes them into the program's files; `work.program_commands` gives them to a program that it starts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

# Seconds after which a program is to end a hook.
_LIMIT: Final = 10
# The same for a hook that may wait for the human: longer than `[sessions] wait` can be.
WAIT_LIMIT: Final = 3600 + 10
# Whatever happens to the command, the hook ends with success and prints no error: a missing installation keeps no agent
# from its work. The shell in quotes says "Killed" there, and every shell that a program may use reads this.
ALWAYS_SUCCEEDS: Final = " || true"

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
WAITING: Final = frozenset({"PermissionRequest", "PreToolUse", "BeforeTool"})
# Claude Code need not wait for these. At the end of a session nothing waits for the hook.
_ASYNC: Final = frozenset(_REPORT_ONLY["claude"]) - {"SessionEnd"}


def hook_settings(program: str, command: Sequence[str]) -> dict[str, Any]:
    """Return the object for our hook in the settings of `claude`, `codex` or `gemini`; `command` is the argv to run."""
    hooks = {event: [{"hooks": [_hook(program, event, command)]}] for event in events(program)}
    return {"hooks": hooks} | ({"hooksConfig": {"enabled": True}} if program == "gemini" else {})


def events(program: str) -> tuple[str, ...]:
    """Return the events of a program at which our hook is run."""
    return (*_ANSWERED[program], *_REPORT_ONLY[program])


def shell_command(command: Sequence[str]) -> str:
    """Return the line that a program's shell runs for an argv."""
    import shlex  # hooks that reply start without

    return f"sh -c {shlex.quote(shlex.join(command) + ALWAYS_SUCCEEDS)} 2>/dev/null"


def _hook(program: str, event: str, command: Sequence[str]) -> dict[str, Any]:
    limit = WAIT_LIMIT if event in WAITING else _LIMIT
    entry: dict[str, Any] = {"type": "command", "command": shell_command(command)}
    if program == "gemini":
        return {"name": "tui-tasks", **entry, "timeout": limit * 1000}
    if program == "codex" and event in ("SessionEnd", "Interrupt"):
        return entry | {"timeout": 3}
    return entry | {"timeout": limit} | ({"async": True} if program == "claude" and event in _ASYNC else {})


def opencode_plugin(command: Sequence[str]) -> str:
    """Return the text of the plugin for opencode; `command` is the argv to run for each event."""
    from importlib import resources  # hooks that reply start without

    text = resources.files("tui_tasks.hooks").joinpath("opencode_plugin.js").read_text("utf-8")
    return text.replace('["tui-tasks", "hook", "opencode"]', json.dumps(list(command)))
