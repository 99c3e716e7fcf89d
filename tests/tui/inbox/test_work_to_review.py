"""Work that waits for review: in the inbox, on the Now line, on the board, in the digest, and by the next key."""

from __future__ import annotations

import pytest

from tests.tui.driving import SIZES, below, lines, opened, said, settle, shown, task, until
from tests.tui.plan import NOW
from tests.tui.work.test_work_screen import begun
from tui_tasks.core.engine.database import Database
from tui_tasks.core.operations.jobs import RequestChecks
from tui_tasks.core.operations.sessions import EndSession
from tui_tasks.core.operations.tasks import AddTask, EditTask
from tui_tasks.core.operations.work import ConflictWork, CountWork, RunWork, StartWork, WorkReady
from tui_tasks.core.read.digest import needs_you
from tui_tasks.core.store import Store
from tui_tasks.tui.inbox.inbox_lines import InboxItem
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.inbox.row_sources import WorkFiles
from tui_tasks.tui.work.review_screen import ReviewScreen

COUNTS = {"ahead": 1, "behind": 0, "files": 3, "insertions": 41, "deletions": 7, "dirty": False}


@pytest.fixture
def ready(plan):
    """Work on #8 that its agent has set done."""
    work = begun(plan, 8)
    with Store(plan.path) as store:
        store.commit(CountWork(work.uid, COUNTS), actor="system", now=NOW)
        store.commit(EditTask(plan[8], {"status": "done"}), actor=work.agent, now=NOW)
        store.commit(WorkReady(work.uid, "Drilled."), actor="system", now=NOW)
    return work


@pytest.mark.parametrize("size", SIZES)
async def test_work_that_is_ready_stands_in_the_inbox_and_enter_reviews_it(plan, ready, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a")
        assert isinstance(app.screen, Inbox)
        while app.screen.item is None or app.screen.item.kind != "work":
            await settle(pilot, "tab")
        assert "3 files +41 -7" in shown(app) and '"Drilled."' in shown(app)
        assert "Enter Review" in lines(app)[-1]
        await settle(pilot, "y")
        assert said(app) == "No question is under the cursor. Enter: review the work."
        await settle(pilot, "enter")
        assert isinstance(app.screen, ReviewScreen)


async def test_a_task_with_a_failed_check_and_work_to_review_has_one_row_from_where_enter_reviews(
    plan, ready, make_app, checks
):
    checks.commit(RequestChecks(plan[8]))
    checks.run("failed", exit_code=1, output="E   assert 401 == 200\n")
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "tab")
        needs = [line.need for line in app.screen.listed.rows if isinstance(line, InboxItem)]
        assert [need.word for need in needs if need.task == plan[8]] == ["check failed"]
        assert app.screen.item.row.uid == plan[8] and "Its work waits for review" in shown(app)
        await settle(pilot, "s", "p")
        assert "waits for review: x there discards it" in said(app)
        await settle(pilot, "enter")
        assert said(app).endswith("What you typed was dropped."), "Enter may end words typed after the refusal"
        await settle(pilot, "enter")
        assert isinstance(app.screen, ReviewScreen)


async def test_a_task_whose_work_waits_for_review_is_not_set_pending(plan, ready, make_app):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        app.pane.row_list.move_to(plan[8])
        await settle(pilot, "s", "p")
        assert "The work on #8 waits for review: x there discards it" in said(app)
        await settle(pilot, "escape")
        assert task(app, plan[8]).status == "done"


async def test_files_that_are_read_after_the_inbox_was_left_draw_nothing(plan, ready, make_app, monkeypatch):
    come = []
    init = WorkFiles.__init__
    monkeypatch.setattr(WorkFiles, "__init__", lambda *given: (come.append(given[-1]), init(*given))[1])
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        await settle(pilot, "escape")
        assert not isinstance(app.screen, Inbox)
        come[0]()


