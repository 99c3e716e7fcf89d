"""Which files a check looks at, and what is a change of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tui_tasks.runner.checks.checks import CheckProfile
from tui_tasks.runner.checks.input_watch import _WatchedInputs
from tui_tasks.runner.checks.inputs import InputHasher

FILES = (
    "a.py",
    "b.txt",
    "src/a.py",
    "src/b.txt",
    "src/deep/er/c.py",
    "src/deep/er/a name with [brackets]",
    "src/__pycache__/a.pyc",
    "src/.hidden/x",
    ".git/HEAD",
    ".pytest_cache/v",
    "tests/test_a.py",
    "tests/data.json",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in FILES:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path


def inputs(tree: Path, *patterns: str) -> set[str]:
    """The files whose content is part of the hash, found by changing each."""
    hasher = InputHasher(str(tree), patterns)
    found = set()
    for name in FILES:
        before = hasher.digest()
        (tree / name).write_text(f"{name} changed")
        if hasher.digest() != before:
            found.add(name)
        (tree / name).write_text(name)
    return found


SRC = {"src/a.py", "src/b.txt", "src/deep/er/c.py", "src/deep/er/a name with [brackets]", "src/.hidden/x"}
TOP = {"a.py", "b.txt"}
TESTS = {"tests/test_a.py", "tests/data.json"}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), set()),
        (("src/**",), SRC),
        (("src",), SRC),
        (("src/", "./a.py"), SRC | {"a.py"}),
        (("**",), SRC | TOP | TESTS),
        ((".",), SRC | TOP | TESTS),
        (("*",), SRC | TOP | TESTS),
        (("*.py",), {"a.py"}),
        (("**/*.py",), {"a.py", "src/a.py", "src/deep/er/c.py", "tests/test_a.py"}),
        (("src/**/*.py",), {"src/a.py", "src/deep/er/c.py"}),
        (("src/*/er/*",), {"src/deep/er/c.py", "src/deep/er/a name with [brackets]"}),
        (("src/d?ep/**",), {"src/deep/er/c.py", "src/deep/er/a name with [brackets]"}),
        (("[ab].py", "src/[!a]*.txt"), {"a.py", "src/b.txt"}),
        (("src/__pycache__/*",), {"src/__pycache__/a.pyc"}),
        ((".git/HEAD",), {".git/HEAD"}),
        (("no/such/**",), set()),
    ],
)
def test_a_pattern_means_files_below_the_folder(tree, patterns, expected):
    assert inputs(tree, *patterns) == expected


def replace_by_link(file: Path) -> None:
    other = file.with_name("elsewhere")
    other.write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(other)


def keep_its_times(file: Path) -> None:
    was = file.stat()
    file.write_bytes(bytes(reversed(file.read_bytes())))
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "its content": lambda file: file.write_text("another"),
    "its content, of the same length and with its times set back": keep_its_times,
    "its name": lambda file: file.rename(file.with_name("z.py")),
    "it is gone": lambda file: file.unlink(),
    "it can be executed": lambda file: file.chmod(0o755),
    "it is a link": replace_by_link,
    "another beside it": lambda file: file.with_name("new.py").write_text(""),
    "its folder is gone": lambda file: file.parent.rename(file.parent.with_name("gone")),
}


@pytest.mark.parametrize("what", CHANGES)
def test_each_change_of_an_input_is_another_hash_and_is_told(tree, what):
    profile = CheckProfile("x", ("true",), str(tree), inputs=("src/deep/**",))
    watched, hasher = _WatchedInputs(profile), InputHasher(str(tree), profile.inputs)
    before = hasher.digest()
    assert watched.digest() == hasher.digest() == before
    CHANGES[what](tree / "src/deep/er/c.py")
    assert watched.digest() == hasher.digest() != before
    watched.close()


def test_what_a_link_leads_to_is_an_input(tree):
    (tree / "src/link.py").symlink_to(tree / "b.txt")
    profile = CheckProfile("x", ("true",), str(tree), inputs=("src/link.py",))
    watched = _WatchedInputs(profile)
    before = watched.digest()
    (tree / "b.txt").write_text("another")
    assert watched.digest() != before
    watched.close()


def test_a_folder_that_is_made_after_the_first_look_is_watched(tree):
    profile = CheckProfile("x", ("true",), str(tree), inputs=("src/**", "later/**"))
    watched = _WatchedInputs(profile)
    seen = [watched.digest()]
    for change in (
        lambda: (tree / "later" / "deep").mkdir(parents=True),
        lambda: (tree / "later" / "deep" / "x").write_text("x"),
        lambda: (tree / "later" / "deep" / "x").write_text("y"),
    ):
        change()
        seen.append(watched.digest())
    assert seen[0] == seen[1]
    assert len(set(seen)) == 3
    watched.close()


def test_nothing_is_read_again_that_is_as_it_was(tree, monkeypatch):
    from tui_tasks.runner.checks import inputs

    for name in FILES:
        os.utime(tree / name, (1, 1))
    monkeypatch.setattr(inputs, "_RECENT_NS", -1)
    hasher = InputHasher(str(tree), ("src/**",))
    before = hasher.digest()
    monkeypatch.setattr(inputs, "_file_digest", lambda path: pytest.fail(path))
    assert hasher.digest() == before
