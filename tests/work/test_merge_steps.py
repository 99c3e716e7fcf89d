"""A merge that was cut off is carried on or taken back; discarded work comes back whole, and a discarded agent is
ended.
"""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from tests.conftest import SECOND
from tests.work.conftest import git
from tests.work.test_accepting import branches, titles
from tests.work.test_starting import COMMITS, ROBOT, worktree
from tui_tasks.core.agent_snapshots import Process
from tui_tasks.core.commit import journal
from tui_tasks.core.operations.work import BeginMerge, MergeWork, RestoreWork, RunWork, SetWork, StartWork
from tui_tasks.core.read import work_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.runner import git as git_process
from tui_tasks.runner import git_isolation, git_trees
from tui_tasks.runner.git import GitFailed
from tui_tasks.work import clean_up, merge_steps, recovery
from tui_tasks.work.git import base_branch, merging, removed_worktrees, worktrees
from tui_tasks.work.git.merging import Committer, Merge
from tui_tasks.work.merge_steps import Intent

GONE = Process()


@pytest.fixture
def begun(store, clock, repo, configure, starter, task, acceptance):
    """Return a work whose merge was written down by a process that is gone, and the merge."""

    def begin(method="squash", **more) -> tuple[object, Merge]:
        configure(COMMITS)
        work = starter.start(task, ROBOT).work
        review = acceptance.review(work)
        merge = merging.prepare(repo, review, method, "Rotate", Committer("Ada", "ada@x"))
        intent = msgspec.to_builtins(Intent("merge", merge, GONE, **more))
        store.commit(BeginMerge(work.uid, intent), actor="human", now=clock())
        return work_queries.find(store.db, work.uid), merge

    return begin


def test_a_merge_that_was_cut_off_before_the_branch_moved_is_taken_back(store, clock, repo, begun):
    work, _ = begun()
    assert recovery.recover(store, clock()) == ["undid the merge of robot-1"]
    found = work_queries.find(store.db, work.uid)
    assert (found.state, found.intent, found.message) == ("ready", None, "its merge was interrupted")
    assert titles(repo) == ["First"] and worktree(store).is_dir()


def test_a_merge_that_was_cut_off_after_the_branch_moved_is_ended(store, clock, repo, task, begun):
    work, merge = begun()
    base_branch.carry_out(repo, merge)
    assert recovery.recover(store, clock()) == ["ended the merge of robot-1"]
    found = work_queries.find(store.db, work.uid)
    assert (found.state, found.intent) == ("merged", None)
    assert task_queries.task(store.db, task).status == "done"
    assert not worktree(store).exists() and branches(repo) == ["main"]
    assert recovery.recover(store, clock()) == []


def entries(store) -> int:
    return journal.newest(store.db)


@pytest.mark.parametrize("method", ["squash", "ff"])
def test_a_merge_that_was_cut_off_after_the_branch_moved_is_ended_although_main_has_moved_on(
    store, clock, repo, begun, method
):
    work, merge = begun(method=method)
    base_branch.carry_out(repo, merge)
    git(repo, "commit", "--allow-empty", "-qm", "Go on")
    assert recovery.recover(store, clock()) == ["ended the merge of robot-1"]
    assert work_queries.find(store.db, work.uid).state == "merged"


def test_work_that_came_into_main_by_a_merge_of_somebody_else_is_not_taken_for_merged(store, clock, repo, begun):
    work, merge = begun(method="ff")
    git(repo, "merge", "--no-ff", "-q", "-m", "Merge it by hand", merge.head)
    assert recovery.recover(store, clock()) == ["undid the merge of robot-1"]
    assert work_queries.find(store.db, work.uid).state == "ready"


@pytest.mark.parametrize("slow", [0, 1, 2, 3, 5, 8, 13, 21])
def test_a_merge_whose_recovery_git_was_too_slow_for_is_ended_at_the_next_look(
    store, clock, repo, begun, monkeypatch, slow
):
    """`slow`: which git command takes too long."""
    work, merge = begun()
    base_branch.carry_out(repo, merge)
    calls = itertools.count()

    def timing_out(original):
        def run(*words, **more):
            if next(calls) == slow:
                raise GitFailed("git took over 5 seconds")
            return original(*words, **more)

        return run

    with monkeypatch.context() as slowly:
        for name in ("run", "read", "read_files", "settings"):
            slowly.setattr(git_process, name, timing_out(getattr(git_process, name)))
        recovery.recover(store, clock())
    recovery.recover(store, clock())
    found = work_queries.find(store.db, work.uid)
    assert (found.state, found.intent) == ("merged", None)
    assert not work_queries.begun(store.db) and not worktree(store).exists() and branches(repo) == ["main"]


def test_a_clean_up_that_was_cut_off_is_ended(store, clock, repo, begun, acceptance):
    work, merge = begun()
    base_branch.carry_out(repo, merge)
    (worktree(store) / "late.md").write_text("late\n")
    held = msgspec.to_builtins(Intent("clean", merge, GONE))
    kept = {"merge": msgspec.to_builtins(merge)}
    store.commit(MergeWork(work.uid, merge.head, kept, held), actor="human", now=clock())
    with git_isolation.opened(worktree(store)) as work_tree, git_trees.indexed(work_tree) as files:
        removed_worktrees.put_away(files, work.uid, Path(store.path).parent / "trash" / work.uid)
    assert recovery.recover(store, clock()) == ["cleaned up after robot-1"]
    assert not worktree(store).exists()
    acceptance.take_back(work_queries.find(store.db, work.uid))
    assert (worktree(store) / "late.md").read_text() == "late\n"
    assert git(worktree(store), "status", "--porcelain") == "?? late.md"


