"""Pane 1 by its keys and gestures: what the human does, and what others do meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

from tests.tui.plan import NOW, at
from tui_tasks.core import glance, queries
from tui_tasks.core.operations import AddTask, DeleteTask, EditTask, LogTask, MoveTask
from tui_tasks.core.store import Store
from tui_tasks.tui.edit import ConflictScreen, EditScreen
from tui_tasks.tui.now_line import FootLine, NowLine
from tui_tasks.tui.word_line import AddWords, FilterWords, WordLine


@contextlib.asynccontextmanager
async def opened(app, size=(120, 40)):
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield pilot


async def press(app, pilot, *keys):
    await pilot.press(*keys)
    await app.workers.wait_for_complete()
    await pilot.pause()


async def write(pilot, text):
    await pilot.press(*("space" if letter == " " else letter for letter in text))


async def until(pilot, true):
    """Wait for what another connection's commit leads to."""
    deadline = time.monotonic() + 5
    while not true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
        await pilot.pause()


def shown(app):
    """The lines of the screen, as text."""
    return ["".join(part.text for part in strip).rstrip() for strip in app.screen._compositor.render_strips()]


def said(app):
    return app.screen.query_one(FootLine).said


def task(app, uid):
    return queries.any_task(app.bridge.db, uid)


def order(app):
    return [row.name for row in queries.tasks(app.bridge.db, app.list_id)]


@pytest.fixture
def app(plan, make_app):
    return make_app(plan.path)


@pytest.fixture
def agent(plan):
    """Another process's connection, here of another thread's sort: its own."""
    with Store(plan.path) as store:
        yield lambda *operations: store.commit(*operations, actor="claude-1", now=NOW)


# Moving


@pytest.mark.parametrize(
    ("keys", "place"),
    [
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
    ],
)
async def test_keys_move_the_cursor(app, plan, keys, place):
    async with opened(app) as pilot:
        await pilot.press(*keys)
        assert app.pane.window.cursor == plan[place]


async def test_the_detail_follows_the_cursor(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "j", "j", "j")
        text = "\n".join(line[70:] for line in shown(app))
        assert "#5 Ship auth flow" in text
        assert "running tests 14/22" in text
        assert "Blocks  #6 Write integration tests" in text


async def test_tab_goes_to_the_detail_and_back_and_keys_scroll_it(app, plan):
    async with opened(app, (120, 16)) as pilot:
        await press(app, pilot, "j", "j", "j", "j", "tab")
        assert app.pane.detail.has_focus_within
        await press(app, pilot, "j", "j")
        assert app.pane.window.cursor == plan[5]
        assert app.pane.detail.text.first == 2
        await press(app, pilot, "escape")
        assert app.focused is app.pane.window


async def test_on_a_small_screen_enter_opens_the_task_and_escape_goes_back(app, plan):
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, "G", "k", "k", "k", "k", "enter")
        assert shown(app)[0].startswith(" #5 Ship auth flow")
        assert shown(app)[0].endswith("◐ in progress")
        await press(app, pilot, "escape")
        assert "> ◐  5  Ship auth flow" in "\n".join(shown(app)).replace("•", " ")


# Status


@pytest.mark.parametrize(("key", "status"), [("p", "pending"), ("i", "in_progress"), ("d", "done"), ("c", "cancelled")])
async def test_s_and_a_letter_set_the_status(app, plan, key, status):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "j", "s", key)
        assert task(app, plan[3]).status == status
        assert task(app, plan[3]).updated_by == "human"


@pytest.mark.parametrize(("key", "status"), [("f", "failed"), ("s", "skipped")])
async def test_failed_and_skipped_ask_why_and_log_it(app, plan, key, status):
    async with opened(app) as pilot:
        await pilot.press("G", "k", "s", key)
        await write(pilot, "no disk")
        await press(app, pilot, "enter")
        assert task(app, plan[8]).status == status
        assert glance.log_page(app.bridge.db, plan[8], 1)[0].message == "no disk"
        await press(app, pilot, "u")
        assert task(app, plan[8]).status == "pending"
        assert glance.log_page(app.bridge.db, plan[8], 1) == []


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
        home = queries.find_list(store.db, "tasklist")
        for name in "ab":
            store.commit(AddTask(name, home.uid), actor="claude-1", now=NOW)
    app = make_app(tmp_path / "t.db")
    async with opened(app) as pilot:
        await press(app, pilot, "s", "i")
        await press(app, pilot, "j", "s", "i")
        assert "in progress already" in said(app)


