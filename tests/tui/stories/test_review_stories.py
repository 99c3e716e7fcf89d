"""What agents file, and why one of them is stuck, as it looks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from tests.tui.plan import NOW, Plan, at
from tests.tui.stories.conftest import Draw
from tui_tasks.core.operations.asks import NoteStuck
from tui_tasks.core.operations.jobs import CreateJob
from tui_tasks.core.operations.tasks import AddTask, SetListReview
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.store import Store
from tui_tasks.tui.app.app import TaskApp

MakeApp = Callable[..., TaskApp]
MINUTE = 60_000_000


def at_each_size(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("picture", [f"{name}-{size}" for size in ("120x40", "80x24", "40x12")])


@pytest.fixture
def filed(plan: Plan) -> Plan:
    """What three agents have filed in the plan; one of them gets nowhere."""
    ideas = (
        ("claude-1", "Rewrite the session store in Rust", "Latency of 40 ms is too long for it.", 31, {"priority": 2}),
        (
            "claude-2",
            "Rotate the signing keys",
            "Found in the audit: they are two years old.",
            12,
            {"tags": ("infra",)},
        ),
        ("codex-1", "Delete the old cookie banner", "", 4, {}),
    )
    with Store(plan.path) as store:
        store.commit(SetListReview(plan.list_uid, True), actor="human", now=at(19, 0))
        first = ""
        for agent, name, why, ago, fields in ideas:
            task = AddTask(name, plan.list_uid, "Once the review is through.", **fields)
            thoughts = {"thoughts": why} if why else None
            (made,) = store.commit(task, actor=agent, now=NOW - ago * MINUTE, why=thoughts)
            first = first or made.uid
        later = AddTask("Load test the new store", plan.list_uid, depends_on=(first,))
        store.commit(later, actor="claude-1", now=NOW - 3 * MINUTE)
        stuck = NoteStuck("claude-1", "failure", "the same failure 3 times: pytest: 1 failed", at(20, 3))
        store.commit(stuck, actor="system", now=NOW - MINUTE)
    return plan


async def settled(pilot: Pilot[None]) -> None:
    """Let what is read a little later be read."""
    for _ in range(5):
        await pilot.pause()


@at_each_size("review")
def test_what_agents_have_filed_waits_with_who_and_why(
    filed: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    draw(make_app(filed.path), press=["a", "tab"], run_before=settled)


@at_each_size("stuck")
def test_an_agent_that_gets_nowhere_is_told_with_why(filed: Plan, make_app: MakeApp, draw: Draw, picture: str) -> None:
    draw(make_app(filed.path), press=["A"], run_before=settled)


@at_each_size("review-job")
def test_a_job_that_an_agent_has_made_waits_with_what_it_does_and_when(
    plan: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    with Store(plan.path) as store:
        store.review = lambda: ReviewPolicy(jobs=True)
        every_night = {"minute": "30", "hour": "2", "day": "*", "month": "*", "weekday": "*"}
        prompt = "Back up the database to /srv/backups, and tell how long it took."
        job = CreateJob("Nightly backup", "scheduled", "", prompt, "Europe/Berlin", schedule=every_night)
        thoughts = {"thoughts": "Nothing backs it up."}
        store.commit(job, actor="codex-1", now=NOW - 4 * MINUTE, why=thoughts)
    draw(make_app(plan.path), press=["a", "tab"], run_before=settled)
