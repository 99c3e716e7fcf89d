"""Marks of rows, of one, of a range, of all that match; and the line that sets fields of all marked tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.task_filter import Filter
from tui_tasks.core.schema import task_fields
from tui_tasks.core.snapshots import Task
from tui_tasks.dialects.requests.quick_add_syntax import SIGNS_HELP, parse, split_removed, title_hint
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import count
from tui_tasks.tui.keys.actions import Controller
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.state.context import Context

if TYPE_CHECKING:
    from tui_tasks.tui.tasks.task_pane import TaskPane

MAX_MARKED: Final = 10_000
"""The most rows that can be marked, and changed as one change."""
PAUSE: Final = 0.005
"""Seconds between two stretches of a long search, for keys to be handled."""
# So many rows of a range are read at once.
_PAGE: Final = 1_000


def mark_one(context: Context, rows: VirtualList[Any], noun: str) -> None:
    """Mark the row under the cursor, or take its mark away; say how many are marked, and how to mark a range."""
    rows.mark_here()
    key_of, marked = context.keymap.key_of, len(rows.marks)
    if not marked:
        context.say(f"No {noun} is marked.")
        return
    ends = len(rows.range_ends)
    then = f" Move, then {key_of('mark_all')} marks up to there." if ends == 1 else ""
    then = f" {key_of('mark_all')} marks all between them." if ends > 1 else then
    context.say(f"{count(marked, noun)} marked.{then} {key_of('back')} unmarks.")


def mark_range(
    context: Context, rows: VirtualList[Any], noun: str, *, takes: Callable[[Any], bool] = lambda row: True
) -> bool:
    """Mark the rows from the one that was marked last by itself to the cursor's, and say so; return False if none was
    but the cursor's. Where that row has gone, nothing is marked. `takes` returns whether a row can be marked.
    """
    source, here = rows.source, rows.row
    begins = next((end for end in rows.range_ends if end != rows.cursor), None)
    if source is None or here is None or begins is None:
        return False
    there = source.find([begins]).get(begins)
    if there is None:
        rows.mark(())
        key = context.keymap.key_of("mark_all")
        context.say(f"The {noun} from which the range began is gone. Nothing was marked; {key} again marks all.")
        return True
    first, end = sorted((here, there), key=source.order)
    found, last = [first], source.order(end)
    while source.order(found[-1]) < last and len(found) < MAX_MARKED:
        more = list(takewhile(lambda row: source.order(row) <= last, source.after(found[-1], _PAGE)))
        found += more
        if not more:
            break
    rows.mark([source.key(row) for row in found if takes(row)], on=True)
    context.say(f"{count(len(rows.marks), noun)} marked. {context.keymap.key_of('mark_all')} again marks all.")
    return True


class MarkActions(Controller):
    """Marks the tasks of a pane's list."""

    def __init__(self, pane: TaskPane) -> None:
        self._pane = pane
        self._context = pane.context

    def do_mark(self) -> None:
        """Mark the task, or take its mark away. The cursor stays, as people go on with a key for this task."""
        mark_one(self._context, self._pane.row_list, "card" if self._pane.NAME == "board" else "task")

    def do_mark_all(self) -> Coroutine[Any, Any, None] | None:
        """Mark the range from the last mark; else all that match; where all are marked, none.

        A list that is not long is done before the next key.
        """
        if mark_range(self._context, self._pane.row_list, "task"):
            return None
        only, list_id = self._pane.only, self._context.state.list_id
        uids, rank = list_pages.uids_on(self._context.db, list_id, list_pages.FIRST, only, MAX_MARKED)
        if rank is not None:
            return self._search(uids, rank, list_id, only)
        self._mark(uids)
        return None

    def unmark_all(self) -> None:
        """Take all marks away, and say so."""
        self._pane.row_list.clear_marks()
        self._context.say("No task is marked.")

    async def _search(self, uids: list[str], start: str, list_id: int, only: Filter) -> None:
        """Search for matches from a rank on, in steps; then mark all of them at once."""
        context = self._context
        rank: str | None = start
        while rank is not None:
            context.say(f"Looking for all that match…  {count(len(uids), 'task')}")
            await asyncio.sleep(PAUSE)
            if self._pane.only != only or context.state.list_id != list_id:
                context.say("The filter has changed; nothing was marked.")
                return
            more, rank = list_pages.uids_on(context.db, list_id, rank, only, MAX_MARKED - len(uids))
            uids += more
        self._mark(uids)

    def _mark(self, uids: list[str]) -> None:
        rows = self._pane.row_list
        if rows.marks and not set(uids) - set(rows.marks):
            self.unmark_all()
            return
        rows.mark(uids, on=True)
        limit = f", the first {MAX_MARKED:,}" if len(uids) == MAX_MARKED else ""
        self._context.say(f"{count(len(uids), 'task')} marked{limit}.")


async def edit_together(context: Context, tasks: Sequence[Task]) -> None:
    """Let the human set fields of several tasks in one line of quick add: `#tag -#tag !high @agent due:fri`."""
    from tui_tasks.tui.inputs.dialogs import LineDialog
    from tui_tasks.tui.inputs.task_form import TaskForm

    form, now = TaskForm(context), task_fields.local_time(context.clock.now(), context.clock.zone)
    title, text, problem = f"Set in {count(len(tasks), 'task')}:", "", ""
    about = f"fields {' '.join(sorted(task.uid for task in tasks))}"
    while True:
        asked = LineDialog(context, f"{title} {problem}", text, draft=about, done="Set", hint=f"-#tag {SIGNS_HELP}")
        typed = await context.ask(asked)
        if typed is None or not typed.strip():
            return
        text, (kept, removed) = typed, split_removed(typed)
        draft = parse(kept, now)
        instead = title_hint(draft.name, "not a field").removeprefix("in the title: ")
        problem = draft.problem or instead
        problem = problem or (f"“{safe_line(draft.name, 30)}” is not a field" if draft.name else "")
        after = [(number, form.uid_of(number)) for number in draft.after]
        problem = problem or next((f"there is no #{number}" for number, uid in after if uid is None), "")
        if not problem:
            break
    given: dict[str, Any] = {name: value for name, value in draft.fields.items() if f"{name}:" in kept.lower()}
    given |= {"priority": draft.priority} if draft.priority else {}
    given |= {"agent": draft.agent} if draft.agent else {}
    operations = []
    for task in tasks:
        changes = dict(given)
        tags = tuple(dict.fromkeys((*(tag for tag in task.tags if tag not in removed), *draft.tags)))
        needed = tuple(dict.fromkeys((*task.depends_on, *(uid for _, uid in after if uid and uid != task.uid))))
        changes |= {"tags": tags} if tags != task.tags else {}
        changes |= {"depends_on": needed} if needed != task.depends_on else {}
        if changes:
            operations.append(EditTask(task.uid, changes))
    await context.link.commit(*operations)
    context.say(f"Set in {count(len(operations), 'task')}. {context.keymap.key_of('undo')} undoes it.")
