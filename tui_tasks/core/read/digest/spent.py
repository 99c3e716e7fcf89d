"""What sessions of agent programs have spent."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tui_tasks.core.read.digest.digest_line import DigestLine
from tui_tasks.core.read.digest.entries import EventEntry


class _Cost(msgspec.Struct, gc=False):
    tokens: int = 0
    cost_usd: float = 0.0
    at: int = 0
    entries: list[int] = []


def spent(events: list[EventEntry]) -> Iterator[DigestLine]:
    """Yield a line for each session that has spent tokens or money (US dollars)."""
    found: dict[str, _Cost] = {}
    for event in events:
        new = event.values if event.entity == "session" else {}
        if new.get("tokens") is None and new.get("cost_usd") is None:
            continue
        old = msgspec.json.decode(event.old) if event.old else {}
        cost = found.setdefault(event.uid, _Cost())
        for name in ("tokens", "cost_usd"):
            if new.get(name) is not None:
                setattr(cost, name, getattr(cost, name) + new[name] - (old.get(name) or 0))
        cost.at = event.at
        cost.entries.append(event.seq)
    for agent, cost in found.items():
        words = [f"{cost.tokens:,} tokens"] * bool(cost.tokens) + [f"${cost.cost_usd:,.2f}"] * bool(cost.cost_usd)
        text = ", ".join(words) or "nothing"
        yield DigestLine("spent", "spent", agent, agent, agent, text, cost.at, tuple(cost.entries))
