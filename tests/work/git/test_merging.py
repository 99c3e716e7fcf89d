"""Work is merged as it was reviewed, without a working tree, and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.work.repositories import ME, Place, check_reviewed, commit, git, reviewed, write
from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git_isolation
from tui_tasks.runner.git import settings as git_settings
from tui_tasks.work.git import base_branch, merging, removed_worktrees, worktrees
from tui_tasks.work.git.merging import Merge, MergeConflicts, Method, Moved


@pytest.fixture
def human(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A human whom git knows."""
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def prepared(place: Place, method: Method = "squash") -> Merge:
    seen = reviewed(place.tree, "main")
    check_reviewed(seen)
    return merging.prepare(place.root, seen, method, "Merge it", ME)


@pytest.mark.parametrize(
    ("method", "parents", "titles"),
    [
        ("squash", 1, ["Merge it", "Elsewhere", "First"]),
        ("merge", 2, ["Merge it", "Elsewhere", "More", "Work on a", "First"]),
        ("rebase", 1, ["More", "Work on a", "Elsewhere", "First"]),
    ],
)
def test_work_is_merged_as_set_where_the_base_is_checked_out(
    place: Place, method: Method, parents: int, titles: list[str]
) -> None:
    commit(place.tree, "More", d_txt="d\n")
    commit(place.root, "Elsewhere", c_txt="of the base\n")
    write(place.root, mine_txt="untracked\n")
    merge = prepared(place, method)
    assert git(place.root, "rev-parse", "main") == merge.old
    base_branch.carry_out(place.root, merge)
    base_branch.carry_out(place.root, merge)
    assert sorted(git(place.root, "log", "--format=%s").splitlines()) == sorted(titles)
    assert len(git(place.root, "log", "-1", "--format=%P").split()) == parents
    assert git(place.root, "status", "--porcelain") == "?? mine.txt"
    assert (place.root / "d.txt").read_text() == "d\n"
    assert git(place.root, "log", "-1", "--format=%cn") == "Ada"
    base_branch.take_back(place.root, merge)
    assert git(place.root, "rev-parse", "HEAD") == merge.old
    assert git(place.root, "status", "--porcelain") == "?? mine.txt"


def test_a_fast_forward_is_refused_where_the_base_has_moved_on(place: Place) -> None:
    assert prepared(place, "ff").new == git(place.tree, "rev-parse", "HEAD")
    commit(place.root, "Elsewhere", c_txt="of the base\n")
    with pytest.raises(Conflict, match="has moved on: rebase"):
        prepared(place, "ff")


@pytest.mark.parametrize("method", ["squash", "merge", "rebase"])
def test_work_whose_changes_the_base_has_already_makes_no_empty_commit(place: Place, method: Method) -> None:
    git(place.root, "checkout", git(place.tree, "rev-parse", "HEAD"), "--", ".")
    commit(place.root, "The same")
    with pytest.raises(Conflict, match="main has all of its changes already: there is nothing to merge"):
        prepared(place, method)


@pytest.mark.parametrize("method", ["squash", "merge", "rebase"])
def test_a_conflict_names_its_files_and_changes_nothing(place: Place, method: Method) -> None:
    before = commit(place.root, "Also a", a_txt="other\n")
    with pytest.raises(MergeConflicts) as caught:
        prepared(place, method)
    assert caught.value.files == ("a.txt",)
    assert git(place.root, "rev-parse", "main") == before
    assert git(place.root, "status", "--porcelain") == ""


def test_a_base_that_is_checked_out_nowhere_moves_alone(place: Place) -> None:
    git(place.root, "switch", "-qc", "other")
    merge = prepared(place)
    base_branch.carry_out(place.root, merge)
    assert git(place.root, "rev-parse", "main") == merge.new
    assert git(place.root, "status", "--porcelain", "--branch") == "## other"


@pytest.mark.parametrize("is_staged", [False, True])
def test_a_change_in_the_checkout_of_the_base_is_refused_where_it_is_staged_or_in_a_merged_file(
    place: Place, is_staged: bool
) -> None:
    name = "b.txt" if is_staged else "a.txt"
    merge = prepared(place)
    where = rf"^commit {name} in \S+ first, where main is checked out; or switch that to another branch"

    def change() -> None:
        (place.root / name).write_text("mine\n")
        if is_staged:
            git(place.root, "add", name)

    change()
    with pytest.raises(Conflict, match=f"{where}, or open a pull request$"):
        base_branch.carry_out(place.root, merge)
    assert git(place.root, "rev-parse", "main") == merge.old
    git(place.root, "reset", "-q", "--hard")
    base_branch.carry_out(place.root, merge)
    change()
    with pytest.raises(Conflict, match=f"{where}$"):
        base_branch.take_back(place.root, merge)
    assert (place.root / name).read_text() == "mine\n"


def test_a_change_in_a_file_that_no_merge_touches_stays_as_it_is(place: Place) -> None:
    write(place.root, b_txt="mine\n")
    merge = prepared(place)
    base_branch.carry_out(place.root, merge)
    assert git(place.root, "rev-parse", "main") == merge.new
    assert git(place.root, "status", "--porcelain") == " M b.txt"
    base_branch.take_back(place.root, merge)
    assert git(place.root, "rev-parse", "main") == merge.old
    assert git(place.root, "status", "--porcelain") == " M b.txt"


