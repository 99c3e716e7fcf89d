"""A machine that never returns, of which others end what it held; and one that returns after all."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.entries import all_entries
from tests.postgres.machines import digest
from tests.postgres.test_checks import Machine, add, request
from tests.postgres.test_machines import START, leave, state_of
from tests.runner.hosting import Host, runners, until
from tests.started import Started
from tui_tasks import clock
from tui_tasks.channel.presence import Presence
from tui_tasks.client.requests import ToolError
from tui_tasks.clock import Uptime
from tui_tasks.core import connections
from tui_tasks.core.errors import OutcomeUnknown, RoleRefused
from tui_tasks.core.machine_leases import LEASE, LEASE_RENEWED, leases
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.jobs import EndRun
from tui_tasks.core.operations.sessions import Process
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.core.read import ask_queries, job_queries
from tui_tasks.core.schedule import supervision
from tui_tasks.core.store import Store
from tui_tasks.hooks import follower
from tui_tasks.hooks.follower import LostMachines
from tui_tasks.postgres.replica import Replica
from tui_tasks.runner import processes
from tui_tasks.runner.service import SchedulerService

SECOND = 1_000_000


@pytest.fixture
def time(monkeypatch):
    """The uptime of all machines, which a test sets forward."""
    made = SimpleNamespace(up=1_000 * SECOND)
    monkeypatch.setattr(clock, "uptime", lambda: Uptime("one boot", made.up))
    return made


def hear(*stores: Store) -> None:
    """Let machines renew their leases, as a process of each does that stays."""
    for store in stores:
        store.db.catch_up()
        store.db.renew_lease()


def look(store: Store) -> int:
    store.db.catch_up()
    return LostMachines(store, clock.uptime).look(clock.now())


def pass_by(time, length: int, *there: Store) -> None:
    """Let time pass, in which some machines are heard of."""
    for _ in range(length // LEASE_RENEWED):
        time.up += LEASE_RENEWED
        hear(*there)


def two_machines(store_on) -> tuple[Store, Store]:
    """Two machines that the server has heard of, the second with a session."""
    here, there = store_on("a"), store_on("b")
    hear(here, there)
    leave(there, START)
    return here, there


def ask(store: Store, agent: str = "codex") -> str:
    """Ask a question, for whose answer this process waits."""
    with store.transaction(clock.now()) as transaction, transaction.change():
        transaction.speak(agent)
        uid = transaction.run(OpenAsk("Which?", ())).uid
        connections.put_asker(store.db, uid, Process(*processes.identity(machine=store.db.machine)))
    return uid


def begun_run(store: Store) -> str:
    """Start a run, of which only the supervisor is missing."""
    made = runners(command=["true"])
    run = Host(store).start("long")
    SchedulerService(store.path, lambda: made, start=lambda *_: None).turn(store)
    assert supervision.heartbeat_of(store.db, run.uid) is not None
    return run.uid


def test_what_a_lost_machine_holds_is_ended_by_another_and_the_journal_names_it(store_on, time):
    here, gone = store_on("a"), store_on("b")
    hear(here, gone)
    leave(gone, START)
    leave(gone, {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "go on"})
    question, run = ask(gone), begun_run(gone)
    pass_by(time, LEASE - LEASE_RENEWED, here)
    assert look(here) == 0
    pass_by(time, LEASE_RENEWED, here)
    before = len(list(all_entries(here.db)))
    assert look(here) == 3
    assert state_of(here) == "gone"
    found = ask_queries.ask(here.db, question)
    assert (found.state, found.answer) == ("withdrawn", None)
    assert job_queries.run(here.db, run).outcome == "interrupted"
    assert supervision.heartbeats(here.db) == []
    for entry in list(all_entries(here.db))[before:]:
        assert (entry.actor, entry.why) == (
            "system",
            {"topic": f"machine {gone.db.machine} was not heard of for 10 min"},
        )
    assert look(here) == 0
    gone.db.catch_up()
    assert digest(here.path) == digest(gone.path)


def test_a_check_that_waits_for_a_lost_machine_is_run_by_another_that_can(store_on, time, tmp_path):
    here, gone = (Machine(store_on(name), tmp_path / name) for name in ("a", "b"))
    hear(here.store, gone.store)
    here.configure()
    gone.configure()
    here.store.commit(EnsureList("tasklist", "task"), actor="human", now=clock.now())
    request(gone, add(here))
    pass_by(time, LEASE, here.store)
    assert here.states() == [("unproven", gone.id)]
    assert (look(here.store), look(here.store)) == (1, 0)
    with here.hosted():
        here.wait_for(("passed", here.id))


def test_two_machines_end_what_a_third_held_once(store_on, time):
    here, there, gone = store_on("a"), store_on("b"), store_on("c")
    hear(here, there, gone)
    leave(gone, START)
    pass_by(time, LEASE, here, there)
    assert (look(here), look(there)) == (1, 0)


def test_a_machine_that_is_heard_of_keeps_what_it_holds(store_on, time):
    here, there = two_machines(store_on)
    pass_by(time, 3 * LEASE, here, there)
    assert look(here) == 0
    assert state_of(here) == "idle"


def test_a_clock_that_jumps_ends_no_lease(store_on, time, cluster, database, monkeypatch):
    here, _ = two_machines(store_on)
    cluster.sql(database, f"UPDATE tui_tasks.head SET now = {clock.now() + 100 * LEASE}")
    now = clock.now
    monkeypatch.setattr(clock, "now", lambda: now() + 100 * LEASE)
    pass_by(time, LEASE_RENEWED, here)
    assert look(here) == 0


def test_while_the_server_was_away_no_lease_ran(store_on, time):
    here, _ = two_machines(store_on)
    time.up += 100 * LEASE
    assert look(here) == 0
    hear(here)
    assert look(here) == 0
    pass_by(time, LEASE, here)
    assert look(here) == 1


def test_a_machine_that_was_cut_off_ends_nothing_of_others(store_on, time):
    cut, there = two_machines(store_on)
    pass_by(time, 2 * LEASE, there)
    assert LostMachines(cut, clock.uptime).look(clock.now()) == 0
    hear(cut)
    assert look(cut) == 0


def test_a_machine_on_which_nothing_stays_has_a_lease_from_when_it_was_first_seen(store_on, time):
    here, commands = store_on("a"), store_on("b")
    hear(here)
    leave(commands, START)
    assert look(here) == 0
    assert leases(here.db).keys() == {here.db.machine, commands.db.machine}
    pass_by(time, LEASE // 2, here)
    ask(commands)
    pass_by(time, LEASE // 2, here)
    assert look(here) == 2
    # What it begins afterwards has a lease anew.
    leave(commands, {**START, "session_id": "s2"})
    assert look(here) == 0
    assert state_of(here, "claude-2") == "idle"


def test_a_session_whose_machine_is_back_goes_on_once(store_on, time):
    here, there = store_on("a"), store_on("b")
    hear(here, there)
    program = Started(["sleep", "1000"])
    leave(there, START, program)
    pass_by(time, LEASE, here)
    assert (look(here), look(here)) == (1, 0)
    hear(there)
    assert (look(there), look(there)) == (1, 0)
    assert state_of(here) == "idle"
    leave(there, {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "go on"}, program)
    assert state_of(here) == "working"
    assert look(here) == 0
    program.kill()
    program.wait()
    assert [entry.kind for entry in all_entries(here.db) if entry.entity == "session"] == [
        *("session.started", "session.ended", "session.started", "session.prompted")
    ]


def test_what_a_session_reported_while_its_machine_was_cut_off_is_ignored_if_it_had_ended(store_on, time):
    here, there = two_machines(store_on)
    pass_by(time, LEASE, here)
    look(here)
    hear(there)
    leave(there, {"session_id": "s1", "hook_event_name": "SessionEnd", "reason": "other"})
    assert state_of(here) == "gone"
    assert [entry.kind for entry in all_entries(there.db) if entry.entity == "session"] == [
        *("session.started", "session.ended")
    ]


def test_a_supervisor_that_is_back_records_no_second_end(store_on, time):
    here, there = store_on("a"), store_on("b")
    hear(here, there)
    run = begun_run(there)
    pass_by(time, LEASE, here)
    assert look(here) == 1
    hear(there)
    before = len(list(all_entries(there.db)))
    [ended] = there.commit(EndRun(run, "success", 0, "done"), actor="system", now=clock.now())
    assert ended.outcome == "interrupted"
    assert len(list(all_entries(there.db))) == before


def test_the_claim_of_an_agent_that_asked_on_a_lost_machine_lapses(opened_on, store_on, time):
    robin = opened_on("b", "robin")
    uid = robin.call("tasklist:add_task", {"name": "Build"})["uid"]
    robin.call("control:claim", {"uid": uid, "lease_seconds": 30})
    robin.close()
    here, gone = store_on("a"), store_on("b")
    hear(here, gone)
    ask(gone, "robin")
    other = opened_on("a", "codex")
    pass_by(time, LEASE, here)
    with pytest.raises(ToolError):
        other.call("control:claim", {"uid": uid})
    assert look(here) == 1
    time.up += 60 * SECOND
    other.call("control:claim", {"uid": uid})


def test_an_answered_question_is_no_more_held_on_any_machine(store_on, time):
    here, there = store_on("a"), store_on("b")
    uid = ask(there)
    here.db.catch_up()
    assert [one for one, _ in connections.askers(here.db)] == [uid]
    Presence(there, stays=True).forget_asker(uid)
    here.db.catch_up()
    assert connections.askers(here.db) == []


def test_a_new_replica_knows_who_waits_for_answers(store_on, time):
    there = store_on("b")
    uid = ask(there)
    there.db.cut(0)
    new = store_on("c")
    new.db.build()
    assert [one for one, _ in connections.askers(new.db)] == [uid]


def test_a_lease_is_renewed_on_after_a_renewal_of_which_the_end_was_not_learned(store_on, monkeypatch):
    renewals = []

    def lose_the_first(_: Replica) -> None:
        renewals.append(len(renewals))
        if len(renewals) == 1:
            raise OutcomeUnknown("the connection was lost while the server committed")

    monkeypatch.setattr(Replica, "renew_lease", lose_the_first)
    store_on("a").db.follow()
    until(lambda: len(renewals) > 1, "another renewal")


def test_a_role_that_may_not_end_runs_leaves_them_to_others(store_on, time, monkeypatch, caplog):
    here, gone = store_on("a"), store_on("b")
    hear(here, gone)
    leave(gone, START)
    pass_by(time, LEASE, here)

    def refuse(*_: object) -> int:
        raise RoleRefused("role robin may not write")

    here.db.catch_up()
    lost = LostMachines(here, clock.uptime)
    with monkeypatch.context() as patched:
        patched.setattr(follower, "_end", refuse)
        assert (lost.look(clock.now()), lost.look(clock.now())) == (0, 0)
    assert caplog.text.count("may not write") == 1
