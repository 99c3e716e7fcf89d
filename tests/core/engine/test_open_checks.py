"""Files that are no database of ours, or not whole: each is refused, and left as it is."""

import errno
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from tests import fork_server
from tests.core.engine.databases import UNFIT, add, contents, damaged, foreign, made_database, newer
from tui_tasks.cli.main import main
from tui_tasks.core.engine import open_checks
from tui_tasks.core.engine.driver import connect, sqlite3
from tui_tasks.core.errors import DatabaseRefused, StorageFailed
from tui_tasks.core.maintenance.backup import backup
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("what", UNFIT)
def test_a_file_that_is_not_fit_is_refused_and_left_byte_for_byte_as_it_was_with_no_log_beside_it(
    tmp_path, what, read_only
):
    path = tmp_path / "tasks.db"
    UNFIT[what](path)
    before = contents(tmp_path)
    with pytest.raises(DatabaseRefused) as refused:
        Store(str(path), read_only=read_only)
    assert str(path) in str(refused.value)
    assert contents(tmp_path) == before


def locks(folder: Path) -> set[tuple[str, ...]]:
    """Return the locks of this process on the files of a folder.

    The files' own lists are read, as /proc/locks repeats and omits some while other processes lock and unlock.
    """
    inodes = {str(file.stat().st_ino) for file in folder.iterdir()}
    held = set()
    for of_file in Path("/proc/self/fdinfo").iterdir():
        with suppress(FileNotFoundError):
            lines = of_file.read_text().splitlines()
            held |= {tuple(line.split()[2:]) for line in lines if line.startswith("lock:")}
    return {lock for lock in held if lock[3] == str(os.getpid()) and lock[4].split(":")[-1] in inodes}


@pytest.mark.parametrize("what", ["another program's", "a newer version"])
def test_what_is_refused_keeps_the_log_that_a_crash_has_left(tmp_path, what):
    path = tmp_path / "tasks.db"
    if what == "a newer version":
        newer(path)
    else:
        foreign(path)
    crashed = (
        "import os, sys\nfrom tui_tasks.core.engine.driver import connect\n"
        "db = connect(sys.argv[1])\ndb.execute('PRAGMA journal_mode = wal')\n"
        "db.execute('CREATE TABLE late (text)')\nos._exit(0)"
    )
    fork_server.run([sys.executable, "-c", crashed, str(path)], check=True)
    before = contents(tmp_path)
    assert len(before) == (4 if what == "a newer version" else 3)  # ours has a lock file
    for read_only in (False, True):
        with pytest.raises(DatabaseRefused):
            Store(str(path), read_only=read_only)
        assert contents(tmp_path) == before


LOGGED = """
import os, sys
from tui_tasks.core.engine.driver import connect, sqlite3
db = connect(sys.argv[1])
db.execute("PRAGMA journal_mode = wal")
db.execute("CREATE TABLE notes (text)")
db.execute("BEGIN")
for number in range(int(sys.argv[2])):
    db.execute("INSERT INTO notes VALUES (?)", ("mine " * 200,))
db.execute("COMMIT")
os._exit(0)
"""


def logged(path: Path, rows: int = 3) -> Path:
    """Another program's database of which all but an empty first page is in the log that a crash has left."""
    fork_server.run([sys.executable, "-c", LOGGED, str(path), str(rows)], check=True)
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
    done = fork_server.run([sys.executable, "-c", begun, str(path)], check=True, capture_output=True, text=True)
    assert path.stat().st_size == 4096
    with Store(str(path)) as store:
        assert store.db.scalar("SELECT count(*) FROM list") == int(done.stdout)


def test_a_log_that_cannot_be_read_is_refused_while_all_is_in_it_and_used_once_it_can(path):
    log, away = Path(f"{path}-wal"), path.with_name("away")
    with Store(str(path)) as store:
        add(store, "in the log alone")
        log.rename(away)
        log.mkdir()
        (log / "so that it has a size").touch()
        with pytest.raises(StorageFailed, match="has lost its log") as failed:
            store.db.open_again()
        assert failed.value.data["retryable"]
        with pytest.raises(StorageFailed):
            add(store, "refused")
        for read_only in (False, True):
            with pytest.raises(DatabaseRefused, match="Is a directory"):
                Store(str(path), read_only=read_only)
        (log / "so that it has a size").unlink()
        log.rmdir()
        away.rename(log)
        add(store, "after")
        assert [task.name for task in task_queries.tasks(store.db, task_queries.lists(store.db)[0].id)] == [
            "in the log alone",
            "after",
        ]


