"""A process whose clock is wrong forgets nothing, ends nothing and starts nothing for good."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import SECOND, START, Clock, Talk
from tests.core.job_steps import EVERY_MINUTE, HOUR, MINUTE, Jobs, replayed, tables
from tests.runner.hosting import runners
from tests.talking import ADD, add, task
from tui_tasks.channel.session import Session
from tui_tasks.cli.admin import doctor
from tui_tasks.clock import Uptime
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.jobs import DropDecided, EndRun, ExpireRuns, RunJob
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read import job_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import local_values
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.runner.clock_check import CONTRADICTED, HOLD
from tui_tasks.runner.scheduler_service import SchedulerService

DAY = 24 * HOUR


class Machine:
    """Time that passes, and clocks that are as wrong as one likes."""

    def __init__(self) -> None:
        self.up = 1_000 * SECOND

    def __call__(self) -> Uptime:
        return Uptime("this start", self.up)

    def clock(self, wrong: int = 0) -> WrongClock:
        return WrongClock(self, wrong)

    def pass_by(self, time: int) -> None:
        self.up += time


class WrongClock:
    def __init__(self, machine: Machine, wrong: int) -> None:
        self.machine, self.wrong = machine, wrong

    def __call__(self) -> int:
        return START + self.machine.up + self.wrong


class TimedTalk(Talk):
    """A conversation of a process with a clock of its own on that machine."""

    def __init__(self, store: Store, machine: Machine, agent: str, wrong: int = 0) -> None:
        self.store = store
        self.clock = machine.clock(wrong)
        self.session = Session(store, TABLE, Identity(agent=agent), self.clock, machine)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def stores(path):
    with Store(str(path)) as one, Store(str(path)) as other:
        yield one, other


# Idempotency keys, claims, questions


def test_a_process_days_ahead_forgets_no_key_of_anothers(stores, machine):
    right, ahead = TimedTalk(stores[0], machine, "pay"), TimedTalk(stores[1], machine, "other", 8 * DAY)
    payment = {"tool": ADD, "arguments": {"name": "pay 100"}, "idempotency_key": "k"}
    first = right.one(payment)
    for number in range(3):
        add(ahead, f"{number}", idempotency_key=f"{number}")
    assert right.one(payment) == first
    # And the other way round: what it keeps itself is not kept for ever.
    machine.pass_by(local_values.REPLY_RETENTION + MINUTE)
    add(right, "much later", idempotency_key="later")
    assert stores[0].db.scalar("SELECT count(*) FROM kept_reply") == 1


def test_a_process_days_ahead_lapses_no_claim_of_anothers(stores, machine):
    right, ahead = TimedTalk(stores[0], machine, "right"), TimedTalk(stores[1], machine, "ahead", 8 * DAY)
    uid = add(right)
    held = right.ok("control:claim", lease_seconds=60)
    for _ in range(5):
        machine.pass_by(10 * SECOND)
        assert task(ahead, uid)["status"] == "in_progress"
        assert ahead.session.settle() == []
        assert ahead.ok("control:claim") is None
    right.ok("tasklist:log_task_progress", uid=uid, message="still at it")
    right.ok("control:heartbeat", claim=held["claim"])
    machine.pass_by(60 * SECOND)
    assert ahead.ok("control:claim")["task"]["uid"] == uid
    assert right.refused("tasklist:set_task_done", uid=uid)["code"] == "stale_claim"


def test_the_claim_of_a_process_whose_clock_is_wrong_lasts_as_long_as_anothers(stores, machine):
    for wrong in (8 * DAY, -8 * DAY):
        right, other = TimedTalk(stores[0], machine, f"right {wrong}"), TimedTalk(stores[1], machine, "w", wrong)
        add(right)
        held = other.ok("control:claim", lease_seconds=60)
        machine.pass_by(59 * SECOND)
        assert right.ok("control:claim") is None
        machine.pass_by(SECOND)
        assert right.session.due() <= right.session.database_now()
        assert right.ok("control:claim")["task"]["uid"] == held["task"]["uid"]
        right.ok("tasklist:set_task_done", uid=held["task"]["uid"])


@pytest.mark.parametrize("wrong", [8 * DAY, -8 * DAY], ids=["ahead", "behind"])
def test_a_process_whose_clock_is_wrong_extends_and_gives_back_its_claim(stores, machine, wrong):
    right, other = TimedTalk(stores[0], machine, "right"), TimedTalk(stores[1], machine, "other", wrong)
    # Only now does the database tell what has passed.
    uid = add(right, idempotency_key="k")
    held = other.ok("control:claim", lease_seconds=60)
    machine.pass_by(59 * SECOND)
    other.ok("control:heartbeat", claim=held["claim"])
    machine.pass_by(59 * SECOND)
    other.ok("control:release", claim=held["claim"])
    assert task(other, uid)["status"] == "pending"


def test_a_clock_that_is_set_while_a_question_waits_ends_it_no_sooner(stores, machine):
    talk = TimedTalk(stores[0], machine, "agent")
    asked = {"id": "q", "tool": "ask", "arguments": {"question": "Or?", "timeout": 60}, "idempotency_key": "k"}
    assert talk.lines(asked) == []
    talk.clock.wrong = 10 * DAY
    assert talk.session.settle() == []
    # Asked again by a process that begins anew, under its key.
    again = TimedTalk(stores[1], machine, "agent", 10 * DAY)
    assert again.lines(asked) == []
    machine.pass_by(60 * SECOND)
    assert [json.loads(line)["error"]["code"] for line in talk.session.settle()] == ["timeout"]


def test_a_requested_run_is_not_ended_by_a_clock_that_is_ahead(stores, machine):
    right, ahead = TimedTalk(stores[0], machine, "right"), TimedTalk(stores[1], machine, "ahead", 10 * DAY)
    job = Jobs(stores[0], right.clock).make("by hand", "adhoc", settings={"timeout": 90})
    (run,) = stores[0].commit(RunJob(job.uid), actor="right", now=right.clock())
    for store, clock, passes, ended in ((stores[1], ahead.clock, 89, 0), (stores[1], ahead.clock, 1, 1)):
        machine.pass_by(passes * SECOND)
        assert store.commit(ExpireRuns(), actor="system", now=clock()) == [ended]
    assert job_queries.run(stores[0].db, run.uid).outcome == "error"


def test_what_was_claimed_and_kept_by_an_earlier_version_counts_from_the_first_look(stores, machine):
    """Nothing tells how long ago that was but a clock."""
    clock = Clock(machine.clock()())
    earlier = Talk(stores[0], clock, agent="agent")
    uid = add(earlier, idempotency_key="k")
    earlier.ok("control:claim", lease_seconds=60)
    stores[0].db.sql("DELETE FROM view")
    ahead = TimedTalk(stores[1], machine, "ahead", 10 * DAY)
    add(ahead, idempotency_key="other")
    assert task(ahead, uid)["status"] == "in_progress"
    machine.pass_by(60 * SECOND)
    assert ahead.ok("control:claim")["task"]["uid"] == uid
    assert stores[0].db.scalar("SELECT count(*) FROM kept_reply") == 2


# The scheduler


class Scheduler:
    """A scheduler process, turn by turn, with a clock of its own; what it starts succeeds at once."""

    def __init__(self, store: Store, machine: Machine, wrong: int = 0) -> None:
        self.store, self.clock = store, machine.clock(wrong)
        self.started = []
        self.service = SchedulerService(
            store.path, lambda: runners(), clock=self.clock, uptime=machine, start=self._start
        )

    def _start(self, store, run, job):
        self.started.append(run.scheduled_for)
        Jobs(store, self.clock).begin(run.uid)
        store.commit(EndRun(run.uid, "success"), actor="system", now=self.clock())

    def turns(self, count: int = 5) -> int:
        """So many turns; how many runs were started."""
        before = len(self.started)
        for _ in range(count):
            self.service.turn(self.store)
        return len(self.started) - before


def make(store: Store, clock, **fields):
    return Jobs(store, clock).make(schedule=EVERY_MINUTE, dedicated_context=True, **fields)


def test_a_clock_that_is_set_while_it_is_watched_starts_nothing_for_a_while(stores, machine):
    scheduler = Scheduler(stores[0], machine)
    job = make(stores[0], scheduler.clock)
    assert scheduler.turns() == 0
    machine.pass_by(MINUTE)
    assert scheduler.turns() == 1
    before = journal.newest(stores[0].db)
    scheduler.clock.wrong = 10 * DAY
    assert scheduler.service._clock_check.has_jumped()
    for _ in range(8):
        assert scheduler.turns() == 0
        machine.pass_by(SECOND)
    assert journal.newest(stores[0].db) == before
    scheduler.clock.wrong = 0
    machine.pass_by(MINUTE)
    assert scheduler.turns() == 0
    machine.pass_by(HOLD)
    assert scheduler.turns() == 1
    assert {run.decision for run in job_queries.each_run(stores[0].db, job.uid, 100)} <= {"ran", "coalesced"}


def test_a_clock_that_stays_where_it_was_set_is_right(stores, machine):
    scheduler = Scheduler(stores[0], machine)
    make(stores[0], scheduler.clock)
    scheduler.turns()
    scheduler.clock.wrong = 10 * DAY
    assert scheduler.turns() == 0
    machine.pass_by(HOLD)
    assert scheduler.turns(100) == 1


def test_a_right_clock_takes_back_what_one_that_was_ahead_has_decided(stores, machine):
    right = machine.clock()
    for keep in (1, 100):
        job = make(stores[0], right, name=f"keep {keep}", settings={"keep_runs": keep})
        planned = Jobs(stores[0], right).make(
            f"planned {keep}", "planned", plan=("2027-01-01T00:00:00+00:00",), dedicated_context=True
        )
    ahead = Scheduler(stores[1], machine, 3 * DAY)
    ahead.turns()
    machine.pass_by(HOLD)
    assert ahead.turns(300) == 2
    assert job_queries.job(stores[0].db, job.uid).next_run > right() + 2 * DAY
    scheduler = Scheduler(stores[0], machine)
    told = list(doctor.findings(stores[0], Path(stores[0].path + ".toml"), right()))
    assert any("decided until" in said and "2 days" in said for said in told), told
    scheduler.turns()
    machine.pass_by(HOLD)
    scheduler.turns()
    for name in ("keep 1", "keep 100"):
        back = job_queries.job_named(stores[0].db, name)
        assert right() < back.next_run <= right() + MINUTE
    assert job_queries.job(stores[0].db, planned.uid).next_run == planned.next_run
    machine.pass_by(2 * MINUTE)
    assert scheduler.turns() == 2
    assert replayed(stores[0]) == tables(stores[0].db)


def test_a_clock_that_others_contradict_starts_nothing_while_they_do(stores, machine):
    right = TimedTalk(stores[0], machine, "right")
    make(stores[0], right.clock)
    add(right)
    ahead = Scheduler(stores[1], machine, 10 * DAY)
    behind = TimedTalk(stores[0], machine, "behind", -4_000 * DAY)
    scheduler = Scheduler(stores[0], machine)
    scheduler.turns()
    machine.pass_by(HOLD)
    for _ in range(10):
        add(right)
        add(behind)
        assert ahead.turns() == 0
        machine.pass_by(MINUTE)
    # One that is years behind all that there is stops nobody whose clock is right.
    assert scheduler.turns() == 1
    assert ahead.turns() == 0
    machine.pass_by(CONTRADICTED)
    assert ahead.turns(100) == 1


def test_a_clock_that_is_behind_repeats_nothing(stores, machine):
    clock = machine.clock()
    job = make(stores[0], clock, settings={"keep_runs": 3})
    scheduler = Scheduler(stores[0], machine)
    for _ in range(10):
        machine.pass_by(MINUTE)
        scheduler.turns()
    assert len(scheduler.started) == 10
    scheduler.clock.wrong = -2 * HOUR
    for _ in range(100):
        machine.pass_by(MINUTE)
        scheduler.turns()
    assert len(scheduler.started) == len(set(scheduler.started)) == 10
    assert len(list(job_queries.each_run(stores[0].db, job.uid, 100))) == 3


def test_what_was_begun_is_not_taken_back_nor_begun_again(stores, machine):
    clock = machine.clock()
    jobs = Jobs(stores[0], clock)
    job = make(stores[0], clock, settings={"overlap": "queue", "catch_up": "all", "catch_up_cap": 3, "stagger": 0})
    clock.wrong = 10 * DAY
    jobs.decide(job.uid)
    begun, *waiting = job_queries.open_runs(stores[0].db, job.uid)
    assert len(waiting) == 2
    jobs.claim(begun.uid)
    jobs.begin(begun.uid)
    clock.wrong = 0
    assert jobs.commit(DropDecided(job.uid, jobs.job(job.uid).decided_until)) is True
    assert [run.uid for run in jobs.runs(job.uid)] == [begun.uid]
    assert jobs.job(job.uid).active == 1
    assert jobs.commit(DropDecided(job.uid, jobs.job(job.uid).decided_until)) is False
    assert replayed(stores[0]) == tables(stores[0].db)


def test_a_clock_from_before_a_job_was_made_takes_its_decisions_back_once(stores, machine):
    clock = machine.clock()
    jobs = Jobs(stores[0], clock)
    job = make(stores[0], clock)
    machine.pass_by(HOUR)
    jobs.decide(job.uid)
    clock.wrong = -5 * HOUR
    ahead = job_queries.decided_ahead(stores[0].db, clock())
    assert list(ahead) == [job.uid]
    jobs.commit(DropDecided(job.uid, ahead[job.uid]))
    before = journal.newest(stores[0].db)
    assert jobs.commit(DropDecided(job.uid, jobs.job(job.uid).decided_until)) is False
    assert journal.newest(stores[0].db) == before


def test_a_process_that_was_suspended_takes_back_nothing_that_was_decided_meanwhile(stores, machine):
    clock = machine.clock()
    jobs = Jobs(stores[0], clock)
    job = make(stores[0], clock)
    stale = jobs.job(job.uid).decided_until
    machine.pass_by(HOUR)
    jobs.decide(job.uid)
    before = jobs.job(job.uid)
    clock.wrong = -HOUR  # what it read before it was suspended
    assert jobs.commit(DropDecided(job.uid, stale)) is False
    assert jobs.job(job.uid) == before


def test_by_hand_a_job_is_started_whatever_the_clock_says(stores, machine):
    scheduler = Scheduler(stores[0], machine)
    job = Jobs(stores[0], scheduler.clock).make("by hand", "adhoc", dedicated_context=True)
    scheduler.turns()
    scheduler.clock.wrong = 10 * DAY
    stores[0].commit(RunJob(job.uid), actor="agent", now=scheduler.clock())
    assert scheduler.turns() == 1


# Told


def test_doctor_tells_which_entries_contradict_one_another(store, tmp_path):
    (home,) = store.commit(EnsureList("x", "tasklist"), actor="agent", now=START)
    for at in (0, 1, 8 * DAY, 2 * SECOND, 3 * SECOND):
        store.commit(AddTask("task", home.uid), actor="bob" if at == 8 * DAY else "agent", now=START + at)
    (said,) = doctor.findings(store, tmp_path / "none", START + MINUTE)
    assert "entry 4" in said
    assert "bob" in said
    assert "7 days, 23:59:58" in said
    assert "clock" in said
