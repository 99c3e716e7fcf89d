"""What a reply says beside a result whose form is fixed: why there is nothing to take, why a run failed."""

from __future__ import annotations

import pytest

from tests.conftest import Talk
from tests.talking import add
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, EnsureList

CLAIM = {"tool": "control:claim"}


@pytest.fixture
def plan(talk: Talk):
    """A plan of which nothing can be taken: the second task waits for the first."""
    tasks = [{"title": "Build", "id": "b"}, {"title": "Deploy", "depends_on": ["b"]}]
    return talk.ok("create_plan", title="Release", tasks=tasks)


def note(talk: Talk, **arguments) -> str:
    reply = talk.one({**CLAIM, "args": arguments})
    assert reply["ok"]
    assert reply["result"] is None
    return reply["note"]


def test_a_claim_that_finds_nothing_pending_says_so(talk):
    assert note(talk) == "nothing is pending in any list"
    assert note(talk, list="task") == "nothing is pending in task"
    uid = add(talk)
    talk.ok("control:claim")
    assert note(talk) == "nothing is pending in any list; 1 task is in progress"
    talk.ok("tasklist:set_task_done", uid=uid)
    assert note(talk, list="tasklist") == "nothing is pending in tasklist"


def test_a_claim_that_is_repeated_under_its_key_says_why_it_found_nothing_again(talk):
    keyed = {**CLAIM, "idempotency_key": "k"}
    first = talk.one(keyed)
    assert first["note"] == "nothing is pending in any list"
    add(talk)
    assert talk.one(keyed) == first


def test_a_claim_in_a_list_of_one_in_progress_says_which_one_is_and_whose(talk, other):
    add(talk, "first")
    add(talk, "second")
    assert talk.one(CLAIM)["result"]["task"]["name"] == "first"
    told = 'task #1 "first" of tasklist is in progress already for agent, and the list takes one at a time for each'
    assert note(talk, list="tasklist") == f"{told} agent"
    assert note(talk) == f"{told} agent"
    assert other.one(CLAIM)["result"]["task"]["name"] == "second"


@pytest.mark.parametrize(
    ("status", "why"), [("failed", "has failed"), ("in_progress", "is in progress"), ("pending", "is pending")]
)
def test_a_claim_says_what_the_pending_ones_wait_for(talk, store, clock, plan, status, why):
    first = plan["tasks"][0]["id"]
    store.commit(EditTask(first, {"status": status, "agent": "somebody"}), actor="human", now=clock())
    assert note(talk, list=plan["plan_id"]) == f'task #2 "Deploy" of Release waits for task #1 "Build", which {why}'


def test_a_claim_says_whose_the_pending_ones_are(talk, store, clock):
    (home,) = store.commit(EnsureList("pool", "task"), actor="human", now=clock())
    store.commit(AddTask("theirs", home.uid, agent="bob"), actor="human", now=clock())
    assert note(talk, list="pool") == 'task #1 "theirs" of pool is assigned to bob'


def test_a_claim_in_any_list_tells_of_one_and_how_many_others_there_are(talk, store, clock):
    for name in "abc":
        (home,) = store.commit(EnsureList(name, "task"), actor="human", now=clock())
        store.commit(AddTask("x", home.uid, agent="bob"), actor="human", now=clock())
    assert note(talk) == 'task #1 "x" of a is assigned to bob; nor is there anything in 2 other lists'


def test_a_list_that_is_not_made_yet_has_nothing(talk):
    reply = talk.one({**CLAIM, "list": "later"})
    assert (reply["result"], reply["note"]) == (None, "nothing is pending in later, which is not made yet")


def test_a_channel_of_one_list_is_not_told_of_a_task_of_another(store, clock, talk):
    mine = Talk(store, clock, list="mine", list_only=True)
    (home, hidden) = store.commit(EnsureList("mine", "task"), CreatePlan("Hidden"), actor="human", now=clock())
    (secret,) = store.commit(AddTask("secret", hidden.uid), actor="human", now=clock())
    store.commit(AddTask("mine", home.uid, depends_on=(secret.uid,)), actor="human", now=clock())
    assert note(mine) == 'task #2 "mine" of mine waits for a task of another list, which is pending'
    assert 'waits for task #1 "secret"' in note(talk, list="mine")


def test_a_suggestion_that_finds_nothing_says_why_as_well(talk, store, clock, plan):
    first = plan["tasks"][0]["id"]
    store.commit(EditTask(first, {"status": "failed"}), actor="human", now=clock())
    reply = talk.one({"tool": "tasks", "args": {"action": "pending", "suggest_next": True}})
    assert reply["result"]["suggested_next"] is None
    assert "waits for" in reply["note"]
    assert "note" not in talk.one({"tool": "tasks", "args": {"action": "pending"}})


def test_no_note_stands_where_there_is_something(talk):
    add(talk)
    assert talk.one(CLAIM).keys() == {"id", "ok", "result", "seq"}


def test_a_refusal_names_the_task_that_is_in_the_way_and_what_to_do(talk, other):
    first = add(talk, "Write the\nparser")
    second = add(talk, "second")
    talk.ok("tasklist:set_task_in_progress", uid=first)
    error = talk.refused("tasklist:set_task_in_progress", uid=second)
    assert error["message"] == (
        'task #1 "Write the parser" of tasklist is in progress already for agent, and the list takes one at a '
        "time for each agent: first set #1 done, failed, skipped or pending"
    )
    assert error["data"] == {"in_progress": first}
    talk.ok("tasklist:set_task_pending", uid=first)
    talk.ok("control:claim")
    assert (
        other.refused("tasklist:set_task_done", uid=first)["message"] == 'agent has claimed task #1 "Write the parser"'
    )
    stale = talk.refused("tasklist:delete_task", {"if_version": 1}, uid=first)
    assert stale["message"].startswith('task #1 "Write the parser" is at version ')


def test_a_long_name_is_cut_in_a_refusal(talk):
    add(talk, "x" * 10_000)
    talk.ok("control:claim")
    second = add(talk)
    assert len(talk.refused("tasklist:set_task_in_progress", uid=second)["message"]) < 300


def test_notes_on_a_task_are_read_whoever_left_them(talk, other, plan):
    first = plan["tasks"][0]["id"]
    talk.ok("tasks", action="update", id=first, notes="built")
    other.ok("update_task", id=first, notes="looks good")
    told = talk.ok("tasks", action="notes", id=first)
    assert told["task_id"] == first
    assert [(one["agent_id"], one["note"]) for one in told["notes"]] == [("agent", "built"), ("other", "looks good")]
    assert told["notes"][0]["at"] == "2026-01-02T11:22:14.000+00:00"
    assert talk.ok("tasks", action="notes", id=first[:8]) == told
    assert talk.refused("tasks", action="notes", id="none")["code"] == "not_found"


def test_waiting_for_a_job_and_reading_it_say_why_its_run_failed(talk):
    made = talk.ok("scheduler:create_adhoc_task", name="x", system_prompt="", prompt="go", dedicated_context=False)
    run = talk.ok("scheduler:run_task", uuid=made["uuid"])
    talk.ok("scheduler:finish_run", run_id=run["run_id"], outcome="error", result="no network")
    reply = talk.one({"tool": "scheduler:show_task", "args": {"uuid": made["uuid"]}})
    assert reply["result"]["state"] == "error"
    assert reply["note"].startswith(f"run {run['run_id']} ended as error")
