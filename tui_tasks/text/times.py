"""Formats instants, durations and amounts, and parses past instants. Pure; microseconds since the epoch, UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Final

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY
YEAR: Final = 365 * DAY
MAX_WAIT: Final = 10 * SECOND
_STEPS: Final = ((YEAR, "y"), (WEEK, "w"), (DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s"))
# The units of which people plan by the next smaller one, too.
_BELOW: Final = {DAY: (HOUR, "h"), HOUR: (MINUTE, "m")}
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _step(span_us: int) -> tuple[int, str]:
    """Return the largest unit within a span, in microseconds, and its letter."""
    return next((step for step in _STEPS if span_us >= step[0]), _STEPS[-1])


def age(then_us: int, now_us: int) -> str:
    """Return how long ago an instant was: `40s`, `9m`, `3h`, `2d`, `5w`, `1y`; this second: `now`; future, of hours and
    days with the next unit: `in 9m`, `in 12h 45m`, `in 2d 4h`.
    """
    elapsed = now_us - then_us
    if abs(elapsed) < SECOND:
        return "now"
    unit, letter = _step(abs(elapsed))
    if elapsed > 0:
        return f"{elapsed // unit}{letter}"
    below, its_letter = _BELOW.get(unit, (unit, ""))
    rest = -elapsed % unit // below
    return f"in {-elapsed // unit}{letter}{f' {rest}{its_letter}' if rest else ''}"


def ago(then_us: int, now_us: int) -> str:
    """Return `age` for use in a sentence: `40s ago`, `now`, `in 12h 45m`."""
    return f"{age(then_us, now_us)} ago" if now_us - then_us >= SECOND else age(then_us, now_us)


def due(when_us: int, now_us: int) -> str:
    """Return how far away a planned instant is: `in 12h 45m`, `now` for a minute, `late 25m`."""
    if now_us - when_us >= MINUTE:
        return f"late {age(when_us, now_us)}"
    return age(max(when_us, now_us), now_us)


def age_lasts(then_us: int, now_us: int) -> int:
    """Return for how many microseconds from now `age` stays the same, for the timer that repaints it."""
    elapsed = now_us - then_us
    if abs(elapsed) < SECOND:
        return SECOND - elapsed
    unit, _ = _step(abs(elapsed))
    if elapsed < 0:
        return -elapsed % _BELOW.get(unit, (unit, ""))[0] + 1
    # A year is no whole number of weeks; every other unit is a multiple of the one below.
    return min(unit - elapsed % unit, YEAR - elapsed if elapsed < YEAR else unit)


def draw_again_in(span_us: int) -> float:
    """Return the seconds until a redraw of what stays true for some microseconds.

    Long spans are shortened: timers stop while a machine sleeps, and ignore changes of the clock.
    """
    return min(max(span_us, SECOND), MAX_WAIT) / SECOND


def duration(span_us: int, units: int = 2) -> str:
    """Return how long something took: `340ms`, `41s`, `1m 05s`, `2h 05m`, `3d 4h`; in 1 unit: `38m`."""
    if span_us < SECOND:
        return f"{max(span_us, 0) // 1000}ms"
    unit, letter = _step(min(span_us, WEEK - 1))
    first, rest = f"{span_us // unit}{letter}", span_us % unit
    if units < 2 or letter == "s":
        return first
    if letter == "d":
        return f"{first} {rest // HOUR}h"
    return f"{first} {rest // (unit // 60):02}{'m' if letter == 'h' else 's'}"


def clock(then_us: int, zone: tzinfo | None, *, seconds: bool = False) -> str:
    """Return the time of day in `zone`, None being the system's: `20:15` or `20:15:02`; `--:--` where there is none."""
    at = _local(then_us, zone)
    if at is None:
        return "--:--:--" if seconds else "--:--"
    return f"{at:%H:%M:%S}" if seconds else f"{at:%H:%M}"


def moment(then_us: int, zone: tzinfo | None) -> str:
    """Return day and time of day in `zone`, None being the system's: `Sun 22 Nov 08:00`; `--` where there is none."""
    at = _local(then_us, zone)
    # strftime's names depend on the locale, which a library may have set.
    return "--" if at is None else f"{WEEKDAYS[at.weekday()]} {at.day} {_MONTHS[at.month - 1]} {at:%H:%M}"


def local_second(then_us: int) -> str:
    """Return an instant in the system's zone: `2025-01-02 11:23:54`; in UTC where that zone has no such year."""
    at = _local(then_us, None) or datetime.fromtimestamp(then_us // SECOND, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}"


def _local(then_us: int, zone: tzinfo | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(then_us // SECOND, zone)
    except (OverflowError, ValueError, OSError):
        return None


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 task`, `9 tasks`, `1,000,000 tasks`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(number_of_bytes: int) -> str:
    """Return a number of bytes for a person: `1.4 MB`."""
    import humanize  # only here: every command imports this module

    return humanize.naturalsize(number_of_bytes).replace("Byte", "byte")


def spent(tokens: int | None, cost_usd: float | None) -> str:
    """Return tokens and dollars in a few cells; empty when both are unknown."""
    parts = []
    if tokens is not None:
        parts.append(short_count(tokens))
    if cost_usd is not None:
        parts.append(f"${cost_usd:,.2f}")
    return " ".join(parts)


def short_count(number: int) -> str:
    """Return a number in at most four cells: `950`, `12k`, `3.4M`."""
    for unit, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= unit:
            return f"{number / unit:.1f}{letter}" if number < 10 * unit else f"{number // unit}{letter}"
    return str(number)


_UNITS: Final = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": WEEK}
_DAY_OR_TIME: Final = r"(today|yesterday)?\s*(?:(\d{1,2})(:\d\d(?::\d\d)?))?"
_ACCEPTED_FORMS: Final = "an age (90m, 8h, 2d), a time (18:00), `yesterday 18:00`, or a date with or without a time"


def past(text: str, now: int, zone: tzinfo | None = None) -> int:
    """Return the instant of a text: `8h`, `18:00` (the last one), `18:00:05`, `yesterday 18:00`, `2026-01-31 18:00`.

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
        raise ValueError(f"{text or repr(text)} is not an instant: give {_ACCEPTED_FORMS}")
    if instant > now:
        raise ValueError(f"{text} is in the future")
    return instant


def _instant(words: str, now: int, zone: tzinfo | None) -> int | None:
    if age := re.fullmatch(r"(\d{1,6})\s*([smhdw])(?: ago)?", words):
        return now - int(age[1]) * _UNITS[age[2]]
    if words and (meant := re.fullmatch(_DAY_OR_TIME, words)):
        today = datetime.fromtimestamp(now / SECOND, zone).date()
        clock = time.fromisoformat(f"{meant[2] or '':0>2}{meant[3] or ':00'}")
        at = datetime.combine(today - timedelta(meant[1] == "yesterday"), clock, zone)
        # A time alone means its last occurrence.
        return _microseconds(at if meant[1] or _microseconds(at) <= now else at - timedelta(1))
    instant = datetime.fromisoformat(words.upper())
    return _microseconds(instant if instant.tzinfo is not None else instant.replace(tzinfo=zone))


def _microseconds(at: datetime) -> int:
    return round(at.timestamp() * SECOND)
