"""What tests of checks share: definitions as a configuration file has them, and runs that end as a test says."""

from __future__ import annotations

from tui_tasks.core.agent_snapshots import CheckRun
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations.jobs import BeginCheck, ChangeInputs, ClaimCheck, DefineChecks, EndCheck, NamedCheck
from tui_tasks.core.read import check_queries
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

    def begin(self) -> CheckRun:
        """Begin the run that waits."""
        (run,) = self.waiting()
        assert self.commit(ClaimCheck(run.uid, self._beat(run.uid, supervised=False), 4)) != [None]
        (begun,) = self.commit(BeginCheck(run.uid, self._beat(run.uid), self.inputs, "c0ffee", "d1ff"))
        return begun

    def end(self, run: CheckRun, outcome: str = "passed", exit_code: int = 0, output: str = "") -> CheckRun:
        return self.commit(EndCheck(run.uid, outcome, self.inputs, exit_code, output))[0]

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
