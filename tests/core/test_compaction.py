"""Compaction drops old entries of the journal; what stays is still proved, and still gives the same tables."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pysqlite3
import pytest

from tests.conftest import SECOND, START
from tui_tasks.core import backup, compaction, copying, journal, kept, models, queries, queries_board, search
from tui_tasks.core.compacting import compacting
from tui_tasks.core.errors import Conflict, CursorExpired, DatabaseRefused, Forbidden, StorageFailed
from tui_tasks.core.operations import AddTask, ClaimNext, CompactJournal, DeleteTask, EditTask, LogTask, Redo, Undo
from tui_tasks.core.store import Store, replay


def _work(store: Store, begin: int, tasks: int = 10) -> list[str]:
    """Some changes, a second apart; four entries a task and more."""
    home = queries.find_list(store.db, "task")
    assert home is not None
    made = []
    for number in range(begin, begin + tasks):
        at = START + number * SECOND
        (task,) = store.commit(AddTask(f"Task {number} \0 ß", home.uid, tags=("a",)), actor="agent", now=at)
        made.append(task.uid)
        store.commit(
            LogTask(task.uid, "begun"), EditTask(task.uid, {"status": "done", "result": [1]}), actor="b", now=at
        )
        store.commit(EditTask(made[0], {"name": f"changed by {number}"}), actor="agent", now=at)
    store.commit(DeleteTask(made[-1]), actor="human", now=START + (begin + tasks) * SECOND)
    return made


def _compact(store: Store, before: int, now: int = 10_000) -> None:
    for _ in compacting(store, START + before * SECOND, START + now * SECOND, most=3):
        assert list(backup.findings(store.db)) == []


def _tables(store: Store) -> dict[str, list]:
    return {name: store.db.sql(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in models.STATE}


def _again(store: Store) -> dict[str, list]:
    with Store(":memory:") as target:
        replay(store.db, target.db)
        return _tables(target)


def test_replaying_from_where_it_was_compacted_gives_the_same_tables(store: Store) -> None:
    _work(store, 0)
    _compact(store, 5)
    assert _again(store) == _tables(store)
    _work(store, 20)
    store.commit(ClaimNext(None, 60 * SECOND), actor="agent", now=START + 40 * SECOND)
    assert _again(store) == _tables(store)
    _compact(store, 25)
    _work(store, 50, 3)
    assert _again(store) == _tables(store)
    assert list(backup.findings(store.db)) == []


def test_the_entries_that_stay_follow_from_the_last_that_was_dropped(store: Store, path: Path) -> None:
    _work(store, 0)
    before = {entry.seq: entry for entry in journal.all_entries(store.db)}
    _compact(store, 5)
    found = compaction.base(store.db)
    assert found is not None
    assert journal.oldest(store.db) == found.last + 1
    assert before[journal.oldest(store.db)].at == START + 5 * SECOND
    assert before[found.last].at == START + 4 * SECOND
    (told,) = journal.latest(store.db, 1)
    assert (told.kind, told.actor) == ("journal.compacted", "human")
    store.close()
    first = found.last + 1
    for change in (
        f"UPDATE journal SET at = at + 1 WHERE seq = {first}",
        f"DELETE FROM journal WHERE seq = {first}",
        "UPDATE base SET hash = x'00'",
        "UPDATE base SET last = last + 1",
        "DROP TABLE base",
        f"UPDATE journal SET new = '{{}}' WHERE seq = {found.seq}",
    ):
        copy = path.with_name("copy.db")
        copy.write_bytes(path.read_bytes())
        raw = pysqlite3.connect(str(copy))
        raw.execute(change)
        raw.commit()
        raw.close()
        with Store(str(copy)) as altered:
            assert list(backup.findings(altered.db)), change


@pytest.mark.parametrize("steps", range(0, 200, 7))
def test_one_that_was_broken_off_is_sound_and_the_same_again_goes_on(store: Store, steps: int) -> None:
    _work(store, 0)
    begun = compacting(store, START + 8 * SECOND, START + 99 * SECOND, most=3)
    for _ in zip(range(steps), begun, strict=False):
        pass
    begun.close()
    assert list(backup.findings(store.db)) == []
    assert _again(store) == _tables(store)
    _work(store, 200, 1)
    assert _again(store) == _tables(store)
    # The same again, which has nothing to do where that one was done.
    with contextlib.suppress(Conflict):
        _compact(store, 8)
    assert [entry.at for entry in journal.since(store.db, journal.oldest(store.db) - 1, 1)] == [START + 8 * SECOND]
    assert not _left(store)
    assert _again(store) == _tables(store)


def _left(store: Store) -> list[str]:
    """The tables that are neither the state's nor of what was kept last."""
    base = compaction.base(store.db)
    found = store.db.sql("SELECT name FROM sqlite_master WHERE name GLOB 'base_*' OR name = 'copying'").fetchall()
    return [name for (name,) in found if base is None or not name.startswith(f"{base.copy}_")]


