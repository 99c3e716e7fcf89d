"""Splits the bytes of a stream into JSON values, one a line, and advises on lines that are no JSON."""

from __future__ import annotations

import re
from typing import Any, Final

from tui_tasks.channel.request_reader import RefusedValue
from tui_tasks.core.errors import ParseError, TooLarge
from tui_tasks.dialects.requests import strict_json

MAX_LINE: Final = 1024 * 1024
_CONTINUES: Final = "; the lines up to its closing bracket or a blank line are refused too"
_CONTINUED: Final = (
    "this line continues a JSON value that an earlier line began, so it is refused: send one JSON value a line, a "
    "batch too. A blank line, or the closing bracket, ends that value"
)


class LineParser:
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
        *complete, rest = data.split(b"\n") if data else (b"", b"")
        for line in complete:
            values += self._parse_line(line)
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
                message += f": {_advice(line, message)}"
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


_WHAT_TO_SEND: Final = 'send one JSON object a line, no Markdown: {"tool": "tasklist:display", "arguments": {}}'
# Patterns and what they indicate; the first match is reported.
_PATTERNS: Final = (
    (re.compile(rb"\xef\xbb\xbf|\xff\xfe|\xfe\xff"), "it begins with a byte order mark (BOM)"),
    (re.compile(rb"\s*(?:```|~~~)"), "it is a Markdown fence"),
    (re.compile(rb"\s*`"), "it is in Markdown backquotes"),
    (re.compile(rb"\s*(?:>|[*_-]{1,3}|[0-9]+[.)])\s*[{\[]"), "it is Markdown"),
    (re.compile(rb"\s*<\|"), "it has a model's own mark before it"),
    (re.compile(rb"\s*\[[A-Z_]+\]"), "it has a model's own mark before it"),
    (re.compile(rb"\s*<"), "it is XML"),
    (re.compile(rb"\s*[{\[]\s*\xe2\x80[\x9c-\x9f]"), "its quotes are curly, JSON's are straight"),
    (re.compile(rb"\s*\{\s*\{"), "its braces are doubled"),
    (re.compile(rb"\s*\("), "it is in parentheses"),
    (re.compile(rb"\s*(?:\$\s|tui-tasks\s)"), "it is a command of a shell"),
    (re.compile(rb"\s*[\w:.]+\("), "it is a call as in a program"),
    (re.compile(rb"\s*[a-z]+:[a-z_]+\s*\Z"), "it is the name of a tool alone"),
    (re.compile(rb"\s*Content-(?:Length|Type)\s*:", re.IGNORECASE), "it is a header"),
    (re.compile(rb"\s*(?:data|event|id|retry):", re.IGNORECASE), "it is a server-sent event"),
    (re.compile(rb"\s*(?://|/\*|#)"), "it is a comment"),
    (re.compile(rb"\s*(?:-\s+)?[a-z_]+:\s"), "it is YAML"),
    (re.compile(rb"\s*[\[{]\s*(?:[\[{]\s*)?'"), "its strings are in single quotes, JSON's are in double quotes"),
    (re.compile(rb"\s*[\[{]\s*(?:[\[{]\s*)?\w+\s*:"), "its keys are not in double quotes"),
    (re.compile(rb".*,\s*[\]}]", re.DOTALL), "it has a comma before a closing bracket"),
    (re.compile(rb".*[:,\[]\s*(?:True|False|None)\b", re.DOTALL), "it has Python's True, False or None"),
    (re.compile(rb"[^\"]*(?:\"[^\"]*\"[^\"]*)*[{,:\[]\s*\.\.\."), "it has an ellipsis instead of a value"),
    (re.compile(rb"[^\"]*(?:\"[^\"]*\"[^\"]*)*[:,\[{]\s*['`]"), "its strings are not in double quotes"),
    (re.compile(rb"[^\"]*(?:\"[^\"]*\"[^\"]*)*[,{]\s*[A-Za-z_]\w*\s*:"), "its keys are not in double quotes"),
    (re.compile(rb".*[:,\[]\s*(?:\+[0-9]|0[0-9])", re.DOTALL), "a number has a plus sign or a leading zero"),
    # Any other value with brackets: the message of the parser says more, and it is no prose.
    (re.compile(rb"\s*[\[{]"), ""),
    (re.compile(rb"\s*(?!true|false|null)[^\W\d]", re.DOTALL), "it is prose"),
)
_SEVERAL: Final = "Extra data"
# Messages of Python's JSON parser, and clearer ones.
_PROBLEMS: Final = (
    ("Unterminated string", "a string is not closed"),
    ("Expecting ':' delimiter", "a colon is missing between a key and its value"),
    ("Invalid control character", "a string holds a control character: write \\n for a newline, \\t for a tab"),
    ("Invalid \\", "a backslash is written \\\\ in JSON"),
    ("Expecting ',' delimiter", 'it is not closed, or a quote within a string is not written \\"'),
)


def _advice(line: bytes, problem: str) -> str:
    """Return what a line seems to be and what to send instead; `problem` is the JSON parser's message."""
    if _SEVERAL in problem:
        return f"it has more than one value, or text behind one; {_WHAT_TO_SEND}"
    look = next((description for pattern, description in _PATTERNS if pattern.match(line)), "")
    look = look or next((description for says, description in _PROBLEMS if says in problem), "")
    return f"{look}; {_WHAT_TO_SEND}" if look else _WHAT_TO_SEND
