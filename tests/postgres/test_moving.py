"""A journal moved from a file to a server and back: whole, checked, and continued after a cut."""

from contextlib import closing

import pytest

from tests.checks import Checks
from tests.conftest import START
from tests.postgres.journal_writer import write
from tui_tasks.core.commit import database_clock, journal
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import Conflict, DatabaseRefused, StorageFailed
from tui_tasks.core.maintenance import compaction_steps, database_findings
from tui_tasks.core.operations.jobs import NamedCheck, RecordSettings, RequestChecks
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.operations.work import SetAuto, StartWork
from tui_tasks.core.read import check_queries, work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.recorded_settings import recorded
from tui_tasks.core.store import Store
from tui_tasks.postgres import companions, moving, no_report
from tui_tasks.postgres.moving import to_file, to_server
from tui_tasks.postgres.replica_files import replica_of


@pytest.fixture
def server(cluster, database):
    with cluster.connect(database) as connection:
        yield connection


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "from.db"
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("work", "task"), actor="bob", now=START)
        for number in range(30):
            store.commit(AddTask(f"Task {number} \0 é\u2028", home.uid), actor="claude-1", now=START + number)
    return path


def entries(path):
    with Store(str(path), read_only=True) as store:
        return store.db.sql(f"SELECT {journal.COLUMN_NAMES} FROM journal ORDER BY seq").fetchall()


def test_a_file_goes_to_a_server_and_back_with_its_whole_journal(file, server, tmp_path):
    shown = []
    newest = to_server(file, server, lambda *progress: shown.append(progress))
    assert [each for each in shown if each[0] == moving.MOVING][-1] == (moving.MOVING, newest, newest)
    kept = server.execute(f"SELECT {journal.COLUMN_NAMES} FROM tui_tasks.journal ORDER BY seq").fetchall()
    assert kept == entries(file)
    assert to_file(server, tmp_path / "to.db", no_report) == newest
    assert entries(tmp_path / "to.db") == kept
    with Store(str(tmp_path / "to.db")) as store:
        assert database_findings.broken_link(store.db) is None
        assert list(database_findings.differences(store.db)) == []
        store.commit(EnsureList("more", "task"), actor="bob", now=START)


def test_what_came_after_the_snapshot_is_applied_to_the_file(file, server, tmp_path):
    to_server(file, server, no_report)
    with Store(str(file)) as store:
        (home,) = store.commit(EnsureList("work", "task"), actor="bob", now=START)
        store.commit(AddTask("Later", home.uid), actor="bob", now=START)
    to_server(file, server, no_report)
    server.execute("DELETE FROM tui_tasks.snapshot WHERE seq = (SELECT max(seq) FROM tui_tasks.snapshot)")
    assert server.execute("SELECT count(*) FROM tui_tasks.snapshots()").fetchone() == (1,)
    to_file(server, tmp_path / "to.db", no_report)
    assert entries(tmp_path / "to.db") == entries(file)


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_what_came_with_later_entries_is_in_the_file(server, server_url, opened_on, tmp_path, monkeypatch, is_cut_off):
    state = opened_on("here")
    state.call("tasklist:add_task", {"name": "Build"}, idempotency_key="first")
    db = state._session.store.db
    db.cut(state.seq)
    task = state.call("tasklist:add_task", {"name": "Ship"}, idempotency_key="second")
    state.call("control:claim", {"uid": task["uid"]})
    monkeypatch.setattr(moving, "PAGE", 1)
    if is_cut_off:
        with pytest.raises(ZeroDivisionError):
            to_file(server, tmp_path / "to.db", lambda what, done, total: 1 / 0)
    to_file(server, tmp_path / "to.db", no_report)
    rows = "SELECT agent, key, fingerprint, reply FROM kept_reply ORDER BY key"
    until = "SELECT key, value FROM view WHERE key LIKE 'until:%'"
    with Store(str(tmp_path / "to.db")) as moved:
        assert [row[1] for row in moved.db.sql(rows).fetchall()] == ["first", "second"]
        for each in (rows, until):
            assert moved.db.sql(each).fetchall() == db.sql(each).fetchall() != []
        there = server.execute("SELECT passed FROM tui_tasks.head").fetchone()
        assert (database_clock.mark(moved.db).database_now,) == there
        assert companions.number(moved.db) == 0


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_a_move_that_was_cut_off_is_continued(file, server, tmp_path, monkeypatch, has_snapshot):
    monkeypatch.setattr(moving, "PAGE", 7)

    class Cut(Exception):
        pass

    def cut(what, done, total):
        if done >= 14:
            raise Cut

    with pytest.raises(Cut):
        to_server(file, server, cut)
    assert server.execute("SELECT seq FROM tui_tasks.head").fetchone() == (14,)
    done = []
    newest = to_server(file, server, lambda what, at, total: done.append(at))
    assert done[0] == 21
    if not has_snapshot:
        server.execute("DELETE FROM tui_tasks.snapshot")
        with pytest.raises(Cut):
            to_file(server, tmp_path / "to.db", cut)
        done.clear()
    assert to_file(server, tmp_path / "to.db", lambda what, at, total: done.append(at)) == newest
    assert has_snapshot or done[0] == 21
    assert entries(tmp_path / "to.db") == entries(file)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_a_compacted_journal_begins_on_the_server_where_it_begins_in_the_file(file, server, tmp_path):
    with Store(str(file)) as store:
        assert compaction_steps.compact(store, START + 20, START + 100) > 0
        first = journal.oldest(store.db)
    newest = to_server(file, server, no_report)
    assert server.execute("SELECT min(seq), max(seq) FROM tui_tasks.journal").fetchone() == (first, newest)
    to_file(server, tmp_path / "to.db", no_report)
    assert entries(tmp_path / "to.db") == entries(file)


