"""What the tests of `TodoTool` share."""

from pathlib import Path

import pytest

from tui_tasks.todo_tool import TodoTool


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints"


@pytest.fixture
def tool(folder: Path) -> TodoTool:
    return TodoTool(checkpoint=folder)
