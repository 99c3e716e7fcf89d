"""What was reported done, and whether its checks have proved it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

import msgspec

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import checks
from tui_tasks.core.read.digest.digest_line import DigestLine
from tui_tasks.core.read.digest.entries import EventEntry, StatusEntry
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.snapshots import verified

_DONE_TASK: Final = """
SELECT name, list_id, checks, updated_by FROM task
WHERE uid = ? AND status = 'done' AND deleted = 0
"""
_STATE_TEXTS: Final = {
    "unproven": "was reported done, and its checks have not run",
    "running": "was reported done, and its checks run",
    "stale": "was reported done, and what its checks had passed was changed since",
    "failed": "was reported done, and a check of it has failed",
    "passed": "is done, and its checks have passed",
}


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
    db: Database, statuses: list[StatusEntry], events: list[EventEntry], listed: set[str]
) -> Iterator[DigestLine]:
    """Yield a line for each task that was reported done, or checked, since; tasks without checks share one line.

    `listed` are the uids of tasks with a failed check that have a line already.
    """
    tasks = _tasks(db, statuses, events)
    states = dict(_verified(db, tasks))
    for task in tasks:
        state = states.get(task.uid)
        if state is None or (state == "failed" and task.uid in listed):
            continue
        part, text = "proven" if state == "passed" else "not_proven", _STATE_TEXTS[state]
        yield DigestLine(part, "task", task.uid, task.name, task.who, text, task.at, tuple(task.entries), task.uid)
    if unchecked := [task for task in tasks if states.get(task.uid) is None]:
        yield _unchecked(unchecked)


def _tasks(db: Database, statuses: list[StatusEntry], events: list[EventEntry]) -> list[_Reported]:
    """Return the tasks that are done and were reported so, or checked, in these entries."""
    found: dict[str, _Reported] = {}
    for entry in statuses:
        if entry.become != "done" or entry.status != "done" or entry.deleted:
            continue
        task = found.get(entry.uid)
        if task is None:
            names = msgspec.json.decode(entry.checks) if entry.checks else None
            task = found[entry.uid] = _Reported(entry.uid, entry.name, entry.list_id, names)
        task.at, task.who = entry.at, entry.actor
        task.entries.append(entry.seq)
    for event in events:
        for uid in _checked(db, event):
            checked = found.get(uid) or _done_task(db, uid)
            if checked is not None:
                found[uid] = checked
                checked.entries, checked.at = sorted({*checked.entries, event.seq}), event.at
    return list(found.values())


def _unchecked(tasks: list[_Reported]) -> DigestLine:
    """Return the one line for tasks without checks."""
    entries = sorted({seq for task in tasks for seq in task.entries})
    what = tasks[0].name if len(tasks) == 1 else f"{len(tasks):,} tasks"
    who = tasks[0].who if len({task.who for task in tasks}) == 1 else ""
    text, at = "reported done, with nothing to check", max(task.at for task in tasks)
    return DigestLine("not_proven", "unchecked", "", what, who, text, at, tuple(entries), None, len(tasks))


def _checked(db: Database, event: EventEntry) -> list[str]:
    """Return the uids of the tasks of which an entry reports that a check has ended or is stale."""
    if event.kind == "check.finished":
        return [event.task] if event.task is not None else []
    return checks.tasks_of(db, event.uid) if event.kind == "check.stale" else []


def _done_task(db: Database, uid: str) -> _Reported | None:
    """Return a task that is done, whenever it was reported; None if it is not done."""
    row = db.sql(_DONE_TASK, (uid,)).fetchone()
    if row is None:
        return None
    name, list_id, names, who = row
    return _Reported(uid, name, list_id, msgspec.json.decode(names) if names else None, who)


def _verified(db: Database, reported: Iterable[_Reported]) -> Iterator[tuple[str, str | None]]:
    """Yield the uid of each task that has checks, and what its checks come to."""
    known = checks.definitions(db)
    wanted = [one for one in reported if known or one.names]
    homes = {home.id: home for home in queries.lists(db)} if wanted else {}
    for list_id, group in groupby(sorted(wanted, key=lambda one: one.list_id), lambda one: one.list_id):
        if list_id not in homes:
            continue
        tasks = [(one.uid, one.names) for one in group]
        for uid, found in checks.of_tasks(db, tasks, homes[list_id], known).items():
            yield uid, verified(check.state for check in found)
