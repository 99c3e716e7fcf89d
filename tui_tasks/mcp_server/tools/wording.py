"""Texts for agents, adapted to MCP: names of tools have `_` for `:`."""

from __future__ import annotations

import re
from collections.abc import Container
from functools import cache
from typing import Any, Final

from tui_tasks.dialects.table import TABLE

# The lines of the instructions, each with the tool that it is about. Under 150 words in all.
_INSTRUCTIONS: Final = (
    ("", "Live task lists that you share with a human, who sees every change at once, and with other agents."),
    (
        "",
        "- Plan in steps. Set a task in_progress when you start it, then done, failed or skipped; log why it failed.",
    ),
    (
        "control:claim",
        "- Several agents at work: take tasks by claiming them, and send a heartbeat before the lease ends.",
    ),
    ("ask", "- Decisions that are not yours: `ask` the human. Given a ticket, go on, and read the answer later."),
    ("", "- A refusal changes nothing and says what is in the way; `paused` means: stop until resumed."),
    ("", "- A task goes by its uid, the first 6 or more characters of it, or `#3`, its number in the list."),
    (
        "",
        "- Tools that write also take `thoughts` (why you do it; the human reads it), `idempotency_key` (done once "
        "however often it is sent) and, for one task, `if_version`.",
    ),
)


def instructions(tools: Container[str]) -> str:
    """Return the instructions for an agent with those tools."""
    return "\n".join(line for tool, line in _INSTRUCTIONS if not tool or tool in tools)


# Text about the envelope, which MCP does not have.
_ENVELOPE: Final = re.compile(r'[;:] (?:it goes|arguments go) under "arguments"(?:, beside "action"|, as \{[^}]*\})?')


def mcp_name(tool: str) -> str:
    """Return a tool's name on MCP, which allows no colon."""
    return tool.replace(":", "_")


@cache
def _names() -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(name for name in TABLE.tools if ":" in name) + r")\b")


def for_mcp(text: str) -> str:
    """Return a text of the program adapted to MCP."""
    return _ENVELOPE.sub("", _names().sub(lambda found: mcp_name(found[0]), text))


def error_for_mcp(error: dict[str, Any]) -> dict[str, Any]:
    """Return an error of the channel adapted to MCP."""
    data = dict(error["data"])
    if "did_you_mean" in data:
        data["did_you_mean"] = [mcp_name(name) for name in data["did_you_mean"]]
    return {**error, "message": for_mcp(error["message"]), "data": data}
