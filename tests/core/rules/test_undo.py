"""Which change an undo or a redo takes back, and what forbids it."""

from __future__ import annotations

import re

import pytest

from tests.conftest import Clock
from tui_tasks.core.commit import journal
from tui_tasks.core.commit import transaction as transactions
from tui_tasks.core.errors import CannotUndo, Conflict, NotFound, NotProven
from tui_tasks.core.operations import Redo, Revert, Undo
from tui_tasks.core.operations.asks import PauseAgent
from tui_tasks.core.operations.jobs import CreateJob, DefineChecks, EditJob, GiveChecks, NamedCheck
from tui_tasks.core.operations.sessions import RecordReport, SessionReport, SessionStarted
from tui_tasks.core.operations.tasks import (
    AddTask,
    DeleteTask,
    EditTask,
    EnsureList,
    LogTask,
    RenameList,
)
from tui_tasks.core.operations.work import FailWork, StartWork
from tui_tasks.core.read import job_queries
from tui_tasks.core.read.tasks import task_queries, task_records
from tui_tasks.core.rules import undo as rules
from tui_tasks.core.store import Store
from tui_tasks.core.vocab import SESSION_ORIGIN, SYSTEM


def name(store: Store, uid: str) -> str:
    return task_queries.task(store.db, uid).name


def newest(store: Store) -> int:
    """The newest change."""
    return journal.latest(store.db, 1)[0].change


@pytest.fixture
def rename(do, store: Store):
    """Give a task another name; return the change."""

    def edit(uid: str, to: str, actor: str = "agent") -> int:
        do(EditTask(uid, {"name": to}), actor=actor)
        return newest(store)

    return edit


# Which change


def test_changes_that_are_passed_over_or_taken_back_do_not_count(store, do, add, rename):
    task = add("one")
    two = rename(task, "two")
    do(LogTask(task, "three"))
    three = newest(store)
    do(LogTask(task, "four"))
    four = newest(store)
    assert do(Undo(passed_over=(four,))) == [(three, three)]
    assert do(Undo(passed_over=(four,))) == [(two, two)]
    assert journal.undone_by(store.db, four) is None
    assert journal.undone_by(store.db, two).undoes == two
    assert journal.stands(store.db, four)
    assert not journal.stands(store.db, two)
    with pytest.raises(Conflict, match=f"change {two} has been undone already"):
        do(Undo(two))


def test_an_undo_that_was_taken_back_lets_its_change_stand(store, do, add, rename):
    task = add("one")
    two = rename(task, "two")
    do(Undo())
    do(Redo())
    assert journal.stands(store.db, two)
    assert do(Undo(two)) == [(two, two)]


def test_the_change_that_asks_for_the_undo_does_not_count(store, do, add):
    task = add("one")
    assert do(EditTask(task, {"name": "two"}), Undo())[1][1] < newest(store)
    with pytest.raises(NotFound):
        name(store, task)


@pytest.mark.parametrize(("actor", "says"), [("agent", "agent has"), ("human", "you have")])
def test_without_a_change_or_an_undo_of_ones_own_there_is_nothing_to_take_back(do, add, actor, says):
    for operation, what in ((Undo(), "no change to undo"), (Undo(project="api"), "no change to undo in api")):
        with pytest.raises(Conflict, match=f"^{says} {what}$"):
            do(operation, actor=actor)
    with pytest.raises(Conflict, match=f"^{says} no undo to redo$"):
        do(Redo(), actor=actor)


def test_an_undo_within_a_list_is_of_a_change_to_it_or_its_tasks_alone(store, do, add):
    (home,) = do(EnsureList("x", "task"))
    one = add("one", home="x")
    made = newest(store)
    other = add("other", home="y")
    do(EditTask(one, {"name": "two"}), EditTask(other, {"name": "two"}))
    assert do(Undo(within=home.uid)) == [(made, made)]
    assert do(Undo(within=home.uid))[0][0] < made
    with pytest.raises(Conflict, match="no change to undo"):
        do(Undo(within=home.uid))


def test_an_undo_in_a_project_passes_over_what_is_of_other_projects_alone(store, do):
    of_api, of_web, of_none = do(
        EnsureList("api", "task", project="api"), EnsureList("web", "task", project="web"), EnsureList("none", "task")
    )
    changes = []
    for lists in ((of_none,), (of_api,), (of_web, of_api), (of_web,)):
        do(*(AddTask("task", home.uid) for home in lists))
        changes.append(newest(store))
    do(EnsureList("web 2", "task", project="web"))
    of_list = newest(store)
    assert [do(Undo(project="api"))[0][1] for _ in range(3)] == changes[2::-1]
    assert [do(Undo(project="web"))[0][1] for _ in range(2)] == [of_list, changes[3]]


