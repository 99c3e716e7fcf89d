"""What an undo may not bring about, whatever the change was."""

import pytest

from tests.conftest import SECOND, START
from tui_tasks.core.commit import journal
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import AddTask, ClaimTask, EditTask, EnsureList, MoveTask, ReleaseClaim
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.rules.tasks import claim_rules
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


@pytest.mark.parametrize("has_lapsed", [False, True])
def test_the_undo_of_a_release_restores_no_claim_of_a_task_that_was_claimed_again(has_lapsed):
    with Store(":memory:") as store:

        def do(operation, actor):
            return store.commit(operation, actor=actor, now=START)[0]

        home = do(EnsureList("x", "task"), "human")
        task = do(AddTask("task", home.uid), "human")
        _, first = do(ClaimTask("worker", SECOND, task.uid), "worker")
        do(ReleaseClaim("worker", first.uid), "worker")
        _, second = do(ClaimTask("worker", SECOND, task.uid), "worker")
        entries = journal.latest(store.db, 20)
        released = next(each for each in entries if (each.new or {}).get("claimed_by", "") is None and each.old)
        with store.transaction(START) as transaction, transaction.change():
            transaction.speak("system")
            if has_lapsed:
                claim_rules._give_back(transaction, second, task_queries.task(store.db, task.uid), "lapsed")
            now = task_queries.task(store.db, task.uid)
            assert now.claimed_by == (None if has_lapsed else "worker")
            assert claim_rules.claim_ended_by(transaction, released, now) is None