def test_others_write_between_its_steps_and_the_tables_can_still_be_made_again(store: Store, path: Path) -> None:
    _work(store, 0)
    with Store(str(path)) as other:
        home = queries.find_list(other.db, "task")
        assert home is not None
        number = 0
        for number, _ in enumerate(compacting(store, START + 8 * SECOND, START + 99 * SECOND, most=3)):
            (task,) = other.commit(AddTask(f"meanwhile {number}", home.uid), actor="b", now=START + 99 * SECOND)
            other.commit(EditTask(task.uid, {"status": "done"}), actor="b", now=START + 99 * SECOND)
            assert list(backup.findings(other.db)) == []
        assert number > 20
    assert _again(store) == _tables(store)
    base = compaction.base(store.db)
    assert base is not None
    assert base.last < base.tables < base.seq


def test_where_the_tables_cannot_be_copied_nothing_is_dropped_and_nothing_left(store, path, monkeypatch) -> None:
    _work(store, 0)
    before, there = journal.newest(store.db), sorted(path.parent.iterdir())

    def refuse(file: str) -> None:
        raise DatabaseRefused(f"cannot make {file}: no space left")

    monkeypatch.setattr(copying, "make_private", refuse)
    with pytest.raises(StorageFailed, match="no space left"):
        _compact(store, 5)
    assert (journal.oldest(store.db), journal.newest(store.db)) == (1, before)
    assert sorted(path.parent.iterdir()) == there


def test_where_the_disk_fills_up_while_they_are_copied_it_is_told_and_they_can_be_written_again(store) -> None:
    _work(store, 0)
    pages = store.db.scalar("PRAGMA page_count")
    store.db.sql(f"PRAGMA max_page_count = {pages + 3}")
    with pytest.raises(StorageFailed, match="full; nothing was written"):
        _compact(store, 5)
    assert journal.oldest(store.db) == 1
    store.db.sql("PRAGMA max_page_count = 100000")
    _compact(store, 5)
    assert not _left(store)
    assert _again(store) == _tables(store)


def test_of_two_at_once_the_later_one_wins_and_the_other_drops_nothing(store: Store, path: Path) -> None:
    _work(store, 0)
    with Store(str(path)) as other:
        first = compacting(store, START + 4 * SECOND, START + 99 * SECOND, most=3)
        for _ in range(9):
            next(first)
        second = compacting(other, START + 8 * SECOND, START + 99 * SECOND, most=3)
        for _ in range(9):
            next(second)
        with pytest.raises(Conflict, match="another compaction"):
            for _ in first:
                pass
        for _ in second:
            pass
    assert [entry.at for entry in journal.since(store.db, journal.oldest(store.db) - 1, 1)] == [START + 8 * SECOND]
    assert _again(store) == _tables(store)
    assert not _left(store)


