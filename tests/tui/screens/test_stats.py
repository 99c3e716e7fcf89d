"""The stats screen: figures that are right, read without keeping anybody waiting."""

import re
from datetime import datetime
from pathlib import Path

import pytest

from tests.tui.driving import SIZES, by_agent, counts_line, lines, opened, press, said, settle, shown, until
from tests.tui.evening import Jobs, day
from tests.tui.inbox.test_one_list import crash_on
from tests.tui.plan import NOW, ZONE, at
from tests.tui.week import BusyWeek, Week
from tui_tasks.core.commit import journal
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.jobs import CreateJob, FinishRun, NoteRunAgent, RunJob
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, DeleteTask, EditTask, LogTask
from tui_tasks.core.read import job_lines, job_queries, statistics
from tui_tasks.core.read.statistics import Tally
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.text import glyphs
from tui_tasks.tui.needs.open_needs import Needs
from tui_tasks.tui.schedule.timeline import tick_marks
from tui_tasks.tui.screens.stats_screen import bounds

MINUTE = 60_000_000


@pytest.fixture
def week(tmp_path: Path) -> Week:
    return Week(tmp_path / "auth.db")


def counted(path: str, list_id: int, starts: list[int]) -> Tally:
    tally = Tally(starts)
    with Store(path) as store:
        low = journal.seq_before(store.db, starts[0])
        tally.count(statistics.events(store.db, list_id, low, journal.newest(store.db)))
    return tally


# The figures


def test_what_was_done_failed_and_open_is_counted_by_the_day(week):
    tally = counted(week.path, week.list_id, bounds(NOW, ZONE))
    assert [sum(tally.done[at : at + 4]) for at in range(0, 28, 4)] == [1, 0, 2, 0, 0, 0, 0]
    assert tally.failed == 1
    assert tally.open_at_start(6) == 9
    assert tally.open(6)[3::4] == [8, 8, 6, 6, 6, 6, 6]
    assert tally.median_took == 30 * MINUTE


def test_a_task_that_comes_in_as_done_was_not_done_in_these_days(week):
    before = counted(week.path, week.list_id, bounds(NOW, ZONE))
    with Store(week.path) as store:
        ((home,),) = store.db.sql("SELECT uid FROM list WHERE id = ?", (week.list_id,)).fetchall()
        for status in ("done", "failed", "skipped"):
            store.commit(AddTask(f"Imported {status}", home, status=status), actor="human", now=at(19, 0))
    after = counted(week.path, week.list_id, bounds(NOW, ZONE))
    assert (after.done, after.failed, after.median_took) == (before.done, before.failed, 30 * MINUTE)
    assert after.open(6) == before.open(6)


def test_a_quiet_spell_is_the_longest_that_a_task_in_progress_went_without_a_word(week):
    tally = counted(week.path, week.list_id, bounds(NOW, ZONE))
    assert tally.quiet(NOW) == 60 * MINUTE
    by_agent(week, "claude-1", EditTask(week.uids[5], {"status": "in_progress"}), now=at(19, 0))
    by_agent(week, "human", LogTask(week.uids[5], "are you there?"), now=at(20, 0))
    tally = counted(week.path, week.list_id, bounds(NOW, ZONE))
    assert tally.quiet(NOW) == NOW - at(19, 0)


def test_what_was_undone_or_deleted_is_not_counted_as_open_or_done_twice(week):
    by_agent(week, "claude-1", EditTask(week.uids[4], {"status": "done"}), now=at(19, 0))
    by_agent(week, "claude-1", Undo(), now=at(19, 1))
    by_agent(week, "human", DeleteTask(week.uids[5]), now=at(19, 2))
    with Store(week.path) as store:
        found = task_queries.list_by_id(store.db, week.list_id)
    tally = counted(week.path, week.list_id, bounds(NOW, ZONE))
    assert tally.open_at_start(found.pending + found.in_progress) == 9
    assert sum(tally.done) == 3


def test_waits_for_the_human_count_those_that_last(week):
    with Store(week.path) as store:
        waits = statistics.waits(store.db, week.list_id, bounds(NOW, ZONE)[0])
    assert statistics.median_wait(waits) == 6 * MINUTE
    longest, wait = statistics.longest_wait(waits, NOW)
    assert (longest, wait.task_uid) == (41 * MINUTE, week.uids[4])


