"""`tasks`: changing tasks, their states and links, what is refused, and the absorbed names (seed 004)."""

import pytest

from tests.conftest import Talk
from tests.dialects.steps import change, full, one, pending, plan
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.store import Store
from tui_tasks.dialects.plans import PLANS
from tui_tasks.dialects.requests.arguments import schema

# update


def test_update_sets_status_intent_and_agent_and_returns_the_task(talk: Talk):
    uid = one(talk)
    task = change(talk, uid, status="in_progress", intent="Write the parser", agent_id="claude-1")
    assert (task["status"], task["intent"], task["agent_id"]) == ("in_progress", "Write the parser", "claude-1")
    assert change(talk, uid, intent="")["intent"] == ""


def test_update_needs_one_of_its_four(talk: Talk):
    uid = one(talk)
    before = talk.seq()
    assert talk.refused("tasks", action="update", id=uid)["code"] == "invalid_argument"
    assert talk.refused("tasks", action="update", id=uid, status=None, notes=None)["code"] == "invalid_argument"
    assert talk.seq() == before
    for argument, value in [("status", "done"), ("notes", "n"), ("intent", "i"), ("agent_id", "a")]:
        assert change(talk, uid, **{argument: value})["id"] == uid


def test_every_word_for_a_status_goes_both_ways(talk: Talk):
    uid = one(talk)
    for word in ("in_progress", "done", "cancelled", "pending"):
        assert change(talk, uid, status=word)["status"] == word
        assert full(talk, uid)["status"] == word


@pytest.mark.parametrize("status", ["failed", "skipped", "cancelled"])
def test_cancelled_written_back_changes_nothing(talk: Talk, store: Store, status: str):
    uid = one(talk)
    store.commit(EditTask(uid, {"status": status}), actor="human", now=talk.clock.now)
    before = talk.seq()
    assert change(talk, uid, status="cancelled")["status"] == "cancelled"
    assert (talk.seq(), full(talk, uid)["status"]) == (before, status)


def test_a_note_and_a_log_entry_are_the_same_thing(talk: Talk):
    uid = one(talk)
    change(talk, uid, notes="by tasks")
    talk.clock.forward(1)
    talk.ok("tasklist:log_task_progress", uid=uid, message="by tasklist")
    assert [entry["message"] for entry in talk.ok("tasklist:get_task_logs", uid=uid)] == ["by tasks", "by tasklist"]


def test_a_task_of_any_list_is_updated_and_its_rule_holds(talk: Talk):
    first, second = (talk.ok("tasklist:add_task", name=name)["uid"] for name in "ab")
    assert change(talk, first, status="in_progress")["plan_id"] is None
    error = talk.refused("tasks", action="update", id=second, status="in_progress", notes="lost")
    assert (error["code"], error["data"]) == ("conflict", {"in_progress": first})
    assert talk.ok("tasklist:get_task_logs", uid=second) == []
    ids = [task["id"] for task in plan(talk, "a", "b")["tasks"]]
    assert [change(talk, uid, status="in_progress")["status"] for uid in ids] == ["in_progress"] * 2


def test_if_version_goes_with_the_actions_that_change_one_named_task(talk: Talk):
    uid = one(talk)
    for action, arguments in [
        ("update", {"id": uid, "status": "done"}),
        ("save_state", {"task_id": uid, "approach": "x"}),
        ("link_nodes", {"task_id": uid, "node_ids": ["n"]}),
    ]:
        version = full(talk, uid)["version"]
        stale = talk.refused("tasks", {"if_version": version + 1}, action=action, **arguments)
        assert (stale["code"], stale["data"]["version"]) == ("conflict", version)
        assert talk.ask("tasks", {"if_version": version}, action=action, **arguments)["ok"]
    for action, arguments in [("create_plan", {"title": "P", "tasks": []}), ("pending", {}), ("list_plans", {})]:
        assert talk.refused("tasks", {"if_version": 1}, action=action, **arguments)["code"] == "invalid_request"
    assert talk.refused("tasks", {"if_version": 1}, action="get_state", task_id=uid)["code"] == "invalid_request"


# save_state and get_state


def test_no_state_is_null_and_an_unknown_task_is_not_found(talk: Talk):
    uid = one(talk)
    assert talk.ok("tasks", action="get_state", task_id=uid) is None
    for action in ("get_state", "save_state"):
        assert talk.refused("tasks", action=action, task_id="nobody")["data"] == {"id": "nobody"}
    assert talk.refused("tasks", action="link_nodes", task_id="nobody", node_ids=["n"])["code"] == "not_found"


