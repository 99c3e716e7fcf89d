"""Descriptions and prompts of any length, in the forms."""

from __future__ import annotations

import pytest

from tests.tui.driving import by_agent, settle, shown
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.text.safe import one_to_one


async def test_a_description_too_long_for_the_keys_is_shown_at_its_beginning_and_kept_whole(plan, make_app):
    long = "begins so " + "[x]数" * 200_000
    by_agent(plan, "claude-1", EditTask(plan[1], {"description": long}))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 40)) as pilot:
        await settle(pilot, "e")
        assert "begins so" in shown(app)
        assert "^e opens it in $EDITOR" in shown(app)
        await settle(pilot, "tab", "tab", "x", "shift+tab", "shift+tab", "A", "ctrl+s")
        await settle(pilot)
        with Store(plan.path) as store:
            task = task_queries.any_task(store.db, plan[1])
    assert task is not None
    assert task.name.endswith("A")
    assert task.description == long


async def test_a_description_that_was_not_changed_is_kept_to_the_letter(plan, make_app):
    odd = "a\r\nb\x0bc\x85d\u2028e\x1cf\rg\n\r\n"
    by_agent(plan, "claude-1", EditTask(plan[1], {"description": odd}))
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "e", "escape")
        assert "Edit #1" not in shown(app)
        await settle(pilot, "e", "A", "ctrl+s")
        await settle(pilot)
        with Store(plan.path) as store:
            task = task_queries.any_task(store.db, plan[1])
    assert task is not None
    assert (task.name[-1], task.description) == ("A", odd)


def test_marks_beyond_the_third_on_a_letter_are_told_and_not_drawn():
    assert one_to_one("e" + "\u0301" * 5 + "n\u0303") == "e" + "\u0301" * 3 + "\ufffd" * 2 + "n\u0303"
    assert one_to_one("\u0301x") == "\ufffdx"


@pytest.mark.parametrize("code", [0x200B, 0xFE0E, 0xFE0F, 0x20E3, 0x1F3FD, 0xE0041, 0x202E, 0x9B])
def test_nothing_that_terminals_disagree_on_or_obey_is_shown_where_it_is_typed(code):
    assert one_to_one(f"a{chr(code)}\u0301b") == "a\ufffd\u0301b"