async def test_a_task_that_is_set_done_before_its_work_is_merged_says_so(plan, make_app):
    work = begun(plan, 8)
    with Store(plan.path) as store:
        store.commit(WorkReady(work.uid, "Drilled."), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.navigation.go_to(plan[8])
        await settle(pilot, "s", "d")
        waits = "Not merged: #8 waits for your review."
        await until(pilot, lambda: said(app) == f"“Backup restore drill”: done. {waits} u undoes it.")
        await settle(pilot, "u", "v", "k", "v", "s", "d")
        await until(pilot, lambda: said(app) == f"1 task: done. {waits} u undoes it.")


@pytest.mark.parametrize("size", SIZES)
async def test_the_now_line_counts_work_to_review(plan, ready, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        assert ("⇡ #8 to review" if size[0] > 40 else "⇡ 1") in shown(app)


async def test_work_whose_task_is_done_waits_on_the_board_and_is_not_done_there(plan, ready, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        head = next(line for line in lines(app) if "Needs you" in line)
        assert "Needs you 2  ⇡ 1" in head and "Done 2" in head
        column = [line.split("│")[2] for line in lines(app) if line.count("│") == 4]
        assert any("#8 " in line and "Backup restore" in line for line in column)
        assert any("⇡" in line for line in column)


async def test_the_board_counts_it_by_a_filter_too(plan, ready, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "slash", *"drill")
        await until(pilot, lambda: "Needs you 0  ⇡ 1" in shown(app))
        head = next(line for line in lines(app) if "Needs you" in line)
        assert "Done 0" in head


async def test_a_list_shows_it_as_to_be_reviewed_though_its_agent_has_set_it_done(plan, ready, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        (row,) = [line for line in below(app) if "Backup restore drill" in line and "⇡" in line]
        assert "3 files +41 -7" in row


async def test_rows_say_that_it_conflicts_with_its_base(plan, ready, make_app):
    why = "conflicts with main: a.py"
    with Store(plan.path) as store:
        store.commit(CountWork(ready.uid, {"ahead": 1, "behind": 1, "near": why}), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert sum(why in line for line in lines(app)) == 2, "above the panes and in the list"
        await settle(pilot, "a")
        assert why in shown(app)
        await settle(pilot, "escape", "A")
        assert why in shown(app)


async def test_a_hundred_works_cost_the_inbox_no_query_each(plan, make_app, monkeypatch):
    with Store(plan.path) as store:
        tasks = store.commit(*(AddTask(f"Step {at}", plan.list_uid) for at in range(100)), actor="human", now=NOW)
        starts = (
            StartWork(task.uid, "claude", "/r", f"/r/{task.id}", branch=f"b{task.id}", base="main", base_commit="c")
            for task in tasks
        )
        for work in store.commit(*starts, actor="human", now=NOW):
            steps = RunWork(work.uid), WorkReady(work.uid, "Done."), CountWork(work.uid, COUNTS)
            store.commit(*steps, actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        asked = []
        for name in ("sql", "one"):
            real = getattr(Database, name)
            monkeypatch.setattr(
                Database, name, lambda *given, real=real, **more: (asked.append(given[1]), real(*given, **more))[1]
            )
        app.screen._lines.read()
        app.state.works.read()
        assert len(asked) < 60, "for the rows, and for what stands in their way"
        assert set(app.state.works.reviewable.values()) == {"3 files +41 -7"}


async def test_agents_has_a_gap_between_what_it_conflicts_with_and_its_task(plan, ready, make_app):
    why = f"conflicts with main: {'long/' * 12}a.py"
    with Store(plan.path) as store:
        store.commit(CountWork(ready.uid, {"ahead": 1, "behind": 1, "near": why}), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "A")
        assert any("⇡ robot-1" in line and "  #8 Backup" in line for line in lines(app))


def test_the_digest_lists_it(plan, ready):
    with Store(plan.path) as store:
        (line,) = [line for line in needs_you(store.db, {}) if line.kind == "work"]
        assert (line.name, line.who, line.text) == (
            "Backup restore drill",
            ready.agent,
            "waits for your review: 3 files +41 -7",
        )
        assert line.entries
        store.commit(ConflictWork(ready.uid, ("a.txt",)), actor="system", now=NOW)
        (line,) = [line for line in needs_you(store.db, {}) if line.kind == "work"]
        assert line.text.startswith("conflicts with its base branch")


async def test_the_next_key_goes_to_it_too(plan, ready, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(5):
            await settle(pilot, "exclamation_mark")
            if app.pane.target() == plan[8]:
                break
        assert app.pane.target() == plan[8]


async def test_an_agent_that_is_gone_has_not_left_a_task_whose_work_is_to_be_reviewed(plan, make_app):
    work = begun(plan, 8)
    with Store(plan.path) as store:
        store.commit(
            CountWork(work.uid, COUNTS),
            WorkReady(work.uid),
            EndSession(work.agent, "it has ended"),
            actor="system",
            now=NOW,
        )
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert plan[8] not in app.state.left and "▲ 0 stuck or gone" in shown(app)
        (row,) = [line for line in below(app) if line[3:].startswith("⇡ #8")]
        assert "3 files +41 -7" in row
