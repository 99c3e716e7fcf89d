"""`TodoTool` (seed 002; docs: protocol, section 6): the list, its todos.json, and the live state beside it."""

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.started import Started
from tests.todo_tool.calls import SEED_CREATE, Live, execute, in_file, item, todos_after
from tui_tasks.core.operations.asks import PauseAgent
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.todo_tool import TodoItem, TodoStatusType, TodoTool, ToolResponseType

# The seed's examples


def test_the_seeds_examples_one_after_the_other(tool: TodoTool, folder: Path):
    assert todos_after(tool, *SEED_CREATE, merge=False) == [TodoItem(**todo) for todo in SEED_CREATE]
    todos = todos_after(
        tool,
        item("1", "Implement user authentication", "completed"),
        item("2", "Add password reset feature", "in_progress"),
    )
    assert [todo.status for todo in todos] == ["completed", "in_progress", "pending"]
    todos = todos_after(tool, item("4", "Update documentation"), item("5", "Deploy to staging"))
    assert [todo.id for todo in todos] == ["1", "2", "3", "4", "5"]
    new = [item("1", "New task 1"), item("2", "New task 2")]
    assert todos_after(tool, *new, merge=False) == [TodoItem(**todo) for todo in new]
    assert in_file(folder) == new


def test_the_response_object_has_the_seeds_fields(tool: TodoTool, folder: Path):
    response = execute(tool, *SEED_CREATE, merge=False)
    assert response.success is True
    assert (response.content or "").startswith("Successfully ")
    assert response.error is None
    assert response.metadata is not None
    assert response.metadata.checkpoint_path == str(folder / "todos.json")
    assert response.metadata.merge is False


def test_the_folder_may_be_a_string_and_both_files_are_private(tmp_path: Path):
    folder = tmp_path / "deep" / "er"
    tool = TodoTool(checkpoint=str(folder))
    assert tool._initialized is True
    assert not folder.exists()
    todos_after(tool, *SEED_CREATE, merge=False)
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith("tasks.db-")) == [
        "tasks.db",
        "todos.json",
    ]
    assert {oct((folder / name).stat().st_mode)[-3:] for name in ("tasks.db", "todos.json")} == {"600"}
    assert oct(folder.stat().st_mode)[-3:] == "700"


def test_a_checkpoint_is_required_and_other_settings_are_ignored(folder: Path):
    with pytest.raises(ValueError, match="checkpoint"):
        TodoTool()
    tool = TodoTool(checkpoint=folder, auto_initialize=True, verbose=3)
    assert tool.execute(merge=False, todos=SEED_CREATE, session="x").startswith("success: True")


def test_statuses_and_items_are_checked_as_in_the_seed():
    assert TodoStatusType.values() == ["pending", "in_progress", "completed", "cancelled"]
    assert TodoStatusType.IN_PROGRESS == "in_progress"
    with pytest.raises(ValueError, match="Invalid status"):
        TodoItem("1", "x", "done")


# The forms of a response


def test_pretty_str_is_the_form_unless_said(tool: TodoTool):
    text = tool.execute(merge=False, todos=SEED_CREATE)
    assert isinstance(text, str)
    assert [line.split(": ")[0] for line in text.split("\n")] == ["success", "content", "todos", "metadata"]
    again = tool.execute(merge=False, todos=SEED_CREATE, as_type="PRETTY_STR", filter_metadata_fields=True)
    assert again == text.rsplit("\n", 1)[0]


