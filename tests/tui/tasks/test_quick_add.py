"""Pane 1: tasks added by a line that is typed or pasted."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from textual import events

from tests.tui.driving import (
    SIZES,
    by_agent,
    lines,
    opened,
    order,
    place_of,
    press,
    said,
    settle,
    shown,
    task,
    until,
    write,
)
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, LogTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.tui.inputs.line_inputs import AddWords
from tui_tasks.tui.inputs.task_form import EditScreen, Form


@pytest.mark.parametrize(("action", "place"), [("new", 3), ("new_above", 2)])
async def test_a_task_is_added_below_and_above_the_cursor(app, plan, action, place):
    async with opened(app) as pilot:
        await pilot.press("j")
        app.pane.action_act(action)
        await write(pilot, "Rotate API keys #infra !high @claude-2 after #5")
        assert "after #5 Ship auth flow · claude-2 · infra · high" in shown(app)
        await press(app, pilot, "enter")
        row = app.pane.row_list.row
        assert (row.name, row.tags, row.priority, row.agent) == ("Rotate API keys", ("infra",), 2, "claude-2")
        assert row.depends_on == (plan[5],)
        assert place_of(app, row.uid) == place
        await press(app, pilot, "escape")
        assert app.focused is app.pane.row_list


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_quick_add_takes_one_task_after_another_by_ctrl_n(plan, make_app, pane):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        app.navigation.go_to(plan[6])
        await settle(pilot)
        app.pane.action_act("new_above")
        await settle(pilot)
        for name in ("first", "second", "third"):
            await write(pilot, name)
            await pilot.press("ctrl+n")
        await write(pilot, "do not")
        await press(app, pilot, "escape")
        assert order(app)[4:10] == [
            "Ship auth flow",
            "first",
            "second",
            "third",
            "Write integration tests",
            "Migrate analytics GA to Plausible",
        ]
        assert app.pane.row_list.row.name == "third"
        assert app.focused is app.pane.focus_target()
        assert not app.query_one(AddWords).is_on_screen


@pytest.mark.parametrize("pane", ["list", "board"])
@pytest.mark.parametrize("size", SIZES)
async def test_enter_adds_the_task_and_closes_the_line(plan, make_app, pane, size):
    app = make_app(plan.path, pane=pane)
    async with opened(app, size) as pilot:
        app.navigation.go_to(plan[6])
        await settle(pilot, "n")
        assert " Enter Add  ^n Add another  Esc Back" in shown(app)
        await settle(pilot, *"Buy", "enter")
        assert not app.pane.quick_add.is_open and app.focused is app.pane.focus_target()
        assert app.pane.row_list.row.name == "Buy"
        await settle(pilot, "n", *"nuts", "enter")
        assert order(app)[5:8] == ["Write integration tests", "Buy", "nuts"]


async def test_a_title_that_an_open_task_of_the_list_has_is_added_and_said(app, plan):
    async with opened(app) as pilot:
        await settle(pilot, "n", *"ship Auth Flow", "enter")
        assert said(app) == "Added. #5 has this title, too." and app.state.current_list.total == 10
        await settle(pilot, "n", *"Old cookie banner", "enter")
        assert "has this title" not in said(app), "that one is over"


async def test_a_second_enter_right_after_the_first_only_says_that_the_line_is_closed(app):
    app.key_queue.clock = lambda: 0.0
    async with opened(app) as pilot:
        await settle(pilot, "n", *"Buy", "enter", "enter")
        assert said(app) == "Quick add is closed: n opens it again."
        await settle(pilot, "enter")
        assert not app.pane.quick_add.is_open and app.focused is app.pane.row_list


async def test_enter_that_was_typed_while_the_program_started_adds_the_task(app):
    async with opened(app) as pilot:
        await settle(pilot, "n", *"Buy", "ctrl+j")
        assert not app.pane.quick_add.is_open and app.pane.row_list.row.name == "Buy"


async def test_enter_in_an_empty_line_closes_it(app, plan):
    async with opened(app) as pilot:
        await settle(pilot, "n", *"Buy", "ctrl+n", "enter")
        assert not app.pane.quick_add.is_open and app.focused is app.pane.row_list
        assert app.state.current_list.total == 10


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_tab_completes_the_word_and_the_keys_after_it_are_still_typed(plan, make_app, agent, pane):
    wholes = {
        "Fix it #in": "Fix it #infra ",
        "Fix it @claude-2": "Fix it @claude-2",
        "Fix it @cod": "Fix it @codex-1 ",
        "Fix it !ur": "Fix it !urgent ",
        "Fix it du": "Fix it due:",
        "Fix it due:tod": "Fix it due:today ",
        "Fix it aft": "Fix it after #",
        "Fix it after #": "Fix it after #",
        "Fix it est": "Fix it estimate:",
        "Fix it zzz": "Fix it zzz",
        "Fix it due:ov": "Fix it due:ov",
        "": "",
    }
    agent(EditTask(plan[3], {"tags": ("infra",)}))
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        by_agent(plan, "codex-1", LogTask(plan[1], "here"))
        await until(pilot, lambda: "codex-1" in app.state.spoke)
        for typed, whole in wholes.items():
            await press(app, pilot, "n", "ctrl+u")  # without the words of the last time
            await write(pilot, typed)
            await press(app, pilot, "tab")
            assert app.query_one(AddWords).value == whole
            await press(app, pilot, "shift+tab", "d", "j", "q")
            assert app.query_one(AddWords).value == f"{whole}djq"
            assert app.state.current_list.total == 9
            await press(app, pilot, "escape")
            assert not app.pane.quick_add.is_open


async def test_tab_completes_the_word_before_the_cursor_and_shows_what_there_is(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "n")
        await write(pilot, "Fix !h soon")
        await press(app, pilot, *["left"] * 5, "tab")
        assert app.query_one(AddWords).value == "Fix !high  soon"
        await write(pilot, "@claude-")
        await press(app, pilot, "tab")
        assert "@claude-1  @claude-2" in said(app)
        assert "you" not in said(app)


async def test_esc_closes_the_line_also_after_a_click_on_a_row_and_n_goes_on_in_it(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "n")
        await write(pilot, "Half a")
        await pilot.click("#tasks", offset=(5, 2))
        assert app.focused is app.pane.row_list
        await press(app, pilot, "n")
        await write(pilot, " title")
        assert app.query_one(AddWords).value == "Half a title"
        await pilot.click("#tasks", offset=(5, 2))
        await press(app, pilot, "escape")
        assert not app.pane.quick_add.is_open
        assert not app.query_one(AddWords).is_on_screen


async def test_tasks_that_are_typed_while_a_write_has_to_wait_stand_in_their_order(app, plan, monkeypatch):
    async with opened(app) as pilot:
        commit, free = app.link.commit, asyncio.Event()

        async def late(*operations, **how):
            await free.wait()
            return await commit(*operations, **how)

        monkeypatch.setattr(app.link, "commit", late)
        await pilot.press("n")
        for name in ("first", "second", "third"):
            await write(pilot, name)
            await pilot.press("ctrl+n")
        free.set()
        await until(pilot, lambda: order(app)[:4] == ["Inventory GA usage", "first", "second", "third"])


async def test_what_could_not_be_added_stands_in_the_line_again(app, plan, monkeypatch):
    async def full(*_operations, **_how):
        raise StorageFailed("the disk is full", retryable=True)

    async with opened(app) as pilot:
        await press(app, pilot, "n")
        await write(pilot, "Rotate keys")
        monkeypatch.setattr(app.link, "commit", full)
        await press(app, pilot, "enter")
        assert "the disk is full" in said(app)
        assert app.query_one(AddWords).value == "Rotate keys"
        monkeypatch.undo()
        await press(app, pilot, "enter")
        assert app.pane.row_list.row.name == "Rotate keys"


async def test_a_task_that_the_filter_hides_is_said_to_be_there(app, plan):
    async with opened(app) as pilot:
        await pilot.press("slash")
        await write(pilot, "jwt")
        await press(app, pilot, "enter", "n")
        await write(pilot, "elsewhere")
        await press(app, pilot, "enter")
        assert "elsewhere" in order(app)
        assert "filter hides it" in said(app)


async def paste(app, pilot, text, *keys):
    """Paste into what has the focus, and press keys at once."""
    await pilot.pause()
    await app.on_event(events.Paste(text))
    await press(app, pilot, *keys)


NOTES = "\r\n- [ ] Rotate keys #infra !high\r\n  2. Call Ann after #5\r\n\r\n* raise !hell\r\n"


@pytest.mark.parametrize("action", ["new", "new_above"])
async def test_several_lines_that_are_pasted_can_be_a_task_each(app, plan, action):
    async with opened(app) as pilot:
        await press(app, pilot, "j")
        app.pane.action_act(action)
        await settle(pilot)
        await app.on_event(events.Paste(NOTES))
        await pilot.pause()
        assert "a task a line: 3 tasks; 1 title with a mistake, as typed: raise !hell" in shown(app)
        await press(app, pilot, "t")
        first = 2 if action == "new" else 1
        assert order(app)[first : first + 3] == ["Rotate keys", "Call Ann", "raise !hell"]
        added = task_queries.tasks(app.context.db, app.state.list_id)[first : first + 3]
        assert [(each.tags, each.priority, each.depends_on) for each in added] == [
            (("infra",), 2, ()),
            ((), 3, (plan[5],)),
            ((), 3, ()),
        ]
        await settle(pilot, "n")
        await write(pilot, "and this")
        await press(app, pilot, "enter")
        assert order(app)[first + 3] == "and this"
        await press(app, pilot, "escape", "u", "u")
        assert app.state.current_list.total == 9


async def test_several_lines_go_to_the_end_of_the_list_where_the_cursor_is_there(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "G", "n")
        await paste(app, pilot, "one\ntwo", "t")
        assert order(app)[-3:] == ["Old cookie banner", "one", "two"]


async def test_several_lines_that_are_pasted_can_be_a_title_and_its_description(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "n")
        await paste(app, pilot, "Rotate keys #infra\n\nEvery key\n  - of staging\n", "d")
        assert app.query_one(AddWords).value == "Rotate keys #infra"
        assert "description: 2 lines" in shown(app)
        await press(app, pilot, "enter")
        row = task(app, app.pane.row_list.cursor)
        assert (row.name, row.tags, row.description) == ("Rotate keys", ("infra",), "Every key\n  - of staging")
        await write(pilot, "next")
        await press(app, pilot, "enter")
        assert task(app, app.pane.row_list.cursor).description == ""


async def test_with_a_title_typed_all_that_is_pasted_can_be_the_description(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "n")
        await write(pilot, "Rotate keys")
        await paste(app, pilot, "of staging\nof production", "d")
        await press(app, pilot, "enter")
        row = task(app, app.pane.row_list.cursor)
        assert (row.name, row.description) == ("Rotate keys", "of staging\nof production")


async def test_going_back_at_the_question_what_was_pasted_leaves_the_line_as_it_was(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "n")
        await write(pilot, "Rotate")
        await paste(app, pilot, "one\ntwo", "escape")
        assert app.query_one(AddWords).value == "Rotate"
        assert app.focused is app.query_one(AddWords)
        assert app.state.current_list.total == 9


async def test_one_line_that_is_pasted_is_written_into_the_line(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "n")
        await paste(app, pilot, "only one\n", "x")
        assert app.query_one(AddWords).value == "only onex"


async def test_quick_add_says_what_is_wrong_and_keeps_what_was_typed(app):
    async with opened(app) as pilot:
        await pilot.press("n")
        await write(pilot, "x after #99")
        await press(app, pilot, "enter")
        assert "#99" in said(app)
        assert app.query_one(AddWords).value == "x after #99"
        await press(app, pilot, "escape")
        assert order(app).count("x") == 0


async def test_a_number_means_a_task_of_another_list_as_well(app, plan, agent):
    other = agent(CreatePlan("Other"))[0]
    far = agent(AddTask("Far away", other.uid))[0]
    async with opened(app) as pilot:
        await pilot.press("n")
        await write(pilot, f"x after #5, #{far.number}")
        assert f"after #5 Ship auth flow · after #{far.number} Far away" in shown(app)
        await press(app, pilot, "enter")
        assert app.pane.row_list.row.depends_on == (plan[5], far.uid)
        await press(app, pilot, "escape")
        assert "after #5" in shown(app)
        await pilot.press("e")
        await until(pilot, lambda: f"after #5, #{far.number}" in shown(app))
        await press(app, pilot, "escape")


async def test_the_form_is_opened_from_quick_add_with_what_was_typed(app, plan):
    async with opened(app) as pilot:
        await pilot.press("n")
        await write(pilot, "Long one #x after #5")
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert isinstance(app.screen, EditScreen)
        assert app.focused.id == "fields"
        await pilot.press("tab")
        await write(pilot, "About it")
        await press(app, pilot, "ctrl+s")
        row = task(app, app.pane.row_list.cursor)
        assert (row.name, row.tags, row.description) == ("Long one", ("x",), "About it")
        assert row.depends_on == (plan[5],)


async def test_a_line_and_the_form_behind_it_are_one_draft(app, plan):
    async with opened(app) as pilot:
        await settle(pilot, "n", *"Long #x", "ctrl+o", "escape")
        assert app.pane.quick_add.is_open and app.query_one(AddWords).value == "Long #x"
        await settle(pilot, "ctrl+o", *" !high", "tab", *"About it", "tab", *"fri 17:00", "escape")
        assert app.pane.quick_add.is_open
        assert app.query_one(AddWords).value == 'Long #x !high due:"fri 17:00"'
        assert "x · high · due" in shown(app) and "description: 1 line" in shown(app)
        await settle(pilot, "ctrl+o")
        assert (app.screen.form.fields, app.screen.form.description) == ("#x !high", "About it")
        await settle(pilot, "escape", "enter")
        row = task(app, app.pane.row_list.cursor)
        assert (row.name, row.tags, row.priority, row.description) == ("Long", ("x",), 2, "About it")
        assert row.due is not None
        await settle(pilot, "n", "ctrl+o")
        assert app.screen.form == Form(), "the next task begins without it"


async def test_words_of_a_title_that_look_like_fields_are_the_same_title_in_the_line(app):
    async with opened(app) as pilot:
        await settle(pilot, "n", *"Ask", "ctrl+o", "shift+tab", "end", *" @bob after #5 due:fri", "escape")
        assert app.query_one(AddWords).value == r"Ask \@bob after \#5 \due:fri"
        await settle(pilot, "enter")
        row = task(app, app.pane.row_list.cursor)
        assert (row.name, row.agent, row.depends_on, row.due) == ("Ask @bob after #5 due:fri", None, (), None)


@pytest.mark.parametrize("keys", [("n", *"Long", "ctrl+o", *"#x"), ("e", *" Long")])
async def test_a_form_that_cannot_be_saved_stands_there_again_with_the_reason(app, plan, monkeypatch, keys):
    async def full(*_operations, **_how):
        raise StorageFailed("the disk is full", retryable=True)

    async with opened(app) as pilot:
        await settle(pilot, *keys)
        typed = app.screen.form
        monkeypatch.setattr(app.link, "commit", full)
        await settle(pilot, "ctrl+s")
        await until(pilot, lambda: "the disk is full" in said(app))
        assert isinstance(app.screen, EditScreen) and app.screen.form == typed
        monkeypatch.undo()
        await press(app, pilot, "ctrl+s")
        assert len(app.screen_stack) == 1
        assert any("Long" in name for name in order(app))


async def test_quick_add_takes_and_previews_what_is_due(app):
    async with opened(app) as pilot:
        await pilot.press("n")
        await write(pilot, "Ship due:yesterday estimate:1h30m +home")
        await pilot.pause()
        assert "in the title: +home (type #home)" in shown(app)
        await write(pilot, " due:eom")
        await pilot.pause()
        (understood,) = [line.strip() for line in lines(app) if "no due 'eom'" in line]
        assert understood.startswith("no due 'eom': due takes today, tomorrow, fri, ") and understood.endswith("…")
        await settle(pilot, *["backspace"] * len(" +home due:eom"))
        assert "estimate 1h 30m" in shown(app)
        await press(app, pilot, "enter")
        row = task(app, app.pane.row_list.cursor)
        assert (row.name, row.due, row.estimate) == ("Ship", "2026-11-20", 90)
        await press(app, pilot, "escape")
        assert "! late 20h" in shown(app)


async def test_quick_add_says_beside_which_task_the_next_one_goes(app, plan):
    app.key_queue.clock = itertools.count().__next__
    async with opened(app) as pilot:
        app.pane.row_list.move_to(plan[3])
        await settle(pilot, "n")
        assert "+ below #3 Fix flaky DST test" in shown(app)
        await settle(pilot, *"one", "ctrl+n")
        assert "+ below the one just added" in shown(app)
        await settle(pilot, *"two", "enter")
        assert order(app)[3:5] == ["one", "two"]
        await settle(pilot, "g")
        app.context.do("new_above")
        await settle(pilot)
        assert "+ above #1 " in shown(app)
