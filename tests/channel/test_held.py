"""Held tasks: what agents file in a list under review waits for the human (docs: protocol, section 11)."""

import pytest

from tests.conftest import SECOND
from tests.talking import ADD, add, task
from tui_tasks.core.commit.replay import replay
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, Refusal
from tui_tasks.core.journal import chain
from tui_tasks.core.operations.changes import AtVersion, Redo, Undo
from tui_tasks.core.operations.imports import ImportTask
from tui_tasks.core.operations.lists import ClearList, EnsureList, SetListReview
from tui_tasks.core.operations.operation import Operation
from tui_tasks.core.operations.tasks import AcceptTask, AddTask, DeclineTask, DeleteTask, EditTask, JoinTask, MoveTask
from tui_tasks.core.read.tasks import held, queries
from tui_tasks.core.rules.tasks.review_policy import ReviewPolicy
from tui_tasks.core.schema.state_tables import STATE
from tui_tasks.core.store import Store


class Human:
    """The human at the screen."""

    def __init__(self, store: Store, clock) -> None:
        self.store, self.clock = store, clock

    def does(self, *operations: Operation):
        return self.store.commit(*operations, actor="human", now=self.clock())[-1]

    def reviews(self, *names: str) -> None:
        for name in names:
            home = self.does(EnsureList(name, "task"))
            self.does(SetListReview(home.uid, True))


@pytest.fixture
def human(store: Store, clock) -> Human:
    """A human who reviews the three lists of the dialects, and one that is shared."""
    human = Human(store, clock)
    human.reviews("tasklist", "task", "todo", "shared")
    return human


@pytest.fixture(autouse=True)
def replays(store: Store):
    """Every test here ends with a journal that gives the same tables."""
    yield
    assert chain.broken_link(store.db) is None
    with Store(":memory:") as again:
        replay(store.db, again.db)
        for name in STATE:
            query = f"SELECT * FROM {name} ORDER BY 1, 2"
            assert again.db.sql(query).fetchall() == store.db.sql(query).fetchall()


def is_held(error: dict) -> bool:
    return error["code"] == "conflict" and error["data"].get("held") is True


def every_way_to_take_up(uid: str) -> list[tuple[str, dict]]:
    statuses = ("in_progress", "done", "failed", "skipped")
    return [
        *((f"tasklist:set_task_{status}", {"uid": uid}) for status in statuses),
        *(("tasklist:update_task", {"uid": uid, "status": status}) for status in statuses),
        *(
            ("task", {"action": "update", "task_id": uid, "status": status})
            for status in ("in_progress", "completed", "cancelled")
        ),
        ("agent", {"action": "update_task", "task_id": uid, "status": "completed"}),
        *(
            ("tasks", {"action": "update", "id": uid, "status": status})
            for status in ("in_progress", "done", "cancelled")
        ),
        ("update_task", {"id": uid, "status": "done"}),
        ("tasks", {"action": "update", "id": uid, "agent_id": "agent"}),
        ("update_task", {"id": uid, "agent_id": "other"}),
    ]


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
    assert len(held.everything(talk.store.db)) == 7


def test_elsewhere_and_of_others_nothing_is_held(talk, human):
    assert not task(talk, add(talk, list="elsewhere"))["held"]
    (home,) = [found for found in queries.lists(talk.store.db) if found.name == "shared"]
    for actor in ("human", "shell"):
        (made,) = talk.store.commit(AddTask("x", home.uid), actor=actor, now=talk.clock())
        assert not made.held


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
    human.does(AcceptTask(accepted))
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
    human.does(AcceptTask(uids[0]))
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
    assert queries.held_count(talk.store.db, "agent") == 4


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
    human.does(AcceptTask(uid))
    assert talk.ok("control:claim")["task"]["uid"] == uid
    talk.ok("tasklist:set_task_done", uid=uid)
    assert talk.ok("control:claim")["task"]["uid"] == after["id"]


def test_a_held_task_waits_for_the_human_and_for_what_it_depends_on(talk, human):
    first = add(talk, list="elsewhere")
    plan_list = queries.find_list(talk.store.db, "shared")
    (held,) = talk.store.commit(AddTask("held", plan_list.uid, depends_on=(first,)), actor="agent", now=talk.clock())
    assert queries.task(talk.store.db, held.uid).waiting_on == 2
    human.does(AcceptTask(held.uid))
    assert queries.task(talk.store.db, held.uid).waiting_on == 1
    assert task(talk, held.uid)["blocked"]
    talk.ok("tasklist:set_task_done", uid=first)
    assert talk.ok("control:claim")["task"]["uid"] == held.uid


