"""The fields of a task that no dialect has, each declared once: name, type, help, and its conversion to text.

The snapshot (`snapshots.Task`) has their types, and a schema step makes their columns. Everything else follows from
here: their place in JSON, the arguments of `control:update_task`, the syntax of quick add (`due:fri`), the filter word,
the row of a form and what commands and screens show. `now` is local time everywhere: days begin and end where the user
is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from tui_tasks.core.schema import due_dates, task_links
from tui_tasks.core.schema.due_dates import Range, bounds, compared


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
ANY: Final = "any"
"""The filter's word for any value, of a field without an order."""

_DAY: Final = 86_400_000_000
_SPAN: Final = r"(?:(\d{1,5})h)?(?:(\d{1,6})m?)?"
_MAX_MINUTES: Final = 525_600
_ESTIMATE: Final = f"estimate takes minutes, such as 90, 45m or 1h30m, up to {_MAX_MINUTES:,}"


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


def _write_estimate(minutes: int, _: datetime) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours}h" * bool(hours) + f"{rest}m" * bool(rest)


def _format_estimate(minutes: int, _: datetime) -> str:
    """Return `estimate 1h 30m`."""
    hours, rest = divmod(minutes, 60)
    return " ".join(["estimate", *[f"{hours:,}h"] * bool(hours), *[f"{rest}m"] * bool(rest)])


def _estimate_ranges(word: str, now: datetime) -> list[Range]:
    """Read `90`, `<1h` or `>=45m`."""
    sign, rest = compared(word)
    try:
        minutes = parse_estimate(rest, now)
        return [Range(*bounds(sign, minutes, minutes + 1))]
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
            due_dates.parse_due,
            due_dates.write,
            due_dates.short,
            due_dates.long,
            due_dates.ranges,
            ("today", "tomorrow", due_dates.LATE[0], "<1w", NONE, *due_dates.DAYS),
            "fri",
            is_late=due_dates.is_overdue,
            lasts=due_dates.lasts,
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
            task_links.parse,
            task_links.write,
            task_links.short,
            task_links.long,
            _link_ranges,
            (ANY, NONE),
            "branch:NAME",
            none=(),
            load=task_links.load,
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
