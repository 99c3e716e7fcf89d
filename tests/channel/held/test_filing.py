"""What agents file in a list under review is held: nobody takes it up (docs: protocol, section 11)."""

import pytest

from tests.channel.held.reviewing import every_way_to_take_up, is_held
from tests.talking import ADD, add, task
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import AcceptTask, AddTask, DeclineTask, EditTask
from tui_tasks.core.read.tasks import held_queries, task_queries
from tui_tasks.core.rules.recorded_settings import ReviewPolicy


def test_what_an_agent_files_in_a_list_under_review_is_held(talk, human):
    talk.ok("control:subscribe")
    uid = add(talk, "wanted by nobody")
    found = task(talk, uid)
    assert (found["held"], found["blocked"], found["status"]) == (True, True, "pending")
    (event,) = talk.events()
    assert (event["event"], event["task"]["held"], event["task"]["blocked"]) == ("task.created", True, True)
    # In the dialects it reads as ever.
    assert talk.ok("tasklist:get_task", uid=uid) == {
        "uid": uid,
        "name": "wanted by nobody",
        "description": "",
        "status": "pending",
    }
    assert [one["blocked"] for one in talk.ok("tasks", action="pending")["tasks"]] == [True]


def test_every_dialect_files_held_tasks(talk, human):
    todos = [{"id": str(number), "content": "item", "status": "pending"} for number in range(2)]
    talk.ok("todo", merge=False, todos=todos)
    talk.ok("task", action="create", title="x")
    talk.ok("agent", action="create_task", title="x")
    first = add(talk)
    talk.ok("tasklist:add_task_before", uid=first, name="before")
    talk.ok("tasklist:add_task_after", uid=first, name="after")
    assert len(held_queries.everything(talk.store.db)) == 7


def test_elsewhere_and_of_others_nothing_is_held(talk, human):
    assert not task(talk, add(talk, list="elsewhere"))["held"]
    (home,) = [found for found in task_queries.lists(talk.store.db) if found.name == "shared"]
    talk.store.is_person = lambda db: True
    for actor in ("human", "shell"):
        (made,) = talk.store.commit(AddTask("x", home.uid), actor=actor, now=talk.clock())
        assert not made.held


ALIKE = (
    "ideas",
    "IDEAS",
    "Ideas ",
    "Ide\u200bas",
    "\uff29\uff44\uff45\uff41\uff53",
    "Ide\u0430s",
    "ldeas",
    "\u0406deas",
)


@pytest.mark.parametrize("name", ALIKE, ids=ascii)
@pytest.mark.parametrize("by_settings", [False, True], ids=["screen", "settings"])
def test_a_list_whose_name_looks_like_that_of_a_list_under_review_is_under_the_same_review(
    talk, human, name, by_settings
):
    before = add(talk, list=name)
    assert not task(talk, before)["held"]
    if by_settings:
        talk.store.review = lambda: ReviewPolicy(("Ideas",))
    else:
        human.reviews("Ideas")
    uid = add(talk, list=name)
    assert task(talk, uid)["held"]
    assert is_held(talk.refused("tasklist:set_task_in_progress", uid=uid))
    assert is_held(talk.refused("control:update_task", uid=add(talk, list="Ideals"), list=name))


def test_what_a_shell_files_is_held_where_no_person_is_at_its_terminal(talk, human):
    (home,) = [found for found in task_queries.lists(talk.store.db) if found.name == "shared"]
    (made,) = talk.store.commit(AddTask("x", home.uid), actor="shell", now=talk.clock())
    assert made.held
    with pytest.raises(Conflict):
        talk.store.commit(AddTask("x", home.uid, status="done"), actor="shell", now=talk.clock())


def test_no_dialect_takes_up_what_is_held(talk, other, human):
    uid = add(talk)
    for tool, arguments in every_way_to_take_up(uid):
        for speaker in (talk, other):
            assert is_held(speaker.refused(tool, **arguments)), (tool, arguments)
    for speaker in (talk, other):
        assert speaker.ok("control:claim") is None
        assert speaker.ok("control:claim", list="tasklist") is None
        assert speaker.ok("tasks", action="pending", suggest_next=True)["suggested_next"] is None
        assert speaker.ok("get_my_tasks", suggest_next=True)["suggested_next"] is None
    assert task(talk, uid)["version"] == 1


