"""Calling the human to a terminal that has no focus: what for, how often, and with what text."""

from __future__ import annotations

import contextlib
import sys

import pytest
from textual import events

from tests.started import DEADLINE
from tests.tui.driving import opened, said, until
from tests.tui.plan import NOW
from tui_tasks.core.job_snapshots import ON_TIME
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.jobs import CreateJob, FinishRun, NoteRunAgent, RequestChecks, RunJob
from tui_tasks.core.operations.tasks import EditTask, LogTask
from tui_tasks.core.read.overview import Alert
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.settings.config import Config
from tui_tasks.tui.app import notifier
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.state.database_link import DatabaseLink


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(notifier, "GATHER", 0.02)
    monkeypatch.delenv("TMUX", raising=False)


@pytest.fixture
def calls(monkeypatch):
    """What goes to the terminal: `bell`, and the sequences."""
    sent = []
    monkeypatch.setattr(TaskApp, "bell", lambda app: sent.append("bell"))
    monkeypatch.setattr(notifier, "write_to_terminal", lambda app, sequence: sent.append(sequence))
    return sent


@pytest.fixture
def agent(plan):
    with Store(plan.path) as store:
        yield lambda *operations, actor="claude-1": store.commit(*operations, actor=actor, now=NOW)


def job_named(name, kind="adhoc", **more):
    return CreateJob(name, kind, "", "Do it.", timezone="UTC", **more)


async def blur(app, pilot):
    app.post_message(events.AppBlur())
    await pilot.pause()


@contextlib.asynccontextmanager
async def unattended(app):
    """The app on a terminal that somebody has turned away from."""
    async with opened(app) as pilot:
        await blur(app, pilot)
        yield pilot


async def commit(app, pilot, agent, *operations, **options):
    """Have an agent write, and the screen take it in."""
    made = agent(*operations, **options)
    app.link.catch_up()
    await pilot.pause()
    return made


async def test_a_question_rings_and_notifies_while_the_terminal_has_no_focus(plan, make_app, calls, agent):
    app = make_app(plan.path)
    async with unattended(app) as pilot:
        await commit(app, pilot, agent, OpenAsk("Ship it now?", ("yes",), plan[5]))
        await until(pilot, lambda: calls)
    assert calls == ["bell", "\x1b]9;tui-tasks: claude-1 asks: Ship it now?\x1b\\"]


@pytest.mark.parametrize("wanted", [False, True])
async def test_a_read_only_screen_calls_only_where_a_setting_says_so(plan, make_app, calls, agent, wanted):
    watching = make_app(plan.path, read_only=True, config=Config(bell=False, notify_read_only=wanted))
    async with unattended(watching) as pilot:
        await commit(watching, pilot, agent, OpenAsk("Ship it now?"))
        if wanted:
            await until(pilot, lambda: calls)
        # Without any, nothing waits to call later.
        assert (watching.focus_tracking._notifier is not None) is wanted
    assert calls == (["\x1b]9;tui-tasks: claude-1 asks: Ship it now?\x1b\\"] if wanted else [])


async def test_with_the_focus_nothing_is_heard(plan, make_app, calls, agent):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await commit(app, pilot, agent, OpenAsk("Before?"))
        await blur(app, pilot)
        app.post_message(events.AppFocus())
        await commit(app, pilot, agent, OpenAsk("After?"))
        await blur(app, pilot)
        await commit(app, pilot, agent, OpenAsk("Meanwhile?"))
        await until(pilot, lambda: calls)
    assert calls == ["bell", "\x1b]9;tui-tasks: claude-1 asks: Meanwhile?\x1b\\"]


async def test_what_is_gathered_is_forgotten_once_the_human_is_back(plan, make_app, calls, agent, monkeypatch):
    monkeypatch.setattr(notifier, "GATHER", 3600)
    app = make_app(plan.path)
    async with unattended(app) as pilot:
        await commit(app, pilot, agent, OpenAsk("Seen by now?"))
        await pilot.press("j")
        monkeypatch.setattr(notifier, "GATHER", 0.02)
        await blur(app, pilot)
        await commit(app, pilot, agent, OpenAsk("New?"))
        await until(pilot, lambda: calls)
    assert calls[1:] == ["\x1b]9;tui-tasks: claude-1 asks: New?\x1b\\"]


