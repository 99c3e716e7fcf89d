"""Pane 1: what others write meanwhile, and what a lock, a flood and a long list do."""

from __future__ import annotations

import re

import pytest

from tests.tui.driving import lines, opened, order, press, said, shown, task, until, write
from tests.tui.plan import NOW
from tui_tasks.core.commit import rebalancing
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, LogTask, MoveTask
from tui_tasks.core.read.pages import pages
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.rules.tasks import tasks as task_rules
from tui_tasks.core.store import Store
from tui_tasks.tui.inputs.text_line import AddWords

# Others write meanwhile


async def test_what_others_write_moves_neither_cursor_nor_marks_nor_words(app, plan, agent):
    async with opened(app, (80, 16)) as pilot:
        await press(app, pilot, "G", "k", "v", "k", "n")
        await write(pilot, "half a th")
        line = app.pane.row_list.cursor_line
        for number in range(40):
            agent(AddTask(f"new {number}", before=plan[1]), LogTask(plan[5], f"step {number}"))
        agent(DeleteTask(plan[2]), MoveTask(plan[3], after=plan[9]))
        await until(pilot, lambda: app.state.current_list.total == 48 and app.context.numbers.number_of(plan[3]) == 48)
        assert app.pane.row_list.cursor == plan[8]
        assert app.pane.row_list.marks == [plan[8]]
        assert app.query_one(AddWords).value == "half a th"
        assert app.focused is app.query_one(AddWords)
        assert app.pane.row_list.cursor_line == line
        await write(pilot, "ought")
        await press(app, pilot, "enter")
        assert app.pane.row_list.row.name == "half a thought"
        assert app.context.numbers.number(app.pane.row_list.row) == app.context.numbers.number_of(plan[8]) + 1


async def test_a_list_whose_ranks_were_made_anew_is_shown_in_its_order(app, plan, agent, monkeypatch):
    monkeypatch.setattr(task_rules, "MAX_CHARS", 4)
    monkeypatch.setattr(rebalancing, "_SHORT", 4)
    monkeypatch.setattr(rebalancing, "_REACH", 2)
    async with opened(app, (80, 16)) as pilot:
        await press(app, pilot, "j", "j")
        before = queries.task(app.link.db, plan[2]).rank
        number = 0
        while queries.task(app.link.db, plan[2]).rank == before:
            number += 1
            agent(AddTask(f"new {number}", **({"after": plan[1]} if number % 2 else {"before": plan[2]})))
            await until(pilot, lambda total=9 + number: app.state.current_list.total == total)
        rows = app.pane.row_list
        await until(pilot, lambda: any(row.uid == plan[2] for row in rows.rows_held))
        assert rows.rows_held == list(pages.after(app.link.db, app.state.list_id, pages.FIRST, len(rows.rows_held)))
        assert app.pane.row_list.cursor == plan[3]
        agent(AddTask("newest", before=plan[2]))
        await until(pilot, lambda: app.state.current_list.total == 10 + number)
        assert [row.name for row in rows.rows_held] == order(app)[: len(rows.rows_held)]
        assert "newest" in order(app)[: len(rows.rows_held)]


async def test_a_row_that_changed_is_painted_and_no_other(app, plan, agent, monkeypatch):
    async with opened(app) as pilot:
        painted = set()
        window = app.pane.row_list
        refresh = window.refresh

        def note(*regions, **options):
            painted.update(y for region in regions for y in region.line_range)
            painted.update([] if regions else ["all"])
            return refresh(*regions, **options)

        monkeypatch.setattr(window, "refresh", note)
        agent(EditTask(plan[8], {"name": "Backup restore drill, at last"}))
        await until(pilot, lambda: any("at last" in line for line in lines(app)))
        assert painted == {7}
        painted.clear()
        await pilot.press("j")
        assert painted == {0, 1}


async def test_what_agents_change_is_marked_until_the_human_says_seen(app, plan, agent):
    async with opened(app) as pilot:
        assert "• 4 changed since 19:58" in lines(app)[3]
        agent(EditTask(plan[1], {"priority": 1}))
        await until(pilot, lambda: "5 changed" in lines(app)[3])
        assert lines(app)[4].startswith(">•✓")
        await press(app, pilot, "full_stop")
        assert "changed" not in lines(app)[3]
        assert app.state.looked.at == NOW


async def test_when_the_human_leaves_is_when_they_last_looked(app, plan, make_app, agent):
    async with opened(app) as pilot:
        await press(app, pilot, "q")
    agent(EditTask(plan[1], {"priority": 1}))
    again = make_app(plan.path)
    async with opened(again):
        assert again.state.new.keys() == {plan[1]}
        assert "• 1 changed since 20:15" in lines(again)[3]


