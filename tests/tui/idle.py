"""An event loop that knows when all is done: a test goes on at once then, and no sooner however busy the machine is.

Textual's pilot sleeps for 20 ms at a time, until the process uses little CPU. That is long where all is done, and
wrong where other processes leave this one none.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import selectors
import time
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future
from typing import Any

from textual import _wait, events
from textual.app import App
from textual.keys import _character_to_key
from textual.pilot import Pilot

from tests.started import DEADLINE

# A timer that is due within these seconds ends before a test goes on: it draws what has changed, or reads it.
SOON = 0.04
# Work of a thread is waited for this long at most; not at all where the test holds it up (`holding_threads`).
thread_seconds = DEADLINE
_press_keys = App._press_keys
# By how many seconds clocks are ahead: a loop that is idle does not sleep until a timer is due, it lets time pass.
_ahead = 0.0


def monotonic() -> float:
    """Return the seconds of the clock by which timers are due on an `IdleLoop`."""
    return time.monotonic() + _ahead


class IdleLoop(asyncio.SelectorEventLoop):
    """An event loop that tells when nothing is left to do: no callback, no timer due soon, no work in a thread."""

    def __init__(self) -> None:
        self._work: dict[Any, float] = {}
        self._waiting: list[tuple[asyncio.Future[None], float]] = []
        super().__init__(_Selector(self))

    def time(self) -> float:
        """Return the seconds of a clock, which is ahead after waits that were left out."""
        return monotonic()

    def run_in_executor(self, executor: Any, func: Any, *arguments: Any) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = super().run_in_executor(executor, func, *arguments)
        self._work[future] = time.monotonic()
        future.add_done_callback(self._work.pop)
        return future

    def begin(self, work: Future[Any]) -> None:
        """Count work of a thread that is not an executor's."""
        self._work[work] = time.monotonic()

        def ended(_: Future[Any]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.call_soon_threadsafe(self._work.pop, work)

        work.add_done_callback(ended)

    async def rest(self, soon: float) -> None:
        """Wait until nothing is left to do, and nothing will be within `soon` seconds."""
        if self._rests(soon):
            return
        waiting = self.create_future()
        self._waiting.append((waiting, soon))
        await asyncio.wait_for(waiting, DEADLINE)

    def _rests(self, soon: float) -> bool:
        """Whether nothing is left to do already: then a turn of the loop would find nothing."""
        if self._ready or self._work or (self._scheduled and self._scheduled[0].when() - self.time() <= soon):
            return False
        return not selectors.DefaultSelector.select(self._selector, 0)

    def note_rest(self, seconds: float | None) -> float | None:
        """Take in that there is nothing to do for `seconds` (None: for ever); return how long to wait for it.

        Where a test waits for a timer, its seconds are let pass.
        """
        global _ahead
        if not self._waiting:
            return seconds
        if self._work:
            rest = max(self._work.values()) + thread_seconds - time.monotonic()
            if rest > 0:
                return rest if seconds is None else min(rest, seconds)
        rested = [one for one in self._waiting if seconds is None or seconds > one[1]]
        for waiting, _ in rested:
            if not waiting.done():
                waiting.set_result(None)
        self._waiting = [one for one in self._waiting if one not in rested]
        if not rested and seconds is not None:
            _ahead += seconds
        return 0


class _Selector(selectors.DefaultSelector):
    """Tells a loop how long it would wait."""

    def __init__(self, loop: IdleLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        return super().select(0) or super().select(self._loop.note_rest(timeout))


async def wait_for_idle(min_sleep: float = _wait.SLEEP_GRANULARITY, max_sleep: float = 1) -> None:
    """As the pilot's: on a loop that knows when it is idle, until then."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, IdleLoop):
        await loop.rest(SOON)
    else:
        await _wait.wait_for_idle(min_sleep, max_sleep)


async def wait_for_screen(_: Pilot[Any], timeout: float = DEADLINE) -> bool:
    """As the pilot's, which sends every widget a message: when the loop is idle, each has read all of its own."""
    await rest(SOON)
    return True


def is_letter(key: str) -> bool:
    """Whether a key is the letter that it types, or a blank."""
    return len(key) == 1 or key == "space"


def takes_letters(app: App[Any]) -> bool:
    """Whether an input is open that takes letters."""
    line = app.focused
    return line is not None and line.check_consume_key("a", "a")


async def press_keys(app: App[Any], keys: Iterable[str]) -> None:
    """As the App's, but letters for an input come as fast as they can be typed: it waits once, behind the last."""
    waiting = list(keys)
    while waiting:
        letters = list(itertools.takewhile(is_letter, waiting))
        if len(letters) > 1 and takes_letters(app):
            for letter in letters[:-1]:
                character = " " if letter == "space" else letter
                event = events.Key(_character_to_key(character), character)
                event.set_sender(app)
                app._driver.send_message(event)
            waiting = waiting[len(letters) - 1 :]
        await _press_keys(app, [waiting.pop(0)])


async def rest(soon: float) -> None:
    """Wait until nothing is left to do, and nothing will be within `soon` seconds."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, IdleLoop)
    await loop.rest(soon)


def run(test: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on a loop that knows when it is idle."""
    with asyncio.Runner(loop_factory=IdleLoop) as runner:
        return runner.run(test)