def test_a_change_of_the_lists_of_another_project_is_passed_over_and_one_of_no_list_is_not(store, do):
    do(EnsureList("api", "task", project="api"))
    do(CreateJob("job", "adhoc", "", "", "UTC"))
    job = newest(store)
    do(EnsureList("web", "task", project="web"))
    assert do(Undo(project="api")) == [(job, job)]


def start_session(store: Store, clock: Clock) -> None:
    report = SessionReport("claude", "s1", (SessionStarted(),), clock(), agent="claude-1")
    store.commit(RecordReport(report, "", True), actor="claude-1", now=clock())


def test_what_hooks_tell_of_a_session_is_no_change_of_its_agent(store, clock, do, add):
    asked_for = do(AddTask("asked for", do(EnsureList("x", "task"))[0].uid), actor="claude-1")[0]
    change = newest(store)
    start_session(store, clock)
    told = AddTask("told", task_queries.find_list(store.db, "x").uid, metadata={"origin": SESSION_ORIGIN})
    (task,) = do(told, actor="claude-1")
    assert do(Undo(), actor="claude-1") == [(change, change)]
    assert task_queries.status(store.db, asked_for.uid) is None
    with pytest.raises(Conflict, match="claude-1 has no change to undo"):
        do(Undo(), actor="claude-1")
    assert name(store, task.uid) == "told"


@pytest.mark.parametrize("metadata", [None, {"origin": "else"}, {}, [SESSION_ORIGIN], SESSION_ORIGIN])
def test_an_agent_with_hooks_takes_back_a_task_that_it_has_asked_for(store, clock, do, metadata):
    start_session(store, clock)
    (home,) = do(EnsureList("x", "task"))
    (task,) = do(AddTask("task", home.uid, metadata=metadata), actor="claude-1")
    do(Undo(), actor="claude-1")
    assert task_queries.status(store.db, task.uid) is None


def test_an_agent_without_hooks_takes_back_any_task(store, do):
    (home,) = do(EnsureList("x", "task"))
    (task,) = do(AddTask("task", home.uid, metadata={"origin": SESSION_ORIGIN}))
    do(Undo())
    assert task_queries.status(store.db, task.uid) is None


def test_a_redo_stops_at_a_change_made_since(store, do, add, rename):
    task = add("one")
    rename(task, "two")
    do(Undo())
    rename(task, "three")
    with pytest.raises(Conflict, match="no undo to redo"):
        do(Redo())
    do(Undo())
    do(Redo())
    assert name(store, task) == "three"


# What forbids it


@pytest.mark.parametrize("change", [99, -1])
def test_there_is_no_undo_of_what_was_never_changed(do, add, change):
    add("one")
    with pytest.raises(CannotUndo, match=f"no change {change}") as refused:
        do(Undo(change))
    assert refused.value.data["id"] == str(change)


def test_a_work_is_taken_back_by_git_and_not_by_an_undo(store, do, add):
    task = add("one")
    do(StartWork(task, "claude", "/repo", "/tree"), actor="human")
    change = newest(store)
    with pytest.raises(CannotUndo, match=r"^it has started an agent: discard its work instead$"):
        do(Undo(change), actor="human")


def test_an_undo_of_the_start_of_a_work_that_is_over_says_so(store, do, add):
    (work,) = do(StartWork(add("one"), "claude", "/repo", "/tree"), actor="human")
    change = newest(store)
    do(FailWork(work.uid, "it crashed"), actor="system")
    told = "it has started an agent, whose work is over (failed)"
    with pytest.raises(CannotUndo, match=re.escape(told)):
        do(Undo(change), actor="human")


def test_a_change_of_which_nothing_can_be_taken_back_is_none(store, do, add):
    do(PauseAgent("agent", "wait"), actor="human")
    with pytest.raises(CannotUndo, match="no change"):
        do(Undo(newest(store)), actor="human")


def test_a_list_that_others_use_since_is_not_taken_back(store, do):
    (home,) = do(EnsureList("x", "task"))
    change = newest(store)
    do(AddTask("task", home.uid), actor="other")
    with pytest.raises(CannotUndo, match="others have used what it made since then"):
        do(Undo(change))


