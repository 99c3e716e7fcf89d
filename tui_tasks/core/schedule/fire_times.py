"""When jobs are due. Pure functions: the clock is an argument.

An instant is an int, microseconds since 1970-01-01T00:00Z; a zone is an IANA name; durations are seconds. `cron` says
what cron fields mean, and `policy` what becomes of a due time. The rules are those of the `scheduler` tools (docs:
scheduling): for scheduled jobs (`next_fire`, `fires_between`) and planned jobs (`parse_plan`).
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.schedule import cron as cron_fields
from tui_tasks.core.schedule.cron import DAY_SECONDS, Cron, ScheduleError, dates, nominal
from tui_tasks.text.times import SECOND

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo


_YEARS_AHEAD = 100
_LAST_YEAR = 9998
_EPOCH = datetime(1970, 1, 1)
_PLANNED = re.compile(r"[0-9W-]{8,10}[T ][0-9:.,]{2,15}(Z|[+-][0-9:]{2,8})?", re.IGNORECASE | re.ASCII)


def zone_of(name: str) -> ZoneInfo:
    """Return the zone with this IANA name.

    Raises:
        ScheduleError: (`field` "timezone") there is none.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # what knows no job needs none

    # right/ counts leap seconds; posix/ and localtime are copies that other machines lack.
    if isinstance(name, str) and not name.startswith(("right/", "posix")) and name != "localtime":
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    raise ScheduleError(f"no time zone is called {str(name)[:40]!r}; one is Europe/Berlin", field="timezone")


def system_zone(environ: Mapping[str, str] = os.environ, root: Path = Path("/")) -> str:
    """Return the IANA name of this machine's zone: TZ, then /etc/localtime, then /etc/timezone, else "UTC".

    A TZ that is a rule and not a name (`CET-1CEST`) is ignored. `environ` and `root` replace the machine's in tests.
    """
    candidates = [environ["TZ"].removeprefix(":") or "UTC"] if "TZ" in environ else []
    with suppress(OSError):
        candidates.append(str((root / "etc/localtime").readlink()))
    with suppress(OSError, ValueError):
        candidates.append((root / "etc/timezone").read_text().strip())
    for candidate in candidates:
        with suppress(ScheduleError):
            return zone_of(candidate.rpartition("zoneinfo/")[2].removeprefix("posix/")).key
    return "UTC"


