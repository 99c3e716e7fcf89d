"""The review lane in the configuration file."""

from __future__ import annotations

import os
from pathlib import Path

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.rules.tasks.review_policy import ReviewPolicy
from tui_tasks.settings.review import ReviewSettings


def written(file: Path, text: str, at: int) -> None:
    """Write the file as if at an instant (seconds), so that no two look alike."""
    file.write_text(text)
    os.utime(file, (at, at))


def test_without_a_file_no_list_is_under_review(tmp_path: Path) -> None:
    assert ReviewSettings(lambda: tmp_path / "config.toml")() == ReviewPolicy((), 25)


def test_what_the_file_says_holds_as_soon_as_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    settings = ReviewSettings(lambda: file)
    assert settings().lists == ()
    written(file, '[review]\nlists = ["tasklist"]\n', 1)
    assert settings() == ReviewPolicy(("tasklist",), 25)
    written(file, '[review]\nlists = ["tasklist", "*"]\nlimit = 3\n', 2)
    assert settings() == ReviewPolicy(("tasklist", "*"), 3)
    file.unlink()
    assert settings() == ReviewPolicy()


def test_a_file_that_is_wrong_lets_nothing_through_that_was_held_before(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    settings = ReviewSettings(lambda: file)
    written(file, '[review]\nlists = ["tasklist"]\n', 1)
    settings()
    for at, text in enumerate(("[review\n", '[review]\nlists = "tasklist"\n', "[review]\nlimit = 0\n"), 2):
        written(file, text, at)
        assert settings().lists == ("tasklist",), text
    written(file, "bell = true\n", 9)
    assert settings().lists == ()


def test_a_file_that_cannot_be_named_is_as_good_as_none() -> None:
    def nowhere() -> Path:
        raise DatabaseRefused("~nobody: nobody of that name has a folder here")

    assert ReviewSettings(nowhere)() == ReviewPolicy()