# Adding, editing, placing, deleting


@pytest.mark.parametrize(("key", "place"), [("n", 3), ("N", 2)])
async def test_n_adds_below_and_above_the_cursor(app, plan, key, place):
    async with opened(app) as pilot:
        await pilot.press("j", key)
        await write(pilot, "Rotate API keys #infra !high @claude-2 after #5")
        assert "after #5 Ship auth flow · claude-2 · infra · high" in "\n".join(shown(app))
        await press(app, pilot, "enter")
        row = app.pane.window.row
        assert (row.name, row.tags, row.priority, row.agent) == ("Rotate API keys", ("infra",), 2, "claude-2")
        assert row.depends_on == (plan[5],)
        assert app.place(row) == place
        assert app.focused is app.pane.window


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
        await until(pilot, lambda: app.current_list.total == 10)
        await press(app, pilot, "enter")
        assert app.pane.window.row.depends_on == (plan[5],)


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
        row = task(app, app.pane.window.cursor)
        assert (row.name, row.tags, row.description) == ("Long one", ("x",), "About it")
        assert row.depends_on == (plan[5],)


async def test_e_edits_title_fields_and_description(app, plan):
    async with opened(app) as pilot:
        await pilot.press("j", "j", "j", "j", "e")
        await pilot.pause()
        await pilot.press("end")
        await write(pilot, " now")
        await pilot.press("tab", "end")
        await write(pilot, " #urgent")
        await press(app, pilot, "ctrl+s")
        row = task(app, plan[5])
        assert row.name == "Ship auth flow now"
        assert row.tags == ("auth", "urgent")
        assert (row.agent, row.priority, row.status) == ("claude-1", 2, "in_progress")


async def test_leaving_the_form_gives_up_what_was_typed_only_at_the_second_escape(app, plan):
    async with opened(app) as pilot:
        await pilot.press("e")
        await pilot.pause()
        await write(pilot, "x")
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, EditScreen)
        await press(app, pilot, "escape")
        assert not isinstance(app.screen, EditScreen)
        assert task(app, plan[1]).name == "Inventory GA usage"


async def test_what_an_agent_logs_while_the_human_edits_is_no_conflict(app, plan, agent):
    async with opened(app) as pilot:
        await pilot.press("e", "end")
        await write(pilot, " x")
        agent(LogTask(plan[1], "still at it"), EditTask(plan[1], {"priority": 1}))
        await press(app, pilot, "ctrl+s")
        row = task(app, plan[1])
        assert (row.name, row.priority) == ("Inventory GA usage x", 1)


@pytest.mark.parametrize(("key", "name"), [("m", "mine"), ("t", "theirs")])
async def test_two_who_change_the_same_are_shown_both_texts(app, plan, agent, key, name):
    async with opened(app) as pilot:
        await pilot.press("e", "ctrl+a")
        await pilot.press("end", "ctrl+u")
        await write(pilot, "mine")
        agent(EditTask(plan[1], {"name": "theirs"}))
        await until(pilot, lambda: "meanwhile" in "\n".join(shown(app)))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, ConflictScreen))
        await pilot.pause()
        text = "\n".join(shown(app))
        assert "mine" in text
        assert "theirs" in text
        await press(app, pilot, key)
        assert task(app, plan[1]).name == name


async def test_from_a_conflict_one_can_go_back_to_what_one_typed(app, plan, agent):
    async with opened(app) as pilot:
        await pilot.press("e", "end", "ctrl+u")
        await write(pilot, "mine")
        agent(EditTask(plan[1], {"name": "theirs"}))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, ConflictScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, EditScreen))
        assert app.screen.query_one("#name", WordLine).value == "mine"
        assert task(app, plan[1]).name == "theirs"


