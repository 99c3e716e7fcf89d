"""The task under the cursor goes, by an agent, just before a key: the key is for no task that took its place unread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.tui.driving import by_agent, opened, said, settle, shown, task, until
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, LogTask
from tui_tasks.core.read import overview
from tui_tasks.core.read.overview import StateChanges

REFUSED = "The cursor moved here by itself: look, and press the key again."
pytestmark = pytest.mark.usefixtures("pressed_now")
NAMES = ("One", "Two", "Three", "Four")

# Keys that change the task under the cursor, or open what does; what is typed on belongs to them.
EVERYWHERE = [("s", "d"), ("s",), ("e",), ("e", *"dusk"), ("E",), ("m",), ("m", *"dusk"), ("W",)]
KEYS = {
    "list": [*EVERYWHERE, ("J",), ("K",), ("v", "s", "d")],
    "board": [*EVERYWHERE, ("J",), ("K",), ("H",), ("L",), ("L", "L"), ("v", "L")],
}


@pytest.fixture
def uids(plan, agent) -> list[str]:
    return [agent(AddTask(name, plan.list_uid))[0].uid for name in NAMES]


@asynccontextmanager
async def landed(app: Any, agent: Any, uids: list[str]) -> AsyncIterator[Any]:
    """The app, where an agent has just deleted the second task under the cursor, which went to the third."""
    app.key_queue.clock = lambda: 0.0
    async with opened(app) as pilot:
        app.pane.select(uids[1])
        await settle(pilot)
        agent(DeleteTask(uids[1]))
        await until(pilot, lambda: app.pane.target() == uids[2])
        yield pilot


@pytest.mark.parametrize("pane", KEYS)
async def test_a_key_changes_no_task_that_came_under_the_cursor_by_itself_just_now(
    make_app, plan, agent, uids, seconds, pane
):
    app = make_app(plan.path, pane=pane)
    async with landed(app, agent, uids) as pilot:
        seq = journal.newest(app.link.db)
        seconds[0] += 0.3
        for number, keys in enumerate(KEYS[pane]):
            # Words that are typed on end with a pause.
            app.key_queue.clock = lambda now=10.0 * number: now
            app.frame.hush()
            await settle(pilot, *keys)
            assert len(app.screen_stack) == 1 and journal.newest(app.link.db) == seq, keys
            assert said(app).startswith(REFUSED), keys
            fate = "comes back then" if keys[0] == "m" else "was dropped"
            assert said(app).endswith(f"What you typed {fate}.") == (len(set(keys) - {"v"}) > 1), keys
            app.pane.row_list.mark([])
        seconds[0] += 0.5
        app.key_queue.clock = lambda: 1e9
        await settle(pilot, "m")
        assert app.screen.query_one("#answer").value == "dusk", "what was typed is the draft"


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_a_task_that_has_stood_under_the_cursor_for_half_a_second_is_changed(
    make_app, plan, agent, uids, seconds, pane
):
    app = make_app(plan.path, pane=pane)
    async with landed(app, agent, uids) as pilot:
        seconds[0] += 0.5
        await settle(pilot, "s", "d")
        assert task(app, uids[2]).status == "done"


@pytest.mark.parametrize("pane", ["list", "board"])
@pytest.mark.parametrize(("moves", "at"), [(("j",), 3), (("k",), 0), (("j", "k"), 2)])
async def test_a_key_after_a_move_of_the_human_acts_at_once(make_app, plan, agent, uids, seconds, pane, moves, at):
    app = make_app(plan.path, pane=pane)
    async with landed(app, agent, uids) as pilot:
        await settle(pilot, *moves, "s", "d")
        assert task(app, uids[at]).status == "done"


async def test_a_deletion_after_a_move_back_to_the_task_is_not_asked_about_for_that(app, agent, uids, seconds):
    async with landed(app, agent, uids) as pilot:
        await settle(pilot, "d")
        assert "The cursor moved here by itself." in shown(app)
        await settle(pilot, "escape", "j", "k", "d")
        assert "The cursor moved here by itself." not in shown(app)


@pytest.mark.parametrize(("key", "seen"), [("enter", "Three"), ("Y", "Copy of “Three”"), ("n", "Enter Add")])
async def test_keys_that_change_no_task_act_at_once(app, agent, uids, seconds, key, seen):
    async with landed(app, agent, uids) as pilot:
        await settle(pilot, key)
        assert seen in shown(app) and not said(app).startswith(REFUSED)


async def test_a_key_for_marked_tasks_acts_at_once_wherever_the_cursor_has_gone(app, agent, uids, seconds):
    async with landed(app, agent, uids) as pilot:
        app.pane.row_list.mark([uids[0]])
        await settle(pilot, "s", "d")
        assert (task(app, uids[0]).status, task(app, uids[2]).status) == ("done", "pending")


async def test_a_key_refused_since_the_cursor_moved_acts_when_pressed_again(app, agent, uids, seconds):
    async with landed(app, agent, uids) as pilot:
        await settle(pilot, "s")
        assert said(app) == REFUSED
        seconds[0] += 0.5
        await settle(pilot, "s", "d")
        assert task(app, uids[2]).status == "done"


async def test_moves_are_free_after_a_key_was_refused_since_the_cursor_moved(app, agent, uids, seconds):
    async with landed(app, agent, uids) as pilot:
        await settle(pilot, "s", "j")
        assert app.pane.target() == uids[3]


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_a_key_after_the_human_has_moved_the_task_away_themselves_acts_at_once(
    make_app, plan, agent, uids, seconds, pane
):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        app.pane.select(uids[1])
        await settle(pilot)
        by_agent(plan, "human", DeleteTask(uids[1]))
        await until(pilot, lambda: app.pane.target() == uids[2])
        await settle(pilot, "s", "d")
        assert task(app, uids[2]).status == "done"


@pytest.mark.parametrize("pane", ["list", "board"])
@pytest.mark.parametrize("keys", ["sd", "d"])
async def test_a_key_for_a_marked_task_that_an_agent_has_deleted_is_not_for_the_task_under_the_cursor(
    make_app, plan, agent, uids, seconds, pane, keys
):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        app.pane.select(uids[2])
        app.pane.row_list.mark([uids[0]])
        await settle(pilot)
        agent(DeleteTask(uids[0]))
        await until(pilot, lambda: app.pane.row_list.marks == [])
        await settle(pilot, *keys)
        assert task(app, uids[2]).status == "pending" and not task(app, uids[2]).deleted
        assert (said(app) + shown(app)).count("The cursor moved here by itself")


@pytest.mark.parametrize("is_painted", [True, False])
@pytest.mark.parametrize(
    ("pane", "keys"), [("list", ("s",)), ("board", ("L",)), ("board", ("L", "L")), ("board", ("H",))]
)
async def test_a_key_moves_no_task_on_from_where_an_agent_has_just_put_it(
    make_app, plan, agent, uids, seconds, pane, keys, is_painted
):
    app = make_app(plan.path, pane=pane)
    app.key_queue.clock = lambda: seconds[0]
    async with opened(app) as pilot:
        app.pane.select(uids[1])
        await settle(pilot)
        agent(EditTask(uids[1], {"status": "in_progress"}))
        if is_painted:
            await until(pilot, lambda: app.pane.row_list.row.status == "in_progress")
        # Directly, as `pilot.press` waits for the painting.
        for key in keys:
            app.pane.action_act({"s": "status", "L": "card_right", "H": "card_left"}[key])
        await settle(pilot)
        assert said(app).startswith("claude-1 set it in progress just now: look, and press the key again.")
        assert task(app, uids[1]).status == "in_progress" and len(app.screen_stack) == 1
        seconds[0] += 1.1
        await settle(pilot, "s", "d")
        assert task(app, uids[1]).status == "done"


@pytest.mark.parametrize("is_painted", [True, False])
@pytest.mark.parametrize(("pane", "key"), [("list", "status"), ("board", "card_right")])
async def test_a_key_moves_no_marked_tasks_on_where_an_agent_has_just_moved_one(
    make_app, plan, agent, uids, seconds, pane, key, is_painted
):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        app.pane.select(uids[0])
        app.pane.row_list.mark(uids[:2])
        await settle(pilot)
        agent(EditTask(uids[1], {"status": "in_progress"}))
        if is_painted:
            await until(pilot, lambda: app.state.seen.new)
        app.pane.action_act(key)
        await settle(pilot)
        number = task(app, uids[1]).number
        assert said(app).startswith(f"claude-1 set #{number} in progress just now: look, and press the key again.")
        assert task(app, uids[0]).status == "pending" and len(app.screen_stack) == 1


async def test_a_card_that_the_human_moves_goes_on_at_once(make_app, plan, uids, seconds):
    app = make_app(plan.path, pane="board")
    async with opened(app) as pilot:
        app.pane.select(uids[1])
        await settle(pilot, "L", "L")
        assert task(app, uids[1]).status == "done"


async def test_progress_of_an_agent_holds_up_no_key(make_app, plan, agent, uids, seconds):
    app = make_app(plan.path, pane="board")
    async with opened(app) as pilot:
        app.pane.select(uids[1])
        await settle(pilot)
        agent(LogTask(uids[1], "half way"), EditTask(uids[1], {"description": "more"}))
        await settle(pilot, "L")
        assert task(app, uids[1]).status == "in_progress"


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_a_key_for_a_task_that_the_human_has_just_added_acts_at_once(make_app, plan, agent, uids, seconds, pane):
    app = make_app(plan.path, pane=pane)
    async with landed(app, agent, uids) as pilot:
        app.pane.add_actions.do_new()
        await settle(pilot, *"Five", "enter")
        app.key_queue.clock = lambda: 1.0
        app.pane.unread.landing.note(None, app.pane.target(), StateChanges(0, 1, (), all=True))
        app.pane.show_added(app.pane.target())
        await settle(pilot, "s", "d")
        assert task(app, app.pane.target()).status == "done"


async def test_a_task_that_the_human_has_brought_back_is_no_surprise_but_the_one_after_a_deletion_is(app, plan):
    async with opened(app) as pilot:
        landing, db = app.pane.unread.landing, app.link.db
        app.pane.select(plan[1])
        since = journal.newest(db)
        await settle(pilot, "d")
        await until(pilot, lambda: app.pane.target() == plan[2])
        landing.note(plan[1], plan[2], overview.changes_since(db, since))
        assert landing.is_surprise(plan[2])
        since = journal.newest(db)
        await settle(pilot, "u")
        await until(pilot, lambda: app.pane.target() == plan[1])
        landing.note(plan[2], plan[1], overview.changes_since(db, since))
        assert not landing.is_surprise(plan[1])


async def test_a_task_that_the_human_has_changed_is_no_surprise_though_an_agent_changed_another_with_it(app, plan):
    async with opened(app):
        landing, db = app.pane.unread.landing, app.link.db
        since = journal.newest(db)
        by_agent(plan, "claude-1", DeleteTask(plan[8]))
        landing.note(plan[1], plan[2], overview.changes_since(db, since))
        assert landing.is_surprise(plan[2])
        by_agent(plan, "human", EditTask(plan[2], {"priority": 1}))
        landing.note(plan[1], plan[2], overview.changes_since(db, since))
        assert not landing.is_surprise(plan[2])
