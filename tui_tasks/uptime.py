"""For how long a machine has been up; needs nothing, so that what only tells the time imports nothing else."""

from __future__ import annotations

from typing import NamedTuple


class Uptime(NamedTuple):
    """For how long (microseconds) a machine has been up; `machine` is another word after each start of it."""

    machine: str
    up: int
