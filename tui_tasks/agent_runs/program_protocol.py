"""Drivers: each speaks the protocol of one agent program, whose messages are framed as one JSON object a line.

A driver is given the program's messages, one JSON object each, and returns the events that they mean. It sends messages
to the program through the function given to its constructor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

import msgspec

from tui_tasks.core.operations.sessions import InputRequested, SessionReport
from tui_tasks.runner.runner_settings import AgentSettings

Message = dict[str, Any]
Send = Callable[[Message], None]


class HumanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The program waits for the human: for a permission, or for answers to questions. Only `answer` lets it continue.

    Attributes:
        id: the id by which the driver knows the request.
        report: the report of it for the session.
        asked: the request itself, which is an event of the report.
    """

    id: str
    report: SessionReport
    asked: InputRequested


class ToolHeld(msgspec.Struct, frozen=True):
    """A tool is about to run, and waits for `release`."""

    id: str


class RequestWithdrawn(msgspec.Struct, frozen=True):
    """The program no longer waits for the answer to a request, or for the release of a tool."""

    id: str


class OutputLine(msgspec.Struct, frozen=True):
    """A line for people to read. `text` is what the agent wrote or does, `detail` with what."""

    text: str
    detail: str = ""


class TurnFinished(msgspec.Struct, frozen=True, kw_only=True):
    """A turn ended.

    Attributes:
        result: what the agent wrote last.
        error: why the turn failed; None if it did not.
        is_capped: whether the runner's `max_turns` or `max_cost` ended it.
        goes_on: whether another turn follows by itself.
    """

    result: str | None = None
    error: str | None = None
    is_capped: bool = False
    goes_on: bool = False


DriverEvent = SessionReport | HumanRequest | ToolHeld | RequestWithdrawn | OutputLine | TurnFinished


class RunUsage(msgspec.Struct):
    """What a run has used so far, cost in US dollars; None: unknown."""

    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None


def limit_reached(usage: RunUsage, limits: AgentSettings) -> str | None:
    """Return why a run may not continue by its runner's limits; None if it may."""
    if limits.max_turns is not None and (usage.turns or 0) >= limits.max_turns:
        return f"stopped: its model has answered {usage.turns} times, and max_turns is {limits.max_turns}"
    if limits.max_cost is not None and usage.cost_usd is not None and usage.cost_usd >= limits.max_cost:
        return f"stopped: it has cost ${usage.cost_usd:.4f}, and max_cost is ${limits.max_cost:g}"
    return None


class AgentDriver(Protocol):
    """Speaks the protocol of one agent program.

    Attributes:
        pause_holds: what waits while the human has paused the agent, as text.
        usage: what the run has used so far.
        session: the program's id of the session; None until it is known.
    """

    pause_holds: str

    usage: RunUsage
    session: str | None

    def arguments(self, system_prompt_file: str) -> Sequence[str]:
        """Return the arguments to add to the program's command."""

    def begin(self, prompt: str, system_prompt: str, cwd: str) -> list[DriverEvent]:
        """Send the first messages; return the first events."""

    def handle(self, message: Message) -> list[DriverEvent]:
        """Handle a message of the program, which may have any content; return the events that it means."""

    def answer(self, request_id: str, decision: dict[str, Any] | None, words: str) -> None:
        """Answer a request with the human's decision (`reply_sender.decision_for`); None: deny it with this text."""

    def release(self, tool_id: str) -> None:
        """Let a held tool run."""

    def say(self, text: str) -> None:
        """Send the model a text, within the current turn or as a new turn."""

    def interrupt(self) -> None:
        """End the current turn."""


# The most bytes of a line; longer ones are dropped.
MAX_LINE_BYTES: Final = 64 * 1024 * 1024

_decode = msgspec.json.Decoder().decode


class MessageReader:
    """Collects bytes and yields whole lines: a JSON object as a dict, any other line as text."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._is_too_long = False

    def feed(self, data: bytes) -> Iterator[dict[str, Any] | str]:
        """Yield the lines that end in these bytes."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._append(part)
            if self._is_too_long:
                yield "[a line of the program was too long, and was left out]"
            elif self._line.strip():
                yield _parsed(bytes(self._line))
            self._line, self._is_too_long = bytearray(), False
        self._append(rest)

    def _append(self, part: bytes) -> None:
        self._line += part
        if len(self._line) > MAX_LINE_BYTES:
            self._line, self._is_too_long = bytearray(), True

    def rest(self) -> str:
        """Return the text after the last whole line."""
        return self._line.decode(errors="replace").strip()


def _parsed(line: bytes) -> dict[str, Any] | str:
    text = line.decode(errors="replace")
    try:
        message = _decode(line)
    except (msgspec.DecodeError, RecursionError):
        # A lone surrogate, from text that the program cut, is refused by msgspec but accepted by `json`.
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            message = None
    return message if isinstance(message, dict) else text
