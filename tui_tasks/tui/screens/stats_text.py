"""Draws the figures of the statistics screen as lines and charts. Pure; instants and durations are in microseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import pairwise
from typing import Final

from tui_tasks.core import vocab
from tui_tasks.core.read import statistics
from tui_tasks.core.read.statistics import AskWait, JobCounts, Tally
from tui_tasks.text.glyphs import LOOKS, spark, value_bar
from tui_tasks.text.safe import cell_len, fit
from tui_tasks.text.times import DAY, HOUR, MINUTE, SECOND, WEEKDAYS, age, count, duration
from tui_tasks.tui.painting.styles import Part, parts_width
from tui_tasks.tui.painting.text_lines import Drawn

DAYS: Final = 7
QUARTERS: Final = 4
_EDGES: Final = (MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 4 * HOUR, DAY)
_SPANS: Final = ("< 1m", "1–5m", "5–15m", "15–60m", "1–4h", "4–24h", "> 1d")
_NARROW: Final = 60
_GAP: Final = 3
# In cells: the labels of the left figures, and of the right ones.
_LABEL: Final = 12
_RIGHT_LABEL: Final = 20
# In cells: the longest bar.
_LONG: Final = 36
# Before the numbers of failed runs, where there is room; the title of the chart names them too.
_FAILED: Final = "failed "


@dataclass(frozen=True, slots=True)
class Failure:
    """A task that has failed: its number and name, why, and when."""

    number: str
    name: str
    why: str
    at: int


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of the last days of a list. `longest` is the longest wait for the human, `longest_about` its task's
    number. `failures`: the newest of the failed tasks.
    """

    tally: Tally
    now_open: int
    waits: Sequence[AskWait]
    longest: int | None
    longest_about: str
    jobs: JobCounts
    runs: Sequence[tuple[int, str | None]]
    now: int
    zone: tzinfo
    cut: bool
    failures: Sequence[Failure] = ()
    failed_elsewhere: int = 0
    """How many tasks of other lists have failed, of those that the human has not dismissed."""
    failed_agents: int = 0
    failed_checks: int = 0
    """How many agents, and tasks by their checks, count as failed above the figures beside tasks and jobs."""
    tasks_dismissed: int = 0
    jobs_dismissed: int = 0
    """How many of the failed tasks of this list, and of the failed jobs, the human has dismissed."""
    jobs_with_task: int = 0
    """How many of the failed jobs are one failure with a task that failed in their run."""
    proven: Mapping[str, int] = field(default_factory=dict)
    """How many done tasks were checked, by result."""

    @property
    def open_by_day(self) -> list[int]:
        """The number of open tasks at the end of each day."""
        return self.tally.open(self.now_open)[QUARTERS - 1 :: QUARTERS]

    @property
    def done_by_day(self) -> list[int]:
        """The number of tasks that were done on each day."""
        done = self.tally.done
        return [sum(done[at : at + QUARTERS]) for at in range(0, len(done), QUARTERS)]


def drawn(figures: Figures, width: int, *, ascii_only: bool) -> list[Drawn]:
    """Return all lines: numbers with sparklines where it is narrow, else numbers and charts."""
    numbers = _numbers(figures, width, ascii_only)
    numbers += _failed_tasks(figures, width, ascii_only)
    if width < _NARROW:
        return numbers
    half = (width - _GAP - 2) // 2
    return [
        *numbers,
        *_by_day(figures, half, ascii_only),
        *_by_time(figures, half, ascii_only),
        *_runs(figures, width - 2, ascii_only),
        *([[], [(f" Only the newest {statistics.MAX:,} journal entries are counted.", "$muted")]] * figures.cut),
    ]


def _by_day(figures: Figures, half: int, ascii_only: bool) -> list[Drawn]:
    """Return how many tasks were open and done each day, in one scale."""
    opened, done, days = figures.open_by_day, figures.done_by_day, _weekdays(figures)
    top = max(*opened, *done)
    was_open = any((figures.tally.open_at_start(figures.now_open), *opened))
    return _beside(
        _bars("open tasks at the end of each day", days, opened, top, half, ascii_only)
        if was_open
        else _titled("no task was open"),
        _bars("done tasks by day", days, done, top, half, ascii_only) if any(done) else _titled("no task was done"),
        half,
    )


def _by_time(figures: Figures, half: int, ascii_only: bool) -> list[Drawn]:
    """Return how long tasks and questions took, in one scale; nothing where there were none."""
    answers = [wait for wait in figures.waits if wait.state == "answered"]
    waited = [wait.answered_at - wait.opened_at for wait in answers if wait.answered_at]
    took, answered = (statistics.spread(times, _EDGES) for times in (figures.tally.took, waited))
    top = max(*took, *answered)
    if not top:
        return []
    return _beside(
        _spans("tasks by time to done", took, top, half, ascii_only) or _titled("no task was done"),
        _spans("questions by time to your answer", answered, top, half, ascii_only)
        or _titled("no question was answered"),
        half,
    )


