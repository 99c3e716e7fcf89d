"""The names of tasks for people and agents, explanations of an id that nothing has, and refusals with names for ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.orm import Statement, slot
from tui_tasks.core.errors import NotFound, Refusal
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.tables import model_of
from tui_tasks.core.snapshots import Task

_MAX_CHARS: Final = 60
# Digits alone are a number up to 7 of them, and the beginning of a uid from 8.
_NUMBER: Final = r"#([0-9]{1,18})|([0-9]{1,7})"
_NAMED: Final = (
    r"(?P<no>\bno )?\b(?P<kind>question|run|job|plan|list|task) "
    r"(?P<uid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)


def named(task: Task) -> str:
    """Return a task's name as in `task #3 "Build the parser"`."""
    name = " ".join(task.name[: 2 * _MAX_CHARS].split())
    name = f"{name[: _MAX_CHARS - 1]}…" if len(name) > _MAX_CHARS else name
    return f'task #{task.number} "{name}"'


def waits_for(task: Task, others: Iterable[Task]) -> str:
    """Return the sentence that a task waits for others."""
    return f"{named(task)} waits for {', '.join(map(named, others))}"


def number_of(reference: str) -> int | None:
    """Return the number that a reference names a task by (`#12` or `12`); None if it is no number."""
    match = re.fullmatch(_NUMBER, reference, re.ASCII)
    return int(match[1] or match[2]) if match else None


_UID_LENGTH: Final = 36
# Neighbours differ within their first characters, so an equal beginning of this length is hardly ever chance.
_SURE_PREFIX: Final = 6
_HEX: Final = "0123456789abcdef"
# The tables of what has an id, and the words for it.
_KINDS: Final = {
    "job": "job",
    "run": "run of a job",
    "ask": "question",
    "claim": "claim",
    "memory": "memory",
    "list": "plan or list",
    "task": "task",
}
_BACK: Final = "the human can bring it back"
# Of a deleted task, how many of the newest entries are searched for who deleted it.
_LATEST: Final = 20
_TABLES: Final = {"question": "ask", "plan": "list"}


def explain(db: Database, kind: str, reference: str) -> str:
    """Return a hint about an id, to follow `no KIND ID`; empty if there is none."""
    table = _TABLES.get(kind, kind)
    if table not in _KINDS:
        return ""
    uid = _bare_uid(reference)
    if len(uid) == _UID_LENGTH:
        for other, words in _KINDS.items():
            if other != table and db.one(_by_uid(other), uid=uid) is not None:
                return f": that is the id of a {words}"
    if table == "task" and (number := number_of(reference)) is not None:
        task = task_queries.task_of_number(db, number)
        uid = task.uid if task is not None else ""
    found = task_queries.any_task(db, uid) if table == "task" and len(uid) == _UID_LENGTH else None
    if found is not None and found.deleted:
        # Other entries may follow, as when the claim on it ends.
        by = [one.actor for one in journal.latest(db, _LATEST, uid) if one.kind == "task.deleted"]
        return f": {by[-1]} deleted it; {_BACK}" if by else f": it was deleted; {_BACK}"
    if found is not None and task_queries.status(db, uid) is None:
        return f": it was deleted with its list; {_BACK}"
    if uid and uid != reference.lower() and db.one(_by_uid(table), uid=uid) is not None:
        return f"; did you mean {uid}?"
    if table == "list":
        plans = (home.uid for home in task_queries.each_list(db) if home.kind == "plan" and home.name == reference)
        plan = next(plans, None)
        return f": that is the title of a plan; name it by its plan_id, {plan}" if plan is not None else ""
    near = _near(db, uid) if table == "task" else None
    return f"; did you mean {near}?" if near is not None else ""


def _bare_uid(reference: str) -> str:
    """Return a uid that was written in another form, such as in braces or without hyphens; else the text as it is."""
    digits = re.sub(r"^urn:uuid:|[^0-9a-z]", "", reference.lower())
    if len(digits) == _UID_LENGTH - 4:
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return reference.lower()


@cache
def _by_uid(table: str) -> Statement:
    model: Any = model_of(table)
    return Statement(lambda: model.select(model.uid).where(model.uid == slot("uid")))


def _near(db: Database, uid: str) -> str | None:
    """Return the one task whose uid differs in one character, which may be missing or twice; None if there is none."""
    if not _UID_LENGTH - 1 <= len(uid) <= _UID_LENGTH + 1:
        return None
    uids = {task.uid for task in task_queries.tasks_beginning(db, uid[:_SURE_PREFIX], 20) if _is_near(task.uid, uid)}
    # The slip may be in the first characters.
    for at in range(_SURE_PREFIX):
        behind = uid[at + len(uid) - _UID_LENGTH + 1 :]
        for digit in _HEX:
            uids.update(task.uid for task in task_queries.tasks_beginning(db, uid[:at] + digit + behind, 1))
    return uids.pop() if len(uids) == 1 else None


def _is_near(one: str, other: str) -> bool:
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    longer = len(other) - len(one)
    return one[at + (longer <= 0) :] == other[at + (longer >= 0) :]


def refusal_text(db: Database, refusal: Refusal) -> str:
    """Return the message of a refusal with `#5 Ship auth flow` for `task <uid>`, and so for questions, runs, jobs and
    lists; `this job is gone` for `no job <uid>`.
    """
    return re.sub(_NAMED, lambda found: _in_words(db, found), refusal.message)


def _in_words(db: Database, found: re.Match[str]) -> str:
    kind = found["kind"]
    if found["no"]:
        return f"this {kind} is gone"
    try:
        return _NAMES[kind](db, found["uid"]) or f"this {kind}"
    except NotFound:
        return f"this {kind}"


def _short(text: str) -> str:
    from tui_tasks.text.safe import safe_line

    return safe_line(text, 40)


def _question(db: Database, uid: str) -> str:
    from tui_tasks.core import agent_names
    from tui_tasks.core.read import ask_queries

    ask = ask_queries.ask(db, uid)
    return f"the question of {agent_names.display_name(ask.agent, 30)}, “{_short(ask.question)}”,"


def _run(db: Database, uid: str) -> str:
    from tui_tasks.core.read import job_queries

    run = job_queries.any_run(db, uid)
    return f"the run of {_job(db, run.job_uid)}" if run is not None else ""


def _job(db: Database, uid: str) -> str:
    from tui_tasks.core.read import job_queries

    job = job_queries.any_job(db, uid)
    return f"S{job.number} {_short(job.name)}" if job is not None else ""


def _list(db: Database, uid: str) -> str:
    return f"list {_short(task_queries.list_by_uid(db, uid).name)}"


def _task(db: Database, uid: str) -> str:
    task = task_queries.any_task(db, uid)
    return f"#{task.number} {_short(task.name)}" if task is not None else ""


_NAMES: Final[Mapping[str, Callable[[Database, str], str]]] = {
    "question": _question, "run": _run, "job": _job, "plan": _list, "list": _list, "task": _task,
}  # fmt: skip
