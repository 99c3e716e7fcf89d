"""Discarded work comes back whole, and a discarded agent is ended."""

from __future__ import annotations

import shutil

from tests.conftest import SECOND
from tests.work.conftest import git
from tests.work.test_starting import COMMITS, ROBOT, worktree
from tui_tasks.core.operations.sessions import Process
from tui_tasks.core.operations.work import RestoreWork, RunWork, StartWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.work import ending, recovery


def test_discarded_work_comes_back_with_its_commits_even_after_cleaning(store, clock, repo, configure, starter, task):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    store.commit(ending.discarding(work), actor="human", now=clock.forward(SECOND))
    ending.end_agent(store, work)
    assert task_queries.task(store.db, task).status == "pending"
    assert recovery.clean(store, (), clock()) == [f"removed {worktree(store)}"]
    for is_without_branch in (False, True):
        shutil.rmtree(worktree(store), ignore_errors=True)
        git(repo, "worktree", "prune")
        if is_without_branch:
            git(repo, "branch", "-D", work.branch)
        ending.bring_back(work_queries.find(store.db, work.uid))
        assert git(worktree(store), "log", "-1", "--format=%s") == "Add b"
    store.commit(RestoreWork(work.uid), actor="human", now=clock())
    assert work_queries.find(store.db, work.uid).state == "ready"


def test_a_program_that_has_not_reported_is_said_to_ask_at_its_terminal(store, clock, task):
    (work,) = store.commit(StartWork(task, "claude", "/repo", "/trees/1"), actor="human", now=clock())
    store.commit(RunWork(work.uid, Process("b", "n", 4, "7")), actor="system", now=clock())
    work = work_queries.find(store.db, work.uid)
    assert not work_queries.is_silent(store.db, work, clock())
    assert work_queries.is_silent(store.db, work, clock.forward(5))
