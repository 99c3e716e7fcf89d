"""Which agents the screen Agents lists, in which order, and which of them need the human."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import msgspec

from tui_tasks.core.read.agents import agent_states
from tui_tasks.core.read.agents.agent_views import AgentView
from tui_tasks.text.glyphs import AGENT_LOOKS
from tui_tasks.tui.state.context import Context

# Those that need the human most come first.
_RANKS: Final = {state: rank for rank, state in enumerate(AGENT_LOOKS)}


class GoneAgents(msgspec.Struct, frozen=True):
    """Agents that are gone and have left nothing open, as one line. Their lines follow it if it `is_open`."""

    names: tuple[str, ...]
    is_open: bool
    finished: int = 0
    """How many of them have finished."""

    name: ClassVar[str] = ""


AgentsRow = AgentView | GoneAgents


class AgentOrder:
    """The order of the agents that were read last."""

    def __init__(self, context: Context, quiet_after: int) -> None:
        """`quiet_after`: in microseconds, the silence after which an agent of the channel is quiet."""
        self._context = context
        self._quiet_after = quiet_after
        self._over: set[str] = set()
        self.have_left: set[str] = set()
        """The agents that have left their tasks."""

    def read(self, members: Sequence[AgentView]) -> None:
        """Note of these agents what changes with them alone."""
        now, seen_at = self._context.clock.now(), self._context.state.seen.put_away_at
        self._over = {member.name for member in members if agent_states.is_over(member, now, seen_at)}
        self.have_left = {member.name for member in members if member.left_task(now, self._quiet_after) is not None}

    def folded(self, members: Sequence[AgentView], kept: str | None, *, is_open: bool) -> list[AgentsRow]:
        """Return the rows of agents: several that are gone, with nothing open, have one before all others.

        `kept`: an agent that is not among them. `is_open`: each of them has its own row as well.
        """
        gone = [
            one
            for one in members
            if one.name != kept
            and one.state == "gone"
            and one.task is None
            and one.to_review is None
            and one.ask is None
            and one.name not in self.have_left
        ]
        if len(gone) < 2:
            return [*members]
        fold = GoneAgents(tuple(one.name for one in gone), is_open, sum(map(agent_states.has_finished, gone)))
        folded = set() if is_open else {*fold.names}
        return [fold, *(one for one in members if one.name not in folded)]

    def place(self, row: AgentsRow) -> tuple[Any, ...]:
        """Return what a row is sorted by."""
        if isinstance(row, GoneAgents):
            return (_RANKS["gone"], 0, "", "")
        now_in = agent_states.reported_state(row, self._context.clock.now(), self._quiet_after)
        asks = row.ask if now_in in ("waiting", "asking", "paused") else None
        since = asks.opened_at if asks is not None else row.since or 0 if now_in == "waiting" else 0
        shown = self._state_of(row)
        if shown not in ("stuck", "left", "stopped", "ready"):
            has_lost = now_in == "idle" and row.task is None and row.lapsed_claim is not None
            shown = "quiet" if has_lost else "gone" if row.name in self._over else now_in
            shown = "waiting" if asks is not None else shown
        return (_RANKS[shown], since, row.name.casefold(), row.name)

    def needs_you(self, row: AgentsRow) -> bool:
        """Return whether an agent waits for the human or is in trouble."""
        if not isinstance(row, AgentView) or (row.state == "failed" and row.name in self._over):
            return False
        has_stopped = self._state_of(row) in ("stuck", "stopped", "failed", "left")
        return has_stopped or row.state == "waiting" or row.ask is not None or row.name in self.have_left

    def _state_of(self, row: AgentView) -> str:
        return agent_states.state_of(row, self._context.clock.now(), self._quiet_after)
