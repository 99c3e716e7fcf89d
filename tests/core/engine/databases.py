"""Databases as they are found: ours, another program's, newer, damaged."""

import hashlib
import os
from pathlib import Path

from tui_tasks.core.engine.driver import connect
from tui_tasks.core.maintenance.backup import restore
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.store import Store

NOW = 1_767_352_934_000_000


def add(store: Store, name: str) -> str:
    (home,) = store.commit(EnsureList("tasklist", "tasklist"), actor="agent", now=NOW)
    (task,) = store.commit(AddTask(name, home.uid), actor="agent", now=NOW)
    return task.uid


def contents(folder: Path) -> dict[str, str]:
    """Every file of a folder by its hash."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def made_database(path: Path, count: int = 0) -> Path:
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
    db = connect(path)
    if wal:
        db.execute("PRAGMA journal_mode=wal")
    db.execute("CREATE TABLE notes (text TEXT)")
    db.execute("INSERT INTO notes VALUES ('mine')")
    db.close()
    return path


def newer(path: Path) -> Path:
    made_database(path, 3)
    db = connect(path)
    db.execute("PRAGMA user_version = 999")
    db.execute("PRAGMA journal_mode = delete")
    db.close()
    return path


def damaged(path: Path, start: int, data: bytes) -> Path:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)
    return path


def put_in_place(copy: Path, path: Path) -> None:
    """Put a backup in the place of a database, as `tui-tasks restore` does."""
    restore(str(path), copy, NOW)


UNFIT = {
    "a text file": lambda path: path.write_text("my shopping list\n" * 200),
    "a file of zeros": lambda path: path.write_bytes(bytes(8192)),
    "one byte": lambda path: path.write_bytes(b"x"),
    "two bytes": lambda path: path.write_bytes(b"xy"),
    "a database of another program": foreign,
    "one in write-ahead mode": lambda path: foreign(path, wal=True),
    "one that another program has signed": lambda path: [
        foreign(path),
        (db := connect(path)).execute("PRAGMA application_id = 252006674"),
        db.close(),
    ],
    "a newer version": newer,
    "ours without its schema": lambda path: damaged(made_database(path, 3), 100, bytes(3996)),
    "ours with a word of its schema that is no UTF-8": lambda path: path.write_bytes(
        made_database(path, 3).read_bytes().replace(b" NOT NULL", b" NOT \xceULL")
    ),
    "ours with its head overwritten": lambda path: damaged(made_database(path, 3), 0, b"garbage!" * 12),
    "ours cut to its first page": lambda path: os.truncate(made_database(path, 50), 4096),
    "ours cut in the middle": lambda path: os.truncate(
        made_database(path, 200), path.stat().st_size // 2 // 4096 * 4096
    ),
    "ours cut within a page": lambda path: os.truncate(made_database(path, 50), path.stat().st_size - 1000),
}
