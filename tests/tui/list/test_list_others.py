"""Pane 1: what others write meanwhile, and what a lock, a flood and a long list do."""

from __future__ import annotations

import re

import pytest
from textual import events

from tests.tui.driving import (
    SIZES,
    above,
    below,
    by_agent,
    counts_line,
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
from tests.tui.plan import NOW, SECOND
from tui_tasks.core.commit import journal, rebalancing
from tui_tasks.core.commit.state_cache import StateCache
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList, LogTask, MoveTask
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.tasks import task_rules
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.tui.inputs.line_inputs import AddWords

# Others write meanwhile


async def test_what_others_write_moves_neither_cursor_nor_marks_nor_words(app, plan, agent):
    async with opened(app, (80, 16)) as pilot:
        await press(app, pilot, "G", "k", "v", "n")
        await write(pilot, "half a th")
        line = app.pane.row_list._cursor.line
        for number in range(40):
            agent(AddTask(f"new {number}", before=plan[1]), LogTask(plan[5], f"step {number}"))
        agent(DeleteTask(plan[2]), MoveTask(plan[3], after=plan[9]))
        await until(pilot, lambda: app.state.current_list.total == 48 and place_of(app, plan[3]) == 48)
        assert app.pane.row_list.cursor == plan[8]
        assert app.pane.row_list.marks == [plan[8]]
        assert app.query_one(AddWords).value == "half a th"
        assert app.focused is app.query_one(AddWords)
        assert app.pane.row_list._cursor.line == line
        await write(pilot, "ought")
        await press(app, pilot, "enter")
        assert app.pane.row_list.row.name == "half a thought"
        assert place_of(app, app.pane.target()) == place_of(app, plan[8]) + 1


async def test_a_list_whose_ranks_were_made_anew_is_shown_in_its_order(app, plan, agent, monkeypatch):
    monkeypatch.setattr(task_rules, "MAX_CHARS", 4)
    monkeypatch.setattr(rebalancing, "_SHORT", 4)
    monkeypatch.setattr(rebalancing, "_REACH", 2)
    async with opened(app, (80, 16)) as pilot:
        await press(app, pilot, "j", "j")
        before = task_queries.task(app.link.db, plan[2]).rank
        number = 0
        while task_queries.task(app.link.db, plan[2]).rank == before:
            number += 1
            agent(AddTask(f"new {number}", **({"after": plan[1]} if number % 2 else {"before": plan[2]})))
            await until(pilot, lambda total=9 + number: app.state.current_list.total == total)
        rows = app.pane.row_list
        await until(pilot, lambda: any(row.uid == plan[2] for row in rows.rows_held))
        assert rows.rows_held == list(
            list_pages.after(app.link.db, app.state.list_id, list_pages.FIRST, len(rows.rows_held))
        )
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
        assert counts_line(app).endswith("• unseen since 19:58: failed #3, asked #4 #7, started #5")
        assert ". Seen" in lines(app)[-1]
        app.post_message(events.AppBlur())
        agent(EditTask(plan[1], {"priority": 1}))
        await until(pilot, lambda: counts_line(app).endswith(" started #5, edited #1"))
        assert below(app)[1].startswith(">• ✓ #1 ")
        await press(app, pilot, "full_stop")
        assert "changed" not in below(app)[0]
        assert "Seen" not in lines(app)[-1]
        assert app.state.seen.looked.at == NOW


async def test_what_was_left_unseen_is_still_marked_on_return_and_what_was_seen_is_not(plan, make_app, agent):
    first = make_app(plan.path)
    async with opened(first) as pilot:
        first.pane.select(plan[5])
        await press(first, pilot, "enter", "q", "q")
        before = dict(first.state.seen.new)
    assert plan[3] in before and plan[5] not in before
    agent(EditTask(plan[1], {"priority": 1}))
    app = make_app(plan.path)
    async with opened(app) as pilot:
        assert app.state.seen.new == before | {plan[1]: app.state.list_id}
        assert counts_line(app).endswith("• unseen since 19:58: failed #3, asked #4 #7, edited #1")
        await press(app, pilot, "full_stop")
    again = make_app(plan.path)
    async with opened(again):
        assert not again.state.seen.new


async def test_the_order_is_there_again_on_return_and_what_hides_or_marks_tasks_is_not(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "v", "equals_sign", "u", "slash")
        await write(pilot, "drill")
        await settle(pilot, "enter")
    again = make_app(plan.path)
    async with opened(again) as pilot:
        assert (again.pane.only.sort, again.pane.filter_bar.text, again.pane.row_list.marks) == ("urgency", "", [])
        await settle(pilot, "equals_sign", "o")
    async with opened(last := make_app(plan.path)):
        assert last.pane.only.sort == ""


async def test_u_right_after_all_seen_brings_the_marks_back_and_only_then_undoes_a_change(app, plan, agent):
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "d")
        before, looked = dict(app.state.seen.new), app.state.seen.looked
        assert before
        await press(app, pilot, "full_stop")
        assert "u brings the marks back" in said(app)
        agent(AddTask("later", plan.list_uid))
        await until(pilot, lambda: "later" in shown(app))
        await press(app, pilot, "u")
        assert "The marks are back. u again undoes what you did before." in said(app)
        assert before.items() <= app.state.seen.new.items()
        assert app.state.seen.looked == looked == local_values.looked(app.link.db)
        assert task(app, plan[8]).deleted
        await press(app, pilot, "u")
        assert not task(app, plan[8]).deleted


