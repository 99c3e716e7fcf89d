"""`control:undo` over what several dialects wrote (docs: protocol, section 7)."""

from __future__ import annotations

import pytest

from tests.conftest import Talk
from tests.talking import names


@pytest.fixture
def other(store, clock) -> Talk:
    return Talk(store, clock, agent="other")


def add(talk: Talk, name: str, **envelope: object) -> str:
    return talk.ok("tasklist:add_task", envelope, name=name)["uid"]


def version(talk: Talk, uid: str) -> int:
    return talk.ok("control:task", uid=uid)["version"]


def test_taking_back_a_completion_raises_the_version_though_a_memory_goes_with_it(talk):
    uid = add(talk, "Do it")
    talk.ok("task", action="update", task_id=uid, status="completed", result={"summary": "done"})
    before = version(talk, uid)
    talk.ok("control:undo")
    assert version(talk, uid) == before + 1
    assert talk.ok("memory", action="list")["total"] == 0
    assert talk.refused("tasklist:set_task_done", {"if_version": before}, uid=uid)["code"] == "conflict"


def log(talk: Talk, uid: str) -> None:
    talk.ok("tasklist:log_task_progress", uid=uid, message="began")


def save(talk: Talk, uid: str) -> None:
    talk.ok("tasks", action="save_state", task_id=uid, approach="by hand")


@pytest.mark.parametrize("write", [log, save])
def test_what_was_written_beside_a_task_is_not_taken_back_while_another_has_claimed_it(talk, other, write):
    uid = add(talk, "Do it")
    write(talk, uid)
    claim = other.ok("control:claim")["claim"]
    before = version(talk, uid)
    assert talk.refused("control:undo")["code"] == "conflict"
    assert version(talk, uid) == before
    other.ok("control:release", claim=claim)
    talk.ok("control:undo")
    assert talk.ok("tasklist:get_task_logs", uid=uid) == []
    assert talk.ok("tasks", action="get_state", task_id=uid) is None


@pytest.mark.parametrize("write", [log, save])
def test_what_was_written_beside_a_task_is_not_taken_back_once_another_has_deleted_it(talk, other, write):
    uid = add(talk, "Do it")
    write(talk, uid)
    other.ok("tasklist:delete_task", uid=uid)
    assert talk.refused("control:undo")["code"] == "conflict"


def test_tasks_that_come_back_to_one_place_stand_behind_each_other(talk, other):
    items = [{"id": name, "content": name, "status": "pending"} for name in ("1", "2", "3", "4")]
    talk.ok("todo", merge=False, todos=items)
    talk.ok("todo", merge=False, todos=[items[2], items[0], items[1]])
    add(other, "new", list="todo")
    talk.ok("control:undo")
    there = talk.ok("tasklist:display", {"list": "todo"})
    assert [task["name"] for task in there] == ["1", "2", "new", "3", "4"]
    talk.ok("tasklist:add_task_before", uid=there[4]["uid"], name="between")
    names = [task["name"] for task in talk.ok("tasklist:display", {"list": "todo"})]
    assert names == ["1", "2", "new", "3", "between", "4"]


def request(tool: str, **arguments: object) -> dict:
    return {"tool": tool, "arguments": arguments}


def by(agent: str, name: str) -> dict:
    return request("tasklist:add_task", name=name) | {"agent": agent}


def test_an_undo_in_a_batch_takes_back_what_was_there_before_the_batch(talk):
    for name in ("one", "two"):
        add(talk, name)
    batch = talk.one([request("tasklist:add_task", name="three"), request("control:undo")])
    assert batch[1]["result"] == {"undone": 2}
    assert names(talk) == ["one", "three"]
    batch = talk.one([request("control:undo"), request("tasklist:add_task", name="four")])
    assert batch[0]["result"] == {"undone": 4}
    assert names(talk) == ["one", "two", "four"]


def test_a_batch_with_an_undo_in_it_is_taken_back_as_a_whole(talk):
    add(talk, "one")
    add(talk, "two")
    talk.one([request("tasklist:add_task", name="three"), request("control:undo"), request("control:undo")])
    assert names(talk) == ["three"]
    talk.ok("control:undo")
    assert names(talk) == ["one", "two"]
    talk.ok("control:undo")
    assert names(talk) == ["one"]
    talk.one([request("control:undo")])
    assert names(talk) == []
    assert talk.refused("control:undo")["code"] == "conflict"


def test_of_a_batch_of_several_agents_each_takes_back_its_own_part_as_one(talk):
    assert all(reply["ok"] for reply in talk.one([by("ann", "1"), by("bob", "2"), by("ann", "3")]))
    assert talk.refused("control:undo")["code"] == "conflict", "the channel's own agent did nothing in it"
    assert talk.ok("control:undo", {"agent": "ann"}) == {"undone": 3}
    assert names(talk) == ["2"]
    assert talk.refused("control:undo", {"agent": "ann"})["code"] == "conflict"
    assert talk.ok("control:undo", {"agent": "bob"}) == {"undone": 2}
    assert names(talk) == []


def test_what_another_has_changed_in_the_same_batch_is_not_taken_back(talk):
    uid = add(talk, "one")
    talk.one(
        [
            request("tasklist:update_task", uid=uid, name="two") | {"agent": "ann"},
            request("tasklist:update_task", uid=uid, name="three") | {"agent": "bob"},
        ]
    )
    assert talk.refused("control:undo", {"agent": "ann"})["code"] == "conflict"
    talk.ok("control:undo", {"agent": "bob"})
    assert names(talk) == ["two"]
    talk.ok("control:undo", {"agent": "ann"})
    assert names(talk) == ["one"]


def test_a_list_does_not_come_back_over_another_of_its_name(talk, other):
    add(talk, "first", list="shared")
    talk.one([request("control:undo"), request("tasklist:add_task", name="kept")])
    add(other, "second", list="shared")
    assert talk.refused("control:undo")["code"] == "conflict"
    assert [task["name"] for task in talk.ok("tasklist:display", {"list": "shared"})] == ["second"]
    other.ok("control:undo")
    talk.ok("control:undo")
    assert [task["name"] for task in talk.ok("tasklist:display", {"list": "shared"})] == ["first"]
    assert names(talk) == []


def test_a_memory_that_comes_back_is_told_once_as_what_it_was(talk):
    uid = add(talk, "Do it")
    talk.ok("task", action="update", task_id=uid, status="completed", result={"summary": "done"})
    talk.one([request("tasklist:log_task_progress", uid=uid, message="m"), request("control:undo")])
    assert talk.ok("memory", action="list")["total"] == 0
    seq = talk.seq()
    talk.ok("control:undo")
    (memory,) = talk.ok("memory", action="list")["memories"]
    assert (memory["task_id"], memory["content"]) == (uid, {"summary": "done"})
    events = [entry["event"] for entry in talk.ok("control:history", since=seq)["entries"]]
    assert events.count("memory.saved") == 1
