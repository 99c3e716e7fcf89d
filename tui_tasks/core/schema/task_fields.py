"""The fields of a task that no dialect has, each declared once: name, type, help, and its conversion to text.

The snapshot (`snapshots.Task`) has their types, and a schema step makes their columns. Everything else follows from
here: their place in JSON, the arguments of `control:update_task`, the syntax of quick add (`due:fri`), the filter word,
the row of a form and what commands and screens show. `now` is local time everywhere: days begin and end where the user
is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from typing import Any, Final, NamedTuple

from tui_tasks.core.schema import work_links


class Range(NamedTuple):
    """Values from `low` up to but not including `high`; None: no bound.

    `is_date`: only dates (True), or only instants (False) match; None: both.
    """

    low: Any
    high: Any
    is_date: bool | None = None


class TaskField:
    """A field of a task. A plain class, as making a `NamedTuple` takes longer than the rest of this module.

    Attributes:
        name: its name, in JSON and in the database.
        type: the type of its values.
        help: its description.
        parse: converts a text; `now` is local time. Raises ValueError with a message about accepted texts.
        write: returns a text that `parse` accepts.
        short: returns a short text for people.
        long: returns a longer text for people.
        ranges: returns the values that a word of a filter matches; raises ValueError as `parse` does.
        suggested: words for filters, to suggest.
        example: an example of its value in quick add.
        is_late: whether an open task with the value is marked as late.
        lasts: for how many microseconds the texts of `short` and `long` stay valid.
        none: the value of a task that has none.
        load: converts a JSON value; None: `parse` converts its text.
    """

    def __init__(
        self,
        name: str,
        type: type,
        help: str,
        parse: Callable[[str, datetime], Any],
        write: Callable[[Any, datetime], str],
        short: Callable[[Any, datetime], str],
        long: Callable[[Any, datetime], str],
        ranges: Callable[[str, datetime], list[Range]],
        suggested: tuple[str, ...],
        example: str,
        *,
        is_late: Callable[[Any, datetime], bool] = lambda _value, _now: False,
        lasts: Callable[[Any, datetime], int] = lambda _value, _now: _DAY,
        none: Any = None,
        load: Callable[[Any, datetime], Any] | None = None,
    ) -> None:
        self.name, self.type, self.help, self.example = name, type, help, example
        self.parse, self.load, self.write, self.none = parse, load, write, none
        self.short, self.long, self.lasts = short, long, lasts
        self.ranges, self.suggested, self.is_late = ranges, suggested, is_late

    def from_json(self, value: Any, now: datetime) -> Any:
        """Return the value that a tool or a file gives.

        Raises:
            ValueError: the value is invalid; the message says what the field takes.
        """
        return self.load(value, now) if self.load is not None else self.parse(str(value), now)


NONE: Final = "none"
"""The word for no value, in quick add and in filters."""
OVERDUE: Final = "overdue"
"""The filter's word for the open tasks whose value is late."""
ANY: Final = "any"
"""The filter's word for any value, of a field without an order."""

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WORDS: Final = {"today": 0, "tomorrow": 1, "yesterday": -1}
_AHEAD: Final = r"(\d{1,4})([dw])"
_DUE: Final = "due takes a date (2026-01-31), an instant (2026-01-31T17:00+01:00), today, tomorrow, fri, 3d or 2w"
_DUE_FILTER: Final = "due: takes overdue, none, or a day (today, fri, 3d, 2w, 2026-01-31), < or > before it"
_DAY: Final = 86_400_000_000
_SPAN: Final = r"(?:(\d{1,5})h)?(?:(\d{1,6})m?)?"
_MAX_MINUTES: Final = 525_600
_ESTIMATE: Final = f"estimate takes minutes from 1 to {_MAX_MINUTES:,}, such as 90, 45m or 1h30m"


