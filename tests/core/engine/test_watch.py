"""Commits of others are noticed by what the kernel tells, wherever the database is named from."""

import select
import time
from types import SimpleNamespace

import pytest

from tests import kqueues
from tests.started import DEADLINE
from tui_tasks.core.engine import commit_watch as watching
from tui_tasks.core.engine.commit_watch import LADDER, Watch
from tui_tasks.core.operations.tasks import EnsureList
from tui_tasks.core.store import Store


@pytest.fixture(autouse=True, params=["inotify", "kqueue"])
def kernel(request, monkeypatch):
    """What the kernel tells by: the one that is there, or the other's stand-in."""
    if request.param == "inotify" and not hasattr(select, "epoll"):
        pytest.skip("inotify is Linux's own")
    if request.param == "kqueue" and not hasattr(select, "kqueue"):
        kqueues.provide(monkeypatch)
        monkeypatch.setattr(watching, "sys", SimpleNamespace(platform="darwin"))
    return request.param


def finds_commit_by_notice(watch: Watch, seconds: float = DEADLINE) -> bool:
    """Whether the watch finds a commit at one of the looks that the kernel's word brings about."""
    poll = select.poll()
    poll.register(watch.fd, select.POLLIN)
    while poll.poll(seconds * 1000):
        watch.arm(time.monotonic())
        while (wait := watch.wait(time.monotonic())) < seconds:
            poll.poll(wait * 1000)
            if watch.changed(time.monotonic()):
                return True
    return False


def test_the_kernel_is_asked_to_tell_once_somebody_wants_to_know_and_nothing_falls_between(tmp_path, monkeypatch):
    monkeypatch.setattr("tui_tasks.core.engine.commit_watch.SAFETY_NET", 3600.0)
    asked = []
    ask = watching._start_notifier
    monkeypatch.setattr(watching, "_start_notifier", lambda folder: (asked.append(folder), ask(folder))[1])
    with Store(str(tmp_path / "tasks.db")) as watched, Store(str(tmp_path / "tasks.db")) as other:
        watch = Watch(watched.db)
        other.commit(EnsureList("one", "task"), actor="agent", now=0)
        assert not asked
        assert watch.changed(time.monotonic())
        assert len(asked) == 1
        # Committed after the look that began it, and before anybody waits for `fd`.
        other.commit(EnsureList("two", "task"), actor="agent", now=0)
        assert finds_commit_by_notice(watch)
        watch.close()


def test_a_commit_that_was_written_before_the_kernel_was_asked_is_found_soon_after(tmp_path, monkeypatch):
    monkeypatch.setattr("tui_tasks.core.engine.commit_watch.SAFETY_NET", 3600.0)
    with Store(str(tmp_path / "tasks.db")) as watched, Store(str(tmp_path / "tasks.db")) as other:
        watch = Watch(watched.db)
        look, unseen = watch._look, [watch._look()]
        monkeypatch.setattr(watch, "_look", lambda: unseen.pop() if unseen else look())
        other.commit(EnsureList("one", "task"), actor="agent", now=0)
        assert not watch.changed(time.monotonic())
        wait = watch.wait(time.monotonic())
        assert wait < 1.0
        select.poll().poll(wait * 1000)
        assert watch.changed(time.monotonic())
        watch.close()


def test_a_commit_is_noticed_through_a_link_to_the_database(tmp_path, monkeypatch):
    monkeypatch.setattr("tui_tasks.core.engine.commit_watch.SAFETY_NET", 3600.0)
    file = tmp_path / "there" / "tasks.db"
    Store(str(file)).close()
    link = tmp_path / "here.db"
    link.symlink_to(file)
    for name in (file, link):
        with Store(str(name)) as watched, Store(str(name)) as other:
            watch = Watch(watched.db)
            assert not watch.changed(time.monotonic())
            other.commit(EnsureList(name.name, "task"), actor="agent", now=0)
            assert finds_commit_by_notice(watch), name
            watch.close()


def test_a_log_that_is_made_anew_is_watched_in_place_of_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr("tui_tasks.core.engine.commit_watch.SAFETY_NET", 3600.0)
    file = tmp_path / "tasks.db"
    log = tmp_path / "tasks.db-wal"
    with Store(str(file)) as watched:
        watch = Watch(watched.db)
        assert not watch.changed(time.monotonic())
        for _ in range(2):
            log.unlink(missing_ok=True)
            log.write_bytes(b"")
            assert has_events(watch)
            with log.open("ab") as written:
                written.write(b"more")
                written.flush()
                assert has_events(watch), "of a file that stays open"
        watch.close()


def has_events(watch: Watch) -> bool:
    """Read all events of the kernel; return whether there were any."""
    poll = select.poll()
    poll.register(watch.fd, select.POLLIN)
    if not poll.poll(DEADLINE * 1000):
        return False
    watch._looks_due.clear()
    watch.arm(time.monotonic())
    return watch._looks_due != []


def hear(watch: Watch, now: float) -> None:
    """Take what the kernel tells as if it were `now`."""
    poll = select.poll()
    poll.register(watch.fd, select.POLLIN)
    assert poll.poll(DEADLINE * 1000)
    watch.arm(now)


def test_a_write_is_looked_after_soon_and_one_that_never_ends_does_not_put_off_the_look(tmp_path):
    with Store(str(tmp_path / "tasks.db")) as watched, Store(str(tmp_path / "tasks.db")) as other:
        watch = Watch(watched.db)
        assert not watch.changed(100.0)
        assert not watch.is_due(100.0)
        for at in (100.0, 100.00006):
            other.commit(EnsureList(str(at), "task"), actor="agent", now=0)
            hear(watch, at)
            assert watch.looks_soon(at)
        assert watch.is_due(100.0 + LADDER[0])
        watch.close()


def test_once_a_commit_is_found_it_is_not_looked_for_again_and_again(tmp_path):
    with Store(str(tmp_path / "tasks.db")) as watched, Store(str(tmp_path / "tasks.db")) as other:
        watch = Watch(watched.db)
        assert not watch.changed(100.0)
        other.commit(EnsureList("one", "task"), actor="agent", now=0)
        hear(watch, 100.0)
        assert watch.changed(100.001)
        assert not watch.looks_soon(100.001)
        assert watch.wait(100.001) == pytest.approx(LADDER[-2] - 0.001)
        watch.close()
