"""The server's two functions, called as any client could: what they keep in order, and what they refuse."""

import os
import signal
import subprocess
import sys
import threading

import psycopg
import pytest
from psycopg import errors

from tests.contract.client import ROOT
from tests.fork_server import Forked
from tests.postgres.journal_writer import APPEND, NOTHING, append, entries, write
from tests.started import DEADLINE, until
from tui_tasks.postgres.team_server import prepare

ODD = "".join(map(chr, range(1, 128))) + "\x80é\u2028/😀\\u0000"
GONE_ON, NOT_NEXT = "TT001", "TT002"


@pytest.fixture
def owner(cluster, database):
    with cluster.connect(database) as connection:
        prepare(connection)
        yield connection


@pytest.fixture
def second(cluster, database, owner):
    with cluster.connect(database) as connection:
        yield connection


def head(connection):
    return connection.execute("SELECT seq, hash FROM tui_tasks.head").fetchone()


def test_entries_are_kept_in_their_order_and_the_head_is_the_last(owner):
    first = write(owner, count=3)
    write(owner, first, count=2)
    assert owner.execute("SELECT array_agg(seq ORDER BY seq) FROM tui_tasks.journal").fetchone() == ([1, 2, 3, 4, 5],)
    last = owner.execute("SELECT hash FROM tui_tasks.journal WHERE seq = 5").fetchone()[0]
    assert head(owner) == (5, last)


def test_the_server_hashes_any_text_as_the_program_does(owner):
    columns = {"actor": ODD, "uid": ODD, "task": ODD, "old": ODD, "new": ODD, "image": ODD, "why": ODD, "undoes": 7}
    rows = entries(NOTHING, {}, columns, dict.fromkeys(("task", "old", "new", "image", "why")))
    append(owner, NOTHING, rows)
    kept = owner.execute("SELECT * FROM tui_tasks.journal ORDER BY seq").fetchall()
    assert kept == rows


def test_a_writer_that_has_not_seen_the_newest_entry_is_refused(owner):
    first = write(owner)
    for seen in (NOTHING, (1, b"another"), (2, first[1])):
        with pytest.raises(psycopg.Error) as refused:
            append(owner, seen, entries(seen, {}))
        assert refused.value.sqlstate == GONE_ON
    assert head(owner) == first


@pytest.mark.parametrize(
    "wrong",
    [{"seq": 3}, {"seq": 1}, {"change": 9}],
    ids=["a gap", "a number twice", "a change that is yet to come"],
)
def test_an_entry_that_does_not_follow_is_refused(owner, wrong):
    first = write(owner)
    with pytest.raises(psycopg.Error) as refused:
        append(owner, first, entries(first, wrong))
    assert refused.value.sqlstate == NOT_NEXT
    assert head(owner) == first


def test_a_column_that_is_not_what_was_hashed_is_refused(owner):
    first = write(owner)
    (row,) = entries(first, {})
    for place, value in enumerate(row):
        for other in (None, b"\0" * 32 if place == 13 else value + 1 if isinstance(value, int) else "x"):
            if other == value:
                continue
            with pytest.raises(psycopg.Error):
                append(owner, first, [(*row[:place], other, *row[place + 1 :])])
            assert head(owner) == first, (place, other)


def test_arrays_of_different_lengths_are_refused(owner):
    rows = entries(NOTHING, {}, {})
    columns = [list(column) for column in zip(*rows, strict=True)]
    columns[6].pop()
    with pytest.raises(psycopg.Error):
        owner.execute(APPEND, (*NOTHING, *columns, 0, 0, [], [], []))
    assert head(owner) == NOTHING


def test_a_companion_is_kept_with_its_entries_and_numbered(owner):
    rows = entries(NOTHING, {})
    assert append(owner, NOTHING, rows, [("until", '["a"]', "{}"), ("until", '["b"]', "{}")]) == 2
    seen = head(owner)
    assert append(owner, seen, [], [("until", '["a"]', None)]) == 3
    found = owner.execute("SELECT key, value, number FROM tui_tasks.companion ORDER BY number").fetchall()
    assert found == [('["b"]', "{}", 2), ('["a"]', None, 3)]
    assert head(owner) == seen


def test_the_servers_time_never_decreases_and_no_client_sets_it_ahead(owner):
    owner.execute("UPDATE tui_tasks.head SET now = 9000000000000000")
    assert owner.execute("SELECT now FROM tui_tasks.lock_head()").fetchone() == (9_000_000_000_000_000,)
    owner.execute("UPDATE tui_tasks.head SET now = 5")
    append(owner, NOTHING, [], now=9_000_000_000_000_000)
    (kept,) = owner.execute("SELECT now FROM tui_tasks.head").fetchone()
    assert 5 < kept < 9_000_000_000_000_000


def test_time_that_has_passed_only_grows(owner):
    for given, kept in ((50, 50), (20, 50), (70, 70)):
        append(owner, NOTHING, [], passed=given)
        assert owner.execute("SELECT passed FROM tui_tasks.head").fetchone() == (kept,)


def test_a_listener_hears_of_entries_after_they_can_be_read(owner, second):
    second.execute("LISTEN tui_tasks")
    append(owner, NOTHING, [])
    write(owner, count=3)
    assert [each.payload for each in second.notifies(timeout=DEADLINE, stop_after=1)] == ["3"]
    assert head(second)[0] == 3


def test_two_writers_queue_for_the_head_and_the_second_sees_what_the_first_wrote(owner, second):
    owner.execute("BEGIN")
    owner.execute("SELECT tui_tasks.lock_head()")
    found = []
    waiting = threading.Thread(target=lambda: found.append(second.execute("SELECT seq FROM tui_tasks.lock_head()")))
    waiting.start()
    until(lambda: _waits(owner))
    write(owner, count=4)
    owner.execute("COMMIT")
    waiting.join()
    assert found[0].fetchone() == (4,)


