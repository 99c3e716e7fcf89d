"""Why a job that is due, or a run that waits, was not started: the true reason, in words."""

import pytest

from tests.core.job_steps import FIRST, MINUTE, Jobs
from tests.runner.hosting import hosted, runners
from tests.started import until
from tui_tasks.core.read import job_lines
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.core.unjournaled.heartbeats import Scheduler
from tui_tasks.runner import processes
from tui_tasks.runner.run_holders import NONE_RUNS, NOT_YET, why_late, why_waits
from tui_tasks.runner.scheduler_service import SchedulerService


@pytest.fixture
def jobs(store, clock):
    return Jobs(store, clock)


@pytest.fixture
def own(store):
    """This process as a scheduler, unless it is told otherwise."""

    def put(waits="", **other):
        path = heartbeats.real_path(store.db)
        fields = {**processes.identity()._asdict(), "path": path, **other}
        heartbeats.put_scheduler(store.db, Scheduler(**fields, waits=waits))

    return put


def test_without_a_scheduler_a_late_job_says_that_none_runs(store):
    assert why_late(store.db) == NONE_RUNS


def test_a_scheduler_that_was_killed_or_that_serves_a_copy_does_not_run(store, own):
    own(pid=2**30, born="1")
    own(boot="an earlier one")
    own(path="/another.db", born="2")
    assert why_late(store.db) == NONE_RUNS


def test_a_scheduler_at_work_has_not_come_to_it_yet(store, own):
    own()
    assert why_late(store.db) == NOT_YET


def test_a_scheduler_that_starts_nothing_says_why(store, own):
    mine = processes.identity()
    own("it does not trust the clock yet")
    assert why_late(store.db) == f"the scheduler (process {mine.pid}) starts nothing: it does not trust the clock yet"


def test_a_suspended_scheduler_is_named(store, own, monkeypatch):
    own()
    monkeypatch.setattr(processes, "is_stopped", lambda *given: True)
    assert why_late(store.db).endswith("starts nothing: it is suspended")


def test_a_run_that_waits_says_what_for(jobs, store, own, clock):
    job = jobs.make(dedicated_context=True, settings={"overlap": "queue"})
    clock.now = FIRST
    jobs.decide(job.uid)
    clock.now = FIRST + MINUTE
    jobs.decide(job.uid)
    second, first = job_lines.older(store.db, job.uid, 2)
    assert (first.state, second.state) == ("waiting", "queued")
    assert why_waits(store.db, first) == NONE_RUNS
    own()
    assert why_waits(store.db, first) == NOT_YET
    assert why_waits(store.db, second) == "an earlier run of it has not ended"
    other = jobs.make("other", dedicated_context=True)
    clock.now += MINUTE
    jobs.decide(other.uid)
    (busy,) = job_lines.older(store.db, other.uid, 1)
    jobs.claim(busy.uid)
    assert why_waits(store.db, first) == "the scheduler is busy with 1 other run"
    assert why_waits(store.db, busy) == "it is being started"


def test_a_scheduler_is_recorded_while_it_serves(store, path):
    with hosted(str(path), runners(command=["true"])):
        until(lambda: why_late(store.db) == NOT_YET, "the record of the scheduler")
    assert why_late(store.db) == NONE_RUNS


def test_a_turn_without_trust_in_the_clock_is_recorded_once_and_taken_back(store, path, clock, monkeypatch):
    service = SchedulerService(str(path), lambda: runners(command=["true"]), clock=clock)
    held = iter((15_000_000, 15_000_000, 0))
    monkeypatch.setattr(service, "_clock_check", type("Held", (), {"look": lambda self, db: next(held)})())
    said = []
    for _ in range(3):
        service.turn(store)
        service._record(store)
        said.append(why_late(store.db).partition(": ")[2])
    assert said == ["it does not trust the clock yet"] * 2 + [""]
