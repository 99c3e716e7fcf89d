"""The file: private, refused and left alone when it is not fit, durable, and truly read only.

See docs: protocol, section 3.
"""

import os
import select
import stat
import subprocess
import sys
from itertools import islice
from pathlib import Path
from unittest import mock

import pytest

from tests import fork_server
from tests.core.engine.databases import NOW, add, begun, contents, foreign, made_database
from tests.entries import all_entries
from tests.fork_server import Forked
from tests.started import DEADLINE
from tui_tasks.core.commit import journal
from tui_tasks.core.engine import database, driver, open_checks
from tui_tasks.core.engine.commit_watch import Watch
from tui_tasks.core.engine.driver import connect, sqlite3
from tui_tasks.core.engine.file_writes import make_private
from tui_tasks.core.engine.open_checks import APPLICATION_ID
from tui_tasks.core.errors import Busy, DatabaseRefused, StorageFailed
from tui_tasks.core.maintenance.backup import backup
from tui_tasks.core.operations.tasks import EditTask, EnsureList
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.schema.tables import TaskRow
from tui_tasks.core.store import Store


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_database_behind_a_link_is_used_where_it_is(path, tmp_path):
    made_database(path)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with Store(str(link)) as store, Store(str(path)) as other:
        assert store.path == str(path)
        heard = Watch(store.db)
        heard.changed(0.0)
        add(other, "seen at once")
        assert select.select([heard.fd], [], [], 5)[0]
        heard.arm(0.0)
        assert heard.wait(0.0) < 0.01
        heard.close()
    os.truncate(path, path.stat().st_size - 1000)
    with pytest.raises(DatabaseRefused, match="damaged"):
        Store(str(link))


@pytest.mark.parametrize("name", ["a b.db", "50%.db", "what?mode=memory.db", "#1.db", "täsks \U0001f600.db"])
def test_any_name_of_a_file_will_do(tmp_path, name):
    made_database(tmp_path / name, 1)
    assert (tmp_path / name).exists()
    with Store(str(tmp_path / name), read_only=True) as store:
        assert task_queries.lists(store.db)[0].total == 1


UNDER_A_UMASK = """
import os, sys
os.umask(int(sys.argv[2], 8))
from tui_tasks.core.store import Store
store = Store(sys.argv[1])
print(*(f"{name}:{os.stat(os.path.join(os.path.dirname(sys.argv[1]), name)).st_mode & 0o7777:o}"
        for name in sorted(os.listdir(os.path.dirname(sys.argv[1])))))
"""


@pytest.mark.parametrize("umask", ["000", "022", "077", "277", "777"])
def test_file_and_folders_are_made_private_under_any_umask(tmp_path, umask):
    path = tmp_path / "one" / "two" / "tasks.db"
    run = fork_server.run(
        [sys.executable, "-c", UNDER_A_UMASK, str(path), umask], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert {name.split(":")[1] for name in run.stdout.split()} == {"600"}, run.stdout
    assert "tasks.db-wal" in run.stdout
    assert mode(path.parent) == mode(path.parent.parent) == 0o700


def test_a_file_that_is_named_from_where_one_stands_is_made_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("new.db", "one/two/new.db"):
        make_private(name)
        assert mode(tmp_path / name) == 0o600
    assert mode(tmp_path / "one") == mode(tmp_path / "one" / "two") == 0o700


def test_a_folder_that_is_there_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    made_database(tmp_path / "tasks.db")
    assert mode(tmp_path) == 0o755
    assert mode(tmp_path / "tasks.db") == 0o600


def test_it_is_signed_and_numbered(path):
    made_database(path)
    db = connect(path)
    assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert db.execute("PRAGMA user_version").fetchone()[0] >= 1
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def test_it_is_written_ahead_and_synced_in_full(store):
    assert store.db.scalar("PRAGMA journal_mode") == "wal"
    assert store.db.scalar("PRAGMA synchronous") == 2


def test_a_faulty_library_is_refused_before_the_file_is_touched(path, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 40, 1))
    with pytest.raises(DatabaseRefused):
        Store(str(path))
    assert not path.parent.exists()


