"""The lines of a digest about tasks that were reported done: proved by their checks, or not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec
from msgspec.structs import replace

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import check_queries, work_queries, work_text
from tui_tasks.core.read.digest_lines import DigestLine, EventEntry, StatusEntry
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import verified

_DONE_TASK: Final = """
SELECT name, list_id, checks, IFNULL(status_by, updated_by) FROM task
WHERE uid = ? AND status = 'done' AND deleted = 0
"""
_STATE_TEXTS: Final = {
    "unproven": "its checks have not run",
    "running": "its checks run",
    "stale": "an input of its checks has changed since",
    "failed": "a check of it has failed",
    "passed": "its checks have passed",
}
_UNCHECKED: Final = "done without a check"


class _Reported(msgspec.Struct, gc=False):
    """A task with the entries about it; `names` are the checks that the human gave it, None for its list's."""

    uid: str
    name: str
    list_id: int
    names: list[str] | None
    who: str = ""
    at: int = 0
    entries: list[int] = []


def reported(
    db: Database, statuses: list[StatusEntry], events: list[EventEntry], named: Collection[str]
) -> list[DigestLine]:
    """Return a line for each task that was reported done, or checked, since, but for those that other lines name."""
    tasks = [task for task in _tasks(db, statuses, events) if task.uid not in named]
    states = dict(_verified(db, tasks))
    with_merge = work_queries.tasks_with_merge(db)
    lines = []
    for task in tasks:
        state = states.get(task.uid)
        part = "proven" if state == "passed" else "not_proven"
        kind, text = ("unchecked", _UNCHECKED) if state is None else ("task", _STATE_TEXTS[state])
        if task.uid in with_merge and (merges := work_text.merges(db, task.uid)):
            kind, text = ("merged", merges[-1][0]) if state is None else (kind, f"{merges[-1][0]}; {text}")
        entries = tuple(task.entries)
        lines.append(DigestLine(part, kind, task.uid, task.name, task.who, text, task.at, entries, task.uid))
    return lines


def without_checks(lines: Iterable[DigestLine]) -> Iterator[DigestLine]:
    """Yield the lines of `reported`, those of tasks without checks as one."""
    unchecked = []
    for line in lines:
        if line.kind == "unchecked":
            unchecked.append(line)
        else:
            yield line
    if unchecked:
        yield _unchecked(unchecked)


def _tasks(db: Database, statuses: list[StatusEntry], events: list[EventEntry]) -> list[_Reported]:
    """Return the tasks that are done and were reported so, or checked, in these entries."""
    tasks: dict[str, _Reported] = {}
    for entry in statuses:
        if entry.become != "done" or entry.status != "done" or entry.deleted:
            continue
        task = tasks.get(entry.uid)
        if task is None:
            names = msgspec.json.decode(entry.checks) if entry.checks else None
            task = tasks[entry.uid] = _Reported(entry.uid, entry.name, entry.list_id, names)
        task.at, task.who = entry.at, entry.actor
        task.entries.append(entry.seq)
    for event in events:
        for uid in _checked(db, event):
            checked = tasks.get(uid) or _done_task(db, uid)
            if checked is not None:
                tasks[uid] = checked
                checked.entries, checked.at = sorted({*checked.entries, event.seq}), event.at
    return list(tasks.values())


# The most tasks that a line of several names.
_NAMED: Final = 8


def _unchecked(tasks: Sequence[DigestLine]) -> DigestLine:
    """Return the one line for tasks without checks."""
    if len(tasks) == 1:
        return replace(tasks[0], uid="")
    entries = tuple(sorted({seq for task in tasks for seq in task.entries}))
    who = tasks[0].who if len({task.who for task in tasks}) == 1 else ""
    more = ", …" if len(tasks) > _NAMED else ""
    text = f"{_UNCHECKED}: {', '.join(task.name for task in tasks[:_NAMED])}{more}"
    what, at = f"{len(tasks):,} tasks", max(task.at for task in tasks)
    return DigestLine("not_proven", "unchecked", "", what, who, text, at, entries, None, len(tasks))


def _checked(db: Database, event: EventEntry) -> list[str]:
    """Return the uids of the tasks of which an entry reports that a check has ended or is stale."""
    if event.kind == "check.finished":
        return [event.task] if event.task is not None else []
    return check_queries.tasks_of(db, event.uid) if event.kind == "check.stale" else []


def _done_task(db: Database, uid: str) -> _Reported | None:
    """Return a task that is done, whenever it was reported; None if it is not done."""
    row = db.sql(_DONE_TASK, (uid,)).fetchone()
    if row is None:
        return None
    name, list_id, names, who = row
    return _Reported(uid, name, list_id, msgspec.json.decode(names) if names else None, who)


def _verified(db: Database, reported: Iterable[_Reported]) -> Iterator[tuple[str, str | None]]:
    """Yield the uid of each task that has checks, and what its checks come to."""
    known = check_queries.definitions(db)
    wanted = [one for one in reported if known or one.names]
    homes = {home.id: home for home in task_queries.lists(db)} if wanted else {}
    for list_id, group in groupby(sorted(wanted, key=lambda one: one.list_id), lambda one: one.list_id):
        if list_id not in homes:
            continue
        tasks = [(one.uid, one.names) for one in group]
        for uid, checks in check_queries.of_tasks(db, tasks, homes[list_id], known).items():
            yield uid, verified(check.state for check in checks)
