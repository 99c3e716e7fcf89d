"""Writes that begin without the journal's lock: when they do, when the server refuses them, and what comes of it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tests.entries import all_entries
from tests.postgres.journal_writer import append, entries
from tests.postgres.machines import digest, names
from tui_tasks.client.requests import ToolError
from tui_tasks.core.errors import OutcomeUnknown
from tui_tasks.core.operations.asks import SendMessage
from tui_tasks.postgres import journal_client
from tui_tasks.postgres.journal_client import LOCKED_WRITES, OptimisticWrites
from tui_tasks.postgres.replica import Replica
from tui_tasks.postgres.roles import AgentRole, script
from tui_tasks.state.open_state import State, open_state

SECOND = 1_000_000


@pytest.fixture
def clock(monkeypatch):
    """The machine's monotonic clock, in seconds, which a test sets forward."""
    made = SimpleNamespace(at=100.0)
    monkeypatch.setattr(journal_client.time, "monotonic", lambda: made.at)
    return made


@pytest.fixture
def ends():
    """The two ends of a connection."""
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def test_a_write_begins_without_the_lock_while_the_connection_is_in_use(clock, ends):
    found = OptimisticWrites()
    assert found.server_time(ends[0].fileno()) is None
    found.note_answer(5 * SECOND)
    clock.at += 0.25
    assert found.server_time(ends[0].fileno()) == 5_250_000
    clock.at += 1.0
    assert found.server_time(ends[0].fileno()) is None


@pytest.mark.parametrize("happens", [lambda there: there.send(b"x"), lambda there: there.close()], ids=["data", "end"])
def test_a_connection_with_something_to_read_takes_the_lock(clock, ends, happens):
    found = OptimisticWrites()
    found.note_answer(1)
    happens(ends[1])
    assert found.server_time(ends[0].fileno()) is None


def test_a_lost_connection_takes_the_lock(clock, ends):
    found = OptimisticWrites()
    found.note_answer(1)
    found.note_lost()
    assert found.server_time(ends[0].fileno()) is None


@pytest.mark.parametrize(
    "happens", [OptimisticWrites.note_conflict, lambda found: found.note_lock(has_news=True)], ids=["refused", "news"]
)
def test_who_was_in_the_way_of_others_takes_the_lock_for_some_writes(clock, ends, happens):
    found = OptimisticWrites()
    found.note_answer(1)
    happens(found)
    for _ in range(LOCKED_WRITES):
        assert found.server_time(ends[0].fileno()) is None
        found.note_lock(has_news=False)
    assert found.server_time(ends[0].fileno()) is not None


# The channel of a machine


@pytest.fixture
def locks(monkeypatch) -> list[Replica]:
    """The replicas that took the journal's lock, in their order."""
    taken: list[Replica] = []
    real = Replica._lock_journal
    monkeypatch.setattr(Replica, "_lock_journal", lambda self: (taken.append(self), real(self)))
    # Its lease would be written when the test does not expect it.
    monkeypatch.setattr(Replica, "follow", lambda self: None)
    return taken


def use(state: State, locks: list[Replica]) -> State:
    """Bring a machine up to date, with a connection that was just used; forget the locks."""
    db = state._session.store.db
    db.catch_up()
    client = db._joined()
    client.optimistic = OptimisticWrites()
    client.optimistic.note_answer(client.time())
    locks.clear()
    return state


@pytest.fixture
def before_append(monkeypatch):
    """Let something happen once, after a machine has decided and before it appends."""

    def arrange(state: State, happens: Callable[[], object]) -> None:
        real, waiting = Replica._publish, [happens]

        def publish(db: Replica) -> None:
            if db is state._session.store.db and waiting:
                waiting.pop()()
            real(db)

        monkeypatch.setattr(Replica, "_publish", publish)

    return arrange


def add(state: State, name: str, **envelope: str) -> str:
    return str(state.call("tasklist:add_task", {"name": name}, **envelope)["uid"])


def test_a_writer_alone_takes_the_lock_once(opened_on, locks):
    here = opened_on("a")
    for number in range(20):
        add(here, str(number))
    assert len(locks) == 1
    there = opened_on("b")
    assert names(there) == [str(number) for number in range(20)]
    assert digest(here._session.store.path) == digest(there._session.store.path)


def test_what_another_machine_writes_meanwhile_has_the_write_decided_again_with_the_lock(
    opened_on, locks, before_append
):
    here, there = opened_on("a"), opened_on("b", "two")
    add(here, "First")
    use(here, locks)
    before_append(here, lambda: add(there, "Second"))
    add(here, "Third")
    assert locks == [there._session.store.db, here._session.store.db]
    assert names(here) == names(there) == ["First", "Second", "Third"]
    assert digest(here._session.store.path) == digest(there._session.store.path)


