"""A brute-force oracle for cron across changes of clocks: it walks time minute by minute.

It shares nothing with the code under test: it reads the fields by itself, asks the zone
what its clock shows at each minute, and remembers every minute that was shown.

    python -m tests.core.schedule.schedule_oracle --full

compares 200 random schedules in 20 zones over 10 years, every minute of them.
"""

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, date, datetime
from functools import cache, partial
from zoneinfo import ZoneInfo

from tui_tasks.core.schedule.cron import Cron, ScheduleError
from tui_tasks.core.schedule.fire_times import fires_between
from tui_tasks.text.times import SECOND

MINUTE = 60
DAY = 86_400
WARM_UP = 3 * DAY

# Each with something odd between 2010 and 2020, but for the last three.
ZONES = (
    "Africa/Cairo",  # four changes a year, for Ramadan
    "Africa/Casablanca",  # the same, and a change of standard time
    "America/Caracas",  # half an hour, once
    "America/Havana",  # falls back to midnight
    "America/Santiago",  # skips midnight
    "America/Scoresbysund",  # skips midnight
    "America/St_Johns",  # falls back from 00:01 into the day before
    "Antarctica/Casey",  # three hours, several times
    "Antarctica/Troll",  # two hours
    "Asia/Beirut",  # skips midnight, falls back into the day before
    "Asia/Gaza",  # changes at 00:00, 00:01, 01:00
    "Asia/Pyongyang",  # half an hour, either way
    "Asia/Tehran",  # half-hour offset, skips midnight
    "Australia/Lord_Howe",  # half an hour
    "Europe/Dublin",  # winter is the exception
    "Europe/Istanbul",  # stays on summer time, changes put off
    "Pacific/Apia",  # skips a whole day
    "America/New_York",
    "Europe/Berlin",
    "Asia/Kathmandu",
)
START = int(datetime(2010, 1, 1, tzinfo=UTC).timestamp())
STOP = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp())

WORDS = {
    "month": ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    "weekday": ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}
BOUNDS = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}


@cache
def names_value(field: str, text: str, value: int) -> bool:
    """Whether a cron field names a value."""
    if field == "weekday" and value == 0 and names_value(field, text, 7):
        return True
    for part in text.lower().split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        first, last = BOUNDS[field] if span == "*" else (_number(field, low), _number(field, high or low))
        if value in range(first, last + 1) and (value - first) % int(step or 1) == 0:
            return True
    return False


def _number(field: str, text: str) -> int:
    return WORDS[field].index(text) if text.isalpha() else int(text)


def falls_on(cron: Cron, day: date) -> bool:
    """Whether a date is one of a cron's."""
    by_day = names_value("day", cron.day, day.day)
    by_weekday = names_value("weekday", cron.weekday, day.isoweekday() % 7)
    starred = cron.day[0] == "*" or cron.weekday[0] == "*"
    return names_value("month", cron.month, day.month) and (
        (by_day and by_weekday) if starred else (by_day or by_weekday)
    )


