"""Lists that the human renames and deletes: one row is written, their tasks are gone, and come back with them."""

import pytest

from tests.conftest import START
from tui_tasks.core.commit import journal
from tui_tasks.core.engine.database import Database
from tui_tasks.core.errors import Conflict, Forbidden, InvalidArgument, NotFound
from tui_tasks.core.maintenance.replay import replay
from tui_tasks.core.operations import Redo, Undo
from tui_tasks.core.operations.asks import OpenAsk
from tui_tasks.core.operations.tasks import (
    AddTask,
    ArchiveList,
    ClaimNext,
    CreatePlan,
    DeleteList,
    EditTask,
    EnsureList,
    ExtendClaim,
    LapseClaims,
    LogTask,
    MoveTask,
    ReleaseClaim,
    RenameList,
    SetListRule,
)
from tui_tasks.core.read import overview
from tui_tasks.core.read.pages import list_pages
from tui_tasks.core.read.tasks import ready_tasks, task_queries, task_summary
from tui_tasks.core.schema import migrate
from tui_tasks.core.store import Store

MINUTE = 60_000_000


@pytest.fixture
def store(tmp_path):
    with Store(str(tmp_path / "tasks.db")) as store:
        yield store


@pytest.fixture
def do(store):
    def do(operation, actor="human", now=START):
        return store.commit(operation, actor=actor, now=now)[0]

    return do


def tables(db):
    names = ("list", "task", "edge", "claim", "log")
    return {name: sorted(map(tuple, db.sql(f"SELECT * FROM {name}").fetchall())) for name in names}


def assert_replays(store, tmp_path):
    other = Database(str(tmp_path / "again.db"))
    migrate(other)
    replay(store.db, other)
    assert tables(other) == tables(store.db)
    other.close()


# Renaming


def test_a_renamed_list_has_its_tasks_its_id_and_one_entry_that_tells_so(store, do, tmp_path):
    home = do(EnsureList("docs", "tasklist"))
    task = do(AddTask("Write", home.uid))
    seq = journal.newest(store.db)
    assert do(RenameList(home.uid, "  manual ")).name == "manual"
    (entry,) = journal.since(store.db, seq, 10)
    assert (entry.kind, entry.entity, entry.changes) == ("list.updated", "list", {"name": ["docs", "manual"]})
    assert task_queries.find_list(store.db, "docs") is None
    assert task_queries.find_list(store.db, "manual").uid == home.uid
    assert task_queries.task(store.db, task.uid).list_id == home.id
    assert do(RenameList(home.uid, "manual")).name == "manual"
    assert journal.newest(store.db) == seq + 1, "the same name changes nothing"
    do(Undo())
    assert task_queries.find_list(store.db, "docs").uid == home.uid
    do(Redo())
    assert task_queries.find_list(store.db, "manual").uid == home.uid
    assert_replays(store, tmp_path)


def test_a_named_list_takes_no_name_that_another_has_and_plans_may_share_a_title(store, do):
    one, two = do(EnsureList("one", "tasklist")), do(EnsureList("two", "tasklist"))
    with pytest.raises(Conflict) as refused:
        do(RenameList(one.uid, "two"))
    assert refused.value.data["id"] == two.uid
    with pytest.raises(Conflict):
        do(RenameList(one.uid, "todo"))
    first, second = do(CreatePlan("first")), do(CreatePlan("second"))
    assert do(RenameList(first.uid, "second")).name == second.name
    do(RenameList(one.uid, "three"))
    do(EnsureList("one", "tasklist"))
    with pytest.raises(Conflict, match="one is another list"):
        do(Undo(journal.latest(store.db, 2)[0].change))


@pytest.mark.parametrize("name", ["", "  ", "x" * 10_001])
def test_a_list_has_a_name(do, name):
    home = do(CreatePlan("Plan"))
    with pytest.raises(InvalidArgument):
        do(RenameList(home.uid, name))


@pytest.mark.parametrize("name", ["tasklist", "task", "todo"])
def test_the_dialects_own_lists_keep_their_names_and_stay(store, do, name):
    home = task_queries.find_list(store.db, name)
    for operation in (RenameList(home.uid, "mine"), DeleteList(home.uid)):
        with pytest.raises(Conflict, match="list of the tools"):
            do(operation)
    assert task_queries.find_list(store.db, name) == home


@pytest.mark.parametrize("actor", ["claude-1", "system"])
def test_lists_are_renamed_and_deleted_by_the_human_alone(store, do, actor):
    home = do(CreatePlan("Plan"))
    for operation in (RenameList(home.uid, "mine"), DeleteList(home.uid)):
        with pytest.raises(Forbidden):
            do(operation, actor)
    assert task_queries.list_by_uid(store.db, home.uid).name == "Plan"


# Deleting


