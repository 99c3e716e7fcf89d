"""`tasks` and the eight tools it absorbed (seed 004; contract, section 6)."""

import json

import pytest

from tests.conftest import Talk
from tui_tasks.core import queries
from tui_tasks.core.operations import DeleteTask, EditTask
from tui_tasks.core.store import Store
from tui_tasks.dialects.arguments import schema
from tui_tasks.dialects.plans import PLANS

SEED_PLAN = {
    "tool": "tasks",
    "arguments": {
        "action": "create_plan",
        "title": "Implement auth flow",
        "tasks": '[{"title": "Add JWT middleware", "priority": 1}, {"title": "Write tests", "priority": 2}]',
    },
}
EMPTY_STATE = {
    "approach": None,
    "files_modified": [],
    "completed_steps": [],
    "remaining_steps": [],
    "blockers": [],
    "decisions": [],
    "context_snapshot": None,
}


def plan(talk: Talk, *tasks: dict | str, **arguments: object) -> dict:
    named = [{"title": task} if isinstance(task, str) else task for task in tasks]
    return talk.ok("tasks", action="create_plan", title="Plan", tasks=named, **arguments)


def one(talk: Talk, **task: object) -> str:
    """The id of a task in a plan of its own."""
    return plan(talk, {"title": "Do it", **task})["tasks"][0]["id"]


def pending(talk: Talk, **arguments: object) -> list[str]:
    return [task["title"] for task in talk.ok("tasks", action="pending", **arguments)["tasks"]]


def suggested(talk: Talk, **arguments: object) -> str | None:
    found = talk.ok("tasks", action="pending", suggest_next=True, **arguments)["suggested_next"]
    return found and found["title"]


def update(talk: Talk, uid: str, **arguments: object) -> dict:
    return talk.ok("tasks", action="update", id=uid, **arguments)


def full(talk: Talk, uid: str) -> dict:
    return talk.ok("control:task", uid=uid)


# The seed's examples


def test_the_seeds_create_plan(talk: Talk):
    result = talk.one(SEED_PLAN)["result"]
    assert (list(result), result["title"]) == (["plan_id", "title", "tasks"], "Implement auth flow")
    first, second = result["tasks"]
    assert first == {
        "id": first["id"],
        "plan_id": result["plan_id"],
        "title": "Add JWT middleware",
        "description": "",
        "status": "pending",
        "priority": 1,
        "agent_id": None,
        "intent": None,
        "depends_on": [],
        "blocked": False,
        "node_ids": [],
    }
    assert (second["title"], second["priority"]) == ("Write tests", 2)


def test_the_seeds_list_plans_and_pending(talk: Talk):
    made = talk.one(SEED_PLAN)["result"]
    plans = talk.one({"tool": "tasks", "arguments": {"action": "list_plans"}})["result"]
    assert plans == {
        "plans": [
            {
                "plan_id": made["plan_id"],
                "title": "Implement auth flow",
                "description": "",
                "agent_id": "agent",
                "total": 2,
                "counts": {"pending": 2, "in_progress": 0, "done": 0, "cancelled": 0},
            }
        ]
    }
    result = talk.one({"tool": "tasks", "arguments": {"action": "pending", "suggest_next": True}})["result"]
    assert result == {"tasks": made["tasks"], "suggested_next": made["tasks"][0]}


def test_the_seeds_update_notes_and_finishes(talk: Talk):
    uid = talk.one(SEED_PLAN)["result"]["tasks"][0]["id"]
    request = {"action": "update", "id": uid, "status": "done", "notes": "Completed JWT middleware"}
    task = talk.one({"tool": "tasks", "arguments": request})["result"]
    assert (task["id"], task["status"]) == (uid, "done")
    (entry,) = talk.ok("tasklist:get_task_logs", uid=uid)
    assert entry["message"] == "Completed JWT middleware"
    assert full(talk, uid)["version"] == 2


def test_the_seeds_save_state_get_state_and_link_nodes(talk: Talk):
    uid = talk.one(SEED_PLAN)["result"]["tasks"][0]["id"]
    arguments = {
        "action": "save_state",
        "task_id": uid,
        "approach": "Using middleware pattern",
        "files_modified": '["internal/auth/jwt.go"]',
        "remaining_steps": '["Write integration tests"]',
    }
    saved = talk.one({"tool": "tasks", "arguments": arguments})["result"]
    assert saved == {
        "task_id": uid,
        "agent_id": "agent",
        **EMPTY_STATE,
        "approach": "Using middleware pattern",
        "files_modified": ["internal/auth/jwt.go"],
        "remaining_steps": ["Write integration tests"],
        "saved_at": "2026-01-02T11:22:14.000+00:00",
    }
    assert talk.one({"tool": "tasks", "arguments": {"action": "get_state", "task_id": uid}})["result"] == saved
    arguments = {"action": "link_nodes", "task_id": uid, "node_ids": '["node-1", "node-2"]'}
    linked = talk.one({"tool": "tasks", "arguments": arguments})["result"]
    assert linked == {"task_id": uid, "node_ids": ["node-1", "node-2"]}


