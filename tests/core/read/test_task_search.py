"""A page of the board is the beginning of the whole, and costs the same however long the list is. The index of words
changes no answer, only how soon it comes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import START
from tui_tasks.core import vocab
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, LogTask
from tui_tasks.core.read.pages import board_pages, list_pages
from tui_tasks.core.read.pages.task_filter import Filter, Term
from tui_tasks.core.read.tasks import ready_tasks, task_queries, task_search
from tui_tasks.core.store import Store

made = st.lists(
    st.tuples(st.sampled_from(vocab.STATUSES), st.integers(1, 6), st.booleans(), st.booleans()), min_size=1, max_size=30
)
wanted = st.sets(st.sampled_from(vocab.STATUSES), min_size=1)
priorities = st.sampled_from([task_search.ANY_PRIORITY, (1, 1), (2, 2), (vocab.LOW, 2**63 - 1)])


@given(made, wanted, priorities, st.integers(0, 12))
def test_a_page_is_the_beginning_of_all_and_tells_how_many_there_are(tasks, statuses, between, limit):
    with Store(":memory:") as store:
        home = task_queries.find_list(store.db, "task")
        first = None
        for status, priority, waits, goes in tasks:
            waiting = (first.uid,) if waits and first is not None else ()
            add = AddTask("t", home.uid, status=status, priority=priority, depends_on=waiting)
            (task,) = store.commit(add, actor="a", now=START)
            if goes:
                store.commit(DeleteTask(task.uid), actor="a", now=START)
            else:
                first = first or task
        found, total = task_search.tasks(store.db, home.id, statuses=statuses, priorities=between)
        everything = list(found)
        page, told = task_search.tasks(store.db, home.id, statuses=statuses, priorities=between, limit=limit)
        assert list(page) == everything[:limit]
        assert told == total == len(everything)


def test_a_page_and_the_next_to_do_are_read_from_an_index_in_their_order():
    of_list = "task_urgency (list_id=? AND status=? AND <expr>=?"
    read = {task_search._FIRST: of_list, ready_tasks._ready(True, False, False): of_list}
    read[ready_tasks._ready(False, False, False)] = "task_ready"
    with Store(":memory:") as store:
        for statement, index in read.items():
            asked = [1] * statement.sql.count("?")
            steps = [row[-1] for row in store.db.sql(f"EXPLAIN QUERY PLAN {statement.sql}", asked)]
            assert any(f"USING INDEX {index}" in step for step in steps)
            assert not any("TEMP B-TREE" in step for step in steps)


NOW = 1_767_352_934_000_000
LETTERS = st.sampled_from(["a", "A", "ß", "ẞ", "s", "S", "ſ", "k", "\u212a", "İ", "\0", "%", '"', " "])
TEXTS = st.text(st.sampled_from("aAsß"), min_size=3, max_size=8) | st.text(LETTERS, min_size=1, max_size=12)
WORDS = st.text(st.sampled_from("aAsß"), min_size=3, max_size=4) | st.text(LETTERS, min_size=1, max_size=5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), TEXTS, TEXTS),
        st.tuples(st.just("edit"), st.integers(0, 9), TEXTS),
        st.tuples(st.just("describe"), st.integers(0, 9), TEXTS),
        st.tuples(st.just("tag"), st.integers(0, 9), WORDS),
        st.tuples(st.just("delete"), st.integers(0, 9)),
        st.tuples(st.just("log"), st.integers(0, 9)),
        st.tuples(st.just("catch up"), st.integers(1, 4)),
    ),
    max_size=30,
)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_search, "WORTH_IT", 1)
    monkeypatch.setattr(task_search, "SLACK", 0)


def _do(store: Store, home: str, made: list[str], step: tuple) -> None:
    what, *rest = step
    if what == "catch up":
        task_search.catch_up_index(store.db, rest[0])
    elif what == "add":
        (task,) = store.commit(AddTask("x" + rest[0], home, rest[1]), actor="a", now=NOW)
        made.append(task.uid)
    elif made:
        uid = made[rest[0] % len(made)]
        operation = {
            "edit": lambda: EditTask(uid, {"name": "x" + rest[1]}),
            "describe": lambda: EditTask(uid, {"description": rest[1]}),
            "tag": lambda: EditTask(uid, {"tags": ("t", rest[1])}),
            "delete": lambda: DeleteTask(uid),
            "log": lambda: LogTask(uid, "aaa"),
        }[what]()
        store.commit(operation, actor="a", now=NOW)
        if what == "delete":
            made.remove(uid)


@settings(max_examples=60)
@given(STEPS, st.lists(WORDS, min_size=1, max_size=2), st.booleans())
def test_what_is_found_is_what_going_through_all_tasks_finds(steps, words, whole) -> None:
    with Store(":memory:") as store:
        home = task_queries.find_list(store.db, "task")
        assert home is not None
        made: list[str] = []
        for step in steps:
            _do(store, home.uid, made, step)
        while whole and task_search.catch_up_index(store.db, 3):
            pass
        only = Filter(tuple(Term("word", word) for word in words))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(task_search, "narrowed", lambda *_: None)
            by_going_through = _found(store, home.id, only, words[0])
        assert _found(store, home.id, only, words[0]) == by_going_through


def _found(store: Store, home: int, only: Filter, word: str) -> dict:
    db = store.db
    return {
        "list": [line.uid for line in list_pages.after(db, home, list_pages.FIRST, 100, only)],
        "backwards": [line.uid for line in list_pages.before(db, home, list_pages.LAST, 100, only)],
        "count": list_pages.count_on(db, home, list_pages.FIRST, only)[0],
        "cards": [card.uid for card in board_pages.page(db, home, "pending", list_pages.FIRST, 100, only)],
        "cards counted": board_pages.count(db, home, "pending", only)[0],
        "asked": [card.uid for card in board_pages.page(db, home, board_pages.NEEDS_YOU, list_pages.FIRST, 100, only)],
        "query": [task.uid for task in task_search.tasks(db, home, query=word)[0]],
    }


def _filled(path: str, tasks: int) -> None:
    with Store(path) as store:
        home = task_queries.find_list(store.db, "task")
        assert home is not None
        for number in range(tasks):
            store.commit(AddTask(f"number {number:03}", home.uid), actor="a", now=NOW)


def test_a_word_of_three_letters_is_found_by_the_index_and_a_shorter_one_is_not(tmp_path: Path) -> None:
    path = str(tmp_path / "x.db")
    _filled(path, 20)
    with Store(path) as store:
        assert task_search.narrowed(store.db, ["017"]) is None
        while task_search.catch_up_index(store.db, 7):
            assert task_search.narrowed(store.db, ["017"]) is None
        assert (
            len(
                store.db.query(
                    task_queries.TaskRow.select(task_queries.TaskRow.id).where(task_search.narrowed(store.db, ["017"]))
                )
            )
            == 1
        )
        assert task_search.narrowed(store.db, ["17"]) is None
        assert task_search.narrowed(store.db, ["number"], 19) is None


def test_an_index_without_tags_is_made_anew(tmp_path: Path) -> None:
    path = str(tmp_path / "x.db")
    _filled(path, 5)
    with Store(path) as store:
        store.db.sql("CREATE VIRTUAL TABLE search USING fts5(said)")
        store.db.sql("CREATE TABLE search_progress (id INTEGER, seq INTEGER NOT NULL)")
        home = task_queries.find_list(store.db, "task")
        assert home is not None
        uid = next(task.uid for task in task_queries.tasks(store.db, home.id))
        store.commit(EditTask(uid, {"tags": ("later",)}), actor="a", now=NOW)
        while task_search.catch_up_index(store.db):
            pass
        assert task_search.narrowed(store.db, ["later"]) is not None
        assert _found(store, home.id, Filter((Term("word", "later"),)), "later")["list"] == [uid]
        assert not store.db.sql("SELECT name FROM sqlite_master WHERE name = 'search_progress'").fetchall()


def test_what_is_written_after_is_found_though_the_index_is_behind(tmp_path: Path, monkeypatch) -> None:
    path = str(tmp_path / "x.db")
    _filled(path, 5)
    with Store(path) as store:
        while task_search.catch_up_index(store.db, 7):
            pass
        monkeypatch.setattr(task_search, "SLACK", 500)
        home = task_queries.find_list(store.db, "task")
        assert home is not None
        store.commit(AddTask("an unheard-of thing", home.uid), actor="a", now=NOW)
        assert not task_search.catch_up_index(store.db)
        assert task_search.tasks(store.db, home.id, query="unheard")[1] == 1
        monkeypatch.setattr(task_search, "MAX_BEHIND", 0)
        assert task_search.narrowed(store.db, ["unheard"]) is None
        assert task_search.tasks(store.db, home.id, query="unheard")[1] == 1


def test_a_small_database_gets_no_index_and_the_journal_tells_of_none(tmp_path: Path, monkeypatch) -> None:
    path = str(tmp_path / "x.db")
    _filled(path, 5)
    with Store(path) as store:
        monkeypatch.setattr(task_search, "WORTH_IT", 6)
        assert not task_search.catch_up_index(store.db)
        assert not store.db.sql("SELECT * FROM sqlite_master WHERE name LIKE 'search%'").fetchall()
        monkeypatch.setattr(task_search, "WORTH_IT", 5)
        before = store.db.scalar("SELECT count(*) FROM journal")
        while task_search.catch_up_index(store.db, 2):
            pass
        assert store.db.scalar("SELECT count(*) FROM journal") == before
        assert list(database_findings.findings(store.db)) == []


def test_a_monitor_searches_with_the_index_and_writes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "x.db")
    _filled(path, 5)
    with Store(path) as store, Store(path, read_only=True) as monitor:
        home = task_queries.find_list(store.db, "task")
        assert home is not None
        assert task_search.tasks(monitor.db, home.id, query="003")[1] == 1
        while task_search.catch_up_index(store.db):
            pass
        assert task_search.narrowed(monitor.db, ["003"]) is not None
        assert task_search.tasks(monitor.db, home.id, query="003")[1] == 1
