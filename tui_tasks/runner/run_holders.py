"""Decides whether the holder of a run does its work: by its process if that is visible, else by its heartbeats; and
says in words why a job that is due, or a run that waits, has not been started.

A run can suspend its own supervisor (`kill -STOP $PPID`), which then neither ends the run at its timeout nor records
its end. A suspended supervisor is continued. One that is suspended again and again, until it has given no heartbeat
for a lease, is given up.
"""

from __future__ import annotations

import itertools
import logging
import math
import signal
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from tui_tasks.core.engine.database import Database
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.read import job_queries
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.runner import processes
from tui_tasks.runner.processes import ProcessIdentity
from tui_tasks.text.times import count

if TYPE_CHECKING:
    from tui_tasks.core.read.job_lines import RunLine
    from tui_tasks.core.unjournaled.heartbeats import Scheduler


_log = logging.getLogger(__name__)

# Seconds that a supervisor has to begin its run, as long as the scheduler that started it sees it alive.
START_SECONDS: Final = 120.0


class Leases:
    """The last heartbeat seen of each claimed run, timed by the monotonic clock, so that setting the wall clock ends no
    run.

    Args:
        lease: seconds without a new heartbeat after which a run is abandoned.
    """

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._seen: dict[str, tuple[Heartbeat | None, float]] = {}
        # The last heartbeat of each run whose supervisor was continued, and when that was done first.
        self._continued: dict[str, tuple[Heartbeat, float]] = {}

    def keep_only(self, run_uids: Iterable[str]) -> None:
        """Forget all other runs."""
        wanted = set(run_uids)
        self._seen = {uid: seen for uid, seen in self._seen.items() if uid in wanted}
        self._continued = {uid: seen for uid, seen in self._continued.items() if uid in wanted}

    def next_look(self, now: float) -> float:
        """Return when to look again, in seconds of the monotonic clock."""
        return now + self._lease / 4 if self._seen else math.inf

    def expect(self, heartbeat: Heartbeat, now: float) -> None:
        """Begin to look at a run that was claimed here: its supervisor may die before it commits anything."""
        self._seen[heartbeat.run_uid] = (heartbeat, now)

    def reason_to_abandon(
        self, run_uid: str, heartbeat: Heartbeat | None, now: float, *, is_starting: bool = False
    ) -> str | None:
        """Return why a run is to be abandoned; None while it is not.

        `now`: seconds of the monotonic clock. `is_starting`: this process has started its supervisor, which is alive.
        """
        known = self._seen.get(run_uid)
        if known is None or known[0] != heartbeat:
            known = self._seen[run_uid] = (heartbeat, now)
        is_over = now - known[1] >= self._lease
        if heartbeat is None:
            return "nothing is known of its supervisor" if is_over else None
        if not heartbeat.supervised:
            if is_starting and now - known[1] < START_SECONDS:
                return None
            return "it was claimed by a scheduler, but never began" if is_over else None
        supervisor = _process_of(heartbeat)
        alive = processes.is_alive(supervisor)
        if alive is None:
            return f"its supervisor has given no sign of life for {self._lease:g} s" if is_over else None
        if not alive:
            return "its supervisor died"
        return self._continue_if_stopped(heartbeat, supervisor, now)

    def _continue_if_stopped(self, heartbeat: Heartbeat, supervisor: ProcessIdentity, now: float) -> str | None:
        """Continue a suspended supervisor and keeper; return why the run is to be abandoned if that has not helped."""
        was_stopped = processes.is_stopped(supervisor)
        continue_stopped([supervisor.pid, *_keeper(supervisor)])
        if not was_stopped:
            return None
        known = self._continued.get(heartbeat.run_uid)
        if known is None or known[0] != heartbeat:
            known = self._continued[heartbeat.run_uid] = (heartbeat, now)
        return "its supervisor was stopped again and again" if now - known[1] >= self._lease else None


def continue_stopped(pids: Iterable[int]) -> None:
    """Continue those of the processes that are suspended."""
    for pid in pids:
        if processes.is_stopped(processes.identity(pid)):
            _log.warning("process %d, which supervises a run, was stopped: continued", pid)
            processes.send([pid], signal.SIGCONT)


def stopped(db: Database) -> list[Heartbeat]:
    """Return the heartbeats of the visible supervisors that are suspended."""
    return [
        each
        for each in heartbeats.heartbeats(db)
        if each.supervised and each.is_on(db.machine) and processes.is_stopped(_process_of(each))
    ]


def end_supervisor(heartbeat: Heartbeat | None) -> None:
    """Kill the supervisor of an abandoned run if it is alive. Its keeper then kills what the run has started."""
    if heartbeat is None or not heartbeat.supervised:
        return
    supervisor = _process_of(heartbeat)
    if processes.is_alive(supervisor):
        keeper = _keeper(supervisor)
        processes.send([supervisor.pid], signal.SIGKILL)
        continue_stopped(keeper)


def _process_of(heartbeat: Heartbeat) -> ProcessIdentity:
    # Those of other machines are not judged here.
    return ProcessIdentity(heartbeat.boot, heartbeat.namespace.partition("@")[0], heartbeat.pid, heartbeat.born)


def _keeper(supervisor: ProcessIdentity) -> list[int]:
    return list(itertools.islice(processes.ancestors(supervisor.pid), 1))


NONE_RUNS = "no scheduler runs"
NOT_YET = "not started yet; the scheduler is alive"


def has_ended(one: Scheduler, machine: str) -> bool:
    """Return whether the process of a scheduler is known to have ended."""
    here = processes.identity(machine=machine)
    if one.namespace == here.namespace and one.boot != here.boot:
        return True
    return processes.is_alive(ProcessIdentity.of(one), machine) is False


def why_late(db: Database) -> str:
    """Return why a job whose time has come was not started. On a server, what is said is of this machine."""
    return _why_none(db) or NOT_YET


def why_waits(db: Database, run: RunLine) -> str:
    """Return what a run whose time has come waits for."""
    if why := _why_none(db):
        return why
    others = [one for one in job_queries.open_runs(db, run.job_uid) if one.id < run.id]
    if run.state == "queued" and others:
        return "an earlier run of it has not ended"
    if not run.dedicated or heartbeats.heartbeat_of(db, run.uid) is not None:
        return "it is being started"
    busy = job_queries.in_hand(db)
    return f"the scheduler is busy with {count(busy, 'other run')}" if busy else NOT_YET


def _why_none(db: Database) -> str:
    """Return why no scheduler starts anything; empty where one does."""
    running = [one for one in heartbeats.schedulers_of(db) if not has_ended(one, db.machine)]
    if not running:
        return f"{NONE_RUNS} on this machine" if db.machine else NONE_RUNS
    waits = {
        "it is suspended" if processes.is_stopped(ProcessIdentity.of(one), db.machine) else one.waits: one
        for one in running
    }
    why, one = next(iter(waits.items()))
    return "" if "" in waits else f"the scheduler (process {one.pid}) starts nothing: {why}"
