"""A backup is put in the place of the database while programs have it open: each goes on with what is there now."""

from __future__ import annotations

import asyncio
import json
import queue
import shutil
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import SECOND, START, Talk
from tests.core.engine.databases import put_in_place
from tests.core.engine.test_watch import finds_commit_by_notice
from tests.started import DEADLINE, until
from tui_tasks.cli.supervise import history_text
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.commit_watch import Watch
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import StorageFailed
from tui_tasks.core.maintenance import backup
from tui_tasks.core.maintenance.compaction_steps import compact
from tui_tasks.core.operations.asks import AnswerAsk
from tui_tasks.core.operations.tasks import AddTask, ClaimNext, EditTask, EnsureList, ReleaseClaim
from tui_tasks.core.read import ask_queries
from tui_tasks.core.read.overview import StateChanges
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.tui.state.database_link import DatabaseLink


@pytest.fixture
def filled(store: Store) -> list[str]:
    """The uids of ten tasks."""
    (home,) = store.commit(EnsureList("task", "task"), actor="a", now=START)
    return [
        store.commit(AddTask(f"task {number}", home.uid), actor="a", now=START + number)[0].uid for number in range(10)
    ]


def _backup(store: Store) -> Path:
    copy = Path(store.path).with_name("copy.db")
    backup.backup(store.db, copy)
    return copy


def _rename(store: Store, uid: str, name: str) -> None:
    store.commit(EditTask(uid, {"name": name}), actor="b", now=START + SECOND)


def test_a_watch_tells_of_it_and_of_commits_there_even_in_another_folder(store, path, filled, monkeypatch):
    monkeypatch.setattr("tui_tasks.core.engine.commit_watch.SAFETY_NET", 3600.0)
    watch = Watch(store.db)
    assert not watch.changed(time.monotonic())
    copy = shutil.move(_backup(store), path.parent.with_name("copy.db"))
    shutil.rmtree(path.parent)
    assert not watch.changed(time.monotonic())
    assert watch.is_lost
    path.parent.mkdir()
    shutil.move(copy, path)
    assert watch.changed(time.monotonic())
    assert not watch.is_lost
    with Store(str(path)) as other:
        _rename(other, filled[0], "changed there")
        assert finds_commit_by_notice(watch)
    watch.close()


def test_a_database_that_is_opened_anew_since_a_write_has_failed_is_no_other(store, filled, monkeypatch):
    watch = Watch(store.db)
    assert not watch.changed(time.monotonic())
    for _ in range(3):
        with pytest.raises(sqlite3.IntegrityError), store.db.transaction(write=True):
            store.db.sql("INSERT INTO journal (seq) VALUES (1)")
        # Whoever tries again for each change would have no rest.
        assert not watch.changed(time.monotonic())
    watch.close()


def test_a_watch_may_begin_while_the_file_is_gone(store, path, filled):
    away = path.rename(path.with_name("away"))
    watch = Watch(store.db)
    assert watch.is_lost
    assert not watch.changed(time.monotonic())
    away.rename(path)
    assert watch.changed(time.monotonic())
    assert not watch.is_lost
    watch.close()


def test_a_question_that_waits_is_answered_there(talk: Talk, store, path):
    assert talk.session.answer([{"id": "q", "tool": "ask", "arguments": {"question": "Shall I?"}}]) == []
    put_in_place(_backup(store), path)
    with Store(str(path)) as human:
        human.commit(AnswerAsk(ask_queries.open_asks(human.db)[0].uid, "yes"), actor="human", now=START)
    assert [json.loads(line)["result"]["answer"] for line in talk.session.settle()] == ["yes"]


def test_a_subscriber_is_told_to_look_anew_and_of_what_is_written_there(talk: Talk, store, path, filled):
    copy = _backup(store)
    since = talk.ok("control:subscribe")["seq"]
    _rename(store, filled[0], "lost")
    assert [event["event"] for event in talk.events()] == ["task.updated"]
    put_in_place(copy, path)
    assert talk.events() == [{"event": "lagged", "since": since + 1}]
    with Store(str(path)) as other:
        _rename(other, filled[1], "there")
    assert [event["task"]["name"] for event in talk.events()] == ["there"]


def test_a_plain_monitor_tells_of_what_is_written_there(store, path, filled):
    copy, heard, monitors = _backup(store), queue.SimpleQueue(), []
    for number in range(5):
        _rename(store, filled[0], f"lost {number}")

    def follow() -> None:
        with Store(str(path), read_only=True) as opened:
            monitors.append(opened)
            for said in history_text.follow(opened, journal.newest(opened.db) - 1, heard.put):
                heard.put(said)
                if "the end" in said:
                    return

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    assert "lost 4" in heard.get(timeout=DEADLINE)
    before = monitors[0].db.file
    put_in_place(copy, path)
    until(lambda: monitors[0].db.file != before, "the look of another thread")
    with Store(str(path)) as other:
        _rename(other, filled[1], "the end")
    assert "the end" in heard.get(timeout=DEADLINE)
    thread.join()


def test_a_plain_monitor_says_once_that_the_file_is_gone(store, path, filled, monkeypatch):
    monkeypatch.setattr(history_text, "LOOK_AGAIN", 0.01)
    told: list[str] = []
    away = path.with_name("away")

    def failed(failure: StorageFailed) -> None:
        told.append(failure.message)
        away.rename(path)
        _rename(store, filled[0], "back")

    path.rename(away)
    said = history_text.follow(store, journal.newest(store.db), failed)
    assert "back" in next(said)
    assert told == [f"{path} is gone: put it back"]


def test_a_lease_that_stands_there_lapses(store, path, filled):
    (task, claim) = store.commit(ClaimNext("a", 5 * SECOND), actor="a", now=START)[0]
    copy = _backup(store)
    with Store(str(path)) as other:
        other.commit(ReleaseClaim("a", claim.uid), actor="a", now=START + SECOND)
    store.next_lapse()
    put_in_place(copy, path)
    with store.transaction(START + 100 * SECOND) as transaction:
        assert transaction.state_cache.next_lapse() == START + 5 * SECOND
    assert task_queries.task(store.db, task.uid).status == "in_progress"


class Told:
    """What a screen is told."""

    def __init__(self, path: Path) -> None:
        self.changes: list[StateChanges] = []
        self.bridge = DatabaseLink(str(path), read_only=True, clock=lambda: START)
        self.bridge.on_changes = self.changes.append


def test_a_screen_that_was_behind_when_entries_were_dropped_is_told_that_all_may_have_changed(store, path, filled):
    told = Told(path)
    _rename(store, filled[0], "changed")
    store.commit(EditTask(filled[1], {"name": "later"}), actor="b", now=START + 50 * SECOND)
    compact(store, START + 40 * SECOND, START + 60 * SECOND)
    told.bridge.catch_up()
    assert [(change.seq, change.all) for change in told.changes] == [(journal.newest(store.db), True)]
    told.bridge.stop()


def test_a_screen_that_looks_again_is_told_each_change_once(store, path, filled):
    async def looking() -> None:
        told = Told(path)
        copy = _backup(store)
        _rename(store, filled[0], "lost")
        told.bridge.catch_up()
        put_in_place(copy, path)
        told.bridge.catch_up()
        told.bridge.catch_up()
        with Store(str(path)) as other:
            _rename(other, filled[1], "there")
        told.bridge.catch_up()
        assert [(len(change.entries), change.all) for change in told.changes] == [(1, False), (0, True), (1, False)]
        told.bridge.stop()

    asyncio.run(looking())
