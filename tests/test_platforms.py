"""What is Linux's own is hidden, one at a time: the promises hold without it."""

import fcntl
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.databases import add
from tui_tasks import held_log, watch
from tui_tasks.core import new_files, turns
from tui_tasks.core.store import Store
from tui_tasks.runner import processes
from tui_tasks.runner.lease import Leases
from tui_tasks.runner.processes import Identity


def test_windows_is_refused_in_one_line_that_names_wsl():
    start = "import sys; sys.platform = 'win32'; import tui_tasks.cli"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "WSL" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_locks_of_waiting_writers_are_taken_as_linux_has_them_and_nowhere_else(monkeypatch):
    monkeypatch.setattr(fcntl, "F_OFD_GETLK", 92, raising=False)
    monkeypatch.setattr(fcntl, "F_OFD_SETLK", 90, raising=False)
    try:
        monkeypatch.setattr(sys, "platform", "darwin")
        elsewhere = importlib.reload(turns)
        assert (elsewhere._ASK, elsewhere._SET) == (None, None)
    finally:
        monkeypatch.undo()
        importlib.reload(turns)


def test_without_such_locks_writers_wait_and_write(path, monkeypatch):
    monkeypatch.setattr(turns, "_ASK", None)
    monkeypatch.setattr(turns, "_SET", None)
    with Store(str(path)) as one, Store(str(path)) as other:
        one.db.sql("BEGIN IMMEDIATE")
        ended: list[int] = []

        def sleep(_: float) -> None:
            if not ended:
                one.db.sql("ROLLBACK")
                ended.append(1)

        monkeypatch.setattr(other.db._turns, "_sleep", sleep)
        assert add(other, "in the end")
        assert ended


def test_without_inotify_a_commit_is_seen_by_asking(path, monkeypatch):
    monkeypatch.setattr(watch, "_ask_kernel", lambda folder: None)
    with Store(str(path)) as store, Store(str(path)) as other:
        watched = watch.Watch(store.db)
        assert watched.fd is None
        assert not watched.changed(0.0)
        assert watched.wait(0.0) == watch.POLL
        add(other, "seen")
        assert watched.changed(watch.POLL)
        watched.close()


def test_off_linux_the_kernel_is_not_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert watch._ask_kernel(tmp_path) is None


def test_without_proc_a_process_is_unknown_and_never_taken_for_dead(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "PROC", tmp_path / "none")
    me = processes.identity()
    assert me == Identity("", "", os.getpid(), "")
    assert processes.is_alive(me) is None
    assert list(processes.ancestors(os.getpid())) == []
    assert processes.descendants(os.getpid()) == []
    assert processes.with_variable("PATH", os.environ["PATH"]) == []


def test_without_proc_a_run_is_given_up_when_its_lease_is_over_and_not_before(tmp_path, monkeypatch):
    from tui_tasks.core.snapshots import Beat

    monkeypatch.setattr(processes, "PROC", tmp_path / "none")
    leases = Leases(60.0)
    beat = Beat("run", True, *processes.identity(), at=1)
    assert leases.verdict("run", beat, 0.0) is None
    assert leases.verdict("run", beat, 59.0) is None
    assert "no sign of life for 60 s" in str(leases.verdict("run", beat, 60.0))


def test_without_prctl_what_needs_it_does_nothing(monkeypatch):
    monkeypatch.setattr(processes, "_libc", None)
    processes.adopt_orphans()
    processes.die_with_parent()


def test_without_proc_a_large_log_is_told_with_what_to_look_for(tmp_path):
    database = tmp_path / "tasks.db"
    with Path(f"{database}-wal").open("wb") as log:
        log.truncate(held_log.LARGE)
    (said,) = held_log.findings(database, tmp_path / "none")
    assert "Look for a tui-tasks that is stopped" in said


def test_a_group_is_ended_where_nothing_else_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "PROC", tmp_path / "none")
    monkeypatch.setattr(processes, "_libc", None)
    command = subprocess.Popen(["sleep", "600"], start_new_session=True)
    processes.send_group(command.pid, signal.SIGKILL)
    assert command.wait(30) == -signal.SIGKILL


def test_the_drives_own_memory_is_flushed_where_fsync_does_not(tmp_path, path, monkeypatch):
    asked: list[int] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda handle, command: asked.append(command))
    monkeypatch.setattr(os, "fsync", lambda handle: pytest.fail("fsync alone"))
    new_files.sync_folder(str(tmp_path))
    assert asked == [51]
    monkeypatch.undo()
    with Store(str(path)) as store:
        assert [store.db.scalar(f"PRAGMA {name}") for name in ("fullfsync", "checkpoint_fullfsync")] == [1, 1]
