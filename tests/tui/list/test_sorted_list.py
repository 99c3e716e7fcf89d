"""A sorted list: in that order whatever changes, and without a place to move a task to."""

from __future__ import annotations

import pytest

from tests.tui.driving import lines, opened, press, said, settle, shown, until, write
from tests.tui.plan import NOW
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.pages.task_filter import DATED, Filter, Term
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import OPEN
from tui_tasks.tui.list.list_rows import SortedTasks
from tui_tasks.tui.tasks import filter_actions

DUE = {2: "2026-11-28", 4: "2026-11-21T18:00:00.000+00:00", 5: "2026-11-20", 6: "2026-11-21", 8: "2026-11-28"}
SOONEST = [5, 6, 4, 2, 8]


@pytest.fixture
def dated(plan):
    with Store(plan.path) as store:
        store.commit(*(EditTask(plan[place], {"due": due}) for place, due in DUE.items()), actor="human", now=NOW)
    return plan


@pytest.mark.parametrize("terms", [(), (Term("word", "audit"),), (Term("status", "pending"),)])
def test_pages_by_due_date_give_each_task_once_in_the_same_order_both_ways(dated, terms):
    with Store(dated.path, read_only=True) as store:
        (home,) = (found for found in task_queries.lists(store.db) if found.uid == dated.list_uid)
        source = SortedTasks(store.db, home.id, Filter((*terms, DATED), sort="due"))
        forwards, backwards = source.first(2), source.last(2)
        while page := source.after(forwards[-1], 2) if forwards else []:
            forwards += page
        while page := source.before(backwards[0], 2) if backwards else []:
            backwards = [*page, *backwards]
        assert forwards == backwards
        places = [dated.uids.index(task.uid) + 1 for task in forwards]
        assert places == [place for place in SOONEST if place in places]
        assert terms or places == SOONEST
        assert source.find([dated[1], *(dated[place] for place in places)]).keys() == {task.uid for task in forwards}


async def test_sort_due_shows_the_soonest_first_and_takes_in_a_new_date(dated, make_app, agent):
    app = make_app(dated.path)
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "sort:due")
        await press(app, pilot, "enter")
        assert app.pane.row_list.keys_on_screen == [dated[place] for place in [5, 6, 4, 8, 7, 2, 1, 3, 9]]
        agent(EditTask(dated[1], {"due": "2026-11-22"}))
        wanted = [dated[place] for place in [5, 6, 4, 8, 7, 1, 2, 3, 9]]
        await until(pilot, lambda: app.pane.row_list.keys_on_screen == wanted)
        await press(app, pilot, "J")
        assert said(app).startswith("The filter sorts by due. Esc clears it, to move tasks.")
        assert app.pane.row_list.keys_on_screen == wanted
        await press(app, pilot, "escape")
        assert app.pane.row_list.keys_on_screen == dated.uids


async def test_a_sorted_or_filtered_list_marks_which_part_of_it_is_on_screen(varied, make_app):
    app = make_app(varied.path)
    async with opened(app, (80, 16)) as pilot:
        for keys in ((), ("=", "a"), ("=", "o", "slash", "a", "enter")):
            await settle(pilot, *keys)
            assert not app.pane.row_list.at_end
            assert any(line[79:] == "▐" for line in lines(app)), keys


ORDERS = {"urgency": "u", "due": "d", "age": "a", "agent": "g"}


@pytest.fixture
def varied(dated):
    """Tasks that differ in priority, due date, age, agent and status."""
    with Store(dated.path) as store:
        store.commit(
            EditTask(dated[6], {"priority": 1}), EditTask(dated[8], {"priority": 2}), actor="claude-2", now=NOW + 1
        )
        store.commit(EditTask(dated[8], {"agent": "bob"}), actor="human", now=NOW + 2)
    return dated


@pytest.mark.parametrize("by", ORDERS)
def test_pages_of_an_order_give_each_task_once_in_the_same_order_both_ways(varied, by):
    with Store(varied.path, read_only=True) as store:
        (home,) = (found for found in task_queries.lists(store.db) if found.uid == varied.list_uid)
        source = SortedTasks(store.db, home.id, Filter(sort=by))
        forwards, backwards = source.first(2), source.last(2)
        while page := source.after(forwards[-1], 2):
            forwards += page
        while page := source.before(backwards[0], 2):
            backwards = [*page, *backwards]
        assert forwards == backwards
        assert sorted(task.uid for task in forwards) == sorted(varied.uids)
        assert [source.order(task) for task in forwards] == sorted(source.order(task) for task in forwards)
        assert len(source.find(varied.uids)) == len(varied.uids)
        is_open = [task.status in OPEN for task in forwards]
        assert is_open == sorted(is_open, reverse=True), "what is done is not in the way of what is to do"


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_the_cursor_stays_on_its_task_in_another_order(plan, make_app, pane):
    app = make_app(plan.path, pane=pane)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.pane.go_to(plan[8])
        for order in "uoago":
            await settle(pilot, "equals_sign", order)
            assert app.pane.target() == plan[8]
        await settle(pilot, "equals_sign", "u", "2" if pane == "list" else "1", "1" if pane == "list" else "2")
        assert app.pane.target() == plan[8]


