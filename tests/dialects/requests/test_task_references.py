"""A task that is named by its number or by the beginning of its uid (docs: protocol, section 2)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Clock, Talk
from tests.talking import ADD, add, names, task
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


def _uids(talk: Talk, *names: str) -> list[str]:
    return [add(talk, name) for name in names]


def _start(talk: Talk, uid: str) -> str:
    """The beginning of a uid that is this task's alone."""
    return next(uid[:n] for n in range(6, 36) if len(task_queries.tasks_beginning(talk.store.db, uid[:n], 2)) == 1)


@pytest.fixture(params=["number", "digits", "beginning"])
def name_of(request: pytest.FixtureRequest, talk: Talk) -> Callable[[str], str]:
    """What names a task: its number with and without its sign, or the beginning of its uid in upper case."""

    def name(uid: str) -> str:
        number = task(talk, uid)["number"]
        return {"number": f"#{number}", "digits": str(number), "beginning": _start(talk, uid).upper()}[request.param]

    return name


def test_every_tool_of_the_tasklist_takes_what_stands_for_a_uid(talk: Talk, name_of: Callable[[str], str]) -> None:
    one, two, three = _uids(talk, "one", "two", "three")
    assert talk.ok("tasklist:get_task", uid=name_of(two))["uid"] == two
    assert talk.ok("tasklist:update_task", uid=name_of(three), name="third")["uid"] == three
    assert talk.ok("tasklist:set_task_done", uid=name_of(one))["uid"] == one
    talk.ok("tasklist:log_task_progress", uid=name_of(one), message="well")
    assert [entry["message"] for entry in talk.ok("tasklist:get_task_logs", uid=name_of(one))] == ["well"]
    swapped = talk.ok("tasklist:swap_tasks", uid1=name_of(one), uid2=name_of(two))
    assert [found["uid"] for found in swapped] == [two, one]
    talk.ok("tasklist:add_task_after", uid=name_of(two), name="between")
    assert names(talk) == ["two", "between", "one", "third"]
    assert talk.ok("tasklist:delete_task", uid=name_of(one))["uid"] == one
    assert names(talk) == ["two", "between", "third"]


def test_the_other_dialects_take_it_too_and_tell_the_whole_uid(talk: Talk, name_of: Callable[[str], str]) -> None:
    made = talk.ok("task", action="create", title="board")["structuredContent"]["task"]["task_id"]
    plan = talk.ok("tasks", action="create_plan", title="plan", tasks=[{"title": "step"}])
    (step,) = (found["id"] for found in plan["tasks"])
    on_board, in_plan = name_of(made), name_of(step)
    updated = talk.ok("task", action="update", task_id=on_board, status="completed")
    assert updated["content"][0]["text"] == f"Task {made} updated: status → completed."
    assert made in talk.ok("agent", action="update_task", task_id=on_board, title="x")["content"][0]["text"]
    assert talk.ok("tasks", action="update", id=in_plan, notes="n")["id"] == step
    assert talk.ok("update_task", id=in_plan, intent="i")["id"] == step
    assert talk.ok("tasks", action="save_state", task_id=in_plan, approach="a")["task_id"] == step
    assert talk.ok("get_session_state", task_id=in_plan)["approach"] == "a"
    assert talk.ok("tasks", action="link_nodes", task_id=in_plan, node_ids=["n"])["task_id"] == step
    assert talk.ok("control:task", uid=in_plan)["uid"] == step
    assert talk.ok("control:update_task", uid=in_plan, estimate=5)["uid"] == step
    kinds = {entry["task"]["uid"] for entry in talk.ok("control:history", task=in_plan)["entries"]}
    assert kinds == {step}
    more = talk.ok("tasks", action="create_plan", title="more", tasks=[{"title": "after", "depends_on": [in_plan]}])
    assert more["tasks"][0]["depends_on"] == [step]


def test_a_whole_uid_is_taken_in_letters_of_either_case(talk: Talk) -> None:
    uid = add(talk)
    assert talk.ok("tasklist:get_task", uid=uid.upper())["uid"] == uid


def test_a_callers_own_word_comes_before_what_stands_for_a_uid(talk: Talk) -> None:
    talk.ok("tasks", action="create_plan", title="plan", tasks=[{"title": "old"}])
    tasks = [{"title": "later", "depends_on": ["#1"]}, {"title": "new", "id": "#1"}]
    later, new = talk.ok("tasks", action="create_plan", title="plan 2", tasks=tasks)["tasks"]
    assert later["depends_on"] == [new["id"]]


def test_a_number_is_that_tasks_in_every_list_and_dialect_and_on_a_bound_channel(talk: Talk) -> None:
    here, there = add(talk, "here"), add(talk, "there", list="other")
    step = talk.ok("tasks", action="create_plan", title="plan", tasks=[{"title": "step"}])["tasks"][0]["id"]
    assert [task(talk, uid)["number"] for uid in (here, there, step)] == [1, 2, 3]
    for bound in ({}, {"list": "other"}):
        for tool, argument in [("tasklist:get_task", "uid"), ("control:task", "uid"), ("get_session_state", "task_id")]:
            for number in (1, 2, 3):
                talk.ok(tool, bound, **{argument: f"#{number}"})
        assert talk.ok("tasks", bound, action="update", id="#1", notes="n")["id"] == here
        assert talk.ok("task", bound, action="update", task_id="3", tags="t")["structuredContent"]["task"]["tags"]
        assert talk.ok("tasklist:get_task", bound, uid="#2")["uid"] == there


