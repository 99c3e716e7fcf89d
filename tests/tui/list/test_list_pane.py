"""Pane 1 by its keys: moving, statuses, getting about, and what its rows tell."""

from __future__ import annotations

import re

import pytest

from tests.tui.driving import below, by_agent, counts_line, lines, opened, press, said, shown, task, until, write
from tests.tui.plan import NOW, SECOND
from tui_tasks.core.operations.asks import AnswerAsk, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, DeleteTask, EditTask
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.pages import board_pages
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.store import Store
from tui_tasks.tui.painting.line_painter import FrameLine
from tui_tasks.tui.painting.styles import StyleCache

# Moving


async def test_keys_move_the_cursor(app, plan):
    ways = (
        (["j"], 2),
        (["down", "down"], 3),
        (["G"], 9),
        (["end"], 9),
        (["G", "k"], 8),
        (["G", "up", "g"], 1),
        (["G", "home"], 1),
        (["ctrl+d"], 9),
        (["G", "ctrl+u"], 1),
        (["pagedown"], 9),
        (["k"], 1),
    )
    async with opened(app) as pilot:
        for keys, place in ways:
            app.pane.row_list.move_first()
            await pilot.press(*keys)
            assert app.pane.row_list.cursor == plan[place], keys


async def test_the_detail_follows_the_cursor(app, plan):
    async with opened(app, (200, 40)) as pilot:
        await press(app, pilot, "j", "j", "j", "j")
        text = "\n".join(line[125:] for line in lines(app))
        assert "#5 Ship auth flow" in text
        assert "running tests 14/22" in text
        assert "Blocks  #6 Write integration tests" in text


async def test_tab_goes_to_the_detail_and_back_and_keys_scroll_it(app, plan):
    async with opened(app, (120, 16)) as pilot:
        await press(app, pilot, "j", "j", "j", "j", "tab")
        assert app.pane.detail.has_focus_within
        await press(app, pilot, "j", "j")
        assert app.pane.row_list.cursor == plan[5]
        assert app.pane.detail.text.first == 2
        await press(app, pilot, "escape")
        assert app.focused is app.pane.row_list


async def test_a_key_that_scrolls_says_where_all_of_the_text_is_on_the_screen_and_others_act_on_the_task(app, plan):
    async with opened(app, (120, 40)) as pilot:
        await press(app, pilot, "j", "tab")
        assert any(line.startswith("> #2 ") for line in lines(app)) and lines(app)[-1].startswith(" Tab Back to list")
        await press(app, pilot, "j")
        assert said(app) == "All of it is on the screen; Esc goes back."
        assert app.pane.row_list.cursor == plan[2]
        await press(app, pilot, "s", "p")
        assert task(app, plan[2]).status == "pending"


async def test_on_a_small_screen_enter_opens_the_task_and_escape_goes_back(app, plan):
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, "G", "k", "k", "k", "k", "enter")
        assert lines(app)[0].startswith("─ #5 Ship auth flow ─")
        assert lines(app)[0].endswith("─ ◐ in progress ─")
        assert lines(app)[1].startswith(" claude-1 · 14m in · !high #auth"), "what the rule has no room for"
        await press(app, pilot, "escape")
        assert ">  ◐ #5  Ship auth flow" in shown(app)


# Status


async def test_s_and_a_letter_set_the_status(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "j")
        for key, status in (("p", "pending"), ("i", "in_progress"), ("d", "done"), ("c", "cancelled")):
            await press(app, pilot, "s", key)
            assert (task(app, plan[3]).status, task(app, plan[3]).updated_by) == (status, "human")


@pytest.mark.parametrize(("key", "status"), [("f", "failed"), ("s", "skipped")])
async def test_failed_and_skipped_ask_why_and_log_it(app, plan, key, status):
    async with opened(app) as pilot:
        await pilot.press("G", "k", "s", key)
        await write(pilot, "no disk")
        await press(app, pilot, "enter")
        assert task(app, plan[8]).status == status
        assert task_records.newest_log(app.link.db, plan[8], 1)[0].message == "no disk"
        await press(app, pilot, "u")
        assert task(app, plan[8]).status == "pending"
        assert task_records.newest_log(app.link.db, plan[8], 1) == []


