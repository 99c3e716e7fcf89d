"""What happened while the human was away, on the screen."""

from __future__ import annotations

from collections.abc import Callable

from tests.tui.plan import Plan
from tests.tui.stories.conftest import Draw
from tests.tui.stories.test_stories import MakeApp, at_each_size, settled


@at_each_size("digest")
def test_the_digest_tells_what_happened_while_the_human_was_away(
    plan: Plan, report: Callable[..., None], make_app: MakeApp, draw: Draw, picture: str
) -> None:
    report(plan[8], "passed", actor="watcher")
    report(plan[5], "failed", "1 failed, 1 passed in 0.31s\n")
    draw(make_app(plan.path, list_name=plan.list_uid), press=["D"], run_before=settled)
