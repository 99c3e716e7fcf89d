"""A server whose oldest entries are dropped: who has them goes on, others begin from the snapshot."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.entries import all_entries
from tests.postgres.machines import digest, names, run
from tui_tasks.client.requests import ToolError
from tui_tasks.postgres import server_snapshots
from tui_tasks.state.open_state import open_state


def path_of(state) -> str:
    return state._session.store.path


def add(state, *tasks: str) -> None:
    for name in tasks:
        state.call("tasklist:add_task", {"name": name})


@pytest.fixture
def oldest(server_url):
    def read() -> int:
        with psycopg.connect(server_url) as connection:
            return connection.execute("SELECT min(seq) FROM tui_tasks.journal").fetchone()[0]

    return read


def cut_to_the_end(state) -> int:
    db = state._session.store.db
    return db.cut(state.seq)


def test_a_new_machine_begins_from_the_snapshot_and_has_what_follows(opened_on, oldest):
    here = opened_on("here")
    add(here, "Build", "Ship")
    dropped = cut_to_the_end(here)
    assert dropped == here.seq
    add(here, "Paint")
    assert oldest() == dropped + 1
    there = opened_on("there")
    assert names(there) == ["Build", "Ship", "Paint"]
    assert digest(path_of(there)) == digest(path_of(here))
    assert len(list(all_entries(there._session.store.db))) == there.seq
    assert not [file for file in Path(path_of(there)).parent.iterdir() if file.name.startswith(".snapshot")]


def test_storing_a_snapshot_reports_its_progress(opened_on):
    here = opened_on("here")
    add(here, "Build")
    seen = []
    here._session.store.db.cut(here.seq, lambda *progress: seen.append(progress))
    assert [what for what, _, _ in seen] == [server_snapshots.PACKING, server_snapshots.STORING]
    assert all(done <= total > 0 for _, done, total in seen)


def test_an_older_replica_is_built_again_and_one_that_has_the_entries_goes_on(opened_on, machine, server_url):
    here = opened_on("here")
    add(here, "Build")
    machine("behind")
    with open_state(server_url, agent="behind") as behind:
        assert names(behind) == ["Build"]
    same = opened_on("same", "same")
    add(here, "Ship")
    assert names(same) == ["Build", "Ship"]
    cut_to_the_end(here)
    add(same, "Paint")
    behind = opened_on("behind", "behind")
    add(behind, "Sweep")
    for state in (here, same, behind):
        assert names(state) == ["Build", "Ship", "Paint", "Sweep"]
    assert len({digest(path_of(state)) for state in (here, same, behind)}) == 1
    beside = {file.name for file in Path(path_of(behind)).parent.iterdir()}
    assert not [name for name in beside if "before" in name or name.startswith(".")], beside


def test_an_open_session_of_an_older_replica_is_busy_until_it_is_built_again(opened_on):
    behind = opened_on("behind", "behind")
    # As if no process of that machine followed: the session's own follower is ended.
    db = behind._session.store.db
    db._follower.stop()
    here = opened_on("here")
    add(here, "Build", "Ship")
    cut_to_the_end(here)
    with pytest.raises(ToolError) as refused:
        add(behind, "Paint")
    assert refused.value.code == "busy"
    assert db.build()
    db.catch_up()
    add(behind, "Paint")
    assert names(here) == ["Build", "Ship", "Paint"]


def test_a_key_that_was_used_before_the_snapshot_is_known_on_a_new_machine(opened_on):
    here = opened_on("here")
    first = here.call("tasklist:add_task", {"name": "Build"}, idempotency_key="k")
    cut_to_the_end(here)
    there = opened_on("there")
    assert there.call("tasklist:add_task", {"name": "Build"}, idempotency_key="k")["uid"] == first["uid"]
    assert names(there) == ["Build"]


def test_a_claim_from_before_the_snapshot_holds_on_a_new_machine(opened_on):
    here = opened_on("here", "one")
    add(here, "Build")
    here.call("control:claim", {})
    cut_to_the_end(here)
    there = opened_on("there", "two")
    with pytest.raises(ToolError) as refused:
        there.call("control:claim", {"uid": there.tasks("tasklist")[0]["uid"]})
    assert refused.value.code == "conflict"


def test_the_shell_drops_old_entries_only_for_a_person(machine, server_url):
    machine("here")
    assert run("--db", server_url, "add", "Build").returncode == 0
    done = run("--db", server_url, "compact", "--before", "1d", "--yes")
    assert done.returncode != 0
    assert "needs a person at a terminal" in done.stderr
