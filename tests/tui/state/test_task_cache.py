"""Places of tasks in their lists, held against counting them all."""

from __future__ import annotations

import contextlib
import random

import pytest

from tests.tui.plan import NOW
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, DeleteTask, MoveTask
from tui_tasks.core.read import overview
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.tui.state import task_cache
from tui_tasks.tui.state.task_cache import RowPlaces


@pytest.fixture
def store(tmp_path):
    with Store(str(tmp_path / "t.db")) as opened:
        yield opened


def do(store, *operations):
    return store.commit(*operations, actor="human", now=NOW)


@pytest.mark.parametrize("seed", range(4))
def test_places_are_right_through_all_that_moves_tasks(store, seed, monkeypatch):
    monkeypatch.setattr(task_cache, "STRETCH", 10)
    monkeypatch.setattr(task_cache, "SHORT", 20)
    rng = random.Random(seed)
    one, other = store.commit(CreatePlan("one"), CreatePlan("other"), actor="claude-1", now=NOW)
    made = do(store, *(AddTask(f"t{number}", one.uid) for number in range(60)))
    uids = [task.uid for task in made]
    places, seq = RowPlaces(store.db), 0
    for _ in range(60):
        uid = rng.choice(uids)
        what = rng.choice(["add", "delete", "move", "away", "undo", "many"])
        if task_queries.any_task(store.db, uid).deleted and what in ("delete", "move", "away"):
            continue
        if what == "add":
            uids.append(do(store, AddTask("x", one.uid))[0].uid)
        elif what == "many":
            live = task_queries.tasks(store.db, one.id)
            beside = rng.choice(live).uid if live else None
            home = "" if beside else one.uid
            uids += [task.uid for task in do(store, *(AddTask("m", home, after=beside) for _ in range(15)))]
        elif what == "delete":
            do(store, DeleteTask(uid))
        elif what == "move":
            live = [task.uid for task in task_queries.tasks(store.db, one.id) if task.uid != uid]
            do(store, MoveTask(uid, before=rng.choice(live)))
        elif what == "away":
            do(store, MoveTask(uid, list_uid=other.uid))
        else:
            with contextlib.suppress(Refusal):
                do(store, Undo())
        changes = overview.changes(store.db, seq, 1_000)
        seq = journal.newest(store.db)
        places.apply(changes)
        live = task_queries.tasks(store.db, one.id)
        for at in {0, len(live) - 1, *(rng.randrange(len(live)) for _ in range(5))} if live else ():
            assert places.ahead(one.id, live[at].rank) == at


def test_pages_with_a_filter_go_on_where_they_were_broken_off(store, monkeypatch):
    monkeypatch.setattr(list_pages, "STRETCH", 7)
    monkeypatch.setattr(list_pages, "MAX_PASSED", 20)
    (home,) = do(store, CreatePlan("one"))
    do(store, *(AddTask("wanted" if number % 31 == 0 else "other", home.uid) for number in range(200)))
    from tui_tasks.core.read.pages.task_filter import Filter, Term

    only = Filter((Term("word", "WANTED"),))
    for read, rank, order in ((list_pages.after, list_pages.FIRST, 1), (list_pages.before, list_pages.LAST, -1)):
        found, turns = [], 0
        while rank is not None:
            page = read(store.db, home.id, rank, 100, only)
            found += page[::order]
            rank, turns = page.reached, turns + 1
        assert turns > 5
        wanted = [task.uid for task in task_queries.tasks(store.db, home.id) if task.name == "wanted"]
        assert [row.uid for row in found] == wanted[::order]
    counted, rank = 0, list_pages.FIRST
    while rank is not None:
        more, rank = list_pages.count_on(store.db, home.id, rank, only)
        counted += more
    assert counted == 7
