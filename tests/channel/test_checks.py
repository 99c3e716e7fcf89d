"""Checks over the channel: what an agent is told of them, and what it cannot do about them (section 11)."""

from __future__ import annotations

import pytest

from tests.checks import Checks
from tests.conftest import Talk
from tests.talking import add, task
from tui_tasks.core.errors import NotFound
from tui_tasks.core.operations.jobs import NamedCheck

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
        [unproven | {"at": None, "commit": None, "diff": None, "machine": None}],
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
            "machine": None,
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


def test_an_undo_into_done_starts_the_checks_of_a_gate_and_works_once_they_have_passed(talk, checks):
    uid = add(talk)
    talk.ok("tasklist:set_task_done", uid=uid)
    checks.run("failed", exit_code=1, output="1 failed")
    talk.ok("tasklist:update_task", uid=uid, status="pending")
    checks.define(GATE)
    refused = talk.refused("control:undo")
    assert (refused["code"], refused["data"]["verified"]) == ("conflict", "unproven")
    checks.run()
    talk.ok("control:undo")
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


class _Inputs:
    """The inputs of checks as a test says they are; counts how often they are read."""

    def __init__(self, checks: Checks) -> None:
        self.checks, self.now, self.reads = checks, checks.inputs, 0

    def look(self, store, now):
        """See nothing: the stats are as they were."""

    def read_inputs(self, store, run_uids, now):
        self.reads += 1
        with store.db.transaction(write=True):
            pass  # it begins: no lock is held while files are read
        if self.now == self.checks.inputs:
            return dict.fromkeys(run_uids, True)
        self.checks.edit(self.now)
        return dict.fromkeys(run_uids, False)


@pytest.fixture
def read_again(talk, checks) -> _Inputs:
    checks.inputs = "as they were"
    checks.define(GATE)
    talk.session.checks = _Inputs(checks)
    return talk.session.checks


@pytest.mark.parametrize("way", SETTING_DONE)
def test_inputs_that_changed_without_a_trace_do_not_open_a_gate_in_any_dialect(talk, checks, read_again, way):
    uid = add(talk, **({"list": "todo"} if way == "todo" else {}))
    talk.ok("control:request_check", uid=uid)
    checks.run()
    assert task(talk, uid)["verified"] == "passed"
    read_again.now = "another content, the same stats"
    refused = SETTING_DONE[way](talk, uid)
    assert (refused["code"], refused["data"]["verified"], task(talk, uid)["status"]) == ("conflict", "stale", "pending")
    assert len(checks.waiting()) == 1
    checks.run()
    talk.ok("tasklist:set_task_done", uid=uid)
    assert task(talk, uid)["verified"] == "passed"


def test_inputs_are_read_where_a_gate_is_opened_and_for_nothing_else(talk, checks, read_again):
    uid = add(talk)
    talk.ok("control:request_check", uid=uid)
    checks.run()
    talk.ok("tasklist:log_task_progress", uid=uid, message="x")
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    add(talk)
    assert read_again.reads == 0
    talk.ok("tasklist:set_task_done", uid=uid)
    assert read_again.reads == 1


def test_a_batch_that_writes_first_is_done_whole_once_the_inputs_were_read(talk, checks, read_again):
    uid = add(talk)
    talk.ok("control:request_check", uid=uid)
    checks.run()
    log = {"tool": "tasklist:log_task_progress", "arguments": {"uid": uid, "message": "x"}}
    replies = talk.one([log, {"tool": "tasklist:set_task_done", "arguments": {"uid": uid}}])
    assert [reply["ok"] for reply in replies] == [True, True]
    assert len(talk.ok("tasklist:get_task_logs", uid=uid)) == 1


def test_where_the_inputs_cannot_be_read_a_gate_stays_shut(talk, checks, read_again, store, clock):
    from tui_tasks.core.errors import NotProven
    from tui_tasks.core.operations.tasks import EditTask

    uid = add(talk)
    talk.ok("control:request_check", uid=uid)
    checks.run()
    with pytest.raises(NotProven):
        store.commit(EditTask(uid, {"status": "done"}), actor="agent", now=clock())
    talk.session.checks = None
    assert talk.refused("tasklist:set_task_done", uid=uid)["data"]["verified"] == "stale"
    assert task(talk, uid)["status"] == "pending"


