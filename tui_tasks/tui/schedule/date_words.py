"""Dates in English as a person types them: `next friday 9:00`, `24 december at 6 pm`, `9am tomorrow`, `3d`. Pure.

Words for a day are those of `due:` in quick add (`task_fields.parse_day`).
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import Final

from tui_tasks.core.schema.task_fields import parse_day

_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_FULL_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_TIME: Final = re.compile(
    r"(?:^|\s)(?:at\s+(\d{1,2})|(?:at\s+)?(\d{1,2}):(\d{2})|(?:at\s+)?(\d{1,2})\s*(?=[ap]m))\s*(am|pm)?$"
)
_TIME_FIRST: Final = re.compile(r"((?:at\s+)?\d{1,2}(?::\d{2})?\s*(?:am|pm)?)\s+(?:on\s+)?(.*[a-z].*)")
_DAY: Final = re.compile(r"(?:(?:on|this|next)\s+)?(\w+)")
_DATE: Final = re.compile(r"(?:on\s+)?(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?([a-z]+)\.?(?:\s+(\d{4}))?")
_MONTH_FIRST: Final = re.compile(r"(?:on\s+)?([a-z]+)\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:\s+(\d{4}))?")
# The 29th of February may be so many years ahead.
_MAX_AHEAD: Final = 8


def read_date(words: str, now: datetime) -> datetime | None:
    """Return the next date and time after `now` that words in lower case name; None if they name none.

    Both are local, without an offset. Without a time of day, it is the beginning of the day. A date with its year may
    be over.
    """
    for text in (words, _time_last(words)):
        day, at = _parted(text)
        if at is None and text != words:
            continue
        if not day:
            return _next_time(at, now) if at is not None else None
        for ahead in range(_MAX_AHEAD + 1):
            found = _day(day, now.date(), ahead)
            if found is None:
                continue
            whole = datetime.combine(found, at or time())
            if whole > now or day.endswith(str(found.year)):
                return whole
    return None


def _time_last(words: str) -> str:
    """Return `9am tomorrow` as `tomorrow 9am`."""
    found = _TIME_FIRST.fullmatch(words)
    return f"{found[2]} {found[1]}" if found else words


def _parted(words: str) -> tuple[str, time | None]:
    """Return the words for a day, and the time of day at their end."""
    found = _TIME.search(words)
    if found is None:
        return words, None
    hour, minute = int(found[1] or found[2] or found[4]), int(found[3] or 0)
    if found[5] is not None:
        if not 1 <= hour <= 12:
            return words, None
        hour = hour % 12 + 12 * (found[5] == "pm")
    return (words[: found.start()].strip(), time(hour, minute)) if hour < 24 and minute < 60 else (words, None)


def _next_time(at: time, now: datetime) -> datetime:
    today = datetime.combine(now.date(), at)
    return today if today > now else today + timedelta(1)


def _day(words: str, today: date, ahead: int) -> date | None:
    """Return the day that words name; a date without a year is in the year so many years ahead."""
    if named := _DAY.fullmatch(words):
        return parse_day(named[1], today) if ahead == 0 else None
    if found := _DATE.fullmatch(words):
        day, month, year = found.groups()
    elif found := _MONTH_FIRST.fullmatch(words):
        month, day, year = found.groups()
    else:
        return None
    if month not in (*_MONTHS, *_FULL_MONTHS, "sept") or (year and ahead):
        return None
    try:
        return date(int(year) if year else today.year + ahead, _MONTHS.index(month[:3]) + 1, int(day))
    except ValueError:
        return None
