"""Compaction drops old entries of the journal; what stays is still proved, and still gives the same tables."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SECOND, START, Clock
from tests.core.job_steps import Jobs
from tests.entries import all_entries
from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.engine.driver import connect
from tui_tasks.core.errors import Conflict, CursorExpired, DatabaseRefused, Forbidden, StorageFailed
from tui_tasks.core.maintenance import compaction_steps as copying
from tui_tasks.core.maintenance import database_findings
from tui_tasks.core.maintenance.compaction_steps import compacting
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations import CompactJournal, Redo, Undo
from tui_tasks.core.operations.jobs import RunJob
from tui_tasks.core.operations.tasks import AddTask, ClaimNext, DeleteTask, EditTask, EnsureList, LogTask
from tui_tasks.core.read.tasks import task_queries, task_search
from tui_tasks.core.schema.tables import STATE
from tui_tasks.core.store import Store
from tui_tasks.core.unjournaled import run_output


def _work(store: Store, begin: int, tasks: int = 10) -> list[str]:
    """Some changes, a second apart; four entries a task and more."""
    home = task_queries.find_list(store.db, "task")
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
        assert list(database_findings.findings(store.db)) == []


def _tables(store: Store) -> dict[str, list]:
    return {name: store.db.sql(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in STATE}


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
    assert list(database_findings.findings(store.db)) == []


def test_the_entries_that_stay_follow_from_the_last_that_was_dropped(store: Store, path: Path) -> None:
    _work(store, 0)
    before = {entry.seq: entry for entry in all_entries(store.db)}
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
        raw = connect(copy)
        raw.execute(change)
        raw.close()
        with Store(str(copy)) as altered:
            assert list(database_findings.findings(altered.db)), change


@pytest.mark.parametrize("steps", range(0, 36, 7))
def test_one_that_was_broken_off_is_sound_and_the_same_again_goes_on(store: Store, steps: int) -> None:
    _work(store, 0)
    begun = compacting(store, START + 8 * SECOND, START + 99 * SECOND, most=3)
    taken = sum(1 for _ in zip(range(steps), begun, strict=False))
    begun.close()
    assert (taken < steps) is (steps == 35), "it has ended at the last of them alone"
    assert list(database_findings.findings(store.db)) == []
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
        home = task_queries.find_list(other.db, "task")
        assert home is not None
        number = 0
        for number, _ in enumerate(compacting(store, START + 8 * SECOND, START + 99 * SECOND, most=3)):
            (task,) = other.commit(AddTask(f"meanwhile {number}", home.uid), actor="b", now=START + 99 * SECOND)
            other.commit(EditTask(task.uid, {"status": "done"}), actor="b", now=START + 99 * SECOND)
            assert list(database_findings.findings(other.db)) == []
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
    for table in STATE:
        store.db.sql(f"DROP TABLE {found.copy}_{table}")
        store.db.sql(f"CREATE TABLE base_{table} AS SELECT * FROM {table}")
    assert compaction.base(store.db) == found._replace(tables=found.seq, copy="base")
    assert _again(store) == _tables(store)
    _work(store, 20)
    assert list(database_findings.findings(store.db)) == []
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
    assert task_queries.task(store.db, made[0]).name == "changed by 9"


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
        store.commit(CompactJournal(START + 5 * SECOND, 9, ""), actor="agent", now=START + 20 * SECOND)
    with pytest.raises(Conflict, match="nothing was dropped"):
        _compact(store, 0, 20)
    _compact(store, 5)
    with pytest.raises(Conflict, match="nothing was dropped"):
        _compact(store, 5)
    assert journal.newest(store.db) == before + 1


def test_a_request_is_kept_whole(store: Store) -> None:
    home = task_queries.find_list(store.db, "task")
    assert home is not None
    _work(store, 0, 2)
    with store.transaction(START + 90 * SECOND) as tx, tx.change():
        tx.speak("agent")
        tx.run(AddTask("one", home.uid))
        tx.now += 10 * SECOND
        tx.run(AddTask("two", home.uid))
    _compact(store, 95, 200_000)
    assert [entry.new["name"] for entry in all_entries(store.db) if entry.entity == "task"] == ["one", "two"]


def _add_at(store: Store, *instants: int) -> None:
    home = task_queries.find_list(store.db, "task")
    assert home is not None
    for at in instants:
        store.commit(AddTask("task", home.uid), actor="agent", now=START + at * SECOND)


def test_a_clock_that_was_behind_once_drops_nothing_that_is_new(store: Store) -> None:
    """What stands before an entry is no newer than it; what stands behind it may be older by its clock alone."""
    _add_at(store, *range(100, 120), -9_999, *range(120, 140))
    newest = journal.newest(store.db)
    assert compaction.older_than(store.db, START, START + 200 * SECOND) == 0
    with pytest.raises(Conflict, match="nothing was dropped"):
        _compact(store, 0, 200)
    assert (journal.oldest(store.db), journal.newest(store.db)) == (1, newest)


def test_a_clock_that_was_ahead_once_keeps_nothing_that_is_old(store: Store) -> None:
    _add_at(store, *range(10), 999_999, *range(10, 20), *range(100, 105))
    first_new = next(entry.seq for entry in all_entries(store.db) if entry.at == START + 100 * SECOND)
    assert compaction.older_than(store.db, START + 50 * SECOND, START + 200 * SECOND) == first_new - 1
    _compact(store, 50, 200)
    assert journal.oldest(store.db) == first_new
    assert _again(store) == _tables(store)


def test_what_was_made_last_by_a_clock_that_is_ahead_is_kept(store: Store) -> None:
    _add_at(store, *range(10), 999_999)
    last = journal.newest(store.db)
    _compact(store, 50, 200)
    assert journal.oldest(store.db) == last


@settings(max_examples=80)
@given(st.lists(st.sampled_from([-50, 0, 10, 90, 100, 110, 999]), max_size=12), st.integers(1, 4))
def test_no_entry_from_after_the_bound_is_ever_dropped(instants: list[int], page: int) -> None:
    with Store(":memory:") as store, pytest.MonkeyPatch.context() as patched:
        patched.setattr(compaction, "_PAGE", page)
        (home,) = store.commit(EnsureList("mine", "task"), actor="agent", now=START)
        for at in instants:
            store.commit(AddTask("task", home.uid), actor="agent", now=START + at * SECOND)
        last = compaction.last_old(store.db, START + 100 * SECOND, START + 200 * SECOND)
        made = {entry.seq: (entry.at - START) // SECOND for entry in all_entries(store.db)}
        assert not any(100 <= at <= 200 for seq, at in made.items() if seq <= last)
        assert last == 0 or made[last] < 100
        following = [seq for seq in made if seq > last and made[seq] < 100]
        assert not following or any(100 <= at <= 200 for seq, at in made.items() if seq < following[0])


def test_from_inside_a_run_nothing_is_compacted(store: Store) -> None:
    _work(store, 0)
    with pytest.raises(Forbidden, match="S1"), store.transaction(START + 99 * SECOND) as tx, tx.change():
        tx.speak("human", inside_run=True)
        tx.run(CompactJournal(START + 5 * SECOND, 9, ""))


def test_nothing_is_dropped_that_is_not_in_the_tables_that_were_copied(store: Store) -> None:
    _work(store, 0)
    with copying.aside(store.db):
        tables = copying.set_aside(store.db)
        steps = copying.copy_tables(store.db, tables, 100)
        while True:
            try:
                next(steps)
            except StopIteration as ended:
                copy = ended.value
                break
    _work(store, 20)
    with pytest.raises(Conflict, match="the tables were copied before that"):
        store.commit(CompactJournal(START + 99 * SECOND, tables + 1, copy), actor="human", now=START + 99 * SECOND)
    assert journal.oldest(store.db) == 1
    dropped = store.commit(CompactJournal(START + 99 * SECOND, tables, copy), actor="human", now=START + 99 * SECOND)
    assert dropped == [tables]


def test_the_output_of_a_run_goes_with_the_entry_that_tells_of_its_end(store: Store) -> None:
    clock = Clock()
    jobs = Jobs(store, clock)
    job = jobs.make("by hand", "adhoc", dedicated_context=True)
    runs = []
    for _ in range(2):
        clock.forward(10)
        run = jobs.commit(RunJob(job.uid), "agent")
        run_output.write_output(store.db, run.uid, [(0, b"said")], 4)
        jobs.ran(run.uid)
        runs.append(run.uid)
    clock.forward(-99_999)
    last = jobs.commit(RunJob(job.uid), "agent")
    run_output.write_output(store.db, last.uid, [(0, b"said")], 4)
    jobs.ran(last.uid)
    _compact(store, 15)
    assert [run_output.read_output(store.db, uid).text for uid in (*runs, last.uid)] == ["", "said", "said"]


def test_words_are_found_though_the_index_missed_what_was_compacted(store: Store, monkeypatch) -> None:
    monkeypatch.setattr(task_search, "WORTH_IT", 1)
    _work(store, 0, 3)
    while task_search.catch_up_index(store.db):
        pass
    _work(store, 10, 3)
    _compact(store, 50)
    assert task_search.narrowed(store.db, ["task 11"]) is None
    while task_search.catch_up_index(store.db):
        pass
    home = task_queries.find_list(store.db, "task")
    assert home is not None
    assert task_search.narrowed(store.db, ["task 11"]) is not None
    assert task_search.tasks(store.db, home.id, query="task 11")[1] == 1


def test_the_last_change_that_was_dropped_cannot_be_taken_back_either(store: Store) -> None:
    _add_at(store, *range(10))
    _compact(store, 5)
    base = compaction.base(store.db)
    assert base is not None
    with pytest.raises(Conflict, match="compacted away"):
        store.commit(Undo(base.last), actor="human", now=START + 30 * SECOND)
    store.commit(Undo(base.last + 1), actor="human", now=START + 30 * SECOND)
