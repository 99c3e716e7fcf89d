"""What reads of jobs, their runs, and the processes that hold runs return (see `snapshots`). In microseconds, UTC."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

# What the human sees of a held job, and accepts: its name, what it does, and when.
ACCEPTED: Final = ("name", "system_prompt", "prompt", "schedule", "plan", "timezone", "dedicated_context", "settings")


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

ON_TIME: Final = 60_000_000
"""Microseconds after which a due time is late; cron itself is not finer than this."""


def is_late(due: int, now: int) -> bool:
    """Return whether a due time is so long over that no scheduler seems to run."""
    return now - due >= ON_TIME


class Job(msgspec.Struct, frozen=True, gc=False):
    """A job of the scheduler (seed 003). Its fields are described in `schema.job_tables.JobRow`."""

    id: int
    uid: str
    name: str
    name_key: str
    type: str
    system_prompt: str
    prompt: str
    schedule: dict[str, str] | None
    plan: tuple[int, ...] | None
    timezone: str
    dedicated_context: bool
    enabled: bool
    settings: dict[str, Any]
    created_by: str
    created_at: int
    next_run: int | None
    last_run: int | None
    last_outcome: str | None
    last_result: str | None
    failures: int
    decided_until: int
    active: int
    deleted: bool
    held: bool = False
    accepted: str | None = None

    @property
    def number(self) -> int:
        """Return its number, by which people name it: `S3`. A deleted job keeps it, and no other job ever has it."""
        return self.id

    @property
    def version(self) -> str:
        """Return the digest of the job as it is, which names the version that is accepted."""
        return self.digest({})

    def digest(self, changes: Mapping[str, Any]) -> str:
        """Return a digest of what the human accepts of the job with these changes."""
        seen = [changes[name] if name in changes else getattr(self, name) for name in ACCEPTED]
        return hashlib.sha256(msgspec.json.encode(seen, order="deterministic")).hexdigest()

    @property
    def state(self) -> str:
        """Return its state in the words of seed 003: running, disabled, error (last run no success) or idle."""
        if self.active:
            return "running"
        if not self.enabled:
            return "disabled"
        return "idle" if self.last_outcome in (None, "success") else "error"


class Run(msgspec.Struct, frozen=True, gc=False):
    """One nominal time or manual start of a job, and its outcome. Its fields are described in
    `schema.job_tables.RunRow`.
    """

    id: int
    uid: str
    job_uid: str
    trigger: str
    scheduled_for: int | None
    attempt: int
    retry_of: str | None
    decision: str
    outcome: str | None
    state: str
    dedicated: bool
    context: str
    requested_by: str
    started_at: int | None
    ended_at: int | None
    exit_code: int | None
    result: str | None
    reason: str | None
    token_hash: str | None
    deadline: int | None
    not_before: int | None
    stop_reason: str | None
    agent: str | None
    session: str | None
    turns: int | None
    tokens: int | None
    cost_usd: float | None


class Heartbeat(msgspec.Struct, frozen=True, gc=False):
    """The process that holds a run of a job or of a check, and when it last reported.

    `born` distinguishes it from others of its number.
    """

    run_uid: str
    supervised: bool
    boot: str
    namespace: str
    pid: int
    born: str
    at: int

    def is_on(self, machine: str) -> bool:
        """Return whether the process is on that machine; one that was moved with a file counts as everybody's."""
        return self.namespace.partition("@")[2] in ("", machine)


def local_iso(instant: int | None, zone: str) -> str | None:
    """Return an instant as ISO 8601 with the offset of the time zone, to the millisecond; None for None."""
    if instant is None:
        return None
    from zoneinfo import ZoneInfo  # most readers need no local time

    precision = "milliseconds" if instant % 1_000_000 else "seconds"
    return (_EPOCH + timedelta(microseconds=instant)).astimezone(ZoneInfo(zone)).isoformat(timespec=precision)
