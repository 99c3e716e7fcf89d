"""What tests of checks share: definitions, runs that end as a test says, and what is proven of a task."""

from __future__ import annotations

from tui_tasks.core.agent_snapshots import CheckRun
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations.jobs import (
    BeginCheck,
    ChangeInputs,
    ClaimCheck,
    DefineChecks,
    EndCheck,
    NamedCheck,
)
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import check_queries
from tui_tasks.core.read import check_queries as read_checks
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.snapshots import verified
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SYSTEM

SOURCE = "/home/you/.config/tui-tasks/config.toml"


class Checks:
    """The checks of one configuration file, and a runner of a test's own: it starts no process."""

    def __init__(self, store: Store, clock, *named: NamedCheck, source: str = SOURCE) -> None:
        self.store, self.clock, self.source = store, clock, source
        self.inputs = ""
        self.define(*named)

    def define(self, *named: NamedCheck, **more) -> bool:
        (changed,) = self.commit(DefineChecks(self.source, named, **more))
        return changed

    def commit(self, *operations):
        return self.store.commit(*operations, actor=SYSTEM, now=self.clock())

    def waiting(self) -> list[CheckRun]:
        return check_queries.runs_in(self.store.db, "waiting")

    def begin(self, tree: str | None = None) -> CheckRun:
        """Begin the run that waits; `tree`: that of its worktree."""
        (run,) = self.waiting()
        assert self.commit(ClaimCheck(run.uid, self._beat(run.uid, supervised=False), 4)) != [None]
        (begun,) = self.commit(BeginCheck(run.uid, self._beat(run.uid), self.inputs, "c0ffee", "d1ff", tree))
        return begun

    def end(
        self, run: CheckRun, outcome: str = "passed", exit_code: int = 0, output: str = "", tree: str | None = None
    ) -> CheckRun:
        return self.commit(EndCheck(run.uid, outcome, self.inputs, exit_code, output, tree))[0]

    def run(self, outcome: str = "passed", **how) -> CheckRun:
        """Let the run that waits begin and end."""
        return self.end(self.begin(), outcome, **how)

    def edit(self, inputs: str) -> None:
        """Let an input change, and somebody notice."""
        self.inputs = inputs
        for found in check_queries.definitions(self.store.db):
            self.commit(ChangeInputs(found.uid, found.digest, inputs))

    def _beat(self, uid: str, *, supervised: bool = True) -> Heartbeat:
        return Heartbeat(uid, supervised, "boot", "namespace", 1, "born", self.clock())


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
