"""Limits the size of results: lists that an agent did not limit itself are cut between items, with a note."""

from __future__ import annotations

from typing import Any, Final

import msgspec

# 20,000 tokens of four bytes.
MAX_BYTES: Final = 80_000
_encode = msgspec.json.Encoder().encode


def truncated(tool: str, arguments: dict[str, Any], result: Any) -> tuple[Any, str]:
    """Return a result within the size limit, and a note about the cut, or "". A result with a given `limit` is not
    cut.
    """
    if arguments.get("limit") is not None or len(_encode(result)) <= MAX_BYTES:
        return result, ""
    items, key = _longest(result)
    if not items:
        return result, ""
    # History without `since` has the newest entries: cut the oldest.
    from_end = tool == "control:history" and arguments.get("since") is None
    kept = _prefix(items[::-1] if from_end else items)
    if from_end:
        kept.reverse()
    note = f"Cut: {len(kept):,} of {len(items):,} are shown, for their length."
    if key is None:
        return kept, f"{note} {_hint(kept)}"
    cut = {**result, key: kept}
    if tool == "control:history" and not from_end:
        cut["next"] = kept[-1]["seq"] if kept else result["next"]
        return cut, note
    return cut, f"{note} {_hint(kept)}"


def _longest(result: Any) -> tuple[list[Any], str | None]:
    """Return the longest list of a result, and its key; None if the result itself is the list."""
    if isinstance(result, list):
        return result, None
    if not isinstance(result, dict):
        return [], None
    lists = {key: value for key, value in result.items() if isinstance(value, list)}
    key = max(lists, key=lambda name: len(_encode(lists[name])), default=None)
    return (lists[key], key) if key is not None else ([], None)


def _prefix(items: list[Any]) -> list[Any]:
    """Return as many of the first items as fit."""
    size = 0
    for at, item in enumerate(items):
        size += len(_encode(item)) + 1
        if size > MAX_BYTES:
            return items[:at]
    return items


def _hint(kept: list[Any]) -> str:
    last = kept[-1] if kept and isinstance(kept[-1], dict) else {}
    uid = next((last[key] for key in ("uid", "id", "task_id") if key in last), None)
    if uid is None:
        return "Ask for fewer."
    return (
        f'Where the tool takes them: "after": "{uid}" reads on, "brief": true is shorter, "limit" takes more at once.'
    )
