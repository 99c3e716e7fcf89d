"""Parts of lines that panes and screens share: at the right of the first line what is next, the next task that can
start and the next job; and how many tasks have changed since the human looked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, safe_line
from tui_tasks.text.times import DAY, age, age_lasts, due
from tui_tasks.tui.painting.line_painter import FrameLine, rule_parts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.state.app_state import MAX_NEW

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# In cells: the width under which the time since when is left out.
_WITH_TIME: Final = 50
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


def changed_parts(context: Context, line: FrameLine, width: int, list_id: int | None = None) -> list[Part]:
    """Return `• 4 changed, 1 deleted since 19:58 `: what agents have done to the tasks of a list, or of all, that the
    human has not seen.
    """
    state, mark = context.state, sign("changed", ascii_only=context.ascii_only)
    new = len(state.new) if list_id is None else state.new_in(list_id)
    deleted = len(state.deleted) if list_id is None else state.deleted_in(list_id)
    counted = (new, "changed"), (deleted, "deleted")
    words = ", ".join(f"{number}{'+' if number >= MAX_NEW else ''} {word}" for number, word in counted if number)
    # At midnight, "since 19:58" needs its day.
    line.lasts(DAY)
    since = f" since {context.clock.time_of(state.looked.at)}" if words and width >= _WITH_TIME else ""
    return [(f"{mark} {words}{since} ", "$changed")] if words else []


class ChangesRule(FrameLine):
    """A rule across the screen with what has changed at its right.

    `word` returns a word at its left; `list_id` returns the list whose tasks count, None: those of all lists.
    """

    def __init__(
        self,
        context: Context,
        word: Callable[[], str] = lambda: "",
        list_id: Callable[[], int | None] = lambda: None,
    ) -> None:
        super().__init__(context, self._rule)
        self._word = word
        self._list_id = list_id

    def _rule(self, width: int) -> list[Part]:
        changed = changed_parts(self.context, self, width, self._list_id())
        if not changed:
            return rule_parts(self.context, width, self._word())
        room = width - sum(cell_len(text) for text, _ in changed) - 2
        return [*rule_parts(self.context, room, self._word()), (" ", ""), *changed, *rule_parts(self.context, 1)]