def next_fire(cron: Cron, zone: str, after: int) -> int | None:
    """Return the first instant strictly after `after` at which `cron` fires in `zone`; None if there is none.

    Where clocks change, a schedule of fixed times (`Cron.fixed`, Vixie cron's distinction) fires at the first instant
    at which the clock reads the time or a later one. So a time in a spring gap fires at the jump, several in one gap
    fire there once, and a time that occurs twice fires the first time (docs: scheduling). An interval (`*/15 * * * *`,
    `0 * * * *`) fires at every instant at which the clock reads one of its times: it continues through a repeated hour,
    and times in a gap are not made up.

    Raises:
        ScheduleError: there is no such zone.
    """
    first = next(_fires(cron, zone_of(zone), after // SECOND), None)
    return None if first is None else first * SECOND


def fires_between(cron: Cron, zone: str, after: int, until: int, limit: int) -> list[int]:
    """Return the first `limit` instants `after < instant <= until` at which `cron` fires, ascending.

    `next_fire` defines them. There are none if `until` is not after `after`, as when a clock was set back.
    """
    last = until // SECOND
    due = takewhile(lambda instant: instant <= last, _fires(cron, zone_of(zone), after // SECOND))
    return [instant * SECOND for instant in islice(due, max(limit, 0))]


def parse_plan(texts: Sequence[str], zone: str, now: int) -> tuple[int, ...]:
    """Return the instants of a plan, sorted, without duplicates (docs: tools, `scheduler:create_planned_task`).

    Each text is an ISO 8601 date and time (`2026-03-01T09:00:00`), with an offset, `Z`, or neither: then it is a time
    in `zone`, at the jump if it lies in a gap, the first if it occurs twice. `now` itself is not past.

    Raises:
        ScheduleError: with `field` "plan" the plan is empty (`index` None), or the text at `index` is not an instant or
            is past; with "timezone" there is no such zone.
    """
    if isinstance(texts, str) or not isinstance(texts, Sequence) or not texts:
        raise ScheduleError("a plan is a list of one or more dates with a time", field="plan")
    place = zone_of(zone)
    instants = set()
    for index, text in enumerate(texts):
        try:
            instant = _plan_instant(text, place)
        except (ValueError, OverflowError):
            wrong = f"{str(text)[:40]!r} is not a date and time such as 2026-03-01T09:00:00"
            raise ScheduleError(wrong, field="plan", index=index) from None
        if instant < now:
            raise ScheduleError(f"{text[:40]!r} is already past", field="plan", index=index)
        instants.add(instant)
    return tuple(sorted(instants))


def timing_errors(given: Mapping[str, object], now: int | None) -> Iterator[ScheduleError]:
    """Yield all that is wrong with the `timezone`, `schedule` and `plan` of a job, as far as they are given.

    `now`: instants of a plan before it are past; None: none is.
    """
    zone = given.get("timezone")
    try:
        zone_of(zone if isinstance(zone, str) else "UTC")
    except ScheduleError as error:
        yield error
        zone = None
    schedule = given.get("schedule")
    if isinstance(schedule, Mapping):
        yield from cron_fields.errors(schedule)
    plan = given.get("plan")
    for index, text in enumerate(plan if isinstance(plan, list) else ()):
        try:
            parse_plan([text], zone if isinstance(zone, str) else system_zone(), -(2**63) if now is None else now)
        except ScheduleError as error:
            yield ScheduleError(str(error), field="plan", index=index)


def _fires(cron: Cron, zone: ZoneInfo, after: int) -> Iterator[int]:
    """Yield the seconds since the epoch at which `cron` fires, ascending, strictly after `after`."""
    first = next(dates(cron, after // DAY_SECONDS - 3), None)
    if first is None:
        return
    # No zone is two days from UTC, and no clock was ever changed by more than one day.
    begin = max(after, (first - 2) * DAY_SECONDS)
    reached = begin - 3 * DAY_SECONDS + _offset(zone, begin - 3 * DAY_SECONDS)
    for start, end, offset in _pieces(zone, begin - 3 * DAY_SECONDS):
        entry = max(start, begin + 1)
        clock = entry + offset
        if cron.fixed:
            skipped = nominal(cron, reached, clock) if entry == start else iter(())
            if next(skipped, None) is not None:
                yield start
                clock += 1  # a time at the jump itself is this same firing
            clock = max(clock, reached)
            reached = max(reached, end + offset)
        for time in nominal(cron, clock, end + offset):
            yield time - offset


def _pieces(zone: ZoneInfo, begin: int) -> Iterator[tuple[int, int, int]]:
    """Yield periods of one offset from UTC as (start, end, offset) in seconds, the first starting at `begin`.

    A period also ends with each year, so that its end is found without looking far ahead.
    """
    start, offset = begin, _offset(zone, begin)
    year = (_EPOCH + timedelta(seconds=begin)).year
    for ahead in range(year, min(year + _YEARS_AHEAD, _LAST_YEAR) + 1):
        for end, following in _changes(zone, ahead):
            if end > start:
                yield start, end, offset
                start, offset = end, following


@lru_cache(maxsize=4096)
def _changes(zone: ZoneInfo, year: int) -> tuple[tuple[int, int], ...]:
    """Return the instants of the UTC year at which the offset changes, and its end, each with the new offset.

    The year is examined once a day: no zone changes its clocks and changes them back within a day.
    """
    day, last = (int((datetime(y, 1, 1) - _EPOCH).total_seconds()) for y in (year, year + 1))
    instants = []
    offset = _offset(zone, day)
    while day < last:
        day += DAY_SECONDS
        following = _offset(zone, day)
        if following != offset:
            instants.append((_first_unlike(zone, day - DAY_SECONDS, day), following))
            offset = following
    return (*instants, (last, offset))


def _first_unlike(zone: ZoneInfo, like: int, unlike: int) -> int:
    """Return the first second from which the offset is no longer that of `like`, up to `unlike`."""
    offset = _offset(zone, like)
    return like + bisect_left(range(like, unlike), True, key=lambda second: _offset(zone, second) != offset)


def _offset(zone: ZoneInfo, instant: int) -> int:
    offset = datetime.fromtimestamp(instant, zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _first_reading(wall: datetime, zone: ZoneInfo) -> int:
    """Return the first instant at which a clock in `zone` reads the naive `wall` or a later time.

    That is the jump for a time in a gap, and the first of two for a time that occurs twice.

    Raises:
        ValueError: it is beyond the year 9998.
    """
    seconds, rest = divmod((wall - _EPOCH) // timedelta(microseconds=1), SECOND)
    for start, end, offset in _pieces(zone, seconds - 2 * DAY_SECONDS):
        if seconds < end + offset:
            return max(start * SECOND, (seconds - offset) * SECOND + rest)
    raise ValueError(f"{wall} is beyond the calendar")


def _plan_instant(text: str, zone: ZoneInfo) -> int:
    # fromisoformat also accepts a date alone, any character for the T, and text after a NUL.
    if not isinstance(text, str) or not _PLANNED.fullmatch(text):
        raise ValueError
    moment = datetime.fromisoformat(text.upper())
    if moment.tzinfo is None:
        return _first_reading(moment, zone)
    moment = moment.astimezone(UTC)
    if moment.year > _LAST_YEAR:
        raise ValueError
    return (moment.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)


def cron_of(job: Job) -> Cron | None:
    """Return the cron of a scheduled job; None for other jobs."""
    return None if job.schedule is None else Cron(**job.schedule)


def next_due(job: Job, after: int) -> int | None:
    """Return the first instant strictly after `after` at which the job is due; None if there is none."""
    cron = cron_of(job)
    if cron is not None:
        return next_fire(cron, job.timezone, after)
    plan = job.plan or ()
    at = bisect_right(plan, after)
    return plan[at] if at < len(plan) else None


def due_between(job: Job, after: int, until: int, limit: int) -> list[int]:
    """Return the first `limit` instants `after < instant <= until` at which the job is due."""
    cron = cron_of(job)
    if cron is not None:
        return fires_between(cron, job.timezone, after, until, limit)
    plan = job.plan or ()
    return list(plan[bisect_right(plan, after) : bisect_right(plan, until)][:limit])
