"""Cuts a program's standard output into its messages, one JSON object a line, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

# Bytes of a line; of a longer one nothing is taken.
MAX_LINE: Final = 64 * 1024 * 1024

_decode = msgspec.json.Decoder().decode


class MessageReader:
    """Collects bytes and gives whole lines: each as a JSON object, or as the text that it is."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._is_too_long = False

    def feed(self, data: bytes) -> Iterator[dict[str, Any] | str]:
        """Yield what the lines hold that end in these bytes."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._hold(part)
            if self._is_too_long:
                yield "[a line of the program was too long, and was left out]"
            elif self._held.strip():
                yield _content(bytes(self._held))
            self._held, self._is_too_long = bytearray(), False
        self._hold(rest)

    def _hold(self, part: bytes) -> None:
        self._held += part
        if len(self._held) > MAX_LINE:
            self._held, self._is_too_long = bytearray(), True

    def rest(self) -> str:
        """Return what has come after the last whole line, which was the last."""
        return self._held.decode(errors="replace").strip()


def _content(line: bytes) -> dict[str, Any] | str:
    text = line.decode(errors="replace")
    try:
        found = _decode(line)
    except (msgspec.DecodeError, RecursionError):
        # Half a character, cut off by the program, is no JSON to a strict reader.
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
    return found if isinstance(found, dict) else text
