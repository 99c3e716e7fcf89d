"""A key that does nothing here says so, with what its user probably wants."""

from __future__ import annotations

import pytest

from tests.tui.driving import lines, opened, said, settle, shown
from tests.tui.work.reviewing import begin
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.inputs.line_inputs import AddWords, FilterWords

SAYS = {
    "1": {
        "o": "o does nothing here.  n New  ? Help",
        "x": "x does nothing here.  d Delete  ? Help",
        "delete": "Delete does nothing here.  d Delete  ? Help",
        "i": "i does nothing here.  e Edit  ? Help",
        "y": "y does nothing here.  Y Copy  ? Help",
        "z": "z does nothing here.  a Inbox  ? Help",
        "p": "p does nothing here.  e Edit  ? Help",
        "ctrl+k": "^k does nothing here.  d Delete  ? Help",
        "w": "w does nothing here.  ? Help",
        "number_sign": "# does nothing here.  ^f Search  ? Help",
        "ctrl+underscore": "^_ does nothing here.  ? Help",
        "f5": "F5: drawn anew. The screen follows every change by itself.",
        "ctrl+s": "^s: every change is saved at once.",
        "f10": "F10 does nothing here.  q Quit  ? Help",
        "ctrl+up": "^↑ does nothing here.  K Move up  ? Help",
        "ctrl+a": "^a does nothing here.  V Mark from the last mark to here; else all, or none  ? Help",
        "H": "H does nothing here.  g To the first  ? Help",
        "N": "N does nothing here.  n New  ? Help",
        "space": "No agent was started on this task, so there is nothing to show. v marks it.",
        "less_than_sign": "< moves in time in `tui-tasks watch --at 8h`, which shows the past.",
        "shift+up": "Shift+↑ does nothing here.  v Mark  ? Help",
    },
    "2": {
        "P": "P does nothing here.  A Agents  ? Help",
        "Z": "Z does nothing here.  q Quit  ? Help",
    },
    "A": {
        "p": "p does nothing here.  P Pause  ? Help",
        "tab": "Tab does nothing here.  Enter Its log  ? Help",
    },
    "3": {
        "x": "x does nothing here.  ? Help",
        "ctrl+b": "^b does nothing here.  ^u A page up  ? Help",
        "shift+tab": "Shift+Tab does nothing here.  Enter Open  ? Help",
        "o": "o does nothing here.  Enter Open  ? Help",
    },
    "4": {
        "o": "o does nothing here.  n New  ? Help",
        "tab": "Tab does nothing here.  Enter Runs  ? Help",
    },
    "a": {
        "backspace": "Backspace does nothing here.  Esc Back  ? Help",
        "r": "r does nothing here.  m Reply  ? Help",
        "i": "i does nothing here.  m Reply  ? Help",
    },
    "S": {
        "i": "i does nothing here.  ? Help",
    },
    "D": {
        "tab": "Tab does nothing here.  Enter Entries  ? Help",
    },
}


async def test_a_key_without_a_meaning_here_names_the_one_that_is_wanted(jobs, make_app):
    app, says = make_app(jobs.plan.path), {}
    async with opened(app) as pilot:
        for place in SAYS:
            await settle(pilot, "escape", place)
            says[place] = {}
            for key in SAYS[place]:
                await settle(pilot, key)
                says[place][key] = said(app)
    assert says == SAYS


async def test_what_is_named_has_a_meaning_there(jobs, make_app):
    app = make_app(jobs.plan.path)
    async with opened(app) as pilot:
        for place in ("1", "2", "3", "4", "a", "A", "D", "S"):
            await settle(pilot, "escape", "escape", place)
            named = 0
            for key in ("b", "c", "i", "o", "l", "h", "right", "left", "p", "w", "y", "M", "U", "Z", "H", "tab"):
                await settle(pilot, key)
                if " does nothing here.  " in said(app):
                    named += 1
                    names = said(app).partition(".  ")[2].split("  ")
                    keys = {"?": "question_mark", "Enter": "enter", "Esc": "escape", "^u": "ctrl+u"}
                    bound = app.screen.active_bindings
                    assert all(keys.get(each.split()[0], each.split()[0]) in bound for each in names), (place, key)
            assert named > 3, place


