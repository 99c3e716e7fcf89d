"""The first line: a screen's name and scope alone, and beside it what is next, by its title."""

from __future__ import annotations

import re

import pytest

from tests.tui.driving import SIZES, agents_line, by_agent, counts_line, lines, opened, press, until
from tests.tui.plan import NOW, connect
from tui_tasks.core.operations.asks import NoteStuck
from tui_tasks.core.operations.tasks import AddTask, EditTask
from tui_tasks.core.store import Store
from tui_tasks.tui.state.projects import ProjectChoice

TITLES = {"a": " Inbox", "A": " Agents", "D": " Digest   last 8 hours", "S": " Stats   only list Plan, last 7 days"}


@pytest.mark.parametrize("size", SIZES)
async def test_the_title_of_a_screen_is_its_name_and_scope_without_counts(plan, jobs, make_app, size):
    app = make_app(plan.path)
    async with opened(app, size) as pilot:
        for key, title in TITLES.items():
            await press(app, pilot, key)
            if size[0] >= 60:
                left, _, right = lines(app)[0].partition("next #8 Backup r")
                job = r"\w*…  ◷ Server status in 14m" if size[0] == 80 else "estore drill  ◷ Server status in 14m"
                job = job if len(title) > 15 else "estore drill  ◷ Server status in 14m"
                assert left.startswith(title) and re.fullmatch(job, right), key
                assert not re.search("[?✗!◇○]", left) and not re.search(r"\d (waiting|asking|idle|filed)", left), key
                assert re.match(r" \? 2( questions)? +▲ 0( stuck or gone)? +✗ 2 failed ", counts_line(app)), key
            else:
                (counts,) = (line for line in lines(app)[:2] if "? 2" in line)
                assert "✗ 2" in counts, key
            await press(app, pilot, "escape")


@pytest.mark.parametrize("key", ["A", "S"])
async def test_a_small_screen_without_a_line_of_counts_has_them_beside_its_title(plan, jobs, make_app, key):
    app = make_app(plan.path)
    async with opened(app, (40, 12)) as pilot:
        await press(app, pilot, key)
        assert re.match(r" (Agents|Stats   Plan, last 7 days) +\? 2  ✗ 2", lines(app)[0])


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (60, "next #8 Check the…"),
        (80, "next #8 Check the …  ◷ Server status in 14m"),
        (100, "next #8 Check the copies of the r…  ◷ Server status in 14m"),
        (120, "next #8 Check the copies of the restored archive  ◷ Server status in 14m"),
    ],
)
async def test_the_task_and_the_job_that_are_next_share_the_room(plan, jobs, make_app, width, words):
    by_agent(plan, "human", EditTask(plan[8], {"name": "Check the copies of the restored archive"}))
    async with opened(make_app(plan.path), (width, 24)) as pilot:
        await until(pilot, lambda: "next #8" in lines(pilot.app)[0])
        for key in ("1", "2", "3", "4"):
            await press(pilot.app, pilot, key)
            assert lines(pilot.app)[0].endswith(f"  {words}") and len(lines(pilot.app)[0]) <= width, key


async def test_beside_the_panes_the_next_task_stands_with_the_name_of_the_job(plan, jobs, make_app):
    async with opened(make_app(plan.path), (80, 24)) as pilot:
        assert lines(pilot.app)[0].endswith("4 Schedule  next #8 Backup res…  ◷ Server status in 14m")


async def test_where_rows_name_the_jobs_the_next_task_is_whole_and_the_job_has_its_number(plan, jobs, make_app):
    async with opened(make_app(plan.path), (80, 24)) as pilot:
        for key, title in (("3", "[3 Log]"), ("4", "[4 Schedule]")):
            await press(pilot.app, pilot, key)
            head = lines(pilot.app)[0]
            assert title in head and head.endswith("next #8 Backup restore drill  ◷ S1 in 14m"), key


async def test_that_there_is_no_project_gives_way_before_the_name_of_the_next_task(plan, make_app):
    by_agent(plan, "human", EditTask(plan[8], {"name": "Check the copies of the archive"}))
    app = make_app(plan.path, project=ProjectChoice("", folder_has_none=True))
    async with opened(app, (120, 24)) as pilot:
        await until(pilot, lambda: "next #8" in lines(app)[0])
        assert "no project  auth.db  live  next #8 Check the copies of the archive" in lines(app)[0]
    app = make_app(plan.path, project=ProjectChoice("", folder_has_none=True))
    async with opened(app, (80, 24)) as pilot:
        await until(pilot, lambda: "next #8" in lines(app)[0])
        assert lines(app)[0].endswith("4 Schedule      next #8 Check the copies of the archive")


