"""What people press by habit from vim, lazygit and k9s destroys nothing: it does nothing, asks, or can be undone."""

from __future__ import annotations

import pytest
from textual.widgets import TextArea

from tests.tui.driving import opened, order, said, settle, shown, task, until
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.tasks import AddTask, DeleteTask
from tui_tasks.core.read import job_queries

HABITS = (*"xDCUZZGgpobwcRXO+", "ctrl+d", "ctrl+u", "ctrl+f", "ctrl+w", "ctrl+x")


async def test_no_key_of_habit_changes_anything(jobs, make_app):
    app = make_app(jobs.plan.path)
    async with opened(app) as pilot:
        seq = journal.newest(app.link.db)
        for place in ("1", "3", "4", "a", "A"):
            for key in HABITS:
                await pilot.press(place, key, "escape", "escape")
            await settle(pilot)
            assert journal.newest(app.link.db) == seq, place


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_dd_deletes_one_task_and_asks_once_before_the_next_one_however_long_after(
    plan, make_app, pane, seconds, pressed_now
):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        before = order(app)
        app.context.navigation.go_to(plan[6])
        await settle(pilot, "d")
        seconds[0] += 60
        await settle(pilot, "d")
        assert "The cursor moved here by itself." in shown(app)
        await settle(pilot, "escape")
        assert len(order(app)) == len(before) - 1
        await settle(pilot, "d")
        assert "u brings it back" in said(app)
        assert len(order(app)) == len(before) - 2
        await settle(pilot, "u", "u")
        assert order(app) == before


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_a_mark_leaves_the_cursor_where_it_is(plan, make_app, pane):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[6])
        await settle(pilot, "v")
        assert (app.pane.target(), app.pane.row_list.marks) == (plan[6], [plan[6]])
        await settle(pilot, "v")
        assert (app.pane.target(), app.pane.row_list.marks) == (plan[6], [])


@pytest.mark.parametrize(("moves", "marked"), [("jj", (1, 2, 3)), ("G", tuple(range(1, 10)))])
async def test_a_mark_a_move_and_the_key_of_all_mark_the_range_then_all_then_none(app, plan, moves, marked):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[1])
        await settle(pilot, "v", *moves, "V")
        assert app.pane.row_list.marks == [plan[number] for number in marked]
        assert said(app) == f"{len(marked)} tasks marked. V again marks all."
        await settle(pilot, *("V" * (2 if len(marked) < 9 else 1)))
        assert said(app) == "No task is marked." and app.pane.row_list.marks == []


async def test_a_range_goes_up_too_joins_others_and_begins_at_the_newest_mark(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "v", "k", "k", "v", "k", "k", "V")
        assert sorted(app.pane.row_list.marks) == sorted(plan[number] for number in (5, 6, 7, 9))
        await settle(pilot, "escape", "v", "v", "j", "V")
        assert len(app.pane.row_list.marks) == 9, "an unmarked row begins no range"


async def test_the_key_of_all_marks_the_rows_between_two_marks_before_it_marks_all(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[6])
        await settle(pilot, "v")
        assert said(app) == "1 task marked. Move, then V marks up to there. Esc unmarks."
        await settle(pilot, "j", "j", "v")
        assert said(app) == "2 tasks marked. V marks all between them. Esc unmarks."
        await settle(pilot, "V")
        assert sorted(app.pane.row_list.marks) == sorted(plan[number] for number in (6, 7, 8))
        await settle(pilot, "V")
        assert len(app.pane.row_list.marks) == 9
        await settle(pilot, "V", "v", "v")
        assert said(app) == "No task is marked."
        await settle(pilot, "v", "escape")
        assert said(app) == "No task is marked." and not app.pane.row_list.marks


async def test_a_range_whose_first_row_has_gone_marks_nothing(app, plan, agent):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[6])
        await settle(pilot, "v", "j", "j")
        agent(DeleteTask(plan[6]))
        await until(pilot, lambda: plan[6] not in order(app))
        await settle(pilot, "V")
        assert said(app) == "The task from which the range began is gone. Nothing was marked; V again marks all."
        assert app.pane.row_list.marks == []
        await settle(pilot, "V")
        assert len(app.pane.row_list.marks) == 8