# create_plan


def test_arrays_come_as_arrays_or_as_strings(talk: Talk):
    tasks = [{"title": "a", "id": "x"}, {"title": "b", "depends_on": ["x"]}]
    as_array = talk.ok("tasks", action="create_plan", title="P", tasks=tasks)
    as_text = talk.ok("tasks", action="create_plan", title="P", tasks=json.dumps(tasks))
    nested = [tasks[0], {**tasks[1], "depends_on": '["x"]'}]
    as_both = talk.ok("tasks", action="create_plan", title="P", tasks=nested)
    single = talk.ok("tasks", action="create_plan", title="P", tasks=[tasks[0], {**tasks[1], "depends_on": "x"}])
    for made in (as_array, as_text, as_both, single):
        assert made["tasks"][1]["depends_on"] == [made["tasks"][0]["id"]]


def test_each_plan_is_a_list_of_its_own_with_its_tasks_in_order(talk: Talk):
    one_plan, other = plan(talk, "c", "a", "b"), plan(talk, "z")
    assert one_plan["plan_id"] != other["plan_id"]
    assert pending(talk, plan_id=one_plan["plan_id"]) == ["c", "a", "b"]
    assert full(talk, other["tasks"][0]["id"])["list"] == other["plan_id"]
    assert plan(talk)["tasks"] == []


def test_a_task_may_depend_on_one_before_it_behind_it_and_there_already(talk: Talk):
    there = one(talk)
    made = plan(
        talk,
        {"title": "first", "id": "a", "depends_on": ["c", "c", there]},
        {"title": "second", "depends_on": ["a"]},
        {"title": "third", "id": "c"},
    )
    first, second, third = made["tasks"]
    assert first["depends_on"] == [third["id"], there]
    assert second["depends_on"] == [first["id"]]
    assert [task["blocked"] for task in made["tasks"]] == [True, True, False]
    assert [full(talk, task["id"])["version"] for task in made["tasks"]] == [1, 1, 1]
    assert [full(talk, task["id"])["key"] for task in made["tasks"]] == ["a", None, "c"]


def test_an_id_of_the_call_comes_before_one_of_the_state(talk: Talk):
    there = one(talk)
    made = plan(talk, {"title": "a", "id": there}, {"title": "b", "depends_on": [there]})
    assert made["tasks"][1]["depends_on"] == [made["tasks"][0]["id"]]


@pytest.mark.parametrize(
    ("argument", "tasks"),
    [
        ("tasks[0].depends_on", [{"title": "a", "id": "a", "depends_on": ["a"]}]),
        (
            "tasks[1].depends_on",
            [
                {"title": "a", "id": "a"},
                {"title": "b", "id": "b", "depends_on": ["a", "c"]},
                {"title": "c", "id": "c", "depends_on": ["b"]},
            ],
        ),
        ("tasks[1].depends_on", [{"title": "a", "id": "a"}, {"title": "b", "depends_on": ["a", "nobody"]}]),
        ("tasks[0].depends_on", [{"title": "a", "depends_on": ["b", "nobody"]}, {"title": "b", "id": "b"}]),
        ("tasks[1].id", [{"title": "a", "id": "a"}, {"title": "b", "id": "a"}]),
        ("tasks[1].title", [{"title": "a"}, {"id": "b"}]),
        ("tasks[0].title", [{"title": "  "}]),
        ("tasks[0].id", [{"title": "a", "id": ""}]),
        ("tasks[0].status", [{"title": "a", "status": "done"}]),
        ("tasks[0].priority", [{"title": "a", "priority": "high"}]),
        ("tasks[0].priority", [{"title": "a", "priority": 0}]),
        ("tasks[0].priority", [{"title": "a", "priority": 2**63}]),
        ("tasks[0].depends_on[0]", [{"title": "a", "depends_on": [1]}]),
        ("tasks[1]", [{"title": "a"}, 5]),
        ("tasks", {"title": "a"}),
        ("tasks", "no array"),
        ("tasks", "[{"),
        ("tasks", None),
    ],
)
def test_a_plan_with_anything_wrong_is_refused_whole_by_its_path(talk: Talk, argument: str, tasks: object):
    before = talk.seq()
    error = talk.refused("tasks", action="create_plan", title="P", tasks=tasks)
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", argument)
    assert talk.seq() == before
    assert talk.ok("get_plans") == {"plans": []}


