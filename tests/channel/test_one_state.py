"""One state under every dialect (docs: protocol, sections 4 and 5), and what sections 2 and 3 fix for all of them."""

import json

import pytest

from tests.conftest import Talk
from tests.talking import ADD
from tui_tasks.core.errors import Conflict
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations.tasks import EditTask, SetListRule
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store

# The table of section 4: state, then the word of each dialect.
TABLE = {
    "pending": ("pending", "open", "pending", "pending"),
    "in_progress": ("in_progress", "in_progress", "in_progress", "in_progress"),
    "done": ("done", "completed", "completed", "done"),
    "failed": ("failed", "cancelled", "cancelled", "cancelled"),
    "skipped": ("skipped", "cancelled", "cancelled", "cancelled"),
    "cancelled": ("skipped", "cancelled", "cancelled", "cancelled"),
}


def board(talk: Talk, action: str, envelope: dict | None = None, **arguments) -> dict:
    """What `task` says, as structure."""
    return talk.ok("task", envelope, action=action, **arguments)["structuredContent"]


def add(talk: Talk, name: str = "task", **envelope) -> str:
    return talk.ok(ADD, envelope, name=name)["uid"]


def plan(talk: Talk, *tasks: dict) -> list[dict]:
    return talk.ok("tasks", action="create_plan", title="Plan", tasks=json.dumps(tasks))["tasks"]


def state(talk: Talk, uid: str) -> dict:
    return talk.ok("control:task", uid=uid)


def force(talk: Talk, uid: str, **changes) -> None:
    """What the human sets by hand."""
    talk.store.commit(EditTask(uid, changes), actor="human", now=talk.clock())


# Statuses


@pytest.mark.parametrize("status", TABLE)
def test_each_dialect_shows_a_status_in_its_own_word_and_writing_that_back_changes_nothing(talk, status):
    of_tasklist, of_task, of_todo, of_tasks = TABLE[status]
    talk.ok("todo", merge=False, todos=[{"id": i, "content": i, "status": "pending"} for i in ("a", "b")])
    (uid,) = [task.uid for task in tasks_of(talk, "todo") if task.key == "a"]
    force(talk, uid, status=status)
    seq = talk.seq()

    assert talk.ok("tasklist:get_task", uid=uid)["status"] == of_tasklist
    assert talk.ok("tasklist:update_task", uid=uid, status=of_tasklist)["status"] == of_tasklist
    assert board(talk, "update", task_id=uid, status=of_task)["task"]["status"] == of_task
    assert talk.ok("tasks", action="update", id=uid, status=of_tasks)["status"] == of_tasks
    todos = [{"id": "a", "content": "a", "status": of_todo}, {"id": "b", "content": "b", "status": "pending"}]
    assert talk.ok("todo", merge=True, todos=todos)["todos"] == todos
    assert state(talk, uid)["status"] == status
    assert talk.seq() == seq


def tasks_of(talk: Talk, name: str) -> list:
    return task_queries.tasks(talk.store.db, task_queries.find_list(talk.store.db, name).id)


@pytest.mark.parametrize(
    ("tool", "written"),
    [
        ("tasklist:update_task", {"pending": "pending", "in_progress": "in_progress", "done": "done"}),
        ("tasklist:update_task", {"failed": "failed", "skipped": "skipped"}),
        ("task", {"open": "pending", "in_progress": "in_progress", "completed": "done", "cancelled": "cancelled"}),
        ("tasks", {"pending": "pending", "in_progress": "in_progress", "done": "done", "cancelled": "cancelled"}),
    ],
)
def test_a_word_that_was_not_shown_sets_the_status_it_stands_for(talk, tool, written):
    named = {"tasklist:update_task": "uid", "task": "task_id", "tasks": "id"}[tool]
    action = {} if tool == "tasklist:update_task" else {"action": "update"}
    uid = add(talk)
    for word, status in written.items():
        force(talk, uid, status="done" if status == "pending" else "pending")
        talk.ok(tool, **action, **{named: uid}, status=word)
        assert state(talk, uid)["status"] == status


