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
from tui_tasks.tui.painting.text_lines import Drawn, block
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.state.context import Context

MAX_NAMED = 5


def held_lines(context: Context, row: HeldTask, room: int) -> list[Drawn]:
    """Return the lines of a held task or job: title, who filed it and when, why, its text, fields, dependencies."""
    if row.is_job:
        return _job(context, row, room)
    try:
        task = queries.task(context.db, row.uid)
    except NotFound:
        return []
    who = f"{safe_line(row.maker, 40)} filed it {ago(row.at, context.clock.now())}, for {row.list_name}"
    lines = block(task.name, room, "bold") + block(who, room, "$muted")
    if why := held.why(context.db, row.uid):
        lines += [[], *block(f"Why: {why}", room, "$changed")]
    if task.description:
        lines += [[], *block(task.description, room)]
    if fields := _fields(task):
        lines += [[], *block(fields, room, "$muted")]
    lines += _named("Waits for", _depends_on(context, task), len(task.depends_on), room)
    waiting = [found.name for found in overview.dependents(context.db, row.uid, MAX_NAMED)]
    return [*lines, *_named("Wait for it", waiting, row.waiting, room)]


def _job(context: Context, row: HeldTask, room: int) -> list[Drawn]:
    job = job_queries.any_job(context.db, row.uid)
    if job is None:
        return []
    who = f"{safe_line(row.maker, 40)} made this job {ago(row.at, context.clock.now())}"
    lines = block(job.name, room, "bold") + block(who, room, "$muted")
    if why := held.why_job(context.db, row):
        lines += [[], *block(f"Why: {why}", room, "$changed")]
    when = ", ".join(part for part in (job_text.raw(job), job_text.when(job)) if part)
    facts = (when, job_text.who_runs(job), job_text.settings(job))
    lines += [[], *(line for fact in facts if fact for line in block(fact, room, "$muted"))]
    for head, text in (("Prompt", job.prompt), ("System prompt", job.system_prompt)):
        if text.strip():
            lines += [[], [(f" {head}:", "$muted")], *block(text, room)]
    return lines


def _fields(task: Task) -> str:
    fields = [f"priority {vocab.priority_word(task.priority)}"] if task.priority != vocab.MEDIUM else []
    fields += [f"for {task.agent}"] if task.agent else []
    return "   ".join([*fields, *(f"#{tag}" for tag in task.tags)])


def _depends_on(context: Context, task: Task) -> list[str]:
    return [found.name for found in queries.live_tasks(context.db, task.depends_on[:MAX_NAMED])]


def _named(head: str, names: list[str], total: int, room: int) -> list[Drawn]:
    if not names:
        return []
    more = [f"and {total - len(names)} more"] if total > len(names) else []
    return [[], [(f" {head}:", "$muted")], *([(f"   {safe_line(name, room - 3)}", "")] for name in (*names, *more))]
