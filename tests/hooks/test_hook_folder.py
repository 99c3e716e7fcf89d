"""Payloads are kept beside the database, privately, in order, and never half written."""

import json
import multiprocessing
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.started import Started
from tui_tasks.hooks import hook_folder, hooks_folder
from tui_tasks.hooks.hook_folder import Folder, Spool, put_payload

HEAD = {"program": "claude", "at": 1, "project": None, "is_cut": False}


def test_a_payload_comes_out_as_it_went_in(tmp_path: Path) -> None:
    with Spool(str(tmp_path / "tasks.db"), make=True) as spooled:
        name = put_payload(spooled.folder, HEAD, b'{"a":\n"\xff"}\n\n')
        assert spooled.pending() == [name]
        found = spooled.read(name)
        assert (found.head, found.body) == (HEAD, b'{"a":\n"\xff"}\n\n')
        spooled.drop(name)
        assert spooled.pending() == []


@given(words=st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text()))
def test_the_first_line_is_json_whatever_stands_in_it(words: dict[str, str | int | None]) -> None:
    line = hook_folder.json_object(words)
    assert b"\n" not in line
    replaced = json.loads(json.dumps(words, ensure_ascii=False).encode(errors="replace"))
    assert json.loads(line) == replaced


def test_everything_is_this_users_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Spool(str(tmp_path / "tasks.db"), make=True) as spooled:
            put_payload(spooled.folder, HEAD, b"{}")
    finally:
        os.umask(before)
    beside = tmp_path / "tasks.db-hooks"
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (beside, *beside.rglob("*"))}
    assert {path.name: oct(mode) for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}


def test_a_folder_that_others_can_reach_is_closed_to_them(tmp_path: Path) -> None:
    beside = tmp_path / "tasks.db-hooks"
    beside.mkdir()
    beside.chmod(0o777)
    Spool(str(tmp_path / "tasks.db"), make=True).close()
    assert stat.S_IMODE(beside.stat().st_mode) == 0o700


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tasks.db-hooks").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"tasks\.db-hooks"):
        Spool(str(tmp_path / "tasks.db"), make=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Spool(str(tmp_path / "tasks.db"), make=True).close()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match="another user's"):
        Spool(str(tmp_path / "tasks.db"), make=True)


def test_a_link_to_a_database_leads_to_the_folder_beside_the_database(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "tasks.db")
    assert hooks_folder(str(tmp_path / "link.db")) == str(tmp_path / "real" / "tasks.db-hooks")


def test_names_stay_in_order_when_the_clock_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Spool(str(tmp_path / "tasks.db"), make=True) as spooled:
        put = []
        for now in (2_000_000_000, 1_000_000_000, 1_000_000_000, 3_000_000_000):
            monkeypatch.setattr(hook_folder.time, "time_ns", lambda now=now: now)
            put.append(put_payload(spooled.folder, HEAD, b"{}"))
        assert spooled.pending() == put


def test_a_process_that_has_stopped_with_the_lock_holds_up_for_a_moment_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_folder, "LOCK_LIMIT", 0.02)
    with Spool(str(tmp_path / "tasks.db"), make=True) as spooled:
        put_payload(spooled.folder, HEAD, b"{}")
        lock = tmp_path / "tasks.db-hooks" / "last-name"
        take = f"os.lockf(os.open({str(lock)!r}, os.O_RDWR), os.F_LOCK, 0)"
        hold = f"import os, sys; {take}; print(1, flush=True); sys.stdin.read()"
        with Started([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            put_payload(spooled.folder, HEAD, b"{}")
            holder.communicate(b"")
        assert len(spooled.pending()) == 2


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Folder, "rename", full)
    with Spool(str(tmp_path / "tasks.db"), make=True) as spooled:
        with pytest.raises(OSError, match="No space"):
            put_payload(spooled.folder, HEAD, b"{}")
        assert list((tmp_path / "tasks.db-hooks" / "payloads").iterdir()) == []


def test_one_process_at_a_time_takes_payloads_in(tmp_path: Path) -> None:
    with Spool(str(tmp_path / "tasks.db"), make=True) as spooled:
        mine = spooled.lock_intake()
        assert mine is not None
        assert spooled.lock_intake() is None
        os.close(mine)
        again = spooled.lock_intake()
        assert again is not None
        os.close(again)


def _put_many(database: str, who: int) -> None:
    with Spool(database, make=True) as spooled:
        for number in range(50):
            put_payload(spooled.folder, {"who": who, "number": number}, b"x")


def test_many_processes_at_once_lose_nothing_and_keep_each_ones_order(tmp_path: Path) -> None:
    database = str(tmp_path / "tasks.db")
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_put_many, args=(database, who), daemon=True) for who in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with Spool(database, make=False) as spooled:
        heads = [spooled.read(name).head for name in spooled.pending()]
    assert len(heads) == 300
    for who in range(6):
        assert [head["number"] for head in heads if head["who"] == who] == list(range(50))
