"""What is proven of a task, and what makes it unproven again (docs: protocol, section 11)."""

from __future__ import annotations

from tests.checks import TESTS, Checks, begin_check, report_done, verified_of
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations.jobs import (
    AbandonCheck,
    ClaimCheck,
    NamedCheck,
    RequestChecks,
)
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import check_queries as checks_of_database
from tui_tasks.core.unjournaled import heartbeats


def test_what_is_reported_is_unproven_until_its_checks_have_passed(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid, free = add(), add(home="elsewhere")
    assert (verified_of(store, uid), verified_of(store, free)) == ("unproven", None)
    assert checks.waiting() == []
    do(report_done(uid), report_done(free))
    assert verified_of(store, uid) == "unproven"
    run = checks.begin()
    assert verified_of(store, uid) == "running"
    checks.end(run)
    assert (verified_of(store, uid), verified_of(store, free)) == ("passed", None)


def test_a_check_that_fails_says_how_and_another_try_is_another_run(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(report_done(uid))
    first = checks.run("failed", exit_code=1, output="1 failed")
    assert (verified_of(store, uid), first.exit_code, first.output) == ("failed", 1, "1 failed")
    assert do(RequestChecks(uid)) == ["unproven"]
    second = checks.run()
    assert second.uid != first.uid
    assert verified_of(store, uid) == "passed"


def test_one_run_serves_every_task_that_asked_before_it_began_and_none_that_asked_later(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    early = [add(str(at)) for at in range(3)]
    do(*map(report_done, early))
    run = checks.begin()
    late = add("late")
    do(report_done(late))
    checks.end(run)
    assert [verified_of(store, uid) for uid in early] == ["passed"] * 3
    assert verified_of(store, late) == "unproven"
    assert len(checks.waiting()) == 1


def test_an_input_that_changes_after_a_pass_or_during_the_run_makes_it_stale_for_good(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid, other = add(), add()
    do(report_done(uid))
    checks.run()
    checks.edit("another")
    assert verified_of(store, uid) == "stale"
    checks.edit("")
    assert verified_of(store, uid) == "stale"
    do(report_done(other))
    run = checks.begin()
    checks.edit("changed meanwhile")
    checks.end(run)
    assert verified_of(store, other) == "stale"


def test_another_command_makes_stale_what_the_old_one_has_passed_and_the_old_one_back_does_not_prove_it_again(
    store, clock, add, do
):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(report_done(uid))
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
    do(report_done(uid))
    checks.define(NamedCheck("tests", "2", lists=("tasklist",)))
    assert checks.run().digest == "2"
    assert verified_of(store, uid) == "passed"


def test_a_task_that_is_no_longer_done_is_unproven_also_when_it_is_done_again(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(report_done(uid))
    checks.run()
    do(EditTask(uid, {"status": "pending"}))
    assert verified_of(store, uid) == "unproven"
    do(report_done(uid))
    assert verified_of(store, uid) == "unproven"
    assert len(checks.waiting()) == 1


def test_what_has_passed_before_the_task_was_done_counts_while_it_is_not_stale(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(RequestChecks(uid))
    checks.run()
    assert verified_of(store, uid) == "passed"
    do(report_done(uid))
    assert (verified_of(store, uid), checks.waiting()) == ("passed", [])
    other = add()
    do(RequestChecks(other))
    checks.run()
    checks.edit("another")
    do(report_done(other))
    assert len(checks.waiting()) == 1


def test_a_run_that_no_task_waits_for_any_more_is_not_begun(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(report_done(uid))
    do(EditTask(uid, {"status": "pending"}))
    (run,) = checks.waiting()
    assert do(ClaimCheck(run.uid, Heartbeat(run.uid, False, "b", "n", 1, "x", clock()), 4)) == [None]
    assert checks.waiting() == []


def test_one_run_of_a_check_at_a_time_and_no_more_at_once_than_the_limit(store, clock, add, do):
    checks = Checks(store, clock, TESTS, NamedCheck("lint", "1", lists=("tasklist",)))
    uid, later = add(), add()
    do(report_done(uid))
    first, second = checks.waiting()

    def claim(run, most):
        return do(ClaimCheck(run.uid, Heartbeat(run.uid, False, "b", "n", 1, "x", clock()), most))

    assert claim(first, 4) != [None]
    do(report_done(later))
    again = next(run for run in checks.waiting() if run.check_uid == first.check_uid)
    assert claim(again, 4) == [None]
    assert claim(second, 1) == [None]
    assert claim(second, 2) != [None]


def test_a_run_begins_once_after_it_was_claimed_and_not_when_it_has_ended(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    do(report_done(add()))
    (run,) = checks.waiting()
    again = begin_check(run.uid, clock())
    assert checks.commit(again) == [None]
    begun = checks.begin()
    assert begun.inputs == ""
    assert checks.commit(again) == [None]
    checks.end(begun)
    assert checks.commit(again) == [None]
    ended = checks_of_database.run(store.db, run.uid)
    assert (ended.state, ended.inputs) == ("passed", "")


def test_a_run_whose_process_is_gone_proves_nothing(store, clock, add, do):
    checks = Checks(store, clock, TESTS)
    uid = add()
    do(report_done(uid))
    run = checks.begin()
    assert do(AbandonCheck(run.uid, heartbeats.heartbeat_of(store.db, run.uid))) == [True]
    assert verified_of(store, uid) == "unproven"
    checks.end(run)
    assert verified_of(store, uid) == "unproven"
    assert do(RequestChecks(uid)) == ["unproven"]
    checks.run()
    assert verified_of(store, uid) == "passed"


def test_all_of_a_tasks_checks_are_to_pass(store, clock, add, do):
    checks = Checks(store, clock, TESTS, NamedCheck("lint", "1", lists=("tasklist",)))
    uid = add()
    do(report_done(uid))
    runs = checks.waiting()
    for run, outcome, told in zip(runs, ("passed", "failed"), ("unproven", "failed"), strict=True):
        do(ClaimCheck(run.uid, Heartbeat(run.uid, False, "b", "n", 1, "x", clock()), 4))
        checks.commit(begin_check(run.uid, clock()))
        checks.end(run, outcome)
        assert verified_of(store, uid) == told
