"""One held task in full: who filed it and why, its fields, what it waits for and what waits for it."""

from __future__ import annotations

from collections.abc import Callable

from tui_tasks.core import vocab
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import overview
from tui_tasks.core.read.jobs import job_queries
from tui_tasks.core.read.tasks import held, queries
from tui_tasks.core.read.tasks.held import HeldTask
from tui_tasks.core.snapshots import Task
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import ago
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, block
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.state.context import Context

MOST_NAMED = 5


class HeldDetail(TextDrawing):
    """Draws the task or job that `row` returns."""

    def __init__(self, context: Context, row: Callable[[], HeldTask | None]) -> None:
        super().__init__(context)
        self._row = row

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines: title, who filed it and when, the reason, description, fields, dependencies."""
        row, room = self._row(), max(10, width - 2)
        if row is None:
            return []
        if row.is_job:
            return self._job(row, room)
        try:
            task = queries.task(self.context.db, row.uid)
        except NotFound:
            return []
        who = f"{safe_line(row.maker, 40)} filed it {ago(row.at, self.context.clock.now())}, for {row.list_name}"
        lines = block(task.name, room, "bold") + block(who, room, "$muted")
        if why := held.why(self.context.db, row.uid):
            lines += [[], *block(f"Why: {why}", room, "$changed")]
        if task.description:
            lines += [[], *block(task.description, room)]
        if fields := self._fields(task):
            lines += [[], *block(fields, room, "$muted")]
        lines += self._named("Waits for", self._depends_on(task), len(task.depends_on), room)
        waiting = [found.name for found in overview.dependents(self.context.db, row.uid, MOST_NAMED)]
        return [*lines, *self._named("Wait for it", waiting, row.waiting, room)]

    def _job(self, row: HeldTask, room: int) -> list[Drawn]:
        job = job_queries.any_job(self.context.db, row.uid)
        if job is None:
            return []
        who = f"{safe_line(row.maker, 40)} made this job {ago(row.at, self.context.clock.now())}"
        lines = block(job.name, room, "bold") + block(who, room, "$muted")
        if why := held.why_job(self.context.db, row):
            lines += [[], *block(f"Why: {why}", room, "$changed")]
        when = ", ".join(part for part in (job_text.raw(job), job_text.when(job)) if part)
        facts = (when, job_text.who_runs(job), job_text.settings(job))
        lines += [[], *(line for fact in facts if fact for line in block(fact, room, "$muted"))]
        for head, text in (("Prompt", job.prompt), ("System prompt", job.system_prompt)):
            if text.strip():
                lines += [[], [(f" {head}:", "$muted")], *block(text, room)]
        return lines

    @staticmethod
    def _fields(task: Task) -> str:
        fields = [f"priority {vocab.priority_word(task.priority)}"] if task.priority != vocab.MEDIUM else []
        fields += [f"for {task.agent}"] if task.agent else []
        return "   ".join([*fields, *(f"#{tag}" for tag in task.tags)])

    def _depends_on(self, task: Task) -> list[str]:
        return [found.name for found in queries.live_tasks(self.context.db, task.depends_on[:MOST_NAMED])]

    def _named(self, head: str, names: list[str], total: int, room: int) -> list[Drawn]:
        if not names:
            return []
        more = [f"and {total - len(names)} more"] if total > len(names) else []
        return [[], [(f" {head}:", "$muted")], *([(f"   {safe_line(name, room - 3)}", "")] for name in (*names, *more))]