def parse_due(text: str, now: datetime) -> str:
    """Return a date unchanged, an instant in UTC with milliseconds; both sort as text. The default offset is local.

    Raises:
        ValueError: it is neither, nor a word that means one.
    """
    word = text.strip().lower()
    if (day := parse_day(word, now.date())) is not None:
        return day.isoformat()
    try:
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
    if word[:3] in _DAYS and word in _weekdays():
        return today + timedelta((_DAYS.index(word[:3]) - today.weekday() - 1) % 7 + 1)
    if ahead := re.fullmatch(_AHEAD, word):
        try:
            return today + timedelta(int(ahead[1]) * (7 if ahead[2] == "w" else 1))
        except OverflowError:
            return None
    return None


def _weekdays() -> frozenset[str]:
    names = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    return frozenset((*names, *_DAYS))


def is_overdue(due: str, now: datetime) -> bool:
    """Return whether a due date is over, or a due instant has come. A date ends with the local day; `now` is local."""
    if len(due) == 10:
        return due < now.date().isoformat()
    return datetime.fromisoformat(due) <= now


def parse_estimate(text: str, _: datetime) -> int:
    """Return minutes.

    Raises:
        ValueError: it is not a duration, or out of bounds.
    """
    word = text.strip().lower()
    span = re.fullmatch(_SPAN, word) if word else None
    minutes = int(span[1] or 0) * 60 + int(span[2] or 0) if span else 0
    if not 1 <= minutes <= _MAX_MINUTES:
        raise ValueError(_ESTIMATE)
    return minutes


def local_time(now: int, zone: tzinfo | None = None) -> datetime:
    """Return an instant (microseconds since the epoch) as local time in `zone`, None being the system's."""
    return datetime.fromtimestamp(now / 1_000_000, UTC).astimezone(zone)


def _write_due(due: str, now: datetime) -> str:
    return due if _is_date(due) else _local_time_of(due, now).isoformat(timespec="minutes")


def _short_due(due: str, now: datetime) -> str:
    """Return `due in 2d`, `due today` or `overdue 3d`."""
    from tui_tasks.text import times

    if _is_date(due):
        days = (date.fromisoformat(due) - now.date()).days
        day_text = "today" if not days else times.due(days * times.DAY, 0)
    else:
        day_text = times.due(_microseconds(datetime.fromisoformat(due)), _microseconds(now))
    return day_text if day_text.startswith(OVERDUE) else f"due {day_text}"


def _long_due(due: str, now: datetime) -> str:
    """Return it with the date: `due in 2d (Sat 2026-01-31)`, `due in 3h (Sat 2026-01-31 17:00)`."""
    at = date.fromisoformat(due) if _is_date(due) else _local_time_of(due, now)
    time = "" if _is_date(due) else f" {at:%H:%M}"
    return f"{_short_due(due, now)} ({_DAYS[at.weekday()].title()} {at.isoformat()[:10]}{time})"


def _due_lasts(due: str, now: datetime) -> int:
    from tui_tasks.text import times

    if _is_date(due):
        return max(_microseconds(_start_of_day(now.date() + timedelta(1), now)) - _microseconds(now), 1)
    return times.age_lasts(_microseconds(datetime.fromisoformat(due)), _microseconds(now))


def _due_ranges(word: str, now: datetime) -> list[Range]:
    """Read `today`, `fri`, `2026-01-31`, `<3d`, `>=1w` or `overdue` as a range of dates and one of instants."""
    today = now.date()
    if word == OVERDUE:
        return [Range(None, today.isoformat(), True), Range(None, _utc_text(now + timedelta(milliseconds=1)), False)]
    sign, rest = _compared(word)
    day = parse_day(rest, today)
    try:
        day = day or date.fromisoformat(rest)
        first, last = _bounds(sign, day, day + timedelta(1))
        begun, ended = (_utc_text(_start_of_day(each, now)) if each else None for each in (first, last))
    except (ValueError, OverflowError):
        raise ValueError(_DUE_FILTER) from None
    dates = Range(first and first.isoformat(), last and last.isoformat(), True)
    return [dates, Range(begun, ended, False)]


