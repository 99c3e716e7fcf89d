"""The scheduler with a clock that stands still; and killed with -9 at each step between decision and record."""

import os
import subprocess
from datetime import UTC, datetime

import msgspec
import pytest

from tests.conftest import SECOND, Clock
from tests.core.job_steps import FIRST, HOUR, MINUTE, Jobs, heartbeat, replayed, tables
from tests.runner.hosting import Host, hosted, killed_host, runners
from tests.started import DEADLINE, Started, until
from tui_tasks import clock
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.operations.jobs import BeginRun, EndRun, RunJob
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.runner import processes, run_marks
from tui_tasks.runner.run_holders import Leases
from tui_tasks.runner.scheduler_service import SchedulerService

LEASE = 1.0


class Noted:
    """Stands in for the launcher: notes what is started, and lets it succeed at once unless told."""

    def __init__(self, clock, succeeds=True):
        self.clock, self.succeeds, self.started = clock, succeeds, []

    def __call__(self, store, run, job):
        self.started.append(run.uid)
        by = heartbeat(run.uid, self.clock(), 2, supervised=True)
        store.commit(BeginRun(run.uid, by, "hash", self.clock() + HOUR), actor="system", now=self.clock())
        if self.succeeds:
            store.commit(EndRun(run.uid, "success"), actor="system", now=self.clock())


@pytest.fixture
def jobs(store, clock):
    return Jobs(store, clock)


@pytest.fixture
def noted(clock):
    return Noted(clock)


@pytest.fixture
def service(path, clock, noted):
    return SchedulerService(str(path), lambda: runners(command=["true"], max_parallel=2), clock=clock, start=noted)


def test_a_turn_does_what_is_due_and_tells_when_there_is_more(jobs, service, store, clock, noted):
    job = jobs.make(dedicated_context=True)
    assert service.turn(store) == FIRST
    assert noted.started == []
    clock.now = FIRST
    assert service.turn(store) == FIRST + MINUTE
    assert service.turn(store) == FIRST + MINUTE
    (run,) = jobs.runs(job.uid)
    assert noted.started == [run.uid]
    assert run.outcome == "success"


def test_two_schedulers_start_each_time_once(jobs, service, store, path, clock, noted):
    job = jobs.make(dedicated_context=True)
    other = SchedulerService(str(path), lambda: runners(command=["true"]), clock=clock, start=noted)
    with Store(str(path)) as second:
        for minute in range(5):
            clock.now = FIRST + minute * MINUTE
            for scheduler, its_store in ((service, store), (other, second)):
                scheduler.turn(its_store)
    assert sorted(noted.started) == sorted(run.uid for run in jobs.runs(job.uid))
    assert len(noted.started) == 5


def test_what_cannot_start_yet_keeps_no_scheduler_awake(jobs, store, path, clock):
    noted = Noted(clock, succeeds=False)
    one_at_a_time = runners(command=["true"], max_parallel=1)
    service = SchedulerService(str(path), lambda: one_at_a_time, clock=clock, start=noted)
    for name in ("first", "second"):
        jobs.commit(RunJob(jobs.make(name, "adhoc", dedicated_context=True).uid), "agent")
    jobs.make("queues", dedicated_context=True, settings={"overlap": "queue"})
    clock.now = FIRST + MINUTE
    assert service.turn(store) > clock.now
    assert len(noted.started) == 1
    jobs.commit(EndRun(noted.started[0], "success"))
    service.turn(store)
    assert len(noted.started) == 2


def test_a_request_nobody_answers_is_ended_at_its_deadline(jobs, service, store, clock):
    job = jobs.make(kind="adhoc", settings={"timeout": 60})
    run = jobs.commit(RunJob(job.uid), "agent")
    assert service.turn(store) == run.deadline
    clock.now = run.deadline
    assert service.turn(store) is None
    assert jobs.runs(job.uid)[0].outcome == "error"


def test_a_delayed_request_is_made_by_the_scheduler(jobs, service, store, clock):
    job = jobs.make(settings={"jitter": 50})
    clock.now = FIRST
    at = service.turn(store)
    assert FIRST < at < FIRST + MINUTE
    clock.now = at
    service.turn(store)
    assert jobs.runs(job.uid)[0].state == "running"