def test_a_field_left_out_keeps_its_last_value(talk: Talk):
    uid = one(talk)

    def save(**arguments: object) -> dict:
        return talk.ok("tasks", action="save_state", task_id=uid, **arguments)

    first = save(approach="A", blockers=["b"], decisions=[{"use": "jose"}], agent_id="claude-1")
    assert first["agent_id"] == "claude-1"
    talk.clock.forward(60)
    second = save(completed_steps="one step", context_snapshot="whole", approach=None, blockers=[])
    assert second == {
        **first,
        "agent_id": "agent",
        "blockers": [],
        "completed_steps": ["one step"],
        "context_snapshot": "whole",
        "saved_at": "2026-01-02T11:23:14.000+00:00",
    }
    assert talk.ok("tasks", action="get_state", task_id=uid, agent_id="who") == second


def test_saving_the_same_again_leaves_no_entry(talk: Talk):
    uid = one(talk)
    saved = talk.ok("tasks", action="save_state", task_id=uid, approach="A")
    before = talk.seq()
    talk.clock.forward(60)
    assert talk.ok("tasks", action="save_state", task_id=uid, approach="A") == saved
    assert talk.seq() == before


def test_one_task_has_one_state_whoever_saves_it(talk: Talk):
    uid = one(talk)
    talk.ok("tasks", {"agent": "one"}, action="save_state", task_id=uid, approach="A")
    talk.ok("tasks", {"agent": "two"}, action="save_state", task_id=uid, decisions=["d"])
    state = talk.ok("tasks", action="get_state", task_id=uid)
    assert (state["agent_id"], state["approach"], state["decisions"]) == ("two", "A", ["d"])


# link_nodes


def test_links_are_added_to_those_there(talk: Talk):
    uid = one(talk)
    talk.ok("tasks", action="link_nodes", task_id=uid, node_ids=["b", "a", "b"])
    linked = talk.ok("tasks", action="link_nodes", task_id=uid, node_ids="['c', 'a']", agent_id="x")
    assert linked == {"task_id": uid, "node_ids": ["b", "a", "c"]}
    assert change(talk, uid, notes="n")["node_ids"] == ["b", "a", "c"]
    before = talk.seq()
    talk.ok("tasks", action="link_nodes", task_id=uid, node_ids=["a"])
    assert talk.seq() == before


# What is refused


@pytest.mark.parametrize(
    ("argument", "arguments"),
    [
        ("action", {}),
        ("action", {"action": "delete_plan"}),
        ("title", {"action": "create_plan", "tasks": []}),
        ("tasks", {"action": "create_plan", "title": "P"}),
        ("id", {"action": "update", "status": "done"}),
        ("status", {"action": "update", "id": "x", "status": "completed"}),
        ("task_id", {"action": "save_state", "approach": "x"}),
        ("task_id", {"action": "get_state"}),
        ("node_ids", {"action": "link_nodes", "task_id": "x"}),
        ("node_ids[0]", {"action": "link_nodes", "task_id": "x", "node_ids": [1]}),
        ("approach", {"action": "save_state", "task_id": "x", "approach": 1}),
        ("files_modified", {"action": "save_state", "task_id": "x", "files_modified": 1}),
        ("files_modified", {"action": "save_state", "task_id": "x", "files_modified": "[1"}),
        ("suggest_next", {"action": "pending", "suggest_next": "yes"}),
        ("notes", {"action": "pending", "notes": "of another action"}),
        ("id", {"action": "get_state", "task_id": "x", "id": "y"}),
        ("colour", {"action": "pending", "colour": "red"}),
    ],
)
def test_a_wrong_argument_is_refused_by_name(talk: Talk, argument: str, arguments: dict):
    error = talk.refused("tasks", **arguments)
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", argument)


def test_agent_id_is_taken_by_every_action_and_null_is_absent(talk: Talk):
    uid = one(talk)
    for action, arguments in [
        ("list_plans", {}),
        ("pending", {}),
        ("update", {"id": uid}),
        ("save_state", {"task_id": uid}),
        ("get_state", {"task_id": uid}),
        ("link_nodes", {"task_id": uid, "node_ids": []}),
        ("create_plan", {"title": "P", "tasks": []}),
    ]:
        assert talk.ask("tasks", action=action, agent_id="claude-1", notes=None, **arguments)["ok"], action


