"""What a crash left is taken back or named, and cleaning loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SECOND
from tests.work.conftest import git
from tests.work.test_starting import COMMITS, ROBOT, nothing_is_left, worktree
from tui_tasks.core.operations.work import DiscardWork, StartWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.store import Store
from tui_tasks.work import recovery
from tui_tasks.work.agent_terminals import Terminals


def begun(store, clock, repo, task) -> StartWork:
    commit = git(repo, "rev-parse", "HEAD")
    path = str(worktree(store))
    branch = "task/1-rotate-api-keys"
    operation = StartWork(task, "robot", str(repo), path, branch=branch, base="main", base_commit=commit)
    return store.commit(operation, actor="human", now=clock())[0]


def test_a_start_that_was_interrupted_is_taken_back(store, clock, repo, task):
    work = begun(store, clock, repo, task)
    git(repo, "worktree", "add", "-q", "-b", work.branch, work.worktree)
    assert recovery.recover(store, clock()) == []
    assert recovery.recover(store, clock.forward(recovery.START_SECONDS)) == ["undid the start of robot-1"]
    assert work_queries.find(store.db, work.uid).message == "its start was interrupted"
    nothing_is_left(store, repo, task)


@pytest.mark.parametrize("runs", [True, False])
def test_a_start_whose_terminal_has_lost_its_launcher_is_taken_back_and_another_is_not(
    runs, store, clock, repo, task, monkeypatch
):
    commit = git(repo, "rev-parse", "HEAD")
    operation = StartWork(
        task, "robot", str(repo), str(repo), makes_worktree=False, base_commit=commit, has_terminal=True
    )
    store.commit(operation, actor="human", now=clock())
    monkeypatch.setattr(Terminals, "runs", lambda terminals, name: runs)
    done = recovery.recover(store, clock.forward(recovery.START_SECONDS))
    assert done == ([] if runs else ["undid the start of robot-1"])


def test_a_branch_with_commits_of_its_own_outlives_the_taking_back(store, clock, repo, task):
    work = begun(store, clock, repo, task)
    git(repo, "worktree", "add", "-q", "-b", work.branch, work.worktree)
    git(Path(work.worktree), "commit", "-qm", "Mine", "--allow-empty")
    recovery.recover(store, clock.forward(recovery.START_SECONDS))
    assert git(repo, "log", "-1", "--format=%s", work.branch) == "Mine"


@pytest.mark.parametrize("intent", ['{"step": 1}', '{"step": "merge", "merge": []}', '{"a": 1}'])
def test_an_intent_that_was_changed_by_hand_is_named(intent, store, clock, repo, task):
    work = begun(store, clock, repo, task)
    store.db.sql("UPDATE work SET intent = ?, state = 'working' WHERE uid = ?", (intent, work.uid))
    named = f"the field intent of the work of robot-1 (uid {work.uid}) is not what this program writes"
    (line,) = recovery.recover(store, clock())
    assert line == f"the merge of robot-1 is not ended: {named}. Restore a backup"
    assert f"{named}. Restore a backup" in list(recovery.orphans(store))


def test_each_orphan_is_named(store, clock, repo, configure, starter, task):
    begun(store, clock, repo, task)
    stray = worktree(store).parent / "stray"
    stray.mkdir(parents=True)
    assert list(recovery.orphans(store)) == [
        f"work of robot-1: its worktree {worktree(store)} is gone; discard it",
        f"worktree {stray}: it belongs to no work; `git worktree remove` removes it",
    ]


def test_a_worktree_that_another_database_in_the_folder_may_own_is_not_called_a_stray_one(
    store, clock, repo, configure, starter, task
):
    configure(COMMITS)
    starter.start(task, ROBOT)
    beside = Path(store.path).with_name("beside.db")
    with Store(str(beside)) as other:
        assert list(recovery.orphans(other)) == [
            f"worktree {worktree(store)}: it belongs to no work of this database, maybe to one of {store.path}: ask "
            f"`tui-tasks work ls --db {store.path}` before `git worktree remove` removes it"
        ]
    assert list(recovery.orphans(store)) == []


def test_cleaning_removes_what_ended_work_left_and_keeps_what_is_in_no_commit(
    store, clock, repo, configure, starter, task
):
    configure(f"{COMMITS}; echo draft > notes.txt")
    work = starter.start(task, ROBOT).work
    assert recovery.clean_ended(store, (), clock()) == []
    store.commit(
        DiscardWork(work.uid, git(worktree(store), "rev-parse", "HEAD")), actor="human", now=clock.forward(SECOND)
    )
    assert list(recovery.orphans(store)) == [], "discarded work is kept on purpose"
    assert recovery.clean_ended(store, (), clock()) == [f"removed {worktree(store)}"]
    assert not worktree(store).exists()
    assert git(repo, "log", "-1", "--format=%s", work.branch) == "Add b"
    assert recovery.clean_ended(store, (), clock()) == []
