"""What is opened from the board and from the log."""

from __future__ import annotations

import pytest

from tests.tui.plan import NOW, Plan
from tests.tui.stories.conftest import Draw
from tests.tui.stories.test_stories import MakeApp, at_each_size, settled
from tui_tasks.core.operations.tasks import EditTask
from tui_tasks.core.store import Store

WHY = {
    "topic": "the merge window",
    "thoughts": ["The tests take twenty minutes.", "Once they pass, nothing else is in the way of the merge."],
    "reflection": "I should have asked which library before I began.",
}


@pytest.fixture
def reasoned(evening: Plan) -> Plan:
    """The evening, and an agent that says why it changed its task."""
    with Store(evening.path) as store:
        changes = {"priority": 1, "description": "JWT middleware and login.\nTests must pass before merge."}
        store.commit(EditTask(evening[5], changes), actor="claude-1", now=NOW - 1_000_000, why=WHY)
    return evening


@at_each_size("log-entry")
def test_an_entry_of_the_log_is_opened_with_the_agents_reasons(
    reasoned: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    app = make_app(reasoned.path, list_name=reasoned.list_uid, pane="log")
    draw(app, press=["G", "enter"], run_before=settled)


@at_each_size("log-filter")
def test_the_log_is_narrowed_to_what_one_agent_has_asked_and_failed_at(
    reasoned: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    keys = [
        {" ": "space", "-": "minus", ":": "colon"}.get(letter, letter) for letter in "who:claude-2 kind:fail kind:ask"
    ]
    app = make_app(reasoned.path, list_name=reasoned.list_uid, pane="log")
    draw(app, press=["/", *keys], run_before=settled)


@at_each_size("board-card")
def test_a_card_of_the_board_is_opened_below_the_columns(
    reasoned: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    app = make_app(reasoned.path, list_name=reasoned.list_uid, pane="board")
    draw(app, press=["enter"], run_before=settled)
