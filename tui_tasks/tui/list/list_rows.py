"""The rows of the list pane: the tasks of one list, in its order or sorted, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.pages.list_pages import TaskLine, TaskPage
from tui_tasks.core.read.pages.task_filter import ALL, Filter, tags_found
from tui_tasks.core.read.tasks.task_queries import aged_from
from tui_tasks.installation import DEMO_FOLDER
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.list.row_columns import RowFacts, laid_out, tag_parts
from tui_tasks.tui.needs.agent_entries import one_line
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.row_painter import GUTTER, NUMBER_GAP, RowDrawing, RowLook, gutter
from tui_tasks.tui.state.app_state import AppState
from tui_tasks.tui.state.context import Context
from tui_tasks.tui.state.projects import is_dialects_own
from tui_tasks.tui.tasks.task_text import (
    EmptiedNote,
    after_text,
    ask_of,
    failed_check,
    field_parts,
    last_words,
    late_mark,
    priority,
    proof,
    reason,
    standstill_lasts,
    state_look,
)

# In cells: the room from which a row keeps the tags that the filter finds.
_LEAST_FOUND = 50


class TaskRows(RowDrawing[TaskLine]):
    """Draws tasks, one in each line."""

    def __init__(self, context: Context, only: Callable[[], Filter]) -> None:
        """`only` returns the filter of the list: tags that it finds stay in a narrow row."""
        super().__init__(context)
        self._only = only
        self._emptied = EmptiedNote(context)

    def draw(self, row: TaskLine, row_look: RowLook, line: int) -> Sequence[Part]:
        """`>• ◐ #5  Ship auth flow   "tests 14/22"   !high  #auth   in 2d   claude-1   40s`."""
        ascii_only, state = self.context.ascii_only, self.context.state
        shown = state.status_of(row)
        status = state_look(self.context, row.uid, shown)
        style = "$muted" if row.status in ("done", "skipped", "cancelled") or row_look.dragged else ""
        room = row_look.width - GUTTER - state.number_width - NUMBER_GAP - 1
        checked, is_proven = proof(self.context, row)
        tick = "$muted" if shown == "done" and not is_proven else status.color
        found = tags_found(self._only(), row.tags) if room >= _LEAST_FOUND else []
        facts = self._facts(row, f"{style} underline".strip() if row_look.drop else style, checked, found)
        return (
            *gutter(
                row_look,
                (status.mark(ascii_only=ascii_only), tick),
                is_new=row.uid in state.seen.new,
                ascii_only=ascii_only,
            ),
            (f"{f'#{row.number}':<{state.number_width + NUMBER_GAP}}", "$muted"),
            *laid_out(facts, room, ascii_only=ascii_only),
            (" ", ""),
        )

    def _facts(self, row: TaskLine, style: str, checked: Part | None, found: Sequence[str]) -> RowFacts:
        """Return what there is to show of a task; `checked`: what its checks have proven, `found`: tags to keep."""
        context, state = self.context, self.context.state.status_of(row)
        due: Part | None = None
        for part, lasts in field_parts(context, row):
            self.lasts(lasts)
            due = due or (None if row.finished_at else part)
        why, urgency = reason(context, row, state), priority(row)
        ask = ask_of(context, row) if state == "needs_you" else None
        since = ask.opened_at if ask is not None else aged_from(row)
        if state == "check_failed":
            since = context.state.failing_checks[row.uid]
        elif state == "reviewable":
            since = context.state.works.reviewed_since[row.uid]
        elif state in ("left", "quiet"):
            since = context.state.left[row.uid].at
        elif ask is None and (stuck := context.state.stuck.get(row.uid)) is not None:
            since = stuck.since or since
        self.lasts(age_lasts(since, context.clock.now()))
        if (still_lasts := standstill_lasts(context, row.uid)) is not None:
            self.lasts(still_lasts)
        if why is None and (failed := failed_check(context, row)) is not None:
            why, checked = (failed, "$muted"), None
        said = why or self._waits(row) or last_words(context, row, state)
        return RowFacts(
            title=(row.name, style),
            note=said or checked or self._next(row),
            is_reason=why is not None,
            marks=(*((urgency,) if urgency is not None else ()), *tag_parts(found, ascii_only=context.ascii_only)),
            tags=tuple(tag for tag in row.tags if tag not in found),
            due=due,
            late=late_mark(context, row),
            is_question=ask is not None and not ask.is_permission,
            proof=checked if said else None,
            agent=agent_text.who(row.who),
            age=age(since, context.clock.now()),
        )

    def _waits(self, row: TaskLine) -> Part | None:
        """Return what a blocked task waits for, and that it is the next one where none is ready."""
        if not (row.blocked and row.depends_on):
            return None
        after = after_text(self.context, row)
        return (f"next, {after}", "$primary") if self.context.state.suggested == row.uid else (after, "$muted")

    def _next(self, row: TaskLine) -> Part | None:
        """Return `next` for the task that the first line names."""
        return ("next", "$primary") if self.context.state.suggested == row.uid else None

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw what to do next."""
        context = self.context
        key_of, projects = context.keymap.key_of, context.state.projects
        new, lists = (key_of("new"), "add one"), (f"{key_of('palette')} list", "another list")
        ways = [new, lists, ("tui-tasks demo", "look around"), ("tui-tasks setup claude", "connect agents")]
        if DEMO_FOLDER in context.link.path:
            ways = [new, lists, (key_of("quit"), "end the demo")]
        if context.link.read_only:
            ways = [lists]
        if elsewhere := projects.others():
            ways.insert(ways.index(lists), (key_of("projects"), f"go to {', '.join(elsewhere)}"))
        elif projects.folder_has_none:
            ways.append(("tui-tasks init", "give this folder its own lists"))
        emptied = self._emptied.text()
        outside = " outside projects" if projects.title and not projects.folder_has_none else ""
        home = context.state.current_list
        where = f" in {projects.title}" if projects.chosen else outside
        if home is not None and (not is_dialects_own(home) or context.state.others(home.id, 1)):
            where = f" in {one_line(home.name, 40)}"
        lines: list[Sequence[Part]] = [(), [(f"   {emptied or f'No tasks{where} yet'}.", "bold")], ()]
        if emptied:
            ways = [(context.keymap.key_of("take_back"), self._emptied.way_back()), *ways[:2]]
        lines += [[(f"   {key:<23}", "$key"), (words, "")] for key, words in ways]
        lines += [(), [("   db  ", "$muted"), (safe_line(_short_path(context.link.path), 60), "$muted")]]
        return lines[line] if line < len(lines) else ()


