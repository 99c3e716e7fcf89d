"""What a transaction does with the changes in it, whatever they are."""

from __future__ import annotations

from tests.conftest import START
from tui_tasks.core.commit import transaction as transactions
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


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