async def test_j_and_k_in_capitals_move_the_task_and_the_cursor_goes_with_it(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "J")
        assert app.pane.window.cursor == plan[2]
        assert app.place(app.pane.window.row) == 3
        await press(app, pilot, "K", "K")
        assert app.place(app.pane.window.row) == 1
        await press(app, pilot, "u")
        assert app.place_of(plan[2]) == 2


async def test_one_task_is_deleted_at_once_and_brought_back_by_u(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "d")
        assert task(app, plan[2]).deleted
        assert app.pane.window.cursor == plan[3]
        await press(app, pilot, "u")
        assert not task(app, plan[2]).deleted
        await press(app, pilot, "ctrl+r")
        assert task(app, plan[2]).deleted


async def test_deleting_several_asks_once(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "v", "v", "d", "n")
        assert app.current_list.total == 9
        await press(app, pilot, "d", "y")
        assert app.current_list.total == 7
        assert app.pane.window.marks == []
        await press(app, pilot, "u")
        assert app.current_list.total == 9


async def test_undo_takes_back_the_humans_changes_and_never_an_agents(app, plan, agent):
    async with opened(app) as pilot:
        await press(app, pilot, "s", "p")
        agent(EditTask(plan[8], {"priority": 1}))
        await press(app, pilot, "u")
        assert task(app, plan[1]).status == "done"
        assert task(app, plan[8]).priority == 1
        assert "Inventory GA usage" in said(app)


async def test_a_note_goes_into_the_log_and_a_message_to_the_agent(app, plan):
    async with opened(app) as pilot:
        await pilot.press("j", "m", "n")
        await write(pilot, "look at eu")
        await press(app, pilot, "enter")
        entry = glance.log_page(app.bridge.db, plan[2], 1)[0]
        assert (entry.agent, entry.message) == ("human", "look at eu")
        await pilot.press("m", "m")
        await write(pilot, "hurry")
        await press(app, pilot, "enter")
        newest = glance.changes(app.bridge.db, 0, 1_000)[-1]
        assert (newest.kind, newest.uid) == ("message", "claude-2")


@pytest.mark.parametrize(
    ("key", "text"), [("i", None), ("t", "Ship auth flow"), ("m", "- [ ] Ship auth flow\n  JWT middleware, login")]
)
async def test_y_copies_id_title_or_markdown(app, plan, key, text):
    async with opened(app) as pilot:
        await press(app, pilot, "j", "j", "j", "j", "y", key)
        assert app.clipboard.startswith(text or plan[5])


# Marks


async def test_what_is_marked_is_changed_as_one(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "G", "k", "v", "v", "s", "d")
        assert [task(app, plan[place]).status for place in (8, 9)] == ["done", "done"]
        await press(app, pilot, "u")
        assert [task(app, plan[place]).status for place in (8, 9)] == ["pending", "skipped"]


async def test_capital_v_marks_all_that_match_and_escape_takes_the_marks_away(app, plan):
    async with opened(app) as pilot:
        await pilot.press("slash")
        await write(pilot, "status:done")
        await press(app, pilot, "enter", "V")
        assert app.pane.window.marks == [plan[1], plan[2]]
        await press(app, pilot, "escape")
        assert app.pane.window.marks == []
        assert app.pane.window.keys_on_screen == [plan[1], plan[2]]
        await press(app, pilot, "escape")
        assert len(app.pane.window.keys_on_screen) == 9


# The filter


async def test_the_filter_shows_what_matches_as_one_types(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "G", "slash")
        await write(pilot, "jwt status:open who:claude-1")
        await pilot.pause()
        assert app.pane.window.keys_on_screen == [plan[4], plan[5]]
        assert "2 of 9" in "\n".join(shown(app))
        await press(app, pilot, "enter")
        assert app.pane.window.cursor == plan[4]
        await press(app, pilot, "escape")
        assert len(app.pane.window.keys_on_screen) == 9


