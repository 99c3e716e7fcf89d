"""`scheduler:*`: making, reading and changing jobs, and rule S1 (seed 003; docs: protocol, section 6)."""

import pytest

from tests.conftest import Talk
from tests.dialects.steps import DAILY, adhoc, begin, end, scheduled
from tui_tasks.core.operations.jobs import EndRun, NoteRunAgent, StopRun

SEED_LIST = {
    "thoughts": ["1. Goal: The user wants me to check for any tasks that have failed.", "4. Action: list them."],
    "tool_name": "scheduler:list_tasks",
    "tool_args": {"state": ["error"]},
}
SEED_CREATE = {
    "thoughts": ["1. Goal: The user wants me to create a task to check the server status every 15 minutes."],
    "tool_name": "scheduler:create_scheduled_task",
    "tool_args": {
        "name": "Periodic Server Status Check",
        "system_prompt": "You are an IT operations assistant.",
        "prompt": "Ping the server at 192.168.1.1 and log the result to /a0/logs/status.log.",
        "schedule": {"minute": "*/15", "hour": "*", "day": "*", "month": "*", "weekday": "*"},
        "dedicated_context": True,
    },
}
JOB_KEYS = {
    "uuid",
    "name",
    "type",
    "state",
    "system_prompt",
    "prompt",
    "timezone",
    "dedicated_context",
    "next_run",
    "last_run",
    "last_result",
    "created_at",
}


@pytest.fixture(autouse=True)
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")


# The seed's examples


def test_the_seeds_examples_are_served_as_they_stand(talk):
    assert talk.one(SEED_LIST)["result"] == []
    job = talk.one(SEED_CREATE)["result"]
    assert job.keys() == JOB_KEYS | {"schedule"}
    assert job["type"] == "scheduled"
    assert job["state"] == "idle"
    assert job["schedule"] == SEED_CREATE["tool_args"]["schedule"]
    assert job["timezone"] == "Europe/Berlin"
    assert job["next_run"] == "2026-01-02T12:30:00+01:00"
    assert job["created_at"] == "2026-01-02T12:22:14+01:00"
    entry = talk.ok("control:history", limit=1)["entries"][0]
    assert entry["why"] == {"thoughts": SEED_CREATE["thoughts"]}


# Making


def test_a_planned_job_shows_its_plan_sorted_in_its_zone(talk):
    plan = "['2026-07-01T09:00:00', '2026-03-01T09:00:00', '2026-03-01T08:00:00Z']"
    job = talk.ok("scheduler:create_planned_task", name="p", system_prompt="", prompt="", plan=plan)
    assert job.keys() == JOB_KEYS | {"plan"}
    assert job["plan"] == ["2026-03-01T09:00:00+01:00", "2026-07-01T09:00:00+02:00"]
    assert job["next_run"] == job["plan"][0]


def test_one_string_is_taken_as_a_plan_of_one(talk):
    job = talk.ok("scheduler:create_planned_task", name="p", system_prompt="", prompt="", plan="2026-03-01T09:00:00")
    assert job["plan"] == ["2026-03-01T09:00:00+01:00"]


def test_an_adhoc_job_has_neither_schedule_nor_plan_and_runs_in_the_conversation_unless_said(talk):
    job = adhoc(talk)
    assert job.keys() == JOB_KEYS
    assert (job["type"], job["dedicated_context"], job["next_run"]) == ("adhoc", False, None)