async def test_undo_says_of_several_rows_that_were_dismissed_that_they_are_back(app, plan):
    by_agent(plan, "claude-2", *(EditTask(plan[n], {"status": "failed"}) for n in (1, 2)), now=NOW - SECOND)
    async with opened(app) as pilot:
        await press(app, pilot, "full_stop")
        await press(app, pilot, "full_stop")
        assert said(app) == "Dismissed: 3 failed tasks. u brings them back."
        await press(app, pilot, "u")
        assert said(app) == "3 rows of the inbox are back. u again undoes what you did before."


async def test_the_key_of_marks_puts_failures_away_only_after_it_has_named_them(app, plan):
    async with opened(app) as pilot:
        assert app.state.seen.new and "Fix flaky DST test: test_dst_gap" in above(app)
        await press(app, pilot, "full_stop")
        said_first = "All seen; . again dismisses failed task #3. u brings the marks back."
        assert said(app) == said_first and not app.state.seen.new
        assert "Fix flaky DST test: test_dst_gap" in above(app)
        await press(app, pilot, "j", "full_stop")
        assert said(app) == "Dismissed: failed task #3. u brings it back."
        assert "Fix flaky" not in above(app)
        await press(app, pilot, "full_stop")
        assert said(app) == "All marked as seen. u brings the marks back."
        await press(app, pilot, "u")
        assert said(app) == "#3 Fix flaky DST test: test_dst_gap: expec… is back. u again undoes what you did before."
        assert "Fix flaky DST test: test_dst_gap" in above(app) and not app.state.seen.new
        await press(app, pilot, "u")
        assert said(app).startswith("The marks are back.") and app.state.seen.new


async def test_the_key_of_marks_names_failures_again_where_it_named_them_long_ago(app, plan):
    clock = [NOW]
    app.context.clock.now = lambda: clock[0]
    async with opened(app) as pilot:
        await press(app, pilot, "full_stop")
        clock[0] += 31 * SECOND
        await press(app, pilot, "full_stop")
        assert said(app) == ". again dismisses failed task #3." and "Fix flaky" in above(app)
        clock[0] += 29 * SECOND
        await press(app, pilot, "full_stop")
        assert said(app) == "Dismissed: failed task #3. u brings it back."


async def test_u_undoes_what_was_changed_after_all_was_seen(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "full_stop")
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "d", "u")
        assert not task(app, plan[8]).deleted
        await press(app, pilot, "u", "n")
        assert "marks" not in said(app)
        assert not app.state.seen.new


async def test_marks_that_come_back_leave_out_what_was_deleted_since(app, plan, agent):
    async with opened(app) as pilot:
        app.post_message(events.AppBlur())
        made = agent(AddTask("short", plan.list_uid))[0].uid
        await until(pilot, lambda: made in app.state.seen.new)
        await press(app, pilot, "full_stop")
        agent(DeleteTask(made))
        await until(pilot, lambda: made in app.state.seen.deleted)
        await press(app, pilot, "u")
        assert made not in app.state.seen.new
        assert not app.state.seen.deleted


async def test_what_changes_on_screen_while_the_terminal_has_the_focus_is_seen(app, plan, agent):
    async with opened(app, (80, 16)) as pilot:
        await press(app, pilot, "full_stop")
        agent(
            EditTask(plan[1], {"name": "renamed"}),
            AddTask("new one", after=plan[1]),
            AddTask("far below", plan.list_uid),
        )
        await until(pilot, lambda: "renamed" in shown(app))
        assert "far below" not in shown(app)
        assert [task(app, uid).name for uid in app.state.seen.new] == ["far below"]
        assert "•" not in "".join(below(app)[1:9])


