"""One held task in full: who filed it and why, its fields, what it waits for and what waits for it."""

from __future__ import annotations

from tui_tasks.core import vocab
from tui_tasks.core.errors import NotFound
from tui_tasks.core.read import overview
from tui_tasks.core.read.jobs import job_queries
from tui_tasks.core.read.tasks import held, queries
from tui_tasks.core.read.tasks.held import HeldTask
from tui_tasks.core.snapshots import Task
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import ago
from tui_tasks.tui.painting.text_lines import Drawn, TextLines, wrapped
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.state.context import Context

MOST_NAMED = 5


class HeldDetail(TextLines):
    """Shows a given task."""

    def __init__(self, context: Context, *, id: str) -> None:
        super().__init__(context, id=id)
        self._row: HeldTask | None = None

    def put(self, row: HeldTask | None) -> None:
        """Show a task; None: nothing."""
        self._row = row
        self.again()

    def lines(self, width: int) -> list[Drawn]:
        """Return the lines: title, who filed it and when, the reason, description, fields, dependencies."""
        row = self._row
        if row is None:
            return []
        if row.is_job:
            return self._job(row, max(10, width - 2))
        try:
            task = queries.task(self.context.db, row.uid)
        except NotFound:
            return []
        room = max(10, width - 2)
        lines: list[Drawn] = [[(f" {line}", "bold")] for line in wrapped(task.name, room)]
        who = f"{safe_line(row.maker, 40)} filed it {ago(row.at, self.context.clock.now())}, for {row.list_name}"
        lines += [[(f" {line}", "$muted")] for line in wrapped(who, room)]
        if why := held.why(self.context.db, row.uid):
            lines += [[], *([(f" {line}", "$changed")] for line in wrapped(f"Why: {why}", room))]
        if task.description:
            lines += [[], *([(f" {line}", "")] for line in wrapped(task.description, room))]
        if fields := self._fields(task):
            lines += [[], *([(f" {line}", "$muted")] for line in wrapped(fields, room))]
        lines += self._named("Waits for", self._depends_on(task), len(task.depends_on), room)
        waiting = [found.name for found in overview.dependents(self.context.db, row.uid, MOST_NAMED)]
        return [*lines, *self._named("Wait for it", waiting, row.waiting, room)]

    def _job(self, row: HeldTask, room: int) -> list[Drawn]:
        job = job_queries.any_job(self.context.db, row.uid)
        if job is None:
            return []
        lines: list[Drawn] = [[(f" {line}", "bold")] for line in wrapped(job.name, room)]
        who = f"{safe_line(row.maker, 40)} made this job {ago(row.at, self.context.clock.now())}"
        lines += [[(f" {line}", "$muted")] for line in wrapped(who, room)]
        if why := held.why_job(self.context.db, row):
            lines += [[], *([(f" {line}", "$changed")] for line in wrapped(f"Why: {why}", room))]
        when = ", ".join(part for part in (job_text.raw(job), job_text.when(job)) if part)
        facts = (when, job_text.who_runs(job), job_text.settings(job))
        lines += [[], *([(f" {line}", "$muted")] for fact in facts if fact for line in wrapped(fact, room))]
        for head, text in (("Prompt", job.prompt), ("System prompt", job.system_prompt)):
            if text.strip():
                lines += [[], [(f" {head}:", "$muted")], *([(f" {line}", "")] for line in wrapped(text, room))]
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
