"""What an agent is told of a wrong argument."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Talk
from tui_tasks.core.journal import journal
from tui_tasks.core.read.tasks import queries


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
    assert (error["code"], error["data"]) == ("invalid_argument", {"argument": named})
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
    assert (error["code"], error["data"]) == ("invalid_argument", {"argument": "blockers"})
    assert "not one JSON text" in error["message"] or "too large" in error["message"]


@pytest.mark.parametrize("sent", ["{'a': true}", "{'a': True}", '{"a": true}'])
def test_an_object_may_come_in_a_string_in_quotes_of_either_kind(talk: Talk, sent: str) -> None:
    uid = _task(talk, metadata=sent)
    assert queries.task(talk.store.db, uid).metadata == {"a": True}


@pytest.mark.parametrize(
    ("tool", "sent", "told"),
    [
        ("tasklist:add_task", {"name": "x", "log": 1}, "unknown argument log; there is name, description"),
        ("control:unsubscribe", {"log": 1}, "unknown argument log; it takes none"),
        (
            "tasks",
            {"action": "create_plan", "title": "p", "tasks": [{"title": "a"}, {"title": "b", "log": 1}]},
            "unknown argument tasks[1].log; there is title, id, description, priority, agent_id, depends_on",
        ),
        (
            "todo",
            {"merge": True, "todos": [{"id": "a", "content": "a", "status": "pending", "log": 1}] * 2},
            "unknown argument todos[0].log; there is id, content, status",
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
    assert (error["code"], error["data"]) == ("invalid_argument", {"argument": "limit"})
    made = talk.ok("task", action="create", title="t", metadata={"n": 10.0}, tags="x")
    assert repr(made["structuredContent"]["task"]["metadata"]["n"]) == "10.0"


def test_a_version_and_an_id_are_whole_numbers_however_they_are_written(talk: Talk) -> None:
    uid = talk.ok("tasklist:add_task", name="t")["uid"]
    request = {"id": 7.0, "tool": "tasklist:set_task_done", "args": {"uid": uid}, "if_version": 1.0}
    assert talk.one(request) | {"result": None} == {"id": 7, "ok": True, "result": None, "seq": 2}
    assert talk.one(request)["error"]["code"] == "conflict"
    assert talk.one({"id": 1e30, "tool": "tasklist:display"})["error"]["code"] == "invalid_request"
