"""What an agent is told of a wrong argument."""

from __future__ import annotations

import json
from itertools import product

import pytest

from tests.conftest import Talk
from tui_tasks.core.commit import journal
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.tool_table import TABLE


def _task(talk: Talk, **fields: object) -> str:
    before = journal.newest(talk.store.db)
    talk.ok("task", action="create", title="one", **fields)
    return next(entry.uid for entry in journal.since(talk.store.db, before, 10) if entry.kind == "task.created")


@pytest.mark.parametrize(
    ("tool", "arguments", "named", "words"),
    [
        ("tasklist:update_task", {"uid": "x", "status": "open"}, "status", "done, failed, in_progress"),
        ("tasklist:get_tasks", {"status": ["done", "open"]}, "status[1]", "done, failed, in_progress"),
        ("task", {"action": "make"}, "action", "create, list, update"),
    ],
)
def test_a_word_outside_its_vocabulary_is_refused_with_those_that_are_in_it(
    talk: Talk, tool: str, arguments: dict[str, object], named: str, words: str
) -> None:
    error = talk.refused(tool, **arguments)
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", named)
    assert words in error["message"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ('["a.go", "b.go"]', ["a.go", "b.go"]),
        ("['a.go']", ["a.go"]),
        ("[]", []),
        ("a.go", ["a.go"]),
        ("[CI] waiting for the runner", ["[CI] waiting for the runner"]),
        ("[x] done", ["[x] done"]),
        ("{curly} first", ["{curly} first"]),
    ],
)
def test_a_string_is_the_list_that_it_holds_or_the_one_item_of_a_list(talk: Talk, sent: str, kept: list[str]) -> None:
    uid = _task(talk)
    talk.ok("tasks", action="save_state", task_id=uid, blockers=sent)
    assert talk.ok("tasks", action="get_state", task_id=uid)["blockers"] == kept


@pytest.mark.parametrize(
    "sent",
    ['["a.go" "b.go"]', "['a' 'b']", "[b'x']", '["a"', "['a", "[1", "[1, 2", "[a, b]", "{a}", '["a",]', "[1e999]"],
)
def test_a_string_that_is_meant_to_hold_a_list_and_does_not_is_refused(talk: Talk, sent: str) -> None:
    uid = _task(talk)
    error = talk.refused("tasks", action="save_state", task_id=uid, blockers=sent)
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", "blockers")
    assert "not one JSON text" in error["message"] or "too large" in error["message"]


@pytest.mark.parametrize("sent", ["{'a': true}", "{'a': True}", '{"a": true}'])
def test_an_object_may_come_in_a_string_in_quotes_of_either_kind(talk: Talk, sent: str) -> None:
    uid = _task(talk, metadata=sent)
    assert task_queries.task(talk.store.db, uid).metadata == {"a": True}


@pytest.mark.parametrize(
    ("tool", "sent", "told"),
    [
        ("tasklist:add_task", {"name": "x", "log": 1}, "unknown argument log; it takes name, description"),
        ("control:unsubscribe", {"log": 1}, "unknown argument log; it takes none"),
        (
            "tasks",
            {"action": "create_plan", "title": "p", "tasks": [{"title": "a"}, {"title": "b", "log": 1}]},
            "unknown argument tasks[1].log; it takes title, id, description, priority, agent_id, depends_on",
        ),
        (
            "todo",
            {"merge": True, "todos": [{"id": "a", "log": 1}, {"id": "b", "content": "b", "status": "pending"}]},
            "unknown argument todos[0].log; it takes id, content, status",
        ),
    ],
)
def test_an_argument_that_is_not_known_is_refused_with_those_that_are(
    talk: Talk, tool: str, sent: dict, told: str
) -> None:
    error = talk.refused(tool, **sent)
    assert (error["code"], error["message"]) == ("invalid_argument", told)


@pytest.mark.parametrize("written", ["10.0", "1e1", "10"])
def test_a_whole_number_is_an_integer_however_it_is_written(talk: Talk, written: str) -> None:
    number = json.loads(written)
    plan = talk.ok("tasks", action="create_plan", title="p", tasks=[{"title": "t", "priority": number}])
    held = talk.ok("create_plan", title="q", tasks=f'[{{"title": "t", "priority": {written}}}]')
    priorities = [found["tasks"][0]["priority"] for found in (plan, held)]
    assert [(priority, type(priority)) for priority in priorities] == [(10, int)] * 2
    assert talk.ok("task", action="list", limit=number)["structuredContent"]["total"] == 0
    assert talk.ok("control:history", limit=number, since=json.loads("0.0"))["next"] is None
    schedule = {"minute": number, "hour": number, "day": "*", "month": "*", "weekday": "*"}
    job = talk.ok("scheduler:create_scheduled_task", name="j", system_prompt="", prompt="p", schedule=schedule)
    assert job["schedule"]["minute"] == "10"


def test_a_number_that_is_not_whole_is_no_integer_and_one_of_the_callers_own_stays_as_it_is(talk: Talk) -> None:
    error = talk.refused("task", action="list", limit=1.5)
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", "limit")
    made = talk.ok("task", action="create", title="t", metadata={"n": 10.0}, tags="x")
    assert repr(made["structuredContent"]["task"]["metadata"]["n"]) == "10.0"


