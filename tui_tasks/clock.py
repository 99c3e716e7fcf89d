"""The time of day, for the front ends; everything below is given it."""

from __future__ import annotations

import time


def now() -> int:
    """Microseconds since the epoch, UTC."""
    return time.time_ns() // 1000
