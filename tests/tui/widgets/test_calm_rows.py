"""The rows of what needs the human change as seldom as possible, and the pane below them stays where it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.tui.driving import above, by_agent, lines, opened, press, settle, until
from tests.tui.plan import NOW, Plan
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EditTask
from tui_tasks.core.store import Store


def top_of_pane(app) -> int:
    return app.pane.region.y


def line_of(app, name: str) -> int:
    """The last line of the screen with a text: of a task that has failed, its row in the list."""
    return max(y for y, line in enumerate(lines(app)) if name in line)


def tasks_near(app, line: int) -> list[str]:
    """The lines around one, without the mark of the scroll position."""
    return [text.rstrip("▐ ") for text in lines(app)[line - 4 : line + 4]]


def add_tasks(plan: Plan, names: Sequence[str]) -> None:
    with Store(plan.path) as store:
        store.commit(*(AddTask(name, plan.list_uid) for name in names), actor="human", now=NOW)


def redo(plan: Plan, uid: str) -> None:
    """An agent takes up a task that has failed, so that it needs the human no more."""
    by_agent(plan, "claude-2", EditTask(uid, {"status": "in_progress"}))


async def test_a_row_that_goes_leaves_its_line_empty_below_the_others(app, plan):
    async with opened(app) as pilot:
        top, rows = top_of_pane(app), above(app).splitlines()
        assert "✗ #3  Fix flaky" in rows[-1]
        redo(plan, plan[3])
        await until(pilot, lambda: "✗ #3" not in above(app))
        assert top_of_pane(app) == top
        assert above(app).splitlines()[4:] == rows[4:-1] and not lines(app)[top - 1]


async def test_a_row_that_comes_takes_the_line_of_one_that_has_gone(app, plan):
    async with opened(app) as pilot:
        top = top_of_pane(app)
        redo(plan, plan[3])
        await until(pilot, lambda: "✗ #3" not in above(app))
        by_agent(plan, "claude-1", OpenAsk("Which port?", (), plan[5]))
        await until(pilot, lambda: "Which port?" in above(app))
        assert top_of_pane(app) == top


@pytest.mark.parametrize(("change", "given_up"), [(["2"], 1), (["a", "escape"], 1), (["full_stop"], 2), ("resize", 1)])
async def test_another_pane_a_screen_and_another_size_give_up_empty_lines(app, plan, change, given_up):
    async with opened(app) as pilot:
        top = top_of_pane(app)
        redo(plan, plan[3])
        await until(pilot, lambda: "✗ #3" not in above(app))
        await press(app, pilot, "j")
        assert top_of_pane(app) == top
        if change == "resize":
            await pilot.resize_terminal(120, 39)
            await settle(pilot)
        else:
            await press(app, pilot, *change)
        assert top_of_pane(app) == top - given_up, "where all was seen, also the row of what has changed"


async def test_an_answer_gives_up_the_line_of_its_question(app, plan):
    async with opened(app) as pilot:
        top = top_of_pane(app)
        await app.link.commit(EditTask(plan[3], {"status": "pending"}))
        await settle(pilot)
        assert top_of_pane(app) == top - 1


async def test_a_row_that_comes_moves_no_task_of_a_list_that_can_scroll(app, plan):
    add_tasks(plan, [f"Task of many {number}" for number in range(60)])
    async with opened(app) as pilot:
        await press(app, pilot, *["j"] * 12)
        top, line = top_of_pane(app), line_of(app, "Task of many 4")
        shown_before = tasks_near(app, line)
        by_agent(plan, "claude-1", OpenAsk("Which port?", (), plan[5]))
        await until(pilot, lambda: "Which port?" in above(app))
        assert top_of_pane(app) == top + 1
        assert tasks_near(app, line) == shown_before


async def test_a_row_that_comes_moves_no_entry_of_the_log(app, plan):
    add_tasks(plan, [f"Task of many {number}" for number in range(60)])
    async with opened(app) as pilot:
        await press(app, pilot, "3", "home", *["j"] * 12)
        top, cursor = top_of_pane(app), line_of(app, ">")
        by_agent(plan, "claude-1", OpenAsk("Which port?", (), plan[5]))
        await until(pilot, lambda: "Which port?" in above(app) and top_of_pane(app) == top + 1)
        assert line_of(app, ">") == cursor


def fail(plan: Plan, numbers: Sequence[int], reason: str) -> None:
    for number in numbers:
        by_agent(plan, "claude-2", EditTask(plan[number], {"status": "failed", "result": reason}))


async def test_tasks_that_failed_for_one_reason_share_a_row(app, plan):
    fail(plan, (1, 2, 6, 8, 9), "no disk left")
    async with opened(app, (80, 24)) as pilot:
        assert "✗ #1 #2 #6 +2  no disk left" in above(app)
        assert "✗ #3  Fix flaky DST test: test_dst_gap: " in above(app), "another reason has its own row"
        fail(plan, (5,), "no disk left")
        await until(pilot, lambda: "+3  no disk left" in above(app))
        await press(app, pilot, "a")
        assert sum("no disk left" in line for line in lines(app)) >= 5, "the inbox lists each"
