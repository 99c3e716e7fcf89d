"""What people press by habit from vim, lazygit and k9s destroys nothing: it does nothing, asks, or can be undone."""

from __future__ import annotations

import pytest

from tests.tui.driving import opened, order, said, settle, shown
from tui_tasks.core.commit import journal

HABITS = (*"xDCUZZGgpobwcRXO+", "ctrl+d", "ctrl+u", "ctrl+f", "ctrl+w", "ctrl+x")


@pytest.mark.parametrize("place", ["1", "3", "4", "a", "A"])
async def test_no_key_of_habit_changes_anything(jobs, make_app, place):
    app = make_app(jobs.plan.path)
    async with opened(app) as pilot:
        seq = journal.newest(app.link.db)
        for key in HABITS:
            await pilot.press(place, key, "escape", "escape")
        await settle(pilot)
        assert journal.newest(app.link.db) == seq


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_dd_deletes_one_task_and_asks_before_the_next_one(plan, make_app, pane):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        before = order(app)
        app.context.navigation.go_to(plan[6])
        await settle(pilot, "d", "d")
        assert "as well?" in shown(app)
        await settle(pilot, "escape")
        assert len(order(app)) == len(before) - 1
        await settle(pilot, "d", "y")
        assert "u brings it back" in said(app)
        assert len(order(app)) == len(before) - 2
        await settle(pilot, "u", "u")
        assert order(app) == before