def _short_path(path: str) -> str:
    home = str(Path.home())
    return f"~{path.removeprefix(home)}" if path.startswith(home + "/") else path


class TasksOfList:
    """A `Source` of the tasks of a list that match a filter, in the list's order.

    With a filter, a read ends early when nothing matches for long; repeated, it continues from there.
    """

    def __init__(self, db: Database, state: AppState, list_id: int, only: Filter = ALL) -> None:
        self._db = db
        self._state = state
        self.list_id = list_id
        self.only = only
        # Where a read from a rank in a direction ended early.
        self._reached: dict[tuple[str, bool], str] = {}

    def first(self, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(list_pages.FIRST, limit, backwards=False)

    def last(self, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(list_pages.LAST, limit, backwards=True)

    def after(self, row: TaskLine, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(row.rank, limit, backwards=False)

    def before(self, row: TaskLine, limit: int) -> TaskPage:
        """See `Source`."""
        return self._read(row.rank, limit, backwards=True)

    def _read(self, rank: str, limit: int, *, backwards: bool) -> TaskPage:
        start = self._reached.pop((rank, backwards), rank)
        page = (list_pages.before if backwards else list_pages.after)(self._db, self.list_id, start, limit, self.only)
        if page.reached is not None:
            self._reached[page[0 if backwards else -1].rank if page else rank, backwards] = page.reached
        return page

    def find(self, keys: Collection[str]) -> dict[str, TaskLine]:
        """See `Source`."""
        lines = list_pages.lines(self._db, self.list_id, keys, self.only)
        # A task that a read skipped may match now, so that read starts again.
        for (rank, backwards), reached in list(self._reached.items()):
            low, high = (reached, rank) if backwards else (rank, reached)
            if any(low <= row.rank <= high for row in lines.values()):
                del self._reached[rank, backwards]
        return lines

    def key(self, row: TaskLine) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: TaskLine) -> str:
        """See `Source`."""
        return row.rank

    def place(self, row: TaskLine) -> int:
        """See `Source`; with a filter, the rows between two that match are not counted."""
        return -1 if self.only else self._state.places.ahead(self.list_id, row.rank)

    def total(self) -> int:
        """See `Source`."""
        # The list may be missing when a backup has replaced the database.
        home = self._state.lists.get(self.list_id)
        return -1 if self.only else home.total if home else 0


class SortedTasks:
    """A `Source` of the tasks of a list that match a filter, in the order of its `sort`."""

    def __init__(self, db: Database, list_id: int, only: Filter) -> None:
        self._db = db
        self.list_id = list_id
        self.only = only

    def first(self, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.sorted_lines(self._db, self.list_id, None, limit, self.only, backwards=False)

    def last(self, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.sorted_lines(self._db, self.list_id, None, limit, self.only, backwards=True)

    def after(self, row: TaskLine, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.sorted_lines(self._db, self.list_id, self.order(row), limit, self.only, backwards=False)

    def before(self, row: TaskLine, limit: int) -> list[TaskLine]:
        """See `Source`."""
        return list_pages.sorted_lines(self._db, self.list_id, self.order(row), limit, self.only, backwards=True)

    def find(self, keys: Collection[str]) -> dict[str, TaskLine]:
        """See `Source`."""
        return list_pages.lines(self._db, self.list_id, keys, self.only)

    def key(self, row: TaskLine) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: TaskLine) -> tuple[Any, ...]:
        """See `Source`."""
        is_dated = self.only.sorts_dated
        return (row.due, row.rank) if is_dated else list_pages.sorted_place(self.only.sort, row)

    def place(self, row: TaskLine) -> int:
        """See `Source`; tasks would have to be counted."""
        return -1

    def total(self) -> int:
        """See `Source`."""
        return -1
