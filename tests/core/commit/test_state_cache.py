"""What a writer has looked up, and what it writes late, is as if it had not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import START
from tui_tasks.core import agent_names as names_of_agents
from tui_tasks.core.commit import state_cache
from tui_tasks.core.commit.journal import newest
from tui_tasks.core.commit.state_cache import StateCache
from tui_tasks.core.errors import NotFound
from tui_tasks.core.operations import Operation
from tui_tasks.core.operations.asks import DeliverMessages, OpenAsk, PauseAgent, ResumeAgent, SendMessage
from tui_tasks.core.operations.jobs import DefineChecks, GiveChecks, NamedCheck, RecordSettings
from tui_tasks.core.operations.tasks import (
    AddTask,
    ClaimTask,
    DeleteList,
    DeleteTask,
    EditTask,
    EnsureList,
    LogTask,
    MoveTask,
    OrderTasks,
    RenameList,
    SetListReview,
)
from tui_tasks.core.operations.work import StartWork
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import HUMAN, SYSTEM


def commit(store: Store, *operations):
    return store.commit(*operations, actor="a", now=START)


@pytest.fixture
def stores(path):
    with Store(str(path)) as one, Store(str(path)) as other:
        yield one, other


def names(store: Store, list_id: int) -> list[str]:
    return [task.name for task in task_queries.tasks(store.db, list_id)]


def test_the_next_task_goes_behind_one_that_was_moved_to_the_end(stores):
    one, _ = stores
    (home,) = commit(one, EnsureList("x", "task"))
    first, last = commit(one, AddTask("first", home.uid), AddTask("last", home.uid))
    commit(one, MoveTask(first.uid, after=last.uid))
    commit(one, AddTask("new", home.uid))
    assert names(one, home.id) == ["last", "first", "new"]
    assert len({task.rank for task in task_queries.tasks(one.db, home.id)}) == 3


def test_two_who_write_in_turn_see_what_the_other_has_written(stores):
    (home,) = commit(stores[0], EnsureList("x", "task"))
    for number in range(6):
        (task,) = commit(stores[number % 2], AddTask(str(number), home.uid))
        assert task.id == number + 1
    assert names(stores[0], home.id) == list("012345")
    (made,) = commit(stores[1], EnsureList("y", "task"))
    assert commit(stores[0], EnsureList("y", "task")) == [made]


def test_a_request_alone_looks_nothing_up_that_has_not_changed(stores, monkeypatch):
    one, other = stores
    (home,) = commit(one, EnsureList("x", "task"))
    commit(one, AddTask("first", home.uid))
    asked = []
    for name in ("last_rank", "next_id", "list_by_uid", "list_by_id"):
        real = getattr(task_queries, name)
        monkeypatch.setattr(
            task_queries, name, lambda *given, name=name, real=real: (asked.append(name), real(*given))[1]
        )
    commit(one, AddTask("second", home.uid))
    assert asked == []
    commit(other, AddTask("third", home.uid))
    asked.clear()
    commit(one, AddTask("fourth", home.uid))
    assert set(asked) == {"last_rank", "next_id", "list_by_uid"}


def like(store: Store, name: str) -> str | None:
    with store.transaction(START) as transaction:
        return transaction.state_cache.agent_like(name)


def test_a_new_agents_name_is_not_compared_with_every_agent_again(stores, monkeypatch):
    one, _ = stores
    one.commit(EnsureList("x", "task"), actor="builder", now=START)
    assert like(one, "bui1der") == "builder"
    read, real = [], names_of_agents.agents
    monkeypatch.setattr(names_of_agents, "agents", lambda db: (read.append(db), real(db))[1])
    for number in range(20):
        store = stores[number % 2]
        assert like(one, f"agent-{number}") is None
        store.commit(EnsureList(f"of {number}", "task"), actor=f"agent-{number}", now=START)
    assert like(one, "agent-l9") == "agent-19"
    assert read == []


def test_an_agent_whose_change_was_rolled_back_is_like_nobody(stores):
    one, _ = stores
    one.commit(EnsureList("x", "task"), actor="builder", now=START)
    with pytest.raises(NotFound), one.transaction(START) as transaction, transaction.change():
        transaction.speak("reader")
        transaction.run(EnsureList("y", "task"))
        assert transaction.state_cache.agent_like("rea\u0501er") == "reader"
        transaction.run(DeleteTask("no such uid"))
    one.commit(EnsureList("z", "task"), actor="writer", now=START)
    assert (like(one, "rea\u0501er"), like(one, "\uff57riter")) == (None, "writer")


def test_agents_of_a_long_time_in_between_are_found_too(stores, monkeypatch):
    monkeypatch.setattr(names_of_agents, "_FEW_ENTRIES", 5)
    one, other = stores
    assert like(one, "builder") is None
    for number in range(4):
        commit(other, *(EnsureList(f"{number} {each}", "task") for each in range(3)))
        other.commit(EnsureList(f"of {number}", "task"), actor=f"agent-{number}", now=START)
    assert [like(one, f"agent\u2010{number}") for number in range(4)] == [f"agent-{number}" for number in range(4)]


def test_the_agents_since_an_entry_are_read_by_the_number_of_the_entry(stores):
    (plan,) = stores[0].db.sql(f"EXPLAIN QUERY PLAN {names_of_agents._AGENTS_SINCE}", (1,)).fetchall()[:1]
    assert "USING INTEGER PRIMARY KEY" in plan[3]


def test_what_was_known_does_not_grow_without_end(stores, monkeypatch):
    monkeypatch.setattr(state_cache, "_MAX_LOOKUPS", 10)
    one, _ = stores
    for number in range(50):
        with one.transaction(START) as transaction:
            assert transaction.state_cache.agent(f"agent {number}") is None
            assert len(transaction.state_cache._agents) <= 11


def test_counts_are_right_whenever_they_are_read_though_they_are_written_late(stores):
    one, other = stores
    (home,) = commit(one, EnsureList("x", "task"))
    with one.transaction(START) as transaction:
        transaction.speak("a")
        added = [transaction.run(AddTask(str(number), home.uid)) for number in range(3)]
        before = one.db.changes()
        assert task_queries.list_by_id(one.db, home.id).pending == 3
        assert one.db.changes() == before
        transaction.run(EditTask(added[0].uid, {"status": "done"}))
        transaction.run(DeleteTask(added[1].uid))
    for store in (one, other):
        found = task_queries.list_by_id(store.db, home.id)
        assert (found.pending, found.done, found.total) == (1, 1, 2)


@pytest.mark.parametrize("savepoints", [True, False])
def test_counts_of_what_was_not_done_are_not_written(stores, savepoints):
    one, _ = stores
    (home,) = commit(one, EnsureList("x", "task"))
    with one.transaction(START, savepoints=savepoints) as transaction:
        with transaction.change():
            transaction.speak("a")
            transaction.run(AddTask("kept", home.uid))
        with pytest.raises(NotFound), transaction.change():
            transaction.speak("a")
            if savepoints:
                transaction.run(AddTask("taken back", home.uid))
            transaction.run(DeleteTask("no such task"))
    assert task_queries.list_by_id(one.db, home.id).total == 1
    with pytest.raises(NotFound), one.transaction(START) as transaction:
        transaction.speak("a")
        transaction.run(AddTask("taken back", home.uid))
        transaction.run(DeleteTask("no such task"))
    commit(one, AddTask("second", home.uid))
    assert task_queries.list_by_id(one.db, home.id).total == 2


def test_what_was_looked_up_of_another_history_with_as_many_entries_is_not_used(tmp_path):
    """As where a backup was put in the place of the database."""
    stores = [Store(str(tmp_path / name)) for name in ("one.db", "other.db")]
    for store, names_ in zip(stores, ("xy", "yx"), strict=True):
        commit(store, *(EnsureList(name, "task") for name in names_))
    before = [state_cache.current_cache(store.db, None) for store in stores]
    assert before[0].seq == before[1].seq
    assert state_cache.current_cache(stores[0].db, before[0]) is before[0]
    assert state_cache.current_cache(stores[1].db, before[0]) is not before[0]
    assert state_cache.current_cache(stores[1].db, before[0]).find_list("x").id == before[1].find_list("x").id
    for store in stores:
        store.close()


def test_a_list_that_was_looked_up_after_its_deletion_takes_no_task(stores):
    one, _ = stores
    (home,) = commit(one, EnsureList("x", "task"))
    one.commit(DeleteList(home.uid), actor=HUMAN, now=START)
    cache = state_cache.current_cache(one.db, None)
    assert cache.list_by_id(home.id).deleted
    with pytest.raises(NotFound):
        cache.list_by_uid(home.uid)


def test_a_check_that_is_defined_after_the_definitions_were_looked_up_counts_at_once(stores):
    one, _ = stores
    with one.transaction(START) as transaction:
        transaction.speak(SYSTEM)
        assert transaction.state_cache.check_definitions == ()
        transaction.run(DefineChecks("checks.toml", (NamedCheck("tests", "1"),)))
        assert [check.name for check in transaction.state_cache.check_definitions] == ["tests"]


def see(store: Store, look: Callable[[StateCache], Any], *operations: Operation, actor: str = HUMAN) -> tuple[Any, Any]:
    """Return what a lookup gives before and after operations of one transaction, which uses one cache."""
    with store.transaction(START) as transaction:
        cache = transaction.state_cache
        before = look(cache)
        assert look(cache) == before
        transaction.speak(actor)
        for operation in operations:
            transaction.run(operation)
        assert transaction.state_cache is cache
        # As another process finds it.
        assert look(cache) == look(StateCache(store.db, cache.seq, cache.hash))
        return before, look(cache)


def test_what_the_human_set_for_an_agent_counts_at_once(stores):
    one, _ = stores

    def paused(cache: StateCache) -> tuple[bool, str] | None:
        return (found := cache.agent("bob")) and (found.paused, found.message)

    assert see(one, paused, PauseAgent("bob", "wait")) == (None, (True, "wait"))
    assert see(one, paused, ResumeAgent("bob")) == ((True, "wait"), (False, ""))
    assert see(one, lambda cache: cache.agent("alice"), PauseAgent("bob", "more")) == (None, None)


def test_a_message_waits_for_its_agent_alone_until_it_is_delivered(stores):
    one, _ = stores

    def look(cache: StateCache) -> Any:
        return [[found.text for found in cache.messages_waiting_for(name)] for name in ("bob", "alice")]

    assert see(one, look, SendMessage("bob", "hello")) == ([[], []], [["hello"], []])
    assert see(one, look, SendMessage("bob", "again"))[1] == [["hello", "again"], []]
    until = newest(one.db)
    assert see(one, look, DeliverMessages("bob", until=until), actor="bob")[1] == [[], []]


def test_a_lease_that_begins_or_ends_moves_the_next_lapse(stores):
    one, _ = stores
    (home,) = commit(one, EnsureList("x", "task"))
    first, second = commit(one, AddTask("first", home.uid), AddTask("second", home.uid))
    look = StateCache.next_lapse
    assert not state_cache.current_cache(one.db, None).has_next_lapse
    assert see(one, look, ClaimTask("a", 500, first.uid), actor="a") == (None, START + 500)
    assert see(one, look, ClaimTask("a", 300, second.uid), actor="a")[1] == START + 300
    # None of its leases ends while a question of the holder is open.
    assert see(one, look, OpenAsk("why?"), actor="a")[1] is None
    cache = state_cache.current_cache(one.db, None)
    assert (cache.next_lapse(), cache.has_next_lapse) == (None, True)


def test_what_changes_of_lists_is_looked_up_again(stores):
    one, _ = stores
    (home,) = commit(one, EnsureList("x", "task"))

    def names(cache: StateCache) -> Any:
        return (cache.find_list("x"), cache.find_list("y"))

    (was, nothing), (gone, renamed) = see(one, names, RenameList(home.uid, "y"))
    assert (was.uid, nothing, gone, renamed.uid) == (home.uid, None, None, home.uid)

    def is_reviewed(cache: StateCache) -> Any:
        return (cache.list_by_uid(home.uid).review, cache.reviewed_lists)

    (before, none), (after, reviewed) = see(one, is_reviewed, SetListReview(home.uid, True))
    assert (before, after) == (False, True)
    assert not none
    assert "y" in reviewed


def test_settings_that_are_recorded_count_at_once(stores):
    one, _ = stores

    def look(cache: StateCache) -> Any:
        return cache.recorded_settings and cache.recorded_settings.source

    assert see(one, look, RecordSettings("a.toml"), actor=SYSTEM) == (None, "a.toml")


def test_a_work_shows_on_its_task_from_its_start(stores):
    one, _ = stores
    (home,) = commit(one, EnsureList("x", "task"))
    task, other = commit(one, AddTask("task", home.uid), AddTask("other", home.uid))

    def look(cache: StateCache) -> Any:
        return (cache.has_work, *(len(cache.works_of(each.uid)) for each in (task, other)))

    assert see(one, look, LogTask(task.uid, "begun"))[1] == (False, 0, 0)
    assert see(one, look, StartWork(task.uid, "claude", "/repo", "/tree")) == ((False, 0, 0), (True, 1, 0))


def test_the_checks_of_a_task_are_its_lists_or_its_own(stores):
    one, _ = stores
    (home,) = commit(one, EnsureList("x", "task"))
    (task,) = commit(one, AddTask("task", home.uid))

    def look(cache: StateCache) -> Any:
        return [check.name for check in cache.checks_of(task_queries.task(one.db, task.uid), home)]

    defined = DefineChecks("checks.toml", (NamedCheck("tests", "1", lists=("x",)), NamedCheck("types", "1")))
    assert see(one, look, defined, actor=SYSTEM) == ([], ["tests"])
    assert see(one, look, GiveChecks(task.uid, ("types",)))[1] == ["types"]
    # A check that nobody defines any more can still be a task's.
    assert see(one, look, DefineChecks("checks.toml", ()), actor=SYSTEM)[1] == ["types"]


def test_the_last_rank_follows_tasks_that_are_added_moved_deleted_or_ranked_anew(stores):
    one, _ = stores
    home, other = commit(one, EnsureList("x", "task"), EnsureList("y", "task"))

    def look(cache: StateCache) -> Any:
        return (cache.last_rank(home.id), cache.last_rank(other.id))

    assert see(one, look, *(AddTask(str(number), home.uid) for number in range(3)))[0] == (None, None)
    first, second, third = task_queries.tasks(one.db, home.id)
    assert see(one, look, MoveTask(first.uid, after=third.uid))[1][0] > third.rank
    assert see(one, look, DeleteTask(first.uid))[1][0] == third.rank
    see(one, look, OrderTasks((third.uid, second.uid)))
    assert see(one, look, DeleteTask(second.uid), DeleteTask(third.uid))[1] == (None, None)


def test_a_rank_that_is_written_among_many_of_a_list_is_looked_up_again(stores):
    one, _ = stores
    (home,) = commit(one, EnsureList("x", "task"))
    (task,) = commit(one, AddTask("task", home.uid))
    with one.transaction(START) as transaction:
        transaction.speak("a")
        assert transaction.state_cache.last_rank(home.id) == task.rank
        transaction.emit("list.updated", "list", home.uid, old={}, new={"ranks": {task.uid: "zz"}})
        assert transaction.state_cache.last_rank(home.id) == "zz"


def test_ids_that_are_reserved_are_given_once(stores):
    one, _ = stores
    (home,) = commit(one, EnsureList("x", "task"))
    commit(one, AddTask("one", home.uid))
    with one.transaction(START) as transaction:
        cache = transaction.state_cache
        assert (cache.next_id("task"), cache.next_id("task", 5), cache.next_id("task")) == (2, 3, 8)


def test_an_agent_that_has_spoken_is_not_looked_up_again(stores, monkeypatch):
    one, _ = stores
    commit(one, EnsureList("x", "task"))
    asked, real = [], names_of_agents.has_spoken
    monkeypatch.setattr(names_of_agents, "has_spoken", lambda db, name: (asked.append(name), real(db, name))[1])
    with one.transaction(START) as transaction:
        assert [transaction.state_cache.agent_like("a") for _ in range(3)] == [None] * 3
    assert asked == ["a"]
