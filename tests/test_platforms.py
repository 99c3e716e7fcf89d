"""What is Linux's own is hidden, one at a time: the promises hold without it."""

import ctypes
import fcntl
import importlib
import os
import select
import signal
import subprocess
import sys
import threading
from datetime import UTC
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.core.engine.databases import add
from tests.started import DEADLINE, Started
from tui_tasks.cli.admin import doctor
from tui_tasks.core.engine import commit_watch, file_writes, write_queue
from tui_tasks.core.engine.database import Database
from tui_tasks.core.engine.file_writes import replace
from tui_tasks.core.job_snapshots import Heartbeat
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import heartbeats
from tui_tasks.runner import processes, run_marks
from tui_tasks.runner.processes import ProcessIdentity
from tui_tasks.runner.run_holders import Leases
from tui_tasks.tui.log.log_actions import MARKDOWN, Export


def test_windows_is_refused_in_one_line_that_names_wsl():
    start = "import sys; sys.platform = 'win32'; import tui_tasks.cli.main"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 1
    assert "WSL" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_locks_of_waiting_writers_are_taken_as_linux_has_them_and_nowhere_else(monkeypatch):
    monkeypatch.setattr(fcntl, "F_OFD_GETLK", 92, raising=False)
    monkeypatch.setattr(fcntl, "F_OFD_SETLK", 90, raising=False)
    try:
        monkeypatch.setattr(sys, "platform", "darwin")
        elsewhere = importlib.reload(write_queue)
        assert (elsewhere._GET_LOCK, elsewhere._SET_LOCK) == (None, None)
    finally:
        monkeypatch.undo()
        importlib.reload(write_queue)


def test_without_such_locks_writers_wait_and_write(path, monkeypatch):
    monkeypatch.setattr(write_queue, "_GET_LOCK", None)
    monkeypatch.setattr(write_queue, "_SET_LOCK", None)
    with Store(str(path)) as one, Store(str(path)) as other:
        one.db.sql("BEGIN IMMEDIATE")
        ended: list[int] = []

        def sleep(_: float) -> None:
            if not ended:
                one.db.sql("ROLLBACK")
                ended.append(1)

        monkeypatch.setattr(other.db._queue, "_sleep", sleep)
        assert add(other, "in the end")
        assert ended


def test_without_inotify_a_commit_is_seen_by_asking(path, monkeypatch):
    monkeypatch.setattr(commit_watch, "_start_notifier", lambda folder: None)
    with Store(str(path)) as store, Store(str(path)) as other:
        watched = commit_watch.Watch(store.db)
        assert watched.fd is None
        assert not watched.changed(0.0)
        assert watched.wait(0.0) == commit_watch.POLL
        add(other, "seen")
        assert watched.changed(commit_watch.POLL)
        watched.close()


def test_where_the_kernel_has_neither_inotify_nor_kqueue_it_is_not_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "sunos5")
    monkeypatch.delattr(select, "kqueue", raising=False)
    assert commit_watch._start_notifier(tmp_path / "tasks.db-wal") is None


@pytest.fixture
def no_proc(tmp_path, monkeypatch):
    """There is no `/proc`; psutil has its own ways."""
    monkeypatch.setattr(processes, "PROC", tmp_path / "none")


@pytest.fixture
def no_psutil(monkeypatch):
    """It is not installed."""
    monkeypatch.setitem(sys.modules, "psutil", None)


@pytest.fixture
def boot_session(monkeypatch):
    """The system has a name for this boot, as macOS has."""
    monkeypatch.setattr(processes, "_boot_session", lambda: "this boot")


@pytest.mark.usefixtures("no_proc", "no_psutil")
def test_without_proc_and_psutil_a_process_is_unknown_and_never_taken_for_dead():
    me = processes.identity()
    assert me == ProcessIdentity("", "", os.getpid(), "")
    assert processes.is_alive(me) is None
    assert list(processes.ancestors(os.getpid())) == []
    assert processes.descendants(os.getpid()) == []
    assert processes.with_variable("PATH", os.environ["PATH"]) == []


@pytest.mark.usefixtures("no_proc", "boot_session")
def test_without_proc_psutil_tells_whether_a_process_lives():
    with Started(["sleep", "600"]) as child:
        known = processes.identity(child.pid)
        assert known.boot == "this boot"
        assert processes.is_alive(known) is True
        assert processes.is_alive(known._replace(boot="an earlier boot")) is None
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert processes.is_alive(known) is False, "it has ended, and was not reaped"
        child.wait()
        assert processes.is_alive(known) is False


@pytest.mark.usefixtures("no_proc", "boot_session")
def test_without_proc_a_process_of_another_birth_is_not_taken_for_dead_as_the_clock_may_have_been_set():
    assert processes.is_alive(processes.identity()._replace(born="1.000000")) is None


