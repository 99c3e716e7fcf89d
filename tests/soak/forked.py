"""The program in processes forked from one that has imported everything: starting one takes milliseconds.

The process that forks must have no thread, and no database open.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing.context import ForkServerContext


def forking_from(module: str) -> ForkServerContext:
    """Return what makes processes from one that has imported a module: this one may have threads and open databases."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload([module])
    return made


class Forked:
    """A process that reads requests from `input` and writes replies to `output`, until it is killed."""

    def __init__(self, run: Callable[[], int]) -> None:
        reading, self.input = os.pipe()
        self.output, writing = os.pipe()
        gc.freeze()
        self.pid = os.fork()
        if self.pid == 0:
            _become(run, reading, writing)
        os.close(reading)
        os.close(writing)

    def send(self, line: bytes) -> None:
        """Write a line; nothing happens where the process is gone."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.input, line)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> int:
        """Wait for its end, and close its pipes; its output must have been read."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if self.input >= 0:
            os.close(self.input)
        os.close(self.output)
        return status

    def close_input(self) -> None:
        """Let it find the end of its input."""
        os.close(self.input)
        self.input = -1

    def rest(self) -> bytes:
        """What it still writes, until its end."""
        data = b""
        while more := os.read(self.output, 1 << 16):
            data += more
        return data


def _become(run: Callable[[], int], reading: int, writing: int) -> None:
    status = 70
    try:
        os.dup2(reading, 0)
        os.dup2(writing, 1)
        os.closerange(3, 256)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the process ends
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the process ends
        status = run()
    except BaseException:  # nothing may get back into the code of the process that forked
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)
