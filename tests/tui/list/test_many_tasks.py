"""Actions on many tasks: how far they have come is told, keys come through, and nothing is half done."""

from __future__ import annotations

import threading

import pytest

from tests.started import DEADLINE
from tests.tui.driving import above, by_agent, opened, press, said, shown, task, until, write
from tests.tui.idle import SOON
from tests.tui.plan import NOW
from tui_tasks.core.commit.transaction import Transaction
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask
from tui_tasks.core.read.pages import board_pages, list_pages
from tui_tasks.core.store import Store
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.state import database_link


class Gate:
    """Holds the writer up before its operation of that number, counted from 1."""

    def __init__(self, monkeypatch, before, refuse=False):
        self.reached, self.open = threading.Event(), threading.Event()
        count, run = [0], Transaction.run

        def held(transaction, operation):
            count[0] += 1
            if count[0] == before:
                self.reached.set()
                assert self.open.wait(DEADLINE)
                if refuse:
                    raise Conflict("not now")
            return run(transaction, operation)

        monkeypatch.setattr(Transaction, "run", held)
        monkeypatch.setattr(database_link, "NOTICED", 0.01)
        # Later than what the pilot waits for.
        monkeypatch.setattr(database_link, "TOLD_EVERY", 2 * SOON)


@pytest.mark.usefixtures("holding_threads")
async def test_a_long_write_tells_how_far_it_is_and_keys_come_through(app, plan, monkeypatch):
    async with opened(app) as pilot:
        gate = Gate(monkeypatch, before=4)
        await press(app, pilot, "V")
        await pilot.press("d", "y")
        await until(pilot, lambda: "3 of 9" in said(app))
        assert said(app) == "Writing  ━━━━━━──────────────  3 of 9"
        # The pilot would wait until nothing is written any more.
        for _ in range(2):
            app.simulate_key("j")
        await until(pilot, lambda: app.pane.row_list.cursor == plan[3])
        assert not any(task(app, plan[place]).deleted for place in range(1, 10))
        gate.open.set()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert said(app) == "Deleted 9 tasks. u brings them back."
        assert all(task(app, plan[place]).deleted for place in range(1, 10))


@pytest.mark.usefixtures("holding_threads")
async def test_what_is_refused_on_the_way_is_not_half_done(app, plan, monkeypatch):
    async with opened(app) as pilot:
        gate = Gate(monkeypatch, before=7, refuse=True)
        await press(app, pilot, "V")
        await pilot.press("d", "y")
        await until(pilot, lambda: "6 of 9" in said(app))
        gate.open.set()
        await app.workers.wait_for_complete()
        assert said(app) == "not now"
        assert not any(task(app, plan[place]).deleted for place in range(1, 10))


@pytest.mark.usefixtures("holding_threads")
async def test_a_long_undo_tells_how_many_changes_it_has_made(app, plan, monkeypatch):
    async with opened(app) as pilot:
        await press(app, pilot, "V", "d", "y")
        assert task(app, plan[9]).deleted
        emit, reached, go = Transaction.emit, threading.Event(), threading.Event()

        def held(transaction, kind, *rest, **more):
            if transaction.seq - first >= 5:
                reached.set()
                assert go.wait(DEADLINE)
            return emit(transaction, kind, *rest, **more)

        first = app.link.seq
        monkeypatch.setattr(Transaction, "emit", held)
        monkeypatch.setattr(database_link, "NOTICED", 0.01)
        await pilot.press("u")
        await until(pilot, lambda: said(app) == "Writing…  5 changes")
        go.set()
        await app.workers.wait_for_complete()
        assert said(app) == "Undone: deletion of 9 tasks: #1, #2, #3 and 6 more. ^r does it again."
        assert not task(app, plan[9]).deleted


async def test_all_that_match_are_marked_though_looking_takes_long(app, plan, monkeypatch):
    monkeypatch.setattr(list_pages, "MAX_PASSED", 2)
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "t who:claude-2")
        await press(app, pilot, "enter", "V")
        assert app.pane.row_list.marks == [plan[1], plan[2], plan[3], plan[7]]
        assert said(app) == "4 tasks marked."


