"""A program with `TodoTool`: for each number it reads it replaces the list by three items, and prints the response."""

from __future__ import annotations

import json
import sys

from tui_tasks.todo_tool import TodoTool


def items(number: int) -> list[dict[str, str]]:
    return [{"id": f"{number}.{at}", "content": f"todo {number}", "status": "pending"} for at in range(3)]


def number_of(file: str) -> int:
    """Which number a `todos.json` holds; it must be whole."""
    held = json.loads(file)
    (number,) = {int(item["id"].partition(".")[0]) for item in held}
    assert held == items(number)
    return number


def main(folder: str) -> int:
    tool = TodoTool(checkpoint=folder)
    for line in sys.stdin:
        number = int(line)
        response = tool.execute(merge=False, todos=items(number), as_type="dict")
        print(json.dumps({"id": f"todo-{number}", **response}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
