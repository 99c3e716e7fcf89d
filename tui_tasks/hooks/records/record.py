"""How far the record of a session has been read, and what it has said so far (stored in `activity.record` as JSON)."""

from __future__ import annotations

from typing import Literal

import msgspec


class Ending(msgspec.Struct, frozen=True):
    """How the last turn read ended, with the message in `words`.

    `faltered`: the model's service reported an error that may not have ended the turn.
    """

    kind: Literal["faltered", "failed", "interrupted"]
    words: str = ""


class Part(msgspec.Struct):
    """A file of a record.

    Attributes:
        read: the bytes read.
        tokens: the tokens counted in them.
        message: the id of the message that was counted last.
        of_message: its tokens.
    """

    read: int = 0
    tokens: int = 0
    message: str | None = None
    of_message: int = 0

    def count(self, message: str | None, tokens: int) -> None:
        """Count the tokens of a message. If it has several lines, the last one is right."""
        if message is not None and message == self.message:
            self.tokens -= self.of_message
        self.message, self.of_message = message, tokens
        self.tokens += tokens


class Record(msgspec.Struct):
    """The record of one session, as far as it was read.

    Attributes:
        path: the path of its file; files of subagents are beside it.
        parts: its files, by name.
        total: the tokens of the session by the program's own sum; 0: it gives none.
        before: the tokens of earlier records of the same agent, whose session was cleared.
        cost_usd: what the session has cost, in US dollars; None: unknown.
        model: the name of the model.
        is_headless: whether the program was started without a terminal, for one prompt.
        ending: how the last turn ended; None: it has not, or regularly.
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