async def test_a_range_on_the_board_is_one_of_its_column(make_app, plan, agent):
    uids = [agent(AddTask(name, plan.list_uid))[0].uid for name in ("One", "Two", "Three")]
    app = make_app(plan.path, pane="board")
    async with opened(app) as pilot:
        app.context.navigation.go_to(uids[0])
        await settle(pilot, "v")
        assert said(app) == "1 card marked. Move, then V marks up to there. Esc unmarks."
        await settle(pilot, "j", "V")
        assert app.pane.row_list.marks == uids[:2] and said(app) == "2 cards marked. V again marks all."
        await settle(pilot, "L")
        assert [task(app, uid).status for uid in uids] == ["in_progress", "in_progress", "pending"]


async def test_what_is_deleted_is_named_where_the_cursor_is_not_on_it(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "v", "j", "d")
        assert "Delete the marked “Backup restore drill”?" in shown(app)
        await settle(pilot, "escape", "v", "d")
        assert "Delete 2 marked tasks, #8 “Backup restore drill” and #9 “Old cookie banner”?" in shown(app)
        await settle(pilot, "escape", "V")
        assert said(app) == "2 tasks marked. V again marks all."
        await settle(pilot, "V", "d")
        named = "#8 “Backup restore drill”, #9 “Old cookie banner” and 7 more?"
        assert f"Delete 9 marked tasks, {named}" in shown(app)


async def test_what_is_marked_is_named_so_where_its_status_is_asked(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "v", "s")
        assert "Status of “Backup restore drill”" in shown(app)
        await settle(pilot, "escape", "j", "s")
        assert "Status of the marked “Backup restore drill”" in shown(app)


async def test_enter_in_a_menu_chooses_the_lit_row(app, plan):
    choices = (
        ((), "pending"),
        (("down",), "in_progress"),
        (("j", "j", "j"), "failed"),
        (("j", "j", "k"), "in_progress"),
        (("k",), "in_progress"),
        (("G",), "cancelled"),
    )
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        for moves, status in choices:
            await settle(pilot, "s")
            await settle(pilot, *moves, "enter")
            if status == "failed":
                await settle(pilot, "enter")
            assert task(app, plan[8]).status == status
            assert (said(app) == "Press the key of a choice, or go to one by ↑↓ first.") == (not moves)
            await settle(pilot, *("u" if moves else ["escape"]))
            assert task(app, plan[8]).status == "pending"


async def test_the_row_that_enter_chooses_has_a_sign_and_no_move_leaves_the_menu(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "s")
        assert " > " not in shown(app) and "Enter Choose" not in shown(app)
        await settle(pilot, "down")
        assert " > i  ◐ in progress" in shown(app) and "Enter Choose  ↑↓ Move" in shown(app)
        await settle(pilot, "up", "up", "up")
        assert " > p  ○ pending   It is pending already." in shown(app)
        await settle(pilot, *["down"] * 9)
        assert " > c  – cancelled" in shown(app)
        await settle(pilot, *["up"] * 9, "enter")
        assert said(app) == "It is pending already."
        assert len(app.screen_stack) == 1, "a choice closes the menu, also one that cannot be made"


async def test_enter_in_the_menu_of_orders_sorts_by_the_lit_row(app):
    async with opened(app) as pilot:
        await settle(pilot, "equals_sign")
        assert " > o  own order" in shown(app)
        await settle(pilot, "j", "enter")
        assert app.state.sort == "urgency"
        await settle(pilot, "equals_sign")
        assert " > u  urgency" in shown(app)
        await settle(pilot, "enter")
        assert app.state.sort == "urgency"


async def test_enter_alone_confirms_no_deletion(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[5])
        await settle(pilot, "d")
        assert " > n  no" in shown(app)
        await settle(pilot, "enter")
        assert not task(app, plan[5]).deleted and len(app.screen_stack) == 1
        await settle(pilot, "d", "k", "enter")
        assert not task(app, plan[5]).deleted, "a letter moves to no yes"
        await settle(pilot, "escape", "d", "up", "enter")
        assert task(app, plan[5]).deleted


