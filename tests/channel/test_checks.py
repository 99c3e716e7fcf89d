"""Checks over the channel: what an agent is told of them, and what it cannot do about them (section 11)."""

from __future__ import annotations

import pytest

from tests.checks import Checks
from tests.conftest import Talk
from tests.talking import add, task
from tui_tasks.core.operations.checks import NamedCheck

TESTS = NamedCheck("tests", "1", lists=("tasklist", "task", "todo"))
GATE = NamedCheck("tests", "1", lists=("tasklist", "task", "todo"), gate=True)


@pytest.fixture
def checks(store, clock) -> Checks:
    return Checks(store, clock, TESTS)


def test_a_task_tells_what_is_verified_of_it_and_by_which_runs(talk, checks, clock):
    uid = add(talk)
    unproven = {"name": "tests", "state": "unproven", "run_id": None, "exit_code": None, "output": None}
    assert (task(talk, uid)["verified"], task(talk, uid)["checks"]) == (
        "unproven",
        [unproven | {"at": None, "commit": None, "diff": None}],
    )
    free = add(talk, list="elsewhere")
    assert (task(talk, free)["verified"], task(talk, free)["checks"]) == (None, [])
    talk.ok("tasklist:set_task_done", uid=uid)
    run = checks.run("failed", exit_code=1, output="1 failed")
    assert task(talk, uid)["verified"] == "failed"
    assert task(talk, uid)["checks"] == [
        {
            "name": "tests",
            "state": "failed",
            "run_id": run.uid,
            "exit_code": 1,
            "output": "1 failed",
            "at": "2026-01-02T11:22:14.000+00:00",
            "commit": "c0ffee",
            "diff": "d1ff",
        }
    ]


def test_check_finished_tells_a_subscriber_of_each_task_with_the_check_beside_it(talk, other, checks):
    uids = [add(talk), add(talk)]
    other.ok("control:subscribe")
    for uid in uids:
        talk.ok("tasklist:set_task_done", uid=uid)
    run = checks.run("failed", exit_code=1, output="1 failed")
    told = [event for event in other.events() if event["event"] == "check.finished"]
    assert [event["task"]["uid"] for event in told] == uids
    for event, uid in zip(told, uids, strict=True):
        assert event["task"] == task(talk, uid)
        assert event["check"] == task(talk, uid)["checks"][0]
        assert (event["check"]["run_id"], event["check"]["state"], event["actor"]) == (run.uid, "failed", "system")


def test_every_event_of_a_task_tells_what_was_verified_then(talk, other, checks):
    other.ok("control:subscribe")
    uid = add(talk)
    talk.ok("tasklist:set_task_done", uid=uid)
    checks.run()
    checks.edit("another")
    talk.ok("tasklist:log_task_progress", uid=uid, message="x")
    told = [(event["event"], event["task"]["verified"]) for event in other.events() if "task" in event]
    assert told == [
        ("task.created", "unproven"),
        ("task.updated", "unproven"),
        ("check.requested", "unproven"),
        ("check.finished", "passed"),
        ("task.logged", "stale"),
    ]


def test_an_agent_may_have_checks_run_and_no_more(talk, checks):
    uid = add(talk)
    assert talk.ok("control:request_check", uid=uid) == {"uid": uid, "verified": "unproven"}
    checks.run()
    talk.ok("tasklist:set_task_done", uid=uid)
    assert task(talk, uid)["verified"] == "passed"
    assert talk.refused("control:request_check", uid=uid, check="lint")["code"] == "not_found"
    assert talk.refused("control:request_check", uid=uid, command=["true"])["code"] == "invalid_argument"
    assert talk.refused("control:request_check", uid=add(talk, list="elsewhere"))["code"] == "conflict"
    talk.ok("control:request_check", uid=uid[:8], check="tests")
    assert len(checks.waiting()) == 1


SETTING_DONE = {
    "tasklist:set_task_done": lambda talk, uid: talk.refused("tasklist:set_task_done", uid=uid),
    "tasklist:update_task": lambda talk, uid: talk.refused("tasklist:update_task", uid=uid, status="done"),
    "task": lambda talk, uid: talk.refused("task", action="update", task_id=uid, status="completed"),
    "agent": lambda talk, uid: talk.refused("agent", action="update_task", task_id=uid, status="completed"),
    "tasks": lambda talk, uid: talk.refused("tasks", action="update", id=uid, status="done"),
    "update_task": lambda talk, uid: talk.refused("update_task", id=uid, status="done"),
    "todo": lambda talk, uid: talk.refused(
        "todo", merge=True, todos=[{"id": uid, "status": "completed"}, {"id": "b", "content": "b", "status": "pending"}]
    ),
    "a batch": lambda talk, uid: talk.one([{"tool": "tasklist:set_task_done", "arguments": {"uid": uid}}])[0]["error"],
}