def _numbers(figures: Figures, width: int, ascii_only: bool) -> list[Drawn]:
    tally, jobs = figures.tally, figures.jobs
    done = sum(tally.done)
    finished = done + tally.failed
    change = f"{tally.open_at_start(figures.now_open)} {'->' if ascii_only else '→'} {figures.now_open} now"
    pace = f"{done / DAYS:.1f} a day"
    half = (width - _GAP - 2) // 2
    failing = jobs.failing - figures.jobs_dismissed - figures.jobs_with_task
    of_jobs = [
        *_counted(failing, "failed", f"{'job' if failing == 1 else 'jobs'} failed", ascii_only),
        *([(f", {figures.jobs_with_task:,} failed with its task", "$muted")] if figures.jobs_with_task else []),
        *([(f", {figures.jobs_dismissed:,} failed dismissed", "$muted")] if figures.jobs_dismissed else []),
        *_counted(jobs.late, "overdue", "late", ascii_only),
    ]
    longest = ", ".join(filter(None, (_span(figures.longest, "nothing asked"), figures.longest_about)))
    left = [_number("failed tasks", _failed(figures, finished))]
    if figures.proven:
        checked = sum(figures.proven.values())
        left.append(_number("proven tasks", f"{figures.proven.get('passed', 0)} of {checked} with checks"))
    right = [
        _number("median time to done", _span(tally.median_took, "no task done"), _RIGHT_LABEL),
        _number("median wait for you", _span(statistics.median_wait(figures.waits), "nothing answered"), _RIGHT_LABEL),
        _number("longest wait for you", longest, _RIGHT_LABEL),
        _number("longest task silence", _span(tally.quiet(figures.now) or None, "no task at work"), _RIGHT_LABEL),
    ]
    beside = ("other lists", figures.failed_elsewhere), ("agents", figures.failed_agents)
    label = _LABEL if width < _NARROW else _RIGHT_LABEL
    elsewhere = [
        [*_number(name, "", label), *_counted(number, "failed", "failed", ascii_only)[1:]]
        for name, number in (*beside, ("checks", figures.failed_checks))
        if number
    ]
    of_all: Drawn = [*_number("jobs", str(jobs.total) if jobs.total else "no jobs"), *of_jobs]
    if width < _NARROW:
        opened = _spark("open tasks", figures.open_by_day, change, "~primary", ascii_only)
        done_ = _spark("done tasks", figures.done_by_day, pace, "~state-done", ascii_only)
        return [opened, done_, *left, *elsewhere, of_all, *right]
    done_text = f"{done}, {pace}" if done else "none"
    of_list = [_number("open tasks", change), _number("done tasks", done_text), *left]
    return _beside([*of_list, of_all], [*right, *elsewhere], half)


def _failed(figures: Figures, finished: int) -> str:
    """Return `1 of 4 finished (25%)`."""
    number = figures.tally.failed
    share = f" ({number / finished:.0%})" if number else ""
    share += f", {figures.tasks_dismissed:,} dismissed" if figures.tasks_dismissed else ""
    return f"{number or 'none'} of {finished} finished{share}" if finished else "no task finished"


