"""Writes of claims: one agent's hold on a task, for the length of a lease."""

from __future__ import annotations

from tui_tasks.core.operations.operation import Operation


class ClaimNext(Operation, frozen=True):
    """Take the next ready task, of one list, of a project's, or of all. Result: (task, claim) or None."""

    agent: str
    lease: int
    list_uid: str | None = None
    project: str | None = None


class ExtendClaim(Operation, frozen=True):
    """Start the lease of a claim anew. Result: the claim."""

    agent: str
    claim: str


class ReleaseClaim(Operation, frozen=True):
    """Give a claimed task back as pending. Result: the task."""

    agent: str
    claim: str


class LapseClaims(Operation, frozen=True):
    """Give back every task whose lease is over. Result: how many."""
