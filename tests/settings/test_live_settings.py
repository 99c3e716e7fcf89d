"""What of the configuration file applies at once: `[check.NAME]` and the review lane."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.rules.recorded_settings import AskLimits, ReviewPolicy
from tui_tasks.runner.runner_settings import CheckProfile
from tui_tasks.settings import config, run_tables
from tui_tasks.settings.live_settings import answer_rules, ask_limits, check_profiles, review_settings


def written(folder: Path, text: str) -> Path:
    file = folder / "config.toml"
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_a_check_is_read_with_its_defaults_and_its_folder_is_told_from_the_files(tmp_path: Path) -> None:
    file = written(
        tmp_path, '[check.a]\ncommand = ["true"]\n[check.b]\ncommand = ["x", ""]\ncwd = "../y"\n[check.c]\ncwd = "~"\n'
    )
    found = check_profiles(lambda: file)()
    assert found.profiles["a"] == CheckProfile("a", ("true",), str(tmp_path), 600, (), (), False)
    assert found.profiles["b"].cwd == str(tmp_path.parent / "y")
    assert found.unreadable == {"c"}


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("command = []", 2, "check.a.command: takes a list that is not empty, not []"),
        ('command = [""]', 2, "check.a.command: takes the name of a program as the first word"),
        ('command = "pytest"', 2, 'check.a.command: takes a list that is not empty, not "pytest"'),
        ("timeout = 1", 1, "check.a.command: is missing"),
        ('command = ["true"]\nsnapshot = true', 3, "check.a.snapshot: needs inputs: the copy holds nothing else"),
        ('command = ["x"]\ntimeout = 0', 3, "check.a.timeout: takes a whole number from 1 up to 31,536,000, not 0"),
        ('command = ["x"]\nshell = true', 3, "check.a.shell: is not a setting of a check"),
        ('command = ["x"]\ninputs = ["/etc/**"]', 3, "check.a.inputs: takes a pattern below cwd, not /etc/**"),
        ('command = ["x"]\ninputs = ["a/../../b"]', 3, "check.a.inputs: takes a pattern below cwd, not a/../../b"),
        ('command = ["x"]\ngate = "yes"', 3, 'check.a.gate: takes true or false, not "yes"'),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_the_check_is_left_out(tmp_path, text, line, told) -> None:
    file = written(tmp_path, f'[check.a]\n{text}\n[check.b]\ncommand = ["true"]\n')
    settings, problems = config.load(file)
    assert [(problem.line, problem.message) for problem in problems] == [(line, told)]
    found = run_tables.read_checks(settings.check, str(file))[0]
    assert (set(found.profiles), found.unreadable) == ({"b"}, {"a"})


def test_an_edit_is_read_and_what_is_no_toml_takes_nothing_away(tmp_path: Path) -> None:
    file = written(tmp_path, '[check.a]\ncommand = ["true"]\n')
    settings = check_profiles(lambda: file)
    first = settings()
    assert settings() is first
    for broken in ("[check", "check = 1\n"):
        written(tmp_path, broken)
        assert (settings().profiles, settings().is_known) == (first.profiles, False)
    file.chmod(0o666)
    assert (settings().profiles, settings().is_known) == (first.profiles, False)
    written(tmp_path, "ascii = true\n")
    assert (settings().profiles, settings().is_known) == ({}, True)
    file.unlink()
    assert (settings().profiles, settings().is_known) == ({}, True)


def test_only_what_is_run_and_looked_at_is_in_the_digest() -> None:
    def digest(**more: object) -> str:
        return CheckProfile("a", ("x",), "/y", **more).digest  # type: ignore[arg-type]

    assert digest() == digest(timeout=1, lists=("l",), gate=True)
    assert len({digest(), digest(inputs=("a",)), CheckProfile("a", ("x", "z"), "/y").digest}) == 3


# The review lane


def rewritten(file: Path, text: str, at: int) -> None:
    """Write the file as if at an instant (seconds), so that no two look alike."""
    file.write_text(text)
    os.utime(file, (at, at))


def test_without_a_file_no_list_is_under_review(tmp_path: Path) -> None:
    assert review_settings(lambda: tmp_path / "config.toml")() == ReviewPolicy((), 25)


def test_what_the_file_says_holds_as_soon_as_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    settings = review_settings(lambda: file)
    assert settings().lists == ()
    rewritten(file, '[review]\nlists = ["tasklist"]\n', 1)
    assert settings() == ReviewPolicy(("tasklist",), 25)
    rewritten(file, '[review]\nlists = ["tasklist", "*"]\nlimit = 3\n', 2)
    assert settings() == ReviewPolicy(("tasklist", "*"), 3)
    file.unlink()
    assert settings() == ReviewPolicy()


def test_a_file_that_is_wrong_lets_nothing_through_that_was_held_before(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    settings = review_settings(lambda: file)
    rewritten(file, '[review]\nlists = ["tasklist"]\n', 1)
    settings()
    for at, text in enumerate(("[review\n", '[review]\nlists = "tasklist"\n', "[review]\nlimit = 0\n"), 2):
        rewritten(file, text, at)
        assert settings().lists == ("tasklist",), text
    rewritten(file, "bell = true\n", 9)
    assert settings().lists == ()


@pytest.mark.parametrize("call", ["stat", "open"])
def test_a_file_that_cannot_be_read_for_a_while_takes_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    file = tmp_path / "config.toml"
    text = (
        '[review]\nlists = ["tasklist"]\n[asks]\nlimit = 2\n[[rule]]\nanswer = "allow"\ntool = "Bash"\npattern = "ls"\n'
    )
    rewritten(file, text + '[check.a]\ncommand = ["true"]\n', 1)
    every = [reading(lambda: file) for reading in (review_settings, answer_rules, ask_limits, check_profiles)]
    before = [settings() for settings in every]
    real = getattr(os, call)

    def refused(path: object, *args: object, **more: object) -> object:
        if str(path) == str(file):
            raise PermissionError(13, "Permission denied", str(file))
        return real(path, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(os, call, refused)
        rewritten(file, text, 2)
        assert [settings() for settings in every[:3]] == before[:3]
        assert every[3]().profiles == before[3].profiles
    rewritten(file, text, 3)
    assert [settings() for settings in every[:3]] == before[:3]
    assert every[3]().profiles == {}
    assert before[0].lists == ("tasklist",)
    assert before[1] and before[2] != AskLimits()


def test_a_file_that_cannot_be_named_is_as_good_as_none() -> None:
    def nowhere() -> Path:
        raise DatabaseRefused("~nobody: no user of that name has a folder here")

    assert review_settings(nowhere)() == ReviewPolicy()
