"""Checks of tasks: which a task has, the state of each, and tasks that need the human because one has failed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import msgspec

from tui_tasks.core import vocab
from tui_tasks.core.agent_snapshots import Check, CheckDefinition, CheckPlace, CheckRun
from tui_tasks.core.engine.database import Database
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import Task, TaskList, verified

_DEFINITION: Final = ", ".join(CheckDefinition.__struct_fields__)
_RUN: Final = ", ".join(f"check_run.{name}" for name in CheckRun.__struct_fields__)
_LISTS: Final = msgspec.json.Decoder(tuple[str, ...])
_MACHINES: Final = msgspec.json.Decoder(dict[str, CheckPlace])
# States of a run that read as another state of the check; all others are the check's state as they are.
_STATES: Final = {"waiting": "unproven", "interrupted": "unproven"}

# How many tasks are counted at most.
MAX_COUNTED: Final = 10_000


def definitions(db: Database) -> tuple[CheckDefinition, ...]:
    """Return every check that a configuration file defines, by name."""
    rows = db.sql(f"SELECT {_DEFINITION} FROM check_definition WHERE deleted = 0 ORDER BY name, source")
    return tuple(_definition(row) for row in rows.fetchall())


def not_run_here(db: Database, names: Collection[str]) -> str | None:
    """Return in a sentence for which checks of a server this machine has no command; None: it has all, or is a file's.

    `names`: the checks in its settings.
    """
    if not db.machine:
        return None
    lacking = {each.name for each in definitions(db) if each.name not in names}
    if not lacking:
        return None
    named = ", ".join(sorted(lacking))
    return f"this machine has no command for {named}: they run on others, or after [check.NAME] in your settings"


def source_on(machine: str, file: str) -> str:
    """Return how a settings file is recorded with a database; `machine`: `Database.machine`, empty but on a server."""
    return f"{machine}:{file}" if machine else file


def inputs_digest(inputs: Sequence[str]) -> str:
    """Return the digest of a check of a server, whose command and folder are each machine's."""
    return hashlib.sha256(msgspec.json.encode(inputs)).hexdigest()


def every_definition(db: Database) -> list[CheckDefinition]:
    """Return every check that a configuration file defines or once did."""
    rows = db.sql(f"SELECT {_DEFINITION} FROM check_definition ORDER BY uid").fetchall()
    return [_definition(row) for row in rows]


def definitions_of(db: Database, source: str) -> dict[str, CheckDefinition]:
    """Return the checks of one configuration file by name, including those that it no longer defines."""
    return {each.name: each for each in every_definition(db) if each.source == source}


def definition(db: Database, uid: str) -> CheckDefinition:
    """Return the check with that uid, which exists or has existed."""
    return _definition(db.sql(f"SELECT {_DEFINITION} FROM check_definition WHERE uid = ?", (uid,)).fetchone())


def _definition(row: Any) -> CheckDefinition:
    uid, source, name, digest, lists, gate, deleted, cwd, inputs, machines = row
    texts = _LISTS.decode(lists), bool(gate), bool(deleted), cwd, _LISTS.decode(inputs), _MACHINES.decode(machines)
    return CheckDefinition(uid, source, name, digest, *texts)


def _wanted(
    names: Sequence[str] | None, home: Sequence[str], known: Sequence[CheckDefinition]
) -> list[tuple[str, CheckDefinition | None]]:
    """Return the checks of a task as (name, definition): those of `names`, or with None those of its list.

    `home` are the name and the uid of the list. A name that no configuration file defines any more is included, without
    a definition: nothing can prove it.
    """
    if names is None:
        return [(one.name, one) for one in known if set(home).intersection(one.lists)]
    wanted: list[tuple[str, CheckDefinition | None]] = []
    for name in names:
        # Two files may define a check of the same name: then both must pass.
        wanted += [(name, one) for one in known if one.name == name] or [(name, None)]
    return wanted


