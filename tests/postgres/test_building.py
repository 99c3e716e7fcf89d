"""A replica that is built of the server's snapshot: with progress, continued after a cut, and checked."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.postgres.machines import digest, names
from tui_tasks.core.errors import StorageFailed
from tui_tasks.postgres import replica_files, replica_following, server_snapshots
from tui_tasks.state.open_state import open_state

CHUNK = 4_096


class Cut(Exception):
    """As if the program was ended."""


@pytest.fixture
def here(opened_on, monkeypatch):
    """A machine with some tasks, whose snapshot is on the server in several chunks."""
    monkeypatch.setattr(server_snapshots, "CHUNK", CHUNK)
    state = opened_on("here")
    for number in range(40):
        state.call("tasklist:add_task", {"name": f"Task {number}", "description": f"{number**90}"})
    state._session.store.db.cut(state.seq)
    return state


@pytest.fixture
def build(here, machine, server_url):
    """Build the replica of a new machine; the function gets the progress."""
    machine("there")
    path = replica_files.replica_of(server_url)

    def build(report) -> str:
        assert replica_following.caught_up(path, report) is None
        return path

    return build


def beside(path: str) -> list[str]:
    return sorted(file.name for file in Path(path).parent.iterdir() if file.name.startswith("."))


def test_the_progress_has_a_total_for_each_kind_of_steps(build, here):
    here.call("tasklist:add_task", {"name": "Later"})
    seen = []
    path = build(lambda *progress: seen.append(progress))
    assert list(dict.fromkeys(what for what, _, _ in seen)) == [
        server_snapshots.FETCHING, server_snapshots.UNPACKING, server_snapshots.CHECKING, "applying entries"
    ]  # fmt: skip
    fetched = [(done, total) for what, done, total in seen if what == server_snapshots.FETCHING]
    assert len(fetched) > 3
    assert fetched == [(number * CHUNK, len(fetched) * CHUNK) for number in range(len(fetched))]
    assert seen[-1] == ("applying entries", here.seq, here.seq)
    assert digest(path) == digest(here._session.store.path)
    assert beside(path) == []


def test_what_was_fetched_before_a_cut_is_not_fetched_again(build, here):
    def cut(what, done, total):
        if done == 2 * CHUNK:
            raise Cut

    with pytest.raises(Cut):
        build(cut)
    seen = []
    path = build(lambda *progress: seen.append(progress))
    assert seen[0][:2] == (server_snapshots.FETCHING, 2 * CHUNK)
    assert digest(path) == digest(here._session.store.path)
    assert beside(path) == []


@pytest.mark.parametrize("where", [server_snapshots.UNPACKING, server_snapshots.CHECKING, "applying entries"])
def test_a_cut_at_any_step_leaves_what_can_be_run_again(build, here, where):
    def cut(what, done, total):
        if what == where:
            raise Cut

    with pytest.raises(Cut):
        build(cut)
    path = build(lambda *progress: None)
    assert digest(path) == digest(here._session.store.path)
    assert beside(path) == []


def test_a_snapshot_that_a_newer_one_replaces_meanwhile_is_left_for_that(build, here):
    def replace(what, done, total):
        if (what, done) == (server_snapshots.FETCHING, CHUNK) and here.seq == before:
            here.call("tasklist:add_task", {"name": "Later"})
            here._session.store.db.cut(here.seq)

    before = here.seq
    path = build(replace)
    assert digest(path) == digest(here._session.store.path)
    assert beside(path) == []


@pytest.mark.parametrize("wrong", ["data = '\\x00'", "hash = '\\x00'"])
def test_a_damaged_snapshot_is_refused_and_fetched_anew_the_next_time(build, here, server_url, wrong):
    with psycopg.connect(server_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE kept AS SELECT * FROM tui_tasks.snapshot")
        owner.execute(f"UPDATE tui_tasks.snapshot SET {wrong}")
        with pytest.raises(StorageFailed, match="is damaged, or not of its journal"):
            build(lambda *progress: None)
        owner.execute("DELETE FROM tui_tasks.snapshot")
        owner.execute("INSERT INTO tui_tasks.snapshot SELECT * FROM kept")
    path = build(lambda *progress: None)
    assert digest(path) == digest(here._session.store.path)


def test_of_two_processes_that_build_at_once_the_second_uses_what_the_first_built(build, here, machine, server_url):
    def other(what, done, total):
        if (what, done) == (server_snapshots.FETCHING, CHUNK):
            seen.append(what)

    seen: list[str] = []
    path = build(other)
    with open_state(server_url, agent="codex") as state:
        state._session.store.db.build(other)
        assert len(names(state)) == 40
    assert seen == [server_snapshots.FETCHING]
    assert path == state._session.store.path
