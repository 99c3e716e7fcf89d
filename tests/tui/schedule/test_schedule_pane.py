"""The schedule pane: what runs, what is next, what failed and why; and what the human can do about it."""

import re
from collections import defaultdict
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from tests.tui.driving import SIZES, below, by_agent, lines, named, said, settle, shown, until
from tests.tui.evening import day
from tests.tui.plan import MINUTE, NOW, ZONE, at
from tui_tasks.core.operations.asks import PauseAgent
from tui_tasks.core.operations.jobs import (
    CreateJob,
    DecideDue,
    DeleteJob,
    DisableJob,
    EditJob,
    EnableJob,
    FinishRun,
    RunJob,
)
from tui_tasks.core.read import job_lines, job_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import run_output
from tui_tasks.runner import run_holders
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.schedule.job_form import JobForm, Preview
from tui_tasks.tui.schedule.run_view import RunView
from tui_tasks.tui.schedule.timeline import first_hour, hour_heads, is_even, time_line

DAILY = {"minute": "0", "hour": "8", "day": "*", "month": "*", "weekday": "*"}


def job(app, uid):
    return job_queries.job(app.link.db, uid)


def row_of(app, name: str) -> str:
    """The row of a job; the lines above the panes may name it, too."""
    return next(line for line in below(app) if re.search(rf"\bS\d+ +{name}", line))


# What is shown


@pytest.mark.parametrize("size", SIZES)
async def test_the_rule_above_the_jobs_names_the_pane_and_that_above_runs_names_those(jobs, make_app, size):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "g")
        number = len(job_queries.jobs(app.link.db))
        title = "Schedule" if size == (40, 12) else f"Jobs   {number}"
        assert any(line.startswith(f"─ {title} ─") for line in lines(app))
        await settle(pilot, "enter")
        assert isinstance(app.screen, RunView)
        assert any(line.startswith("─ Runs ─") for line in lines(app)) == (size != (40, 12))


@pytest.mark.parametrize("size", SIZES)
async def test_every_job_tells_its_state_by_a_sign_and_when_it_is_next(jobs, make_app, size):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "g")
        wanted = {
            "Server status": ("◐", "in 14m"),
            "Login audit": ("·", "Mon 09:00"),
            "Restore test": ("!", "late 25m"),
        }
        wanted |= {"Digest mail": ("✗", "in 19h 44m"), "Weekly report": ("–", "—")}
        for name, (mark, next_) in wanted.items():
            row = row_of(app, name)
            assert row[3] == mark
            assert next_ in row


async def test_schedules_are_told_in_words_with_how_it_went_and_the_history(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        assert "09:00 Mon–Fri" in row_of(app, "Login audit")
        assert "2m ago ok 28s" in row_of(app, "Login audit")
        assert "never" in row_of(app, "Restore test")
        assert "✓✓✓✗✗" in row_of(app, "Digest mail")
        assert "✓✓✓✓✗✓✓✓" in row_of(app, "Server status")


@pytest.mark.parametrize("size", SIZES)
async def test_the_reason_of_the_last_failure_is_told(jobs, make_app, size):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "g", "j", "j", "j")
        assert "smtp: 535 authentication failed" in shown(app)
        if size[0] >= 80:
            assert "failed 4h ago, 2 in a row: smtp: 535" in shown(app)
            assert "next: Sun 22 Nov 16:00, Mon 23 Nov 16:00" in shown(app)