async def test_what_needs_nobody_is_not_told(plan, make_app, calls, agent):
    app = make_app(plan.path)
    async with unattended(app) as pilot:
        done = EditTask(plan[5], {"status": "done"})
        await commit(app, pilot, agent, LogTask(plan[5], "nearly there"), done, LogTask(plan[3], "failed as before"))
        await commit(app, pilot, agent, EditTask(plan[3], {"name": "It failed before"}))
        await commit(app, pilot, agent, EditTask(plan[8], {"status": "failed"}), actor="human")
        await commit(app, pilot, agent, OpenAsk("At last?"))
        await until(pilot, lambda: calls)
    assert calls == ["bell", "\x1b]9;tui-tasks: claude-1 asks: At last?\x1b\\"]


async def test_a_failed_task_and_a_failed_run_are_told(plan, make_app, calls, agent, monkeypatch):
    monkeypatch.setattr(notifier, "HOLD", 0.02)
    app = make_app(plan.path)
    async with unattended(app) as pilot:
        await commit(app, pilot, agent, EditTask(plan[5], {"status": "failed"}))
        await until(pilot, lambda: len(calls) == 2)
        (job,) = await commit(app, pilot, agent, job_named("Digest mail"))
        (run,) = await commit(app, pilot, agent, RunJob(job.uid), actor="human")
        await commit(app, pilot, agent, FinishRun(run.uid, "error", "535"))
        await until(pilot, lambda: len(calls) == 4)
    assert calls[1] == "\x1b]9;tui-tasks: failed: Ship auth flow\x1b\\"
    assert calls[3] == "\x1b]9;tui-tasks: job failed: Digest mail\x1b\\"


async def test_a_run_in_which_the_task_of_its_agent_failed_is_told_once_with_the_task(plan, make_app, calls, agent):
    app = make_app(plan.path)
    async with unattended(app) as pilot:
        (job,) = await commit(app, pilot, agent, job_named("Nightly audit"))
        (run,) = await commit(app, pilot, agent, RunJob(job.uid), actor="human")
        await commit(app, pilot, agent, NoteRunAgent(run.uid, "claude-1", "s-1"), actor="system")
        failed = EditTask(plan[5], {"status": "failed"})
        await commit(app, pilot, agent, failed, FinishRun(run.uid, "error", "exit 1"))
        await until(pilot, lambda: calls)
    assert calls == ["bell", "\x1b]9;tui-tasks: failed: Ship auth flow\x1b\\"]


async def test_a_failed_check_is_told_where_the_task_was_reported_done(plan, make_app, calls, report, checks):
    app = make_app(plan.path)
    async with unattended(app) as pilot:
        checks.store.commit(RequestChecks(plan[6]), actor="claude-1", now=NOW)
        checks.run("failed")
        app.link.catch_up()
        report(plan[5], "failed")
        app.link.catch_up()
        await until(pilot, lambda: calls)
        name = task_queries.task(app.link.db, plan[5]).name
    assert calls == ["bell", f"\x1b]9;tui-tasks: check failed: tests of {name}\x1b\\"]


async def test_a_job_that_becomes_overdue_is_told_once(plan, calls, agent):
    clock = [NOW]
    job = job_named("Drill", "planned", plan=("2026-11-21T19:15:43",))
    agent(job)
    app = TaskApp(DatabaseLink(plan.path, read_only=False, clock=lambda: clock[0]))
    async with unattended(app) as pilot:
        await commit(app, pilot, agent, job_named("Other"))
        clock[0] += 1_000_000 + ON_TIME
        await commit(app, pilot, agent, job_named("Third"))
        await until(pilot, lambda: calls)
        await commit(app, pilot, agent, job_named("Fourth"))
        assert app.focus_tracking._notifier._found == []
    assert calls == ["bell", "\x1b]9;tui-tasks: late: Drill\x1b\\"]