def test_its_dependencies_can_be_changed_while_it_waits(talk, human):
    first, uid = add(talk, list="elsewhere"), add(talk)
    talk.ok("control:subscribe")
    for depends_on, waits in (((first,), 2), ((), 1)):
        talk.store.commit(EditTask(uid, {"depends_on": depends_on}), actor="agent", now=talk.clock())
        assert queries.task(talk.store.db, uid).waiting_on == waits
    assert [event["task"]["blocked"] for event in talk.events()] == [True, True]


def test_the_human_accepts_and_the_agents_hear_it(talk, human):
    uid = add(talk)
    talk.ok("control:subscribe")
    human.does(AcceptTask(uid, version=1))
    (event,) = talk.events()
    assert (event["event"], event["actor"], event["task"]["uid"]) == ("task.accepted", "human", uid)
    assert (event["task"]["held"], event["task"]["blocked"], event["task"]["version"]) == (False, False, 2)
    assert event["changes"] == {"held": [True, False]}
    assert talk.ok("control:claim")["task"]["uid"] == uid


def test_the_human_edits_and_accepts_in_one(talk, human):
    uid = add(talk)
    talk.ok("control:subscribe")
    human.does(AcceptTask(uid, {"name": "smaller", "priority": 1, "agent": "other"}))
    (event,) = talk.events()
    assert event["event"] == "task.accepted"
    assert (event["task"]["name"], event["task"]["priority"], event["task"]["agent"]) == ("smaller", 1, "other")
    assert event["changes"]["name"] == ["task", "smaller"]
    with pytest.raises(InvalidArgument):
        human.does(AcceptTask(add(talk), {"status": "done"}))


def test_what_is_accepted_is_what_was_seen(talk, human):
    uid = add(talk)
    talk.ok("tasklist:update_task", uid=uid, name="rm -rf")
    with pytest.raises(Conflict) as refused:
        human.does(AcceptTask(uid, version=1))
    assert refused.value.data["version"] == 2
    assert task(talk, uid)["held"]


def test_the_human_declines_with_a_reason_and_the_agents_hear_it(talk, human):
    uid = add(talk)
    talk.ok("control:subscribe")
    human.does(DeclineTask(uid, "we have this already"))
    (event,) = talk.events()
    assert (event["event"], event["reason"]) == ("task.declined", "we have this already")
    assert event["changes"] == {"status": ["pending", "cancelled"], "held": [True, False]}
    assert (event["task"]["status"], event["task"]["held"]) == ("cancelled", False)
    assert talk.ok("control:history", limit=1)["entries"] == [event]


def test_no_agent_takes_up_what_the_human_has_declined(talk, other, human):
    uid = add(talk)
    human.does(DeclineTask(uid))
    ways = [*every_way_to_take_up(uid), ("tasklist:set_task_pending", {"uid": uid})]
    for tool, arguments in ways:
        if arguments.get("status") not in ("skipped", "cancelled") and not tool.endswith("skipped"):
            for speaker in (talk, other):
                error = speaker.refused(tool, **arguments)
                assert (error["code"], error["data"]["declined"]) == ("conflict", True), tool
    # The human may think again.
    human.does(EditTask(uid, {"status": "pending"}))
    assert talk.ok("control:claim")["task"]["uid"] == uid


def test_one_is_joined_to_another(talk, other, human):
    kept = add(other, "kept")
    human.does(AcceptTask(kept))
    uid = talk.ok("tasklist:add_task", name="the same", description="in other words")["uid"]
    waits = talk.ok("create_plan", title="p", tasks=[{"title": "after", "depends_on": [uid]}])["tasks"][0]["id"]
    talk.ok("control:subscribe")
    human.does(JoinTask(uid, kept))
    logged, rewired, declined = talk.events()
    assert (logged["event"], logged["task"]["uid"]) == ("task.logged", kept)
    assert "in other words" in logged["log"]["message"]
    assert rewired["changes"]["depends_on"] == [[uid], [kept]]
    assert (declined["event"], declined["task"]["uid"]) == ("task.declined", uid)
    assert kept in declined["reason"]
    assert task(talk, waits)["blocked"]
    talk.ok("tasklist:set_task_done", uid=kept)
    assert not task(talk, waits)["blocked"]
    human.does(Undo())
    assert (task(talk, uid)["held"], task(talk, waits)["depends_on"]) == (True, [uid])
    with pytest.raises(InvalidArgument):
        human.does(JoinTask(uid, uid))


