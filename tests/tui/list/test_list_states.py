"""Pane 1 where little can be shown or done: read only, empty, hostile, small."""

from __future__ import annotations

import itertools

import pytest

from tests.tui.driving import lines, opened, order, press, said, shown, until, write
from tests.tui.plan import NOW, at
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, DeleteTask, EditTask, EnsureList, LogTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.tui.inputs.line_inputs import AddWords
from tui_tasks.tui.list.list_pane import ListPane
from tui_tasks.tui.list.list_rows import TasksOfList
from tui_tasks.tui.state.projects import ProjectChoice


async def test_read_only_shows_and_filters_and_says_why_it_changes_nothing(plan, make_app):
    app = make_app(plan.path, read_only=True)
    async with opened(app) as pilot:
        assert "read only" in lines(app)[0]
        # Each key is pressed after a pause.
        app.key_queue.clock = itertools.count(step=60).__next__
        for key in ("n", "s", "d", "e", "E", "J", "u", "m"):
            await press(app, pilot, key)
            assert "read only" in said(app)
        await pilot.press("slash")
        await write(pilot, "jwt")
        await press(app, pilot, "enter")
        assert len(app.pane.row_list.keys_on_screen) == 2


async def test_an_empty_list_says_what_to_do_and_n_adds_the_first_task(tmp_path, make_app):
    app = make_app(tmp_path / "t.db")
    async with opened(app, (80, 24)) as pilot:
        assert "No tasks yet." in shown(app)
        await press(app, pilot, "d")
        assert "No task is under the cursor." in said(app)
        await pilot.press("n")
        await write(pilot, "first")
        await press(app, pilot, "enter")
        assert app.pane.row_list.row.name == "first"


async def test_the_demo_does_not_offer_itself(tmp_path, make_app):
    app = make_app(tmp_path / "tui-tasks-demo-x" / "demo.db")
    async with opened(app, (80, 24)):
        assert "tui-tasks demo " not in shown(app)
        assert "end the demo" in shown(app)


async def test_what_was_not_read_yet_is_not_said_to_be_empty(plan, make_app, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(ListPane, "refreshed", lambda pane: None)
        app = make_app(plan.path)
        async with opened(app, (80, 24)) as pilot:
            assert "9 tasks" in shown(app)
            assert "No tasks yet." not in shown(app)
            empty = next(found.id for found in app.state.lists.values() if not found.total)
            app.state.list_id = empty
            app.pane.row_list.show(TasksOfList(app.link.db, app.state, empty))
            name = app.state.lists[empty].name
            await until(pilot, lambda: f"No tasks in {name} yet." in shown(app))


async def test_an_empty_screen_goes_where_the_first_task_comes_in(tmp_path, make_app):
    app = make_app(tmp_path / "t.db")
    async with opened(app, (80, 24)) as pilot:
        with Store(str(tmp_path / "t.db")) as store:
            home = task_queries.find_list(store.db, "todo")
            store.commit(AddTask("from an agent", home.uid), actor="claude-1", now=NOW)
        await until(pilot, lambda: any("from an agent" in line for line in lines(app)))


async def test_an_empty_screen_goes_on_where_the_list_of_the_first_tasks_is_gone_before_it_looks(tmp_path, make_app):
    app = make_app(tmp_path / "t.db")
    async with opened(app, (80, 24)) as pilot:
        with Store(str(tmp_path / "t.db")) as store:
            gone = EnsureList("Gone", "task")
            store.commit(AddTask("one", new_list=gone), AddTask("two", new_list=gone), actor="claude-1", now=NOW)
            store.commit(Undo(), actor="claude-1", now=NOW)
            home = task_queries.find_list(store.db, "todo")
            store.commit(AddTask("from an agent", home.uid), actor="claude-1", now=NOW)
        await until(pilot, lambda: any("from an agent" in line for line in lines(app)))


async def test_what_an_agent_writes_is_only_text(tmp_path, make_app):
    nasty = "[@click=app.quit]x[/nope]\x1b]52;c;aGk=\x07\u202e\n$x"
    with Store(str(tmp_path / "t.db")) as store:
        home = task_queries.find_list(store.db, "todo")
        (made,) = store.commit(
            AddTask(nasty, home.uid, description=nasty, tags=(nasty,), domain=nasty, result=nasty), actor=nasty, now=NOW
        )
        store.commit(LogTask(made.uid, nasty), actor=nasty, now=NOW)
    app = make_app(tmp_path / "t.db")
    async with opened(app) as pilot:
        for keys in (["enter"], ["escape"], ["s"], ["escape"], ["m"], ["escape"], ["colon"], ["escape"], ["e"]):
            await pilot.press(*keys)
            await pilot.pause()
            text = shown(app)
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
        assert app.pane.row_list.cursor == plan[8]
        await press(app, pilot, "enter")
        assert "half" in order(app)


async def test_what_needs_you_or_failed_has_a_coloured_mark_and_a_quiet_reason(app):
    async with opened(app):
        styles = {drawn.row.number: drawn.lines[0] for drawn in app.pane.row_list._painter._drawn}
        for number, mark, color, said in (
            (3, "✗", "$state-failed", "test_dst_gap: expected 02:30, got 03:30"),
            (7, "?", "$state-needs-you", "Approve: delete the old GA property"),
        ):
            assert [text for text, style in styles[number] if style == color] == [mark]
            assert [style for text, style in styles[number] if text.strip() == said] == ["$muted"]


async def test_a_time_of_another_day_has_its_day(app):
    async with opened(app):
        assert app.context.clock.time_of(at(9, 0)) == "09:00"
        assert app.context.clock.time_of(at(9, 0) - 86_400_000_000) == "Fri 20 Nov 09:00"


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_a_blocked_task_names_the_one_that_is_still_waited_for_and_that_it_failed(plan, make_app, agent, pane):
    one, two, three = (plan[at] for at in (1, 8, 4))
    agent(EditTask(one, {"status": "pending"}), EditTask(plan[6], {"depends_on": (one, two, three)}))
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        assert "after #1 +2" in shown(app)
        agent(EditTask(one, {"status": "done"}))
        await until(pilot, lambda: "after #8" in shown(app))
        agent(EditTask(three, {"status": "failed"}))
        await until(pilot, lambda: "after #4 (fail" in shown(app))
        agent(EditTask(three, {"status": "cancelled"}))
        await until(pilot, lambda: "after #8" in shown(app))
        agent(EditTask(two, {"status": "skipped"}))
        await until(pilot, lambda: "after" not in shown(app))


@pytest.mark.parametrize("key", ["e", "m", "s", "d", "u"])
async def test_on_a_small_screen_the_reason_comes_before_what_a_key_would_do(tmp_path, make_app, key):
    app = make_app(tmp_path / "t.db", project=ProjectChoice("new"))
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, key)
        reasons = {"u": "You have no change to undo."}
        # A long message takes several lines at the foot.
        assert any(
            line.strip().startswith(reasons.get(key, "No task is under the cursor.")) for line in lines(app)[-3:]
        )


