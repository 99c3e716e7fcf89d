"""How tests of the screen wait: until all is done, for threads in real time and for no timer's seconds."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.started import DEADLINE
from tests.tui import idle

SECONDS = 5


async def test_a_test_that_waits_for_a_timer_lets_its_seconds_pass_and_no_more() -> None:
    assert SECONDS * 3 < DEADLINE
    loop, came, ahead = asyncio.get_running_loop(), [], idle.monotonic() - time.monotonic()
    for number in (1, 2, 3):
        loop.call_later(number * SECONDS, came.append, number)
    await idle.rest(SECONDS / 2)
    assert came == []
    await idle.rest(SECONDS)
    assert came == [1, 2, 3]
    assert idle.monotonic() - time.monotonic() > ahead + SECONDS


async def test_the_work_of_a_thread_comes_before_a_timer_whose_seconds_are_let_pass() -> None:
    loop, order = asyncio.get_running_loop(), []
    loop.call_later(SECONDS, order.append, "timer")
    working = loop.run_in_executor(None, lambda: order.append("work"))
    await idle.rest(SECONDS)
    assert order == ["work", "timer"] and working.done()


async def test_a_test_goes_on_at_once_where_nothing_is_left_to_do() -> None:
    await idle.rest(idle.SOON)
    resting = idle.rest(idle.SOON)
    with pytest.raises(StopIteration):  # it would give the future that it waits for
        resting.send(None)
