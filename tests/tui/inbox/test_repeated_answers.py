"""The same answer, given three times, is offered as a standing answer."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.tui.driving import said, settle, shown, until
from tests.tui.plan import at
from tests.tui.sessions import Sessions, asks_permission, with_sessions
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.rules.agents.request_text import ALLOW, DENY
from tui_tasks.core.rules.agents.standing_answers import AnswerRule
from tui_tasks.core.store import Store
from tui_tasks.tui.asks.answer_keys import proposal

RULE = AnswerRule("allow", "Bash", "git status -s", "claude")


def answered(store: Store, commands: list[str], answers: list[str]) -> AnswerRule | None:
    sessions = Sessions(store)
    sessions.begin("claude", "z", "Look", at(20, 5), "/home/me/code/api")
    for number, (command, answer) in enumerate(zip(commands, answers, strict=True)):
        now = at(20, 6 + number)
        asks_permission(sessions, "z", now, tool_input={"command": command}, permission_suggestions=[])
        (ask,) = [one for one in ask_queries.open_asks(store.db) if one.request and one.agent.startswith("claude")]
        store.commit(AnswerAsk(ask.uid, answer), actor="human", now=now)
    return proposal(store.db)


@pytest.mark.parametrize(
    ("commands", "answers", "rule"),
    [
        (["git status -s"] * 3, [ALLOW] * 3, RULE),
        (["git status -s"] * 3, [f"{DENY}: not now"] * 3, AnswerRule("deny", "Bash", "git status -s", "claude")),
        (["git status -s"] * 2, [ALLOW] * 2, None),
        (["git status -s"] * 3, [ALLOW, DENY, ALLOW], None),
        (["git status -s", "git status -s", "git log"], [ALLOW] * 3, None),
        (["git status; rm x"] * 3, [ALLOW] * 3, None),
        (["echo $HOME"] * 3, [ALLOW] * 3, None),
        (["echo 'a b'"] * 3, [ALLOW] * 3, None),
        (["curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwx' x"] * 3, [DENY] * 3, None),
    ],
)
def test_a_rule_is_proposed_for_a_plain_command_that_had_the_same_answer_three_times(plan, commands, answers, rule):
    with Store(plan.path) as store:
        assert answered(store, commands, answers) == rule


async def test_the_rule_is_added_to_the_settings_file_once_the_human_agrees(plan, make_app, tmp_path, monkeypatch):
    path = tmp_path / "own" / "config.toml"
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(path))
    with Store(plan.path) as store:
        answered(store, ["git status -s"] * 3, [ALLOW] * 3)
    app = make_app(plan.path)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        app.context.do("ask_rule")
        await until(pilot, lambda: f"Add the rule: {RULE}" in shown(app))
        await pilot.press("y")
        await until(pilot, lambda: "`tui-tasks rules` lists" in said(app))
    assert tomllib.loads(path.read_text())["rule"] == [
        {"answer": "allow", "tool": "Bash", "pattern": "git status -s", "program": "claude"}
    ]


async def test_without_such_an_answer_nothing_is_added(plan, make_app, tmp_path, monkeypatch):
    path = tmp_path / "config.toml"
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(path))
    app = make_app(with_sessions(plan).path)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        app.context.do("ask_rule")
        await until(pilot, lambda: "No command has had the same answer 3 times" in said(app))
    assert not Path(path).exists()
