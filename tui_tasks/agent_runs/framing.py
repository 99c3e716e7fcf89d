"""Splits a program's standard output into messages, one JSON object a line, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

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
        found = _decode(line)
    except (msgspec.DecodeError, RecursionError):
        # A lone surrogate, from text that the program cut, is refused by msgspec but accepted by `json`.
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
    return found if isinstance(found, dict) else text
