"""Five-field cron expressions on the wall clock, without zones: parse, enumerate, and describe in English.

The fields and their errors are those of the `scheduler` tools (`schedule` of `create_scheduled_task`); their meaning is
that of Vixie cron. `fire_times` says what a time means where clocks change. croniter and cron_descriptor take tens of
milliseconds to import, so they are imported where they are used.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple, Self

DAY_SECONDS = 86_400
MAX_FIELD = 256
FIELDS: dict[str, tuple[int, int]] = {
    "minute": (0, 59),
    "hour": (0, 23),
    "day": (1, 31),
    "month": (1, 12),
    "weekday": (0, 7),
}

SIZES = {"minute": 60, "hour": 24, "day": 31, "month": 12, "weekday": 7}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES = {
    "month": {name: number for number, name in enumerate(MONTHS, start=1)},
    "weekday": {name: number for number, name in enumerate(WEEKDAYS)},
}
_LONGEST = dict.fromkeys(range(1, 13), 31) | {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
_TERM = re.compile(r"(?:\*|([0-9a-z]+)(?:-([0-9a-z]+))?)(?:/([0-9]+))?", re.IGNORECASE | re.ASCII)
_EPOCH = datetime(1970, 1, 1)


class ScheduleError(ValueError):
    """An invalid schedule, plan, zone or policy. The message is for a human.

    `field` names the part at fault ("minute", "timezone", ...); it is "" if each part is valid but not all together.
    `index` is the place in a plan, otherwise None.
    """

    def __init__(self, message: str, *, field: str = "", index: int | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.index = index

    @property
    def argument(self) -> str:
        """Return the path of the part at fault in a job's fields."""
        if self.index is not None:
            return f"plan[{self.index}]"
        if self.field in ("plan", "timezone"):
            return self.field
        return f"schedule.{self.field}" if self.field else "schedule"


