"""The private cluster of the tests: made, shared, and gone after those who used it."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.postgres import cluster as clusters
from tests.postgres.cluster import ROOT, Cluster, Unavailable
from tests.started import Started, until

_HOLDER = """
import pathlib, sys
from tests.postgres import cluster
print(cluster.shared(pathlib.Path(sys.argv[1])).folder, flush=True)
sys.stdin.read()
"""


def test_each_test_has_a_database_of_its_own_in_a_cluster_that_listens_on_no_network(cluster, database):
    with cluster.connect(database) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert connection.execute("SELECT current_database()").fetchone() == (database,)
        assert connection.info.server_version >= 140_000


def test_one_process_that_holds_a_cluster_twice_gets_different_databases(cluster):
    with Cluster(cluster.folder).database() as one, Cluster(cluster.folder).database() as other:
        assert one != other


def test_only_who_runs_the_tests_reaches_the_cluster(cluster):
    assert cluster.folder.stat().st_mode & 0o777 == 0o700
    assert cluster.folder.parent in (Path("/tmp"), Path("/dev/shm"))


def test_a_cluster_ends_and_leaves_nothing_when_its_last_user_is_killed(tmp_path):
    if not _can_have_one():
        pytest.skip("without PostgreSQL")
    holders = [
        Started([sys.executable, "-c", _HOLDER, str(tmp_path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    folder, same = (Path(holder.stdout.readline().decode().strip()) for holder in holders)
    assert folder == same
    holders[0].send_signal(signal.SIGKILL)
    holders[0].wait()
    server = int((folder / "data" / "postmaster.pid").read_text().split()[0])
    with Cluster(folder).connect() as connection:
        connection.execute("SELECT 1")
    holders[1].send_signal(signal.SIGKILL)
    holders[1].wait()
    until(lambda: not folder.exists() and not _lives(server))


def test_a_cluster_of_ones_own_can_be_restarted_without_losing_what_was_committed(own_cluster):
    with own_cluster.database() as name:
        with own_cluster.connect(name) as connection:
            connection.execute("CREATE TABLE one (n integer)")
            connection.execute("INSERT INTO one VALUES (1)")
            own_cluster.restart("immediate")
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        with own_cluster.connect(name) as connection:
            assert connection.execute("SELECT n FROM one").fetchone() == (1,)


def test_what_one_test_leaves_in_its_database_no_other_finds(cluster):
    with cluster.database() as first:
        left_open = cluster.connect(first)
        left_open.execute("CREATE SCHEMA tui_tasks; CREATE TABLE one ()")
        left_open.execute(f"ALTER DATABASE {first} SET timezone = 'Asia/Tokyo'; SELECT lo_create(0)")
    with pytest.raises(psycopg.OperationalError, match="terminating connection"):
        left_open.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        cluster.connect(first)
    with cluster.database() as second, cluster.connect(second) as connection:
        assert second != first
        left = "SELECT to_regnamespace('tui_tasks'), to_regclass('one'), current_setting('timezone')"
        assert connection.execute(left).fetchone() == (None, None, "UTC")
        assert connection.execute("SELECT count(*) FROM pg_largeobject_metadata").fetchone() == (0,)


def test_databases_are_made_and_dropped_also_after_a_restart(own_cluster):
    with own_cluster.database() as first:
        own_cluster.restart("immediate")
    with own_cluster.database() as second, own_cluster.connect(second) as connection:
        named = "SELECT datname FROM pg_database WHERE datname LIKE 'test%'"
        assert connection.execute(named).fetchall() == [(second,)]
        assert second != first


def test_where_there_is_no_server_the_reason_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(clusters.shutil, "which", lambda name: None)
    monkeypatch.setattr(clusters.Path, "glob", lambda self, pattern: iter(()))
    for _ in range(2):
        with pytest.raises(Unavailable, match="no PostgreSQL server is installed"):
            clusters.shared(tmp_path)


def _can_have_one() -> bool:
    try:
        clusters.programs()
    except Unavailable:
        return False
    return True


def _lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