def of_task(db: Database, task: Task, home: TaskList, known: Sequence[CheckDefinition]) -> list[Check]:
    """Return the checks that a task of a list has, with their states; `known` are all `definitions`."""
    wanted = _wanted(task.checks, (home.name, home.uid), known) if known or task.checks else []
    if not wanted:
        return []
    runs = _runs(db, [task.uid]).get(task.uid, {})
    return [_check(db, name, one, runs) for name, one in wanted]


def json_of_task(db: Database, task: Task, home: TaskList) -> list[dict[str, Any]]:
    """Return the checks of a task in the form in which the channel shows them."""
    return [check.to_json() for check in of_task(db, task, home, definitions(db))]


def of_tasks(
    db: Database, tasks: Sequence[tuple[str, Sequence[str] | None]], home: TaskList, known: Sequence[CheckDefinition]
) -> dict[str, list[Check]]:
    """Return the checks of tasks of one list by the task's uid; tasks without checks are left out.

    `tasks` are (uid, names of the checks that the human gave it or None).
    """
    wanted = {uid: named for uid, names in tasks if (named := _wanted(names, (home.name, home.uid), known))}
    runs = _runs(db, list(wanted))
    return {
        uid: [_check(db, name, named, runs.get(uid, {})) for name, named in checks] for uid, checks in wanted.items()
    }


def _check(
    db: Database, name: str, definition: CheckDefinition | None, runs: dict[str, tuple[CheckRun, bool]]
) -> Check:
    if definition is None:
        return Check(name, "unproven")
    run, is_waived = runs.get(definition.uid, (None, False))
    host = ""
    if run is not None:
        from tui_tasks.core.unjournaled import heartbeats  # for a check that has run alone

        host = heartbeats.machine_name(db, run.machine)
    return Check(name, state_of(definition, run), run, definition.gate, definition.uid, is_waived, host)


def state_of(definition: CheckDefinition, run: CheckRun | None) -> str:
    """Return the state of a check with this run, one of `vocab.CHECK_STATES`."""
    if run is None:
        return "unproven"
    if run.state == "passed" and ((place := definition.place(run.machine)) is None or run.digest != place.digest):
        return "stale"
    return _STATES.get(run.state, run.state)


def _runs(db: Database, uids: Sequence[str]) -> dict[str, dict[str, tuple[CheckRun, bool]]]:
    """Return the runs that count for tasks, by the uids of task and check; with each, whether the human waived it."""
    runs: dict[str, dict[str, tuple[CheckRun, bool]]] = {}
    for at in range(0, len(uids), 500):
        part = uids[at : at + 500]
        rows = db.sql(
            f"SELECT task_check.task_uid, task_check.waived, {_RUN} FROM task_check"
            " JOIN check_run ON check_run.uid = task_check.run_uid"
            f" WHERE task_check.task_uid IN ({', '.join('?' * len(part))})",
            tuple(part),
        )
        for task_uid, is_waived, *row in rows.fetchall():
            run = CheckRun(*row)
            runs.setdefault(task_uid, {})[run.check_uid] = (run, bool(is_waived))
    return runs


def run(db: Database, uid: str) -> CheckRun | None:
    """Return the run with that uid, or None."""
    row = db.sql(f"SELECT {_RUN} FROM check_run WHERE uid = ?", (uid,)).fetchone()
    return CheckRun(*row) if row else None


def runs_in(db: Database, *states: str) -> list[CheckRun]:
    """Return the runs in any of the states (waiting, running, passed, failed), oldest first."""
    marks = ", ".join(f"'{state}'" for state in states)
    return [CheckRun(*row) for row in db.sql(f"SELECT {_RUN} FROM check_run WHERE state IN ({marks}) ORDER BY id")]


def running_on(db: Database, machine: str) -> list[CheckRun]:
    """Return the runs that a machine has begun, oldest first."""
    return [run for run in runs_in(db, "running") if run.machine == machine]