async def test_a_task_that_fails_while_the_human_looks_on_keeps_its_mark_until_it_is_opened(app, plan, agent):
    async with opened(app) as pilot:
        await press(app, pilot, "full_stop")
        agent(EditTask(plan[1], {"status": "failed"}), EditTask(plan[2], {"name": "renamed"}))
        await until(pilot, lambda: "renamed" in shown(app))
        assert app.state.seen.new.keys() == {plan[1]} and below(app)[1].startswith(">• ✗ #1 ")
        app.context.navigation.go_to(plan[1])
        await press(app, pilot, "enter")
        assert not app.state.seen.new


@pytest.mark.parametrize("away", ["another window", "no key for long", "a screen over it"])
async def test_what_changes_while_the_human_looks_elsewhere_is_new(plan, make_app, agent, away):
    app = make_app(plan.path)
    clock = [NOW]
    app.context.clock.now = lambda: clock[0]
    async with opened(app) as pilot:
        await press(app, pilot, "full_stop")
        if away == "another window":
            app.post_message(events.AppBlur())
        elif away == "no key for long":
            clock[0] += 61_000_000
        else:
            await press(app, pilot, "A")
        agent(EditTask(plan[1], {"name": "renamed"}))
        await until(
            pilot, lambda: app.link.seq == journal.newest(app.link.db) and app.state.seen.new.keys() == {plan[1]}
        )


async def test_a_terminal_that_reports_its_focus_is_watched_without_a_key(plan, make_app, agent):
    app = make_app(plan.path)
    clock = [NOW]
    app.context.clock.now = lambda: clock[0]
    async with opened(app) as pilot:
        await press(app, pilot, "full_stop")
        app.post_message(events.AppFocus())
        clock[0] += 3_600_000_000
        agent(EditTask(plan[1], {"name": "renamed"}))
        await until(pilot, lambda: "renamed" in shown(app))
        assert not app.state.seen.new


def row_of(app, number):
    return next(line for line in below(app) if line[5:].startswith(f"#{number} "))


async def test_ages_tick_while_one_under_a_minute_is_on_screen(plan, make_app, monkeypatch):
    app = make_app(plan.path)
    clock = [NOW]
    app.context.clock.now = lambda: clock[0]
    async with opened(app) as pilot:
        assert "40s" in below(app)[5]
        clock[0] += 3_000_000
        await until(pilot, lambda: "43s" in below(app)[5])


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_a_screen_opens_where_the_human_has_left_the_one_before(plan, make_app, pane):
    (other,) = by_agent(plan, "human", EnsureList("other", "task"))
    async with opened(make_app(plan.path, list_name=plan.list_uid)) as pilot:
        await settle(pilot, *"jjjjj")
    by_agent(plan, "claude-2", EditTask(plan[7], {"priority": 1}), AddTask("newest", other.uid))
    app = make_app(plan.path, pane=pane)
    async with opened(app):
        assert app.pane.target() == plan[6]


async def test_no_edit_makes_the_row_of_a_finished_task_younger(plan, make_app):
    for number in (1, 8):
        by_agent(plan, "human", EditTask(plan[number], {"priority": 1}))
    app = make_app(plan.path)
    async with opened(app):
        assert [row_of(app, number).split()[-1] for number in (1, 8)] == ["3h", "now"]


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
        await until(pilot, lambda: "41s" in below(app)[5])
        assert set(re.sub(r"\x1b\[[^A-Za-z]*[A-Za-z]", "", "".join(written))) == {"1"}
        assert set(drawn) == {plan[5]}


# What a lock, a flood and a long list do


@pytest.mark.usefixtures("holding_threads")
async def test_a_write_that_has_to_wait_says_so_and_the_screen_goes_on(app, plan, agent):
    async with opened(app) as pilot:
        with Store(plan.path) as other, other.db.transaction(write=True):
            await pilot.press("s", "p")
            await until(pilot, lambda: "Waiting" in said(app))
            await pilot.press("j")
            await until(pilot, lambda: app.pane.row_list.cursor == plan[2])
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
        assert app.state.seen.new.keys() >= {plan[1], plan[2], plan[3], plan[4]}


async def test_leaving_an_open_task_for_another_pane_brings_the_list_back(app):
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, "enter")
        assert app.pane.is_open
        await press(app, pilot, "2")
        assert "◐ claude-1 #5" in lines(app)[0]
        await press(app, pilot, "1")
        assert not app.pane.is_open


async def test_a_task_that_waits_is_free_when_what_it_waits_for_is_done(app, plan, agent):
    async with opened(app) as pilot:
        assert "⊘ #6  Write integration tests  " in below(app)[6]
        assert "after #5" in below(app)[6]
        agent(EditTask(plan[5], {"status": "done"}))
        await until(pilot, lambda: "○ #6  Write" in below(app)[6])


