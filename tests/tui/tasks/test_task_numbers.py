"""Numbers of tasks, held against counting them all."""

from __future__ import annotations

import contextlib
import random

import pytest

from tests.tui.plan import NOW
from tui_tasks.core.errors import Refusal
from tui_tasks.core.journal import journal
from tui_tasks.core.operations.changes import Undo
from tui_tasks.core.operations.lists import CreatePlan
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, MoveTask
from tui_tasks.core.read import overview
from tui_tasks.core.read.pages import pages
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.store import Store
from tui_tasks.tui.state import task_numbers
from tui_tasks.tui.state.task_numbers import TaskNumbers


@pytest.fixture
def store(tmp_path):
    with Store(str(tmp_path / "t.db")) as opened:
        yield opened


def do(store, *operations):
    return store.commit(*operations, actor="human", now=NOW)


@pytest.mark.parametrize("seed", range(4))
def test_numbers_are_right_through_all_that_moves_tasks(store, seed, monkeypatch):
    monkeypatch.setattr(task_numbers, "STRETCH", 10)
    monkeypatch.setattr(task_numbers, "SHORT", 20)
    rng = random.Random(seed)
    one, other = store.commit(CreatePlan("one"), CreatePlan("other"), actor="claude-1", now=NOW)
    made = do(store, *(AddTask(f"t{number}", one.uid) for number in range(60)))
    uids = [task.uid for task in made]
    numbers, seq = TaskNumbers(store.db), 0
    for _ in range(60):
        uid = rng.choice(uids)
        what = rng.choice(["add", "delete", "move", "away", "undo", "many"])
        if queries.any_task(store.db, uid).deleted and what in ("delete", "move", "away"):
            continue
        if what == "add":
            uids.append(do(store, AddTask("x", one.uid))[0].uid)
        elif what == "many":
            live = queries.tasks(store.db, one.id)
            beside = rng.choice(live).uid if live else None
            home = "" if beside else one.uid
            uids += [task.uid for task in do(store, *(AddTask("m", home, after=beside) for _ in range(15)))]
        elif what == "delete":
            do(store, DeleteTask(uid))
        elif what == "move":
            live = [task.uid for task in queries.tasks(store.db, one.id) if task.uid != uid]
            do(store, MoveTask(uid, before=rng.choice(live)))
        elif what == "away":
            do(store, MoveTask(uid, list_uid=other.uid))
        else:
            with contextlib.suppress(Refusal):
                do(store, Undo())
        changes = overview.changes(store.db, seq, 1_000)
        seq = journal.newest(store.db)
        numbers.apply(changes)
        live = queries.tasks(store.db, one.id)
        for at in {0, len(live) - 1, *(rng.randrange(len(live)) for _ in range(5))} if live else ():
            assert numbers.ahead(one.id, live[at].rank) == at
            assert numbers.at(one.id, at + 1) == live[at].uid
        assert numbers.at(one.id, len(live) + 1) is None
        assert numbers.at(one.id, 0) is None


def test_what_takes_long_is_told_apart_from_what_does_not(store, monkeypatch):
    monkeypatch.setattr(task_numbers, "STRETCH", 10)
    monkeypatch.setattr(task_numbers, "SHORT", 20)
    (home,) = do(store, CreatePlan("one"))
    tasks = do(store, *(AddTask(f"t{number}", home.uid) for number in range(60)))
    numbers = TaskNumbers(store.db)
    assert numbers.ahead_if_quick(home.id, tasks[5].rank) == 5
    assert numbers.ahead_if_quick(home.id, tasks[55].rank) == 55
    assert numbers.ahead_if_quick(home.id, tasks[50].rank) is None
    assert numbers.ahead(home.id, tasks[50].rank) == 50
    assert numbers.ahead_if_quick(home.id, tasks[50].rank) == 50


def test_a_list_is_quick_once_it_has_been_gone_through(store, monkeypatch):
    monkeypatch.setattr(task_numbers, "STRETCH", 10)
    monkeypatch.setattr(task_numbers, "SHORT", 20)
    (home,) = do(store, CreatePlan("one"))
    tasks = do(store, *(AddTask(f"t{number}", home.uid) for number in range(60)))
    numbers = TaskNumbers(store.db)
    assert not numbers.is_quick(home.id)
    numbers.go_through(home.id)
    assert numbers.is_quick(home.id)
    assert [numbers.ahead_if_quick(home.id, task.rank) for task in tasks] == list(range(60))


def test_pages_with_a_filter_go_on_where_they_were_broken_off(store, monkeypatch):
    monkeypatch.setattr(pages, "STRETCH", 7)
    monkeypatch.setattr(pages, "MAX_PASSED", 20)
    (home,) = do(store, CreatePlan("one"))
    do(store, *(AddTask("wanted" if number % 31 == 0 else "other", home.uid) for number in range(200)))
    from tui_tasks.core.read.pages.filter import Filter, Term

    only = Filter((Term("word", "WANTED"),))
    for read, rank, order in ((pages.after, pages.FIRST, 1), (pages.before, pages.LAST, -1)):
        found, turns = [], 0
        while rank is not None:
            page = read(store.db, home.id, rank, 100, only)
            found += page[::order]
            rank, turns = page.reached, turns + 1
        assert turns > 5
        wanted = [task.uid for task in queries.tasks(store.db, home.id) if task.name == "wanted"]
        assert [row.uid for row in found] == wanted[::order]
    counted, rank = 0, pages.FIRST
    while rank is not None:
        more, rank = pages.count_on(store.db, home.id, rank, only)
        counted += more
    assert counted == 7