async def test_a_burst_is_one_call_and_what_follows_at_once_another(plan, make_app, calls, agent, monkeypatch):
    monkeypatch.setattr(notifier, "HOLD", 0.5)
    app = make_app(plan.path)
    async with unattended(app) as pilot:
        fail = [EditTask(plan[number], {"status": "failed"}) for number in (4, 5, 7)]
        await commit(app, pilot, agent, *fail, OpenAsk("What now?"))
        await until(pilot, lambda: calls)
        for noisy in range(12):
            agent(*(OpenAsk(f"Number {50 * noisy + each}?") for each in range(50)), actor=f"noisy-{noisy}")
        app.link.catch_up()
        await until(pilot, lambda: len(calls) > 2)
    assert calls[:2] == ["bell", "\x1b]9;tui-tasks: claude-1 asks: What now? (and 3 more)\x1b\\"]
    assert calls[2:] == ["bell", "\x1b]9;tui-tasks: noisy-0 asks: Number 0? (and 599 more)\x1b\\"]


async def test_settings_say_how(plan, make_app, calls, agent):
    app = make_app(plan.path, config=Config(bell=False, notify="osc777"))
    async with unattended(app) as pilot:
        await commit(app, pilot, agent, OpenAsk("One; two?"))
        await until(pilot, lambda: calls)
    assert calls == ["\x1b]777;notify;tui-tasks;tui-tasks: claude-1 asks: One, two?\x1b\\"]
    assert notifier.sequence("x", "off", tmux=True) == ""


def test_for_tmux_every_escape_is_doubled():
    assert notifier.sequence("x", "osc9", tmux=True) == "\x1bPtmux;\x1b\x1b]9;x\x1b\x1b\\\x1b\\"


@pytest.mark.parametrize("letters", ["\x1b", "\x07", "\x9c", "\x9d", "\x00", "\n", "\u202e", "\x1b\\", "\ud800"])
def test_no_letter_of_an_agents_ends_a_sequence_or_begins_one(letters):
    text = notifier.summary([Alert("ask", f"cla{letters}ude", f"{letters}]52;c;aGk={letters}")])
    assert text.isprintable()
    assert text.startswith("tui-tasks: ")
    assert notifier.sequence(text, "osc9", tmux=False)[4:-2].isprintable()


async def test_the_humans_program_gets_the_text_as_one_argument_and_no_shell(plan, make_app, agent, tmp_path, calls):
    out = tmp_path / "told"
    program = (sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write(repr(sys.argv[2:]))", str(out))
    app = make_app(plan.path, config=Config(bell=False, notify="off", notify_command=list(program)))
    async with unattended(app) as pilot:
        await commit(app, pilot, agent, OpenAsk("$(touch /tmp/x); `id` 'quoted' --help?"))
        await until(pilot, lambda: out.exists() and out.read_text())
    assert out.read_text() == repr(["tui-tasks: claude-1 asks: $(touch /tmp/x); `id` 'quoted' --help?"])


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["/no/such/program"], "No such file or directory"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "it ended with status 3"),
        ([sys.executable, "-c", "import time; time.sleep(3600)"], "it was not done after 0.2 s, and was ended"),
    ],
)
async def test_a_program_that_fails_is_told_once_and_stops_nothing(
    plan, make_app, agent, calls, monkeypatch, command, why
):
    monkeypatch.setattr(notifier, "COMMAND_SECONDS", 0.2 if "sleep" in command[-1] else DEADLINE)
    monkeypatch.setattr(notifier, "HOLD", 0.02)
    app = make_app(plan.path, config=Config(notify_command=command))
    async with unattended(app) as pilot:
        await commit(app, pilot, agent, OpenAsk("One?"))
        await until(pilot, lambda: said(app))
        assert said(app) == f"notify_command {command[0]}: {why}"
        app.screen.query_one("FootLine").hush()
        await commit(app, pilot, agent, OpenAsk("Two?"))
        await until(pilot, lambda: len(calls) == 4)
        await app.workers.wait_for_complete()
        assert said(app) == ""


async def test_losing_the_focus_while_typing_loses_no_letter(plan, make_app, agent, calls):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await pilot.press("n", "a", "b")
        await blur(app, pilot)
        await commit(app, pilot, agent, OpenAsk("Now?"))
        await pilot.press("c", "enter")
        await app.workers.wait_for_complete()
        assert app.pane.row_list.row.name == "abc"
