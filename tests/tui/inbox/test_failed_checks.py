"""Tasks with a failed check in the inbox: the check, its output, and the keys that act on the task."""

from __future__ import annotations

import pytest

from tests.tui.driving import (
    SIZES,
    above,
    below,
    by_agent,
    counts_line,
    lines,
    opened,
    press,
    said,
    settle,
    shown,
    until,
    write,
)
from tests.tui.plan import NOW
from tui_tasks.core.operations.jobs import NamedCheck, RequestChecks
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read import check_queries as read_checks
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store

OUTPUT = "tests/test_auth.py F.\n\nE   assert 401 == 200\n1 failed, 1 passed in 0.31s\n"


@pytest.fixture
def failed(plan, report) -> str:
    report(plan[6], "failed", OUTPUT)
    return plan[6]


async def open_failed(pilot) -> None:
    """There are questions in the plan: failed checks stand below them."""
    await settle(pilot, "a", "tab")
    assert pilot.app.screen.item.kind == "failed"


async def test_the_row_of_a_failed_check_is_its_cause_and_its_detail_has_the_output(plan, failed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_failed(pilot)
        row = next(at for at, line in enumerate(lines(app)) if "tests failed: assert 401 == 200" in line)
        assert lines(app)[row + 1][5:].startswith("#3 "), "the next row"
        detail = app.screen.sources["failed"].lines(app.screen.item.row, 80, True)
        parts = {text.strip(): style for line in detail for text, style in line}
        assert parts["E   assert 401 == 200"] == "$state-failed"
        assert parts["1 failed, 1 passed in 0.31s"] == "$muted"


@pytest.mark.parametrize("size", SIZES)
async def test_a_failed_check_is_told_with_who_which_how_and_the_last_lines(plan, failed, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await open_failed(pilot)
        text = " ".join(shown(app).split())
        for part in (
            task_queries.task(app.link.db, failed).name[:12],
            "claude-1 reported it done",
            "exit 1",
        ):
            assert part in text, part
        await settle(pilot, "pagedown")
        assert "1 failed, 1 passed" in shown(app)


NAMED = (
    "E   AssertionError: no\nFAILED tests/test_auth.py::test_login - assert 401 == 200\n1 failed, 1 passed in 0.31s\n"
)


async def test_the_failed_test_that_an_output_names_is_the_reason_on_every_screen(plan, report, make_app):
    report(plan[5], "failed", NAMED)
    reason = "test_login: assert 401 == 200"
    app = make_app(plan.path, list_name=plan.list_uid)
    async with opened(app, (120, 40)) as pilot:
        (above_,) = (line for line in above(app).splitlines() if line.startswith(" • ✗ #5 "))
        (row,) = (line for line in below(app) if line[5:7] == "#5")
        assert f"Ship auth flow: tests failed: {reason} " in above_ and f"  tests failed: {reason}" in row
        await press(app, pilot, "a")
        assert f"Ship auth flow: tests failed: {reason}" in shown(app)
        await press(app, pilot, "tab")
        (place,) = (at for at, line in enumerate(below(app)) if line.startswith("   tests/test_auth.py::test_login"))
        assert below(app)[place + 1].strip() == "assert 401 == 200"
        await press(app, pilot, "escape", "D")
        (row,) = (line for line in below(app) if line.startswith(" • ✗ #5  check failed "))
        assert f'  Ship auth flow              "tests" failed: {reason} ' in row


async def test_tab_goes_from_one_kind_to_the_next_and_round(plan, failed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        assert "? 2 questions" in counts_line(app) and "✗ 2 failed" in counts_line(app)
        assert app.screen.ask is not None
        await settle(pilot, "tab")
        assert app.screen.item.row.uid == failed
        await settle(pilot, "tab")
        assert app.screen.item.row.uid == plan[3], "the task that has failed"
        await settle(pilot, "tab")
        assert app.screen.ask is not None


async def test_a_row_whose_checks_run_again_stays_until_they_have_ended(plan, failed, make_app, checks):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_failed(pilot)
        await settle(pilot, "r")
        assert [run.requested_by for run in checks.waiting()] == ["human"]
        assert app.screen.item.row.uid == failed and "tests runs again" in shown(app)
        assert "◐ runs again ─" in shown(app), "its age is that of the failure"
        assert "r Run again" not in lines(app)[-1] and "s Done anyway" in lines(app)[-1]
        checks.run("failed", output="AssertionError: no")
        app.link.catch_up()
        await settle(pilot)
        assert app.screen.item.row.uid == failed and "tests failed: AssertionError: no." in said(app)
        await settle(pilot, "r")
        checks.run()
        app.link.catch_up()
        await settle(pilot)
        assert "tests passed." in said(app)
        assert app.screen.item.kind == "task", "the one that has failed"


async def test_m_writes_to_the_agent_that_reported_it(plan, failed, make_app, checks):
    checks.commit(RequestChecks(failed))
    checks.store.commit(RequestChecks(failed), actor="human", now=NOW)
    checks.run("failed")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_failed(pilot)
        await settle(pilot, "m")
        await write(pilot, "run them first")
        await settle(pilot, "enter")
        assert "Sent to claude-1" in said(app)
        sent = app.link.db.sql("SELECT agent, text FROM human_message").fetchall()
        assert sent == [("claude-1", "run them first")]


async def test_enter_shows_the_task_in_its_list(plan, failed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_failed(pilot)
        await settle(pilot, "enter")
        assert app.context.navigation.pane.target() == failed


async def test_s_lets_it_be_done_all_the_same_and_what_is_verified_stays_failed(plan, failed, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_failed(pilot)
        await settle(pilot, "s", "d")
        assert "is done, though its check failed" in said(app)
        assert app.screen.item.kind == "task", "the one that has failed"
        assert not app.context.state.failing_checks
        await settle(pilot, "escape")
        app.context.navigation.go_to(failed)
        await settle(pilot)
        assert "✗ tests failed" in shown(app)


async def test_s_sets_done_what_a_gate_keeps_from_it(plan, make_app, checks):
    checks.define(NamedCheck("tests", "1", lists=(plan.list_uid,), gate=True))
    checks.store.commit(RequestChecks(plan[5]), actor="claude-1", now=NOW)
    checks.run("failed", output=OUTPUT)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_failed(pilot)
        assert "claude-1 is kept from setting it done" in " ".join(shown(app).split())
        await settle(pilot, "s", "d")
        assert task_queries.task(app.link.db, plan[5]).status == "done"
        assert read_checks.failing(app.link.db, 9) == []


async def test_nothing_of_an_agents_moves_the_cursor_or_is_drawn_as_markup(plan, make_app, report):
    report(plan[5], "failed", "[bold]\x1b[2J[/nope]\n")
    report(plan[6], "failed", "second")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_failed(pilot)
        assert "[bold]␛[2J[/nope]" in shown(app)
        await settle(pilot, "down")
        here = app.screen.item.row.uid
        report(plan[7], "failed", "third")
        app.link.catch_up()
        await settle(pilot)
        assert app.screen.item.row.uid == here


async def test_a_read_only_screen_shows_them_and_changes_nothing(plan, failed, make_app):
    app = make_app(plan.path, read_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_failed(pilot)
        await settle(pilot, "s", "r")
        assert "read only" in said(app)
        assert [*app.context.state.failing_checks] == [failed]


async def test_an_agent_that_renames_a_task_again_and_again_keeps_nobody_from_its_status(
    plan, failed, make_app, seconds
):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await open_failed(pilot)
        await settle(pilot, "j", "k")
        for number in range(6):
            seconds[0] += 0.3
            by_agent(plan, "claude-1", EditTask(failed, {"name": f"Name {number}"}))
            await until(pilot, lambda number=number: f"Name {number}" in shown(app))
        await settle(pilot, "s")
        assert "Status of “Name 5”" in shown(app)


INVISIBLE = "<U+FEFF><U+2060>"


@pytest.mark.parametrize("size", SIZES)
async def test_a_name_of_invisible_characters_is_spelled_out_in_the_row_and_the_rule_of_a_failure(
    plan, report, make_app, size
):
    with Store(plan.path) as store:
        store.commit(EditTask(plan[6], {"name": "\ufeff\u2060"}), actor="human", now=NOW)
    report(plan[6], "failed", OUTPUT)
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await open_failed(pilot)
        item = app.screen.item
        assert item.title == f"{INVISIBLE}: tests failed: assert 401 == 200"
        assert f"#6 {INVISIBLE}" in shown(app)
