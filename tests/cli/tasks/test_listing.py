"""`ls --json` of lists that are too long for memory."""

import errno
import json
import os
import tempfile

import pytest

from tests.conftest import START
from tui_tasks.cli.tasks import json_listing
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.operations.lists import EnsureList
from tui_tasks.core.operations.tasks import AddTask
from tui_tasks.core.read.tasks import json_export
from tui_tasks.core.store import Store

NAMES = ["one", "two\nlines\r", "three\u2028\x85", "\x1b[2J"]


@pytest.fixture
def database(path, monkeypatch):
    monkeypatch.setattr(json_export, "SHORT", 0)
    with Store(str(path)) as store:
        (home,) = store.commit(EnsureList("list", "task"), actor="a", now=START)
        store.commit(*(AddTask(name, home.uid) for name in NAMES), actor="a", now=START)
    return str(path)


def test_a_long_list_is_printed_from_a_file_as_a_short_one_is(database, monkeypatch, capsys):
    json_listing.print_json(database, "list", (), read_only=True)
    short = capsys.readouterr().out
    monkeypatch.setattr(json_listing, "MEMORY_CHARS", 0)
    json_listing.print_json(database, "list", (), read_only=True)
    assert capsys.readouterr().out == short
    assert [task["name"] for task in json.loads(short)] == NAMES


def test_a_list_that_finds_no_room_is_refused_before_anything_is_printed(database, monkeypatch, capsys):
    def no_room(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(json_listing, "MEMORY_CHARS", 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", no_room)
    with pytest.raises(StorageFailed, match="No space left"):
        json_listing.print_json(database, "list", (), read_only=True)
    assert capsys.readouterr().out == ""
