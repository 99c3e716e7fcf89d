"""`scheduler:*`: running jobs, answering and waiting (seed 003; docs: protocol, section 6)."""

import json
from datetime import datetime

import pytest

from tests.conftest import SECOND, Talk
from tests.dialects.steps import DAILY, adhoc, begin, decide, end, job_events, scheduled
from tests.talking import settled
from tui_tasks.core.job_snapshots import local_iso
from tui_tasks.core.read import job_queries
from tui_tasks.core.store import Store

RUN_KEYS = {
    "run_id",
    "uuid",
    "trigger",
    "scheduled_for",
    "decision",
    "outcome",
    "started_at",
    "ended_at",
    "exit_code",
    "result",
    "reason",
}


@pytest.fixture(autouse=True)
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")


# Running


def test_a_job_in_the_conversation_is_requested_and_answered(talk):
    job = adhoc(talk)
    talk.ok("control:subscribe")
    started = talk.ok("scheduler:run_task", uuid=job["uuid"], context="the context")
    assert started == {"uuid": job["uuid"], "run_id": started["run_id"], "state": "running"}
    requested = [event for event in job_events(talk) if event["event"] == "run.requested"]
    assert [event["run"] for event in requested] == [
        {
            "run_id": started["run_id"],
            "uuid": job["uuid"],
            "name": "by hand",
            "system_prompt": "S",
            "prompt": "P",
            "context": "the context",
            "for": "agent",
        }
    ]
    talk.clock.forward(5)
    run = talk.ok("scheduler:finish_run", run_id=started["run_id"], outcome="error", result="no network")
    assert run.keys() == RUN_KEYS
    assert (run["outcome"], run["result"], run["trigger"], run["decision"]) == ("error", "no network", "manual", "ran")
    assert (run["started_at"], run["ended_at"]) == ("2026-01-02T12:22:14+01:00", "2026-01-02T12:22:19+01:00")
    finished = job_events(talk)[0]
    assert (finished["event"], finished["run"]["outcome"]) == ("run.finished", "error")
    shown = talk.ok("scheduler:show_task", uuid=job["uuid"])
    assert (shown["state"], shown["last_result"], shown["last_run"]) == ("error", "no network", run["started_at"])
    assert talk.refused("scheduler:finish_run", run_id=started["run_id"], outcome="success")["code"] == "conflict"


def test_a_request_is_for_the_agent_that_made_the_job(talk):
    job = talk.ok(
        "scheduler:create_adhoc_task", {"agent": "claude-1"}, name="mine", system_prompt="", prompt="", timezone="UTC"
    )
    talk.ok("control:subscribe")
    talk.ok("scheduler:run_task", {"agent": "codex"}, uuid=job["uuid"])
    (requested,) = [event for event in job_events(talk) if event["event"] == "run.requested"]
    assert (requested["run"]["for"], requested["actor"]) == ("claude-1", "codex")


def test_a_scheduled_or_planned_job_is_not_run_by_hand_unless_forced(talk):
    job = scheduled(talk)
    error = talk.refused("scheduler:run_task", uuid=job["uuid"])
    assert error["code"] == "forbidden"
    assert talk.ok("control:history", limit=1)["entries"][0]["event"] == "agent.refused"
    assert talk.ok("scheduler:run_task", uuid=job["uuid"], force=True)["state"] == "running"


def test_a_running_or_disabled_job_is_not_run_again(talk):
    job = adhoc(talk)
    talk.ok("scheduler:run_task", uuid=job["uuid"])
    error = talk.refused("scheduler:run_task", uuid=job["uuid"])
    assert (error["code"], error["data"]["state"]) == ("conflict", "running")
    talk.ok("scheduler:delete_task", uuid=job["uuid"])
    off = adhoc(talk, "off")
    assert talk.ok("scheduler:disable_task", uuid=off["uuid"])["state"] == "disabled"
    error = talk.refused("scheduler:run_task", uuid=off["uuid"])
    assert (error["code"], error["data"]["state"]) == ("conflict", "disabled")


def test_a_due_time_is_in_the_history_with_what_became_of_it(talk):
    job = scheduled(talk, "quarterly", schedule=DAILY | {"minute": "*/15", "hour": "*"}, dedicated_context=True)
    for text in ("2026-01-02T11:30:00+00:00", "2026-01-02T11:45:00+00:00"):
        talk.clock.now = int(datetime.fromisoformat(text).timestamp()) * SECOND
        decide(talk, job["uuid"])
    second, first = talk.ok("scheduler:get_runs", uuid=job["uuid"])["runs"]
    assert first.keys() == RUN_KEYS
    assert (first["trigger"], first["decision"], first["scheduled_for"]) == (
        "schedule",
        "ran",
        "2026-01-02T12:30:00+01:00",
    )
    assert (second["decision"], second["outcome"]) == ("skipped", None)
    assert "still active" in second["reason"]
    assert talk.ok("scheduler:get_runs", uuid=job["uuid"], limit=1) == {"runs": [second]}


def test_times_that_were_not_run_are_told_by_one_event(talk):
    job = scheduled(talk, "minutely", schedule=DAILY | {"minute": "*", "hour": "*"})
    talk.ok("control:subscribe")
    talk.clock.forward(3600)
    decide(talk, job["uuid"])
    events = job_events(talk)
    assert [event["event"] for event in events] == ["job.decided", "job.decided", "run.requested", "job.advanced"]
    coalesced = events[0]["job"]
    assert (coalesced["uuid"], coalesced["decision"], coalesced["count"]) == (job["uuid"], "coalesced", 59)
    assert coalesced["first"] == "2026-01-02T12:23:00+01:00"
    assert events[-1]["job"]["next_run"] == "2026-01-02T13:23:00+01:00"