def whole_failures(figures: Figures, width: int) -> set[str]:
    """Return the numbers of the failed tasks of which the reason is not cut in a width."""
    number = max((cell_len(each.number) for each in figures.failures), default=0)
    name = min(width // 3, max((cell_len(each.name) for each in figures.failures), default=0))
    room = width - number - name - 13
    return {each.number for each in figures.failures if cell_len(each.why) <= room}


def _failed_tasks(figures: Figures, width: int, ascii_only: bool) -> list[Drawn]:
    """Return which tasks have failed, with why and since when."""
    lines: list[Drawn] = []
    number = max((cell_len(each.number) for each in figures.failures), default=0)
    name = min(width // 3, max((cell_len(each.name) for each in figures.failures), default=0))
    for each in figures.failures:
        mark = f" {LOOKS['failed'].mark(ascii_only=ascii_only)} "
        head: Drawn = [
            (mark, LOOKS["failed"].color),
            (f"{each.number:<{number}}  ", "$muted"),
            (f"{fit(each.name, name, ascii_only=ascii_only)}  ", ""),
        ]
        room = width - parts_width(head) - 6
        when = f"{age(each.at, figures.now):>5} "
        lines.append([*head, (fit(each.why, room, ascii_only=ascii_only), ""), (when, "$muted")])
    if more := figures.tally.failed - len(figures.failures):
        lines.append([(f"   and {more:,} more failed", "$muted")])
    return [*lines, []] if lines else []


def _spark(name: str, values: Sequence[int], text: str, style: str, ascii_only: bool) -> Drawn:
    return [
        (f" {name:<{_LABEL}}  ", "$muted"),
        (spark(values, ascii_only=ascii_only), style),
        (f"  {text}", "bold"),
    ]


def _number(name: str, text: str, label: int = _LABEL) -> list[Part]:
    return [(f" {name:<{label}}  ", "$muted"), (text, "bold")]


def _span(time: int | None, none: str) -> str:
    return none if time is None else duration(time, 1)


def _beside(left: Sequence[Drawn], right: Sequence[Drawn], half: int) -> list[Drawn]:
    """Return two blocks side by side, and an empty line."""
    lines: list[Drawn] = []
    for at in range(max(len(left), len(right))):
        one = left[at] if at < len(left) else ()
        other = right[at] if at < len(right) else ()
        used = parts_width(one)
        lines.append([*one, (" " * max(0, half + _GAP - used), ""), *other])
    return [*lines, []]


def _weekdays(figures: Figures) -> list[str]:
    days = (figures.tally.bounds[at] for at in range(0, DAYS * QUARTERS, QUARTERS))
    return [WEEKDAYS[datetime.fromtimestamp(day // SECOND, figures.zone).weekday()] for day in days]


def _titled(title: str) -> list[Drawn]:
    return [[(f" {title}", "$muted")]]


def _bars(
    title: str, names: Sequence[str], values: Sequence[int], top: int, width: int, ascii_only: bool
) -> list[Drawn]:
    """Return a thin bar for each name, up to `top`; the numbers of the longest are bright."""
    label = max(map(len, names)) + 2
    room = max(4, min(_LONG, width - label - 6))
    lines = _titled(title)
    for name, value in zip(names, values, strict=True):
        bar = value_bar(value, top, room, ascii_only=ascii_only)
        number = (f"{' ' * bool(bar)}{value:,}", "" if value == max(values) else "$muted")
        lines.append([(f" {name:<{label}}", "$muted"), (bar, "~primary"), number])
    return lines


def _spans(title: str, counts: Sequence[int], top: int, width: int, ascii_only: bool) -> list[Drawn]:
    """Return a bar for each span of time from the shortest to the longest that is counted; nothing without any."""
    found = [at for at, number in enumerate(counts) if number]
    if not found:
        return []
    shown = slice(found[0], found[-1] + 1)
    names = [name.replace("–", "-") if ascii_only else name for name in _SPANS]
    return _bars(title, names[shown], counts[shown], top, width, ascii_only)


def _columns(values: Sequence[int], cells: int, ascii_only: bool) -> list[Drawn]:
    """Return a line of bars, and above it their numbers: of each that differs from the one before it; the highest is
    bright.
    """
    numbers: list[Part] = [(" ", "")]
    for before, value in pairwise((0, *values)):
        number = f"{value:,}" if value != before else ""
        numbers.append((f"{number:<{cells}}", "" if value == max(values) else "$muted"))
    bars = (bar.ljust(cells) for bar in spark(values, ascii_only=ascii_only))
    return [numbers, [(f" {''.join(bars)}", "~primary")]]


def _runs(figures: Figures, width: int, ascii_only: bool) -> list[Drawn]:
    """Return a column for each hour of the day, or for three, and below the hours how many of its runs failed."""
    started: Counter[int] = Counter()
    failed: Counter[int] = Counter()
    starts = [datetime.fromtimestamp(at // SECOND, figures.zone).hour for at, _ in figures.runs]
    span = 1 if width > 24 * (len(str(max(Counter(starts).values(), default=0))) + 1) else 3
    for hour, (_, outcome) in zip(starts, figures.runs, strict=True):
        started[hour // span] += 1
        failed[hour // span] += vocab.run_failed(outcome)
    if not started:
        return _titled("no job has run")
    hours = range(24 // span)
    cells = min(4 * span, (width - 1) // len(hours))
    kept = f"{count(len(figures.runs), 'kept run')} of the last {DAYS} days"
    title = f"job runs by {'hour' if span == 1 else 'three hours'} of the day   {kept}"
    lines: list[Drawn] = [[(f" {title}", "$muted"), *_counted(failed.total(), "failed", "failed", ascii_only)]]
    lines += _columns([started[hour] for hour in hours], cells, ascii_only)
    lines.append([(" " + "".join(f"{hour * span:02}".ljust(cells) for hour in hours), "$muted")])
    if failed.total():
        counts = " " + "".join(str(failed[hour] or "").ljust(cells) for hour in hours).rstrip()
        blank = len(counts) - len(counts.lstrip())
        if blank > len(_FAILED):
            counts = f"{' ' * (blank - len(_FAILED))}{_FAILED}{counts.lstrip()}"
        lines.append([(counts, "$state-failed")])
    return lines


def _counted(number: int, state: str, word: str, ascii_only: bool) -> list[Part]:
    """Return `, ✗ 3 failed`; nothing where there are none."""
    look = LOOKS[state]
    mark: Part = (f"{look.mark(ascii_only=ascii_only)} ", look.color)
    return [(", ", "$muted"), mark, (f"{number:,} {word}", "")] if number else []
