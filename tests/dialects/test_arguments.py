"""What an agent is told of a wrong argument."""

from __future__ import annotations

import pytest

from tests.conftest import Talk


@pytest.mark.parametrize(
    ("tool", "arguments", "named", "words"),
    [
        ("tasklist:update_task", {"uid": "x", "status": "open"}, "status", "done, failed, in_progress"),
        ("tasklist:get_tasks", {"status": ["done", "open"]}, "status[1]", "done, failed, in_progress"),
        ("task", {"action": "make"}, "action", "create, list, update"),
    ],
)
def test_a_word_outside_its_vocabulary_is_refused_with_those_that_are_in_it(
    talk: Talk, tool: str, arguments: dict[str, object], named: str, words: str
) -> None:
    error = talk.refused(tool, **arguments)
    assert (error["code"], error["data"]) == ("invalid_argument", {"argument": named})
    assert words in error["message"]
