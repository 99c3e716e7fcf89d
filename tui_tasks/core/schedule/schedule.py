"""When jobs are due, and what is decided about each due time. Pure functions: the clock is an argument.

An instant is an int, microseconds since 1970-01-01T00:00Z; a zone is an IANA name; durations are seconds. `cron` says
what cron fields mean. The rules are those of the `scheduler` tools (docs: scheduling): for scheduled jobs (`next_fire`,
`fires_between`), planned jobs (`parse_plan`), and both (`decide`).
"""

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from itertools import islice, takewhile
from pathlib import Path
from typing import Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tui_tasks.core.schedule.cron import DAY, Cron, ScheduleError, dates, nominal

SECOND = 1_000_000
ON_TIME = 60 * SECOND
"""Microseconds after which a due time is late; cron itself is not finer than this."""

_YEARS_AHEAD = 100
_LAST_YEAR = 9998
_EPOCH = datetime(1970, 1, 1)
_PLANNED = re.compile(r"[0-9W-]{8,10}[T ][0-9:.,]{2,15}(Z|[+-][0-9:]{2,8})?", re.IGNORECASE | re.ASCII)

CatchUp = Literal["none", "one", "all"]
Overlap = Literal["skip", "queue", "allow"]
Verdict = Literal["ran", "missed", "skipped", "coalesced"]


def zone_of(name: str) -> ZoneInfo:
    """Return the zone with this IANA name.

    Raises ScheduleError (`field` "timezone") if there is none.
    """
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

    Raises ScheduleError if there is no such zone.
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

    Raises ScheduleError with `field` "plan" if the plan is empty (`index` None), or if the text at `index` is not an
    instant or is past; with "timezone" if there is no such zone.
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


@dataclass(frozen=True, slots=True)
class Policy:
    """How a job's due times are handled. The constructor raises ScheduleError, `field` being the setting at fault.

    catch_up: of the due times noticed late, start none, one (the latest), or all: the
        latest `catch_up_cap`, each `stagger` seconds after the one before.
    start_deadline: seconds after which a due time is given up, None for never.
    overlap: while a run is active, skip what is due, queue one, or allow both.
    starts_per_hour: the largest number of starts in an hour, None for no limit.
    jitter: the seconds over which starts are spread (see `jitter`).
    """

    catch_up: CatchUp = "one"
    catch_up_cap: int = 10
    stagger: int = 10
    start_deadline: int | None = None
    overlap: Overlap = "skip"
    starts_per_hour: int | None = None
    jitter: int = 0

    def __post_init__(self) -> None:
        for field, allowed in (("catch_up", CatchUp), ("overlap", Overlap)):
            if getattr(self, field) not in get_args(allowed):
                raise ScheduleError(f"{field} is one of {', '.join(get_args(allowed))}", field=field)
        for field, least in (("catch_up_cap", 1), ("stagger", 0), ("jitter", 0)):
            if getattr(self, field) < least:
                raise ScheduleError(f"{field} is at least {least}", field=field)
        for field, least in (("start_deadline", 1), ("starts_per_hour", 1)):
            value = getattr(self, field)
            if value is not None and value < least:
                raise ScheduleError(f"{field} is at least {least}, or null for none", field=field)


@dataclass(frozen=True, slots=True)
class Load:
    """What a job has running: active runs, queued runs, runs started in the last hour."""

    active: int = 0
    queued: int = 0
    started: int = 0


IDLE = Load()


@dataclass(frozen=True, slots=True)
class Decision:
    """The final decision about one due time.

    `reason` says why, for a human ("" for a run on time). Only with "ran": `start_at` is the instant at which to start,
    and `queued` says that the job's other runs must end first. The next time that ran stands for one that was
    "coalesced".
    """

    scheduled_for: int
    decision: Verdict
    reason: str = ""
    start_at: int | None = None
    queued: bool = False


def decide(
    due: Sequence[int], now: int, policy: Policy, load: Load = IDLE, *, job: str = "", later: int = 0
) -> list[Decision]:
    """Return one Decision for each due time of one job, in their order.

    `due` are the instants since the last decided one, ascending, up to `now`. Those past the start deadline, and with
    `catch_up` "none" the late ones, are missed. Of the rest the last runs, or with `catch_up` "all" the last
    `catch_up_cap`; those before are coalesced into the first that runs. Runs that overlap or the hourly limit forbids
    are skipped; if every run is forbidden, all are skipped and none is coalesced. Runs started together wait for each
    other unless overlap is "allow".

    `job` is the job's uid, for its jitter. A backlog too long for one list is decided in parts, oldest first; `later`
    is how many due times are known to follow this part. A count of `catch_up_cap` is enough, as then nothing of this
    part runs.

    Raises ValueError if a time is not due yet.
    """
    if due and due[-1] > now:
        raise ValueError("what is not due yet cannot be decided")
    missed = _missed(due, now, policy)
    rest = due[len(missed) :]
    room, refusal = _room(policy, load, len(rest))
    if room == 0:
        return missed + [Decision(instant, "skipped", refusal) for instant in rest]
    wanted = policy.catch_up_cap if policy.catch_up == "all" else 1
    over, kept = _split(rest, wanted - later)
    refused, runs = _split(kept, room)
    coalesced = [Decision(instant, "coalesced", "a later run stands for it") for instant in over]
    skipped = [Decision(instant, "skipped", refusal) for instant in refused]
    return missed + coalesced + skipped + _runs(runs, now, policy, load, job)


