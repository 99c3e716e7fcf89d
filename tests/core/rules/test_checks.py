"""What is proven of a task, and what makes it unproven again (docs: protocol, section 11)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import closing

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.checks import Checks
from tests.conftest import SECOND, START, Clock
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, NotFound, NotProven, Refusal
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.maintenance import backup, replay_check
from tui_tasks.core.maintenance.compacting import compact
from tui_tasks.core.operations.changes import Redo, Undo
from tui_tasks.core.operations.checks import (
    AbandonCheck,
    ClaimCheck,
    GiveChecks,
    NamedCheck,
    RequestChecks,
    WaiveChecks,
)
from tui_tasks.core.operations.lists import EnsureList
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, MoveTask
from tui_tasks.core.read import checks as read_checks
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.rules.jobs import checks as rules_of_checks
from tui_tasks.core.schedule import heartbeats, run_logs
from tui_tasks.core.snapshots import verified
from tui_tasks.core.store import Store

TESTS = NamedCheck("tests", "1", lists=("tasklist",))
LINT = NamedCheck("lint", "1")


def checks_json(store: Store, uid: str) -> list[dict]:
    task = queries.any_task(store.db, uid)
    assert task is not None
    return read_checks.json_of_task(store.db, task, queries.list_by_id(store.db, task.list_id))


def verified_of(store: Store, uid: str) -> str | None:
    return verified(check["state"] for check in checks_json(store, uid))


def names_of(store: Store, uid: str) -> list[str]:
    return [check["name"] for check in checks_json(store, uid)]


@pytest.fixture
def add(store: Store, clock: Clock) -> Callable[..., str]:
    def made(name: str = "a task", home: str = "tasklist", **fields) -> str:
        (found,) = store.commit(EnsureList(home, "task"), actor="agent", now=clock())
        return store.commit(AddTask(name, found.uid, **fields), actor="agent", now=clock())[0].uid

    return made


@pytest.fixture
def do(store: Store, clock: Clock) -> Callable[..., list]:
    def run(*operations, actor: str = "agent") -> list:
        return store.commit(*operations, actor=actor, now=clock.forward(1))

    return run


def done(uid: str) -> EditTask:
    return EditTask(uid, {"status": "done"})


def test_what_is_reported_is_unproven_until_its_checks_have_passed(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid, free = add(), add(home="elsewhere")
    assert (verified_of(store, uid), verified_of(store, free)) == ("unproven", None)
    assert checks.waiting() == []
    do(done(uid), done(free))
    assert verified_of(store, uid) == "unproven"
    run = checks.begin()
    assert verified_of(store, uid) == "running"
    checks.end(run)
    assert (verified_of(store, uid), verified_of(store, free)) == ("passed", None)


def test_a_check_that_fails_says_how_and_another_try_is_another_run(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(done(uid))
    first = checks.run("failed", exit_code=1, output="1 failed")
    assert (verified_of(store, uid), first.exit_code, first.output) == ("failed", 1, "1 failed")
    assert do(RequestChecks(uid)) == ["unproven"]
    second = checks.run()
    assert second.uid != first.uid
    assert verified_of(store, uid) == "passed"


def test_one_run_serves_every_task_that_asked_before_it_began_and_none_that_asked_later(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    early = [add(str(at)) for at in range(3)]
    do(*map(done, early))
    run = checks.begin()
    late = add("late")
    do(done(late))
    checks.end(run)
    assert [verified_of(store, uid) for uid in early] == ["passed"] * 3
    assert verified_of(store, late) == "unproven"
    assert len(checks.waiting()) == 1


def test_an_input_that_changes_after_a_pass_or_during_the_run_makes_it_stale_for_good(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid, other = add(), add()
    do(done(uid))
    checks.run()
    checks.edit("another")
    assert verified_of(store, uid) == "stale"
    checks.edit("as they were")
    assert verified_of(store, uid) == "stale"
    do(done(other))
    run = checks.begin()
    checks.edit("changed meanwhile")
    checks.end(run)
    assert verified_of(store, other) == "stale"


def test_another_command_makes_stale_what_the_old_one_has_passed_and_the_old_one_back_does_not_prove_it_again(
    store, clock, add, do
):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(done(uid))
    checks.run()
    assert not checks.define(TESTS)
    assert verified_of(store, uid) == "passed"
    assert checks.define(NamedCheck("tests", "2", lists=("tasklist",)))
    assert verified_of(store, uid) == "stale"
    do(RequestChecks(uid))
    checks.run()
    assert verified_of(store, uid) == "passed"


def test_a_run_that_waits_begins_with_the_command_of_then(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(done(uid))
    checks.define(NamedCheck("tests", "2", lists=("tasklist",)))
    assert checks.run().digest == "2"
    assert verified_of(store, uid) == "passed"


def test_a_task_that_is_no_longer_done_is_unproven_also_when_it_is_done_again(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(done(uid))
    checks.run()
    do(EditTask(uid, {"status": "pending"}))
    assert verified_of(store, uid) == "unproven"
    do(done(uid))
    assert verified_of(store, uid) == "unproven"
    assert len(checks.waiting()) == 1


def test_what_has_passed_before_the_task_was_done_counts_while_it_is_not_stale(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(RequestChecks(uid))
    checks.run()
    assert verified_of(store, uid) == "passed"
    do(done(uid))
    assert (verified_of(store, uid), checks.waiting()) == ("passed", [])
    other = add()
    do(RequestChecks(other))
    checks.run()
    checks.edit("another")
    do(done(other))
    assert len(checks.waiting()) == 1


def test_a_run_that_no_task_waits_for_any_more_is_not_begun(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(done(uid))
    do(EditTask(uid, {"status": "pending"}))
    (run,) = checks.waiting()
    assert do(ClaimCheck(run.uid, Heartbeat(run.uid, False, "b", "n", 1, "x", clock()), 4)) == [None]
    assert checks.waiting() == []


def test_one_run_of_a_check_at_a_time_and_no_more_at_once_than_the_limit(store, clock, add, do):
    checks = Checks(store, clock, TESTS, NamedCheck("lint", "1", lists=("tasklist",)))
    uid, later = add(), add()
    do(done(uid))
    first, second = checks.waiting()
    claim = lambda run, most: do(ClaimCheck(run.uid, Heartbeat(run.uid, False, "b", "n", 1, "x", clock()), most))  # noqa: E731
    assert claim(first, 4) != [None]
    do(done(later))
    again = next(run for run in checks.waiting() if run.check_uid == first.check_uid)
    assert claim(again, 4) == [None]
    assert claim(second, 1) == [None]
    assert claim(second, 2) != [None]


def test_a_run_whose_process_is_gone_proves_nothing(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(done(uid))
    run = checks.begin()
    assert do(AbandonCheck(run.uid, heartbeats.find(store.db, run.uid))) == [True]
    assert verified_of(store, uid) == "unproven"
    checks.end(run)
    assert verified_of(store, uid) == "unproven"
    assert do(RequestChecks(uid)) == ["unproven"]
    checks.run()
    assert verified_of(store, uid) == "passed"


def test_all_of_a_tasks_checks_are_to_pass(store, clock, add, do):
    checks = Checks(store, clock, TESTS, NamedCheck("lint", "1", lists=("tasklist",)))
    uid = add()
    do(done(uid))
    runs = checks.waiting()
    for run, outcome, told in zip(runs, ("passed", "failed"), ("unproven", "failed"), strict=True):
        do(ClaimCheck(run.uid, Heartbeat(run.uid, False, "b", "n", 1, "x", clock()), 4))
        checks.commit(_begin(run.uid, clock()))
        checks.end(run, outcome)
        assert verified_of(store, uid) == told


def _begin(uid: str, now: int):
    from tui_tasks.core.operations.checks import BeginCheck

    return BeginCheck(uid, Heartbeat(uid, True, "b", "n", 1, "x", now), "as they were")


# Who may


def test_the_human_gives_and_takes_a_tasks_checks_and_nobody_else_does(store, clock, add, do):
    Checks(store, clock, TESTS, LINT)
    uid = add()
    for actor in ("agent", "shell", "system"):
        for names in (("lint",), (), None):
            with pytest.raises(Forbidden):
                do(GiveChecks(uid, names), actor=actor)
        with pytest.raises(Forbidden):
            do(EditTask(uid, {"checks": ()}), actor=actor)
    names = lambda: names_of(store, uid)  # noqa: E731
    assert names() == ["tests"]
    do(GiveChecks(uid, ("lint", "tests")), actor="human")
    assert names() == ["lint", "tests"]
    do(GiveChecks(uid, ()), actor="human")
    assert names() == []
    do(Undo(), actor="human")
    assert names() == ["lint", "tests"]
    do(Redo(), actor="human")
    do(GiveChecks(uid, None), actor="human")
    assert names() == ["tests"]
    with pytest.raises(InvalidArgument):
        do(GiveChecks(uid, ("no such",)), actor="human")


def test_a_check_that_was_given_by_name_stays_unproven_once_no_file_has_it(store, clock, add, do):
    checks = Checks(store, clock, LINT)
    uid = add()
    do(GiveChecks(uid, ("lint",)), actor="human")
    checks.define()
    assert verified_of(store, uid) == "unproven"
    do(done(uid))
    assert (verified_of(store, uid), checks.waiting()) == ("unproven", [])


def test_another_configuration_file_can_add_checks_and_neither_change_nor_take_one(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    foreign = Checks(store, clock, NamedCheck("tests", "true", lists=("tasklist",)), source="/tmp/mine.toml")
    do(done(uid))
    ours, theirs = sorted(checks.waiting(), key=lambda run: run.digest)
    do(ClaimCheck(theirs.uid, Heartbeat(theirs.uid, False, "b", "n", 1, "x", clock()), 4))
    checks.commit(_begin(theirs.uid, clock()))
    checks.end(theirs)
    assert verified_of(store, uid) == "unproven"
    foreign.define()
    assert verified_of(store, uid) == "unproven"
    assert ours.uid == checks.run().uid
    assert verified_of(store, uid) == "passed"
    foreign.define(NamedCheck("tests", "another", lists=("tasklist",)))
    assert verified_of(store, uid) == "stale"
    checks.define(TESTS, alone=True)
    assert verified_of(store, uid) == "passed"


def test_what_a_file_says_badly_of_a_check_takes_nothing_away(store, clock, add):
    checks = Checks(store, clock, TESTS)
    checks.define(kept=frozenset({"tests"}))
    assert verified_of(store, add()) == "unproven"


# Gates

GATE = NamedCheck("tests", "1", lists=("tasklist",), gate=True)


def test_a_gate_refuses_agents_until_it_has_passed_and_never_the_human(store, clock, add, do):
    checks = Checks(store, clock, GATE)
    uid, other = add(), add()
    for actor in ("agent", "shell"):
        with pytest.raises(NotProven) as refused:
            do(done(uid), actor=actor)
        assert refused.value.data == {"id": uid, "verified": "unproven", "output": ""}
    do(RequestChecks(uid))
    checks.run("failed", exit_code=1, output="1 failed")
    with pytest.raises(NotProven) as refused:
        do(done(uid))
    assert (refused.value.data["verified"], refused.value.data["output"]) == ("failed", "1 failed")
    do(RequestChecks(uid))
    checks.run()
    do(done(uid))
    assert verified_of(store, uid) == "passed"
    do(done(other), actor="human")
    assert (queries.task(store.db, other).status, verified_of(store, other)) == ("done", "unproven")
    kinds = [kind for (kind,) in store.db.sql("SELECT kind FROM journal WHERE task = ?", (other,))]
    assert kinds[-3:] == ["task.updated", "check.requested", "check.waived"]


def test_no_other_way_leads_through_a_gate(store, clock, add, do):
    checks = Checks(store, clock, GATE)
    uid = add()
    with pytest.raises(NotProven):
        add(status="done")
    elsewhere = add(home="elsewhere", status="done")
    home = queries.find_list(store.db, "tasklist")
    for where in ({"before": uid}, {"after": uid}, {"list_uid": home.uid}):
        with pytest.raises(NotProven):
            do(MoveTask(elsewhere, **where))
    do(done(uid), actor="human")
    do(EditTask(uid, {"status": "failed"}))
    with pytest.raises(NotProven):
        do(Undo())
    do(RequestChecks(uid))
    checks.run()
    checks.edit("another")
    with pytest.raises(NotProven):
        do(done(uid))


def test_a_done_task_that_was_deleted_comes_back_through_a_gate(store, clock, add, do):
    Checks(store, clock, GATE)
    uid = add()
    do(done(uid), actor="human")
    do(DeleteTask(uid))
    do(Undo())
    assert queries.task(store.db, uid).status == "done"


def test_what_cannot_be_run_is_refused(store, clock, add, do):
    Checks(store, clock, TESTS)
    with pytest.raises(Conflict):
        do(RequestChecks(add(home="elsewhere")))
    with pytest.raises(NotFound):
        do(RequestChecks(add(), "lint"))
    with pytest.raises(NotFound):
        do(RequestChecks("no-such-task"))


def failing(store: Store) -> list[str]:
    return read_checks.failing(store.db, 100)


def test_a_failed_check_needs_the_human_until_it_is_waived_and_again_once_it_is_run_again(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    with pytest.raises(Conflict):
        do(WaiveChecks(uid), actor="human")
    do(done(uid))
    checks.run("failed", exit_code=1)
    assert failing(store) == [uid]
    for actor in ("agent", "shell", "system"):
        with pytest.raises(Forbidden):
            do(WaiveChecks(uid), actor=actor)
    assert do(WaiveChecks(uid), actor="human") == [["tests"]]
    assert (failing(store), verified_of(store, uid)) == ([], "failed")
    assert list(replay_check.differences(store.db)) == []
    do(RequestChecks(uid))
    checks.run("failed", exit_code=1)
    assert failing(store) == [uid]
    assert list(replay_check.differences(store.db)) == []


def test_what_a_gate_keeps_from_being_done_needs_the_human_who_may_set_it_done_all_the_same(store, clock, add, do):
    checks = Checks(store, clock, GATE)
    uid = add()
    do(RequestChecks(uid))
    checks.run("failed", exit_code=1)
    assert failing(store) == [uid]
    do(done(uid), actor="human")
    checks.run("failed", exit_code=1)
    assert (failing(store), verified_of(store, uid)) == ([], "failed")
    do(EditTask(uid, {"status": "pending"}))
    assert failing(store) == []


def test_a_check_that_was_taken_from_a_task_needs_nobody(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    taken, moved = add(), add()
    do(done(taken), done(moved))
    checks.run("failed")
    do(GiveChecks(taken, ()), actor="human")
    assert failing(store) == [moved]
    do(GiveChecks(taken, ("tests",)), actor="human")
    assert sorted(failing(store)) == sorted([taken, moved])


def test_of_a_check_the_newest_runs_are_kept_and_those_that_count_for_a_task(store, clock, add, do, monkeypatch):
    monkeypatch.setattr(rules_of_checks, "KEEP_RUNS", 3)
    checks = Checks(store, clock, TESTS)
    counted, uid = add(), add()
    do(done(counted))
    first = checks.run(output="proven")
    run_logs.write(store.db, first.uid, [(0, b"proven")], 6)
    runs = []
    for at in range(6):
        do(RequestChecks(uid))
        runs.append(checks.run("failed", output=f"try {at}").uid)
    kept = [uid for (uid,) in store.db.sql("SELECT uid FROM check_run ORDER BY id")]
    assert kept == [first.uid, *runs[-3:]]
    assert (verified_of(store, counted), checks_json(store, counted)[0]["output"]) == ("passed", "proven")
    assert checks_json(store, uid)[0]["output"] == "try 5"
    assert run_logs.read(store.db, first.uid).total == 0
    do(EditTask(uid, {"status": "in_progress"}))
    do(Undo())
    assert list(replay_check.differences(store.db)) == []
    compact(store, clock() + SECOND, clock() + 2 * SECOND)
    assert list(replay_check.differences(store.db)) == []


def test_what_is_known_of_checks_is_replayed_compacted_and_copied(store, clock, add, do, tmp_path):
    checks = Checks(store, clock, TESTS, LINT)
    uids = [add(str(at)) for at in range(4)]
    do(GiveChecks(uids[3], ("lint",)), actor="human")
    do(*map(done, uids[:3]))
    checks.run("failed", exit_code=2, output="x")
    do(EditTask(uids[0], {"status": "pending"}))
    do(RequestChecks(uids[1]))
    checks.run()
    checks.edit("another")
    told = [verified_of(store, uid) for uid in uids]
    assert told == ["unproven", "stale", "failed", "unproven"]
    assert list(replay_check.differences(store.db)) == []
    compact(store, clock() + SECOND, clock() + 2 * SECOND)
    assert list(replay_check.differences(store.db)) == []
    backup.backup(store.db, tmp_path / "copy.db")
    with closing(Store(str(tmp_path / "copy.db"))) as copy:
        assert [verified_of(copy, uid) for uid in uids] == told


# Whatever is done in whatever order: passed is what was proven, with the inputs and the command of now


class LyingAgent(RuleBasedStateMachine):
    """An agent does what it can, the human and the runner do their part, beside a model that knows what was proven."""

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
        found = queries.find_list(self.store.db, name)
        assert found is not None
        return found.uid

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
                assert self.proven.get(uid) == (self.checks.inputs, self.digest)

    @invariant()
    def the_tables_are_what_the_journal_tells(self) -> None:
        assert next(iter(replay_check.differences(self.store.db)), None) is None


def test_whatever_an_agent_does_only_what_was_proven_is_told_to_have_passed():
    from hypothesis import settings

    run_state_machine_as_test(LyingAgent, settings=settings(max_examples=15, stateful_step_count=20, deadline=None))
