"""The time of day and the machine's uptime, for the front ends, which pass them to everything below."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from functools import cache

import msgspec


class Uptime(msgspec.Struct, frozen=True):
    """How long a machine has been up.

    Attributes:
        machine: an id that is new after each boot.
        up: microseconds since the boot.
    """

    machine: str
    up: int


def now() -> int:
    """Return the time of day, in microseconds since the epoch."""
    return time.time_ns() // 1000


def uptime() -> Uptime:
    """Return how long this machine has been up, including time asleep; setting the wall clock does not change it.

    On Linux it is read from a file, so that a test that fakes the clock of a process does not fake the uptime.
    """
    file = _file()
    if file is None:
        return Uptime(_machine(), time.monotonic_ns() // 1000)
    return Uptime(_machine(), int(float(os.pread(file, 64, 0).split()[0]) * 1_000_000))


def uptime_beside(clock: Callable[[], int]) -> Callable[[], Uptime]:
    """Return the uptime that goes with a clock: for a test's own clock, the clock itself."""
    return uptime if clock is now else lambda: Uptime("", clock())


@cache
def _file() -> int | None:
    try:
        return os.open("/proc/uptime", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


@cache
def _machine() -> str:
    """Return an id of this boot, the same in all processes of a container; without one, the machine's name."""
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return os.uname().nodename
