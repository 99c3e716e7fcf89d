"""Ranges of values, which the words of a filter match: `<3d`, `>=1w`, `<1h`."""

from __future__ import annotations

from typing import Any, NamedTuple


class Range(NamedTuple):
    """Values from `low` up to but not including `high`; None: no bound.

    `is_date`: only dates (True), or only instants (False) match; None: both.
    """

    low: Any
    high: Any
    is_date: bool | None = None


def compared(word: str) -> tuple[str, str]:
    """Split `<=3d` into its sign and the rest; an empty sign means equal."""
    rest = word.strip().lower().lstrip("<>=")
    return word.strip().lower().removesuffix(rest), rest


def bounds(sign: str, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the bounds of the values for which the sign holds; equal are those from `low` to before `high`."""
    ranges = {"": (low, high), "<": (None, low), "<=": (None, high), ">": (high, None), ">=": (low, None)}
    if sign not in ranges:
        raise ValueError(sign)
    return ranges[sign]
