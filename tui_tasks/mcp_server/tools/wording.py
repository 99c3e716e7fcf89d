"""What an agent reads over MCP, in the words of MCP: names of tools have `_` for `:`."""

from __future__ import annotations

import re
from collections.abc import Container
from functools import cache
from typing import Any, Final

from tui_tasks.dialects.table import TABLE

# What a client puts before its model, each line with the tool that it speaks of. Under 150 words.
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
    """What an agent that has those tools is to know before its first call."""
    return "\n".join(line for tool, line in _INSTRUCTIONS if not tool or tool in tools)


# What goes without saying over MCP, where a call has its arguments in one place.
_ENVELOPE: Final = re.compile(r'[;:] (?:it goes|arguments go) under "arguments"(?:, beside "action"|, as \{[^}]*\})?')


def mcp_name(tool: str) -> str:
    """A tool's name on MCP, which allows no colon."""
    return tool.replace(":", "_")


@cache
def _names() -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(name for name in TABLE.tools if ":" in name) + r")\b")


def reworded(text: str) -> str:
    """A text of the program as it is true over MCP."""
    return _ENVELOPE.sub("", _names().sub(lambda found: mcp_name(found[0]), text))


def reworded_error(error: dict[str, Any]) -> dict[str, Any]:
    """An error of the channel as it is true over MCP."""
    data = dict(error["data"])
    if "did_you_mean" in data:
        data["did_you_mean"] = [mcp_name(name) for name in data["did_you_mean"]]
    return {**error, "message": reworded(error["message"]), "data": data}
