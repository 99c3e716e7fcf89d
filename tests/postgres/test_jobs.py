"""Jobs of a server, with a scheduler on each machine: each due time is fired once, and a run is its machine's."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from tests.core.job_steps import Jobs
from tests.postgres.machines import digest
from tests.runner.hosting import Host, hosted, runners
from tests.started import until
from tui_tasks import clock
from tui_tasks.core.errors import Refusal
from tui_tasks.core.job_snapshots import Job
from tui_tasks.core.operations.jobs import StopRun
from tui_tasks.core.read import job_queries
from tui_tasks.core.snapshots import iso
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.runner.scheduler_service import SchedulerService

SECOND = 1_000_000
Made = TypeVar("Made")


def nothing(store, run, job):
    """Start no supervisor."""


def runs_of(store: Store, job: str) -> list[tuple[object, ...]]:
    store.db.catch_up()
    return store.db.sql(
        "SELECT scheduled_for, decision, state FROM run WHERE job_uid = ? ORDER BY id", (job,)
    ).fetchall()


def soon(make: Callable[[int], Made | None], now: Callable[[], int] = clock.now) -> tuple[Made, int]:
    """What is made for an instant that comes soon, and the instant: a later one where the first has passed meanwhile on
    a busy machine. A job is refused whose time has passed; `make` may give None, too.
    """
    for seconds in (0.5, 5, 50):
        when = (now() + int(seconds * SECOND)) // 1000 * 1000  # as precise as a plan
        with contextlib.suppress(Refusal):
            if (made := make(when)) is not None:
                return made, when
    raise AssertionError("its time had not passed")


def shell(text: str) -> dict:
    return {"command": ["sh", "-c", text], "grace": 1}


def test_each_due_time_is_fired_once_by_two_schedulers(store_on):
    here, there = store_on("a"), store_on("b")
    jobs = Jobs(here, clock.now)

    def make(first: int) -> list[Job]:
        plan = [iso(first + number * SECOND // 20) for number in range(20)]
        more = {"plan": plan, "dedicated_context": True, "settings": {"overlap": "queue"}}
        return [jobs.make(f"job {number} at {first}", "planned", **more) for number in range(5)]

    made, _ = soon(make)
    there.db.catch_up()
    paths, failed = (here.path, there.path), []

    def serve(path: str) -> None:
        try:
            service = SchedulerService(path, lambda: runners(command=["true"]), start=nothing)
            with Store(path) as store:
                while service.turn(store) is not None:
                    store.db.catch_up()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=serve, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    for job in made:
        times = [row[0] for row in runs_of(here, job.uid)]
        assert len(times) == len(set(times)) == 20
        assert job_queries.job(here.db, job.uid).next_run is None
    there.db.catch_up()
    assert digest(here.path) == digest(there.path)


def test_a_run_is_carried_out_on_one_machine_and_seen_on_the_other(store_on, tmp_path):
    here, there = store_on("a"), store_on("b")
    host = Host(there)
    file = tmp_path / "ran"
    table = shell(f"echo $XDG_STATE_HOME >> {file}; echo $TUI_TASKS_DB >> {file}")
    with hosted(here.path, runners(**table)), hosted(there.path, runners(**table)):
        run = host.run_to_end("once")
    assert run.outcome == "success"
    _, database = file.read_text().split()
    assert database.startswith("postgresql://")
    here.db.catch_up()
    assert job_queries.run(here.db, run.uid).outcome == "success"
    assert heartbeats.heartbeats(here.db) == heartbeats.heartbeats(there.db) == []


def test_a_machine_without_the_runner_leaves_a_run_to_one_that_has_it(store_on, tmp_path):
    here, there = store_on("a"), store_on("b")
    host = Host(here)
    with hosted(here.path, runners()):
        run = host.start("elsewhere")
        turn = SchedulerService(here.path, lambda: runners(), start=nothing)
        turn.turn(here)
        assert host.run(run.uid).state == "waiting"
        with hosted(there.path, runners(**shell("echo done"))):
            assert host.ended(run).outcome == "success"


def test_only_the_machine_of_a_run_says_that_its_supervisor_has_died(store_on):
    here, there = store_on("a"), store_on("b")
    host = Host(here)
    service = SchedulerService(here.path, lambda: runners(**shell("sleep 1000")), lease=0.0, start=nothing)
    run = host.start("long")
    service.turn(here)
    assert heartbeats.heartbeat_of(here.db, run.uid) is not None
    there.db.catch_up()
    other = SchedulerService(there.path, lambda: runners(**shell("true")), lease=0.0, start=nothing)
    for _ in range(3):
        other.turn(there)
    assert job_queries.run(there.db, run.uid).state == "waiting"
    for _ in range(3):
        service.turn(here)
    assert host.run(run.uid).outcome == "interrupted"


def test_a_run_is_stopped_from_another_machine(store_on, tmp_path):
    here, there = store_on("a"), store_on("b")
    host = Host(here)
    file = tmp_path / "begun"
    with hosted(here.path, runners(**shell(f"touch {file}; sleep 1000"))):
        run = host.start("long")
        until(file.exists, "the begin of the run")
        there.db.catch_up()
        there.commit(StopRun(run.uid), actor="human", now=clock.now())
        assert host.ended(run).reason == "stopped by human"


def test_each_machine_runs_as_many_at_once_as_its_settings_say(store_on):
    here, there = store_on("a"), store_on("b")
    host = Host(here)
    for number in range(4):
        host.start(f"job {number}")
    made = runners(**shell("true"), max_parallel=1)
    for store in (here, there):
        store.db.catch_up()
        SchedulerService(store.path, lambda: made, start=nothing).turn(store)
    here.db.catch_up()
    held = [one.namespace.partition("@")[2] for one in heartbeats.heartbeats(here.db)]
    assert sorted(held) == sorted([here.db.machine, there.db.machine])


@pytest.mark.parametrize(("is_due", "what"), [(True, "job.decided as system"), (False, "who holds a run")])
def test_a_machine_with_an_agents_role_leaves_jobs_to_others_and_says_so_once(
    store_on, agents_store, caplog, is_due, what
):
    here, agents = store_on("a"), agents_store
    made, started, run = runners(command=["true"]), [], Host(here).start("long")
    if is_due:
        jobs = Jobs(here, clock.now)
        _, when = soon(lambda at: jobs.make("now", "planned", plan=[iso(at)], dedicated_context=True))
        until(lambda: clock.now() >= when, "its time")  # the server's clock is no test's
    agents.db.catch_up()
    service = SchedulerService(agents.path, lambda: made, start=lambda *_: started.append(1))
    assert [service.turn(agents) > clock.now() + 50 * SECOND for _ in range(3)] == [True] * 3
    role = agents.db._joined().connected().info.user
    assert caplog.messages == [
        f"jobs and checks are left to other machines: role {role} is the agent codex and may not write {what}"
    ]
    here.db.catch_up()
    SchedulerService(here.path, lambda: made, start=nothing).turn(here)
    assert started == []
    assert heartbeats.heartbeat_of(here.db, run.uid).is_on(here.db.machine)
    assert not heartbeats.heartbeat_of(here.db, run.uid).is_on(agents.db.machine)


@pytest.mark.parametrize("wrong", [-3600 * SECOND, 3600 * SECOND], ids=["behind", "ahead"])
def test_a_job_is_due_by_the_servers_time(store_on, monkeypatch, wrong):
    here = store_on("a")
    right = clock.now
    monkeypatch.setattr(clock, "now", lambda: right() + wrong)
    jobs = Jobs(here, clock.now)
    service = SchedulerService(here.path, lambda: runners(command=["true"]), clock=clock.now, start=nothing)

    def make(at: int) -> Job | None:
        made = jobs.make("soon", "planned", plan=[iso(at)], dedicated_context=True)
        return made if service.turn(here) == at else None

    job, when = soon(make, right)
    assert runs_of(here, job.uid) == []
    until(lambda: service.turn(here) is None, "its time")
    assert right() >= when
    [(scheduled, _, _)] = runs_of(here, job.uid)
    assert scheduled == when
