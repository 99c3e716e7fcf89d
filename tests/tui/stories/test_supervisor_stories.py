"""What a supervisor does at length, as it looks: answering, running and writing jobs, reading what a run prints."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from tests.tui.plan import Plan
from tests.tui.sessions import hook_waits, with_sessions
from tests.tui.stories.conftest import Draw
from tui_tasks.tui.app.task_app import TaskApp

MakeApp = Callable[..., TaskApp]


def at_each_size(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("picture", [f"{name}-{size}" for size in ("120x40", "80x24", "40x12")])


async def settled(pilot: Pilot[None]) -> None:
    """Let what is read a little later be read; a question that is open is not waited for."""
    for _ in range(5):
        await pilot.pause()


@at_each_size("asks-answered")
def test_an_answer_stays_on_screen_until_the_human_goes_on(
    evening: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    draw(make_app(evening.path), press=["a", "1"], run_before=settled)


@at_each_size("asks-denied")
def test_a_denial_asks_for_its_reason(evening: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    draw(make_app(evening.path), press=["a", "j", "x", *"keep", "space", *"it"], run_before=settled)


@at_each_size("runs")
def test_a_run_shows_what_it_prints(evening: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    opened = ["g", "enter", *["enter"] * picture.endswith("40x12")]
    draw(make_app(evening.path, pane="schedule"), press=opened, run_before=settled)


@at_each_size("job-form")
def test_the_form_of_a_job_shows_the_next_five_times(
    evening: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    draw(make_app(evening.path, pane="schedule"), press=["j", "e", "tab"], run_before=settled)


@at_each_size("many-agents")
def test_every_agent_has_a_line_the_worst_first(plan: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    with hook_waits(with_sessions(plan)):
        draw(make_app(plan.path), press=["A", "j", "j"], run_before=settled)


@at_each_size("permission")
def test_a_permission_shows_the_command_and_the_folder(plan: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    with hook_waits(with_sessions(plan)):
        draw(make_app(plan.path), press=["A", "j", "j", "a"], run_before=settled)
