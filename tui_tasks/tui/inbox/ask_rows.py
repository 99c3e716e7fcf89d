"""The lines of the inbox: who asks, what, and since when."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tui_tasks.core.read.pages.pages import TaskLine
from tui_tasks.core.snapshots import Ask
from tui_tasks.text.glyphs import look, sign
from tui_tasks.text.safe import cell_len, fit, fit_ends, safe_ends, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.rows.in_memory_source import InMemorySource
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.context import Context


class AskedTasks:
    """The tasks that questions are about; each is read once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._found: dict[str, TaskLine] = {}

    def of(self, ask: Ask) -> TaskLine | None:
        """Return the task that a question is about; None when it is about none, or that is deleted."""
        if ask.task_uid is None:
            return None
        if ask.task_uid not in self._found:
            found = agent_text.live_task(self._context.db, ask.task_uid)
            if found is None:
                return None
            self._found[ask.task_uid] = found
        return self._found[ask.task_uid]

    def number(self, ask: Ask) -> str:
        """Return the number of a question's task as `#4`; empty without a task."""
        task = self.of(ask)
        return f"#{self._context.numbers.number(task)}" if task is not None else ""

    def holds_any(self, uids: Collection[str]) -> bool:
        """Return whether one of these tasks has been read."""
        return not self._found.keys().isdisjoint(uids)

    def forget(self) -> None:
        """Have all tasks read again."""
        self._found.clear()


class AskRows(RowDrawing[Ask]):
    """Draws questions, one in each line; on a small screen only the one under the cursor is seen, as the first line.

    `listed` are all questions, `later` the uids of those that were put off.
    """

    def __init__(
        self,
        context: Context,
        listed: InMemorySource[Ask],
        tasks: AskedTasks,
        later: Collection[str],
        is_small: Callable[[], bool],
    ) -> None:
        super().__init__(context)
        self._listed = listed
        self._tasks = tasks
        self._later = later
        self._is_small = is_small

    def draw(self, row: Ask, look_: RowLook, line: int) -> Sequence[Part]:
        """Draw who asks, the question, and its age."""
        now, width = self.context.clock.now(), look_.width
        state = look(agent_text.ask_state(row))
        mark = state.mark(ascii_only=self.context.ascii_only)
        waited = age(row.opened_at, now)
        if row.state == "open":
            self.lasts(age_lasts(row.opened_at, now))
        number = self._tasks.number(row)
        if self._is_small():
            head = f" {look_.place} of {self._listed.total()}  {number or ''}  "
            return (
                (f" {mark}", state.color),
                (head, ""),
                (safe_ends(row.agent, max(4, width - len(head) - 9)), "$muted"),
                (f"  {waited if row.state == 'open' else agent_text.ask_word(row)}", "$muted"),
            )
        late = "later" if row.uid in self._later else "waiting"
        standing = f"{late} {waited}" if row.state == "open" else agent_text.ask_word(row)
        project = self.context.state.projects.of_ask(row)
        where = f"{fit(project, 8)}  " if self._names_projects else ""
        right = f"{where}{fit_ends(row.agent, 10)}  {standing:<11} "
        head = f" {number:<3} " if number else "     "
        room = max(1, width - 4 - len(head) - cell_len(right))
        quiet = row.state != "open" or row.uid in self._later
        return (
            (f" {sign('cursor') if look_.cursor else ' '}", "$primary bold" if look_.focused else "$muted"),
            (mark, state.color),
            (head, "$muted"),
            (fit(self._title(row, room), room), "$muted" if quiet else ""),
            (" " + right, "$muted"),
        )

    @property
    def _names_projects(self) -> bool:
        """Whether any question comes from a project."""
        return any(map(self.context.state.projects.of_ask, self._listed.rows))

    def _title(self, row: Ask, room: int) -> str:
        """Return the question if it fits, else the name of its task if that fits."""
        question, task = safe_line(agent_text.request_line(row)), self._tasks.of(row)
        if task is None or cell_len(question) <= room or cell_len(safe_line(task.name)) > room:
            return question
        return task.name

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw how a question gets here."""
        text = ("   Nothing needs you.", "", "   Agents ask here with the tool `ask`; the Now line then shows it.")
        at = line if self._is_small() else line - 1
        return [(text[at], "" if at == 0 else "$muted")] if 0 <= at < len(text) else ()
