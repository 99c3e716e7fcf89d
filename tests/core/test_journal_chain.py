"""The journal is chained by hash: whatever is changed in it is found."""

import random

import pytest

from tests.conftest import START
from tui_tasks.core import chain
from tui_tasks.core.driver import sqlite3
from tui_tasks.core.operations import AddTask, EditTask, EnsureList, LogTask
from tui_tasks.core.store import Store


def filled() -> Store:
    store = Store(":memory:")
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="a", now=START)
    uids = [
        store.commit(AddTask(f"task {n}", home.uid, "d" * n), actor="a", now=START + n, why={"topic": "t"})[0].uid
        for n in range(20)
    ]
    for n, uid in enumerate(uids):
        store.commit(EditTask(uid, {"status": "done", "result": {"n": n}}), LogTask(uid, "é"), actor="b", now=START)
    return store


def test_any_byte_of_the_journal_that_is_changed_is_found():
    rng = random.Random(7)
    store = filled()
    db = store.db
    columns = [name for _, name, *_ in db.sql("PRAGMA table_info(journal)").fetchall()]
    rows = db.sql("SELECT * FROM journal ORDER BY seq").fetchall()
    assert chain.broken_link(db) is None
    for _ in range(1_000):
        row = rng.choice(rows)
        at = rng.randrange(len(columns))
        value = row[at]
        if value is None:
            changed = rng.choice([0, "", b""])
        elif isinstance(value, int):
            changed = value ^ (1 << rng.randrange(40))
        else:
            raw = bytearray(value.encode() if isinstance(value, str) else value)
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
            changed = bytes(raw)
        cast = "CAST(? AS TEXT)" if isinstance(value, str) else "?"
        with pytest.raises(ZeroDivisionError), db.transaction(write=True):
            try:
                db.sql(f"UPDATE journal SET {columns[at]} = {cast} WHERE seq = ?", (changed, row[0]))
            except sqlite3.IntegrityError as taken:
                assert "UNIQUE" in str(taken)
            else:
                assert chain.broken_link(db) is not None, (columns[at], value, changed)
            raise ZeroDivisionError
    assert chain.broken_link(db) is None


def test_an_entry_taken_out_of_the_middle_put_in_another_place_or_with_no_hash_is_found():
    store = filled()
    for statement in (
        "DELETE FROM journal WHERE seq = 10",
        "UPDATE journal SET seq = seq + 1000 WHERE seq = 10",
        "UPDATE journal SET old = (SELECT new FROM journal WHERE seq = 3), new = NULL WHERE seq = 5",
        "UPDATE journal SET hash = 'text' WHERE seq = 7",
        "UPDATE journal SET hash = 1000000000000000 WHERE seq = 7",
        "UPDATE journal SET hash = 0.5 WHERE seq = 7",
    ):
        with pytest.raises(ZeroDivisionError), store.db.transaction(write=True):
            store.db.sql(statement)
            assert chain.broken_link(store.db) is not None, statement
            raise ZeroDivisionError
