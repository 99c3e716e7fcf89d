"""A held task or job in full: what is accepted with it, and what is around it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.errors import NotFound
from tui_tasks.core.job_snapshots import ACCEPTED as ACCEPTED_OF_JOB
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.read import job_queries, overview
from tui_tasks.core.read.tasks import held_queries, task_queries
from tui_tasks.core.read.tasks.held_queries import HeldTask
from tui_tasks.core.rules.tasks.held_rules import ACCEPTED
from tui_tasks.core.snapshots import Task
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.asks.request_lines import Prose, unhidden_prose
from tui_tasks.tui.keys.action_table import ACTIONS
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.state.context import Context

_MAX_NAMED: Final = 5
# In cells: the labels of the lines in full.
_LABEL: Final = 10


def content(context: Context, row: HeldTask) -> Task | Job | None:
    """Return the held task or job of a row as it is now; None if it is gone."""
    if row.is_job:
        return job_queries.any_job(context.db, row.uid)
    try:
        return task_queries.task(context.db, row.uid)
    except NotFound:
        return None


def changed_fields(before: Task | Job | None, now: Task | Job | None) -> str:
    """Return the names of the fields that differ, of those that the human accepts; "" if none is known to."""
    if before is None or now is None:
        return ""
    names = ACCEPTED if isinstance(now, Task) else ACCEPTED_OF_JOB
    changed = [name for name in names if getattr(before, name) != getattr(now, name)]
    return " and ".join(filter(None, (", ".join(changed[:-1]), *changed[-1:]))).replace("_", " ")


class HeldTaskLines(NamedTuple):
    """The lines of a held task or job: what is `accepted`, and what is `around` it. Each has a label.

    `is_whole`: whether they are all that is accepted.
    """

    accepted: Sequence[Drawn] = ()
    around: Sequence[Drawn] = ()
    is_whole: bool = True


def held_lines(context: Context, row: HeldTask, room: int, when: str) -> HeldTaskLines:
    """Return the lines of a held task or job.

    They begin with its name and who filed it `when`; without that, the line above them has both.
    """
    item = content(context, row)
    if item is None:
        return HeldTaskLines()
    labelled = partial(_labelled, room=room, ascii_only=context.ascii_only)
    parts: list[Prose] = []
    if when:
        what = "made this job" if row.is_job else "filed it"
        place = "" if row.is_job else f", for the list {row.list_name}"
        shown = partial(unhidden_prose, width=room, ascii_only=context.ascii_only)
        filed = f"{safe_line(row.maker, 40)} {what} {when}{place}"
        parts += shown(item.name, style="bold"), shown(filed, style="$muted")
    why = held_queries.why_job(context.db, row) if row.is_job else held_queries.why(context.db, row.uid)
    facts = _job_facts(item) if isinstance(item, Job) else (("text", item.description), *_fields(item))
    parts += (labelled(label, text) for label, text in (("why", why), *facts))
    around: list[Drawn] = []
    if isinstance(item, Task):
        waiting = [line.name for line in overview.dependents(context.db, row.uid, _MAX_NAMED)]
        for label, names, total in (
            ("after", _depends_on(context, item), len(item.depends_on)),
            ("blocks", waiting, row.waiting),
        ):
            more = [f"and {total - len(names)} more"] if total > len(names) > 0 else []
            around += labelled(label, "\n".join((*map(safe_line, names), *more))).lines
    accepted = [line for part in parts for line in part.lines]
    return HeldTaskLines(accepted, [*around, *_keys(context)], all(part.is_whole for part in parts))


def _labelled(label: str, text: str, room: int, *, ascii_only: bool) -> Prose:
    """Return a text with its label before the first line; nothing without a text."""
    if not text:
        return Prose((), is_whole=True)
    prose = unhidden_prose(text, max(8, room - _LABEL), ascii_only=ascii_only)
    lines = [[(f" {'' if at else label:<{_LABEL - 1}}", "$muted"), *line] for at, line in enumerate(prose.lines)]
    return Prose(lines, prose.is_whole)


def _job_facts(job: Job) -> Sequence[tuple[str, str]]:
    times = ", ".join(part for part in (job_text.raw(job), job_text.when(job)) if part)
    return (
        ("when", times),
        ("runs", job_text.who_runs(job)),
        ("with", job_text.settings(job)),
        ("prompt", job.prompt),
        ("system", job.system_prompt),
    )


def _keys(context: Context) -> list[Drawn]:
    """Return the line of the keys that decide."""
    keys: list[Part] = [(" " * _LABEL, "")]
    for action in ("review_accept", "review_decline"):
        keys += [(f" {context.keymap.key_of(action)}", "$key bold"), (f" {ACTIONS[action].short}  ", "")]
    return [] if context.link.read_only else [keys]


def _fields(task: Task) -> list[tuple[str, str]]:
    """Return what else is accepted with a task, each with its label."""
    fields = [("priority", vocab.priority_word(task.priority))] if task.priority != vocab.MEDIUM else []
    fields += [("for", agent_text.who(task.agent))] if task.agent else []
    fields += [
        (name, str(value)) for name in ("domain", "due", "estimate") if (value := getattr(task, name)) is not None
    ]
    fields += [("tags", " ".join(f"#{tag}" for tag in task.tags))] if task.tags else []
    if task.metadata is not None:
        fields.append(("metadata", msgspec.json.encode(task.metadata).decode()))
    return fields


def is_all_in_line(task: Task | Job | None) -> bool:
    """Return whether the line of a row has all that is accepted with it."""
    return isinstance(task, Task) and not task.description and not _fields(task)


def _depends_on(context: Context, task: Task) -> list[str]:
    return [each.name for each in task_queries.live_tasks(context.db, task.depends_on[:_MAX_NAMED])]