def test_a_number_never_changes_and_is_never_given_again(talk: Talk) -> None:
    one, two, three = _uids(talk, "one", "two", "three")
    talk.ok("tasklist:swap_tasks", uid1=one, uid2=three)
    talk.ok("tasklist:delete_task", uid=three)
    assert talk.refused("tasklist:get_task", uid="#3")["message"].startswith("no task #3: agent deleted it")
    four = add(talk, "four", list="other")
    assert [task(talk, uid)["number"] for uid in (one, two, four)] == [1, 2, 4]
    talk.ok("control:undo")
    talk.ok("control:undo")
    assert task(talk, "#3")["uid"] == three
    assert task(talk, add(talk, "five"))["number"] == 5
    talk.ok("tasklist:clear")
    assert task(talk, add(talk, "six"))["number"] == 6


def test_a_request_that_is_refused_takes_no_number(talk: Talk) -> None:
    batch = [{"tool": ADD, "args": {"name": "new"}}, {"tool": "tasklist:get_task", "args": {"uid": "nothing"}}]
    (replies,) = talk.lines(batch)
    assert not any(reply["ok"] for reply in replies)
    assert task(talk, add(talk))["number"] == 1


def test_a_number_that_no_task_has_is_not_found(talk: Talk) -> None:
    add(talk, "only")
    for tool, arguments in [
        ("tasklist:get_task", {"uid": "#2"}),
        ("tasklist:get_task", {"uid": "2"}),
        ("tasklist:get_task", {"uid": "9999999"}),
        ("tasklist:delete_task", {"uid": "#0"}),
        ("control:task", {"uid": "#2"}),
        ("control:history", {"task": "#2"}),
        ("control:history", {"task": "facade00"}),
        ("ask", {"question": "?", "task": "#2"}),
        ("task", {"action": "update", "task_id": "#2", "title": "x"}),
        ("tasks", {"action": "update", "id": "#2", "notes": "x"}),
        ("tasklist:get_task", {"uid": "#12345678901234567890"}),
        ("tasklist:get_task", {"uid": "²"}),
    ]:
        error = talk.refused(tool, **arguments)
        assert error["code"] == "not_found", (tool, arguments)
    assert talk.refused("tasklist:get_task", uid="#2")["data"] == {"id": "#2"}
    wrong = talk.refused("tasks", action="create_plan", title="p", tasks=[{"title": "t", "depends_on": ["#2"]}])
    assert (wrong["code"], wrong["data"]["argument"]) == ("invalid_argument", "tasks[0].depends_on")
    assert names(talk) == ["only"]


def test_the_history_of_a_deleted_task_is_read_by_its_number(talk: Talk) -> None:
    talk.ok("tasklist:delete_task", uid=add(talk))
    kinds = [entry["event"] for entry in talk.ok("control:history", task="#1")["entries"]]
    assert kinds == ["task.created", "task.deleted"]


def test_digits_alone_are_a_number_up_to_seven_of_them_and_the_beginning_of_a_uid_from_eight(
    store: Store, talk: Talk
) -> None:
    store._uids = iter(f"12345678-0000-4000-8000-{at:012x}" for at in range(9))
    add(talk, "one")
    assert talk.ok("tasklist:get_task", uid="12345678")["name"] == "one"
    for number in ("123456", "1234567", "#12345678"):
        assert talk.refused("tasklist:get_task", uid=number)["code"] == "not_found"


def test_what_may_be_several_tasks_is_refused_with_the_candidates(store: Store, talk: Talk) -> None:
    store._uids = iter(f"facade00-0000-4000-8000-{at:012x}" for at in range(9))
    uids = _uids(talk, "one", "two")
    error = talk.refused("tasklist:set_task_done", uid="facade")
    assert error["code"] == "invalid_argument"
    assert (error["data"]["argument"], error["data"]["candidates"]) == ("uid", uids)
    assert all(found["status"] == "pending" for found in talk.ok("tasklist:display"))


def test_fewer_than_six_characters_are_no_beginning(store: Store, talk: Talk) -> None:
    store._uids = iter(f"facade0{at}-0000-4000-8000-000000000000" for at in range(9))
    uid = add(talk)
    assert talk.refused("tasklist:get_task", uid=uid[:5])["code"] == "not_found"
    assert talk.ok("tasklist:get_task", uid=uid[:6])["uid"] == uid


def test_a_version_is_held_against_the_task_that_is_meant(talk: Talk) -> None:
    uid = add(talk)
    assert talk.ok("tasklist:set_task_done", {"if_version": 1}, uid="#1")["uid"] == uid
    error = talk.refused("tasklist:set_task_pending", {"if_version": 1}, uid="#1")
    assert (error["code"], error["data"]["version"]) == ("conflict", 2)


def test_a_repeated_key_gives_the_stored_reply_though_the_number_is_a_deleted_tasks_by_now(talk: Talk) -> None:
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
    for reference in (there[:8], there, "#1", "1"):
        for tool, argument in [
            ("tasklist:get_task", "uid"),
            ("control:history", "task"),
            ("tasklist:display", "after"),
        ]:
            assert kept.refused(tool, **{argument: reference})["data"] == {"id": reference}
    assert kept.ok("tasklist:get_task", uid=here[:6])["uid"] == here
    assert kept.ok("tasklist:get_task", uid="#2")["uid"] == here
    for _ in range(2):
        assert kept.ok("tasklist:delete_task", {"idempotency_key": "k"}, uid="#2")["uid"] == here
