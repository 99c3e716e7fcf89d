"""What a transaction does with the changes in it, whatever they are."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.conftest import START
from tui_tasks.clock import Uptime
from tui_tasks.core.commit import journal, unfinished_changes
from tui_tasks.core.commit import transaction as transactions
from tui_tasks.core.commit.database_clock import DatabaseClock
from tui_tasks.core.commit.state_cache import current_cache
from tui_tasks.core.commit.transaction import STEP_SECONDS, HalfWritten, PartlyDone, Transaction
from tui_tasks.core.engine import database
from tui_tasks.core.engine.driver import sqlite3
from tui_tasks.core.errors import NotFound, StorageFailed
from tui_tasks.core.operations.jobs import DefineChecks, NamedCheck, RecordSettings
from tui_tasks.core.operations.tasks import AddTask, DeleteTask, EditTask, EnsureList, LogTask
from tui_tasks.core.operations.work import StartWork
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.recorded_settings import ReviewPolicy
from tui_tasks.core.snapshots import Entry, Task, TaskList
from tui_tasks.core.store import Store, new_uids
from tui_tasks.core.vocab import SHELL, SYSTEM


def test_a_change_raises_a_version_once_and_again_after_a_pause_in_which_others_could_write(store: Store, monkeypatch):
    (home,) = store.commit(EnsureList("x", "task"), actor="a", now=START)
    (task,) = store.commit(AddTask("task", home.uid), actor="a", now=START)
    monkeypatch.setattr(transactions, "STEP_SECONDS", 0)
    with store.transaction(START, in_steps=True) as transaction, transaction.change():
        transaction.speak("a")
        transaction.run(EditTask(task.uid, {"name": "first"}))
        transaction.run(EditTask(task.uid, {"name": "second"}))
        assert task_queries.task(store.db, task.uid).version == task.version + 1
        transaction.pause()
        transaction.run(EditTask(task.uid, {"name": "third"}))
    assert task_queries.task(store.db, task.uid).version == task.version + 2


def entries(store: Store) -> list[Entry]:
    return journal.latest(store.db, 100)


@pytest.fixture
def home(store: Store) -> TaskList:
    return store.commit(EnsureList("x", "task"), actor="maker", now=START)[0]


@pytest.fixture
def beside(path: Path, store: Store):
    """Another process on the same database."""
    with Store(str(path)) as second:
        yield second


@pytest.mark.parametrize(
    ("actor", "is_person", "files"),
    [("a", True, True), ("human", False, False), ("system", False, False), (SHELL, True, False), (SHELL, False, True)],
)
def test_what_agents_file_is_for_review_and_what_a_shell_does_without_a_person(store: Store, actor, is_person, files):
    asked = []
    store.is_person = lambda db: (asked.append(db), is_person)[1]
    with store.transaction(START) as transaction:
        transaction.speak(actor)
        assert [transaction.files_for_review for _ in range(2)] == [files, files]
    assert len(asked) == (actor == SHELL)


def test_the_policy_for_review_is_the_recorded_one_or_that_of_the_settings_asked_once(store: Store):
    asked, configured = [], ReviewPolicy(lists=("mine",))
    store.review = lambda: (asked.append(1), configured)[1]
    with store.transaction(START) as transaction:
        assert transaction.review is transaction.review is configured
        assert asked == [1]
    store.commit(RecordSettings("a.toml", lists=("theirs",)), actor=SYSTEM, now=START)
    with store.transaction(START) as transaction:
        assert transaction.review.lists == ("theirs",)


def test_without_a_clock_of_the_database_the_time_of_day_is_what_has_passed(store: Store):
    with store.transaction(START) as transaction:
        assert transaction.database_now == START
    store.database_clock = DatabaseClock(lambda: Uptime("boot", 5))
    with store.transaction(START) as transaction:
        assert transaction.database_now == START
    with store.transaction(START + 9) as transaction:
        assert transaction.database_now == transaction.database_now == START


def test_each_agents_part_of_a_change_is_undone_as_one_and_so_is_each_change(store: Store, home):
    with store.transaction(START) as transaction:
        for _ in range(2):
            with transaction.change():
                assert transaction.parts == []
                for actor in ("a", "b", "a"):
                    transaction.speak(actor, {"reason": actor} if actor == "a" else None)
                    transaction.run(AddTask("task", home.uid))
                assert [actor for actor, _ in transaction.parts] == ["b", "a"]
        assert transaction.entries == 6
    found = entries(store)[1:]
    assert [(each.actor, each.change - 1, each.why) for each in found] == [
        ("a", 1, {"reason": "a"}),
        ("b", 2, None),
        ("a", 1, {"reason": "a"}),
        ("a", 4, {"reason": "a"}),
        ("b", 5, None),
        ("a", 4, {"reason": "a"}),
    ]


def test_what_another_says_within_a_request_is_its_own_part(store: Store, home):
    with store.transaction(START) as transaction, transaction.change():
        transaction.speak("a", inside_run=True)
        transaction.run(AddTask("one", home.uid))
        first = transaction.current
        for _ in range(2):
            with transaction.speaking_as("b"):
                transaction.run(AddTask("two", home.uid))
        assert (transaction.actor, transaction.current, transaction.inside_run) == ("a", first, True)
        with pytest.raises(NotFound), transaction.speaking_as("b"):
            transaction.run(DeleteTask("no such task"))
        assert (transaction.actor, transaction.current) == ("a", first)
        transaction.speak("b")
        assert (transaction.current, transaction.inside_run) == (first + 1, False)
    assert [(each.actor, each.change) for each in entries(store)[1:]] == [
        ("a", first),
        ("b", first + 1),
        ("b", first + 1),
    ]


def test_what_the_system_notes_within_a_change_is_none_of_its_parts(store: Store, home):
    with store.transaction(START) as transaction, transaction.change():
        transaction.speak("a", {"reason": "mine"})
        transaction.undoes = 7
        for number in range(2):
            new = {"name": f"y{number}"}
            transaction.emit_by_system("list.updated", "list", home.uid, old={"name": "x"}, new=new)
        assert (transaction.actor, transaction.undoes, transaction.current, transaction.parts) == ("a", 7, None, [])
        transaction.run(AddTask("task", home.uid))
    with store.transaction(START) as transaction:
        transaction.undoes, transaction.is_partly_done = 7, True
        with transaction.change():
            assert (transaction.undoes, transaction.current, transaction.is_partly_done) == (None, None, False)
    *noted, made = entries(store)[1:]
    assert [(each.actor, each.change, each.why, each.undoes) for each in noted] == [
        (SYSTEM, 2, None, None),
        (SYSTEM, 3, None, None),
    ]
    assert (made.actor, made.change, made.why, made.undoes) == ("a", 4, {"reason": "mine"}, 7)


def test_a_log_entry_changes_its_task_and_a_task_of_which_nothing_is_written_is_as_it_was(store: Store, home):
    (task,) = store.commit(AddTask("task", home.uid), actor="a", now=START)
    store.commit(LogTask(task.uid, "begun"), actor="b", now=START + 5)
    found = task_queries.task(store.db, task.uid)
    assert (found.version, found.updated_at, found.updated_by) == (task.version + 1, START + 5, "b")
    with store.transaction(START + 9) as transaction, transaction.change():
        transaction.speak("c")
        transaction.emit("note", "task", task.uid, task=found)
        transaction.emit("note", "no table", task.uid, new={"any": "value"})
    assert task_queries.task(store.db, task.uid) == found
    assert [(each.kind, each.old, each.task) for each in entries(store)[-2:]] == [
        ("note", None, task.uid),
        ("note", None, None),
    ]


def test_long_texts_are_left_out_of_an_entrys_image(store: Store, home):
    long, short = "x" * (journal.LONG_TEXT + 1), "x" * journal.LONG_TEXT
    (task,) = store.commit(AddTask("task", home.uid), actor="a", now=START)

    def image(**fields) -> dict:
        store.commit(EditTask(task.uid, fields), actor="a", now=START)
        with_row = entries(store)[-1]
        raw = store.db.sql("SELECT image FROM journal WHERE seq = ?", (with_row.seq,)).fetchone()[0]
        return msgspec.json.decode(raw)

    assert image(description=short)["description"] == short
    assert "description" not in image(description=long)
    shorter = long[:-3]
    assert image(result=shorter)["result"] == shorter
    assert "result" not in image(result=short)
    assert "metadata" not in image(metadata={"text": long})
    assert image(metadata=None, result=None)["metadata"] is None
    assert not {"work", "works", "checks", "verified"} & image(name="other").keys()
    assert entries(store)[-1].new.keys() == {"name", "version", "updated_at", "updated_by"}


def raw_image(store: Store) -> dict:
    """The image of the newest entry, as it is written."""
    seq = journal.newest(store.db)
    return msgspec.json.decode(store.db.sql("SELECT image FROM journal WHERE seq = ?", (seq,)).fetchone()[0])


def test_the_entry_of_a_new_task_has_what_its_row_has_not(store: Store, home):
    store.commit(AddTask("task", home.uid), actor="a", now=START)
    assert raw_image(store) == {"list": "x"}
    checks = DefineChecks("a.toml", (NamedCheck("tests", "1", lists=("x",)),))
    store.commit(checks, actor=SYSTEM, now=START)
    (task,) = store.commit(AddTask("task", home.uid), actor="a", now=START)
    image = raw_image(store)
    assert (image.keys(), len(image["checks"])) == ({"list", "checks"}, 1)
    store.commit(EditTask(task.uid, {"name": "other"}), actor="a", now=START)
    assert raw_image(store)["verified"] == "unproven"
    store.commit(StartWork(task.uid, "claude", "/repo", "/tree"), actor="human", now=START)
    assert len(raw_image(store)["works"]) == 1


def test_the_entry_of_a_new_task_leaves_out_empty_fields_and_reads_the_same_with_them(store: Store, home):
    (made,) = store.commit(AddTask("one", home.uid), actor="agent", now=START)
    entry = journal.latest(store.db, 1)[0]
    assert entry.new is not None
    assert [name for name, value in entry.new.items() if not value] == []
    encode = msgspec.json.encode
    every_field = {name: msgspec.to_builtins(getattr(made, name)) for name in Task.__struct_fields__}
    assert every_field.items() > entry.new.items()
    store.db.sql("UPDATE journal SET new = ? WHERE seq = ?", (encode(every_field).decode(), entry.seq))
    assert encode(journal.entry(store.db, entry.seq).image) == encode(entry.image)


def test_nothing_is_said_in_a_transaction_until_somebody_speaks(store: Store):
    with store.db.transaction(write=True):
        made = Transaction(store.db, current_cache(store.db, None), new_uids(), START)
        assert (made.actor, made.inside_run, made.is_partly_done, made.parts) == ("", False, False, [])
        assert (made.savepoints, made.in_steps, made.inputs_read, made.entries) == (True, False, None, 0)
        read = {"run": True}
        made = Transaction(store.db, current_cache(store.db, None), new_uids(), START, inputs_read=read, in_steps=True)
        assert (made.savepoints, made.in_steps, made.inputs_read) == (False, True, read)
        made.speak(SHELL)
        assert made.files_for_review


def test_each_request_of_a_change_raises_a_version(store: Store, home):
    (task,) = store.commit(AddTask("task", home.uid), actor="a", now=START)
    with store.transaction(START) as transaction, transaction.change():
        for name in ("one", "two"):
            transaction.speak("a")
            transaction.run(EditTask(task.uid, {"name": name}))
    assert task_queries.task(store.db, task.uid).version == task.version + 2


def test_a_change_that_fails_leaves_nothing_behind_in_the_transaction(store: Store, home):
    with store.transaction(START) as transaction:
        with transaction.change():
            transaction.speak("a")
            transaction.run(AddTask("kept", home.uid))
        seq, cache = transaction.seq, transaction.state_cache
        with pytest.raises(NotFound), transaction.change():
            transaction.speak("a")
            transaction.run(EnsureList("lost", "task"))
            assert transaction.state_cache.find_list("lost") is not None
            transaction.run(DeleteTask("no such task"))
        assert transaction.seq == seq == journal.newest(store.db)
        assert transaction.state_cache is not cache
        assert transaction.state_cache.find_list("lost") is None
        assert not transaction.is_partly_done


def test_a_failure_after_a_write_without_savepoints_asks_for_them_and_one_before_it_does_not(store: Store, home):
    for operations, error in (
        ((DeleteTask("no such task"),), NotFound),
        ((AddTask("one", home.uid), DeleteTask("no such task")), HalfWritten),
    ):
        with pytest.raises(error), store.transaction(START, savepoints=False) as transaction, transaction.change():
            transaction.speak("a")
            for operation in operations:
                transaction.run(operation)
    assert task_queries.list_by_uid(store.db, home.uid).total == 0


@pytest.mark.parametrize(
    ("error", "seen"), [(KeyboardInterrupt(), KeyboardInterrupt), (sqlite3.OperationalError("disk I/O"), StorageFailed)]
)
def test_an_interrupt_or_a_failure_of_the_disk_after_a_write_is_not_tried_again(store: Store, home, error, seen):
    with pytest.raises(seen), store.transaction(START, savepoints=False) as transaction, transaction.change():
        transaction.speak("a")
        transaction.run(AddTask("one", home.uid))
        raise error
    assert task_queries.list_by_uid(store.db, home.uid).total == 0


def test_a_change_in_steps_lets_others_write_between_them_and_is_recorded_until_its_end(
    store: Store, beside: Store, home, monkeypatch
):
    monkeypatch.setattr(transactions, "STEP_SECONDS", 0)
    with store.transaction(START, in_steps=True) as transaction, transaction.change():
        transaction.speak("a")
        transaction.pause()
        assert unfinished_changes.recorded(beside.db) == []
        assert not transaction.is_partly_done
        transaction.run(AddTask("one", home.uid))
        assert task_queries.list_by_uid(beside.db, home.uid).total == 0
        transaction.pause()
        assert transaction.is_partly_done
        assert [(each.actor, each.change) for each in unfinished_changes.recorded(beside.db)] == [("a", 2)]
        assert task_queries.list_by_uid(beside.db, home.uid).total == 1
        transaction.run(AddTask("two", home.uid))
    assert list(Path(store.path).parent.glob("*-step*")) == []
    assert unfinished_changes.recorded(beside.db) == []
    assert [task.name for task in task_queries.tasks(beside.db, home.id)] == ["one", "two"]


def test_what_others_write_between_two_steps_is_seen_in_the_next(store: Store, beside: Store, home, monkeypatch):
    monkeypatch.setattr(transactions, "STEP_SECONDS", 0)

    def write(_: float) -> None:
        beside.commit(AddTask("between", home.uid), actor="b", now=START)

    with store.transaction(START, in_steps=True) as transaction, transaction.change():
        transaction.speak("a")
        transaction.run(AddTask("one", home.uid))
        with monkeypatch.context() as patched:
            patched.setattr(database.time, "sleep", write)
            transaction.pause()
        transaction.run(AddTask("two", home.uid))
    assert [task.name for task in task_queries.tasks(store.db, home.id)] == ["one", "between", "two"]
    assert [each.seq for each in entries(store)] == [1, 2, 3, 4]


def test_a_change_in_steps_that_fails_is_taken_back(store: Store, beside: Store, home, monkeypatch):
    monkeypatch.setattr(transactions, "STEP_SECONDS", 0)
    with (
        pytest.raises(PartlyDone),
        store.transaction(START, in_steps=True) as transaction,
        transaction.change(),
    ):
        transaction.speak("a")
        transaction.run(AddTask("one", home.uid))
        transaction.pause()
        transaction.run(DeleteTask("no such task"))
    assert task_queries.list_by_uid(beside.db, home.uid).total == 0
    assert unfinished_changes.recorded(beside.db) == []


def test_a_step_lasts_as_long_as_it_may_and_a_change_that_is_not_in_steps_has_none(store: Store, home, monkeypatch):
    at = [0.0]
    monkeypatch.setattr(transactions.time, "monotonic", lambda: at[0])
    committed = []
    monkeypatch.setattr(store.db, "let_others_write", lambda seconds: committed.append(at[0]))
    with store.transaction(START, in_steps=True) as transaction, transaction.change():
        transaction.speak("a")
        for at[0] in (0.05, STEP_SECONDS, 0.15, 2 * STEP_SECONDS):
            transaction.pause()
    assert committed == [STEP_SECONDS, 2 * STEP_SECONDS]
    with store.transaction(START) as transaction, transaction.change():
        at[0] += 9
        transaction.pause()
    assert len(committed) == 2