async def test_the_screen_begins_with_tasks_though_an_empty_list_was_changed_last(plan, make_app):
    with Store(plan.path) as store:
        (made,) = store.commit(CreatePlan("Emptied"), actor="human", now=NOW)
        (added,) = store.commit(AddTask("Gone", made.uid), actor="human", now=NOW)
        store.commit(DeleteTask(added.uid), actor="human", now=NOW)
    app = make_app(plan.path)
    async with opened(app):
        assert app.state.current_list.name == "Plan"


async def test_a_word_that_needs_a_non_joiner_has_it_in_the_row_the_detail_and_the_log(tmp_path, make_app):
    word, other = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "run\u200cit"
    with Store(str(tmp_path / "t.db")) as store:
        (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="claude", now=NOW)
        (task,) = store.commit(AddTask(f"{word} {other}", home.uid), actor="claude", now=NOW)
        store.commit(LogTask(task.uid, f"note {word}"), actor="claude", now=NOW)
    app = make_app(tmp_path / "t.db")
    async with opened(app, (100, 30)) as pilot:
        row, *_ = (line for line in lines(app) if f"{word} runit" in line)
        assert row
        assert f"note {word}" in shown(app)
        await press(app, pilot, "3")
        await until(pilot, lambda: f"note {word}" in shown(app))
        assert "\u200ci" not in shown(app)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_filter_that_finds_nothing_says_how_to_clear_it(plan, make_app, size):
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app, size) as pilot:
        await press(app, pilot, "slash", *"zzz", "enter")
        await until(pilot, lambda: "Nothing matches “zzz”: Esc clears the filter." in shown(app))
        await press(app, pilot, "escape")
        await until(pilot, lambda: "Nothing matches" not in shown(app) and "Ship auth flow" in shown(app))


async def test_a_digest_of_nothing_says_how_to_go_back(tmp_path, make_app):
    async with opened(make_app(tmp_path / "empty.db"), (40, 12)) as pilot:
        await press(pilot.app, pilot, "D")
        assert "Nothing new for you: Esc goes back." in shown(pilot.app)
