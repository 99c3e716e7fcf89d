"""Decides whether the holder of a run is alive: by its process identity if that is visible, else by its heartbeats."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tui_tasks.core.snapshots import Heartbeat
from tui_tasks.runner.process import processes
from tui_tasks.runner.process.processes import ProcessIdentity


class Leases:
    """The last heartbeat seen of each claimed run, timed by the monotonic clock, so that setting the wall clock ends no
    run.

    Args:
        lease: seconds without a new heartbeat after which a run is abandoned.
    """

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._seen: dict[str, tuple[Heartbeat | None, float]] = {}

    def keep_only(self, run_uids: Iterable[str]) -> None:
        """Forget all other runs."""
        wanted = set(run_uids)
        self._seen = {uid: seen for uid, seen in self._seen.items() if uid in wanted}

    def next_look(self, now: float) -> float:
        """Return when to look again, in seconds of the monotonic clock."""
        return now + self._lease / 4 if self._seen else math.inf

    def reason_to_abandon(self, run_uid: str, heartbeat: Heartbeat | None, now: float) -> str | None:
        """Return why a run is to be abandoned; None while it is not. `now`: seconds of the monotonic clock."""
        known = self._seen.get(run_uid)
        if known is None or known[0] != heartbeat:
            known = self._seen[run_uid] = (heartbeat, now)
        is_over = now - known[1] >= self._lease
        if heartbeat is None:
            return "nothing is known of its supervisor" if is_over else None
        if not heartbeat.supervised:
            return "it was claimed by a scheduler, but never began" if is_over else None
        alive = processes.is_alive(ProcessIdentity(heartbeat.boot, heartbeat.namespace, heartbeat.pid, heartbeat.born))
        if alive is None:
            return f"its supervisor has given no sign of life for {self._lease:g} s" if is_over else None
        return None if alive else "its supervisor died"
