"""`tasks`: the seed's examples, making plans and reading them (seed 004; docs: protocol, section 6)."""

import json

import pytest

from tests.conftest import Talk
from tests.dialects.steps import change, full, one, pending, plan
from tui_tasks.core.operations.tasks import DeleteTask, EditTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store

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


def suggested(talk: Talk, **arguments: object) -> str | None:
    found = talk.ok("tasks", action="pending", suggest_next=True, **arguments)["suggested_next"]
    return found and found["title"]


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


def test_plans_are_read_in_pages_also_after_one_that_is_deleted(talk: Talk):
    made = [talk.ok("create_plan", title=f"plan {number}", tasks=[])["plan_id"] for number in range(5)]
    talk.ok("tasklist:add_task", name="in a list, which is no plan")

    def page(**arguments: object) -> list[str]:
        return [plan["plan_id"] for plan in talk.ok("get_plans", **arguments)["plans"]]

    assert (page(limit=2), page(limit=2, after=made[1])) == (made[:2], made[2:4])
    assert page(limit=2, after=made[3]) == made[4:]
    assert (page(after=made[2]), page(after=made[4]), page(limit=9)) == (made[3:], [], made)
    talk.ok("control:delete_plan", plan_id=made[1])
    assert page(limit=2, after=made[1]) == made[2:4]
    assert talk.refused("get_plans", after="nothing")["code"] == "not_found"


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
    change(talk, first[1]["id"], status="in_progress")
    change(talk, first[3]["id"], status="done")
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
    home = task_queries.find_list(talk.store.db, "tasklist")
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
    change(talk, ids["older"], status="in_progress")
    assert suggested(talk) == "gate"
    change(talk, ids["gate"], status="done")
    assert suggested(talk) == "blocked"
    change(talk, ids["blocked"], status="cancelled")
    assert suggested(talk) == "medium"
    change(talk, ids["medium"], status="done")
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