def of_machine(db: Database, machine: str) -> list[str]:
    """Return the uids of the runs of a machine, oldest first."""
    rows = db.sql("SELECT uid FROM check_run WHERE machine = ? ORDER BY id", (machine,)).fetchall()
    return [uid for (uid,) in rows]


def has_passed(db: Database) -> bool:
    """Return whether a run has passed, so that changes of inputs matter."""
    return db.scalar("SELECT 1 FROM check_run WHERE state = 'passed' LIMIT 1") is not None


def waiting(db: Database, check_uid: str) -> list[CheckRun]:
    """Return the runs of a check that have not begun: one at most for each folder."""
    rows = db.sql(f"SELECT {_RUN} FROM check_run WHERE state = 'waiting' AND check_uid = ?", (check_uid,))
    return [CheckRun(*row) for row in rows]


def on_tree(db: Database, check_uid: str, tree: str) -> CheckRun | None:
    """Return the newest run of a check about the files of a tree, in whichever worktree; None if there is none."""
    row = db.sql(
        f"SELECT {_RUN} FROM check_run WHERE check_uid = ? AND tree = ? ORDER BY id DESC LIMIT 1", (check_uid, tree)
    ).fetchone()
    return CheckRun(*row) if row else None


def in_worktree(db: Database, check_uid: str, worktree: str) -> CheckRun | None:
    """Return the newest run of a check in a worktree; None if there is none."""
    row = db.sql(
        f"SELECT {_RUN} FROM check_run WHERE check_uid = ? AND worktree = ? ORDER BY id DESC LIMIT 1",
        (check_uid, worktree),
    ).fetchone()
    return CheckRun(*row) if row else None


def failing(db: Database, limit: int) -> list[str]:
    """Return the uids of the tasks that need the human because a check has failed, the oldest failure first."""
    return list(failing_since(db, limit))


def failing_since(db: Database, limit: int) -> dict[str, int]:
    """Return when the last of their checks has failed, by the uids of these tasks, in the same order.

    These are tasks that were reported done, and tasks that a gate keeps from being done; waived checks do not count.
    """
    rows = db.sql(
        "SELECT task.uid, coalesce(max(check_run.ended_at), 0) AS at FROM check_run"
        " JOIN task_check ON task_check.run_uid = check_run.uid AND task_check.waived = 0"
        " JOIN task ON task.uid = task_check.task_uid"
        " JOIN check_definition ON check_definition.uid = check_run.check_uid AND check_definition.deleted = 0"
        " JOIN list ON list.id = task.list_id AND list.deleted = 0 AND list.archived = 0"
        " WHERE check_run.state = 'failed' AND task.deleted = 0"
        " AND (task.status = 'done' OR (check_definition.gate = 1 AND task.status IN ('pending', 'in_progress')))"
        # A task keeps the run of a check that it no longer has.
        " AND CASE WHEN task.checks IS NULL THEN EXISTS (SELECT 1 FROM json_each(check_definition.lists) AS named"
        " WHERE named.value IN (list.name, list.uid))"
        " ELSE EXISTS (SELECT 1 FROM json_each(task.checks) AS given WHERE given.value = check_definition.name) END"
        # With the plus, SQLite begins with the few failed runs, not with the tasks in order.
        " GROUP BY +task.uid ORDER BY at, min(check_run.id) LIMIT ?",
        (limit,),
    )
    return dict(rows.fetchall())


def statuses_in_list(db: Database, list_id: int, uids: Iterable[str]) -> dict[str, str]:
    """Return the status of those of the tasks that are in a list, by uid."""
    given = msgspec.json.encode([*uids]).decode()
    rows = db.sql(
        "SELECT uid, status FROM task WHERE list_id = ? AND deleted = 0 AND uid IN (SELECT value FROM json_each(?))",
        (list_id, given),
    )
    return dict(rows.fetchall())


