"""A list sorted by due date: the soonest first, whatever comes in, and without a place to move a task to."""

from __future__ import annotations

import pytest

from tests.tui.driving import opened, press, said, until, write
from tests.tui.plan import NOW
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.pages.filter import ALL, Filter, Term
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.tui.tasks.task_sources import TasksByDue

DUE = {2: "2026-11-28", 4: "2026-11-21T18:00:00.000+00:00", 5: "2026-11-20", 6: "2026-11-21", 8: "2026-11-28"}
SOONEST = [5, 6, 4, 2, 8]


@pytest.fixture
def dated(plan):
    with Store(plan.path) as store:
        store.commit(*(EditTask(plan[place], {"due": due}) for place, due in DUE.items()), actor="human", now=NOW)
    return plan


@pytest.mark.parametrize("only", [ALL, Filter((Term("word", "audit"),)), Filter((Term("status", "pending"),))])
def test_pages_by_due_date_give_each_task_once_in_the_same_order_both_ways(dated, only):
    with Store(dated.path, read_only=True) as store:
        (home,) = (found for found in task_queries.lists(store.db) if found.uid == dated.list_uid)
        source = TasksByDue(store.db, home.id, only)
        forwards, backwards = source.first(2), source.last(2)
        while page := source.after(forwards[-1], 2) if forwards else []:
            forwards += page
        while page := source.before(backwards[0], 2) if backwards else []:
            backwards = [*page, *backwards]
        assert forwards == backwards
        places = [dated.uids.index(task.uid) + 1 for task in forwards]
        assert places == [place for place in SOONEST if place in places]
        assert only or places == SOONEST
        assert source.find([dated[1], *(dated[place] for place in places)]).keys() == {task.uid for task in forwards}


async def test_sort_due_shows_the_soonest_first_and_takes_in_a_new_date(dated, make_app, agent):
    app = make_app(dated.path)
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "sort:due")
        await press(app, pilot, "enter")
        assert app.pane.row_list.keys_on_screen == [dated[place] for place in SOONEST]
        agent(EditTask(dated[1], {"due": "2026-11-22"}))
        wanted = [dated[place] for place in [5, 6, 4, 1, 2, 8]]
        await until(pilot, lambda: app.pane.row_list.keys_on_screen == wanted)
        await press(app, pilot, "J")
        assert said(app) == "the list is sorted by due: move the task down"
        assert app.pane.row_list.keys_on_screen == wanted
        await press(app, pilot, "escape")
        assert app.pane.row_list.keys_on_screen == dated.uids
