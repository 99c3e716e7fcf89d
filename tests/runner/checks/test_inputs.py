"""Which files a check looks at, and what is a change of them."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tui_tasks.runner.checks.input_files import CannotCopy, InputHasher
from tui_tasks.runner.checks.input_watch import RunInputs, _WatchedInputs
from tui_tasks.runner.runner_settings import CheckProfile

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
        file = tmp_path / "tree" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path / "tree"


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
    watched, hasher = _WatchedInputs(profile.cwd, profile.inputs), InputHasher(str(tree), profile.inputs)
    before = hasher.digest()
    assert watched.digest() == hasher.digest() == before
    CHANGES[what](tree / "src/deep/er/c.py")
    assert watched.digest() == hasher.digest() != before
    watched.close()


def test_what_a_link_leads_to_is_an_input(tree):
    (tree / "src/link.py").symlink_to(tree / "b.txt")
    profile = CheckProfile("x", ("true",), str(tree), inputs=("src/link.py",))
    watched = _WatchedInputs(profile.cwd, profile.inputs)
    before = watched.digest()
    (tree / "b.txt").write_text("another")
    assert watched.digest() != before
    watched.close()


def test_a_folder_that_is_made_after_the_first_look_is_watched(tree):
    profile = CheckProfile("x", ("true",), str(tree), inputs=("src/**", "later/**"))
    watched = _WatchedInputs(profile.cwd, profile.inputs)
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
    from tui_tasks.runner.checks import input_files

    for name in FILES:
        os.utime(tree / name, (1, 1))
    monkeypatch.setattr(input_files, "_RECENT_NS", -1)
    hasher = InputHasher(str(tree), ("src/**",))
    before = hasher.digest()
    monkeypatch.setattr(input_files, "_file_digest", lambda path, stamp: pytest.fail(path))
    assert hasher.digest() == before


# What the kernel does not report, or a name does not tell


def watched(tree: Path, *patterns: str) -> _WatchedInputs:
    return _WatchedInputs(str(tree), patterns)


def later(inputs: _WatchedInputs) -> str:
    """Its digest once the stats are compared again."""
    inputs._compare_at = 0
    return inputs.digest()


def write_by_another_link(tree: Path) -> None:
    alias = tree.with_name("alias")
    os.link(tree / "src/a.py", alias)
    alias.write_text("another")


def write_through_memory(tree: Path) -> None:
    with (tree / "src/a.py").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:1] = b"X"


@pytest.mark.parametrize("write", [write_by_another_link, write_through_memory])
def test_a_write_that_the_kernel_does_not_report_is_found(tree, write):
    inputs = watched(tree, "src/**")
    before = inputs.digest()
    write(tree)
    assert later(inputs) != before
    inputs.close()


def test_what_lies_in_a_folder_that_a_link_leads_to_is_an_input(tree, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "deep").mkdir()
    (elsewhere / "deep" / "x.py").write_text("x")
    (tree / "src/linked").symlink_to(elsewhere)
    (tree / "src/circle").symlink_to("..")
    inputs = watched(tree, "src/**")
    seen = [inputs.digest()]
    for change in (
        lambda: (elsewhere / "deep" / "x.py").write_text("y"),
        lambda: (elsewhere / "deep" / "new.py").write_text("z"),
        lambda: (elsewhere / "deep").rename(elsewhere / "other"),
    ):
        change()
        seen.append(inputs.digest())
    assert len(set(seen)) == 4
    inputs.close()


def test_a_link_that_leads_to_itself_is_an_input_and_stops_nothing(tree):
    hasher = InputHasher(str(tree), ("src/**",))
    before = hasher.digest()
    (tree / "src/loop").symlink_to("loop")
    assert hasher.digest() == hasher.digest() != before


def test_of_too_many_files_behind_links_nothing_can_be_proven(tree, monkeypatch):
    from tui_tasks.runner.checks import input_files

    monkeypatch.setattr(input_files, "_MAX_LINKED", 3)
    (tree / "src/linked").symlink_to(tree / "tests")
    hasher = InputHasher(str(tree), ("src/**",))
    assert hasher.digest() == hasher.digest()
    (tree / "src/more").symlink_to(tree)
    assert hasher.digest() != hasher.digest()


def sparse(file: Path) -> None:
    with file.open("wb") as made:
        made.truncate(15 << 40)


def link(target: str) -> Callable[[Path], None]:
    return lambda file: file.symlink_to(target)


OTHER_MOUNT = "it is on another file system than the check's folder"
SPECIAL = "it is a FIFO or a device, not a regular file"
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a FIFO": (os.mkfifo, SPECIAL),
    "a sparse file of 15 TiB": (sparse, "it holds over 1,073,741,824 bytes"),
    "a terminal": (link("/dev/tty"), SPECIAL),
    "zeros without end": (link("/dev/zero"), SPECIAL),
    "a file of a process": (link("/proc/self/status"), OTHER_MOUNT),
    "a folder of a process": (link("/proc/self"), OTHER_MOUNT),
    "the descriptors of a process": (link("/proc/self/fd"), OTHER_MOUNT),
    "a setting of the kernel": (link("/sys/kernel/uevent_seqnum"), OTHER_MOUNT),
}


@pytest.mark.linux
@pytest.mark.parametrize("behind_a_link", [False, True])
@pytest.mark.parametrize("what", REFUSED)
def test_what_could_read_differently_each_time_or_never_end_is_refused_at_once(tree, what, behind_a_link):
    make, reason = REFUSED[what]
    file = tree / "elsewhere" if behind_a_link else tree / "src/new"
    make(file)
    if behind_a_link:
        (tree / "src/new").symlink_to(file)
    hasher = InputHasher(str(tree), ("src/**",))
    assert hasher.digest() != hasher.digest()
    assert list(hasher.refused) == ["src/new"]
    assert reason in hasher.refused["src/new"]


def test_inputs_that_hold_too_much_in_all_are_refused(tree, monkeypatch):
    from tui_tasks.runner.checks import input_files

    monkeypatch.setattr(input_files, "MAX_TOTAL_BYTES", 20)
    hasher = InputHasher(str(tree), ("src/**",))
    hasher.digest()
    assert set(hasher.refused.values()) == {"with it, the inputs hold over 20 bytes"}


def test_the_null_device_is_the_same_each_time(tree):
    (tree / "src/none").symlink_to("/dev/null")
    hasher = InputHasher(str(tree), ("src/**",))
    assert hasher.digest() == hasher.digest()


# While a check runs


def dirty_page(file: Path) -> tuple[mmap.mmap, Callable[[], None]]:
    """A page of a file that is written through memory now, and what writes it again without a trace in the stats."""
    with file.open("r+b") as opened:
        memory = mmap.mmap(opened.fileno(), 0)
    memory[:1] = memory[:1]

    def write() -> None:
        memory[:1] = b"X"

    return memory, write


def without_its_stats(monkeypatch) -> None:
    """Let every stat be the same, as where the kernel has not noticed a write through memory yet."""
    from tui_tasks.runner.checks import input_files

    real = input_files._stamp
    first: dict[tuple[int, int], tuple[int, ...]] = {}
    monkeypatch.setattr(
        input_files, "_stamp", lambda found: first.setdefault((found.st_dev, found.st_ino), real(found))
    )
    monkeypatch.setattr(input_files, "_RECENT_NS", -1)


def test_a_write_to_the_null_device_is_no_change_of_a_link_to_it(tree: Path) -> None:
    (tree / "src/none").symlink_to(os.devnull)
    inputs = RunInputs(str(tree), ("src/**",))
    begun = inputs.begin()
    Path(os.devnull).write_text("thrown away")
    assert (inputs.end(), inputs.changed) == (begun, None)


@pytest.mark.linux
def test_a_page_that_is_written_during_a_run_without_a_trace_is_found_at_its_end(tree, monkeypatch):
    without_its_stats(monkeypatch)
    memory, write = dirty_page(tree / "src/a.py")
    inputs = RunInputs(str(tree), ("src/**",))
    inputs.begin()
    write()
    assert (inputs.end(), inputs.changed) == (None, "an input, through a memory map")
    memory.close()


@pytest.mark.linux
def test_a_page_that_is_written_later_without_a_trace_is_found_by_reading_and_by_a_scheduler_in_time(tree, monkeypatch):
    without_its_stats(monkeypatch)
    memory, write = dirty_page(tree / "src/a.py")
    inputs = watched(tree, "src/**")
    before = inputs.digest()
    write()
    assert later(inputs) == before  # the stats do not tell
    assert inputs.digest(reads_now_and_then=True) == before
    inputs._read_at = 0
    assert inputs.digest(reads_now_and_then=True) != before
    again = watched(tree, "src/**")
    assert again.digest(reads_all=True) == inputs.digest() != before
    memory.close()


# A private copy


def contents(folder: Path) -> dict[str, tuple[str, bool]]:
    return {
        str(file.relative_to(folder)): (file.read_text(), os.access(file, os.X_OK))
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_a_copy_holds_the_inputs_alone_with_what_links_lead_to_and_has_the_hash_of_the_live_ones(tree, tmp_path):
    (tree / "src/run").write_text("#!/bin/sh")
    (tree / "src/run").chmod(0o755)
    (tree / "src/link.txt").symlink_to(tree / "b.txt")
    (tree / "src/linked").symlink_to("../tests")
    (tree / "src/none").symlink_to("/dev/null")
    hasher = InputHasher(str(tree), ("src/**",))
    assert hasher.copy(str(tmp_path / "copy")) == hasher.digest() == InputHasher(str(tree), ("src/**",)).digest()
    assert contents(tmp_path / "copy") == {
        **{name: (name, False) for name in SRC},
        "src/run": ("#!/bin/sh", True),
        "src/link.txt": ("b.txt", False),
        "src/linked/test_a.py": ("tests/test_a.py", False),
        "src/linked/data.json": ("tests/data.json", False),
    }
    assert not any(found.is_symlink() for found in (tmp_path / "copy").rglob("*") if found.name != "none")
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0


def test_a_copy_that_cannot_be_written_says_so(tree, tmp_path):
    (tmp_path / "copy").mkdir()
    with pytest.raises(CannotCopy, match="cannot copy the inputs: File exists"):
        InputHasher(str(tree), ("src/**",)).copy(str(tmp_path / "copy"))


def swap_and_back(file: Path) -> None:
    was = file.read_bytes()
    file.write_text("another")
    file.write_bytes(was)


def move_and_back(path: Path) -> None:
    other = path.with_name("moved")
    path.rename(other)
    other.rename(path)


def come_and_go(file: Path) -> None:
    file.write_text("x")
    file.unlink()


def mode_and_back(file: Path) -> None:
    mode = file.stat().st_mode
    file.chmod(0)
    file.chmod(mode)


TRICKS: dict[str, Callable[[Path], object]] = {
    "another content, and back": lambda tree: swap_and_back(tree / "src/a.py"),
    "another name, and back": lambda tree: move_and_back(tree / "src/a.py"),
    "another folder, and back": lambda tree: move_and_back(tree / "src"),
    "another tree, and back": move_and_back,
    "a file that comes and goes": lambda tree: come_and_go(tree / "src/new.py"),
    "a folder that comes and goes": lambda tree: ((tree / "src/json").mkdir(), (tree / "src/json").rmdir()),
    "another folder behind a link": lambda tree: move_and_back(tree / "behind" / "it"),
    "unreadable, and back": lambda tree: mode_and_back(tree / "src/a.py"),
    "its content through memory": write_through_memory,
}


@pytest.mark.skipif(sys.platform != "linux", reason="what leaves no trace in the files is told by inotify")
@pytest.mark.parametrize("trick", TRICKS)
def test_an_input_that_is_changed_during_a_run_is_told_though_it_is_changed_back(tree, trick):
    (tree / "behind/it").mkdir(parents=True)
    (tree / "behind/it/x.py").write_text("x")
    (tree / "src/link.py").symlink_to(tree / "behind/it/x.py")
    inputs = RunInputs(str(tree), ("src/**",))
    assert inputs.begin() == InputHasher(str(tree), ("src/**",)).digest()
    TRICKS[trick](tree)
    assert inputs.end() is None
    assert inputs.changed


def test_what_is_no_input_may_change_during_a_run(tree):
    inputs = RunInputs(str(tree), ("src/**", "a.py"))
    before = inputs.begin()
    (tree / "b.txt").write_text("another")
    (tree / "new").mkdir()
    (tree / "new" / "x").write_text("x")
    come_and_go(tree.with_name("beside"))
    (tree / "src/__pycache__/b.pyc").write_text("x")
    (tree / "src/.x_cache").mkdir()
    (tree / "src/a.py").read_text()
    list((tree / "src").iterdir())
    inputs.look()
    assert (inputs.end(), inputs.changed) == (before, None)


def test_a_check_without_inputs_looks_at_nothing(tree):
    inputs = RunInputs(str(tree), ())
    assert (inputs.begin(), inputs.end()) == ("", "")
