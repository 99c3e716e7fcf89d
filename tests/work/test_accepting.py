"""Reviewed work is merged exactly as it was seen, or nothing moves and a line says why."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.work.conftest import git
from tests.work.repositories import commit
from tests.work.test_starting import COMMITS, ROBOT, worktree
from tui_tasks.core.errors import CannotUndo, Conflict
from tui_tasks.core.operations import Undo
from tui_tasks.core.operations.tasks import ClaimTask, EditTask
from tui_tasks.core.operations.work import RunWork, WorkReady
from tui_tasks.core.read import message_queries, work_queries, work_text
from tui_tasks.core.read.agents import agent_views, session_queries
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.unjournaled import local_values
from tui_tasks.text.times import SECOND
from tui_tasks.work import clean_up, recovery, starting, tree_checks, work_outcomes
from tui_tasks.work.comments import Comment, review_message
from tui_tasks.work.git.merging import Moved
from tui_tasks.work.starting import StartRequest


def titles(folder: Path, branch: str = "main") -> list[str]:
    return git(folder, "log", "--first-parent", "--format=%s", branch).splitlines()


def branches(repo: Path) -> list[str]:
    return git(repo, "branch", "--list", "--format=%(refname:short)").split()


@pytest.mark.parametrize("method", ["squash", "merge", "rebase", "ff"])
def test_accepted_work_is_merged_and_cleaned_up(store, repo, configure, starter, task, acceptance, method):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    outcome = acceptance.accept(work, acceptance.review(work), method=method)
    assert outcome.state == "merged" and not outcome.notes
    assert (repo / "b.txt").read_text() == "two\n"
    assert git(repo, "status", "--porcelain") == ""
    assert titles(repo)[0] == ("Rotate API keys!" if method in ("squash", "merge") else "Add b")
    found = work_queries.find(store.db, work.uid)
    assert (found.state, found.intent, found.head is not None) == ("merged", None, True)
    assert task_queries.task(store.db, task).status == "done"
    assert not worktree(store).exists() and branches(repo) == ["main"]


def test_a_merge_has_the_name_that_the_human_has_set_for_the_checkout(
    repo, configure, starter, task, acceptance, human_home
):
    (human_home / "team").write_text("[user]\n\tname = Ada of the team\n")
    with (human_home / ".gitconfig").open("a") as file:
        file.write(f'[includeIf "gitdir:{repo}/.git"]\n\tpath = team\n')
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.accept(work, acceptance.review(work))
    assert git(repo, "log", "-1", "--format=%cn") == "Ada of the team"


@pytest.fixture
def commands(monkeypatch) -> list[list[str]]:
    """The git commands that are started."""
    started = []

    class Noted(subprocess.Popen):
        def __init__(self, argv, *words, **more):
            if argv[0] == "git":
                started.append(argv)
            super().__init__(argv, *words, **more)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return started


def test_git_is_started_few_times_and_asked_for_settings_once_a_worktree(
    configure, starter, task, acceptance, commands
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    asked = lambda: sum("--list" in words for words in commands)  # noqa: E731
    commands.clear()
    review = acceptance.review(work)
    assert len(commands) <= 7 and asked() == 1
    commands.clear()
    acceptance.accept(work, review)
    # Who merges, the worktree for the merge, the checkout that the merge writes, and the worktree for its removal.
    assert len(commands) <= 25 and asked() == 4


def test_no_control_of_an_agents_reaches_the_message_of_a_merge(
    store, repo, configure, starter, task, acceptance, clock
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    store.commit(EditTask(task, {"name": "Rotate\x1b[2J"}), actor="human", now=clock())
    store.commit(WorkReady(work.uid, "All\nrotated\x1b]0;owned\x07"), actor="system", now=clock())
    acceptance.accept(work, acceptance.review(work), method="squash")
    written = git(repo, "log", "-1", "--format=%B")
    assert written.splitlines()[:1] == ["Rotate␛[2J"] and "All\nrotated" in written
    assert not any(ord(character) < 32 and character != "\n" for character in written)


def test_a_merge_is_taken_back_with_its_worktree_while_nobody_has_built_on_it(
    store, repo, configure, starter, task, acceptance
):
    configure(f"{COMMITS}; echo x > note.log; echo '*.log' > .git_ignored")
    work = starter.start(task, ROBOT).work
    review = acceptance.review(work)
    before = git(repo, "rev-parse", "main")
    acceptance.accept(work, review, commit_message="The rest")
    restored = acceptance.take_back(work)
    assert restored.state == "ready" and git(repo, "rev-parse", "main") == before
    again = acceptance.review(restored)
    assert again.tree == review.tree and not again.is_dirty
    assert acceptance.accept(restored, again).state == "merged"


def test_an_undo_passes_over_a_merge_that_was_taken_back(store, clock, configure, starter, task, acceptance):
    configure(COMMITS)
    store.commit(EditTask(task, {"name": "Mine"}), actor="human", now=clock())
    work = starter.start(task, ROBOT).work
    acceptance.accept(work, acceptance.review(work))
    with pytest.raises(CannotUndo, match="it has merged work"):
        store.commit(Undo(), actor="human", now=clock())
    acceptance.take_back(work)
    with pytest.raises(CannotUndo, match="has started an agent"):
        store.commit(Undo(), actor="human", now=clock())


@pytest.mark.parametrize("method", ["squash", "merge", "rebase"])
def test_a_merge_that_others_have_built_on_is_reverted_and_can_be_merged_again(
    store, repo, configure, starter, task, acceptance, method
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.accept(work, acceptance.review(work), method=method)
    (repo / "c.txt").write_text("c\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Build on it")
    with pytest.raises(Conflict, match="has commits since the merge"):
        acceptance.take_back(work)
    assert work_queries.find(store.db, work.uid).state == "merged"
    restored = acceptance.take_back(work, is_revert=True)
    assert restored.state == "ready"
    assert not (repo / "b.txt").exists() and (repo / "c.txt").exists()
    review = acceptance.review(restored)
    assert [one.path for one in review.files] == ["b.txt"] and not review.is_dirty
    assert acceptance.accept(restored, review, method=method).state == "merged"
    assert (repo / "b.txt").exists() and (repo / "c.txt").exists()


@pytest.mark.parametrize("led", ["HEAD", "its branch"])
def test_an_undo_by_revert_moves_no_branch_to_which_an_agent_has_led_its_worktree(
    store, repo, configure, starter, task, acceptance, led
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.accept(work, acceptance.review(work), method="merge", go_on=True)
    (repo / "c.txt").write_text("c\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "Build on it")
    name = "HEAD" if led == "HEAD" else f"refs/heads/{work.branch}"
    git(worktree(store), "symbolic-ref", name, "refs/heads/main")
    acceptance.take_back(work, is_revert=True)
    assert titles(repo)[0] == "Revert the work of robot-1"
    assert not (repo / "b.txt").exists() and git(repo, "status", "--short") == ""


def test_work_that_moved_since_the_review_is_not_merged(store, repo, configure, starter, task, acceptance):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    review = acceptance.review(work)
    (worktree(store) / "b.txt").write_text("three\n")
    with pytest.raises(Moved, match="look again"):
        acceptance.accept(work, review)
    assert titles(repo) == ["First"] and work_queries.find(store.db, work.uid).state == "ready"


def test_uncommitted_work_is_refused_or_committed_with_the_humans_message(
    store, repo, configure, starter, task, acceptance
):
    configure(f"{COMMITS}; echo new > new.txt")
    work = starter.start(task, ROBOT).work
    with pytest.raises(Conflict, match="not committed"):
        acceptance.accept(work, acceptance.review(work))
    assert titles(repo) == ["First"]
    outcome = acceptance.accept(work, acceptance.review(work), method="ff", commit_message="Add new")
    assert outcome.state == "merged" and titles(repo) == ["Add new", "Add b", "First"]


def test_a_conflict_is_told_with_its_files_and_moves_nothing(store, repo, configure, starter, task, acceptance):
    configure("echo theirs > a.txt; git -c user.name=r -c user.email=r@x commit -qam 'Change a'")
    work = starter.start(task, ROBOT).work
    (repo / "a.txt").write_text("ours\n")
    git(repo, "commit", "-qam", "Ours")
    outcome = acceptance.accept(work, acceptance.review(work))
    assert (outcome.state, outcome.files) == ("conflict", ("a.txt",))
    found = work_queries.find(store.db, work.uid)
    assert (found.state, found.message) == ("conflict", "conflicts in a.txt")
    assert titles(repo) == ["Ours", "First"] and worktree(store).exists()
    assert acceptance.accept(work, acceptance.review(work)).state == "conflict"


def test_an_agent_that_goes_on_already_takes_another_comment(store, configure, starter, task, acceptance, monkeypatch):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    monkeypatch.setattr(clean_up, "is_gone", lambda *_: False)
    two = [Comment("b.txt", 1, False, "put()", "what if put fails?"), Comment("", 0, False, "", "And a test.")]
    acceptance.comment(work, review_message(work.base, two))
    assert acceptance.comment(work, "One more.").work.state == "working"
    told = store.db.sql("SELECT text FROM human_message WHERE agent = ? ORDER BY id", (work.agent,)).fetchall()
    assert [text for (text,) in told] == [
        "Review of your work:\n\nb.txt:1\n> put()\nwhat if put fails?\n\nAnd a test.\n\n"
        "Report it ready again when you are done.",
        "One more.",
    ]


def test_accepting_one_of_a_race_discards_the_others(store, repo, configure, starter, task, acceptance):
    configure(COMMITS)
    first = starter.start(task, ROBOT).work
    second = starter.start(task, StartRequest(program="robot", race=True)).work
    outcome = acceptance.accept(second, acceptance.review(second))
    assert [one.uid for one in outcome.discarded] == [first.uid]
    loser = work_queries.find(store.db, first.uid)
    assert (loser.state, loser.message) == ("discarded", f"the work of {second.agent} was merged instead")
    assert task_queries.task(store.db, task).agent == second.agent
    assert task_queries.task(store.db, task).status == "done"
    assert Path(first.worktree).is_dir()


def test_a_comment_on_work_that_is_over_or_a_second_end_of_it_says_how_to_bring_it_back(
    configure, starter, task, acceptance
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.discard(work)
    for act in (acceptance.discard, lambda work: acceptance.comment(work, "Mind the tests.")):
        with pytest.raises(Conflict, match="the work on #1 is discarded: `tui-tasks work restore 1` brings it back"):
            act(work)
    acceptance.take_back(work)
    acceptance.accept(work, acceptance.review(work))
    for act in (acceptance.discard, lambda work: acceptance.comment(work, "Mind the tests.")):
        with pytest.raises(Conflict, match="#1 is merged already; `tui-tasks work restore 1` undoes it"):
            act(work)


def test_one_of_a_race_that_is_discarded_comes_back_beside_the_other(
    store, clock, configure, starter, task, acceptance
):
    configure(COMMITS)
    first = starter.start(task, ROBOT).work
    second = starter.start(task, StartRequest(program="robot", race=True)).work
    clock.forward(SECOND)
    acceptance.discard(first)
    assert task_queries.task(store.db, task).agent == first.agent
    assert agent_views.left_now(store.db, clock(), 0) == {}
    assert acceptance.take_back(first).state == "ready"
    assert [work.uid for work in work_queries.live(store.db)] == [first.uid, second.uid]
    acceptance.discard(second)
    clock.forward(SECOND)
    acceptance.discard(first)
    clock.forward(SECOND)
    starter.start(task, ROBOT)
    with pytest.raises(Conflict, match="robot-3 is at work on its task now: discard that first"):
        acceptance.take_back(first)


def test_undoing_a_merge_brings_the_works_back_that_it_has_discarded_and_redoing_it_discards_them_again(
    store, repo, configure, starter, task, acceptance
):
    configure(COMMITS)
    works = [starter.start(task, StartRequest(program="robot", race=at > 0)).work for at in range(4)]
    early, *losers, winner = works
    acceptance.discard(early)
    acceptance.accept(winner, acceptance.review(winner))

    def states() -> list[str]:
        return [work_queries.find(store.db, one.uid).state for one in works]

    for _ in range(2):
        assert states() == ["discarded", "discarded", "discarded", "merged"]
        acceptance.take_back(work_queries.find(store.db, winner.uid))
        assert states() == ["discarded", "ready", "ready", "ready"]
        assert [work_queries.find(store.db, one.uid).message for one in losers] == [None, None]
        assert task_queries.task(store.db, task).status == "in_progress"
        acceptance.redo(work_queries.find(store.db, winner.uid))


def test_an_agent_goes_on_in_its_worktree_after_a_merge(store, clock, repo, configure, starter, task, acceptance):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    store.commit(EditTask(task, {"status": "done"}), actor="human", now=clock())
    outcome = acceptance.accept(work, acceptance.review(work), go_on=True)
    assert (outcome.state, outcome.work.state) == ("merged", "working")
    assert task_queries.task(store.db, task).status == "in_progress"
    assert git(worktree(store), "rev-parse", "HEAD") == git(repo, "rev-parse", "main")
    assert acceptance.review(outcome.work).ahead == 0


def test_merged_work_whose_agent_goes_on_and_ends_stays_merged(
    store, clock, repo, configure, starter, task, acceptance
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.accept(work, acceptance.review(work), go_on=True)
    assert work_outcomes.look(store, clock()) == 1
    assert work_queries.find(store.db, work.uid).state == "merged"
    assert task_queries.task(store.db, task).status == "done"
    recovery.recover(store, clock())
    assert not worktree(store).exists() and branches(repo) == ["main"]
    assert list(recovery.orphans(store)) == []
    assert acceptance.take_back(work).state == "ready"
    assert titles(repo) == ["First"] and worktree(store).exists()


def test_the_merge_of_an_agent_that_goes_on_is_taken_back_while_it_does(
    store, repo, configure, starter, task, acceptance
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.accept(work, acceptance.review(work), go_on=True)
    restored = acceptance.take_back(work)
    assert (restored.state, restored.merged_at, restored.kept) == ("working", None, None)
    assert titles(repo) == ["First"] and acceptance.review(restored).ahead == 1
    with pytest.raises(Conflict, match="nothing to undo"):
        acceptance.take_back(work)
    assert acceptance.redo(restored).work.state == "working"
    assert titles(repo) == ["Rotate API keys!", "First"]


def test_a_discard_keeps_what_takes_an_earlier_merge_back(store, repo, configure, starter, task, acceptance):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.accept(work, acceptance.review(work), go_on=True)
    acceptance.discard(work)
    assert acceptance.take_back(work).state == "ready" and titles(repo) == ["Rotate API keys!", "First"]
    assert acceptance.take_back(work).state == "ready" and titles(repo) == ["First"]


@pytest.mark.parametrize("changes", [True, False], ids=["the same changes", "no change"])
def test_work_that_adds_nothing_to_its_base_is_accepted_as_done_and_cleaned_up_until_that_is_undone(
    store, repo, configure, starter, task, acceptance, changes
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    if changes:
        git(repo, "checkout", git(worktree(store), "rev-parse", "HEAD"), "--", ".")
        commit(repo, "The same")
    else:
        git(worktree(store), "reset", "-q", "--hard", "main")
    before, review = git(repo, "rev-parse", "main"), acceptance.review(work)
    assert review.adds_nothing
    redo = lambda: acceptance.redo(work_queries.find(store.db, work.uid))  # noqa: E731
    for end in (lambda: acceptance.accept(work, review), redo):
        outcome = end()
        assert (outcome.state, outcome.merge, outcome.work.state) == ("merged", None, "merged")
        assert outcome.work.message == "nothing new for main"
        assert task_queries.task(store.db, task).status == "done"
        assert git(repo, "rev-parse", "main") == before and branches(repo) == ["main"]
        assert acceptance.take_back(outcome.work).state == "ready"
        assert git(repo, "rev-parse", "main") == before and worktree(store).is_dir()
    if not changes:
        return
    git(repo, "rm", "-q", "b.txt")
    commit(repo, "Changed since")
    with pytest.raises(Conflict, match="main have changed since"):
        acceptance.redo(work_queries.find(store.db, work.uid))


@pytest.mark.parametrize("is_discard", [False, True], ids=["a merge", "a discard"])
def test_what_was_taken_back_is_done_again(store, repo, configure, starter, task, acceptance, is_discard):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    if is_discard:
        acceptance.discard(work)
    else:
        acceptance.accept(work, acceptance.review(work), message="Add it")
    merged = git(repo, "rev-parse", "main")
    acceptance.take_back(work)
    again = acceptance.redo(work_queries.find(store.db, work.uid))
    assert again.work.state == again.state == ("discarded" if is_discard else "merged")
    assert git(repo, "rev-parse", "main") == merged
    with pytest.raises(Conflict, match="was undone"):
        acceptance.redo(again.work)


def test_a_merge_is_not_done_again_once_the_base_or_the_work_has_changed(
    store, repo, configure, starter, task, acceptance
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.accept(work, acceptance.review(work))
    work = acceptance.take_back(work)
    (worktree(store) / "b.txt").write_text("three\n")
    with pytest.raises(Conflict, match="its files or main have changed since: review it, then merge it again"):
        acceptance.redo(work)
    assert titles(repo) == ["First"] and work_queries.find(store.db, work.uid).state == "ready"


@pytest.mark.parametrize("is_committed", [False, True], ids=["a file", "a commit"])
def test_a_discard_is_not_done_again_once_the_work_has_changed(
    store, repo, configure, starter, task, acceptance, is_committed
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    (worktree(store) / "left.txt").write_text("not committed\n")
    acceptance.discard(work)
    work = acceptance.take_back(work)
    assert acceptance.redo(work).state == "discarded"
    work = acceptance.take_back(work)
    (worktree(store) / "left.txt").write_text("more\n")
    if is_committed:
        commit(worktree(store), "More")
    with pytest.raises(Conflict, match="its files may have changed since: review it, then discard it again"):
        acceptance.redo(work)
    assert work_queries.find(store.db, work.uid).state == "ready"


@pytest.mark.parametrize("is_committed", [False, True], ids=["a file", "a commit"])
def test_work_on_the_base_itself_is_not_accepted_again_once_it_has_changed(
    store, repo, configure, starter, task, acceptance, is_committed
):
    configure(COMMITS)
    work = starter.start(task, StartRequest(program="robot", here=True)).work
    acceptance.accept(work, acceptance.review(work))
    work = acceptance.take_back(work)
    assert acceptance.redo(work).state == "merged"
    work = acceptance.take_back(work)
    (repo / "b.txt").write_text("three\n")
    if is_committed:
        commit(repo, "More")
    with pytest.raises(Conflict, match="its files or main have changed since: review it, then merge it again"):
        acceptance.redo(work)
    assert work_queries.find(store.db, work.uid).state == "ready"


def test_work_in_the_checkout_itself_is_accepted_without_a_merge(store, repo, configure, starter, task, acceptance):
    configure(COMMITS)
    work = starter.start(task, StartRequest(program="robot", here=True)).work
    review = acceptance.review(work)
    assert [one.path for one in review.files] == ["b.txt"]
    assert acceptance.accept(work, review).state == "merged"
    assert titles(repo) == ["Add b", "First"] and (repo / "b.txt").exists()


def test_a_base_that_is_checked_out_with_changes_is_refused_before_checks_run_and_the_work_stays_ready(
    store, repo, configure, starter, task, acceptance, monkeypatch
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    (repo / "a.txt").write_text("mine\n")
    git(repo, "add", "a.txt")
    monkeypatch.setattr(tree_checks, "are_proven", lambda checks: False)
    monkeypatch.setattr(tree_checks.Prover, "prove", pytest.fail)  # they may take long
    with pytest.raises(Conflict, match=r"^commit a.txt in \S+ first, where main is checked out; or switch"):
        acceptance.accept(work, acceptance.review(work))
    found = work_queries.find(store.db, work.uid)
    assert (found.state, found.intent) == ("ready", None)
    assert titles(repo) == ["First"] and (repo / "a.txt").read_text() == "mine\n"


@pytest.mark.parametrize(("is_tracked", "says"), [(True, "commit"), (False, "move")])
def test_a_name_in_the_way_that_is_not_utf_8_is_written_in_escapes(
    is_tracked, says, store, repo, configure, starter, task, acceptance
):
    name = Path(os.fsdecode(b"b\xe9.txt"))
    if is_tracked:
        (repo / name).write_text("one\n")
        commit(repo, "Add it")
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    if not is_tracked:
        (worktree(store) / name).write_text("theirs\n")
        commit(worktree(store), "Add it")
    (repo / name).write_text("mine\n")
    if is_tracked:
        git(repo, "add", "-u")
    with pytest.raises(Conflict, match=rf"^{says} b\\xe9\.txt ") as refused:
        acceptance.accept(work, acceptance.review(work))
    assert refused.value.data["files"] == [r"b\xe9.txt"]
    found = work_queries.find(store.db, work.uid)
    assert (found.state, found.intent) == ("ready", None)


def test_discarded_work_comes_back(store, repo, configure, starter, task, acceptance):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    assert acceptance.discard(work).state == "discarded"
    assert task_queries.task(store.db, task).status == "pending"
    assert acceptance.take_back(work).state == "ready"


@pytest.mark.parametrize("did", ["claimed", "done"])
def test_discarded_work_does_not_come_back_while_another_agent_has_claimed_or_done_its_task(
    store, clock, configure, starter, task, acceptance, did
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.discard(work)
    store.commit(ClaimTask("cleo", SECOND, task), actor="cleo", now=clock())
    if did == "done":
        store.commit(EditTask(task, {"status": "done"}), actor="cleo", now=clock())
    why = f"cleo has {did} #1 since: set it pending first, then bring the work of {work.agent} back"
    with pytest.raises(Conflict, match=why):
        acceptance.take_back(work)
    assert task_queries.task(store.db, task).agent == "cleo"
    assert work_queries.find(store.db, work.uid).state == "discarded"
    store.commit(EditTask(task, {"status": "pending"}), actor="human", now=clock())
    assert acceptance.take_back(work).state == "ready"
    assert task_queries.task(store.db, task).agent == work.agent


@pytest.mark.parametrize("did", ["claimed", "done"])
def test_a_merge_is_not_taken_back_while_another_agent_has_claimed_or_done_its_task_again(
    store, clock, repo, configure, starter, task, acceptance, did
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.accept(work, acceptance.review(work))
    merged = git(repo, "rev-parse", "main")
    store.commit(EditTask(task, {"status": "pending"}), actor="human", now=clock())
    store.commit(ClaimTask("cleo", SECOND, task), actor="cleo", now=clock())
    if did == "done":
        store.commit(EditTask(task, {"status": "done"}), actor="cleo", now=clock())
    with pytest.raises(Conflict, match=f"cleo has {did} #1 since: set it pending first"):
        acceptance.take_back(work)
    assert git(repo, "rev-parse", "main") == merged
    assert task_queries.task(store.db, task).agent == "cleo"
    assert work_queries.find(store.db, work.uid).state == "merged"


def test_another_agents_name_in_the_field_of_a_merged_task_does_not_keep_the_merge(
    store, clock, configure, starter, task, acceptance
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    acceptance.accept(work, acceptance.review(work))
    store.commit(EditTask(task, {"agent": "cleo"}), actor="cleo", now=clock())
    assert acceptance.take_back(work).state == "ready"


@pytest.mark.parametrize("was", ["failed", "working"])
def test_discarded_work_that_made_nothing_comes_back_as_failed_with_nothing_to_review(
    was, store, clock, configure, starter, task, acceptance, monkeypatch
):
    configure("exit 3")
    if was == "working":
        monkeypatch.setattr(starting, "_start_headless", lambda *_: None)
    work = starter.start(task, ROBOT).work
    if was == "working":
        (work,) = store.commit(RunWork(work.uid), actor="system", now=clock())
    before = work_queries.find(store.db, work.uid)
    assert before.state == was
    acceptance.discard(work)
    for uid in (work.uid, work.uid):
        back = acceptance.take_back(work_queries.find(store.db, uid))
        why = before.message if was == "failed" else "robot-1 was ended before it changed anything"
        assert (back.state, back.message) == ("failed", why)
        assert task_queries.task(store.db, task).status == "pending"
        assert acceptance.redo(back).state == "discarded"
    assert work_text.review_texts(store.db, work_queries.live(store.db)) == []


def test_a_worktree_that_its_agent_has_made_a_repository_of_its_own_is_neither_reviewed_nor_removed(
    store, clock, repo, configure, starter, task, acceptance
):
    configure(f"{COMMITS}; rm .git; git init -q -b main .; {COMMITS}; touch of-its-own")
    work = starter.start(task, ROBOT).work
    told = f"{worktree(store)} is no longer a worktree of {repo}: take what you need from it, then move it away"
    with pytest.raises(Conflict, match=re.escape(told)):
        acceptance.review(work)
    acceptance.discard(work)
    assert recovery.clean_ended(store, (), clock()) == [f"kept {worktree(store)}: {told}"]
    assert (worktree(store) / "of-its-own").exists()


def test_comments_to_an_agent_whose_process_has_ended_start_its_program_again_with_them(
    store, repo, configure, starter, task, acceptance
):
    configure(f'{COMMITS}; printf "%s" "$1" >> ../prompts; echo again >> c.txt')
    work = starter.start(task, ROBOT).work
    assert work.state == "ready"
    sent = acceptance.comment(work, "Name it d.txt.", "version")
    assert local_values.get(store.db, local_values.key_of_sent_back(work.uid)) == "version"
    assert sent.is_started_again and sent.work.state == "ready"
    first, second = (worktree(store).parent / "prompts").read_text().split("Work on task #1")[1:]
    assert (first.count("Name it d.txt."), second.count("Name it d.txt.")) == (0, 1)
    assert [one.session.uid for one in session_queries.everyone(store.db)] == ["robot-1"]
    assert message_queries.waiting(store.db, "robot-1") == ()


def test_comments_that_reach_nobody_are_refused_in_one_line_and_change_nothing(
    store, repo, configure, starter, task, acceptance
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    (repo.parent / "robot.sh").unlink()
    with pytest.raises(Conflict, match="robot cannot be started: no program"):
        acceptance.comment(work, "Again.")
    assert work_queries.find(store.db, work.uid).state == "ready"
    assert message_queries.waiting(store.db, "robot-1") == ()


def test_comments_wait_where_the_program_cannot_be_started_again_after_all(
    store, configure, starter, task, acceptance, monkeypatch
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work

    def refuse(*_):
        raise OSError("no more processes")

    monkeypatch.setattr(starting, "_start_headless", refuse)
    with pytest.raises(Conflict, match="robot-1 has ended and cannot be started again: no more processes"):
        acceptance.comment(work, "Again.")
    assert work_queries.find(store.db, work.uid).state == "ready"
    assert [one.text for one in message_queries.waiting(store.db, "robot-1")] == ["Again."]


def test_work_whose_worktree_was_deleted_by_hand_says_so_and_is_discarded(
    store, clock, configure, starter, task, acceptance
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    shutil.rmtree(worktree(store))
    told = f"the worktree {worktree(store)} is gone: discard the work"
    with pytest.raises(Conflict, match=re.escape(told)):
        acceptance.review(work)
    with pytest.raises(Conflict, match=re.escape(told)):
        acceptance.comment(work, "Again.")
    acceptance.discard(work)
    assert recovery.clean_ended(store, (), clock()) == []
    restored = acceptance.take_back(work)
    assert titles(worktree(store), "HEAD")[0] == "Add b"
    assert acceptance.accept(restored, acceptance.review(restored)).state == "merged"


def test_work_whose_base_branch_is_gone_is_merged_into_another(store, repo, configure, starter, task, acceptance):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    git(repo, "branch", "-m", "main", "trunk")
    with pytest.raises(Conflict, match="there is no branch main: merge into another one"):
        acceptance.review(work)
    assert acceptance.accept(work, acceptance.review(work, "trunk")).state == "merged"
    assert titles(repo, "trunk")[0] == "Rotate API keys!"


def test_work_on_a_detached_head_is_merged_with_a_note(store, repo, configure, starter, task, acceptance):
    configure(f"git checkout -q --detach; {COMMITS}")
    work = starter.start(task, ROBOT).work
    review = acceptance.review(work)
    assert review.notes[0] == "it stands on no branch, not on task/1-rotate-api-keys"
    assert acceptance.accept(work, review).state == "merged"
    assert (repo / "b.txt").read_text() == "two\n"


def test_a_human_whom_git_does_not_know_is_told_and_nothing_moves(
    store, repo, configure, starter, task, acceptance, monkeypatch
):
    configure(COMMITS)
    work = starter.start(task, ROBOT).work
    (repo.parent / "home" / ".gitconfig").unlink()
    before = git(repo, "rev-parse", "main")
    with pytest.raises(Conflict, match=re.escape('git does not know who you are: `git config --global user.name "…"`')):
        acceptance.accept(work, acceptance.review(work))
    assert git(repo, "rev-parse", "main") == before
    assert work_queries.find(store.db, work.uid).state == "ready"