def test_a_deleted_task_is_no_dependency(talk: Talk, store: Store):
    gone = one(talk)
    store.commit(DeleteTask(gone), actor="human", now=talk.clock.now)
    error = talk.refused("tasks", action="create_plan", title="P", tasks=[{"title": "a", "depends_on": [gone]}])
    assert error["data"]["argument"] == "tasks[0].depends_on"


def test_a_plan_is_its_makers_and_its_tasks_are_nobodys_unless_they_say(talk: Talk):
    mine = plan(talk, "a", {"title": "b", "agent_id": "claude-2"})
    plan(talk, agent_id="claude-1", description="Why")
    plans = talk.ok("tasks", action="list_plans")["plans"]
    assert [found["agent_id"] for found in plans] == ["agent", "claude-1"]
    assert plans[1]["description"] == "Why"
    assert [task["agent_id"] for task in mine["tasks"]] == [None, "claude-2"]


def test_a_plan_is_taken_back_whole(talk: Talk):
    plan(talk, {"title": "a", "id": "a", "depends_on": ["b"]}, {"title": "b", "id": "b"})
    talk.ok("control:undo")
    assert (talk.ok("get_plans"), pending(talk)) == ({"plans": []}, [])


# list_plans


def test_counts_are_in_the_four_words_and_plans_alone_are_listed(talk: Talk, store: Store):
    made = plan(talk, *"abcdef")
    ids = [task["id"] for task in made["tasks"]]
    statuses = ["in_progress", "done", "failed", "skipped", "cancelled"]
    for uid, status in zip(ids, statuses, strict=False):
        store.commit(EditTask(uid, {"status": status}), actor="human", now=talk.clock.now)
    talk.ok("tasklist:add_task", name="not in a plan")
    (found,) = talk.ok("tasks", action="list_plans", agent_id="whoever")["plans"]
    assert found["counts"] == {"pending": 1, "in_progress": 1, "done": 1, "cancelled": 3}
    assert found["total"] == 6


# pending


def test_pending_reads_every_list_oldest_first_and_each_in_its_order(talk: Talk):
    first = plan(talk, "p1", "p2", "p3", "p4")["tasks"]
    talk.ok("todo", merge=False, todos=[{"id": n, "content": f"todo {n}", "status": "pending"} for n in "12"])
    talk.ok("tasklist:add_task", name="list")
    talk.ok("tasklist:swap_tasks", uid1=first[0]["id"], uid2=first[2]["id"])
    update(talk, first[1]["id"], status="in_progress")
    update(talk, first[3]["id"], status="done")
    before = talk.seq()
    assert pending(talk) == ["list", "todo 1", "todo 2", "p3", "p2", "p1"]
    assert talk.seq() == before


def test_a_task_outside_of_plans_has_no_plan_id(talk: Talk):
    talk.ok("tasklist:add_task", name="list")
    (task,) = talk.ok("tasks", action="pending")["tasks"]
    assert task["plan_id"] is None


def test_pending_of_one_plan_and_of_an_unknown_one(talk: Talk):
    one_plan = plan(talk, "a")
    plan(talk, "b")
    talk.ok("tasklist:add_task", name="list")
    assert pending(talk, plan_id=one_plan["plan_id"]) == ["a"]
    assert talk.refused("tasks", action="pending", plan_id="nobody")["data"] == {"id": "nobody"}
    home = queries.find_list(talk.store.db, "tasklist")
    assert home is not None
    for no_plan in ("tasklist", home.uid):
        assert talk.refused("tasks", action="pending", plan_id=no_plan)["code"] == "not_found"


def test_pending_of_an_agent_is_its_own_and_nobodys(talk: Talk):
    plan(talk, {"title": "one's", "agent_id": "one"}, {"title": "two's", "agent_id": "two"}, "nobody's")
    assert pending(talk) == ["one's", "two's", "nobody's"]
    assert pending(talk, agent_id="one") == ["one's", "nobody's"]
    assert suggested(talk, agent_id="two") == "two's"


def test_a_bound_channel_reads_its_list_unless_a_plan_is_named(talk: Talk, store: Store):
    made = plan(talk, "of the plan")
    talk.ok("tasklist:add_task", name="of the list")
    bound = Talk(store, talk.clock, list="tasklist")
    assert (pending(bound), suggested(bound)) == (["of the list"], "of the list")
    assert pending(bound, plan_id=made["plan_id"]) == ["of the plan"]
    assert pending(Talk(store, talk.clock, list=made["plan_id"])) == ["of the plan"]
    never = Talk(store, talk.clock, list="never made").ok("tasks", action="pending", suggest_next=True)
    assert never == {"tasks": [], "suggested_next": None}


def test_the_suggestion_comes_only_when_asked_for(talk: Talk):
    plan(talk, "a")
    assert talk.ok("tasks", action="pending")["suggested_next"] is None
    assert talk.ok("tasks", action="pending", suggest_next=False)["suggested_next"] is None
    assert suggested(talk) == "a"


