"""What agents file, and why one of them is stuck, as it looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.evening import in_order
from tests.tui.plan import Plan, Step, at
from tests.tui.sessions import Sessions
from tests.tui.stories.conftest import Draw, with_scheduler
from tui_tasks.core.operations.asks import NoteStuck
from tui_tasks.core.operations.jobs import CreateJob
from tui_tasks.core.operations.tasks import AddTask, SetListReview
from tui_tasks.core.read.agents import stuck_signs
from tui_tasks.core.read.agents.stuck_causes import Thresholds, causes
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.store import Store
from tui_tasks.tui.app.task_app import TaskApp

MakeApp = Callable[..., TaskApp]


def at_each_size(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("picture", [f"{name}-{size}" for size in ("120x40", "80x24", "40x12")])


PYTEST = """pytest: 1 failed
E   AssertionError: assert 401 == 200
FAILED tests/test_token.py::test_expiry - assert 401 == 200
1 failed, 21 passed in 1.12s
"""
IDEAS = (
    (
        "claude-1",
        "Rewrite the session store in Rust",
        "Latency of 40 ms is too long for it.",
        at(19, 44),
        {"priority": 2},
    ),
    ("codex-1", "Delete the old cookie banner", "", at(19, 58, 40), {}),
    (
        "claude-2",
        "Rotate the signing keys",
        "Found in the audit: they are two years old.",
        at(20, 4),
        {"tags": ("infra",)},
    ),
)


@pytest.fixture
def filed(tmp_path: Path) -> Plan:
    """What three agents have filed in the plan; one of them gets nowhere."""
    return with_scheduler(in_order(tmp_path / "auth.db", _filed))


def _filed(plan: Plan) -> list[Step]:
    made: list[str] = []

    def file(actor: str, name: str, why: str, fields: dict[str, Any]) -> Callable[[Store, int], None]:
        def step(store: Store, now: int) -> None:
            task = AddTask(name, plan.list_uid, "Once the review is through.", **fields)
            made.append(store.commit(task, actor=actor, now=now, why={"thoughts": why} if why else None)[0].uid)

        return step

    def file_later(store: Store, now: int) -> None:
        later = AddTask("Load test the new store", plan.list_uid, depends_on=(made[0],))
        store.commit(later, actor="claude-1", now=now)

    def begin(store: Store, now: int) -> None:
        Sessions(store).begin("claude", "s", "Make the token tests pass", now, "/home/me/code/api", project="api")

    def fail(store: Store, now: int) -> None:
        Sessions(store).tell("claude", "s", "PostToolUseFailure", now, tool_name="Bash", tool_use_id="t", error=PYTEST)

    def note(store: Store, now: int) -> None:
        for name, cause in causes(stuck_signs.of_agents(store.db, now), now, Thresholds()).items():
            if cause.kind == "failure":
                store.commit(NoteStuck(name, cause.kind, cause.text, cause.since), actor="system", now=now)

    def review(store: Store, now: int) -> None:
        store.commit(SetListReview(plan.list_uid, True), actor="human", now=now)

    ideas = [(when, file(actor, name, why, fields)) for actor, name, why, when, fields in IDEAS]
    failures = [(at(20, minute), fail) for minute in (3, 8, 13)]
    later = [(at(20, 2), begin), *failures, (at(20, 12, 40), file_later), (at(20, 14, 42), note)]
    return [(at(19, 0), review), *ideas, *later]


async def settled(pilot: Pilot[None]) -> None:
    """Let what is read a little later be read."""
    for _ in range(5):
        await pilot.pause()


@at_each_size("review")
def test_what_agents_have_filed_waits_with_who_and_why(
    filed: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    draw(make_app(filed.path), press=["a", *["tab"] * 5], run_before=settled)


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
        store.commit(job, actor="codex-1", now=at(19, 58, 40), why=thoughts)
    draw(make_app(plan.path), press=["a", "G"], run_before=settled)
