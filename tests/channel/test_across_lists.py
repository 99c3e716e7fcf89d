"""What agents do across lists: find tasks, read which lists there are, set any field of a task, move it, delete a plan.

docs: protocol, section 7.
"""

import pytest

from tests.conftest import Talk
from tests.talking import add, names, task
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import ArchiveList, DeleteTask, SetListReview
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store

STATUSES = ("pending", "in_progress", "done", "failed", "skipped", "cancelled")


def create(talk: Talk, title: str, **fields) -> str:
    return talk.ok("task", action="create", title=title, **fields)["structuredContent"]["task"]["task_id"]


def plan(talk: Talk, *titles: str, title: str = "Plan") -> dict:
    return talk.ok("tasks", action="create_plan", title=title, tasks=[{"title": each, "id": each} for each in titles])


def found(talk: Talk, **wanted) -> list[str]:
    return [shown["name"] for shown in talk.ok("control:find", **wanted)["tasks"]]


# Finding


@pytest.fixture
def many(talk: Talk) -> dict[str, str]:
    """Tasks in four lists; their uids by name."""
    uids = {"Fix the parser": add(talk, "Fix the parser")}
    uids["Parse dates"] = create(talk, "Parse dates", description="ÜBER all", tags=["time", "io"], status="completed")
    made = plan(talk, "Write docs", "Ship")
    uids |= {shown["title"]: shown["id"] for shown in made["tasks"]} | {"plan": made["plan_id"]}
    todos = [
        {"id": "1", "content": "Buy a parser", "status": "pending"},
        {"id": "2", "content": "b", "status": "pending"},
    ]
    talk.ok("todo", merge=False, todos=todos)
    talk.ok("control:update_task", uid=uids["Ship"], agent="bob", tags=["io"], status="failed")
    return uids


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ["Fix the parser", "Parse dates", "Write docs", "Ship", "Buy a parser", "b"]),
        ({"text": "PARSE"}, ["Fix the parser", "Parse dates", "Buy a parser"]),
        ({"text": "über"}, ["Parse dates"]),
        ({"text": "100%"}, []),
        ({"list": "todo"}, ["Buy a parser", "b"]),
        ({"list": "@plan"}, ["Write docs", "Ship"]),
        ({"status": "done"}, ["Parse dates"]),
        ({"status": ["done", "failed"]}, ["Parse dates", "Ship"]),
        ({"tag": "io"}, ["Parse dates", "Ship"]),
        ({"tag": "i"}, []),
        ({"agent": "bob"}, ["Ship"]),
        ({"agent": "bob", "tag": "io", "text": "ship", "list": "@plan", "status": "failed"}, ["Ship"]),
        ({"agent": "bob", "status": "done"}, []),
        ({"text": "", "list": "", "status": "", "tag": "", "agent": "", "after": ""}, None),
    ],
)
def test_tasks_of_all_lists_are_found_by_all_that_is_given(talk, many, wanted, expected):
    wanted = {name: many["plan"] if value == "@plan" else value for name, value in wanted.items()}
    assert found(talk, **wanted) == (found(talk) if expected is None else expected)


def test_a_found_task_is_told_in_brief_with_its_number_and_list(talk, many, clock):
    (shown,) = talk.ok("control:find", agent="bob")["tasks"]
    full = task(talk, many["Ship"])
    keys = ("uid", "number", "name", "status", "list", "agent", "priority", "updated_at")
    assert shown == {key: full[key] for key in keys}
    assert (shown["list"], shown["number"]) == (many["plan"], 4)


def test_what_is_found_is_read_by_pages_though_tasks_go_meanwhile(talk, many, store, clock):
    pages, after = [], None
    while True:
        page = talk.ok("control:find", limit=2, after=after)
        pages.append([shown["name"] for shown in page["tasks"]])
        after = page["next"]
        if after is None:
            break
        store.commit(DeleteTask(after), actor="human", now=clock())
    assert pages == [["Fix the parser", "Parse dates"], ["Write docs", "Ship"], ["Buy a parser", "b"]]
    assert found(talk, after="#3") == ["Buy a parser", "b"]


def test_a_list_that_is_not_there_is_not_found_and_deleted_tasks_are_not(talk, many):
    assert talk.refused("control:find", list="nowhere")["code"] == "not_found"
    assert talk.refused("control:find", after="#99")["code"] == "not_found"
    assert talk.ok("control:find", {"list": "nowhere"}) == {"tasks": [], "next": None}
    talk.ok("control:delete_plan", plan_id=many["plan"])
    assert found(talk, text="docs") == []


