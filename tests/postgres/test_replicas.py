"""Two machines, which are two state folders here, on one server's journal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from tests.contract.client import ROOT
from tests.fork_server import Forked
from tests.postgres.journal_writer import append
from tests.postgres.machines import digest, names, run
from tests.started import DEADLINE, until
from tui_tasks import clock
from tui_tasks.client.requests import ToolError
from tui_tasks.core.commit import journal, transaction
from tui_tasks.core.errors import Busy, Conflict, DatabaseRefused, Refusal
from tui_tasks.core.operations.asks import PauseAgent
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.postgres import journal_client, replica, replica_files, replica_following
from tui_tasks.state.open_state import open_state


def test_what_one_machine_writes_another_reads(opened_on):
    here, there = opened_on("a"), opened_on("b")
    here.call("tasklist:add_task", {"name": "Build"})
    there.call("tasklist:add_task", {"name": "Ship"})
    assert names(here) == names(there) == ["Build", "Ship"]


def test_replicas_are_equal_by_hash_whoever_wrote(opened_on):
    states = [opened_on("a", "one"), opened_on("b", "two"), opened_on("a", "three"), opened_on("b", "four")]
    for number in range(40):
        state = states[number % 4]
        task = state.call("tasklist:add_task", {"name": f"task {number}"})
        if number % 3 == 0:
            state.call("tasklist:update_task", {"uid": task["uid"], "status": "in_progress"})
            state.call("tasklist:update_task", {"uid": task["uid"], "status": "done"})
    for state in states:
        names(state)
    paths = {state._session.store.path for state in states}
    assert len(paths) == 2
    assert len({digest(path) for path in paths}) == 1


def test_a_deleted_replica_is_built_again_from_the_server(opened_on, machine, server_url):
    state = opened_on("a")
    state.call("tasklist:add_task", {"name": "Build"})
    path = state._session.store.path
    before = digest(path)
    machine("c")
    with open_state(server_url, agent="codex") as again:
        assert names(again) == ["Build"]
        assert digest(again._session.store.path) == before


def test_one_key_is_served_once_whichever_machine_is_asked(opened_on):
    here, there = opened_on("a"), opened_on("b")
    first = here.call("tasklist:add_task", {"name": "Build"}, idempotency_key="k")
    second = there.call("tasklist:add_task", {"name": "Build"}, idempotency_key="k")
    assert first["uid"] == second["uid"]
    assert names(here) == ["Build"]


def test_what_a_role_names_a_column_on_the_server_is_no_part_of_a_statement(opened_on, cluster, database):
    here = opened_on("a")
    value = {"fingerprint": "f", "reply": "{}", "at": 1, "reply) SELECT '', '', '' --": 1}
    with cluster.connect(database) as owner:
        head = owner.execute("SELECT seq, hash FROM tui_tasks.head").fetchone()
        append(owner, head, [], [("kept_reply", '["codex", "k"]', json.dumps(value))])
    db = here._session.store.db
    db.catch_up()
    assert db.sql("SELECT agent, key, reply FROM kept_reply").fetchall() == [("codex", "k", "{}")]


NO_ROWS = (
    ("kept_reply", '["codex", "k1"]', '{"fingerprint": "f"}'),
    ("kept_reply", '["codex", "k2"]', '{"fingerprint": "f", "reply": {"a": 1}, "at": 1}'),
    ("kept_reply", '["codex", "k3"]', f'{{"fingerprint": "f", "reply": "r", "at": {1 << 70}}}'),
    ("kept_reply", '["codex"]', '{"fingerprint": "f", "reply": "r", "at": 1}'),
    ("kept_reply", '{"agent": "codex"}', "[]"),
    ("kept_reply", '["codex", [1]]', None),
    ("taken_in", "no JSON", '{"at": 1}'),
    ("unfinished_change", '["no number"]', '{"actor": "a", "lock": "1@m"}'),
    ("sqlite_master", '["x"]', "{}"),
)


def test_what_is_no_row_on_the_server_stops_no_replica(opened_on, cluster, database):
    here = opened_on("a")
    db = here._session.store.db
    with cluster.connect(database) as owner:
        head = owner.execute("SELECT seq, hash FROM tui_tasks.head").fetchone()
        for at, no_row in enumerate(NO_ROWS):
            append(owner, head, [], [no_row, ("taken_in", '["after"]', f'{{"at": {at}}}')])
            db.catch_up()
            assert db.sql("SELECT name, at FROM taken_in").fetchall() == [("after", at)], no_row
    assert db.sql("SELECT count(*) FROM kept_reply").fetchall() == [(0,)]
    here.call("tasklist:add_task", {"name": "Build"})
    assert names(opened_on("b")) == ["Build"]


def test_a_claim_has_one_winner_on_two_machines(opened_on):
    here, there = opened_on("a", "one"), opened_on("b", "two")
    here.call("tasklist:add_task", {"name": "Build"})
    uid = here.tasks("tasklist")[0]["uid"]
    here.call("control:claim", {"uid": uid})
    with pytest.raises(ToolError) as refused:
        there.call("control:claim", {"uid": uid})
    assert refused.value.code == "conflict"


def test_a_server_that_is_away_leaves_reads_and_makes_writes_busy(machine, own_cluster):
    machine("a")
    with own_cluster.database() as name, open_state(own_cluster.conninfo(name), agent="codex") as state:
        state.call("tasklist:add_task", {"name": "Build"})
        own_cluster.stop()
        with pytest.raises(ToolError) as refused:
            state.call("tasklist:add_task", {"name": "Ship"})
        assert refused.value.code == "busy"
        assert [task["name"] for task in state.tasks("tasklist")] == ["Build"]
        own_cluster.start()
        state._session.store.db._joined()._failed_at = None
        state.call("tasklist:add_task", {"name": "Ship"})
        assert names(state) == ["Build", "Ship"]


def test_a_commit_whose_answer_was_lost_is_found_by_its_hash(opened_on, monkeypatch):
    state = opened_on("a")
    state.call("tasklist:add_task", {"name": "Build"})
    client = state._session.store.db._joined()
    real = journal_client.JournalClient.append

    def cut(self, *arguments):
        found = real(self, *arguments)
        assert found is not None
        self.close()
        return None if self._was_appended(arguments[1], "cut off") else 1 / 0

    monkeypatch.setattr(client, "append", lambda *arguments: cut(client, *arguments))
    state.call("tasklist:add_task", {"name": "Ship"})
    monkeypatch.undo()
    assert names(state) == ["Build", "Ship"]


def test_a_commit_that_did_not_reach_the_server_is_busy_and_leaves_nothing(opened_on, server_url, monkeypatch):
    state, there = opened_on("a"), opened_on("b")
    state.call("tasklist:add_task", {"name": "Build"})
    db = state._session.store.db
    real = type(db)._publish

    def publish(self):
        with psycopg.connect(server_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (self._client.connected().info.backend_pid,))
        real(self)

    monkeypatch.setattr(type(db), "_publish", publish)
    with pytest.raises(ToolError) as refused:
        state.call("tasklist:add_task", {"name": "Ship"})
    monkeypatch.undo()
    assert refused.value.code == "busy"
    assert names(state) == names(there) == ["Build"]


def test_a_replica_killed_between_the_servers_commit_and_its_own_catches_up(machine, server_url, opened_on):
    folder = machine("a")
    script = (
        "import os, signal, sys\nfrom tui_tasks.state.open_state import open_state\n"
        "from tui_tasks.postgres.replica import Replica\n"
        "state = open_state(sys.argv[1], agent='codex')\n"
        "real = Replica._publish\n"
        "def publish(self):\n    real(self); os.kill(os.getpid(), signal.SIGKILL)\n"
        "Replica._publish = publish\n"
        "state.call('tasklist:add_task', {'name': 'Build'}, idempotency_key='k')\n"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(folder)}
    with Forked([sys.executable, "-c", script, server_url], cwd=ROOT, env=environment) as killed:
        assert killed.wait() == -signal.SIGKILL
    state = opened_on("a")
    state.call("tasklist:add_task", {"name": "Build"}, idempotency_key="k")
    assert names(state) == ["Build"]


def test_subscribers_of_one_machine_get_what_another_writes_once_and_in_order(opened_on):
    here, there = opened_on("a"), opened_on("b")
    before = there.seq
    for number in range(30):
        here.call("tasklist:add_task", {"name": str(number)})
    names(there)
    assert [event["seq"] for event in there.changes(before)] == list(range(before + 1, here.seq + 1))


def test_a_write_first_reads_what_is_too_much_to_read_under_the_lock(opened_on):
    here, there = opened_on("a"), opened_on("b")
    there._session.store.db._follower.stop()
    here.call("tasklist:add_task", {"name": "Build", "description": "x" * 90_000})
    here.call("tasklist:add_task", {"name": "Ship", "description": "x" * 90_000})
    there.call("tasklist:add_task", {"name": "Paint"})
    assert names(here) == names(there) == ["Build", "Ship", "Paint"]


def test_a_replica_is_not_opened_by_its_own_name(opened_on):
    path = opened_on("a")._session.store.path
    with pytest.raises(DatabaseRefused, match="is a replica"):
        open_state(path)


def test_a_session_that_the_server_ends_while_the_rules_decide_leaves_nothing(opened_on, server_url):
    here, there = opened_on("a"), opened_on("b")
    store = here._session.store
    with pytest.raises(Busy), store.transaction(0) as transaction, transaction.change():
        transaction.speak("human")
        transaction.run(PauseAgent("codex", "wait"))
        with psycopg.connect(server_url, autocommit=True) as other:
            backend = store.db._joined().connected().info.backend_pid
            other.execute("SELECT pg_terminate_backend(%s)", (backend,))
    here.call("tasklist:add_task", {"name": "Build"})
    assert names(here) == names(there) == ["Build"]


def test_a_password_in_a_url_is_refused_without_being_repeated(machine):
    machine("a")
    with pytest.raises(Exception) as refused:
        replica_files.replica_of("postgresql://me:hush@host/name")
    assert "hush" not in str(refused.value)


def test_the_shell_adds_on_one_machine_and_lists_on_another(machine, server_url):
    machine("a")
    assert run("--db", server_url, "add", "Build").returncode == 0
    machine("b")
    listed = run("--db", server_url, "ls", "--json")
    assert '"Build"' in listed.stdout, listed.stderr


_LISTED = """
import sys
from tui_tasks.cli.main import main
main(["--db", sys.argv[1], *sys.argv[2:]])
print("psycopg" in sys.modules)
"""


@pytest.mark.parametrize("words", [("ls",), ("ls", "--json")], ids=" ".join)
def test_a_short_command_speaks_to_the_server_only_where_no_process_of_the_machine_follows(
    machine, server_url, words, monkeypatch
):
    def listed() -> tuple[str, str]:
        command = [sys.executable, "-c", _LISTED, server_url, *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True, timeout=DEADLINE)
        return done.stdout, done.stderr

    machine("b")
    with open_state(server_url, agent="codex") as there:
        machine("a")
        with open_state(server_url, agent="codex") as here:
            path = here._session.store.path
            there.call("tasklist:add_task", {"name": "Build"})
            until(lambda: replica_following._is_followed(path) and here.tasks("tasklist"), "the other machine's task")
            shown, said = listed()
            assert "Build" in shown
            assert (shown.splitlines()[-1], said) == ("False", "")
        there.call("tasklist:add_task", {"name": "Ship"})
        shown, _ = listed()
        assert shown.splitlines()[-1] == "True"


def test_who_follows_does_not_lock_the_replica_for_what_a_process_of_the_machine_has_committed(opened_on, monkeypatch):
    state = opened_on("a")
    state._session.store.db._follower.stop()
    follower = replica_following._opened(state._session.store.path)
    client, real = follower._joined(), follower._joined().news

    def news_before_the_commit(seq, number):
        found = real(seq, number)
        state.call("tasklist:add_task", {"name": "Build"}, idempotency_key="k")
        return real(seq, number) if found.head.seq < state.seq else found

    monkeypatch.setattr(client, "news", news_before_the_commit)
    begun = []
    begin = type(follower)._begin
    monkeypatch.setattr(type(follower), "_begin", lambda db, write: begun.append((db, write)) or begin(db, write))
    follower.catch_up()
    assert journal.newest(follower) == state.seq > 0
    assert (follower, True) not in begun
    follower.close()


def test_a_process_that_follows_and_hears_nothing_does_not_make_a_replica_new(opened_on, monkeypatch):
    state = opened_on("a")
    path = state._session.store.path
    until(lambda: replica_following._is_followed(path), "a process that follows")
    asked, real = [], replica.client_class
    monkeypatch.setattr(replica_following, "client_class", lambda: asked.append(threading.current_thread()) or real())
    monkeypatch.setattr(replica_following, "age_of", lambda path: 1.5)
    replica_following.caught_up(path)
    # The import does not count as a wait for the server.
    assert threading.main_thread() in asked


def test_many_writers_on_two_machines_lose_and_double_nothing(opened_on, machine, server_url):
    opened_on("a"), opened_on("b")

    def write(name: str, agent: str) -> None:
        script = (
            "import sys; from tui_tasks.state.open_state import open_state, ToolError\n"
            "state = open_state(sys.argv[1], agent=sys.argv[2])\n"
            "for n in range(25):\n"
            "    while True:\n"
            "        try:\n"
            "            state.call('tasklist:add_task', {'name': f'{sys.argv[2]} {n}'}, idempotency_key=str(n))\n"
            "            break\n"
            "        except ToolError as error:\n"
            "            if error.code not in ('busy', 'unknown'): raise\n"
        )
        machine_folder = str(Path(os.environ["XDG_STATE_HOME"]).parent / name)
        environment = {**os.environ, "XDG_STATE_HOME": machine_folder}
        with Forked([sys.executable, "-c", script, server_url, agent], cwd=ROOT, env=environment) as writer:
            assert writer.wait() == 0

    threads = [threading.Thread(target=write, args=pair) for pair in zip("abab", ("p", "q", "r", "s"), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(names(opened_on("a", "reader"))) == sorted(f"{agent} {n}" for agent in "pqrs" for n in range(25))
    assert names(opened_on("b", "reader")) == names(opened_on("a", "reader2"))


@pytest.fixture
def steps(store_on, monkeypatch):
    """Two machines, on which each operation of a long change is a step, and how to add tasks in steps on the first."""
    monkeypatch.setattr(transaction, "STEP_SECONDS", 0.0)
    here, there = store_on("a"), store_on("b")
    (home,) = here.commit(EnsureList("tasklist", "task"), actor="human", now=clock.now())

    def add(*between) -> None:
        def operations():
            for number in range(3):
                yield AddTask(f"Task {number}", home.uid)
                if number < len(between):
                    between[number]()

        here.commit_many(operations(), "human", clock.now(), in_steps=True)

    def names(store) -> list[str]:
        store.db.catch_up()
        return [name for (name,) in store.db.sql("SELECT name FROM task WHERE deleted = 0 ORDER BY id")]

    return SimpleNamespace(here=here, there=there, home=home, add=add, names=names)


def test_a_long_change_that_fails_is_taken_back_on_the_server(steps):
    def fail() -> None:
        raise Conflict("not this one")

    with pytest.raises(Refusal):
        steps.add(lambda: None, fail)
    assert steps.names(steps.there) == steps.names(steps.here) == []


def test_a_long_change_of_which_the_process_was_killed_is_taken_back_by_the_next_of_its_machine(steps, monkeypatch):
    def be_killed() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        steps.add(lambda: None, be_killed)
    assert steps.names(steps.there) != []
    steps.there.commit(AddTask("Another", steps.home.uid), actor="codex", now=clock.now())
    steps.here.commit(EnsureList("other", "task"), actor="human", now=clock.now())
    assert steps.names(steps.there) == steps.names(steps.here) == ["Another"]
