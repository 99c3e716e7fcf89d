"""The screen on a machine's replica: what others do appears, and a server that is away is said."""

from __future__ import annotations

import re

import pytest

from tests.postgres.conftest import cluster, database, machine, opened_on, own_cluster, server_url, with_tables
from tests.postgres.machines import names
from tests.tui.driving import lines, opened, press, said, settle, shown, until, write
from tui_tasks import clock
from tui_tasks.settings import paths
from tui_tasks.state.open_state import open_state
from tui_tasks.state.open_store import catch_up
from tui_tasks.tui.app.task_app import TaskApp
from tui_tasks.tui.state.database_link import DatabaseLink

__all__ = ["cluster", "database", "machine", "opened_on", "own_cluster", "server_url", "with_tables"]


@pytest.fixture
def screen(machine):
    """Make the screen of a machine."""

    def make(name: str, url: str, *, read_only: bool = False) -> TaskApp:
        machine(name)
        path = paths.database(url)
        catch_up(path)
        return TaskApp(DatabaseLink(path, read_only=read_only, clock=clock.now))

    return make


async def test_a_task_of_another_machine_appears_and_a_typed_one_reaches_it(screen, opened_on, server_url):
    there = opened_on("there")
    app = screen("here", server_url)
    async with opened(app) as pilot:
        there.call("tasklist:add_task", {"name": "Build"})
        await until(pilot, lambda: "Build" in shown(app))
        await settle(pilot, "n")
        await write(pilot, "Ship")
        await press(app, pilot, "enter")
        await until(pilot, lambda: re.search(r"○ #\d+ +Ship", shown(app)))
    assert sorted(names(there)) == ["Build", "Ship"]


async def test_a_screen_that_only_reads_follows_other_machines(screen, opened_on, server_url):
    there = opened_on("there")
    app = screen("here", server_url, read_only=True)
    async with opened(app) as pilot:
        there.call("tasklist:add_task", {"name": "Build"})
        await until(pilot, lambda: "Build" in shown(app))


async def test_the_top_line_names_the_database_of_the_server(screen, server_url, database):
    app = screen("here", server_url)
    async with opened(app):
        assert f"{database}  live" in lines(app)[0]


async def test_a_server_that_is_away_is_marked_and_the_typed_text_stays(screen, machine, own_cluster):
    machine("here")
    with own_cluster.database() as name:
        url = own_cluster.conninfo(name)
        with open_state(url, agent="codex") as state:
            state.call("tasklist:add_task", {"name": "Build"})
        app = screen("here", url)
        async with opened(app) as pilot:
            await until(pilot, lambda: "live" in lines(app)[0])
            own_cluster.stop()
            await until(pilot, lambda: "server away" in lines(app)[0])
            assert re.search(r"○ #\d+ +Build", shown(app))
            await settle(pilot, "n")
            await write(pilot, "Ship")
            await press(app, pilot, "enter")
            assert "cannot be reached" in said(app)
            assert "+ Ship" in shown(app)
            own_cluster.start()
            await until(pilot, lambda: "server away" not in lines(app)[0])
            await press(app, pilot, "enter")
            await until(pilot, lambda: re.search(r"○ #\d+ +Ship", shown(app)))
