"""What is proven of a task, for the tests of checks."""

from __future__ import annotations

from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations.jobs import (
    BeginCheck,
    NamedCheck,
)
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import check_queries as read_checks
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import verified
from tui_tasks.core.store import Store

TESTS = NamedCheck("tests", "1", lists=("tasklist",))
LINT = NamedCheck("lint", "1")
GATE = NamedCheck("tests", "1", lists=("tasklist",), gate=True)


def checks_json(store: Store, uid: str) -> list[dict]:
    """A task's checks with their states, as they are told to agents."""
    task = task_queries.any_task(store.db, uid)
    assert task is not None
    return read_checks.json_of_task(store.db, task, task_queries.list_by_id(store.db, task.list_id))


def verified_of(store: Store, uid: str) -> str | None:
    """What is proven of a task by all of its checks."""
    return verified(check["state"] for check in checks_json(store, uid))


def names_of(store: Store, uid: str) -> list[str]:
    return [check["name"] for check in checks_json(store, uid)]


def report_done(uid: str) -> EditTask:
    """The operation by which an agent says that a task is done."""
    return EditTask(uid, {"status": "done"})


def failing(store: Store) -> list[str]:
    """The tasks of which a check has failed, as the inbox has them."""
    return read_checks.failing(store.db, 100)


def begin_check(uid: str, now: int) -> BeginCheck:
    """The operation by which a supervisor begins a claimed run."""
    return BeginCheck(uid, Heartbeat(uid, True, "b", "n", 1, "x", now), "")
