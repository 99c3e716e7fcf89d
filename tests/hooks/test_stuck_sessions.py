"""Why a session of an agent program is stuck, from what its hooks tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import SECOND, Clock
from tests.hooks.playing import Player
from tui_tasks.core.read.agents import stuck_signs
from tui_tasks.core.read.agents.stuck_causes import Cause, Thresholds, causes
from tui_tasks.core.store import Store

LIMITS = Thresholds()


@pytest.fixture
def claude(store: Store, clock: Clock) -> Player:
    player = Player(store, clock, "claude")
    tell(player, "SessionStart", source="startup")
    tell(player, "UserPromptSubmit", prompt="Make the tests pass.")
    return player


def tell(player: Player, event: str, **fields: Any) -> None:
    player.play({"session_id": "s", "hook_event_name": event, **fields})


def runs(player: Player, tool: str, seconds: float, *, call: str = "c", error: str | None = None) -> None:
    """A tool runs for so long, and fails or not."""
    tell(player, "PreToolUse", tool_name=tool, tool_use_id=call, tool_input={"command": "x"})
    player.clock.forward(seconds)
    if error is None:
        tell(player, "PostToolUse", tool_name=tool, tool_use_id=call, tool_response={})
    else:
        tell(player, "PostToolUseFailure", tool_name=tool, tool_use_id=call, error=error)


def cause(player: Player) -> Cause | None:
    return causes(stuck_signs.of_agents(player.store.db, player.clock()), player.clock(), LIMITS).get("claude-1")


def test_a_tool_that_runs_ten_times_as_long_as_usual(claude: Player) -> None:
    for number in range(5):
        runs(claude, "Bash", 5, call=str(number))
    tell(claude, "PreToolUse", tool_name="Bash", tool_use_id="last", tool_input={"command": "x"})
    since = claude.clock()
    claude.clock.forward(59)
    assert cause(claude) is None
    claude.clock.forward(2)
    found = cause(claude)
    assert found is not None
    assert (found.kind, found.since, found.text) == ("tool", since, "Bash runs unusually long (usually 6 s)")
    tell(claude, "PostToolUse", tool_name="Bash", tool_use_id="last", tool_response={})
    assert cause(claude) is None


def test_a_tool_that_is_new_has_as_long_as_the_settings_say(claude: Player) -> None:
    tell(claude, "PreToolUse", tool_name="Bash", tool_use_id="c", tool_input={"command": "make"})
    claude.clock.forward(LIMITS.tool - 1)
    assert cause(claude) is None
    claude.clock.forward(1)
    assert (found := cause(claude)) is not None
    assert found.kind == "tool"


def test_the_same_failure_three_times_until_a_person_has_another_idea(claude: Player) -> None:
    for number in range(3):
        runs(claude, "Bash", 1, call=str(number), error=f"exit 1 after {number}.3s\nNo module named yaml")
    assert (found := cause(claude)) is not None
    assert (found.kind, found.text) == ("failure", "the same failure 3 times: Bash: exit 1 after 2.3s")
    tell(claude, "UserPromptSubmit", prompt="Install it.")
    assert cause(claude) is None


def test_one_whose_turn_is_over_is_never_stuck(claude: Player) -> None:
    tell(claude, "Stop", last_assistant_message="Done.")
    claude.clock.forward(86_400)
    assert cause(claude) is None


def test_one_in_its_turn_that_falls_silent(claude: Player) -> None:
    claude.clock.forward(LIMITS.silent)
    assert (found := cause(claude)) is not None
    assert found.kind == "silent"
    assert found.since == claude.clock() - LIMITS.silent * SECOND


def test_one_that_goes_on_by_itself_is_not_silent(claude: Player) -> None:
    claude.clock.forward(LIMITS.silent - 10)
    tell(claude, "UserPromptSubmit", prompt="<task-notification>x is done</task-notification>")
    since = claude.clock()
    claude.clock.forward(LIMITS.silent - 1)
    assert cause(claude) is None
    claude.clock.forward(1)
    assert (found := cause(claude)) is not None
    assert (found.kind, found.since) == ("silent", since)


def test_one_that_waits_for_a_permission(claude: Player) -> None:
    tell(claude, "PermissionRequest", tool_name="Bash", tool_input={"command": "rm -rf build"})
    assert claude.state()[0] == "waiting"
    claude.clock.forward(LIMITS.waiting)
    assert (found := cause(claude)) is not None
    assert found.kind == "human"


def test_one_that_has_ended_is_looked_at_no_more(claude: Player) -> None:
    tell(claude, "SessionEnd", reason="exit")
    claude.clock.forward(86_400)
    assert stuck_signs.of_agents(claude.store.db, claude.clock()) == []


def test_one_that_has_run_into_a_limit(claude: Player) -> None:
    tell(claude, "StopFailure", error="rate_limit", last_assistant_message="You have hit your limit, resets at 17:00")
    claude.clock.forward(LIMITS.waiting)
    assert (found := cause(claude)) is not None
    assert (found.kind, found.text) == ("limit", "waits for a limit: You have hit your limit, resets at 17:00")
    tell(claude, "UserPromptSubmit", prompt="Go on.")
    assert cause(claude) is None
