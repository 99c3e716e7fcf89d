"""The command that prints living mutants, on a small project of its own."""

import subprocess
from pathlib import Path

import pytest

from tests import mutants

MODULE = """def is_long(text: str) -> bool:
    return len(text) > 10


def doubled(number: int) -> int:
    return number * 2
"""
TESTS = """from tui_tasks import words


def test_what_is_long():
    assert words.is_long("a" * 20)
    assert not words.is_long("a")


def test_double():
    assert words.doubled(3) == 6
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A module one of whose two functions is tested to its bound, and its tests."""
    for name, text in (("tui_tasks/words.py", MODULE), ("tests/test_words.py", TESTS)):
        file = tmp_path / name
        file.parent.mkdir()
        (file.parent / "__init__.py").touch()
        file.write_text(text)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def test_the_mutants_that_the_tests_let_live_are_printed_as_diffs(project: Path) -> None:
    pytest.importorskip("mutmut", reason="mutmut is in the extra dev")
    found = list(mutants.living("tui_tasks/words.py", mutants.tests_beside("tui_tasks/words.py", project), project))
    assert [line for one in found for line in one.splitlines() if line.startswith("+")] == [
        "+    return len(text) >= 10",
        "+    return len(text) > 11",
    ]
    assert (project / "tui_tasks/words.py").read_text() == MODULE


def test_tests_that_fail_anyway_are_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "1 failed")
    monkeypatch.setattr(mutants, "_mutmut", lambda *_: failed)
    with pytest.raises(RuntimeError, match="1 failed"):
        list(mutants.living("tui_tasks/words.py", ["tests/test_words.py"], project))


@pytest.mark.parametrize(
    ("module", "tests"),
    [
        ("tui_tasks/core/rules/work_limit_rules.py", ["tests/core/rules/test_work_limit_rules.py"]),
        ("tui_tasks/core/rules/inverses.py", ["tests/core/rules/test_inverses.py"]),
        ("tui_tasks/core/commit/rank.py", ["tests/core/commit/test_rank.py"]),
        ("tui_tasks/text/no_such.py", ["tests/text"]),
    ],
)
def test_without_tests_those_beside_the_module_are_run(module: str, tests: list[str]) -> None:
    assert mutants.tests_beside(module) == tests