async def test_a_list_is_sorted_by_a_key_says_so_and_keeps_tasks_that_have_no_value(varied, make_app):
    app = make_app(varied.path)
    async with opened(app) as pilot:
        await press(app, pilot, "equals_sign", "u")
        assert app.pane.row_list.keys_on_screen[:2] == [varied[5], varied[8]]
        assert len(app.pane.row_list.keys_on_screen) == len(varied.uids)
        assert "sorted by urgency" in shown(app)
        assert said(app) == "Sorted by urgency. = then o restores its own order."
        await press(app, pilot, "j")
        await press(app, pilot, "escape")
        assert said(app) == "Sorted by urgency. = then o restores its own order."
        await press(app, pilot, "K")
        assert said(app).startswith("The list is sorted by urgency. = then o restores its own order")
        await press(app, pilot, "equals_sign", "d")
        places = [varied.uids.index(uid) + 1 for uid in app.pane.row_list.keys_on_screen]
        assert places == [5, 6, 4, 8, 7, 2, 1, 3, 9], "the closed ones after the open ones"
        await press(app, pilot, "equals_sign", "o")
        assert app.pane.row_list.keys_on_screen == varied.uids
        assert "sorted by due" not in shown(app)


async def test_a_filter_sorts_by_what_the_menu_offers_and_leaves_the_own_order_behind(varied, make_app):
    app = make_app(varied.path)
    async with opened(app) as pilot:
        for by, letter in ORDERS.items():
            await press(app, pilot, "equals_sign", letter)
            wanted = app.pane.row_list.keys_on_screen
            await press(app, pilot, "equals_sign", "o", "slash")
            await write(pilot, f"sort:{by}")
            await press(app, pilot, "enter")
            assert app.pane.row_list.keys_on_screen == wanted, by
            await press(app, pilot, "equals_sign")
            assert said(app) == f"The filter sorts by {by}: change its words."
            await press(app, pilot, "escape")
            assert app.pane.row_list.keys_on_screen == varied.uids, by


async def test_the_key_of_the_menu_pressed_again_takes_the_next_order(varied, make_app):
    app = make_app(varied.path)
    async with opened(app, (120, 40)) as pilot:
        for order in ("urgency", "due", "age", "agent", ""):
            await press(app, pilot, "equals_sign", "equals_sign")
            assert app.pane.only.sort == order


async def test_on_a_small_screen_order_and_changes_do_not_touch(plan, make_app):
    app = make_app(plan.path)
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, "equals_sign", "u", "j")
        (foot,) = (line for line in lines(app) if "✗ #3 ? #4 #7" in line)
        assert "9 tasks, sorted" in foot and "  • " in foot


async def test_the_board_has_the_order_of_the_list_and_a_filter_keeps_it(varied, make_app):
    app = make_app(varied.path)
    async with opened(app, (120, 40)) as pilot:
        await press(app, pilot, "equals_sign", "u", "2")
        pending = app.pane.columns[0].cards.keys_on_screen
        assert pending == [varied[8], varied[6]]
        assert "sorted by urgency" in shown(app)
        await press(app, pilot, "equals_sign", "d", "slash")
        await write(pilot, "e")
        await press(app, pilot, "enter", "1")
        assert app.pane.only.sort == "due"
        await press(app, pilot, "2", "J")
        assert said(app).startswith("The list is sorted by due")


async def test_a_very_long_list_keeps_its_own_order_and_says_why(varied, make_app, monkeypatch):
    monkeypatch.setattr(filter_actions, "MAX_SORTED", 3)
    app = make_app(varied.path)
    async with opened(app) as pilot:
        await press(app, pilot, "equals_sign")
        assert said(app) == "Over 3 tasks: only the filter sort:due sorts them."
        await press(app, pilot, "slash")
        await write(pilot, "sort:d")
        assert said(app).startswith("over 3 tasks: sort:due shows only those with a due date")
        assert app.pane.row_list.keys_on_screen == [varied[place] for place in SOONEST]
