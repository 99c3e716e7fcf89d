"""What the tests of `TodoTool` and of `todo` say, and how they look at what came of it."""

import json
from pathlib import Path

from tests.conftest import Clock, Talk
from tui_tasks.core.store import Store
from tui_tasks.todo_tool import TodoItem, TodoTool, TodoToolResponse, ToolResponseType

SEED_CREATE = [
    {"id": "1", "content": "Implement user authentication", "status": "in_progress"},
    {"id": "2", "content": "Add password reset feature", "status": "pending"},
    {"id": "3", "content": "Write unit tests", "status": "pending"},
]


def item(id: str, content: str = "Do it", status: str = "pending") -> dict:
    return {"id": id, "content": content, "status": status}


def execute(tool: TodoTool, *todos: object, merge: bool = True) -> TodoToolResponse:
    response = tool.execute(merge=merge, todos=list(todos), as_type=ToolResponseType.INTACT)
    assert isinstance(response, TodoToolResponse)
    return response


def todos_after(tool: TodoTool, *todos: object, merge: bool = True) -> list[TodoItem]:
    response = execute(tool, *todos, merge=merge)
    assert response.success, response.error
    return response.todos or []


def in_file(folder: Path) -> list[dict]:
    return json.loads((folder / "todos.json").read_text(encoding="utf-8"))


class Live:
    """The state beside the file, as another program finds it."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(str(folder / "tasks.db"))
        self.talk = Talk(self.store, Clock())

    def __enter__(self) -> "Live":
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    def tasks(self) -> list[dict]:
        return self.talk.ok("tasklist:display", {"list": "todo"})

    def contents(self) -> list[str]:
        return [task["name"] for task in self.tasks()]