def test_a_version_and_an_id_are_whole_numbers_however_they_are_written(talk: Talk) -> None:
    uid = talk.ok("tasklist:add_task", name="t")["uid"]
    request = {"id": 7.0, "tool": "tasklist:set_task_done", "args": {"uid": uid}, "if_version": 1.0}
    assert talk.one(request) | {"result": None} == {"id": 7, "ok": True, "result": None, "seq": 2}
    assert talk.one(request)["error"]["code"] == "conflict"
    assert talk.one({"id": 1e30, "tool": "tasklist:display"})["error"]["code"] == "invalid_request"


# All that is wrong, in one reply


TODO_WRITE = {
    "todos": [
        {"content": "Build", "status": "in_progress", "activeForm": "Building"},
        {"content": "Test", "status": "todo", "activeForm": "Testing", "id": 2},
        {"content": " ", "status": "pending", "id": "3"},
        {"content": "Ship", "status": "pending", "id": "3"},
    ]
}
PLAN = {
    "action": "create_plan",
    "title": " ",
    "name": "Release",
    "tasks": [
        {"title": "", "priority": "high"},
        {"description": "no title", "dependencies": ["a"]},
        {"title": "a", "id": "a", "depends_on": ["b", "nobody"]},
        {"title": "b", "id": "b", "depends_on": ["a"], "status": "done"},
        "Tag",
    ],
}
JOB = {
    "name": "",
    "prompt": 5,
    "cron": "* * * * *",
    "timezone": "Berlin",
    "dedicated_context": "yes",
    "schedule": {"minute": "61", "hour": "x", "day": "*", "month": [1], "week": "1"},
}
PLANNED = {
    "name": "p",
    "system_prompt": "s",
    "prompt": "p",
    "plan": ["soon", "2000-01-01T00:00:00", "2999-01-01T00:00"],
}
ALL_WRONG = [
    (
        "todo",
        TODO_WRITE,
        [
            *("todos[0].activeForm", "todos[0].id", "todos[1].activeForm", "todos[1].id", "todos[1].status"),
            *("todos[2].content", "todos[3].id", "merge"),
        ],
    ),
    (
        "tasks",
        PLAN,
        [
            *("title", "name", "tasks[0].title", "tasks[0].priority", "tasks[1].dependencies", "tasks[1].title"),
            *("tasks[2].depends_on", "tasks[3].status", "tasks[3].depends_on", "tasks[4]"),
        ],
    ),
    (
        "scheduler:create_scheduled_task",
        JOB,
        [
            *("name", "prompt", "cron", "timezone", "dedicated_context", "schedule.minute", "schedule.hour"),
            *("schedule.month", "schedule.week", "schedule.weekday", "system_prompt"),
        ],
    ),
    ("scheduler:create_planned_task", PLANNED, ["plan[0]", "plan[1]"]),
    ("tasklist:update_task", {"id": "x", "status": "open", "name": 5}, ["id", "status", "name", "uid"]),
    ("task", {"action": "create", "priority": "p1", "limit": 5}, ["priority", "limit", "title"]),
    ("ask", {"question": "a\u200b ?", "options": [str(n) for n in range(10)], "timeout": -1}, ["question", "options"]),
]


@pytest.mark.parametrize(("tool", "sent", "wrong"), ALL_WRONG, ids=[tool for tool, _, _ in ALL_WRONG])
def test_one_reply_names_all_that_is_wrong(talk: Talk, tool: str, sent: dict, wrong: list[str]) -> None:
    error = talk.refused(tool, **sent)
    problems = error["data"]["problems"]
    assert error["code"] == "invalid_argument"
    assert set(wrong) <= {problem["argument"] for problem in problems}
    assert all(set(problem) == {"argument", "message"} for problem in problems)
    assert error["data"]["argument"] == problems[0]["argument"]
    assert error["message"].startswith(f"{len(problems)} problems: (1) {problems[0]['message']} (2) ")
    assert all(problem["message"] in error["message"] for problem in problems)
    assert talk.seq() == 0


def test_a_request_whose_problems_are_put_right_is_served_at_the_second_try(talk: Talk) -> None:
    todos = [{"id": str(at), "content": item["content"].strip() or "x"} for at, item in enumerate(TODO_WRITE["todos"])]
    assert talk.ok("todo", merge=False, todos=[{**item, "status": "pending"} for item in todos])["success"]
    tasks = [{"title": "0"}, {"title": "1"}, {"title": "a", "id": "a"}, {"title": "b", "depends_on": ["a"]}]
    assert len(talk.ok("tasks", action="create_plan", title="Release", tasks=tasks)["tasks"]) == 4


def test_one_problem_is_told_as_it_is(talk: Talk) -> None:
    error = talk.refused("tasklist:add_task", name=" ")
    assert error["message"] == "name: must not be blank"
    assert error["data"] == {"argument": "name", "problems": [{"argument": "name", "message": error["message"]}]}


