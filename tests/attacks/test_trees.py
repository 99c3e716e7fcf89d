"""Tricks at the tree that a check of a task at work proves: no content that git leaves out passes for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.work.repositories import Place, commit, git, make
from tui_tasks.core.errors import Conflict
from tui_tasks.runner.git import GitFailed
from tui_tasks.runner.git_trees import checked_tree

pytestmark = pytest.mark.linux


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that tests copy."""
    folder = tmp_path_factory.mktemp("trees")
    make(folder)
    return folder


@pytest.fixture
def place(first: Path, tmp_path: Path) -> Place:
    made = Place(tmp_path / "x" / "repo", tmp_path / "x" / "tree")
    shutil.copytree(first, tmp_path / "x", symlinks=True)
    (made.tree / ".git").write_text(f"gitdir: {made.root}/.git/worktrees/tree\n")
    (made.root / ".git/worktrees/tree/gitdir").write_text(f"{made.tree}/.git\n")
    return made


def common(place: Place) -> Path:
    return place.root / ".git"


def private(place: Place) -> Path:
    return common(place) / "worktrees" / "tree"


def sets(place: Place, name: str, value: str) -> None:
    git(place.tree, "config", name, value)


def evil(place: Place, name: str = "a.txt", text: str = "evil\n") -> None:
    (place.tree / name).write_text(text)


def same_stat(place: Place) -> None:
    file = place.tree / "a.txt"
    was, size = file.stat(), file.stat().st_size
    git(place.tree, "status")
    file.write_bytes(b"e" * size)
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))


def ignored(place: Place, where: Path, name: str = "conftest.py") -> None:
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_text(f"{name}\n")
    evil(place, name)


def attributes(place: Place, words: str, text: str) -> None:
    (common(place) / "info").mkdir(exist_ok=True)
    (common(place) / "info" / "attributes").write_text(f"a.txt {words}\n")
    evil(place, text=text)


def nested(place: Place) -> None:
    git(place.tree, "init", "-q", "lib")
    commit(place.tree / "lib", "evil", conftest_py="evil\n")


def bare_nested(place: Place) -> None:
    nested(place)
    evil(place, "lib/more.py")


def submodule(place: Place) -> None:
    nested(place)
    git(place.tree, "add", "lib")
    git(place.tree, "commit", "-qm", "lib")


def in_submodule(place: Place) -> None:
    submodule(place)
    evil(place, "lib/conftest.py", "worse\n")


def sparse(place: Place) -> None:
    sets(place, "core.sparseCheckout", "true")
    (private(place) / "info").mkdir(exist_ok=True)
    (private(place) / "info" / "sparse-checkout").write_text("/b.txt\n")
    evil(place)


def replaced(place: Place) -> None:
    evil(place, "evil.txt")
    blob = git(place.tree, "hash-object", "-w", "evil.txt")
    (place.tree / "evil.txt").unlink()
    git(place.tree, "replace", git(place.tree, "rev-parse", "HEAD:a.txt"), blob)
    evil(place)


def replaced_tree(place: Place) -> None:
    git(place.tree, "replace", git(place.tree, "rev-parse", "HEAD^{tree}"), git(place.tree, "rev-parse", "main^{tree}"))
    evil(place)


def grafted(place: Place) -> None:
    (common(place) / "info").mkdir(exist_ok=True)
    (common(place) / "info" / "grafts").write_text(git(place.tree, "rev-parse", "HEAD") + "\n")
    evil(place)


def shallow(place: Place) -> None:
    (common(place) / "shallow").write_text(git(place.tree, "rev-parse", "HEAD") + "\n")
    evil(place)


def alternate(place: Place) -> None:
    other = place.root.parent / "other"
    shutil.copytree(common(place) / "objects", other)
    (common(place) / "objects" / "info").mkdir(exist_ok=True)
    (common(place) / "objects" / "info" / "alternates").write_text(f"{other}\n")
    evil(place)


def intent_to_add(place: Place) -> None:
    evil(place, "conftest.py")
    git(place.tree, "add", "-N", "conftest.py")


def staged_otherwise(place: Place) -> None:
    evil(place)
    git(place.tree, "add", "a.txt")
    git(place.tree, "update-index", "--cacheinfo", f"100644,{git(place.tree, 'rev-parse', 'HEAD:a.txt')},a.txt")


def linked(place: Place, name: str, target: str) -> None:
    (place.tree / name).unlink(missing_ok=True)
    (place.tree / name).symlink_to(target)


def outside(place: Place) -> None:
    (place.root.parent / "outside.py").write_text("evil\n")
    linked(place, "lib.py", "../outside.py")
    git(place.tree, "add", "lib.py")
    git(place.tree, "commit", "-qm", "x")


def hard_linked(place: Place) -> None:
    os.link(place.tree / "a.txt", place.root.parent / "alias")
    (place.root.parent / "alias").write_text("evil\n")


def swapped(place: Place) -> None:
    other = place.root.parent / "else"
    (place.tree / "a.txt").rename(other)
    other.write_text("evil\n")
    linked(place, "a.txt", "../else")


def led_elsewhere(place: Place) -> None:
    sets(place, "extensions.worktreeConfig", "true")
    (private(place) / "config.worktree").write_text(f"[core]\n\tworktree = {place.root}\n")
    evil(place)


def another_common(place: Place) -> None:
    shutil.copytree(common(place), place.root.parent / "common", symlinks=True)
    (private(place) / "commondir").write_text(f"{place.root.parent}/common\n")
    evil(place)