@pytest.mark.parametrize("way", SETTING_DONE)
def test_a_gate_is_a_conflict_in_every_dialect_and_the_next_try_after_its_checks_have_passed_is_done(talk, checks, way):
    checks.define(GATE)
    uid = add(talk, **({"list": "todo"} if way == "todo" else {}))
    for outcome, told in (("failed", ("unproven", "")), ("passed", ("failed", "1 failed"))):
        refused = SETTING_DONE[way](talk, uid)
        assert (refused["code"], refused["data"]["verified"], refused["data"]["output"]) == ("conflict", *told)
        assert task(talk, uid)["status"] == "pending"
        checks.run(outcome, exit_code=int(outcome == "failed"), output="1 failed" * (outcome == "failed"))
    talk.ok("tasklist:set_task_done", uid=uid)
    assert (task(talk, uid)["status"], task(talk, uid)["verified"]) == ("done", "passed")


def test_a_task_is_not_made_done_behind_a_gate(talk, checks):
    checks.define(GATE)
    todos = [{"id": "a", "content": "a", "status": "completed"}, {"id": "b", "content": "b", "status": "pending"}]
    for refused in (
        talk.refused("task", action="create", title="t", status="completed"),
        talk.refused("todo", merge=False, todos=todos),
    ):
        assert (refused["code"], refused["data"]["verified"]) == ("conflict", "unproven")
    assert checks.waiting() == []


def test_a_batch_that_makes_a_task_and_sets_it_done_is_refused_whole_and_begins_nothing(talk, checks):
    checks.define(GATE)
    replies = talk.one(
        [
            {"tool": "task", "arguments": {"action": "create", "title": "t"}},
            {"tool": "tasklist:set_task_done", "arguments": {"uid": add(talk)}},
        ]
    )
    assert [reply["error"]["code"] for reply in replies] == ["conflict", "conflict"]
    assert talk.ok("task", action="list")["structuredContent"]["total"] == 0
    assert len(checks.waiting()) == 1


def test_a_try_while_the_checks_run_begins_no_other_run(talk, checks):
    checks.define(GATE)
    uid = add(talk)
    talk.refused("tasklist:set_task_done", uid=uid)
    run = checks.begin()
    assert talk.refused("tasklist:set_task_done", uid=uid)["data"]["verified"] == "running"
    assert checks.waiting() == []
    checks.end(run)
    talk.ok("tasklist:set_task_done", uid=uid)


def test_the_dialects_objects_and_texts_are_as_ever(talk, checks):
    uid = add(talk)
    talk.ok("tasklist:set_task_done", uid=uid)
    checks.run("failed")
    assert talk.ok("tasklist:get_task", uid=uid).keys() == {"uid", "name", "description", "status"}
    assert talk.ok("tasklist:get_task", uid=uid)["status"] == "done"
    assert "verified" not in talk.ok("tasks", action="pending") and "verified" not in str(
        talk.ok("task", action="list")
    )


FORGED = {"verified": "passed", "checks": [{"name": "tests", "state": "passed"}]}


def test_no_field_of_a_request_forges_what_was_verified(talk: Talk, checks):
    uid = add(talk)
    for tool, arguments in (
        ("tasklist:update_task", {"uid": uid, "status": "done", **FORGED}),
        ("task", {"action": "update", "task_id": uid, "status": "completed", **FORGED}),
        ("tasks", {"action": "update", "id": uid, "status": "done", **FORGED}),
        ("control:update_task", {"uid": uid, "estimate": 1, **FORGED}),
        ("control:request_check", {"uid": uid, **FORGED}),
    ):
        assert talk.refused(tool, **arguments)["code"] == "invalid_argument", tool
    talk.ok("tasklist:set_task_done", FORGED, uid=uid)
    talk.ok("task", action="update", task_id=uid, metadata=FORGED, result=FORGED)
    talk.ok("tasklist:log_task_progress", uid=uid, message="check.finished: passed")
    assert task(talk, uid)["verified"] == "unproven"
    assert task(talk, uid)["checks"][0]["state"] == "unproven"


def test_a_channel_for_one_list_asks_for_checks_of_its_own_tasks_alone(store, clock, talk, checks):
    mine, foreign = add(talk), add(talk, list="elsewhere")
    kept = Talk(store, clock, list="tasklist", list_only=True)
    assert kept.ok("control:request_check", uid=mine)["uid"] == mine
    assert kept.refused("control:request_check", uid=foreign)["code"] == "not_found"
