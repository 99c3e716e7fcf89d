"""The looks at a database's files: what each costs, and that none is fooled."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests import fork_server
from tests.core.engine.databases import NOW, add, made_database
from tui_tasks.core.engine.open_files import FileState, OpenFiles
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.store import Store


@pytest.fixture
def files(path: Path):
    """The files of a database whose log is empty, so that each look reads the log's index."""
    made_database(path)
    with Store(str(path)) as store:
        store.db.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        found = OpenFiles(str(path))
        found.note_log()
        assert found.state() is FileState.SAME
        yield found
        found.close()


def test_a_write_that_waits_for_nobody_looks_at_the_files_before_it_begins_and_after_it_is_committed(path, monkeypatch):
    made_database(path)
    looks = []
    with Store(str(path)) as store:
        add(store, "one")
        state = store.db._files.state
        monkeypatch.setattr(store.db._files, "state", lambda **given: looks.append(given) or state(**given))
        with store.transaction(NOW) as transaction:
            before = list(looks)
            transaction.speak("agent")
        assert (before, looks) == ([{}], [{}, {"reads_log": True}])


def test_the_descriptors_of_the_process_are_listed_once_however_often_it_is_looked(files, monkeypatch):
    monkeypatch.setattr(os, "listdir", lambda _: pytest.fail("the descriptors were listed again"))
    assert [files.state() for _ in range(3)] == [FileState.SAME] * 3


def test_a_descriptor_that_is_of_another_file_by_now_is_looked_for_again(path, files):
    index = Path(f"{path}-shm").stat()
    key = (index.st_dev, index.st_ino)
    known = files._handles[key]
    with (path.parent / "other").open("wb") as other:
        files._handles[key] = other.fileno()
        assert files.state() is FileState.SAME
        assert files._handles[key] == known


def elsewhere(path: Path, *command: str) -> str:
    """Run a command in a process of its own: two connections of one process have the same index."""
    words = [sys.executable, "-m", "tui_tasks", "--db", path, *command]
    return fork_server.run(words, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("way", ["removed", "replaced"])
def test_nothing_is_acknowledged_or_overwritten_once_the_index_of_the_log_has_gone(path, way):
    made_database(path)
    index = Path(f"{path}-shm")
    with Store(str(path)) as store:
        add(store, "one")
        if way == "removed":
            index.unlink()
        else:
            copy = index.with_name("copy")
            copy.write_bytes(index.read_bytes())
            copy.replace(index)
        elsewhere(path, "add", "two")
        with pytest.raises(StorageFailed, match="has lost its log's index"):
            add(store, "lost")
        elsewhere(path, "add", "three")
    assert [task["name"] for task in json.loads(elsewhere(path, "ls", "--json"))] == ["one", "two", "three"]


def test_a_database_that_is_cut_short_under_a_writer_is_written_no_more(path):
    made_database(path)
    with Store(str(path)) as store:
        add(store, "one")
        store.db.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        add(store, "two")
        os.truncate(path, 4096)
        with pytest.raises(StorageFailed, match="was overwritten while it was in use"):
            add(store, "lost")