async def test_the_now_line_tells_what_is_going_on(app):
    async with opened(app, (130, 40)):
        line = lines(app)[1]
        for words in ('◐ claude-1  #5 Ship auth flow  "running tests 14/22"  40s ago', "? 2 need you", "✗ 1 failed"):
            assert words in line


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ((80, 24), "◐ claude-1  #5 Ship auth flow  40s"),
        ((60, 24), "◐ #5 Ship auth flow  40s"),
        ((40, 12), "◐ #5 40s   ? 2   ✗ 1"),
    ],
)
async def test_the_now_line_says_less_where_there_is_less_room(app, size, words):
    async with opened(app, size):
        assert words in "\n".join(lines(app)[:2])


async def test_ages_tick_while_one_under_a_minute_is_on_screen(plan, make_app, monkeypatch):
    app = make_app(plan.path)
    clock = [NOW]
    app.context.clock.now = lambda: clock[0]
    async with opened(app) as pilot:
        assert "40s" in lines(app)[8]
        clock[0] += 3_000_000
        await until(pilot, lambda: "43s" in lines(app)[8] and "43s ago" in lines(app)[1])


async def test_of_an_age_that_ticks_its_cells_are_painted_and_no_others(plan, make_app, monkeypatch):
    app = make_app(plan.path)
    clock = [NOW]
    app.context.clock.now = lambda: clock[0]
    async with opened(app) as pilot:
        written, drawn = [], []
        monkeypatch.setattr(type(app._driver), "is_headless", False)
        monkeypatch.setattr(app._driver, "write", written.append)
        painter = app.pane.row_list._painter
        draw = painter._draw
        monkeypatch.setattr(painter, "_draw", lambda row, *rest: (drawn.append(row.uid), draw(row, *rest))[1])
        clock[0] += 1_000_000
        await until(pilot, lambda: "41s" in lines(app)[8] and "41s ago" in lines(app)[1])
        assert set(re.sub(r"\x1b\[[^A-Za-z]*[A-Za-z]", "", "".join(written))) == {"1"}
        assert set(drawn) == {plan[5]}


# What a lock, a flood and a long list do


async def test_a_write_that_has_to_wait_says_so_and_the_screen_goes_on(app, plan, agent):
    async with opened(app) as pilot:
        with Store(plan.path) as other, other.db.transaction(write=True):
            await pilot.press("s", "p")
            await until(pilot, lambda: "Waiting" in said(app))
            await pilot.press("j")
            assert app.pane.row_list.cursor == plan[2]
            assert task(app, plan[1]).status == "done"
        await app.workers.wait_for_complete()
        assert task(app, plan[1]).status == "pending"


async def test_a_flood_is_caught_up_with_by_reading_anew(app, plan, agent):
    async with opened(app) as pilot:
        await press(app, pilot, "G")
        agent(*(LogTask(plan[place], f"step {number}") for number in range(200) for place in (1, 2, 3, 4)))
        agent(EditTask(plan[1], {"name": "renamed at last"}))
        await until(pilot, lambda: any("renamed at last" in line for line in lines(app)))
        assert app.pane.row_list.cursor == plan[9]
        assert app.state.new.keys() >= {plan[1], plan[2], plan[3], plan[4]}


async def test_leaving_an_open_task_for_another_pane_brings_the_list_back(app):
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, "enter")
        assert app.pane.is_open
        await press(app, pilot, "2")
        assert "◐ #5" in lines(app)[0]
        await press(app, pilot, "1")
        assert not app.pane.is_open


async def test_a_task_that_waits_is_free_when_what_it_waits_for_is_done(app, plan, agent):
    async with opened(app) as pilot:
        assert "⊘  6" in lines(app)[9]
        agent(EditTask(plan[5], {"status": "done"}))
        await until(pilot, lambda: "○  6" in lines(app)[9])


@pytest.mark.parametrize(("pane", "keys"), [("list", ["j", "j"]), ("board", ["h", "enter"])])
async def test_the_detail_tells_the_numbers_that_tasks_have_now(plan, make_app, agent, pane, keys):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        await press(app, pilot, *keys)
        number = app.context.numbers.number_of(app.pane.target())
        head = f"#{number} {app.pane.row_list.row.name}"
        assert head in shown(app)
        agent(AddTask("pushes the others down", before=plan[1]))
        await until(pilot, lambda: app.state.current_list.total == 10)
        assert head.replace(str(number), str(number + 1), 1) in shown(app)
        agent(MoveTask(plan[1], after=plan[9]))
        await until(pilot, lambda: head in shown(app))


async def test_the_detail_tells_the_numbers_that_the_tasks_around_it_have_now(app, plan, agent):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "j", "j", "j")
        assert "Blocks  #6 Write integration tests" in shown(app)
        agent(AddTask("between the two", after=plan[5]))
        await until(pilot, lambda: app.state.current_list.total == 10)
        assert "Blocks  #7 Write integration tests" in shown(app)
        assert "#5 Ship auth flow" in shown(app)
