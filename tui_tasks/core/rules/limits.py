"""The greatest lengths of names and texts, the same for every way in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.vocab import MAX_NAME, MAX_TEXT

_LIMITS: Final = {
    "name": MAX_NAME,
    "title": MAX_NAME,
    "description": MAX_TEXT,
    "message": MAX_TEXT,
    "system_prompt": MAX_TEXT,
    "prompt": MAX_TEXT,
}
"""Characters, by the field."""


def problem_with(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first field that is too long and the message for it; None if all fit."""
    for field, given in values.items():
        limit = _LIMITS.get(field)
        if limit is not None and given and len(given) > limit:
            return field, f"{field}: at most {limit:,} characters, not {len(given):,}"
    return None


def refuse_too_long(values: Mapping[str, Any]) -> None:
    """Refuse fields that are too long.

    Raises:
        InvalidArgument: one is; it is named with its length.
    """
    if problem := problem_with(values):
        raise InvalidArgument(*problem)
