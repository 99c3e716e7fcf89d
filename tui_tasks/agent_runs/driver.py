"""What a driver is: it speaks the protocol of one agent program, and knows neither database nor pipes.

A driver is given the program's messages, one JSON object each, and returns what they tell. What it says to the program
goes to the function that it is made with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from tui_tasks.core.operations.sessions import Asked, Heard
from tui_tasks.runner.profiles import AgentSettings

Message = dict[str, Any]
Send = Callable[[Message], None]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The program waits for the human: for a permission, or for answers to questions. Only `answer` lets it go on."""

    id: str
    heard: Heard
    asked: Asked


class ToolWaits(msgspec.Struct, frozen=True):
    """A tool is about to run, and waits until it is released."""

    id: str


class Withdrawn(msgspec.Struct, frozen=True):
    """The program waits no more for the answer to a request, or for the release of a tool."""

    id: str


class Line(msgspec.Struct, frozen=True):
    """Something for people to read. `text` is what the agent said, or what it does and (`detail`) with what."""

    text: str
    detail: str = ""


class TurnOver(msgspec.Struct, frozen=True, kw_only=True):
    """A turn is over. `result` is what the agent said last, `error` why the turn came to no good end.

    `is_capped`: it was ended by the runner's `max_turns` or `max_cost`. `goes_on`: another turn follows by itself.
    """

    result: str | None = None
    error: str | None = None
    is_capped: bool = False
    goes_on: bool = False


Event = Heard | Request | ToolWaits | Withdrawn | Line | TurnOver


class Used(msgspec.Struct):
    """What a run has used so far; None: unknown."""

    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None


def limit_reached(used: Used, limits: AgentSettings) -> str | None:
    """Return why a run goes no further than its runner allows; None where it may."""
    if limits.max_turns is not None and (used.turns or 0) >= limits.max_turns:
        return f"stopped: its model has answered {used.turns} times, and max_turns is {limits.max_turns}"
    if limits.max_cost is not None and used.cost_usd is not None and used.cost_usd >= limits.max_cost:
        return f"stopped: it has cost ${used.cost_usd:.4f}, and max_cost is ${limits.max_cost:g}"
    return None


class Driver(Protocol):
    """Speaks to one agent program.

    Attributes:
        used: what it has used so far.
        session: the program's id of the session; None until it is known.
        pause_holds: what waits while the human has paused it, in words.
    """

    pause_holds: str

    used: Used
    session: str | None

    def arguments(self, system_prompt_file: str) -> Sequence[str]:
        """Return the words that are added to the program's command."""

    def begin(self, prompt: str, system_prompt: str, cwd: str) -> list[Event]:
        """Say the first words."""

    def received(self, message: Message) -> list[Event]:
        """Take in a message of the program, whatever is in it."""

    def answer(self, request_id: str, decision: dict[str, Any] | None, words: str) -> None:
        """Answer a request as the human decided (`hooks.replies.answers.decision`); None: deny it with these words."""

    def release(self, tool_id: str) -> None:
        """Let a tool run that waits."""

    def say(self, text: str) -> None:
        """Give the model a text, in the turn that goes on or as a turn of its own."""

    def interrupt(self) -> None:
        """End the turn."""
