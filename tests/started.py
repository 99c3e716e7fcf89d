"""Processes that tests start and wait for: none outlives its test, and nothing is waited for without a limit."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

DEADLINE = 120.0
"""The most seconds that anything is waited for: nothing takes a tenth of it on a machine that has little else to do."""


Found = TypeVar("Found")


def until(holds: Callable[[], Found], what: str = "it") -> Found:
    """Wait until another process or thread has done something; return what `holds` gives then."""
    end = time.monotonic() + DEADLINE
    while not (found := holds()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.005)
    return found


class Started(subprocess.Popen):
    """A process that a test starts: its block ends it where the block fails, and nothing waits for it for ever.

    Attributes:
        alive: those that were started and not ended by `ending_what_is_started`.
        deadline: the most seconds that its end is waited for, unless a caller says how many.
    """

    alive: list[Started] = []
    deadline = DEADLINE

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.alive.append(self)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        return super().wait(self.deadline if timeout is None else timeout)

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Give it `input` and its end; return what it has written."""
        return super().communicate(input, self.deadline if timeout is None else timeout)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self.kill()
        for stream in (self.stdout, self.stderr, self.stdin):
            with contextlib.suppress(BrokenPipeError, AttributeError):
                stream.close()
        try:
            self.wait()
        except subprocess.TimeoutExpired:
            self.end()
            raise

    def end(self) -> None:
        """Kill it if it has not ended."""
        if self.poll() is None:
            self.kill()
            super().wait(DEADLINE)


@contextlib.contextmanager
def ending_what_is_started() -> Iterator[None]:
    """End what a block has started and left."""
    before = len(Started.alive)
    try:
        yield
    finally:
        left, Started.alive[before:] = Started.alive[before:], []
        for process in left:
            process.end()


def hear_signals() -> None:
    """Let what is started from here hear the signals that are ignored here, and ignore them here as before.

    Whoever starts the tests in the background of a script, or under nohup, has them ignored. A program inherits that,
    but not a handler.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    # Python ignores these two itself, and lets processes that it starts hear them.
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
