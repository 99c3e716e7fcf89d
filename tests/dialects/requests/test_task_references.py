"""A task that is named by its number or by the beginning of its uid (docs: protocol, section 2)."""

from __future__ import annotations

import pytest

from tests.conftest import Clock, Talk
from tests.talking import ADD, add, names, task
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.store import Store


def _uids(talk: Talk, *names: str) -> list[str]:
    return [add(talk, name) for name in names]


def _start(talk: Talk, uid: str) -> str:
    """The beginning of a uid that is this task's alone."""
    return next(uid[:n] for n in range(6, 36) if len(queries.tasks_beginning(talk.store.db, uid[:n], 2)) == 1)


@pytest.mark.parametrize("by", ["number", "beginning"])
def test_every_tool_of_the_tasklist_takes_what_stands_for_a_uid(talk: Talk, by: str) -> None:
    one, two, three = _uids(talk, "one", "two", "three")

    def named(uid: str, number: int) -> str:
        return f"#{number}" if by == "number" else _start(talk, uid)

    assert talk.ok("tasklist:get_task", uid=named(two, 2))["uid"] == two
    assert talk.ok("tasklist:update_task", uid=named(three, 3), name="third")["uid"] == three
    assert talk.ok("tasklist:set_task_done", uid=named(one, 1))["uid"] == one
    talk.ok("tasklist:log_task_progress", uid=named(one, 1), message="well")
    assert [entry["message"] for entry in talk.ok("tasklist:get_task_logs", uid=named(one, 1))] == ["well"]
    swapped = talk.ok("tasklist:swap_tasks", uid1=named(one, 1), uid2=named(two, 2))
    assert [found["uid"] for found in swapped] == [two, one]
    talk.ok("tasklist:add_task_after", uid=named(two, 1), name="between")
    assert names(talk) == ["two", "between", "one", "third"]
    assert talk.ok("tasklist:delete_task", uid=named(one, 3))["uid"] == one
    assert names(talk) == ["two", "between", "third"]


@pytest.mark.parametrize("by", ["number", "beginning"])
def test_the_other_dialects_take_it_too_and_tell_the_whole_uid(talk: Talk, by: str) -> None:
    made = talk.ok("task", action="create", title="board")["structuredContent"]["task"]["task_id"]
    plan = talk.ok("tasks", action="create_plan", title="plan", tasks=[{"title": "step"}])
    (step,) = (found["id"] for found in plan["tasks"])
    on_board, in_plan = ("#1", "#1") if by == "number" else (_start(talk, made), _start(talk, step))
    updated = talk.ok("task", action="update", task_id=on_board, status="completed")
    assert updated["content"][0]["text"] == f"Task {made} updated: status → completed."
    assert made in talk.ok("agent", action="update_task", task_id=on_board, title="x")["content"][0]["text"]
    assert talk.ok("tasks", action="update", id=in_plan, notes="n")["id"] == step
    assert talk.ok("update_task", id=in_plan, intent="i")["id"] == step
    assert talk.ok("tasks", action="save_state", task_id=in_plan, approach="a")["task_id"] == step
    assert talk.ok("get_session_state", task_id=in_plan)["approach"] == "a"
    assert talk.ok("tasks", action="link_nodes", task_id=in_plan, node_ids=["n"])["task_id"] == step
    bound = {"list": plan["plan_id"]}
    assert talk.ok("control:task", bound, uid=in_plan)["uid"] == step
    assert talk.ok("control:update_task", bound, uid=in_plan, estimate=5)["uid"] == step
    kinds = {entry["task"]["uid"] for entry in talk.ok("control:history", bound, task=in_plan)["entries"]}
    assert kinds == {step}
    more = talk.ok("tasks", action="create_plan", title="more", tasks=[{"title": "after", "depends_on": [in_plan]}])
    assert more["tasks"][0]["depends_on"] == [step]


def test_a_callers_own_word_comes_before_what_stands_for_a_uid(talk: Talk) -> None:
    talk.ok("tasks", action="create_plan", title="plan", tasks=[{"title": "old"}])
    tasks = [{"title": "later", "depends_on": ["#1"]}, {"title": "new", "id": "#1"}]
    later, new = talk.ok("tasks", action="create_plan", title="plan 2", tasks=tasks)["tasks"]
    assert later["depends_on"] == [new["id"]]


def test_numbers_are_those_of_the_bound_list(talk: Talk) -> None:
    add(talk, "here")
    there = add(talk, "there", list="other")
    assert talk.ok("tasklist:get_task", {"list": "other"}, uid="#1")["uid"] == there
    assert talk.ok("tasks", {"list": "other"}, action="update", id="#1", notes="n")["id"] == there