def test_to_write_back_what_is_shown_is_no_change(talk, other, human):
    uid = add(talk)
    assert talk.ok("tasklist:set_task_pending", uid=uid)["status"] == "pending"
    assert other.ok("tasks", action="update", id=uid, status="pending")["status"] == "pending"


def test_one_made_with_another_status_is_refused_and_nothing_is_written(talk, human):
    before = talk.seq()
    for status in ("in_progress", "completed", "cancelled"):
        assert is_held(talk.refused("task", action="create", title="x", status=status))
        todos = [{"id": "1", "content": "x", "status": "pending"}, {"id": "2", "content": "y", "status": status}]
        assert is_held(talk.refused("todo", merge=False, todos=todos))
        assert is_held(talk.refused("todo", merge=True, todos=todos))
    assert talk.seq() == before


def test_a_batch_can_not_take_up_what_it_files(talk, human):
    replies = talk.one(
        [
            {"tool": ADD, "arguments": {"name": "one"}},
            {"tool": "tasklist:set_task_in_progress", "arguments": {"uid": "#1"}},
        ]
    )
    assert [reply["error"]["code"] for reply in replies] == ["conflict", "conflict"]
    assert talk.ok("tasklist:display") == []


def test_its_maker_edits_its_words_and_another_agent_does_not(talk, other, human):
    uid = add(talk)
    edits = [
        ("tasklist:update_task", {"uid": uid, "name": "better", "description": "more"}),
        ("task", {"action": "update", "task_id": uid, "title": "best", "priority": "high", "tags": ["a"]}),
        ("control:update_task", {"uid": uid, "estimate": 5}),
        ("tasks", {"action": "update", "id": uid, "intent": "mine"}),
    ]
    for tool, arguments in edits:
        assert is_held(other.refused(tool, **arguments)), tool
        talk.ok(tool, **arguments)
    assert (task(talk, uid)["name"], task(talk, uid)["held"]) == ("best", True)
    # What is said about it is not its words.
    other.ok("tasklist:log_task_progress", uid=uid, message="I would not")


def test_its_maker_deletes_it_and_another_agent_does_not(talk, other, human):
    uid = add(talk)
    assert is_held(other.refused("tasklist:delete_task", uid=uid))
    talk.ok("tasklist:delete_task", uid=uid)
    talk.ok("control:undo")
    assert task(talk, uid)["held"]


def test_clear_takes_the_makers_own_and_leaves_those_of_others(talk, other, human):
    mine, theirs = add(talk), add(other)
    accepted = add(other)
    human.does(AcceptTask(accepted, 1))
    assert talk.ok("tasklist:clear") == {"deleted": 2}
    assert [found["uid"] for found in talk.ok("tasklist:display")] == [theirs]
    assert talk.refused("control:task", uid=mine)["code"] == "not_found"


def test_replacing_a_list_leaves_what_others_have_filed(talk, other, human):
    items = [{"id": name, "content": name, "status": "pending"} for name in ("a", "b")]
    other.ok("todo", merge=False, todos=items)
    mine = [{"id": name, "content": name, "status": "pending"} for name in ("c", "d")]
    talk.ok("todo", merge=False, todos=mine)
    shown = talk.ok("todo", merge=False, todos=[mine[0], {**mine[1], "id": "e"}])["todos"]
    assert {item["id"] for item in shown} == {"a", "b", "c", "e"}
    assert is_held(talk.refused("todo", merge=True, todos=[mine[0], {"id": "a", "content": "mine now"}]))


def test_a_merge_takes_up_nothing_that_is_held(talk, human):
    items = [{"id": name, "content": name, "status": "pending"} for name in ("a", "b")]
    talk.ok("todo", merge=False, todos=items)
    for status in ("in_progress", "completed", "cancelled"):
        for merge in (False, True):
            todos = [{**items[0], "status": status}, items[1]]
            assert is_held(talk.refused("todo", merge=merge, todos=todos))


