"""One of eight processes has a clock that jumps days both ways: nothing is forgotten, ended or started by it for good.

Each process writes under idempotency keys and sends some of them again, holds a claim that it keeps up, and hosts a
scheduler. The clock of the first is set anew all the time, up to 40 days ahead or behind; for how long the machine is
up is the same for all.
"""

import json
import random
import time
from collections import Counter
from pathlib import Path

from tests.core.job_steps import EVERY_MINUTE, Jobs
from tests.entries import all_entries
from tests.runner.hosting import runners
from tests.soak.budget import Budget
from tests.soak.forked import forking_from
from tui_tasks import clock
from tui_tasks.channel.session import Session
from tui_tasks.cli.admin import doctor
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations.jobs import EndRun
from tui_tasks.core.read import job_queries
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.runner.scheduler_service import SchedulerService

SECOND = 1_000_000
DAY = 24 * 3600 * SECOND
PROCESSES = 8
TURNS = 5_000
# Seconds; far more than a process waits for its turn on a busy machine.
LEASE = 60


class JumpingClock:
    """A clock that is set anew: right, or days off."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.wrong = self.jumps = 0

    def __call__(self) -> int:
        return clock.now() + self.wrong

    def jump(self) -> None:
        self.jumps += 1
        self.wrong = self._chance.choice([0, 1, -1, 8, -8, 40, -40]) * DAY


class Worker:
    """One of the processes."""

    def __init__(self, folder: str, number: int) -> None:
        self.chance = random.Random(number)
        self.clock = JumpingClock(self.chance)
        self.jumps = number == 0
        self.store = Store(f"{folder}/t.db")
        self.agent = f"agent {number}"
        self.session = Session(self.store, TABLE, Identity(agent=self.agent), self.clock, clock.uptime)
        self.service = SchedulerService(
            f"{folder}/t.db", lambda: runners(command=["true"]), clock=self.clock, uptime=clock.uptime, start=self.start
        )
        self.told: Counter[str] = Counter()
        self.answers: list[tuple[dict, dict]] = []

    def start(self, store: Store, run: object, job: object) -> None:
        self.told["runs"] += 1
        store.commit(EndRun(run.uid, "success"), actor="system", now=self.clock())

    def ask(self, tool: str, key: str | None = None, **arguments: object) -> dict:
        request = {"tool": tool, "arguments": arguments, "list": "pool"} | ({"idempotency_key": key} if key else {})
        (line,) = self.session.answer([request])
        reply = json.loads(line)
        if not reply["ok"] and reply["error"]["code"] == "busy":
            return self.ask(tool, key, **arguments)
        assert reply["ok"], (self.agent, self.clock.wrong, reply)
        return reply

    def work(self, turns: int, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        self.ask("task", action="create", title="to be held")
        held = self.ask("control:claim", lease_seconds=LEASE)["result"]["claim"]
        for turn in range(turns):
            if time.monotonic() > deadline:
                break
            if self.jumps and turn % 3 == 0:
                self.clock.jump()
            arguments = {"key": f"{self.agent} {turn}", "action": "create", "title": f"{self.agent} {turn}"}
            self.answers.append((arguments, self.ask("task", **arguments)))
            again, before = self.chance.choice(self.answers)
            assert self.ask("task", **again) == before, (self.agent, "a key was forgotten", again)
            self.ask("control:heartbeat", claim=held)
            self.service.turn(self.store)
            self.session.settle()
            self.told["turns"] += 1
        self.told["jumps"] = self.clock.jumps
        self.clock.wrong = 0
        for again, before in self.answers:
            assert self.ask("task", **again) == before, (self.agent, "a key was forgotten", again)
            self.told["repeats"] += 1
        self.ask("control:heartbeat", claim=held)


def _work(folder: str, number: int, turns: int, seconds: float) -> None:
    worker = Worker(folder, number)
    worker.work(turns, seconds)
    (Path(folder) / f"told-{number}").write_text(json.dumps(worker.told))


def soak(folder: Path, budget: Budget) -> str:
    store = Store(f"{folder}/t.db")
    jobs = Jobs(store, clock.now)
    minutely = jobs.make("minutely", schedule=EVERY_MINUTE, dedicated_context=True)
    someday = jobs.make("someday", "planned", plan=(_in(10 * DAY),), dedicated_context=True)
    forked = forking_from(__name__)
    turns, seconds = budget.of(TURNS), budget.seconds
    processes = [forked.Process(target=_work, args=(str(folder), n, turns, seconds)) for n in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert not any(process.exitcode for process in processes), [process.exitcode for process in processes]
    told: Counter[str] = Counter()
    for number in range(PROCESSES):
        told.update(json.loads((folder / f"told-{number}").read_text()))
    _check(store, told, minutely.uid, someday)
    return (
        f"{told['jumps']:,} jumps of one clock in eight, {told['turns']:,} writes under a key and as many heartbeats: "
        f"0 keys forgotten at {told['repeats'] + told['turns']:,} repeats, 0 claims lapsed, nothing decided ahead of "
        "its time"
    )


def _check(store: Store, told: Counter[str], minutely: str, someday: object) -> None:
    names = Counter(entry.new["name"] for entry in all_entries(store.db) if entry.kind == "task.created" and entry.new)
    assert sum(names.values()) == told["turns"] + PROCESSES, "a write was lost or doubled"
    kinds = Counter(entry.kind for entry in all_entries(store.db))
    assert not kinds["claim.lapsed"], "a claim lapsed that was kept up"
    now = clock.now()
    job = job_queries.job(store.db, minutely)
    assert job.next_run is not None
    assert job.next_run <= now + 60 * SECOND, "a job stands still"
    assert all(run.scheduled_for <= now for run in job_queries.each_run(store.db, minutely, 10_000))
    assert job_queries.job(store.db, someday.uid).next_run == someday.next_run
    assert list(job_queries.each_run(store.db, someday.uid, 10)) == []
    assert database_findings.broken_link(store.db) is None
    findings = list(doctor.findings(store, Path(store.path).with_name("none.toml"), now))
    assert any("a clock is wrong" in finding for finding in findings), findings


def _in(microseconds: int) -> str:
    moment = time.gmtime((clock.now() + microseconds) // SECOND)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)
