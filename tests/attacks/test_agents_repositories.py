"""Tricks of an agent that writes in the repository's `.git`: they touch no file and no branch of the human's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.work.repositories import ME, Place, commit, git, put_away, write
from tui_tasks.core.errors import Conflict
from tui_tasks.runner.git import GitFailed
from tui_tasks.work.git import base_branch, merging, removed_worktrees, reviewing, worktrees
from tui_tasks.work.git.merging import Merge, Method
from tui_tasks.work.git.reviewing import Review

pytestmark = pytest.mark.linux


def reviewed(place: Place) -> Review:
    with worktrees.opened(place.root, place.tree) as work_tree:
        return reviewing.review(work_tree, "main", "task/1")


def merged(place: Place, method: Method = "squash") -> Merge:
    merge = merging.prepare(place.root, reviewed(place), method, "Merge it", ME)
    base_branch.carry_out(place.root, merge)
    return merge


def leads_new_worktrees_to(place: Place, folder: Path) -> None:
    """Lead each new worktree to another folder: git takes one `core.worktree` out of its settings, and leaves one."""
    git(place.root, "config", "extensions.worktreeConfig", "true")
    (place.root / ".git/config.worktree").write_text("[core]\n" + "\tworktree = ../.git/..\n" * 2)
    (place.root / ".git/worktrees").mkdir(exist_ok=True)
    (place.root / ".git/worktrees/.git").symlink_to(folder / ".git")


def test_a_new_worktree_that_leads_to_the_checkout_overwrites_nothing_there(place: Place, tmp_path: Path) -> None:
    leads_new_worktrees_to(place, place.root)
    write(place.root, a_txt="the human's\n")
    with pytest.raises(GitFailed, match="is not a worktree of its own"):
        worktrees.add(place.root, tmp_path / "new", git(place.root, "rev-parse", "main"), branch="task/2")
    assert (place.root / "a.txt").read_text() == "the human's\n"


def test_a_worktree_that_is_brought_back_writes_no_file_elsewhere(place: Place, tmp_path: Path) -> None:
    kept = put_away(place, "u1", tmp_path / "trash", lambda *put: removed_worktrees.remove(place.root, *put))
    (home := tmp_path / "home" / ".git").mkdir(parents=True)
    leads_new_worktrees_to(place, home.parent)
    write(home.parent, a_txt="the human's\n")
    with pytest.raises(GitFailed, match="is not a worktree of its own"):
        removed_worktrees.bring_back(place.root, kept)
    assert (home.parent / "a.txt").read_text() == "the human's\n"
    assert not (home.parent / "new.txt").exists()


def to_main(place: Place) -> None:
    git(place.tree, "symbolic-ref", "HEAD", "refs/heads/main")


def to_main_by_its_branch(place: Place) -> None:
    git(place.root, "symbolic-ref", "refs/heads/task/1", "refs/heads/main")


def to_the_checkout(place: Place) -> None:
    (place.tree / ".git").write_text(f"gitdir: {place.root}/.git\n")


def to_the_checkout_by_a_link(place: Place) -> None:
    (place.tree / ".git").unlink()
    (place.tree / ".git").symlink_to(place.root / ".git")


def to_another_agent(place: Place) -> None:
    other = place.root.parent / "other"
    worktrees.add(place.root, other, git(place.root, "rev-parse", "main"), branch="task/2")
    (place.tree / ".git").write_text(f"gitdir: {place.root}/.git/worktrees/other\n")


@pytest.mark.parametrize(
    "trick", [to_main, to_main_by_its_branch, to_the_checkout, to_the_checkout_by_a_link, to_another_agent]
)
def test_what_is_not_committed_moves_the_branch_of_the_work_alone(place: Place, trick: Callable[[Place], None]) -> None:
    trick(place)
    write(place.tree, a_txt="of the agent\n")
    refs = git(place.root, "for-each-ref")
    with pytest.raises((Conflict, GitFailed)):
        seen = reviewed(place)
        with worktrees.opened(place.root, place.tree) as work_tree:
            merging.commit_rest(work_tree, seen, "task/1", "The rest", ME)
    assert git(place.root, "for-each-ref") == refs
    assert git(place.root, "status", "--porcelain") == ""


def test_a_merge_and_its_undo_overwrite_no_file_that_git_ignores(place: Place) -> None:
    (place.root / ".git/info").mkdir(exist_ok=True)
    (place.root / ".git/info/exclude").write_text("new.txt\nb.txt\n")
    git(place.tree, "rm", "-q", "b.txt")
    git(place.tree, "commit", "-qm", "Less")
    write(place.root, new_txt="the human's\n")
    with pytest.raises(Conflict, match=r"^move new\.txt out of"):
        merged(place)
    assert (place.root / "new.txt").read_text() == "the human's\n"
    (place.root / "new.txt").unlink()
    merge = merged(place)
    write(place.root, b_txt="the human's\n")
    with pytest.raises(Conflict, match=r"^move b\.txt out of"):
        base_branch.take_back(place.root, merge)
    assert (place.root / "b.txt").read_text() == "the human's\n"


def test_an_ignored_file_in_the_place_of_a_folder_is_in_the_way(place: Place) -> None:
    commit(place.tree, "A folder", made__x="x\n")
    git(place.tree, "rm", "-qr", "made")
    git(place.tree, "commit", "-qm", "None")
    first = git(place.tree, "rev-parse", "HEAD~1")
    (place.root / ".git/info").mkdir(exist_ok=True)
    (place.root / ".git/info/exclude").write_text("made\n")
    git(place.root, "reset", "-q", "--hard", first)
    git(place.root, "reset", "-q", "--hard", "HEAD~1")
    write(place.root, made="the human's\n")
    back = Merge("ff", "main", first, git(place.root, "rev-parse", "HEAD"), first, str(place.root))
    with pytest.raises(Conflict, match=r"^move made out of"):
        base_branch.take_back(place.root, back)
    assert (place.root / "made").read_text() == "the human's\n"


def test_a_sparse_checkout_hides_no_file_from_a_merge(place: Place) -> None:
    git(place.root, "config", "core.sparseCheckout", "true")
    for folder in (place.root / ".git", place.root / ".git/worktrees/tree"):
        (folder / "info").mkdir(exist_ok=True)
        (folder / "info/sparse-checkout").write_text("/b.txt\n")
    merged(place)
    assert {one.name for one in place.root.iterdir()} >= {"a.txt", "b.txt", "c.txt", "new.txt"}


def test_a_name_in_another_case_is_another_file_whatever_a_setting_says(place: Place) -> None:
    git(place.root, "config", "core.ignoreCase", "true")
    write(place.tree, A_txt="evil\n")
    assert reviewed(place).uncommitted == ("A.txt",)


def test_attributes_of_the_repository_resolve_no_conflict(place: Place) -> None:
    commit(place.root, "Also a", a_txt="other\n")
    (place.root / ".git/info").mkdir(exist_ok=True)
    (place.root / ".git/info/attributes").write_text("* merge=union\n")
    assert reviewed(place).conflicts == ("a.txt",)


def test_a_folder_that_the_work_renames_draws_no_file_of_the_base_after_it(place: Place) -> None:
    commit(place.root, "A folder", old__x="x\n" * 9, old__y="y\n" * 9)
    git(place.tree, "merge", "-q", "main")
    git(place.tree, "mv", "old", "public")
    git(place.tree, "commit", "-qm", "Rename")
    commit(place.root, "Credentials", old__credentials="secret\n")
    git(place.root, "config", "merge.directoryRenames", "true")
    assert reviewed(place).conflicts == ("public/credentials",)


def test_work_with_several_merge_bases_is_refused_with_what_to_do(place: Place) -> None:
    first = git(place.tree, "rev-parse", "HEAD")
    other = commit(place.root, "Other", c_txt="of the base\n")
    git(place.root, "merge", "-q", "--no-ff", "-m", "One", first)
    git(place.tree, "merge", "-q", "-s", "ours", "-m", "Two", other)
    with pytest.raises(Conflict, match=r"have 2 merge bases, so that no diff shows .*: rebase the work on main"):
        reviewed(place)


def test_a_rebase_drops_nothing_that_a_merge_commit_has(place: Place) -> None:
    commit(place.root, "One", c_txt="of the base\n")
    git(place.tree, "merge", "-q", "--no-commit", "main")
    commit(place.tree, "Two", only_txt="x\n")
    commit(place.root, "Three", d_txt="of the base\n")
    with pytest.raises(Conflict, match="is a merge, and a rebase drops what it changes: squash the work, or merge it"):
        merged(place, "rebase")


def test_no_name_of_the_repositorys_choice_gets_into_a_log_that_leads_elsewhere(place: Place, tmp_path: Path) -> None:
    git(place.root, "config", "user.name", "$(evil)")
    git(place.root, "config", "user.email", "$(evil)")
    (profile := tmp_path / "profile").write_text("PATH=/bin\n")
    for log in ("HEAD", "refs/heads/main", "refs/heads/task/1"):
        (place.root / ".git/logs" / log).unlink()
        (place.root / ".git/logs" / log).symlink_to(profile)
    write(place.tree, late_txt="late\n")
    seen = reviewed(place)
    with worktrees.opened(place.root, place.tree) as work_tree:
        merging.commit_rest(work_tree, seen, "task/1", "The rest", ME)
    base_branch.take_back(place.root, merged(place))
    assert "evil" not in profile.read_text()


def test_a_repository_within_a_folder_of_the_work_is_put_away_with_it(place: Place, tmp_path: Path) -> None:
    commit(place.tree, "A folder", src__x="x\n")
    git(place.tree, "init", "-q", "src")
    kept_commit = commit(place.tree / "src", "Within", y_txt="y\n")
    kept = put_away(place, "u1", tmp_path / "trash", lambda *put: removed_worktrees.remove(place.root, *put))
    removed_worktrees.bring_back(place.root, kept)
    assert git(place.tree / "src", "rev-parse", "HEAD") == kept_commit


def test_a_repository_to_which_a_link_leads_stays_where_it_is(place: Place, tmp_path: Path) -> None:
    commit(place.tree, "A folder", src__x="x\n")
    (place.tree / "src").rename(tmp_path / "elsewhere")
    git(tmp_path, "init", "-q", "elsewhere")
    (place.tree / "src").symlink_to(tmp_path / "elsewhere")
    put_away(place, "u1", tmp_path / "trash", lambda *put: removed_worktrees.remove(place.root, *put))
    assert (tmp_path / "elsewhere" / ".git").is_dir()
