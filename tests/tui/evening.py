"""The plan of the pictures with what the other screens show: more agents, and jobs with a history."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from tests.tui.plan import MINUTE, ZONE, Plan, Step, at, connect
from tui_tasks.core.job_snapshots import Heartbeat, Run
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.jobs import (
    BeginRun,
    ClaimRun,
    CreateJob,
    DecideDue,
    DisableJob,
    EditJob,
    EnableJob,
    FinishRun,
    RunJob,
)
from tui_tasks.core.operations.tasks import LogTask
from tui_tasks.core.read import job_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import run_output


def with_agents(plan: Plan) -> Plan:
    """One agent that has finished, and one that does nothing at the moment."""
    with Store(plan.path) as store:
        for when, actor, operation in _said(plan):
            store.commit(operation, actor=actor, now=when)
        connect(store, "watcher")
    return plan


def _said(plan: Plan) -> list[tuple[int, str, LogTask]]:
    return [
        (at(19, 58, 30), "codex-1", LogTask(plan[6], "listed the cases to test")),
        (at(20, 15, 40), "watcher", LogTask(plan[8], "looked at the backups")),
    ]


def in_order(path: Path, more: Callable[[Plan], Sequence[Step]] = lambda plan: ()) -> Plan:
    """The plan with agents and jobs, and what else happens, written in the order in which it happened."""
    steps: list[Step] = []
    plan = Plan(path, steps)
    steps += more(plan)
    for when, actor, operation in _said(plan):
        steps.append((when, lambda store, now, actor=actor, what=operation: store.commit(what, actor=actor, now=now)))
    Jobs(plan, steps, quarters=KEPT)
    with Store(plan.path) as store:
        connect(store, "watcher")
    return plan


KEPT = 100
"""So many runs of a job are kept: of one that runs every quarter of an hour those of a day."""
BERLIN = {"timezone": "Europe/Berlin"}
ASKED = "Summarise what was finished since yesterday, and mail it."


def day(number: int, hour: int, minute: int = 0, second: int = 0) -> int:
    """An instant of another day of that November."""
    local = datetime(2026, 11, number, hour, minute, second, tzinfo=ZONE)
    return int(local.timestamp()) * 1_000_000


class Jobs:
    """Five jobs with a history, each made, decided and finished as it would have been. `jobs[4]` is the uid of S4.

    What happens is noted down first, and done in the order of its times.
    """

    def __init__(
        self, plan: Plan, also: Sequence[tuple[int, Callable[[Store, int], Any]]] = (), *, quarters: int = 9
    ) -> None:
        """`quarters`: how often the first job has run, the run that goes on included."""
        self.plan = plan
        self._quarters = quarters
        self.uids = [""] * 5
        self._steps: list[tuple[int, Callable[[int], Any]]] = []
        for when, step in also:
            self._at(when, lambda now, step=step: step(self._store, now))
        self._status()
        self._audit()
        self._restore()
        self._digest()
        self._report()
        with Store(plan.path) as store:
            self._store = store
            for when, step in sorted(self._steps, key=lambda noted: noted[0]):
                step(when)

    def copied(self, plan: Plan) -> Self:
        """The same jobs beside a copy of the same plan."""
        copied = copy.copy(self)
        copied.plan = plan
        shutil.copy(self.plan.path, plan.path)
        return copied

    def __getitem__(self, number: int) -> str:
        return self.uids[number - 1]

    def _at(self, when: int, step: Callable[[int], Any]) -> None:
        self._steps.append((when, step))

    def _do(self, when: int, operation: Operation, actor: str = "system") -> Any:
        return self._store.commit(operation, actor=actor, now=when)[0]

    def _make(self, number: int, when: int, name: str, kind: str, prompt: str, **more: Any) -> None:
        def make(now: int) -> None:
            made = self._do(now, CreateJob(name, kind, "", prompt, **BERLIN, **more), "claude-1")
            self.uids[number - 1] = made.uid

        self._at(when, make)

    def _open(self, number: int) -> Run:
        (run,) = job_queries.open_runs(self._store.db, self[number])
        return run

    def _ran(self, number: int, when: int, took: int, outcome: str = "success", result: str = "done") -> None:
        """It was due, was asked of the agent, and the agent answered."""
        self._at(when, lambda now: self._do(now, DecideDue(self[number])))
        self._answered(number, when + took * 1_000_000, outcome, result)

    def _answered(self, number: int, when: int, outcome: str, result: str) -> None:
        self._at(when, lambda now: self._do(now, FinishRun(self._open(number).uid, outcome, result), "claude-1"))

    def _by_hand(self, number: int, when: int) -> None:
        self._at(when, lambda now: self._do(now, RunJob(self[number]), "human"))

    def _status(self) -> None:
        quarters = {"minute": "*/15", "hour": "*", "day": "*", "month": "*", "weekday": "*"}
        self._make(1, day(2, 8), "Server status", "scheduled", "Ping the server.", schedule=quarters)
        self._at(day(2, 8, 1), lambda now: self._do(now, DisableJob(self[1]), "human"))
        first = at(20, 15) - 15 * MINUTE * (self._quarters - 1)
        self._at(first - 13 * MINUTE, lambda now: self._do(now, EnableJob(self[1]), "human"))
        for when in range(first, at(20, 15), 15 * MINUTE):
            failed = when == at(19, 15)
            self._ran(1, when, 9, "error" if failed else "success", "no answer" if failed else "200 OK")
        self._at(at(20, 14, 50), lambda now: self._do(now, EditJob(self[1], {"dedicated_context": True}), "human"))
        self._at(at(20, 15), self._started)

    def _started(self, now: int) -> None:
        """By a supervisor, which writes what the run prints."""
        self._do(now, DecideDue(self[1]))
        self.running = self._open(1).uid
        heartbeat = Heartbeat(self.running, False, "boot", "namespace", 4242, "1", now)
        self._do(now, ClaimRun(self.running, heartbeat, 4))
        self._do(now + 1_000_000, BeginRun(self.running, heartbeat, "0" * 64, at(21, 15)))
        output = b"PING 192.168.1.1\n64 bytes: time=0.3 ms\n64 bytes: time=0.4 ms\n"
        run_output.write_output(self._store.db, self.running, [(0, output)], len(output))

    def _audit(self) -> None:
        weekdays = {"minute": "0", "hour": "9", "day": "*", "month": "*", "weekday": "mon-fri"}
        self._make(2, day(10, 15), "Login audit", "scheduled", "Audit the logins.", schedule=weekdays)
        for number in (11, 12, 13, 16, 17, 18, 19, 20):
            self._ran(2, day(number, 9), 28)
        self._by_hand(2, at(20, 12, 43))
        self._answered(2, at(20, 13, 11), "success", "12 logins")

    def _restore(self) -> None:
        dates = ("2026-11-21T19:50:00", "2026-12-19T19:50:00", "2027-01-16T19:50:00")
        self._make(3, day(11, 16), "Restore test", "planned", "Restore the last backup.", plan=dates)

    def _digest(self) -> None:
        daily = {"minute": "0", "hour": "16", "day": "*", "month": "*", "weekday": "*"}
        self._make(4, day(16, 16), "Digest mail", "scheduled", ASKED, schedule=daily)
        for number in (17, 18, 19):
            self._ran(4, day(number, 16), 20)
        self._ran(4, day(20, 16), 3, "error", "smtp: 535 authentication failed")
        self._ran(4, day(21, 16), 3, "error", "connecting to smtp\nsmtp: 535 authentication failed")

    def _report(self) -> None:
        self._make(5, day(16, 17), "Weekly report", "adhoc", "Write the weekly report.")
        for number in (17, 18):
            self._by_hand(5, day(number, 20))
            self._answered(5, day(number, 20, 4), "success", "sent")
