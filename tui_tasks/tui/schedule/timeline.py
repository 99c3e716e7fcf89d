"""The next 24 hours: a line for each job, with a tick where it is due."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Final

from tui_tasks.core.read.job_rows import JobLine
from tui_tasks.core.schedule import fire_times
from tui_tasks.core.schedule.cron import ScheduleError
from tui_tasks.text.times import HOUR, SECOND, clock, count
from tui_tasks.tui.painting import charts
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

HOURS: Final = 24
_MAX_TIMES: Final = HOURS * 60
_LABEL: Final = 5
# Up to so many ticks, each is shown with its time of day.
_TIMED: Final = 3


def first_hour(now: int, zone: tzinfo) -> int:
    """Return the instant at which the current hour began in a time zone."""
    local = datetime.fromtimestamp(now // SECOND, zone)
    return (now // SECOND - local.minute * 60 - local.second) * SECOND


def cells_an_hour(width: int) -> int:
    """Return the width of an hour in cells: more than two, so that its number fits."""
    return max(3, min(12, (width - _LABEL - 10) // HOURS))


def hours(start: int, zone: tzinfo, cells: int) -> str:
    """Return the hours in a time zone: `20  21  22 ...`."""
    numbers = (datetime.fromtimestamp((start + at * HOUR) // SECOND, UTC).astimezone(zone).hour for at in range(HOURS))
    return "".join(f"{hour:02}".ljust(cells) for hour in numbers)


def line(times: Sequence[int], start: int, cells: int, zone: tzinfo, *, ascii_only: bool = False) -> str:
    """Return the ticks in 24 hours of `cells` cells each; a few of them with their time of day if there is room."""
    at = [(instant - start) * cells // HOUR for instant in times]
    ticks = charts.ticks(at, HOURS * cells, ascii_only=ascii_only)
    if len(times) > _TIMED:
        return ticks
    for place, instant in zip(at, times, strict=True):
        time = clock(instant, zone)
        room = ticks[place + 1 : place + 2 + len(time)]
        if len(room) > len(time) and not room.strip():
            ticks = ticks[: place + 1] + time + ticks[place + 1 + len(time) :]
    return ticks


def _may_be_due(line: JobLine, until: int) -> bool:
    return line.job.next_run is not None and line.job.next_run < until


class Timeline(TextDrawing):
    """Draws the jobs that are due next, as many as fit."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._jobs: Sequence[tuple[int, JobLine]] = ()
        self._times: dict[tuple[object, ...], list[int]] = {}

    def put(self, jobs: Sequence[tuple[int, JobLine]]) -> None:
        """Set the jobs to draw, each with its number."""
        self._jobs = jobs

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the hours, and a line for each job that is due in them."""
        now, zone, ascii_only = self.context.clock.now(), self.context.clock.zone, self.context.ascii_only
        assert zone is not None
        start, cells = first_hour(now, zone), cells_an_hour(width)
        self.lasts(HOUR // cells - (now - start) % (HOUR // cells))
        lines: list[Drawn] = [[(" " * _LABEL, ""), (hours(start, zone, cells), "$muted")]]
        room = max(2, height - 1)
        rows: list[tuple[int, JobLine, list[int]]] = []
        due_then = [(number, job) for number, job in self._jobs if _may_be_due(job, start + HOURS * HOUR)]
        due_then.sort(key=lambda numbered: numbered[1].job.next_run or 0)
        while due_then and len(rows) < room:
            number, job = due_then.pop(0)
            times = self._due(job, now, start)
            rows += [(number, job, times)] if times else []
        if due_then:
            due_then.append(rows.pop()[:2])
        for number, job, times in rows:
            ink = "$state-failed" if job.failing else "$primary"
            ticks = line(times, start, cells, zone, ascii_only=ascii_only)
            runs = f" {count(len(times), 'run')}" if len(times) > _TIMED else ""
            lines.append([(f" S{number:<{_LABEL - 2}}", "$muted"), (ticks, ink), (runs, "$muted")])
        if due_then:
            lines.append([(" " * _LABEL + f"and {count(len(due_then), 'more job')}", "$muted")])
        elif not rows:
            lines.append([(" " * _LABEL + "nothing in the next 24 hours", "$muted")])
        return lines

    def _due(self, line: JobLine, now: int, start: int) -> list[int]:
        """Return the next times of a job. Those of a schedule are computed once an hour."""
        job = line.job
        key = (job.uid, tuple((job.schedule or {}).values()), job.plan, job.timezone, start)
        if key not in self._times:
            self._times = {known: times for known, times in self._times.items() if known[-1] == start}
            try:
                self._times[key] = fire_times.due_between(job, start - 1, start + HOURS * HOUR - 1, _MAX_TIMES)
            except ScheduleError:
                self._times[key] = []
        return [instant for instant in self._times[key] if instant > max(now, job.decided_until)]
