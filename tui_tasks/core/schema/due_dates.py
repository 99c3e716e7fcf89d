"""Due dates: how `fri`, `3d`, `2w` or `2026-01-31` is read, shown and filtered, and when a task is late; and the
ranges of values that the words of a filter match (`<3d`, `>=1w`, `<1h`).

`now` is local time: days begin and end where the user is.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from typing import Any, Final, NamedTuple

LATE: Final = ("late", "overdue")
"""The filter's words for the open tasks whose value is late; the first one is suggested."""

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WORDS: Final = {"today": 0, "tomorrow": 1, "yesterday": -1}
_AHEAD: Final = r"(\d{1,4})([dw])"
_TIMED: Final = r"(?:(\S+)\s+)?(\d{1,2}):(\d\d)"
_DUE: Final = (
    "due takes today, tomorrow, fri, 17:00, fri 17:00, 3d, 2w, a date (2026-01-31)"
    " or an instant (2026-01-31T17:00+01:00)"
)
_DUE_FILTER: Final = "due: takes late, none, or a day (today, fri, 3d, 2w, 2026-01-31), < or > before it"


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


def parse_due(text: str, now: datetime) -> str:
    """Return a date unchanged, an instant in UTC with milliseconds; both sort as text. The default offset is local.

    Raises:
        ValueError: it is neither, nor a word that means one.
    """
    word = text.strip().lower()
    if (day := parse_day(word, now.date())) is not None:
        return day.isoformat()
    try:
        if timed := re.fullmatch(_TIMED, word):
            named = timed[1] or "today"
            day = parse_day(named, now.date()) or date.fromisoformat(named)
            instant = datetime.combine(day, time_of_day(int(timed[2]), int(timed[3])), now.tzinfo)
            return instant.astimezone(UTC).isoformat(timespec="milliseconds")
        if len(word) <= 10:
            return date.fromisoformat(word).isoformat()
        instant = datetime.fromisoformat(word.upper())
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=now.tzinfo)
        return instant.astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        raise ValueError(_DUE) from None


def parse_day(word: str, today: date) -> date | None:
    """Return the day that a word names: `today`, `tomorrow`, `fri` or `friday`, `3d` or `2w`; None if it names none."""
    if word in _WORDS:
        return today + timedelta(_WORDS[word])
    if word[:3] in DAYS and word in (*DAYS, *WEEKDAYS):
        return today + timedelta((DAYS.index(word[:3]) - today.weekday() - 1) % 7 + 1)
    if ahead := re.fullmatch(_AHEAD, word):
        try:
            return today + timedelta(int(ahead[1]) * (7 if ahead[2] == "w" else 1))
        except OverflowError:
            return None
    return None


def check_stored(due: str) -> None:
    """Refuse what `parse_due` does not return.

    Raises:
        ValueError: it is neither a date nor an instant with its offset from UTC.
    """
    if is_day(due):
        is_whole = date.fromisoformat(due).isoformat() == due
    else:
        is_whole = datetime.fromisoformat(due).utcoffset() is not None
    if not is_whole:
        raise ValueError(_DUE)


def is_overdue(due: str, now: datetime) -> bool:
    """Return whether a due date is over, or a due instant has come. A date ends with the local day; `now` is local."""
    if len(due) == 10:
        return due < now.date().isoformat()
    return datetime.fromisoformat(due) <= now


def late_since(due: str, now: datetime) -> int:
    """Return the instant from which it is late, in microseconds; `now` is local."""
    at = datetime.fromisoformat(due)
    return _microseconds(start_of_day(at.date() + timedelta(1), now) if is_day(due) else at)


def write(due: str, now: datetime) -> str:
    """Return a text that `parse_due` accepts, in local time."""
    return due if is_day(due) else _local_time_of(due, now).isoformat(timespec="minutes")


def short(due: str, now: datetime) -> str:
    """Return `due in 2d`, `due today` or `late 3d`; a date is late from its end on.

    Days are those of the calendar, as in filters; an instant within a day has hours.
    """
    from tui_tasks.text import times

    if _counts_days(due, now):
        day = date.fromisoformat(due) if is_day(due) else _local_time_of(due, now).date()
        days = (day - now.date()).days
        return f"due {times.due(days * times.DAY, 0) if days else 'today'}"
    words = times.due(late_since(due, now), _microseconds(now))
    return words if words.startswith("late") else f"due {words}"


def long(due: str, now: datetime) -> str:
    """Return it with the date: `due in 2d (Sat 2026-01-31)`, `due in 3h (Sat 2026-01-31 17:00)`."""
    return f"{short(due, now)} ({when(due, now)})"


def when(due: str, now: datetime) -> str:
    """Return the local date, of an instant with the time: `Sat 2026-01-31`, `Sat 2026-01-31 17:00`."""
    at = date.fromisoformat(due) if is_day(due) else _local_time_of(due, now)
    time = "" if is_day(due) else f" {at:%H:%M}"
    return f"{DAYS[at.weekday()].title()} {at.isoformat()[:10]}{time}"


def lasts(due: str, now: datetime) -> int:
    """Return for how many microseconds `short` and `long` stay the same."""
    from tui_tasks.text import times

    if _counts_days(due, now):
        until_midnight = _microseconds(start_of_day(now.date() + timedelta(1), now)) - _microseconds(now)
        until_hours = until_midnight if is_day(due) else late_since(due, now) - times.DAY - _microseconds(now) + 1
        return max(min(until_midnight, until_hours), 1)
    return times.age_lasts(late_since(due, now), _microseconds(now))


def ranges(word: str, now: datetime) -> list[Range]:
    """Read `today`, `fri`, `2026-01-31`, `<3d`, `>=1w` or `late` as a range of dates and one of instants."""
    today = now.date()
    if word in LATE:
        return [Range(None, today.isoformat(), True), Range(None, _utc_text(now + timedelta(milliseconds=1)), False)]
    sign, rest = compared(word)
    day = parse_day(rest, today)
    try:
        day = day or date.fromisoformat(rest)
        first, last = bounds(sign, day, day + timedelta(1))
        begun, ended = (_utc_text(start_of_day(each, now)) if each else None for each in (first, last))
    except (ValueError, OverflowError):
        raise ValueError(_DUE_FILTER) from None
    dates = Range(first and first.isoformat(), last and last.isoformat(), True)
    return [dates, Range(begun, ended, False)]


def is_day(due: str) -> bool:
    """Return whether a due date is a day, not an instant."""
    return len(due) == 10


def _counts_days(due: str, now: datetime) -> bool:
    from tui_tasks.text import times

    if is_day(due):
        return not is_overdue(due, now)
    return late_since(due, now) - _microseconds(now) >= times.DAY


def _local_time_of(due: str, now: datetime) -> datetime:
    try:
        return datetime.fromisoformat(due).astimezone(now.tzinfo)
    except OverflowError:
        return datetime.fromisoformat(due)


def start_of_day(day: date, now: datetime) -> datetime:
    """Return the first instant of a day in the zone of `now`."""
    return datetime.combine(day, time_of_day(), now.tzinfo)


def _utc_text(at: datetime) -> str:
    try:
        return at.astimezone(UTC).isoformat(timespec="milliseconds")
    except OverflowError:
        # The first or the last day that there is, in a zone where it begins or ends in another year.
        return at.replace(tzinfo=UTC).isoformat(timespec="milliseconds")


def _microseconds(at: datetime) -> int:
    return (at - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)
