"""The file: private, refused and left alone when it is not fit, durable, and truly read only (contract, section 3)."""

import hashlib
import os
import select
import stat
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from tui_tasks.core import database, fitness, journal, queries
from tui_tasks.core.backup import backup
from tui_tasks.core.database import refuse_faulty_library
from tui_tasks.core.driver import sqlite3
from tui_tasks.core.errors import Busy, DatabaseRefused, StorageFailed
from tui_tasks.core.fitness import APPLICATION_ID
from tui_tasks.core.operations import AddTask, EditTask, EnsureList
from tui_tasks.core.store import Store
from tui_tasks.watch import Watch

NOW = 1_767_352_934_000_000


def add(store: Store, name: str) -> str:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="agent", now=NOW)
    (task,) = store.commit(AddTask(name, home.uid), actor="agent", now=NOW)
    return task.uid


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def contents(folder: Path) -> dict[str, str]:
    """Every file of a folder by its hash."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def made(path: Path, count: int = 0) -> Path:
    """A database of ours, closed."""
    with Store(str(path)) as store:
        for number in range(count):
            add(store, f"task {number} " + "x" * 500)
    return path


def begun(path: Path) -> None:
    """A file that a process has begun to make a database of."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.touch(0o600)


def foreign(path: Path, *, wal: bool = False) -> Path:
    db = sqlite3.connect(path)
    if wal:
        db.execute("PRAGMA journal_mode=wal")
    db.execute("CREATE TABLE notes (text TEXT)")
    db.execute("INSERT INTO notes VALUES ('mine')")
    db.commit()
    db.close()
    return path


def newer(path: Path) -> Path:
    made(path, 3)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 999")
    db.execute("PRAGMA journal_mode = delete")
    db.close()
    return path


def damaged(path: Path, start: int, data: bytes) -> Path:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)
    return path


UNFIT = {
    "a text file": lambda path: path.write_text("my shopping list\n" * 200),
    "a file of zeros": lambda path: path.write_bytes(bytes(8192)),
    "two bytes": lambda path: path.write_bytes(b"xy"),
    "a database of another program": foreign,
    "one in write-ahead mode": lambda path: foreign(path, wal=True),
    "one that another program has signed": lambda path: [
        foreign(path),
        (db := sqlite3.connect(path)).execute("PRAGMA application_id = 252006674"),
        db.close(),
    ],
    "a newer version": newer,
    "ours without its schema": lambda path: damaged(made(path, 3), 100, bytes(3996)),
    "ours with its head overwritten": lambda path: damaged(made(path, 3), 0, b"garbage!" * 12),
    "ours cut to its first page": lambda path: os.truncate(made(path, 50), 4096),
    "ours cut in the middle": lambda path: os.truncate(made(path, 200), path.stat().st_size // 2 // 4096 * 4096),
    "ours cut within a page": lambda path: os.truncate(made(path, 50), path.stat().st_size - 1000),
}


@pytest.mark.parametrize("what", UNFIT)
def test_a_file_that_is_not_fit_is_refused_and_left_byte_for_byte_as_it_was(tmp_path, what):
    path = tmp_path / "tasks.db"
    UNFIT[what](path)
    before = contents(tmp_path)
    with pytest.raises(DatabaseRefused) as refused:
        Store(str(path))
    assert str(path) in str(refused.value)
    assert contents(tmp_path) == before


def locks() -> list[list[str]]:
    """The locks of this process."""
    lines = Path("/proc/locks").read_text().splitlines()
    return sorted(line.split()[1:] for line in lines if f" {os.getpid()} " in line)


@pytest.mark.parametrize("what", ["another program's", "a newer version"])
def test_what_is_refused_keeps_the_log_that_a_crash_has_left(tmp_path, what):
    path = tmp_path / "tasks.db"
    if what == "a newer version":
        newer(path)
    else:
        foreign(path)
    crashed = (
        "import os, sys, pysqlite3\ndb = pysqlite3.connect(sys.argv[1])\ndb.execute('PRAGMA journal_mode = wal')\n"
        "db.execute('CREATE TABLE late (text)')\ndb.commit()\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", crashed, str(path)], check=True)
    before = contents(tmp_path)
    assert len(before) == 3
    for read_only in (False, True):
        with pytest.raises(DatabaseRefused):
            Store(str(path), read_only=read_only)
        assert contents(tmp_path) == before


def test_a_database_behind_a_link_is_used_where_it_is(path, tmp_path):
    made(path)
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


LOGGED = """
import os, sys, pysqlite3
db = pysqlite3.connect(sys.argv[1])
db.execute("PRAGMA journal_mode = wal")
db.execute("CREATE TABLE notes (text)")
for number in range(int(sys.argv[2])):
    db.execute("INSERT INTO notes VALUES (?)", ("mine " * 200,))
db.commit()
os._exit(0)
"""


def logged(path: Path, rows: int = 3) -> Path:
    """Another program's database of which all but an empty first page is in the log that a crash has left."""
    subprocess.run([sys.executable, "-c", LOGGED, str(path), str(rows)], check=True)
    return path


