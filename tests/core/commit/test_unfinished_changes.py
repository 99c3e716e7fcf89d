"""The record of a change in steps, and the lock that shows whether its process lives."""

from __future__ import annotations

import fcntl
import stat
from pathlib import Path

import pytest

from tui_tasks.core.commit import unfinished_changes
from tui_tasks.core.commit.unfinished_changes import StepRecord, UnfinishedChange, recorded, take_lock
from tui_tasks.core.errors import Conflict, StorageFailed
from tui_tasks.core.store import Store


def record(store: Store, record_: StepRecord, **parts: int) -> None:
    with store.db.transaction(write=True):
        record_.record(parts)


def descriptors() -> int:
    """How many descriptors are open."""
    return len(list(Path("/dev/fd").iterdir()))


def test_each_part_is_recorded_once_under_one_lock_and_forgotten_together(store: Store, path: Path):
    steps = StepRecord(store.db)
    record(store, steps, a=3)
    record(store, steps, a=3, b=7)
    assert recorded(store.db) == [UnfinishedChange(7, "b", "3"), UnfinishedChange(3, "a", "3")]
    locks = list(path.parent.glob("*-step*"))
    assert [each.name for each in locks] == [f"{path.name}-step3"]
    assert stat.S_IMODE(locks[0].stat().st_mode) == 0o600
    with store.db.transaction(write=True):
        steps.forget()
    assert recorded(store.db) == []
    steps.release()
    assert not locks[0].exists()
    steps.release()


def test_the_lock_is_taken_while_its_process_holds_it_and_free_afterwards(store: Store):
    steps = StepRecord(store.db)
    record(store, steps, a=3)
    open_files = descriptors()
    assert take_lock(store.db, "3") is None
    assert descriptors() == open_files
    other = take_lock(store.db, "4")
    assert other is not None
    other.release()
    steps.release()
    lock = take_lock(store.db, "3")
    assert lock is not None
    Path(f"{store.path}-step3").unlink()
    lock.release()
    assert descriptors() == open_files - 1


def test_where_the_file_system_has_no_locks_a_change_counts_as_interrupted(store: Store, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    lock = take_lock(store.db, "3")
    assert lock is not None
    lock.release()


def test_a_change_whose_lock_cannot_be_made_is_refused_and_may_be_tried_again(store: Store):
    Path(f"{store.path}-step3").mkdir()
    with pytest.raises(StorageFailed, match="-step3 cannot be made: Is a directory") as refused:
        record(store, StepRecord(store.db), a=3)
    assert refused.value.data["retryable"]
    assert recorded(store.db) == []


def test_a_link_in_the_place_of_a_lock_is_not_followed(store: Store, tmp_path: Path):
    target = tmp_path / "target"
    Path(f"{store.path}-step3").symlink_to(target)
    with pytest.raises(StorageFailed):
        take_lock(store.db, "3")
    assert not target.exists()


def test_a_name_that_another_machine_gave_makes_no_lock_elsewhere(store: Store, path: Path):
    lock = take_lock(store.db, "3/../../other@host")
    assert lock is not None
    assert [each.name for each in path.parent.glob("*-step*")] == [f"{path.name}-step3"]
    lock.release()


def test_the_record_of_one_interrupted_change_is_deleted_alone(store: Store):
    steps = StepRecord(store.db)
    record(store, steps, a=3, b=7)
    with store.db.transaction(write=True):
        unfinished_changes.forget(store.db, UnfinishedChange(3, "a", "3"))
    assert [each.change for each in recorded(store.db)] == [7]
    steps.release()


def test_a_record_that_was_taken_over_is_forgotten_by_its_new_holder_alone(store: Store, monkeypatch):
    monkeypatch.setattr(store.db, "machine", "gone")
    steps = StepRecord(store.db)
    record(store, steps, a=3)
    monkeypatch.setattr(store.db, "machine", "here")
    with store.db.transaction(write=True):
        assert (unfinished_changes.take_over(store.db, "other"), unfinished_changes.take_over(store.db, "gone")) == (
            0,
            1,
        )
        steps.forget()
        assert recorded(store.db) == [UnfinishedChange(3, "a", "3@here")]
        assert [recorded(store.db)[0].is_of(machine) for machine in ("here", "gone", "")] == [True, False, True]
        with pytest.raises(Conflict, match="another machine has undone this change"):
            steps.refuse_if_undone()
    steps.release()
