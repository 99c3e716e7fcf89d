"""`check` from a shell: which checks there are, running a task's, and who may give and take them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Clock
from tests.hooks.playing import Player
from tests.runner.hosting import FORKING
from tui_tasks.cli import main as program
from tui_tasks.core.read.tasks import task_queries
from tui_tasks.core.store import Store
from tui_tasks.runner import processes, supervisor_launch
from tui_tasks.state import callers

SETTINGS = """
[check.tests]
command = ["sh", "-c", "cat answer; exit $(cat answer)"]
inputs = ["answer"]
lists = ["tasklist"]

[check.lint]
command = ["true"]
gate = true
"""


class Shell:
    """The program, run in this process."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path, self._capsys = path, capsys

    def __call__(self, *words: str) -> tuple[int, str]:
        """Return the exit status, and what was printed."""
        status = program.main([words[0], "--db", str(self.path), *words[1:]])
        printed = self._capsys.readouterr()
        return status, printed.out + printed.err

    def checks(self) -> Any:
        with Store(str(self.path)) as store:
            home = task_queries.find_list(store.db, "tasklist")
            assert home is not None
            return task_queries.tasks(store.db, home.id)[0].checks


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    settings = tmp_path / "config.toml"
    settings.write_text(SETTINGS)
    (tmp_path / "answer").write_text("3")
    monkeypatch.setenv("TUI_TASKS_CONFIG", str(settings))
    monkeypatch.setattr(callers, "has_terminal", lambda: True)
    monkeypatch.setattr(supervisor_launch, "subprocess", FORKING)
    made = Shell(tmp_path / "t.db", capsys)
    made("add", "Ship it")
    return made


def test_the_configured_checks_are_listed_of_all_lists_or_of_one(shell: Shell, tmp_path: Path) -> None:
    status, text = shell("check")
    assert (status, text.splitlines()) == (
        0,
        [
            f"lint  true  in {tmp_path}  gate",
            f"tests  sh -c 'cat answer; exit $(cat answer)'  in {tmp_path}  for tasklist",
        ],
    )
    assert shell("check", "--list", "tasklist")[1].startswith("tests  sh -c")
    (lint, tests) = json.loads(shell("check", "--json")[1])["checks"]
    assert (lint["command"], lint["gate"], tests["inputs"], tests["lists"]) == (
        ["true"],
        True,
        ["answer"],
        ["tasklist"],
    )


def test_the_configured_checks_are_listed_before_there_is_a_database(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = shell.path.parent / "none"
    monkeypatch.setenv("XDG_DATA_HOME", str(missing))
    monkeypatch.delenv("TUI_TASKS_DB", raising=False)
    assert program.main(["check"]) == 0
    assert capsys.readouterr().out.startswith("lint  true")
    assert program.main(["check", "1"]) == 1
    assert "no database at" in capsys.readouterr().err
    assert not missing.exists()


def test_what_is_reported_is_told_from_what_is_proven_and_a_run_says_how_it_ended(shell: Shell, tmp_path: Path) -> None:
    shell("done", "1")
    assert "□ unproven" in shell("ls")[1]
    assert "□ tests: unproven" in shell("show", "1")[1]
    assert shell("check", "1") == (1, "✗ tests: check failed, exit 3\n  3\n")
    assert "✗ tests failed" in shell("ls")[1]
    (tmp_path / "answer").write_text("0")
    assert shell("check", "1", "tests") == (0, "✓ tests: proven\n")
    assert "✓ proven" in shell("ls")[1]
    assert "✓ tests: proven" in shell("show", "1")[1]
    (tmp_path / "answer").write_text("00")
    assert "~ stale" in shell("ls")[1]


def test_a_run_may_be_asked_for_without_waiting(shell: Shell) -> None:
    status, text = shell("check", "1", "--no-wait", "--json")
    assert (status, json.loads(text)["verified"]) == (0, "unproven")
    assert "waits for a process" in shell("check", "1", "--no-scheduler")[1]


def test_a_person_gives_and_takes_a_tasks_checks_and_goes_back_to_those_of_its_list(shell: Shell) -> None:
    assert "tests, lint" in shell("check", "give", "1", "lint")[1]
    assert shell.checks() == ("tests", "lint")
    assert shell("check", "take", "1", "tests")[0] == 0
    assert shell.checks() == ("lint",)
    assert shell("check", "default", "1")[0] == 0
    assert shell.checks() is None
    with Store(str(shell.path)) as store:
        actors = store.db.sql("SELECT DISTINCT actor FROM journal WHERE new LIKE '%\"checks\"%' AND old IS NOT NULL")
        assert [actor for (actor,) in actors] == ["human"]


def test_no_agent_gives_or_takes_a_check_from_a_shell(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [shell("check", "take", "1", "tests", "--agent", "claude")]
    with monkeypatch.context() as inside:
        inside.setenv("TUI_TASKS_RUN_TOKEN", "x")
        refusals.append(shell("check", "give", "1", "lint"))
    with monkeypatch.context() as piped:
        piped.setattr(callers, "has_terminal", lambda: False)
        refusals.append(shell("check", "take", "1", "tests"))
        refusals.append(shell("check", "default", "1"))
    with Store(str(shell.path)) as store:
        mine = processes.identity(os.getppid())._asdict()
        began = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/"}
        Player(store, Clock(), "claude", **mine).play(began)
    refusals.append(shell("check", "take", "1", "tests"))
    assert [status for status, _ in refusals] == [1] * 5
    for (_, text), why in zip(refusals, ("--agent", "run", "terminal", "terminal", "claude-1"), strict=True):
        assert why in text
    assert shell.checks() is None


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("give", "1"), 2, "give TASK NAME"),
        (("1", "tests", "lint"), 2, "TASK [NAME]"),
        (("give", "1", "nonsense"), 1, "no check is called 'nonsense'"),
        (("take", "1", "lint"), 1, "the task has tests"),
        (("give", "1", "nosuch"), 1, "no check is called 'nosuch' in the configuration file; known: "),
        (("1", "lint"), 1, "has tests"),
        (("9",), 1, "no task #9"),
        (("--list", "nowhere"), 1, "no list nowhere"),
    ],
)
def test_what_means_nothing_is_refused_and_says_what_does(
    shell: Shell, words: tuple[str, ...], status: int, told: str
) -> None:
    found = shell("check", *words)
    assert found[0] == status
    assert told in found[1]