@pytest.mark.parametrize("left", ["an empty first page", "nothing", "no file"])
def test_another_programs_database_that_is_in_its_log_alone_is_left_as_it_is(tmp_path, left):
    path = logged(tmp_path / "tasks.db", rows=300)
    if left == "nothing":
        os.truncate(path, 0)
    elif left == "no file":
        path.unlink()
    before = contents(tmp_path)
    for read_only in (False, True):
        with pytest.raises(DatabaseRefused):
            Store(str(path), read_only=read_only)
        assert contents(tmp_path) == before


def test_one_of_ours_that_is_in_its_log_alone_is_opened(path):
    begun = (
        "import os, sys\nfrom tui_tasks.core.store import Store\nstore = Store(sys.argv[1])\n"
        "print(store.db.scalar('SELECT count(*) FROM list'), flush=True)\nos._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", begun, str(path)], check=True, capture_output=True, text=True)
    assert path.stat().st_size == 4096
    with Store(str(path)) as store:
        assert store.db.scalar("SELECT count(*) FROM list") == int(done.stdout)


def test_a_beginning_that_a_crash_has_kept_out_of_the_log_is_begun_anew(path):
    with Store(str(path)):
        log = Path(f"{path}-wal").read_bytes()
    path.unlink()
    logged(path)
    # The first transaction, which was not finished: its last frame, which says so, is not there.
    Path(f"{path}-wal").write_bytes(log[: -(24 + 4096)])
    with Store(str(path)) as store:
        add(store, "begun")


def test_a_log_that_has_grown_far_beyond_the_file_is_found_through_a_link(path, tmp_path):
    link, behind_link = tmp_path / "link.db", tmp_path / "folder" / path.name
    with Store(str(path)) as store:
        for _ in range(30):
            add(store, "x" * 9_000)
        assert path.stat().st_size < Path(f"{path}-wal").stat().st_size
        link.symlink_to(path)
        behind_link.parent.symlink_to(path.parent)
        for named in (link, behind_link):
            for read_only in (True, False):
                with Store(str(named), read_only=read_only) as other:
                    assert other.db.scalar("SELECT count(*) FROM task") == 30


def test_a_look_at_a_database_in_use_lets_no_lock_go(path):
    with Store(str(path)) as store:
        add(store, "in the log")
        before = locks()
        with pytest.raises(DatabaseRefused), mock.patch.object(fitness, "SCHEMA", 0):
            Store(str(path))
        assert before
        assert locks() == before


@pytest.mark.parametrize("what", ["a text file", "a database of another program", "a newer version"])
def test_it_is_refused_for_reading_too(tmp_path, what):
    path = tmp_path / "tasks.db"
    UNFIT[what](path)
    before = contents(tmp_path)
    with pytest.raises(DatabaseRefused):
        Store(str(path), read_only=True)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("start", range(0, 100, 8))
def test_damage_to_any_part_of_the_head_is_refused_or_does_not_matter(tmp_path, start):
    path = tmp_path / "tasks.db"
    made(path, 3)
    with Store(str(path)) as store:
        names = [task.name for task in queries.tasks(store.db, queries.lists(store.db)[0].id)]
    damaged(path, start, b"\xa5" * 8)
    before = contents(tmp_path)
    try:
        opened = Store(str(path))
    except DatabaseRefused:
        assert contents(tmp_path) == before
        return
    with opened as store:
        assert [task.name for task in queries.tasks(store.db, queries.lists(store.db)[0].id)] == names


def test_a_folder_a_fifo_and_a_device_are_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "tasks.db")
    for path in (tmp_path, tmp_path / "fifo", Path("/dev/null"), Path("/proc/none/tasks.db"), tmp_path / "link"):
        with pytest.raises(DatabaseRefused):
            Store(str(path))


def test_a_path_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DatabaseRefused):
        Store(str(tmp_path / "file" / "tasks.db"))


@pytest.mark.parametrize("place", ["NAME", "NAME/tasks.db", "link/NAME"])
def test_a_name_that_is_too_long_for_the_system_is_refused(tmp_path, place):
    (tmp_path / "link").symlink_to(tmp_path)
    path = tmp_path / place.replace("NAME", "x" * 300)
    for read_only in (False, True):
        with pytest.raises(DatabaseRefused):
            Store(str(path), read_only=read_only)
    with Store(str(tmp_path / "tasks.db")) as store, pytest.raises(DatabaseRefused):
        backup(store.db, path)


