"""Keys, clicks and pastes while others write: whatever comes too late, or too early, ends nothing."""

import asyncio
import random

import pytest
from textual import events
from textual.keys import _character_to_key

from tests.tui.driving import by_agent, opened, press, said, task, until
from tests.tui.plan import NOW
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, LogTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.inputs.dialogs import LineDialog, Menu
from tui_tasks.tui.screens.palette import PaletteEntry, Picker

SIZES = [(120, 40), (80, 24), (40, 12), (59, 15)]
NAMED = (
    "enter", "escape", "tab", "shift+tab", "ctrl+p", "ctrl+s", "ctrl+d", "ctrl+u", "ctrl+r", "up", "down", "left",
    "right", "pageup", "pagedown", "backspace", "home", "end",
)  # fmt: skip
# Not `q`, which ends it.
LETTERS = "1234jkhlgGnNesdpifmMyYvVJKHLaASuxzrtP!.?:/[]+oCDF"
WAYS = (
    [":", "g", "o", "enter"], [":", "escape"], ["?", "x", "escape"], ["n", "a", "enter"], ["s", "d"], ["d", "y"],
    ["s", "f", "x", "enter"], ["e", "x", "ctrl+s"], ["a", "y"], ["a", "m", "x", "enter"], ["/", "j", "enter"],
    ["m", "n", "x", "enter"], ["A", "enter"], ["4", "n", "x", "ctrl+s"], ["4", "enter"], ["3", "enter"],
    ["S", "escape"],
)  # fmt: skip
STEPS = 80


def key(name):
    return events.Key(_character_to_key(name), name) if len(name) == 1 else events.Key(name, None)


def click(app, x, y):
    where = {"x": x, "y": y, "screen_x": x, "screen_y": y, "delta_x": 0, "delta_y": 0}
    held = {"widget": None, "button": 1, "shift": False, "meta": False, "ctrl": False}
    for event in (events.MouseDown, events.MouseUp):
        app.post_message(event(**where, **held))


def change(choose, store, step):
    """Something that an agent does."""
    homes = list(task_queries.lists(store.db))
    uids = [each.uid for home in homes for each in task_queries.tasks(store.db, home.id)]
    if not uids:
        return AddTask(f"new {step}", homes[0].uid)
    uid = choose.choice(uids)
    status = choose.choice(["done", "pending", "skipped", "in_progress"])
    return choose.choice(
        [
            AddTask(f"new {step}", choose.choice(homes).uid), EditTask(uid, {"name": f"name {step}"}), DeleteTask(uid),
            EditTask(uid, {"status": status}), LogTask(uid, f"word {step}"), OpenAsk("May I?", task_uid=uid),
        ]
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
async def test_no_mixture_of_keys_and_events_ends_the_screen(jobs, make_app, seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    choose = random.Random(seed)
    pane = choose.choice(["list", "board", "log", "schedule"])
    app = make_app(jobs.plan.path, pane=pane, read_only=seed % 6 == 5)
    with Store(jobs.plan.path) as store:
        async with opened(app, choose.choice(SIZES)) as pilot:
            for step in range(STEPS):
                what = choose.random()
                if what < 0.7:
                    keys = choose.choice(WAYS) if choose.random() < 0.3 else [choose.choice([*LETTERS, *NAMED])]
                    for each in keys:
                        app.post_message(key(each))
                elif what < 0.8:
                    click(app, choose.randrange(40), choose.randrange(12))
                elif what < 0.83:
                    app.post_message(events.Paste(choose.choice(["one\ntwo", "\x1b[2Jdd", "status:open"])))
                elif what < 0.86:
                    await pilot.resize_terminal(*choose.choice(SIZES))
                else:
                    try:
                        store.commit(change(choose, store, step), actor="claude-1", now=NOW)
                    except Refusal:
                        continue  # a rule of the state was against it
                # From no turn of the loop to several: what is being opened is met at every stage.
                for _ in range(choose.choice([0, 0, 1, 3, 30])):
                    await asyncio.sleep(0)
            await pilot.pause()
            assert app.is_running


async def test_a_click_that_comes_while_the_program_ends_does_nothing(app):
    async with opened(app):
        pass
    assert not app.screen_stack
    await app.on_event(events.MouseDown(None, 0, 11, 0, 0, 1, False, False, False, 0, 11))


async def test_a_second_click_beside_a_menu_leaves_the_menu_alone(app):
    async with opened(app) as pilot:
        await press(app, pilot, "a")
        inbox = app.screen
        assert isinstance(inbox, Inbox)
        menu = Menu(app.context, "Which?", [])
        await app.push_screen(menu)
        menu.dismiss(None)
        menu.dismiss(None)
        await pilot.pause()
        assert app.screen is inbox


async def test_a_key_behind_the_click_that_closes_the_palette_ends_nothing(app):
    async with opened(app) as pilot:
        for _ in range(5):
            await pilot.press(":")
            await until(pilot, lambda: isinstance(app.screen, Picker))
            click(app, 60, 0)
            for _ in range(3):
                app.post_message(key("enter"))
            await pilot.pause()
            await pilot.press("escape", "escape", "1")
        assert app.is_running


async def test_what_is_chosen_twice_is_done_once(app):
    done = []
    async with opened(app) as pilot:
        picker = Picker(app.context, ":", [PaletteEntry("Do it", run=lambda: done.append(1))])
        await app.push_screen(picker)
        await pilot.pause()
        picker.choose()
        picker.choose()
        assert done == [1]


async def test_what_others_write_reaches_no_dialog_that_is_still_being_made(app, plan):
    told = []

    class Slow(LineDialog):
        def changed(self, changes):
            told.append(self.is_mounted)

    async with opened(app) as pilot:
        prompt = Slow(app.context, "Why?", draft="why")
        waiting = app.push_screen(prompt)
        by_agent(plan, "claude-1", LogTask(plan[1], "meanwhile"))
        app.link.check()
        app.on_changed()
        await waiting
        by_agent(plan, "claude-1", LogTask(plan[1], "later"))
        await until(pilot, lambda: bool(told))
        assert all(told)


async def test_read_only_nothing_is_edited_where_one_task_is_marked(plan, make_app):
    app = make_app(plan.path, read_only=True)
    async with opened(app) as pilot:
        await press(app, pilot, "v", "e")
        assert "read only" in said(app)
        assert app.screen is app.screen_stack[0]
        assert task(app, plan[1]).version == 2


async def test_a_click_meant_for_what_an_inbox_has_covered_meets_no_half_made_inbox(app):
    async with opened(app) as pilot:
        app.context.do("asks")
        assert not app.screen.is_mounted
        app.context.do("filter")
        app.context.do("ask_approve")
        await until(pilot, lambda: isinstance(app.screen, Inbox) and app.screen.is_mounted)


async def test_an_inbox_that_is_left_while_it_is_being_made_ends_nothing(app):
    async with opened(app) as pilot:
        for turns in range(12):
            app.context.do("asks")
            for _ in range(turns):
                await asyncio.sleep(0)
            app.navigation.close_overlays()
            await pilot.pause()
        assert app.is_running
