"""Pane 1: tasks added by a line that is typed or pasted."""

from __future__ import annotations

import asyncio

import pytest
from textual import events

from tests.tui.driving import opened, order, press, said, shown, task, until, write
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations.tasks import AddTask
from tui_tasks.tui.forms.task_form import EditScreen
from tui_tasks.tui.inputs.text_line import AddWords


@pytest.mark.parametrize(("key", "place"), [("n", 3), ("N", 2)])
async def test_n_adds_below_and_above_the_cursor(app, plan, key, place):
    async with opened(app) as pilot:
        await pilot.press("j", key)
        await write(pilot, "Rotate API keys #infra !high @claude-2 after #5")
        assert "after #5 Ship auth flow · claude-2 · infra · high" in shown(app)
        await press(app, pilot, "enter")
        row = app.pane.row_list.row
        assert (row.name, row.tags, row.priority, row.agent) == ("Rotate API keys", ("infra",), 2, "claude-2")
        assert row.depends_on == (plan[5],)
        assert app.context.numbers.number(row) == place
        await press(app, pilot, "escape")
        assert app.focused is app.pane.row_list


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_quick_add_takes_one_task_after_another_until_escape(plan, make_app, pane):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        app.navigation.go_to(plan[6])
        await press(app, pilot, "N")
        for name in ("first", "second", "third"):
            await write(pilot, name)
            await pilot.press("enter")
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
            await pilot.press("enter")
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


@pytest.mark.parametrize("key", ["n", "N"])
async def test_several_lines_that_are_pasted_can_be_a_task_each(app, plan, key):
    async with opened(app) as pilot:
        await press(app, pilot, "j", key)
        await pilot.pause()
        await app.on_event(events.Paste(NOTES))
        await pilot.pause()
        assert "a task a line: 3 tasks" in shown(app)
        await press(app, pilot, "t")
        first = 2 if key == "n" else 1
        assert order(app)[first : first + 3] == ["Rotate keys", "Call Ann", "raise !hell"]
        added = [task(app, app.context.numbers.at(app.state.list_id, place + 1)) for place in range(first, first + 3)]
        assert [(each.tags, each.priority, each.depends_on) for each in added] == [
            (("infra",), 2, ()),
            ((), 3, (plan[5],)),
            ((), 3, ()),
        ]
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


async def test_a_number_means_the_task_that_had_it_when_it_was_typed(app, plan, agent):
    async with opened(app) as pilot:
        await pilot.press("n")
        await write(pilot, "x after #5")
        agent(AddTask("pushes the others down", before=plan[1]))
        await until(pilot, lambda: app.state.current_list.total == 10)
        await press(app, pilot, "enter")
        assert app.pane.row_list.row.depends_on == (plan[5],)


async def test_the_form_is_opened_from_quick_add_with_what_was_typed(app, plan):
    async with opened(app) as pilot:
        await pilot.press("n")
        await write(pilot, "Long one #x after #5")
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert isinstance(app.screen, EditScreen)
        await pilot.press("tab", "tab")
        await write(pilot, "About it")
        await press(app, pilot, "ctrl+s")
        row = task(app, app.pane.row_list.cursor)
        assert (row.name, row.tags, row.description) == ("Long one", ("x",), "About it")
        assert row.depends_on == (plan[5],)


async def test_quick_add_takes_and_previews_what_is_due(app):
    async with opened(app) as pilot:
        await pilot.press("n")
        await write(pilot, "Ship due:yesterday estimate:1h30m")
        await pilot.pause()
        assert "estimate 1h 30m" in shown(app)
        await press(app, pilot, "enter")
        row = task(app, app.pane.row_list.cursor)
        assert (row.name, row.due, row.estimate) == ("Ship", "2026-11-20", 90)
        await press(app, pilot, "escape")
        assert "! overdue 1d" in shown(app)