def test_the_tasks_of_a_deleted_list_are_gone_and_come_back_with_it(store, do, tmp_path):
    home, other = do(CreatePlan("Plan")), do(CreatePlan("Other"))
    tasks = [do(AddTask(f"task {number}", home.uid)) for number in range(3)]
    kept = do(AddTask("kept", other.uid, priority=4))
    do(EditTask(tasks[1].uid, {"status": "in_progress"}), "claude-1")
    before = tables(store.db)
    seq = journal.newest(store.db)

    do(DeleteList(home.uid))
    assert [entry.kind for entry in journal.since(store.db, seq, 10)] == ["list.deleted"]
    assert [found.uid for found in task_queries.lists(store.db) if found.kind == "plan"] == [other.uid]
    for task in tasks:
        uid = task.uid
        for read in (task_queries.task, task_summary.one):
            with pytest.raises(NotFound):
                read(store.db, uid)
        assert task_queries.status(store.db, uid) is None
        assert task_queries.tasks_beginning(store.db, uid[:8], 5) == []
        assert list_pages.line(store.db, uid).deleted
    assert task_queries.live_tasks(store.db, [task.uid for task in tasks]) == []
    assert [task.uid for task in ready_tasks.open_tasks(store.db, None, None)] == [kept.uid]
    assert ready_tasks.next_task(store.db, None, None).uid == kept.uid
    assert overview.list_touched_last(store.db) == other.id
    for operation in (
        EditTask(tasks[0].uid, {"status": "done"}),
        MoveTask(tasks[0].uid, list_uid=other.uid),
        LogTask(tasks[0].uid, "still here?"),
        AddTask("beside", after=tasks[0].uid),
        AddTask("into", home.uid),
        OpenAsk("what of it?", task_uid=tasks[0].uid),
        RenameList(home.uid, "again"),
        SetListRule(home.uid, True),
    ):
        with pytest.raises(NotFound):
            do(operation, "human" if "List" in type(operation).__name__ else "claude-1")

    do(Undo())
    assert [entry.kind for entry in journal.since(store.db, seq, 10)][-1] == "list.restored"
    assert tables(store.db) == before
    assert ready_tasks.next_task(store.db, None, None).uid == tasks[0].uid
    do(Redo())
    with pytest.raises(NotFound):
        task_queries.task(store.db, tasks[0].uid)
    assert_replays(store, tmp_path)


def test_a_claim_takes_no_task_of_a_deleted_list_and_one_that_holds_runs_out(store, do, tmp_path):
    home, other = do(CreatePlan("Plan")), do(CreatePlan("Other"))
    do(AddTask("urgent", home.uid, priority=1))
    do(AddTask("held", home.uid, priority=1))
    task, claim = do(ClaimNext("claude-1", MINUTE), "claude-1")
    do(DeleteList(home.uid))
    for operation in (ExtendClaim("claude-1", claim.uid), ReleaseClaim("claude-1", claim.uid)):
        with pytest.raises(NotFound):
            do(operation, "claude-1")
    assert do(ClaimNext("claude-2", MINUTE), "claude-2") is None
    with pytest.raises(NotFound):
        do(ClaimNext("claude-2", MINUTE, home.uid), "claude-2")
    wanted = do(AddTask("wanted", other.uid), "claude-2")
    taken, _ = do(ClaimNext("claude-2", MINUTE), "claude-2")
    assert taken.uid == wanted.uid
    assert do(LapseClaims(), "system", START + 2 * MINUTE) == 2
    do(Undo())
    assert task_queries.task(store.db, task.uid).status == "pending"
    assert_replays(store, tmp_path)


def test_a_list_gives_an_agent_that_may_have_no_more_nothing_whatever_stands_in_others(do):
    home = do(EnsureList("one at a time", "tasklist"))
    for name in ("first", "second", "third"):
        do(AddTask(name, home.uid))
    assert do(ClaimNext("a", MINUTE), "a")[0].name == "first"
    assert do(ClaimNext("b", MINUTE), "b")[0].name == "second"
    for agent in "ab":
        assert do(ClaimNext(agent, MINUTE), agent) is None
        assert do(ClaimNext(agent, MINUTE, home.uid), agent) is None


@pytest.mark.parametrize("many", [0, 1])
def test_who_waits_for_a_task_of_a_deleted_list_waits_no_more_until_it_is_back(store, do, tmp_path, monkeypatch, many):
    from tui_tasks.core.commit import row_writes

    monkeypatch.setattr(row_writes, "_MANY_TASKS", many)
    home, other = do(CreatePlan("Plan")), do(CreatePlan("Other"))
    held, done = do(AddTask("held", home.uid)), do(AddTask("done", home.uid, status="done"))
    inner = do(AddTask("inner", home.uid, depends_on=(held.uid,)))
    waits = do(AddTask("waits", other.uid, depends_on=(held.uid, done.uid)))
    assert task_queries.task(store.db, waits.uid).blocked
    do(DeleteList(home.uid))
    assert not task_queries.task(store.db, waits.uid).blocked
    # A dependency is counted anew while its list is away, too.
    do(EditTask(waits.uid, {"priority": 1, "depends_on": (held.uid,)}))
    assert not task_queries.task(store.db, waits.uid).blocked
    do(Undo(next(e.change for e in journal.latest(store.db, 10) if e.kind == "list.deleted")))
    assert task_queries.task(store.db, waits.uid).blocked
    assert task_queries.task(store.db, inner.uid).blocked
    do(EditTask(held.uid, {"status": "done"}))
    assert not task_queries.task(store.db, waits.uid).blocked
    assert_replays(store, tmp_path)


