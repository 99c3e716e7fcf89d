"""Pictures of the work of agents, from its start to its merge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.driving import said, settle, shown, until
from tests.tui.plan import NOW
from tests.tui.work.reviewing import begin, keys_repository
from tests.tui.work.test_work_screen import begun
from tests.work.repositories import git
from tui_tasks.core.agent_snapshots import Check
from tui_tasks.core.operations.tasks import EditTask, LogTask
from tui_tasks.core.operations.work import CountWork, WorkReady
from tui_tasks.core.store import Store
from tui_tasks.hooks import transcript_view
from tui_tasks.hooks.transcript_view import Source
from tui_tasks.tui.agents import answering
from tui_tasks.tui.work import diff_lines, review_screen
from tui_tasks.tui.work.agent_screens import TranscriptScreen
from tui_tasks.work import starting
from tui_tasks.work.accepting import Acceptance

RECORDED = Path(__file__).parents[2] / "hooks" / "recorded" / "claude-2.1.330-edits.jsonl"
SIZES = ["120x40", "80x24", "40x12"]


def named_as_its_work(plan) -> None:
    """Let task 9 be the one that its branch is about."""
    with Store(plan.path) as store:
        store.commit(EditTask(plan[9], {"name": "Rotate keys"}), actor="human", now=NOW)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(review_screen, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(
        diff_lines, "_ask", lambda source: [diff_lines.tokens(source.name, text) for text in source.texts]
    )


@pytest.mark.parametrize("name", [f"start-an-agent-{size}" for size in SIZES])
def test_the_form_that_starts_an_agent(plan, make_app, draw, name):
    app = make_app(plan.path)

    async def ask(pilot):
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "W", "tab", "tab", *"drills")

    draw(app, run_before=ask)


@pytest.mark.parametrize("name", [f"work-to-review-{size}" for size in SIZES])
def test_an_agent_at_work_and_work_that_waits_to_be_merged(plan, make_app, draw, name):
    ready, working = begun(plan, 9), begun(plan, 8)
    counts = {"ahead": 1, "behind": 0, "files": 3, "insertions": 41, "deletions": 7, "dirty": False}
    named_as_its_work(plan)
    with Store(plan.path) as store:
        store.commit(CountWork(ready.uid, counts), WorkReady(ready.uid), actor="system", now=NOW)
        store.commit(LogTask(plan[8], "the dump is restored, counting rows"), actor=working.agent, now=NOW)
    app = make_app(plan.path)

    async def go(pilot):
        app.context.navigation.go_to(plan[9])
        await settle(pilot)

    draw(app, run_before=go)


@pytest.mark.parametrize("name", [f"review-of-work-{size}" for size in SIZES])
def test_a_comment_below_its_line(plan, make_app, tmp_path, draw, name):
    named_as_its_work(plan)
    begin(plan, 9, keys_repository(tmp_path / "git"), branch="task/9-rotate-keys")
    app = make_app(plan.path)

    async def comment(pilot):
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "enter")
        await until(pilot, lambda: app.screen.review is not None)
        await settle(pilot, "enter")
        await until(pilot, lambda: "store.put" in shown(app))
        await settle(
            pilot, *"jjjjjj", "c", *(letter if letter != " " else "space" for letter in "what if put fails?"), "enter"
        )
        await until(pilot, lambda: "c: " in shown(app))

    draw(app, run_before=comment)


@pytest.mark.parametrize("name", [f"record-of-an-agent-{size}" for size in SIZES])
def test_an_agents_own_record(plan, make_app, draw, monkeypatch, name):
    begun(plan, 9)
    monkeypatch.setattr(transcript_view, "source", lambda db, agent: Source("claude", str(RECORDED)))
    app = make_app(plan.path)

    async def look(pilot):
        app.context.push(TranscriptScreen(app.context, "robot-1"))
        await until(pilot, lambda: "All done." in shown(app))

    draw(app, run_before=look)


def pictured(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", [f"{name}-{size}" for size in SIZES])


async def settled(pilot):
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@pictured("work-peek")
def test_space_shows_the_last_lines_of_an_agent(plan, make_app, draw, monkeypatch, name):
    work = begun(plan, 8, has_terminal=True)
    lines = [
        "> Work on task #8: Backup restore drill",
        "",
        "● Bash(make restore)",
        "  ⎿  42 rows restored",
        "● Writing.",
    ]
    monkeypatch.setattr(starting, "last_lines", lambda *_: lines)
    app = make_app(plan.path, list_name=plan.list_uid)

    async def look(pilot):
        await settle(pilot, "A")
        while app.screen.agent_here() != work.agent:
            await settle(pilot, "j")
        await settle(pilot, "space")
        await until(pilot, lambda: "42 rows" in shown(app))

    draw(app, run_before=look)


@pictured("work-checked")
def test_the_checks_on_exactly_the_tree_that_is_reviewed(plan, make_app, tmp_path, draw, monkeypatch, name):
    named_as_its_work(plan)
    begin(plan, 9, keys_repository(tmp_path / "git"), branch="task/9-rotate-keys")
    checks = (Check("tests", "passed", gate=True), Check("types", "unproven"))
    monkeypatch.setattr(Acceptance, "checks", lambda *_: checks)
    app = make_app(plan.path)

    async def look(pilot):
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "enter")
        await until(pilot, lambda: app.screen.review is not None)
        await settle(pilot, "tab")
        await until(pilot, lambda: "store.put" in shown(app))
        await settled(pilot)

    draw(app, run_before=look)


@pictured("work-merged")
def test_work_that_is_merged_leaves_a_task_that_is_done(plan, make_app, tmp_path, draw, monkeypatch, name):
    monkeypatch.setattr(answering, "READ_SECONDS", 0.0)
    place = keys_repository(tmp_path / "git")
    git(place.root, "config", "user.name", "Ada")
    git(place.root, "config", "user.email", "ada@example.org")
    named_as_its_work(plan)
    begin(plan, 9, place, branch="task/9-rotate-keys")
    app = make_app(plan.path, list_name=plan.list_uid)

    async def accept(pilot):
        app.context.navigation.go_to(plan[9])
        await settle(pilot, "enter")
        await until(pilot, lambda: app.screen.review is not None)
        await settle(pilot, "y", "enter")
        await until(pilot, lambda: "Merged into main" in said(app))
        await settled(pilot)

    draw(app, run_before=accept)
