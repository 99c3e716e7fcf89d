"""Checks of a server: which there are is the database's; command and folder are each machine's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres.machines import digest
from tests.runner.hosting import hosted, runners
from tests.started import until
from tui_tasks import clock
from tui_tasks.channel.waits import ask
from tui_tasks.cli.main import main
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations.jobs import DefineChecks, FreeCheck, RequestChecks
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read import check_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.recorded_settings import recorded
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.tool_table import TABLE
from tui_tasks.runner.checks.check_keeper import Authority, CheckKeeper
from tui_tasks.settings.live_settings import check_profiles, review_settings
from tui_tasks.state.open_store import session_for

SETTINGS = """
[review]
lists = ["filed"]
[check.tests]
command = {command}
inputs = ["src/*"]
lists = ["tasklist"]
gate = true
"""


class Machine:
    """A machine with a checkout and settings of its own."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder, self.file = store, folder, folder / "config.toml"
        (folder / "src").mkdir(parents=True)
        self.edit("good")

    def edit(self, text: str) -> None:
        (self.folder / "src" / "main.py").write_text(text)

    def configure(self, command: str = '["true"]', text: str = SETTINGS) -> None:
        self.file.write_text(text.format(command=command))
        self.look()

    def keeper(self, authority: Authority = Authority.RECORDS) -> CheckKeeper:
        return CheckKeeper(
            check_profiles(lambda: self.file), review_settings(lambda: self.file), authority=authority, alone=True
        )

    def look(self, authority: Authority = Authority.RECORDS) -> None:
        self.store.db.catch_up()
        self.keeper(authority).look(self.store, clock.now(), reads_contents=True)

    @contextlib.contextmanager
    def hosted(self) -> Iterator[None]:
        with hosted(self.store.path, runners(), checks=self.keeper()):
            yield

    def wait_for(self, *states: tuple[str, str]) -> None:
        until(lambda: self.states() == list(states), f"checks {states}")

    @property
    def id(self) -> str:
        return self.store.db.machine

    def states(self) -> list[tuple[str, str]]:
        """State and machine of the checks of the only task."""
        self.store.db.catch_up()
        db = self.store.db
        task = task_queries.task(db, db.scalar("SELECT uid FROM task"))
        checks = check_queries.of_task(
            db, task, task_queries.list_by_id(db, task.list_id), check_queries.definitions(db)
        )
        return [(check.state, check.run.machine if check.run else "") for check in checks]

    def sets_done(self, uid: str) -> dict:
        """Let an agent of this machine set a task done."""
        self.store.db.catch_up()
        session = session_for(Identity("codex"), self.store, TABLE, stays=False)
        session.checks = self.keeper(Authority.LOOKS)
        return ask(session, {"tool": "tasklist:set_task_done", "arguments": {"uid": uid}})


@pytest.fixture
def machines(store_on, tmp_path):
    here, there = (Machine(store_on(name), tmp_path / f"checkout-{name}") for name in ("a", "b"))
    here.store.commit(EnsureList("tasklist", "task"), actor="human", now=clock.now())
    return here, there


def add(machine: Machine) -> str:
    home = task_queries.find_list(machine.store.db, "tasklist")
    (task,) = machine.store.commit(AddTask("Ship", home.uid), actor="codex", now=clock.now())
    return task.uid


def request(machine: Machine, uid: str) -> None:
    machine.store.db.catch_up()
    machine.store.commit(RequestChecks(uid), actor="codex", now=clock.now())


def test_a_check_is_defined_once_and_each_machine_says_how_it_runs_it(machines):
    here, there = machines
    here.configure('["make", "here"]')
    there.configure('["make", "there"]', SETTINGS.replace("src", "other").replace("filed", "unread"))
    here.look()
    (found,) = check_queries.definitions(here.store.db)
    assert (found.name, found.inputs, found.gate, found.cwd) == ("tests", ("src/*",), True, "")
    assert {name: place.cwd for name, place in found.machines.items()} == {
        here.id: str(here.folder),
        there.id: str(there.folder),
    }
    assert recorded(there.store.db).policy.lists == ("filed",)
    there.store.db.catch_up()
    assert digest(here.store.path) == digest(there.store.path)
    seq = here.store.db.scalar("SELECT max(seq) FROM journal")
    for machine in (here, there, here, there):
        machine.look()
    assert here.store.db.scalar("SELECT max(seq) FROM journal") == seq


def test_settings_of_an_agent_on_another_machine_define_nothing_and_run_nothing(machines):
    here, there = machines
    here.configure()
    there.file.write_text(SETTINGS.format(command='["evil"]'))
    there.look(Authority.ADDS)
    there.look(Authority.UPDATES)
    assert check_queries.definitions(there.store.db)[0].machines.keys() == {here.id}
    there.look()
    there.file = there.folder / "evil.toml"
    there.configure('["evil"]')
    assert check_queries.definitions(there.store.db)[0].place(there.id).source.endswith("config.toml")


def test_a_check_runs_on_the_machine_that_has_its_command_and_opens_the_gate_on_all(machines):
    here, there = machines
    here.configure()
    uid = add(there)
    there.store.db.catch_up()
    reply = there.sets_done(uid)
    assert "has passed (unproven)" in reply["error"]["message"]
    with there.hosted(), here.hosted():
        there.wait_for(("passed", here.id))
    assert there.sets_done(uid)["ok"]
    here.store.db.catch_up()
    assert digest(here.store.path) == digest(there.store.path)


