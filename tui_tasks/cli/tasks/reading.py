"""The commands that print tasks in a shell: `ls`, `show` and `next`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Final

from tui_tasks.channel.session import Session
from tui_tasks.cli.printing import print_json, print_result
from tui_tasks.cli.tasks.task_filter import EVERYTHING, ListFilter
from tui_tasks.cli.tasks.task_lookup import SHORT, find_task, lists_in_scope
from tui_tasks.core.read import checks
from tui_tasks.core.read.pages import pages
from tui_tasks.core.read.tasks import queries, ready, records
from tui_tasks.core.schema import task_fields
from tui_tasks.core.schema.task_fields import FIELDS
from tui_tasks.core.snapshots import Check, Task, TaskList, full_task, iso, verified
from tui_tasks.dialects.requests import quick_add_syntax
from tui_tasks.text.glyphs import look
from tui_tasks.text.proof import PROOF_LOOKS, proof_words
from tui_tasks.text.safe import safe_line, safe_text
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
    """Print the tasks that match a filter as a JSON array, in the form of `listing`."""
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
    uids = pages.wanted(session.store.db, home.id, filter_.only) if filter_.only else None
    for place, task in enumerate(queries.tasks(session.store.db, home.id), 1):
        if (not statuses or task.status in statuses) and (uids is None or task.uid in uids):
            yield place, task


def _proofs(session: Session, home: TaskList, tasks: Sequence[Task], *, ascii_only: bool) -> dict[str, str]:
    """Return the check result of each done task of one list, in a word or two, by uid."""
    db = session.store.db
    done = [(task.uid, task.checks) for task in tasks if task.status == "done"]
    found = checks.of_tasks(db, done, home, checks.definitions(db)) if done else {}
    return {uid: words for uid, each in found.items() if (words := _proof(each, ascii_only=ascii_only))}


def _proof(found: Sequence[Check], *, ascii_only: bool) -> str:
    state = verified(check.state for check in found)
    failed = [check.name for check in found if check.state == "failed"]
    return proof_words(state, failed, ascii_only=ascii_only) if state is not None else ""


def check_lines(found: Sequence[Check], *, ascii_only: bool) -> Iterator[str]:
    """Yield a line for each check of a task, and the output of failed ones."""
    for check in found:
        shown, run = PROOF_LOOKS[check.state], check.run
        has_failed = check.state == "failed" and run is not None
        ended = f", exit {run.exit_code}" if has_failed and run and run.exit_code is not None else ""
        gate = ", gate" if check.gate else ""
        yield f"{shown.mark(ascii_only=ascii_only)} {safe_line(check.name)}: {shown.word}{ended}{gate}"
        if has_failed and run and run.output:
            yield safe_text(run.output.rstrip())


def _line(task: Task, home: TaskList, place: int, now: int, proof: str, *, ascii_only: bool) -> str:
    waits = "held" if task.held else "blocked"
    style = look(waits if task.blocked and task.status == "pending" else task.status)
    who = safe_line(task.agent or task.updated_by, 16)
    when = ago(task.updated_at, now)
    text = "".join(f", {words}" for words in _field_texts(task, now, long=False)) if task.finished_at is None else ""
    text += f", {proof}" if proof else ""
    head = f"{task.uid[:SHORT]} {style.mark(ascii_only=ascii_only)} {place:>4}  {safe_line(task.name, 80)}"
    return f"{head}  [{safe_line(home.name, 24)}, {who}, {when}{text}]"


def _field_texts(task: Task, now: int, *, long: bool) -> Iterator[str]:
    """Yield a text for each field of `task_fields.FIELDS` that the task has; overdue ones begin with `!`."""
    local = task_fields.local_time(now)
    for name, value in task_fields.of(task).items():
        field = FIELDS[name]
        late = task.finished_at is None and field.is_late(value, local)
        yield "! " * late + (field.long if long else field.short)(value, local)


def show(session: Session, reference: str, *, as_json: bool, ascii_only: bool = False) -> None:
    """Print a task with its log."""
    db = session.store.db
    task = find_task(session, reference)
    home = queries.list_by_id(db, task.list_id)
    log = records.logs(db, task.uid)
    found = checks.of_task(db, task, home, checks.definitions(db))
    value = full_task(task, home.handle, [check.to_json() for check in found])
    value["log"] = [{"at": iso(entry.at), "agent": entry.agent, "message": entry.message} for entry in log]
    if as_json:
        print_json(value)
        return
    print(f"{safe_line(task.name)}\n{task.uid}  {task.status}  in {safe_line(home.name)}")
    words = quick_add_syntax.fields(task.tags, task.priority, task.agent, ())
    if words:
        print(safe_line(words))
    for text in _field_texts(task, session.clock(), long=True):
        print(text)
    for uid in task.depends_on:
        print(f"after {uid[:SHORT]}")
    for text in check_lines(found, ascii_only=ascii_only):
        print(text)
    if task.description:
        print(f"\n{safe_text(task.description)}")
    for entry in log:
        print(f"\n{ago(entry.at, session.clock())}  {safe_line(entry.agent, 16)}  {safe_text(entry.message)}", end="")
    print()


def next_task(session: Session, *, as_json: bool) -> None:
    """Print the task to start next."""
    db = session.store.db
    named = session.identity.list
    home = queries.find_list(db, named) if named is not None else None
    task = None
    if named is None or home is not None:
        project = session.identity.project
        task = ready.next_task(db, home.id if home else None, session.identity.agent, project=project)
    if task is None:
        print_result("nothing is ready to be taken up", None, as_json=as_json)
        return
    home = queries.list_by_id(db, task.list_id)
    full = full_task(task, home.handle, checks.json_of_task(db, task, home))
    print_result(f"{task.uid[:SHORT]}  {safe_line(task.name)}", full, as_json=as_json)
