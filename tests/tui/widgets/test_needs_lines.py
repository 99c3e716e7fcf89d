"""The last row of what needs the human, which has several things side by side."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.driving import above, by_agent, opened
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.text.safe import cell_len
from tui_tasks.tui.widgets.needs_lines import fitted

MAIL = ("Digest mail: smtp: 535 authentication failed", "smtp: 535 authentication failed")
DRILL = ("Restore test: due 19:50, not started yet", "due 19:50, not started yet", "late, not started")


@pytest.mark.parametrize(
    ("room", "texts"),
    [
        (84, [MAIL[0], DRILL[0]]),
        (70, [MAIL[0], DRILL[1]]),
        (61, [MAIL[0], DRILL[2]]),
        (48, [MAIL[1], DRILL[2]]),
        (20, [MAIL[1], DRILL[2]]),
    ],
)
def test_what_is_more_urgent_keeps_the_longer_text(room: int, texts: list[str]) -> None:
    assert fitted([MAIL, DRILL], room) == texts


@given(st.lists(st.lists(st.text("abc ", max_size=20), min_size=1, max_size=3), max_size=5), st.integers(0, 100))
def test_texts_are_longer_than_their_room_only_where_all_are_at_their_shortest(
    ways: list[list[str]], room: int
) -> None:
    found = fitted(ways, room)
    assert sum(map(cell_len, found)) <= room or found == [texts[-1] for texts in ways]


async def test_the_last_row_says_whole_reasons_and_ends_with_how_many_it_hides(plan, jobs, make_app):
    async with opened(make_app(plan.path), (80, 24)) as pilot:
        last = above(pilot.app).splitlines()[-1]
        assert last == "  ✗ S4  smtp: 535 authentication failed   ◷ S3 late, no scheduler runs"
    by_agent(plan, "claude-2", *(OpenAsk(f"Which host is number {number}?") for number in range(3)))
    async with opened(make_app(plan.path), (80, 24)) as pilot:
        assert re.search(r"^  \? claude-2  Which host .+ \+\d$", above(pilot.app).splitlines()[-1]), above(pilot.app)
