"""Who speaks on a channel. A module of its own, so that screens without a channel need no other of the dialects."""

from __future__ import annotations

import msgspec


class Identity(msgspec.Struct, frozen=True):
    """Who speaks on a channel, and what they may do (docs: protocol, section 1)."""

    agent: str = "agent"
    list: str | None = None
    read_only: bool = False
    # Whether requests are refused that name another agent, or another list (docs: protocol, section 2).
    agent_only: bool = False
    list_only: bool = False
    # The project that the dialects' own lists belong to (docs: protocol, section 5); None: no project.
    project: str | None = None
    # Whether the speaker was started by a run of a job (rule S1).
    inside_run: bool = False


def own_list(dialect: str, project: str | None) -> str:
    """Return the name of a dialect's own list, in a project or outside any (docs: protocol, section 5)."""
    return dialect if project is None else f"{project}/{dialect}"