def test_the_suggestion_is_the_first_by_priority_then_age_of_those_that_wait_for_none(talk: Talk):
    tasks = [
        {"title": "medium"},
        {"title": "blocked", "priority": 1, "depends_on": ["gate"]},
        {"title": "older", "priority": 2},
        {"title": "gate", "id": "gate", "priority": 2},
    ]
    ids = {task["title"]: task["id"] for task in plan(talk, *tasks)["tasks"]}
    assert suggested(talk) == "older"
    update(talk, ids["older"], status="in_progress")
    assert suggested(talk) == "gate"
    update(talk, ids["gate"], status="done")
    assert suggested(talk) == "blocked"
    update(talk, ids["blocked"], status="cancelled")
    assert suggested(talk) == "medium"
    update(talk, ids["medium"], status="done")
    assert suggested(talk) is None


@pytest.mark.parametrize(
    ("status", "free"),
    [
        ("pending", False),
        ("in_progress", False),
        ("done", True),
        ("failed", False),
        ("skipped", True),
        ("cancelled", True),
    ],
)
def test_done_skipped_and_cancelled_dependencies_hold_nobody_up(talk: Talk, store: Store, status: str, free: bool):
    made = plan(talk, {"title": "gate", "id": "gate"}, {"title": "behind", "depends_on": ["gate"], "priority": 1})
    store.commit(EditTask(made["tasks"][0]["id"], {"status": status}), actor="human", now=talk.clock.now)
    behind = next(task for task in talk.ok("tasks", action="pending")["tasks"] if task["title"] == "behind")
    assert behind["blocked"] is not free
    assert (suggested(talk) == "behind") is free


# update


def test_update_sets_status_intent_and_agent_and_returns_the_task(talk: Talk):
    uid = one(talk)
    task = update(talk, uid, status="in_progress", intent="Write the parser", agent_id="claude-1")
    assert (task["status"], task["intent"], task["agent_id"]) == ("in_progress", "Write the parser", "claude-1")
    assert update(talk, uid, intent="")["intent"] == ""


def test_update_needs_one_of_its_four(talk: Talk):
    uid = one(talk)
    before = talk.seq()
    assert talk.refused("tasks", action="update", id=uid)["code"] == "invalid_argument"
    assert talk.refused("tasks", action="update", id=uid, status=None, notes=None)["code"] == "invalid_argument"
    assert talk.seq() == before
    for argument, value in [("status", "done"), ("notes", "n"), ("intent", "i"), ("agent_id", "a")]:
        assert update(talk, uid, **{argument: value})["id"] == uid


def test_every_word_for_a_status_goes_both_ways(talk: Talk):
    uid = one(talk)
    for word in ("in_progress", "done", "cancelled", "pending"):
        assert update(talk, uid, status=word)["status"] == word
        assert full(talk, uid)["status"] == word


@pytest.mark.parametrize("status", ["failed", "skipped", "cancelled"])
def test_cancelled_written_back_changes_nothing(talk: Talk, store: Store, status: str):
    uid = one(talk)
    store.commit(EditTask(uid, {"status": status}), actor="human", now=talk.clock.now)
    before = talk.seq()
    assert update(talk, uid, status="cancelled")["status"] == "cancelled"
    assert (talk.seq(), full(talk, uid)["status"]) == (before, status)


def test_a_note_and_a_log_entry_are_the_same_thing(talk: Talk):
    uid = one(talk)
    update(talk, uid, notes="by tasks")
    talk.clock.forward(1)
    talk.ok("tasklist:log_task_progress", uid=uid, message="by tasklist")
    assert [entry["message"] for entry in talk.ok("tasklist:get_task_logs", uid=uid)] == ["by tasks", "by tasklist"]


def test_a_task_of_any_list_is_updated_and_its_rule_holds(talk: Talk):
    first, second = (talk.ok("tasklist:add_task", name=name)["uid"] for name in "ab")
    assert update(talk, first, status="in_progress")["plan_id"] is None
    error = talk.refused("tasks", action="update", id=second, status="in_progress", notes="lost")
    assert (error["code"], error["data"]) == ("conflict", {"in_progress": first})
    assert talk.ok("tasklist:get_task_logs", uid=second) == []
    ids = [task["id"] for task in plan(talk, "a", "b")["tasks"]]
    assert [update(talk, uid, status="in_progress")["status"] for uid in ids] == ["in_progress"] * 2


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
    assert update(talk, uid, notes="n")["node_ids"] == ["b", "a", "c"]
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
    assert set(shown["properties"]) == seed
    assert shown["required"] == ["action"]
    assert len(PLANS.tools) == 9
    assert all(tool.description for tool in PLANS.tools.values())
