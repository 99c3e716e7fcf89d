"""What was proven, on the screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.checks import Checks
from tests.tui.plan import NOW, Plan
from tests.tui.stories.conftest import Draw
from tests.tui.stories.test_stories import MakeApp, at_each_size, settled
from tui_tasks.core.operations.jobs import GiveChecks


@pytest.fixture
def checked(plan: Plan, report: Callable[..., None], checks: Checks) -> Plan:
    """Tasks reported done: one proven, one stale, one failed, one unproven."""
    report(plan[6], "passed")
    checks.edit("another")
    report(plan[3], "passed")
    report(plan[5], "failed", "tests/test_auth.py F.\n\nE   assert 401 == 200\n1 failed, 1 passed in 0.31s\n")
    report(plan[7])
    checks.store.commit(GiveChecks(plan[7], ("tests", "lint")), actor="human", now=NOW)
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
    report(checked[8], "failed", "ruff: 3 errors\n")
    draw(make_app(checked.path), press=["a", "tab"], run_before=settled)
