"""Splits the bytes of a stream into JSON values, one a line."""

from __future__ import annotations

import re
from typing import Any, Final

from tui_tasks.channel.json_advice import how_to_mend
from tui_tasks.channel.request_fields import RefusedValue
from tui_tasks.core.errors import ParseError, TooLarge
from tui_tasks.dialects.requests import strict_json

MAX_LINE: Final = 1024 * 1024
_CONTINUES: Final = "; the lines up to its closing bracket or a blank line are refused too"
_CONTINUED: Final = (
    "this line continues a JSON value that an earlier line began, so it is refused: send one JSON value a line, a "
    "batch too. A blank line, or the closing bracket, ends that value"
)


class LineSplitter:
    """Splits a stream into JSON values; a line longer than `MAX_LINE` bytes is skipped without being buffered."""

    def __init__(self) -> None:
        self._partial = bytearray()
        self._skipping = False
        # How many brackets are open of a value over several lines, all of which are refused; 0: none.
        self._open_brackets = 0

    def feed(self, data: bytes) -> list[Any]:
        """Append bytes of the stream; return the values of the complete lines.

        A `Refusal` stands for a line without a valid value, a `RefusedValue` for one that continues a value of an
        earlier line. Empty data means the end of the stream, where the last line needs no newline.
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
            self._open_brackets = 0
            return []
        before = self._open_brackets
        if before:
            self._open_brackets = _open_brackets(line, before)
        try:
            value = strict_json.load_line(line)
        except ParseError as error:
            if before:
                return [ParseError(_CONTINUED)]
            self._open_brackets = _open_brackets(line)
            message = error.message
            if message.startswith((strict_json.NO_JSON, strict_json.NOT_UTF_8)):
                message += f": {how_to_mend(line, message)}"
            return [ParseError(message + _CONTINUES if self._open_brackets else message)]
        return [RefusedValue(value, ParseError(_CONTINUED)) if before else value]


# A string outside of which brackets count; one without its end extends to the end of the line.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET: Final = re.compile(rb"[\[{\]}]")


def _open_brackets(line: bytes, before: int = 0) -> int:
    """Return how many brackets are open behind a line of a value that continues on the next line; 0 if it does not.

    `before`: how many are open before the line. A line that begins a value continues only if it ends right behind a
    bracket, a comma or a colon within a bracket that it opened. Any other was cut off (docs: protocol, section 2).
    """
    outside = _STRING.sub(b'"', line).rstrip()
    depth, is_closed = before, not before
    for bracket in _BRACKET.findall(outside):
        depth = depth + 1 if bracket in b"[{" else max(0, depth - 1)
        is_closed = is_closed or not depth
    return 0 if is_closed and not outside.endswith((b"[", b"{", b",", b":")) else depth


def _too_large() -> TooLarge:
    return TooLarge(f"a line of over {MAX_LINE:,} bytes was dropped", limit=MAX_LINE)
