"""The journal is chained by hash: whatever is changed in it is found."""

import base64
import random

import pytest

from tests.conftest import START
from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.compaction_steps import compact
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList, LogTask
from tui_tasks.core.read.pages import log_pages
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
    assert database_findings.broken_link(db) is None
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
                assert database_findings.broken_link(db) is not None, (columns[at], value, changed)
            raise ZeroDivisionError
    assert database_findings.broken_link(db) is None


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
            assert database_findings.broken_link(store.db) is not None, statement
            raise ZeroDivisionError


@pytest.mark.parametrize("column", ["actor", "kind", "entity", "uid", "task", "old", "new", "image", "why"])
def test_a_blob_whose_json_is_that_of_the_text_is_found_and_can_be_shown(column):
    store = filled()
    text = "abcdefgh"
    # With this text in the column every hash is right: only its type is changed then.
    rows = store.db.sql(
        f"SELECT {', '.join(c.column_name for c in journal.COLUMNS)} FROM journal ORDER BY seq"
    ).fetchall()
    at, previous = [c.column_name for c in journal.COLUMNS].index(column), b""
    for row in rows:
        row = (*row[:at], text, *row[at + 1 :]) if row[0] == 5 else row
        previous = journal.hash_after(previous, row[:-1])
        store.db.sql(f"UPDATE journal SET {column} = ?, hash = ? WHERE seq = ?", (row[at], previous, row[0]))
    assert database_findings.broken_link(store.db) is None
    store.db.sql(f"UPDATE journal SET {column} = ? WHERE seq = 5", (base64.b64decode(text),))
    assert database_findings.broken_link(store.db) == 5
    assert any("altered at or before entry 5" in said for said in database_findings.findings(store.db))
    if column in ("actor", "kind", "entity", "uid", "task"):
        shown = [*log_pages.page(store.db, log_pages.FIRST, 50), *journal.latest(store.db, 50)]
        assert {type(getattr(line, column)) for line in shown} <= {str, type(None)}


def test_each_hash_covers_the_one_before_it():
    store = filled()
    hashes = [hashed for (hashed,) in store.db.sql("SELECT hash FROM journal ORDER BY seq")]
    # Another hash before an entry, which itself is as it was, and all after it made to follow from their own.
    store.db.sql("UPDATE journal SET hash = ? WHERE seq = 4", (bytes(32),))
    assert database_findings.broken_link(store.db) == 4
    columns = ", ".join(c.column_name for c in journal.COLUMNS)
    row = store.db.sql(f"SELECT {columns} FROM journal WHERE seq = 5").fetchone()
    assert journal.hash_after(hashes[3], row[:-1]) == hashes[4]
    assert journal.hash_after(bytes(32), row[:-1]) != hashes[4]


def test_a_chain_that_is_made_anew_from_an_altered_entry_on_does_not_lead_to_the_hash_there_was():
    store = filled()
    columns = [column.column_name for column in journal.COLUMNS]
    rows = store.db.sql(f"SELECT {', '.join(columns)} FROM journal ORDER BY seq").fetchall()
    previous, at = b"", columns.index("actor")
    for row in rows:
        row = (*row[:at], "other", *row[at + 1 :]) if row[0] == 1 else row
        previous = journal.hash_after(previous, row[:-1])
    assert previous != rows[-1][-1], "what an entry says is in the hash of all that come after it"


def test_entries_that_no_compaction_has_dropped_are_missed_whatever_is_said_of_where_the_journal_begins():
    store = filled()
    compact(store, START + 10, START + 100)
    assert database_findings.broken_link(store.db) is None
    base = compaction.base(store.db)
    (hashed,) = store.db.sql("SELECT hash FROM journal WHERE seq = ?", (base.last + 3,)).fetchone()
    store.db.sql("DELETE FROM journal WHERE seq <= ?", (base.last + 3,))
    store.db.sql("UPDATE base SET last = last + 3, hash = ?", (hashed,))
    assert database_findings.broken_link(store.db) == base.seq
