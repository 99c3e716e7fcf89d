"""What happened while the human was away, on the screen."""

from __future__ import annotations

from collections.abc import Callable

from tests.tui.driving import by_agent
from tests.tui.plan import Plan, at
from tests.tui.stories.conftest import Draw
from tests.tui.stories.test_stories import MakeApp, at_each_size, settled
from tui_tasks.core.operations.tasks import EditTask

FAILED = "FAILED tests/test_waf.py::test_rules - assert 403 == 200\n1 failed, 1 passed in 0.31s\n"


@at_each_size("digest")
def test_the_digest_tells_what_happened_while_the_human_was_away(
    plan: Plan, report: Callable[..., None], make_app: MakeApp, draw: Draw, picture: str
) -> None:
    report(plan[8], "passed", actor="watcher")
    # Nothing depends on this one: a task that is done, though a check of it has failed, holds up no other.
    by_agent(plan, "claude-2", EditTask(plan[2], {"status": "in_progress"}), now=at(20, 14))
    report(plan[2], "failed", FAILED, actor="claude-2")
    draw(make_app(plan.path, list_name=plan.list_uid), press=["D"], run_before=settled)
