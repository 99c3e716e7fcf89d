"""Forms: what Enter, Tab and the foot do in each field, where a refused save goes, and what a draft compares."""

import pytest

from tests.tui.driving import by_agent, lines, opened, said, settle, shown, task, until
from tui_tasks.core.operations.jobs import EditJob
from tui_tasks.core.read import job_queries
from tui_tasks.tui.inputs.edit_conflicts import ConflictScreen
from tui_tasks.tui.inputs.task_form import EditScreen
from tui_tasks.tui.schedule.job_form import JobForm


async def test_enter_saves_in_every_field_of_one_line_of_the_form_of_a_task(app, plan):
    async with opened(app) as pilot:
        for tabs in (0, 1, 3, 4, 5):
            await settle(pilot, "e", "end", *f" {tabs}", *["tab"] * tabs)
            assert lines(app)[-1].startswith(" Enter Save  Tab Next field"), tabs
            await settle(pilot, "enter")
            assert not isinstance(app.screen, EditScreen), tabs
            assert task(app, plan[1]).name.endswith(f" {tabs}")
        assert task(app, plan[1]).name == "Inventory GA usage 0 1 3 4 5"


async def test_enter_is_a_new_line_in_a_field_of_several_lines_and_the_foot_says_what_saves(app, plan):
    async with opened(app) as pilot:
        await settle(pilot, "e", "down", "down", *"one", "enter", *"two")
        assert isinstance(app.screen, EditScreen)
        assert lines(app)[-1].startswith(" ^s Save  Enter New line  Tab Next field")
        await settle(pilot, "tab")
        assert lines(app)[-1].startswith(" Enter Save  Tab Next field")
        await settle(pilot, "shift+tab", "ctrl+s")
        assert task(app, plan[1]).description == "one\ntwo"


@pytest.mark.parametrize(
    ("keys", "field", "why"),
    [
        (("end", "ctrl+u"), "name", "a task needs a title"),
        (("tab", "end", *" junk", "tab"), "fields", "the fields hold"),
        (("tab", "end", *" after #99", "tab"), "fields", "there is no #99"),
        ((*["tab"] * 4, *"soon", "shift+tab"), "field-estimate", "estimate takes minutes"),
        ((*["tab"] * 3, *"whenever", "shift+tab"), "field-due", "due takes today"),
    ],
)
async def test_a_refused_save_stays_at_the_field_that_is_wrong_with_the_reason(app, plan, keys, field, why):
    async with opened(app) as pilot:
        await settle(pilot, "e", *keys, "ctrl+s")
        assert isinstance(app.screen, EditScreen)
        assert (app.focused.id, why in said(app)) == (field, True)


async def test_enter_saves_in_every_field_of_one_line_of_the_form_of_a_job(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        for number in range(5):
            await settle(pilot, "g", "e", "end", *str(number), *["tab"] * number)
            assert lines(app)[-1].startswith(" Enter Save  "), number
            await settle(pilot, "enter")
            assert not isinstance(app.screen, JobForm), number
        assert job_queries.job(app.link.db, jobs[1]).name == "Server status01234"
        await settle(pilot, "g", "e", *["tab"] * 5)
        assert lines(app)[-1].startswith(" ^s Save  Enter New line  Tab Next field")


@pytest.mark.parametrize(
    ("keys", "field", "why"),
    [
        (("end", "ctrl+u"), "name", "a job needs a name"),
        (("end", "ctrl+u", *"login AUDIT"), "name", "already"),
        (("tab", "end", "ctrl+u", *"0 99 * * *"), "times", "hour"),
        (("tab", "tab", "end", "ctrl+u", *"Mars/Olympus"), "timezone", "zone"),
        ((*["tab"] * 4, *" surprise=1", "tab"), "settings", "surprise"),
        ((*["tab"] * 4, *" retries=101", "tab"), "settings", "retries"),
    ],
)
async def test_a_refused_save_of_a_job_stays_at_the_field_that_is_wrong(jobs, make_app, keys, field, why):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g", "e", *keys, "ctrl+s")
        await until(pilot, lambda: why in said(app))
        assert isinstance(app.screen, JobForm) and app.focused.id == field


@pytest.mark.parametrize(("key", "kept"), [("m", "Mine"), ("t", "Theirs")])
async def test_a_draft_of_a_job_is_shown_beside_what_others_have_changed_since(jobs, make_app, key, kept):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g", "e", "end", "ctrl+u", *"Mine", "escape")
        by_agent(jobs.plan, "claude-1", EditJob(jobs[1], {"name": "Theirs", "prompt": "More"}))
        await until(pilot, lambda: "Theirs" in shown(app))
        await settle(pilot, "e")
        assert "changed meanwhile" in shown(app)
        await settle(pilot, "enter")
        assert isinstance(app.screen, ConflictScreen)
        await settle(pilot, key)
        await until(pilot, lambda: not isinstance(app.screen, (ConflictScreen, JobForm)))
        job = job_queries.job(app.link.db, jobs[1])
        assert (job.name, job.prompt) == (kept, "More")


async def test_a_draft_of_a_job_that_is_dropped_begins_on_the_newest_text(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g", "e", "end", "ctrl+u", *"Mine", "escape")
        by_agent(jobs.plan, "claude-1", EditJob(jobs[1], {"name": "Theirs"}))
        await until(pilot, lambda: "Theirs" in shown(app))
        await settle(pilot, "e", "ctrl+r")
        assert "meanwhile" not in shown(app)
        await settle(pilot, "end", *" too", "enter")
        assert job_queries.job(app.link.db, jobs[1]).name == "Theirs too"