@pytest.mark.parametrize(
    ("tool", "arguments", "argument"),
    [
        ("tasklist:update_task", {"status": "completed"}, "status"),
        ("task", {"action": "update", "status": "done"}, "status"),
        ("task", {"action": "update", "status": "pending"}, "status"),
        ("tasks", {"action": "update", "status": "completed"}, "status"),
        ("tasks", {"action": "update", "status": "failed"}, "status"),
        ("task", {"action": "update", "priority": "highest"}, "priority"),
        ("task", {"action": "remove"}, "action"),
        ("tasks", {"action": "delete"}, "action"),
    ],
)
def test_a_word_of_another_vocabulary_is_refused_by_its_path(talk, tool, arguments, argument):
    named = {"tasklist:update_task": "uid", "task": "task_id", "tasks": "id"}[tool]
    error = talk.refused(tool, **arguments, **{named: add(talk)})
    assert (error["code"], error["data"]["argument"]) == ("invalid_argument", argument)


def test_a_word_of_another_vocabulary_deep_in_a_list_is_refused_by_its_path(talk):
    todos = [{"id": "1", "content": "a", "status": "pending"}, {"id": "2", "content": "b", "status": "done"}]
    for given in (todos, json.dumps(todos)):
        error = talk.refused("todo", merge=False, todos=given)
        assert (error["code"], error["data"]["argument"]) == ("invalid_argument", "todos[1].status")


# One id


def test_tasklist_task_and_tasks_read_and_write_any_task_by_its_uid(talk):
    created = board(talk, "create", title="in task")["task"]["task_id"]
    (planned,) = plan(talk, {"title": "in a plan"})
    added = add(talk, "in tasklist")
    for uid in (created, planned["id"], added):
        assert talk.ok("tasklist:get_task", uid=uid)["uid"] == uid
        assert board(talk, "update", task_id=uid, domain="web")["task"]["task_id"] == uid
        assert talk.ok("tasks", action="update", id=uid, intent="looking at it")["id"] == uid
        assert talk.ok("tasks", action="get_state", task_id=uid) is None
        shown = state(talk, uid)
        assert (shown["uid"], shown["domain"], shown["intent"]) == (uid, "web", "looking at it")
    assert [state(talk, uid)["list"] for uid in (created, added)] == ["task", "tasklist"]
    assert state(talk, planned["id"])["list"] == planned["plan_id"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("task", {"action": "update", "task_id": "none", "status": "open"}),
        ("tasks", {"action": "update", "id": "none", "status": "done"}),
        ("tasks", {"action": "save_state", "task_id": "none", "approach": "x"}),
        ("tasks", {"action": "get_state", "task_id": "none"}),
        ("tasks", {"action": "link_nodes", "task_id": "none", "node_ids": ["n"]}),
        ("tasks", {"action": "pending", "plan_id": "none"}),
    ],
)
def test_an_id_that_nothing_has_is_not_found(talk, tool, arguments):
    error = talk.refused(tool, **arguments)
    assert (error["code"], error["data"]["id"]) == ("not_found", "none")


def test_todo_ids_are_the_callers_in_that_list_alone_and_a_task_made_elsewhere_shows_its_uid(talk):
    foreign = add(talk, "made by tasklist", list="todo")
    todos = [{"id": "1", "content": "mine", "status": "pending"}, {"id": "2", "content": "too", "status": "pending"}]
    shown = talk.ok("todo", merge=True, todos=todos)["todos"]
    assert [item["id"] for item in shown] == [foreign, "1", "2"]
    changed = [{"id": foreign, "content": "renamed", "status": "completed"}, todos[0]]
    assert talk.ok("todo", merge=True, todos=changed)["todos"][0] == changed[0]
    assert (state(talk, foreign)["name"], state(talk, foreign)["status"]) == ("renamed", "done")
    assert talk.ok("tasklist:get_task", uid="1")["uid"] == foreign, "to other tools, digits are a number"
    keys = [state(talk, task.uid)["key"] for task in tasks_of(talk, "todo")]
    assert keys == [None, "1", "2"]


# Priority


