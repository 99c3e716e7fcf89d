"""Pictures of the work of agents, from its start to its merge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.driving import said, settle, shown, until
from tests.tui.plan import at
from tests.tui.work.reviewing import COMMITTED, begin
from tests.tui.work.test_work_screen import begun
from tests.work.repositories import git
from tui_tasks.core.agent_snapshots import Check
from tui_tasks.core.operations.sessions import RecordReport, SessionReport, TurnEnded
from tui_tasks.core.operations.tasks import AddTask, LogTask
from tui_tasks.core.operations.work import CountWork, WorkReady
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.store import Store
from tui_tasks.hooks import session_records
from tui_tasks.hooks.session_records import Source
from tui_tasks.tui.asks import answer_keys
from tui_tasks.tui.work import diff_lines, diff_side
from tui_tasks.tui.work.peek_screens import TranscriptScreen
from tui_tasks.work import agent_terminals, program_commands
from tui_tasks.work.accepting import Acceptance
from tui_tasks.work.git import merging

RECORDED = Path(__file__).parents[2] / "hooks" / "recorded" / "claude-2.1.330-edits.jsonl"
SIZES = ["120x40", "80x24", "40x12"]


BRANCH = "task/10-rotate-keys"
STARTED, RESTORED, READY = at(20, 4), at(20, 14), at(20, 15, 12)


@pytest.fixture
def plan(evening):
    """That evening, and one more task."""
    with Store(evening.path) as store:
        task = AddTask("Rotate keys", evening.list_uid, tags=("infra",), priority=2)
        (made,) = store.commit(task, actor="human", now=at(20, 2))
    evening.uids = [*evening.uids, made.uid]
    return evening


@pytest.fixture
def place(plan, keys_repository):
    """The repository of work on the task that waits to be reviewed."""
    place = keys_repository(BRANCH)
    work = begin(plan, 10, place, branch=BRANCH, program="opencode", now=STARTED)
    with Store(plan.path) as store:
        session = session_queries.find(store.db, work.agent).session
        report = SessionReport(work.program, session, (TurnEnded("Keys are rotated, tests pass."),), READY)
        store.commit(RecordReport(report, "", tasks=False), actor=work.agent, now=READY)
    return place


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(diff_side, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(
        diff_lines, "_ask", lambda source: [diff_lines.tokens(source.name, text) for text in source.texts]
    )


@pytest.mark.parametrize("name", [f"start-an-agent-{size}" for size in SIZES])
def test_the_form_that_starts_an_agent(plan, make_app, draw, name, monkeypatch):
    monkeypatch.setattr(program_commands, "is_installed", lambda settings, program: program == "claude")
    app = make_app(plan.path)

    async def ask(pilot):
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "W", *"drills", "tab")

    draw(app, run_before=ask)


@pytest.mark.parametrize("name", [f"work-to-review-{size}" for size in SIZES])
def test_an_agent_at_work_and_work_that_waits_to_be_merged(plan, make_app, draw, keys_repository, monkeypatch, name):
    monkeypatch.chdir(keys_repository(BRANCH).root)
    ready = begun(plan, 10, "opencode", STARTED, branch=BRANCH)
    working = begun(plan, 8, "gemini", STARTED, branch="task/8-backup-restore-drill")
    counts = {"ahead": 2, "behind": 0, "files": 2, "insertions": 7, "deletions": 1, "dirty": False}
    with Store(plan.path) as store:
        store.commit(CountWork(ready.uid, counts), WorkReady(ready.uid), actor="system", now=READY)
        store.commit(LogTask(plan[8], "the dump is restored, counting rows"), actor=working.agent, now=RESTORED)
    app = make_app(plan.path)

    async def go(pilot):
        app.context.navigation.go_to(plan[10])
        await settle(pilot)
        # What git says of the branch comes later than the row.
        await until(pilot, lambda: "Links" not in shown(app) or f"{BRANCH}  " in shown(app))

    draw(app, run_before=go)


@pytest.mark.parametrize("name", [f"review-of-work-{size}" for size in SIZES])
def test_a_comment_below_its_line(plan, place, make_app, draw, name):
    app = make_app(plan.path)

    async def comment(pilot):
        app.context.navigation.go_to(plan[10])
        await settle(pilot, "enter")
        await until(pilot, lambda: app.screen.reviewed.facts.review is not None)
        await settle(pilot, "enter")
        await until(pilot, lambda: "store.put" in shown(app))
        await settle(
            pilot, *"jjjjjj", "c", *(letter if letter != " " else "space" for letter in "what if put fails?"), "enter"
        )
        await until(pilot, lambda: "c: " in shown(app))

    draw(app, run_before=comment)


@pytest.mark.parametrize("name", [f"record-of-an-agent-{size}" for size in SIZES])
def test_an_agents_own_record(plan, make_app, draw, monkeypatch, name):
    work = begun(plan, 10, "opencode", STARTED)
    monkeypatch.setattr(session_records, "source", lambda db, agent: Source("claude", str(RECORDED)))
    app = make_app(plan.path)

    async def look(pilot):
        app.context.push(TranscriptScreen(app.context, work.agent))
        await until(pilot, lambda: "All done." in shown(app))

    draw(app, run_before=look)


def pictured(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", [f"{name}-{size}" for size in SIZES])


async def settled(pilot):
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@pictured("work-peek")
def test_space_shows_the_last_lines_of_an_agent(plan, make_app, draw, monkeypatch, name):
    work = begun(plan, 8, "gemini", STARTED, branch="task/8-backup-restore-drill", has_terminal=True)
    lines = [
        "> Work on task #8: Backup restore drill",
        "",
        "● Bash(make restore)",
        "  ⎿  42 rows restored",
        "● Writing.",
    ]
    monkeypatch.setattr(agent_terminals, "last_lines", lambda *_: lines)
    app = make_app(plan.path, list_name=plan.list_uid)

    async def look(pilot):
        await settle(pilot, "A")
        while app.screen.agent_here() != work.agent:
            await settle(pilot, "j")
        await settle(pilot, "space")
        await until(pilot, lambda: "42 rows" in shown(app))

    draw(app, run_before=look)


@pictured("work-checked")
def test_the_checks_on_exactly_the_tree_that_is_reviewed(plan, place, make_app, draw, monkeypatch, name):
    checks = (Check("tests", "passed", gate=True), Check("types", "unproven"))
    monkeypatch.setattr(Acceptance, "checks", lambda *_: checks)
    app = make_app(plan.path)

    async def look(pilot):
        app.context.navigation.go_to(plan[10])
        await settle(pilot, "enter")
        await until(pilot, lambda: app.screen.reviewed.facts.review is not None)
        await settle(pilot, "tab")
        await until(pilot, lambda: "store.put" in shown(app))
        await settled(pilot)

    draw(app, run_before=look)


@pictured("work-merged")
def test_work_that_is_merged_leaves_a_task_that_is_done(plan, place, make_app, draw, monkeypatch, name):
    monkeypatch.setattr(answer_keys, "READ_SECONDS", 0.0)
    # The picture has the id of the merge, which depends on its time and on who has merged.
    commit_tree, times = merging.commit_tree, dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), COMMITTED)
    ada = merging.Committer("Ada", "ada@example.org")
    monkeypatch.setattr(merging, "commit_tree", lambda *given: commit_tree(*given[:4], ada, times))
    git(place.root, "config", "user.name", "Ada")
    git(place.root, "config", "user.email", "ada@example.org")
    app = make_app(plan.path, list_name=plan.list_uid)

    async def accept(pilot):
        app.context.navigation.go_to(plan[10])
        await settle(pilot, "enter")
        await until(pilot, lambda: app.screen.reviewed.facts.review is not None)
        await settle(pilot, "y", "enter", "enter")
        await until(pilot, lambda: "Merged into main" in said(app))
        await settled(pilot)
        await until(pilot, lambda: "Links" not in shown(app) or "and removed" in shown(app))

    draw(app, run_before=accept)
