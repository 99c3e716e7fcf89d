"""Instants and days in files, of any year: agents may set instants whose year exists in no zone but UTC.

Instants are microseconds since the epoch.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from typing import Any, Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND: Final = 1_000_000


def format_instant(at: int | None) -> str | None:
    """Return an instant as ISO 8601 in UTC, with microseconds."""
    return None if at is None else utc(at).isoformat(timespec="microseconds")


def utc(at: int) -> datetime:
    """Return an instant as a time in UTC."""
    return _EPOCH + timedelta(microseconds=at)


def parse_instant(text: Any) -> int | None:
    """Parse an instant in ISO 8601.

    Raises:
        ValueError: it is no such text, or has no offset.
    """
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError("an instant is a text in ISO 8601")
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("an instant needs an offset, such as Z")
    return since_epoch(at)


def since_epoch(at: datetime) -> int:
    """Return a time as an instant.

    Raises:
        ValueError: in UTC it is outside the years 1 to 9999.
    """
    try:
        return (at.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)
    except OverflowError:
        raise ValueError(f"{at.isoformat()} is beyond the years that there are") from None


def in_zone(at: datetime, zone: tzinfo | None) -> datetime:
    """Return a time in another zone, or unchanged if it is outside the years 1 to 9999 there."""
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at


def day_of(at: int, now: datetime) -> date:
    """Return the day of an instant in the zone of `now`."""
    return in_zone(utc(at), now.tzinfo).date()


def day_of_due(due: str, now: datetime) -> str:
    """Return the day of a due date: of an instant, that in the zone of `now`."""
    return due if is_day(due) else in_zone(datetime.fromisoformat(due), now.tzinfo).date().isoformat()


def is_day(due: str) -> bool:
    """Return whether a due date is a day, not an instant."""
    return len(due) == 10


def start_of_day(day: date, now: datetime) -> datetime:
    """Return the first instant of a day in the zone of `now`."""
    return datetime.combine(day, time_of_day(), now.tzinfo)
