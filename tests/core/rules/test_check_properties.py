"""Whatever an agent does, a check is told to have passed only where it has (docs: protocol, section 11)."""

from __future__ import annotations

import tempfile

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.checks import Checks, verified_of
from tests.conftest import START, Clock
from tui_tasks.core.errors import Refusal
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.jobs import (
    GiveChecks,
    NamedCheck,
    RequestChecks,
    WaiveChecks,
)
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList, MoveTask
from tui_tasks.core.read import check_queries as read_checks
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


class LyingAgent(RuleBasedStateMachine):
    """An agent does what it can, the human and the runner do their part, beside a model that knows what was proven."""

    times_passed = 0  # how often a check was told to have passed, in all that is tried

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock(START)
        self.store = Store(f"{self.folder.name}/tasks.db")
        self.store.db.sql("PRAGMA synchronous = off")
        self.digest = "1"
        self.edits = 0
        self.checks = Checks(self.store, self.clock, self._named())
        self.proven: dict[str, tuple[str, str]] = {}  # by task: the inputs and the command with which it has passed
        self.uids: list[str] = []
        for home in ("tasklist", "elsewhere"):
            self._do("agent", EnsureList(home, "task"))
        for at in range(3):
            self.add(at, "pending")

    def teardown(self) -> None:
        assert list(database_findings.differences(self.store.db)) == []
        self.store.close()
        self.folder.cleanup()

    def _named(self) -> NamedCheck:
        return NamedCheck("tests", self.digest, lists=("tasklist",), gate=self.edits % 2 == 1)

    def _do(self, actor: str, *operations) -> list:
        try:
            return self.store.commit(*operations, actor=actor, now=self.clock.forward(1))
        except Refusal:
            return []

    def _home(self, name: str) -> str:
        found = task_queries.find_list(self.store.db, name)
        assert found is not None
        return found.uid

    @initialize(finished=st.integers(0, 2))
    def begin_with_a_proven_task(self, finished: int) -> None:
        for pick in range(finished):
            self.report(pick, "agent", "done")
        self.request(2)
        self.let_run("passed", False)

    @rule(home=st.integers(0, 3), status=st.sampled_from(["pending", "done"]))
    def add(self, home: int, status: str) -> None:
        name = "elsewhere" if home == 3 else "tasklist"
        self.uids += [task.uid for task in self._do("agent", AddTask("x", self._home(name), status=status))]

    @rule(
        pick=st.integers(0, 9),
        actor=st.sampled_from(["agent", "other", "shell", "human"]),
        status=st.sampled_from(["done", "done", "done", "pending", "in_progress", "failed"]),
    )
    def report(self, pick: int, actor: str, status: str) -> None:
        self._do(
            actor, EditTask(self.uids[pick % len(self.uids)], {"status": status, "metadata": {"verified": "passed"}})
        )

    @rule(pick=st.integers(0, 9), home=st.sampled_from(["tasklist", "elsewhere"]))
    def move(self, pick: int, home: str) -> None:
        self._do("agent", MoveTask(self.uids[pick % len(self.uids)], list_uid=self._home(home)))

    @rule(what=st.sampled_from([Undo(), Undo(), Redo()]), actor=st.sampled_from(["agent", "other"]))
    def take_back(self, what, actor: str) -> None:
        self._do(actor, what)

    @rule(pick=st.integers(0, 9))
    def delete(self, pick: int) -> None:
        self._do("agent", DeleteTask(self.uids[pick % len(self.uids)]))

    @rule(pick=st.integers(0, 9))
    def request(self, pick: int) -> None:
        self._do("agent", RequestChecks(self.uids[pick % len(self.uids)]))

    @rule(pick=st.integers(0, 9), names=st.sampled_from([None, (), ("tests",)]))
    def give(self, pick: int, names) -> None:
        uid = self.uids[pick % len(self.uids)]
        assert self._do("agent", GiveChecks(uid, names)) + self._do("agent", WaiveChecks(uid)) == []

    @rule()
    def edit(self) -> None:
        self.edits += 1
        self.checks.edit(f"edit {self.edits}")

    @rule()
    def configure(self) -> None:
        self.digest += "1"
        self.checks.define(self._named())

    @rule(outcome=st.sampled_from(["passed", "passed", "failed", "interrupted"]), meanwhile=st.booleans())
    def let_run(self, outcome: str, meanwhile: bool) -> None:
        waiting = self.checks.waiting()
        if not waiting or not read_checks.tasks_of(self.store.db, waiting[0].uid):
            return
        run = self.checks.begin()
        began = (self.checks.inputs, run.digest)
        if meanwhile:
            self.edit()
        self.checks.end(run, outcome)
        if outcome == "passed":
            for uid in read_checks.tasks_of(self.store.db, run.uid):
                self.proven[uid] = began

    @invariant()
    def only_what_was_proven_is_told_to_have_passed(self) -> None:
        for uid in self.uids:
            if verified_of(self.store, uid) == "passed":
                LyingAgent.times_passed += 1
                assert self.proven.get(uid) == (self.checks.inputs, self.digest)


def test_whatever_an_agent_does_only_what_was_proven_is_told_to_have_passed():
    run_state_machine_as_test(LyingAgent, settings=settings(max_examples=15, stateful_step_count=20, deadline=None))
    assert LyingAgent.times_passed > 50, "little was proven"
