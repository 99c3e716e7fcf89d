"""Requests and replies as lines, alike for both clients."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from tui_tasks.client.errors import ToolError
from tui_tasks.client.tools import WRITES

# How often a request is sent before it is given up.
TRIES: Final = 4
LISTENED_TO: Final = "control:subscribe"

_encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


def server(
    db: str | None, agent: str | None, list: str | None, *, read_only: bool, program: Sequence[str] | None
) -> list[str]:
    """The command that serves a client."""
    command = [*(program or (sys.executable, "-m", "tui_tasks")), "serve", "--no-scheduler"]
    for option, value in (("--db", db), ("--agent", agent), ("--list", list)):
        if value is not None:
            command += [option, value]
    return [*command, "--read-only"] if read_only else command


def request(id: int, tool: str, arguments: dict[str, Any], envelope: dict[str, Any]) -> dict[str, Any]:
    """A request; one that writes has an idempotency key, by which it may be sent again."""
    made = {"id": id, "tool": tool, "arguments": arguments, **envelope}
    if tool in WRITES:
        made.setdefault("idempotency_key", str(uuid.uuid4()))
    return made


def line(made: dict[str, Any]) -> bytes:
    """A request as it is sent."""
    return _encode(made) + b"\n"


def result(reply: dict[str, Any], heard: Callable[[str], None]) -> Any:
    """The result of a reply; `heard` is given what the human wrote.

    Raises:
        ToolError: it is a refusal.
    """
    for message in reply.get("messages", ()):
        heard(message["text"])
    if reply["ok"]:
        return reply["result"]
    raise ToolError(**reply["error"])
