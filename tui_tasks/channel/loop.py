"""The loop of a control channel: one thread reads lines, serves them, and writes replies as they are taken.

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
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from tui_tasks.channel.line_parser import LineParser
from tui_tasks.channel.replies import LongLine, ReplyLine, whole
from tui_tasks.channel.request_reader import Line
from tui_tasks.channel.session import Session
from tui_tasks.core.engine.commit_watch import Watch
from tui_tasks.core.errors import StorageFailed


class Unwritable(Exception):
    """The output cannot be written, for example to a full disk, although its reader has not closed it."""


class OutputQueue:
    """Buffers lines for a reader that may stop reading; it neither blocks nor drops lines.

    Attributes:
        size: the number of bytes not yet written.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._lines: deque[ReplyLine] = deque()
        # The remaining parts of a line that is not in memory.
        self._parts: Iterator[bytes] = iter(())
        self._unwritten = memoryview(b"")
        # The last line that was begun in parts, and how many of its bytes are not written.
        self._long: LongLine | None = None
        self._long_left = 0
        self._writable = select.poll()
        self._writable.register(fd, select.POLLOUT)
        self.size = 0

    def put(self, line: ReplyLine) -> None:
        """Append a line, given without its newline."""
        self._lines.append(line)
        self.size += (len(line) if isinstance(line, bytes) else line.size) + 1

    def _next(self) -> bytes:
        """Return the next bytes to write: all lines in memory, or a part of one that is in a file."""
        if part := next(self._parts, b""):
            return part
        ready: list[bytes] = []
        while self._lines and not isinstance(line := self._lines[0], LongLine):
            ready.append(line + b"\n")
            self._lines.popleft()
        if not ready:
            line = self._lines.popleft()
            assert isinstance(line, LongLine)
            self._parts = chain(line.parts(), (b"\n",))
            self._long, self._long_left = line, line.size + 1
            return next(self._parts)
        return b"".join(ready)

    def flush(self) -> None:
        """Write as much as is possible without blocking.

        Raises:
            ConnectionError: the reader is gone.
            Unwritable: the output cannot be written for another reason.
        """
        while self.size:
            if not self._unwritten:
                self._unwritten = memoryview(self._next())
            if not self._writable.poll(0):
                return
            # A writable pipe accepts PIPE_BUF bytes without blocking; more could block.
            try:
                written = os.write(self.fd, self._unwritten[: select.PIPE_BUF])
            except ConnectionError:
                raise
            except OSError as error:
                raise Unwritable(error.strerror) from error
            self._unwritten = self._unwritten[written:]
            self.size -= written
            if self._long_left:
                self._long_left -= written

    def unwritten_lines(self) -> Iterator[bytes]:
        """Yield the lines that are not written to their end, whole, without their newlines."""
        if self._long_left and self._long is not None:
            yield self._long.whole()
        elif self._unwritten:
            lines: bytes = self._unwritten.obj  # type: ignore[assignment]
            begin = lines.rfind(b"\n", 0, len(lines) - len(self._unwritten)) + 1
            yield from lines[begin:-1].split(b"\n")
        yield from map(whole, self._lines)


_log = logging.getLogger(__name__)

# The most bytes of one read.
CHUNK: Final = 64 * 1024
# With this many unwritten bytes no more requests are read, or no more events are produced.
BACKLOG_LIMIT: Final = 1024 * 1024
EVENT_BACKLOG: Final = 256 * 1024
# A reader that reads nothing for this long while events wait counts as stopped.
STALLED_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 0.5
# How long the thread polls busily after the reply to a single request: many programs send the next one before a
# sleeping thread wakes.
AWAKE_SECONDS: Final = 0.0001
# poll() refuses more than 2**31 milliseconds; the lease of a task in a worktree is longer.
LONGEST_POLL_SECONDS: Final = 86_400.0