@pytest.mark.parametrize("place", ["D", "S"])
async def test_words_after_the_key_of_a_filter_press_no_key_where_there_is_no_filter(app, plan, place):
    async with opened(app) as pilot:
        await settle(pilot, place)
        screen = app.screen
        await settle(pilot, "slash")
        assert said(app) == "/ finds nothing here: there is no filter.  ? Help"
        await settle(pilot, *"qwu")
        assert app.screen is screen
        assert said(app) == "/ finds nothing here: there is no filter. What you typed was dropped."
        app.key_queue.clock = lambda: 1e9
        await settle(pilot, "q")
        assert app.screen is not screen


async def test_x_on_a_task_with_work_names_the_way_to_discard_it(plan, keys_repository, make_app):
    begin(plan, 9, keys_repository("task/1"))
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await settle(pilot, "G", "x")
        assert said(app) == "x does nothing here.  : discard Its work  ? Help"


async def test_in_a_menu_a_letter_that_chooses_nothing_says_so(app, plan):
    async with opened(app) as pilot:
        await settle(pilot, "s", "z")
        assert said(app) == "z is no choice here. Esc goes back."
        assert "Status of" in shown(app)
        await settle(pilot, "q")
        assert len(app.screen_stack) == 1 and app.is_running


async def test_what_is_typed_into_an_input_says_nothing(app):
    async with opened(app) as pilot:
        await settle(pilot, "n", "w", "ctrl+b", "f5")
        assert said(app) == ""


async def test_neither_interrupt_nor_what_continues_a_terminal_ends_the_program(app):
    async with opened(app) as pilot:
        for place in ("1", "a", "s", "ex", ":"):
            await settle(pilot, *place)
            screen = app.screen
            for key in ("ctrl+q", "ctrl+c"):
                app.frame.hush()
                await settle(pilot, key)
                assert "q quits" in said(app), (place, key)
                assert app.is_running and app.screen is screen, (place, key)
            while len(app.screen_stack) > 1:
                await settle(pilot, "escape")


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
@pytest.mark.parametrize("pane", ["1", "2", "3"])
async def test_q_leaves_an_opened_row_before_it_leaves_the_program(app, pane, size):
    async with opened(app, size) as pilot:
        await settle(pilot, pane, "enter")
        assert app.pane.is_inside
        await settle(pilot, "q")
        assert app.is_running and not app.pane.is_inside
        await settle(pilot, "q")
        assert not app.is_running


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
@pytest.mark.parametrize("pane", ["1", "2"])
async def test_an_input_opened_from_the_detail_can_be_seen(app, size, pane):
    async with opened(app, size) as pilot:
        await settle(pilot, pane)
        for key, kind in (("slash", FilterWords), ("n", AddWords)):
            await settle(pilot, "enter")
            assert app.pane.is_inside, key
            await settle(pilot, key, "w", "w", "w")
            assert isinstance(app.focused, kind)
            assert "www" in shown(app)
            await settle(pilot, "escape")
            while app.pane.is_inside:
                await settle(pilot, "escape")
            assert "www" not in shown(app), key


async def test_the_next_that_needs_attention_is_shown_from_every_screen(app, plan):
    async with opened(app) as pilot:
        for place in "aASD":
            app.context.navigation.go_to(plan[1])
            await settle(pilot, place, "exclamation_mark")
            assert app.pane.target() == plan[4], place
            assert not isinstance(app.screen, Inbox) and len(app.screen_stack) == 1


async def test_the_foot_of_an_opened_row_ends_with_the_help(app):
    async with opened(app, (80, 24)) as pilot:
        for pane in "123":
            await settle(pilot, pane, "enter")
            assert app.pane.is_inside and lines(app)[-1].endswith("? Help"), pane
            await settle(pilot, "escape")


@pytest.mark.parametrize("size", [(120, 40), (40, 12)])
async def test_the_foot_of_runs_has_nothing_that_is_refused(jobs, make_app, size):
    app = make_app(jobs.plan.path)
    async with opened(app, size) as pilot:
        await settle(pilot, "4", "g", "j", "enter")
        assert "End" not in lines(app)[-1] and "Output" in lines(app)[-1]
        await settle(pilot, "escape", "j", "enter")
        assert app.screen.run is None
        assert not any(word in lines(app)[-1] for word in ("End", "Copy"))
