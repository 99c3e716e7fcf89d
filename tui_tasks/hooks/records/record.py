"""How far the record of a session has been read, and what it has said so far (stored in `activity.record` as JSON)."""

from __future__ import annotations

from typing import Literal

import msgspec


class Ending(msgspec.Struct, frozen=True):
    """How the turn that was read last ended.

    `faltered`: the model's service reported an error, and it is not yet known whether that ends the turn.
    """

    kind: Literal["faltered", "failed", "interrupted"]
    words: str = ""


class Part(msgspec.Struct):
    """One file of a record: the bytes read, their tokens, and the message that was counted last."""

    read: int = 0
    tokens: int = 0
    message: str | None = None
    of_message: int = 0

    def count(self, message: str | None, tokens: int) -> None:
        """Count the tokens of a message; if it has several lines, the last one is right."""
        if message is not None and message == self.message:
            self.tokens -= self.of_message
        self.message, self.of_message = message, tokens
        self.tokens += tokens


class Record(msgspec.Struct):
    """The record of one session.

    Attributes:
        path: of its file; further files, of subagents, lie beside it.
        parts: its files, by name.
        total: the tokens of the session in the program's own sum, where it gives one.
        before: the tokens of former records of the same agent, whose session was cleared.
        is_headless: whether its program was started without a terminal, for one prompt.
    """

    path: str = ""
    parts: dict[str, Part] = {}
    total: int = 0
    before: int = 0
    cost_usd: float | None = None
    model: str | None = None
    is_headless: bool = False
    ending: Ending | None = None

    @property
    def tokens(self) -> int:
        """The tokens of the session so far; 0: unknown."""
        return self.before + max(self.total, sum(part.tokens for part in self.parts.values()))