class ControlChannel:
    """Runs a session on two descriptors. `run` returns when the input has ended and every reply is written.

    Attributes:
        has_failed: whether `run` ended because replies could not be written.
    """

    def __init__(self, session: Session, input_fd: int, output_fd: int) -> None:
        self._session = session
        self._input = input_fd
        self._lines = LineParser()
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
        # Whether the journal may have entries that were not read for the subscriber, or for the waits.
        self._may_have_events = True
        self._may_end_waits = True
        self._retry_at = 0.0
        # The storage error that was logged last; "" after a success.
        self._failure = ""
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
        now = time.monotonic()
        if self._is_listening() and (self._watch.fd in ready or self._watch.is_due(now)):
            self._watch.arm(now)
        if self._input in ready and not self._ended:
            self._serve_input()
        now = time.monotonic()
        changed = False
        if self._is_listening() and self._watch.is_due(now):
            changed = self._watch.changed(now)
            self._may_have_events |= changed
            self._may_end_waits |= changed or self._watch.is_lost
        # The watch wakes several times for one commit; only the first time there is anything to read.
        if self._may_have_events or self._held_back or self._has_timed_work():
            self._follow_up(changed=changed)
            self._due = self._session.due()
        self._flush()

    def _serve_input(self) -> None:
        """Serve the requests that have come, and write their replies."""
        lines = self._read_lines()
        # A program that sends several at once has sent more meanwhile: they share the commit.
        if len(lines) > 1 and self._has_input():
            lines += self._read_lines()
        if not lines:
            return
        self._may_have_events = self._may_end_waits = True
        self._put(self._session.serve_lines(lines))
        # Write the replies first: their reader waits for them.
        self._flush()
        if len(lines) == 1:
            self._awake_until = time.monotonic() + AWAKE_SECONDS

    def _has_input(self) -> bool:
        poll = select.poll()
        poll.register(self._input, select.POLLIN)
        return bool(not self._ended and poll.poll(0))

    def _read_lines(self) -> list[Line]:
        """Read what input there is, and return the requests in it."""
        data = self._read()
        self._ended = not data
        return self._session.read_lines(self._lines.feed(data))

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
        if self._is_listening() and self._watch.fd is not None and not self._watch.looks_soon(time.monotonic()):
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
            waits.append(max(0.0, (self._due - session.database_now()) / 1_000_000, self._retry_at - time.monotonic()))
        if session.waits and self._may_end_waits:
            waits.append(max(0.0, self._retry_at - time.monotonic()))
        if self._ended and session.waits:
            waits.append(0.0 if session.waits.can_give_up(session.database_now()) else 1.0)
        return min(*waits, LONGEST_POLL_SECONDS) * 1000 if waits else None

    def _is_listening(self) -> bool:
        """Return whether commits of other processes can cause output."""
        return bool(self._session.waits) or (self._session.subscription.cursor is not None and not self._held_back)

    def _has_timed_work(self) -> bool:
        return self._may_look_at_waits() or self._is_due() or time.monotonic() < self._retry_at

    def _may_look_at_waits(self) -> bool:
        """Return whether some wait may be over before its deadline."""
        return bool(self._session.waits) and (self._may_end_waits or self._ended)

    def _is_due(self) -> bool:
        return self._due is not None and self._due <= self._session.database_now()

    def _follow_up(self, *, changed: bool) -> None:
        """Write what follows from commits and from time passing: replies of ended waits, lapsed leases, events."""
        session = self._session
        try:
            # Limited in rate: a failed attempt may write to the write-ahead log, which the watch reports as a change.
            looks = changed or self._is_due() or self._may_look_at_waits()
            if looks and time.monotonic() >= self._retry_at:
                self._may_have_events = True
                replies = session.settle(ending=self._ended)
                # The end of one may end another.
                self._may_end_waits = bool(replies)
                self._put(replies)
                self._failure = ""
            if self._may_have_events or self._held_back:
                self._put_events()
                self._may_have_events = self._held_back
        except StorageFailed as failure:
            if failure.message != self._failure:
                self._failure = failure.message
                _log.warning("%s", failure.message)
            self._retry_at = time.monotonic() + RETRY_SECONDS

    def _put_events(self) -> None:
        """Queue as many events as there is room for; a reader that had stopped gets a `lagged` event."""
        subscription = self._session.subscription
        pages = subscription.pages(blocked=self._lagging)
        while self._out.size < EVENT_BACKLOG and (lines := next(pages, None)):
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
