"""Requests and replies as lines of JSON, shared by both clients."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from tui_tasks.client.errors import ToolError
from tui_tasks.client.tools import WRITES

# How often a request is sent before the client gives up.
TRIES: Final = 4
SUBSCRIBE: Final = "control:subscribe"

_encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


def server_command(
    db: str | None, agent: str | None, list: str | None, *, read_only: bool, program: Sequence[str] | None
) -> list[str]:
    """Return the argv of the server."""
    command = [*(program or (sys.executable, "-m", "tui_tasks")), "serve", "--no-scheduler"]
    for option, value in (("--db", db), ("--agent", agent), ("--list", list)):
        if value is not None:
            command += [option, value]
    return [*command, "--read-only"] if read_only else command


def request(id: int, tool: str, arguments: dict[str, Any], envelope: dict[str, Any]) -> dict[str, Any]:
    """Return a request. One that writes has an idempotency key, so that it can be sent again."""
    made = {"id": id, "tool": tool, "arguments": arguments, **envelope}
    if tool in WRITES:
        made.setdefault("idempotency_key", str(uuid.uuid4()))
    return made


def line(made: dict[str, Any]) -> bytes:
    """Return a request as a line."""
    return _encode(made) + b"\n"


def result(reply: dict[str, Any], on_message: Callable[[str], None]) -> Any:
    """Return the result of a reply; `on_message` is called with each message of the human.

    Raises:
        ToolError: the reply is an error.
    """
    for message in reply.get("messages", ()):
        on_message(message["text"])
    if reply["ok"]:
        return reply["result"]
    raise ToolError(**reply["error"])