def test_an_agent_has_25_held_tasks_at_the_most(talk, other, human):
    uids = [add(talk, str(number)) for number in range(25)]
    error = talk.refused(ADD, name="one more")
    assert (error["code"], error["data"]["limit"]) == ("conflict", 25)
    # The limit is each agent's own, of all lists, and counts what waits alone.
    add(other)
    assert is_held(talk.refused(ADD, {"list": "shared"}, name="elsewhere"))
    human.does(AcceptTask(uids[0], 1))
    human.does(DeclineTask(uids[1], "no"))
    talk.ok("tasklist:delete_task", uid=uids[2])
    for number in range(3):
        add(talk, f"again {number}")
    assert is_held(talk.refused(ADD, name="one more"))


def test_nothing_that_was_deleted_comes_back_over_the_limit(talk, human):
    human.store.review = lambda: ReviewPolicy(limit=2)
    for _ in range(2):
        add(talk)
    talk.ok("tasklist:clear")
    cleared = Undo(talk.seq() - 1)
    for _ in range(2):
        add(talk)
    with pytest.raises(Conflict) as refused:
        talk.store.commit(cleared, actor="agent", now=talk.clock())
    assert refused.value.data == {"held": True, "limit": 2}
    human.does(cleared)
    assert task_queries.held_count(talk.store.db, "agent") == 4


def test_the_configuration_names_lists_and_the_limit(talk, store):
    store.review = lambda: ReviewPolicy(("tasklist", "Sprint"), 1)
    assert task(talk, add(talk))["held"]
    assert is_held(talk.refused(ADD, name="one more"))
    # A plan is named by its title, too.
    assert is_held(talk.refused("create_plan", title="Sprint", tasks=[{"title": "x"}]))
    # No other list is under review.
    assert not task(talk, add(talk, list="elsewhere"))["held"]
    plan = talk.ok("create_plan", title="another", tasks=[{"title": "x"}])
    assert not task(talk, plan["tasks"][0]["id"])["held"]


@pytest.mark.parametrize("names_plan", [True, False], ids=["by its id", "by a star"])
def test_the_configuration_names_a_plan(talk, store, names_plan):
    plan = talk.ok("create_plan", title="Sprint", tasks=[])
    store.review = lambda: ReviewPolicy((plan["plan_id"] if names_plan else "*",), 9)
    assert task(talk, add(talk, list=plan["plan_id"]))["held"]
    assert task(talk, add(talk))["held"] is not names_plan


def test_tasks_that_depend_on_a_held_one_wait_for_it(talk, human):
    uid = add(talk)
    plan = talk.ok("create_plan", title="p", tasks=[{"title": "after", "depends_on": [uid]}])
    (after,) = plan["tasks"]
    assert after["blocked"]
    assert talk.ok("control:claim") is None
    human.does(AcceptTask(uid, 1))
    assert talk.ok("control:claim")["task"]["uid"] == uid
    talk.ok("tasklist:set_task_done", uid=uid)
    assert talk.ok("control:claim")["task"]["uid"] == after["id"]


def test_a_held_task_waits_for_the_human_and_for_what_it_depends_on(talk, human):
    first = add(talk, list="elsewhere")
    plan_list = task_queries.find_list(talk.store.db, "shared")
    (held,) = talk.store.commit(AddTask("held", plan_list.uid, depends_on=(first,)), actor="agent", now=talk.clock())
    assert task_queries.task(talk.store.db, held.uid).waiting_on == 2
    human.does(AcceptTask(held.uid, 1))
    assert task_queries.task(talk.store.db, held.uid).waiting_on == 1
    assert task(talk, held.uid)["blocked"]
    talk.ok("tasklist:set_task_done", uid=first)
    assert talk.ok("control:claim")["task"]["uid"] == held.uid


def test_its_dependencies_can_be_changed_while_it_waits(talk, human):
    first, uid = add(talk, list="elsewhere"), add(talk)
    talk.ok("control:subscribe")
    for depends_on, waits in (((first,), 2), ((), 1)):
        talk.store.commit(EditTask(uid, {"depends_on": depends_on}), actor="agent", now=talk.clock())
        assert task_queries.task(talk.store.db, uid).waiting_on == waits
    assert [event["task"]["blocked"] for event in talk.events()] == [True, True]
