"""What an import writes of tasks that are there already."""

import pytest

from tests.conftest import SECOND, START
from tui_tasks.core.errors import Conflict
from tui_tasks.core.operations.tasks import AddTask, EditTask, EnsureList, ImportTask, SetListRule
from tui_tasks.core.read.tasks import task_queries

UID = "0b6a8c1e-6f0e-4a55-9d0c-7f1f6a5b9c3d"


@pytest.fixture
def home(store):
    return store.commit(EnsureList("mine", "tasklist"), actor="human", now=START)[0]


def imported(store, home, *, at=START, **fields):
    """Import the task `UID`, which a file says was made at that instant."""
    operation = ImportTask(UID, home.uid, {"name": "x", **fields}, times={"created_at": at, "finished_at": None})
    return store.commit(operation, actor="shell", now=START + SECOND)[0]


def test_when_a_task_was_made_is_told_by_its_first_import_alone(store, home):
    assert imported(store, home).created_at == START
    again = imported(store, home, at=START - SECOND, description="new")
    assert (again.description, again.created_at) == ("new", START)


def test_a_task_that_the_file_has_in_another_list_is_moved_to_its_end(store, home):
    (other,) = store.commit(EnsureList("other", "tasklist"), actor="human", now=START)
    store.commit(AddTask("there", other.uid), actor="human", now=START)
    imported(store, home)
    assert imported(store, other).list_id == other.id
    assert [task.name for task in task_queries.tasks(store.db, other.id)] == ["there", "x"]


def test_a_task_in_progress_is_moved_into_no_list_that_has_one(store, home):
    (other,) = store.commit(EnsureList("other", "tasklist"), actor="human", now=START)
    store.commit(SetListRule(other.uid, True), actor="human", now=START)
    imported(store, home)
    store.commit(EditTask(UID, {"status": "in_progress"}), actor="human", now=START)
    (there,) = store.commit(AddTask("there", other.uid, status="in_progress"), actor="human", now=START)
    with pytest.raises(Conflict) as refused:
        imported(store, other)
    assert refused.value.data["in_progress"] == there.uid
    assert task_queries.task(store.db, UID).list_id == home.id