def test_rows_without_entries_that_another_machine_writes_meanwhile_count_too(
    opened_on, locks, before_append, cluster, database
):
    here = opened_on("a")
    add(here, "First")
    use(here, locks)

    def write() -> None:
        with cluster.connect(database) as owner:
            head = owner.execute("SELECT seq, hash FROM tui_tasks.head").fetchone()
            append(owner, head, [], [("taken_in", '["meanwhile"]', '{"at": 5}')])

    before_append(here, write)
    add(here, "Second")
    db = here._session.store.db
    assert locks == [db]
    assert db.sql("SELECT name FROM taken_in").fetchall() == [("meanwhile",)]
    assert names(here) == ["First", "Second"]


def test_a_claim_that_another_machine_takes_meanwhile_is_refused(opened_on, locks, before_append):
    here, there = opened_on("a", "one"), opened_on("b", "two")
    uid = add(here, "Build")
    names(there)
    use(here, locks)
    before_append(here, lambda: there.call("control:claim", {"uid": uid}))
    with pytest.raises(ToolError) as refused:
        here.call("control:claim", {"uid": uid})
    assert refused.value.code == "conflict"
    assert [entry.kind for entry in all_entries(here._session.store.db)].count("claim.taken") == 1


def test_a_refusal_is_decided_on_what_the_server_has(opened_on, locks):
    here, there = opened_on("a", "one"), opened_on("b", "two")
    uid = add(here, "Build")
    names(there)
    claim = there.call("control:claim", {"uid": uid})["claim"]
    use(here, locks)
    there.call("control:release", {"claim": claim})
    here.call("control:claim", {"uid": uid})
    assert [entry.kind for entry in all_entries(here._session.store.db)].count("claim.taken") == 2


def test_one_key_that_another_machine_serves_meanwhile_is_served_once(opened_on, locks, before_append):
    here, there = opened_on("a"), opened_on("b")
    add(here, "First")
    use(here, locks)
    served: list[str] = []
    before_append(here, lambda: served.append(add(there, "Second", idempotency_key="k")))
    assert [add(here, "Second", idempotency_key="k")] == served
    assert names(here) == names(there) == ["First", "Second"]


def test_a_message_that_another_machine_delivers_meanwhile_is_delivered_once(opened_on, locks, before_append):
    here, there = opened_on("a"), opened_on("b")
    add(here, "First")
    human = there._session.store
    human.commit(SendMessage("codex", "stop that"), actor="human", now=0)
    use(here, locks)
    before_append(here, lambda: add(there, "Second"))
    add(here, "Third")
    assert [entry.kind for entry in all_entries(here._session.store.db)].count("message.delivered") == 1
    assert here._session._messages._delivered == set()


@pytest.mark.parametrize("jump", [-3600, -2, 2, 3600], ids="{} s".format)
def test_a_jump_of_the_servers_clock_is_noticed(opened_on, locks, jump, cluster, database):
    here = opened_on("a")
    add(here, "First")
    use(here, locks)
    with cluster.connect(database) as owner:
        owner.execute(
            "CREATE OR REPLACE FUNCTION tui_tasks.clock() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN"
            f" (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + {jump * SECOND}; END $$"
        )
        add(here, "Second")
        (now,) = owner.execute("SELECT greatest(now, tui_tasks.clock()) FROM tui_tasks.head").fetchone()
    times = [entry.at for entry in all_entries(here._session.store.db)]
    assert len(locks) == 1
    assert times == sorted(times)
    assert now - 60 * SECOND < times[-1] <= now
    if jump > 0:
        assert times[-1] >= times[0] + jump * SECOND


def test_times_never_decrease_though_the_servers_clock_is_behind(opened_on, locks, cluster, database):
    here, there = opened_on("a"), opened_on("b")
    add(here, "First")
    ahead = 1000 * SECOND
    with cluster.connect(database) as owner:
        owner.execute("UPDATE tui_tasks.head SET now = now + %s", (ahead,))
    for number in range(3):
        add(there, str(number))
        use(here, locks)
        add(here, str(number))
    times = [entry.at for entry in all_entries(here._session.store.db)]
    assert times == sorted(times)
    assert times[-1] >= times[0] + ahead


