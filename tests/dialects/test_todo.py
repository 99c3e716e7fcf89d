"""`todo` (seed 002; docs: protocol, section 6)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Clock, Talk
from tests.todo_tool.calls import SEED_CREATE, item
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.tasks import AddTask, EditTask, MoveTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests.arguments import schema
from tui_tasks.dialects.todo import TODO


def replace(talk: Talk, *items: dict) -> list[dict]:
    return talk.ok("todo", merge=False, todos=list(items))["todos"]


def merge(talk: Talk, *items: dict) -> list[dict]:
    return talk.ok("todo", merge=True, todos=list(items))["todos"]


def ids(todos: list[dict]) -> list[str]:
    return [todo["id"] for todo in todos]


def uids(talk: Talk, store: Store, name: str = "todo") -> dict[str, str]:
    """The uids of the items of a list by their ids, in order."""
    home = task_queries.find_list(store.db, name)
    assert home is not None
    return {task.key or "": task.uid for task in task_queries.tasks(store.db, home.id)}


# The seed's examples


def test_the_seeds_examples_one_after_the_other(talk: Talk):
    assert replace(talk, *SEED_CREATE) == SEED_CREATE
    assert merge(
        talk,
        item("1", "Implement user authentication", "completed"),
        item("2", "Add password reset feature", "in_progress"),
    ) == [
        item("1", "Implement user authentication", "completed"),
        item("2", "Add password reset feature", "in_progress"),
        item("3", "Write unit tests"),
    ]
    added = [item("4", "Update documentation"), item("5", "Deploy to staging")]
    assert merge(talk, *added)[3:] == added
    new = [item("1", "New task 1"), item("2", "New task 2")]
    assert replace(talk, *new) == new


def test_the_result_has_the_fields_of_the_protocol(talk: Talk, store: Store):
    result = talk.ok("todo", merge=False, todos=SEED_CREATE)
    assert list(result) == ["success", "content", "todos", "metadata"]
    assert result["success"] is True
    assert result["content"].startswith("Successfully ")
    assert result["metadata"] == {"checkpoint_path": store.path, "merge": False}


def test_filters_drop_empty_fields_and_metadata_where_asked(talk: Talk):
    whole = talk.ok("todo", merge=False, todos=SEED_CREATE, filter_empty_fields=False)
    assert list(whole) == ["success", "content", "error", "todos", "metadata"]
    assert whole["error"] is None
    less = talk.ok("todo", merge=True, todos=SEED_CREATE[:2], filter_metadata_fields=True)
    assert list(less) == ["success", "content", "todos"]


def test_the_text_of_str_and_pretty_str_comes_beside_the_result(talk: Talk):
    plain = talk.ok("todo", merge=False, todos=SEED_CREATE)
    assert "text" not in talk.ok("todo", merge=False, todos=SEED_CREATE, as_type="dict")
    one_line = talk.ok("todo", merge=False, todos=SEED_CREATE, as_type="str")
    pretty = talk.ok("todo", merge=False, todos=SEED_CREATE, as_type="pretty_str", filter_metadata_fields=True)
    assert "\n" not in one_line["text"]
    assert "'id': '1'" in one_line["text"]
    assert [line.split(": ")[0] for line in pretty.pop("text").split("\n")] == ["success", "content", "todos"]
    del one_line["text"], plain["metadata"]
    assert pretty == plain


# Merging and replacing


def test_merging_keeps_the_order_of_those_there_and_adds_the_new_behind_them(talk: Talk):
    replace(talk, item("a"), item("b"), item("c"))
    assert ids(merge(talk, item("z"), item("c"), item("y"), item("a"))) == ["a", "b", "c", "z", "y"]


def test_replacing_keeps_the_identity_of_the_ids_that_stay_and_puts_them_in_the_order_given(talk: Talk, store: Store):
    replace(talk, item("a"), item("b"), item("c"), item("d"))
    before = uids(talk, store)
    talk.ok("tasks", action="update", id=before["b"], notes="half way")
    talk.ok("tasks", action="link_nodes", task_id=before["b"], node_ids=["node-1"])
    todos = replace(talk, item("d"), item("new"), item("b", "Renamed", "completed"), item("a"))
    assert ids(todos) == ["d", "new", "b", "a"]
    after = uids(talk, store)
    assert list(after) == ["d", "new", "b", "a"]
    assert [after[key] for key in "dba"] == [before[key] for key in "dba"]
    assert talk.ok("tasklist:get_task_logs", uid=after["b"])[0]["message"] == "half way"
    assert talk.ok("control:task", uid=after["b"])["node_ids"] == ["node-1"]
    assert talk.refused("control:task", uid=before["c"])["code"] == "not_found"


@pytest.mark.parametrize("order", ["dabc", "bcda", "dcba", "acbd", "badc", "abcd"])
def test_any_order_is_reached_by_replacing_and_moves_no_more_than_it_must(talk: Talk, order: str):
    replace(talk, *map(item, "abcd"))
    before = talk.seq()
    assert ids(replace(talk, *map(item, order))) == list(order)
    assert talk.seq() - before == {"dabc": 1, "bcda": 1, "dcba": 3, "acbd": 1, "badc": 2, "abcd": 0}[order]


@given(order=st.permutations("abcdefgh"), steps=st.lists(st.permutations("abcdefgh"), max_size=3))
@settings(max_examples=30)
def test_the_order_is_the_one_given_last(order: list[str], steps: list[list[str]]):
    with Store(":memory:") as store:
        talk = Talk(store, Clock())
        for wanted in (*steps, order):
            assert ids(replace(talk, *map(item, wanted))) == wanted


def test_replacing_is_taken_back_by_one_undo(talk: Talk):
    was = replace(talk, item("a"), item("b"), item("c"))
    replace(talk, item("z"), item("b", "Renamed"))
    talk.ok("control:undo")
    assert merge(talk, {"id": "a"}, {"id": "b"}) == was


def test_an_item_of_a_merge_may_leave_out_what_stays(talk: Talk):
    replace(talk, item("a", "A"), item("b", "B"))
    assert merge(talk, {"id": "a", "status": "completed"}, {"id": "b", "content": "Bee"}) == [
        item("a", "A", "completed"),
        item("b", "Bee"),
    ]
    before = talk.seq()
    merge(talk, {"id": "a"}, {"id": "b", "content": None, "status": None})
    assert talk.seq() == before


def test_a_new_item_of_a_merge_requires_both_fields(talk: Talk):
    replace(talk, item("a"), item("b"))
    error = talk.refused("todo", merge=True, todos=[item("a", "Changed"), {"id": "c", "content": "x"}])
    assert "requires both content and status fields" in error["message"]
    assert error["data"]["argument"] == "todos[1].status"
    error = talk.refused("todo", merge=True, todos=[{"id": "c", "status": "pending"}, item("a", "Changed")])
    assert error["data"]["argument"] == "todos[0].content"
    assert merge(talk, {"id": "a"}, {"id": "b"})[0]["content"] == "Do it"


def test_writing_the_list_back_as_it_was_shown_changes_nothing(talk: Talk, store: Store):
    replace(talk, *(item(key, status="cancelled") for key in "abc"))
    for (_, uid), status in zip(uids(talk, store).items(), ["failed", "skipped", "cancelled"], strict=True):
        store.commit(EditTask(uid, {"status": status}), actor="human", now=talk.clock.now)
    before = talk.seq()
    shown = merge(talk, {"id": "a"}, {"id": "b"})
    assert [todo["status"] for todo in shown] == ["cancelled"] * 3
    assert merge(talk, *shown) == replace(talk, *shown) == shown
    assert talk.seq() == before
    statuses = [talk.ok("control:task", uid=uid)["status"] for uid in uids(talk, store).values()]
    assert statuses == ["failed", "skipped", "cancelled"]


def test_every_word_for_a_status_goes_both_ways(talk: Talk, store: Store):
    words = {"pending": "pending", "in_progress": "in_progress", "completed": "done", "cancelled": "cancelled"}
    todos = [item(word, status=word) for word in words]
    assert replace(talk, *todos) == todos
    shown = {key: talk.ok("control:task", uid=uid)["status"] for key, uid in uids(talk, store).items()}
    assert shown == words


# Ids


def test_a_task_made_elsewhere_shows_its_uid_and_is_merged_by_it(talk: Talk, store: Store):
    replace(talk, item("a"), item("b"))
    uid = talk.ok("tasklist:add_task", {"list": "todo"}, name="By another")["uid"]
    assert merge(talk, {"id": "a"}, {"id": "b"})[2] == item(uid, "By another")
    assert merge(talk, {"id": uid, "status": "completed"}, {"id": "a"})[2] == item(uid, "By another", "completed")
    assert ids(replace(talk, {**item(uid), "content": "By another"}, item("b"))) == [uid, "b"]
    assert talk.ok("control:task", uid=uid)["key"] is None


def test_an_item_is_known_by_its_uid_too_and_the_same_task_twice_is_refused(talk: Talk, store: Store):
    replace(talk, item("a"), item("b"))
    uid = uids(talk, store)["a"]
    assert merge(talk, {"id": uid, "status": "completed"}, {"id": "b"})[0] == item("a", status="completed")
    error = talk.refused("todo", merge=True, todos=[{"id": "a"}, {"id": uid}])
    assert error["data"]["argument"] == "todos[1].id"


def test_an_id_is_known_in_its_list_alone(talk: Talk, store: Store):
    replace(talk, item("a"), item("b"))
    other = talk.ok("todo", {"list": "release"}, merge=False, todos=[item("a", "Other"), item("c")])["todos"]
    assert ids(other) == ["a", "c"]
    assert merge(talk, {"id": "a"}, {"id": "b"})[0]["content"] == "Do it"
    assert uids(talk, store)["a"] != uids(talk, store, "release")["a"]
    assert talk.refused("tasklist:get_task", uid="a")["code"] == "not_found"


def test_an_id_that_came_back_is_a_new_task(talk: Talk, store: Store):
    replace(talk, item("a"), item("b"))
    before = uids(talk, store)["a"]
    replace(talk, item("b"), item("c"))
    assert ids(merge(talk, item("a"), item("b"))) == ["b", "c", "a"]
    assert uids(talk, store)["a"] != before


def test_a_task_is_not_moved_beside_one_of_the_same_id(talk: Talk, store: Store):
    replace(talk, item("a"), item("b"))
    talk.ok("todo", {"list": "release"}, merge=False, todos=[item("a", "Other"), item("c")])
    there, here = uids(talk, store, "release"), uids(talk, store)

    def move(uid: str) -> None:
        store.commit(MoveTask(uid, after=here["b"]), actor="human", now=talk.clock.now)

    with pytest.raises(Conflict):
        move(there["a"])
    move(there["c"])
    assert list(uids(talk, store)) == ["a", "b", "c"]


def test_replacing_leaves_other_lists_alone(talk: Talk):
    uid = talk.ok("tasklist:add_task", name="Elsewhere")["uid"]
    replace(talk, item("a"), item("b"))
    assert talk.ok("tasklist:get_task", uid=uid)["name"] == "Elsewhere"


# One in progress, and claims


def test_in_a_tasklists_list_the_turn_passes_on_within_one_call_in_either_order(talk: Talk):
    talk.ok("tasklist:add_task", {"list": "solo"}, name="first of the list")

    def solo(*items: dict, **how: bool) -> dict:
        return talk.ask("todo", {"list": "solo"}, todos=list(items), **how)

    assert solo(item("a", status="in_progress"), item("b"), merge=False)["ok"]
    assert solo({"id": "b", "status": "in_progress"}, {"id": "a", "status": "completed"}, merge=True)["ok"]
    assert solo(item("c", status="in_progress"), item("d"), merge=False)["ok"]
    before = talk.seq()
    reply = solo({"id": "c"}, {"id": "d", "status": "in_progress"}, merge=True)
    assert reply["error"]["code"] == "conflict"
    assert reply["result"] == {"success": False, "error": reply["error"]["message"]}
    assert not solo(item("e", status="in_progress"), item("f", status="in_progress"), merge=False)["ok"]
    assert talk.seq() == before


def test_todos_own_list_has_no_such_limit(talk: Talk):
    assert len(replace(talk, item("a", status="in_progress"), item("b", status="in_progress"))) == 2


def test_a_task_claimed_by_another_may_be_repeated_but_not_changed_or_removed(talk: Talk):
    replace(talk, item("a"), item("b"))
    talk.ok("control:claim", {"agent": "other"}, list="todo")
    assert replace(talk, item("a", status="in_progress"), item("b"), item("c"))
    assert (
        talk.refused("todo", merge=True, todos=[{"id": "a", "status": "completed"}, {"id": "b"}])["code"] == "conflict"
    )
    assert talk.refused("todo", merge=False, todos=[item("b"), item("c")])["code"] == "conflict"


# What is refused


@pytest.mark.parametrize(
    ("argument", "says", "todos"),
    [
        ("todos", "2 items", [item("a")]),
        ("todos", "2 items", []),
        ("todos", "", None),
        ("todos", "", "no list"),
        ("todos[1]", "", [item("a"), "b"]),
        ("todos[1].id", "twice", [item("a"), item("a")]),
        ("todos[0].id", "missing required field: id", [{"content": "x", "status": "pending"}, item("b")]),
        ("todos[0].content", "missing required field: content", [{"id": "a", "status": "pending"}, item("b")]),
        ("todos[1].status", "missing required field: status", [item("a"), {"id": "b", "content": "x"}]),
        ("todos[1].status", "missing required field: status", [item("a"), {**item("b"), "status": None}]),
        ("todos[1].status", "Invalid status", [item("a"), item("b", status="done")]),
        ("todos[1].status", "string", [item("a"), {**item("b"), "status": 1}]),
        ("todos[0].id", "string", [{**item("a"), "id": 1}, item("b")]),
        ("todos[0].content", "string", [{**item("a"), "content": ["x"]}, item("b")]),
        ("todos[0].id", "empty", [item(""), item("b")]),
        ("todos[0].content", "empty", [item("a", ""), item("b")]),
        ("todos[0].content", "empty", [item("a", " \t"), item("b")]),
        ("todos[0].content", "10,000", [item("a", "x" * 10_001), item("b")]),
        ("todos[1].priority", "unknown", [item("a"), {**item("b"), "priority": "high"}]),
    ],
)
@pytest.mark.parametrize("merging", [False, True])
def test_what_is_wrong_is_refused_whole_by_its_path(talk: Talk, argument: str, says: str, todos: object, merging: bool):
    replace(talk, item("z"), item("y"))
    before = talk.seq()
    reply = talk.ask("todo", merge=merging, todos=todos)
    assert not reply["ok"]
    assert reply["error"]["code"] == "invalid_argument"
    if merging and says.startswith("missing required field: ") and "id" not in argument.split(".")[-1]:
        says = "requires both content and status fields"
    assert says in reply["error"]["message"]
    assert reply["error"]["data"]["argument"] == argument
    assert reply["result"] == {"success": False, "error": reply["error"]["message"]}
    assert talk.seq() == before


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("merge", {"todos": SEED_CREATE}),
        ("merge", {"todos": SEED_CREATE, "merge": "yes"}),
        ("as_type", {"todos": SEED_CREATE, "merge": True, "as_type": "xml"}),
        ("filter_empty_fields", {"todos": SEED_CREATE, "merge": True, "filter_empty_fields": 1}),
        ("list", {"todos": SEED_CREATE, "merge": True, "list": "x"}),
    ],
)
def test_wrong_arguments_beside_the_items_are_refused_by_name(talk: Talk, argument: str, given: dict):
    reply = talk.ask("todo", **given)
    assert reply["error"]["data"]["argument"] == argument
    assert reply["result"]["success"] is False


def test_the_items_may_come_as_a_string_that_holds_them(talk: Talk):
    text = "[{'id': 'a', 'content': 'A', 'status': 'pending'}, {'id': 'b', 'content': 'B', 'status': 'pending'}]"
    assert talk.ok("todo", merge=False, todos=text)["todos"] == [item("a", "A"), item("b", "B")]
    nested = ['{"id": "a", "status": "completed"}', {"id": "b"}]
    assert talk.ok("todo", merge=True, todos=nested)["todos"][0] == item("a", "A", "completed")


def test_text_is_kept_code_point_for_code_point(talk: Talk):
    odd = "A\u0301 \x1b[31m [red] 🎉\n\u202e"
    assert replace(talk, item("完\x00", odd), item("b", "x" * 10_000))[0] == item("完\x00", odd)


def test_if_version_does_not_go_with_todo(talk: Talk):
    reply = talk.ask("todo", {"if_version": 1}, merge=False, todos=SEED_CREATE)
    assert (reply["error"]["code"], reply["result"]["success"]) == ("invalid_request", False)


def test_a_read_only_channel_may_not_write(talk: Talk, store: Store):
    reply = Talk(store, talk.clock, read_only=True).ask("todo", merge=False, todos=SEED_CREATE)
    assert (reply["error"]["code"], reply["result"]["success"]) == ("forbidden", False)


def test_a_bound_channel_writes_its_list(talk: Talk, store: Store):
    home = task_queries.find_list(store.db, "tasklist")
    assert home is not None
    store.commit(AddTask("There before", home.uid), actor="human", now=talk.clock.now)
    bound = Talk(store, talk.clock, list="tasklist")
    assert [todo["content"] for todo in merge(bound, item("a", "A"), item("b", "B"))] == ["There before", "A", "B"]


def test_the_schema_tells_of_the_items():
    shown = schema(TODO.tools["todo"].arguments)
    items = shown["properties"]["todos"]
    assert items["minItems"] == 2
    assert items["items"]["required"] == ["id"]
    assert sorted(items["items"]["properties"]) == ["content", "id", "status"]
    assert sorted(items["items"]["properties"]["status"]["enum"]) == sorted(
        ["pending", "in_progress", "completed", "cancelled"]
    )
