"""Parses and formats the times and settings of a job as the human types them. Pure; instants are microseconds, UTC.

One line holds the times: a cron of five fields, dates, or nothing for a job that is run by hand. It also takes common
words: `every 15m`, `@daily`, `9:00 mon-fri`, `every day at 9`, `noon`, `tomorrow 18:25`, `in 2h`, and dates in English
such as `next friday 9:00`. The channel takes none of these words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.schedule import fire_times, policy
from tui_tasks.core.schedule.cron import FIELDS, Cron, ScheduleError, describe
from tui_tasks.core.schedule.fire_times import fires_between, parse_plan, zone_of
from tui_tasks.core.schedule.policy import Settings
from tui_tasks.core.schema.due_dates import DAYS, WEEKDAYS, parse_day
from tui_tasks.text.times import SECOND, YEAR, count

PREVIEWED: Final = 5
SETTINGS: Final = tuple(field.name for field in msgspec.structs.fields(Settings))
_EVERY: Final = re.compile(r"every\s+(\d{1,2})?\s*(m|min|minutes?|h|hours?)")
_DAILY: Final = re.compile(r"(\d{1,2}):(\d{2})")
_DAYS: Final = re.compile(r"(?:on\s+)?(?:(every|each)\s+)?([a-z]+(?:\s?[-,]\s?[a-z]+)*)")
_IN: Final = re.compile(r"in\s+(\d{1,4}|an?)\s*(m|min|minutes?|h|hours?|d|days?|w|weeks?)")
_DAY: Final = re.compile(r"(today|tomorrow)\s+(\d{1,2}):(\d{2})")
_NICKNAMES: Final = {
    "@hourly": Cron("0", "*", "*", "*", "*"),
    "@daily": Cron("0", "0", "*", "*", "*"),
    "@midnight": Cron("0", "0", "*", "*", "*"),
    "@weekly": Cron("0", "0", "*", "*", "0"),
    "@monthly": Cron("0", "0", "1", "*", "*"),
    "@yearly": Cron("0", "0", "1", "1", "*"),
    "@annually": Cron("0", "0", "1", "1", "*"),
}
_CLOCK_WORDS: Final = {"noon": "12:00", "midnight": "0:00"}
_CRON_FIELD: Final = re.compile(r"[\d*/,-]+")
_SETS_OF_DAYS: Final = {"day": "*", "weekday": "mon-fri", "weekend": "sat,sun"}
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Times:
    """When a job runs. `kind` is scheduled, planned or adhoc; `plan` holds ISO 8601 texts."""

    kind: str
    schedule: Mapping[str, str] | None = None
    plan: tuple[str, ...] | None = None


def read_times(text: str, zone: str, now: int, kind: str = "") -> Times:
    """Parse the times of a job; `kind` is that of an existing job.

    Raises:
        ScheduleError: the text is no times, or those of a job of another kind. The message is for people.
    """
    words = " ".join(text.split())
    place = zone_of(zone)
    if not words:
        times = Times("adhoc")
    elif cron := _cron(words):
        times = Times("scheduled", schedule={name: getattr(cron, name) for name in FIELDS})
    else:
        # Each once: a paste may repeat a date very often.
        parts = dict.fromkeys(part.strip() for part in re.split(r"[,;]", words) if part)
        times = Times("planned", plan=tuple(_date(part, place, now) for part in parts))
    if kind and times.kind != kind:
        needs = {"scheduled": "a cron of five fields", "planned": "dates", "adhoc": "no times: it is run by hand"}[kind]
        raise ScheduleError(f"this job is {kind} and takes {needs}")
    if times.plan is not None and not kind:
        parse_plan(times.plan, zone, now)
    return times


def _cron(words: str) -> Cron | None:
    """Return the cron; None when the words look like dates."""
    lower = words.lower()
    if lower.startswith("@"):
        if lower not in _NICKNAMES:
            raise ScheduleError(f"no schedule is called {words[:40]!r}; use one of {', '.join(_NICKNAMES)}")
        return _NICKNAMES[lower]
    if match := _EVERY.fullmatch(lower):
        number, unit = int(match[1] or 1), match[2][0]
        step = "*" if number == 1 else f"*/{number}"
        return Cron(step, "*", "*", "*", "*") if unit == "m" else Cron("0", step, "*", "*", "*")
    if cron := _on_days(_with_clock_times(lower)):
        return cron
    fields = words.split()
    # The date "24 december at 9 am" has five words too, but a cron's minutes and hours have no letters.
    if len(fields) == len(FIELDS) and all(_CRON_FIELD.fullmatch(field) for field in fields[:2]):
        return Cron(*fields)
    return None


def _on_days(words: str) -> Cron | None:
    """Return the cron of a time of day and the days that have it, in either order; None if they are no such words."""
    if match := _DAILY.fullmatch(words):
        return Cron(str(int(match[2])), str(int(match[1])), "*", "*", "*")
    for text in (words, _time_last(words)):
        named, at = _parted(text)
        if at is not None and (match := _DAYS.fullmatch(named)) and (days := _days(match[2], is_every=bool(match[1]))):
            return Cron(str(at.minute), str(at.hour), "*", "*", days)
    return None


def _days(words: str, *, is_every: bool) -> str | None:
    """Return the last field of a cron for days; None: there is none, or a single one, which is the next date of it."""
    if words == "daily":
        return "*"
    if (days := _SETS_OF_DAYS.get(words if is_every else words.removesuffix("s"))) and (
        is_every or words.endswith("s")
    ):
        return days
    names = re.split(r"\s?([-,])\s?", words)
    is_single = len(names) == 1 and not is_every and not (words.endswith("s") and words[:-1] in WEEKDAYS)
    for at in range(0, len(names), 2):
        name = names[at].removesuffix("s") if names[at][:-1] in WEEKDAYS else names[at]
        if name not in WEEKDAYS and name not in DAYS:
            return None
        names[at] = name[:3]
    return None if is_single else "".join(names)


def _with_clock_times(words: str) -> str:
    """Return the words with `noon` and `midnight` replaced by times of day."""
    return re.sub(r"\b(noon|midnight)\b", lambda word: _CLOCK_WORDS[word[1]], words)


def _date(text: str, place: ZoneInfo, now: int) -> str:
    """Return a date as ISO 8601, without an offset when it is in the job's zone.

    Raises:
        ScheduleError: the text is no date.
    """
    here = datetime.fromtimestamp(now // SECOND, place)
    lower = _with_clock_times(text.lower())
    if match := _IN.fullmatch(lower):
        ahead = timedelta(**{_UNITS[match[2][0]]: int(match[1]) if match[1].isdecimal() else 1})
        return (datetime.fromtimestamp(now // SECOND, zone_of("UTC")) + ahead).isoformat()
    if match := _DAY.fullmatch(lower):
        day = here.date() + timedelta(days=match[1] == "tomorrow")
        return f"{day.isoformat()}T{int(match[2]):02}:{match[3]}"
    if re.match(r"\d{4}", text):
        return text
    date_ = read_date(lower, here.replace(tzinfo=None))
    if date_ is None:
        raise ScheduleError(
            f"no times {text[:40]!r}: give five fields of a cron, dates such as 2026-03-01 09:00 or next friday 9:00, "
            "9:00 mon-fri, or every day at 9"
        )
    return date_.isoformat(timespec="minutes")


def preview(times: Times, zone: str, now: int) -> tuple[str, list[int]]:
    """Return times in words, and the next five of them.

    Raises:
        ScheduleError: the schedule or a date is invalid.
    """
    if times.schedule is not None:
        cron = Cron.parse(times.schedule)
        return describe(cron), fires_between(cron, zone, now, now + 100 * YEAR, PREVIEWED)
    if times.plan is not None:
        instants = parse_plan(times.plan, zone, -(2**62))
        return count(len(instants), "date"), [instant for instant in instants if instant >= now][:PREVIEWED]
    return "run by hand", []


def written(job: Job) -> str:
    """Return a job's times in the form in which they are typed."""
    cron = fire_times.cron_of(job)
    if cron is not None:
        return str(cron)
    zone = zone_of(job.timezone)
    return ", ".join(_iso(instant, zone) for instant in job.plan or ())