async def test_escape_at_the_reason_changes_nothing(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "s", "f", "escape")
        assert task(app, plan[2]).status == "done"


async def test_a_status_that_it_has_already_is_refused_with_why(app, plan):
    async with opened(app) as pilot:
        await pilot.press("g", "s", "d")
        assert "already" in said(app)
        await press(app, pilot, "escape")
        assert task(app, plan[1]).version == 2


async def test_a_second_task_in_progress_is_refused_and_said(tmp_path, make_app):
    with Store(str(tmp_path / "t.db")) as store:
        home = task_queries.find_list(store.db, "tasklist")
        for name in "ab":
            store.commit(AddTask(name, home.uid), actor="claude-1", now=NOW)
    app = make_app(tmp_path / "t.db")
    async with opened(app) as pilot:
        await press(app, pilot, "s", "i")
        await press(app, pilot, "j", "s", "i")
        assert "in progress already" in said(app)


# Getting about


async def test_attention_goes_from_what_needs_the_human_to_what_failed(app, plan):
    async with opened(app) as pilot:
        seen = []
        for _ in range(4):
            await press(app, pilot, "exclamation_mark")
            seen.append(app.pane.row_list.cursor)
        assert seen == [plan[4], plan[7], plan[3], plan[4]]


async def test_attention_goes_first_to_what_is_most_urgent_wherever_the_cursor_is(app, plan):
    async with opened(app) as pilot:
        app.navigation.go_to(plan[3])
        await until(pilot, lambda: app.pane.target() == plan[3])
        await press(app, pilot, "exclamation_mark")
        assert app.pane.target() == plan[4] and said(app).startswith("1 of 3: question, #4")
        by_agent(plan, "claude-2", OpenAsk("Which port?", task_uid=plan[2]), now=NOW + 1)
        await until(pilot, lambda: len(app.state.asks) == 3)
        app.navigation.go_to(plan[3])
        await until(pilot, lambda: app.pane.target() == plan[3])
        await press(app, pilot, "exclamation_mark")
        assert app.pane.target() == plan[2], "a question that came since"


async def test_attention_goes_through_all_that_is_counted_in_the_order_of_the_counts(app, plan, agent):
    agent(EditTask(plan[9], {"status": "pending", "due": "2026-11-01"}), EditTask(plan[7], {"due": "2026-11-02"}))
    async with opened(app) as pilot:
        assert "? 2 questions" in shown(app) and "✗ 1 failed" in shown(app) and "! 2 late" in shown(app)
        seen = []
        for number in range(1, 7):
            await press(app, pilot, "exclamation_mark")
            seen.append(app.pane.row_list.cursor)
            assert said(app).startswith(f"{(number - 1) % 5 + 1} of 5: ")
        assert seen == [plan[4], plan[7], plan[3], plan[9], plan[7], plan[4]]


async def test_attention_comes_back_to_the_first_after_failures_of_several_lists(app, plan):
    here, there = (task_queries.find_list(app.link.db, "task").uid, plan.list_uid)
    for home in (here, there, here):
        (made,) = by_agent(plan, "claude-2", AddTask("books", home))
        by_agent(plan, "claude-2", EditTask(made.uid, {"status": "failed"}))
    async with opened(app) as pilot:
        await until(pilot, lambda: app.state.failed == 4)
        seen = []
        for _ in range(12):
            await press(app, pilot, "exclamation_mark")
            seen.append(app.pane.row_list.cursor)
        assert seen[:6] == seen[6:] and len(set(seen)) == 6


async def test_attention_goes_to_the_jobs_that_are_counted_in_the_schedule(evening, make_app):
    app = make_app(evening.path)
    async with opened(app) as pilot:
        assert "✗ 2 failed" in shown(app) and "! S3 late" in shown(app)
        went = []
        for _ in range(6):
            await press(app, pilot, "exclamation_mark")
            is_job = app.navigation.pane_name == "schedule"
            went.append(app.pane.line.job.name if is_job else app.pane.target())
        assert went == [evening[4], evening[7], evening[3], "Digest mail", "Restore test", evening[4]]