def test_a_channel_of_one_list_finds_its_own_tasks_alone(store, clock, many):
    confined = Talk(store, clock, list="todo", list_only=True)
    assert found(confined) == ["Buy a parser", "b"]
    assert [home["name"] for home in confined.ok("control:lists")] == ["todo"]
    assert confined.refused("control:find", list="tasklist")["code"] == "not_found"
    assert confined.refused("control:find", after=many["Ship"])["code"] == "not_found"
    assert confined.refused("control:delete_plan", plan_id=many["plan"])["code"] == "forbidden"
    uid = confined.ok("control:find")["tasks"][0]["uid"]
    assert confined.refused("control:update_task", uid=uid, list="tasklist")["code"] == "not_found"
    assert confined.refused("control:update_task", uid=uid, depends_on=[many["Ship"]])["code"] == "not_found"
    nowhere = Talk(store, clock, list="later", list_only=True)
    assert (nowhere.ok("control:lists"), found(nowhere)) == ([], [])


# Lists


def test_lists_are_told_with_their_kind_and_counts(talk, many, store, clock):
    store.commit(ArchiveList(many["plan"], True), actor="human", now=clock())
    told = {home["name"]: home for home in talk.ok("control:lists")}
    assert list(told) == ["tasklist", "task", "todo", "Plan"]
    none = dict.fromkeys(STATUSES, 0)
    assert told["tasklist"] == {
        "name": "tasklist",
        "kind": "list",
        "plan_id": None,
        "project": None,
        "one_in_progress": True,
        "archived": False,
        "counts": {**none, "pending": 1},
    }
    assert told["Plan"] == {
        "name": "Plan",
        "kind": "plan",
        "plan_id": many["plan"],
        "project": None,
        "one_in_progress": False,
        "archived": True,
        "counts": {**none, "pending": 1, "failed": 1},
    }
    assert told["task"]["counts"]["done"] == 1


# Updating


def test_any_field_of_a_task_in_any_list_is_set_in_one_change(talk, many):
    seq, before = talk.seq(), task(talk, many["Write docs"])
    shown = talk.ok(
        "control:update_task",
        uid="#3",
        name="Write all docs",
        description="with pictures",
        status="done",
        priority=1,
        tags="a, b",
        domain="docs",
        agent="bob",
        depends_on=["#1", many["Ship"][:6].upper()],
        due="2027-01-31",
        estimate=30,
        result={"pages": 3},
    )
    assert shown == task(talk, many["Write docs"])
    assert (
        shown.items()
        >= {
            "name": "Write all docs",
            "description": "with pictures",
            "status": "done",
            "priority": 1,
            "tags": ["a", "b"],
            "domain": "docs",
            "agent": "bob",
            "depends_on": [many["Fix the parser"], many["Ship"]],
            "due": "2027-01-31",
            "estimate": 30,
            "result": {"pages": 3},
            "version": before["version"] + 1,
        }.items()
    )
    talk.ok("control:undo")
    assert {**task(talk, many["Write docs"]), "version": 0, "updated_at": 0} == {
        **before,
        "version": 0,
        "updated_at": 0,
    }
    assert talk.seq() > seq


def test_null_clears_a_field_and_what_has_no_empty_value_stays(talk, many):
    uid = many["Ship"]
    given = {"description": "d", "domain": "x", "due": "2027-01-31", "estimate": 5, "priority": 1, "result": {"a": 1}}
    talk.ok("control:update_task", uid=uid, depends_on=["#1"], **given)
    fields = ("description", "domain", "due", "estimate", "priority", "result", "tags", "depends_on", "agent")
    shown = talk.ok("control:update_task", uid=uid, name=None, status=None, list=None, **dict.fromkeys(fields))
    empty = {"description": "", "priority": 3, "tags": [], "depends_on": []}
    assert shown.items() >= {**dict.fromkeys(fields), **empty, "name": "Ship", "status": "failed"}.items()
    # A blank empties what may be empty; elsewhere it is as good as absent.
    talk.ok("control:update_task", uid=uid, description="d", domain="x", agent="bob", tags=["t"])
    shown = talk.ok("control:update_task", uid=uid, description="", domain="", agent=" ", tags=[], name="", list="")
    assert shown.items() >= {"description": "", "domain": "x", "agent": "bob", "tags": [], "name": "Ship"}.items()


