"""The runs of a job: what each printed, as it comes, and how it ended."""

import pytest

from tests.tui.driving import SIZES, by_agent, lines, opened, said, settle, shown, until
from tests.tui.plan import NOW
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.jobs import DeleteJob, EndRun, NoteRunAgent
from tui_tasks.core.read import job_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import run_output
from tui_tasks.tui.schedule import run_view
from tui_tasks.tui.schedule.run_rows import RunRows, readable
from tui_tasks.tui.schedule.run_view import RunView


@pytest.mark.parametrize("size", SIZES)
async def test_enter_shows_the_runs_and_what_one_of_them_printed(jobs, make_app, size):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "g", "enter")
        assert "running" in shown(app)
        assert RunRows(app.context).draw_empty(1, size[0]) == [("   Never run: r runs it.", "$muted")]
        if size[0] < 60:
            await settle(pilot, "enter")
        assert "64 bytes: time=0.4 ms" in shown(app)
        if size[0] >= 60:
            assert ">  ◐ running" in shown(app)
            await settle(pilot, "enter")
            assert ">◐ running 2" in shown(app), "the title of the output points at where keys go"
        await settle(pilot, "escape", "escape")
        assert not isinstance(app.screen, RunView)


async def test_output_comes_as_it_is_written_and_is_followed_until_one_scrolls(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "enter")
        output = b"".join(b"line %d\n" % number for number in range(100))
        total = app.screen.output.total
        with Store(jobs.plan.path) as store:
            run_output.write_output(store.db, jobs.running, [(total, output)], total + len(output))
        await until(pilot, lambda: "line 99" in shown(app))
        await settle(pilot, "pageup")
        assert "line 99" not in shown(app)
        more = b"the last one\n"
        total += len(output)
        with Store(jobs.plan.path) as store:
            run_output.write_output(store.db, jobs.running, [(total, more)], total + len(more))
        await until(pilot, lambda: app.screen.output.total == total + len(more))
        assert "the last one" not in shown(app)
        await settle(pilot, "f")
        assert "the last one" in shown(app)


async def test_a_job_is_run_now_from_its_runs_as_from_the_schedule(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "enter")
        before = len(list(job_queries.each_run(app.link.db, jobs[2], 100)))
        assert "r Run now" in lines(app)[-1]
        await settle(pilot, "r")
        assert said(app).startswith("Started S2 ") and said(app).endswith("; Enter shows its output.")
        assert len(list(job_queries.each_run(app.link.db, jobs[2], 100))) == before + 1
        await settle(pilot, "r")
        assert said(app).endswith("runs already: x ends that run.")
        by_agent(jobs.plan, "human", DeleteJob(jobs[2]))
        await until(pilot, lambda: "deleted" in lines(app)[0])
        await settle(pilot, "r")
        assert said(app) == "This job is deleted."


async def test_a_run_that_ends_says_how(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g", "enter")
        end = EndRun(jobs.running, "error", exit_code=3, result="the end", reason="no route to host")
        by_agent(jobs.plan, "system", end, now=NOW + 1_000_000)
        await until(pilot, lambda: "failed after 42s  exit 3" in shown(app))
        assert "failed 20:15 · no route to host" in shown(app)
        await settle(pilot, "x")
        assert "This run has ended." in shown(app)


@pytest.mark.parametrize("follows", [True, False], ids=["followed", "scrolled back"])
async def test_the_last_line_of_a_run_is_there_with_its_end(jobs, make_app, monkeypatch, follows):
    monkeypatch.setattr(run_view, "POLL", 3_600)
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "enter")
        total, output = app.screen.output.total, b"".join(b"line %d\n" % number for number in range(100))
        with Store(jobs.plan.path) as store:
            run_output.write_output(store.db, jobs.running, [(total, output)], total + len(output))
        app.screen._poll()
        await settle(pilot, *["pageup"] * (not follows))
        total += len(output)
        with Store(jobs.plan.path) as store:
            run_output.write_output(store.db, jobs.running, [(total, b"all clean\n")], total + 10)
        by_agent(jobs.plan, "system", EndRun(jobs.running, "success", exit_code=0), now=NOW + 1_000_000)
        await until(pilot, lambda: "ok" in shown(app).split("64 bytes")[0] and app.screen.run.state == "final")
        assert app.screen.output.text.endswith("line 99\nall clean\n")
        assert ("all clean" in shown(app)) == follows


async def test_the_schedule_tells_which_agent_a_run_has_started(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g")
        by_agent(jobs.plan, "system", NoteRunAgent(jobs.running, "claude-1", "s-1"), now=NOW)
        await until(pilot, lambda: ", by claude-1" in shown(app))


async def test_what_the_agent_of_a_run_has_used_stands_with_its_output(jobs, make_app):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "g", "enter")
        by_agent(jobs.plan, "system", NoteRunAgent(jobs.running, "claude-1", "s-1"), now=NOW)
        end = EndRun(jobs.running, "success", turns=12, tokens=34_000, cost_usd=0.42)
        by_agent(jobs.plan, "system", end, now=NOW + 1_000_000)
        await until(pilot, lambda: "12 turns  34k $0.42" in shown(app))


@pytest.mark.parametrize(("keys", "what"), [("enter", "The run"), ("", "The run of S1 Server status")])
async def test_a_run_is_ended_from_its_output_and_from_its_job_and_its_end_is_said(jobs, make_app, keys, what):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", *filter(None, [keys]), "x", "y")
        assert job_queries.run(app.link.db, jobs.running).stop_reason == "stopped by human"
        assert said(app) == f"{what} is being ended."
        by_agent(jobs.plan, "system", EndRun(jobs.running, "interrupted"), now=NOW + 1_000_000)
        await until(pilot, lambda: said(app) == f"{what} has ended.")


@pytest.mark.parametrize("size", SIZES)
async def test_what_needs_the_human_is_counted_above_the_output(jobs, make_app, size):
    app = make_app(jobs.plan.path, pane="schedule")
    async with opened(app, size) as pilot:
        await settle(pilot, "g", "enter")
        assert isinstance(app.screen, RunView) and lines(app)[0].startswith(" S1 Server status")
        by_agent(jobs.plan, "claude-1", OpenAsk("Which port?"))
        await until(pilot, lambda: "? 3" in "\n".join(lines(app)[:4]))


async def test_thousands_of_runs_are_gone_through_by_pages(jobs, make_app, monkeypatch):
    app = make_app(jobs.plan.path, pane="schedule")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot, "g", "j", "enter", "G")
        runs = list(job_queries.each_run(app.link.db, jobs[2], 100))
        assert app.screen.window.cursor == runs[-1].uid
        await settle(pilot, "g")
        assert app.screen.window.cursor == runs[0].uid


async def test_the_log_tells_a_run_that_went_well_from_one_that_failed(jobs, make_app):
    app = make_app(jobs.plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        lines = [line for line in shown(app).split("\n") if "Server status" in line]
        assert any("◷ run" in line and "runs ok, last 9s" in line for line in lines)
        assert any("✗ fail" in line and "no answer" in line for line in lines)
        assert not any("✗ fail" in line and "ok" in line.split() for line in lines)


def test_output_is_read_as_a_terminal_would_leave_it():
    assert readable("\x1b[31mred\x1b[0m\r\n10%\r20%\r\nend\r") == "red\n20%\nend"
    assert readable("\x1b]0;title\x07text") == "text"
