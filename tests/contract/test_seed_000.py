"""The example of each tool of seed 000, sent as it stands with real uids (docs: protocol, section 6, `tasklist:*`)."""

import re
import time
from datetime import datetime

import pytest

from tests.contract.client import Agent

REASONING = {
    "topic": "...",
    "observations": ["...", "..."],
    "thoughts": ["...", "..."],
    "reflection": ["...", "..."],
}
NAME = "...The title of the task to add. A concise but accurate headline...."
DESCRIPTION = "...The actionable description of the task at hand useful to execute the task later..."
NEW_NAME = "...The new title of the task. A concise but accurate headline..."
NEW_DESCRIPTION = "...The new actionable description of the task at hand useful to execute the task later..."
MESSAGE = "...the log message to be appended to the task log..."


@pytest.fixture
def agent(tmp_path):
    with Agent(tmp_path / "tasks.db", TZ="Asia/Kolkata") as serving:
        yield serving


def say(agent: Agent, tool: str, **arguments):
    """Send an example of the seed; the reply."""
    agent.write({**REASONING, "tool_name": f"tasklist:{tool}", "tool_args": arguments})
    return agent.reply()


def ok(agent: Agent, tool: str, **arguments):
    reply = say(agent, tool, **arguments)
    assert (reply["ok"], reply["id"]) == (True, None), reply
    return reply["result"]


def task(uid: str, status: str = "pending", name: str = NAME, description: str = DESCRIPTION) -> dict:
    """A task as the seed shows it: these four fields and no more."""
    return {"uid": uid, "name": name, "description": description, "status": status}


@pytest.fixture
def three(agent):
    """Three tasks, added as the seed shows it: their ids in the order of the list."""
    uid = ok(agent, "add_task", name=NAME, description=DESCRIPTION)["uid"]
    before = ok(agent, "add_task_before", uid=uid, name=NAME, description=DESCRIPTION)["uid"]
    after = ok(agent, "add_task_after", uid=uid, name=NAME, description=DESCRIPTION)["uid"]
    return before, uid, after


def test_a_task_is_added_as_the_seed_shows_it(agent):
    added = ok(agent, "add_task", name=NAME, description=DESCRIPTION)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", added["uid"])
    assert added == task(added["uid"])
    assert agent.finish() == []


def test_the_seeds_examples_of_places_changes_and_statuses_are_answered_as_the_contract_says(agent, three):
    before, uid, after = three
    assert ok(agent, "display") == [task(one) for one in three]

    changed = {"name": NEW_NAME, "description": NEW_DESCRIPTION}
    assert ok(agent, "update_task", uid=uid, status="pending", **changed) == task(uid, **changed)
    assert ok(agent, "update_task", uid=uid, status="done", **changed) == task(uid, "done", **changed)
    assert ok(agent, "get_task", uid=uid) == task(uid, "done", **changed)

    assert ok(agent, "swap_tasks", uid1=before, uid2=after) == [task(after), task(before)]
    assert [found["uid"] for found in ok(agent, "display")] == [after, uid, before]
    assert ok(agent, "swap_tasks", uid1=before, uid2=after) == [task(before), task(after)]

    for status in ("in_progress", "done", "failed", "skipped", "pending"):
        assert ok(agent, f"set_task_{status}", uid=after) == task(after, status)
        assert ok(agent, "get_task", uid=after) == task(after, status)

    assert ok(agent, "get_task_in_progress") is None
    ok(agent, "set_task_in_progress", uid=after)
    assert ok(agent, "get_task_in_progress") == task(after, "in_progress")
    assert agent.finish() == []


def test_the_seeds_examples_of_logs_choices_and_deletions_are_answered_as_the_contract_says(agent, three):
    before, uid, after = three
    changed = {"name": NEW_NAME, "description": NEW_DESCRIPTION}
    ok(agent, "update_task", uid=uid, status="done", **changed)
    ok(agent, "set_task_in_progress", uid=after)

    entry = ok(agent, "log_task_progress", uid=uid, message=MESSAGE)
    assert entry.keys() == {"timestamp", "message"}
    assert entry["message"] == MESSAGE
    second = ok(agent, "log_task_progress", uid=uid, message="...Another task action being logged...")
    assert ok(agent, "get_task_logs", uid=uid) == [entry, second]
    assert ok(agent, "get_task_logs", uid=before) == []

    ok(agent, "set_task_failed", uid=before)
    assert ok(agent, "get_tasks", status="['done','failed']") == [task(before, "failed"), task(uid, "done", **changed)]
    assert ok(agent, "get_tasks", status=["in_progress"]) == [task(after, "in_progress")]
    assert ok(agent, "get_tasks", status="skipped") == []

    assert ok(agent, "delete_task", uid=before) == task(before, "failed")
    assert [found["uid"] for found in ok(agent, "display")] == [uid, after]
    assert say(agent, "get_task", uid=before)["error"]["code"] == "not_found"

    assert ok(agent, "clear") == {"deleted": 2}
    assert ok(agent, "display") == []
    assert ok(agent, "clear") == {"deleted": 0}
    assert agent.finish() == []


def test_the_seeds_slip_under_set_task_skipped_sets_failed_as_the_tool_it_names(agent):
    uid = ok(agent, "add_task", name=NAME, description=DESCRIPTION)["uid"]
    assert ok(agent, "set_task_failed", uid=uid)["status"] == "failed"
    assert ok(agent, "set_task_skipped", uid=uid)["status"] == "skipped"


def test_the_agents_reasoning_is_kept_for_the_human(agent):
    ok(agent, "add_task", name=NAME, description=DESCRIPTION)
    assert agent.ok("control:history")["entries"][0]["why"] == REASONING


def test_a_log_entrys_timestamp_is_local_time_in_the_seeds_form(agent):
    uid = ok(agent, "add_task", name=NAME)["uid"]
    stamp = ok(agent, "log_task_progress", uid=uid, message=MESSAGE)["timestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", stamp)
    there = datetime.fromisoformat(f"{stamp}+05:30")
    assert abs(there.timestamp() - time.time()) < 60


def test_a_description_may_be_left_out_of_what_adds_and_is_then_empty(agent):
    uid = ok(agent, "add_task", name="one")["uid"]
    for tool in ("add_task_before", "add_task_after"):
        assert ok(agent, tool, uid=uid, name="two")["description"] == ""


def test_order_follows_inserts_swaps_and_deletes_anywhere(agent):
    order: list[str] = []
    first = ok(agent, "add_task", name="0")["uid"]
    order.append(first)
    for number in range(1, 30):
        beside = order[number * 7 % len(order)]
        tool = "add_task_before" if number % 2 else "add_task_after"
        uid = ok(agent, tool, uid=beside, name=str(number))["uid"]
        order.insert(order.index(beside) + (tool == "add_task_after"), uid)
    for number in range(20):
        one, two = order[number * 11 % 30], order[number * 17 % 30]
        ok(agent, "swap_tasks", uid1=one, uid2=two)
        at, to = order.index(one), order.index(two)
        order[at], order[to] = order[to], order[at]
    for number in range(5):
        ok(agent, "delete_task", uid=order.pop(number * 3))
    assert [found["uid"] for found in ok(agent, "display")] == order
    assert ok(agent, "add_task", name="last")["uid"] == ok(agent, "display")[-1]["uid"]
