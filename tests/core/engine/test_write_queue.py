"""Writers go in turn: who has waited long is let by, whoever else comes; a stopped or dead one holds up nobody."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from tests.started import DEADLINE, Started
from tui_tasks.core.engine.driver import connect
from tui_tasks.core.engine.write_queue import WriteQueue
from tui_tasks.core.errors import Busy
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.core.store import Store

LIMIT = 5.0
NOW = 1_767_352_934_000_000


class Slept(Exception):
    """Somebody had to wait."""


class Clock:
    """Goes on as somebody sleeps, or when it is told to."""

    def __init__(self) -> None:
        self.now = 10_000_000
        self.is_alarm = False

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1_000_000)
        if self.is_alarm:
            raise Slept

    def waits(self, what: Callable[[], object]) -> bool:
        """Whether somebody sleeps in it."""
        self.is_alarm = True
        try:
            what()
        except Slept:
            return True
        finally:
            self.is_alarm = False
        return False

    def has_to_wait(self, comer: WriteQueue) -> bool:
        """Whether one that comes now gives way."""
        return self.waits(lambda: comer.begin_write(lambda _: None))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def turns(tmp_path, clock):
    """Make the turns of one more connection to the database of that name."""
    made = []

    def at(name: str = "tasks.db") -> WriteQueue:
        (tmp_path / name).touch()
        made.append(WriteQueue(str(tmp_path / name), LIMIT, clock, clock.sleep))
        return made[-1]

    yield at
    for one in made:
        one.close()


def while_it_waits(waiter: WriteQueue, clock: Clock, milliseconds: int, then: Callable[[], object]) -> None:
    """Do something when a waiter has waited for so long; then it goes in."""

    def begin(_: str) -> None:
        assert waiter.wait(0)
        clock.now += milliseconds * 1_000
        then()

    waiter.begin_write(begin)


@pytest.mark.parametrize(
    ("milliseconds", "gives_way"),
    [
        pytest.param(10, False, id="for a moment only"),
        pytest.param(100, True, id="long"),
        pytest.param(2_000, True, id="very long"),
        pytest.param(2_600, False, id="so long that it may be stopped"),
    ],
)
def test_one_that_comes_gives_way_to_one_that_has_earlier_waiter(turns, clock, milliseconds, gives_way):
    waiter, comer, seen = turns(), turns(), []
    while_it_waits(waiter, clock, milliseconds, lambda: seen.append(clock.has_to_wait(comer)))
    assert seen == [gives_way]
    assert not clock.has_to_wait(comer), "the other has gone in"


def test_those_who_have_waited_long_go_in_the_order_in_which_they_came(turns, clock):
    first, second, slept = turns(), turns(), []

    def second_begins(_: str) -> None:
        assert second.wait(0)
        clock.now += 100_000
        began = clock.now
        assert first.wait(1), "it may ask again at once"
        assert clock.now - began < 1_000
        assert second.wait(1)
        slept.append(clock.now - began)

    while_it_waits(first, clock, 1, lambda: second.begin_write(second_begins))
    assert 2_300_000 < slept[0] < 2_500_000, "until the first may be stopped"


def test_whether_one_had_to_wait_is_told(turns, clock):
    waiter, comer, seen = turns(), turns(), []
    assert not comer.begin_write(lambda _: None)
    assert waiter.begin_write(lambda _: waiter.wait(0))
    while_it_waits(waiter, clock, 100, lambda: seen.append(comer.begin_write(lambda _: None)))
    assert seen == [True], "it let the other go first, and the lock was free then"
    assert not comer.begin_write(lambda _: None)


def test_a_waiter_at_another_database_of_the_folder_is_nothing_to_it(turns, clock):
    waiter, comer, seen = turns("other.db"), turns("tasks.db"), []
    while_it_waits(waiter, clock, 100, lambda: seen.append(clock.has_to_wait(comer)))
    assert seen == [False]


def test_a_waiter_that_came_by_a_link_is_seen(turns, clock, tmp_path):
    comer, seen = turns(), []
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "linked.db").symlink_to(tmp_path / "tasks.db")
    waiter = turns("away/linked.db")
    while_it_waits(waiter, clock, 100, lambda: seen.append(clock.has_to_wait(comer)))
    assert seen == [True]


def test_one_that_is_killed_as_it_waits_holds_up_nobody(turns, clock, tmp_path):
    comer = turns()
    waiting = (
        "import sys; from tui_tasks.core.engine.write_queue import WriteQueue\n"
        f"turns = WriteQueue({str(tmp_path / 'tasks.db')!r}, 5.0, lambda: {clock.now}, lambda seconds: None)\n"
        "turns.begin_write(lambda _: (turns.wait(0), print('waits', flush=True), sys.stdin.read()))\n"
    )
    with Started([sys.executable, "-c", waiting], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waiter:
        assert waiter.stdout.readline() == b"waits\n"
        clock.now += 100_000
        assert clock.has_to_wait(comer)
        os.kill(waiter.pid, signal.SIGKILL)
        waiter.wait()
    assert not clock.has_to_wait(comer)


def test_a_commit_gives_way_to_one_that_has_earlier_waiter_long(tmp_path):
    path = str(tmp_path / "tasks.db")
    Store(path).close()
    order: list[str] = []

    is_open, may_commit = threading.Event(), threading.Event()

    def commit() -> None:
        with Store(path) as store:
            is_open.set()
            may_commit.wait()
            store.commit(EnsureList("tasklist", "tasklist"), actor="agent", now=NOW)
            order.append("comer")

    def long_ago() -> int:
        return time.monotonic_ns() // 1000 - 100_000

    waiter, comer = WriteQueue(path, LIMIT, long_ago, lambda _: None), threading.Thread(target=commit, daemon=True)

    def begin(_: str) -> None:
        waiter.wait(0)
        may_commit.set()
        while not waiter._has_earlier_waiter(long_ago() + 100_000, long_ago() + 100_000):
            assert comer.is_alive(), "it did not wait"
        order.append("waiter")

    comer.start()
    assert is_open.wait(DEADLINE)
    waiter.begin_write(begin)
    comer.join()
    waiter.close()
    assert order == ["waiter", "comer"]


def test_a_lock_that_is_held_on_is_told_as_busy_and_leaves_the_lock_file_alone(tmp_path, monkeypatch):
    for module in ("database", "write_queue"):
        monkeypatch.setattr(f"tui_tasks.core.engine.{module}.BUSY_SECONDS", 0.2)
    path = tmp_path / "tasks.db"
    with Store(str(path)) as store:
        holder = connect(path)
        holder.execute("BEGIN IMMEDIATE")
        for _ in range(2):
            with pytest.raises(Busy) as refused:
                store.commit(EnsureList("tasklist", "tasklist"), actor="agent", now=NOW)
            assert refused.value.data["retryable"]
        holder.close()
        store.commit(EnsureList("tasklist", "tasklist"), actor="agent", now=NOW)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["tasks.db", "tasks.db-lock"]


ANOTHERS_LOCK = """
import fcntl, os, struct, sys
os.setuid(65534)
for name in (".", "tasks.db-lock"):
    try:
        handle = os.open(name, os.O_RDONLY)
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
    except OSError as error:
        print(error.strerror, end=" ", flush=True)
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_who_locks_what_they_can_holds_up_nobody(tmp_path, clock):
    tmp_path.chmod(0o755)
    path = tmp_path / "tasks.db"
    Store(str(path)).close()
    # From within the folder: those above it need not let anybody through.
    command, pipes = [sys.executable, "-c", ANOTHERS_LOCK], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with Started(command, cwd=tmp_path, **pipes) as other:
        assert other.stdout.readline() == b"Permission denied \n"
        comer = WriteQueue(str(path), LIMIT, clock, clock.sleep)
        assert not clock.has_to_wait(comer)
        comer.close()


@pytest.mark.parametrize("what", ["others can open", "a link", "a pipe"])
def test_a_lock_file_that_is_not_the_users_own_is_not_used_and_commits_are_made_without(tmp_path, what):
    path, lock = tmp_path / "tasks.db", tmp_path / "tasks.db-lock"
    if what == "others can open":
        lock.touch()
        lock.chmod(0o644)
    elif what == "a link":
        lock.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(lock, 0o600)
    with pytest.raises(OSError):
        WriteQueue(str(path), LIMIT)
    with Store(str(path)) as store:
        store.commit(EnsureList("tasklist", "tasklist"), actor="agent", now=NOW)
    assert not (tmp_path / "elsewhere").exists()
