"""The next 24 hours in the schedule: a line for each job that is due then, with a tick where it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Final

from tui_tasks.core.read.job_lines import JobLine
from tui_tasks.core.schedule import fire_times
from tui_tasks.core.schedule.cron import ScheduleError
from tui_tasks.text.glyphs import look, spark
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import DAY, HOUR, SECOND, clock, count
from tui_tasks.tui.painting.line_painter import rule_parts
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing
from tui_tasks.tui.schedule import job_text

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The hour that has begun, and all others up to the same minute of tomorrow.
_HOURS: Final = 25
_MAX_TIMES: Final = _HOURS * 60
# In cells: the number of an hour; a job's number, what its name takes at most, and what is said behind its hours.
_HOUR: Final = 2
_NUMBER: Final = 5
_NAME: Final = 18
_BEHIND: Final = 10
# Up to so many runs, each is shown with its time of day.
_TIMED: Final = 3
_LATE: Final = look("overdue")
# So many runs in an hour fill its bar.
_FULL: Final = 16


def first_hour(now: int, zone: tzinfo) -> int:
    """Return the instant at which the current hour began in a time zone."""
    local = datetime.fromtimestamp(now // SECOND, zone)
    return (now // SECOND - local.minute * 60 - local.second) * SECOND


def cells_an_hour(width: int) -> int:
    """Return the width of an hour in cells: more than two, so that its number fits."""
    return max(3, min(12, (width - _NUMBER - _NAME - _BEHIND) // _HOURS))


def hour_heads(start: int, zone: tzinfo, cells: int) -> str:
    """Return 24 hours in a time zone: `20  21  22 ...`."""
    numbers = (
        datetime.fromtimestamp((start + at * HOUR) // SECOND, UTC).astimezone(zone).hour for at in range(_HOURS - 1)
    )
    return "".join(f"{hour:02}".ljust(cells) for hour in numbers)


def time_line(times: Sequence[int], start: int, cells: int, zone: tzinfo, *, ascii_only: bool = False) -> str:
    """Return the hours, of `cells` cells each: a few runs at their places with their time of day, if there is room;
    many as a bar for each hour, as high as it has runs.
    """
    if len(times) > _TIMED:
        hours = _by_hour(times, start)
        bars = spark([min(runs, _FULL) for runs in hours], _FULL, ascii_only=ascii_only)
        return "".join(bar.ljust(cells) for bar in bars)
    at = [(instant - start) * cells // HOUR for instant in times]
    ticks = tick_marks(at, _HOURS * cells, ascii_only=ascii_only)
    for place, instant in zip(at, times, strict=True):
        time = clock(instant, zone)
        # Before its tick at the end of the line, else after it, with a blank to what is next.
        is_last = place + 1 + len(time) >= len(ticks)
        begin = place - len(time) if is_last else place + 1
        if not ticks[begin - is_last : begin + len(time) + (not is_last)].strip():
            ticks = ticks[:begin] + time + ticks[begin + len(time) :]
    return ticks


def tick_marks(at: Sequence[int], cells: int, *, ascii_only: bool = False) -> str:
    """Return `cells` cells with a tick in each that is in `at`; a thicker one where it occurs several times."""
    counts = [0] * cells
    for cell in at:
        if 0 <= cell < cells:
            counts[cell] += 1
    signs = " |:#" if ascii_only else " ▏▌█"
    return "".join(signs[0 if not count else 1 if count == 1 else 2 if count < 4 else 3] for count in counts)


def is_even(times: Sequence[int], start: int) -> bool:
    """Return whether each of the hours has as many runs; of the first and the last, only a part counts."""
    first, second, *rest, last = _by_hour(times, start)
    return second > 0 and max(first, last) <= second and all(runs == second for runs in rest)


def _by_hour(times: Sequence[int], start: int) -> list[int]:
    hours = [0] * _HOURS
    for instant in times:
        hours[min(_HOURS - 1, max(0, (instant - start) // HOUR))] += 1
    return hours


def _may_be_due(line: JobLine, until: int) -> bool:
    return line.job.next_run is not None and line.job.next_run <= until


class Timeline(TextDrawing):
    """Draws the jobs that are due next, as many as fit."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._jobs: Sequence[JobLine] = ()
        self._times: dict[tuple[object, ...], list[int]] = {}

    def put(self, jobs: Sequence[JobLine]) -> None:
        """Set the jobs to draw."""
        self._jobs = jobs

    @property
    def most_lines(self) -> int:
        """How many lines there are at most, with an empty one after them."""
        until = self.context.clock.now() + DAY
        return 2 + max(1, sum(_may_be_due(job, until) for job in self._jobs))

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the hours, and a line for each job that is due in them."""
        now, zone, ascii_only = self.context.clock.now(), self.context.clock.zone, self.context.ascii_only
        assert zone is not None
        start, cells = first_hour(now, zone), cells_an_hour(width)
        self.lasts(HOUR // cells - (now - start) % (HOUR // cells))
        room = max(2, height - 1)
        rows: list[tuple[JobLine, list[int]]] = []
        due_then = [job for job in self._jobs if _may_be_due(job, now + DAY)]
        due_then.sort(key=lambda line: line.job.next_run or 0)
        while due_then and len(rows) < room:
            job = due_then.pop(0)
            times = self._due(job, now, start)
            rows += [(job, times)] if times or job_text.is_overdue(job.job, now) else []
        if due_then:
            due_then.append(rows.pop()[0])
        # What is due soonest is shown, in the order of the jobs above.
        rows.sort(key=lambda row: row[0].job.number)
        most = width - _BEHIND - _HOURS * cells
        label = min(most, _NUMBER + 2 + max((cell_len(safe_line(job.job.name, _NAME)) for job, _ in rows), default=0))
        lines: list[Drawn] = [[(" " * label, ""), (hour_heads(start, zone, cells), "$muted")]]
        for job, times in rows:
            runs = f" {count(len(times), 'run')}" if len(times) > _TIMED else ""
            named = fit(f" S{job.job.number:<{_NUMBER - 2}}{job.job.name}", label - 1) + " "
            if job_text.is_overdue(job.job, now):
                late = f"{_LATE.mark(ascii_only=ascii_only)} {_LATE.word} "
                line = time_line(times, start, cells, zone, ascii_only=ascii_only) if times else ""
                hours = [(late, _LATE.color), (line[len(late) :].ljust(_HOURS * cells - len(late)), "")]
            elif is_even(times, start):
                # It ends where the number of the last hour does.
                end = (_HOURS - 2) * cells + _HOUR
                hours = [*rule_parts(self.context, end, [(job_text.when(job.job), "$muted")])]
                hours.append((" " * (_HOURS * cells - end), ""))
            else:
                hours = [(time_line(times, start, cells, zone, ascii_only=ascii_only), "")]
            lines.append([(named, "$muted"), *hours, (runs, "$muted")])
        if due_then:
            lines.append([(" " * _NUMBER + f"and {count(len(due_then), 'more job')}", "$muted")])
        elif not rows:
            lines.append([(" " * _NUMBER + "nothing in the next 24 hours", "$muted")])
        return lines

    def _due(self, line: JobLine, now: int, start: int) -> list[int]:
        """Return the times of a job in the next 24 hours. Those of a schedule are computed once an hour."""
        job = line.job
        key = (job.uid, tuple((job.schedule or {}).values()), job.plan, job.timezone, start)
        if key not in self._times:
            self._times = {known: times for known, times in self._times.items() if known[-1] == start}
            try:
                self._times[key] = fire_times.due_between(job, start - 1, start + _HOURS * HOUR - 1, _MAX_TIMES)
            except ScheduleError:
                self._times[key] = []
        return [instant for instant in self._times[key] if max(now, job.decided_until) < instant <= now + DAY]