def test_a_field_that_another_has_set_since_is_not_taken_back_and_any_other_field_is(store, do, add, rename):
    task = add("one")
    two = rename(task, "two")
    do(EditTask(task, {"description": "more"}), actor="other")
    do(Undo(two))
    assert name(store, task) == "one"
    two = rename(task, "two")
    rename(task, "three", "other")
    with pytest.raises(CannotUndo, match='other has changed task #1 "three" since'):
        do(Undo(two))


@pytest.mark.parametrize("actor", ["agent", SYSTEM])
def test_a_task_that_its_maker_or_the_system_has_changed_since_is_taken_away(store, do, add, actor):
    task = add("one")
    made = newest(store)
    do(LogTask(task, "begun"), actor=actor)
    do(Undo(made))
    assert task_queries.status(store.db, task) is None


def test_what_another_has_set_and_taken_back_since_is_taken_back(store, do, add, rename):
    task = add("one")
    two = rename(task, "two")
    rename(task, "three", "other")
    do(Undo(), actor="other")
    do(Undo(two))
    assert name(store, task) == "one"


def test_a_task_with_which_another_has_done_anything_since_is_not_taken_away(store, do, add):
    task = add("one")
    made = newest(store)
    do(LogTask(task, "begun"), actor="other")
    with pytest.raises(CannotUndo, match='other has changed task #1 "one" since') as refused:
        do(Undo(made))
    assert (refused.value.data["id"], refused.value.data["seq"]) == (task, newest(store))


@pytest.mark.parametrize(
    ("edit", "other", "is_refused"),
    [
        ({"prompt": "two"}, {"prompt": "three"}, True),
        ({"prompt": "two"}, {"system_prompt": "three"}, False),
        (None, {"system_prompt": "three"}, True),
    ],
)
def test_a_job_that_another_has_changed_since_is_not_taken_back(store, do, edit, other, is_refused):
    first, second = do(CreateJob("job", "adhoc", "", "one", "UTC"), CreateJob("other", "adhoc", "", "one", "UTC"))
    if edit is not None:
        do(EditJob(first.uid, edit))
    change = newest(store)
    do(EditJob(second.uid, {"prompt": "another"}), actor="other")
    do(EditJob(first.uid, other), actor="other")
    if is_refused:
        with pytest.raises(CannotUndo, match="other has changed the same since") as refused:
            do(Undo(change))
        assert refused.value.data["id"] == (first.uid if edit is not None else second.uid)
    else:
        do(Undo(change))
        assert job_queries.job(store.db, first.uid).prompt == "one"


def test_a_long_change_is_refused_before_a_step_of_its_undo_is_committed(store, clock, do, add, monkeypatch):
    monkeypatch.setattr(rules, "_SOON_DONE", 1)
    monkeypatch.setattr(transactions, "STEP_SECONDS", 0)
    one, other = add("one"), add("other")
    do(EditTask(one, {"name": "two"}), EditTask(other, {"name": "two"}))
    change = newest(store)
    do(EditTask(one, {"name": "three"}), actor="other")
    before = newest(store)
    with pytest.raises(CannotUndo), store.transaction(clock(), in_steps=True) as tx, tx.change():
        tx.speak("agent")
        tx.run(Undo(change))
    assert newest(store) == before
    assert name(store, other) == "two"


# For the human, of anybody


def test_of_several_changes_those_that_can_be_are_taken_back_and_the_others_are_told(store, do, add, rename):
    task, other, third = add("one"), add("one"), add("one")
    first, second, kept, alone = (
        rename(task, "two"),
        rename(other, "two"),
        rename(third, "two"),
        rename(task, "three", "b"),
    )
    do(Undo(second))
    do(EditTask(third, {"name": "mine"}), actor="c")
    ((taken, reasons),) = do(Revert((alone, kept, second, first, 999)), actor="human")
    assert taken == 2
    assert [change for change, _ in reasons] == [kept, second, 999]
    assert reasons[0][1] == 'c has changed task #3 "mine" since'
    assert reasons[1][1] == "it has been undone already"
    assert [name(store, uid) for uid in (task, other, third)] == ["one", "one", "mine"]
    # What is done in the same change afterwards undoes nothing.
    do(Revert((second,)), EditTask(third, {"name": "after"}), actor="human")
    assert journal.latest(store.db, 1)[0].undoes is None


