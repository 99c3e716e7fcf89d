"""What the core relies on in `sqlite3`, held against both drivers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tui_tasks.core.engine import apsw_driver


def drivers() -> Iterator[Any]:
    yield pytest.param(apsw_driver, id="apsw")
    try:
        from pysqlite3 import dbapi2
    except ImportError:
        return
    yield pytest.param(dbapi2, id="pysqlite3")


@pytest.fixture(params=drivers())
def driver(request):
    return request.param


@pytest.fixture
def connect(driver, tmp_path):
    """Connections to one file, in write-ahead mode."""
    opened = []

    def connect(**options):
        connection = driver.connect(str(tmp_path / "x.db"), isolation_level=None, **options)
        opened.append(connection)
        return connection

    connect().execute("PRAGMA journal_mode = wal")
    yield connect
    for connection in opened:
        connection.close()


def test_rows_come_one_by_one_all_at_once_and_in_a_loop(connect):
    db = connect()
    three = "VALUES (1), (2), (3)"
    cursor = db.cursor().execute(three)
    assert [cursor.fetchone() for _ in range(5)] == [(1,), (2,), (3,), None, None]
    cursor.execute(three)
    assert cursor.fetchone() == (1,)
    assert cursor.fetchall() == [(2,), (3,)]
    assert cursor.fetchall() == []
    cursor.execute(three)
    assert cursor.fetchone() == (1,)
    assert list(cursor) == [(2,), (3,)]
    assert cursor.execute(three).fetchone() == (1,)
    for statement in ("SELECT 1 AS first, 2 AS second", "SELECT 1 AS first, 2 AS second WHERE ?"):
        for read in (lambda: None, cursor.fetchone, cursor.fetchall):
            cursor.execute(statement, (0,) * statement.count("?"))
            read()
            assert [column[0] for column in cursor.description] == ["first", "second"]
    rows = iter(cursor.execute(three))
    assert next(rows) == (1,)
    cursor.close()
    cursor = connect().cursor()
    assert cursor.execute("SELECT ?, ?", [None, b"x"]).fetchone() == (None, b"x")
    assert cursor.execute("SELECT :one", {"one": 1}).fetchone() == (1,)


def test_a_statement_that_has_given_its_last_row_holds_the_log_no_more(connect):
    reader, writer = connect(), connect()
    writer.execute("CREATE TABLE t (x)")
    cursor = reader.cursor()
    assert cursor.execute("PRAGMA data_version").fetchone()
    assert cursor.execute("SELECT count(*) FROM t").fetchone() == (0,)
    writer.execute("INSERT INTO t VALUES (1)")
    assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def test_changes_are_counted_for_a_statement_and_for_the_connection(connect):
    db = connect()
    db.execute("CREATE TABLE t (x)")
    before = db.total_changes
    assert db.execute("INSERT INTO t VALUES (1), (2), (3)").rowcount == 3
    assert db.execute("DELETE FROM t WHERE x > ?", (1,)).rowcount == 2
    assert db.total_changes - before == 5


def test_a_transaction_begins_where_it_is_begun(connect):
    db = connect()
    db.execute("CREATE TABLE t (x)")
    assert not db.in_transaction
    db.execute("BEGIN IMMEDIATE")
    assert db.in_transaction
    db.execute("INSERT INTO t VALUES (1)")
    db.execute("ROLLBACK")
    assert not db.in_transaction
    db.execute("INSERT INTO t VALUES (1)")
    assert connect().execute("SELECT count(*) FROM t").fetchone() == (1,)


@pytest.mark.parametrize(
    ("statement", "error", "code", "said"),
    [
        ("SELECT * FROM nowhere", "OperationalError", 1, "no such table: nowhere"),
        ("INSERT INTO t VALUES (1)", "IntegrityError", 2067, "UNIQUE constraint failed: t.x"),
        ("INSERT INTO t VALUES (NULL)", "IntegrityError", 1299, "NOT NULL constraint failed: t.x"),
        ("SELECT raising()", "OperationalError", 1, "user-defined function raised exception"),
        ("INSERT INTO t VALUES (2), (zeroblob(9000000))", "OperationalError", 13, "database or disk is full"),
        ("SELECT CAST(x'ff' AS TEXT)", "OperationalError", None, "Could not decode to UTF-8"),
    ],
)
def test_errors_are_of_the_same_class_and_words(driver, connect, statement, error, code, said):
    db = connect()
    db.execute("CREATE TABLE t (x UNIQUE NOT NULL)")
    db.execute("INSERT INTO t VALUES (1)")
    db.execute("PRAGMA max_page_count = 20")
    db.create_function("raising", 0, lambda: {}["nothing"], deterministic=True)
    with pytest.raises(driver.Error) as raised:
        db.execute(statement).fetchall()
    assert type(raised.value).__name__ == error
    assert said in str(raised.value)
    if code is not None and hasattr(raised.value, "sqlite_errorcode"):
        # pysqlite3 leaves out what extends it.
        assert raised.value.sqlite_errorcode in (code, code & 0xFF)
    assert issubclass(driver.OperationalError, driver.DatabaseError)
    assert issubclass(driver.IntegrityError, driver.DatabaseError)


def test_what_is_locked_what_is_read_only_and_what_is_damaged_is_told(driver, connect, tmp_path):
    db, other = connect(timeout=0), connect()
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(driver.OperationalError, match="database is locked"):
        db.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")
    reader = driver.connect(f"file:{tmp_path}/x.db?mode=ro", isolation_level=None, uri=True)
    with pytest.raises(driver.OperationalError, match="attempt to write a readonly database"):
        reader.execute("CREATE TABLE u (x)")
    reader.close()
    with pytest.raises(driver.OperationalError, match="unable to open database file"):
        driver.connect(str(tmp_path / "no" / "x.db"), isolation_level=None)
    (tmp_path / "text").write_text("no database\n" * 500)
    text = driver.connect(str(tmp_path / "text"), isolation_level=None)
    with pytest.raises(driver.DatabaseError, match="file is not a database"):
        text.execute("SELECT * FROM sqlite_master")
    text.close()


def test_values_that_sqlite_cannot_hold_are_refused_alike(connect):
    for value, error in ((2**70, OverflowError), ("\ud800", UnicodeEncodeError)):
        with pytest.raises(error):
            connect().execute("SELECT ?", (value,))


def test_a_busy_handler_is_asked_until_it_gives_up(driver, connect):
    db, other = connect(), connect()
    other.execute("BEGIN IMMEDIATE")
    tries: list[int] = []
    db.set_busy_handler(lambda count: (tries.append(count), count < 3)[1])
    with pytest.raises(driver.OperationalError, match="locked"):
        db.execute("BEGIN IMMEDIATE")
    assert tries == [0, 1, 2, 3]


def test_a_statement_is_interrupted_by_what_is_called_as_it_goes(driver, connect):
    db = connect()
    db.set_progress_handler(lambda: True, 100)
    with pytest.raises(driver.OperationalError, match="interrupted"):
        db.execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n").fetchall()
    db.set_progress_handler(None, 100)
    assert db.execute("SELECT 1").fetchone() == (1,)


def test_a_copy_is_made_in_steps_that_are_told(driver, connect, tmp_path):
    db = connect()
    db.execute("CREATE TABLE t (x)")
    db.execute("INSERT INTO t VALUES (zeroblob(100000))")
    copy = driver.connect(str(tmp_path / "copy.db"), isolation_level=None)
    told: list[tuple[int, int]] = []
    db.backup(copy, pages=5, progress=lambda _, left, total: told.append((left, total)))
    assert len(told) > 3
    assert told[-1][0] == 0
    assert copy.execute("SELECT length(x) FROM t").fetchone() == (100000,)
    copy.close()


@pytest.mark.linux
def test_what_is_sorted_is_kept_off_the_disk(connect):
    """Temporary files would stand in a folder of the system's, for others to see."""
    rows = connect().execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
        "SELECT i FROM n ORDER BY hex(zeroblob(200)) || -i"
    )
    assert rows.fetchone()
    open_files = [str(handle.readlink()) for handle in Path("/proc/self/fd").iterdir() if handle.exists()]
    assert not [file for file in open_files if "etilqs" in file]
