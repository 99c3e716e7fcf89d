"""A question that names no task is about the task on which its agent was working when it asked."""

from __future__ import annotations

import re

import pytest

from tests.tui.boards import board_of, columns, status
from tests.tui.driving import by_agent, lines, said, settle, shown, until
from tests.tui.plan import NOW
from tui_tasks.cli.main import main
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk, OpenAsk
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.read.agents.agent_states import LeftTask
from tui_tasks.core.read.digest import needs_you
from tui_tasks.core.store import Store


@pytest.fixture
def ask(plan):
    """The agent of #5 asks, and names no task."""
    with Store(plan.path) as store:
        return store.commit(OpenAsk("may I drop the old table?", ("yes", "no")), actor="claude-1", now=NOW - 1)[0].uid


async def test_the_task_of_an_agent_that_asks_needs_you_in_its_row_and_on_the_board_until_the_answer(
    plan, ask, make_app
):
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        row = next(line for line in lines(app) if "Ship auth flow" in line)
        assert row.split("Ship")[0].split()[-3:] == ["•", "?", "#5"] and "may I drop" in row, row
        await settle(pilot, "2")
        assert "Ship auth flow" in columns(app)["Needs you"]
        assert "may I drop" in shown(app)
        by_agent(plan, "human", AnswerAsk(ask, "yes"))
        await until(pilot, lambda: "Ship auth flow" in columns(app)["In progress"])
        assert "Ship auth flow" not in columns(app)["Needs you"]


async def test_a_question_that_comes_while_the_board_is_shown_moves_its_agents_card(plan, make_app):
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert "Ship auth flow" in columns(app)["In progress"]
        by_agent(plan, "claude-1", OpenAsk("may I drop the old table?"))
        await until(pilot, lambda: "Ship auth flow" in columns(app)["Needs you"])
        assert "Ship auth flow" not in columns(app)["In progress"]


def test_the_shell_and_the_digest_say_it_as_well(plan, ask, capsys):
    assert main(["ls", "--db", plan.path]) == 0
    (row,) = (row for row in capsys.readouterr().out.splitlines() if "Ship auth flow" in row)
    assert row.startswith("#5 ?") and "claude-1 asks" in row
    with Store(plan.path) as store:
        (line,) = (line for line in needs_you(store.db, {plan[5]: LeftTask("claude-1", NOW)}) if line.task == plan[5])
    assert (line.kind, line.text) == ("ask", "asks you")


async def test_it_stays_with_its_task_when_its_agent_is_given_another_one(plan, ask, make_app):
    by_agent(plan, "human", EditTask(plan[6], {"agent": "claude-1"}))
    app = make_app(plan.path, pane="board")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        board_of(app).go_to(plan[6])
        await settle(pilot, "L")
        assert said(app) == "#6 starts before #5 is done."
        assert app.state.asked_about[ask] == plan[5]
        assert "Ship auth flow" in columns(app)["Needs you"]
        await until(pilot, lambda: status(app, plan[6]) == "in_progress")
        await settle(pilot, "H")
        assert status(app, plan[6]) == "pending"


async def test_one_asked_without_a_task_in_progress_stays_without_one(plan, make_app):
    (ask,) = by_agent(plan, "claude-3", OpenAsk("which order?"))
    by_agent(plan, "claude-3", EditTask(plan[8], {"status": "in_progress", "agent": "claude-3"}), now=NOW + 1)
    app = make_app(plan.path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert ask.uid not in app.state.asked_about and plan[8] not in app.state.asking


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_inbox_rows_above_and_log_name_the_task_asked_about_when_its_agent_has_taken_another(
    plan, ask, make_app, size
):
    by_agent(plan, "claude-1", EditTask(plan[5], {"status": "done"}))
    by_agent(plan, "claude-1", EditTask(plan[8], {"status": "in_progress", "agent": "claude-1"}))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        rows = [line for line in lines(app) if "may I drop" in line]
        assert len(rows) == 2 and all("#5" in row for row in rows), rows
        await settle(pilot, "a")
        app.screen.window.move_to(ask)
        await settle(pilot)
        assert [line for line in lines(app) if line.startswith(">• ? #5  may I drop")], shown(app)
        assert re.search("─ #5 Ship auth flow · claude-1 ─+ [?] asks .* · #8 keeps running ─", shown(app))


async def test_the_log_says_of_a_question_that_nobody_answered_which_it_was(plan, ask, make_app):
    by_agent(plan, "system", CloseAsk(ask, "withdrawn"))
    timed = by_agent(plan, "claude-3", OpenAsk("which order?"))[0].uid
    by_agent(plan, "system", CloseAsk(timed, "timeout"))
    app = make_app(plan.path, pane="log")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        closed = [" ".join(line.strip("> ▐").split()[1:]) for line in lines(app) if " close " in line]
        assert closed == [
            "x close system #5 Ship auth flow withdrawn: may I drop the old table?",
            "x close system no answer in time: which order?",
        ]
