"""What people press by habit from vim, lazygit and k9s destroys nothing: it does nothing, asks, or can be undone."""

from __future__ import annotations

import pytest

from tests.tui.driving import opened, order, said, settle
from tui_tasks.core.journal import journal

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


async def test_dd_deletes_two_tasks_says_so_and_undo_brings_both_back(app):
    async with opened(app) as pilot:
        before = order(app)
        await settle(pilot, "d", "d")
        assert "u brings it back" in said(app)
        assert len(order(app)) == len(before) - 2
        await settle(pilot, "u", "u")
        assert order(app) == before
