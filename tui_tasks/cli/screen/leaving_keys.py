"""The keys that leave before the screen is shown."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
from collections.abc import Iterator


class Left(Exception):
    """The human left before the screen was shown."""


class LeavingKeys:
    """Reads Esc and `q` from the controlling terminal as long as the context exists; Ctrl+C stays an interrupt.

    Other keys are dropped, and none is shown. Without a terminal, or in its background, no key is read.
    """

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._terminal: int | None = None

    def __enter__(self) -> LeavingKeys:
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError, termios.error):
                self._terminal = stack.enter_context(_unbuffered_terminal())
            stack.enter_context(_ended_by_exception(signal.SIGTERM, signal.SIGHUP))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def check(self) -> None:
        """Read the keys that were pressed; any thread may call it.

        Raises:
            Left: one of them leaves.
        """
        if self._terminal is None or not select.select([self._terminal], [], [], 0)[0]:
            return
        with contextlib.suppress(OSError):  # the terminal is gone, which a signal reports
            pressed = os.read(self._terminal, 100)
            # If more bytes follow, Esc begins the sequence of another key.
            if b"q" in pressed or pressed.endswith(b"\x1b"):
                raise Left


@contextlib.contextmanager
def _unbuffered_terminal() -> Iterator[int]:
    """Open the controlling terminal so that each key is read at once, and not echoed."""
    terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():
            raise OSError("in the background")
        before = termios.tcgetattr(terminal)
        attributes = list(before)
        attributes[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        try:
            yield terminal
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(terminal, termios.TCSANOW, before)
    finally:
        os.close(terminal)


@contextlib.contextmanager
def _ended_by_exception(*signals: signal.Signals) -> Iterator[None]:
    """Turn signals that would end the process into SystemExit, so that the terminal is given back."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    default = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
    for number in default:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in default:
            signal.signal(number, signal.SIG_DFL)