async def test_a_status_of_all_marked_tasks_says_how_many_it_has_set_and_the_key_that_undoes_it(app, plan):
    async with opened(app) as pilot:
        await settle(pilot, "V", "s", "d")
        assert said(app) == "7 tasks: done, 2 were so already. u undoes it."
        await settle(pilot, "u")
        assert task(app, plan[8]).status == "pending"


async def test_a_status_of_one_task_names_it(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "s", "d")
        assert said(app) == "“Backup restore drill”: done. u undoes it."


async def test_a_key_that_is_refused_lets_the_moves_after_it_through_but_no_words(plan, make_app):
    app = make_app(plan.path, read_only=True)
    app.key_queue.clock = lambda: 0.0
    async with opened(app) as pilot:
        await settle(pilot, "g", "n", "j", "j", "k")
        assert app.pane.target() == plan[2]
        await settle(pilot, "n", "q", "j")
        assert app.pane.target() == plan[2] and app.is_running
        assert said(app).endswith("What you typed was dropped.")


@pytest.mark.parametrize(("place", "word", "found"), [("A", "claude-2", ["claude-2"]), ("a", "GA property", None)])
async def test_a_filter_is_applied_as_it_is_typed_and_cleared_by_esc(evening, make_app, place, word, found):
    app = make_app(evening.path)
    async with opened(app) as pilot:
        await settle(pilot, place)
        every = [row.name if place == "A" else row.uid for row in app.screen.listed.rows]
        over = app.screen
        await settle(pilot, "slash", *("space" if letter == " " else letter for letter in word))
        now = [row.name if place == "A" else row.uid for row in over.listed.rows]
        assert now == found if found is not None else 0 < len(now) < len(every)
        await settle(pilot, "escape")
        assert app.screen is over and len(over.listed.rows) == len(every)
        await settle(pilot, "slash", *"claude-2", "enter")
        assert app.screen is over and 0 < len(over.listed.rows) < len(every)


@pytest.mark.parametrize("place", ["A", "a", "S"])
async def test_an_undo_on_a_screen_over_the_panes_asks_before_it_reverts_what_was_done_elsewhere(app, plan, place):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "s", "d", place, "u")
        assert "Undo “#8 Backup restore drill: pending → done”?" in shown(app)
        await settle(pilot, "escape")
        assert task(app, plan[8]).status == "done"
        await settle(pilot, "u", "y")
        assert task(app, plan[8]).status == "pending"


async def test_an_undo_in_the_schedule_asks_before_it_reverts_a_change_of_a_task(app, plan):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "s", "d", "4", "u")
        assert "Undo “#8 Backup restore drill: pending → done”?" in shown(app)
        await settle(pilot, "escape", "3", "u")
        assert task(app, plan[8]).status == "pending"


@pytest.mark.parametrize("pane", ["1", "2"])
async def test_an_undo_in_list_or_board_asks_before_it_reverts_a_change_of_a_job(jobs, make_app, pane):
    app = make_app(jobs.plan.path, pane="schedule")
    async with opened(app) as pilot:
        app.pane.go_to(jobs[2])
        await settle(pilot, "t", pane, "u")
        assert "Undo “" in shown(app) and job_queries.job(app.link.db, jobs[2]).enabled is False
        await settle(pilot, "escape", "4", "u")
        assert job_queries.job(app.link.db, jobs[2]).enabled is True


@pytest.mark.parametrize("keys", [("n",), ("slash",), ("m",), ("a", "m"), ("e",)])
async def test_the_keys_that_step_in_a_shell_step_in_every_input_and_open_no_search_over_it(app, plan, keys):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[6])
        await settle(pilot, *keys)
        screen, line = app.screen, app.focused
        await settle(pilot, "ctrl+u", "x", "y", "ctrl+b", "ctrl+b", "z", "ctrl+f", "w")
        assert app.screen is screen and app.focused is line
        assert (line.text if isinstance(line, TextArea) else line.value) == "zxwy"
