"""Snapshots on the server, and what may be dropped once there is one."""

import pytest
from psycopg import Error, errors

from tests.postgres.journal_writer import append, write
from tui_tasks.postgres.team_server import prepare

PUT = "SELECT tui_tasks.put_snapshot(%s, %s, %s, 0, %s, %s, %s)"


@pytest.fixture
def owner(cluster, database):
    with cluster.connect(database) as connection:
        prepare(connection)
        yield connection


def put(connection, head, count=2, number=0, *, upto=None):
    with connection.transaction():
        for chunk in range(count if upto is None else upto):
            connection.execute(PUT, (*head, number, chunk, count, b"data"))


def complete(connection):
    return [seq for (seq,) in connection.execute("SELECT seq FROM tui_tasks.snapshots()").fetchall()]


def test_a_snapshot_counts_when_it_has_all_its_chunks(owner):
    first = write(owner)
    second = write(owner, first)
    put(owner, first)
    put(owner, second, upto=1)
    assert complete(owner) == [1]
    owner.execute(PUT, (*second, 0, 1, 2, b"data"))
    assert complete(owner) == [2, 1]


def test_a_snapshot_of_what_is_no_entry_is_refused(owner):
    seq, hashed = write(owner)
    for wrong in ((seq, b"another"), (seq + 1, hashed)):
        with pytest.raises(Error) as refused:
            put(owner, wrong)
        assert refused.value.sqlstate == "TT002"
    with pytest.raises(Error):
        owner.execute(PUT, (seq, hashed, 0, 2, 2, b"data"))


def test_a_second_snapshot_of_the_same_entry_does_not_mix_with_the_first(owner):
    head = write(owner)
    put(owner, head)
    with pytest.raises(errors.UniqueViolation):
        put(owner, head, 3)
    assert owner.execute("SELECT count(*) FROM tui_tasks.snapshot").fetchone() == (2,)


def test_entries_are_dropped_up_to_what_a_whole_snapshot_covers_alone(owner):
    first = write(owner, count=3)
    last = write(owner, first, count=3)
    with pytest.raises(Error, match="no snapshot covers entry 2"):
        owner.execute("SELECT tui_tasks.cut(2)")
    put(owner, first)
    put(owner, last, upto=1)
    with pytest.raises(Error, match="no snapshot covers entry 4"):
        owner.execute("SELECT tui_tasks.cut(4)")
    assert owner.execute("SELECT tui_tasks.cut(2)").fetchone() == (2,)
    assert owner.execute("SELECT array_agg(seq ORDER BY seq) FROM tui_tasks.journal").fetchone() == ([3, 4, 5, 6],)
    write(owner, last)


def test_a_cut_drops_older_snapshots_and_what_their_replicas_alone_needed(owner):
    first = write(owner)
    append(owner, first, [], [("until", '["old"]', None), ("until", '["kept"]', "{}")])
    put(owner, first)
    second = write(owner, first)
    put(owner, second, number=2)
    append(owner, second, [], [("until", '["later"]', None)])
    owner.execute("SELECT tui_tasks.cut(1)")
    assert complete(owner) == [2]
    kept = owner.execute("SELECT key FROM tui_tasks.companion ORDER BY number").fetchall()
    assert kept == [('["kept"]',), ('["later"]',)]


def test_a_journal_that_was_cut_to_its_end_goes_on(owner):
    head = write(owner, count=2)
    put(owner, head)
    owner.execute("SELECT tui_tasks.cut(2)")
    put_again = (*head, 0, 0, 1, b"data")
    owner.execute("DELETE FROM tui_tasks.snapshot")
    owner.execute(PUT, put_again)
    assert write(owner, head)[0] == 3
