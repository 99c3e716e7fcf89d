"""A machine that never returns, of which others end what it held; and one that returns after all."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests import fork_server
from tests.entries import all_entries
from tests.postgres.machines import digest
from tests.postgres.test_checks import Machine, add, request
from tests.postgres.test_machines import START, leave, state_of
from tests.runner.hosting import Host, runners, until
from tests.started import Started
from tui_tasks import clock
from tui_tasks.channel.presence import Presence
from tui_tasks.cli.main import main
from tui_tasks.client.requests import ToolError
from tui_tasks.clock import Uptime
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal, transaction, unfinished_changes
from tui_tasks.core.errors import Busy, Conflict, OutcomeUnknown, RoleRefused
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.jobs import EndRun
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read import ask_queries, job_queries
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import connections, heartbeats
from tui_tasks.core.unjournaled.heartbeats import LEASE, LEASE_RENEWED, leases
from tui_tasks.hooks import follower
from tui_tasks.hooks.follower import LostMachines
from tui_tasks.postgres.replica import Replica
from tui_tasks.postgres.replica_files import replica_of
from tui_tasks.runner import processes
from tui_tasks.runner.scheduler_service import SchedulerService

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
    assert heartbeats.heartbeat_of(store.db, run.uid) is not None
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
    assert heartbeats.heartbeats(here.db) == []
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


IMPORTS = """
import os, signal, sys
from tui_tasks import clock
from tui_tasks.core.commit import transaction
from tui_tasks.core.operations.tasks import AddTask
from tui_tasks.core.store import Store

def operations():
    for number in range(9):
        yield AddTask(f"Task {number}", sys.argv[2])
    os.kill(os.getpid(), signal.SIGKILL)

transaction.STEP_SECONDS = 0
with Store(sys.argv[1]) as store:
    store.commit_many(operations(), sys.argv[3], clock.now(), in_steps=True)
