"""A team's server: the journal on PostgreSQL, which each machine replays into a replica; psycopg is used here alone."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[str, int, int], None]
"""Takes how far long work has come: the kind of its steps, how many are done, and their total."""


def no_report(what: str, done: int, total: int) -> None:
    """Show no progress."""