def retry_delay(attempt: int, base: float, cap: float) -> float:
    """Return the seconds before retry number `attempt` (1 is the first): `base`, doubled each time, up to `cap`.

    Raises:
        ValueError: `attempt` is less than 1.
    """
    if attempt < 1:
        raise ValueError("retries count from 1")
    return min(cap, base * 2.0 ** min(attempt - 1, 64))


def jitter(job: str, scheduled_for: int, spread: int) -> int:
    """Return by how many microseconds to delay a start, from 0 to `spread` seconds.

    It depends only on the job's uid and the due time, so that all processes agree.
    """
    digest = blake2b(f"{job} {scheduled_for}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") * spread * SECOND >> 64


def _fires(cron: Cron, zone: ZoneInfo, after: int) -> Iterator[int]:
    """Yield the seconds since the epoch at which `cron` fires, ascending, strictly after `after`."""
    first = next(dates(cron, after // DAY - 3), None)
    if first is None:
        return
    # No zone is two days from UTC, and no clock was ever changed by more than one day.
    begin = max(after, (first - 2) * DAY)
    reached = begin - 3 * DAY + _offset(zone, begin - 3 * DAY)
    for start, end, offset in _pieces(zone, begin - 3 * DAY):
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
    found = []
    offset = _offset(zone, day)
    while day < last:
        day += DAY
        following = _offset(zone, day)
        if following != offset:
            found.append((_first_unlike(zone, day - DAY, day), following))
            offset = following
    return (*found, (last, offset))


def _first_unlike(zone: ZoneInfo, like: int, unlike: int) -> int:
    """Return the first second from which the offset is no longer that of `like`, up to `unlike`."""
    offset = _offset(zone, like)
    return like + bisect_left(range(like, unlike), True, key=lambda second: _offset(zone, second) != offset)


def _offset(zone: ZoneInfo, instant: int) -> int:
    offset = datetime.fromtimestamp(instant, zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _first_reading(wall: datetime, zone: ZoneInfo) -> int:
    """Return the first instant at which a clock in `zone` reads the naive `wall` or a later time.

    That is the jump for a time in a gap, and the first of two for a time that occurs twice. Raises ValueError beyond
    the year 9998.
    """
    seconds, rest = divmod((wall - _EPOCH) // timedelta(microseconds=1), SECOND)
    for start, end, offset in _pieces(zone, seconds - 2 * DAY):
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


def _missed(due: Sequence[int], now: int, policy: Policy) -> list[Decision]:
    """Return the decisions for the oldest of `due`, which are too late to run."""
    given_up = late = 0
    if policy.start_deadline is not None:
        given_up = bisect_left(due, now - policy.start_deadline * SECOND)
    if policy.catch_up == "none":
        late = bisect_right(due, now - ON_TIME)
    deadline = f"the start deadline of {policy.start_deadline} s had passed"
    away = "noticed too late, and missed times are not caught up"
    decisions = [Decision(instant, "missed", deadline) for instant in due[:given_up]]
    return decisions + [Decision(instant, "missed", away) for instant in due[given_up:late]]


def _room(policy: Policy, load: Load, most: int) -> tuple[int, str]:
    """Return how many of `most` runs may be started or queued now, and why not more."""
    room, refusal = most, ""
    if load.active + load.queued and policy.overlap == "skip":
        return 0, "the run before it is still active"
    if load.active + load.queued and policy.overlap == "queue":
        room, refusal = max(0, 1 - load.queued), "a run is already queued"
    if policy.starts_per_hour is not None and policy.starts_per_hour - load.started < room:
        room = max(0, policy.starts_per_hour - load.started)
        refusal = f"the limit of {policy.starts_per_hour} starts an hour is reached"
    return room, refusal


def _split(times: Sequence[int], last: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the times before the last `last` ones, and those."""
    at = max(0, len(times) - max(0, last))
    return times[:at], times[at:]


def _runs(runs: Sequence[int], now: int, policy: Policy, load: Load, job: str) -> list[Decision]:
    decisions = []
    for place, instant in enumerate(runs):
        late = (now - instant) // SECOND
        on_time = now - instant < ON_TIME
        delay = jitter(job, instant, policy.jitter) + place * policy.stagger * SECOND
        start_at = max(now, (instant if on_time else now) + delay)
        queued = policy.overlap != "allow" and bool(place or load.active + load.queued)
        reasons = ([] if on_time else [f"caught up, {timedelta(seconds=late)} late"]) + ["queued"] * queued
        decisions.append(Decision(instant, "ran", ", ".join(reasons), start_at, queued))
    return decisions
