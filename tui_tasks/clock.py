"""The time of day, and for how long the machine is up, for the front ends; everything below is given them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from functools import cache
from typing import NamedTuple


class Uptime(NamedTuple):
    """For how long (microseconds) a machine has been up; `machine` is another word after each start of it."""

    machine: str
    up: int


def now() -> int:
    """Microseconds since the epoch, UTC."""
    return time.time_ns() // 1000


def uptime() -> Uptime:
    """For how long this machine has been up, asleep or not: setting its clock changes nothing of it.

    Linux tells by a file, so that what makes a clock up for one process makes up nothing here.
    """
    file = _file()
    if file is None:
        return Uptime(_machine(), time.monotonic_ns() // 1000)
    return Uptime(_machine(), int(float(os.pread(file, 64, 0).split()[0]) * 1_000_000))


def uptime_beside(clock: Callable[[], int]) -> Callable[[], Uptime]:
    """What goes with a clock: a clock of a test's own tells what time passes, too."""
    return uptime if clock is now else lambda: Uptime("", clock())


@cache
def _file() -> int | None:
    try:
        return os.open("/proc/uptime", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


@cache
def _machine() -> str:
    """This start of this machine, as processes of one container see it; its name where nothing else is told."""
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return os.uname().nodename