async def test_a_row_with_room_says_why_its_last_run_failed(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        assert "failed 4h ago: smtp" in row_of(app, "Digest mail")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_is_overdue_has_the_cursor_and_can_be_run_and_each_reason_is_whole(jobs, make_app, size):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert app.pane.line.job.uid == jobs[3]
        assert "late 25m: no scheduler runs" in shown(app)
        assert "then: Sat 19 Dec 19:50, Sat 16 Jan 19:50" in shown(app)
        assert "r Run now" in shown(app)
        await settle(pilot, *(["j"] if size[0] < 120 else []))
        assert "smtp: 535 authentication failed" in shown(app)
        row, titles = row_of(app, "Digest mail"), next(line for line in lines(app) if "last run" in line)
        rest = below(app)[below(app).index(row) + 1]
        last = slice(titles.index("last run"), titles.index("next"))
        assert "failed 4h ago: smtp: 535 authentication failed" in " ".join(f"{row[last]} {rest[last]}".split())
        assert row.index("16:00 daily") == titles.index("when")
        assert row[: last.start].endswith(" " * 2)
        await settle(pilot, "g")
        assert "Run now" not in shown(app), "the first job runs already"


async def test_the_strip_shows_the_runs_of_the_next_day_and_no_past_ones(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        text = shown(app)
        assert "20 21 22 23 00 01" in text
        hours, *strip = text.split("next 24 h")[1].splitlines()[1:]
        (often,) = (line for line in strip if line.startswith(" S1 "))
        assert re.search(r"Server status +─ every 15 minutes ─{40,} +96 runs$", often), "one line where no hour differs"
        assert often.rindex("─") == len(hours.rstrip()) - 1, "it ends where the hours end"
        assert "▏16:00" in text
        styles = [style for line in app.pane._strip._shown for part, style in line if "16:00" in part]
        assert styles == [""], "a run to come has not failed"


def test_a_job_is_even_that_has_as_many_runs_in_each_hour_to_come():
    start = at(20, 0)
    quarters = [start + number * 15 * MINUTE for number in range(24 * 4)]
    assert is_even(quarters, start) and is_even(quarters[2:], start)
    assert not is_even(quarters[:-1], start) and not is_even(quarters[::2] + quarters[:1], start)
    assert not is_even([], start) and not is_even(quarters[:4], start)


def test_a_day_is_named_once_in_a_list_of_dates():
    times = [day(22, 8), day(22, 9), day(23, 8), int(datetime(2028, 1, 1, tzinfo=ZONE).timestamp()) * 1_000_000]
    assert job_text.dates(times, ZONE, NOW) == "Sun 22 Nov 08:00, 09:00, Mon 23 Nov 08:00, Sat 1 Jan 2028 00:00"


async def test_a_run_by_hand_is_called_so_and_has_no_length_in_its_first_second(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        line = app.pane.line
        line = replace(line, running=replace(line.running, trigger="manual", started_at=NOW - 457_000), usual=None)
        assert job_text.story(line, NOW, str) == ("running, by hand", "running")
        assert job_text.went(line.running, NOW) == "running"


async def test_a_run_that_was_interrupted_is_no_failure_in_a_row(jobs, make_app):
    for outcome in ("error", "interrupted", "error"):
        by_agent(jobs.plan, "human", RunJob(jobs[5]))
        with Store(jobs.plan.path) as store:
            (run,) = job_queries.open_runs(store.db, jobs[5])
        by_agent(jobs.plan, "claude-1", FinishRun(run.uid, outcome, "no paper"))
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "G")
        assert "failed now, 2 in a row: no paper" in shown(app)


@pytest.mark.parametrize("size", SIZES)
async def test_a_reason_for_which_there_is_no_room_ends_with_a_sign_that_it_is_cut(jobs, make_app, size):
    by_agent(jobs.plan, "human", RunJob(jobs[5]))
    with Store(jobs.plan.path) as store:
        (run,) = job_queries.open_runs(store.db, jobs[5])
    by_agent(jobs.plan, "claude-1", FinishRun(run.uid, "error", " ".join(f"word{at}" for at in range(200))))
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "G")
        reason = shown(app).rsplit("word", 1)[1].splitlines()[0]
        assert reason.rstrip().endswith("…"), shown(app)


async def test_the_strip_tells_how_many_jobs_have_no_room(jobs, make_app):
    for number in range(9):
        by_agent(jobs.plan, "claude-1", CreateJob(f"Another {number}", "scheduled", "", "x", "UTC", schedule=DAILY))
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        text = shown(app)
        shown_jobs = [number for number in range(1, 15) if f"\n S{number} " in text.split("next 24 h")[1]]
        assert f"and {12 - len(shown_jobs)} more jobs" in text


async def test_the_strip_shows_those_that_are_due_next_whenever_they_were_made(jobs, make_app):
    for number in range(9):
        by_agent(jobs.plan, "claude-1", CreateJob(f"Another {number}", "scheduled", "", "x", "UTC", schedule=DAILY))
    by_agent(
        jobs.plan, "claude-1", CreateJob("Made last", "scheduled", "", "x", "UTC", schedule=DAILY | {"minute": "*/5"})
    )
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        strip = shown(app).split("next 24 h")[1]
        times = [(job.next_run or 0, number) for number, job in enumerate(_jobs(jobs.plan), 1)]
        first = [number for next_run, number in sorted(times) if next_run > NOW][:3]
        shown_jobs = [int(number) for number in re.findall(r"^ S(\d+) ", strip, re.MULTILINE)]
        assert set(first) <= set(shown_jobs)
        assert 3 in shown_jobs and shown_jobs == sorted(shown_jobs), "with what is late, in the order of the jobs above"


def _jobs(plan):
    with Store(plan.path) as store:
        return job_queries.jobs(store.db)


def test_the_strip_begins_with_the_hour_that_it_is_in_a_zone_off_by_half_an_hour():
    kolkata = ZoneInfo("Asia/Kolkata")
    start = first_hour(NOW, kolkata)
    assert datetime.fromtimestamp(start // 1_000_000, kolkata).strftime("%H:%M:%S") == "00:00:00"
    assert start <= NOW < start + 3_600_000_000


def test_the_hours_of_the_strip_follow_the_clock_through_its_change():
    night = datetime(2026, 10, 25, 0, 30, tzinfo=ZONE)
    start = first_hour(int(night.timestamp()) * 1_000_000, ZONE)
    assert hour_heads(start, ZONE, 3).startswith("00 01 02 02 03 04")


def test_a_time_stands_in_its_cell_with_its_hour_where_there_is_room():
    start = at(20, 0)
    assert time_line([at(21, 30)], start, 4, ZONE)[:12] == "      ▏21:30"
    crowded = time_line([at(21, 30), at(21, 45)], start, 4, ZONE)
    assert crowded[:13] == "      ▏▏21:45"


def test_a_time_at_the_end_of_the_strip_stands_before_its_tick():
    start = at(20, 0)
    assert time_line([start + 24 * 3_600_000_000], start, 4, ZONE).endswith("     20:00▏   ")


async def test_a_job_of_every_minute_has_as_many_runs_in_the_strip_as_the_next_24_hours_have(jobs, make_app):
    every_minute = dict.fromkeys(DAILY, "*")
    by_agent(jobs.plan, "claude-1", CreateJob("Ping", "scheduled", "", "x", "UTC", schedule=every_minute))
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        (row,) = (line for line in shown(app).split("next 24 h")[1].splitlines() if "Ping" in line)
        assert row.endswith(" 1,440 runs") and "─ every minute ─" in row


async def test_only_the_marks_of_the_schedule_and_what_is_late_are_coloured(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g", "j", "j")
        rows = [app.pane._drawing.draw(line, RowLook(*[False] * 5, 120), 0) for line in app.pane.listed.rows]
        parts = [part for line in (*rows, *app.pane._detail._shown) for part in line]
        assert {text.strip() for text, style in parts if style.startswith("$state")} == {
            "◐",
            "!",
            "✗",
            "–",
            "late 25m",
            "running 41s, usually 9s",
        }
        assert ("✓", "$muted") in rows[0], "what went well stands back"
        assert ("late 25m", "$state-overdue") in [(text.strip(), style) for text, style in parts]
        assert ("◐", "$state-overdue") in rows[0], "the first job runs for longer than usual"
        assert ("late 25m: no scheduler runs", "") in parts


def test_what_runs_often_has_a_bar_for_each_hour_as_high_as_it_has_runs():
    start = at(20, 0)
    often = [at(20, minute) for minute in range(0, 60, 4)] + [at(22, 0)]
    assert time_line(often, start, 3, ZONE)[:9] == "█     ▁  "
    assert time_line(often, start, 3, ZONE, ascii_only=True).isascii()


async def test_an_empty_schedule_says_what_to_do(plan, make_app):
    app = make_app(plan.path, pane="schedule")
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot, "g", "r", "t", "enter", "x", "d", "e")
        assert "Nothing is scheduled." in shown(app)


@pytest.mark.parametrize(
    ("pane", "said"), [("schedule", "Nothing is scheduled."), ("log", "Nothing has happened yet.")]
)
async def test_an_empty_pane_of_a_read_only_screen_names_no_key_that_adds(tmp_path, make_app, pane, said):
    Store(str(tmp_path / "new.db")).close()
    app = make_app(tmp_path / "new.db", pane=pane, read_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert said in shown(app) and "add a job" not in shown(app) and "adds a task" not in shown(app)


async def test_a_new_job_is_refused_with_each_wrong_field(plan, make_app):
    app = make_app(plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "n", *"Backup", "tab", *"never", "ctrl+s")
        assert "no times 'never'" in shown(app) and "a job needs a prompt" in shown(app)
        assert "a job needs a name" not in shown(app)


async def test_the_hint_for_the_times_of_a_job_is_about_its_kind_alone(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g", "e", "tab", "end", "ctrl+u")
        assert "every 15m, @daily" in shown(app) and "or nothing" not in shown(app)


async def test_the_rule_names_the_job_of_the_detail_below_it_while_the_cursor_goes_on(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        was = app.pane._title_of_job(120)
        app.pane.row_list.move_to(jobs[3])
        assert app.pane._title_of_job(120) == was, "the detail is that of the first job still"
        await settle(pilot)
        assert app.pane._title_of_job(120) != was


async def test_a_refresh_moves_nothing(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "j", "j")
        by_agent(jobs.plan, "claude-1", CreateJob("Another", "scheduled", "", "x", "UTC", schedule=DAILY))
        by_agent(jobs.plan, "human", DeleteJob(jobs[1]))
        await until(pilot, lambda: "Another" in shown(app) and "Server status" not in shown(app))
        assert app.pane.line.job.uid == jobs[4]
        assert "S4" in row_of(app, "Digest mail") and "S6" in row_of(app, "Another")


async def test_only_the_jobs_that_were_touched_are_read_again(jobs, make_app, monkeypatch):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g")
        read = []
        line_of = job_lines.line_of
        monkeypatch.setattr(job_lines, "line_of", lambda db, one: read.append(one.uid) or line_of(db, one))
        by_agent(jobs.plan, "human", RunJob(jobs[5]))
        await until(pilot, lambda: row_of(app, "Weekly report")[3] == "◐")
        assert set(read) == {jobs[5]}


async def test_the_filter_keeps_jobs_by_their_words_and_the_rest_comes_back(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "slash", *"mail")
        assert "Digest mail" in shown(app)
        assert "Login audit" not in shown(app)
        assert "1 of 5 jobs" in shown(app)
        await settle(pilot, "escape")
        assert "Login audit" in shown(app)


async def test_a_job_is_found_by_what_its_row_shows(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        pane = app.query_one("#schedule")
        look = RowLook(cursor=False, marked=False, focused=False, dragged=False, drop=False, width=120)
        seen = {row.job.uid: [text for text, _ in pane._drawing.draw(row, look, 0)] for row in pane.listed.rows}
        having = defaultdict(set)
        for uid, parts in seen.items():
            # Without the marks of state and history.
            for word in "  ".join(part for part in parts if len(part.strip()) > 1).split():
                having[word].add(uid)
        await settle(pilot, "slash")
        for word, uids in having.items():
            app.query_one("#job-filter FilterWords").value = f'"{word}"'
            await settle(pilot)
            assert uids <= {row.job.uid for row in pane.listed.rows}, word


async def test_the_number_of_jobs_that_match_follows_changes(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "slash", *"off", "enter")
        assert "0 of 5 jobs" in shown(app) and "Nothing matches “off”: Esc clears the filter." in shown(app)
        by_agent(jobs.plan, "human", DisableJob(jobs[2]))
        await until(pilot, lambda: "1 of 5 jobs" in shown(app))


async def test_escape_leaves_a_filter_of_the_jobs_that_was_kept(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "slash", *"mail", "enter", "escape")
        assert "Login audit" in shown(app)
        assert not app.query_one("#job-filter").is_open


async def test_a_key_for_a_job_to_which_the_cursor_came_by_itself_asks_before_it_acts(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "slash", *"-off", "enter")
        pane = app.query_one("#schedule")
        pane.row_list.move_to(jobs[2])
        by_agent(jobs.plan, "human", DisableJob(jobs[2]))
        await until(pilot, lambda: pane.line is not None and pane.line.job.uid != jobs[2])
        landed = pane.line.job.uid
        await settle(pilot, "r")
        assert "The cursor moved here by itself." in shown(app) and not job_queries.open_runs(app.link.db, landed)
        await settle(pilot, "n", "r")
        await until(pilot, lambda: len(job_queries.open_runs(app.link.db, landed)) == 1)


async def test_a_job_that_the_human_has_changed_since_the_cursor_came_to_it_is_deleted_at_once(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g")
        pane = app.query_one("#schedule")
        pane.row_list.move_to(jobs[2])
        by_agent(jobs.plan, "human", DeleteJob(jobs[2]))
        await until(pilot, lambda: pane.line is not None and pane.line.job.uid != jobs[2])
        landed = pane.line.job
        app.context.run(app.link.commit(DisableJob(landed.uid) if landed.enabled else EnableJob(landed.uid)))
        await until(pilot, lambda: pane.line.job.enabled != landed.enabled)
        await settle(pilot, "d")
        await until(pilot, lambda: said(app).startswith("Deleted S"))


async def test_letters_that_are_no_choice_do_not_move_to_the_yes_of_a_question(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g")
        pane = app.query_one("#schedule")
        pane.row_list.move_to(jobs[2])
        by_agent(jobs.plan, "human", DeleteJob(jobs[2]))
        await until(pilot, lambda: pane.line is not None and pane.line.job.uid != jobs[2])
        landed = pane.line.job.uid
        await settle(pilot, "d", "k")
        assert "k is no choice here" in shown(app)
        await settle(pilot, "g", "enter")
        assert pane.line.job.uid == landed and len(app.screen_stack) == 1


async def test_the_first_job_that_the_human_makes_starts_without_being_asked_about(plan, make_app):
    app = make_app(plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "n", *"New one", *["tab"] * 6, *"Do it.", "ctrl+s")
        await until(pilot, lambda: app.pane.line is not None)
        await settle(pilot, "r")
        assert "by itself" not in shown(app)


# What the human does


async def test_the_filter_of_the_jobs_names_the_one_field_that_jobs_have(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g", "slash", *"status:failed")
        assert "use one of agent:" in shown(app)
        assert "agent:" in lines(app)[-1] and "who:" not in lines(app)[-1]


async def test_r_runs_a_scheduled_job_though_it_has_its_times(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "r")
        (run,) = job_queries.each_run(app.link.db, jobs[2], 1)
        assert (run.trigger, run.requested_by) == ("manual", "human")
        await settle(pilot, "r")
        assert "runs already" in shown(app)
        assert len(job_queries.open_runs(app.link.db, jobs[2])) == 1


async def test_r_with_input_hands_it_to_this_run(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "G", *named("run with"), *"for June", "enter")
        (run,) = job_queries.each_run(app.link.db, jobs[5], 1)
        assert run.context == "for June"


async def test_t_switches_off_and_on_and_u_takes_it_back(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "t")
        assert not job(app, jobs[2]).enabled
        assert "off" in row_of(app, "Login audit")
        await settle(pilot, "r")
        assert "t switches it on" in shown(app)
        await settle(pilot, "u")
        assert job(app, jobs[2]).enabled
        await settle(pilot, "t", "t")
        assert job(app, jobs[2]).enabled


async def test_t_says_that_it_ends_a_run_that_has_not_begun(jobs, make_app):
    dedicated = EditJob(jobs[2], {"dedicated_context": True})
    _, waiting = by_agent(jobs.plan, "human", dedicated, RunJob(jobs[2]))
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.go_to(jobs[2])
        await settle(pilot, "t")
        assert job_queries.run(app.link.db, waiting.uid).outcome == "interrupted"
        assert said(app) == "S2 Login audit is off. Its run had not begun, and is ended."


async def test_t_says_that_a_run_that_has_begun_continues(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.go_to(jobs[1])
        await settle(pilot, "t")
        assert said(app) == "S1 Server status is off. A started run continues."


async def test_a_deleted_job_comes_back_with_u(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "j", "d")
        assert "Restore test" not in shown(app).replace("Deleted S3 Restore test", "")
        await settle(pilot, "u")
        assert not job(app, jobs[3]).deleted


async def test_a_deleted_job_moves_no_other_number_and_its_own_stays_in_the_log(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g", "j", "j", "d")
        assert said(app).startswith("Deleted S3 Restore test.")
        assert "S4" in row_of(app, "Digest mail")
        await settle(pilot, "3", "G")
        await until(pilot, lambda: re.search(r"you +S3 +job Restore test", shown(app)))


async def test_undo_of_a_deleted_job_puts_the_cursor_on_it(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "j", "d", "g", "u")
        assert app.pane.row_list.cursor == jobs[3]


async def test_a_job_that_has_run_is_deleted_at_once_and_u_brings_it_back_with_its_runs(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "G")
        history = app.pane.line.history
        await settle(pilot, "d")
        assert history and job_queries.any_job(app.link.db, jobs[5]).deleted
        assert said(app) == "Deleted S5 Weekly report. u brings it back with its runs."
        await settle(pilot, "u")
        assert app.pane.listed.get(jobs[5]).history == history


async def test_deleting_a_job_that_runs_asks_first(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "d", "n")
        assert job_queries.any_job(app.link.db, jobs[1]).deleted is False
        await settle(pilot, "d", "y")
        assert job_queries.any_job(app.link.db, jobs[1]).deleted
        await settle(pilot, "u")
        assert not job(app, jobs[1]).deleted, "it was done here: undo does not ask"


async def test_x_ends_what_runs_once_it_was_asked(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "x", "n")
        assert job_queries.run(app.link.db, jobs.running).stop_reason is None
        await settle(pilot, "x", "y")
        assert job_queries.run(app.link.db, jobs.running).stop_reason == "stopped by human"
        await until(pilot, lambda: "is being ended: stopped by you" in shown(app))
        await settle(pilot, "j", "x")
        assert "does not run" in shown(app)


@pytest.mark.parametrize(
    ("size", "times", "kind"),
    # The kind makes no difference to where the fields are, nor the size to what is made: each is seen once.
    zip(SIZES, ("0 8 * * *", "2026-12-24 18:00", ""), ("scheduled", "planned", "adhoc"), strict=True),
)
async def test_all_three_kinds_are_made_from_one_form(jobs, make_app, size, times, kind):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "g", "n", *"New one", "tab", *times, *["tab"] * 5, *"Do it.", "ctrl+s")
        await settle(pilot)
        made = job_queries.job_named(app.link.db, "new one")
        assert (made.type, made.prompt, made.dedicated_context, made.created_by) == (kind, "Do it.", True, "human")
        assert made.timezone == "Europe/Berlin"
        assert app.pane.line.job.uid == made.uid


@pytest.mark.parametrize("runner", ["", "codex"])
async def test_a_job_for_a_runner_without_a_command_is_saved_and_says_that_it_cannot_run_yet(jobs, make_app, runner):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        settings = [*"runner=", *runner] if runner else []
        await settle(pilot, "n", *"New one", *["tab"] * 4, *settings, *["tab"] * 2, *"Do it.", "ctrl+s")
        assert job_queries.job_named(app.link.db, "new one").prompt == "Do it."
        assert "Saved, but it cannot run yet: no " in said(app)
        assert ("'codex'" in said(app)) == bool(runner)


async def test_the_form_shows_the_next_five_times_as_one_types(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "n", "tab", *"9:00 mon-f")
        assert "five fields of a cron, dates such as" in shown(app)
        await settle(pilot, *"ri")
        text = shown(app)
        assert "09:00 Mon–Fri  (0 9 * * mon-fri)" in text
        for date in ("Mon 23 Nov", "Tue 24 Nov", "Wed 25 Nov", "Thu 26 Nov", "Fri 27 Nov"):
            assert f"{date} 09:00" in text.replace("\n ", " ")


async def test_what_is_wrong_is_told_and_the_form_stays(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "n", "ctrl+s")
        assert "a job needs a name" in shown(app)
        await settle(pilot, *"digest MAIL", *["tab"] * 6, *"x", "ctrl+s")
        await until(pilot, lambda: "already" in shown(app))
        assert isinstance(app.screen, JobForm)
        await settle(pilot, "escape", "escape")
        assert not isinstance(app.screen, JobForm)


async def test_an_edit_writes_what_was_changed_and_nothing_else(jobs, make_app):
    odd = "two\x1b[31m lines\nand\ttabs"
    by_agent(jobs.plan, "claude-1", EditJob(jobs[4], {"prompt": odd}, {"retries": 2}))
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "j", "j", "e", "tab", *["backspace"] * 10, *"30 7 * * *", "ctrl+s")
        await settle(pilot)
        now = job(app, jobs[4])
        assert now.schedule == {**DAILY, "minute": "30", "hour": "7"}
        assert (now.prompt, now.settings, now.name) == (odd, {"retries": 2}, "Digest mail")
        await settle(pilot, "u")
        assert job(app, jobs[4]).schedule == {**DAILY, "hour": "16"}


async def test_controls_in_a_prompt_stay_what_they_are_when_it_is_edited(jobs, make_app):
    by_agent(jobs.plan, "claude-1", EditJob(jobs[4], {"prompt": "two\x1b[31m lines\nand\ttabs"}))
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "j", "j", "e")
        app.screen.set_focus(app.screen.query_one("#prompt"))
        assert "\x1b" not in shown(app)
        await settle(pilot, "X", "ctrl+s")
        await settle(pilot)
        assert job(app, jobs[4]).prompt == "Xtwo\x1b[31m lines\nand\ttabs"


async def test_a_field_that_somebody_else_changed_meanwhile_is_the_humans_to_choose(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "j", "j", "e", *" of mine")
        by_agent(jobs.plan, "claude-1", EditJob(jobs[4], {"name": "Theirs", "timezone": "UTC"}))
        await until(pilot, lambda: "changed meanwhile" in shown(app))
        await settle(pilot, "ctrl+s")
        assert "Digest mail of mine" in shown(app)
        assert "Theirs" in shown(app)
        await settle(pilot, "m")
        await settle(pilot)
        assert (job(app, jobs[4]).name, job(app, jobs[4]).timezone) == ("Digest mail of mine", "UTC")


async def test_read_only_shows_all_of_it_and_says_why_it_does_nothing(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule", read_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "r")
        assert "read only" in shown(app).split("\n")[-1]
        await settle(pilot, "enter")
        assert isinstance(app.screen, RunView)


@pytest.mark.parametrize("size", SIZES)
async def test_what_agents_write_is_text_and_nothing_else(plan, make_app, size):
    hostile = "[@click=app.quit]x[/nope]\x1b]52;c;aGk=\x07"
    (made,) = by_agent(plan, "evil\x1b[2J", CreateJob(hostile, "adhoc", hostile, hostile, "UTC"))
    by_agent(plan, "human", RunJob(made.uid))
    with Store(plan.path) as store:
        (run,) = job_queries.open_runs(store.db, made.uid)
        run_output.write_output(store.db, run.uid, [(0, hostile.encode() + b"\xff\x00")], len(hostile) + 2)
    by_agent(plan, "claude-1", FinishRun(run.uid, "error", hostile))
    app = make_app(plan.path, pane="schedule")
    async with app.run_test(size=size) as pilot:
        for keys in ((), ("enter",), ("enter",), ("escape", "escape", "e")):
            await settle(pilot, *keys)
            assert "[@click" in shown(app)
            assert not {"\x1b", "\x07"} & set(shown(app))


async def test_the_form_of_a_job_points_at_the_field_that_takes_what_is_typed(evening, make_app):
    app = make_app(evening.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "j", "e")
        assert [line for line in shown(app).splitlines() if line.startswith("▌")] == ["▌Name          Digest mail"]
        await settle(pilot, "tab")
        assert [line for line in shown(app).splitlines() if line.startswith("▌")] == ["▌When          0 16 * * *"]
        assert " Settings      e.g. timeout=600" in shown(app)


def test_the_last_line_of_a_preview_that_is_cut_ends_without_a_comma(app):
    preview = Preview(app.context)
    preview.text = "every minute\nnext: Mon 30 Nov 17:20, 17:21, 17:22, 17:23, 17:24 (Europe/Berlin)"
    assert preview.lines(40, 2)[-1][0][0].endswith("17:22")


async def test_arrows_and_space_say_where_a_job_runs_and_tab_goes_to_the_next_field(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "n")
        assert isinstance(app.screen, JobForm)
        await settle(pilot, "tab", "tab", "tab", "right")
        assert app.screen.typed.runs == "conversation"
        await settle(pilot, "space")
        assert app.screen.typed.runs == "runner"
        await settle(pilot, "c")
        assert app.screen.typed.runs == "conversation"
        await settle(pilot, "left", "tab")
        assert app.screen.typed.runs == "runner" and app.screen.focused.id == "settings"


async def test_the_input_of_a_run_takes_several_lines_and_comes_back_for_that_job_after_esc(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.go_to(jobs[2])
        await settle(pilot, *named("run with"), *"one", "ctrl+j", *"two", "escape")
        app.pane.go_to(jobs[4])
        await settle(pilot, *named("run with"))
        assert app.screen.query_one("#answer").value == ""
        await settle(pilot, "escape")
        app.pane.go_to(jobs[2])
        await settle(pilot, *named("run with"))
        assert app.screen.query_one("#answer").value == "one\ntwo"
        await settle(pilot, "enter")
        assert next(job_queries.each_run(app.link.db, jobs[2], 1)).context == "one\ntwo"


def test_a_job_that_failures_switched_off_and_one_whose_run_still_goes_on_say_so(plan):
    every = dict.fromkeys(DAILY, "*")
    with Store(plan.path) as store:

        def story(job):
            return job_text.story(
                job_lines.line_of(store.db, job_queries.job(store.db, job.uid)), NOW + 130_000_000, lambda: "why"
            )

        settings = {"pause_after": 1}
        fields = {"dedicated_context": False, "schedule": every}
        job, other = (
            store.commit(CreateJob(name, "scheduled", "", "x", "UTC", **fields, settings=own), actor="bob", now=NOW)[0]
            for name, own in (("Fails", settings), ("Long", {}))
        )
        for minute in (1, 2):
            store.commit(DecideDue(job.uid), DecideDue(other.uid), actor="system", now=NOW + minute * 60_000_000)
        assert story(other)[0].endswith(" to answer; why; times that come meanwhile are skipped")
        (run,) = job_queries.open_runs(store.db, job.uid)
        store.commit(FinishRun(run.uid, "error", "no such host"), actor="bob", now=NOW + 130_000_000)
        assert story(job) == ("off after 1 failure in a row: failed now: no such host", "failed")


def test_a_run_says_how_long_it_usually_takes_and_when_it_takes_much_longer(plan):
    second = 1_000_000
    with Store(plan.path) as store:
        (job,) = store.commit(CreateJob("Status", "adhoc", "", "x", "UTC"), actor="bob", now=NOW)
        lines = []
        for number in range(4):
            then = NOW + number * MINUTE
            store.commit(RunJob(job.uid), actor="bob", now=then)
            (run,) = job_queries.open_runs(store.db, job.uid)
            lines.append(job_lines.line_of(store.db, job_queries.job(store.db, job.uid)))
            running = job_lines.running_jobs(store.db)
            store.commit(FinishRun(run.uid, "success", ""), actor="bob", now=then + (8 + number) * second)
    few, known = lines[2:]
    began = NOW + 3 * MINUTE
    assert job_text.last(few, began - MINUTE + 41 * second) == "running 41s"
    assert not job_text.is_slow(few, began + MINUTE)
    assert job_text.last(known, began + 41 * second) == "running 41s, usually 9s"
    assert [job_text.is_slow(known, began + span * second) for span in (26, 27)] == [False, True]
    assert job_text.lasts(known, began + 26 * second) <= second
    assert running == [job_lines.RunningJob("Status", began + 27 * second, 1, began, 9 * second)]


async def test_a_late_job_says_that_the_scheduler_is_alive_and_what_it_started_last(jobs, make_app, monkeypatch):
    monkeypatch.setattr(run_holders, "why_late", lambda db: run_holders.NOT_YET)
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "late 25m: not started yet; the scheduler is alive: it started S1 at 20:15" in shown(app)


async def test_a_run_that_waits_for_a_paused_agent_says_so(plan, make_app):
    by_agent(plan, "claude-1", CreateJob("Ask", "adhoc", "", "x", "UTC"))
    with Store(plan.path) as store:
        asked = job_queries.job_named(store.db, "Ask")
        store.commit(RunJob(asked.uid), PauseAgent("claude-1", "stop"), actor="human", now=NOW)
    app = make_app(plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        assert "to answer; claude-1 is paused" in shown(app)