def test_read_only_is_refused_by_sqlite_itself(path):
    made_database(path, 2)
    with Store(str(path), read_only=True) as store:
        for statement in (
            "DELETE FROM task",
            "UPDATE journal SET actor = 'x'",
            "CREATE TABLE t (x)",
            "PRAGMA user_version = 7",
            "BEGIN IMMEDIATE",
        ):
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                store.db.sql(statement)
        store.db.sql("PRAGMA query_only = 0")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            store.db.sql("DELETE FROM task")
        with pytest.raises(StorageFailed):
            store.commit(EnsureList("x", "task"), actor="agent", now=NOW)


def test_reading_alone_leaves_every_byte_as_it_was(path):
    made_database(path, 2)
    before = path.read_bytes()
    with Store(str(path), read_only=True) as store:
        assert task_queries.lists(store.db)[0].total == 2
    assert path.read_bytes() == before


def test_reading_alone_makes_no_database(tmp_path):
    with pytest.raises(DatabaseRefused):
        Store(str(tmp_path / "none" / "tasks.db"), read_only=True)
    assert not (tmp_path / "none").exists()


def test_a_reader_sees_what_a_writer_commits_while_both_are_open(path):
    with Store(str(path)) as writer, Store(str(path), read_only=True) as reader:
        uid = add(writer, "seen")
        assert task_queries.task(reader.db, uid).name == "seen"


MAKE_AT_ONCE = """
import sys
from tui_tasks.core.store import Store
from tui_tasks.core.operations.tasks import AddTask, EditTask
from tui_tasks.core.operations.tasks import EnsureList
print(flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    (home,) = store.commit(EnsureList("first", "task"), actor="agent", now=1)
    store.commit(AddTask("mine", home.uid), actor="agent", now=1)
"""


def test_a_reader_that_waits_does_not_hold_the_log_back(path):
    with Store(str(path)) as writer, Store(str(path), read_only=True) as reader:
        uid = add(writer, "one")
        for text in "abc":
            writer.commit(EditTask(uid, {"description": text * 2_000}), actor="agent", now=NOW)
        edited = [entry for entry in all_entries(reader.db) if entry.changes]
        assert [journal.event_task(reader.db, entry)["description"][0] for entry in edited[::-1]] == ["c", "b", "a"]
        add(writer, "two")
        busy, _, left = writer.db.sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert (busy, left) == (0, 0)


