"""A rule is added to the settings file or removed from it, and everything else stays to the letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tasks.core.errors import Conflict, NotFound
from tui_tasks.core.rules.agents.answer_rules import AnswerRule
from tui_tasks.settings import config

RULE = AnswerRule("allow", "Bash", 'git commit -m "a"', "claude")


_OTHER = '[[rule]]\nanswer = "deny"\ntool = "X"\n'


@pytest.mark.parametrize("text", ["", 'theme = "dark" # mine\n', 'theme = "dark"', _OTHER])
def test_a_rule_is_added_at_the_end_and_can_be_removed_again(tmp_path: Path, text: str):
    path = tmp_path / "config.toml"
    path.write_text(text)
    path.chmod(0o600)
    config.add(path, RULE)
    assert path.read_text().startswith(text)
    rules = config.load(path)[0].rule
    assert rules[-1] == RULE
    assert config.remove(path, len(rules), rules) == RULE
    assert path.read_text().strip() == text.strip()


@pytest.mark.parametrize("text", ['rule = [{ answer = "deny", tool = "X" }]\n', "theme = \n"])
def test_a_file_that_cannot_take_it_is_left_as_it_is(tmp_path: Path, text: str):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(Conflict):
        config.add(path, RULE)
    assert path.read_text() == text


def test_a_number_that_no_rule_has_removes_nothing(tmp_path: Path):
    with pytest.raises(NotFound):
        config.remove(tmp_path / "config.toml", 2, (RULE,))
