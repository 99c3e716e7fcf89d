"""What has no room in the rows of what needs the human."""

from __future__ import annotations

import re

from tests.tui.driving import above, by_agent, needs_rows, opened, until
from tests.tui.plan import NOW, SECOND
from tui_tasks.core.operations.asks import OpenAsk


async def test_the_last_row_of_a_low_screen_names_what_has_none(plan, jobs, make_app):
    async with opened(make_app(plan.path), (80, 24)) as pilot:
        first, second, failed, last = needs_rows(pilot.app)
        assert first == " • ? #4  jose is maintained but heavier; pyjwt is … Which one?   claude-1    9m"
        assert second == " • ? #7  Approve: delete the old GA property                     claude-2    4m"
        assert failed == " • ✗ #3  Fix flaky DST test: test_dst_gap: expected 02:30, got 03:30        17m"
        assert last == "   ✗ S4  Digest mail: smtp: 535 authentication failed         + 1 late S3    4h"
        await pilot.resize_terminal(62, 24)
        last = "   ✗ S4  smtp: 535 authentication failed    + 1 late S3    4h"
        await until(pilot, lambda: needs_rows(pilot.app)[-1] == last)


async def test_the_newest_is_never_hidden(plan, jobs, make_app):
    by_agent(plan, "claude-2", *(OpenAsk(f"Which host is number {number}?") for number in range(3)), now=NOW + SECOND)
    by_agent(plan, "claude-2", OpenAsk("Which port?"), now=NOW + 2 * SECOND)
    async with opened(make_app(plan.path), (80, 24)) as pilot:
        assert "Which port?" in above(pilot.app)
        assert re.search(r" • ✗ #3  test_dst_gap: .*  [+]5 more +17m$", above(pilot.app))


async def test_a_high_screen_has_a_row_for_each_and_one_that_counts_the_others(plan, jobs, make_app):
    by_agent(plan, "claude-2", *(OpenAsk(f"Which host is number {number}?") for number in range(5)))
    async with opened(make_app(plan.path), (120, 40)) as pilot:
        *rows, last = needs_rows(pilot.app)
        assert len(rows) == 5 and re.search("! S3  .*  [+] 4 questions +25m$", last), above(pilot.app)
