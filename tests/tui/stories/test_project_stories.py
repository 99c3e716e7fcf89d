"""Projects, on the screen."""

from __future__ import annotations

from tests.tui.driving import named
from tests.tui.plan import Plan
from tests.tui.sessions import three_projects
from tests.tui.stories.conftest import Draw
from tests.tui.stories.test_stories import MakeApp, at_each_size, settled


@at_each_size("projects")
def test_the_switcher_shows_every_project(plan: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    draw(make_app(three_projects(plan).path), press=[*named("projects"), "down"], run_before=settled)