"""


@pytest.fixture
def importing(store_on, time, monkeypatch):
    """A machine that imports in steps and one beside it; `halfway` calls a function after two of three steps."""
    here, gone = store_on("a"), store_on("b")
    hear(here, gone)
    (home,) = here.commit(EnsureList("tasklist", "task"), actor="human", now=clock.now())
    gone.db.catch_up()

    def kill(actor: str = "human") -> None:
        ended = fork_server.run([sys.executable, "-c", IMPORTS, gone.path, home.uid, actor], check=False)
        assert ended.returncode == -signal.SIGKILL
        assert len(task_names(here)) == 8

    def halfway(between, store: Store = gone) -> None:
        def operations():
            yield AddTask("one", home.uid)
            yield AddTask("two", home.uid)
            between()
            yield AddTask("three", home.uid)

        monkeypatch.setattr(transaction, "STEP_SECONDS", 0.0)
        store.commit_many(operations(), "human", clock.now(), in_steps=True)

    return SimpleNamespace(here=here, gone=gone, home=home, kill=kill, halfway=halfway)


def task_names(store: Store) -> list[str]:
    store.db.catch_up()
    return [name for (name,) in store.db.sql("SELECT name FROM task WHERE deleted = 0 ORDER BY id")]


def undone(store: Store) -> list[tuple[str, int]]:
    return [(entry.actor, entry.undoes) for entry in all_entries(store.db) if entry.undoes is not None]


def test_an_import_that_a_lost_machine_left_half_done_is_undone_by_another_as_its_own_next_command_would(
    importing, time
):
    importing.kill("codex")
    here, gone = importing.here, importing.gone
    (change,) = [each.change for each in unfinished_changes.recorded(here.db)]
    pass_by(time, LEASE - LEASE_RENEWED, here)
    assert look(here) == 0
    assert len(task_names(here)) == 8
    pass_by(time, LEASE_RENEWED, here)
    assert (look(here), look(here)) == (1, 0)
    assert task_names(here) == []
    assert undone(here) == [("codex", change)] * 8
    assert unfinished_changes.recorded(here.db) == []
    # The machine comes back, and its next command finds nothing to undo.
    gone.commit(AddTask("next", importing.home.uid), actor="codex", now=clock.now())
    assert (task_names(here), len(undone(here))) == (["next"], 8)
    assert unfinished_changes.recorded(gone.db) == []
    assert digest(here.path) == digest(gone.path)


def test_a_machine_that_is_there_undoes_what_it_left_and_no_other_does(importing, time):
    importing.kill()
    pass_by(time, 3 * LEASE, importing.here, importing.gone)
    assert look(importing.here) == 0
    importing.here.commit(AddTask("another", importing.home.uid), actor="human", now=clock.now())
    assert len(task_names(importing.here)) == 9
    assert undone(importing.here) == []
    importing.gone.commit(AddTask("next", importing.home.uid), actor="human", now=clock.now())
    assert task_names(importing.here) == ["another", "next"]


def test_a_machine_that_writes_nothing_undoes_what_it_left_by_any_of_its_processes(importing):
    importing.kill()
    assert look(importing.here) == 0
    importing.gone.db.follow()
    until(lambda: task_names(importing.here) == [], "the undo")
    assert unfinished_changes.recorded(importing.here.db) == []


@pytest.mark.parametrize("words", [["ls"], ["ls", "--json"], ["agents"]], ids=" ".join)
def test_a_command_that_reads_undoes_what_its_machine_left(importing, machine, server_url, words):
    importing.kill()
    machine("a")
    assert main([*words, "--db", server_url]) == 0
    assert len(task_names(importing.here)) == 8
    machine("b")
    assert main([*words, "--db", server_url]) == 0
    assert task_names(importing.here) == []


def test_an_import_longer_than_a_lease_keeps_its_machine_there(importing, time):
    looks = []

    def pass_long() -> None:
        for _ in range(2):
            importing.gone.db._commit()
            pass_by(time, LEASE - LEASE_RENEWED, importing.here)
            looks.append(look(importing.here))
            importing.gone.db._begin(write=True)
            importing.gone.db.let_others_write(0)

    importing.halfway(pass_long)
    assert looks == [0, 0]
    assert task_names(importing.here) == ["one", "two", "three"]
    assert unfinished_changes.recorded(importing.here.db) == []


def test_a_machine_that_is_back_in_the_middle_of_its_import_is_refused_and_nothing_of_it_stays(importing, time, caplog):
    def be_away() -> None:
        importing.gone.db._commit()
        pass_by(time, LEASE, importing.here)
        assert look(importing.here) == 1
        importing.gone.db._begin(write=True)

    with pytest.raises(Conflict, match="another machine has undone this change"):
        importing.halfway(be_away)
    assert task_names(importing.here) == task_names(importing.gone) == []
    assert undone(importing.here) == [("human", 1)] * 2
    assert "partly done" not in caplog.text
    assert digest(importing.here.path) == digest(importing.gone.path)


def test_of_two_machines_one_undoes_what_a_third_left_and_if_it_is_lost_too_the_other_does(importing, store_on, time):
    importing.kill()
    here, there = importing.here, store_on("c")
    hear(there)
    pass_by(time, LEASE, here, there)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Store, "undo_interrupted_changes", lambda *_: None)  # it is killed before
        assert look(there) == 1
    assert look(here) == 0
    here.commit(AddTask("another", importing.home.uid), actor="human", now=clock.now())
    assert len(task_names(here)) == 9
    pass_by(time, LEASE, here)
    assert (look(here), look(here)) == (1, 0)
    assert task_names(here) == ["another"]


def test_a_new_replica_knows_of_steps_and_undoes_them_too(importing, machine, server_url, time):
    importing.kill()
    importing.here.db.catch_up()
    importing.here.db.cut(journal.newest(importing.here.db))
    machine("c")
    with Store(replica_of(server_url)) as new:
        new.db.build()
        assert [each.actor for each in unfinished_changes.recorded(new.db)] == ["human"]
        hear(new)
        pass_by(time, LEASE, new)
        assert look(new) == 1
        assert task_names(new) == []


def test_an_agents_machine_leaves_the_humans_half_to_others_and_undoes_its_own(importing, agents_store, time):
    importing.kill()
    hear(agents_store)
    pass_by(time, LEASE, agents_store)
    assert (look(agents_store), len(task_names(agents_store))) == (0, 8)
    pass_by(time, LEASE_RENEWED, importing.here, agents_store)
    assert look(importing.here) == 1
    importing.kill("codex")
    pass_by(time, LEASE + LEASE_RENEWED, agents_store)
    assert look(agents_store) == 1
    assert task_names(agents_store) == []


def test_what_a_role_may_not_undo_on_its_own_machine_stops_none_of_its_writes(importing, agents_store, monkeypatch):
    importing.kill()
    machine, there = agents_store.db.machine, importing.gone.db.machine
    monkeypatch.setattr(agents_store.db, "machine", there)
    agents_store.db.catch_up()
    for name in ("first", "second"):
        agents_store.commit(AddTask(name, importing.home.uid), actor="codex", now=clock.now())
    monkeypatch.setattr(agents_store.db, "machine", machine)
    assert len(task_names(agents_store)) == 10
    assert len(unfinished_changes.recorded(agents_store.db)) == 1


def test_an_agents_role_makes_a_long_change_in_steps(importing, agents_store):
    def add() -> Iterator[AddTask]:
        for number in range(3):
            yield AddTask(f"Task {number}", importing.home.uid)

    agents_store.commit_many(add(), "codex", clock.now(), in_steps=True)
    assert len(task_names(importing.here)) == 3


@pytest.fixture
def busy_once(monkeypatch):
    """Let the server be away at a store's next transaction."""

    def be_away(store: Store) -> None:
        begin = store.db.state_transaction

        def refuse(**_: object) -> None:
            monkeypatch.setattr(store.db, "state_transaction", begin)
            raise Busy("the server is away")

        monkeypatch.setattr(store.db, "state_transaction", refuse)

    return be_away


def test_steps_of_a_failed_import_that_could_not_be_undone_at_once_are_undone_later(importing, busy_once):
    gone = importing.gone

    def fail() -> None:
        busy_once(gone)
        raise Conflict("not this one")

    with pytest.raises(Busy):
        importing.halfway(fail)
    assert task_names(importing.here) == ["one"]
    gone.commit(AddTask("next", importing.home.uid), actor="human", now=clock.now())
    assert task_names(importing.here) == ["next"]


def test_an_interrupted_import_that_could_not_be_undone_at_once_is_undone_later(importing, busy_once):
    importing.kill()
    gone = importing.gone
    gone.db.catch_up()
    gone.look_again()
    busy_once(gone)
    with pytest.raises(Busy):
        gone.commit(AddTask("next", importing.home.uid), actor="human", now=clock.now())
    assert len(task_names(importing.here)) == 8
    gone.commit(AddTask("next", importing.home.uid), actor="human", now=clock.now())
    assert task_names(importing.here) == ["next"]
