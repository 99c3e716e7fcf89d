"""Parses instants of the past as a person writes them. Pure; microseconds since the epoch, UTC."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta, tzinfo
from typing import Final

from tui_tasks.text.times import DAY, HOUR, MINUTE, SECOND, WEEK

_UNITS: Final = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": WEEK}
_DAY_OR_TIME: Final = re.compile(r"(today|yesterday)?\s*(\d{1,2}:\d\d)?")
_ACCEPTED_FORMS: Final = "an age (90m, 8h, 2d), a time (18:00), `yesterday 18:00`, or a date with or without a time"


def past(text: str, now: int, zone: tzinfo | None = None) -> int:
    """Return the instant of a text: `8h`, `18:00` (the last one), `yesterday 18:00`, `2026-01-31 18:00`.

    A date alone means its beginning. `zone`: the time zone of the text; None: the system's.

    Raises:
        ValueError: it is none of these, or not past; the message names the accepted forms.
    """
    words = text.strip().lower()
    try:
        instant = _instant(words, now, zone)
    except (ValueError, OverflowError, OSError):
        instant = None
    if instant is None:
        raise ValueError(f"{text} is no instant: give {_ACCEPTED_FORMS}")
    if instant > now:
        raise ValueError(f"{text} is not past yet")
    return instant


def _instant(words: str, now: int, zone: tzinfo | None) -> int | None:
    if age := re.fullmatch(r"(\d{1,6})\s*([smhdw])(?: ago)?", words):
        return now - int(age[1]) * _UNITS[age[2]]
    if words and (meant := _DAY_OR_TIME.fullmatch(words)):
        today = datetime.fromtimestamp(now / SECOND, zone).date()
        clock = time.fromisoformat(f"{meant[2] or '00:00':0>5}")
        at = datetime.combine(today - timedelta(meant[1] == "yesterday"), clock, zone)
        # A time alone means its last occurrence.
        return _microseconds(at if meant[1] or _microseconds(at) <= now else at - timedelta(1))
    found = datetime.fromisoformat(words.upper())
    return _microseconds(found if found.tzinfo is not None else found.replace(tzinfo=zone))


def _microseconds(at: datetime) -> int:
    return round(at.timestamp() * SECOND)
