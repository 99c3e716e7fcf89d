"""What the screen tells of checks: what was proven, from what was only reported (docs: protocol, section 11)."""

from __future__ import annotations

import re

import pytest

from tests.tui.driving import named, opened, said, settle, shown, until
from tests.tui.plan import NOW
from tests.tui.proven import name_of
from tui_tasks.core.operations.jobs import GiveChecks, NamedCheck
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.tasks import task_queries


async def test_list_board_and_detail_tell_what_is_proven_from_what_is_reported(plan, make_app, report, checks):
    report(plan[5], "failed", "E   assert 1 == 2\n1 failed in 0.1s\n")
    report(plan[6])
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[5])
        await pilot.pause()
        assert "tests failed: assert 1 == 2" in shown(app)
        assert "□ unproven" in shown(app)
        drawn = next(row for row in app.pane.row_list._painter._drawn if row.key == plan[6])
        assert ("✓", "$muted") in drawn.lines[0], "the tick says no more than its checks"
        await pilot.press("enter")
        await until(pilot, lambda: "✗ tests  exit 1 · at commit c0ffee" in shown(app))
        assert "1 failed in 0.1s" in shown(app)
        await pilot.press("escape")
        await pilot.press("2")
        await pilot.pause()
        assert "tests failed: assert 1 == 2" in shown(app)


async def test_what_is_written_elsewhere_is_on_screen_at_once(plan, make_app, report, checks):
    report(plan[5])
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[5])
        run = checks.begin()
        app.context.link.catch_up()
        await pilot.pause()
        assert "◐ being checked" in shown(app)
        checks.end(run)
        app.context.link.catch_up()
        await pilot.pause()
        assert "✓ proven" in shown(app)
        checks.edit("another")
        app.context.link.catch_up()
        await pilot.pause()
        assert "~ stale" in shown(app)
        checks.define()
        app.context.link.catch_up()
        await pilot.pause()
        assert "stale" not in shown(app)


async def test_a_failed_check_needs_you_and_is_gone_to(plan, make_app, report):
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app) as pilot:
        before = len(app.context.state.asks)
        report(plan[5], "failed", "E   assert 401 == 200\n1 failed in 0.1s\n")
        app.context.link.catch_up()
        await pilot.pause()
        assert re.search(r"• ✗ #5  Ship auth flow +tests failed: .*claude-1 +now", shown(app)), "as above the list"
        assert re.search(r"✗ #5  Ship auth flow: tests failed: assert 401 == 200 +claude-1 +now\n", shown(app))
        app.context.navigation.go_to(plan[1])
        for _ in range(before + app.state.failed + 1):
            await settle(pilot, "exclamation_mark")
            if app.context.navigation.pane.row_list.row.uid == plan[5]:
                detail = shown(app).partition("─ #5 Ship auth flow")[2]
                assert "✗ check failed" in detail and re.search(r"✗ tests  exit 1.*\n +E   assert 401", detail)
                return
        pytest.fail(shown(app))


async def test_c_gives_takes_and_runs_the_checks_of_a_task(plan, make_app, checks):
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app) as pilot:
        app.context.navigation.go_to(plan[5])
        await settle(pilot, *named("checks"))
        assert "give lint" in shown(app)
        assert "take tests" in shown(app)
        await settle(pilot, "1")
        assert task_queries.task(app.context.link.db, plan[5]).checks == ("tests", "lint")
        await settle(pilot, "2")
        assert task_queries.task(app.context.link.db, plan[5]).checks == ("lint",)
        await settle(pilot, "l")
        assert task_queries.task(app.context.link.db, plan[5]).checks is None
        await settle(pilot, "r")
        assert "Its checks were started: the row shows how they end." in said(app)
        assert [run.requested_by for run in checks.waiting()] == ["human"]


async def test_without_a_check_in_the_configuration_c_says_where_they_are_named(app, plan):
    async with opened(app) as pilot:
        await settle(pilot, *named("checks"))
        assert "No check is configured" in said(app)


async def test_the_log_tells_how_checks_ended_and_what_was_passed_by(plan, make_app, report, checks):
    checks.define(NamedCheck("tests", "1", lists=(plan.list_uid, name_of(plan)), gate=True))
    checks.store.commit(EditTask(plan[5], {"status": "done"}), actor="human", now=NOW)
    checks.run("failed")
    app = make_app(plan.path, list_name=plan.list_uid, pane="log")
    async with opened(app) as pilot:
        await pilot.pause()
        assert 'check "tests": failed' in shown(app)
        assert "set done though tests had not passed" in shown(app)


async def test_the_stats_tell_what_was_proven_of_what_was_reported(plan, make_app, report):
    report(plan[5], "failed")
    report(plan[6], "passed")
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app) as pilot:
        await settle(pilot, "S")
        # Two more were done before anything checked them.
        assert "1 of 4 with checks" in shown(app)


async def test_the_stats_go_by_the_checks_that_a_task_has_now(plan, make_app, report, checks):
    report(plan[5], "passed")
    report(plan[6], "passed")
    report(plan[7], "passed")
    checks.store.commit(GiveChecks(plan[6], ()), actor="human", now=NOW)
    checks.store.commit(GiveChecks(plan[7], ("tests", "lint")), actor="human", now=NOW)
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app) as pilot:
        await settle(pilot, "S")
        assert "1 of 4 with checks" in shown(app)