@pytest.mark.parametrize(
    ("given", "number"), [("urgent", 1), ("High", 2), ("low", 4), (7, 7), ("7", 7), (2.0, 2), (10**9, 10**9)]
)
def test_a_priority_is_a_word_or_a_number(talk, given, number):
    assert talk.ok("control:update_task", uid=add(talk), priority=given)["priority"] == number


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ({}, "name"),
        ({"status": None}, "name"),
        ({"priority": 0}, "priority"),
        ({"priority": "p1"}, "priority"),
        ({"priority": 10**9 + 1}, "priority"),
        ({"status": "open"}, "status"),
        ({"due": "soon", "estimate": -1, "title": "x"}, "estimate"),
        ({"before": "#1", "after": "#1"}, "after"),
        ({"depends_on": ["#2"]}, "depends_on"),
        ({"cleared": ["name"]}, "cleared"),
        ({"before": "@plan"}, "before"),
        ({"list": "task", "after": "#1"}, "after"),
    ],
)
def test_what_is_wrong_with_an_update_is_refused_and_nothing_written(talk, wrong, argument):
    add(talk, "first")
    uid = add(talk, "second")
    create(talk, "third")
    seq, other = talk.seq(), task(talk, "#3")["uid"]
    wrong = {name: other if value == "@plan" else value for name, value in wrong.items()}
    error = talk.refused("control:update_task", uid=uid, **wrong)
    assert error["code"] == "invalid_argument"
    assert argument in [problem["argument"] for problem in error["data"]["problems"]]
    assert talk.seq() == seq


def test_all_that_is_wrong_with_an_update_is_told_at_once(talk):
    error = talk.refused("control:update_task", uid="#1", due="soon", estimate=-1, title="x", priority="p1")
    assert {problem["argument"] for problem in error["data"]["problems"]} == {"due", "estimate", "title", "priority"}


def test_a_task_is_moved_to_a_list_and_to_a_place_in_it(talk, many):
    uid = many["Fix the parser"]
    shown = talk.ok("control:update_task", uid=uid, list=many["plan"])
    assert (shown["list"], shown["number"]) == (many["plan"], 1)
    order = {"list": many["plan"]}
    assert names(talk, **order) == ["Write docs", "Ship", "Fix the parser"]
    talk.ok("control:update_task", uid=uid, before=many["Write docs"])
    assert names(talk, **order) == ["Fix the parser", "Write docs", "Ship"]
    talk.ok("control:update_task", uid=uid, after="#3", name="Fixed", status="done")
    assert names(talk, **order) == ["Write docs", "Fixed", "Ship"]
    talk.ok("control:update_task", uid=uid, list="todo", before=talk.ok("control:find", list="todo")["tasks"][1]["uid"])
    assert names(talk, list="todo") == ["Buy a parser", "Fixed", "b"]
    seq = talk.seq()
    assert talk.ok("control:update_task", uid=uid, list="todo")["list"] == "todo"
    assert talk.seq() == seq, "to say again where it is changes nothing"
    for _ in range(2):
        talk.ok("control:undo")
    assert (names(talk, **order), task(talk, uid)["status"]) == (["Fix the parser", "Write docs", "Ship"], "pending")


def test_a_move_to_what_is_not_there_is_not_found(talk, many):
    uid = many["Fix the parser"]
    for place in ({"list": "nowhere"}, {"before": "#99"}, {"after": many["plan"]}):
        assert talk.refused("control:update_task", uid=uid, **place)["code"] == "not_found"
    assert talk.refused("control:update_task", uid="#99", name="x")["code"] == "not_found"
    assert talk.refused("control:update_task", uid=uid, depends_on=["facade00"])["code"] == "not_found"


def test_the_rule_of_one_in_progress_holds_where_the_task_will_be(talk, many):
    mine, spare = add(talk, "mine"), many["Write docs"]
    talk.ok("control:update_task", uid=mine, status="in_progress")
    talk.ok("control:update_task", uid=spare, status="in_progress")
    assert talk.refused("control:update_task", uid=spare, list="tasklist")["data"] == {"in_progress": mine}
    shown = talk.ok("control:update_task", uid=spare, list="tasklist", status="done")
    assert (shown["list"], shown["status"]) == ("tasklist", "done")
    assert talk.refused("control:update_task", uid=spare, status="in_progress")["data"] == {"in_progress": mine}
    shown = talk.ok("control:update_task", uid=spare, list=many["plan"], status="in_progress")
    assert (shown["list"], shown["status"]) == (many["plan"], "in_progress")


def test_rights_hold_for_an_update(talk, many, store, clock):
    other = Talk(store, clock, agent="other")
    other.ok("control:claim", uid=many["Fix the parser"])
    uid = many["Fix the parser"]
    for change in ({"name": "x"}, {"list": "task"}, {"agent": "agent"}):
        assert talk.refused("control:update_task", uid=uid, **change)["data"]["claimed_by"] == "other"
    assert talk.refused("control:update_task", {"if_version": 99}, uid="#3", name="x")["code"] == "conflict"
    read_only = Talk(store, clock, read_only=True)
    assert read_only.refused("control:update_task", uid="#3", name="x")["code"] == "forbidden"
    assert found(read_only, text="docs") == ["Write docs"]