def test_a_log_that_goes_while_it_is_looked_for_has_been_written_into_the_database(path, monkeypatch):
    path.parent.mkdir()
    raw = connect(path)
    raw.execute("PRAGMA journal_mode = wal")
    raw.close()
    real = open_checks._size
    monkeypatch.setattr(open_checks, "_size", lambda file: 32 if file.endswith("-wal") else real(file))
    with Store(str(path)) as store:
        add(store, "begun")


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


@pytest.mark.linux
def test_a_look_at_a_database_in_use_lets_no_lock_go(path):
    with Store(str(path)) as store:
        add(store, "in the log")
        before = locks(path.parent)
        with pytest.raises(DatabaseRefused), mock.patch.object(open_checks, "SCHEMA", 0):
            Store(str(path))
        assert before
        assert locks(path.parent) == before


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
    made_database(path, 3)
    with Store(str(path)) as store:
        names = [task.name for task in task_queries.tasks(store.db, task_queries.lists(store.db)[0].id)]
    damaged(path, start, b"\xa5" * 8)
    before = contents(tmp_path)
    try:
        opened = Store(str(path))
    except DatabaseRefused:
        assert contents(tmp_path) == before
        return
    with opened as store:
        assert [task.name for task in task_queries.tasks(store.db, task_queries.lists(store.db)[0].id)] == names


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is read only, as far as SQLite and we can tell. Root writes wherever a disk lets it."""
    there = tmp_path / "there"
    there.mkdir()
    assert main(["add", "one", "--db", str(there / "x.db")]) == 0
    there.chmod(0o500)
    if os.geteuid() == 0:
        access = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(there) and access(path, mode))
    return there


def names(path: Path) -> list[str]:
    with Store(str(path), read_only=True) as store:
        return [task.name for home in task_queries.lists(store.db) for task in task_queries.tasks(store.db, home.id)]


def test_it_is_read_as_it_stands_and_nothing_is_left_beside_it(folder: Path) -> None:
    before = sorted(folder.iterdir())
    assert names(folder / "x.db") == ["one"]
    assert sorted(folder.iterdir()) == before


def test_a_log_that_cannot_be_read_there_is_named_with_what_to_copy(folder: Path, tmp_path: Path) -> None:
    log = folder / "x.db-wal"
    folder.chmod(0o700)
    log.write_bytes(b"\0" * 64)
    folder.chmod(0o500)
    with pytest.raises(DatabaseRefused, match=r"x\.db-wal.*Copy both files"):
        Store(str(folder / "x.db"), read_only=True)
    folder.chmod(0o700)
    log.unlink()
    shutil.copy(folder / "x.db", tmp_path / "copy.db")
    assert names(tmp_path / "copy.db") == ["one"]


def test_a_database_that_may_not_be_written_or_looked_at_is_refused_with_what_to_do(tmp_path, monkeypatch):
    path = tmp_path / "tasks.db"
    path.touch()
    with (
        pytest.raises(DatabaseRefused, match="not write to it or to its folder, and `--read-only` reads it"),
        open_checks.refusing(str(path)),
    ):
        raise sqlite3.OperationalError("attempt to write a readonly database")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with (
        pytest.raises(DatabaseRefused, match=": Permission denied; it was left as it is"),
        open_checks.refusing(str(path)),
    ):
        raise sqlite3.OperationalError("unable to open database file")

    def stat(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "stat", stat)
    assert str(open_checks.missing("x/y")) == "cannot look at x/y: Permission denied; name another file with --db"


FULL = "its disk is full, free some space"


@pytest.mark.parametrize(("free", "reason"), [(8 << 10, FULL), (1 << 30, "disk I/O error")])
def test_a_database_that_a_full_disk_keeps_from_opening_is_refused_with_that(tmp_path, monkeypatch, free, reason):
    path = tmp_path / "tasks.db"
    path.touch()
    monkeypatch.setattr(os, "statvfs", lambda folder: SimpleNamespace(f_bavail=free >> 12, f_frsize=4096))
    with pytest.raises(DatabaseRefused) as refused, open_checks.refusing(str(path)):
        raise sqlite3.OperationalError("disk I/O error")
    assert str(refused.value) == f"cannot use the database {path}: {reason}; it was left as it is"