def test_a_serving_scheduler_notices_new_jobs_and_a_clock_that_is_set(jobs, path, noted):
    moved = Clock()
    noted.clock = moved
    with hosted(str(path), runners(command=["true"]), clock=moved, start=noted):
        hand = jobs.make("by hand", "adhoc", dedicated_context=True)
        jobs.commit(RunJob(hand.uid), "agent")
        until(lambda: len(noted.started) == 1, "the run by hand")
        timed = jobs.make("timed", dedicated_context=True)
        moved.now = FIRST + 10 * 24 * HOUR
        until(lambda: len(noted.started) == 2, "the run after ten days")
        ran = [run for run in jobs.runs(timed.uid) if run.decision == "ran"]
        assert [run.scheduled_for for run in ran] == [moved.now]


def test_inside_a_run_no_scheduler_is_hosted(jobs, service, noted, clock, monkeypatch):
    jobs.commit(RunJob(jobs.make(kind="adhoc", dedicated_context=True).uid), "agent")
    monkeypatch.setenv("TUI_TASKS_RUN_TOKEN", "token")
    service.run()
    assert noted.started == []


def test_a_defect_does_not_end_the_scheduler(jobs, path, clock):
    calls = []

    def fails(store, run, job):
        calls.append(run.uid)
        raise RuntimeError("a defect")

    with hosted(str(path), runners(command=["true"]), clock=clock, start=fails):
        for number, name in enumerate(("first", "second"), 1):
            jobs.commit(RunJob(jobs.make(name, "adhoc", dedicated_context=True).uid), "agent")
            until(lambda number=number: len(calls) == number, f"the {name} start")


def test_a_database_that_cannot_be_read_is_trouble_of_the_disk_and_no_defect(jobs, path, clock, caplog):
    calls = []

    def fails(store, run, job):
        calls.append(run.uid)
        raise sqlite3.DatabaseError("database disk image is malformed")

    with hosted(str(path), runners(command=["true"]), clock=clock, start=fails):
        jobs.commit(RunJob(jobs.make("first", "adhoc", dedicated_context=True).uid), "agent")
        until(lambda: calls and caplog.records, "the turn that fails")
    told = caplog.records[0]
    assert (told.levelname, told.exc_info) == ("WARNING", None)
    assert "tui-tasks doctor" in told.getMessage()


# Leases


def held_by(process, supervised=True, at=0):
    return Heartbeat("run", supervised, *process, at=at)


def test_a_supervisor_that_lives_keeps_its_run_however_long_it_says_nothing():
    leases = Leases(30)
    alive = held_by(processes.identity())
    assert leases.reason_to_abandon("run", alive, 0) is None
    assert leases.reason_to_abandon("run", alive, 1_000) is None


@pytest.mark.linux
def test_a_supervisor_that_is_seen_to_be_dead_is_given_up_at_once():
    ours = processes.identity()
    reborn = ours._replace(born="1")
    assert Leases(30).reason_to_abandon("run", held_by(reborn), 0) == "its supervisor died"
    gone = ours._replace(pid=2**22 - 1)
    assert Leases(30).reason_to_abandon("run", held_by(gone), 0) == "its supervisor died"


@pytest.mark.parametrize("field", ["boot", "namespace"])
def test_one_of_another_boot_or_container_is_given_up_after_a_lease_without_a_sign(field):
    leases = Leases(30)
    far = processes.identity()._replace(**{field: "another"})
    assert leases.reason_to_abandon("run", held_by(far, at=1), 100) is None
    assert leases.reason_to_abandon("run", held_by(far, at=1), 129) is None
    assert leases.reason_to_abandon("run", held_by(far, at=2), 131) is None
    assert leases.reason_to_abandon("run", held_by(far, at=2), 160) is None
    assert "no sign of life" in leases.reason_to_abandon("run", held_by(far, at=2), 161)


def test_a_claim_is_given_its_lease_even_when_the_scheduler_is_gone():
    leases = Leases(30)
    gone = processes.identity()._replace(pid=2**22 - 1)
    assert leases.reason_to_abandon("run", held_by(gone, supervised=False), 0) is None
    assert "never began" in leases.reason_to_abandon("run", held_by(gone, supervised=False), 30)