async def test_each_list_remembers_its_cursor(plan, make_app, agent):
    for pane in ("list", "board"):
        app = make_app(plan.path, pane=pane, list_name="Plan")
        async with opened(app) as pilot:
            if pane == "list":
                agent(AddTask("elsewhere", task_queries.find_list(app.link.db, "todo").uid))
            await until(pilot, lambda: any(found.total == 1 for found in app.state.lists.values()))  # noqa: B023
            app.pane.go_to(plan[8])
            await press(app, pilot, "right_square_bracket")
            assert app.state.current_list.name == "todo"
            await press(app, pilot, "left_square_bracket")
            assert app.pane.target() == plan[8]


@pytest.mark.parametrize("keys", [("escape",), ("enter", "escape")])
async def test_without_its_filter_the_list_is_shown_from_which_the_filter_began(app, plan, agent, keys):
    async with opened(app) as pilot:
        agent(AddTask("elsewhere", task_queries.find_list(app.link.db, "todo").uid))
        await until(pilot, lambda: any(found.total == 1 for found in app.state.lists.values()))
        app.pane.go_to(plan[8])
        await pilot.press("slash")
        await write(pilot, "list:todo")
        await until(pilot, lambda: app.state.current_list.name == "todo")
        await press(app, pilot, *keys)
        assert app.state.current_list.name == "Plan"
        assert app.pane.target() == plan[8] and len(app.pane.row_list.rows_on_screen) == 9


async def test_brackets_go_round_the_lists_that_have_tasks(app, plan, agent):
    async with opened(app) as pilot:
        agent(AddTask("elsewhere", task_queries.find_list(app.link.db, "todo").uid))
        await until(pilot, lambda: any(found.total == 1 for found in app.state.lists.values()))
        await press(app, pilot, "right_square_bracket")
        assert app.state.current_list.name == "todo"
        assert app.pane.row_list.row.name == "elsewhere"
        await press(app, pilot, "left_square_bracket")
        assert app.state.current_list.name == "Plan"


async def test_the_palette_finds_and_does_and_tries_themes_on(app):
    async with opened(app) as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause()
        await write(pilot, "tokyo")
        await pilot.pause()
        assert app.theme == "tokyo-night"
        await press(app, pilot, "escape")
        assert app.theme == "dark"
        await pilot.press("colon")
        await pilot.pause()
        await write(pilot, "tokyo")
        await press(app, pilot, "enter")
        assert app.theme == "tokyo-night"


async def test_a_theme_is_seen_while_choosing_and_kept_once_chosen(plan, make_app, tmp_path):
    file = tmp_path / "config.toml"
    file.write_text("# mine\n")
    app = make_app(plan.path, settings=file)
    async with opened(app) as pilot:
        await press(app, pilot, "colon", *"theme", "enter")
        seen = [app.theme]
        for _ in range(2):
            await press(app, pilot, "down")
            seen.append(app.theme)
        assert seen == list(app.themes.names[:3])
        await press(app, pilot, "escape")
        assert app.theme == "dark"
        assert file.read_text() == "# mine\n"
        await press(app, pilot, "colon", *"theme", "enter", "down", "enter")
        assert app.theme == seen[1]
        assert file.read_text() == f'theme = "{seen[1]}"\n# mine\n'
        assert said(app) == f"Theme {seen[1]}, kept in {file}."
        file.write_text("theme = broken\n")
        await press(app, pilot, "colon", *"theme", "enter", "down", "down", "enter")
        assert app.theme == seen[2]
        assert said(app).startswith(f"Theme {seen[2]} until you leave: {file} cannot be changed")
        assert file.read_text() == "theme = broken\n"


async def test_help_shows_keys_is_searched_and_does_what_is_chosen(app, plan):
    async with opened(app) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        await write(pilot, "to the last")
        await pilot.pause()
        assert any(line.startswith(" > G End") and "To the last" in line for line in lines(app))
        await press(app, pilot, "enter")
        assert app.pane.row_list.cursor == plan[9]


