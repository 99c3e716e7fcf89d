"""The detail of a task."""

from __future__ import annotations

import re

import pytest

from tests.tui.driving import by_agent, lines, opened, place, press, settle, shown, until
from tests.tui.plan import MINUTE, NOW
from tests.tui.work.test_work_screen import BOOM, begun, crashed
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk, NoteStuck, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EditTask, LogTask
from tui_tasks.core.operations.work import CountWork, MergeWork, WorkReady
from tui_tasks.core.read import ask_queries
from tui_tasks.core.store import Store
from tui_tasks.tui.painting.line_painter import FrameLine

COUNTS = {"ahead": 1, "behind": 0, "files": 3, "insertions": 41, "deletions": 7, "dirty": False}


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_detail_of_a_task_whose_work_waits_says_what_there_is_to_review_and_by_which_key(
    plan, make_app, size
):
    work = begun(plan, 9)
    with Store(plan.path) as store:
        store.commit(CountWork(work.uid, COUNTS), actor="system", now=NOW)
        store.commit(WorkReady(work.uid), actor="system", now=NOW - 120_000_000)
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        app.navigation.go_to(plan[9])
        await press(app, pilot)
        detail = shown(app)[shown(app).rindex("#9 Old cookie banner") :]
        assert "⇡ 3 files +41 -7" in detail
        assert f"{work.agent} · " in detail and "ready 2m ago" in detail
        assert " Enter reviews it" in detail and "Enter Review" in lines(app)[-1]


async def test_the_detail_of_a_merged_task_names_the_commit(plan, make_app):
    work = begun(plan, 9)
    with Store(plan.path) as store:
        store.commit(WorkReady(work.uid), actor="system", now=NOW)
        kept = {"merge": {"new": "1a2b3c4d5e6f"}}
        store.commit(MergeWork(work.uid, "0" * 40, kept), actor="human", now=NOW - 120_000_000)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        app.navigation.go_to(plan[9])
        await press(app, pilot)
        assert f"work of {work.agent} merged into main as 1a2b3c4d5e by you, 2m ago" in shown(app)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_matters_of_a_task_stands_before_its_description_and_its_log(evening, make_app, size):
    with Store(evening.path) as store:
        edits = {4: {"description": "For the login page."}, 3: {"description": "Only in spring."}}
        operations = (EditTask(evening[place], changes) for place, changes in edits.items())
        store.commit(*operations, actor="human", now=NOW)
    app = make_app(evening.path, list_name=evening.list_uid)
    async with opened(app, size) as pilot:
        for place, words in (
            (4, ("claude-1 asks: jose is maintained", "For the login page.", "Log (1)")),
            (3, ("test_dst_gap: expected 02:30, got 03:30", "Only in spring.", "Log (1)")),
            (5, ("JWT middleware", "Blocks  #6 Write integration tests", "Log (7)")),
        ):
            app.navigation.go_to(evening[place])
            await press(app, pilot, "enter")
            detail = shown(app)[shown(app).index(f" #{place} ") :]
            places = [detail.index(text) for text in words]
            assert places == sorted(places), detail
            await press(app, pilot, "escape")


async def test_a_priority_looks_in_the_detail_as_in_the_row_and_is_faint_once_the_task_is_over(plan, make_app, agent):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        app.navigation.go_to(plan[5])
        await press(app, pilot, "enter")
        head = app.pane.detail.query_one("#detail-head", FrameLine)
        assert ("!high", "$state-overdue") in head._parts[0] and ("#auth", "$muted") in head._parts[0]
        await pilot.resize_terminal(80, 24)
        below = app.pane.detail.text
        await until(pilot, lambda: ("!high", "$state-overdue") in below._shown[0])
        assert "!high" not in lines(app)[place(app, "─ #5 Ship auth flow")[1]], "it stands where there is room for it"
        agent(EditTask(plan[5], {"status": "done"}))
        await until(pilot, lambda: ("!high", "$muted") in head._parts[0])


