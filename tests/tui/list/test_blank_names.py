"""A list or a tag whose name is blank, or invisible, shows as what it is made of."""

from __future__ import annotations

import pytest

from tests.tui.driving import by_agent, lines, settle, shown
from tui_tasks.cli.main import main
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.tui.app.task_app import TaskApp


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_head_of_a_list_and_a_row_show_them_by_code_points(plan, make_app, size):
    (home,) = by_agent(plan, "evil", EnsureList("\u2800", "task"))
    by_agent(plan, "evil", AddTask("Sweep", home.uid, tags=("\u200b",)))
    app: TaskApp = make_app(plan.path, list_name="\u2800")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert [line for line in lines(app) if line.startswith("─ <U+2800>   1 task")], shown(app)
        assert "#<U+200B>" in next(line for line in lines(app) if "Sweep" in line), shown(app)


def test_the_shell_shows_them_by_code_points(plan, capsys):
    (home,) = by_agent(plan, "evil", EnsureList("\u2800", "task"))
    by_agent(plan, "evil", AddTask("Sweep", home.uid))
    assert main(["lists", "--db", plan.path]) == 0
    assert "<U+2800>  [1 open" in capsys.readouterr().out