def test_of_very_many_problems_the_first_hundred_are_named(talk: Talk) -> None:
    error = talk.refused("tasks", action="create_plan", title="p", tasks=[{"title": ""}] * 150)
    assert len(error["data"]["problems"]) == 100
    assert error["message"].startswith("150 problems: ")
    assert error["message"].endswith("and 50 more")


# Blanks


def _optional(part: dict) -> list[str]:
    return [name for name in part["properties"] if name not in part.get("required", ())]


BLANKS = {
    name: arguments
    for name, tool in TABLE.tools.items()
    if not tool.human and name not in ("control:subscribe", "agent")
    if (arguments := _optional(schema(tool.arguments)))
}


@pytest.mark.parametrize("name", BLANKS)
def test_a_blank_for_an_optional_argument_that_takes_none_is_absent(talk: Talk, name: str) -> None:
    """Clients with strict schemas fill every argument."""
    for argument, blank in product(BLANKS[name], ("", " ", [], {}, None)):
        error = talk.ask(name, **{argument: blank}).get("error")
        if error is not None:
            named = [problem["argument"] for problem in error["data"].get("problems", ())]
            actions = [problem["message"] for problem in error["data"].get("problems", ()) if "action" in problem]
            assert argument not in named or "missing argument" in error["message"] or actions, (argument, blank, error)


FILLED = {
    "task": {
        **dict.fromkeys(("title", "description", "status", "priority", "domain", "query", "task_id", "limit"), ""),
        "tags": [],
        "result": {},
        "metadata": {},
        "after": " ",
        "brief": "",
    },
    "tasks": {
        **dict.fromkeys(("title", "description", "plan_id", "id", "status", "notes", "intent", "task_id"), ""),
        **{key: [] for key in ("tasks", "files_modified", "completed_steps", "remaining_steps", "node_ids")},
        "suggest_next": "",
        "limit": "",
        "after": "",
        "context_snapshot": {},
        "approach": "",
        "agent_id": "",
    },
}


def test_blanks_of_arguments_of_another_action_are_absent(talk: Talk) -> None:
    """Clients with strict schemas fill every argument of a tool, whatever the action."""
    made = talk.ok("task", **FILLED["task"] | {"action": "create", "title": "one"})["structuredContent"]["task"]
    listed = talk.ok("task", **FILLED["task"] | {"action": "list"})["structuredContent"]
    assert listed["tasks"] == [made]
    update = {"action": "update", "task_id": made["task_id"], "status": "completed", "result": None}
    talk.ok("task", **FILLED["task"] | update)
    plan = talk.ok("tasks", **FILLED["tasks"] | {"action": "create_plan", "title": "p", "tasks": [{"title": "t"}]})
    pending = talk.ok("tasks", **FILLED["tasks"] | {"action": "pending", "plan_id": plan["plan_id"]})
    assert [task["title"] for task in pending["tasks"]] == ["t"]
    assert talk.ok("tasks", **FILLED["tasks"] | {"action": "list_plans"})["plans"][0]["total"] == 1
    talk.ok("tasks", **FILLED["tasks"] | {"action": "update", "id": plan["tasks"][0]["id"], "status": "done"})


def test_blanks_of_optional_arguments_change_nothing_and_of_needed_ones_are_refused(talk: Talk) -> None:
    uid = _task(talk, tags=["a"], domain="d", priority="high")
    before = talk.ok("control:task", uid=uid)
    blanks = {"title": "", "status": "", "priority": " ", "domain": "", "limit": "", "query": None, "after": ""}
    talk.ok("task", action="update", task_id=uid, description="new", tags="", **blanks)
    assert talk.ok("control:task", uid=uid).items() >= {"tags": ["a"], "domain": "d", "priority": 2}.items()
    assert before["description"] == ""
    assert talk.ok("task", action="list", status="", tags=[], query="", limit={}, after="")["structuredContent"][
        "total"
    ]
    assert talk.ok("control:claim", list="", uid=" ")["task"]["uid"] == uid
    for sent in ({"title": ""}, {"title": " "}):
        error = talk.refused("task", action="create", **sent)
        assert (error["data"]["argument"], error["message"]) == ("title", "title: must not be blank")
    # What may be empty is emptied.
    assert (
        talk.ok("task", action="update", task_id=uid, description="", tags=[])["structuredContent"]["task"]["tags"]
        == []
    )
    assert talk.ok("control:task", uid=uid)["description"] == ""
    plan = talk.ok(
        "tasks", action="create_plan", title="p", agent_id="", tasks=[{"title": "t", "id": "", "priority": ""}]
    )
    assert plan["tasks"][0]["priority"] == 3


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("a, b", ["a", "b"]), ("a", ["a"]), (" a ,, b c ", ["a", "b c"]), ('["a, b"]', ["a, b"]), (["a, b"], ["a, b"])],
)
def test_one_string_of_tags_is_split_at_its_commas(talk: Talk, sent: object, kept: list[str]) -> None:
    assert task_queries.task(talk.store.db, _task(talk, tags=sent)).tags == tuple(kept)
    found = talk.ok("task", action="list", tags=sent)["structuredContent"]["tasks"]
    assert [task["tags"] for task in found] == [kept]