async def test_escape_while_typing_goes_back_to_the_row_that_had_the_cursor(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "G", "slash")
        await write(pilot, "jwt")
        await press(app, pilot, "escape")
        assert app.pane.window.cursor == plan[9]
        assert app.focused is app.pane.window


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
        await press(app, pilot, "enter", "escape", "escape")
        assert len(app.pane.window.keys_on_screen) == 9
        await pilot.press("colon")
        await write(pilot, "view hers")
        await press(app, pilot, "enter")
        assert app.pane.window.keys_on_screen == [plan[1], plan[2], plan[3], plan[7]]


async def test_a_word_that_means_nothing_is_told_beside_the_filter(app):
    async with opened(app) as pilot:
        await pilot.press("slash")
        await write(pilot, "status:opne ")
        await pilot.pause()
        assert "opne" in shown(app)[3]


async def test_a_task_that_comes_to_match_appears_and_one_that_no_more_does_goes(app, plan, agent):
    async with opened(app) as pilot:
        await pilot.press("slash")
        await write(pilot, "status:failed")
        await press(app, pilot, "enter")
        assert app.pane.window.keys_on_screen == [plan[3]]
        agent(EditTask(plan[3], {"status": "pending"}), EditTask(plan[8], {"status": "failed"}))
        await until(pilot, lambda: app.pane.window.keys_on_screen == [plan[8]])


# Others write meanwhile


async def test_what_others_write_moves_neither_cursor_nor_marks_nor_words(app, plan, agent):
    async with opened(app, (80, 16)) as pilot:
        await press(app, pilot, "G", "k", "v", "k", "n")
        await write(pilot, "half a th")
        line = app.pane.window._held.cursor_line
        for number in range(40):
            agent(AddTask(f"new {number}", before=plan[1]), LogTask(plan[5], f"step {number}"))
        agent(DeleteTask(plan[2]), MoveTask(plan[3], after=plan[9]))
        await until(pilot, lambda: app.current_list.total == 48 and app.place_of(plan[3]) == 48)
        assert app.pane.window.cursor == plan[8]
        assert app.pane.window.marks == [plan[8]]
        assert app.query_one(AddWords).value == "half a th"
        assert app.focused is app.query_one(AddWords)
        assert app.pane.window._held.cursor_line == line
        await write(pilot, "ought")
        await press(app, pilot, "enter")
        assert app.pane.window.row.name == "half a thought"
        assert app.place(app.pane.window.row) == app.place_of(plan[8]) + 1


async def test_a_row_that_changed_is_painted_and_no_other(app, plan, agent, monkeypatch):
    async with opened(app) as pilot:
        painted = set()
        window = app.pane.window
        refresh = window.refresh

        def note(*regions, **options):
            painted.update(y for region in regions for y in region.line_range)
            painted.update([] if regions else ["all"])
            return refresh(*regions, **options)

        monkeypatch.setattr(window, "refresh", note)
        agent(EditTask(plan[8], {"name": "Backup restore drill, at last"}))
        await until(pilot, lambda: any("at last" in line for line in shown(app)))
        assert painted == {7}
        painted.clear()
        await pilot.press("j")
        assert painted == {0, 1}


async def test_what_agents_change_is_marked_until_the_human_says_seen(app, plan, agent):
    async with opened(app) as pilot:
        assert "• 4 changed since 19:58" in shown(app)[3]
        agent(EditTask(plan[1], {"priority": 1}))
        await until(pilot, lambda: "5 changed" in shown(app)[3])
        assert shown(app)[4].startswith(">•✓")
        await press(app, pilot, "full_stop")
        assert "changed" not in shown(app)[3]
        assert app.situation.looked.at == NOW


async def test_when_the_human_leaves_is_when_they_last_looked(app, plan, make_app, agent):
    async with opened(app) as pilot:
        await press(app, pilot, "q")
    agent(EditTask(plan[1], {"priority": 1}))
    again = make_app(plan.path)
    async with opened(again):
        assert again.situation.new.keys() == {plan[1]}
        assert "• 1 changed since 20:15" in shown(again)[3]