@pytest.mark.usefixtures("no_proc")
def test_without_proc_psutil_finds_parents_descendants_and_what_was_started_with_a_variable():
    script = "sleep 600 & echo $!; wait"
    environ = {"PATH": os.environ["PATH"], "TUI_TASKS_RUN_ID": "a run"}
    with Started(["sh", "-c", script], env=environ, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        below = int(child.stdout.readline())
        try:
            assert {child.pid, below} <= set(processes.descendants(os.getpid()))
            assert list(processes.ancestors(below))[:2] == [child.pid, os.getpid()]
            assert sorted(processes.with_variable("TUI_TASKS_RUN_ID", "a run")) == sorted([child.pid, below])
        finally:
            processes.send([below, child.pid], signal.SIGKILL)


@pytest.mark.usefixtures("no_proc", "boot_session")
@pytest.mark.parametrize("supervised", [False, True])
def test_without_proc_what_a_supervisor_started_is_inside_a_run_whatever_its_environment(store, supervised):
    with store.db.transaction(write=True):
        heartbeats.put_heartbeat(store.db, Heartbeat("run", supervised, *processes.identity(os.getppid()), at=0))
    assert run_marks.inside_run({}, store.db) is supervised


@pytest.mark.usefixtures("no_proc", "boot_session")
def test_without_proc_a_supervisor_that_died_is_noticed_at_once():
    with Started(["sleep", "600"]) as child:
        heartbeat = Heartbeat("run", True, *processes.identity(child.pid), at=1)
        leases = Leases(60.0)
        assert leases.reason_to_abandon("run", heartbeat, 0.0) is None
        child.kill()
    assert leases.reason_to_abandon("run", heartbeat, 0.0) == "its supervisor died"


def test_macos_is_asked_by_sysctl_what_it_calls_this_boot(monkeypatch):
    @ctypes.CFUNCTYPE(
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_size_t),
        ctypes.c_void_p,
        ctypes.c_size_t,
    )
    def sysctlbyname(name, held, size, new, new_size):
        answer = b"5B1C3A9E-0000-4E4D-9B1B-0A1B2C3D4E5F\0"
        if name != b"kern.bootsessionuuid" or size[0] < len(answer) or new or new_size:
            return -1
        ctypes.memmove(held, answer, len(answer))
        size[0] = len(answer)
        return 0

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(sysctlbyname=sysctlbyname))
    assert processes._boot_session() == "5B1C3A9E-0000-4E4D-9B1B-0A1B2C3D4E5F"


@pytest.mark.usefixtures("no_proc", "no_psutil")
def test_without_proc_and_psutil_a_run_is_given_up_when_its_lease_is_over_and_not_before():
    leases = Leases(60.0)
    heartbeat = Heartbeat("run", True, *processes.identity(), at=1)
    assert leases.reason_to_abandon("run", heartbeat, 0.0) is None
    assert leases.reason_to_abandon("run", heartbeat, 59.0) is None
    assert "no sign of life for 60 s" in str(leases.reason_to_abandon("run", heartbeat, 60.0))


def test_without_prctl_what_needs_it_does_nothing(monkeypatch):
    monkeypatch.setattr(processes, "_prctl", None)
    processes.adopt_orphans()
    processes.die_with_parent()


def test_off_linux_nothing_is_marked(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    run_marks.put(1)
    assert run_marks.of_process() is None
    monkeypatch.undo()
    assert run_marks.of_process() is None


def test_without_proc_a_large_log_is_told_with_what_to_look_for(tmp_path):
    database = tmp_path / "tasks.db"
    with Path(f"{database}-wal").open("wb") as log:
        log.truncate(doctor.LARGE)
    (said,) = doctor.log_findings(database, tmp_path / "none")
    assert "Look for a stopped tui-tasks" in said


@pytest.mark.usefixtures("no_proc", "no_psutil")
def test_a_group_is_ended_where_nothing_else_is_known(monkeypatch):
    monkeypatch.setattr(processes, "_prctl", None)
    command = Started(["sleep", "600"], start_new_session=True)
    processes.send_group(command.pid, signal.SIGKILL)
    assert command.wait(DEADLINE) == -signal.SIGKILL


def test_the_drives_own_memory_is_flushed_where_fsync_does_not(tmp_path, path, monkeypatch):
    Store(str(path)).close()
    asked: list[int] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda handle, command: asked.append(command))
    monkeypatch.setattr(os, "fsync", lambda handle: pytest.fail("fsync alone"))
    file_writes.sync_folder(str(tmp_path))
    assert asked == [51]
    replace(tmp_path / "config.toml", b"")
    assert asked == [51] * 3, "the file and its folder"
    reader = partial(Database, str(path), read_only=True)
    Export(tmp_path / "log.md", str(path), reader, MARKDOWN, UTC).run(lambda done: None, threading.Event())
    assert asked == [51] * 4
    monkeypatch.undo()
    with Store(str(path)) as store:
        assert [store.db.scalar(f"PRAGMA {name}") for name in ("fullfsync", "checkpoint_fullfsync")] == [1, 1]