def test_a_schedule_takes_integers_and_comes_as_a_string_too(talk):
    assert scheduled(talk)["schedule"] == {"minute": "30", "hour": "2", "day": "*", "month": "*", "weekday": "*"}
    text = '{"minute": "0", "hour": 9, "day": "*", "month": "*", "weekday": "1-5"}'
    assert scheduled(talk, "text", schedule=text)["next_run"] == "2026-01-05T09:00:00+01:00"


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"schedule": DAILY | {"minute": 60}}, "schedule.minute"),
        ({"schedule": DAILY | {"minute": True}}, "schedule.minute"),
        ({"schedule": DAILY | {"minute": None}}, "schedule.minute"),
        ({"schedule": DAILY | {"second": 1}}, "schedule.second"),
        ({"schedule": {"minute": 1}}, "schedule.hour"),
        ({"schedule": DAILY | {"day": 31, "month": 4}}, "schedule"),
        ({"schedule": "hourly"}, "schedule"),
        ({"timezone": "Europe/Atlantis"}, "timezone"),
        ({"name": "  "}, "name"),
        ({"name": ""}, "name"),
        ({"prompt": 5}, "prompt"),
        ({"plan": ["2026-03-01T09:00:00"]}, "plan"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_written(talk, given, argument):
    error = talk.refused(
        "scheduler:create_scheduled_task",
        **({"name": "x", "system_prompt": "S", "prompt": "P", "schedule": DAILY} | given),
    )
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", argument)
    assert talk.seq() == 0


@pytest.mark.parametrize("missing", ["name", "system_prompt", "prompt", "schedule"])
def test_what_the_seed_requires_is_required(talk, missing):
    given = {"name": "x", "system_prompt": "S", "prompt": "P", "schedule": DAILY}
    del given[missing]
    assert talk.refused("scheduler:create_scheduled_task", **given)["data"]["argument"] == missing


@pytest.mark.parametrize(
    ("plan", "argument"),
    [
        ([], "plan"),
        (["2026-01-02T12:22:13"], "plan[0]"),
        (["2026-03-01T09:00:00", "soon"], "plan[1]"),
        (["2026-03-01T09:00:00", 5], "plan[1]"),
    ],
)
def test_a_plan_that_is_empty_past_or_no_date_is_refused(talk, plan, argument):
    error = talk.refused("scheduler:create_planned_task", name="x", system_prompt="S", prompt="P", plan=plan)
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", argument)


def test_a_name_that_is_taken_is_a_conflict_with_its_uuid(talk):
    job = adhoc(talk, "Nightly Audit")
    error = talk.refused("scheduler:create_adhoc_task", name="NIGHTLY audit", system_prompt="", prompt="")
    assert (error["code"], error["data"]["uuid"]) == ("conflict", job["uuid"])
    other = adhoc(talk, "other")
    error = talk.refused("scheduler:update_task", uuid=other["uuid"], name="nightly AUDIT")
    assert (error["code"], error["data"]["uuid"]) == ("conflict", job["uuid"])


# Reading


def test_jobs_are_listed_by_state_and_type(talk):
    daily, hand, off = scheduled(talk), adhoc(talk), adhoc(talk, "off")
    failed = adhoc(talk, "failed", dedicated_context=True)
    talk.ok("scheduler:disable_task", uuid=off["uuid"])
    run = talk.ok("scheduler:run_task", uuid=failed["uuid"])
    begin(talk, run["run_id"])
    end(talk, run["run_id"], "error")
    talk.ok("scheduler:run_task", uuid=hand["uuid"])

    def listed(**given: object) -> list[str]:
        return [job["name"] for job in talk.ok("scheduler:list_tasks", **given)]

    assert listed() == ["daily", "by hand", "off", "failed"]
    assert listed(state="idle") == ["daily"]
    assert listed(state=["running", "disabled"]) == ["by hand", "off"]
    assert listed(state=["error"]) == ["failed"]
    assert listed(type=["scheduled"]) == ["daily"]
    assert listed(type=["adhoc"], state=["idle"]) == []
    assert talk.refused("scheduler:list_tasks", state=["broken"])["data"]["argument"] == "state[0]"
    assert talk.ok("scheduler:show_task", uuid=daily["uuid"]) == daily


def test_a_part_of_a_name_is_found_in_any_case_and_taken_literally(talk):
    for name in ("100% done", "1000 done", "a_b", "aXb", "Straße"):
        adhoc(talk, name)

    def found(name: str) -> list[str]:
        return [job["name"] for job in talk.ok("scheduler:find_task_by_name", name=name)]

    assert found("100%") == ["100% done"]
    assert found("A_B") == ["a_b"]
    assert found("STRASSE") == ["Straße"]
    assert found("DONE") == ["100% done", "1000 done"]
    assert found("nothing") == []


@pytest.mark.parametrize("tool", ["show_task", "run_task", "delete_task", "wait_for_task", "enable_task", "get_runs"])
def test_an_unknown_uuid_is_not_found(talk, tool):
    error = talk.refused(f"scheduler:{tool}", uuid="nobody")
    assert (error["code"], error["data"]["id"]) == ("not_found", "nobody")


# Changing


def test_an_update_changes_what_is_named_and_shows_settings_that_are_not_the_default(talk):
    job = scheduled(talk)
    given = {"name": "renamed", "schedule": DAILY | {"hour": 3}, "timezone": "UTC", "overlap": "queue", "retries": 2}
    changed = talk.ok("scheduler:update_task", uuid=job["uuid"], **given)
    assert (changed["name"], changed["next_run"]) == ("renamed", "2026-01-03T03:30:00+00:00")
    assert changed["settings"] == {"overlap": "queue", "retries": 2}
    assert changed["prompt"] == "P"
    assert "settings" not in talk.ok("scheduler:update_task", uuid=job["uuid"], overlap="skip", retries=0)


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({}, "name"),
        ({"retries": 101}, "retries"),
        ({"jitter": -1}, "jitter"),
        ({"overlap": "maybe"}, "overlap"),
        ({"plan": ["2026-03-01T09:00:00"]}, "plan"),
        ({"name": " "}, "name"),
        ({"command": ["sh"]}, "command"),
    ],
)
def test_an_update_with_a_wrong_argument_is_refused(talk, given, argument):
    job = scheduled(talk)
    error = talk.refused("scheduler:update_task", uuid=job["uuid"], **given)
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", argument)


