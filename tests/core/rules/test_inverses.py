"""What an undo may not bring about, whatever the change was."""

import pytest

from tests.conftest import START
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.changes import Undo
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList, MoveTask
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store


def test_a_task_taken_up_since_is_not_moved_back_beside_another_in_progress():
    with Store(":memory:") as store:

        def do(operation, actor):
            return store.commit(operation, actor=actor, now=START)[0]

        solo, wide = do(EnsureList("solo", "tasklist"), "human"), do(EnsureList("wide", "task"), "human")
        moved, other = do(AddTask("moved", solo.uid), "human"), do(AddTask("other", solo.uid), "human")
        do(MoveTask(moved.uid, list_uid=wide.uid), "mover")
        do(EditTask(moved.uid, {"status": "in_progress"}), "worker")
        do(EditTask(other.uid, {"status": "in_progress"}), "worker")
        with pytest.raises(Conflict, match="in progress already"):
            do(Undo(), "mover")
        assert task_queries.task(store.db, moved.uid).list_id == wide.id
        do(EditTask(other.uid, {"status": "done"}), "worker")
        do(Undo(), "mover")
        assert task_queries.task(store.db, moved.uid).list_id == solo.id