def test_no_event_and_no_history_tells_what_a_runs_token_is_known_by(talk):
    job = adhoc(talk, dedicated_context=True)
    talk.ok("control:subscribe")
    run = talk.ok("scheduler:run_task", uuid=job["uuid"])
    begin(talk, run["run_id"])
    events = job_events(talk)
    assert events[-1]["event"] == "run.started"
    entries = talk.ok("control:history", limit=len(events))["entries"]
    assert "hash of" not in json.dumps([events, entries])


def test_instants_are_told_to_the_millisecond_where_they_have_a_part_of_a_second():
    assert local_iso(1_767_352_934_120_000, "Europe/Berlin") == "2026-01-02T12:22:14.120+01:00"
    assert local_iso(1_767_352_934_000_000, "Europe/Berlin") == "2026-01-02T12:22:14+01:00"


# Waiting


def test_a_wait_ends_with_the_run_and_gives_its_result(talk):
    job = adhoc(talk, dedicated_context=True)
    run = talk.ok("scheduler:run_task", uuid=job["uuid"])
    assert talk.lines({"id": 1, "tool": "scheduler:wait_for_task", "args": {"uuid": job["uuid"]}}) == []
    begin(talk, run["run_id"])
    assert talk.session.settle() == []
    end(talk, run["run_id"], result="all well")
    (reply,) = settled(talk)
    expected = {
        "uuid": job["uuid"],
        "run_id": run["run_id"],
        "state": "idle",
        "outcome": "success",
        "result": "all well",
    }
    assert reply["result"] == expected
    assert talk.ok("scheduler:wait_for_task", uuid=job["uuid"]) == expected


def test_a_wait_for_a_run_that_fails_says_why_beside_the_result(talk):
    job = adhoc(talk, dedicated_context=True)
    run = talk.ok("scheduler:run_task", uuid=job["uuid"])
    talk.lines({"id": 1, "tool": "scheduler:wait_for_task", "args": {"uuid": job["uuid"]}})
    begin(talk, run["run_id"])
    end(talk, run["run_id"], "error", "no network")
    (reply,) = settled(talk)
    why = f"run {run['run_id']} ended as error (exit status 1): no network"
    assert (reply["result"]["outcome"], reply["note"]) == ("error", why)
    for tool in ("scheduler:wait_for_task", "scheduler:show_task"):
        assert talk.one({"tool": tool, "args": {"uuid": job["uuid"]}})["note"] == why


def test_a_wait_goes_on_through_retries(talk):
    job = adhoc(talk, dedicated_context=True)
    talk.ok("scheduler:update_task", uuid=job["uuid"], retries=1, retry_delay=5)
    first = talk.ok("scheduler:run_task", uuid=job["uuid"])["run_id"]
    talk.lines({"id": 1, "tool": "scheduler:wait_for_task", "args": {"uuid": job["uuid"]}})
    begin(talk, first)
    end(talk, first, "error", "first")
    assert talk.session.settle() == []
    (retry,) = job_queries.open_runs(talk.store.db)
    talk.clock.now = retry.not_before
    begin(talk, retry.uid)
    end(talk, retry.uid, "success", "second")
    (reply,) = settled(talk)
    assert (reply["result"]["run_id"], reply["result"]["result"]) == (retry.uid, "second")


@pytest.mark.parametrize("read_only", [False, True])
def test_a_wait_that_is_too_long_is_answered_timeout(talk, path, read_only):
    job = adhoc(talk, dedicated_context=True)
    run = talk.ok("scheduler:run_task", uuid=job["uuid"])
    with Store(str(path), read_only=read_only) as store:
        waiter = Talk(store, talk.clock, read_only=read_only)
        waiter.lines({"id": 1, "tool": "scheduler:wait_for_task", "args": {"uuid": job["uuid"], "timeout": 2.5}})
        talk.clock.forward(2)
        assert waiter.session.settle() == []
        talk.clock.forward(1)
        (reply,) = settled(waiter)
    assert (reply["error"]["code"], reply["error"]["data"]["run_id"]) == ("timeout", run["run_id"])


def test_a_job_that_never_ran_has_nothing_to_wait_for(talk):
    job = adhoc(talk, dedicated_context=True)
    waited = talk.ok("scheduler:wait_for_task", uuid=job["uuid"])
    assert waited == {"uuid": job["uuid"], "run_id": None, "state": "idle", "outcome": None, "result": None}


def test_a_job_in_the_conversation_cannot_be_waited_for(talk):
    error = talk.refused("scheduler:wait_for_task", uuid=adhoc(talk)["uuid"])
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", "uuid")


def test_a_wait_for_a_job_that_is_deleted_is_answered(talk):
    job = adhoc(talk, dedicated_context=True)
    talk.ok("scheduler:run_task", uuid=job["uuid"])
    talk.lines({"id": 1, "tool": "scheduler:wait_for_task", "args": {"uuid": job["uuid"]}})
    assert talk.ok("scheduler:delete_task", uuid=job["uuid"])["state"] == "running"
    (reply,) = settled(talk)
    assert reply["result"]["outcome"] == "interrupted"