# Plans


def test_a_plan_is_deleted_with_its_tasks_and_comes_back_by_an_undo(talk, many, store, clock):
    tables = {name: store.db.sql(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in ("task", "list", "edge")}
    assert talk.ok("control:delete_plan", plan_id=many["plan"]) == {"plan_id": many["plan"], "deleted": 2}
    assert talk.refused("control:task", uid=many["Ship"])["code"] == "not_found"
    assert talk.ok("tasks", action="list_plans")["plans"] == []
    assert talk.refused("control:delete_plan", plan_id=many["plan"])["code"] == "not_found"
    store.commit(Undo(change=store.db.scalar("SELECT max(seq) FROM journal")), actor="human", now=clock())
    assert {name: store.db.sql(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in tables} == tables
    with Store(":memory:") as copy:
        replay(store.db, copy.db)
        assert {name: copy.db.sql(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in tables} == tables
    talk.ok("control:delete_plan", plan_id=many["plan"])
    talk.ok("control:undo")
    assert names(talk, list=many["plan"]) == ["Write docs", "Ship"]


def test_a_plan_is_not_deleted_from_under_another_agent(talk, many, store, clock):
    other = Talk(store, clock, agent="other")
    held = other.ok("control:claim", uid=many["Write docs"], lease_seconds=10)
    error = talk.refused("control:delete_plan", plan_id=many["plan"])
    assert (error["code"], error["data"]["claimed_by"]) == ("conflict", "other")
    other.ok("control:release", claim=held["claim"])
    talk.ok("control:claim", uid=many["Write docs"], lease_seconds=10)
    assert talk.ok("control:delete_plan", plan_id=many["plan"])["deleted"] == 2
    clock.forward(10)
    assert talk.session.settle() == []


def test_a_plan_in_which_another_agents_task_waits_for_the_human_is_not_deleted(talk, many, store, clock):
    store.commit(SetListReview(many["plan"], True), actor="human", now=clock())
    other = Talk(store, clock, agent="other")
    other.ok("tasks", action="add_tasks", plan_id=many["plan"], tasks=[{"title": "held"}])
    assert talk.refused("control:delete_plan", plan_id=many["plan"])["data"]["held"] is True
    assert other.ok("control:delete_plan", plan_id=many["plan"])["deleted"] == 3


@pytest.mark.parametrize("plan_id", ["tasklist", "", "35dee229-0000-4000-8000-000000000000"])
def test_no_list_is_deleted_as_a_plan(talk, many, plan_id, store):
    listed = task_queries.find_list(store.db, "tasklist")
    for named in {plan_id, listed.uid}:
        assert talk.refused("control:delete_plan", plan_id=named)["code"] in ("not_found", "invalid_argument")
    assert len(talk.ok("control:lists")) == 4


def test_tasks_are_added_to_a_plan_and_wait_for_those_it_has(talk, many):
    tasks = [
        {"title": "Translate", "id": "t", "depends_on": ["Write docs", "u"]},
        {"title": "Check", "id": "u", "depends_on": ["#1"]},
    ]
    added = talk.ok("tasks", action="add_tasks", plan_id=many["plan"], tasks=tasks)
    assert (added["plan_id"], added["title"]) == (many["plan"], "Plan")
    first, second = added["tasks"]
    assert first["depends_on"] == [many["Write docs"], second["id"]]
    assert second["depends_on"] == [many["Fix the parser"]]
    assert names(talk, list=many["plan"]) == ["Write docs", "Ship", "Translate", "Check"]
    talk.ok("control:undo")
    assert names(talk, list=many["plan"]) == ["Write docs", "Ship"]
    for wrong, argument in (
        ({"tasks": [{"title": "x", "depends_on": ["nobody"]}]}, "tasks[0].depends_on"),
        ({"tasks": [{"title": "x", "id": "a", "depends_on": ["a"]}]}, "tasks[0].depends_on"),
        ({}, "tasks"),
    ):
        error = talk.refused("tasks", action="add_tasks", plan_id=many["plan"], **wrong)
        assert error["data"]["argument"] == argument
    assert talk.refused("tasks", action="add_tasks", plan_id="none", tasks=tasks)["code"] == "not_found"
    assert (
        talk.refused("tasks", action="add_tasks", plan_id=many["plan"], tasks=[{"title": "x", "id": "Ship"}])["code"]
        == "conflict"
    )
