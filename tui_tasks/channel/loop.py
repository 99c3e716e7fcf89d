"""The control channel at work: one thread that reads lines, serves them, and writes replies and events.

It waits for everything at once: input, a reader with room, other processes' commits, the next lease or timeout.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import select
import signal
import time
from collections.abc import Sequence
from typing import Final

from tui_tasks.channel.framing import CHUNK, LineSplitter, Outbox, Unwritable
from tui_tasks.channel.replies import ReplyLine
from tui_tasks.channel.session import Session
from tui_tasks.core.engine.watch import Watch
from tui_tasks.core.errors import StorageFailed

_log = logging.getLogger(__name__)

# With this much unread no more requests are taken, and no more events are made.
BACKLOG_LIMIT: Final = 1024 * 1024
EVENT_BACKLOG: Final = 256 * 1024
# A reader with that much unread who has taken nothing for this long has stopped reading.
STALLED_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 0.5
# A program that works on with a reply sends the next request sooner than this thread is woken, so that it stays awake.
AWAKE_SECONDS: Final = 0.0001


class ControlChannel:
    """A session on two descriptors. `run` returns when the input has ended and every reply is written.

    Attributes:
        has_failed: whether it has ended because replies could not be written.
    """

    def __init__(self, session: Session, input_fd: int, output_fd: int) -> None:
        self._session = session
        self._input = input_fd
        self._lines = LineSplitter()
        self._out = Outbox(output_fd)
        self._watch = Watch(session.store.db)
        self._wake_out, self._wake_in = os.pipe()
        self._ended = False
        self._stopped = False
        self._has_signals = False
        self.has_failed = False
        self._moved_at = time.monotonic()
        self._lagging = False
        # Whether there may be events that the backlog has no room for.
        self._held_back = False
        self._retry_at = 0.0
        self._awake_until = 0.0
        # Asked once a turn: it reads the database.
        self._due = session.due()

    def stop(self) -> None:
        """End `run` soon, from any thread: no more is read, replies that are ready are written where there is room."""
        self._stopped = True
        with contextlib.suppress(OSError):
            os.write(self._wake_in, b".")

    def stop_on(self, *numbers: int) -> None:
        """Call `stop` on these signals; for the main thread.

        The system gives a signal to any thread, while Python's handlers wait for the main one: the descriptor wakes it.
        """
        os.set_blocking(self._wake_in, False)
        signal.set_wakeup_fd(self._wake_in, warn_on_full_buffer=False)
        self._has_signals = True
        for number in numbers:
            signal.signal(number, lambda *_: self.stop())

    def run(self) -> None:
        """Serve until the input ends."""
        try:
            while not self._stopped:
                self._turn()
                if self._ended and not self._session.waits and not self._out.size:
                    break
        except ConnectionError:
            _log.info("the reader of the replies is gone")
        except Unwritable as failure:
            self.has_failed = True
            _log.error("replies cannot be written (%s): no more requests are served", failure)
        finally:
            with contextlib.suppress(OSError, Unwritable):
                self._out.flush()
            self._session.leave()
            self._watch.close()
            if self._has_signals:
                signal.set_wakeup_fd(-1)
            # Forgotten before it is closed: a late `stop` must not write into whatever has its number by then.
            wake_in, self._wake_in = self._wake_in, -1
            os.close(wake_in)
            os.close(self._wake_out)

    def _turn(self) -> None:
        ready = self._poll()
        # Before anything is written: what goes out now says nothing of how long nothing did.
        self._lagging |= self._held_back and time.monotonic() - self._moved_at > STALLED_SECONDS
        if self._is_listening() and self._watch.fd in ready:
            self._watch.arm(time.monotonic())
        if self._input in ready and not self._ended:
            data = self._read()
            self._ended = not data
            if values := self._lines.feed(data):
                self._put(self._session.answer_lines(values))
                # Whoever waits for the replies gets them before anything else is seen to.
                self._flush()
                self._awake_until = time.monotonic() + AWAKE_SECONDS
        changed = self._is_listening() and self._watch.changed(time.monotonic())
        self._after(changed=changed)
        self._flush()
        self._due = self._session.due()

    def _read(self) -> bytes:
        """What has come in; nothing at the end, which a socket or a terminal may tell by an error."""
        try:
            return os.read(self._input, CHUNK)
        except OSError as error:
            if error.errno not in (errno.ECONNRESET, errno.EIO):
                raise
            return b""

    def _poll(self) -> set[int]:
        poll = select.poll()
        poll.register(self._wake_out, select.POLLIN)
        if not self._ended and self._out.size < BACKLOG_LIMIT:
            poll.register(self._input, select.POLLIN)
        if self._out.size:
            poll.register(self._out.fd, select.POLLOUT)
        if self._is_listening() and self._watch.fd is not None:
            poll.register(self._watch.fd, select.POLLIN)
        while time.monotonic() < self._awake_until:
            if ready := poll.poll(0):
                return {fd for fd, _ in ready}
        return {fd for fd, _ in poll.poll(self._patience())}

    def _patience(self) -> float | None:
        """Milliseconds until something is to be done though nothing happens; None: for ever."""
        if self._held_back and self._out.size < EVENT_BACKLOG:
            return 0.0
        session = self._session
        waits = [self._watch.wait(time.monotonic())] if self._is_listening() else []
        if self._due is not None:
            waits.append(max(0.0, (self._due - session.passed()) / 1_000_000, self._retry_at - time.monotonic()))
        if self._ended and session.waits:
            waits.append(0.0 if session.waits.endless(session.passed()) else 1.0)
        return min(waits) * 1000 if waits else None

    def _is_listening(self) -> bool:
        """Whether it matters what other processes commit."""
        return bool(self._session.waits) or (self._session.subscription.cursor is not None and not self._held_back)

    def _after(self, *, changed: bool) -> None:
        """What follows from what was done here or elsewhere: ended waits, lapsed leases, events."""
        session = self._session
        is_due = self._due is not None and self._due <= session.passed()
        try:
            # Each try that fails may write to the log, which tells of a change.
            if (changed or is_due or session.waits) and time.monotonic() >= self._retry_at:
                self._put(session.settle(ending=self._ended))
            self._put_events()
        except StorageFailed as failure:
            _log.warning("%s", failure.message)
            self._retry_at = time.monotonic() + RETRY_SECONDS

    def _put_events(self) -> None:
        """Take as many events as have room; a reader who stood still meanwhile is told that it lagged."""
        subscription = self._session.subscription
        while self._out.size < EVENT_BACKLOG and (lines := subscription.events(blocked=self._lagging)):
            self._lagging = False
            self._put(lines)
        self._held_back = subscription.cursor is not None and self._out.size >= EVENT_BACKLOG
        self._lagging &= self._held_back

    def _flush(self) -> None:
        """Write what there is room for, and take note when the reader has moved on."""
        before = self._out.size
        self._out.flush()
        if not before or self._out.size < before:
            self._moved_at = time.monotonic()

    def _put(self, lines: Sequence[ReplyLine]) -> None:
        for line in lines:
            self._out.put(line)
