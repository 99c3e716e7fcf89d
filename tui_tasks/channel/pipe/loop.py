"""The loop of a control channel: one thread that reads lines, serves them, and writes replies and events.

It waits with one poll for input, for room in the output, for other processes' commits, and for the next lease or
timeout.
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

from tui_tasks.channel.pipe.line_splitter import LineSplitter
from tui_tasks.channel.pipe.output_queue import OutputQueue, Unwritable
from tui_tasks.channel.replies import ReplyLine
from tui_tasks.channel.session import Session
from tui_tasks.core.engine.watch import Watch
from tui_tasks.core.errors import StorageFailed

_log = logging.getLogger(__name__)

# The most bytes of one read.
CHUNK: Final = 64 * 1024
# With this many unwritten bytes no more requests are read, or no more events are produced.
BACKLOG_LIMIT: Final = 1024 * 1024
EVENT_BACKLOG: Final = 256 * 1024
# A reader that reads nothing for this long while events wait counts as stopped.
STALLED_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 0.5
# How long the thread polls busily after a reply: many programs send the next request before a sleeping thread wakes.
AWAKE_SECONDS: Final = 0.0001


class ControlChannel:
    """Runs a session on two descriptors. `run` returns when the input has ended and every reply is written.

    Attributes:
        has_failed: whether `run` ended because replies could not be written.
    """

    def __init__(self, session: Session, input_fd: int, output_fd: int) -> None:
        self._session = session
        self._input = input_fd
        self._lines = LineSplitter()
        self._out = OutputQueue(output_fd)
        self._watch = Watch(session.store.db)
        self._wake_out, self._wake_in = os.pipe()
        self._ended = False
        self._stopped = False
        self._has_signals = False
        self.has_failed = False
        self._progress_at = time.monotonic()
        self._lagging = False
        # Whether events may wait for room in the backlog.
        self._held_back = False
        self._retry_at = 0.0
        self._awake_until = 0.0
        # Cached for one turn, as it reads the database.
        self._due = session.due()

    def stop(self) -> None:
        """Make `run` return soon, from any thread: it reads no more, and writes finished replies while there is
        room.
        """
        self._stopped = True
        with contextlib.suppress(OSError):
            os.write(self._wake_in, b".")

    def stop_on(self, *numbers: int) -> None:
        """Call `stop` on these signals; to be called in the main thread.

        The system may deliver a signal to any thread, but Python runs handlers in the main one: the wakeup descriptor
        ends its poll.
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
            if self._out.size:
                self._session.give_back(self._out.unwritten_lines())
            self._session.leave()
            self._watch.close()
            if self._has_signals:
                signal.set_wakeup_fd(-1)
            # Cleared before closing: a late `stop` must not write to a descriptor that has reused the number.
            wake_in, self._wake_in = self._wake_in, -1
            os.close(wake_in)
            os.close(self._wake_out)

    def _turn(self) -> None:
        ready = self._poll()
        # Tested before anything is written, as a write resets the time of the last progress.
        self._lagging |= self._held_back and time.monotonic() - self._progress_at > STALLED_SECONDS
        if self._is_listening() and self._watch.fd in ready:
            self._watch.arm(time.monotonic())
        if self._input in ready and not self._ended:
            data = self._read()
            self._ended = not data
            if values := self._lines.feed(data):
                self._put(self._session.answer_lines(values))
                # Write the replies first: their reader waits for them.
                self._flush()
                self._awake_until = time.monotonic() + AWAKE_SECONDS
        changed = self._is_listening() and self._watch.changed(time.monotonic())
        self._follow_up(changed=changed)
        self._flush()
        self._due = self._session.due()

    def _read(self) -> bytes:
        """Return the available input; b"" at its end, which a socket or a terminal may report as an error."""
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
        return {fd for fd, _ in poll.poll(self._poll_timeout())}

    def _poll_timeout(self) -> float | None:
        """Return the milliseconds until the next timed work; None if there is none."""
        if self._held_back and self._out.size < EVENT_BACKLOG:
            return 0.0
        session = self._session
        waits = [self._watch.wait(time.monotonic())] if self._is_listening() else []
        if self._due is not None:
            waits.append(max(0.0, (self._due - session.elapsed_time()) / 1_000_000, self._retry_at - time.monotonic()))
        if self._ended and session.waits:
            waits.append(0.0 if session.waits.can_give_up(session.elapsed_time()) else 1.0)
        return min(waits) * 1000 if waits else None

    def _is_listening(self) -> bool:
        """Return whether commits of other processes can cause output."""
        return bool(self._session.waits) or (self._session.subscription.cursor is not None and not self._held_back)

    def _follow_up(self, *, changed: bool) -> None:
        """Write what follows from commits and from time passing: replies of ended waits, lapsed leases, events."""
        session = self._session
        is_due = self._due is not None and self._due <= session.elapsed_time()
        try:
            # Limited in rate: a failed attempt may write to the write-ahead log, which the watch reports as a change.
            if (changed or is_due or session.waits) and time.monotonic() >= self._retry_at:
                self._put(session.settle(ending=self._ended))
            self._put_events()
        except StorageFailed as failure:
            _log.warning("%s", failure.message)
            self._retry_at = time.monotonic() + RETRY_SECONDS

    def _put_events(self) -> None:
        """Queue as many events as there is room for; a reader that had stopped gets a `lagged` event."""
        subscription = self._session.subscription
        while self._out.size < EVENT_BACKLOG and (lines := subscription.events(blocked=self._lagging)):
            self._lagging = False
            self._put(lines)
        self._held_back = subscription.cursor is not None and self._out.size >= EVENT_BACKLOG
        self._lagging &= self._held_back

    def _flush(self) -> None:
        """Write what there is room for, and record when the reader last made progress."""
        before = self._out.size
        self._out.flush()
        if not before or self._out.size < before:
            self._progress_at = time.monotonic()

    def _put(self, lines: Sequence[ReplyLine]) -> None:
        for line in lines:
            self._out.put(line)