def test_a_disabled_job_has_no_next_run_until_it_is_enabled(talk):
    job = scheduled(talk)
    off = talk.ok("scheduler:disable_task", uuid=job["uuid"])
    assert (off["state"], off["next_run"]) == ("disabled", None)
    assert talk.ok("scheduler:disable_task", uuid=job["uuid"]) == off
    assert talk.ok("scheduler:enable_task", uuid=job["uuid"]) == job


def test_a_deleted_job_comes_back_by_undo(talk):
    job = scheduled(talk)
    assert talk.ok("scheduler:delete_task", uuid=job["uuid"]) == job
    assert talk.refused("scheduler:show_task", uuid=job["uuid"])["code"] == "not_found"
    talk.ok("control:undo")
    assert talk.ok("scheduler:show_task", uuid=job["uuid"]) == job


def test_the_reason_of_a_stopped_run_is_told(talk):
    job = adhoc(talk, dedicated_context=True)
    run = talk.ok("scheduler:run_task", uuid=job["uuid"])
    talk.store.commit(StopRun(run["run_id"]), actor="human", now=talk.clock())
    (stopped,) = talk.ok("scheduler:get_runs", uuid=job["uuid"])["runs"]
    assert (stopped["outcome"], stopped["reason"]) == ("interrupted", "stopped by human")


def test_a_run_of_an_agent_tells_what_that_has_used_and_no_other_does(talk):
    job = adhoc(talk, dedicated_context=True)
    plain = talk.ok("scheduler:run_task", uuid=job["uuid"])
    talk.store.commit(EndRun(plain["run_id"], "success"), actor="system", now=talk.clock())
    run = talk.ok("scheduler:run_task", uuid=job["uuid"])
    end = EndRun(run["run_id"], "success", turns=3, cost_usd=0.5)
    talk.store.commit(NoteRunAgent(run["run_id"], "claude-1", "s-1"), end, actor="system", now=talk.clock())
    newest, other = talk.ok("scheduler:get_runs", uuid=job["uuid"])["runs"]
    told = {"agent": "claude-1", "session": "s-1", "turns": 3, "tokens": None, "cost_usd": 0.5}
    assert {name: newest[name] for name in told} == told
    assert not set(told) & set(other)


# Rule S1


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("create_adhoc_task", {"name": "x", "system_prompt": "", "prompt": ""}),
        ("create_scheduled_task", {"name": "x", "system_prompt": "", "prompt": "", "schedule": DAILY}),
        ("create_planned_task", {"name": "x", "system_prompt": "", "prompt": "", "plan": ["2026-03-01T09:00:00"]}),
        ("run_task", {"uuid": "known"}),
        ("update_task", {"uuid": "known", "prompt": "more"}),
        ("enable_task", {"uuid": "known"}),
        ("delete_task", {"uuid": "known"}),
    ],
)
def test_a_run_can_read_jobs_but_neither_make_nor_start_nor_change_one(talk, tool, given):
    job = adhoc(talk)
    inside = Talk(talk.store, talk.clock, inside_run=True)
    given = {name: job["uuid"] if value == "known" else value for name, value in given.items()}
    error = inside.refused(f"scheduler:{tool}", **given)
    assert error["code"] == "forbidden"
    assert inside.ok("scheduler:list_tasks") == [job]
    assert inside.ok("tasklist:add_task", name="tasks are written as ever")["uid"]


def test_a_run_cannot_bring_a_job_back_by_undo(talk):
    job = adhoc(talk)
    talk.ok("scheduler:delete_task", uuid=job["uuid"])
    inside = Talk(talk.store, talk.clock, inside_run=True)
    assert inside.refused("control:undo")["code"] == "forbidden"
    assert inside.one([{"tool": "control:undo", "id": 1}])[0]["error"]["code"] == "forbidden"