def prunable(db: Database, check_uid: str, keep: int) -> int | None:
    """Return the number of the oldest run of a check to keep, if there is something older to delete; else None.

    The newest `keep` runs are kept, and so are runs that count for a task, without their full output.
    """
    nth: int | None = db.scalar(
        "SELECT id FROM check_run WHERE check_uid = ? ORDER BY id DESC LIMIT 1 OFFSET ?", (check_uid, keep - 1)
    )
    if nth is None:
        return None
    older = db.scalar(
        "SELECT 1 FROM check_run WHERE check_uid = ? AND id < ? AND state NOT IN ('waiting', 'running')"
        " AND (uid NOT IN (SELECT run_uid FROM task_check) OR uid IN (SELECT run_uid FROM run_log)) LIMIT 1",
        (check_uid, nth),
    )
    return nth if older is not None else None


def counts(db: Database, home: TaskList, uids: Sequence[str]) -> dict[str, int]:
    """Return how many of some tasks of a list are done and have checks, by their state; of at most `MAX_COUNTED`."""
    known = definitions(db)
    done: list[tuple[str, Sequence[str] | None]] = []
    for at in range(0, min(len(uids), MAX_COUNTED), 500):
        part = uids[at : min(at + 500, MAX_COUNTED)]
        rows = db.sql(
            f"SELECT uid, checks FROM task WHERE uid IN ({', '.join('?' * len(part))}) AND list_id = ?"
            " AND deleted = 0 AND status = 'done' AND (? OR checks IS NOT NULL)",
            (*part, home.id, bool(known)),
        )
        done += [(uid, _LISTS.decode(names) if names else None) for uid, names in rows.fetchall()]
    states = [verified(check.state for check in checks) for checks in of_tasks(db, done, home, known).values()]
    return {state: states.count(state) for state in vocab.CHECK_STATES if state in states}


def tasks_of(db: Database, run_uid: str) -> list[str]:
    """Return the uids of the tasks for which a run counts."""
    return [uid for (uid,) in db.sql("SELECT task_uid FROM task_check WHERE run_uid = ?", (run_uid,)).fetchall()]


def briefs_to_json(db: Database, briefs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return checks as the channel shows them, from the form in which a journal entry keeps them."""
    checks = []
    for brief in briefs:
        ended = brief["state"] in ("passed", "failed", "stale") and brief["run_id"] is not None
        known = run(db, brief["run_id"]) if ended else None
        checks.append(Check(brief["name"], brief["state"], known).to_json() | brief)
    return checks


class FailedTask(msgspec.Struct, frozen=True, gc=False):
    """A task with failed checks: `checks` are the failed ones, `at` is when the last of them ended.

    `who` is the agent or shell that requested the checks last, by reporting the task done or by a request.
    """

    task: Task
    list_name: str
    who: str
    checks: tuple[Check, ...]
    at: int

    @property
    def uid(self) -> str:
        """Return the uid of the task."""
        return self.task.uid


def failed_task(db: Database, uid: str, known: Sequence[CheckDefinition]) -> FailedTask:
    """Return a task with its failed checks; `known` are all `definitions`."""
    task = task_queries.task_or_deleted(db, uid)
    home = task_queries.list_by_id(db, task.list_id)
    failed = [check for check in of_task(db, task, home, known) if check.state == "failed"]
    at = max((check.run.ended_at or 0 for check in failed if check.run is not None), default=task.updated_at)
    return FailedTask(task, home.name, _who(db, task), tuple(failed), at)


def _who(db: Database, task: Task) -> str:
    """Return who has set a task done, whoever asked for a check since; else whose attempt a gate has refused."""
    if task.status == "done":
        return task.who
    actor = db.scalar(
        "SELECT actor FROM journal WHERE task = ? AND kind = 'check.requested' AND actor NOT IN (?, ?)"
        " ORDER BY seq DESC LIMIT 1",
        (task.uid, vocab.HUMAN, vocab.SYSTEM),
    )
    return str(actor) if actor is not None else task.who
