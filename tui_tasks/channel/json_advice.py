"""What a line that is no JSON seems to be, and what to send instead."""

from __future__ import annotations

import re
from typing import Final

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


def how_to_mend(line: bytes, problem: str) -> str:
    """Return what a line seems to be and what to send instead; `problem` is the JSON parser's message."""
    if _SEVERAL in problem:
        return f"it has more than one value, or text behind one; {_WHAT_TO_SEND}"
    look = next((description for pattern, description in _PATTERNS if pattern.match(line)), "")
    look = look or next((description for says, description in _PROBLEMS if says in problem), "")
    return f"{look}; {_WHAT_TO_SEND}" if look else _WHAT_TO_SEND
