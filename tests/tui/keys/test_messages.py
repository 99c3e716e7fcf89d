"""A message in the foot is about the last key: the next one that does something takes it away."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.widgets import Input

from tests.tui.driving import by_agent, lines, opened, press, said, settle, task, write
from tests.tui.plan import NOW, SECOND
from tui_tasks.core.operations.asks import PauseAgent, ResumeAgent
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask
from tui_tasks.core.read import message_queries
from tui_tasks.tui.app.frame import Frame
from tui_tasks.tui.inputs.editor import LongText
from tui_tasks.tui.inputs.form_screen import FormScreen
from tui_tasks.tui.widgets.foot_line import FootLine


def feet(app):
    """What the feet of all screens say."""
    return [foot.message for screen in app.screen_stack for foot in screen.query(FootLine)]


@pytest.mark.parametrize("key", ["j", "S", "D", "3", "tab", "equals_sign", "slash", "s"])
async def test_a_message_goes_with_the_next_key_and_the_keys_come_back(app, key):
    async with opened(app, (80, 24)) as pilot:
        await settle(pilot, "full_stop")
        assert said(app).startswith("All seen; . again dismisses failed task #3.")
        await settle(pilot, key)
        assert not any(feet(app))
        assert "Help" in lines(app)[-1] or "Esc" in lines(app)[-1]


async def test_what_is_wrong_with_a_new_task_is_said_until_the_next_key(app):
    async with opened(app) as pilot:
        await settle(pilot, "n", "space", "enter")
        assert said(app) == "a task needs a title"
        await settle(pilot, "x")
        assert said(app) == ""
        await settle(pilot, "backspace", "enter", "escape", "escape")
        assert said(app) == ""


async def test_completions_go_with_the_next_letter_and_a_mistake_in_a_filter_stays_as_long_as_it_does(app):
    async with opened(app) as pilot:
        await settle(pilot, "slash", "d", "tab")
        assert said(app) == "domain:  due:"
        await settle(pilot, "ctrl+u")
        assert said(app) == ""
        await write(pilot, "due:never x")
        await settle(pilot, "y")
        assert said(app).startswith("no due 'never'")
        await settle(pilot, "ctrl+u")
        assert said(app) == ""


async def test_a_click_takes_the_message_away(app):
    async with opened(app) as pilot:
        await settle(pilot, "full_stop")
        await pilot.click("VirtualList", offset=(10, 3))
        await pilot.pause()
        assert said(app) == ""


async def test_what_is_said_of_a_started_job_is_true_after_it_has_ended(jobs, make_app):
    app = make_app(jobs.plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "4", "g", "j", "r")
        assert said(app) == "Started S2 Login audit; Enter shows its output."


async def test_undo_and_redo_of_a_job_say_what_has_changed(jobs, make_app):
    app = make_app(jobs.plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "4", "g", "j", "t")
        await press(app, pilot, "u")
        assert said(app) == "Undone: S2 Login audit: on again. ^r does it again."
        await press(app, pilot, "ctrl+r")
        assert said(app) == "Redone: S2 Login audit: on → off. u undoes it."


async def test_the_undo_of_a_change_from_before_the_screen_opened_says_so_with_its_time(plan, make_app):
    by_agent(plan, "human", EditTask(plan[8], {"status": "done"}), now=NOW - 120 * SECOND)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await press(app, pilot, "u")
        assert said(app) == (
            "Undone from 20:13, before this screen opened: #8 Backup restore drill: pending again. ^r does it again."
        )


@pytest.mark.parametrize("keys", [("e",), ("4", "e"), ("4", "n")])
async def test_esc_keeps_what_is_typed_in_a_form_as_quick_add_does_and_ctrl_r_drops_it(jobs, make_app, keys):
    app = make_app(jobs.plan.path)
    async with opened(app, (80, 24)) as pilot:
        await settle(pilot, *keys, "x", "y", "escape")
        assert not isinstance(app.screen, FormScreen)
        assert said(app) == "Kept what you typed: the same key brings it back."
        await settle(pilot, keys[-1])
        name = app.screen.query_one("#name", Input)
        assert name.value.endswith("xy") and said(app) == "This is your draft from before: ^r drops it."
        await settle(pilot, "ctrl+u")
        assert name.value == "", "^u empties the field as in every line"
        assert "Enter Save  ^r Drop draft" in lines(app)[-1]
        await settle(pilot, "z", "ctrl+r")
        assert said(app) == "The draft is dropped: the fields are as they were."
        assert bool(name.value) == ("n" not in keys) and not name.value.endswith(("xy", "z"))
        await settle(pilot, "escape")
        assert "Drop draft" not in "\n".join(lines(app)) and not isinstance(app.screen, FormScreen)
        await settle(pilot, keys[-1])
        assert not app.screen.query_one("#name", Input).value.endswith("xy")


async def test_a_draft_of_a_form_leaves_what_others_have_changed_since(app, plan, agent):
    async with opened(app, (80, 24)) as pilot:
        app.navigation.go_to(plan[5])
        await settle(pilot, "e", "x", "escape")
        agent(EditTask(plan[5], {"description": "By hand."}))
        await settle(pilot, "e")
        assert app.screen.query_one("#name", Input).value == "Ship auth flowx"
        assert app.screen.query_one("#description", LongText).value == "By hand."
        await settle(pilot, "ctrl+s")
        found = task(app, plan[5])
        assert (found.name, found.description) == ("Ship auth flowx", "By hand.")
        await settle(pilot, "e")
        assert "draft" not in said(app), "it is saved"


async def test_a_message_of_two_lines_moves_no_row_of_a_small_screen(app):
    async with opened(app, (40, 12)) as pilot:
        before = lines(app)
        app.context.say("A message that is too long for one line of a small screen.")
        await settle(pilot)
        assert lines(app)[:-2] == before[:-2] and lines(app)[-2].startswith(" A message")


async def test_a_run_without_output_leaves_what_was_copied_before(jobs, make_app):
    app = make_app(jobs.plan.path)
    async with opened(app) as pilot:
        app.copy_to_clipboard("mine")
        await settle(pilot, "4", "g", "j", "enter", "Y")
        assert said(app) == "This run has no output to copy."
        assert app.clipboard == "mine"


def test_a_message_about_a_write_that_ends_after_the_screen_goes_nowhere():
    Frame(App(), ascii_only=False).say("Deleted “Inventory GA usage”.")


async def test_undo_says_of_a_pause_that_its_key_ends_it_and_a_second_undo_takes_the_change_before(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        by_agent(plan, "human", EditTask(plan[8], {"status": "done"}), PauseAgent("claude-2", "Wait"))
        await settle(pilot)
        await press(app, pilot, "u")
        assert said(app) == (
            "A pause is not undone: P in Agents resumes claude-2. u again undoes the change before it."
        )
        assert task(app, plan[8]).status == "done"
        await press(app, pilot, "u")
        assert task(app, plan[8]).status == "pending" and message_queries.agent(app.link.db, "claude-2").paused
        by_agent(plan, "human", ResumeAgent("claude-2"))
        await press(app, pilot, "j", "u")
        assert said(app).startswith("The end of a pause is not undone: P in Agents pauses claude-2 again.")


async def test_the_undo_of_a_change_in_another_list_names_that_list(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        (other,) = by_agent(plan, "claude-1", CreatePlan("Other"))
        (far,) = by_agent(plan, "claude-1", AddTask("Far away", other.uid))
        by_agent(plan, "human", EditTask(far.uid, {"status": "done"}))
        await settle(pilot)
        await press(app, pilot, "u")
        assert said(app).startswith("Undone: #10 Far away: pending again in the list Other.")