def test_a_time_that_is_reckoned_too_early_is_that_of_the_newest_entry(opened_on, locks):
    here = opened_on("a")
    add(here, "First")
    use(here, locks)
    client = here._session.store.db._joined()
    client.optimistic.note_answer(client.time() - SECOND // 2)
    add(here, "Second")
    times = [entry.at for entry in all_entries(here._session.store.db)]
    assert times == sorted(times)


def kill(state: State, cluster) -> None:
    client = state._session.store.db._joined()
    backend = client.connected().info.backend_pid
    with cluster.connect() as owner:
        owner.execute("SELECT pg_terminate_backend(%s, 5000)", (backend,))


def test_a_connection_that_was_cut_before_a_write_is_made_again(opened_on, locks, cluster):
    here = opened_on("a")
    add(here, "First")
    use(here, locks)
    kill(here, cluster)
    add(here, "Second")
    assert len(locks) == 1
    assert names(here) == ["First", "Second"]


def test_a_connection_that_is_cut_before_the_append_leaves_nothing(opened_on, locks, cluster, before_append):
    here, there = opened_on("a"), opened_on("b")
    add(here, "First")
    use(here, locks)
    before_append(here, lambda: kill(here, cluster))
    with pytest.raises(ToolError) as refused:
        add(here, "Second")
    assert refused.value.code == "busy"
    assert locks == []
    assert names(here) == names(there) == ["First"]


@pytest.mark.parametrize("is_learned", [True, False])
def test_an_append_whose_answer_was_lost_is_found_by_its_hash_or_unknown(
    opened_on, locks, cluster, monkeypatch, is_learned
):
    here = opened_on("a")
    add(here, "First")
    use(here, locks)
    real = journal_client.team_server.run_prepared

    def lose(connection, name, parameters):
        assert real(connection, name, parameters) is not None
        connection.close()
        if not is_learned:
            monkeypatch.setattr(journal_client, "OUTCOME_SECONDS", -1.0)
            monkeypatch.setattr(journal_client, "open_connection", connection.execute)
        return real(connection, name, parameters)

    monkeypatch.setattr(journal_client.team_server, "run_prepared", lose)
    with contextlib.nullcontext() if is_learned else pytest.raises(ToolError) as refused:
        add(here, "Second", idempotency_key="k")
    assert is_learned or refused.value.code == OutcomeUnknown.code
    monkeypatch.undo()
    here._session.store.db._joined()._failed_at = None
    assert names(here) == ["First", "Second"]
    add(here, "Second", idempotency_key="k")
    assert names(here) == ["First", "Second"]


def test_who_holds_the_lock_is_not_disturbed(opened_on, locks, cluster, database, before_append):
    here, there = opened_on("a"), opened_on("b", "two")
    add(here, "First")
    use(here, locks)
    client = there._session.store.db._joined()
    head = client.lock(0, 0).head
    rows = entries((head.seq, bytes(head.hash)), {"at": head.now, "kind": "message.sent", "entity": "message"})
    ready = threading.Event()

    def write() -> None:
        ready.wait()
        client.append((head.seq, bytes(head.hash)), rows, [], head.now, head.passed)

    writing = threading.Thread(target=write)
    writing.start()
    real = Replica._lock_journal
    with pytest.MonkeyPatch.context() as patched:
        # It was refused at once, and then waits its turn.
        patched.setattr(Replica, "_lock_journal", lambda self: (ready.set(), real(self)))
        add(here, "Second")
    writing.join()
    assert locks == [here._session.store.db]
    written = list(all_entries(here._session.store.db))
    assert [entry.kind for entry in written][-2:] == ["message.sent", "task.created"]
    assert [entry.seq for entry in written] == list(range(1, here.seq + 1))


def test_of_sixteen_claimers_on_two_machines_one_wins(opened_on, machine, server_url, locks):
    first = opened_on("a")
    uid = add(first, "Build")
    opening, begin, won = threading.Lock(), threading.Barrier(16), []

    def claim(number: int) -> None:
        with opening:
            machine("ab"[number % 2])
            state = open_state(server_url, agent=f"agent-{number}")
        with state:
            use(state, [])
            begin.wait()
            with contextlib.suppress(ToolError):
                state.call("control:claim", {"uid": uid})
                won.append(number)

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names(first)
    assert len(won) == 1
    assert [entry.kind for entry in all_entries(first._session.store.db)].count("claim.taken") == 1


def test_an_agents_role_writes_so_too_and_as_itself_alone(opened_on, locks, cluster, database, machine):
    opened_on("a")
    role = f"{database}_agent"
    cluster.sql(database, script([], [AgentRole(role, "codex")], []))
    try:
        machine("c")
        with open_state(cluster.conninfo(database, role), agent="codex") as state:
            add(state, "First")
            use(state, locks)
            add(state, "Second")
            assert locks == []
            assert names(state) == ["First", "Second"]
        with open_state(cluster.conninfo(database, role), agent="another") as state:
            use(state, locks)
            with pytest.raises(ToolError, match="is the agent codex and may not write") as refused:
                add(state, "Third")
            assert (refused.value.code, locks) == ("storage_error", [])
            assert names(state) == ["First", "Second"]
    finally:
        cluster.sql(database, f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')