async def test_the_head_of_a_detail_is_a_rule_with_its_facts_and_takes_the_place_of_that_of_the_list(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        app.navigation.go_to(plan[5])
        await press(app, pilot)
        head = lines(app)[place(app, "─ #5 Ship auth flow")[1]]
        assert head.startswith("─ #5 Ship auth flow · claude-1 · started 14m ago · !high #auth ──")
        assert head.endswith("── ◐ in progress ─") and "─ Plan " in shown(app)
        await press(app, pilot, "enter")
        head = lines(app)[place(app, "─ #5 Ship auth flow")[1]]
        assert head.startswith("─ #5 Ship auth flow · claude-1 · started 14m ago · !high #auth · updated 40s ago ──")
        assert "─ Plan " not in shown(app) and shown(app).count("!high") == 1


async def test_the_detail_has_the_lines_that_the_rows_leave_and_gives_them_back(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        app.navigation.go_to(plan[5])
        await press(app, pilot)
        assert "Tests must pass before merge." in shown(app) and "Blocks  #6" in shown(app)
        pane = app.pane.size.height
        assert app.pane.detail.size.height == pane - 1 - 9 - 2, "the spare lines are at the foot"
        by_agent(plan, "claude-1", *(AddTask(f"More {number}", plan.list_uid) for number in range(30)))
        await until(pilot, lambda: "39 tasks" in shown(app))
        await until(pilot, lambda: "More 5" in shown(app))
        assert app.pane.row_list.cursor == plan[5]


@pytest.mark.parametrize("size", [(120, 40), (100, 30)])
async def test_quick_add_covers_no_row_of_a_list_that_leaves_lines_to_the_detail(app, plan, size):
    async with opened(app, size) as pilot:
        rows = set(app.pane.row_list.keys_on_screen)
        assert len(rows) == 9
        await press(app, pilot, "n", *"More")
        assert set(app.pane.row_list.keys_on_screen) == rows and "Old cookie banner" in shown(app)


async def test_below_a_list_the_words_of_a_task_stand_beside_its_log(app, plan):
    async with opened(app, (120, 40)) as pilot:
        app.navigation.go_to(plan[5])
        await press(app, pilot)
        column, at = place(app, "JWT middleware, login")
        assert place(app, "20:15  running tests 14/22") == (1, at) and column >= 50
        assert place(app, "Blocks  #6") == (column, at + 3), "an empty line parts them"


async def test_below_a_list_that_is_not_wide_an_empty_line_parts_log_and_words(app, plan):
    async with opened(app, (99, 48)) as pilot:
        app.navigation.go_to(plan[5])
        await press(app, pilot)
        at = place(app, "JWT middleware, login")[1]
        assert lines(app)[at - 1].strip() == "" and "started" in lines(app)[at - 2]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_an_answered_question_stays_in_the_detail_with_its_answer_whose_that_is_and_its_age(plan, make_app, size):
    with Store(plan.path) as store:
        named = next(ask for ask in ask_queries.open_asks(store.db) if ask.task_uid == plan[4])
        store.commit(AnswerAsk(named.uid, "pyjwt, as it is in the lockfile"), actor="human", now=NOW - 2 * MINUTE)
        (at_work,) = store.commit(OpenAsk("Merge main first?", ("yes", "no")), actor="claude-1", now=NOW - 2 * MINUTE)
        store.commit(CloseAsk(at_work.uid, "timeout"), actor="claude-1", now=NOW - MINUTE)
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        for number, asked, became in (
            (4, 'claude-1 asked: "jose is maintained', 'you answered 2m ago: "pyjwt, as it is in the lockfile"'),
            (5, 'claude-1 asked: "Merge main first?"', "no answer in time; claude-1 went on 1m ago"),
        ):
            app.navigation.go_to(plan[number])
            await press(app, pilot, "enter")
            detail = shown(app)[shown(app).index(f" #{number} ") :]
            assert detail.index("Questions  newest first") < detail.index(asked) < detail.index(became), detail
            await press(app, pilot, "escape")


@pytest.mark.parametrize("pane", ["list", "board"])
async def test_the_foot_of_a_detail_says_whether_a_text_goes_to_the_agent_or_into_the_log(plan, make_app, pane):
    app = make_app(plan.path, pane=pane)
    async with opened(app, (80, 24)) as pilot:
        for place, word, prompt in ((5, "m Message", "Message to claude-1"), (8, "m Note", "Note into")):
            app.navigation.go_to(plan[place])
            await press(app, pilot, "enter")
            assert word in lines(app)[-1]
            await settle(pilot, "m")
            assert prompt in shown(app)
            await settle(pilot, "escape", "escape")


async def test_the_detail_below_the_list_has_due_date_estimate_and_tags_where_there_is_room(plan, make_app):
    changes = {"tags": ("infra",), "due": "2026-11-28", "estimate": 90}
    with Store(plan.path) as store:
        store.commit(EditTask(plan[8], changes), actor="human", now=NOW)
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        app.pane.select(plan[8])
        await settle(pilot)
        detail = shown(app).rpartition("─ #8 Backup")[2]
        assert all(words in detail for words in ("#infra", "due ", "estimate 1h 30m")), detail


async def test_the_detail_says_what_the_board_did_to_the_task_meanwhile(plan, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        app.navigation.go_to(plan[8])
        await press(app, pilot)
        heading = next(line for line in lines(app) if "─ #8 " in line)
        assert "○ pending" in heading
        await press(app, pilot, "2", "L", "1")
        heading = next(line for line in lines(app) if "─ #8 " in line)
        assert "◐ in progress" in heading


@pytest.mark.parametrize(("pane", "key"), [("list", "1"), ("board", "2")])
async def test_the_key_of_the_pane_leads_from_an_opened_task_back_to_its_rows(plan, make_app, pane, key):
    app = make_app(plan.path, pane=pane)
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, "enter")
        assert app.pane.is_open
        await press(app, pilot, key)
        assert not app.pane.is_open and app.focused is app.pane.focus_target()


async def test_a_task_whose_agent_is_stuck_reads_so_in_its_row_and_in_the_rule_of_its_detail(plan, make_app):
    by_agent(plan, "system", NoteStuck("claude-1", "failure", "the same failure 3 times", NOW))
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        app.navigation.go_to(plan[5])
        await press(app, pilot)
        assert re.search(r"▲ #5  Ship auth flow", shown(app))
        assert re.search(r"─ #5 Ship auth flow · .* ▲ stuck ─", shown(app))


async def test_the_lines_below_the_list_say_why_a_task_failed_where_its_log_says_something_else(plan, make_app):
    with Store(plan.path) as store:
        store.commit(LogTask(plan[5], "Rotating key 1 of 5"), actor="claude-1", now=NOW)
        why = {"thoughts": ["Stripe says 403"]}
        store.commit(EditTask(plan[5], {"status": "failed"}), actor="claude-1", now=NOW, why=why)
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        app.navigation.go_to(plan[5])
        await press(app, pilot)
        below = shown(app)[shown(app).rindex("#5 Ship auth flow") :]
        assert below.index("Stripe says 403") < below.index("Rotating key 1 of 5")
        await press(app, pilot, "enter")
        assert re.search(r"─ #5 Ship auth flow · claude-1 · .*\n Stripe says 403\n", shown(app))


async def test_the_lines_below_the_list_say_why_an_agent_failed_on_the_task_and_name_its_links(plan, make_app):
    crashed(plan, 9)
    with Store(plan.path) as store:
        links = ({"kind": "branch", "target": "cookie-banner"},)
        store.commit(EditTask(plan[9], {"links": links}), actor="human", now=NOW)
    app = make_app(plan.path)
    async with opened(app, (80, 26)) as pilot:
        app.navigation.go_to(plan[9])
        await press(app, pilot)
        detail = shown(app)[shown(app).rindex("#9 Old cookie banner") :]
        assert BOOM.split("\n")[0][:20] in detail and "branch cookie-banner" in detail


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_a_detail_that_the_keys_go_to_says_so_in_its_head_and_how_to_go_back_to_the_list(plan, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)

        def head():
            return app.pane.detail.query_one("#detail-head", FrameLine).render_line(0).text

        plain_head = head()
        assert not plain_head.startswith(">")
        await settle(pilot, "tab")
        assert head() == f">{plain_head[1:]}" and "Tab Back to list" in lines(app)[-1]
        await settle(pilot, "tab")
        assert head() == plain_head and "Back to list" not in lines(app)[-1]
        await settle(pilot, "tab", "escape")
        assert head() == plain_head