@pytest.mark.parametrize("width", [60, 80, 100])
async def test_beside_a_title_the_name_of_the_next_task_is_cut_only_where_the_line_is_full(plan, jobs, make_app, width):
    by_agent(plan, "human", EditTask(plan[8], {"name": "Check the copies of the restored archive"}))
    async with opened(make_app(plan.path), (width, 24)) as pilot:
        await until(pilot, lambda: "next #8" in lines(pilot.app)[0])
        for key, title in TITLES.items():
            await press(pilot.app, pilot, key)
            head = lines(pilot.app)[0]
            assert head.startswith(title[:7]) and "  next #8 Check" in head and head.endswith((" 14m", "…")), key
            assert len(head) <= width, key
            free = len(head.partition("next #8")[0]) - len(head.partition("  next #8")[0].rstrip()) - 2
            assert "restored archive  ◷ " in head or free <= len(" restored"), f"{key}: no other word fits"
            await press(pilot.app, pilot, "escape")


async def test_a_stuck_agent_stands_in_the_same_words_above_each_screen_and_a_row_says_why_it_is_stuck(plan, make_app):
    by_agent(plan, "system", NoteStuck("claude-1", "failure", "the same failure 3 times: pytest", NOW))
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        assert agents_line(app).startswith(" ▲ claude-1 stuck #5 Ship auth flow")
        said = agents_line(app)
        for key in ("escape", "a", "A"):
            await press(app, pilot, key)
            assert agents_line(app) == said
            assert "the same failure 3 times: pytest" in "\n".join(lines(app)[2:])
    async with opened(make_app(plan.path), (40, 12)) as pilot:
        assert lines(pilot.app)[0].startswith(" ▲ claude-1 stuck")


@pytest.mark.parametrize(
    ("size", "line"),
    [
        ((40, 12), " ◐ claude-1 ? claude-2 ? 2 ▲ 0 ✗ 2 ! 1"),
        ((59, 24), " ◐ claude-1 #5  ? claude-2  ? 2  ▲ 0  ✗ 2  ! S3 late 25m"),
    ],
)
async def test_the_only_line_of_a_small_screen_names_who_works_and_who_waits_and_says_that_none_is_stuck(
    plan, jobs, make_app, size, line
):
    async with opened(make_app(plan.path), size) as pilot:
        assert lines(pilot.app)[0] == line
        by_agent(plan, "human", EditTask(plan[8], {"due": "2026-11-20"}))
        late = "! 2" if size[0] == 40 else "! S3 late 25m +1"
        await until(pilot, lambda: lines(pilot.app)[0].endswith(late))


async def test_a_small_screen_calls_several_agents_so_while_all_has_room(plan, make_app):
    with Store(plan.path) as store:
        (made,) = store.commit(AddTask("Port it", plan.list_uid), actor="bot-1", now=NOW)
        store.commit(EditTask(made.uid, {"status": "in_progress"}), actor="bot-1", now=NOW)
        connect(store, "bot-1")
    async with opened(make_app(plan.path), (40, 12)) as pilot:
        assert lines(pilot.app)[0].startswith(" ◐ 2 agents  ? claude-2  ? 2  ▲ 0  ✗ 1")


async def test_the_reason_of_an_agent_in_trouble_pushes_no_other_agent_out_of_the_line(plan, make_app):
    by_agent(plan, "system", NoteStuck("claude-1", "failure", "the same failure 3 times: pytest", NOW))
    for number in range(3):
        with Store(plan.path) as store:
            (made,) = store.commit(AddTask(f"Job {number}", plan.list_uid), actor=f"bot-{number}", now=NOW)
            store.commit(EditTask(made.uid, {"status": "in_progress"}), actor=f"bot-{number}", now=NOW)
            connect(store, f"bot-{number}")
    app = make_app(plan.path)
    async with opened(app, (80, 24)) as pilot:
        shown = [who for who in ("bot-0", "bot-1", "bot-2", "claude-2") if who in agents_line(app)]
        await press(app, pilot, "a")
        assert agents_line(app).startswith(" ▲ claude-1 stuck #5")
        assert [who for who in ("bot-0", "bot-1", "bot-2", "claude-2") if who in agents_line(app)] == shown


async def test_a_long_title_of_what_is_next_is_whole_where_the_line_has_room(plan, jobs, make_app):
    name = "Check that every copy of the restored archive can be read on the other machine"
    by_agent(plan, "human", EditTask(plan[8], {"name": name}))
    async with opened(make_app(plan.path), (180, 24)) as pilot:
        await until(pilot, lambda: f"next #8 {name}  ◷ Server status in 14m" in lines(pilot.app)[0])