async def test_the_now_line_tells_what_is_going_on(app):
    async with opened(app, (130, 40)):
        line = shown(app)[1]
        for words in ('◐ claude-1  #5 Ship auth flow  "running tests 14/22"  40s ago', "? 2 need you", "✗ 1 failed"):
            assert words in line


@pytest.mark.parametrize(
    ("size", "words"), [((80, 24), "◐ #5 Ship auth flow  40s"), ((40, 12), "◐ #5 40s   ? 2   ✗ 1")]
)
async def test_the_now_line_says_less_where_there_is_less_room(app, size, words):
    async with opened(app, size):
        assert words in "\n".join(shown(app)[:2])


async def test_ages_tick_while_one_under_a_minute_is_on_screen(plan, make_app, monkeypatch):
    app = make_app(plan.path)
    clock = [NOW]
    app.now = lambda: clock[0]
    async with opened(app) as pilot:
        assert "40s" in shown(app)[8]
        clock[0] += 3_000_000
        await until(pilot, lambda: "43s" in shown(app)[8] and "43s ago" in shown(app)[1])


# Getting about


async def test_attention_goes_from_what_needs_the_human_to_what_failed(app, plan):
    async with opened(app) as pilot:
        seen = []
        for _ in range(4):
            await press(app, pilot, "exclamation_mark")
            seen.append(app.pane.window.cursor)
        assert seen == [plan[4], plan[7], plan[3], plan[4]]


async def test_brackets_go_round_the_lists_that_have_tasks(app, plan, agent):
    async with opened(app) as pilot:
        agent(AddTask("elsewhere", queries.find_list(app.bridge.db, "todo").uid))
        await until(pilot, lambda: any(found.total == 1 for found in app.situation.lists.values()))
        await press(app, pilot, "right_square_bracket")
        assert app.current_list.name == "todo"
        assert app.pane.window.row.name == "elsewhere"
        await press(app, pilot, "left_square_bracket")
        assert app.current_list.name == "Plan"


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
        await press(app, pilot, "colon", *"theme")
        seen = [app.theme]
        for _ in range(2):
            await press(app, pilot, "down")
            seen.append(app.theme)
        assert seen == list(app.theme_names[:3])
        await press(app, pilot, "escape")
        assert app.theme == "dark"
        assert file.read_text() == "# mine\n"
        await press(app, pilot, "colon", *"theme", "down", "enter")
        assert app.theme == seen[1]
        assert file.read_text() == f'theme = "{seen[1]}"\n# mine\n'
        assert said(app) == f"Theme {seen[1]}, kept in {file}."
        file.write_text("theme = broken\n")
        await press(app, pilot, "colon", *"theme", "down", "down", "enter")
        assert app.theme == seen[2]
        assert said(app).startswith(f"Theme {seen[2]} until you leave: {file} cannot be changed")
        assert file.read_text() == "theme = broken\n"


async def test_help_shows_keys_is_searched_and_does_what_is_chosen(app, plan):
    async with opened(app) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        await write(pilot, "to the last")
        await pilot.pause()
        assert any("To the last" in line and line.endswith("G") for line in shown(app))
        await press(app, pilot, "enter")
        assert app.pane.window.cursor == plan[9]


async def test_numbers_go_to_panes_and_back(app):
    async with opened(app) as pilot:
        for key, name in zip("234", ("board", "log", "schedule"), strict=True):
            await press(app, pilot, key)
            assert app.pane_name == name
        await press(app, pilot, "1")
        assert app.focused is app.pane.window


async def test_q_leaves(app):
    async with app.run_test() as pilot:
        await pilot.press("q")
        await pilot.pause()
    assert app.return_code == 0


# The mouse


async def test_a_click_takes_the_cursor_there_and_a_double_click_opens(app, plan):
    async with opened(app, (80, 24)) as pilot:
        await pilot.click("#tasks", offset=(10, 4))
        assert app.pane.window.cursor == plan[5]
        await pilot.double_click("#tasks", offset=(10, 6))
        await pilot.pause()
        assert app.pane.is_open
        assert app.pane.detail.uid == plan[7]


