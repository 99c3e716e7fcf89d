"""Instants and days as files have them, of any year: what agents set may be at the end of time in no zone but UTC.

Instants are microseconds since the epoch.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from typing import Any, Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND: Final = 1_000_000


def instant(at: int | None) -> str | None:
    """Write an instant as ISO 8601 in UTC, whole."""
    return None if at is None else utc(at).isoformat(timespec="microseconds")


def utc(at: int) -> datetime:
    """Return an instant as a time in UTC."""
    return _EPOCH + timedelta(microseconds=at)


def microseconds(text: Any) -> int | None:
    """Read an instant in ISO 8601.

    Raises:
        ValueError: it is none, or has no offset.
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
        ValueError: in UTC it is of no year.
    """
    try:
        return (at.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)
    except OverflowError:
        raise ValueError(f"{at.isoformat()} is beyond the years that there are") from None


def moved(at: datetime, zone: tzinfo | None) -> datetime:
    """Return a time as it is in another zone; where it has no year there, as it is."""
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at


def day_of(at: int, now: datetime) -> date:
    """Return the day of an instant, in the zone of `now`."""
    return moved(utc(at), now.tzinfo).date()


def day_of_due(due: str, now: datetime) -> str:
    """Return a day that something is due on as it is, and an instant as its day in the zone of `now`."""
    return due if is_day(due) else moved(datetime.fromisoformat(due), now.tzinfo).date().isoformat()


def is_day(due: str) -> bool:
    """Whether a due date is one, and no instant."""
    return len(due) == 10


def begin(day: date, now: datetime) -> datetime:
    """Return the first instant of a day, in the zone of `now`."""
    return datetime.combine(day, time_of_day(), now.tzinfo)