async def test_help_is_in_groups_with_the_key_beside_its_words_and_the_id_at_the_cursor(app, plan):
    async with opened(app) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        found = [line.rstrip(" ▐") for line in lines(app)]
        first = found.index(" Here: list") + 1
        assert re.match(r" > Enter\s+Open the task\s+open$", found[first])
        assert any(re.match(r"   n\s+New task below$", line) for line in found)
        await pilot.press("up")
        assert lines(app)[first].startswith(" > Enter")
        for _ in range(100):
            found = [line.rstrip(" ▐") for line in lines(app)]
            heading = found.index(" Everywhere") if " Everywhere" in found[:-3] else -1
            if heading > 0 and found[heading + 1].startswith(" > 1"):
                break
            await pilot.press("down")
            await pilot.pause()
        assert lines(app)[heading].rstrip(" ▐") == " Everywhere"
        await pilot.press("up")
        assert not lines(app)[heading - 1].strip(" ▐")
        assert lines(app)[heading - 2].startswith(" > ")


@pytest.mark.parametrize("typed", ["#{}", "{}"])
async def test_the_palette_goes_to_the_task_whose_number_was_typed_in_any_list(app, plan, typed):
    (other,) = by_agent(plan, "claude-1", CreatePlan("Other"))
    (far,) = by_agent(plan, "claude-1", AddTask("Far away", other.uid))
    async with opened(app) as pilot:
        await press(app, pilot, "colon", *typed.format(far.number))
        assert f"> #{far.number} Far away" in shown(app)
        await press(app, pilot, "enter")
        assert (app.state.current_list.name, app.pane.target()) == ("Other", far.uid)
        await press(app, pilot, "colon", *"#99")
        assert "nothing by that name: type less of it" in shown(app)


async def test_the_filter_and_the_search_in_all_lists_find_a_task_by_its_number(app, plan):
    (other,) = by_agent(plan, "claude-1", CreatePlan("Other"))
    (far,) = by_agent(plan, "claude-1", AddTask("Far away", other.uid))
    async with opened(app) as pilot:
        await press(app, pilot, "slash", *"#5", "enter")
        assert [row.name for row in app.pane.row_list.rows_held] == ["Ship auth flow"]
        await press(app, pilot, "escape", "ctrl+f", *f"#{far.number}")
        await until(pilot, lambda: f"#{far.number}  Far away" in shown(app))


async def test_the_palette_puts_what_was_typed_before_what_only_holds_it(app):
    async with opened(app) as pilot:
        for typed in ("theme: light", "theme light", "light"):
            await pilot.press("colon")
            await write(pilot, typed)
            await press(app, pilot, "enter")
            assert app.theme == "light", typed
            await pilot.press("colon")
            await write(pilot, "theme: dark")
            await press(app, pilot, "enter")
            assert app.theme == "dark"


async def test_read_only_the_footer_offers_nothing_that_writes(plan, make_app):
    for pane in ("list", "board", "log", "schedule"):
        app = make_app(plan.path, read_only=True, pane=pane)
        async with opened(app) as pilot:
            foot = lines(app)[-1]
            assert "? Help" in foot
            assert "/ Filter" in foot
            assert not re.search("New|Status|Edit|Undo|→|Run now|On/off|Delete|Compact", foot), foot
            await press(app, pilot, "enter")
            assert not re.search("New|Status|Edit|Undo|Note", lines(app)[-1]), lines(app)[-1]


# The selection goes along


async def test_the_cursor_goes_from_the_list_to_the_board_and_back(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "j", "2")
        assert app.pane.target() == plan[3]
        await press(app, pilot, "h", "h", "h", "h", "j", "1")
        assert app.pane.target() == plan[8]
        await press(app, pilot, "k", "3", "2")
        assert app.pane.target() == plan[7]


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_the_cursor_goes_to_a_task_that_undo_brings_back(plan, make_app, pane):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        app.navigation.go_to(plan[3])
        await press(app, pilot, "d")
        app.navigation.go_to(plan[8])
        await press(app, pilot, "u")
        assert app.pane.target() == plan[3]


