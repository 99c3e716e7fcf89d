"""What was proven, on the screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.checks import Checks
from tests.tui.plan import Plan
from tests.tui.stories.conftest import Draw
from tests.tui.stories.test_stories import MakeApp, at_each_size, settled
from tui_tasks.core.operations.jobs import RequestChecks

FAILED = "tests/test_auth.py F.\n\nE   assert 401 == 200\n1 failed, 1 passed in 0.31s\n"
AGAIN = "tests/test_dates.py F.\n\nE   assert '03:30' == '02:30'\n1 failed, 21 passed in 1.12s\n"


@pytest.fixture
def checked(plan: Plan, report: Callable[..., None], checks: Checks) -> Plan:
    """Tasks reported done: one proven, one stale, one failed, one unproven."""
    checks.commit(RequestChecks(plan[1]))
    checks.run("passed")
    checks.edit("another")
    report(plan[8], "passed", actor="watcher")
    report(plan[5], "failed", FAILED)
    return plan


@at_each_size("proof-list")
def test_the_list_tells_what_is_proven(checked: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    app = make_app(checked.path, list_name=checked.list_uid)
    draw(app, press=["j", "j", "j", "j"], run_before=settled)


@at_each_size("proof-board")
def test_the_board_tells_what_is_proven(checked: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    app = make_app(checked.path, list_name=checked.list_uid, pane="board")
    draw(app, run_before=settled)


@at_each_size("failed-checks")
def test_failed_checks_wait_with_who_which_and_what_was_said(
    checked: Plan, make_app: MakeApp, draw: Draw, picture: str, report: Callable[..., None]
) -> None:
    report(checked[3], "failed", AGAIN, actor="claude-2")
    draw(make_app(checked.path), press=["a", "tab"], run_before=settled)