@pytest.mark.parametrize("name", ["a b.db", "50%.db", "what?mode=memory.db", "#1.db", "täsks \U0001f600.db"])
def test_any_name_of_a_file_will_do(tmp_path, name):
    made(tmp_path / name, 1)
    assert (tmp_path / name).exists()
    with Store(str(tmp_path / name), read_only=True) as store:
        assert queries.lists(store.db)[0].total == 1


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
    run = subprocess.run(
        [sys.executable, "-c", UNDER_A_UMASK, str(path), umask], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert {name.split(":")[1] for name in run.stdout.split()} == {"600"}, run.stdout
    assert "tasks.db-wal" in run.stdout
    assert mode(path.parent) == mode(path.parent.parent) == 0o700


def test_a_folder_that_is_there_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    made(tmp_path / "tasks.db")
    assert mode(tmp_path) == 0o755
    assert mode(tmp_path / "tasks.db") == 0o600


def test_it_is_signed_and_numbered(path):
    made(path)
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert db.execute("PRAGMA user_version").fetchone()[0] >= 1
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def test_it_is_written_ahead_and_synced_in_full(store):
    assert store.db.scalar("PRAGMA journal_mode") == "wal"
    assert store.db.scalar("PRAGMA synchronous") == 2


@pytest.mark.parametrize(
    ("version", "faulty"),
    [
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 0), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 4), False),
        ((4, 0, 0), False),
    ],
)
def test_a_library_with_the_wal_reset_bug_is_refused(version, faulty):
    if faulty:
        with pytest.raises(DatabaseRefused, match="WAL-reset"):
            refuse_faulty_library(version)
    else:
        refuse_faulty_library(version)


def test_a_faulty_library_is_refused_before_the_file_is_touched(path, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 40, 1))
    with pytest.raises(DatabaseRefused):
        Store(str(path))
    assert not path.parent.exists()


def test_read_only_is_refused_by_sqlite_itself(path):
    made(path, 2)
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
    made(path, 2)
    before = path.read_bytes()
    with Store(str(path), read_only=True) as store:
        assert queries.lists(store.db)[0].total == 2
    assert path.read_bytes() == before


def test_reading_alone_makes_no_database(tmp_path):
    with pytest.raises(DatabaseRefused):
        Store(str(tmp_path / "none" / "tasks.db"), read_only=True)
    assert not (tmp_path / "none").exists()


def test_a_reader_sees_what_a_writer_commits_while_both_are_open(path):
    with Store(str(path)) as writer, Store(str(path), read_only=True) as reader:
        uid = add(writer, "seen")
        assert queries.task(reader.db, uid).name == "seen"


MAKE_AT_ONCE = """
import sys
from tui_tasks.core.store import Store
from tui_tasks.core.operations import AddTask, EditTask, EnsureList
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
        edited = [entry for entry in journal.all_entries(reader.db) if entry.changes]
        assert [journal.event_task(reader.db, entry)["description"][0] for entry in edited[::-1]] == ["c", "b", "a"]
        add(writer, "two")
        busy, _, left = writer.db.sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert (busy, left) == (0, 0)


def test_many_processes_may_make_the_same_database_at_once(path):
    processes = [
        subprocess.Popen(
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
    told = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, told
    with Store(str(path)) as store:
        assert [found.total for found in queries.lists(store.db) if found.name == "first"] == [8]


def test_one_that_is_made_while_it_is_looked_at_is_not_taken_for_another_programs(path):
    class Slow:
        """A connection that is overtaken after whatever it does."""

        def __init__(self):
            begun(path)
            self._connection = sqlite3.connect(path)

        def execute(self, text):
            done = self._connection.execute(text)
            rows = iter(done.fetchall())
            made(path)
            return mock.Mock(fetchone=lambda: next(rows))

    for _ in range(2):
        fitness.refuse_other(fitness.head_of(Slow()), str(path))


def test_beginning_to_write_ahead_waits_for_another_who_does_so_too(path, monkeypatch):
    begun(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waits = []
    monkeypatch.setattr(database.time, "sleep", lambda _: (waits.append(1), len(waits) == 3 and other.rollback()))
    with Store(str(path)) as store:
        add(store, "one")
    assert len(waits) >= 3


def test_a_writer_who_is_held_off_past_the_limit_is_told_busy_and_can_try_again(path, monkeypatch):
    monkeypatch.setattr("tui_tasks.core.database.BUSY_SECONDS", 0.05)
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
        total = queries.lists(store.db)[0].total
        store.db.sql("PRAGMA max_page_count = 100000")
        add(store, "room again")
        assert queries.lists(store.db)[0].total == total + 1


def test_a_file_that_is_moved_away_is_told_and_nothing_is_written_until_it_is_back(path):
    with Store(str(path)) as store:
        add(store, "before")
        away = path.parent.rename(path.parent.with_name("away"))
        with pytest.raises(StorageFailed, match="is gone: put it back") as gone:
            add(store, "lost")
        assert gone.value.data["retryable"] is True
        away.rename(path.parent)
        add(store, "after")
        assert queries.lists(store.db)[0].total == 2


def test_a_backup_that_is_put_in_its_place_is_opened(path, tmp_path):
    with Store(str(path)) as store:
        add(store, "in the backup")
        backup(store.db, tmp_path / "copy.db")
        add(store, "after the backup")
        for file in path.parent.iterdir():
            file.unlink()
        (tmp_path / "copy.db").rename(path)
        add(store, "after the restore")
        names = [task.name for task in queries.tasks(store.db, queries.lists(store.db)[0].id)]
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
