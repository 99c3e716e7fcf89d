"""While you were away, on the screen."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.started import DEADLINE
from tests.tui.driving import (
    SIZES,
    below,
    by_agent,
    counts_line,
    kill_after_its_lease,
    lines,
    opened,
    press,
    settle,
    shown,
    until,
)
from tests.tui.plan import NOW, ZONE, Plan
from tui_tasks.core.operations.asks import NoteStuck, OpenAsk
from tui_tasks.core.operations.tasks import AddTask, EditTask
from tui_tasks.core.read.digest_lines import DigestLine
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.text.times import MINUTE
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.needs.open_needs import Kind, Need
from tui_tasks.tui.screens import digest_screen
from tui_tasks.tui.screens.digest_rows import DigestRows
from tui_tasks.tui.screens.digest_screen import DigestScreen
from tui_tasks.tui.state.database_link import DatabaseLink

MakeApp = Callable[..., TaskApp]


async def test_d_tells_what_happened_since_the_human_looked_in_the_order_of_its_parts(
    plan: Plan, report: Callable[..., None], make_app: MakeApp
) -> None:
    report(plan[5], "passed")
    report(plan[6])
    async with opened(make_app(plan.path)) as pilot:
        await press(pilot.app, pilot, "D")
        said = "\n".join(below(pilot.app))
        places = [said.index(word) for word in ("? #4  asks", "✗ #3  failed", "unproven", "✓ #5  proven")]
        assert places == sorted(places)
        assert "test_dst_gap: expected 02:30" in said


async def test_what_is_done_with_nothing_to_check_has_a_part_of_its_own_by_name(plan: Plan, make_app: MakeApp) -> None:
    async with opened(make_app(plan.path)) as pilot:
        await press(pilot.app, pilot, "D")
        (row,) = (line for line in shown(pilot.app).splitlines() if "✓     done" in line)
        assert "2 tasks" in row and "Inventory GA usage" in row
        assert "unproven" not in shown(pilot.app)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_each_thing_is_told_whole_on_a_wide_screen_and_apart_from_what_matters_less(
    evening: Plan, report: Callable[..., None], make_app: MakeApp, size: tuple[int, int]
) -> None:
    report(evening[6], "failed", "E   assert 403 == 200")
    async with opened(make_app(evening.path), size) as pilot:
        await press(pilot.app, pilot, "D")
        told = lines(pilot.app)[5:-2]
        rows = [row for row in told if row[3:4].strip()]
        assert len(rows) == len(pilot.app.screen.listed.rows)
        assert all(re.search(r" (now|\d+[mh])$", row) for row in rows)
        (at,) = (at for at, row in enumerate(told) if "#6  check failed" in row)
        if size[0] == 120:
            assert '"tests" failed: assert 403 == 200' in told[at] and "…" not in "".join(told)
        else:
            assert len([row for row in told if row.strip()]) == len(rows), "each has one line"
            assert re.search(' Write integ…: "tests" failed: assert 403… +now$', told[at]), "the name gives way"
            (asked,) = (row for row in told if "#4  asks" in row)
            assert "Which one?" in asked, "what is asked stands whole"
        kinds = "\n".join(row[3:].rstrip() for row in told).strip().split("\n\n")
        assert [kind[0] for kind in kinds] == ["?", "✗", "□"]
        assert told[at][3:].startswith("✗ #6  check failed ") and "Write integ" in told[at]


async def test_the_digest_gives_each_thing_one_line_where_all_have_no_room_for_more(
    evening: Plan, make_app: MakeApp
) -> None:
    by_agent(evening, "claude-1", *(OpenAsk(f"Question {number}: {'why ' * 20}?") for number in range(30)))
    async with opened(make_app(evening.path), (80, 24)) as pilot:
        await press(pilot.app, pilot, "D")
        rows = lines(pilot.app)[-6:-1]
        assert all(re.match(r"[> ]• \? #5  asks .*Question.*… +now", row) for row in rows), rows


async def test_names_and_texts_of_the_digest_begin_at_one_place_where_there_is_room(
    evening: Plan, report: Callable[..., None], make_app: MakeApp
) -> None:
    report(evening[6], "failed", "1 failed, 1 passed in 0.31s")
    async with opened(make_app(evening.path), (120, 24)) as pilot:
        await press(pilot.app, pilot, "D")
        texts = (
            '"tests" failed',
            "done without a check",
            "smtp: 535",
            "test_dst_gap",
            "failed at",
            "a job that",
            "its checks",
        )
        rows = [line for line in lines(pilot.app)[3:] if line[3:4] in tuple("?✗✓!□")]
        found = {row.index(text) for row in rows for text in texts if text in row}
        assert len(found) == 1, rows


@pytest.mark.parametrize("size", SIZES)
async def test_the_line_below_the_title_counts_the_rows_of_the_digest(
    plan: Plan, report: Callable[..., None], make_app: MakeApp, size: tuple[int, int]
) -> None:
    report(plan[5], "passed")
    report(plan[6])
    async with opened(make_app(plan.path), size) as pilot:
        await press(pilot.app, pilot, "D")
        assert {row.line.part for row in pilot.app.screen.listed.rows} == {
            "needs_you", "failed", "not_proven", "proven"
        }  # fmt: skip
        assert not re.search("[?✗□✓]", lines(pilot.app)[0])
        counts = counts_line(pilot.app) if size[0] >= 60 else lines(pilot.app)[1]
        assert re.match(r" +\? 2( questions)? +▲ 0( stuck or gone)? +✗ 1 ", counts)
        assert re.search("□ 3 unproven   ✓ 1 proven" if size[0] >= 60 else "□ 3  ✓ 1 proven", counts)


@pytest.mark.parametrize("size", SIZES)
async def test_the_digest_says_which_job_is_slow_and_what_has_changed_in_the_words_above_a_pane(
    evening: Plan, make_app: MakeApp, size: tuple[int, int]
) -> None:
    async with opened(make_app(evening.path), size) as pilot:
        above = "\n".join(lines(pilot.app)[:6])
        await press(pilot.app, pilot, "D")
        if size[0] == 40:
            assert "• ✗ #3 ? #4 #7 ◐ S1, +3 ─" in shown(pilot.app)
            return
        assert "◐ S1 slow" in counts_line(pilot.app)
        assert "✓ 1 ok again" in counts_line(pilot.app) and "✓ 2 done" in counts_line(pilot.app), "none falls off"
        assert ("2 questions" in counts_line(pilot.app)) is (size[0] >= 120)
        (changes,) = [
            line for line in lines(pilot.app) if line.startswith(" • unseen") and "failed #3, asked #4 #7" in line
        ]
        assert "✗ 2 failed" in above and "✗ 2 failed" in counts_line(pilot.app)
        assert not counts_line(pilot.app).startswith("─") and changes


async def test_the_digest_names_the_agent_that_is_gone_and_the_job_that_is_late_as_the_panes_do(
    plan: Plan, jobs: None, make_app: MakeApp
) -> None:
    with Store(plan.path) as store:
        store.commit(NoteStuck("claude-1", "failure", "the same failure 3 times", NOW), actor="system", now=NOW)
    async with opened(make_app(plan.path), (140, 40)) as pilot:
        above, _, _ = counts_line(pilot.app).partition("   • unseen since")
        assert "▲ claude-1 stuck" in above and "! S3 late" in above
        await press(pilot.app, pilot, "D")
        assert counts_line(pilot.app).lstrip().startswith(above.lstrip())


async def test_the_digest_lists_the_agent_that_is_gone_before_failures_as_the_inbox_does(
    plan: Plan, make_app: MakeApp
) -> None:
    kill_after_its_lease(plan, "codex-9", plan[8])
    async with opened(make_app(plan.path)) as pilot:
        await press(pilot.app, pilot, "D")
        looks = [(line.part, line.is_gone, line.state) for line in (row.line for row in pilot.app.screen.listed.rows)]
        assert looks.index(("failed", True, "claim_lapsed")) < looks.index(("failed", False, "failed"))
        assert looks[0][0] == "needs_you"


async def test_a_row_of_several_tasks_counts_as_that_many(make_app: MakeApp, plan: Plan) -> None:
    async with opened(make_app(plan.path)) as pilot:
        drawing = DigestRows(pilot.app.context)
        lines_ = [
            DigestLine("not_proven", "unchecked", "", "31 tasks", "", "", NOW, count=31),
            DigestLine("filed", "filed", "a", "12 tasks", "planner", "", NOW, count=12),
            DigestLine("filed", "filed", "b", "Fix it", "planner", "", NOW),
            DigestLine("failed", "run", "c", "Digest mail", "", "", NOW, count=7, state="failed"),
        ]
        needs = [Need(Kind.JOBS, "job:c", "failed")]
        text = " ".join(part for group in drawing.counts(needs, lines_, 120) for part, _ in group.parts)
    assert "31 done" in text and "13 filed" in text and "1 failed" in text


async def test_d_shows_eight_hours_at_the_least_to_whoever_looked_a_moment_ago(plan: Plan, make_app: MakeApp) -> None:
    with Store(plan.path) as store:
        local_values.put(
            store.db, local_values.LOOKED, {"seq": store.db.scalar("SELECT max(seq) FROM journal"), "at": NOW}
        )
    async with opened(make_app(plan.path)) as pilot:
        await press(pilot.app, pilot, "D")
        assert lines(pilot.app)[0].startswith(" Digest   last 8 hours, since 12:15 ")
        assert "test_dst_gap: expected 02:30" in shown(pilot.app)


@pytest.mark.usefixtures("holding_threads")
async def test_many_entries_are_read_in_a_thread_and_keys_are_handled_meanwhile(
    plan: Plan, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, digest = threading.Event(), digest_screen.digest

    def waiting(*given: Any) -> Any:
        assert goes_on.wait(DEADLINE)
        return digest(*given)

    monkeypatch.setattr(digest_screen, "_MANY", 0)
    monkeypatch.setattr(digest_screen, "digest", waiting)
    async with opened(make_app(plan.path)) as pilot:
        await pilot.press("D")
        await until(pilot, lambda: "Reading the journal" in shown(pilot.app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, DigestScreen))
        await pilot.press("D")
        await until(pilot, lambda: "Reading the journal" in shown(pilot.app))
        goes_on.set()
        await until(pilot, lambda: "test_dst_gap: expected 02:30" in shown(pilot.app))


async def test_enter_opens_the_entries_behind_a_line_and_shows_one_in_the_log(plan: Plan, make_app: MakeApp) -> None:
    for _ in range(2):
        for status in ("pending", "failed"):
            by_agent(plan, "claude-2", EditTask(plan[3], {"status": status}))
    async with opened(make_app(plan.path)) as pilot:
        await press(pilot.app, pilot, "D", "j", "j")
        screen = pilot.app.screen
        assert isinstance(screen, DigestScreen)
        assert screen.window.row.line.count == 3
        await press(pilot.app, pilot, "enter", "j", "j", "j")
        assert screen.window.row.entry is not None
        seq = screen.window.row.entry.seq
        await press(pilot.app, pilot, "enter")
        assert pilot.app.navigation.pane_name == "log"
        assert pilot.app.pane.row_list.row.seq == seq


async def test_whoever_comes_back_after_half_an_hour_is_shown_what_happened_meanwhile(plan: Plan) -> None:
    time = [NOW]
    app = TaskApp(DatabaseLink(plan.path, read_only=False, clock=lambda: time[0]), zone=ZONE)

    async def away(minutes: int) -> Any:
        app.app_focus = False
        time[0] += minutes * MINUTE
        app.app_focus = True
        await pilot.pause()
        return app.screen

    async with opened(app) as pilot:
        assert not isinstance(await away(40), DigestScreen), "nothing has happened"
        app.app_focus = False
        by_agent(plan, "claude-1", AddTask("Meanwhile", plan.list_uid), now=time[0] + MINUTE)
        await until(pilot, lambda: "Meanwhile" in shown(app))
        assert not isinstance(await away(29), DigestScreen)
        app.app_focus = False
        time[0] += MINUTE
        by_agent(plan, "claude-1", AddTask("A second", plan.list_uid), now=time[0] + MINUTE)
        await until(pilot, lambda: "A second" in shown(app))
        time[0] += 30 * MINUTE
        app.app_focus = True
        await pilot.pause()
        assert isinstance(app.screen, DigestScreen)
        assert "A second" in shown(app)
        assert "Meanwhile" not in shown(app)


async def test_each_line_of_the_digest_has_the_word_of_its_part(evening: Plan, make_app: MakeApp) -> None:
    async with opened(make_app(evening.path)) as pilot:
        await press(pilot.app, pilot, "D")
        told = [f"{line[3]} {line[9:19].strip()}" for line in lines(pilot.app)[4:] if line[3:4] in tuple("?✗✓!")]
        assert told == [*["? asks"] * 2, *["✗ failed"] * 2, "! late", "✓ ok again", "✓ done"]


async def test_a_job_that_is_ok_again_does_not_count_as_failed(evening: Plan, make_app: MakeApp) -> None:
    async with opened(make_app(evening.path)) as pilot:
        await press(pilot.app, pilot, "D")
        (row,) = (line for line in lines(pilot.app)[1:] if "Server status" in line)
        assert row.split()[2:4] == ["ok", "again"] and row.split()[-1] == "45m"
        assert "failed at 19:15 (no answer), ok since 19:30" in row
        assert counts_line(pilot.app).startswith(
            " ? 2 questions   ▲ 0 stuck or gone   ✗ 2 failed   ◐ S1 slow: 41s, usually 9s   ! S3 late   ✓ 1 ok again "
        )


async def test_late_jobs_and_tasks_are_named_in_the_digest_and_enter_goes_there(
    evening: Plan, make_app: MakeApp
) -> None:
    with Store(evening.path) as store:
        store.commit(EditTask(evening[8], {"due": "2026-11-20"}), actor="human", now=NOW)
    async with opened(make_app(evening.path)) as pilot:
        await press(pilot.app, pilot, "D")
        job, task = (line for line in lines(pilot.app) if line[3:4] == "!" and line[9:13] == "late")
        assert "Restore test" in job and "no scheduler runs" in job and job.split()[-1] == "25m"
        assert (
            "! #8  late" in task
            and "Backup restore drill" in task
            and "due Fri 2026-11-20" in task
            and task.split()[-1] == "20h"
        )
        at = [row.line.part for row in pilot.app.screen.listed.rows].index("late")
        await press(pilot.app, pilot, *"j" * (at + 1), "enter")
        assert not isinstance(pilot.app.screen, DigestScreen)
        assert pilot.app.pane.row_list.row.uid == evening[8]


async def test_enter_on_a_late_job_puts_the_cursor_of_the_schedule_on_it(evening: Plan, make_app: MakeApp) -> None:
    async with opened(make_app(evening.path)) as pilot:
        await press(pilot.app, pilot, "4", "G", "slash", *"mail", "enter", "D")
        at = [row.line.part for row in pilot.app.screen.listed.rows].index("late")
        await press(pilot.app, pilot, *"j" * at, "enter")
        assert pilot.app.pane.NAME == "schedule"
        assert pilot.app.pane.line.job.name == "Restore test"


async def test_a_job_has_its_number_and_failures_come_in_the_order_of_the_inbox(plan, jobs, make_app):
    app = make_app(plan.path)
    async with opened(app, (120, 40)) as pilot:
        await press(app, pilot, "D")
        await until(pilot, lambda: "smtp: 535" in shown(app))
        failed = [line for line in lines(app) if re.match(".. ✗ .. +failed ", line)]
        assert "#3  failed" in failed[0] and "S4  failed" in failed[1]
        assert re.search(r"! S3  late +Restore test +due 19:50, no scheduler runs", shown(app))


async def test_what_is_new_in_the_digest_is_marked_until_it_was_seen(plan, jobs, make_app):
    app = make_app(plan.path)
    async with opened(app, (80, 24)) as pilot:
        await settle(pilot, "D")
        marked = [line for line in lines(app) if line[1:3] == "• " and line[5:6] == "#"]
        assert [re.search("#[0-9]", line)[0] for line in marked] == ["#4", "#7", "#3"]
        await settle(pilot, "full_stop")
        assert not any(line[1:3] == "• " and line[5:6] == "#" for line in lines(app))