def test_the_entry_before_an_instant_is_found_without_going_through_the_journal(week):
    with Store(week.path) as store:
        entries = journal.latest(store.db, 1_000)
        for instant in (0, entries[0].at, day(17, 0), entries[-1].at, entries[-1].at + 1):
            assert journal.seq_before(store.db, instant) == sum(entry.at < instant for entry in entries)


@pytest.mark.parametrize("stretch", [4, journal.STRETCH])
def test_what_a_clock_that_was_set_back_put_out_of_order_is_counted(tmp_path, monkeypatch, stretch):
    monkeypatch.setattr(journal, "STRETCH", stretch)
    with Store(str(tmp_path / "tasks.db")) as store:
        for when in (10, 20, 130, 131, 132, 40, 50, 60, 150, 160):
            store.commit(CreatePlan(f"At {when}"), actor="human", now=when)
        low = journal.seq_before(store.db, 100)
        assert {130, 131, 132, 150, 160} <= {entry.at for entry in journal.since(store.db, low, 100)}


async def test_the_figures_follow_brackets_to_another_list(week, make_app):
    with Store(week.path) as store:
        home = store.commit(CreatePlan("Other plan"), actor="human", now=NOW)[0].uid
        store.commit(AddTask("One", home), AddTask("Two", home), actor="human", now=NOW)
    app = make_app(week.path, list_name="Plan")
    async with opened(app, (80, 24)) as pilot:
        await press(app, pilot, "S")
        before = shown(app)
        await press(app, pilot, "right_square_bracket")
        await until(pilot, lambda: "Other plan, last 7 days" in shown(app) and "2 tasks" in said(app))
        await until(pilot, lambda: shown(app).count("→ 2 now") == 1)
        await press(app, pilot, "left_square_bracket")
        await until(pilot, lambda: shown(app).splitlines()[:-1] == before.splitlines()[:-1])


def test_days_begin_at_midnight_where_the_human_is_through_a_change_of_clocks():
    starts = bounds(int(datetime(2026, 10, 27, 12, tzinfo=ZONE).timestamp()) * 1_000_000, ZONE)
    assert len(starts) == 28
    local = [datetime.fromtimestamp(start // 1_000_000, ZONE) for start in starts[::4]]
    assert [(each.day, each.hour) for each in local] == [(number, 0) for number in range(21, 28)]


def test_the_spread_of_times_counts_each_once():
    assert statistics.spread([0, 1, 59, 60, 61, 1_000], [60, 600]) == [3, 2, 1]
    assert statistics.spread([], [60]) == [0, 0]


# Charts


def test_sparks_show_nothing_as_nothing_and_little_as_something():
    assert glyphs.spark([0, 1, 100]) == " ▁█"
    assert glyphs.spark([0, 1, 100], ascii_only=True) == " .#"
    assert glyphs.spark([0, 1, 100], 800) == " ▁▁", "beside what is greater"
    assert glyphs.spark([]) == ""
    assert glyphs.spark([0, 0]) == "  "


def test_bars_are_as_long_as_their_share():
    assert [glyphs.value_bar(value, 4, 4) for value in (0, 1, 4, 9)] == ["", "━", "━━━━", "━━━━"]
    assert glyphs.value_bar(3, 8, 4) == "━━"
    assert glyphs.value_bar(1, 1_000, 4) == "━"
    assert glyphs.value_bar(3, 4, 4, ascii_only=True) == "###"


def test_ticks_are_thicker_where_several_are():
    assert tick_marks([0, 2, 2, 3, 3, 3, 3, 9, -1], 5) == "▏ ▌█ "
    assert tick_marks([0, 2, 2], 3, ascii_only=True) == "| :"


# The screen


@pytest.mark.parametrize("size", SIZES)
async def test_the_figures_stand_on_the_screen(week, make_app, size):
    app = make_app(week.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "9 → 6" in shown(app))
        text = shown(app)
        assert "Plan, last 7 days" in text
        for figure in ("30m", "6m", "1 of 4 finished (25%)", "41m, #5", "0.4"):
            assert figure in text


@pytest.mark.parametrize("size", SIZES)
async def test_the_tasks_that_failed_are_named_with_why_and_when(plan, make_app, size):
    app = make_app(plan.path, list_name=plan.list_uid)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "1 of 3 finished (33%)" in shown(app))
        await settle(pilot, *["G"] * (size == (40, 12)))
        (row,) = (line for line in shown(app).splitlines() if line.startswith(" ✗ #3"))
        assert row.startswith(" ✗ #3  Fix flaky DS") and "test_dst" in row
        assert row.rstrip(" ▐▄▇█").endswith("17m")


@pytest.mark.parametrize("size", SIZES)
async def test_what_has_failed_in_the_list_does_not_deny_what_the_counts_above_say_of_all_lists(plan, make_app, size):
    with Store(plan.path) as store:
        (home,) = store.commit(CreatePlan("Website"), actor="human", now=NOW)
    app = make_app(plan.path, list_name=home.uid)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "failed tasks" in shown(app))
        assert re.search(r"failed tasks +no task finished", shown(app))
        assert "".join(text for text, _ in app.screen._title(80)) == " Stats   only list Website, last 7 days"
        assert re.search(r"other lists +✗ 1 failed", shown(app))