def proven_here(machines) -> str:
    """Give both machines the check, and a task of which the first has a proof; return its uid."""
    here, there = machines
    here.configure()
    there.configure()
    uid = add(here)
    request(here, uid)
    with here.hosted():
        here.wait_for(("passed", here.id))
    return uid


def test_a_gate_counts_another_machines_proof_where_the_inputs_are_equal_alone(machines):
    here, there = machines
    uid = proven_here(machines)
    there.edit("bad")
    reply = there.sets_done(uid)
    assert "passed on another machine, with different files" in reply["error"]["message"]
    assert there.states() == [("unproven", there.id)]
    with there.hosted():
        there.wait_for(("passed", there.id))
    here.look()
    assert here.states() == [("passed", there.id)]
    there.edit("good")
    there.look()
    assert here.states() == [("stale", there.id)]


def test_equal_files_on_another_machine_open_the_gate(machines):
    _, there = machines
    uid = proven_here(machines)
    assert there.sets_done(uid)["ok"]


def test_a_proof_is_stale_when_the_command_of_its_own_machine_changes_and_not_when_anothers_does(machines):
    here, there = machines
    proven_here(machines)
    there.configure('["false"]')
    assert here.states() == [("passed", here.id)]
    here.configure('["false"]')
    assert there.states() == [("stale", here.id)]


def test_new_inputs_make_the_proofs_of_all_machines_stale(machines):
    here, there = machines
    here.configure()
    there.configure()
    uid = add(there)
    request(there, uid)
    with there.hosted():
        there.wait_for(("passed", there.id))
    here.configure(text=SETTINGS.replace("src/*", "src/**"))
    assert there.states() == [("stale", there.id)]
    there.look()
    assert there.states() == [("stale", there.id)]
    assert check_queries.definitions(there.store.db)[0].machines.keys() == {here.id, there.id}


def test_a_check_that_only_a_lost_machine_can_run_is_ended(machines):
    _, gone = machines
    gone.configure()
    uid = add(gone)
    request(gone, uid)
    (run,) = check_queries.runs_in(gone.store.db, "waiting")
    gone.store.commit(FreeCheck(run.uid, gone.id), actor="system", now=clock.now())
    assert check_queries.run(gone.store.db, run.uid).state == "interrupted"
    request(gone, uid)
    assert len(check_queries.runs_in(gone.store.db, "waiting")) == 1


def test_machines_of_one_host_are_told_apart_and_the_channel_names_the_machine_of_a_check(machines):
    here, there = machines
    assert heartbeats.machine_name(here.store.db, here.id) == here.id.rpartition("-")[0]
    for machine in (here, there):
        machine.store.db.renew_lease()
    here.store.db.catch_up()
    assert [heartbeats.machine_name(here.store.db, machine.id) for machine in (here, there)] == [here.id, there.id]
    here.configure()
    uid = add(here)
    request(here, uid)
    db = here.store.db
    task = task_queries.task(db, uid)
    (check,) = check_queries.json_of_task(db, task, task_queries.list_by_id(db, task.list_id))
    assert check["machine"] == here.id


def test_a_machine_without_a_command_says_so(machines, monkeypatch, server_url, capsys):
    here, there = machines
    here.configure()
    there.store.db.catch_up()
    host = heartbeats.machine_name(there.store.db, here.id)
    assert check_queries.not_run_here(here.store.db, {"tests"}) is None
    assert "no command for tests" in check_queries.not_run_here(there.store.db, ())
    monkeypatch.setenv("XDG_STATE_HOME", str(there.folder.parent / "b"))
    assert main(["check", "--db", server_url]) == 0
    assert f"no command on this machine: runs on {host}" in capsys.readouterr().out


@pytest.fixture
def agents_machine(machines, agents_store, tmp_path):
    """A third machine, on which an agent's role is used."""
    return Machine(agents_store, tmp_path / "checkout-c")


def test_an_agents_role_has_checks_run_and_passes_the_gate_by_their_result(machines, agents_machine):
    here, _ = machines
    here.configure()
    uid = add(here)
    assert "has passed (unproven)" in agents_machine.sets_done(uid)["error"]["message"]
    with here.hosted():
        here.wait_for(("passed", here.id))
    assert agents_machine.sets_done(uid)["ok"]
    here.edit("bad")
    here.look()
    assert here.states() == [("stale", here.id)]


def test_an_agents_role_neither_defines_nor_runs_nor_ends_a_check(machines, agents_machine, caplog):
    here, _ = machines
    here.configure()
    request(here, add(here))
    agents_machine.configure('["evil"]')
    agents_machine.look()
    assert [one.message for one in caplog.records if "are not recorded" in one.message] != []
    (found,) = check_queries.definitions(agents_machine.store.db)
    assert found.machines.keys() == {here.id}
    (run,) = check_queries.runs_in(agents_machine.store.db, "waiting")
    store = agents_machine.store
    none_left = DefineChecks(recorded(store.db).source, (), alone=True)
    with pytest.raises(StorageFailed, match="may not write"):
        store.commit(none_left, actor="system", now=clock.now())
    # A client of its own may say what it likes.
    for kind in ("check.queued", "check.requested", "task.updated"):
        with pytest.raises(StorageFailed, match="may not write"), store.transaction(clock.now()) as tx, tx.change():
            tx.speak("codex")
            tx.emit(kind, "check_run", run.uid, old={"state": "waiting"}, new={"state": "passed"})
    here.store.db.catch_up()
    assert check_queries.runs_in(here.store.db, "waiting") == [run]