@pytest.mark.parametrize("has_moved", [False, True])
def test_an_undo_that_was_cut_off_is_carried_on(store, clock, repo, configure, starter, task, acceptance, has_moved):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    merge = acceptance.accept(work, acceptance.review(work)).merge
    held = msgspec.to_builtins(Intent("undo", merge, GONE))
    store.commit(SetWork(work.uid, {"intent": held}), actor="human", now=clock())
    if has_moved:
        base_branch.take_back(repo, merge)
    assert recovery.recover(store, clock()) == ["undid the merge of robot-1, as was begun"]
    found = work_queries.find(store.db, work.uid)
    assert (found.state, found.intent) == ("ready", None)
    assert titles(repo) == ["First"] and worktree(store).is_dir()


@pytest.fixture
def undoing(store, clock, repo, configure, starter, task, acceptance):
    """Return a merged work whose undo was written down by a process that is gone, and its merge."""
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    merge = acceptance.accept(work, acceptance.review(work)).merge
    store.commit(SetWork(work.uid, {"intent": msgspec.to_builtins(Intent("undo", merge, GONE))}), actor="human", now=1)
    return work, merge


def test_an_undo_that_was_cut_off_after_main_moved_back_ends_although_main_has_moved_on(store, clock, repo, undoing):
    work, merge = undoing
    base_branch.take_back(repo, merge)
    git(repo, "commit", "--allow-empty", "-qm", "Go on")
    assert recovery.recover(store, clock()) == ["undid the merge of robot-1, as was begun"]
    assert work_queries.find(store.db, work.uid).state == "ready"
    before = entries(store)
    assert recovery.recover(store, clock()) == []
    assert entries(store) == before and titles(repo)[0] == "Go on"


def test_an_undo_that_was_cut_off_before_main_moved_is_given_up_once_others_have_built_on_the_merge(
    store, clock, repo, undoing
):
    work, _ = undoing
    git(repo, "commit", "--allow-empty", "-qm", "Go on")
    [line] = recovery.recover(store, clock())
    assert line == "gave up the undo of robot-1: main has commits since the merge: revert it instead"
    found = work_queries.find(store.db, work.uid)
    assert (found.state, found.intent) == ("merged", None)
    before = entries(store)
    assert recovery.recover(store, clock()) == [] and entries(store) == before


def test_an_undo_that_waits_for_the_human_writes_nothing_at_each_look(store, clock, repo, undoing):
    (repo / "a.txt").write_text("mine\n")
    git(repo, "add", "a.txt")
    before = entries(store)
    for _ in range(2):
        [line] = recovery.recover(store, clock())
        assert line.startswith("the undo of robot-1 is not ended: commit a.txt")
    assert entries(store) == before


def test_the_second_worktree_of_a_merge_that_was_cut_off_is_removed(store, clock, repo, tmp_path, begun):
    proof = Path(store.path).parent / "proofs" / "1"
    proof.parent.mkdir()
    _, merge = begun(proof=str(proof))
    worktrees.materialise(repo, merge.new, proof)
    assert any("its merge was interrupted" in line for line in recovery.orphans(store))
    recovery.recover(store, clock())
    assert not proof.exists()
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 2


def test_what_a_living_process_has_begun_is_left_to_it(store, clock, repo, begun):
    work, merge = begun()
    held = msgspec.to_builtins(Intent("merge", merge, merge_steps.this_process()))
    store.commit(SetWork(work.uid, {"intent": held}), actor="human", now=clock())
    assert recovery.recover(store, clock()) == []
    assert work_queries.find(store.db, work.uid).state == "merging"
    assert not any("begun" in line for line in recovery.orphans(store))
    assert os.getpid() == merge_steps.intent_of(work_queries.find(store.db, work.uid)).process.pid


def test_a_merge_in_a_folder_where_git_was_killed_just_now_is_tried_again_later(store, clock, repo, begun):
    begun()
    (repo / ".git" / "index.lock").touch()
    (told,) = recovery.recover(store, clock())
    assert "git still works there" in told
    os.utime(repo / ".git" / "index.lock", (0, 0))
    assert recovery.recover(store, clock()) == ["undid the merge of robot-1"]


def test_discarded_work_comes_back_with_its_commits_even_after_cleaning(store, clock, repo, configure, starter, task):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    store.commit(merge_steps.discarding(work), actor="human", now=clock.forward(SECOND))
    clean_up.end_agent(store, work)
    assert task_queries.task(store.db, task).status == "pending"
    assert recovery.clean_ended(store, (), clock()) == [f"removed {worktree(store)}"]
    for is_without_branch in (False, True):
        shutil.rmtree(worktree(store), ignore_errors=True)
        git(repo, "worktree", "prune")
        if is_without_branch:
            git(repo, "branch", "-D", work.branch)
        clean_up.bring_back(work_queries.find(store.db, work.uid))
        assert git(worktree(store), "log", "-1", "--format=%s") == "Add b"
    store.commit(RestoreWork(work.uid), actor="human", now=clock())
    assert work_queries.find(store.db, work.uid).state == "ready"


def test_a_program_that_has_not_reported_is_said_to_ask_at_its_terminal(store, clock, task):
    (work,) = store.commit(StartWork(task, "claude", "/repo", "/trees/1"), actor="human", now=clock())
    store.commit(RunWork(work.uid, Process("b", "n", 4, "7")), actor="system", now=clock())
    work = work_queries.find(store.db, work.uid)
    assert not work_queries.is_silent(store.db, work, clock())
    assert work_queries.is_silent(store.db, work, clock.forward(5))
