"""Failed checks need the human; what is kept of runs is replayed, compacted and copied (docs: protocol, section 11)."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.checks import Checks
from tests.conftest import SECOND
from tests.core.rules.proof import GATE, LINT, TESTS, checks_json, failing, report_done, verified_of
from tui_tasks.core.errors import Conflict, Forbidden
from tui_tasks.core.maintenance import backup, diagnosis
from tui_tasks.core.maintenance.compaction_steps import compact
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.jobs import (
    GiveChecks,
    RequestChecks,
    WaiveChecks,
)
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.rules.jobs import check_rules as rules_of_checks
from tui_tasks.core.schedule import run_logs
from tui_tasks.core.store import Store


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
    assert list(diagnosis.differences(store.db)) == []
    do(RequestChecks(uid))
    checks.run("failed", exit_code=1)
    assert failing(store) == [uid]
    assert list(diagnosis.differences(store.db)) == []


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
    assert list(diagnosis.differences(store.db)) == []
    compact(store, clock() + SECOND, clock() + 2 * SECOND)
    assert list(diagnosis.differences(store.db)) == []


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
    assert list(diagnosis.differences(store.db)) == []
    compact(store, clock() + SECOND, clock() + 2 * SECOND)
    assert list(diagnosis.differences(store.db)) == []
    backup.backup(store.db, tmp_path / "copy.db")
    with closing(Store(str(tmp_path / "copy.db"))) as copy:
        assert [verified_of(copy, uid) for uid in uids] == told