def test_a_server_with_another_journal_is_left_as_it_is(file, server):
    moving.prepare(server)
    head = write(server)
    with pytest.raises(Conflict, match="the server has another journal"):
        to_server(file, server, no_report)
    assert server.execute("SELECT seq, hash FROM tui_tasks.head").fetchone() == head


def test_a_file_whose_chain_or_tables_are_not_its_journals_is_not_moved(file, server):
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute("UPDATE task SET name = 'changed' WHERE id = 3")
    with pytest.raises(DatabaseRefused, match="differs from the journal"):
        to_server(file, server, no_report)
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute("UPDATE journal SET why = 'changed' WHERE seq = 3")
    with pytest.raises(DatabaseRefused, match="entry 3 does not follow"):
        to_server(file, server, no_report)
    assert server.execute("SELECT to_regclass('tui_tasks.head')").fetchone() == (None,)


def test_a_server_whose_chain_was_rewritten_is_not_moved_to_a_file(file, server, tmp_path):
    to_server(file, server, no_report)
    server.execute("DELETE FROM tui_tasks.snapshot")
    server.execute("UPDATE tui_tasks.journal SET why = 'changed' WHERE seq = 3")
    with pytest.raises(DatabaseRefused, match="entry 3 of the server does not follow"):
        to_file(server, tmp_path / "to.db", no_report)
    assert not (tmp_path / "to.db").exists()


CHECK = NamedCheck("tests", "d1g", ("work",), True, "/home/you/api", ("src/*",))


@pytest.fixture
def proven(file):
    """A file with settings, a check that has passed, work and a list that works itself off."""
    with Store(str(file)) as store:
        home = task_queries.find_list(store.db, "work")
        tasks = store.db.sql("SELECT uid FROM task ORDER BY id").fetchall()
        store.commit(RecordSettings("/a:b/config.toml", ("filed",)), actor="system", now=START)
        checks = Checks(store, lambda: START, CHECK, source="/a:b/config.toml")
        checks.inputs = "1nputs"
        store.commit(RequestChecks(tasks[0][0]), actor="claude-1", now=START)
        checks.run()
        begun = StartWork(tasks[1][0], "claude", "/home/you/api", "/home/you/api-2", branch="b", base="main")
        store.commit(begun, SetAuto(home.uid, "/home/you/api"), actor="human", now=START)
    return file


def held(db):
    """What of checks and work is a machine's."""
    (definition,) = check_queries.definitions(db)
    (run,) = check_queries.runs_in(db, "passed")
    (work,) = work_queries.everything(db)
    (auto,) = work_queries.all_autos(db)
    settings = recorded(db)
    return definition, check_queries.state_of(definition, run), settings.source, run.machine, work.machine, auto.machine


def test_checks_and_work_go_to_a_server_as_those_of_this_machine_and_back(
    proven, server, machine, tmp_path, server_url
):
    machine("a")
    before = entries(proven)
    to_server(proven, server, no_report)
    with Store(replica_of(server_url)) as replica:
        replica.db.catch_up()
        here = replica.db.machine
        definition, state, *of = held(replica.db)
        assert (state, of) == ("passed", [f"{here}:/a:b/config.toml", here, here, here])
        assert definition.machines == {here: (CHECK.digest, CHECK.cwd, "/a:b/config.toml")}
        assert (definition.cwd, definition.inputs, definition.gate) == ("", CHECK.inputs, True)
        assert list(database_findings.differences(replica.db)) == []
    with Store(str(proven)) as store:
        was = held(store.db)
    to_file(server, tmp_path / "to.db", no_report)
    with Store(str(tmp_path / "to.db")) as store:
        assert held(store.db) == was
        assert list(database_findings.differences(store.db)) == []
    assert entries(proven) == before == entries(tmp_path / "to.db")[: len(before)]


def test_what_another_machine_has_stays_its_own_in_a_file_and_proves_nothing_there(proven, server, machine, tmp_path):
    machine("a")
    to_server(proven, server, no_report)
    machine("b")
    to_file(server, tmp_path / "to.db", no_report)
    with Store(str(tmp_path / "to.db")) as store:
        _, state, _, *machines = held(store.db)
        assert state == "stale"
        assert len(set(machines)) == 1
        assert machines[0]
        assert work_queries.live_here(store.db) == []
        assert "is on" in work_queries.is_elsewhere(store.db, work_queries.everything(store.db)[0])


def test_a_move_of_checks_that_was_cut_off_is_continued(proven, server, machine):
    machine("a")
    at_once, moving.PAGE = moving.PAGE, 7

    def stop(what, done, total):
        if what == moving.MOVING and done > total - 4:
            raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt):
            to_server(proven, server, stop)
    finally:
        moving.PAGE = at_once
    newest = to_server(proven, server, no_report)
    assert newest > len(entries(proven))
    assert to_server(proven, server, no_report) == newest


def test_a_file_that_is_there_is_not_overwritten(file, server):
    with pytest.raises(Conflict, match="exists already"):
        to_file(server, file, no_report)


def test_a_server_that_is_lost_is_told_in_one_line_and_the_move_continues_later(file, server, cluster, database):
    def end(what, done, total):
        cluster.sql("postgres", f"SELECT pg_terminate_backend({server.info.backend_pid})")

    moving_page = moving.PAGE
    moving.PAGE = 7
    try:
        with pytest.raises(StorageFailed) as refused:
            to_server(file, server, end)
    finally:
        moving.PAGE = moving_page
    assert "\n" not in refused.value.message
    with cluster.connect(database) as again:
        assert to_server(file, again, no_report) == len(entries(file))
