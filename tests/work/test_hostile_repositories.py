"""Repositories that name programs in the ways that git knows: none runs, whatever is done with them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.soak.repositories import HOOKS, NAMES, TABLE, WAYS
from tests.work.repositories import Place, accepted, commit, copy, git, round_of

# The whole table is played by `python -m tests.soak repositories`: these are some. Settings that
# stand in the repository itself are all in `tests/runner/test_git.py`.
CASES = tuple(case for case in TABLE[::17] if case[1] != "local")


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