class Oracle:
    """All firings of many schedules at once: schedule number n is bit n of a mask."""

    def __init__(self, crons: Sequence[Cron]) -> None:
        self.crons = crons
        self.fixed = [0] * 1440
        self.interval = [0] * 1440
        self.days: dict[int, int] = {}
        for bit, cron in enumerate(crons):
            table = self.interval if "*" in (cron.minute[0], cron.hour[0]) else self.fixed
            for minute in range(1440):
                if names_value("hour", cron.hour, minute // 60) and names_value("minute", cron.minute, minute % 60):
                    table[minute] |= 1 << bit

    def on(self, ordinal: int) -> int:
        """The schedules that have this date."""
        if ordinal not in self.days:
            day = date.fromordinal(ordinal)
            self.days[ordinal] = sum(1 << bit for bit, cron in enumerate(self.crons) if falls_on(cron, day))
        return self.days[ordinal]

    def walk(self, zone: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The (second, mask) of each whole minute in start <= second < stop at which any schedule fires."""
        place = ZoneInfo(zone)
        before = None
        base = (datetime.fromtimestamp(start - WARM_UP, place).toordinal() - 2) * 1440
        shown = bytearray((stop - start + WARM_UP) // MINUTE + 5 * 1440)
        for second in range(start - WARM_UP, stop, MINUTE):
            clock = datetime.fromtimestamp(second, place)
            ordinal, minute = clock.toordinal(), clock.hour * 60 + clock.minute
            now = ordinal * 1440 + minute
            mask = self.interval[minute] if shown[now - base] else self.interval[minute] | self.fixed[minute]
            mask &= self.on(ordinal)
            for skipped in range(now if before is None else before + 1, now):
                if not shown[skipped - base]:
                    mask |= self.fixed[skipped % 1440] & self.on(skipped // 1440)
            shown[now - base] = 1
            before = now
            if mask and second >= start:
                yield second, mask


def computed(crons: Sequence[Cron], zone: str, start: int, stop: int) -> dict[int, int]:
    """The same from the code under test, as {second: mask}."""
    masks: dict[int, int] = defaultdict(int)
    for bit, cron in enumerate(crons):
        mask = 1 << bit
        for instant in fires_between(cron, zone, (start - 1) * SECOND, (stop - 1) * SECOND, sys.maxsize):
            masks[instant // SECOND] |= mask
    return masks


def random_crons(count: int, seed: int) -> list[Cron]:
    """Schedules of every shape, a good part of them in the hours in which clocks change."""
    chance = random.Random(seed)
    crons: list[Cron] = []
    while len(crons) < count:
        try:
            crons.append(Cron(*(_random_field(chance, field) for field in BOUNDS)))
        except ScheduleError:
            continue  # never fires
    return crons


def _random_field(chance: random.Random, field: str) -> str:
    stars = {"minute": 0.05, "hour": 0.2, "day": 0.6, "month": 0.75, "weekday": 0.6}[field]
    if chance.random() < stars:
        return "*"
    if chance.random() < (0.15 if field in ("minute", "hour") else 0.3):
        return f"*/{chance.choice((2, 3, 5, 7) if field in ('month', 'weekday') else (2, 5, 7, 13, 15, 20))}"
    return ",".join(_random_part(chance, field) for _ in range(chance.choice((1, 1, 2, 3))))


def _random_part(chance: random.Random, field: str) -> str:
    low, high = BOUNDS[field]
    if field == "hour" and chance.random() < 0.6:
        first = chance.choice((0, 0, 1, 2, 2, 3, 23))
    else:
        first = chance.randint(low, high)
    if field in WORDS and chance.random() < 0.4:
        return chance.choice(WORDS[field][low:])
    if chance.random() < 0.7:
        return str(first)
    text = f"{first}-{chance.randint(first, high)}"
    return text if chance.random() < 0.5 else f"{text}/{chance.choice((1, 2, 3, 7))}"


def differences(oracle: Oracle, zone: str, start: int, stop: int) -> list[str]:
    """What oracle and code disagree on at start <= second < stop, in words."""
    expected, got = dict(oracle.walk(zone, start, stop)), computed(oracle.crons, zone, start, stop)
    return _compare(oracle.crons, zone, expected, got)


def _compare(crons: Sequence[Cron], zone: str, expected: dict[int, int], got: dict[int, int]) -> list[str]:
    if expected == got:
        return []
    wrong = []
    for second in sorted(expected.keys() | got.keys()):
        apart = expected.get(second, 0) ^ got.get(second, 0)
        for bit, cron in enumerate(crons):
            if apart >> bit & 1:
                kind = "extra" if got.get(second, 0) >> bit & 1 else "lacking"
                wrong.append(f"{cron} {zone} {datetime.fromtimestamp(second, ZoneInfo(zone))} {kind}")
    return wrong


def compare_zone(zone: str, crons: Sequence[Cron], start: int, stop: int) -> tuple[str, int, list[str]]:
    """One zone, every minute, 30 days at a time: (zone, firings, differences)."""
    walk = Oracle(crons).walk(zone, start, stop)
    ahead = next(walk, None)
    firings, wrong = 0, []
    for begin in range(start, stop, 30 * DAY):
        end, expected = min(begin + 30 * DAY, stop), {}
        while ahead is not None and ahead[0] < end:
            expected[ahead[0]] = ahead[1]
            firings += ahead[1].bit_count()
            ahead = next(walk, None)
        wrong += _compare(crons, zone, expected, computed(crons, zone, begin, end))
    return zone, firings, wrong


def main() -> int:
    """Compare all; print a line a zone; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="ten years instead of one")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    crons = random_crons(200, options.seed)
    stop = STOP if options.full else START + 365 * DAY
    total = failed = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        check = partial(compare_zone, crons=crons, start=START, stop=stop)
        for zone, firings, wrong in pool.map(check, ZONES):
            total, failed = total + firings, failed + len(wrong)
            lines = [f"{zone}: {firings} firings, {len(wrong)} differ", *wrong[:20]]
            sys.stdout.write("\n  ".join(lines) + "\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(crons)} schedules x {len(ZONES)} zones: {total} firings, {failed} differ\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
