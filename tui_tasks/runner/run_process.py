"""The command of a run: starts it, writes its input, keeps its output in bounded memory, and ends it with its
descendants.

This module does not use the database. All sizes are in bytes.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

from tui_tasks.core.unjournaled.run_output import HEAD, TAIL
from tui_tasks.runner import processes, run_marks
from tui_tasks.text.output_lines import telling_line

PIECE: Final = 32 * 1024
# The end of standard output that becomes the run's result.
RESULT: Final = 256 * 1024
# The end of standard error, else of standard output, that is searched for the line that says why a run failed.
LAST_WORDS: Final = 4 * 1024
MAX_REASON: Final = 200
# The end of both streams together that is kept with a check.
LAST_OUTPUT: Final = 16 * 1024
CHUNK: Final = 64 * 1024
# The number of reads that empty a pipe of 1 MiB, the largest that Linux gives by default.
PIPE_READS: Final = 16
# Seconds that a command's descendants have to end by themselves once the command has ended.
LEFTOVER_GRACE: Final = 2.0


class OutputLog:
    """The pieces of a run's output that are not yet in the database."""

    def __init__(self) -> None:
        self.total = 0
        self._written = 0
        self._unfinished = bytearray()
        self._head: list[tuple[int, bytes]] = []
        self._tail: deque[tuple[int, bytes]] = deque(maxlen=TAIL // PIECE)

    def feed(self, data: bytes) -> None:
        """Append output."""
        view = memoryview(data)
        while view:
            part = view[: PIECE - len(self._unfinished)]
            self._unfinished += part
            self.total += len(part)
            view = view[len(part) :]
            if len(self._unfinished) == PIECE:
                self._close_piece()

    def _close_piece(self) -> None:
        start = self.total - PIECE
        pieces = self._head if start < HEAD else self._tail
        pieces.append((start, bytes(self._unfinished)))
        self._unfinished.clear()

    @property
    def pending(self) -> bool:
        """Whether there is output to write."""
        return self.total > self._written

    def unwritten_pieces(self) -> list[tuple[int, bytes]]:
        """Return the pieces to write as (offset, bytes): full pieces once, the last one again as it grows."""
        pieces = [*self._head, *self._tail]
        if self._unfinished:
            pieces.append((self.total - len(self._unfinished), bytes(self._unfinished)))
        return pieces

    def mark_written(self) -> None:
        """Forget the pieces that `unwritten_pieces` returned, which are now in the database."""
        self._head.clear()
        self._tail.clear()
        self._written = self.total


class StreamTail:
    """The last `limit` bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        """Append bytes of the stream."""
        self._data += data
        if len(self._data) > 2 * self._limit:
            self._drop_excess()

    def _drop_excess(self) -> None:
        extra = len(self._data) - self._limit
        if extra > 0:
            del self._data[:extra]
            self._dropped += extra

    def text(self) -> str:
        """Return the end as text, after a note if bytes were left out; bytes that are not UTF-8 become U+FFFD."""
        self._drop_excess()
        if not self._dropped:
            return self._data.decode(errors="replace")
        # The cut may have split a character.
        start = next((at for at in range(min(4, len(self._data))) if self._data[at] & 0xC0 != 0x80), 0)
        return f"[… {self._dropped + start:,} bytes left out …]\n{self._data[start:].decode(errors='replace')}"

    def telling_line(self) -> str:
        """Return the line that says why it ended (see `output_lines`), at most `MAX_REASON` characters of it."""
        return telling_line(self._data[-LAST_WORDS:].decode(errors="replace"))[:MAX_REASON]


class RunProcess:
    """A run's command in its own session, and its descendants.

    The process that creates it must be a subreaper without other children.

    With `read_output` the input stays open for `send`; that function is given the standard output and returns what is
    kept of it, and standard error is not mixed in.

    Attributes:
        status: the wait status as `waitpid` returns it; None until the command itself has ended.
        is_gone: whether the command and all its descendants have ended.
    """

    def __init__(
        self,
        argv: tuple[str, ...],
        cwd: Path,
        environment: dict[str, str],
        given: bytes,
        run_mark: int,
        read_output: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Start the command with `given` as its standard input and `run_mark` as the mark of its run.

        Raises:
            OSError: the command cannot be started.
        """
        self.log = OutputLog()
        self.result = StreamTail(RESULT)
        self.last_words = StreamTail(LAST_WORDS)
        # The end of both streams, in order of arrival.
        self.output = StreamTail(LAST_OUTPUT)
        self.status: int | None = None
        self.is_gone = False
        self._unwritten = memoryview(given)
        self._read_output = read_output
        self._keeps_input = read_output is not None
        self._selector: selectors.BaseSelector | None = None
        self._kill_at: float | None = None
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,
            # Safe, as the supervisor has one thread, which holds no locks here.
            preexec_fn=lambda: _prepare_child(run_mark),
        )
        self.pid = self._process.pid

    def register(self, selector: selectors.BaseSelector) -> None:
        """Register the streams; a key's data is the handler to call with the selector and the stream when ready."""
        process, self._selector = self._process, selector
        for stream, events, handler in (
            (process.stdin, selectors.EVENT_WRITE, self._write),
            (process.stdout, selectors.EVENT_READ, self._read),
            (process.stderr, selectors.EVENT_READ, self._read),
        ):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, events, handler)

    def _write(self, selector: selectors.BaseSelector, stream: IO[bytes]) -> None:
        try:
            written = os.write(stream.fileno(), self._unwritten[:CHUNK]) if self._unwritten else 0
        except BlockingIOError:
            return
        except OSError:
            # The command has closed its input.
            self._unwritten = self._unwritten[:0]
        else:
            self._unwritten = self._unwritten[written:]
        if not self._unwritten:
            selector.unregister(stream)
            if not self._keeps_input:
                stream.close()

    @property
    def takes_input(self) -> bool:
        """Whether the command's standard input is open for `send`."""
        stream = self._process.stdin
        return self._keeps_input and stream is not None and not stream.closed

    def send(self, data: bytes) -> None:
        """Queue data for the command's standard input. After `close_input` it is discarded."""
        stream = self._process.stdin
        assert stream is not None
        if not self.takes_input:
            return
        self._unwritten = memoryview(bytes(self._unwritten) + data)
        if self._selector is not None and stream not in self._selector.get_map():
            self._selector.register(stream, selectors.EVENT_WRITE, self._write)

    def close_input(self) -> None:
        """Close the command's standard input after the queued data is written."""
        self._keeps_input = False
        stream = self._process.stdin
        assert stream is not None
        if not self._unwritten and not stream.closed:
            if self._selector is not None and stream in self._selector.get_map():
                self._selector.unregister(stream)
            stream.close()

    def _read(self, selector: selectors.BaseSelector, stream: IO[bytes]) -> None:
        try:
            data = os.read(stream.fileno(), CHUNK)
        except BlockingIOError:
            return
        if not data:
            selector.unregister(stream)
            stream.close()
            return
        self._store_output(data, is_output=stream is self._process.stdout)

    def _store_output(self, data: bytes, *, is_output: bool) -> None:
        if self._read_output is not None and not is_output:
            self.last_words.feed(data)
            return
        if self._read_output is not None:
            data = self._read_output(data)
        self.log.feed(data)
        self.output.feed(data)
        (self.result if is_output else self.last_words).feed(data)

    def drain(self) -> None:
        """Read what is left in the open streams.

        Reads no more than a pipe holds, as a descendant may still have the write end and write.
        """
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            with contextlib.suppress(BlockingIOError, ValueError):
                for _ in range(PIPE_READS):
                    self._store_output(os.read(stream.fileno(), CHUNK), is_output=stream is self._process.stdout)

    # Ending

    def end(self, grace: float) -> None:
        """Send SIGTERM to the command and its descendants; `reap` kills those left after `grace` seconds.

        A second call has no effect.
        """
        if self._kill_at is None:
            self._kill_at = time.monotonic() + grace
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Let the next `reap` kill the command and its descendants."""
        self._kill_at = time.monotonic()

    def reap(self) -> None:
        """Collect ended processes, and kill the rest once their grace is over."""
        self._reap_children()
        if self.is_gone:
            return
        if self.status is not None:
            self.end(LEFTOVER_GRACE)
        while self._kill_at is not None and time.monotonic() >= self._kill_at and not self.is_gone:
            self._signal(signal.SIGKILL)
            self._reap_children()
            if not self.is_gone:
                self._kill_at = time.monotonic() + processes.KILL_AGAIN
                return

    def seconds_to_kill(self) -> float | None:
        """Return the seconds until `reap` must kill; None while nothing is being ended."""
        return None if self._kill_at is None else max(0.0, self._kill_at - time.monotonic())

    def _reap_children(self) -> None:
        """Reap every ended child: the command, and orphans that this subreaper has inherited."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.is_gone = True
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.status = status
                self._process.returncode = os.waitstatus_to_exitcode(status)

    def _signal(self, number: int) -> None:
        if self.status is None:
            processes.send_group(self.pid, number)
        processes.send(processes.descendants(os.getpid()), number)


def _prepare_child(run_mark: int) -> None:
    processes.die_with_parent()
    run_marks.put(run_mark)
