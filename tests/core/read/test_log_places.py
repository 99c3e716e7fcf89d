"""The number that a task had after an entry, whatever has come, gone and moved since."""

import random

import pytest

from tests.conftest import START
from tui_tasks.core.errors import Conflict
from tui_tasks.core.journal import journal
from tui_tasks.core.operations.changes import Redo, Undo
from tui_tasks.core.operations.lists import CreatePlan
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, MoveTask, SwapTasks
from tui_tasks.core.read.log import log_places
from tui_tasks.core.read.log.log_places import PlacesThen
from tui_tasks.core.read.pages import pages
from tui_tasks.core.read.tasks import queries
from tui_tasks.core.store import Store


@pytest.mark.parametrize("seed", range(12))
def test_every_task_has_the_number_that_it_had_after_each_entry(seed):
    chance = random.Random(seed)
    with Store(":memory:") as store:

        def do(operation):
            return store.commit(operation, actor="human", now=START)[0]

        homes = [do(CreatePlan(name)) for name in ("one", "two")]
        uids: list[str] = []
        history: list[tuple[int, dict[str, int]]] = []
        for _ in range(40):
            there = queries.live_tasks(store.db, uids)
            pick = chance.choice(there).uid if there else None
            ways = [AddTask("t", chance.choice(homes).uid)]
            if pick is not None:
                other = chance.choice(there).uid
                ways += [
                    AddTask("t", before=pick),
                    DeleteTask(pick),
                    EditTask(pick, {"priority": chance.randint(1, 9)}),
                    MoveTask(pick, after=other),
                    MoveTask(pick, list_uid=chance.choice(homes).uid),
                    Undo(),
                    Redo(),
                ]
                if queries.task(store.db, pick).list_id == queries.task(store.db, other).list_id:
                    ways.append(SwapTasks(pick, other))
            way = chance.choice(ways)
            try:
                made = do(way)
            except Conflict:
                continue
            if isinstance(way, AddTask):
                uids.append(made.uid)
            numbers = {}
            for home in homes:
                numbers |= {task.uid: place for place, task in enumerate(queries.tasks(store.db, home.id), 1)}
            history.append((journal.newest(store.db), numbers))
        newest = journal.newest(store.db)
        for order in (history, reversed(history)):
            then = PlacesThen(store.db, newest)
            for seq, numbers in order:
                for uid, place in numbers.items():
                    row = pages.line(store.db, uid)
                    found = then.number(ahead(store.db), seq, uid, row.list_id, row.rank)
                    assert found == place, (seq, uid)


def ahead(db):
    return lambda list_id, rank: pages.between(db, list_id, high=rank)


def test_an_entry_of_too_long_ago_has_no_number(monkeypatch):
    monkeypatch.setattr(log_places, "MAX_ENTRIES", 3)
    with Store(":memory:") as store:
        home = store.commit(CreatePlan("Plan"), actor="human", now=START)[0]
        tasks = [store.commit(AddTask("t", home.uid), actor="human", now=START)[0] for _ in range(5)]
        then = PlacesThen(store.db, journal.newest(store.db))
        numbers = [then.number(ahead(store.db), at + 2, task.uid, home.id, task.rank) for at, task in enumerate(tasks)]
        assert numbers == [None, 2, 3, 4, 5]
