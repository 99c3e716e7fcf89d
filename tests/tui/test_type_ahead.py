"""Keys that come all at once, as from a fast typist or under load, do what they would have done one by one."""

import pytest
from textual import events

from tui_tasks.core import glance, queries


def type_at_once(app, *keys):
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


async def settled(app, pilot):
    for _ in range(3):
        await pilot.pause()
        await app.workers.wait_for_complete()


@pytest.fixture
def open_app(plan, make_app):
    return make_app(plan.path)


async def test_a_menu_takes_the_key_after_the_one_that_opened_it(plan, open_app):
    async with open_app.run_test() as pilot:
        await pilot.pause()
        type_at_once(open_app, "g", "s", "p")
        await settled(open_app, pilot)
        task = queries.task(open_app.bridge.db, plan[1])
        assert task.status == "pending"


async def test_a_reason_is_typed_into_the_line_that_asks_for_it_and_deletes_nothing(plan, open_app):
    async with open_app.run_test() as pilot:
        await pilot.pause()
        type_at_once(open_app, "g", "s", "f", *"dead", "enter", "j")
        await settled(open_app, pilot)
        db = open_app.bridge.db
        assert queries.task(db, plan[1]).status == "failed"
        assert glance.log_page(db, plan[1], 1)[0].message == "dead"
        assert open_app.current_list.total == 9
        assert open_app.pane.window.cursor == plan[2]


async def test_a_task_is_added_by_one_burst_of_keys(plan, open_app):
    async with open_app.run_test() as pilot:
        await pilot.pause()
        type_at_once(open_app, "g", "n", *"duds", "enter")
        await settled(open_app, pilot)
        assert open_app.pane.window.row.name == "duds"
        assert open_app.place(open_app.pane.window.row) == 2


async def test_a_filter_takes_its_letters_and_what_follows_moves_in_what_it_found(plan, open_app):
    async with open_app.run_test() as pilot:
        await pilot.pause()
        type_at_once(open_app, "slash", *"jwt", "enter", "j", "j")
        await settled(open_app, pilot)
        window = open_app.pane.window
        assert window.keys_on_screen == [plan[4], plan[5]]
        assert window.cursor == plan[5]