@pytest.mark.parametrize(
    ("number", "word"), [(1, "urgent"), (2, "high"), (3, "medium"), (4, "low"), (5, "low"), (99, "low")]
)
def test_priority_is_one_scale_and_a_low_written_over_a_lower_one_leaves_it(talk, number, word):
    (task,) = plan(talk, {"title": "t", "priority": number})
    assert task["priority"] == number
    seq = talk.seq()
    assert board(talk, "update", task_id=task["id"], priority=word)["task"]["priority"] == word
    assert talk.seq() == seq
    assert state(talk, task["id"])["priority"] == number


def test_a_word_sets_the_number_and_medium_is_the_default(talk):
    uid = board(talk, "create", title="t")["task"]["task_id"]
    assert state(talk, uid)["priority"] == 3
    for word, number in (("urgent", 1), ("low", 4), ("high", 2), ("medium", 3)):
        board(talk, "update", task_id=uid, priority=word)
        assert state(talk, uid)["priority"] == number
    assert plan(talk, {"title": "t"})[0]["priority"] == 3


# Log entries and notes


def test_a_note_and_a_log_entry_are_the_same_thing(talk):
    uid = add(talk)
    talk.ok("tasklist:log_task_progress", uid=uid, message="by tasklist")
    talk.ok("tasks", action="update", id=uid, notes="by tasks")
    entries = talk.ok("tasklist:get_task_logs", uid=uid)
    assert [entry["message"] for entry in entries] == ["by tasklist", "by tasks"]
    assert [entry["event"] for entry in talk.ok("control:history", task=uid)["entries"][1:]] == ["task.logged"] * 2


# Lists


def test_each_dialect_works_on_its_own_list(talk):
    add(talk, "of tasklist")
    board(talk, "create", title="of task")
    todos = [{"id": i, "content": f"todo {i}", "status": "pending"} for i in "12"]
    talk.ok("todo", merge=False, todos=todos)
    plan(talk, {"title": "of a plan"})
    assert [task["name"] for task in talk.ok("tasklist:display")] == ["of tasklist"]
    assert [task["title"] for task in board(talk, "list")["tasks"]] == ["of task"]
    assert board(talk, "list")["total"] == 1
    assert talk.ok("todo", merge=True, todos=todos)["todos"] == todos
    (shown,) = talk.ok("tasks", action="list_plans")["plans"]
    assert shown["total"] == 1
    assert talk.ok("tasklist:clear") == {"deleted": 1}
    talk.ok("todo", merge=False, todos=[{"id": i, "content": i, "status": "pending"} for i in "34"])
    assert board(talk, "list")["total"] == 1
    assert [item.key for item in tasks_of(talk, "todo")] == ["3", "4"]


def test_a_channel_that_is_bound_to_a_list_binds_every_dialect_to_it(store, clock):
    talk = Talk(store, clock, list="shared")
    uid = add(talk, "one")
    board(talk, "create", title="two")
    talk.ok("todo", merge=True, todos=[{"id": i, "content": i, "status": "pending"} for i in ("three", "four")])
    names = ["one", "two", "three", "four"]
    assert [task["name"] for task in talk.ok("tasklist:display")] == names
    assert {task["title"] for task in board(talk, "list")["tasks"]} == set(names)
    assert talk.ok("control:claim")["task"]["uid"] == uid
    for name in ("tasklist", "task", "todo"):
        assert tasks_of(talk, name) == []


@pytest.mark.parametrize("home", ["tasklist", "made by tasklist"])
def test_one_in_progress_holds_whichever_dialect_sets_it(talk, home):
    envelope = {"list": home}
    first, second = add(talk, "first", **envelope), add(talk, "second", **envelope)
    board(talk, "update", task_id=first, status="in_progress")
    seq = talk.seq()
    doing = {"id": second, "content": "second", "status": "in_progress"}
    for tool, arguments in (
        ("tasklist:set_task_in_progress", {"uid": second}),
        ("tasklist:update_task", {"uid": second, "status": "in_progress"}),
        ("task", {"action": "update", "task_id": second, "status": "in_progress"}),
        ("task", {"action": "create", "title": "third", "status": "in_progress"}),
        ("tasks", {"action": "update", "id": second, "status": "in_progress"}),
        ("update_task", {"id": second, "status": "in_progress"}),
        ("todo", {"merge": True, "todos": [doing, {"id": first, "content": "first"}]}),
        ("todo", {"merge": True, "todos": [doing, {"id": "new", "content": "new", "status": "pending"}]}),
        ("todo", {"merge": False, "todos": [doing, {"id": "new", "content": "new", "status": "in_progress"}]}),
    ):
        error = talk.refused(tool, envelope, **arguments)
        assert error["code"] == "conflict", (tool, arguments)
        assert error["data"]["in_progress"] in (first, second), (tool, error)
    assert talk.ok("control:claim", list=home) is None
    assert talk.seq() == seq


