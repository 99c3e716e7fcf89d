"""What a line that is no JSON looks like, so that who wrote it can put it right from the reply alone."""

from __future__ import annotations

import re
from typing import Final

_WHAT_TO_SEND: Final = "send one JSON object a line, no Markdown"
# The first that matches is told of.
_LOOKS: Final = (
    (re.compile(rb"\xef\xbb\xbf|\xff\xfe|\xfe\xff"), "it begins with a byte order mark (BOM)"),
    (re.compile(rb"\s*(?:```|~~~)"), "it is a Markdown fence"),
    (re.compile(rb"\s*`"), "it is in Markdown backquotes"),
    (re.compile(rb"\s*<"), "it is XML"),
    (re.compile(rb"\s*Content-(?:Length|Type)\s*:", re.IGNORECASE), "it is a header"),
    (re.compile(rb"\s*(?:data|event|id|retry):", re.IGNORECASE), "it is a server-sent event"),
    (re.compile(rb"\s*(?://|/\*|#)"), "it is a comment"),
    (re.compile(rb"\s*[\[{]\s*(?:[\[{]\s*)?'"), "its strings are in single quotes, JSON's are in double quotes"),
    (re.compile(rb"\s*[\[{]\s*(?:[\[{]\s*)?\w+\s*:"), "its keys are not in double quotes"),
    (re.compile(rb".*,\s*[\]}]", re.DOTALL), "it has a comma before a closing bracket"),
    (re.compile(rb".*[:,\[]\s*(?:True|False|None)\b", re.DOTALL), "it has Python's True, False or None"),
    (re.compile(rb"\s*[\[{]"), ""),
    (re.compile(rb"\s*(?!true|false|null)[^\W\d]", re.DOTALL), "it is prose"),
)
_SEVERAL: Final = "Extra data"


def how_to_mend(line: bytes, problem: str) -> str:
    """What a line that JSON's reader has that problem with was taken for, and what to send instead."""
    if _SEVERAL in problem:
        return f"it has more than one value, or text behind one; {_WHAT_TO_SEND}"
    look = next((told for pattern, told in _LOOKS if pattern.match(line)), "")
    return f"{look}; {_WHAT_TO_SEND}" if look else _WHAT_TO_SEND
