"""What a backup and a restore sync, and in which order: noted by the recorder of the soak that cuts the power."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.contract.client import terminal_input
from tests.core.engine.databases import add, made_database
from tests.soak import disk
from tests.soak.disk import Record
from tests.soak.native import NotHere, preloaded
from tests.soak.speaking import program
from tui_tasks.core.maintenance.backup import backup
from tui_tasks.core.store import Store

SYNCED = "sync", "sync_folder"
NAMED = "link", "rename", "unlink"


def recorded(tmp_path: Path, *command: str | Path) -> list[Record]:
    """What a command does to the files below `disk`."""
    log = tmp_path / "log"
    try:
        env = preloaded(tmp_path, tmp_path / "disk", log=log)
    except NotHere as reason:
        pytest.skip(str(reason))
    with terminal_input() as terminal:
        subprocess.run(program(*command), stdin=terminal, env=env, check=True, capture_output=True)
    return list(disk.records(log))


def steps(records: list[Record], path: Path, copy: str) -> list[str]:
    """The syncs and changes of names once the copy that gets the name `path` is written, in short."""
    last = max(at for at, record in enumerate(records) if record.op == "write" and record.path == copy)
    told = []
    for record in records[last + 1 :]:
        own = record.path == copy or record.path.startswith((str(path), str(path.parent)))
        if record.op == "sync_folder" and record.path == str(path.parent):
            told.append("sync folder")
        elif record.op in (*SYNCED, *NAMED) and own and not record.path.startswith(f"{copy}-"):
            name = "copy" if record.path == copy else record.path.removeprefix(str(path)) or "database"
            told.append(f"{record.op} {name}")
    return told


def copy_of(records: list[Record], path: Path) -> str:
    """What the file that got that name was called while it was written."""
    (found,) = (record.path for record in records if record.op == "rename" and record.data.decode() == str(path))
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "disk").mkdir(mode=0o700)
    return tmp_path / "disk"


def test_a_backup_is_synced_before_it_has_its_name_and_its_name_before_it_is_told(tmp_path, place):
    made_database(place / "tasks.db", 3)
    target = place / "copy.db"
    records = recorded(tmp_path, "backup", "--db", place / "tasks.db", target)
    told = steps(records, target, copy_of(records, target))
    assert told == ["sync copy", "rename copy", "sync folder"]
    (said,) = (at for at, record in enumerate(records) if record.op == "pipe" and b"whole up to" in record.data)
    assert all(record.op not in (*SYNCED, *NAMED, "write") for record in records[said:])


def test_a_restore_syncs_the_copy_then_the_second_name_of_the_old_then_its_name_then_that_no_log_is_there(
    tmp_path, place
):
    path = place / "tasks.db"
    with Store(str(path)) as store:
        add(store, "in the backup")
        backup(store.db, tmp_path / "copy.db")
        # A reader keeps what comes from going into the file, so that the log is kept aside too.
        with Store(str(path), read_only=True) as reader, reader.db.transaction(write=False):
            reader.db.scalar("SELECT count(*) FROM task")
            add(store, "in the log")
            records = recorded(tmp_path, "restore", "--db", path, tmp_path / "copy.db")
    told = steps(records, path, copy_of(records, path))
    assert told[0] == "sync copy"
    # Behind that stands the entry in the restored database about who has restored it.
    begin = told.index("link database")
    assert told[begin : begin + 7] == [
        "link database",
        "link -wal",
        "sync folder",
        "rename copy",
        "sync folder",
        "unlink -wal",
        "sync folder",
    ]