def test_one_in_progress_is_one_for_each_agent_whichever_dialect_sets_it(talk, store, clock):
    """A task counts for its agent, else for whoever set it, and the human's start for the human."""
    other = Talk(store, clock, agent="other")
    mine, others, humans, spare = (add(talk, name) for name in ("mine", "other's", "human's", "spare"))
    talk.ok("tasklist:set_task_in_progress", uid=mine)
    other.ok("tasks", action="update", id=others, status="in_progress")
    (task,) = store.commit(EditTask(humans, {"status": "in_progress"}), actor="human", now=clock())
    assert task.status == "in_progress"
    for speaker, first in ((talk, mine), (other, others)):
        assert speaker.refused("tasklist:set_task_in_progress", uid=spare)["data"] == {"in_progress": first}
        assert speaker.ok("control:claim", list="tasklist") is None
    with pytest.raises(Conflict) as refused:
        store.commit(EditTask(spare, {"status": "in_progress"}), actor="human", now=clock())
    assert refused.value.data == {"in_progress": humans}
    # Whoever leaves a note on a task has not set it in progress.
    other.ok("tasklist:log_task_progress", uid=mine, message="I looked at it")
    assert talk.refused("tasklist:set_task_in_progress", uid=spare)["data"] == {"in_progress": mine}


def test_a_task_that_is_assigned_while_in_progress_counts_for_its_new_agent(talk, store, clock):
    other = Talk(store, clock, agent="other")
    mine, others = add(talk, "mine"), add(talk, "other's")
    talk.ok("tasklist:set_task_in_progress", uid=mine)
    other.ok("tasklist:set_task_in_progress", uid=others)
    assert talk.refused("tasks", action="update", id=mine, agent_id="other")["data"] == {"in_progress": others}
    other.ok("tasklist:set_task_done", uid=others)
    talk.ok("tasks", action="update", id=mine, agent_id="other")
    third = add(talk, "third")
    assert other.refused("tasklist:set_task_in_progress", uid=third)["data"] == {"in_progress": mine}
    talk.ok("tasklist:set_task_in_progress", uid=third)


def test_the_task_in_progress_is_the_callers_own_else_one_that_no_other_agent_has(talk, store, clock):
    other = Talk(store, clock, agent="other")
    mine, others, humans = (add(talk, name) for name in ("mine", "other's", "human's"))
    shown = "tasklist:get_task_in_progress"
    other.ok("tasklist:set_task_in_progress", uid=others)
    assert talk.ok(shown) is None
    store.commit(EditTask(humans, {"status": "in_progress"}), actor="human", now=clock())
    assert talk.ok(shown)["uid"] == humans
    assert other.ok(shown)["uid"] == others
    talk.ok("tasklist:set_task_in_progress", uid=mine)
    assert talk.ok(shown)["uid"] == mine


