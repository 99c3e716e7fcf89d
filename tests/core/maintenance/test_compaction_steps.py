"""Between the steps of a compaction others write, compact as well, restore a backup, or kill it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.conftest import SECOND, START
from tests.core.engine.databases import add, put_in_place
from tests.entries import all_entries
from tui_tasks.core.commit import compaction, journal
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import Conflict, Refusal
from tui_tasks.core.maintenance import backup, database_findings
from tui_tasks.core.maintenance.compaction_steps import compact, compacting
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store

ENTRIES = 60
NOW = START + 1_000 * SECOND


def _fill(store: Store, entries: int = ENTRIES) -> str:
    """One entry a second; the list."""
    (home,) = store.commit(EnsureList("task", "task"), actor="a", now=START)
    for number in range(entries):
        store.commit(AddTask(f"task {number}", home.uid), actor="a", now=START + number * SECOND)
    return str(home.uid)


def _to_drop(store: Store, before: int, most: int = 5) -> Generator[None, None, int]:
    return compacting(store, START + before * SECOND, NOW, most=most)


def _until(steps: Generator[None, None, int], reached: Callable[[], bool]) -> None:
    while not reached():
        next(steps)


def _to_the_end(steps: Generator[None, None, int]) -> int:
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return int(ended.value)


def _is_sound(store: Store) -> bool:
    return not [*database_findings.findings(store.db), *database_findings.differences(store.db)]


def _is_copying(store: Store) -> bool:
    return bool(store.db.scalar("SELECT count(*) FROM sqlite_master WHERE name = 'copying'"))


def test_one_that_was_broken_off_while_it_dropped_is_ended_by_the_same_again_and_all_is_counted(store: Store) -> None:
    _fill(store)
    steps = _to_drop(store, 40)
    _until(steps, lambda: journal.oldest(store.db) > 1)
    steps.close()
    dropped, to_go = journal.oldest(store.db) - 1, compaction.older_than(store.db, START + 40 * SECOND, NOW)
    assert compact(store, START + 40 * SECOND, NOW) == to_go
    assert journal.oldest(store.db) == dropped + to_go + 1
    assert _is_sound(store)
    with pytest.raises(Conflict, match="no entry of the journal is that old"):
        compact(store, START + 40 * SECOND, NOW)


def _copies(store: Store) -> set[str]:
    found = store.db.sql("SELECT name FROM sqlite_master WHERE name GLOB 'base_*'").fetchall()
    return {"_".join(name.split("_")[:2]) for (name,) in found}


def test_copies_that_one_left_behind_are_deleted_though_there_is_nothing_to_drop(store: Store) -> None:
    _fill(store)
    compact(store, START + 10 * SECOND, NOW)
    steps = _to_drop(store, 40)
    _until(steps, lambda: journal.oldest(store.db) > 40)
    steps.close()
    assert len(_copies(store)) == 2
    with pytest.raises(Conflict, match="no entry of the journal is that old"):
        compact(store, START + 40 * SECOND, NOW)
    base = compaction.base(store.db)
    assert base is not None
    assert _copies(store) == {base.copy}


def test_a_backup_that_is_put_in_its_place_while_entries_are_dropped_stays_whole(store: Store, path: Path) -> None:
    _fill(store)
    backup.backup(store.db, path.with_name("copy.db"))
    steps = _to_drop(store, 40)
    _until(steps, lambda: journal.oldest(store.db) > 1)
    put_in_place(path.with_name("copy.db"), path)
    _to_the_end(steps)
    with Store(str(path)) as restored:
        assert journal.oldest(restored.db) == 1
        assert _is_sound(restored)


@pytest.mark.parametrize("later", [0, 1, 7, 22, 100])
def test_a_backup_from_while_it_copied_that_is_put_in_its_place_is_not_taken_for_whole(
    store: Store, path: Path, later: int
) -> None:
    _fill(store)
    steps = _to_drop(store, 40)
    _until(steps, lambda: _is_copying(store))
    for _ in range(3):
        next(steps)
    backup.backup(store.db, path.with_name("copy.db"))
    for _ in range(later):
        if _is_copying(store):
            next(steps)
    is_decided = not _is_copying(store)
    put_in_place(path.with_name("copy.db"), path)
    if is_decided:
        _to_the_end(steps)
    else:
        with pytest.raises(Conflict, match="the database was replaced"):
            _to_the_end(steps)
    with Store(str(path)) as restored:
        assert journal.oldest(restored.db) == 1
        assert _is_sound(restored)
        compact(restored, START + 30 * SECOND, NOW)
        assert _is_sound(restored)
        assert not _is_copying(restored)


def test_at_whatever_step_the_file_is_replaced_it_ends_in_order_and_the_new_one_is_sound(tmp_path: Path) -> None:
    first = tmp_path / "first"
    with Store(str(first / "tasks.db")) as store:
        home = _fill(store, 30)
        backup.backup(store.db, first / "copy.db")
    for steps_before in range(45):
        path = shutil.copytree(first, tmp_path / str(steps_before)) / "tasks.db"
        with Store(str(path)) as store:
            steps = _to_drop(store, 20)
            for _ in zip(range(steps_before), steps, strict=False):
                pass
            put_in_place(path.with_name("copy.db"), path)
            if steps_before % 2:
                # The screen's writer does so between two steps.
                store.commit(AddTask("meanwhile", home), actor="human", now=NOW)
            with contextlib.suppress(Refusal):
                for _ in steps:
                    pass
            assert _is_sound(store)


def test_the_end_of_one_leaves_another_alone_that_has_begun(store: Store, path: Path) -> None:
    _fill(store)
    compact(store, START + 10 * SECOND, NOW)  # so that there is a base to be deleted
    with Store(str(path)) as other:
        first, second = _to_drop(store, 20), _to_drop(other, 40)
        _until(first, lambda: journal.oldest(store.db) > 11)
        _until(second, lambda: _is_copying(other))
        _to_the_end(first)
        _to_the_end(second)
        assert next(entry.at for entry in all_entries(other.db)) == START + 40 * SECOND
        assert _is_sound(other)


def test_nothing_of_a_change_is_taken_back_once_it_is_decided_that_it_goes(store: Store) -> None:
    home = _fill(store, 1)
    store.commit(*[AddTask(f"of many {number}", home) for number in range(30)], actor="b", now=START + SECOND)
    store.commit(AddTask("later", home), actor="a", now=START + 50 * SECOND)
    steps = _to_drop(store, 40)
    _until(steps, lambda: journal.oldest(store.db) > 10)
    change = journal.since(store.db, journal.oldest(store.db) - 1, 1)[0].change
    for undo in (Undo(), Undo(change)):
        with pytest.raises(Conflict, match="compacted away"):
            store.commit(undo, actor="b", now=NOW)
    assert task_queries.list_by_uid(store.db, home).total == 32


def test_it_goes_on_with_a_database_that_must_be_opened_anew(store: Store, path: Path) -> None:
    _fill(store)
    with pytest.raises(sqlite3.IntegrityError), store.db.transaction(write=True):
        store.db.sql("INSERT INTO journal (seq) VALUES (1)")
    compact(store, START + 10 * SECOND, NOW)
    backup.backup(store.db, path.with_name("copy.db"))
    put_in_place(path.with_name("copy.db"), path)
    compact(store, START + 20 * SECOND, NOW)
    assert next(entry.at for entry in all_entries(store.db)) == START + 20 * SECOND


def test_what_is_copied_aside_is_in_no_file_that_a_killed_process_would_leave(store: Store, path: Path) -> None:
    _fill(store)
    steps = _to_drop(store, 40)
    _until(steps, lambda: _is_copying(store))
    assert {file.name for file in path.parent.iterdir()} == {
        f"{path.name}{end}" for end in ("", "-wal", "-shm", "-lock")
    }


def test_a_database_in_memory_is_compacted_too() -> None:
    with Store(":memory:") as store:
        _fill(store)
        assert compact(store, START + 10 * SECOND, NOW) == 10
        add(store, "one more")