class Rule(NamedTuple):
    """A parsed cron: the numbers of each field (Sunday is 0), and how its dates are combined.

    `times` are seconds of the day; `dates` is the text by which croniter is asked for the dates; `either` says that
    days and weekdays are combined by "or".
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    either: bool
    times: tuple[int, ...]
    dates: str


@dataclass(frozen=True, slots=True)
class Cron:
    """Five cron fields, each as written; an instance is always valid and fires some day.

    A field is a list of numbers, `a-b` ranges and `*`, the latter two with a step `/n`; month and weekday also take
    three-letter English names, and weekday 7 is Sunday. Nothing else that other crons accept is accepted (`?`, `L`,
    `#`, `5/10`, seconds).

    As in Vixie cron, day and weekday are combined by "or" if neither begins with `*`, otherwise by "and": `1` and `mon`
    fire on the 1st and on Mondays, `*/2` and `mon` on those Mondays whose day of the month is odd.

    Raises:
        ScheduleError: with `field` if one field is wrong by itself, with "" if all five together never fire
            (31 February).
    """

    minute: str
    hour: str
    day: str
    month: str
    weekday: str

    def __post_init__(self) -> None:
        rule_of(self)

    def __str__(self) -> str:
        return f"{self.minute} {self.hour} {self.day} {self.month} {self.weekday}"

    @classmethod
    def parse(cls, fields: Mapping[str, object]) -> Self:
        """Return a Cron from the five named fields, each a str or an int (docs: scheduling).

        Raises:
            ScheduleError: `field` is the one that is missing, unknown or wrong.
        """
        if not isinstance(fields, Mapping):
            raise ScheduleError(f"a schedule has five fields: {', '.join(FIELDS)}")
        for name in FIELDS:
            if name not in fields:
                raise ScheduleError(f"{name} is missing: a schedule has all five fields", field=name)
        for unknown in fields:
            if unknown not in FIELDS:
                raise ScheduleError(f"{_quote(unknown)} is not a field of a schedule", field=str(unknown)[:40])
        return cls(*(_text(name, fields[name]) for name in FIELDS))

    @property
    def fixed(self) -> bool:
        """Return whether this names times of the day, and not an interval.

        As in Vixie cron: neither minute nor hour begins with `*`. It decides how a change of clocks affects the
        schedule (see `fire_times.next_fire`).
        """
        return not (self.minute.startswith("*") or self.hour.startswith("*"))


def errors(fields: Mapping[str, object]) -> Iterator[ScheduleError]:
    """Yield what is wrong with the fields of a schedule; what is missing or unknown is left to the caller."""
    wrong = 0
    for name in FIELDS:
        try:
            if name in fields:
                values_of(name, _text(name, fields[name]))
        except ScheduleError as error:
            wrong += 1
            yield error
    if not wrong and fields.keys() == set(FIELDS):
        try:
            Cron.parse(fields)
        except ScheduleError as error:
            yield error


def nominal(cron: Cron, start: int, stop: int) -> Iterator[int]:
    """Yield the times that `cron` names on a wall clock, ascending, `start <= time < stop`.

    Times are seconds from 1970-01-01T00:00 as that clock reads, in any zone.
    """
    if start >= stop:
        return
    times = rule_of(cron).times
    for day in dates(cron, start // DAY_SECONDS):
        midnight = day * DAY_SECONDS
        if midnight >= stop:
            return
        for second in times[bisect_left(times, start - midnight) :]:
            if midnight + second >= stop:
                return
            yield midnight + second


def dates(cron: Cron, first: int) -> Iterator[int]:
    """Yield the dates on which `cron` may fire, ascending, from `first`; as days since 1970-01-01.

    It ends only with the calendar. Successive dates are at most 40 years apart (29 February on a given weekday, around
    2100).
    """
    from croniter import CroniterBadDateError, croniter

    rule = rule_of(cron)
    try:
        start = _EPOCH + timedelta(days=first, minutes=-1)
        moments = croniter(rule.dates, start, ret_type=datetime, day_or=rule.either)
        while True:
            yield (moments.get_next() - _EPOCH).days
    except (CroniterBadDateError, OverflowError, ValueError):
        return


@lru_cache(maxsize=1024)
def rule_of(cron: Cron) -> Rule:
    """Return what the fields of a cron mean.

    Raises:
        ScheduleError: a field is wrong, or it never fires.
    """
    minutes, hours, days, months, weekdays = (values_of(name, getattr(cron, name)) for name in FIELDS)
    either = not (cron.day.startswith("*") or cron.weekday.startswith("*"))
    possible = any(days[0] <= _LONGEST[month] for month in months)
    if not either and not possible:
        raise ScheduleError(f"this schedule never fires: there is no day {days[0]} in {month_words(months)}")
    # croniter takes a full list for `*` and combines by "and"; up to 6.0 it gives up if one side is impossible.
    if either and (len(days) == 31 or len(weekdays) == 7):
        days, weekdays, either = values_of("day", "*"), values_of("weekday", "*"), False
    elif either and not possible:
        days, either = values_of("day", "*"), False
    asked = (_joined_numbers("day", days), _joined_numbers("month", months), _joined_numbers("weekday", weekdays))
    times = tuple(hour * 3600 + minute * 60 for hour in hours for minute in minutes)
    return Rule(minutes, hours, days, months, weekdays, either, times, " ".join(("0", "0", *asked)))


def _joined_numbers(field: str, values: tuple[int, ...]) -> str:
    return "*" if len(values) == SIZES[field] else ",".join(map(str, values))


def _text(field: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > 9999:
            raise ScheduleError(f"{field} is out of range", field=field)
        return str(value)
    raise ScheduleError(f"{field} must be a string or an integer", field=field)


def values_of(field: str, text: str) -> tuple[int, ...]:
    """Return the numbers that one field names, ascending; Sunday is 0.

    Raises:
        ScheduleError: it is not a valid field.
    """
    if len(text) > MAX_FIELD:
        raise ScheduleError(f"{field} is longer than {MAX_FIELD} characters", field=field)
    if not text:
        raise ScheduleError(f"{field} is empty: write * for every {field}", field=field)
    if any(character.isspace() for character in text):
        raise ScheduleError(f"{field} {_quote(text)} contains white space", field=field)
    values: set[int] = set()
    for term in text.split(","):
        values.update(_term(field, term))
    if field == "weekday":
        values = {number % 7 for number in values}
    return tuple(sorted(values))


def _term(field: str, term: str) -> range:
    match = _TERM.fullmatch(term)
    if match is None:
        forms = "a number, a-b, a list of them, *, or a step such as */5 or 0-30/5"
        raise ScheduleError(f"{field} {_quote(term)} is not cron: use {forms}", field=field)
    start, end, every = match.groups()
    if start is not None and end is None and every is not None:
        ranged = f"{start[:9]}-{FIELDS[field][1]}/{every[:9]}"
        raise ScheduleError(f"{field} {_quote(term)}: a step needs a range, such as {ranged}", field=field)
    low, high = FIELDS[field]
    if start is not None:
        low = _number(field, start)
        high = low if end is None else _number(field, end)
        if end is not None and high == 0 < low and end.lower() == "sun":
            high = 7
    if high < low:
        raise ScheduleError(f"{field} {_quote(term)} runs backwards", field=field)
    step = 1 if every is None else int(every)
    # A step longer than the field would not do what it says: */90 would fire every hour.
    if not 1 <= step <= SIZES[field]:
        raise ScheduleError(f"{field} {_quote(term)}: a step is 1 to {SIZES[field]}", field=field)
    return range(low, high + 1, step)


def _number(field: str, text: str) -> int:
    low, high = FIELDS[field]
    names = _NAMES.get(field, {})
    if text.lower() in names:
        return names[text.lower()]
    if not text.isdigit():
        known = f"; use one of {', '.join(names)}" if names else ""
        raise ScheduleError(f"{field} {_quote(text)} is not a number{known}", field=field)
    if not low <= int(text) <= high:
        raise ScheduleError(f"{field} {_quote(text)} is out of range: {low} to {high}", field=field)
    return int(text)


def _quote(text: object) -> str:
    quoted = str(text)
    return repr(quoted if len(quoted) <= 40 else quoted[:39] + "…")


def month_words(months: tuple[int, ...]) -> str:
    """Return months as "Jan–Mar" or "Jan, Mar"."""
    return spans(months, ("", *MONTHS))


def spans(numbers: Iterable[int], names: tuple[str, ...]) -> str:
    """Return "Mon–Fri" for three or more in a row, otherwise "Mon, Wed"."""
    order = sorted(numbers)
    words = [names[number].title() for number in order]
    if len(order) > 2 and order[-1] - order[0] == len(order) - 1:
        return f"{words[0]}–{words[-1]}"
    return ", ".join(words)


def describe(cron: Cron) -> str:
    """Return the schedule in English, 24-hour clock: "every 15 minutes", "09:00 Mon–Fri".

    cron_descriptor describes what has no short form. The text names no zone.
    """
    rule, interval = rule_of(cron), _interval_words(cron)
    days = _day_words(rule)
    if days is not None and interval:
        return f"{interval}, {days}" if days else interval
    if days is not None and len(rule.times) <= 4:
        clock = ", ".join(f"{second // 3600:02}:{second // 60 % 60:02}" for second in rule.times)
        return f"{clock} {days or 'daily'}"
    return _long_words(cron, rule)


def _interval_words(cron: Cron) -> str:
    """Return a description of minute and hour if they make an even interval, otherwise ""."""
    minutes, hours = rule_of(cron).minutes, rule_of(cron).hours
    if len(hours) == 24 and _even("minute", cron.minute):
        return _every(60 // len(minutes), "minute") if len(minutes) > 1 else "every hour"
    if len(minutes) == 1 and len(hours) > 1 and _even("hour", cron.hour):
        at = f" at :{minutes[0]:02}" if minutes[0] else ""
        return _every(24 // len(hours), "hour") + at
    return ""


def _every(count: int, unit: str) -> str:
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"


def _even(field: str, text: str) -> bool:
    """Return whether the field is `*`, or `*/n` with an n that divides its size; only these are even intervals."""
    if text == "*":
        return True
    return text.startswith("*/") and text[2:].isdigit() and SIZES[field] % int(text[2:]) == 0


def _day_words(rule: Rule) -> str | None:
    """Return a description of the three date fields: "" for every day, None without a short form."""
    all_days, all_weekdays = len(rule.days) == 31, len(rule.weekdays) == 7
    if len(rule.months) == 12 and all_days:
        return "" if all_weekdays else _weekday_words(rule.weekdays)
    if all_weekdays and len(rule.days) <= 3:
        if len(rule.months) == 12:
            return f"on day {', '.join(map(str, rule.days))}"
        if len(rule.days) == len(rule.months) == 1:
            return f"on {rule.days[0]} {month_words(rule.months)}"
    return None


def _weekday_words(weekdays: tuple[int, ...]) -> str:
    return spans([(number or 7) for number in weekdays], ("", *WEEKDAYS[1:], WEEKDAYS[0]))


def _long_words(cron: Cron, rule: Rule) -> str:
    from cron_descriptor import Options, get_description  # type: ignore[import-untyped]  # it has no types

    fields = {name: _wordy(name, getattr(cron, name)) for name in FIELDS}
    tail = ""
    if len(rule.days) < 31 and len(rule.weekdays) < 7:
        # cron_descriptor does not distinguish "and" from "or" here.
        tail = f", {'or' if rule.either else 'but only'} on {_weekday_words(rule.weekdays)}"
        tail += "" if len(rule.months) == 12 else f", in {month_words(rule.months)}"
        fields |= {"month": "*", "weekday": "*"}
    else:
        full = {"day": len(rule.days) == 31, "weekday": len(rule.weekdays) == 7}
        fields |= {name: "*" for name, is_full in full.items() if is_full}
    options = Options(use_24hour_time_format=True, locale_code="en_US")
    words = str(get_description(" ".join(fields.values()), options))
    return words[:1].lower() + words[1:] + tail


def _wordy(field: str, text: str) -> str:
    """Return the field in a form that cron_descriptor describes correctly: it takes every step for an even one."""
    values = values_of(field, text)
    if len(values) == SIZES[field]:
        return "*"
    listed = "/" in text and not _even(field, text) and len(values) <= 16
    return ",".join(map(str, values)) if listed else text
