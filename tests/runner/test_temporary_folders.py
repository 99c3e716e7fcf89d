"""What a killed process has left in the temporary folder is removed, and never what another process still uses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.started import Started
from tui_tasks.runner import processes

HOLDS = """
import sys
from tui_tasks.runner.processes import temporary_folder
with temporary_folder("git"), temporary_folder("index"):
    print("made", flush=True)
    sys.stdin.read()
"""
NOW = 1_900_000_000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tmp"
    made.mkdir()
    return made


@pytest.fixture
def other(folder: Path):
    """Another process that has two folders there."""
    child = Started(
        [sys.executable, "-c", HOLDS],
        env=os.environ | {"TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout.readline() == b"made\n"
    yield child
    child.kill()
    child.communicate()


def test_folders_of_a_killed_process_are_removed_and_those_of_a_living_one_stay(folder, other):
    processes.remove_left(folder, NOW)
    assert len(list(folder.iterdir())) == 2
    other.send_signal(signal.SIGKILL)
    other.wait()
    processes.remove_left(folder, NOW)
    assert list(folder.iterdir()) == []


def test_the_next_process_that_makes_a_folder_removes_them(folder, other, monkeypatch):
    other.send_signal(signal.SIGKILL)
    other.wait()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with processes.temporary_folder("git") as made:
        assert list(folder.iterdir()) == [made]
    assert list(folder.iterdir()) == []


def test_folders_of_an_unknown_process_are_removed_after_a_day_and_what_is_named_otherwise_stays(folder):
    unknown, unnamed = folder / "tui-tasks-git-00000000-1-1-abcdefgh", folder / "tui-tasks-index-abc_efgh"
    for path in (unknown, unnamed, folder / "tui-tasks-git-mine", folder / "tui-tasks-run-1"):
        path.mkdir()
        os.utime(path, (NOW, NOW))
    (folder / "tui-tasks-index-00000000-1-1-abcdefgh").symlink_to(folder / "tui-tasks-run-1")
    processes.remove_left(folder, NOW + processes.UNKNOWN_SECONDS)
    assert unknown.is_dir() and unnamed.is_dir()
    processes.remove_left(folder, NOW + processes.UNKNOWN_SECONDS + 1)
    assert not unknown.exists() and not unnamed.exists()
    assert len(list(folder.iterdir())) == 3
