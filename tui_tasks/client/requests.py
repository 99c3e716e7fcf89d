"""Requests and replies as lines of JSON, and the exceptions of both clients."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from tui_tasks.client.tools import WRITES


class ToolError(Exception):
    """A request was refused; nothing of it was done.

    Attributes:
        code: a stable code for programs (docs: protocol, section 3).
        message: a text for people and models.
        data: details, such as what is in the way.
    """

    def __init__(self, code: str, message: str, data: dict[str, Any]) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.data = data

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed a little later: another process held the database for too long."""
        return bool(self.data.get("retryable"))


class ServerGone(ConnectionError):
    """The server ends again and again before it answers."""


# How often a request is sent before the client gives up.
TRIES: Final = 4
SUBSCRIBE: Final = "control:subscribe"
# The most seconds that a server may take to end before it is killed.
END_SECONDS: Final = 5.0

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


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


def cancellation(id: int, waiting: dict[str, Any]) -> dict[str, Any]:
    """Return the request that cancels one which waits."""
    by = {"agent": waiting["agent"]} if waiting.get("agent") is not None else {}
    return {"id": id, "tool": "control:cancel", "arguments": {"request": waiting["id"]}, **by}


def messages(chunks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the replies and events of a server from the bytes that it writes.

    A server that is killed may leave half a line, which is dropped.
    """
    partial = bytearray()
    for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            message = decode(bytes(partial + end) + b"\n")
            partial.clear()
            if message is None:
                return
            yield message
        partial += rest


def decode(line: bytes) -> dict[str, Any] | None:
    """Return the reply or event of a line; None for half a line, and for one that no server writes."""
    try:
        message = _decode(line) if line.endswith(b"\n") else None
    except msgspec.DecodeError:
        return None
    return message if isinstance(message, dict) else None


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