def test_accepting_and_declining_are_the_humans_alone(talk, human):
    uid, home = add(talk), queries.find_list(talk.store.db, "tasklist")
    operations = [AcceptTask(uid), DeclineTask(uid), JoinTask(uid, uid), SetListReview(home.uid, False)]
    for actor in ("agent", "other", "shell", "system"):
        for operation in operations:
            with pytest.raises(Forbidden):
                talk.store.commit(operation, actor=actor, now=talk.clock())
    assert task(talk, uid)["held"]


def test_many_are_accepted_at_once_whole_or_not_at_all(talk, human):
    uids = [add(talk, str(number)) for number in range(5)]
    with pytest.raises(Refusal):
        human.does(*(AcceptTask(uid) for uid in [*uids, uids[0]]))
    assert len(held.everything(talk.store.db)) == 5
    human.does(*(AcceptTask(uid) for uid in uids))
    assert held.everything(talk.store.db) == []
    human.does(Undo())
    assert len(held.everything(talk.store.db)) == 5
    talk.ok("control:subscribe")
    human.does(Redo())
    assert [event["event"] for event in talk.events()] == ["task.accepted"] * 5


def test_to_accept_is_taken_back_only_while_nobody_has_taken_it_up(talk, human):
    uid = add(talk)
    human.does(AcceptTask(uid))
    talk.ok("control:claim")
    with pytest.raises(Conflict):
        human.does(Undo())
    assert not task(talk, uid)["held"]


def test_an_agents_undo_starts_nothing_that_is_held_again(talk, human):
    uid = add(talk)
    human.does(AcceptTask(uid))
    talk.ok("tasklist:set_task_in_progress", uid=uid)
    talk.ok("tasklist:set_task_pending", uid=uid)
    human.does(Undo())
    assert task(talk, uid)["held"]
    assert is_held(talk.refused("control:undo"))
    assert (task(talk, uid)["held"], task(talk, uid)["status"]) == (True, "pending")


def test_the_human_does_not_start_one_by_the_way_either(talk, human):
    uid = add(talk)
    for changes in ({"status": "in_progress"}, {"status": "done"}, {"agent": "other"}):
        with pytest.raises(Conflict):
            human.does(EditTask(uid, changes))
    human.does(EditTask(uid, {"name": "clearer"}))
    assert task(talk, uid)["held"]
    human.does(DeleteTask(uid))


def test_one_that_the_human_moves_stays_as_it_is(talk, human):
    uid, free = add(talk), add(talk, list="elsewhere")
    elsewhere, shared = (queries.find_list(talk.store.db, name).uid for name in ("elsewhere", "shared"))
    human.does(MoveTask(uid, list_uid=elsewhere))
    human.does(MoveTask(free, list_uid=shared))
    assert (task(talk, uid)["held"], task(talk, free)["held"]) == (True, False)
    for operation in (MoveTask(uid, list_uid=shared), MoveTask(add(talk, list="elsewhere"), list_uid=shared)):
        with pytest.raises(Conflict):
            talk.store.commit(operation, actor="agent", now=talk.clock())


def test_what_speaks_from_a_shell_takes_up_nothing_that_is_held(talk, human):
    uid = add(talk)
    for operation in (EditTask(uid, {"status": "done"}), EditTask(uid, {"name": "x"}), DeleteTask(uid)):
        with pytest.raises(Conflict):
            talk.store.commit(operation, actor="shell", now=talk.clock())
    home = queries.find_list(talk.store.db, "tasklist")
    talk.store.commit(ClearList(home.uid), actor="shell", now=talk.clock())
    assert task(talk, uid)["held"]


def test_a_version_that_was_seen_still_guards_a_held_task(talk, human):
    uid = add(talk)
    reply = talk.ask("tasklist:update_task", {"if_version": 9}, uid=uid, name="x")
    assert reply["error"]["code"] == "conflict"
    human.does(AtVersion(uid, 1), AcceptTask(uid))
    talk.clock.forward(SECOND)


def test_an_import_brings_no_deleted_task_into_a_list_under_review_as_if_it_were_accepted(store, clock):
    def do(*operations, actor="agent"):
        return store.commit(*operations, actor=actor, now=clock.forward(1))

    elsewhere, reviewed = do(EnsureList("elsewhere", "task"), EnsureList("reviewed", "task"))
    (task,) = do(AddTask("Slip in", elsewhere.uid))
    do(SetListReview(reviewed.uid, True), actor="human")
    do(DeleteTask(task.uid))
    for fields in ({"name": "Slip in"}, {"name": "Slip in", "status": "in_progress"}):
        with pytest.raises(Conflict) as refused:
            do(ImportTask(task.uid, reviewed.uid, fields))
        assert refused.value.data["held"]
    assert queries.any_task(store.db, task.uid).deleted
