"""Pane 1 by the mouse: clicks, the wheel, dragging, the footer and the Now line."""

from __future__ import annotations

import pytest

from tests.tui.driving import lines, opened, place, place_of
from tui_tasks.tui.inputs.line_inputs import FilterWords


async def test_a_click_takes_the_cursor_there_and_a_double_click_opens(app, plan):
    async with opened(app, (80, 24)) as pilot:
        await pilot.click("#tasks", offset=(10, 4))
        assert app.pane.row_list.cursor == plan[5]
        await pilot.double_click("#tasks", offset=(10, 6))
        await pilot.pause()
        assert app.pane.is_open
        assert app.pane.detail.uid == plan[7]


async def test_the_wheel_scrolls_and_leaves_the_cursor(app, plan):
    async with opened(app, (40, 12)) as pilot:
        from textual import events

        window = app.pane.row_list
        before = window.keys_on_screen
        window.post_message(events.MouseScrollDown(window, 1, 1, 0, 1, 0, False, False, False, 1, 3))
        await pilot.pause()
        assert window.keys_on_screen != before
        assert window.cursor == plan[1]


@pytest.mark.parametrize(("start", "end", "place"), [(1, 4, 5), (6, 2, 3)])
async def test_a_row_is_dragged_to_its_place(app, plan, start, end, place):
    async with opened(app) as pilot:
        dragged = plan[start + 1]
        await pilot.mouse_down("#tasks", offset=(10, start))
        await pilot.hover("#tasks", offset=(10, end))
        await pilot.mouse_up("#tasks", offset=(10, end))
        await pilot.pause()
        await app.workers.wait_for_complete()
        assert place_of(app, dragged) == place


async def test_a_click_on_the_footer_does_what_it_says(app):
    async with opened(app) as pilot:
        await pilot.click("#foot", offset=(lines(app)[-1].index("Filter"), 0))
        await pilot.pause()
        assert app.focused is app.query_one(FilterWords)


async def test_a_click_on_an_agent_at_work_goes_to_its_task(app, plan):
    async with opened(app) as pilot:
        await pilot.click(offset=place(app, "claude-1 #5"))
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.pane.row_list.cursor == plan[5]