async def test_the_wheel_scrolls_and_leaves_the_cursor(app, plan):
    async with opened(app, (40, 12)) as pilot:
        from textual import events

        window = app.pane.window
        before = window.keys_on_screen
        window.post_message(events.MouseScrollDown(window, 1, 1, 0, 1, 0, False, False, False, 1, 3))
        await pilot.pause()
        assert window.keys_on_screen != before
        assert window.cursor == plan[1]


@pytest.mark.parametrize(("start", "end", "place"), [(1, 4, 5), (6, 2, 3)])
async def test_a_row_is_dragged_to_its_place(app, plan, start, end, place):
    async with opened(app) as pilot:
        dragged = plan[start + 1]
        await pilot.mouse_down("#tasks", offset=(10, start))
        await pilot.hover("#tasks", offset=(10, end))
        await pilot.mouse_up("#tasks", offset=(10, end))
        await pilot.pause()
        await app.workers.wait_for_complete()
        assert app.place_of(dragged) == place


async def test_a_click_on_the_footer_does_what_it_says(app):
    async with opened(app) as pilot:
        await pilot.click("#foot", offset=(12, 0))
        await pilot.pause()
        assert app.focused is app.query_one(FilterWords)


async def test_a_click_on_the_now_line_goes_to_the_task(app, plan):
    async with opened(app) as pilot:
        await pilot.click(NowLine, offset=(20, 0))
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.pane.window.cursor == plan[5]


# Read only, empty, hostile, small


async def test_read_only_shows_and_filters_and_says_why_it_changes_nothing(plan, make_app):
    app = make_app(plan.path, read_only=True)
    async with opened(app) as pilot:
        assert "read only" in shown(app)[0]
        for key in ("n", "s", "d", "e", "E", "J", "u", "m"):
            await press(app, pilot, key)
            assert "read only" in said(app)
        await pilot.press("slash")
        await write(pilot, "jwt")
        await press(app, pilot, "enter")
        assert len(app.pane.window.keys_on_screen) == 2


async def test_an_empty_list_says_what_to_do_and_n_adds_the_first_task(tmp_path, make_app):
    app = make_app(tmp_path / "t.db")
    async with opened(app, (80, 24)) as pilot:
        assert "No tasks yet." in "\n".join(shown(app))
        await press(app, pilot, "d")
        assert "no task here" in said(app)
        await pilot.press("n")
        await write(pilot, "first")
        await press(app, pilot, "enter")
        assert app.pane.window.row.name == "first"


async def test_an_empty_screen_goes_where_the_first_task_comes_in(tmp_path, make_app):
    app = make_app(tmp_path / "t.db")
    async with opened(app, (80, 24)) as pilot:
        with Store(str(tmp_path / "t.db")) as store:
            home = queries.find_list(store.db, "todo")
            store.commit(AddTask("from an agent", home.uid), actor="claude-1", now=NOW)
        await until(pilot, lambda: any("from an agent" in line for line in shown(app)))


async def test_what_an_agent_writes_is_only_text(tmp_path, make_app):
    nasty = "[@click=app.quit]x[/nope]\x1b]52;c;aGk=\x07\u202e\n$x"
    with Store(str(tmp_path / "t.db")) as store:
        home = queries.find_list(store.db, "todo")
        (made,) = store.commit(
            AddTask(nasty, home.uid, description=nasty, tags=(nasty,), domain=nasty, result=nasty), actor=nasty, now=NOW
        )
        store.commit(LogTask(made.uid, nasty), actor=nasty, now=NOW)
    app = make_app(tmp_path / "t.db")
    async with opened(app) as pilot:
        for keys in (["enter"], ["escape"], ["s"], ["escape"], ["m"], ["escape"], ["colon"], ["escape"], ["e"]):
            await pilot.press(*keys)
            await pilot.pause()
            text = "\n".join(shown(app))
            assert "\x1b" not in text
            assert "\u202e" not in text
        assert app.is_running


