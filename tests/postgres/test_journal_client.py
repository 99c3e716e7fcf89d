"""The client of the journal: what it reads with the lock, and what it writes."""

import pytest

from tests.postgres.journal_writer import NOTHING, append, entries, write
from tests.postgres.test_server import ODD
from tui_tasks.core.errors import WriteConflict
from tui_tasks.postgres.journal_client import LOCKED, JournalClient
from tui_tasks.postgres.team_server import server_id


@pytest.fixture
def client(cluster, database):
    url = cluster.conninfo(database)
    made = JournalClient(url, server_id(url))
    yield made
    made.close()


@pytest.fixture
def other(cluster, database, client):
    with cluster.connect(database) as connection:
        yield connection


def test_the_lock_comes_with_what_the_client_lacks(client, other):
    columns = dict.fromkeys(("actor", "uid", "task", "old", "new", "image", "why"), ODD)
    rows = entries(NOTHING, {}, columns, dict.fromkeys(("task", "old", "new", "image", "why")))
    append(other, NOTHING, rows, [("view", '["a"]', ODD), ("view", '["b"]', None)])
    found = client.lock(0, 0)
    assert found.entries == rows
    assert [tuple(row) for row in found.companions] == [("view", '["a"]', ODD, 1), ("view", '["b"]', None, 2)]
    assert found.is_complete
    client.release()
    found = client.lock(2, 1)
    assert (found.entries, len(found.companions), found.is_complete) == (rows[2:], 1, True)
    client.release()
    found = client.lock(3, 2)
    assert (found.entries, found.companions, found.is_complete) == ([], [], True)


@pytest.mark.parametrize(
    ("count", "given", "beside"),
    [(LOCKED + 1, {}, None), (1, {"new": "x" * 100_000}, None), (0, {}, "x" * 100_000)],
    ids=["many entries", "a long entry", "a long reply"],
)
def test_what_is_much_is_not_sent_while_the_journal_is_locked(client, other, count, given, beside):
    head = write(other)
    append(other, head, entries(head, *[given] * count), [("view", "[]", beside)] if beside else [])
    found = client.lock(1, 0)
    assert (found.entries, found.companions, found.is_complete) == ([], [], False)
    client.release()
    assert len(client.news(1, 0).entries) == count


def test_what_the_server_has_dropped_is_noticed_with_the_lock_too(client, other):
    first = write(other)
    write(other, first)
    other.execute("DELETE FROM tui_tasks.journal")
    assert client.lock(0, 0).is_cut
    client.release()
    assert not client.lock(2, 0).is_cut


@pytest.mark.parametrize("encoding", ["utf8", "latin1"])
@pytest.mark.parametrize("is_next", [False, True], ids=["append", "append_next"])
def test_any_text_is_appended_as_it_is(client, other, monkeypatch, encoding, is_next):
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    head = client.lock(0, 0).head
    texts = dict.fromkeys(("actor", "uid", "task", "old", "new", "image", "why"), f'{ODD}"\\{{NULL}},')
    rows = entries(NOTHING, texts, {"task": None, "why": "", "old": "NULL"})
    end, beside = (head.seq, bytes(head.hash)), [("view", "[]", ODD), ("view", "[1]", None)]
    if is_next:
        client.release()
        assert client.append_next(end, 0, rows, beside, head.now, 1) == 2
    else:
        assert client.append(end, rows, beside, 1, 1) == 2
    assert other.execute("SELECT * FROM tui_tasks.journal ORDER BY seq").fetchall() == rows
    kept = other.execute("SELECT key, value FROM tui_tasks.companion ORDER BY key").fetchall()
    assert dict(kept) == {"[]": ODD, "[1]": None}


def test_without_the_lock_only_what_comes_next_is_appended(client, other):
    head, now = write(other), client.time()
    rows = entries(head, {})
    client.lock(0, 0)
    client.release()
    for end, number, time in (
        (NOTHING, 0, now),
        ((1, b"another"), 0, now),
        (head, 1, now),
        (head, 0, now + 60_000_000),
        (head, 0, now - 60_000_000),
    ):
        with pytest.raises(WriteConflict):
            client.append_next(end, number, rows, [], time, 0)
    other.execute("UPDATE tui_tasks.about SET journal = journal + 1")
    with pytest.raises(WriteConflict):
        client.append_next(head, 0, rows, [], now, 0)
    other.execute("UPDATE tui_tasks.about SET journal = journal - 1")
    assert other.execute("SELECT seq FROM tui_tasks.head").fetchone() == (1,)
    assert client.append_next(head, 0, rows, [("view", "[]", "x")], client.time(), 0) == 1
    assert other.execute("SELECT seq, number FROM tui_tasks.head").fetchone() == (2, 1)


def test_without_the_lock_nobody_is_waited_for(client, other):
    head, now = write(other), client.time()
    other.execute("BEGIN")
    other.execute("SELECT tui_tasks.lock_head()")
    other.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    client.connected().execute("SET lock_timeout = 0")
    with pytest.raises(WriteConflict):
        client.append_next(head, 0, entries(head, {}), [], now, 0)
    other.execute("ROLLBACK")


def test_the_reckoned_time_is_never_ahead_of_the_servers(client):
    for _ in range(100):
        client.lock(0, 0)
        client.release()
        reckoned = client.optimistic_time()
        assert reckoned is None or reckoned <= client.time()
