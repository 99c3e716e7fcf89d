"""Names that a person would take for one another, and those that they would not."""

import pytest

from tui_tasks.core import names
from tui_tasks.tui.agents import agent_text


@pytest.mark.parametrize(
    "name",
    [
        *("human", " Human", "HUMAN", "human\u3164", "\u029cuman", "hum\u0251n", "hurnan", "h\u200buman", "\uff48uman"),
        *("you", "y\u043eu", "you\u3164", "YOU", "y\u00f3u", "you\U000e0041", "you\ufe0f"),
    ],
)
def test_what_reads_as_the_human_is_the_humans_name(name):
    assert names.reserved(name) == "human"


@pytest.mark.parametrize("name", ["claude-1", "yours", "humane", "hu man", "bob", "\u0431\u043e\u0431", "agent", "sys"])
def test_what_reads_otherwise_is_nobodys(name):
    assert names.reserved(name) is None


@pytest.mark.parametrize("other", ["c1aude", "claud\u0435", "claude\u2060", "CIaude".replace("C", "c")])
def test_names_that_look_the_same_have_one_skeleton(other):
    assert names.skeleton(other) == names.skeleton("claude")


def test_names_that_differ_to_the_eye_have_not():
    told = ["claude", "Claude", "claude-1", "claude-2", "claude 1", "codex", "\u9b8d\u52c3", "\u4f50\u85e4"]
    assert len(set(map(names.skeleton, told))) == len(told)


def test_you_stands_for_the_human_alone():
    assert agent_text.who("human") == "you"
    assert agent_text.who("you") == '"you"'
    assert agent_text.who("you\u3164") == '"you\u3164"'
    assert agent_text.who("bob") == "bob"
