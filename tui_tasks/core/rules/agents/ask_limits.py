"""How many questions may wait for the human, of one agent and of all, so that a flood does not bury one of them.

A name costs nothing, so the limit of one agent alone would not hold. Beyond the limit of all, the live sessions of an
agent program's process still ask a few.

docs: protocol, section 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from tui_tasks.core.vocab import SHELL

if TYPE_CHECKING:
    from tui_tasks.core.commit.transaction import Transaction

# How many questions of the live sessions of one process may wait, however many of others do.
OF_PROCESS: Final = 5


class AskLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[asks]`.

    Attributes:
        limit: how many questions of one agent may wait for the human.
        total: how many of all agents may.
    """

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 50
    total: Annotated[int, Meta(ge=1, le=10_000)] = 1_000


def reached(tx: Transaction) -> tuple[str, int, int] | None:
    """Return which limit forbids the speaker another question, in words, with the limit and how many wait; None if it
    may ask.
    """
    from tui_tasks.core.read import ask_queries  # settings are read by commands that ask nothing

    settings = tx.state_cache.recorded_settings
    limits = AskLimits() if settings is None else settings.asks
    own = ask_queries.count_open(tx.db, tx.actor)
    if own >= limits.limit:
        return f"{own} questions of {tx.actor} wait for the human", limits.limit, own
    everyone = ask_queries.count_open(tx.db)
    # A shell's question is about a command of the human's own.
    if everyone >= limits.total and tx.actor != SHELL and not _may_ask_a_few(tx):
        return f"{everyone} questions of all agents wait for the human", limits.total, everyone
    return None


def _may_ask_a_few(tx: Transaction) -> bool:
    """Return whether the speaker is a live session of a process, few of whose questions wait."""
    from tui_tasks.core.read import ask_queries
    from tui_tasks.core.read.agents import session_queries

    session = session_queries.find(tx.db, tx.actor)
    if session is None or session.ended_at is not None or not session.pid:
        return False
    sessions = session_queries.in_process(tx.db, session.pid)
    return sum(ask_queries.count_open(tx.db, one.uid) for one in sessions) < OF_PROCESS
