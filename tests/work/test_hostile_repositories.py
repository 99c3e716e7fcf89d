"""Repositories that name programs in the ways that git knows: none runs, whatever is done with them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.soak.repositories import HOOKS, NAMES, TABLE, WAYS
from tests.work.repositories import ME, Place, commit, copy, git, make
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.operations.work import ReportWork, RunWork, StartWork
from tui_tasks.core.store import Store
from tui_tasks.work import git_merging, git_review, git_worktrees, progress, recovery
from tui_tasks.work.accepting import Acceptance

# The whole table is played by `python -m tests.soak repositories`: these are each seventh.
CASES = TABLE[::7]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return make(tmp_path_factory.mktemp("made"))


def round_of(place: Place, folder: Path) -> None:
    """A worktree made, reviewed, merged, put away and brought back."""
    seen = git_review.review(place.tree, "main", "task/1")
    for one in seen.files:
        git_review.file_diff(place.tree, seen.merge_base, seen.tree, one)
    merge = git_merging.prepare(place.root, seen, "merge", "Merge it", ME)
    git_merging.materialise(place.root, merge.new, folder / "proof")
    git_merging.carry_out(place.root, merge)
    git_merging.take_back(place.root, merge)
    kept = git_worktrees.put_away(place.tree, "u1", folder / "trash", remove_branch="task/1")
    git_worktrees.remove(place.root, kept)
    git_worktrees.bring_back(place.root, kept)


def accepted(place: Place, folder: Path) -> None:
    """A work that is looked at, reviewed, merged, taken back, discarded, cleaned up and brought back."""
    clock = Clock()
    git(place.root, "config", "user.name", "Ada")
    git(place.root, "config", "user.email", "ada@example.org")
    base = git(place.root, "merge-base", "main", "task/1")
    with Store(str(folder / "tasks.db")) as store:
        (home,) = store.commit(EnsureList("work", "task"), actor="human", now=clock())
        (task,) = store.commit(AddTask("Rotate", home.uid), actor="human", now=clock())
        begin = StartWork(
            task.uid, "claude", str(place.root), str(place.tree), branch="task/1", base="main", base_commit=base
        )
        (work,) = store.commit(begin, actor="human", now=clock())
        store.commit(RunWork(work.uid), actor="system", now=clock())
        progress.look(store, clock())
        store.commit(ReportWork(task.uid), actor=work.agent, now=clock())
        acceptance = Acceptance(store, clock)
        review = acceptance.review(work)
        acceptance.checks(work, review)
        message = "The rest" * review.is_dirty
        assert acceptance.accept(work, review, method="merge", commit_message=message).state == "merged"
        acceptance.take_back(work)
        acceptance.discard(work)
        assert recovery.clean(store, (), clock()) == [f"removed {place.tree}"]
        acceptance.take_back(work)
        assert list(recovery.orphans(store)) == []


@pytest.mark.parametrize(("way", "where"), CASES, ids=[f"{way}, {where}" for way, where in CASES])
def test_nothing_that_a_hostile_repository_names_runs(made: Place, tmp_path: Path, way: str, where: str) -> None:
    place = copy(made, tmp_path)
    for name in NAMES:
        (place.tree / name).write_text("x\n")
    commit(place.root, "Elsewhere", b_txt="b2\n", a_txt="first\n" + (place.root / "a.txt").read_text())
    lines = "* diff=x filter=x merge=x\na.txt filter=x.y\nc.txt filter=far\n"
    commit(place.tree, "Attributes", b_txt="b\nb3\n" if where == "none" else "b\n", x_txt="x\n")
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    program.chmod(0o755)
    (hooks := tmp_path / "hooks").mkdir()
    for hook in HOOKS:
        shutil.copy(program, hooks / hook)
        shutil.copy(program, place.root / ".git" / "hooks" / hook)
    (place.root / ".git" / "info").mkdir(exist_ok=True)
    (place.root / ".git" / "info" / "attributes").write_text(lines)
    (attributes := tmp_path / "attributes").write_text("* filter=far\n")
    included = tmp_path / "included"
    included.write_text(f'[filter "x"]\n\tsmudge = {program}\n')
    values = {"program": program, "hooks": hooks, "attributes": attributes, "included": included}
    target = place.root / ".git" / "config" if where == "local" else tmp_path / "settings"
    for name, value in WAYS[way].items():
        git(place.root, "config", "--file", str(target), name, value.format(**values))
    if where == "include":
        git(place.root, "config", "include.path", str(target))
    if where == "worktrees":
        git(place.root, "config", "includeIf.gitdir:**/worktrees/**.path", str(target))
    ran.unlink(missing_ok=True)
    round_of(place, tmp_path)
    assert not ran.exists()
    accepted(place, tmp_path)
    assert not ran.exists()


def test_a_submodules_own_settings_run_nothing(made: Place, tmp_path: Path) -> None:
    place = copy(made, tmp_path)
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    inner = place.tree / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    commit(inner, "Inner", f_txt="f\n")
    git(place.tree, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    (place.tree / ".gitmodules").write_text(
        f'[submodule "inner"]\n\tpath = inner\n\turl = ext::{program}\n\tupdate = !{program}\n'
    )
    git(place.tree, "commit", "-qam", "A submodule")
    git(inner, "config", "core.fsmonitor", str(program))
    ran.unlink(missing_ok=True)
    round_of(place, tmp_path)
    assert not ran.exists()
    assert (place.tree / "inner" / "f.txt").exists()