async def test_of_several_that_undo_brings_back_the_cursor_goes_to_the_first(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "G", "v", "k", "k", "v", "d", "y", "g", "u")
        assert app.pane.target() == plan[7]


# What rows tell beside the name


async def test_rows_tell_priority_tags_the_last_word_the_reason_and_who_asks_where_there_is_room(app, plan):
    async with opened(app, (200, 40)) as pilot:
        rows = below(app)[1:10]
        assert re.search(r'• ◐ #5  Ship auth flow +"running tests 14/22" +!high  #auth +claude-1 +40s', rows[4])
        assert re.search(r"• ✗ #3  Fix flaky DST test +test_dst_gap: expected 02:30, got", rows[2])
        assert re.search(r"• \? #4  Pick JWT lib: jose or pyjwt +jose is maintained", rows[3])
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        rows = below(app)[1:10]
        assert re.search(r"test_dst_gap: expected.* claude-2 +17m", rows[2])
        assert re.search(r"jose is … Which one\? +claude-1 +9m", rows[3])
        assert "claude-2" in rows[1]
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        assert all(any(name in line for line in lines(app)) for name in ("Fix flaky DST test", "Ship auth flow"))
        assert "Fix flaky DST test  test_dst" in shown(app)


async def test_a_row_with_a_question_says_how_long_it_waits_and_the_detail_below_has_it_whole(app, plan):
    by_agent(plan, "claude-1", EditTask(plan[4], {"priority": 2}))
    async with opened(app, (120, 40)) as pilot:
        await pilot.pause()
        assert re.search(r"9m$", next(line for line in lines(app) if line.startswith(" • ? #4")))
        await press(app, pilot, "j", "j", "j")
        assert "claude-1 asks: jose is maintained" in shown(app)


@pytest.mark.parametrize(
    ("has_checked", "text", "cells"),
    [
        (False, "2/9 done · 1 skipped · 1 failed ━━━━─────", (2, 1, 1)),
        (True, "2/9 done · 1 skipped · 2 failed ━━━━━────", (2, 1, 2)),
    ],
)
async def test_the_bar_has_a_cell_a_task_and_the_colour_of_the_state_of_what_is_closed(
    app, plan, report, has_checked, text, cells
):
    if has_checked:
        report(plan[5], "failed")
    async with opened(app, (120, 40)):
        (line,) = (line for line in lines(app) if line.startswith("─ Plan"))
        assert line.endswith(text)
        style = StyleCache.of(app).style
        rule = app.screen.query_one("#list-rule", FrameLine).render_line(0)
        bars = [(len(part.text), part.style.color) for part in rule if part.style and part.text.strip("━") == ""]
        colors = ("$state-done", "$state-skipped", "$state-failed")
        assert bars == [(number, style(color).color) for number, color in zip(cells, colors, strict=True)]
        reds = [part.text for part in rule if part.style and part.style.color == style("$state-failed").color]
        assert reds == ["2 failed", "━━"] if has_checked else ["1 failed", "━"]


async def test_a_list_of_three_tasks_has_no_bar_and_no_blank_for_one(plan, make_app):
    by_agent(plan, "human", *(DeleteTask(plan[number]) for number in range(4, 10)))
    async with opened(make_app(plan.path), (80, 24)) as pilot:
        (line,) = (line for line in lines(pilot.app) if line.startswith("─ Plan"))
        assert line.endswith("2/3 done · 1 failed ─")


async def test_the_bar_gets_shorter_where_the_numbers_beside_it_need_the_room(app, plan, agent):
    agent(EditTask(plan[8], {"status": "cancelled"}))
    async with opened(app, (78, 24)):
        (line,) = (line for line in lines(app) if line.startswith("─ Plan"))
        assert re.search("─ 2/9 done · 1 skipped · 1 cancelled · 1 failed ━━━+─+$", line)


