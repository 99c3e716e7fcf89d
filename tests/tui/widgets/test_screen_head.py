"""The lines above a screen are those above the panes: made of the same parts."""

from __future__ import annotations

import pytest

from tests.tui.driving import agents_line, counts_line, lines, place, settle
from tests.tui.plan import NOW
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections


@pytest.mark.parametrize("size", [(120, 24), (80, 24)])
async def test_an_agent_that_is_gone_stands_first_above_the_inbox_as_above_the_panes(plan, make_app, size):
    with Store(plan.path) as store, store.db.transaction(write=True):
        connections.end(store.db, "claude-1", Process(), NOW)
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        pane = lines(app)[1:3]
        assert "▲ claude-1 gone" in counts_line(app) and agents_line(app).startswith(" ▲ claude-1 gone #5")
        await settle(pilot, "a")
        assert lines(app)[1:3] == pane


async def test_a_click_on_an_agent_above_the_inbox_shows_its_task_in_the_list(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        await pilot.click(offset=place(app, "#5"))
        await settle(pilot)
        assert app.screen is app.screen_stack[0]
        assert app.pane.target() == plan[5]