def test_an_undo_sets_no_second_task_of_an_agent_in_progress(talk, store, clock):
    other = Talk(store, clock, agent="other")
    first, second, third = (add(talk, name) for name in "abc")
    talk.ok("tasklist:set_task_in_progress", uid=first)
    talk.ok("tasklist:set_task_done", uid=first)
    other.ok("tasklist:set_task_in_progress", uid=third)
    talk.ok("control:undo")
    assert talk.refused("tasklist:set_task_in_progress", uid=second)["data"] == {"in_progress": first}
    talk.ok("tasklist:set_task_done", uid=first)
    store.commit(EditTask(second, {"status": "in_progress", "agent": "agent"}), actor="human", now=clock())
    assert talk.refused("control:undo")["data"] == {"in_progress": second}
    tables = {name: store.db.sql(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in ("task", "list")}
    with Store(":memory:") as copy:
        replay(store.db, copy.db)
        assert {name: copy.db.sql(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in tables} == tables


def test_the_rule_is_given_to_no_list_in_which_an_agent_has_several_in_progress(talk, store, clock):
    other = Talk(store, clock, agent="other")
    made = [board(talk, "create", {"list": "free"}, title=name)["task"]["task_id"] for name in "abc"]
    for speaker, uid in ((talk, made[0]), (other, made[1]), (other, made[2])):
        speaker.ok("tasklist:set_task_in_progress", uid=uid)
    home = task_queries.find_list(store.db, "free")
    with pytest.raises(Conflict, match='task #2 "b" and task #3 "c" of free are both in progress for other') as refused:
        store.commit(SetListRule(home.uid, True), actor="human", now=clock())
    assert refused.value.data == {"in_progress": made[1]}
    other.ok("tasklist:set_task_done", uid=made[2])
    assert store.commit(SetListRule(home.uid, True), actor="human", now=clock())[0].one_in_progress


def test_a_todo_that_hands_over_what_is_in_progress_keeps_the_rule(talk):
    envelope = {"list": "mine"}
    first, second = add(talk, "first", **envelope), add(talk, "second", **envelope)
    talk.ok("tasklist:set_task_in_progress", uid=first)
    for done, doing in ((first, second), (second, first)):
        todos = [{"id": doing, "status": "in_progress"}, {"id": done, "status": "completed"}]
        talk.ok("todo", envelope, merge=True, todos=todos)
        assert talk.ok("tasklist:get_task_in_progress", envelope)["uid"] == doing


def test_a_list_made_by_another_dialect_has_no_such_limit(talk):
    for _ in range(2):
        board(talk, "create", title="t", status="in_progress")
    for _ in range(2):
        board(talk, "create", {"list": "free"}, title="t", status="in_progress")
    assert len(plan(talk, {"title": "a"}, {"title": "b"})) == 2
    for task in talk.ok("tasks", action="pending")["tasks"]:
        talk.ok("tasks", action="update", id=task["id"], status="in_progress")
    todos = [{"id": i, "content": i, "status": "in_progress"} for i in "12"]
    assert talk.ok("todo", merge=False, todos=todos)["success"]


# What is fixed for every dialect


def test_lists_and_objects_may_come_as_strings_that_hold_them(talk):
    created = board(talk, "create", title="t", tags='["a", "b"]', metadata='{"k": [1]}')["task"]
    assert (created["tags"], created["metadata"]) == (["a", "b"], {"k": [1]})
    assert board(talk, "update", task_id=created["task_id"], tags="one")["task"]["tags"] == ["one"]
    linked = talk.ok("tasks", action="link_nodes", task_id=created["task_id"], node_ids="['n1', \"n2\"]")
    assert linked["node_ids"] == ["n1", "n2"]
    saved = talk.ok("tasks", action="save_state", task_id=created["task_id"], blockers='["b"]', decisions=["d"])
    assert (saved["blockers"], saved["decisions"]) == (["b"], ["d"])


def test_refusals_carry_the_dialects_own_form_too(talk):
    reply = talk.ask("task", action="update", task_id="none", status="open")
    assert reply["error"]["code"] == "not_found"
    assert reply["result"]["isError"] is True
    assert reply["result"]["content"][0]["type"] == "text"
    reply = talk.ask("todo", merge=False, todos=[])
    assert reply["error"]["code"] == "invalid_argument"
    assert (reply["result"]["success"], bool(reply["result"]["error"])) == (False, True)
    assert "result" not in talk.ask("tasklist:get_task", uid="none")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("task", {"action": "update", "task_id": "u", "domain": "web"}),
        ("tasks", {"action": "update", "id": "u", "notes": "n"}),
        ("tasks", {"action": "save_state", "task_id": "u", "approach": "a"}),
        ("tasks", {"action": "link_nodes", "task_id": "u", "node_ids": ["n"]}),
        ("update_task", {"id": "u", "status": "done"}),
        ("save_session_state", {"task_id": "u", "approach": "a"}),
        ("link_task_nodes", {"task_id": "u", "node_ids": ["n"]}),
    ],
)
def test_if_version_goes_with_every_dialects_write_to_one_task(talk, tool, arguments):
    uid = add(talk)
    arguments = {name: uid if value == "u" else value for name, value in arguments.items()}
    error = talk.refused(tool, {"if_version": 7}, **arguments)
    assert (error["code"], error["data"]["version"]) == ("conflict", 1)
    talk.ok(tool, {"if_version": 1}, **arguments)
    assert state(talk, uid)["version"] == 2


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("task", {"action": "create", "title": "t"}),
        ("task", {"action": "list"}),
        ("tasks", {"action": "pending"}),
        ("tasks", {"action": "create_plan", "title": "t", "tasks": []}),
        ("tasks", {"action": "get_state", "task_id": "u"}),
        ("todo", {"merge": True, "todos": [{"id": i, "content": i, "status": "pending"} for i in "12"]}),
        ("memory", {"action": "list"}),
    ],
)
def test_if_version_with_what_changes_no_one_named_task_is_an_invalid_request(talk, tool, arguments):
    uid = add(talk)
    arguments = {name: uid if value == "u" else value for name, value in arguments.items()}
    assert talk.refused(tool, {"if_version": 1}, **arguments)["code"] == "invalid_request"


