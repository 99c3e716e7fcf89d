"""What is opened from the board and from the log."""

from __future__ import annotations

from tests.tui.plan import Plan
from tests.tui.stories.conftest import Draw
from tests.tui.stories.test_stories import MakeApp, at_each_size, settled

ENTRIES_SINCE = 20
"""So many lines of the log are below the one that is opened."""


@at_each_size("log-entry")
def test_an_entry_of_the_log_is_opened_with_the_agents_reasons(
    evening: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    app = make_app(evening.path, list_name=evening.list_uid, pane="log")
    draw(app, press=["G", *["k"] * ENTRIES_SINCE, "enter"], run_before=settled)


@at_each_size("log-filter")
def test_the_log_is_narrowed_to_what_one_agent_has_asked_and_failed_at(
    evening: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    keys = [
        {" ": "space", "-": "minus", ":": "colon"}.get(letter, letter) for letter in "who:claude-2 kind:fail kind:ask"
    ]
    app = make_app(evening.path, list_name=evening.list_uid, pane="log")
    draw(app, press=["/", *keys], run_before=settled)


@at_each_size("board-card")
def test_a_card_of_the_board_is_opened_below_the_columns(
    evening: Plan, make_app: MakeApp, draw: Draw, picture: str
) -> None:
    app = make_app(evening.path, list_name=evening.list_uid, pane="board")
    draw(app, press=["enter"], run_before=settled)