async def test_jobs_are_counted_as_above_and_are_not_all_schedules(plan, make_app):
    Jobs(plan)
    with Store(plan.path) as store:
        (job,) = store.commit(CreateJob("By hand", "adhoc", "", "Go", "UTC"), actor="human", now=NOW)
        store.commit(RunJob(job.uid), actor="human", now=NOW)
        (begun,) = job_queries.open_runs(store.db, job.uid)
        store.commit(FinishRun(begun.uid, "interrupted"), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "jobs" in shown(app))
        failed = re.search(r"jobs +6, ✗ (\d) jobs? failed, ! 1 late", shown(app))
        tasks = 1
        assert failed and f"✗ {int(failed[1]) + tasks} failed" in counts_line(app) and "! 1 late" in counts_line(app)


def test_questions_about_tasks_of_other_lists_are_not_counted(plan):
    with Store(plan.path) as store:
        (home,) = store.commit(CreatePlan("Other"), actor="human", now=NOW)
        (task,) = store.commit(AddTask("Elsewhere", home.uid), actor="human", now=NOW)
        store.commit(OpenAsk("Where?", (), task.uid), OpenAsk("And?"), actor="claude-1", now=NOW)
        store.commit(OpenAsk("About none?"), actor="idler", now=NOW)
        own, other = (
            [wait.task_uid for wait in statistics.waits(store.db, task_queries.list_by_uid(store.db, uid).id, 0)]
            for uid in (plan.list_uid, home.uid)
        )
    assert sorted(own, key=str) == sorted([None, plan[4], plan[5], plan[7]], key=str)
    assert sorted(other, key=str) == sorted([None, task.uid], key=str)


async def test_figures_follow_what_comes_in(week, make_app):
    app = make_app(week.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "9 → 6" in shown(app))
        by_agent(week, "claude-1", EditTask(week.uids[6], {"status": "failed"}))
        await until(pilot, lambda: "9 → 5" in shown(app) and "2 of 5 finished (40%)" in shown(app))


async def test_a_failed_task_has_the_age_of_its_failure_not_of_its_last_change(plan, make_app):
    by_agent(plan, "claude-1", EditTask(plan[8], {"status": "failed"}), now=NOW - 8 * MINUTE)
    by_agent(plan, "human", DeleteTask(plan[8]), now=NOW - 2 * MINUTE)
    by_agent(plan, "human", Undo(), now=NOW - 2 * MINUTE)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: re.search(r"✗ #8 .* 8m\b", shown(app)))


async def test_schedules_and_runs_are_told(plan, make_app):
    Jobs(plan)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "5, ✗ 1 job failed, ! 1 late" in shown(app))
        (row,) = (line for line in app.screen._lines._shown if any("1 late" in text for text, _ in line))
        assert dict(row)["✗ "] == "$state-failed" and dict(row)["! "] == "$state-overdue", "as they are elsewhere"
        assert dict(row)["1 job failed"] == dict(row)["1 late"] == ""
        assert "runs by hour" in shown(app)