def test_dict_and_str_and_what_the_filters_drop(tool: TodoTool, folder: Path):
    held = tool.execute(merge=False, todos=SEED_CREATE, as_type=ToolResponseType.DICT)
    assert list(held) == ["success", "content", "todos", "metadata"]
    assert held["todos"] == SEED_CREATE
    assert held["metadata"] == {"checkpoint_path": str(folder / "todos.json"), "merge": False}
    whole = tool.execute(merge=True, todos=SEED_CREATE, as_type="dict", filter_empty_fields=False)
    assert (list(whole), whole["error"]) == (["success", "content", "error", "todos", "metadata"], None)
    text = tool.execute(merge=False, todos=SEED_CREATE, as_type=ToolResponseType.STR)
    assert isinstance(text, str)
    assert "\n" not in text
    failed = tool.execute(merge=False, todos=[], as_type="dict", filter_metadata_fields=True)
    assert list(failed) == ["success", "error"]


def test_an_unknown_form_is_told_before_anything_is_written(tool: TodoTool, folder: Path):
    with pytest.raises(ValueError, match="Invalid as_type"):
        tool.execute(merge=False, todos=SEED_CREATE, as_type="xml")
    assert not folder.exists()


# What is refused


@pytest.mark.parametrize(
    ("merge", "says", "todos"),
    [
        (False, "2 items", [item("1")]),
        (False, "Invalid status", [item("1"), item("2", status="nope")]),
        (True, "Invalid status", [item("1"), item("2", status="nope")]),
        (False, "missing required field: status", [item("1"), {"id": "2", "content": "x"}]),
        (False, "missing required field: content", [item("1"), {"id": "2", "status": "pending"}]),
        (True, "missing required field: id", [item("1"), {"content": "x", "status": "pending"}]),
        (True, "requires both content and status fields", [item("1"), {"id": "2", "content": "x"}]),
        (False, "must be a string", [item("1"), {**item("2"), "id": 2}]),
        (False, "twice", [item("1"), item("1")]),
        (False, "empty", [item("1"), item("2", "")]),
        (False, "JSON", [item("1"), TodoItem("2", "x", "pending")]),
        (False, "surrogate", [item("1"), item("2", "\ud800")]),
        (False, "todos", None),
        ("yes", "merge", [item("1"), item("2")]),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_written(
    tool: TodoTool, folder: Path, merge: bool, says: str, todos: list
):
    kept = [item("z"), item("y")]
    todos_after(tool, *kept, merge=False)
    response = tool.execute(merge=merge, todos=todos, as_type=ToolResponseType.INTACT)
    assert (response.success, response.content, response.todos) == (False, None, None)
    assert says in response.error
    assert in_file(folder) == kept


def test_errors_are_logged_to_the_logger_given(folder: Path, caplog: pytest.LogCaptureFixture):
    tool = TodoTool(checkpoint=folder, logger=logging.getLogger("mine"))
    with caplog.at_level(logging.ERROR, logger="mine"):
        execute(tool, item("1"))
    assert [record.name for record in caplog.records] == ["mine"]


def test_the_callback_hears_of_updates_alone_and_cannot_undo_them(folder: Path):
    heard: list[dict] = []

    def callback(event: dict) -> None:
        heard.append(event)
        raise RuntimeError("no")

    tool = TodoTool(checkpoint=folder, callback=callback)
    assert execute(tool, item("1"), item("2"), merge=False).success
    assert not execute(tool, item("1")).success
    path = str(folder / "todos.json")
    assert heard == [{"event": "todos_updated", "merge": False, "count": 2, "checkpoint_path": path}]
    assert len(in_file(folder)) == 2


# The state beside it


def test_what_the_human_changed_in_the_state_stays_and_reaches_the_file(tool: TodoTool, folder: Path):
    todos_after(tool, item("a"), item("b"), merge=False)
    with Live(folder) as live:
        uid = live.tasks()[0]["uid"]
        live.store.commit(EditTask(uid, {"status": "done"}), actor="human", now=live.talk.clock.now)
        added = live.talk.ok("tasklist:add_task", {"list": "todo"}, name="By the human")["uid"]
    todos = todos_after(tool, {"id": "b", "status": "in_progress"}, item("c", "New"))
    assert [(todo.id, todo.status) for todo in todos] == [
        ("a", "completed"),
        ("b", "in_progress"),
        (added, "pending"),
        ("c", "pending"),
    ]
    assert [todo["id"] for todo in in_file(folder)] == ["a", "b", added, "c"]
    assert todos_after(tool, {"id": added, "status": "completed"}, {"id": "a"})[2].status == "completed"


def test_a_state_without_a_file_is_taken_as_it_is(tool: TodoTool, folder: Path):
    with Live(folder) as live:
        live.talk.ok("todo", merge=False, todos=[item("a"), item("b")])
    assert [todo.id for todo in todos_after(tool, {"id": "a"}, item("c"))] == ["a", "b", "c"]


def test_each_call_is_one_change_that_the_human_can_take_back(tool: TodoTool, folder: Path):
    todos_after(tool, item("a"), item("b"), merge=False)
    todos_after(tool, item("c"), item("d"), merge=False)
    with Live(folder) as live:
        live.talk.ok("control:undo")
        assert len(live.contents()) == 2
        assert {entry["actor"] for entry in live.talk.ok("control:history")["entries"]} == {"agent"}
    assert [todo.id for todo in todos_after(tool, {"id": "a"}, {"id": "b"})] == ["a", "b"]


def test_a_paused_agent_is_refused_with_what_the_human_wrote(tool: TodoTool, folder: Path):
    todos_after(tool, item("a"), item("b"), merge=False)
    with Live(folder) as live:
        live.store.commit(PauseAgent("agent", "Wait for me"), actor="human", now=live.talk.clock.now)
    assert execute(tool, item("a"), item("c")).error == "Wait for me"


def test_a_database_that_cannot_be_used_is_an_error(tool: TodoTool, folder: Path):
    folder.mkdir()
    (folder / "tasks.db").write_text("something else entirely, and long enough to be no database at all")
    response = execute(tool, *SEED_CREATE, merge=False)
    assert response.success is False
    assert "tasks.db" in (response.error or "")
    assert not (folder / "todos.json").exists()


# Many at once, and kills


def test_no_merge_of_several_threads_is_lost(folder: Path):
    def work(name: str) -> None:
        tool = TodoTool(checkpoint=folder)
        for number in range(5):
            todos_after(tool, item(f"{name}{number}"), item(f"{name}-last", str(number)))

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {f"{name}{number}" for name in "abcd" for number in range(5)} | {f"{name}-last" for name in "abcd"}
    assert {todo["id"] for todo in in_file(folder)} == expected
    assert [todo["content"] for todo in in_file(folder) if todo["id"].endswith("last")] == ["4"] * 4


WRITER = """
import sys
from tui_tasks.todo_tool import TodoTool
tool = TodoTool(checkpoint=sys.argv[1])
number = 0
while True:
    number += 1
    todos = [{"id": str(n), "content": f"{number} " + "x" * 2_000, "status": "pending"} for n in range(20)]
    assert tool.execute(merge=False, todos=todos, as_type="dict")["success"]
    print(number, flush=True)
"""


def test_a_kill_leaves_the_file_whole_and_loses_nothing_that_was_told(tool: TodoTool, folder: Path):
    process = Started([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(5)][-1]
    process.kill()
    rest = process.stdout.read().split()
    process.wait()
    told = max(told, *map(int, rest), 0)
    todos = in_file(folder)
    numbers = {int(todo["content"].split()[0]) for todo in todos}
    assert len(todos) == 20
    assert len(numbers) == 1
    assert min(numbers) >= told
    after = todos_after(tool, {"id": "0"}, {"id": "1"})
    assert [todo.content for todo in after] == [todo["content"] for todo in todos]


def test_it_imports_no_screen():
    script = "import sys, tui_tasks.todo_tool; print([name for name in ('textual', 'rich') if name in sys.modules])"
    environment = {key: value for key, value in os.environ.items() if key != "COVERAGE_PROCESS_START"}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.strip() == "[]"
