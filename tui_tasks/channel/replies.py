"""Replies as the lines that are sent, of which those with long values are not held in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from uuid import uuid4

import msgspec

from tui_tasks.dialects.json_shapes.long_values import LongValue

# What stands for a long value while the rest is encoded: no text of anybody's holds it.
_PLACE: Final = msgspec.json.encode(uuid4().hex)
_PART: Final = 64 * 1024


class LongLine:
    """A line with long values in it."""

    def __init__(self, around: list[bytes], values: list[LongValue]) -> None:
        """`around` is what stands before, between and behind the values."""
        self._around = around
        self._values = values
        self.size = sum(map(len, around)) + sum(value.size for value in values)

    def parts(self) -> Iterator[bytes]:
        """The line, a little at a time."""
        yield self._around[0]
        for value, behind in zip(self._values, self._around[1:], strict=True):
            yield from value.parts(_PART)
            yield behind

    def whole(self) -> bytes:
        """The line, for whoever needs all of it at once."""
        return b"".join(self.parts())


ReplyLine = bytes | LongLine


class ReplyEncoder:
    """Makes lines of replies. Used by one thread."""

    def __init__(self) -> None:
        self._values: list[LongValue] = []
        self._encode = msgspec.json.Encoder(enc_hook=self._keep_place).encode

    def line(self, reply: Any) -> ReplyLine:
        """A reply, or the replies of a batch, as a line without its end."""
        self._values = []
        encoded = self._encode(reply)
        return LongLine(encoded.split(_PLACE), self._values) if self._values else encoded

    def _keep_place(self, value: Any) -> msgspec.Raw:
        if not isinstance(value, LongValue):
            raise NotImplementedError(f"a {type(value).__name__} is no JSON")
        self._values.append(value)
        return msgspec.Raw(_PLACE)


def whole(line: ReplyLine) -> bytes:
    """A line in one piece."""
    return line if isinstance(line, bytes) else line.whole()
