"""Gemini CLI's record of a session (seen with 0.61.0): a JSON object a line, with the tokens of each message.

No hook tells that the person has ended a turn; the record says so in words. It names no price.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.hooks.programs.fields import number, table, text
from tui_tasks.hooks.records.record import Ending, Part, Record

_CANCELLED: Final = "Request cancelled."
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def files(path: str) -> list[str]:
    """The files of a record: one."""
    return [path]


def take(record: Record, part: Part, line: bytes, *, is_own: bool) -> None:
    """Take in a line; one that sets what was told before (`$set`) tells nothing new."""
    if not line.startswith(b'{"id"'):
        return
    told = _decode(line)
    kind = text(told, "type")
    if kind == "gemini":
        part.count(text(told, "id"), int(number(table(told, "tokens"), "total") or 0))
        record.model = text(told, "model") or record.model
    if kind in ("user", "gemini"):
        record.ending = None
    elif kind == "info" and text(told, "content") == _CANCELLED:
        record.ending = Ending("interrupted")
    elif kind == "error":
        record.ending = Ending("failed", text(told, "content") or "its model's service has failed")