async def test_the_row_of_the_task_that_is_next_says_so_also_when_another_becomes_the_next(app, plan):
    async with opened(app, (120, 40)) as pilot:
        assert re.search(r"○ #8  Backup restore drill +next  ", shown(app))
        asks = ask_queries.open_asks(app.link.db)
        by_agent(plan, "human", AnswerAsk(asks[-1].uid, "approve"))
        await until(pilot, lambda: re.search(r"○ #7  Migrate analytics GA to Plausible +next  ", shown(app)))
        assert not re.search(r"○ #8  Backup restore drill +next", shown(app))


async def test_what_is_neither_done_nor_open_is_counted_beside_the_progress(app):
    async with opened(app, (120, 40)):
        assert "2/9 done · 1 skipped · 1 failed" in shown(app)


async def test_failures_that_were_dismissed_are_named_so_where_the_list_counts_them(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, ".", ".")
        assert "✗ failures dismissed" in counts_line(app)
        assert "2/9 done · 1 skipped · 1 failed, dismissed ━" in shown(app)
        by_agent(plan, "claude-2", EditTask(plan[8], {"status": "failed"}), now=NOW + SECOND)
        await until(pilot, lambda: "✗ 1 failed" in counts_line(app))
        await until(pilot, lambda: "· 2 failed, 1 dismissed ━" in shown(app))
        app.context.clock.now = lambda: NOW + 2 * SECOND
        await press(app, pilot, ".", ".")
        assert "✗ failures dismissed" in counts_line(app) and "· 2 failed, all dismissed ━" in shown(app)
        await press(app, pilot, "u")
        assert "✗ 1 failed" in counts_line(app) and "· 2 failed, 1 dismissed ━" in shown(app)


async def test_the_reason_of_a_failure_outlives_the_other_columns_of_its_row(app):
    async with opened(app, (62, 30)):
        assert "✗ #3  Fix flaky DST test  test_dst_gap: expected" in below(app)[3]
        assert "claude-2" not in below(app)[3]
        assert "claude-2" in below(app)[2]


async def test_a_name_is_told_whole_before_anything_else_is(app, plan, agent):
    agent(EditTask(plan[8], {"name": "n" * 70, "tags": ("a-tag",)}))
    async with opened(app, (200, 40)):
        row = below(app)[8]
        assert "n" * 70 in row
        assert "#a-tag" in row


async def test_numbers_go_to_panes_and_back(app):
    async with opened(app) as pilot:
        for key, name in zip("234", ("board", "log", "schedule"), strict=True):
            await press(app, pilot, key)
            assert app.navigation.pane_name == name
        await press(app, pilot, "1")
        assert app.focused is app.pane.row_list


async def test_q_goes_back_from_a_screen_and_leaves_from_a_pane(app):
    async with opened(app) as pilot:
        for key in ("a", "A", "S", "D"):
            await press(app, pilot, key)
            assert len(app.screen_stack) == 2
            await press(app, pilot, "q")
            assert len(app.screen_stack) == 1
            assert app.is_running


async def test_q_leaves(app):
    async with app.run_test() as pilot:
        await pilot.press("q")
        await pilot.pause()
    assert app.return_code == 0


async def test_a_long_list_leaves_the_detail_below_it_a_quarter_of_the_screen_or_a_third_of_the_pane(app, plan):
    by_agent(plan, "human", *(AddTask(f"more {number}", plan.list_uid) for number in range(40)))
    async with opened(app, (80, 24)):
        lines_left = app.pane.size.height
        assert app.pane.detail.size.height == min(5, lines_left // 3) >= 4


async def test_the_counts_of_the_list_are_read_once_after_a_change_and_not_while_the_rule_is_drawn(
    app, plan, monkeypatch
):
    asked, reads = board_pages.asked, []
    monkeypatch.setattr(board_pages, "asked", lambda *of: (reads.append(of), asked(*of))[1])
    async with opened(app, (120, 40)) as pilot:
        await until(pilot, lambda: "2/9 done" in shown(app))
        reads.clear()
        app.pane.refreshed()
        assert not reads
        by_agent(plan, "claude-1", EditTask(plan[8], {"status": "done"}))
        await until(pilot, lambda: "3/9 done" in shown(app))
        assert len(reads) == 1