def test_a_database_that_was_compacted_before_the_tables_were_kept_in_steps_goes_on(store: Store) -> None:
    _work(store, 0)
    _compact(store, 5)
    found = compaction.base(store.db)
    assert found is not None
    # As it was then: the tables as they were at the entry that tells of it.
    store.db.sql("CREATE TABLE base_then AS SELECT seq, last, hash FROM base")
    store.db.sql("DROP TABLE base")
    store.db.sql("ALTER TABLE base_then RENAME TO base")
    for table in models.STATE:
        store.db.sql(f"DROP TABLE {found.copy}_{table}")
        store.db.sql(f"CREATE TABLE base_{table} AS SELECT * FROM {table}")
    assert compaction.base(store.db) == found._replace(tables=found.seq, copy="base")
    assert _again(store) == _tables(store)
    _work(store, 20)
    assert list(backup.findings(store.db)) == []
    _compact(store, 25)
    assert _again(store) == _tables(store)
    assert not _left(store)


def test_what_was_compacted_cannot_be_taken_back_and_what_was_not_can(store: Store) -> None:
    made = _work(store, 0)
    first = journal.oldest(store.db)
    store.commit(Undo(), actor="agent", now=START + 20 * SECOND)
    _compact(store, 12)
    with pytest.raises(Conflict, match="compacted away"):
        store.commit(Undo(first), actor="human", now=START + 30 * SECOND)
    with pytest.raises(Conflict, match="no change to undo"):
        store.commit(Undo(), actor="b", now=START + 30 * SECOND)
    store.commit(Redo(), actor="agent", now=START + 30 * SECOND)
    assert queries.task(store.db, made[0]).name == "changed by 9"


def test_a_reader_from_before_is_told_where_the_journal_begins(store: Store) -> None:
    _work(store, 0)
    _compact(store, 5)
    oldest = journal.oldest(store.db)
    with pytest.raises(CursorExpired) as refused:
        journal.since(store.db, oldest - 2, 10)
    assert refused.value.data == {"oldest": oldest}
    assert journal.since(store.db, oldest - 1, 1)[0].seq == oldest


def test_only_the_human_compacts_and_nothing_is_dropped_where_nothing_is_old(store: Store) -> None:
    _work(store, 0)
    before = journal.newest(store.db)
    with pytest.raises(Forbidden):
        store.commit(CompactJournal(START + 5 * SECOND, ""), actor="agent", now=START + 20 * SECOND)
    with pytest.raises(Conflict, match="nothing was dropped"):
        _compact(store, 0, 20)
    _compact(store, 5)
    with pytest.raises(Conflict, match="nothing was dropped"):
        _compact(store, 5)
    assert journal.newest(store.db) == before + 1


def test_a_request_is_kept_whole_and_old_replies_are_forgotten(store: Store) -> None:
    home = queries.find_list(store.db, "task")
    assert home is not None
    _work(store, 0, 2)
    with store.transaction(START + 90 * SECOND) as tx, tx.change():
        tx.speak("agent")
        tx.run(AddTask("one", home.uid))
        tx.now += 10 * SECOND
        tx.run(AddTask("two", home.uid))
        kept.keep(store.db, "agent", "key", "f", "{}", START)
    _compact(store, 95, 200_000)
    assert [entry.new["name"] for entry in journal.all_entries(store.db) if entry.entity == "task"] == ["one", "two"]
    assert kept.find(store.db, "agent", "key") is None


def test_words_are_found_though_the_index_missed_what_was_compacted(store: Store, monkeypatch) -> None:
    monkeypatch.setattr(search, "WORTH_IT", 1)
    _work(store, 0, 3)
    while search.catch_up(store.db):
        pass
    _work(store, 10, 3)
    _compact(store, 50)
    assert search.narrowed(store.db, ["task 11"]) is None
    while search.catch_up(store.db):
        pass
    home = queries.find_list(store.db, "task")
    assert home is not None
    assert search.narrowed(store.db, ["task 11"]) is not None
    assert queries_board.tasks(store.db, home.id, query="task 11")[1] == 1
