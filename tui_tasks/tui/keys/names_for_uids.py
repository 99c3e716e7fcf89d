"""Phrases refusals for the human: with the number or name of a thing, where the text for programs has its uid."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import NotFound, Refusal
from tui_tasks.core.read import ask_queries, job_lines, job_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.text.safe import safe_line
from tui_tasks.tui.agents import agent_text

_MOST: Final = 40
"""In cells: the longest name."""
_NAMED: Final = re.compile(
    r"(?P<no>\bno )?\b(?P<kind>question|run|job|plan|list|task) "
    r"(?P<uid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)


def refusal_text(db: Database, refusal: Refusal) -> str:
    """Return the message of a refusal with `#5 Ship auth flow` for `task <uid>`, and so for questions, runs, jobs and
    lists; `this job is gone` for `no job <uid>`.
    """
    return _NAMED.sub(lambda found: _in_words(db, found), refusal.message)


def _in_words(db: Database, found: re.Match[str]) -> str:
    kind = found["kind"]
    if found["no"]:
        return f"this {kind} is gone"
    try:
        return _NAMES[kind](db, found["uid"]) or f"this {kind}"
    except NotFound:
        return f"this {kind}"


def _question(db: Database, uid: str) -> str:
    ask = ask_queries.ask(db, uid)
    return f"the question of {agent_text.who(ask.agent, 30)}, “{safe_line(ask.question, _MOST)}”,"


def _run(db: Database, uid: str) -> str:
    run = job_queries.any_run(db, uid)
    return f"the run of {_job(db, run.job_uid)}" if run is not None else ""


def _job(db: Database, uid: str) -> str:
    job = job_queries.any_job(db, uid)
    if job is None:
        return ""
    # Only the jobs that are there have numbers.
    number = "job" if job.deleted else f"S{job_lines.place(db, job.id)}"
    return f"{number} {safe_line(job.name, _MOST)}"


def _list(db: Database, uid: str) -> str:
    return f"list {safe_line(task_queries.list_by_uid(db, uid).name, _MOST)}"


def _task(db: Database, uid: str) -> str:
    task = task_queries.any_task(db, uid)
    return f"#{task.number} {safe_line(task.name, _MOST)}" if task is not None else ""


_NAMES: Final[Mapping[str, Callable[[Database, str], str]]] = {
    "question": _question, "run": _run, "job": _job, "plan": _list, "list": _list, "task": _task,
}  # fmt: skip