def test_setting_the_clock_ends_no_run(jobs, path, store, clock):
    noted = Noted(clock, succeeds=False)
    service = SchedulerService(str(path), lambda: runners(command=["true"]), clock=clock, start=noted)
    run = jobs.commit(RunJob(jobs.make(kind="adhoc", dedicated_context=True).uid), "agent")
    service.turn(store)
    for jump in (40 * 24 * 3600, -2 * 40 * 24 * 3600):
        clock.now += jump * SECOND
        service.turn(store)
    assert heartbeats.heartbeat_of(store.db, run.uid)
    assert jobs.runs(run.job_uid)[0].state == "running"


def test_the_processes_of_a_run_that_is_not_given_up_are_left_alone(jobs, path, store, clock, monkeypatch):
    service = SchedulerService(
        str(path), lambda: runners(command=["true"]), clock=clock, start=Noted(clock, succeeds=False)
    )
    run = jobs.commit(RunJob(jobs.make(kind="adhoc", dedicated_context=True).uid), "agent")
    service.turn(store)
    alive = Heartbeat(run.uid, True, *processes.identity(), at=clock.now)
    dead = msgspec.structs.replace(alive, pid=2**22 - 1)
    with store.db.transaction(write=True):
        heartbeats.put_heartbeat(store.db, dead)
    reason_to_abandon = Leases.reason_to_abandon

    def comes_back_meanwhile(leases, *given, **more):
        with store.db.transaction(write=True):
            heartbeats.put_heartbeat(store.db, alive)
        return reason_to_abandon(leases, *given, **more)

    monkeypatch.setattr(Leases, "reason_to_abandon", comes_back_meanwhile)
    with Started(["cat"], stdin=subprocess.PIPE, env={run_marks.RUN_ID: run.uid}) as process:
        service.turn(store)
        assert jobs.runs(run.job_uid)[0].state == "running"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(DEADLINE) == 0


def test_a_process_that_has_ended_is_dead_though_nobody_has_reaped_it():
    child = Started(["cat"], stdin=subprocess.PIPE)
    known = processes.identity(child.pid)
    assert processes.is_alive(known) is True
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert processes.is_alive(known) is False
    child.wait()
    assert processes.is_alive(known) is False


@pytest.mark.parametrize("supervised", [False, True])
def test_what_a_supervisor_started_is_inside_a_run_and_what_a_scheduler_started_is_not(store, supervised):
    with store.db.transaction(write=True):
        heartbeats.put_heartbeat(store.db, Heartbeat("run", supervised, *processes.identity(os.getppid()), at=0))
    assert run_marks.inside_run({}, store.db) is supervised


@pytest.mark.parametrize(
    ("at", "outcome", "reason", "starts"),
    [
        ("scheduler decided", "success", None, {1}),
        ("scheduler claimed", "interrupted", "it was claimed by a scheduler, but never began", {0}),
        ("scheduler started", "success", None, {1}),
        ("supervisor opened", "interrupted", "it was claimed by a scheduler, but never began", {0}),
        ("supervisor begun", "interrupted", "its supervisor died", {0}),
        ("supervisor started", "interrupted", "its supervisor died", {0, 1}),
        ("supervisor ended", "interrupted", "its supervisor died", {1}),
        ("supervisor recorded", "success", None, {1}),
    ],
)
def test_a_run_is_final_within_a_lease_and_never_started_twice(store, path, tmp_path, at, outcome, reason, starts):
    host = Host(store)
    file = tmp_path / "starts"
    table = {"command": ["sh", "-c", f"echo started >> {file}"]}
    run = due_now(host)
    killed_host(str(path), table, at)
    # A supervisor that goes on may take longer than a short lease to begin.
    with hosted(str(path), runners(**table), lease=DEADLINE if outcome == "success" else LEASE):
        ended = host.ended(run())
    assert (ended.outcome, ended.reason) == (outcome, reason)
    assert (file.read_text().count("started") if file.exists() else 0) in starts
    (only,) = host.jobs.runs(ended.job_uid)
    assert only.decision == "ran"
    assert heartbeats.heartbeats(store.db) == []
    assert replayed(store) == tables(store.db)


def due_now(host):
    """A job that has been due once for half a minute; return what gives its run, once that is decided."""
    ago = Jobs(host.jobs.store, lambda: clock.now() - 60_000_000)
    moment = datetime.fromtimestamp(clock.now() / 1_000_000 - 30, UTC).isoformat()
    job = ago.make("once", "planned", plan=(moment,), dedicated_context=True, settings={"retries": 3})

    def run():
        return until(lambda: host.jobs.runs(job.uid), "the decision")[0]

    return run
