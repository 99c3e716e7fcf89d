"""Taking back what anybody did: from the log, and the deletions in the list on screen."""

import pytest

from tests.core.job_steps import replayed, tables
from tests.tui.driving import SIZES, by_agent, named, said, settle, shown, until
from tests.tui.logs import log_of
from tests.tui.plan import NOW
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import Redo, Revert, Undo
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, ClearList, DeleteTask, EditTask
from tui_tasks.core.read.pages import change_summaries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.tui.agents import agent_actions


def live(plan):
    with Store(plan.path) as store:
        return [
            task.uid
            for task in task_queries.tasks(store.db, task_queries.list_by_uid(store.db, plan.list_uid, "plan").id)
        ]


def sound(plan):
    with Store(plan.path) as store:
        assert replayed(store) == tables(store.db)


@pytest.mark.parametrize("size", SIZES)
async def test_a_list_that_an_agent_has_emptied_says_so_and_a_key_brings_all_back(plan, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        by_agent(plan, "rogue", ClearList(plan.list_uid))
        await until(pilot, lambda: "rogue deleted 9 tasks here" in shown(app))
        assert "No tasks yet" not in shown(app)
        await settle(pilot, *named("revert"))
        assert "rogue: Revert 9 deletions? Inventory GA usage" in " ".join(shown(app).split())
        await settle(pilot, "n")
        assert live(plan) == []
        await settle(pilot, *named("revert"), "y")
        assert live(plan) == plan.uids
        assert "Reverted" in shown(app)
        assert said(app).endswith("u undoes it.")
        await settle(pilot, "u")
        assert live(plan) == []
        assert said(app).endswith("^r does it again.")
        await settle(pilot, "ctrl+r")
        assert live(plan) == plan.uids
    sound(plan)


async def test_a_list_whose_only_task_was_deleted_says_how_to_bring_it_back(plan, make_app):
    by_agent(plan, "rogue", ClearList(plan.list_uid), AddTask("Mine", plan.list_uid))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "d", "y")
        await until(pilot, lambda: "bring it back" in shown(app))
        assert "you deleted 1 task here just now." in shown(app)


async def test_u_after_a_revert_undoes_the_revert_and_then_what_the_human_did_before(plan, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "n", *"Mine", "enter", "escape")
        by_agent(plan, "rogue", AddTask("Spam", plan.list_uid))
        await until(pilot, lambda: "Spam" in shown(app))
        with Store(plan.path) as store:
            (spam,) = change_summaries.of_agent(store.db, "rogue", 0)
            store.commit(Revert((spam,)), actor="human", now=NOW)
        await until(pilot, lambda: "Spam" not in shown(app))
        await settle(pilot, "u")
        assert "Spam" in shown(app) and "Mine" in shown(app), said(app)
        await settle(pilot, "u")
        assert "Spam" in shown(app) and "Mine" not in shown(app).replace(said(app), "")


async def test_a_board_that_was_emptied_says_so_too(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        by_agent(plan, "rogue", ClearList(plan.list_uid))
        await until(pilot, lambda: "rogue deleted 9" in shown(app))
        await settle(pilot, *named("revert"), "y")
        assert live(plan) == plan.uids


async def test_from_the_log_the_change_of_an_entry_is_taken_back_whoever_made_it(plan, make_app):
    by_agent(plan, "rogue", EditTask(plan[5], {"name": "Vandalised", "priority": 1}))
    by_agent(plan, "claude-1", AddTask("Later", plan.list_uid))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "k")
        assert log_of(app).row_list.row.actor == "rogue"
        await settle(pilot, *named("revert"))
        assert "rogue: Revert 1 change to 1 task? Vandalised" in shown(app)
        await settle(pilot, "y")
    with Store(plan.path) as store:
        assert task_queries.task(store.db, plan[5]).name == "Ship auth flow"
    sound(plan)


def test_the_question_before_a_revert_names_the_tasks_that_it_deletes(plan):
    by_agent(plan, "rogue", AddTask("Spam", plan.list_uid), EditTask(plan[5], {"priority": 1}))
    with Store(plan.path) as store:
        made = change_summaries.summary(store.db, change_summaries.of_agent(store.db, "rogue", 0))
    assert made.question == "Revert 2 changes to 2 tasks? Spam, Ship auth flow. It deletes #10."


async def test_what_others_have_changed_since_is_left_and_told(plan, make_app):
    by_agent(plan, "rogue", EditTask(plan[5], {"name": "Vandalised"}))
    by_agent(plan, "claude-1", EditTask(plan[5], {"name": "Mended"}))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "k", *named("revert"), "y")
        assert "Nothing was reverted" in shown(app)
        assert "claude-1 has changed task #5" in shown(app)
    with Store(plan.path) as store:
        assert task_queries.task(store.db, plan[5]).name == "Mended"


async def test_each_reason_for_which_changes_stay_is_listed_once(plan, make_app):
    for number in (5, 8):
        by_agent(plan, "rogue", EditTask(plan[number], {"name": "Spoiled"}))
        by_agent(plan, "claude-1", EditTask(plan[number], {"name": "Mended"}))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        changes = change_summaries.of_agent(app.context.db, "rogue", 0)
        app.context.run(agent_actions.take_back(app.context, changes))
        await settle(pilot, "y")
        assert "2 changes could not be: " in said(app)
        assert "changed task #5" in said(app) and "changed task #8" in said(app)


async def test_an_entry_that_changed_nothing_to_go_back_to_says_so(plan, make_app):
    by_agent(plan, "claude-1", OpenAsk("Which?", (), None, None))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, *named("revert"))
        assert "Nothing to undo" in shown(app)


def test_all_of_an_agent_since_an_instant_is_one_change_that_can_be_undone(plan):
    by_agent(plan, "rogue", EditTask(plan[5], {"name": "One"}))
    by_agent(plan, "rogue", EditTask(plan[5], {"name": "Two"}), AddTask("Spam", plan.list_uid))
    by_agent(plan, "claude-1", DeleteTask(plan[6]))
    by_agent(plan, "rogue", DeleteTask(plan[7]))
    with Store(plan.path) as store:
        changes = change_summaries.of_agent(store.db, "rogue", 0)
        assert changes == sorted(changes, reverse=True)
        assert len(changes) == 3
        ((taken, kept),) = store.commit(Revert(tuple(changes)), actor="human", now=NOW)
        assert (taken, kept) == (3, ())
        assert task_queries.task(store.db, plan[5]).name == "Ship auth flow"
        assert task_queries.any_task(store.db, plan[6]).deleted
        assert not task_queries.any_task(store.db, plan[7]).deleted
        ((again, left),) = store.commit(Revert(tuple(changes)), actor="human", now=NOW)
        assert (again, [change for change, _ in left]) == (0, changes)
        with pytest.raises(Conflict, match="you have no undo to redo"):
            store.commit(Redo(), actor="human", now=NOW)
        for _ in range(2):
            store.commit(Undo(), actor="human", now=NOW)
            assert task_queries.task(store.db, plan[5]).name == "Two"
            assert task_queries.any_task(store.db, plan[7]).deleted
            store.commit(Redo(), actor="human", now=NOW)
            assert task_queries.task(store.db, plan[5]).name == "Ship auth flow"
            assert not task_queries.any_task(store.db, plan[7]).deleted
        with pytest.raises(Conflict, match="you have no undo to redo"):
            store.commit(Redo(), actor="human", now=NOW)
        assert replayed(store) == tables(store.db)