def test_every_dialects_changes_are_events_by_their_names(talk):
    talk.ok("control:subscribe")
    (task,) = plan(talk, {"title": "t"})
    uid = task["id"]
    talk.ok("tasks", action="save_state", task_id=uid, approach="a")
    talk.ok("tasks", action="link_nodes", task_id=uid, node_ids=["n"])
    board(talk, "update", task_id=uid, status="completed", result={"summary": "s"})
    add(talk, "t", list="new")
    job = {"name": "j", "system_prompt": "s", "prompt": "p"}
    talk.ok("scheduler:create_adhoc_task", **job)
    kinds = [event["event"] for event in talk.events()]
    assert kinds == [
        *("list.created", "task.created", "state.saved", "task.linked", "task.updated", "memory.saved"),
        *("list.created", "task.created", "job.created"),
    ]


def test_a_write_that_changes_one_task_raises_its_version_by_one_whatever_it_touches(talk):
    (task,) = plan(talk, {"title": "t"})
    uid = task["id"]
    talk.ok("tasks", action="update", id=uid, status="in_progress", notes="n", intent="i", agent_id="a")
    assert state(talk, uid)["version"] == 2
    board(talk, "update", task_id=uid, status="completed", result={"r": 1}, tags=["x"], domain="d", title="new")
    assert state(talk, uid)["version"] == 3
    talk.ok("tasks", action="save_state", task_id=uid, approach="a", blockers=["b"])
    assert state(talk, uid)["version"] == 4


@pytest.mark.parametrize("seed", ["task", "todo", "tasks"])
def test_undo_takes_back_what_any_dialect_did(talk, path, clock, seed):
    todos = [{"id": i, "content": i, "status": "pending"} for i in "12"]
    talk.ok("todo", merge=False, todos=todos)
    uid = board(talk, "create", title="t", tags=["a"])["task"]["task_id"]
    before = everything(talk)
    if seed == "task":
        board(talk, "update", task_id=uid, status="completed", result={"r": 1}, tags=["b"], priority="low")
    elif seed == "todo":
        changed = [{"id": i, "content": "new", "status": "completed"} for i in "23"]
        talk.ok("todo", merge=False, todos=changed)
    else:
        plan(talk, {"title": "a"}, {"title": "b", "depends_on": [uid]})
    assert everything(talk) != before
    talk.ok("control:undo")
    assert everything(talk) == before
    with Store(str(path), read_only=True) as other:
        assert everything(Talk(other, clock, read_only=True)) == before


def everything(talk: Talk) -> list:
    """What can be seen of every list and every memory, versions and times of change apart."""
    seen: list = [talk.ok("memory", action="list")["total"]]
    for home in task_queries.lists(talk.store.db):
        seen.append(home.name)
        for task in task_queries.tasks(talk.store.db, home.id):
            shown = state(talk, task.uid)
            seen.append({name: shown[name] for name in shown if name not in ("version", "updated_at")})
    return seen