def test_what_was_done_in_a_list_before_it_was_deleted_is_not_taken_back_while_it_is_away(store, do):
    home = do(CreatePlan("Plan"))
    task = do(AddTask("task", home.uid), "claude-1")
    do(LogTask(task.uid, "said"), "claude-1")
    do(EditTask(task.uid, {"priority": 1}), "claude-1")
    do(DeleteList(home.uid))
    for change in [entry.change for entry in journal.latest(store.db, 10) if entry.actor == "claude-1"]:
        with pytest.raises(Conflict, match="was deleted"):
            do(Undo(change), "claude-1")


def test_a_task_that_is_moved_to_an_archived_list_brings_the_list_back_and_undo_takes_both_back(store, do, tmp_path):
    home, other = do(CreatePlan("Plan")), do(CreatePlan("Other"))
    task = do(AddTask("seen", other.uid))
    do(ArchiveList(home.uid, True))
    do(MoveTask(task.uid, list_uid=home.uid))
    assert not task_queries.list_by_uid(store.db, home.uid).archived
    do(Undo())
    assert task_queries.list_by_uid(store.db, home.uid).archived
    assert task_queries.task(store.db, task.uid).list_id == other.id
    do(Redo())
    assert not task_queries.list_by_uid(store.db, home.uid).archived
    do(ArchiveList(home.uid, True))
    do(MoveTask(task.uid, list_uid=home.uid))
    assert task_queries.list_by_uid(store.db, home.uid).archived, "it was there already"
    assert_replays(store, tmp_path)


def test_tasks_of_an_archived_list_are_handed_out_only_where_it_is_named_until_one_is_added(store, do, tmp_path):
    home, other = do(CreatePlan("Plan")), do(CreatePlan("Other"))
    task = do(AddTask("old", home.uid, priority=1))
    there = do(AddTask("there", other.uid))
    seq = journal.newest(store.db)
    assert do(ArchiveList(home.uid, True)).archived
    assert [entry.changes for entry in journal.since(store.db, seq, 9)] == [{"archived": [False, True]}]
    assert task_queries.task(store.db, task.uid).name == "old"
    assert ready_tasks.next_task(store.db, None, None).uid == there.uid
    assert ready_tasks.next_task(store.db, home.id, None).uid == task.uid
    assert [each.uid for each in ready_tasks.open_tasks(store.db, None, None)] == [there.uid]
    assert [each.uid for each in ready_tasks.open_tasks(store.db, home.id, None)] == [task.uid]
    do(Undo())
    assert ready_tasks.next_task(store.db, None, None).uid == task.uid
    do(Redo())
    do(EditTask(task.uid, {"priority": 2}), "claude-1")
    assert task_queries.list_by_uid(store.db, home.uid).archived, "what is changed in it leaves it where it is"
    do(AddTask("new", home.uid), "claude-1")
    assert not task_queries.list_by_uid(store.db, home.uid).archived
    with pytest.raises(Forbidden):
        do(ArchiveList(home.uid, True), "claude-1")
    assert do(ArchiveList(task_queries.find_list(store.db, "todo").uid, True)).archived, "a dialect's own can be"
    assert_replays(store, tmp_path)


def test_a_list_of_the_same_name_stands_in_the_way_of_one_that_comes_back(store, do):
    home = do(EnsureList("docs", "tasklist"))
    do(DeleteList(home.uid))
    deleted = journal.newest(store.db)
    other = do(EnsureList("docs", "tasklist"), "claude-1")
    assert other.uid != home.uid
    with pytest.raises(Conflict, match="docs is another list"):
        do(Undo(deleted))


def test_deleting_a_long_list_and_bringing_it_back_takes_no_longer_than_a_short_one(store, do):
    steps = []
    for many in (1_100, 4_400):
        home = do(CreatePlan(f"{many}"))
        with store.transaction(START) as tx, tx.change():
            tx.speak("human")
            for number in range(many):
                tx.run(AddTask(f"{number}", home.uid, priority=1))
        counted = [0]
        store.db._connection.set_progress_handler(lambda counted=counted: counted.__setitem__(0, counted[0] + 1), 100)
        do(DeleteList(home.uid))
        do(Undo())
        do(Redo())
        store.db._connection.set_progress_handler(None, 0)
        steps.append(counted[0])
    assert steps[1] <= steps[0] * 1.2 + 5
    # Thousands of urgent tasks that are gone hide none that is there.
    other = do(CreatePlan("Other"))
    last = do(AddTask("last", other.uid, priority=4))
    assert ready_tasks.next_task(store.db, None, None).uid == last.uid
    assert do(ClaimNext("claude-1", MINUTE), "claude-1")[0].uid == last.uid
