"""`todos.json` (seed 002; docs: protocol, section 6): what stands in it, and what is made of one changed by hand."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from tests.todo_tool.calls import SEED_CREATE, Live, execute, in_file, item, todos_after
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.todo_tool import TodoItem, TodoTool


def put_file(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "todos.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_file_is_an_indented_array_of_the_items_in_plain_text(tool: TodoTool, folder: Path):
    todos_after(tool, item("1", "完成 🎉"), item("2", "Line 1\nLine 2"), merge=False)
    text = (folder / "todos.json").read_text(encoding="utf-8")
    assert text.startswith('[\n    {\n        "id": "1",\n        "content": "完成 🎉",')
    assert in_file(folder) == [item("1", "完成 🎉"), item("2", "Line 1\nLine 2")]


def test_a_file_put_there_by_hand_is_taken(tool: TodoTool, folder: Path):
    put_file(folder, json.dumps([{**item("a", "By hand", "completed"), "note": "of another program"}, item("b")]))
    assert [(todo.id, todo.content) for todo in todos_after(tool, {"id": "a"}, item("c"))] == [
        ("a", "By hand"),
        ("b", "Do it"),
        ("c", "Do it"),
    ]
    put_file(folder, json.dumps([item("c", "Edited"), item("a")]))
    assert todos_after(tool, {"id": "a", "status": "completed"}, {"id": "c"}) == [
        TodoItem("c", "Edited", "pending"),
        TodoItem("a", "Do it", "completed"),
    ]
    with Live(folder) as live:
        assert live.contents() == ["Edited", "Do it"]


def test_a_file_by_hand_may_hold_fewer_than_two(tool: TodoTool, folder: Path):
    put_file(folder, json.dumps([item("a")]))
    assert [todo.id for todo in todos_after(tool, item("b"), item("c"))] == ["a", "b", "c"]
    put_file(folder, "[]")
    assert [todo.id for todo in todos_after(tool, item("b"), item("c"))] == ["b", "c"]


def test_a_file_taken_by_hand_keeps_what_its_items_are_in_the_state(tool: TodoTool, folder: Path):
    todos_after(tool, item("a"), item("b", status="cancelled"), merge=False)
    with Live(folder) as live:
        a, b = (task["uid"] for task in live.tasks())
        live.store.commit(EditTask(b, {"status": "failed"}), actor="human", now=live.talk.clock.now)
        live.talk.ok("tasklist:log_task_progress", uid=a, message="kept")
    put_file(folder, json.dumps([item("b", status="cancelled"), item("a", "Renamed")]))
    todos_after(tool, {"id": "a"}, {"id": "b"})
    with Live(folder) as live:
        assert [task["uid"] for task in live.tasks()] == [b, a]
        assert live.tasks()[0]["status"] == "failed"
        assert live.talk.ok("tasklist:get_task_logs", uid=a)[0]["message"] == "kept"


def test_a_file_that_was_removed_is_an_empty_list(tool: TodoTool, folder: Path):
    todos_after(tool, item("a"), item("b"), merge=False)
    (folder / "todos.json").unlink()
    assert [todo.id for todo in todos_after(tool, item("c"), item("d"))] == ["c", "d"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[{",
        "not json",
        '{"id": "a"}',
        '"text"',
        "[NaN]",
        '["a"]',
        '[{"id": "a", "content": "x"}]',
        '[{"id": "a", "content": "x", "status": "done"}]',
        '[{"id": 1, "content": "x", "status": "pending"}]',
        '[{"id": "a", "content": "x", "status": "pending"}, {"id": "a", "content": "y", "status": "pending"}]',
    ],
)
@pytest.mark.parametrize("merge", [False, True])
def test_a_file_that_holds_something_else_is_an_error_and_is_left_alone(
    tool: TodoTool, folder: Path, text: str, merge: bool
):
    todos_after(tool, item("z"), item("y"), merge=False)
    path = put_file(folder, text)
    response = execute(tool, item("a"), item("b"), merge=merge)
    assert response.success is False
    assert "todos.json" in (response.error or "")
    assert path.read_text() == text
    with Live(folder) as live:
        assert len(live.contents()) == 2
    path.unlink()
    assert execute(tool, item("a"), item("b"), merge=merge).success


def test_invalid_json_is_called_that(tool: TodoTool, folder: Path):
    put_file(folder, "[{")
    assert "Invalid JSON" in (execute(tool, *SEED_CREATE).error or "")
    (folder / "todos.json").write_bytes(b'["\xff"]')
    assert "Invalid JSON" in (execute(tool, *SEED_CREATE).error or "")


def test_a_file_that_cannot_be_written_is_an_error_and_the_state_stays_in_step(
    tool: TodoTool, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    todos_after(tool, item("a"), item("b"), merge=False)
    before = sorted(each.name for each in folder.iterdir())

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    response = execute(tool, item("a", "Changed"), item("b"))
    assert response.success is False
    assert "todos.json" in (response.error or "")
    with Live(folder) as live:
        assert live.contents() == ["Do it", "Do it"]
    assert sorted(each.name for each in folder.iterdir()) == before
    monkeypatch.undo()
    assert todos_after(tool, item("a", "Changed"), item("b"))[0].content == "Changed"


def test_the_file_keeps_its_mode_and_is_not_touched_when_nothing_changes(tool: TodoTool, folder: Path):
    todos_after(tool, item("a"), item("b"), merge=False)
    path = folder / "todos.json"
    path.chmod(0o644)
    before = path.stat().st_ino
    todos_after(tool, item("a"), item("b"))
    assert path.stat().st_ino == before
    todos_after(tool, item("a", "Changed"), item("b"))
    assert path.stat().st_ino != before
    assert oct(path.stat().st_mode)[-3:] == "644"


def test_what_a_link_beside_the_file_leads_to_is_left_alone(tool: TodoTool, folder: Path, tmp_path: Path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder.mkdir(exist_ok=True)
    (folder / ".todos.json.new").symlink_to(victim)
    todos_after(tool, item("a"), item("b"), merge=False)
    assert victim.read_text() == "mine"
    assert in_file(folder) == [item("a"), item("b")]


def test_a_link_in_the_place_of_the_file_is_replaced_and_gives_it_no_mode(tool: TodoTool, folder: Path, tmp_path: Path):
    victim = tmp_path / "victim"
    victim.write_text("[]")
    victim.chmod(0o666)
    folder.mkdir(exist_ok=True)
    (folder / "todos.json").symlink_to(victim)
    todos_after(tool, item("a"), item("b"), merge=False)
    assert victim.read_text() == "[]"
    found = (folder / "todos.json").lstat().st_mode
    assert stat.S_ISREG(found)
    assert stat.S_IMODE(found) == 0o600
