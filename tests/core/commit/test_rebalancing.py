"""Ranks stay short whatever is put where, and nobody but who reads ranks can tell that they were made anew."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import START
from tests.core.test_state_properties import TheState, tables
from tui_tasks.core.commit import journal, rank, rebalancing
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, DeleteTask, MoveTask, SwapTasks
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.tasks import task_rules
from tui_tasks.core.store import Store
from tui_tasks.dialects import events


def commit(store: Store, *operations):
    return store.commit(*operations, actor="human", now=START)


def order(db: Database, list_id: int) -> list[str]:
    return [task.uid for task in task_queries.tasks(db, list_id)]


def reranked(db: Database) -> list[journal.Entry]:
    return [entry for entry in journal.since(db, 0, 100_000) if entry.kind == rebalancing.RERANK]


@pytest.fixture
def early(monkeypatch):
    """Ranks are made anew after a few inserts at one spot."""
    make_early(monkeypatch)


def make_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(task_rules, "MAX_CHARS", 4)
    patch.setattr(rebalancing, "_SHORT", 4)
    patch.setattr(rebalancing, "_REACH", 2)
    patch.setattr(rank, "_STEP", 2)
    patch.setattr(rank, "_SPREAD", 4)


def test_six_thousand_inserts_on_alternating_sides_of_a_spot_keep_ranks_short():
    with Store(":memory:") as store:
        (home,) = commit(store, CreatePlan("Plan"))
        low, high = (task.uid for task in commit(store, AddTask("low", home.uid), AddTask("high", home.uid)))
        below, above = [low], [high]
        with store.transaction(START, savepoints=False) as transaction:
            for number in range(6_000):
                with transaction.change():
                    transaction.speak("a")
                    place = {"before": above[-1]} if number % 2 else {"after": below[-1]}
                    (below if number % 2 else above).append(transaction.run(AddTask("t", **place)).uid)
        assert order(store.db, home.id) == [*below, *reversed(above)]
        ranks = [task.rank for task in task_queries.tasks(store.db, home.id)]
        assert len(set(ranks)) == len(ranks)
        assert max(map(len, ranks)) <= rank.MAX_CHARS
        # A few writes an insert, at the very worst that can be done to it.
        assert sum(len(entry.new["ranks"]) for entry in reranked(store.db)) < 20 * 6_000


def test_appends_to_a_list_rerank_nothing():
    with Store(":memory:") as store:
        (home,) = commit(store, CreatePlan("Plan"))
        commit(store, *(AddTask("t", home.uid) for _ in range(2_000)))
        assert reranked(store.db) == []


PICK = st.integers(0, 30)
STEPS = st.lists(st.tuples(st.sampled_from("aaabbmmsduurr"), PICK, PICK, st.booleans()), min_size=10, max_size=60)


@settings(max_examples=50)
@given(STEPS)
def test_order_undo_and_numbers_are_those_of_a_plain_list_however_often_ranks_are_made_anew(steps):
    with pytest.MonkeyPatch.context() as patch, Store(":memory:") as store:
        make_early(patch)
        (home,) = commit(store, CreatePlan("Plan"))
        uids = [task.uid for task in commit(store, AddTask("t", home.uid), AddTask("t", home.uid))]
        done, undone = [], []
        for step, one, two, before in steps:
            was = list(uids)
            if step in "ur":
                if not (done if step == "u" else undone):
                    continue
                commit(store, Undo() if step == "u" else Redo())
                taken = (done if step == "u" else undone).pop()
                (undone if step == "u" else done).append(was)
                uids = taken
            else:
                if len(uids) < 2:
                    continue
                pick, other = uids[one % len(uids)], uids[two % len(uids)]
                # Often beside the last one that was added: at one spot.
                spot = {"before" if before else "after": other if step != "b" else max(uids)}
                if step in "ab":
                    uids.insert(uids.index(*spot.values()) + (not before), commit(store, AddTask("t", **spot))[0].uid)
                elif pick == other:
                    continue
                elif step == "m":
                    uids.remove(pick)
                    uids.insert(uids.index(other) + (not before), pick)
                    commit(store, MoveTask(pick, **spot))
                elif step == "s":
                    at, to = uids.index(pick), uids.index(other)
                    uids[at], uids[to] = uids[to], uids[at]
                    commit(store, SwapTasks(pick, other))
                else:
                    uids.remove(pick)
                    commit(store, DeleteTask(pick))
                done.append(was)
                undone.clear()
            assert order(store.db, home.id) == uids
        ranks = [task.rank for task in task_queries.tasks(store.db, home.id)]
        assert len(set(ranks)) == len(ranks)
        with Store(":memory:") as again:
            replay(store.db, again.db)
            assert tables(again.db) == tables(store.db)


class TheStateWithShortRanks(TheState):
    """All that holds of the state holds where ranks are made anew all the time."""

    def __init__(self):
        self.patch = pytest.MonkeyPatch()
        make_early(self.patch)
        super().__init__()

    def teardown(self):
        try:
            super().teardown()
        finally:
            self.patch.undo()


TestTheStateWithShortRanks = TheStateWithShortRanks.TestCase
TestTheStateWithShortRanks.settings = settings(max_examples=15, stateful_step_count=40)


def test_reranking_changes_no_version_and_tells_of_no_task(early):
    with Store(":memory:") as store:
        (home,) = commit(store, CreatePlan("Plan"))
        first, last = commit(store, AddTask("first", home.uid), AddTask("last", home.uid))
        seq = journal.newest(store.db)
        before = {task.uid: task.rank for task in task_queries.tasks(store.db, home.id)}
        while not reranked(store.db):
            commit(store, AddTask("t", after=first.uid))
        assert {task.uid: task.rank for task in task_queries.tasks(store.db, home.id)}.items() - before.items()
        assert {task.version for task in task_queries.tasks(store.db, home.id)} == {1}
        kinds = [entry.kind for entry in journal.since(store.db, seq, 1_000)]
        assert set(kinds) == {"task.created", rebalancing.RERANK}
        told = events.event(store.db, reranked(store.db)[0])
        assert (told["event"], told["actor"], told["list"]) == ("list.reranked", "system", {"uid": home.uid})
        assert told["changes"] == {}
        assert "task" not in told
        assert last.uid == order(store.db, home.id)[-1]


def test_an_undo_takes_back_the_insert_and_leaves_the_new_ranks(early):
    with Store(":memory:") as store:
        (home,) = commit(store, CreatePlan("Plan"))
        first, _ = commit(store, AddTask("first", home.uid), AddTask("last", home.uid))
        while not reranked(store.db):
            (newest,) = commit(store, AddTask("t", after=first.uid))
        was = order(store.db, home.id)
        commit(store, Undo())
        assert order(store.db, home.id) == [uid for uid in was if uid != newest.uid]
        commit(store, Redo())
        assert order(store.db, home.id) == was
        with pytest.raises(Conflict):
            commit(store, Redo())


def test_a_new_task_goes_behind_the_last_whose_rank_was_made_anew(early):
    with Store(":memory:") as store:
        (home,) = commit(store, CreatePlan("Plan"))
        first, last = commit(store, AddTask("first", home.uid), AddTask("last", home.uid))
        rank_before = last.rank
        while task_queries.task(store.db, last.uid).rank == rank_before:
            commit(store, AddTask("t", after=first.uid))
        (newest,) = commit(store, AddTask("t", home.uid))
        assert order(store.db, home.id)[-2:] == [last.uid, newest.uid]