def split_index(place: Place) -> None:
    git(place.tree, "update-index", "--split-index")
    evil(place)


def monitored(place: Place) -> None:
    git(place.tree, "update-index", "--fsmonitor")
    git(place.tree, "update-index", "--fsmonitor-valid", "a.txt")
    evil(place)


def untracked_cache(place: Place) -> None:
    git(place.tree, "update-index", "--force-untracked-cache")
    git(place.tree, "status")
    evil(place, "conftest.py")


def another_case(place: Place) -> None:
    sets(place, "core.ignoreCase", "true")
    (place.tree / "a.txt").rename(place.tree / "A.txt")


def folder_in_its_place(place: Place) -> None:
    (place.tree / "a.txt").unlink()
    (place.tree / "a.txt").mkdir()
    evil(place, "a.txt/evil.py")


TRICKS: dict[str, Callable[[Place], object]] = {
    "another content": evil,
    "the same stat": same_stat,
    "a new file": lambda p: evil(p, "conftest.py"),
    "a file gone": lambda p: (p.tree / "b.txt").unlink(),
    "assume-unchanged": lambda p: (git(p.tree, "update-index", "--assume-unchanged", "a.txt"), evil(p)),
    "skip-worktree": lambda p: (git(p.tree, "update-index", "--skip-worktree", "a.txt"), evil(p)),
    "assume-unchanged, and gone": lambda p: (
        git(p.tree, "update-index", "--assume-unchanged", "b.txt"),
        (p.tree / "b.txt").unlink(),
    ),
    "a sparse checkout": sparse,
    "an index with intent to add": intent_to_add,
    "an index that says otherwise": staged_otherwise,
    "a split index": split_index,
    "a monitor that says it is valid": monitored,
    "a cache of untracked files": untracked_cache,
    "an exclude of the repository": lambda p: ignored(p, common(p) / "info" / "exclude"),
    "an exclude by a setting": lambda p: (
        sets(p, "core.excludesFile", str(p.root.parent / "hide")),
        ignored(p, p.root.parent / "hide"),
    ),
    "a .gitignore of its own": lambda p: ignored(p, p.tree / "sub" / ".gitignore", "sub/conftest.py"),
    "a .gitignore that hides itself": lambda p: (
        (p.tree / "sub").mkdir(),
        (p.tree / "sub/.gitignore").write_text("*\n"),
        evil(p, "sub/conftest.py"),
    ),
    "an ignored file of the repository's own rule": lambda p: evil(p, "evil.log"),
    "$Id$ of another content": lambda p: attributes(p, "ident", "x = 1  # $Id: evil $\n"),
    "line ends that git leaves out": lambda p: attributes(p, "text eol=crlf", "evil\r\n"),
    "line ends by a setting": lambda p: (sets(p, "core.autocrlf", "true"), evil(p, text="evil\r\n")),
    "another encoding": lambda p: (
        attributes(p, "text working-tree-encoding=UTF-16LE", "x"),
        (p.tree / "a.txt").write_bytes("evil\n".encode("utf-16-le")),
    ),
    "a filter that cleans": lambda p: (
        sets(p, "filter.hide.clean", "git show HEAD:a.txt"),
        attributes(p, "filter=hide", "evil\n"),
    ),
    "marked as not to be exported": lambda p: attributes(p, "export-ignore", "evil\n"),
    "binary": lambda p: attributes(p, "binary -diff", "evil\n"),
    "a nested repository": nested,
    "a file beside those of a nested repository": bare_nested,
    "a submodule": submodule,
    "a change in a submodule": in_submodule,
    "a replaced blob": replaced,
    "a replaced tree": replaced_tree,
    "grafts": grafted,
    "a shallow file": shallow,
    "an alternate store of objects": alternate,
    "a link to another file": lambda p: linked(p, "a.txt", "b.txt"),
    "a link that leads out": outside,
    "a link in the place of the file": swapped,
    "through another hard link": hard_linked,
    "a work tree that is led elsewhere": led_elsewhere,
    "another common folder": another_common,
    "another case of a name": lambda p: (
        sets(p, "core.ignoreCase", "true"),
        (p.tree / "a.txt").rename(p.tree / "A.txt"),
    ),
    "a folder in the place of a file": folder_in_its_place,
    "a file that is no UTF-8": lambda p: Path(os.fsdecode(bytes(p.tree) + b"/\xff.py")).write_text("evil"),
    "a newline in a name": lambda p: evil(p, "x\ny.py"),
    "a FIFO in its place": lambda p: ((p.tree / "a.txt").unlink(), os.mkfifo(p.tree / "a.txt")),
}


def proves(place: Place) -> str | None:
    """Return the tree that a run here would prove; None if it cannot begin."""
    try:
        return checked_tree(place.tree, str(place.tree), ["**"], database=str(place.root.parent / "tasks.db"))
    except (Conflict, GitFailed):
        return None


def test_a_worktree_as_it_is_proves_its_tree(place: Place) -> None:
    assert proves(place) == git(place.tree, "rev-parse", "HEAD^{tree}")


@pytest.mark.parametrize("trick", TRICKS)
def test_no_trick_proves_a_tree_by_other_content(place: Place, trick: str) -> None:
    before = proves(place)
    assert before is not None
    TRICKS[trick](place)
    after = proves(place)
    assert after is None or after != before