def _iso(instant: int, zone: ZoneInfo) -> str:
    at = datetime.fromtimestamp(instant // SECOND, zone).replace(microsecond=instant % SECOND)
    text = at.isoformat(sep=" ", timespec="auto")
    # The offset is kept when the clock shows this time twice, and the seconds when they are not 0.
    naive = at.replace(tzinfo=None).isoformat(sep=" ")
    short = naive.removesuffix(":00")
    return short if parse_plan([naive.replace(" ", "T")], zone.key, -(2**62)) == (instant,) else text


def read_settings(text: str) -> dict[str, Any]:
    """Parse `timeout=300 retries=2` to settings by name.

    Raises:
        InvalidArgument: there is no such setting, or it does not take the value.
    """
    settings: dict[str, Any] = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals or name not in SETTINGS:
            raise InvalidArgument(name, f"{name[:30]}: settings are {', '.join(SETTINGS)}")
        settings[name] = int(value) if re.fullmatch(r"-?\d{1,15}", value) and name != "runner" else value
    policy.changed_settings({}, settings)
    return settings


def written_settings(job: Job) -> str:
    """Return the settings that differ from their default, in the form in which they are typed."""
    return " ".join(f"{name}={value}" for name, value in job.settings.items() if value != "")


def changed_settings(job: Job | None, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes that give a job the typed settings, and all others their default."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(Settings)}
    dropped = {name: defaults[name] for name in (job.settings if job is not None else ()) if name not in typed}
    return {**dropped, **typed}


# Dates in English as a person types them: `next friday 9:00`, `24 december at 6 pm`, `9am tomorrow`, `3d`. Pure.
#
# Words for a day are those of `due:` in quick add (`due_dates.parse_day`).


_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_FULL_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_TIME: Final = re.compile(
    r"(?:^|\s)(?:at\s+(\d{1,2})|(?:at\s+)?(\d{1,2}):(\d{2})|(?:at\s+)?(\d{1,2})\s*(?=[ap]m))\s*(am|pm)?$"
)
_TIME_FIRST: Final = re.compile(r"((?:at\s+)?\d{1,2}(?::\d{2})?\s*(?:am|pm)?)\s+(?:on\s+)?(.*[a-z].*)")
_NAMED_DAY: Final = re.compile(r"(?:(?:on|this|next)\s+)?(\w+)")
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
            read = _day(day, now.date(), ahead)
            if read is None:
                continue
            whole = datetime.combine(read, at or time())
            if whole > now or day.endswith(str(read.year)):
                return whole
    return None


def _time_last(words: str) -> str:
    """Return `9am tomorrow` as `tomorrow 9am`."""
    match = _TIME_FIRST.fullmatch(words)
    return f"{match[2]} {match[1]}" if match else words


def _parted(words: str) -> tuple[str, time | None]:
    """Return the words for a day, and the time of day at their end."""
    match = _TIME.search(words)
    if match is None:
        return words, None
    hour, minute = int(match[1] or match[2] or match[4]), int(match[3] or 0)
    if match[5] is not None:
        if not 1 <= hour <= 12:
            return words, None
        hour = hour % 12 + 12 * (match[5] == "pm")
    return (words[: match.start()].strip(), time(hour, minute)) if hour < 24 and minute < 60 else (words, None)


def _next_time(at: time, now: datetime) -> datetime:
    today = datetime.combine(now.date(), at)
    return today if today > now else today + timedelta(1)


def _day(words: str, today: date, ahead: int) -> date | None:
    """Return the day that words name; a date without a year is in the year so many years ahead."""
    if named := _NAMED_DAY.fullmatch(words):
        return parse_day(named[1], today) if ahead == 0 else None
    if match := _DATE.fullmatch(words):
        day, month, year = match.groups()
    elif match := _MONTH_FIRST.fullmatch(words):
        month, day, year = match.groups()
    else:
        return None
    if month not in (*_MONTHS, *_FULL_MONTHS, "sept") or (year and ahead):
        return None
    try:
        return date(int(year) if year else today.year + ahead, _MONTHS.index(month[:3]) + 1, int(day))
    except ValueError:
        return None
