"""Shares one process between a screen and a pipe: moves file descriptors, and restores the terminal.

Textual reads keys from descriptor 0, paints on 2, and asks 1 for the size of the screen. If standard input is the
control channel, `claim` moves the pipe away before the app runs, and puts the terminal there. `run` then runs the app
so that neither a signal nor a lost terminal leaves the terminal in a bad state, or a process behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import sys
import termios
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Final, Protocol

import msgspec

STANDARD: Final = (0, 1, 2)
SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
EXIT_SECONDS: Final = 3.0
"""Seconds within which an app must leave before it is ended."""
EXIT_SECONDS_GONE: Final = 0.8
"""The same, if there is no terminal left to restore."""

# Reverts what Textual's driver writes at the start: paste, wrap, resize reports, mouse, keyboard protocol,
# focus, alternate screen, cursor, colours.
_LEAVE: Final = (
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1016l\x1b[?1006l"
    b"\x1b[<u\x1b[?1004l\x1b[?1049l\x1b[?25h\x1b[0m"
)


class NoTerminal(Exception):
    """There is no terminal to draw on."""


class Claimed(msgspec.Struct, frozen=True):
    """Descriptors that were moved away from the screen, closed on exec; None: there is nothing to use.

    Attributes:
        input_fd: where requests come from; None: standard input is the keyboard.
        output_fd: where replies go; None: standard output is the screen.
        log_fd: where logs go; None: standard error is the screen.
    """

    input_fd: int | None
    output_fd: int | None
    log_fd: int | None


def claim() -> Claimed:
    """Put the controlling terminal on descriptors 0 to 2 before a screen is run; return what was there.

    If all three are terminals already, nothing is done. Under another driver (textual-serve sets TEXTUAL_DRIVER, and
    uses these descriptors) nothing is changed. COLUMNS and LINES are removed from the environment, as they would fix
    the size of the screen.

    Raises:
        NoTerminal: something must be moved, but the process has no controlling terminal, or it can only print lines.
            Nothing was changed.
    """
    if os.environ.get("TEXTUAL_DRIVER"):
        return Claimed(None, None, 2)
    if os.environ.get("TERM") == "dumb":
        raise NoTerminal(
            "a screen needs a terminal that can move its cursor; TERM=dumb means that this one cannot. "
            "To print each event as a line, run: tui-tasks watch --plain"
        )
    claimed = Claimed(None, None, None)
    if not all(map(os.isatty, STANDARD)):
        claimed = _move_standard(_open_terminal())
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
    return claimed


def claim_without_screen() -> Claimed:
    """Move descriptors 0 and 1 away for the channel of a process without a screen; return where they are now.

    Descriptor 1 then is a copy of 2, so that a stray print does not reach the channel, and 0 reads nothing.
    """
    _flush()
    claimed = Claimed(_copy(0), _copy(1), 2)
    nothing = os.open(os.devnull, os.O_RDWR)
    _put(nothing, 0)
    if not _is_open(2):
        _put(nothing, 2)
    _put(2, 1)
    if nothing not in STANDARD:
        os.close(nothing)
    return claimed


def _open_terminal() -> int:
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        raise NoTerminal(
            f"there is no terminal to draw on ({error.strerror}). "
            "To serve the channel without a screen, run: tui-tasks serve"
        ) from error


def _move_standard(tty: int) -> Claimed:
    _flush()
    claimed = Claimed(*(None if os.isatty(fd) else _copy(fd) for fd in STANDARD))
    for fd in STANDARD:
        _put(tty, fd)
    if tty not in STANDARD:
        os.close(tty)
    _reopen_streams()
    return claimed


def _copy(fd: int) -> int | None:
    """Return a copy of `fd` above the standard descriptors, closed on exec; None if `fd` is closed."""
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError:
        return None


def _put(fd: int, place: int) -> None:
    """Make `place` a copy of `fd` that child processes inherit, even if both are the same."""
    if fd != place:
        os.dup2(fd, place)
    os.set_inheritable(place, True)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _flush() -> None:
    """Flush what was printed before, to its original destination."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _reopen_streams() -> None:
    """Create the standard streams that Python did not, because their descriptors were closed at the start."""
    for fd, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, f"__{name}__") is None:
            stream = open(fd, mode, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 - never closed
            setattr(sys, f"__{name}__", stream)
            setattr(sys, name, stream)


class Screen(Protocol):
    """The part of a Textual app that is needed."""

    @property
    def return_code(self) -> int | None:
        """The exit status with which the app was left."""

    def run(self) -> object:
        """Run the app to its end."""

    def exit(self, result: Any = None, return_code: int = 0, message: Any = None) -> None:
        """Ask the app to leave."""


def run(app: Screen, patience: float = EXIT_SECONDS) -> int:
    """Run `app` to its end, restore the terminal, and return the exit status for the process. For the main thread.

    SIGTERM, SIGHUP and SIGINT make the app leave by `app.exit`, with 128 plus the signal's number. So does the end of
    the terminal, like SIGHUP, as that signal may be ignored or go elsewhere. An app that has not left `patience`
    seconds later is ended: its loop is stuck, usually on a terminal that accepts no more output.
    """
    with _Guard(app, patience) as guard:
        app.run()
    return (app.return_code or 0) if guard.status is None else guard.status


class _Guard:
    """Watches the terminal while an app runs on it.

    Signal handlers only record the signal; the app's loop acts on it, or a thread if the loop is stuck.
    """

    def __init__(self, app: Screen, patience: float) -> None:
        # Imported here, where a screen has imported it already: a channel without a screen saves 2 MB.
        from asyncio import get_running_loop

        self.app = app
        self.patience = patience
        self.running_loop = get_running_loop
        self.status: int | None = None
        self.gone = False
        self.done = False
        self.before = _attributes(0)
        # Under another driver the screen is a pipe, whose end counts as that of the terminal.
        self.is_piped = bool(os.environ.get("TEXTUAL_DRIVER"))
        self.screens = [1] if self.is_piped else [fd for fd in STANDARD if os.isatty(fd)]
        self.handlers: dict[signal.Signals, Any] = {}
        self.woken, self.wake = os.pipe()
        self.thread = threading.Thread(target=self._watch, name="terminal", daemon=True)

    def __enter__(self) -> _Guard:
        os.set_blocking(self.wake, False)
        for number in SIGNALS:
            self.handlers[number] = signal.signal(number, self._on_signal)
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        self.done = True
        self._wake_watcher()
        self.thread.join()
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        os.close(self.wake)
        os.close(self.woken)
        if not self.gone and self.before is not None and _attributes(0) != self.before:
            with contextlib.suppress(OSError), open(_open_again(), "wb") as screen:
                _give_back(screen.fileno(), self.before)
        # Errors caused by the lost terminal are not reported.
        return self.gone and isinstance(error, OSError)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        # A closing terminal sends several signals; those after the first one change nothing.
        is_first = self.status is None and not self.done
        self.status = self.status or 128 + number
        self._wake_watcher()
        try:
            loop = self.running_loop()
        except RuntimeError:
            # An app whose loop does not run yet is ended by an exception. One that is leaving must not be interrupted.
            if is_first:
                raise SystemExit(self.status) from None
            return
        loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        self.app.exit(return_code=self.status or 0)

    def _wake_watcher(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self.wake, b"!")

    def _watch(self) -> None:
        """Wait for the end of the terminal, and for an app that was asked to leave."""
        poller = select.poll()
        poller.register(self.woken, select.POLLIN)
        if self.before is not None or self.is_piped:
            poller.register(0, 0)
        signalled_at: float | None = None
        while not self.done:
            wait = 1.0
            if signalled_at is not None:
                wait = signalled_at + (EXIT_SECONDS_GONE if self.gone else self.patience) - time.monotonic()
                if wait <= 0:
                    self._end()
            events = dict(poller.poll(wait * 1000))
            if self.woken in events:
                os.read(self.woken, 64)
            if 0 in events:
                poller.unregister(0)
                if self.is_piped:
                    self._lose_terminal()
            # Not every system can poll a terminal; there it is checked every second.
            if self.before is not None and not self.gone and _attributes(0) is None:
                self._lose_terminal()
            if signalled_at is None and self.status is not None:
                signalled_at = time.monotonic()

    def _lose_terminal(self) -> None:
        """Leave as on SIGHUP; further output is discarded, so that writing it does not fail."""
        self.gone = True
        _silence(self.screens)
        self.status = self.status or 128 + signal.SIGHUP
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGHUP)

    def _end(self) -> None:
        """End the process at once, and restore the terminal."""
        if not self.gone and self.before is not None:
            with contextlib.suppress(OSError):
                screen = _open_again()
                _silence(self.screens)
                _give_back(screen, self.before)
        os._exit(self.status or 1)


