"""Claude Code's record of a session (seen with 2.1.330): one JSON object in each line, subagents in their own files.

Its sum of tokens and dollars (`cost-state`) is written when the process ends; until then the messages are counted.
"""

from __future__ import annotations

import os
from typing import Any, Final

import msgspec

from tui_tasks.hooks.programs.fields import number, table, tables, text
from tui_tasks.hooks.records.record import Ending, Part, Record

MAX_PARTS: Final = 100
_TELLING: Final = (b'"usage"', b'"cost-state"')
_SPENT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_SPENT_BY_MODEL: Final = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
_OWN_MODEL: Final = "<synthetic>"
"""The model that the program names for messages that it wrote itself."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def files(path: str) -> list[str]:
    """Return the files of a record: the session's and those of its subagents."""
    folder = os.path.join(path.removesuffix(".jsonl"), "subagents")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".jsonl"))
    except OSError:
        names = []
    return [path, *(os.path.join(folder, name) for name in names[:MAX_PARTS])]


def apply_line(record: Record, part: Part, line: bytes, *, is_own: bool) -> None:
    """Apply a line of a file; `is_own`: of the session itself."""
    if is_own and line.startswith(b'{"parentUuid"') and b'"type":"user"' in line:
        record.ending = None
    if not any(word in line for word in _TELLING):
        return
    entry = _decode(line)
    if text(entry, "type") == "cost-state":
        _sum(record, entry)
        return
    record.is_headless = (text(entry, "entrypoint") or "cli") != "cli"
    message = table(entry, "message")
    part.count(text(message, "id"), _count(table(message, "usage"), _SPENT))
    if not is_own:
        return
    if entry.get("isApiErrorMessage") is True:
        words = "\n".join(words for one in tables(message, "content") if (words := text(one, "text")) is not None)
        record.ending = Ending("faltered", words or "its model's service has failed")
    else:
        record.ending = None
        if (model := text(message, "model")) != _OWN_MODEL:
            record.model = model or record.model


def _sum(record: Record, entry: dict[str, Any]) -> None:
    by_model = table(entry, "modelUsage")
    record.total = max(record.total, sum(_count(table(by_model, name), _SPENT_BY_MODEL) for name in by_model))
    if entry.get("hasUnknownModelCost") is False and by_model:
        record.cost_usd = number(entry, "totalCostUSD")


def _count(usage: dict[str, Any], names: tuple[str, ...]) -> int:
    return sum(int(number(usage, name) or 0) for name in names)
