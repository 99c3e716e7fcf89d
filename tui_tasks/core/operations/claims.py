"""Writes of claims: an agent's hold on a task, for the length of a lease."""

from __future__ import annotations

from tui_tasks.core.operations.operation import Operation


class ClaimNext(Operation, frozen=True):
    """Claim the next ready task, of one list, of a project, or of all. Result: (task, claim) or None.

    `lease` is in microseconds.
    """

    agent: str
    lease: int
    list_uid: str | None = None
    project: str | None = None


class ExtendClaim(Operation, frozen=True):
    """Restart the lease of a claim. Result: the claim."""

    agent: str
    claim: str


class ReleaseClaim(Operation, frozen=True):
    """Return a claimed task as pending. Result: the task."""

    agent: str
    claim: str


class LapseClaims(Operation, frozen=True):
    """Return every task whose lease has ended. Result: how many."""
