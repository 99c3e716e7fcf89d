"""The Now line and what agents have changed: failures of jobs, who waits, names, what was deleted."""

from __future__ import annotations

import pytest

from tests.tui.driving import lines, opened, press, until
from tests.tui.plan import NOW, Plan
from tui_tasks.core.journal import journal
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.changes import TakeBack
from tui_tasks.core.operations.jobs import CreateJob, FinishRun, RunJob
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask
from tui_tasks.core.read.jobs import job_queries
from tui_tasks.core.store import Store
from tui_tasks.text import safe


def fail_a_job(plan: Plan, name: str) -> None:
    with Store(plan.path) as store:
        [job] = store.commit(
            CreateJob(name=name, type="adhoc", system_prompt="", prompt="go", timezone="UTC"),
            actor="claude-1",
            now=NOW,
        )
        store.commit(RunJob(job.uid), actor="human", now=NOW)
        [run] = job_queries.open_runs(store.db, job.uid)
        store.commit(FinishRun(run.uid, "error", "no paper"), actor="claude-1", now=NOW)


async def test_a_job_that_has_failed_reaches_the_now_line(app, plan):
    async with opened(app) as pilot:
        assert "✗ 1 failed  " in lines(app)[1] + "  "
        fail_a_job(plan, "nightly")
        await until(pilot, lambda: "✗ 1 failed, 1 job" in lines(app)[1])


async def test_the_only_thing_that_has_failed_is_named_and_a_click_goes_there(app, plan, agent):
    agent(EditTask(plan[3], {"status": "done"}))
    fail_a_job(plan, "nightly")
    async with opened(app) as pilot:
        line = lines(app)[1]
        assert "✗ nightly failed" in line
        await pilot.click("NowLine", offset=(line.index("nightly"), 0))
        assert app.navigation.pane_name == "schedule"


async def test_where_there_is_no_room_failed_tasks_and_jobs_are_counted_together(app, plan):
    fail_a_job(plan, "nightly")
    async with opened(app, (40, 12)):
        assert "✗ 2" in lines(app)[0]


async def test_an_agent_that_waits_for_an_answer_about_its_task_is_not_shown_at_work(app, plan, agent):
    async with opened(app) as pilot:
        assert "◐ claude-1  #5" in lines(app)[1]
        agent(OpenAsk("Which port?", (), plan[5]))
        await until(pilot, lambda: "? waits  claude-1  #5" in lines(app)[1])


async def test_what_agents_have_deleted_is_told_beside_what_they_have_changed(app, plan, agent):
    async with opened(app) as pilot:
        assert "• 4 changed since 19:58" in lines(app)[3]
        [made] = agent(AddTask("made and gone", plan.list_uid))
        agent(DeleteTask(made.uid))
        agent(DeleteTask(plan[9]))
        await until(pilot, lambda: "• 4 changed, 1 deleted since 19:58" in lines(app)[3])
        with Store(plan.path) as store:
            store.commit(TakeBack((journal.newest(store.db),)), actor="human", now=NOW)
        await until(pilot, lambda: "• 4 changed since 19:58" in lines(app)[3])
        agent(DeleteTask(plan[9]))
        await until(pilot, lambda: "1 deleted" in lines(app)[3])
        await press(app, pilot, "full_stop")
        assert "deleted" not in lines(app)[3]


@pytest.mark.parametrize("cells", range(1, 24))
def test_names_that_differ_at_their_ends_are_never_cut_alike_where_that_can_be_seen(cells: int) -> None:
    shown = {safe.fit_ends(name, cells) for name in ("reviewer-alpha1", "reviewer-alpha2")}
    assert {safe.cell_len(name) for name in shown} == {cells}
    assert len(shown) == (2 if cells >= 6 else 1)