def test_a_change_of_which_one_part_was_touched_is_left_whole(store, do, add):
    one, other = add("one"), add("one")
    do(EditTask(one, {"name": "two"}), EditTask(other, {"name": "two"}))
    change = newest(store)
    do(EditTask(one, {"name": "mine"}), actor="c")
    assert do(Revert((change,)), actor="human") == [(0, ((change, 'c has changed task #1 "mine" since'),))]
    assert name(store, other) == "two"


def test_a_name_that_is_taken_since_leaves_a_change_and_stops_one_of_which_a_part_was_taken_back(store, do, add):
    home, other = do(EnsureList("x", "task"), EnsureList("y", "task"))
    task = add("one")
    do(RenameList(home.uid, "z"), actor="human")
    alone = newest(store)
    do(RenameList(home.uid, "w"), EditTask(task, {"name": "two"}), actor="human")
    together = newest(store)
    do(RenameList(other.uid, "z"), actor="human")
    (taken, ((change, _),)), _ = do(Revert((alone,)), EditTask(task, {"tags": ("a",)}), actor="human")
    assert (taken, change) == (0, alone)
    # What is done in the same change afterwards undoes nothing.
    assert journal.latest(store.db, 1)[0].undoes is None
    before = newest(store)
    with pytest.raises(Conflict):
        do(Revert((together,)), actor="human")
    assert (newest(store), name(store, task)) == (before, "two")


def test_what_happens_to_another_job_does_not_matter(store, do):
    (other,) = do(CreateJob("other", "adhoc", "", "one", "UTC"), actor="other")
    (job,) = do(CreateJob("job", "adhoc", "", "one", "UTC"))
    change = newest(store)
    do(EditJob(other.uid, {"prompt": "two"}), actor="other")
    do(Undo(change))
    with pytest.raises(NotFound):
        job_queries.job(store.db, job.uid)


def test_an_undo_that_would_set_a_task_done_asks_for_the_proof_as_any_other_way(store, do, add):
    task = add("one")
    do(EditTask(task, {"status": "done"}))
    do(EditTask(task, {"status": "pending"}))
    change = newest(store)
    do(DefineChecks("a.toml", (NamedCheck("tests", "1", gate=True),)), actor=SYSTEM)
    do(GiveChecks(task, ("tests",)), actor="human")
    with pytest.raises(NotProven):
        do(Undo(change))
    assert task_queries.status(store.db, task) == "pending"


def test_what_no_undo_takes_back_is_passed_over(store, do, add):
    task = do(AddTask("one", do(EnsureList("x", "task"))[0].uid), actor="human")[0]
    made = newest(store)
    do(PauseAgent("agent", "wait"), actor="human")
    assert do(Undo(), actor="human") == [(made, made)]
    assert task_queries.status(store.db, task.uid) is None


def test_an_undo_is_redone_once(do, add, rename):
    rename(add("one"), "two")
    do(Undo())
    do(Redo())
    with pytest.raises(Conflict, match="no undo to redo"):
        do(Redo())


def test_a_log_entry_of_another_keeps_no_field_of_the_same_name_from_being_taken_back(store, do, add):
    task = add("one")
    do(EditTask(task, {"agent": "bob"}))
    change = newest(store)
    do(LogTask(task, "begun"), actor="other")
    do(Undo(change))
    assert task_queries.task(store.db, task).agent is None


def test_deleted_tasks_come_back_in_their_order_and_all_other_changes_from_their_end(store, do, add):
    one, other = add("one"), add("other")
    do(DeleteTask(one), DeleteTask(other))
    change = newest(store)
    (undone, _) = do(Undo(), EditTask(one, {"name": "after"}))
    assert undone == (change + 1, change)
    assert [(each.uid, each.undoes) for each in journal.latest(store.db, 3)] == [
        (one, change),
        (other, change),
        (one, None),
    ]
    do(EditTask(one, {"name": "two"}), EditTask(other, {"name": "two"}))
    do(Undo())
    assert [each.uid for each in journal.latest(store.db, 2)] == [other, one]


def test_a_log_entry_is_taken_back_though_another_has_logged_since(store, do, add):
    task = add("one")
    do(LogTask(task, "mine"))
    change = newest(store)
    do(LogTask(task, "theirs"), actor="other")
    do(Undo(change))
    assert [entry.message for entry in task_records.logs(store.db, task)] == ["theirs"]
