"""What reads of sessions of agent programs return (see `snapshots`). Instants are microseconds, UTC."""

from __future__ import annotations

from typing import Any

import msgspec


class AgentSession(msgspec.Struct, frozen=True, gc=False):
    """A session of an agent program. Its fields are described in `schema.tables.agents.SessionRow`.

    `state` is the one in the journal; `read.agents.session_queries` finds what the session is doing.
    """

    id: int
    uid: str
    program: str
    number: int
    session: str
    boot: str
    namespace: str
    pid: int
    born: str
    cwd: str | None
    project: str | None
    model: str | None
    mode: str | None
    state: str
    waiting_for: str | None
    last_prompt: str | None
    last_message: str | None
    task: str | None
    tokens: int | None
    cost_usd: float | None
    started_at: int
    ended_at: int | None
    ended_by: str | None


class SessionActivity(msgspec.Struct, gc=False):
    """What a session is doing, between two entries about it; `news` are columns that the next entry writes.

    Its fields are described in `schema.tables.agents.ActivityRow`.
    """

    uid: str
    last_seen: int
    busy: bool = False
    tool: str | None = None
    tool_since: int | None = None
    call: str | None = None
    turn: str | None = None
    background: list[str] = []
    request: str | None = None
    news: dict[str, Any] = {}
    tool_times: dict[str, list[int]] = {}  # microseconds that each tool took the last times
    pulse: list[int] = []  # how often it was heard, per minute up to that of `last_seen`, oldest first
    worked_at: int | None = None  # when it was last heard that its turn goes on
    failure: str | None = None  # the last error of its model's service in its turn
    record: dict[str, Any] = {}  # how far its program's transcript was read
    stopped_at: int | None = None  # when it was seen that its process is suspended
    no_task: str | None = None  # why its last prompt, or an item of its own list, became no task


class Stuck(msgspec.Struct, frozen=True, gc=False):
    """Whether an agent is stuck.

    Attributes:
        uid: the agent's name.
        cause: one of `stuck.Cause`; None: it is not stuck.
        text: a line about the cause.
        since: when it became stuck, in microseconds since the epoch.
    """

    uid: str
    cause: str | None
    text: str
    since: int | None
