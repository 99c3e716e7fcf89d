"""Pane 1: the filter, and the lists among which it is changed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.tui.driving import (
    below,
    by_agent,
    lines,
    named,
    opened,
    order,
    press,
    said,
    settle,
    shown,
    task,
    until,
    write,
)
from tests.tui.plan import NOW
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import (
    AddTask,
    ArchiveList,
    CreatePlan,
    DeleteList,
    DeleteTask,
    EditTask,
    EnsureList,
    LogTask,
)
from tui_tasks.core.operations.work import SetAuto, StopAuto
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.pages.task_filter import Filter, Term
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.tui.inputs.line_inputs import FilterWords
from tui_tasks.tui.screens import place_pickers
from tui_tasks.tui.tasks import shown_words
from tui_tasks.tui.tasks.filter_actions import MatchCounter
from tui_tasks.tui.tasks.shown_words import ShownWords

# The filter


async def test_the_filter_shows_what_matches_as_one_types(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "G", "slash")
        await write(pilot, "jwt status:open who:claude-1")
        await pilot.pause()
        assert app.pane.row_list.keys_on_screen == [plan[4], plan[5]]
        assert "2 of 9" in shown(app)
        await press(app, pilot, "enter")
        assert app.pane.row_list.cursor == plan[4]
        await press(app, pilot, "escape")
        assert len(app.pane.row_list.keys_on_screen) == 9


async def test_without_a_match_no_task_is_shown_below_the_rows(app, plan):
    async with opened(app) as pilot:
        await settle(pilot, "slash", *"zebra")
        await until(pilot, lambda: "Nothing matches “zebra”" in shown(app) and "#1 Inventory" not in shown(app))
        await settle(pilot, "escape")
        await until(pilot, lambda: "─ #1 Inventory" in shown(app))


def test_a_count_that_was_stopped_shows_nothing_though_its_timer_was_due(plan):
    timers, shows = [], []
    with Store(plan.path) as store:
        home = task_queries.list_by_uid(store.db, plan.list_uid)
        context = SimpleNamespace(db=store.db, state=SimpleNamespace(current_list=home, lists={home.id: home}))
        pane = SimpleNamespace(context=context, filter_bar=SimpleNamespace(show_count=shows.append))
        pane.set_timer = lambda _, callback: timers.append(callback) or SimpleNamespace(stop=lambda: None)
        counter = MatchCounter(pane)
        for word in ("jwt", "flow"):
            counter.count(Filter((Term("word", word),)))
            counter.count_again()
        assert shows == ["2 of 9", "1 of 9"]
        of_jwt, of_flow = timers
        of_jwt()
        assert shows[2:] == []
        of_flow()
        assert shows[2:] == ["1 of 9"]
        counter.count_again()
        counter.stop()
        timers[-1]()
        assert shows[3:] == []


async def test_escape_while_typing_goes_back_to_the_row_that_had_the_cursor(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "G", "slash")
        await write(pilot, "jwt")
        await press(app, pilot, "escape")
        assert app.pane.row_list.cursor == plan[9]
        assert app.focused is app.pane.row_list


async def test_a_filter_that_was_left_leaves_no_count_behind(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "the")
        await press(app, pilot)
        assert "of 9" in shown(app)
        await press(app, pilot, "escape", "slash")
        assert "of 9" not in shown(app)


@pytest.mark.parametrize("letter", ['"', "#"])
async def test_the_number_of_matches_is_shown_before_the_filter_has_a_whole_word(plan, make_app, letter):
    app = make_app(plan.path)
    async with opened(app, (80, 24)) as pilot:
        await settle(pilot, "/", "j", "escape", "/", letter)
        assert lines_with(app, f" / {letter}").endswith("9 tasks")
        await settle(pilot, "escape", "/")
        assert lines_with(app, " / ").endswith("9 tasks")


async def test_the_words_of_quick_add_filter_too(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "#auth @claude-1 !high")
        await press(app, pilot, "enter")
        assert [row.uid for row in app.pane.row_list.rows_on_screen] == [plan[5]]
        assert "1 of 9" in shown(app)


async def test_a_field_that_there_is_not_is_told_in_full(app):
    async with opened(app, (80, 24)) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "size:1")
        await press(app, pilot)
        words = "status:, agent:, list:, number:, tag:, domain:, priority:, due:, estimate:, links:, sort:"
        assert said(app) == f"no filter word 'size:'; use one of {words}"
        assert lines_with(app, " / size:1").endswith(" no filter word 'size:'")
        await press(app, pilot, *["backspace"] * 6)
        assert said(app) == ""


async def test_tab_completes_a_word_of_the_filter(app):
    async with opened(app) as pilot:
        await pilot.press("slash")
        await write(pilot, "sta")
        await pilot.press("tab")
        await write(pilot, "fai")
        await pilot.press("tab")
        assert app.query_one(FilterWords).value == "status:failed "


async def test_a_filter_is_kept_as_a_view_that_the_palette_shows(app, plan):
    async with opened(app) as pilot:
        await pilot.press("slash")
        await write(pilot, "who:claude-2")
        await pilot.press("ctrl+s")
        await pilot.pause()
        await write(pilot, "hers")
        await press(app, pilot, "enter")
        assert app.focused is app.pane.row_list, "a saved view is typed to its end"
        await press(app, pilot, "escape")
        assert len(app.pane.row_list.keys_on_screen) == 9
        await pilot.press("colon")
        await write(pilot, "view hers")
        await press(app, pilot, "enter")
        assert app.pane.row_list.keys_on_screen == [plan[1], plan[2], plan[3], plan[7]]


async def test_a_saved_view_is_renamed_and_deleted_in_the_palette(app):
    key = local_values.filter_key

    async def chosen(pilot, typed, *keys):
        await settle(pilot, "colon", *typed, "enter", *keys)
        return local_values.filters(app.link.db)

    async with opened(app) as pilot:
        await app.link.remember(key("hers"), "agent:claude-1")
        await app.link.remember(key("late"), "due:late")
        assert await chosen(pilot, "rename view hers", "ctrl+u", *"late", "enter") == {
            "hers": "agent:claude-1",
            "late": "due:late",
        }
        assert said(app) == "There is a view late already."
        assert await chosen(pilot, "rename view hers", "ctrl+u", *"ada", "enter") == {
            "ada": "agent:claude-1",
            "late": "due:late",
        }
        assert said(app) == "The view hers is called ada now."
        assert await chosen(pilot, "delete view ada") == {"late": "due:late"}
        assert said(app) == "Deleted the view ada: agent:claude-1"


async def test_the_name_of_a_view_to_rename_or_delete_is_whole_on_a_narrow_screen(app):
    async with opened(app, size=(40, 12)) as pilot:
        await app.link.remember(local_values.filter_key("hers today"), "agent:claude-1 due:today status:pending")
        await settle(pilot, "colon", *"hers")
        for name in ("Rename the view hers today", "Delete the view hers today"):
            assert name in shown(app)


async def test_a_view_leaves_the_keys_to_the_rows_and_its_number_follows_changes(app, plan, agent):
    other = task_queries.find_list(app.link.db, "task")
    agent(AddTask("elsewhere", other.uid))
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "list:task")
        await pilot.press("ctrl+s")
        await pilot.pause()
        await write(pilot, "theirs")
        await press(app, pilot, "enter", "escape", "colon")
        await write(pilot, "view theirs")
        await press(app, pilot, "enter")
        await until(pilot, lambda: app.focused is app.pane.row_list)
        assert app.state.current_list.name == "task"
        await until(pilot, lambda: lines_with(app, "list:task").endswith("1 task"))
        agent(AddTask("one more", other.uid))
        await until(pilot, lambda: lines_with(app, "list:task").endswith("2 tasks"))
        await press(app, pilot, "right_square_bracket")
        assert app.state.current_list.name == "Plan" and not app.pane.filter_bar.is_open


def lines_with(app, words: str) -> str:
    """The line that has some words."""
    return next((line.rstrip() for line in lines(app) if words in line), "")


async def test_the_foot_names_the_word_for_an_agent_that_was_typed(app):
    async with opened(app) as pilot:
        await pilot.press("slash")
        await settle(pilot)
        assert "agent:" in lines(app)[-1]
        await write(pilot, "who")
        await pilot.press("colon")
        await settle(pilot)
        assert "who:" in lines(app)[-1] and "agent:" not in lines(app)[-1]


async def test_a_word_that_means_nothing_is_told_beside_the_filter(app):
    async with opened(app) as pilot:
        await pilot.press("slash")
        await write(pilot, "status:opne ")
        await pilot.pause()
        assert "opne" in below(app)[1]


async def test_a_task_that_comes_to_match_appears_and_one_that_no_more_does_goes(app, plan, agent):
    async with opened(app) as pilot:
        await pilot.press("slash")
        await write(pilot, "status:failed")
        await press(app, pilot, "enter")
        assert app.pane.row_list.keys_on_screen == [plan[3]]
        agent(EditTask(plan[3], {"status": "pending"}), EditTask(plan[8], {"status": "failed"}))
        await until(pilot, lambda: app.pane.row_list.keys_on_screen == [plan[8]])


@pytest.mark.parametrize("pane", ["1", "2"])
async def test_what_a_row_shows_is_found_by_typing_it(app, plan, pane):
    found = {
        "jose pyjwt": {4},
        "claude-1 lockfile": {4},
        "ending": set(),
        "needs you": {4, 7},
        "progress": {5},
        "tests 14": {5},
    }
    async with opened(app) as pilot:
        await press(app, pilot, pane)
        for words, numbers in found.items():
            await settle(pilot, "slash", "ctrl+u", *words, "enter")
            assert {row.number for row in app.pane.nearby()} == numbers, words


async def test_a_word_finds_dates_statuses_and_reasons_as_rows_show_them(plan, make_app):
    found = {
        "overdue": {8},
        "late": {8},
        "today": {9},
        "blocked": {6},
        "after": {6},
        "failed": {3},
        "expected 03:30": {3},
        "you": {4, 7, 9},
        "#8": {8},
        "-claude -blocked": {8, 9},
    }
    with Store(plan.path) as store:
        store.commit(EditTask(plan[8], {"due": "2026-11-01"}), actor="human", now=NOW)
        store.commit(EditTask(plan[9], {"due": "2026-11-21", "status": "pending"}), actor="human", now=NOW)
        store.commit(EditTask(plan[9], {"status": "in_progress"}), actor="human", now=NOW)
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app) as pilot:
        for words, numbers in found.items():
            await settle(pilot, "slash", "ctrl+u", *words, "enter")
            assert {row.number for row in app.pane.row_list.rows_on_screen} == numbers, words


async def test_the_number_that_matches_follows_what_agents_change(app, plan, agent):
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "status:failed")
        await press(app, pilot, "enter")
        assert "1 of 9" in shown(app)
        agent(EditTask(plan[8], {"status": "failed"}))
        await until(pilot, lambda: "2 of 9" in shown(app))
        agent(AddTask("other", plan.list_uid))
        await until(pilot, lambda: "2 of 10" in shown(app))


async def test_the_number_that_matches_is_that_of_the_list_on_screen(app, plan, agent):
    other = task_queries.find_list(app.link.db, "task")
    agent(AddTask("jwt elsewhere", other.uid), AddTask("more", other.uid))
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "jwt")
        await press(app, pilot, "enter")
        assert "2 of 9" in shown(app)
        await press(app, pilot, "right_square_bracket")
        await until(pilot, lambda: "1 of 2" in shown(app))


async def test_a_task_that_leaves_the_filter_hands_no_key_to_the_one_that_takes_its_place(app, plan, agent):
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "status:pending")
        await press(app, pilot, "enter")
        assert app.pane.row_list.cursor == plan[4]
        agent(EditTask(plan[4], {"status": "in_progress"}))
        await until(pilot, lambda: app.pane.row_list.cursor == plan[6])
        await settle(pilot, "d")
        assert "Delete “Write integration tests”? The cursor moved here by itself." in shown(app)
        await settle(pilot, "n", "s")
        assert "Status of “Write integration tests”" in shown(app)
        assert task(app, plan[6]).status == "pending"


# Lists


async def test_a_new_list_is_shown_and_found_by_its_name(app):
    async with opened(app) as pilot:
        await pilot.press(*named("new list"))
        await pilot.pause()
        await write(pilot, "Garden")
        await press(app, pilot, "enter")
        assert app.state.current_list.name == "Garden"
        assert "─ Garden ──" in shown(app) and "No tasks in Garden yet." in shown(app)
        home = task_queries.find_list(app.link.db, "Garden")
        assert (home.kind, home.handle, home.id) == ("list", "Garden", app.state.list_id)


async def test_a_new_list_of_a_taken_name_is_the_one_there_is(app):
    async with opened(app) as pilot:
        for _ in range(2):
            await pilot.press(*named("new list"))
            await pilot.pause()
            await write(pilot, "Garden")
            await press(app, pilot, "enter")
        assert "There is a list Garden already: this is it." in said(app)
        assert [home.name for home in task_queries.lists(app.link.db)].count("Garden") == 1


async def test_u_asks_before_it_takes_back_an_old_change(app, plan):
    with Store(plan.path) as store:
        store.commit(EditTask(plan[8], {"status": "failed"}), actor="human", now=NOW - 720_000_000)
    async with opened(app) as pilot:
        await settle(pilot, "u")
        assert "pending → failed”, 12m ago?" in shown(app)
        await press(app, pilot, "n")
        assert task(app, plan[8]).status == "failed"
        await settle(pilot, "u")
        await press(app, pilot, "y")
        assert task(app, plan[8]).status == "pending"


async def test_a_list_a_task_and_a_job_need_names_that_can_be_seen(app):
    async with opened(app) as pilot:
        for keys, end, needs in (
            (named("new list"), "enter", "a list needs a name"),
            (("n",), "enter", "a task needs a title"),
            (("escape", "4", "n"), "ctrl+s", "a job needs a name; a job needs a prompt"),
        ):
            await pilot.press(*keys)
            await pilot.pause()
            app.focused.value = "\u2800"
            await press(app, pilot, end) if end == "enter" else await settle(pilot, end)
            assert said(app) == needs


async def test_a_list_is_renamed_and_the_old_name_comes_back_with_u(app, plan):
    async with opened(app) as pilot:
        await pilot.press(*named("change"), "r")
        await pilot.pause()
        assert app.screen.query_one("#answer").value == "Plan"
        await pilot.press(*["backspace"] * 4)
        await write(pilot, "Launch")
        await press(app, pilot, "enter")
        assert app.state.current_list.name == "Launch"
        assert " Launch   9 tasks" in shown(app)
        await press(app, pilot, "u")
        assert " Plan   9 tasks" in shown(app)
        assert "Undone: list Plan: name Plan again" in said(app)


async def test_a_deleted_list_gives_way_to_another_and_comes_back_with_u(app, plan, agent):
    other = task_queries.find_list(app.link.db, "task")
    agent(AddTask("elsewhere", other.uid))
    async with opened(app) as pilot:
        assert app.state.current_list.name == "Plan"
        await pilot.press(*named("change"), "d")
        await pilot.pause()
        assert "Delete Plan with its 9 tasks?" in shown(app)
        await press(app, pilot, "y")
        assert app.state.current_list.name == "task"
        assert "elsewhere" in shown(app)
        assert "Plan is deleted. u brings it back with its tasks." in said(app)
        assert not app.state.failed
        await press(app, pilot, "u")
        assert app.state.current_list.name == "Plan"
        assert "Ship auth flow" in shown(app)
        assert "Undone: deletion of list Plan." in said(app)


async def test_a_list_stays_where_the_human_thinks_better_of_deleting_it(app, plan):
    async with opened(app) as pilot:
        await pilot.press(*named("change"), "d", "n")
        await press(app, pilot)
        await pilot.press(*named("change"), "r", "escape")
        await press(app, pilot)
        assert app.state.current_list.name == "Plan"
        assert len(order(app)) == 9


async def test_the_list_of_a_dialect_says_why_it_stays_and_what_is_typed_then_presses_no_keys(plan, make_app, agent):
    app = make_app(plan.path, list_name="todo")
    agent(AddTask("kept", task_queries.find_list(app.link.db, "todo").uid))
    why = "The tools of agents know this list by its name."
    async with opened(app) as pilot:
        for key in ("r", "d"):
            await pilot.press(*named("change"))
            await pilot.pause()
            assert shown(app).count(why) == 2, "the menu shows what cannot be done, with its reason"
            await settle(pilot, key, *"adsi")
            assert said(app) == f"{why} What you typed was dropped."
            assert app.state.current_list.name == "todo" and not app.state.current_list.archived
            await settle(pilot, "escape")
        assert task_queries.tasks_of_status(app.link.db, app.state.list_id, "in_progress", 1) == []


async def test_a_list_with_open_tasks_is_archived_only_after_a_question_that_names_who_is_at_work(app, plan):
    async with opened(app) as pilot:
        await pilot.press(*named("change"), "a")
        await pilot.pause()
        assert "Archive Plan with 5 open tasks (claude-1 at work)?" in shown(app)
        await settle(pilot, "n", *"iv")
        assert said(app) == "Plan is not archived. What you typed was dropped."
        assert app.state.current_list.name == "Plan"


async def test_a_list_that_another_screen_deletes_gives_way_here_too(app, plan):
    async with opened(app) as pilot:
        by_human = Store(plan.path)
        by_human.commit(DeleteList(plan.list_uid), actor="human", now=NOW)
        by_human.close()
        await until(pilot, lambda: app.state.current_list is not None and app.state.current_list.name != "Plan")
        assert "No tasks yet." in shown(app)


async def test_an_archived_list_is_out_of_the_way_and_shown_by_the_palette_on_any_screen(app, plan, agent):
    agent(AddTask("elsewhere", task_queries.find_list(app.link.db, "task").uid))
    async with opened(app) as pilot:
        await pilot.press(*named("change"), "a")
        await press(app, pilot, "y")
        assert app.state.current_list.name == "task"
        assert "Plan is archived" in said(app)
        assert "other list" not in shown(app)
        assert app.state.failed == 0
        await press(app, pilot, "right_square_bracket")
        assert app.state.current_list.name == "task"
        await press(app, pilot, "3", "a", "colon")
        await write(pilot, "list: plan")
        assert "archived, 9 tasks" in shown(app)
        await press(app, pilot, "enter")
        assert "Plan   9 tasks   archived" in shown(app)
        agent(AddTask("new", plan.list_uid))
        await until(pilot, lambda: "Plan   10 tasks" in shown(app) and "archived" not in below(app)[0])
        assert app.state.failed == 1


async def test_the_head_tells_that_there_are_other_lists_and_how_to_come_to_them(app, plan, agent):
    async with opened(app) as pilot:
        assert "other list" not in shown(app)
        agent(AddTask("elsewhere", task_queries.find_list(app.link.db, "task").uid))
        await until(pilot, lambda: "1 other list: [ or ]" in shown(app))
        agent(AddTask("elsewhere", task_queries.find_list(app.link.db, "todo").uid))
        await until(pilot, lambda: "2 other lists: [ or ]" in shown(app))


@pytest.mark.parametrize("pane", ["1", "2"])
async def test_a_bracket_leaves_a_filter_that_names_a_list_and_keeps_another(app, plan, agent, pane):
    agent(AddTask("elsewhere", task_queries.find_list(app.link.db, "task").uid))
    async with opened(app) as pilot:
        await until(pilot, lambda: sum(bool(home.total) for home in app.state.lists.values()) == 2)
        await press(app, pilot, pane, "slash")
        await write(pilot, "list:task else")
        await until(pilot, lambda: app.state.current_list.name == "task")
        await press(app, pilot, "enter", "right_square_bracket")
        await until(pilot, lambda: app.state.current_list.name == "Plan")
        assert not app.pane.filter_bar.is_open and "Pick JWT lib" in shown(app)
        await press(app, pilot, "slash")
        await write(pilot, "jwt")
        await press(app, pilot, "enter", "right_square_bracket")
        assert app.state.current_list.name == "task" and app.pane.filter_bar.text == "jwt"


async def test_list_and_board_have_one_filter_which_esc_clears_in_either(app, plan):
    async with opened(app) as pilot:
        for here, there in ("12", "21"):
            await press(app, pilot, here)
            app.pane.select(plan[8])
            await settle(pilot, "slash", *"jwt", "enter", "j" if here == "1" else "l")
            chosen = app.pane.target()
            await settle(pilot, "3", there)
            assert " / jwt" in shown(app) and "Backup" not in "\n".join(below(app))
            assert app.pane.target() == chosen != plan[8]
            assert app.focused is app.pane.focus_target() and "Enter Keep" not in shown(app)
            await settle(pilot, "escape", here)
            assert not app.pane.filter_bar.is_open and "Backup" in "\n".join(below(app))
            assert app.pane.target() == chosen


async def test_the_brackets_turn_no_list_that_is_not_on_screen(app, plan, agent):
    agent(AddTask("elsewhere", task_queries.find_list(app.link.db, "task").uid))
    async with opened(app) as pilot:
        for where in "aAD34":
            await press(app, pilot, where, "right_square_bracket")
            assert app.state.current_list.name == "Plan"
            how = "1 shows it" if where in "34" else "Esc goes back to the panes"
            assert said(app) == f"No list is on screen. {how}."
            await press(app, pilot, "escape", "escape")


async def test_a_plan_named_as_another_list_is_told_from_it_by_its_id(app, plan, agent):
    async with opened(app) as pilot:
        assert "Plan   9 tasks" in shown(app)
        made = agent(CreatePlan("Plan"))[0]
        await until(pilot, lambda: f"Plan   plan {plan.list_uid[:8]}   9 tasks" in shown(app))
        agent(AddTask("fake", made.uid))
        await until(pilot, lambda: "1 other list: [ or ]" in shown(app))
        await press(app, pilot, "right_square_bracket")
        await until(pilot, lambda: f"Plan   plan {made.uid[:8]}   1 task" in shown(app))


async def test_a_lists_name_has_no_gaps_that_part_it_like_what_stands_beside_it(app, agent):
    made = agent(CreatePlan("Work   0 tasks   archived"))[0]
    agent(AddTask("one", made.uid))
    async with opened(app) as pilot:
        await press(app, pilot, "right_square_bracket")
        assert "Work 0 tasks archived   1 task" in shown(app)


async def test_a_task_is_moved_to_another_list_and_back_by_undo(app, plan):
    async with opened(app) as pilot:
        await pilot.press("j", *named("move"))
        await pilot.pause()
        await write(pilot, "todo")
        await press(app, pilot, "enter")
        todo = task_queries.find_list(app.link.db, "todo")
        await until(pilot, lambda: task(app, plan[2]).list_id == todo.id)
        assert app.pane.row_list.cursor == plan[3]
        await press(app, pilot, "u")
        assert task(app, plan[2]).list_id == app.state.list_id


async def test_a_task_is_moved_to_a_list_that_the_name_typed_for_it_makes(app, plan, agent):
    agent(CreatePlan("My ideas"))
    async with opened(app) as pilot:
        await pilot.press("j", *named("move"))
        await pilot.pause()
        await write(pilot, "Ideas")
        found = [line.strip(" >").split("  ")[0] for line in lines(app) if "deas" in line]
        assert found[-2:] == ["My ideas", "Make the list “Ideas”"]
        await press(app, pilot, "down", "enter")
        assert said(app) == "Made the list Ideas and moved it there. u takes both back."
        assert task(app, plan[2]).list_id == task_queries.find_list(app.link.db, "Ideas").id
        await press(app, pilot, "u")
        assert task(app, plan[2]).list_id == app.state.list_id
        assert task_queries.find_list(app.link.db, "Ideas") is None


async def test_an_archived_list_to_move_to_is_named_as_such_and_brought_back(app, plan, agent):
    (ideas,) = agent(CreatePlan("Ideas"))
    agent(AddTask("old", ideas.uid))
    by_agent(plan, "human", ArchiveList(ideas.uid, True))
    async with opened(app) as pilot:
        await pilot.press("j", *named("move"))
        await pilot.pause()
        await write(pilot, "Ideas")
        (row,) = (line for line in lines(app) if line.lstrip(" >").startswith("Ideas"))
        assert row.endswith("archived, 1 task") and "Make the list" not in shown(app)
        await press(app, pilot, "enter")
        assert said(app) == "Moved to Ideas, which is no longer archived. u brings it back."
        assert not task_queries.list_by_uid(app.link.db, ideas.uid).archived
        await press(app, pilot, "u")
        assert task(app, plan[2]).list_id == app.state.list_id
        assert task_queries.list_by_uid(app.link.db, ideas.uid).archived


@pytest.mark.parametrize("name", ["kitchen", "jobs", "Garden", "/garage"])
async def test_a_new_list_to_move_to_is_typed_from_its_first_letter(app, plan, name):
    async with opened(app) as pilot:
        await pilot.press("j", *named("move"))
        await pilot.pause()
        await write(pilot, name)
        await press(app, pilot, "enter")
        made = task_queries.find_list(app.link.db, name.removeprefix("/"))
        assert task(app, plan[2]).list_id == made.id


async def test_no_list_is_made_to_move_a_task_to_that_is_gone(app, plan, agent):
    async with opened(app) as pilot:
        await pilot.press("j", *named("move"))
        await pilot.pause()
        await write(pilot, "Ideas")
        agent(DeleteTask(plan[2]))
        await press(app, pilot, "enter")
        assert "gone" in said(app)
        assert task_queries.find_list(app.link.db, "Ideas") is None


async def test_the_list_that_a_task_is_in_is_said_to_be_and_none_is_made(app):
    async with opened(app) as pilot:
        await pilot.press("j", *named("move"))
        await pilot.pause()
        await write(pilot, "plan")
        assert "Make the list" not in shown(app)
        await press(app, pilot, "enter")
        assert said(app) == "it is in that list"


async def test_the_keys_of_a_task_are_at_the_foot_again_once_a_filter_that_found_none_is_cleared(tmp_path, make_app):
    with Store(str(tmp_path / "tasks.db")) as store:
        (home,) = store.commit(EnsureList("Plan", "tasklist"), actor="human", now=NOW)
        store.commit(AddTask("One", home.uid), actor="human", now=NOW)
    app = make_app(str(tmp_path / "tasks.db"))
    async with opened(app) as pilot:
        await settle(pilot, "slash", *"zzz", "enter", "d", "escape")
        assert "s Status" in lines(app)[-1]


async def test_the_palette_names_what_becomes_of_a_rule_of_the_list_now(app):
    titles = ("Allow one task in progress for each agent", "Allow any number of tasks in progress in this list")
    async with opened(app) as pilot:
        for title, other in (titles, titles[::-1]):
            await settle(pilot, "colon", *"one task")
            assert title in shown(app) and other not in shown(app)
            await settle(pilot, "enter")


async def test_a_list_is_held_to_one_task_in_progress(app, plan):
    async with opened(app) as pilot:
        app.context.do("one_at_a_time")
        await app.workers.wait_for_complete()
        assert app.state.current_list.one_in_progress
        # Another task of the agent that is at work on #5.
        await press(app, pilot, "j", "j", "j", "s", "i")
        assert task(app, plan[4]).status == "pending"


async def test_a_list_works_itself_off_until_that_is_turned_off_and_its_head_says_so(app, plan):
    async with opened(app) as pilot:
        for typed, shows in (("hal", "hal: write a number of agents"), ("2 claude", "auto 2 claude")):
            app.context.do("auto_list")
            await until(pilot, lambda: "How many at once, by which program? For example: 2 claude." in shown(app))
            await pilot.press("ctrl+u")
            await write(pilot, typed)
            await press(app, pilot, "enter")
            await until(pilot, lambda shows=shows: shows in shown(app))
        assert said(app) == "Ready tasks of Plan are started, 2 at once, by claude."
        app.context.do("auto_list")
        await until(pilot, lambda: "An agent starts on each ready task of Plan, 2 claude at once." in shown(app))
        await press(app, pilot, "s")
        assert said(app) == "Tasks of Plan start only by hand."
        await until(pilot, lambda: "auto 2" not in shown(app))
        assert work_queries.auto_of(app.link.db, app.state.current_list.uid).is_on is False


async def test_where_a_list_stops_to_work_itself_off_its_head_and_the_foot_say_why(make_app, plan):
    app = make_app(plan.path)
    why = "no git repository in /opt/repos/api: run `git init` there, or start from a checkout"
    async with opened(app, (80, 24)) as pilot:
        home = app.state.current_list
        with Store(plan.path) as store:
            store.commit(SetAuto(home.uid, "/opt/repos/api"), actor="human", now=NOW)
            await until(pilot, lambda: "auto 1" in shown(app))
            store.commit(StopAuto(home.uid, why), actor="system", now=NOW)
        await until(pilot, lambda: "auto is off" in shown(app))
        head = next(line for line in lines(app) if line.startswith(f"─ {home.name} "))
        assert "auto is off: no git repository in /opt/repos/a" in head
        assert " ".join(line.strip() for line in lines(app)[-2:]) == f"{home.name}: auto is off: {why}"


async def test_a_filter_may_name_another_list(app, plan, agent):
    async with opened(app) as pilot:
        agent(AddTask("elsewhere", task_queries.find_list(app.link.db, "todo").uid))
        await until(pilot, lambda: any(found.total == 1 for found in app.state.lists.values()))
        await pilot.press("slash")
        await write(pilot, "list:todo else")
        await pilot.pause()
        assert app.state.current_list.name == "todo"
        assert app.pane.row_list.row.name == "elsewhere"


async def test_of_two_lists_of_one_name_each_is_found_by_its_id(app, plan, agent):
    uids = [agent(CreatePlan("Twice"))[0].uid for _ in range(2)]
    for uid in uids:
        agent(AddTask(f"of {uid[:8]}", uid))
    async with opened(app) as pilot:
        for uid in uids:
            await press(app, pilot, "slash")
            await write(pilot, "list:twice")
            await until(pilot, lambda: f"“twice”: list:{uids[0][:8]} or list:{uids[1][:8]}" in said(app))
            await press(app, pilot, "escape", "slash")
            await write(pilot, f"list:{uid[:8]}")
            await until(pilot, lambda uid=uid: f"of {uid[:8]}" in shown(app))
            await press(app, pilot, "escape")


async def test_of_two_lists_of_the_name_the_one_shown_stays_and_none_is_chosen_from_another(app, plan, agent):
    with Store(plan.path) as store:
        for _ in range(2):
            home = store.commit(CreatePlan("Twice"), actor="claude-1", now=NOW)[0]
            store.commit(AddTask("a", home.uid), actor="claude-1", now=NOW)
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "list:twice")
        await until(pilot, lambda: "2 lists are called “twice”: list:" in said(app))
        assert app.state.current_list.name == "Plan"
        assert app.pane.row_list.keys_on_screen == []
        await press(app, pilot, "escape")
        twice = [home.id for home in app.state.lists.values() if home.name == "Twice"]
        assert len(twice) == 2
        for home in twice:
            app.navigation.show_list(home)
            await press(app, pilot, "slash")
            await write(pilot, "list:twice")
            await pilot.pause()
            assert app.state.list_id == home
            assert len(app.pane.row_list.keys_on_screen) == 1
            await press(app, pilot, "escape")


async def test_shift_tab_and_tab_in_the_filter_hand_no_letter_to_the_rows(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "zz")
        await press(app, pilot, "shift+tab", "d", "tab", "d")
        assert app.query_one(FilterWords).value == "zzdd"
        assert app.state.current_list.total == 9
        await press(app, pilot, "escape")
        assert not app.pane.filter_bar.is_open


async def test_the_foot_shows_the_words_of_the_filter_while_it_is_open(plan, make_app):
    app = make_app(plan.path)
    async with opened(app, (120, 24)) as pilot:
        await press(app, pilot, "slash")
        assert "^s Save as view   status:   agent:   tag:   due:   priority:" in lines(app)[-1]
        await press(app, pilot, "escape")
        assert "status:" not in lines(app)[-1]


async def test_a_filter_reads_the_words_of_the_changed_tasks_alone_again(app, plan, agent, monkeypatch):
    async with opened(app) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "zstd")
        read = []
        note = ShownWords._note
        monkeypatch.setattr(ShownWords, "_note", lambda self, task: read.append(task.uid) or note(self, task))
        agent(LogTask(plan[5], "zstd is missing"))
        await until(pilot, lambda: [row.uid for row in app.pane.row_list.rows_on_screen] == [plan[5]])
        assert set(read) == {plan[5]}
        agent(OpenAsk("zstd or gzip?", task_uid=plan[8]))
        await until(pilot, lambda: [row.uid for row in app.pane.row_list.rows_on_screen] == [plan[5], plan[8]])
        agent(EditTask(plan[5], {"status": "pending"}))
        await until(pilot, lambda: [row.uid for row in app.pane.row_list.rows_on_screen] == [plan[8]])
        agent(EditTask(plan[5], {"status": "failed"}))
        await until(pilot, lambda: [row.uid for row in app.pane.row_list.rows_on_screen] == [plan[5], plan[8]])
        asking = app.state.asking
        assert set(read) <= {plan[5], plan[6], plan[8]} | asking


def _fail_with(plan, *reasons) -> list[str]:
    """Add a failed task for each reason; return their uids."""
    uids = []
    for reason in reasons:
        (task,) = by_agent(plan, "claude-1", AddTask("one more", plan.list_uid))
        by_agent(plan, "claude-1", EditTask(task.uid, {"status": "failed"}), LogTask(task.uid, reason))
        uids.append(task.uid)
    return uids


@pytest.mark.parametrize(("pane", "count"), [("list", "3 of 16"), ("board", "Failed 2")])
async def test_notes_are_read_in_steps_and_the_tasks_that_they_find_are_shown_while_the_cursor_stays(
    plan, make_app, pane, count, monkeypatch
):
    monkeypatch.setattr(shown_words, "STEP", 2)
    first, *_, last = _fail_with(plan, "zstd is missing", "b", "c", "d", "e", "f", "zstd is broken")
    by_agent(plan, "claude-1", EditTask(plan[8], {"name": "Install zstd"}))
    app = make_app(plan.path, pane=pane)
    async with opened(app, (120, 40)) as pilot:
        await press(app, pilot, "slash")
        await write(pilot, "zstd")
        await press(app, pilot, "enter")
        app.pane.select(plan[8])
        await until(pilot, lambda: app.pane.tasks_on_screen() == {first, last, plan[8]})
        assert app.pane.target() == plan[8]
        await until(pilot, lambda: count in shown(app))


async def test_a_search_of_all_lists_finds_notes_that_it_reads_in_steps(plan, make_app, monkeypatch):
    monkeypatch.setattr(place_pickers, "STEP", 2)
    monkeypatch.setattr(shown_words, "STEP", 2)
    _fail_with(plan, "zstd is missing", "b", "c", "d", "e", "f", "zstd is broken")
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await settle(pilot, "ctrl+f")
        await write(pilot, "zstd")
        await until(pilot, lambda: "2 found" in lines(app)[-1])


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_a_word_finds_a_tag_and_a_filter_without_matches_leaves_the_cursor_where_it_was(plan, make_app, pane):
    with Store(plan.path) as store:
        store.commit(EditTask(plan[8], {"tags": ("zebra",)}), actor="human", now=NOW)
    app = make_app(plan.path, pane=pane)
    async with opened(app, (120, 40)) as pilot:
        app.pane.select(plan[5])
        await press(app, pilot, "slash")
        await write(pilot, "zebra")
        await until(pilot, lambda: app.pane.target() == plan[8] and "#zebra" in shown(app))
        await write(pilot, "s")
        await press(app, pilot, "enter")
        await until(pilot, lambda: "Nothing matches" in shown(app))
        await press(app, pilot, "escape")
        assert app.pane.target() == plan[5]


async def test_tab_offers_no_list_without_tasks(app, plan):
    (full,) = by_agent(plan, "claude-1", CreatePlan("Further"))
    by_agent(plan, "claude-1", AddTask("one", full.uid), CreatePlan("Furthest"))
    async with opened(app) as pilot:
        await settle(pilot, "slash")
        await write(pilot, "list:Fur")
        await settle(pilot, "tab")
        assert "list:Further" in shown(app) and "Furthest" not in shown(app)
