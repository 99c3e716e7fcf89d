"""How much the agents that the human starts have used of their limits, from their sessions and records."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from tui_tasks.core.operations.work import LimitWork
from tui_tasks.core.read.agents import session_queries
from tui_tasks.core.read.agents.session_queries import Seen
from tui_tasks.core.rules import work_limits
from tui_tasks.core.snapshots import Work
from tui_tasks.core.store import Store
from tui_tasks.hooks import session_records
from tui_tasks.settings.work_settings import LimitSettings

NEAR: Final = 0.8
"""The share of a limit from which an agent is near to it."""
_MINUTE: Final = 60 * 1_000_000


class Use(NamedTuple):
    """What an agent has used of one limit.

    Attributes:
        name: the limit, as in `[work.limits]`.
        used: how much it has used, in the limit's unit.
        limit: the limit that is in force.
    """

    name: str
    used: float
    limit: float

    @property
    def share(self) -> float:
        """The share of the limit that is used."""
        return self.used / self.limit

    def __str__(self) -> str:
        return _WORDS[self.name](self.used, self.limit)


_WORDS: Final = {
    "tokens": lambda used, limit: f"{used:,.0f} of {limit:,.0f} tokens",
    "cost_usd": lambda used, limit: f"${used:,.2f} of ${limit:,.2f}",
    "minutes": lambda used, limit: f"{used:,.0f} of {limit:,.0f} minutes",
    "turns": lambda used, limit: f"{used:,.0f} of {limit:,.0f} turns",
    "context": lambda used, limit: f"{used:.0%} of its context window, where {limit:.0%} is the limit",
}


def most_used(store: Store, work: Work, seen: Seen, settings: LimitSettings, now: int) -> Use | None:
    """Return the limit of which an agent has used the largest share; None without limits, or if nothing is known."""
    set_ones = {name: value for name, value in msgspec.structs.asdict(settings).items() if value is not None}
    limits = work_limits.in_force(work, set_ones)
    if not limits:
        return None
    used = {
        "tokens": seen.session.tokens,
        "cost_usd": seen.session.cost_usd,
        "minutes": (now - work.started_at) / _MINUTE,
        "turns": session_queries.turns(store.db, work.agent) if "turns" in limits else None,
        "context": session_records.of(seen.activity).context,
    }
    uses = [Use(name, amount, limits[name]) for name, amount in used.items() if amount is not None and name in limits]
    return max(uses, key=lambda use: use.share, default=None)


def reached(work: Work, use: Use | None) -> LimitWork | None:
    """Return the operation that stops an agent at a limit; None while it may go on, or the human has been asked."""
    if use is None or use.share < 1 or work_limits.is_held(work):
        return None
    return LimitWork(work.uid, use.name, f"I have used {use}.")


def near(use: Use | None) -> str | None:
    """Return, for people, the limit that an agent is near to or at; None if there is none."""
    return str(use) if use is not None and use.share >= NEAR else None
