"""Which checks a task has, what they forbid, failed ones, and what is kept of runs (docs: protocol, section 11)."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.checks import (
    GATE,
    LINT,
    TESTS,
    Checks,
    begin_check,
    checks_json,
    failing,
    names_of,
    report_done,
    verified_of,
)
from tests.conftest import SECOND
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, NotFound, NotProven
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.maintenance import backup, database_findings
from tui_tasks.core.maintenance.compaction_steps import compact
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.jobs import (
    ClaimCheck,
    GiveChecks,
    NamedCheck,
    RequestChecks,
    WaiveChecks,
)
from tui_tasks.core.operations.tasks import DeleteTask, EditTask, MoveTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules import check_rules as rules_of_checks
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import run_output


def test_the_human_gives_and_takes_a_tasks_checks_and_nobody_else_does(store, clock, add, do):
    Checks(store, clock, TESTS, LINT)
    uid = add()
    for actor in ("agent", "shell", "system"):
        for names in (("lint",), (), None):
            with pytest.raises(Forbidden):
                do(GiveChecks(uid, names), actor=actor)
        with pytest.raises(Forbidden):
            do(EditTask(uid, {"checks": ()}), actor=actor)
    assert names_of(store, uid) == ["tests"]
    do(GiveChecks(uid, ("lint", "tests")), actor="human")
    assert names_of(store, uid) == ["lint", "tests"]
    do(GiveChecks(uid, ()), actor="human")
    assert names_of(store, uid) == []
    do(Undo(), actor="human")
    assert names_of(store, uid) == ["lint", "tests"]
    do(Redo(), actor="human")
    do(GiveChecks(uid, None), actor="human")
    assert names_of(store, uid) == ["tests"]
    with pytest.raises(InvalidArgument):
        do(GiveChecks(uid, ("no such",)), actor="human")


def test_a_check_that_was_given_by_name_stays_unproven_once_no_file_has_it(store, clock, add, do):
    checks = Checks(store, clock, LINT)
    uid = add()
    do(GiveChecks(uid, ("lint",)), actor="human")
    checks.define()
    assert verified_of(store, uid) == "unproven"
    do(report_done(uid))
    assert (verified_of(store, uid), checks.waiting()) == ("unproven", [])


def test_another_configuration_file_can_add_checks_and_neither_change_nor_take_one(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    foreign = Checks(store, clock, NamedCheck("tests", "true", lists=("tasklist",)), source="/tmp/mine.toml")
    do(report_done(uid))
    ours, theirs = sorted(checks.waiting(), key=lambda run: run.digest)
    do(ClaimCheck(theirs.uid, Heartbeat(theirs.uid, False, "b", "n", 1, "x", clock()), 4))
    checks.commit(begin_check(theirs.uid, clock()))
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


def test_a_gate_refuses_agents_until_it_has_passed_and_never_the_human(store, clock, add, do):
    checks = Checks(store, clock, GATE)
    uid, other = add(), add()
    for actor in ("agent", "shell"):
        with pytest.raises(NotProven) as refused:
            do(report_done(uid), actor=actor)
        assert refused.value.data == {"id": uid, "verified": "unproven", "output": ""}
    do(RequestChecks(uid))
    checks.run("failed", exit_code=1, output="1 failed")
    with pytest.raises(NotProven) as refused:
        do(report_done(uid))
    assert (refused.value.data["verified"], refused.value.data["output"]) == ("failed", "1 failed")
    do(RequestChecks(uid))
    checks.run()
    do(report_done(uid))
    assert verified_of(store, uid) == "passed"
    do(report_done(other), actor="human")
    assert (task_queries.task(store.db, other).status, verified_of(store, other)) == ("done", "unproven")
    kinds = [kind for (kind,) in store.db.sql("SELECT kind FROM journal WHERE task = ?", (other,))]
    assert kinds[-3:] == ["task.updated", "check.requested", "check.waived"]


def test_no_other_way_leads_through_a_gate(store, clock, add, do):
    checks = Checks(store, clock, GATE)
    uid = add()
    with pytest.raises(NotProven):
        add(status="done")
    elsewhere = add(home="elsewhere", status="done")
    home = task_queries.find_list(store.db, "tasklist")
    for where in ({"before": uid}, {"after": uid}, {"list_uid": home.uid}):
        with pytest.raises(NotProven):
            do(MoveTask(elsewhere, **where))
    do(report_done(uid), actor="human")
    do(EditTask(uid, {"status": "failed"}))
    with pytest.raises(NotProven):
        do(Undo())
    do(RequestChecks(uid))
    checks.run()
    checks.edit("another")
    with pytest.raises(NotProven):
        do(report_done(uid))


def test_a_done_task_that_was_deleted_comes_back_through_a_gate(store, clock, add, do):
    Checks(store, clock, GATE)
    uid = add()
    do(report_done(uid), actor="human")
    do(DeleteTask(uid))
    do(Undo())
    assert task_queries.task(store.db, uid).status == "done"


def test_what_cannot_be_run_is_refused(store, clock, add, do):
    Checks(store, clock, TESTS)
    with pytest.raises(Conflict):
        do(RequestChecks(add(home="elsewhere")))
    with pytest.raises(NotFound):
        do(RequestChecks(add(), "lint"))
    with pytest.raises(NotFound):
        do(RequestChecks("no-such-task"))


def test_a_failed_check_needs_the_human_until_it_is_waived_and_again_once_it_is_run_again(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    with pytest.raises(Conflict):
        do(WaiveChecks(uid), actor="human")
    do(report_done(uid))
    checks.run("failed", exit_code=1)
    assert failing(store) == [uid]
    for actor in ("agent", "shell", "system"):
        with pytest.raises(Forbidden):
            do(WaiveChecks(uid), actor=actor)
    assert do(WaiveChecks(uid), actor="human") == [["tests"]]
    assert (failing(store), verified_of(store, uid)) == ([], "failed")
    assert list(database_findings.differences(store.db)) == []
    do(RequestChecks(uid))
    checks.run("failed", exit_code=1)
    assert failing(store) == [uid]
    assert list(database_findings.differences(store.db)) == []


def test_what_a_gate_keeps_from_being_done_needs_the_human_who_may_set_it_done_all_the_same(store, clock, add, do):
    checks = Checks(store, clock, GATE)
    uid = add()
    do(RequestChecks(uid))
    checks.run("failed", exit_code=1)
    assert failing(store) == [uid]
    do(report_done(uid), actor="human")
    checks.run("failed", exit_code=1)
    assert (failing(store), verified_of(store, uid)) == ([], "failed")
    do(EditTask(uid, {"status": "pending"}))
    assert failing(store) == []


def test_a_check_that_was_taken_from_a_task_needs_nobody(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    taken, moved = add(), add()
    do(report_done(taken), report_done(moved))
    checks.run("failed")
    do(GiveChecks(taken, ()), actor="human")
    assert failing(store) == [moved]
    do(GiveChecks(taken, ("tests",)), actor="human")
    assert sorted(failing(store)) == sorted([taken, moved])


def test_of_a_check_the_newest_runs_are_kept_and_those_that_count_for_a_task(store, clock, add, do, monkeypatch):
    monkeypatch.setattr(rules_of_checks, "KEEP_RUNS", 3)
    checks = Checks(store, clock, TESTS)
    counted, uid = add(), add()
    do(report_done(counted))
    first = checks.run(output="proven")
    run_output.write_output(store.db, first.uid, [(0, b"proven")], 6)
    runs = []
    for at in range(6):
        do(RequestChecks(uid))
        runs.append(checks.run("failed", output=f"try {at}").uid)
    kept = [uid for (uid,) in store.db.sql("SELECT uid FROM check_run ORDER BY id")]
    assert kept == [first.uid, *runs[-3:]]
    assert (verified_of(store, counted), checks_json(store, counted)[0]["output"]) == ("passed", "proven")
    assert checks_json(store, uid)[0]["output"] == "try 5"
    assert run_output.read_output(store.db, first.uid).total == 0
    do(EditTask(uid, {"status": "in_progress"}))
    do(Undo())
    assert list(database_findings.differences(store.db)) == []
    compact(store, clock() + SECOND, clock() + 2 * SECOND)
    assert list(database_findings.differences(store.db)) == []


def test_what_is_known_of_checks_is_replayed_compacted_and_copied(store, clock, add, do, tmp_path):
    checks = Checks(store, clock, TESTS, LINT)
    uids = [add(str(at)) for at in range(4)]
    do(GiveChecks(uids[3], ("lint",)), actor="human")
    do(*map(report_done, uids[:3]))
    checks.run("failed", exit_code=2, output="x")
    do(EditTask(uids[0], {"status": "pending"}))
    do(RequestChecks(uids[1]))
    checks.run()
    checks.edit("another")
    told = [verified_of(store, uid) for uid in uids]
    assert told == ["unproven", "stale", "failed", "unproven"]
    assert list(database_findings.differences(store.db)) == []
    compact(store, clock() + SECOND, clock() + 2 * SECOND)
    assert list(database_findings.differences(store.db)) == []
    backup.backup(store.db, tmp_path / "copy.db")
    with closing(Store(str(tmp_path / "copy.db"))) as copy:
        assert [verified_of(copy, uid) for uid in uids] == told
