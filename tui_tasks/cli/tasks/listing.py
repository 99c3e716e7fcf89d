"""The listing of tasks in a shell, `ls`, with a filter or without; `json_listing` prints every task as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Final

from tui_tasks.channel.session import Session
from tui_tasks.cli.printing import print_json
from tui_tasks.cli.tasks.task_filter import EVERYTHING, ListFilter
from tui_tasks.cli.tasks.task_lookup import SHORT, lists_in_scope
from tui_tasks.core.read import checks
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.schema import task_fields
from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.snapshots import Check, Task, TaskList, full_task, verified
from tui_tasks.text.glyphs import look
from tui_tasks.text.proof import proof_words
from tui_tasks.text.safe import safe_line
from tui_tasks.text.times import ago

# The checks of so many tasks are read at once.
_BATCH: Final = 500


def ls(session: Session, statuses: list[str], filter_: ListFilter = EVERYTHING, *, ascii_only: bool) -> None:
    """Print the tasks in order: those of the session's list, or else of all lists."""
    shown = _matching_tasks(session, statuses, filter_)
    while batch := list(islice(shown, _BATCH)):
        proofs: dict[str, str] = {}
        for _, of_list in groupby(batch, lambda found: found[0].id):
            found = list(of_list)
            proofs |= _proofs(session, found[0][0], [task for *_, task in found], ascii_only=ascii_only)
        for home, place, task in batch:
            proof = proofs.get(task.uid, "")
            print(_line(task, home, place, session.clock(), proof, ascii_only=ascii_only))


def ls_json(session: Session, statuses: list[str], filter_: ListFilter) -> None:
    """Print the tasks that match a filter as a JSON array, in the form of `json_listing`."""
    db = session.store.db
    print_json(
        [
            full_task(task, home.handle, checks.json_of_task(db, task, home))
            for home, _, task in _matching_tasks(session, statuses, filter_)
        ]
    )


def _matching_tasks(
    session: Session, statuses: Sequence[str], filter_: ListFilter
) -> Iterator[tuple[TaskList, int, Task]]:
    """Return the matching tasks in order, each with its list and its number there."""
    homes = filter(filter_.has, lists_in_scope(session))
    found = ((home, *each) for home in homes for each in _of_list(session, home, statuses, filter_))
    if filter_.sort:
        return iter(sorted(found, key=lambda each: getattr(each[2], filter_.sort)))
    return found


def _of_list(
    session: Session, home: TaskList, statuses: Sequence[str], filter_: ListFilter
) -> Iterator[tuple[int, Task]]:
    """Yield the matching tasks of a list, each with its number."""
    uids = None
    if filter_.only:
        from tui_tasks.core.read.pages import pages  # few listings have a filter

        uids = pages.matching_uids(session.store.db, home.id, filter_.only)
    for place, task in enumerate(queries.tasks(session.store.db, home.id), 1):
        if (not statuses or task.status in statuses) and (uids is None or task.uid in uids):
            yield place, task


def _proofs(session: Session, home: TaskList, tasks: Sequence[Task], *, ascii_only: bool) -> dict[str, str]:
    """Return the check result of each done task of one list, in a word or two, by uid."""
    db = session.store.db
    done = [(task.uid, task.checks) for task in tasks if task.status == "done"]
    found = checks.of_tasks(db, done, home, checks.definitions(db)) if done else {}
    return {uid: words for uid, each in found.items() if (words := _proof_text(each, ascii_only=ascii_only))}


def _proof_text(found: Sequence[Check], *, ascii_only: bool) -> str:
    state = verified(check.state for check in found)
    failed = [check.name for check in found if check.state == "failed"]
    return proof_words(state, failed, ascii_only=ascii_only) if state is not None else ""


def _line(task: Task, home: TaskList, place: int, now: int, proof: str, *, ascii_only: bool) -> str:
    waits = "held" if task.held else "blocked"
    style = look(waits if task.blocked and task.status == "pending" else task.status)
    who = safe_line(task.agent or task.updated_by, 16)
    when = ago(task.updated_at, now)
    text = "".join(f", {words}" for words in field_texts(task, now, long=False)) if task.finished_at is None else ""
    text += f", {proof}" if proof else ""
    head = f"{task.uid[:SHORT]} {style.mark(ascii_only=ascii_only)} {place:>4}  {safe_line(task.name, 80)}"
    return f"{head}  [{safe_line(home.name, 24)}, {who}, {when}{text}]"


def field_texts(task: Task, now: int, *, long: bool) -> Iterator[str]:
    """Yield a text for each field of `task_fields.FIELDS` that the task has; overdue ones begin with `!`."""
    local = task_fields.local_time(now)
    for name, value in task_fields.of(task).items():
        field = FIELDS[name]
        late = task.finished_at is None and field.is_late(value, local)
        yield "! " * late + (field.long if long else field.short)(value, local)
