"""What work has against its merge base: nothing is taken on trust from the one who worked there."""

from __future__ import annotations

import pytest

from tests.work.repositories import Place, commit, git, reviewed, write
from tui_tasks.core.errors import Conflict
from tui_tasks.tui.work.review_rows import FileRow
from tui_tasks.work.git import reviewing


def test_files_commits_and_counts_stand_against_the_merge_base(place: Place) -> None:
    commit(place.root, "Elsewhere", c_txt="of the base\n")
    write(place.tree, b_txt="b\nmore\n", untracked_txt="1\n2\n")
    git(place.tree, "mv", "c.txt", "moved.txt")
    (place.tree / "image").write_bytes(b"\0\1\2")
    seen = reviewed(place.tree, "main", "task/1")
    assert [
        (one.status, one.path, one.old_path, one.insertions, one.deletions, one.is_committed) for one in seen.files
    ] == [
        ("M", "a.txt", None, 1, 1, True),
        ("M", "b.txt", None, 1, 0, False),
        ("A", "image", None, None, None, False),
        ("R", "moved.txt", "c.txt", 0, 0, False),
        ("A", "new.txt", None, 1, 0, True),
        ("A", "untracked.txt", None, 2, 0, False),
    ]
    assert seen.counts() == {
        "head": seen.head, "ahead": 1, "behind": 1, "files": 6, "insertions": 5, "deletions": 1, "dirty": True
    }  # fmt: skip
    assert [line.title for line in seen.commits] == ["Work on a"]
    assert (seen.conflicts, seen.notes) == ((), ())


def test_a_new_file_that_was_committed_and_changed_since_is_in_head_and_an_untracked_one_is_not(place: Place) -> None:
    write(place.tree, new_txt="new\nmore\n", untracked_txt="1\n")
    found = {one.path: one for one in reviewed(place.tree, "main").files}
    assert [FileRow("", 0, found[name]).mark for name in ("new.txt", "untracked.txt")] == ["A", "?"]
    assert not found["new.txt"].is_committed and "is_in_head" not in found["new.txt"].to_json()


def test_the_diff_of_a_file_is_bounded_and_binary_is_told(place: Place) -> None:
    write(place.tree, big_txt="x\n" * 5000)
    (place.tree / "image").write_bytes(b"\0\1\2")
    seen = reviewed(place.tree, "main")
    diffs = {one.path: reviewing.file_diff(place.tree, seen.merge_base, seen.tree, one, 1000) for one in seen.files}
    assert "-line 19\n+changed\n" in diffs["a.txt"].text
    assert (diffs["big.txt"].is_cut, len(diffs["big.txt"].text) <= 1000) == (True, True)
    assert diffs["image"].is_binary


def test_attributes_replacements_and_settings_hide_nothing(place: Place) -> None:
    plain = reviewed(place.tree, "main")
    (place.tree / ".gitattributes").write_text("* -diff\n")
    (place.root / ".git" / "info").mkdir(exist_ok=True)
    (place.root / ".git" / "info" / "attributes").write_text("* -diff -text\n")
    git(place.root, "config", "status.showUntrackedFiles", "no")
    git(place.root, "config", "diff.ignoreSubmodules", "all")
    git(place.root, "replace", plain.head, plain.merge_base)
    seen = reviewed(place.tree, "main")
    a = seen.files[1]
    assert (a.path, a.insertions, a.deletions) == ("a.txt", 1, 1)
    assert "+changed" in reviewing.file_diff(place.tree, seen.merge_base, seen.tree, a).text
    assert seen.ahead == 1


def test_lines_are_counted_whole_where_an_attribute_calls_a_text_binary_and_its_diff_is_cut(place: Place) -> None:
    (place.tree / ".gitattributes").write_text("*.txt -diff\n")
    (place.tree / "long.txt").write_text("x" * reviewing.MAX_DIFF_BYTES + "\n" + "y\n" * 5_000)
    (long,) = (one for one in reviewed(place.tree, "main").files if one.path == "long.txt")
    assert (long.insertions, long.deletions) == (5_001, 0)


def test_a_conflict_with_the_base_is_told_with_its_files(place: Place) -> None:
    commit(place.root, "Also a", a_txt="other\n")
    seen = reviewed(place.tree, "main")
    assert seen.conflicts == ("a.txt",)


def test_another_branch_a_stash_and_programs_in_settings_are_noted(place: Place) -> None:
    write(place.tree, b_txt="stashed\n")
    git(place.tree, "switch", "-qc", "own")
    git(place.tree, "stash")
    git(place.tree, "config", "filter.x.clean", "touch x")
    commit(place.tree, "On its own branch", d_txt="d\n")
    assert reviewed(place.tree, "main", "task/1").notes == (
        "it stands on branch own, not on task/1",
        f"branch task/1 is at another commit: {git(place.tree, 'rev-parse', 'task/1')[:10]}",
        "1 stashed change of it: `git stash list`",
        "settings name programs, which are not run here: filter.x.clean",
    )


def test_a_stash_of_the_branch_on_which_the_work_began_is_noted_from_another_branch(place: Place) -> None:
    write(place.tree, b_txt="stashed\n")
    git(place.tree, "stash")
    git(place.tree, "switch", "-qc", "own")
    assert "1 stashed change of it: `git stash list`" in reviewed(place.tree, "main", "task/1").notes


def test_names_of_any_bytes_are_kept_apart(place: Place) -> None:
    names = ["-rf", "a\nb", "\x1b[31mred", ":(exclude)*", "tab\there", b"\xff".decode(errors="surrogateescape")]
    for name in names:
        (place.tree / name).write_text(f"{name!r}\n")
    seen = reviewed(place.tree, "main")
    assert {one.path for one in seen.files} == {"a.txt", "new.txt", *names}
    for one in seen.files:
        assert reviewing.file_diff(place.tree, seen.merge_base, seen.tree, one).text.count("diff --git") == 1


def test_a_base_that_is_gone_is_named(place: Place) -> None:
    with pytest.raises(Conflict, match="no branch nowhere"):
        reviewed(place.tree, "nowhere")
