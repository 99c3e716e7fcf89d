"""Gemini CLI's record of a session (seen with 0.61.0): one JSON object in each line, with the tokens of each message.

No hook reports that the person has ended a turn; the record does. It has no prices.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.hooks.programs.fields import number, table, text
from tui_tasks.hooks.records.record import Ending, Part, Record

_CANCELLED: Final = "Request cancelled."
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def files(path: str) -> list[str]:
    """Return the only file of a record."""
    return [path]


def apply_line(record: Record, part: Part, line: bytes, *, is_own: bool) -> None:
    """Apply a line; one that sets earlier content (`$set`) adds nothing."""
    if not line.startswith(b'{"id"'):
        return
    entry = _decode(line)
    kind = text(entry, "type")
    if kind == "gemini":
        part.count(text(entry, "id"), int(number(table(entry, "tokens"), "total") or 0))
        record.model = text(entry, "model") or record.model
    if kind in ("user", "gemini"):
        record.ending = None
    elif kind == "info" and text(entry, "content") == _CANCELLED:
        record.ending = Ending("interrupted")
    elif kind == "error":
        record.ending = Ending("failed", text(entry, "content") or "its model's service has failed")
