"""What is next, for the heads of screens that lie over a pane: the next ready task, and the next job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import age_lasts, due
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import Part

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# In cells: the names of the task and of the job, from the most room to the least; 0: no name.
_STEPS: Final = ((40, 20), (24, 16), (16, 12), (10, 8), (0, 8), (0, 0))


def next_parts(context: Context, line: FrameLine, room: int) -> list[Part]:
    """Return `next #8 Backup drill   ◷ Nightly audit in 12h` for the right of a line, as much as there is room for."""
    if context.link.as_of is not None:
        return []
    ways = ([*_task(context, task), *_job(context, line, job)] for task, job in _STEPS)
    fitting = (parts for parts in ways if sum(cell_len(text) for text, _ in parts) < room)
    found = next(fitting, [])
    return [*found, (" ", "")] if found else []


def _task(context: Context, cells: int) -> list[Part]:
    task = context.state.next_task
    if task is None:
        return []
    name = f" {safe_line(task.name, cells, ascii_only=context.ascii_only)}" if cells else ""
    return [("next ", "$muted"), (f"#{task.number}{name}", "")]


def _job(context: Context, line: FrameLine, cells: int) -> list[Part]:
    if not context.state.next_jobs:
        return []
    (name, when), now, ascii_only = context.state.next_jobs[0], context.clock.now(), context.ascii_only
    line.lasts(age_lasts(when, now))
    is_late = when < now
    mark = look("overdue").mark(ascii_only=ascii_only) if is_late else sign("scheduled", ascii_only=ascii_only)
    named = f"{safe_line(name, cells, ascii_only=ascii_only)} " if cells else ""
    return [(f"   {mark} {named}{due(when, now)}", "$state-overdue" if is_late else "$muted")]