def test_many_processes_may_make_the_same_database_at_once(path):
    processes = [
        Forked(
            [sys.executable, "-c", MAKE_AT_ONCE, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(8)
    ]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write(b"\n")
        process.stdin.flush()
    told = [process.communicate(timeout=DEADLINE) for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, told
    with Store(str(path)) as store:
        assert [found.total for found in task_queries.lists(store.db) if found.name == "first"] == [8]


def test_one_that_is_made_while_it_is_looked_at_is_not_taken_for_another_programs(path):
    class Slow:
        """A connection that is overtaken after whatever it does."""

        def __init__(self):
            begun(path)
            self._connection = connect(path)

        def execute(self, text):
            done = self._connection.execute(text)
            rows = iter(done.fetchall())
            made_database(path)
            return mock.Mock(fetchone=lambda: next(rows))

    for _ in range(2):
        open_checks.refuse_other(open_checks.head_of(Slow()), str(path))


def test_beginning_to_write_ahead_waits_for_another_who_does_so_too(path, monkeypatch):
    begun(path)
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")
    waits = []

    def wait(_):
        waits.append(1)
        if len(waits) == 3:
            other.execute("ROLLBACK")

    monkeypatch.setattr(database.time, "sleep", wait)
    with Store(str(path)) as store:
        add(store, "one")
    assert len(waits) >= 3


def test_a_writer_who_is_held_off_past_the_limit_is_told_busy_and_can_try_again(path, monkeypatch):
    monkeypatch.setattr("tui_tasks.core.engine.database.BUSY_SECONDS", 0.05)
    with Store(str(path)) as holder, Store(str(path)) as waiter:
        waiter.db.sql("PRAGMA busy_timeout = 50")
        with holder.transaction(NOW), pytest.raises(Busy) as busy:
            add(waiter, "held off")
        assert busy.value.code == "busy"
        assert busy.value.data["retryable"] is True
        add(waiter, "now")


def test_a_database_that_goes_bad_while_open_is_a_storage_error_that_says_whether_to_try_again(path):
    with Store(str(path)) as store:
        add(store, "kept")
        store.db.sql("PRAGMA max_page_count = 1")
        with pytest.raises(StorageFailed) as full:
            for number in range(1000):
                add(store, f"{number} " + "x" * 5000)
        assert full.value.data["retryable"] is True
        total = task_queries.lists(store.db)[0].total
        store.db.sql("PRAGMA max_page_count = 100000")
        add(store, "room again")
        assert task_queries.lists(store.db)[0].total == total + 1


def test_a_file_that_is_moved_away_is_told_and_nothing_is_written_until_it_is_back(path):
    with Store(str(path)) as store:
        add(store, "before")
        away = path.parent.rename(path.parent.with_name("away"))
        with pytest.raises(StorageFailed, match="is gone: put it back") as gone:
            add(store, "lost")
        assert gone.value.data["retryable"] is True
        away.rename(path.parent)
        add(store, "after")
        assert task_queries.lists(store.db)[0].total == 2


def test_a_backup_that_is_put_in_its_place_is_opened(path, tmp_path):
    with Store(str(path)) as store:
        add(store, "in the backup")
        backup(store.db, tmp_path / "copy.db")
        add(store, "after the backup")
        for file in path.parent.iterdir():
            file.unlink()
        (tmp_path / "copy.db").rename(path)
        add(store, "after the restore")
        names = [task.name for task in task_queries.tasks(store.db, task_queries.lists(store.db)[0].id)]
    assert names == ["in the backup", "after the restore"]


def test_a_database_of_another_program_in_its_place_is_left_as_it_is(path):
    with Store(str(path)) as store:
        for file in path.parent.iterdir():
            file.unlink()
        foreign(path)
        before = contents(path.parent)
        with pytest.raises(StorageFailed, match="of another program"):
            add(store, "nowhere")
    assert contents(path.parent) == before


def test_a_log_that_one_large_change_has_made_long_is_cut(path, monkeypatch):
    monkeypatch.setattr(driver, "LOG_STAYS", 100_000)
    log = Path(f"{path}-wal")
    with Store(str(path)) as store:
        uid = add(store, "large")
        store.commit(EditTask(uid, {"description": "x" * 900_000}), actor="agent", now=NOW)
        assert log.stat().st_size > 900_000
        store.db.sql("PRAGMA wal_checkpoint(RESTART)").fetchall()
        add(store, "small")
        assert log.stat().st_size <= 100_000


def test_a_copy_is_of_one_moment_whoever_writes_meanwhile(path, tmp_path):
    with Store(str(path)) as store, Store(str(path)) as other:
        for number in range(20):
            add(store, f"{number} " + "x" * 3_000)
        writes = iter(range(40))
        store.db.copy_to(
            str(tmp_path / "copy.db"), 1, lambda *_: [add(other, f"meanwhile {number}") for number in islice(writes, 1)]
        )
        assert task_queries.lists(store.db)[0].total > 20
    with Store(str(tmp_path / "copy.db")) as copy:
        assert task_queries.lists(copy.db)[0].total == 20


def test_what_becomes_another_programs_just_before_it_is_opened_is_refused(tmp_path, monkeypatch):
    path = foreign(tmp_path / "tasks.db")
    monkeypatch.setattr(open_checks, "refuse_unopened", lambda *_, **__: None)
    with pytest.raises(DatabaseRefused, match="of another program"):
        Store(str(path))


def test_what_is_replaced_while_it_is_opened_is_refused(path, tmp_path, monkeypatch):
    made_database(path, 1)
    made_database(tmp_path / "other.db", 2)
    whole = open_checks.head_of

    def replaced(connection):
        monkeypatch.undo()
        (tmp_path / "other.db").rename(path)
        return whole(connection)

    monkeypatch.setattr(open_checks, "head_of", replaced)
    monkeypatch.setattr(open_checks, "refuse_unopened", lambda *_, **__: None)
    with pytest.raises(DatabaseRefused, match="was replaced while it was opened"):
        Store(str(path))
    with Store(str(path)) as store:
        assert task_queries.lists(store.db)[0].total == 2


def test_rows_that_are_given_up_after_their_database_was_closed_say_nothing(store):
    add(store, "one")
    rows = store.db.each_of(TaskRow.select(TaskRow.name))
    assert next(rows) == ("one",)
    store.close()
    rows.close()