@pytest.mark.parametrize(("pane", "keys"), [("list", ["j", "j"]), ("board", ["h", "enter"])])
async def test_the_detail_tells_a_number_that_stays_when_others_come_go_and_move(plan, make_app, agent, pane, keys):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        await press(app, pilot, *keys)
        row = app.pane.row_list.row
        head = f"#{row.number} {row.name}"
        assert head in shown(app)
        agent(AddTask("comes before the others", before=plan[1]))
        await until(pilot, lambda: app.state.current_list.total == 10)
        agent(MoveTask(plan[1], after=plan[9]), DeleteTask(plan[2]))
        await until(pilot, lambda: app.state.current_list.total == 9)
        assert head in shown(app)


async def test_every_row_keeps_its_number_through_adding_moving_and_deleting(app, plan, agent):
    def rows() -> list[tuple[str, str]]:
        found = (re.match(r".. . #(\d+) +(\w+)", line) for line in below(app)[1:13])
        return [(row[1], row[2]) for row in found if row is not None]

    async with opened(app) as pilot:
        await pilot.pause()
        before = rows()
        assert [number for number, _ in before] == [str(number) for number in range(1, 10)]
        agent(AddTask("First", before=plan[1]), MoveTask(plan[9], before=plan[2]), DeleteTask(plan[5]))
        kept = [row for row in before if row[0] not in ("5", "9")]
        await until(pilot, lambda: rows() == [("10", "First"), kept[0], before[8], *kept[1:]])


async def test_wide_numbers_get_the_width_that_they_need(app, plan, monkeypatch):
    monkeypatch.setattr(StateCache, "next_id", lambda cache, entity, count=1: 1_234_567)
    by_agent(plan, "claude-1", AddTask("Far on", after=plan[1], depends_on=(plan[5],)))
    monkeypatch.undo()
    async with opened(app, (80, 24)) as pilot:
        await pilot.pause()
        assert re.search("⊘ #1234567  Far on", shown(app))
        assert "✓ #1        Inventory GA usage" in shown(app)
        await press(app, pilot, "2")
        assert "1234567 Far on" in shown(app)
        await press(app, pilot, "3")
        assert "#1234567" in shown(app)


@pytest.mark.parametrize("size", SIZES)
async def test_the_filter_for_what_has_changed_finds_what_the_count_counts(plan, make_app, agent, size):
    agent(LogTask(plan[1], "looked at it again"))
    by_agent(plan, "human", EditTask(plan[6], {"priority": 1}), DeleteTask(plan[4]))
    by_agent(plan, "claude-1", LogTask(plan[6], "on it"))
    by_agent(plan, "human", EditTask(plan[6], {"priority": 2}))
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        assert set(app.state.seen.changed_tasks()) == {plan[1], plan[3], plan[5], plan[6], plan[7]}
        words = {
            120: "• unseen since 19:58: failed #3, asked #7, started #5, logged #1 #6",
            80: "• unseen since 19:58: failed #3, asked #7, started #5, logged #1 #6",
            40: "• ✗ #3 ? #7, started #5, +2",
        }
        assert words[size[0]] in shown(app)
        await press(app, pilot, "slash", *"status:changed", "enter")
        await until(pilot, lambda: "cookie" not in shown(app))
        assert [row.number for row in app.pane.row_list.rows_on_screen] == [1, 3, 5, 6, 7]


async def test_a_screen_that_only_reads_counts_all_since_the_human_looked_in_another(plan, make_app, agent):
    reader = make_app(plan.path, read_only=True)
    async with opened(reader) as pilot:
        reader.post_message(events.AppFocus())
        agent(EditTask(plan[1], {"name": "renamed"}))
        await until(pilot, lambda: counts_line(reader).endswith(" started #5, edited #1"))
        assert "•" in next(line for line in below(reader) if "renamed" in line)
        with Store(plan.path) as store:
            seq = journal.newest(store.db)
            local_values.put(store.db, local_values.LOOKED, {"seq": seq, "at": NOW})
        agent(EditTask(plan[8], {"name": "drill"}))
        await until(pilot, lambda: counts_line(reader).endswith("• unseen since 20:15: edited #8"))
        assert "•" not in next(line for line in below(reader) if "renamed" in line)
        assert "•" in next(line for line in below(reader) if "drill" in line)


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_a_task_that_the_human_has_opened_is_not_new_any_more(plan, make_app, pane):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        assert "started #5" in counts_line(app)
        app.pane.select(plan[5])
        await press(app, pilot, "enter", "escape")
        assert "started #5" not in counts_line(app)
        assert plan[5] not in app.context.state.seen.new