async def test_a_resize_at_any_moment_loses_nothing(app, plan):
    async with opened(app) as pilot:
        await press(app, pilot, "G", "k", "n")
        await write(pilot, "half")
        for size in ((40, 12), (200, 60), (10, 4), (80, 24), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert app.query_one(AddWords).value == "half"
        assert app.pane.window.cursor == plan[8]
        await press(app, pilot, "enter")
        assert "half" in order(app)


async def test_a_time_of_another_day_has_its_day(app):
    async with opened(app):
        assert app.time_of(at(9, 0)) == "09:00"
        assert app.time_of(at(9, 0) - 86_400_000_000) == "Fri 20 Nov 09:00"


# Lists


async def test_a_new_list_is_made_and_shown(app):
    async with opened(app) as pilot:
        await pilot.press("plus")
        await pilot.pause()
        await write(pilot, "Garden")
        await press(app, pilot, "enter")
        assert app.current_list.name == "Garden"
        assert "No tasks yet." in "\n".join(shown(app))


async def test_a_task_is_moved_to_another_list_and_back_by_undo(app, plan):
    async with opened(app) as pilot:
        await pilot.press("j", "M")
        await pilot.pause()
        await write(pilot, "todo")
        await press(app, pilot, "enter")
        todo = queries.find_list(app.bridge.db, "todo")
        await until(pilot, lambda: task(app, plan[2]).list_id == todo.id)
        assert app.pane.window.cursor == plan[3]
        await press(app, pilot, "u")
        assert task(app, plan[2]).list_id == app.list_id


async def test_a_list_is_held_to_one_task_in_progress(app, plan):
    async with opened(app) as pilot:
        app.do("one_at_a_time")
        await app.workers.wait_for_complete()
        assert app.current_list.one_in_progress
        await press(app, pilot, "G", "k", "s", "i")
        assert task(app, plan[8]).status == "pending"


async def test_a_filter_may_name_another_list(app, plan, agent):
    async with opened(app) as pilot:
        agent(AddTask("elsewhere", queries.find_list(app.bridge.db, "todo").uid))
        await until(pilot, lambda: any(found.total == 1 for found in app.situation.lists.values()))
        await pilot.press("slash")
        await write(pilot, "list:todo else")
        await pilot.pause()
        assert app.current_list.name == "todo"
        assert app.pane.window.row.name == "elsewhere"


# What a lock, a flood and a long list do


async def test_a_write_that_has_to_wait_says_so_and_the_screen_goes_on(app, plan, agent):
    async with opened(app) as pilot:
        with Store(plan.path) as other, other.db.transaction(write=True):
            await pilot.press("s", "p")
            await until(pilot, lambda: "Waiting" in said(app))
            await pilot.press("j")
            assert app.pane.window.cursor == plan[2]
            assert task(app, plan[1]).status == "done"
        await app.workers.wait_for_complete()
        assert task(app, plan[1]).status == "pending"


async def test_a_flood_is_caught_up_with_by_reading_anew(app, plan, agent):
    async with opened(app) as pilot:
        await press(app, pilot, "G")
        agent(*(LogTask(plan[place], f"step {number}") for number in range(200) for place in (1, 2, 3, 4)))
        agent(EditTask(plan[1], {"name": "renamed at last"}))
        await until(pilot, lambda: any("renamed at last" in line for line in shown(app)))
        assert app.pane.window.cursor == plan[9]
        assert app.situation.new.keys() >= {plan[1], plan[2], plan[3], plan[4]}


async def test_leaving_an_open_task_for_another_pane_brings_the_list_back(app):
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, "enter")
        assert app.pane.is_open
        await press(app, pilot, "2")
        assert "◐ #5" in shown(app)[0]
        await press(app, pilot, "1")
        assert not app.pane.is_open


async def test_a_task_that_waits_is_free_when_what_it_waits_for_is_done(app, plan, agent):
    async with opened(app) as pilot:
        assert "⊘  6" in shown(app)[9]
        agent(EditTask(plan[5], {"status": "done"}))
        await until(pilot, lambda: "○  6" in shown(app)[9])
