"""`open_state`: what holds on the channel holds for a program in Python, in its own process."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import get_type_hints

import pytest

from tests.conftest import START
from tests.contract.client import ROOT
from tui_tasks import DatabaseRefused, State, ToolError, open_state
from tui_tasks.core.operations.asks import PauseAgent, SendMessage
from tui_tasks.core.operations.tasks import SetListReview
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN
from tui_tasks.state.open_state import CheckObject, Event, TaskObject

PAGE = (ROOT / "tui_tasks" / "docs" / "scripts.md").read_text()


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.delenv("TUI_TASKS_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)
    return str(tmp_path / "tasks.db")


@pytest.fixture
def state(db: str):
    with open_state(db, agent="robin") as opened:
        yield opened


def add(state: State, name: str) -> str:
    return state.call("tasklist:add_task", {"name": name})["uid"]


def names(state: State, *given) -> list[str]:
    return [task["name"] for task in state.tasks(*given)]


def test_the_example_of_the_page_prints_what_the_page_says(db, monkeypatch, capsys) -> None:
    monkeypatch.setenv("TUI_TASKS_DB", db)
    ((code, printed),) = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "scripts.md", "exec"), {})
    assert capsys.readouterr().out == printed


def test_what_is_written_is_there_for_everybody_once_a_call_returns(state, db) -> None:
    uid = add(state, "Build")
    with open_state(db, read_only=True) as other:
        assert other.task(uid) == state.task("#1") == state.tasks("tasklist")[0]
        assert other.seq == state.seq == 1


def test_several_calls_are_one_change_and_where_one_is_refused_nothing_is_written(state) -> None:
    made = state.commit(("tasklist:add_task", {"name": "one"}), ("tasklist:add_task", {"name": "two"}))
    assert [task["name"] for task in made] == ["one", "two"]
    with pytest.raises(ToolError) as refused:
        state.commit(("tasklist:add_task", {"name": "three"}), ("tasklist:get_task", {"uid": "nobody"}))
    assert (refused.value.code, refused.value.data["failed"]) == ("not_found", 1)
    assert names(state) == ["one", "two"]
    state.call("control:undo")
    assert names(state) == []


def test_tasks_are_those_of_a_list_in_order_or_of_statuses_or_of_all_lists(state) -> None:
    first, _ = add(state, "one"), add(state, "two")
    state.call("task", {"action": "create", "title": "three"})
    state.tools.tasklist_set_task_done(uid=first)
    assert names(state) == ["one", "two", "three"]
    assert names(state, "tasklist") == ["one", "two"]
    assert names(state, "tasklist", ["done", "failed"]) == ["one"]
    assert {home["handle"]: home["counts"]["done"] for home in state.lists()} == {"tasklist": 1, "task": 0, "todo": 0}
    with pytest.raises(ToolError, match="no list nothing"):
        state.tasks("nothing")
    with pytest.raises(ToolError, match="no status 'open'"):
        state.tasks("tasklist", ["open"])


def test_a_state_that_is_bound_to_a_list_reads_and_writes_that_one(db) -> None:
    with open_state(db, list="mine") as mine, open_state(db) as every:
        add(mine, "one")
        add(every, "two")
        assert (names(mine), names(every)) == (["one"], ["two", "one"])


def test_lists_are_those_of_the_project_that_the_folder_is_in(db, tmp_path) -> None:
    (tmp_path / ".tui-tasks.toml").write_text('project = "web"\n')
    with open_state(db) as web, open_state(db, project="") as outside:
        add(web, "one")
        add(outside, "two")
        assert (names(web, "web/tasklist"), names(web, "tasklist")) == (["one"], ["two"])


def test_changes_are_told_across_pages_and_writing_between_them_goes_on(state) -> None:
    state.commit(*(("tasklist:add_task", {"name": f"task {at}"}) for at in range(501)))
    seen = []
    for change in state.changes(since=0):
        if not seen:
            add(state, "between")
        seen.append(change["seq"])
    assert seen == list(range(1, 503))
    assert [change["event"] for change in state.changes(state.seq)] == []


def test_values_have_the_members_that_their_types_name(state) -> None:
    add(state, "Build")
    task, (change,) = state.task("#1"), state.changes(0)
    assert set(task) == set(TaskObject.__required_keys__)
    assert Event.__required_keys__ <= set(change) <= set(get_type_hints(Event))
    assert state.tasks()[0].keys() == task.keys()


def test_a_check_has_the_members_that_its_type_names(state, tmp_path) -> None:
    (tmp_path / "config.toml").write_text('[check.tests]\ncommand = ["true"]\nlists = ["tasklist"]\n')
    add(state, "Build")
    (check,) = state.tasks()[0]["checks"]
    assert set(check) == set(CheckObject.__required_keys__)


def test_a_paused_agent_a_held_list_and_a_message_are_as_on_the_channel(db) -> None:
    heard: list[str] = []
    with Store(db) as store, open_state(db, agent="robin", on_message=heard.append) as state:
        home = task_queries.find_list(store.db, "tasklist")
        assert home is not None
        store.commit(SetListReview(home.uid, review=True), actor=HUMAN, now=START)
        add(state, "mine")
        assert state.tasks()[0]["held"]
        store.commit(SendMessage("robin", "look here"), actor=HUMAN, now=START)
        state.call("tasklist:display")
        assert heard == ["look here"]
        store.commit(PauseAgent("robin", "wait"), actor=HUMAN, now=START)
        with pytest.raises(ToolError) as refused:
            add(state, "more")
        assert (refused.value.code, refused.value.message) == ("paused", "wait")


def test_an_agent_is_there_as_long_as_its_state_is_open(db) -> None:
    with open_state(db, agent="watcher") as watcher:
        with open_state(db, agent="robin") as robin:
            add(robin, "Build")
            told = {one["agent"]: one["state"] for one in watcher.call("control:agents")}
            assert told["robin"] != "gone"
        assert {one["agent"]: one["state"] for one in watcher.call("control:agents")}["robin"] == "gone"


@pytest.mark.parametrize(
    "wrong", [{1}, float("nan"), "\ud800", 2**70, object()], ids=lambda wrong: type(wrong).__name__
)
def test_what_json_cannot_hold_is_refused_and_nothing_is_written(state, wrong) -> None:
    with pytest.raises(ToolError) as refused:
        state.call("task", {"action": "create", "title": "x", "metadata": {"held": wrong}})
    assert (refused.value.code, state.seq) == ("parse_error", 0)


@pytest.mark.parametrize(
    "wrong", [{"agent": "human"}, {"agent": " "}, {"agent": ""}, {"list": ""}, {"project": "a b"}], ids=repr
)
def test_names_that_are_none_are_refused_before_anything_is_made(db, wrong) -> None:
    with pytest.raises(ToolError) as refused:
        open_state(db, **wrong)
    assert refused.value.code == "invalid_request"
    assert not Path(db).exists()


def test_a_database_that_is_not_ours_is_refused_and_left_as_it_is(db) -> None:
    Path(db).write_text("a letter")
    with pytest.raises(DatabaseRefused):
        open_state(db)
    assert Path(db).read_text() == "a letter"


def test_read_only_refuses_to_write(state, db) -> None:
    with open_state(db, read_only=True) as reader, pytest.raises(ToolError) as refused:
        add(reader, "x")
    assert refused.value.code == "forbidden"


def test_a_state_that_is_closed_or_of_another_thread_says_so(db) -> None:
    state, told = open_state(db), []

    def use() -> None:
        try:
            state.tasks()
        except RuntimeError as error:
            told.append(str(error))

    thread = threading.Thread(target=use, daemon=True)
    thread.start()
    thread.join()
    state.close()
    state.close()
    use()
    assert ["thread" in told[0], "closed" in told[1]] == [True, True]


FREE = """
import sys, tui_tasks
assert tui_tasks.__version__
assert [name for name in sys.modules if name.startswith("tui_tasks.")] == []
from tui_tasks import open_state
assert not {name.partition(".")[0] for name in sys.modules} & {"textual", "rich", "mcp"}
"""


def test_the_package_imports_nothing_and_the_state_needs_no_screen() -> None:
    subprocess.run([sys.executable, "-c", FREE], check=True)
