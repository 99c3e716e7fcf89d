"""Codex's record of a session (seen with 0.169.0): one JSON object in each line, with a running sum of tokens.

No hook reports that the model's service has failed; the record does. It has no prices.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tui_tasks.hooks.programs.fields import number, table, text
from tui_tasks.hooks.records.record import Ending, Part, Record

_TELLING: Final = (b'"token_count"', b'"task_started"', b'"task_complete"', b'"session_meta"')
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def files(path: str) -> list[str]:
    """Return the only file of a record."""
    return [path]


def apply_line(record: Record, part: Part, line: bytes, *, is_own: bool) -> None:
    """Apply a line."""
    if not any(word in line for word in _TELLING):
        return
    entry = _decode(line)
    payload = table(entry, "payload")
    kind = text(payload, "type")
    if text(entry, "type") == "session_meta":
        record.is_headless = text(payload, "source") == "exec"
    elif kind == "token_count":
        total = number(table(table(payload, "info"), "total_token_usage"), "total_tokens")
        record.total = max(record.total, int(total or 0))
    elif kind == "task_started":
        record.ending = None
    elif kind == "task_complete":
        error = table(payload, "error")
        record.ending = Ending("failed", _plain(text(error, "message"))) if error else None


def _plain(message: str | None) -> str:
    """Return the text of an error, which may be JSON of the service."""
    if message is None:
        return "its model's service has failed"
    try:
        entry = _decode(message)
    except msgspec.DecodeError:
        return message
    return text(table(entry, "error"), "message") or text(entry, "message") or message