def test_a_writer_who_waits_is_not_overtaken_by_one_who_comes_later(owner, second):
    owner.execute("BEGIN")
    owner.execute("SELECT tui_tasks.lock_head()")
    found = []
    waiting = threading.Thread(target=lambda: found.append(second.execute("SELECT seq FROM tui_tasks.lock_head()")))
    waiting.start()
    until(lambda: _waits(owner))
    # The server's process of the one who waits is slow to wake up.
    os.kill(second.info.backend_pid, signal.SIGSTOP)
    try:
        write(owner, count=4)
        owner.execute("COMMIT")
        owner.execute("SET lock_timeout = '200ms'")
        with pytest.raises(errors.LockNotAvailable):
            owner.execute("SELECT tui_tasks.lock_head()")
    finally:
        os.kill(second.info.backend_pid, signal.SIGCONT)
    waiting.join()
    assert found[0].fetchone() == (4,)


def test_a_wait_for_the_head_ends_after_two_seconds(owner, second):
    owner.execute("BEGIN")
    owner.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    owner.execute("SELECT 1 FROM tui_tasks.head FOR UPDATE")
    with pytest.raises(errors.LockNotAvailable):
        second.execute("SELECT tui_tasks.lock_head()")
    owner.execute("ROLLBACK")


def test_a_shorter_wait_that_a_client_has_set_stays(owner):
    owner.execute("SET lock_timeout = 700")
    owner.execute("SELECT tui_tasks.lock_head()")
    assert owner.execute("SHOW lock_timeout").fetchone() == ("700ms",)
    assert owner.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("2s",)


_STOPPED = """
import os, signal, sys, psycopg
connection = psycopg.connect(sys.argv[1])
connection.execute("SELECT tui_tasks.lock_head()")
os.write(1, b"held")
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_client_that_is_stopped_with_the_head_locked_loses_it(owner, server_url):
    with Forked([sys.executable, "-c", _STOPPED, server_url], cwd=ROOT, stdout=subprocess.PIPE) as stopped:
        assert stopped.stdout.read(4) == b"held"
        until(lambda: _can_lock_head(owner), "the end of a hold of 2 s")  # the limit of the wait is 2 s too
        write(owner)
        stopped.send_signal(signal.SIGKILL)
        stopped.wait()


def _can_lock_head(connection) -> bool:
    try:
        connection.execute("SELECT tui_tasks.lock_head()")
    except errors.LockNotAvailable:
        return False
    return True


def test_a_client_that_is_killed_before_its_commit_leaves_nothing(owner, server_url):
    script = _STOPPED.replace('os.write(1, b"held")', 'connection.execute("CREATE TABLE x ()"); os.write(1, b"held")')
    with Forked([sys.executable, "-c", script, server_url], cwd=ROOT, stdout=subprocess.PIPE) as killed:
        assert killed.stdout.read(4) == b"held"
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
    assert owner.execute("SELECT seq FROM tui_tasks.lock_head()").fetchone() == (0,)
    assert owner.execute("SELECT to_regclass('x')").fetchone() == (None,)


def test_after_a_backend_that_was_lost_at_the_commit_the_head_tells_whether_it_was_done(owner, second):
    for ending in ("COMMIT", "ROLLBACK"):
        before = head(owner)
        rows = entries(before, {})
        (pid,) = second.execute("SELECT pg_backend_pid()").fetchone()
        owner.execute("BEGIN")
        owner.execute("SELECT tui_tasks.lock_head()")
        append(owner, before, rows)
        looked = []
        asking = threading.Thread(
            target=lambda looked=looked, rows=rows: looked.append(
                second.execute(
                    "WITH held AS MATERIALIZED (SELECT seq FROM tui_tasks.lock_head()) SELECT seq FROM held"
                ).fetchone()
            )
        )
        asking.start()
        until(lambda pid=pid: _waits(owner, pid))
        # Until the old backend is done, a look without the lock tells nothing.
        owner.execute(ending)
        asking.join()
        found = second.execute("SELECT hash FROM tui_tasks.journal WHERE seq = %s", (rows[0][0],)).fetchone()
        assert (found == (rows[0][-1],)) == (ending == "COMMIT")
        assert looked == [(before[0] + (ending == "COMMIT"),)]


def test_a_server_that_is_ended_at_once_keeps_what_was_committed_and_nothing_else(own_cluster):
    with own_cluster.database() as name:
        with own_cluster.connect(name) as connection:
            prepare(connection)
            committed = write(connection, count=2)
            connection.execute("BEGIN")
            connection.execute("SELECT tui_tasks.lock_head()")
            append(connection, committed, entries(committed, {}))
            own_cluster.restart("immediate")
            connection.close()
        with own_cluster.connect(name) as connection:
            assert connection.execute("SELECT seq, hash FROM tui_tasks.lock_head()").fetchone() == committed
            assert connection.execute("SELECT count(*) FROM tui_tasks.journal").fetchone() == (2,)


def test_a_client_that_asked_for_less_commits_durably_all_the_same(owner):
    owner.execute("SET synchronous_commit = off")
    owner.execute("BEGIN")
    write(owner)
    assert owner.execute("SHOW synchronous_commit").fetchone() == ("on",)
    owner.execute("COMMIT")


def _waits(connection, pid=None) -> bool:
    found = connection.execute(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid() AND pid = coalesce(%s, pid)",
        (pid,),
    ).fetchone()
    return found != (0,)
