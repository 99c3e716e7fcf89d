"""The fields of a task that no dialect has, each declared once: its name, type, words, and how text becomes its value.

The snapshot (`snapshots.Task`) types them, a schema step makes their columns. Their place in JSON, the arguments of
`control:update_task`, the syntax of quick add (`due:fri`), the filter word and the row of a form follow from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, NamedTuple


class TaskField(NamedTuple):
    """A field. `parse` takes a text and the local time, and raises ValueError saying what it takes; "" is no value."""

    name: str
    type: type
    help: str
    parse: Callable[[str, datetime], Any]


_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WORDS: Final = {"today": 0, "tomorrow": 1, "yesterday": -1}
_AHEAD: Final = re.compile(r"(\d{1,4})([dw])")
_DUE: Final = "due takes a date (2026-01-31), an instant (2026-01-31T17:00+01:00), today, tomorrow, fri, 3d or 2w"
_SPAN: Final = re.compile(r"(?:(\d{1,5})h)?(?:(\d{1,6})m?)?")
_MOST_MINUTES: Final = 525_600
_ESTIMATE: Final = f"estimate takes minutes from 1 to {_MOST_MINUTES:,}, such as 90, 45m or 1h30m"


def parse_due(text: str, now: datetime) -> str:
    """Return a date as it is, an instant in UTC with milliseconds; both sort as text. Without an offset: local time.

    Raises:
        ValueError: it is neither of these, nor a word that means one of them.
    """
    word = text.strip().lower()
    if (day := _day(word, now.date())) is not None:
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


def _day(word: str, today: date) -> date | None:
    if word in _WORDS:
        return today + timedelta(_WORDS[word])
    if word[:3] in _DAYS and word in _weekdays():
        return today + timedelta((_DAYS.index(word[:3]) - today.weekday() - 1) % 7 + 1)
    if ahead := _AHEAD.fullmatch(word):
        try:
            return today + timedelta(int(ahead[1]) * (7 if ahead[2] == "w" else 1))
        except OverflowError:
            return None
    return None


def _weekdays() -> frozenset[str]:
    names = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    return frozenset((*names, *_DAYS))


def is_overdue(due: str, now: datetime) -> bool:
    """Whether a due date is over, or a due instant has come. `now` is local time: a date ends with the local day."""
    if len(due) == 10:
        return due < now.date().isoformat()
    return datetime.fromisoformat(due) <= now


def parse_estimate(text: str, _: datetime) -> int:
    """Return minutes.

    Raises:
        ValueError: it is no span, or out of bounds.
    """
    word = text.strip().lower()
    span = _SPAN.fullmatch(word) if word else None
    minutes = int(span[1] or 0) * 60 + int(span[2] or 0) if span else 0
    if not 1 <= minutes <= _MOST_MINUTES:
        raise ValueError(_ESTIMATE)
    return minutes


FIELDS: Final[dict[str, TaskField]] = {
    field.name: field
    for field in (
        TaskField("due", str, "When it is to be done: a date, or an instant (ISO 8601).", parse_due),
        TaskField("estimate", int, "How long it is thought to take, in minutes.", parse_estimate),
    )
}