async def test_all_that_is_counted_as_failed_above_has_a_figure_and_what_is_dismissed_says_so(plan, make_app):
    Jobs(plan)
    crash_on(plan, plan[8])
    with Store(plan.path) as store:
        (job,) = job_lines.failing_jobs(store.db)
        keys = local_values.key_of_task(plan[3]), local_values.key_of_job(job.uid)
        local_values.put(store.db, local_values.DISMISSED, dict.fromkeys(keys, NOW))
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "5, 1 failed dismissed, ! 1 late" in shown(app))
        assert "✗ 1 failed" in counts_line(app)
        assert re.search(r"agents +✗ 1 failed", shown(app))
        assert re.search(r"failed tasks +1 of \d+ finished \(\d+%\), 1 dismissed", shown(app))


async def test_a_run_in_which_its_agents_task_failed_is_one_failure_with_the_task(plan, make_app):
    with Store(plan.path) as store:
        (job,) = store.commit(CreateJob("Nightly audit", "adhoc", "", "Go", "UTC"), actor="human", now=NOW)
        (run,) = store.commit(RunJob(job.uid), actor="human", now=NOW)
        store.commit(NoteRunAgent(run.uid, "claude-1", "s-1"), actor="system", now=NOW)
        (task,) = store.commit(AddTask("Audit", plan.list_uid), actor="human", now=NOW)
        store.commit(EditTask(task.uid, {"status": "failed"}), actor="claude-1", now=NOW + MINUTE)
        store.commit(FinishRun(run.uid, "error", "exit 1"), actor="claude-1", now=NOW + 2 * MINUTE)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "1, 1 failed with its task" in shown(app))
        assert "✗ 2 failed" in counts_line(app)
        needs = Needs(app.context).all()
        assert [need.task for need in needs if need.counted_as == "failed"] == [plan[3], task.uid]


async def test_all_charts_are_on_a_large_screen_and_the_first_are_whole_on_a_small_one(tmp_path, make_app):
    week = BusyWeek(tmp_path / "auth.db")
    app = make_app(week.path, list_name=week.other_uid)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "runs by hour" in shown(app))
        assert app.screen.query_one("#stats-scroll").max_scroll_y == 0
        assert "open tasks at the end of each day" in shown(app)
        assert "16 → 0 now" in shown(app)
        sunday = next(line for line in lines(app) if line.startswith(" Sun "))
        assert re.fullmatch(r" Sun  ━{36} 14 +Sun  ━{5} 2 *", sunday), "charts side by side have one scale"
        numbers = next(line for line in lines(app) if line.startswith(" 4   "))
        assert numbers.split() == ["4", "9", "4", "9", "4", "6", "9", "4"], "a number that goes on stands once"
        of_all = next(line for line in lines(app) if line.startswith(" jobs "))
        assert "longest task silence" in of_all, "directly below the figures of the list"
        assert "00  01  02" in shown(app) and "113 kept runs of the last 7 days, ✗ 3 failed" in shown(app)
        assert any(re.fullmatch(r" +failed 2 +1", line.rstrip()) for line in lines(app)), "what is counted comes first"
        await pilot.resize_terminal(80, 24)
        days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        await until(pilot, lambda: [line[1:4] for line in lines(app) if re.match(r" \w{3}  [━\d]", line)] == days)
        assert all(line[79:] in ("", *" ▐▄▇█▁▂▃▅▆") and line[78:79] in ("", " ") for line in lines(app)[10:-1])


async def test_what_does_not_fit_is_scrolled_to_and_esc_goes_back(week, make_app):
    app = make_app(week.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "S")
        assert "no job has run" not in shown(app)
        await settle(pilot, "G")
        assert "no job has run" in shown(app)
        await settle(pilot, "escape")
        assert app.screen is app.screen_stack[0]


async def test_an_empty_database_has_stats_too(tmp_path, make_app):
    app = make_app(tmp_path / "empty.db")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "median time to done" in shown(app))
        words = ("no task finished", "no jobs", "no task done", "nothing answered", "nothing asked", "no task at work")
        assert all(word in shown(app) for word in (*words, "no task was open", "no task was done", "no job has run"))


async def test_letters_stand_in_for_glyphs(week, make_app):
    from tui_tasks.settings.config import Config

    app = make_app(week.path, config=Config(ascii=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "S")
        await until(pilot, lambda: "9 -> 6" in shown(app))
        assert shown(app).isascii()
