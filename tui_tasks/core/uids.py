"""Uids of new rows: UUIDs that are close together in an index if they are made one after another.

An index orders rows by uid. If the uids of 64 new tasks were scattered, the commit would write 64 pages of each index
instead of one or two; if each group had its own place, a checkpoint would.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

RUN: Final = 256
# One wrong digit, or two that changed places, alter a number by no multiple of 17: they name no neighbour.
STEP: Final = 17
_LEAST: Final = 0xA00000


def new_uids() -> Iterator[str]:
    """Yield uids without end. The first 24 bits count up by `STEP` from a random number, redrawn after `RUN` uids.

    The rest is random. They have the form of version 4. Uids made one after another differ within the first six
    letters, which are enough to name a task by. The first is `a` to `f`, as digits alone are the number of a task.
    """
    for number, rest in zip(_numbers(), _letters(), strict=True):
        first = f"{number:06x}{rest[24:]}"
        yield f"{first}-{rest[:4]}-4{rest[5:8]}-{_VARIANT[rest[8]]}{rest[9:12]}-{rest[12:24]}"


def _numbers() -> Iterator[int]:
    while True:
        first = _LEAST + int.from_bytes(os.urandom(4)) % (0x1000000 - RUN * STEP - _LEAST)
        yield from range(first, first + RUN * STEP, STEP)


def _letters() -> Iterator[str]:
    """Yield 26 random hexadecimal digits at a time. Many are drawn at once, as the system call takes longest."""
    while True:
        drawn = os.urandom(13 * 32).hex()
        for at in range(0, len(drawn), 26):
            yield drawn[at : at + 26]


_VARIANT = {digit: "89ab"[at % 4] for at, digit in enumerate("0123456789abcdef")}
