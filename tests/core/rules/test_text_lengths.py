"""How long names and texts may be holds for every door, as it holds in the core."""

import pytest

from tests.conftest import START
from tui_tasks.core.errors import InvalidArgument
from tui_tasks.core.operations.jobs import CreateJob, EditJob
from tui_tasks.core.operations.tasks import AddTask, CreatePlan, EditTask, EnsureList, LogTask
from tui_tasks.core.vocab import MAX_NAME, MAX_TEXT

LONG, LONGER = "n" * MAX_NAME, "n" * (MAX_NAME + 1)
TOO_MUCH = "t" * (MAX_TEXT + 1)


@pytest.fixture
def do(store):
    def do(operation):
        return store.commit(operation, actor="human", now=START)[0]

    return do


@pytest.fixture
def task(do):
    return do(AddTask("task", do(EnsureList("tasklist", "tasklist")).uid))


def adhoc(name, prompt="x"):
    return CreateJob(name, "adhoc", "x", prompt, "UTC")


def test_a_name_of_10000_characters_is_stored_whole(do, task):
    assert do(EditTask(task.uid, {"name": LONG})).name == LONG
    assert do(CreatePlan(LONG)).name == do(EnsureList(LONG, "tasklist")).name == do(adhoc(LONG)).name == LONG


@pytest.mark.parametrize(
    ("field", "operation"),
    [
        ("name", lambda uid, home: AddTask(LONGER, home)),
        ("description", lambda uid, home: AddTask("name", home, description=TOO_MUCH)),
        ("name", lambda uid, home: EditTask(uid, {"name": LONGER})),
        ("description", lambda uid, home: EditTask(uid, {"description": TOO_MUCH})),
        ("message", lambda uid, home: LogTask(uid, TOO_MUCH)),
        ("name", lambda uid, home: EnsureList(LONGER, "tasklist")),
        ("title", lambda uid, home: CreatePlan(LONGER)),
        ("name", lambda uid, home: adhoc(LONGER)),
        ("prompt", lambda uid, home: adhoc("job", TOO_MUCH)),
    ],
)
def test_what_is_longer_is_refused_by_its_field_and_nothing_is_written(store, do, task, field, operation):
    before = store.db.scalar("SELECT max(seq) FROM journal")
    home = store.db.scalar("SELECT uid FROM list")
    with pytest.raises(InvalidArgument, match=f"{field}: at most 1,?0") as refused:
        do(operation(task.uid, home))
    assert refused.value.data["argument"] == field
    assert store.db.scalar("SELECT max(seq) FROM journal") == before


def test_a_job_is_not_renamed_to_what_is_longer(do):
    with pytest.raises(InvalidArgument, match="10,000"):
        do(EditJob(do(adhoc("job")).uid, {"name": LONGER}))


def test_a_longer_name_that_is_stored_already_stays_while_other_fields_are_set(store, do, task):
    store.db.sql("UPDATE task SET name = ?", (LONGER,))
    edited = do(EditTask(task.uid, {"name": LONGER, "description": "new"}))
    assert (edited.name, edited.description) == (LONGER, "new")