def _is_date(due: str) -> bool:
    return len(due) == 10


def _local_time_of(due: str, now: datetime) -> datetime:
    try:
        return datetime.fromisoformat(due).astimezone(now.tzinfo)
    except OverflowError:
        return datetime.fromisoformat(due)


def _start_of_day(day: date, now: datetime) -> datetime:
    return datetime.combine(day, time_of_day(), now.tzinfo)


def _utc_text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")


def _microseconds(at: datetime) -> int:
    return (at - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)


def _compared(word: str) -> tuple[str, str]:
    """Split `<=3d` into its sign and the rest; an empty sign means equal."""
    rest = word.strip().lower().lstrip("<>=")
    return word.strip().lower().removesuffix(rest), rest


def _bounds(sign: str, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the bounds of the values for which the sign holds; equal are those from `low` to before `high`."""
    ranges = {"": (low, high), "<": (None, low), "<=": (None, high), ">": (high, None), ">=": (low, None)}
    if sign not in ranges:
        raise ValueError(sign)
    return ranges[sign]


def _write_estimate(minutes: int, _: datetime) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours}h" * bool(hours) + f"{rest}m" * bool(rest)


def _format_estimate(minutes: int, _: datetime) -> str:
    """Return `estimate 1h 30m`."""
    hours, rest = divmod(minutes, 60)
    return " ".join(["estimate", *[f"{hours:,}h"] * bool(hours), *[f"{rest}m"] * bool(rest)])


def _estimate_ranges(word: str, now: datetime) -> list[Range]:
    """Read `90`, `<1h` or `>=45m`."""
    sign, rest = _compared(word)
    try:
        minutes = parse_estimate(rest, now)
        return [Range(*_bounds(sign, minutes, minutes + 1))]
    except ValueError:
        raise ValueError(f"{_ESTIMATE}; < and > before it, or none") from None


def _link_ranges(word: str, _: datetime) -> list[Range]:
    """Read `any` as the range of JSON texts of links that are not empty."""
    if word.strip().lower() != ANY:
        raise ValueError(f"links: takes {ANY} or {NONE}")
    return [Range("[{", None)]


FIELDS: Final[dict[str, TaskField]] = {
    field.name: field
    for field in (
        TaskField(
            "due",
            str,
            "When it is to be done: a date, or an instant (ISO 8601).",
            parse_due,
            _write_due,
            _short_due,
            _long_due,
            _due_ranges,
            ("today", "tomorrow", OVERDUE, "<1w", NONE, *_DAYS),
            "fri",
            is_late=is_overdue,
            lasts=_due_lasts,
        ),
        TaskField(
            "estimate",
            int,
            "How long it is thought to take, in minutes.",
            parse_estimate,
            _write_estimate,
            _format_estimate,
            _format_estimate,
            _estimate_ranges,
            ("<1h", ">1h", NONE),
            "1h30m",
        ),
        TaskField(
            "links",
            tuple,
            "The branch, commits, pull request and files that it is about.",
            work_links.parse,
            work_links.write,
            work_links.short,
            work_links.long,
            _link_ranges,
            (ANY, NONE),
            "branch:NAME",
            none=(),
            load=work_links.load,
        ),
    )
}
SYNTAX: Final = " ".join(f"{field.name}:{field.example}" for field in FIELDS.values())
"""Examples of the fields in quick add, for hints: `due:fri estimate:1h30m`."""


def read(name: str, text: str, now: datetime) -> Any:
    """Return the value of a field that a person typed; `none` and "" mean no value.

    Raises:
        ValueError: the value is invalid; the message says what the field takes.
    """
    field = FIELDS[name]
    return field.none if text.strip().lower() in ("", NONE) else field.parse(text, now)


def of(task: Any) -> dict[str, Any]:
    """Return the fields of which a task, or an object with its attributes, has a value."""
    values = {name: getattr(task, name, field.none) for name, field in FIELDS.items()}
    return {name: value for name, value in values.items() if value != FIELDS[name].none}
