"""What is next, as panes and screens show it: the next task that can start, and the next job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import age, age_lasts, due
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# In cells: the names of the task and of the job, from the most room to the least; 0: no name.
_STEPS: Final = ((40, 20), (24, 16), (16, 12), (10, 8), (0, 8), (0, 0))


def next_parts(context: Context, line: FrameLine, room: int) -> list[Part]:
    """Return `next #8 Backup drill  ◷ Nightly audit in 12h` for the right of a line, as much as there is room for."""
    if context.link.as_of is not None:
        return []
    ways = ([*next_task(context, task), *next_job(context, line.lasts, job)] for task, job in _STEPS)
    fitting = (parts for parts in ways if sum(cell_len(text) for text, _ in parts) < room)
    found = next(fitting, [])
    return [*found, (" ", "")] if found else []


def next_task(context: Context, cells: int) -> list[Part]:
    """Return the task that is suggested next; its name takes up to so many cells, 0: none."""
    task = context.state.next_task
    if task is None:
        return []
    name = f" {safe_line(task.name, cells, ascii_only=context.ascii_only)}" if cells else ""
    return [("  next ", "$muted"), (f"#{task.number}{name}", "")]


def next_job(context: Context, lasts: Callable[[int], None], cells: int, *, has_time: bool = False) -> list[Part]:
    """Return the next job and when it is due; of jobs that are late the first, and how many there are more.

    Args:
        lasts: called with how many microseconds this stays true.
        cells: the most that the name takes; 0: none.
        has_time: whether the time of day is shown.
    """
    jobs = context.state.next_jobs
    if not jobs:
        return []
    (name, when), now, ascii_only = jobs[0], context.clock.now(), context.ascii_only
    lasts(min(age_lasts(when, now) for _, when in jobs))
    late = sum(when < now for _, when in jobs)
    mark = look("overdue").mark(ascii_only=ascii_only) if late else sign("scheduled", ascii_only=ascii_only)
    words = f"{age(when, now)} late{f' +{late - 1}' if late > 1 else ''}" if late else due(when, now)
    if has_time and not late:
        words = f"{context.clock.time_of(when)}, {words}"
    name = f"{safe_line(name, cells, ascii_only=ascii_only)} " if cells else ""
    return [(f"  {mark} {name}{words}", "$state-overdue" if late else "$muted")]
