"""Why a job that is due, or a run that waits, has not been started: in words for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_tasks.core.read import job_queries
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.runner import processes
from tui_tasks.runner.processes import ProcessIdentity
from tui_tasks.text.times import count

if TYPE_CHECKING:
    from tui_tasks.core.engine.database import Database
    from tui_tasks.core.read.job_lines import RunLine
    from tui_tasks.core.unjournaled.heartbeats import Scheduler

NONE_RUNS = "no scheduler runs"
NOT_YET = "the scheduler has not started it yet"


def has_ended(one: Scheduler, machine: str) -> bool:
    """Return whether the process of a scheduler is known to have ended."""
    here = processes.identity(machine=machine)
    if one.namespace == here.namespace and one.boot != here.boot:
        return True
    return processes.is_alive(_identity(one), machine) is False


def _identity(one: Scheduler) -> ProcessIdentity:
    return ProcessIdentity(one.boot, one.namespace, one.pid, one.born)


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
        "it is suspended" if processes.is_stopped(_identity(one), db.machine) else one.waits: one for one in running
    }
    why, one = next(iter(waits.items()))
    return "" if "" in waits else f"the scheduler (process {one.pid}) starts nothing: {why}"