def test_a_number_that_no_task_has_is_not_found(talk: Talk) -> None:
    add(talk, "only")
    for tool, arguments in [
        ("tasklist:get_task", {"uid": "#2"}),
        ("tasklist:delete_task", {"uid": "#0"}),
        ("control:task", {"uid": "#2"}),
        ("control:history", {"task": "#2"}),
        ("control:history", {"task": "facade00"}),
        ("ask", {"question": "?", "task": "#2"}),
        ("task", {"action": "update", "task_id": "#1", "title": "x"}),
        ("tasks", {"action": "update", "id": "#1", "notes": "x"}),
        ("tasklist:get_task", {"uid": "1"}),
    ]:
        error = talk.refused(tool, **arguments)
        assert error["code"] == "not_found", (tool, arguments)
    assert talk.refused("tasklist:get_task", uid="#2")["data"] == {"id": "#2"}
    wrong = talk.refused("tasks", action="create_plan", title="p", tasks=[{"title": "t", "depends_on": ["#1"]}])
    assert (wrong["code"], wrong["data"]) == ("invalid_argument", {"argument": "tasks[0].depends_on"})
    assert names(talk) == ["only"]


def test_what_may_be_several_tasks_is_refused_with_the_candidates(talk: Talk) -> None:
    uids = _uids(talk, "one", "two")
    common = uids[0][:6]
    if uids[1][:6] != common:  # the count that uids begin with went over
        uids = _uids(talk, "three", "four")
        common = uids[0][:6]
    error = talk.refused("tasklist:set_task_done", uid=common)
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", "uid")
    assert set(uids) <= set(error["data"]["candidates"])
    there = add(talk, "there", list="other")
    first = queries.tasks(talk.store.db, queries.find_list(talk.store.db, "tasklist").id)[0].uid
    error = talk.refused("control:task", uid="#1")
    assert (error["code"], error["data"]) == ("invalid_argument", {"argument": "uid", "candidates": [first, there]})
    assert all(found["status"] == "pending" for found in talk.ok("tasklist:display"))


def test_fewer_than_six_characters_are_no_beginning(talk: Talk) -> None:
    uid = add(talk)
    assert talk.refused("tasklist:get_task", uid=uid[:5])["code"] == "not_found"
    assert talk.ok("tasklist:get_task", uid=uid[:6])["uid"] == uid


def test_a_version_is_held_against_the_task_that_is_meant(talk: Talk) -> None:
    uid = add(talk)
    assert talk.ok("tasklist:set_task_done", {"if_version": 1}, uid="#1")["uid"] == uid
    error = talk.refused("tasklist:set_task_pending", {"if_version": 1}, uid="#1")
    assert (error["code"], error["data"]["version"]) == ("conflict", 2)


def test_a_repeated_key_gives_the_stored_reply_though_the_number_is_anothers_by_now(talk: Talk) -> None:
    one, _ = _uids(talk, "one", "two")
    for _ in range(2):
        assert talk.ok("tasklist:delete_task", {"idempotency_key": "k"}, uid="#1")["uid"] == one
    assert names(talk) == ["two"]


def test_a_batch_names_what_it_has_just_made(talk: Talk) -> None:
    (replies,) = talk.lines(
        [{"tool": ADD, "args": {"name": "new"}}, {"tool": "tasklist:set_task_done", "args": {"uid": "#1"}}]
    )
    assert [reply["ok"] for reply in replies] == [True, True]
    assert task(talk, "#1")["status"] == "done"


def test_a_channel_of_one_list_finds_none_of_another_list_and_names_none(store: Store, clock: Clock) -> None:
    everywhere = Talk(store, clock)
    there, here = add(everywhere, "there"), add(everywhere, "here", list="mine")
    kept = Talk(store, clock, list="mine", list_only=True)
    assert kept.refused("tasklist:get_task", uid=there[:8])["data"] == {"id": there[:8]}
    assert kept.ok("tasklist:get_task", uid=here[:6])["uid"] == here
    assert kept.ok("tasklist:get_task", uid="#1")["uid"] == here
    for _ in range(2):
        assert kept.ok("tasklist:delete_task", {"idempotency_key": "k"}, uid="#1")["uid"] == here


@pytest.mark.parametrize("length", [1, 2, 3, 8, 9])
def test_a_number_is_the_place_in_the_list_from_whichever_end_it_is_counted(talk: Talk, length: int) -> None:
    uids = _uids(talk, *map(str, range(length)))
    assert [task(talk, f"#{number}")["uid"] for number in range(1, length + 1)] == uids
    assert talk.refused("control:task", uid=f"#{length + 1}")["code"] == "not_found"
