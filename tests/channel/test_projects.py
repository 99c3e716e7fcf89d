"""The dialects' own lists are a project's (docs: protocol, section 5)."""

import json
import sys

import pytest

from tests import fork_server
from tests.conftest import Talk
from tests.talking import add, names
from tui_tasks.core.read.tasks import ready_tasks

BOARD = {"action": "create", "title": "board"}


@pytest.fixture
def web(store, clock):
    return Talk(store, clock, agent="spider", project="web")


@pytest.fixture
def api(store, clock):
    return Talk(store, clock, agent="bee", project="api")


def test_the_lists_of_two_projects_and_of_none_are_three(talk, web, api):
    for each, name in ((talk, "none"), (web, "web"), (api, "api")):
        add(each, name)
        each.ok("task", **BOARD)
        each.ok("todo", merge=False, todos=[{"id": n, "content": name, "status": "pending"} for n in "12"])
        assert names(each) == [name]
    lists = {row[0] for row in talk.store.db.sql("SELECT name FROM list")}
    own = {"tasklist", "task", "todo"}
    assert lists == own | {f"{project}/{name}" for project in ("web", "api") for name in own}


def test_a_list_that_is_named_is_the_same_for_all(talk, web, api):
    add(web, "shared", list="team")
    assert [task["name"] for task in api.ok("tasklist:display", {"list": "team"})] == ["shared"]
    assert names(web) == []
    assert [task["name"] for task in talk.ok("tasklist:display", {"list": "web/tasklist"})] == []


def test_each_project_takes_up_its_own_tasks(talk, web, api):
    add(web, "of web")
    add(api, "of api")
    add(talk, "of none")
    assert web.ok("control:claim")["task"]["name"] == "of web"
    assert web.ok("control:claim") is None
    assert [task["title"] for task in api.ok("tasks", action="pending")["tasks"]] == ["of api"]
    assert api.ok("control:claim")["task"]["name"] == "of api"
    assert api.ok("control:claim") is None


def test_an_agent_outside_projects_takes_up_the_tasks_of_all_lists(talk, web, api):
    add(web, "of web")
    add(api, "of api")
    add(talk, "of none")
    read = talk.ok("tasks", action="pending", suggest_next=True)
    assert {task["title"] for task in read["tasks"]} == {"of web", "of api", "of none"}
    assert read["suggested_next"]["title"] == "of web"
    mine = talk.ok("get_my_tasks", suggest_next=True)
    assert (mine["tasks"], mine["suggested_next"]) == ([], None)
    claimed = [talk.ok("control:claim")["task"]["name"] for _ in range(3)]
    assert claimed == ["of web", "of api", "of none"]


def test_the_most_urgent_of_all_lists_is_claimed_first_outside_projects(talk, web, api):
    add(talk, "of none")
    web.ok("task", action="create", title="of web", priority="urgent")
    for name in ("of web", "of none"):
        assert talk.ok("control:claim")["task"]["name"] == name


def test_a_shell_outside_projects_is_shown_the_next_of_no_project(talk, web):
    for number in range(120):
        add(web, f"step {number}")
    uid = add(talk, "of none")
    found = ready_tasks.next_task(talk.store.db, None, None, project="")
    assert found is not None
    assert found.uid == uid


def test_a_null_says_where_the_agent_has_looked(talk, web):
    add(web, "of web")
    assert web.ok("control:claim")
    assert web.ask("control:claim")["note"].startswith("nothing is pending in any list of web")
    assert talk.ask("control:claim")["note"] == "nothing is pending in any list; 1 task is in progress"


def test_plans_belong_to_the_project_of_who_made_them(talk, web, api):
    plan = web.ok("tasks", action="create_plan", title="Launch", tasks=[{"title": "Step"}])
    assert [each["title"] for each in web.ok("tasks", action="list_plans")["plans"]] == ["Launch"]
    assert api.ok("tasks", action="list_plans") == talk.ok("tasks", action="list_plans") == {"plans": []}
    assert len(web.ok("tasks", action="pending")["tasks"]) == 1
    assert api.ok("tasks", action="pending")["tasks"] == []
    assert api.ok("tasks", action="pending", plan_id=plan["plan_id"])["tasks"] != []


def test_a_number_is_one_tasks_in_all_projects(web, api):
    add(web, "first of web")
    add(api, "first of api")
    for each in (web, api):
        assert each.ok("tasklist:get_task", uid="#1")["name"] == "first of web"
        assert each.ok("tasklist:get_task", uid="#2")["name"] == "first of api"


def test_hello_names_the_project_of_a_channel_that_has_one(talk, web):
    assert web.ok("control:hello")["project"] == "web"
    assert "project" not in talk.ok("control:hello")


def test_one_task_at_a_time_holds_in_each_project(web, api):
    for each in (web, api):
        uids = [add(each, name) for name in ("a", "b")]
        each.ok("tasklist:set_task_in_progress", uid=uids[0])
        assert each.refused("tasklist:set_task_in_progress", uid=uids[1])["code"] == "conflict"


def test_commands_take_the_project_from_their_folder_else_from_what_names_it(tmp_path, monkeypatch):
    folders = {name: tmp_path / name for name in ("web", "api", "none")}
    for folder in folders.values():
        folder.mkdir()
    monkeypatch.setenv("TUI_TASKS_DB", str(tmp_path / "tasks.db"))

    def run(folder, *words, **environment):
        command = [sys.executable, "-m", "tui_tasks", *words]
        return fork_server.run(command, cwd=folder, capture_output=True, text=True, env=None, check=False)

    assert "project web" in run(folders["web"], "init").stdout
    assert run(folders["web"], "init").returncode == 1
    (folders["api"] / ".tui-tasks.toml").write_text('project = "api"\n')
    for name, folder in folders.items():
        assert run(folder, "call", "tasklist:add_task", f"name={name}").returncode == 0
    for name, folder in folders.items():
        shown = json.loads(run(folder, "call", "tasklist:display").stdout)
        assert [task["name"] for task in shown] == [name]
    there = json.loads(run(folders["none"], "call", "tasklist:display", "--project", "api").stdout)
    assert [task["name"] for task in there] == ["api"]
    assert json.loads(run(folders["web"], "call", "tasklist:display", "--project", "").stdout)[0]["name"] == "none"
    wrong = run(folders["web"], "call", "tasklist:display", "--project", "a/b")
    assert (wrong.returncode, "no project" in wrong.stderr) == (2, True)
    (folders["api"] / ".tui-tasks.toml").write_text("x = 1\n")
    broken = run(folders["api"], "ls")
    assert (broken.returncode, ".tui-tasks.toml" in broken.stderr, "Traceback" in broken.stderr) == (1, True, False)


def test_a_list_that_is_made_at_first_use_belongs_to_the_project_of_its_maker(talk, web, api):
    add(web, "of web", list="sprint")
    add(api, "also there", list="sprint")
    add(talk, "of none", list="later")
    projects = {each["name"]: each["project"] for each in talk.ok("control:lists")}
    assert (projects["sprint"], projects["later"]) == ("web", None)
    assert web.ok("control:claim")["task"]["name"] == "of web"
    assert api.ok("control:claim") is None


def test_the_own_list_of_another_project_belongs_to_that_project_whoever_makes_it(web):
    add(web, "one", list="api/todo")
    projects = {each["name"]: each["project"] for each in web.ok("control:lists")}
    assert projects["api/todo"] == "api"