def test_reading_is_free_to_a_read_only_channel_and_writing_forbidden(talk: Talk, store: Store):
    uid = one(talk)
    reader = Talk(store, talk.clock, read_only=True)
    assert pending(reader) == ["Do it"]
    assert reader.ask("tasks", action="get_state", task_id=uid)["ok"]
    assert reader.ask("get_my_tasks")["ok"]
    for action, arguments in [
        ("update", {"id": uid, "status": "done"}),
        ("save_state", {"task_id": uid}),
        ("link_nodes", {"task_id": uid, "node_ids": []}),
        ("create_plan", {"title": "P", "tasks": []}),
    ]:
        assert reader.refused("tasks", action=action, **arguments)["code"] == "forbidden"


# The absorbed names


def test_the_absorbed_names_do_what_the_actions_do(talk: Talk):
    made = talk.ok("create_plan", title="P", tasks='[{"title": "a"}]')
    uid = made["tasks"][0]["id"]
    assert talk.ok("get_plans") == talk.ok("tasks", action="list_plans")
    assert talk.ok("get_pending_tasks", suggest_next=True) == {
        "tasks": made["tasks"],
        "suggested_next": made["tasks"][0],
    }
    assert talk.ok("update_task", id=uid, intent="i")["intent"] == "i"
    saved = talk.ok("save_session_state", task_id=uid, approach="A")
    assert talk.ok("get_session_state", task_id=uid) == saved == talk.ok("tasks", action="get_state", task_id=uid)
    assert talk.ok("link_task_nodes", task_id=uid, node_ids=["n"]) == {"task_id": uid, "node_ids": ["n"]}


def test_get_my_tasks_reads_those_of_the_speaker_alone(talk: Talk):
    tasks = [{"title": "one's", "agent_id": "one"}, {"title": "two's", "agent_id": "two", "priority": 1}, "nobody's"]
    plan(talk, *tasks)
    mine = talk.ok("get_my_tasks", {"agent": "one"}, suggest_next=True)
    assert [task["title"] for task in mine["tasks"]] == ["one's"]
    assert mine["suggested_next"]["title"] == "one's"
    assert talk.ok("get_my_tasks", suggest_next=True) == {"tasks": [], "suggested_next": None}
    assert [task["title"] for task in talk.ok("get_my_tasks", agent_id="two")["tasks"]] == ["two's"]


@pytest.mark.parametrize(
    ("tool", "argument", "arguments"),
    [
        ("create_plan", "tasks", {"title": "P"}),
        ("get_plans", "plan_id", {"plan_id": "x"}),
        ("get_pending_tasks", "action", {"action": "pending"}),
        ("update_task", "id", {"status": "done"}),
        ("save_session_state", "task_id", {}),
        ("get_session_state", "task_id", {}),
        ("link_task_nodes", "node_ids", {"task_id": "x"}),
        ("get_my_tasks", "status", {"status": "done"}),
    ],
)
def test_the_absorbed_names_have_arguments_of_their_own(talk: Talk, tool: str, argument: str, arguments: dict):
    assert talk.refused(tool, **arguments)["data"]["argument"] == argument


def test_the_absorbed_names_that_change_one_task_take_if_version(talk: Talk):
    uid = one(talk)
    assert talk.refused("update_task", {"if_version": 9}, id=uid, status="done")["code"] == "conflict"
    assert talk.refused("save_session_state", {"if_version": 9}, task_id=uid)["code"] == "conflict"
    assert talk.refused("link_task_nodes", {"if_version": 9}, task_id=uid, node_ids=[])["code"] == "conflict"
    assert talk.refused("create_plan", {"if_version": 9}, title="P", tasks=[])["code"] == "invalid_request"


def test_the_schema_holds_every_parameter_of_the_seed():
    shown = schema(PLANS.tools["tasks"].arguments)
    seed = {"action", "title", "description", "tasks", "plan_id", "agent_id", "suggest_next", "id", "status", "notes"}
    seed |= {"intent", "task_id", "approach", "files_modified", "completed_steps", "remaining_steps", "blockers"}
    seed |= {"decisions", "context_snapshot", "node_ids"}
    assert set(shown["properties"]) == seed | {"limit", "after", "brief"}
    assert shown["required"] == ["action"]
    assert len(PLANS.tools) == 9
    assert all(tool.description for tool in PLANS.tools.values())
