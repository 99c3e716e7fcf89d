"""How long work on a server or a replica reports its progress."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[str, int, int], None]
"""Takes the kind of steps, how many are done, and their total."""


def ignore(what: str, done: int, total: int) -> None:
    """Show no progress."""