async def test_all_cards_of_a_column_that_match_are_marked_though_looking_takes_long(plan, make_app, monkeypatch):
    agents = ["far", *[None] * 10, "far", *[None] * 5]
    by_agent(plan, "claude-1", *(AddTask(f"t{n}", plan.list_uid, agent=who) for n, who in enumerate(agents)))
    monkeypatch.setattr(board_pages, "MAX_PASSED", 2)
    app = make_app(plan.path, pane="board")
    async with opened(app) as pilot:
        await press(app, pilot, "h", "slash")
        await write(pilot, "who:far")
        await press(app, pilot, "enter", "V")
        assert said(app) == "2 cards marked."


async def test_a_filter_that_changes_while_it_is_looked_for_marks_nothing(app, plan, monkeypatch):
    monkeypatch.setattr(list_pages, "MAX_PASSED", 2)
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "t")
        await press(app, pilot, "enter")
        looking = app.pane.mark_actions.do_mark_all()
        await press(app, pilot, "escape")
        await looking
        assert app.pane.row_list.marks == []
        assert said(app) == "The filter has changed; nothing was marked."


async def test_more_than_a_thousand_are_set_at_once_and_taken_back_at_once(plan, make_app):
    with Store(plan.path) as store:
        home = store.commit(CreatePlan("Long"), actor="human", now=NOW)[0].uid
        made = store.commit(*(AddTask(f"Task {n}", home) for n in range(1_100)), actor="human", now=NOW)
    app = make_app(plan.path, list_name="Long")
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, "V")
        assert said(app) == "1,100 tasks marked."
        await press(app, pilot, "s", "d")
        found = app.state.current_list
        assert (found.done, found.pending) == (1_100, 0)
        assert app.pane.row_list.marks == []
        await press(app, pilot, "u")
        assert (app.state.current_list.done, app.state.current_list.pending) == (0, 1_100)
        await pilot.press("V", "d")
        await pilot.pause()
        assert "Delete 1,100 marked tasks, #1" in shown(app)
        await press(app, pilot, "y")
        assert app.state.current_list.total == 0
        await press(app, pilot, "u")
        assert app.state.current_list.total == 1_100
        # What was undone is said in two lines below them.
        assert [row.uid for row in app.pane.row_list.rows_on_screen] == [task.uid for task in made[:8]]


async def test_attention_finds_what_failed_in_every_list_that_the_now_line_counts(app, plan):
    with Store(plan.path) as store:
        home = store.commit(CreatePlan("Other"), actor="human", now=NOW)[0].uid
        (far,) = store.commit(AddTask("Far away", home), actor="human", now=NOW)
        store.commit(EditTask(far.uid, {"status": "failed"}), actor="human", now=NOW)
    async with opened(app) as pilot:
        await pilot.pause()
        gone_to = []
        for _ in range(4):
            await press(app, pilot, "exclamation_mark")
            gone_to.append(app.pane.target())
        assert gone_to == [plan[4], plan[7], plan[3], far.uid]
        assert said(app) == "4 of 4, in Other: failed, #10 Far away; Esc goes back"
        await press(app, pilot, "enter", "escape")
        assert app.pane.target() == far.uid, "only the detail is closed"
        await press(app, pilot, "escape")
        assert app.pane.target() == plan[3]
        await press(app, pilot, "escape", "exclamation_mark", "exclamation_mark")
        assert said(app).startswith("1 of 4, in Plan: question, #4 ") and said(app).endswith("; a answers it")
        await press(app, pilot, "escape")
        assert app.pane.target() == plan[4], "the list that one came from is shown again"


async def test_the_first_layout_leaves_room_for_what_needs_the_human(plan, make_app, monkeypatch):
    by_agent(plan, "claude-2", *(AddTask(f"task {number}", plan.list_uid) for number in range(60)))
    by_agent(plan, "claude-2", OpenAsk("Which database?"), OpenAsk("Which port?"))
    heights, resized = [], VirtualList.on_resize

    def noted(rows):
        heights.append(rows.size.height)
        resized(rows)

    monkeypatch.setattr(VirtualList, "on_resize", noted)
    app = make_app(plan.path)
    async with opened(app):
        assert "Which database?" in above(app)
        # A second layout would paint the rows again.
        assert len(heights) == 1
