"""A repository, a scripted agent, and starts that wait until their agent has ended."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import fork_server
from tests.conftest import Clock
from tests.work.repositories import Place, copy, make
from tui_tasks.core.operations.tasks import AddTask, EnsureList
from tui_tasks.core.store import Store
from tui_tasks.work import starting
from tui_tasks.work.accepting import Acceptance
from tui_tasks.work.starting import Starter

GIT = ("git", "-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run([*GIT, *words], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def run_to_end(argv: list[str], log: Path, cwd: str, environ: dict[str, str]) -> None:
    """Start an agent without a terminal, and return when it has ended."""
    with log.open("wb") as output:
        fork_server.run(argv, cwd=cwd, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A checkout with a worktree that tests copy."""
    return make(tmp_path_factory.mktemp("made"))


@pytest.fixture
def place(made: Place, tmp_path: Path) -> Place:
    return copy(made, tmp_path)


@pytest.fixture(scope="session")
def first_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that tests copy."""
    folder = tmp_path_factory.mktemp("first")
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    return folder


@pytest.fixture
def repo(first_repo: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(first_repo, tmp_path / "api"))


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Write settings: lines of [work], and the shell script of the program `robot`, whose $1 is the prompt."""

    def write(script: str = "true", lines: str = "") -> None:
        robot = tmp_path / "robot.sh"
        robot.write_text(f"#!/bin/sh\n{script}\n")
        robot.chmod(0o700)
        file = tmp_path / "config.toml"
        file.write_text(
            f'[work]\nterminal = "none"\n{lines}\n[work.program.robot]\ncommand = ["{robot}", "{{prompt}}"]\n'
        )
        file.chmod(0o600)
        monkeypatch.setenv("TUI_TASKS_CONFIG", str(file))

    write()
    return write


@pytest.fixture
def task(store: Store, clock: Clock) -> str:
    (home,) = store.commit(EnsureList("work", "task"), actor="human", now=clock())
    return store.commit(AddTask("Rotate API keys!", home.uid, "All of them."), actor="human", now=clock())[0].uid


@pytest.fixture
def human_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a human whom git knows."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    return home


@pytest.fixture
def starter(
    store: Store, clock: Clock, repo: Path, configure, human_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Starter:
    """Starts agents without a terminal, and returns when they have ended."""
    monkeypatch.setattr(starting, "_start_headless", run_to_end)
    return Starter(store, repo, clock)


@pytest.fixture
def acceptance(store: Store, clock: Clock, configure, human_home: Path) -> Acceptance:
    """Accepts work in the name of a human whom git knows."""
    return Acceptance(store, clock)