def test_a_file_in_the_way_that_is_not_in_git_is_named_and_kept(place: Place) -> None:
    commit(place.tree, "New", new_txt="of the agent\n")
    write(place.root, new_txt="mine\n")
    merge = prepared(place)
    with pytest.raises(Conflict, match=r"^move new\.txt out of \S+ first"):
        base_branch.carry_out(place.root, merge)
    assert (place.root / "new.txt").read_text() == "mine\n"
    assert git(place.root, "rev-parse", "main") == merge.old


@pytest.mark.parametrize("mark", ["skip-worktree", "assume-unchanged"])
def test_a_file_whose_changes_git_hides_is_named_with_what_shows_them(place: Place, mark: str) -> None:
    merge = prepared(place)
    refusal = f"git hides your changes of a.txt in .*: `git update-index --no-{mark} a.txt` there shows them"
    git(place.root, "update-index", f"--{mark}", "a.txt")
    write(place.root, a_txt="the human's own\n")
    with pytest.raises(Conflict, match=refusal):
        base_branch.carry_out(place.root, merge)
    assert git(place.root, "rev-parse", "HEAD") == merge.old
    git(place.root, "update-index", f"--no-{mark}", "a.txt")
    git(place.root, "checkout", "a.txt")
    base_branch.carry_out(place.root, merge)
    git(place.root, "update-index", f"--{mark}", "a.txt")
    write(place.root, a_txt="the human's own\n")
    with pytest.raises(Conflict, match=refusal):
        base_branch.take_back(place.root, merge)
    assert (place.root / "a.txt").read_text() == "the human's own\n"


def test_what_has_moved_since_the_review_is_refused(place: Place) -> None:
    seen = reviewed(place.tree, "main")
    write(place.tree, late_txt="late\n")
    with pytest.raises(Moved, match="files have changed"):
        check_reviewed(seen)
    commit(place.tree, "Late")
    with pytest.raises(Moved, match=r"^1 commit came since you looked \(Late\): look again$"):
        check_reviewed(seen)
    merge = prepared(place)
    commit(place.root, "Elsewhere", c_txt="of the base\n")
    with pytest.raises(Moved, match="main has moved"):
        base_branch.carry_out(place.root, merge)
    git(place.tree, "reset", "-q", "--hard", "main")
    with pytest.raises(Moved, match=r"^its commits were rewritten since you looked: look again$"):
        check_reviewed(seen)


def test_uncommitted_work_is_refused_until_it_is_committed_with_the_humans_message(place: Place) -> None:
    write(place.tree, late_txt="late\n")
    seen = reviewed(place.tree, "main")
    with pytest.raises(Conflict, match="not committed"):
        check_reviewed(seen)
    with git_isolation.opened(place.tree) as work_tree:
        merging.commit_rest(work_tree, seen, "task/1", "Late work", ME)
    assert git(place.tree, "status", "--porcelain", "--branch") == "## task/1"
    assert git(place.tree, "log", "-1", "--format=%an: %s") == "Ada: Late work"


def test_a_merge_on_which_others_have_built_is_reverted_not_undone(place: Place, human: None) -> None:
    merge = prepared(place)
    base_branch.carry_out(place.root, merge)
    commit(place.root, "Built upon it", d_txt="d\n")
    assert base_branch.is_built_upon(place.root, merge)
    with pytest.raises(Moved, match="revert"):
        base_branch.take_back(place.root, merge)
    base_branch.carry_out(place.root, merging.prepare_revert(place.root, merge, "Revert it"))
    assert not (place.root / "new.txt").exists()
    assert (place.root / "d.txt").exists()
    assert git(place.root, "status", "--porcelain") == ""


def test_a_merge_whose_lines_have_changed_since_is_not_reverted(place: Place, human: None) -> None:
    merge = prepared(place)
    base_branch.carry_out(place.root, merge)
    commit(place.root, "Built upon it", new_txt="other\n")
    with pytest.raises(Conflict, match=r"^it cannot be reverted: main has changed the same lines of new.txt since"):
        merging.prepare_revert(place.root, merge, "Revert it")


def test_the_merged_tree_stands_in_a_worktree_before_the_branch_moves(place: Place, tmp_path: Path) -> None:
    merge = prepared(place)
    worktrees.materialise(place.root, merge.new, tmp_path / "proof")
    worktrees.materialise(place.root, merge.new, tmp_path / "proof")
    assert (tmp_path / "proof" / "new.txt").exists()
    assert git(place.root, "rev-parse", "main") == merge.old


def test_a_merge_that_was_cut_off_amid_its_files_is_cleared_away_and_carried_on(place: Place) -> None:
    merge = prepared(place)
    write(place.root, new_txt="ne", a_txt="line 0\n", mine_txt="untracked\n")
    (place.root / ".git" / "index.lock").write_text("")
    with pytest.raises(Conflict, match="git still works there"):
        removed_worktrees.clear_leftovers(place.root, merge)
    removed_worktrees.clear_leftovers(place.root, merge, lock_seconds=0)
    assert not base_branch.stands(place.root, merge)
    assert git(place.root, "status", "--porcelain") == "?? mine.txt"
    base_branch.carry_out(place.root, merge)
    assert git(place.root, "status", "--porcelain", "--branch").splitlines() == ["## main", "?? mine.txt"]


def test_a_file_of_the_humans_own_stays_when_a_merge_is_cleared_away(place: Place) -> None:
    merge = prepared(place)
    write(place.root, new_txt="the human's own\n")
    removed_worktrees.clear_leftovers(place.root, merge)
    assert (place.root / "new.txt").read_text() == "the human's own\n"


def test_the_human_commits_under_the_humans_own_name(place: Place, human: None) -> None:
    git(place.root, "config", "user.name", "An agent's choice")
    assert merging.identity(git_settings(place.root)) == ME
