"""The command of a run: started, fed, listened to, and ended with all that came of it. Knows no database."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, Final

from tui_tasks.runner import mark, processes
from tui_tasks.runner.output import LAST_OUTPUT, LAST_WORDS, RESULT, End, Log

CHUNK: Final = 64 * 1024
# Reads that empty a pipe of 1 MiB, the largest there is by default.
PIPE_READS: Final = 16
# Seconds that what a command leaves behind has to end by itself once the command has ended.
LEFTOVER_GRACE: Final = 2.0


class Command:
    """A process of its own in a session of its own, and whatever descends from it.

    The process that makes one must be a subreaper, and have no other children.
    """

    def __init__(self, argv: tuple[str, ...], cwd: Path, environment: dict[str, str], text: bytes, borne: int) -> None:
        """Start it, with `text` for its standard input; `borne`: the mark of its run.

        Raises:
            OSError: it cannot be started.
        """
        self.log = Log()
        self.result = End(RESULT)
        self.last_words = End(LAST_WORDS)
        # Of both streams, as it comes.
        self.output = End(LAST_OUTPUT)
        # As `waitpid` gives it, once the command itself has ended.
        self.status: int | None = None
        self.is_gone = False
        self._text = memoryview(text)
        self._kill_at: float | None = None
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,
            # One thread and no locks held here, so that this is safe.
            preexec_fn=lambda: _prepare(borne),
        )
        self.pid = self._process.pid

    def register(self, selector: selectors.BaseSelector) -> None:
        """Have its streams watched; the data of each is what to call with the selector when it is ready."""
        process = self._process
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
            written = os.write(stream.fileno(), self._text[:CHUNK]) if self._text else 0
        except BlockingIOError:
            return
        except OSError:
            # It does not read its input; that is its own affair.
            self._text = self._text[:0]
        else:
            self._text = self._text[written:]
        if not self._text:
            selector.unregister(stream)
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
        self.log.feed(data)
        self.output.feed(data)
        (self.result if stream is self._process.stdout else self.last_words).feed(data)

    def drain(self) -> None:
        """Take in what is left in its streams, closed ones passed over.

        No more than a pipe holds: somebody elsewhere may have been handed its end, and still write.
        """
        for stream, end in ((self._process.stdout, self.result), (self._process.stderr, self.last_words)):
            assert stream is not None
            with contextlib.suppress(BlockingIOError, ValueError):
                for _ in range(PIPE_READS):
                    data = os.read(stream.fileno(), CHUNK)
                    self.log.feed(data)
                    self.output.feed(data)
                    end.feed(data)

    # Its end

    def end(self, grace: float) -> None:
        """Ask all of it to end; what has not in `grace` seconds is killed by `reap`. Once asked, asking again changes
        nothing.
        """
        if self._kill_at is None:
            self._kill_at = time.monotonic() + grace
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Have all of it killed by the next `reap`."""
        self._kill_at = time.monotonic()

    def reap(self) -> None:
        """Take note of what has ended, and kill what should have."""
        self._wait()
        if self.is_gone:
            return
        if self.status is not None:
            self.end(LEFTOVER_GRACE)
        while self._kill_at is not None and time.monotonic() >= self._kill_at and not self.is_gone:
            self._signal(signal.SIGKILL)
            self._wait()
            if not self.is_gone:
                self._kill_at = time.monotonic() + processes.KILL_AGAIN
                return

    def patience(self) -> float | None:
        """Seconds until `reap` has something to do though no process ends."""
        return None if self._kill_at is None else max(0.0, self._kill_at - time.monotonic())

    def _wait(self) -> None:
        """Reap every child there is: the command, and the orphans that have come down to this process."""
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


def _prepare(borne: int) -> None:
    processes.die_with_parent()
    mark.put(borne)
