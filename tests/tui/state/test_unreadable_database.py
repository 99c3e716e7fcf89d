"""A database that cannot be read for a while: the screen stays as it was, says so, and comes back by itself."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path

import pytest

from tests.conftest import START
from tests.core.engine.databases import add, put_in_place
from tests.tui.driving import lines, opened, said, settle, until
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.driver import connect, sqlite3
from tui_tasks.core.maintenance import backup
from tui_tasks.core.operations.tasks import EditTask, LogTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.tui.state import database_link

READS = ("one", "all", "query", "sql", "scalar")
TOLD = "The database cannot be read: disk I/O error"


class Disk:
    """What the screen reads from; while it is `lost`, each read fails."""

    def __init__(self, monkeypatch):
        self.lost = None
        for name in READS:
            monkeypatch.setattr(Database, name, self.reading(getattr(Database, name)))

    def reading(self, read):
        def tried(db, *args, **options):
            if db is self.lost:
                raise sqlite3.OperationalError("disk I/O error")
            return read(db, *args, **options)

        return tried

    def lose(self, app):
        self.lost = app.link.db

    def bring_back(self):
        self.lost = None


@pytest.fixture
def disk(monkeypatch):
    monkeypatch.setattr(database_link, "LOOK_AGAIN", 0.3)
    return Disk(monkeypatch)


def body(app):
    """What is on screen between the Now line and the foot."""
    return lines(app)[3:-1]


def meanwhile(plan):
    return EditTask(plan[5], {"name": "Ship it at last"}), LogTask(plan[5], "shipped at last")


async def test_a_screen_of_which_a_row_was_changed_by_hand_leaves_and_names_it(plan, make_app, capsys):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        with contextlib.closing(connect(plan.path)) as raw:
            raw.execute("UPDATE task SET tags = 'a,b' WHERE uid = ?", (plan[5],))
        await pilot.press("J")
        await until(pilot, lambda: app.return_code == 1)
    said_last = " ".join(capsys.readouterr().err.split())
    assert "is damaged: the field tags of task #5 is not JSON. `tui-tasks doctor` lists all damage" in said_last


@pytest.mark.parametrize("size", [(120, 40), (40, 12)])
@pytest.mark.parametrize("pane", ["list", "board", "log", "schedule"])
async def test_what_is_shown_stays_and_what_was_written_meanwhile_comes_once_it_can_be_read(
    plan, jobs, make_app, agent, disk, pane, size
):
    app = make_app(plan.path, pane=pane)
    async with opened(app, size) as pilot:
        await settle(pilot)
        before = body(app)
        disk.lose(app)
        agent(*meanwhile(plan))
        app.link.catch_up()
        await until(pilot, lambda: TOLD in said(app))
        await pilot.pause()
        assert body(app) == before
        assert TOLD[:30] in lines(app)[-1]
        disk.bring_back()
        await until(pilot, lambda: not said(app))
        await settle(pilot)
        assert "Ship it at last" in [one.task.name for one in app.state.members if one.task is not None]
        told = {"list": "Ship it at last", "board": "Ship it at", "log": "shipped at last"}.get(pane)
        assert told is None or any(told in line for line in body(app))


KEYS = (
    *("j", "G", "k", "g", "ctrl+d", "ctrl+u", "enter", "escape", "tab", "slash", "x", "escape", "right_square_bracket"),
    *("2", "3", "4", "1", "a", "escape", "A", "escape", "S", "escape", "question_mark", "escape", "colon", "escape"),
    *("n", "x", "enter", "escape", "e", "escape", "s", "escape", "y", "escape", "u", "exclamation_mark", "full_stop"),
)


@pytest.mark.parametrize("pane", ["list", "board", "log", "schedule"])
async def test_no_key_and_no_size_ends_the_screen_while_nothing_can_be_read(plan, jobs, make_app, disk, pane):
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        await settle(pilot)
        disk.lose(app)
        for key in KEYS:
            await pilot.press(key)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert app.link.unread == "disk I/O error"
        disk.bring_back()
        await until(pilot, lambda: not app.link.unread)
        await settle(pilot, "escape", "escape", "escape", "1", "escape", "g")
        assert app.navigation.pane_name == "list"
        assert app.pane.row_list.row.uid == plan[1]
        assert any("Ship auth flow" in line for line in body(app))


async def test_it_can_be_left_while_nothing_can_be_read(plan, make_app, disk):
    app = make_app(plan.path)
    async with opened(app) as pilot:
        disk.lose(app)
        await pilot.press("j", "q")
    assert app.return_code == 0


async def test_the_screen_shows_what_is_there_and_what_the_human_does_goes_there(plan, make_app):
    path = Path(plan.path)
    copy = path.with_name("copy.db")
    with Store(plan.path) as store:
        backup.backup(store.db, copy)
        store.commit(EditTask(plan[1], {"name": "Lost with the old file"}), actor="a", now=START)
    app = make_app(plan.path)
    async with opened(app) as pilot:
        await until(pilot, lambda: any("Lost with the old file" in line for line in lines(app)))
        put_in_place(copy, path)
        await until(pilot, lambda: not any("Lost with the old file" in line for line in lines(app)))
        await app.link.commit(EditTask(plan[1], {"name": "Written there"}))
        await until(pilot, lambda: any("Written there" in line for line in lines(app)))
        with Store(plan.path) as other:
            assert task_queries.task(other.db, plan[1]).name == "Written there"


@pytest.mark.parametrize(
    ("pane", "keys"),
    [
        *itertools.product(("list", "board", "log", "schedule"), ((), ("enter",))),
        *itertools.product(("board", "schedule"), (("G", "x"),)),
        *itertools.product(("list", "board", "schedule"), (("n",),)),
        *itertools.product(("board", "log"), (("A",),)),
    ],
    ids=str,
)
async def test_a_backup_without_the_list_that_is_shown_is_shown_from_another(
    plan, jobs, make_app, tmp_path, pane, keys
):
    with Store(str(tmp_path / "older.db")) as older:
        add(older, "The only one")
    app = make_app(plan.path, pane=pane)
    async with opened(app) as pilot:
        await settle(pilot, *keys)
        before = app.link.db.file
        put_in_place(tmp_path / "older.db", Path(plan.path))
        await until(pilot, lambda: app.link.db.file != before)
        await settle(pilot, "escape", "escape", "escape", "2", "j", "3", "G", "4", "1", "escape", "g")
        await until(pilot, lambda: any("The only one" in line for line in lines(app)))


async def test_the_screen_says_so_while_the_file_is_gone(plan, make_app):
    app = make_app(plan.path)
    folder = Path(plan.path).parent
    away = folder.with_name("away")
    async with opened(app) as pilot:
        await settle(pilot)
        folder.rename(away)
        await until(pilot, lambda: "is gone: put it back" in app.link.unread)
        away.rename(folder)
        await until(pilot, lambda: not app.link.unread)
