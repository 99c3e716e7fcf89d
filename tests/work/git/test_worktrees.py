"""Worktrees are read as trees, put away so that nothing is lost, and brought back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.work.repositories import Place, commit, git, put_away, write
from tui_tasks.core.errors import Conflict
from tui_tasks.runner import git as runner_git
from tui_tasks.runner import git_trees
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.git_trees import TreeIndex
from tui_tasks.work.git import removed_worktrees, worktrees
from tui_tasks.work.git.removed_worktrees import Kept


def test_a_new_worktree_has_the_base_and_none_of_the_checkouts_changes(place: Place, tmp_path: Path) -> None:
    write(place.root, a_txt="mine\n", untracked_txt="mine too\n")
    before = git(place.root, "status", "--porcelain")
    worktrees.add(place.root, tmp_path / "new", git(place.root, "rev-parse", "HEAD"), branch="task/2")
    assert git(tmp_path / "new", "status", "--porcelain", "--branch") == "## task/2"
    assert (tmp_path / "new" / "a.txt").read_text().startswith("line 0\n")
    assert git(place.root, "status", "--porcelain") == before


def test_the_tree_has_changed_and_untracked_files_and_leaves_the_index(place: Place) -> None:
    index = Path(git(place.tree, "rev-parse", "--absolute-git-dir")) / "index"
    clean, bytes_before = git_trees.tree_of(place.tree), index.read_bytes()
    assert clean == git(place.tree, "rev-parse", "HEAD^{tree}")
    write(place.tree, b_txt="changed\n", x_txt="new\n", y_log="ignored\n")
    (place.tree / "c.txt").unlink()
    tree = git_trees.tree_of(place.tree)
    names = git(place.tree, "diff-tree", "-r", "--name-status", clean, tree).split()
    assert names == ["M", "b.txt", "D", "c.txt", "A", "x.txt"]
    assert index.read_bytes() == bytes_before


def test_the_tree_is_the_one_that_git_would_commit_whatever_has_taken_the_place_of_what(place: Place) -> None:
    write(place.tree, folder__x_txt="x\n", gone__y_txt="y\n", gone__z_txt="z\n", run_sh="true\n", empty_txt="")
    commit(place.tree, "More")
    shutil.rmtree(place.tree / "folder")
    shutil.rmtree(place.tree / "gone")
    (place.tree / "folder").write_text("a file in the place of a folder\n")
    (place.tree / "gone").symlink_to("a.txt")
    (place.tree / "b.txt").unlink()
    write(place.tree, b_txt__inner_txt="a folder in the place of a file\n", empty_txt="1", new__untracked_txt="2\n")
    (place.tree / "run.sh").chmod(0o755)
    tree = git_trees.tree_of(place.tree)
    git(place.tree, "add", "-A")
    assert tree == git(place.tree, "write-tree")


def test_a_file_beyond_a_link_is_in_no_tree_though_it_reads_the_same(place: Place, tmp_path: Path) -> None:
    write(place.tree, folder__x_txt="x\n")
    commit(place.tree, "More")
    (place.tree / "folder").rename(tmp_path / "elsewhere")
    (place.tree / "folder").symlink_to(tmp_path / "elsewhere")
    (place.root / ".git" / "info" / "exclude").write_text("folder\n")
    assert (
        git(place.tree, "diff-tree", "-r", "--name-status", "HEAD", git_trees.tree_of(place.tree)) == "D\tfolder/x.txt"
    )


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_change_that_is_hidden_from_git_status_is_in_the_tree(place: Place, flag: str) -> None:
    git(place.tree, "update-index", flag, "a.txt")
    write(place.tree, a_txt="hidden\n")
    assert git(place.tree, "status", "--porcelain") == ""
    assert git_trees.tree_of(place.tree) != git(place.tree, "rev-parse", "HEAD^{tree}")


def test_what_is_put_away_comes_back_as_it_was(place: Place, tmp_path: Path) -> None:
    write(place.tree, b_txt="staged\n", build__out_log="ignored\n", keep_txt="untracked\n", a_log="1\n")
    git(place.tree, "add", "b.txt")
    write(place.tree, b_txt="and changed\n")
    write(place.tree, nested__file="in a repository of its own\n")
    git(place.tree / "nested", "init", "-q")
    inner = commit(place.tree / "nested", "Inner")
    head = git(place.tree, "rev-parse", "HEAD")
    kept = put_away(place, "u1", tmp_path / "trash", lambda *put: removed_worktrees.remove(place.root, *put))
    removed_worktrees.remove(place.root, kept)
    assert not place.tree.exists()
    assert git(place.root, "branch", "--list", "task/1") == ""
    git(place.root, "gc", "-q", "--prune=now")
    removed_worktrees.bring_back(place.root, kept)
    removed_worktrees.bring_back(place.root, kept)
    assert git(place.tree, "rev-parse", "HEAD") == head
    assert git(place.tree, "branch", "--show-current") == "task/1"
    assert git(place.tree, "status", "--porcelain").splitlines() == [" M b.txt", "?? keep.txt", "?? nested/"]
    assert (place.tree / "b.txt").read_text() == "and changed\n"
    assert (place.tree / "build" / "out.log").read_text() == "ignored\n"
    assert git(place.tree / "nested", "rev-parse", "HEAD") == inner
    assert git(place.root, "show", f"{kept.ref}^2:b.txt") == "staged"
    assert not (tmp_path / "trash").exists()


@pytest.mark.parametrize(
    "how",
    [
        lambda place: write(place.tree, late_txt="written meanwhile\n"),
        lambda place: write(place.tree, b_txt="c\n"),
        lambda place: (place.tree / "b.txt").unlink(),
        lambda place: (place.tree / "b.txt").chmod(0o755),
        lambda place: git(place.tree, "commit", "--allow-empty", "-qm", "Late"),
    ],
    ids=["a new file", "another content of the same size", "a file gone", "another mode", "a commit"],
)
def test_a_worktree_that_has_changed_since_it_was_put_away_is_not_removed(
    place: Place, tmp_path: Path, how: Callable[[Place], object]
) -> None:
    def change(kept: Kept, files: TreeIndex) -> None:
        how(place)
        with pytest.raises(Conflict, match="changed during the clean-up"):
            removed_worktrees.remove(place.root, kept, files)

    put_away(place, "u1", tmp_path / "trash", change)
    assert place.tree.is_dir()
    assert git(place.root, "branch", "--list", "task/1")


def test_a_lock_that_a_killed_git_has_left_keeps_no_worktree_and_no_branch_for_good(
    place: Place, tmp_path: Path
) -> None:
    def locked(ref: str, step: Callable[[], Kept | None]) -> Kept | None:
        lock = place.root / ".git" / f"{ref}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
        with pytest.raises(Conflict, match="try again in 10 s"):
            step()
        os.utime(lock, (0, 0))
        return step()

    kept = locked("refs/tui-tasks/kept/u1", lambda: put_away(place, "u1", tmp_path / "trash"))
    assert kept is not None
    locked("refs/heads/task/1", lambda: removed_worktrees.remove(place.root, kept))
    assert not place.tree.exists() and git(place.root, "branch", "--list", "task/1") == ""
    removed_worktrees.bring_back(place.root, kept)
    assert git(place.tree, "branch", "--show-current") == "task/1"


def test_a_branch_that_somebody_moved_stays(place: Place, tmp_path: Path) -> None:
    kept = put_away(place, "u1", tmp_path / "trash")
    worktrees.drop(place.root, place.tree)
    git(place.root, "update-ref", "refs/heads/task/1", "main")
    removed_worktrees.remove(place.root, kept)
    assert git(place.root, "branch", "--list", "task/1")


def test_nothing_is_brought_back_over_something_else(place: Place, tmp_path: Path) -> None:
    kept = put_away(place, "u1", tmp_path / "trash", lambda *put: removed_worktrees.remove(place.root, *put))
    write(place.tree, mine_txt="mine\n")
    with pytest.raises(Conflict, match="exists already"):
        removed_worktrees.bring_back(place.root, kept)
    assert (place.tree / "mine.txt").read_text() == "mine\n"


def test_a_folder_that_git_takes_for_another_one_is_refused(place: Place, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    git(place.root, "config", "core.worktree", str(tmp_path / "elsewhere"))
    with pytest.raises(Conflict, match=r"core\.worktree"):
        git_trees.tree_of(place.root)


def test_a_worktree_whose_making_was_cut_off_keeps_no_other_from_being_listed_and_is_removed(place: Place) -> None:
    half = place.root / ".git" / "worktrees" / "tree"
    (half / "commondir").write_text("")
    (half / "locked").write_text("initializing\n")
    assert [one.path for one in worktrees.entries(place.root)] == [place.root, place.tree]
    (half / "commondir").write_text("")
    (place.tree / ".git").unlink()
    worktrees.drop(place.root, place.tree)
    assert [one.path for one in worktrees.entries(place.root)] == [place.root]
    assert not half.exists()


@pytest.mark.parametrize(("found", "told"), [((2, 37), "git 2.37 is too old"), (None, "git is not installed")])
def test_a_git_that_cannot_merge_without_a_working_tree_is_refused(monkeypatch, found, told):
    def version() -> tuple[int, int]:
        if found is None:
            raise GitFailed("git is not installed")
        return found

    monkeypatch.setattr(runner_git, "version", version)
    with pytest.raises(Conflict, match=f"{told}.*install git 2.38 or newer"):
        worktrees.check_git()
