"""What was proven, on the screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.checks import Checks
from tests.tui.driving import by_agent
from tests.tui.plan import Plan, at
from tests.tui.stories.conftest import Draw
from tests.tui.stories.test_stories import MakeApp, at_each_size, settled
from tui_tasks.core.operations.jobs import RequestChecks
from tui_tasks.core.operations.tasks import EditTask

FAILED = """tests/test_dates.py F.

E   AssertionError: assert '03:30' == '02:30'
FAILED tests/test_dates.py::test_dst_gap - assert '03:30' == '02:30'
1 failed, 21 passed in 1.12s
"""
OTHER = "tests/test_waf.py F.\n\nE   assert 403 == 200\n1 failed, 1 passed in 0.31s\n"


@pytest.fixture
def checked(plan: Plan, report: Callable[..., None], checks: Checks) -> Plan:
    """Tasks reported done: one proven, one stale, one failed, one unproven."""
    checks.commit(RequestChecks(plan[1]))
    checks.run("passed")
    checks.edit("another")
    report(plan[8], "passed", actor="watcher")
    report(plan[3], "failed", FAILED, actor="claude-2")
    return plan


@at_each_size("proof-list")
def test_the_list_tells_what_is_proven(checked: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    app = make_app(checked.path, list_name=checked.list_uid)
    draw(app, press=["j", "j"], run_before=settled)


@at_each_size("proof-board")
def test_the_board_tells_what_is_proven(checked: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    app = make_app(checked.path, list_name=checked.list_uid, pane="board")
    draw(app, run_before=settled)


@at_each_size("failed-checks")
def test_failed_checks_wait_with_who_which_and_what_was_said(
    checked: Plan, make_app: MakeApp, draw: Draw, picture: str, report: Callable[..., None]
) -> None:
    by_agent(checked, "claude-2", EditTask(checked[2], {"status": "in_progress"}), now=at(20, 14))
    report(checked[2], "failed", OTHER, actor="claude-2")
    draw(make_app(checked.path), press=["a", "tab"], run_before=settled)
