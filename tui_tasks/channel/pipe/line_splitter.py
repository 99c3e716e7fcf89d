"""Splits the bytes of a stream into JSON values, one a line (docs: protocol, section 2)."""

from __future__ import annotations

import enum
from typing import Any, Final

from tui_tasks.channel.pipe.not_json import how_to_mend
from tui_tasks.core.errors import ParseError, TooLarge
from tui_tasks.dialects.requests import strict_json

MAX_LINE: Final = 1024 * 1024


class LineSplitter:
    """Splits a stream into JSON values; a line longer than `MAX_LINE` bytes is skipped without being buffered."""

    def __init__(self) -> None:
        self._partial = bytearray()
        self._skipping = False
        # Whether the previous line was no JSON, and its value may continue in this one.
        self._continuation = _Continuation.NONE

    def feed(self, data: bytes) -> list[Any]:
        """Append bytes of the stream; return the values of the complete lines.

        A `Refusal` stands for a line without a valid value. Empty data means the end of the stream, where the last line
        needs no newline.
        """
        values: list[Any] = []
        *ended, rest = data.split(b"\n") if data else (b"", b"")
        for part in ended:
            values += self._parse_line(part)
        if not self._skipping:
            self._partial += rest
            if len(self._partial) > MAX_LINE + 1:
                self._partial.clear()
                self._skipping = True
        return values

    def _parse_line(self, part: bytes) -> list[Any]:
        line = bytes(self._partial) + part if self._partial else part
        self._partial.clear()
        if self._skipping:
            self._skipping = False
            return [_too_large()]
        line = line.removesuffix(b"\r")
        if len(line) > MAX_LINE:
            return [_too_large()]
        if not line or line.isspace():
            return []
        continuation, self._continuation = self._continuation, _Continuation.NONE
        try:
            value = strict_json.load_line(line)
        except ParseError as error:
            self._continuation = _continuation_after(line)
            if error.message.startswith((strict_json.NO_JSON, strict_json.NOT_UTF_8)):
                return [ParseError(f"{error.message}: {how_to_mend(line, error.message)}")]
            return [error]
        if continuation is _Continuation.ANY or (continuation is _Continuation.IF_INDENTED and line[:1].isspace()):
            return [
                ParseError("the end of a value that began on a line before, all of which is refused: " + _ONE_A_LINE)
            ]
        return [value]


_ONE_A_LINE: Final = "send one JSON value a line, a batch too"


class _Continuation(enum.Enum):
    """Whether a line that is no JSON begins a value over several lines, all of which must be refused.

    A bracket alone may also be noise: then the next line belongs to it only if it is indented.
    """

    NONE = enum.auto()
    IF_INDENTED = enum.auto()
    ANY = enum.auto()


def _continuation_after(line: bytes) -> _Continuation:
    line = line.strip()
    if not line.endswith((b"[", b"{", b",", b":")):
        return _Continuation.NONE
    try:
        strict_json.load_line(line[:-1])
    except ParseError:
        return _Continuation.IF_INDENTED
    return _Continuation.ANY


def _too_large() -> TooLarge:
    return TooLarge(f"a line of over {MAX_LINE:,} bytes was dropped", limit=MAX_LINE)