def _silence(fds: list[int]) -> None:
    """Discard what is written to `fds` from now on."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in fds:
        os.dup2(nothing, fd)
    os.close(nothing)


def _attributes(fd: int) -> list[Any] | None:
    """Return the settings of a terminal; None if `fd` is none, or no longer one."""
    try:
        return termios.tcgetattr(fd)
    except termios.error:
        return None


def _open_again() -> int:
    """Open the terminal for writes that do not block: O_NONBLOCK on standard input would apply to all that share it."""
    return os.open(os.ttyname(0), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)


def _give_back(screen: int, before: list[Any]) -> None:
    """Restore the settings of a terminal and leave the alternate screen, even if it does not accept earlier output."""
    with contextlib.suppress(termios.error):
        termios.tcsetattr(screen, termios.TCSANOW, before)
    for _ in range(50):
        with contextlib.suppress(termios.error):
            # A blocked write holds the terminal exclusively. Stopping and restarting output makes it check again,
            # and find that there is room.
            termios.tcflow(screen, termios.TCOOFF)
            termios.tcflush(screen, termios.TCOFLUSH)
            termios.tcflow(screen, termios.TCOON)
        with contextlib.suppress(OSError):
            os.write(screen, _LEAVE)
            return
        time.sleep(0.01)  # the terminal may accept it soon