CHECKED = NamedCheck("tests", "1", lists=("checked",), gate=True)
MOVE = "control:update_task"


def _done_elsewhere(talk: Talk) -> str:
    """Return the uid of a task that is done in a list without checks."""
    uid = add(talk, list="elsewhere")
    talk.ok("tasklist:set_task_done", uid=uid)
    add(talk, list="checked")
    return uid


def test_a_done_task_is_not_moved_to_where_a_gate_has_not_passed_and_the_refusal_says_how_to_go_on(talk, checks):
    checks.define(CHECKED)
    uid = _done_elsewhere(talk)
    refused = talk.refused(MOVE, uid=uid, list="checked")
    assert (refused["code"], refused["data"]) == ("conflict", {"verified": "unproven", "output": "", "id": uid})
    assert refused["message"] == (
        "task #1 is not done before tests has passed (unproven); make it pending, move it to checked, then set it done"
    )
    assert (task(talk, uid)["list"], checks.waiting()) == ("elsewhere", [])
    talk.ok("tasklist:update_task", uid=uid, status="pending")
    talk.ok(MOVE, uid=uid, list="checked")
    assert "its checks run now" in talk.refused("tasklist:set_task_done", uid=uid)["message"]
    checks.run()
    talk.ok("tasklist:set_task_done", uid=uid)


def test_an_undo_of_another_agent_does_not_move_a_done_task_behind_a_gate(talk, other, checks):
    checks.define(CHECKED)
    uid = add(talk, list="checked")
    add(talk, list="elsewhere")
    other.ok(MOVE, uid=uid, list="elsewhere")
    talk.ok("tasklist:set_task_done", uid=uid)
    refused = other.refused("control:undo")
    assert (refused["code"], refused["data"]["verified"]) == ("conflict", "unproven")
    assert "make it pending, move it to checked" in refused["message"]
    assert (task(other, uid)["list"], checks.waiting()) == ("elsewhere", [])


def test_a_batch_that_moves_a_task_behind_a_gate_and_sets_it_done_is_refused_with_advice_that_works(talk, checks):
    checks.define(CHECKED)
    uid = _done_elsewhere(talk)
    move = {"tool": MOVE, "arguments": {"uid": uid, "list": "checked"}}
    pending = {"tool": "tasklist:update_task", "arguments": {"uid": uid, "status": "pending"}}
    done = {"tool": "tasklist:set_task_done", "arguments": {"uid": uid}}
    assert "make it pending" in talk.one([move])[0]["error"]["message"]
    replies = talk.one([pending, move, done])
    assert [reply["error"]["code"] for reply in replies] == ["conflict"] * 3
    assert replies[2]["error"]["message"].endswith("leave setting it done out of the batch")
    assert (task(talk, uid)["list"], task(talk, uid)["status"], checks.waiting()) == ("elsewhere", "done", [])
    assert [reply["ok"] for reply in talk.one([pending, move])] == [True, True]
    talk.refused("tasklist:set_task_done", uid=uid)
    assert len(checks.waiting()) == 1


@pytest.mark.parametrize("error", [ValueError("a defect"), NotFound("task", "x")], ids=["defect", "refusal"])
def test_nothing_that_follows_from_a_refusal_ends_the_channel(talk, checks, monkeypatch, error):
    from tui_tasks.core.operations.jobs import RequestChecks
    from tui_tasks.core.rules import RULES

    def fail(*_):
        raise error

    checks.define(GATE)
    uid = add(talk)
    monkeypatch.setitem(RULES, RequestChecks, fail)
    assert talk.refused("tasklist:set_task_done", uid=uid)["data"]["verified"] == "unproven"
    assert task(talk, uid)["status"] == "pending"


def test_a_defect_outside_of_a_request_is_answered_as_internal_and_the_next_line_is_served(talk, monkeypatch):
    from tui_tasks.channel import session

    def fail(*_):
        raise ValueError("a defect")

    with monkeypatch.context() as broken:
        broken.setattr(session, "release_lapsed_claims", fail)
        assert talk.refused("tasklist:add_task", name="task")["code"] == "internal"
    add(talk)
