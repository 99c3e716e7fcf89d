"""Tasks whose agent is gone in the inbox: each is listed once, and a key gives it back."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import cast

import pytest

from tests.tui.driving import SIZES, by_agent, counts_line, lines, said, settle, shown, until
from tests.tui.plan import MINUTE, NOW
from tui_tasks.cli.main import main
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.operations.asks import AnswerAsk, NoteStuck, OpenAsk
from tui_tasks.core.operations.tasks import ClaimTask, EditTask
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.agents import agent_views
from tui_tasks.core.read.agents.agent_states import LeftTask
from tui_tasks.core.read.digest import needs_you
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections
from tui_tasks.tui.inbox import row_sources
from tui_tasks.tui.inbox.inbox_lines import InboxItem
from tui_tasks.tui.inbox.inbox_screen import Inbox
from tui_tasks.tui.rows.row_painter import RowLook
from tui_tasks.tui.screens import place_pickers
from tui_tasks.tui.screens.digest_screen import DigestScreen


@pytest.fixture
def left(plan):
    with Store(plan.path) as store, store.db.transaction(write=True):
        connections.end(store.db, "claude-1", Process(), NOW)
    return plan[5]


def items(app):
    """The rows of the inbox that are no questions."""
    return [row for row in app.screen.listed.rows if isinstance(row, InboxItem)]


@pytest.mark.parametrize("size", SIZES)
async def test_a_task_whose_agent_is_gone_stands_in_the_inbox_once_and_a_key_gives_it_back(plan, left, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "a")
        assert [row.need.task for row in items(app)].count(left) == 1
        assert size[0] < 60 or "▲ claude-1 gone" in shown(app)
        await settle(pilot, "tab")
        assert app.screen.item.row.uid == left
        assert "#5 Ship auth flow" in shown(app) and "claude-1 is gone" in shown(app)
        assert "running tests" in shown(app)
        assert "Give back" in lines(app)[-1]
        await settle(pilot, "s")
        assert "Give back #5 “Ship auth flow”" in shown(app)
        await settle(pilot, "enter")
        task = task_queries.task(app.link.db, left)
        assert (task.status, task.agent) == ("pending", None)
        assert "#5" in said(app) and "is pending again" in said(app)
        await until(pilot, lambda: left not in {row.need.task for row in items(app)})


@pytest.mark.parametrize("size", SIZES)
async def test_an_agent_whose_left_task_is_dismissed_is_counted_nowhere_and_stands_back(plan, left, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "▲ claude-1" in shown(app))
        await settle(pilot, "a", "tab", "full_stop", "escape")
        assert "▲ claude-1" not in shown(app)
        assert "▲ 0 stuck or gone" in counts_line(app) if size[0] > 60 else "▲ 0" in lines(app)[0]
        await settle(pilot, "A")
        row = next(row for row in app.screen.listed.rows if row.name == "claude-1")
        look = RowLook(cursor=False, marked=False, focused=False, dragged=False, drop=False, width=size[0])
        assert ("▲", "$muted") in app.screen._rows.draw(row, look, 0)
        await settle(pilot, "u")
        assert ("▲", "$state-overdue") in app.screen._rows.draw(row, look, 0)


async def test_m_writes_to_the_agent_that_left_and_enter_shows_its_task(plan, left, make_app):
    by_agent(plan, "human", EditTask(left, {"status": "pending"}), now=NOW - 9 * MINUTE)
    by_agent(plan, "claude-1", ClaimTask("claude-1", 20 * MINUTE, left), now=NOW - 9 * MINUTE)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "tab")
        assert "claude-1 is gone: left now, the task changed 9m ago, its claim ends in 11m" in shown(app)
        await settle(pilot, "m", *"back?", "enter")
        assert "claude-1" in said(app)
        assert app.link.db.sql("SELECT agent, text FROM human_message").fetchall() == [("claude-1", "back?")]
        await settle(pilot, "enter")
        assert not isinstance(app.screen, Inbox)
        assert app.pane.target() == left


async def test_a_task_whose_agent_comes_back_leaves_the_inbox(plan, left, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a", "tab")
        with Store(plan.path) as store, store.db.transaction(write=True):
            connections.begin(store.db, "claude-1", Process(), NOW)
        await until(pilot, lambda: "is gone" not in shown(app))


@pytest.mark.parametrize("size", SIZES)
async def test_agents_counts_one_that_left_its_task_once_and_first(plan, left, make_app, size):
    app = make_app(plan.path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot, "A")
        assert "▲ claude-1 gone" in counts_line(app) or (size[0] < 60 and "? 2  ▲ 1  ✗ 1" in lines(app)[0])


async def test_an_agent_that_is_gone_is_not_paused_and_the_screen_says_what_refuses_it_later(plan, left, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert app.screen.agent_here() == "claude-1" and "P Pause" not in lines(app)[-1]
        await settle(pilot, "P")
        assert said(app).startswith("claude-1 is gone: nothing to pause.")
        assert "`tui-tasks agents pause claude-1`" in said(app)
        await settle(pilot, "escape")
        await settle(pilot, "A", "P", "D")
        await until(pilot, lambda: isinstance(app.screen, DigestScreen))


async def test_the_digest_lists_a_task_that_was_left(plan, left, make_app):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "D")
        needing = [row.line for row in app.screen.listed.rows if row.line.part == "needs_you"]
        assert [(line.task, line.who, line.text) for line in needing if line.kind == "left"] == [
            (left, "claude-1", "is gone")
        ]
        assert len(needing) == 3


async def test_a_task_that_was_left_with_a_question_counts_once(plan, left, make_app):
    with Store(plan.path) as store:
        store.commit(OpenAsk("merge now?", (), left), actor="claude-1", now=NOW)
        digest_lines = list(needs_you(store.db, {left: LeftTask("claude-1", NOW)}))
    assert [line.kind for line in digest_lines if line.task == left] == ["ask"]
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "A")
        assert counts_line(app).startswith(" ? 3 questions   ▲ claude-1 gone   ✗ 1 failed ")
        (every, *_) = place_pickers.entries(app.context, lambda name: None)
        assert [one.text for one in every.needs] == ["3 questions", "1 gone", "1 failed"]


async def test_a_question_of_an_agent_that_is_gone_says_so_and_enter_shows_its_task(plan, left, make_app):
    with Store(plan.path) as store:
        for ask in ask_queries.open_asks(store.db):
            store.commit(AnswerAsk(ask.uid, "yes"), actor="human", now=NOW)
        store.commit(OpenAsk("merge now?"), actor="claude-1", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        assert "#5 stands still: claude-1 is gone." in shown(app)
        await settle(pilot, "enter")
        assert not isinstance(app.screen, Inbox)
        assert app.pane.target() == left


async def test_an_agent_that_is_stuck_stands_in_the_inbox_until_it_goes_on(plan, make_app):
    with Store(plan.path) as store:
        for ask in ask_queries.open_asks(store.db):
            store.commit(AnswerAsk(ask.uid, "yes"), actor="human", now=NOW)
        store.commit(NoteStuck("claude-1", "failure", "the same failure 3 times: pytest", NOW), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot, "a")
        assert app.screen.item.kind == "stuck"
        assert "the same failure 3 times: pytest" in shown(app) and "#5 Ship auth flow" in shown(app)
        assert lines(app)[-1].startswith(" s Give back  m Message  P Pause  Enter Agents  . Dismiss")
        by_agent(plan, "system", NoteStuck("claude-1", None))
        await until(pilot, lambda: "the same failure" not in shown(app))
        assert {row.kind for row in items(app)} == {"task"}, "the one that has failed"


async def test_the_task_of_an_agent_that_is_stuck_says_so_in_its_row_and_is_given_back_in_the_inbox(plan, make_app):
    with Store(plan.path) as store:
        store.commit(NoteStuck("claude-1", "silent", "gives no sign of life", NOW), actor="system", now=NOW)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        (row,) = (line for line in lines(app) if "▲ #5  Ship auth flow" in line)
        assert "claude-1 stuck: gives …" in row and row.split()[-1] == "now"
        await settle(pilot, "2")
        assert "claude-1 stuck:" in shown(app)
        app.context.navigation.show_need(app.context, "stuck:claude-1")
        await settle(pilot, "s", "p")
        task = task_queries.task(app.link.db, plan[5])
        assert (task.status, task.agent) == ("pending", None)


def test_a_row_says_once_that_an_agent_is_at_work_on_its_task(plan):
    by_agent(plan, "robin", EditTask(plan[8], {"status": "in_progress"}))
    with Store(plan.path) as store:
        (robin,) = (one for one in agent_views.everyone(store.db, 0) if one.name == "robin")
    source = cast(row_sources.StuckAgents, SimpleNamespace(context=SimpleNamespace(db=None)))
    assert row_sources.StuckAgents.more(source, robin) == [("at work on Backup restore drill", "$muted")]


def test_the_shell_says_which_task_was_left(plan, left, capsys):
    assert main(["ls", "--db", plan.path]) == 0
    (row,) = (row for row in capsys.readouterr().out.splitlines() if "Ship auth flow" in row)
    assert row.startswith("#5 ▲") and re.search(r"\[Plan, claude-1 gone \d+[wy], ", row)
    assert main(["agents", "--db", plan.path, "--all"]) == 0
    (row,) = (row for row in capsys.readouterr().out.splitlines() if row.startswith("claude-1"))
    assert "left #5 in progress" in row
    assert main(["digest", "--since", "9000d", "--db", plan.path]) == 0
    assert "claude-1  #5 Ship auth flow: is gone" in capsys.readouterr().out
