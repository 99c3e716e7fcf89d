"""Much of everything on a screen of 40 by 12, and every action there is in help and palette."""

from __future__ import annotations

import pytest

from tests.tui.driving import lines, opened, press, shown, write
from tests.tui.plan import NOW
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, LogTask
from tui_tasks.core.store import Store
from tui_tasks.tui.keys.action_table import ACTIONS


@pytest.fixture
def crowd(tmp_path):
    """30 lists, and in one of them a title of 10,000 letters with 200 tags, 12 agents and 20 open questions."""
    path = tmp_path / "crowd.db"
    with Store(str(path)) as store:

        def commit(actor, *operations):
            return store.commit(*operations, actor=actor, now=NOW)

        commit("human", *(CreatePlan(f"List {number} of many with a long name") for number in range(30)))
        home = commit("human", CreatePlan("Crowd"))[0].uid
        tags = tuple(f"tag-{number}" for number in range(200))
        commit("human", AddTask("N" * 10_000, home, tags=tags, description="what it is about"))
        tasks = commit("human", *(AddTask(f"Task {number}", home) for number in range(20)))
        for number, task in enumerate(tasks):
            agent = f"agent-{number % 12}"
            commit(agent, EditTask(task.uid, {"status": "in_progress"}), LogTask(task.uid, "on it " * 50))
            commit(agent, OpenAsk(f"Question {number}? " + "why " * 100, ("yes", "no " * 100), task.uid))
    return path


async def test_much_of_everything_fits_on_a_small_screen(crowd, make_app):
    app = make_app(crowd, list_name="Crowd")
    async with opened(app, (40, 12)) as pilot:
        assert "? 20" in lines(app)[0]
        await press(app, pilot, "g", "enter")
        assert "… of 10,000 characters" in shown(app)
        await press(app, pilot, "G")
        assert "180 more tags" in shown(app)
        assert "what it is about" in shown(app)
        await press(app, pilot, "escape")
        for keys, seen in (
            ("a", "Needs you 1 of 20"),
            ("A", "agent-11"),
            ("S", "Crowd, last 7 days"),
            ("2", "? 20"),
            ("3", "Question 19?"),
            ("4", "Nothing is scheduled."),
        ):
            await press(app, pilot, keys)
            if keys == "A":
                await press(app, pilot, "G")
            assert seen in shown(app), shown(app)
            assert all(len(line) <= 40 for line in lines(app))
            if keys in "aAS":
                await press(app, pilot, "escape")


async def test_a_title_and_a_number_in_the_palette_stand_apart(crowd, make_app):
    app = make_app(crowd, list_name="Crowd")
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, "colon")
        await write(pilot, "list 3 of")
        await pilot.pause()
        (line,) = [line for line in lines(app) if "List 3" in line]
        assert line.endswith("…  0 tasks")


async def test_help_has_every_action_and_the_palette_all_that_are_at_hand(plan, make_app):
    app = make_app(plan.path)
    options = {f"ask_{number}" for number in range(1, 10)}
    others = [action for name, action in ACTIONS.items() if name not in options]
    async with opened(app) as pilot:
        for pane in "1234":
            await press(app, pilot, pane, "question_mark")
            found = app.screen.window.source.first(1_000)
            told = {(row.entry.title, row.entry.key) for row in found}
            assert {(action.title, app.context.keymap.keys_of(action.id)) for action in others} <= told
            assert ("Answer with the option of that number", "1–9") in told
            await press(app, pilot, "escape")
            offered = {action.title for actor in app.actions_here.actors() for action in actor.offers()}
            await press(app, pilot, "colon")
            found = app.screen.window.source.first(1_000)
            assert offered - {ACTIONS["palette"].title} <= {row.entry.title for row in found}
            assert len(offered) > 20
            await press(app, pilot, "escape")
