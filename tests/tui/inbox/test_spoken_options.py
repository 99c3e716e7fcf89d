"""An option that allows something from now on says in words what, for how long, and where that is kept."""

from __future__ import annotations

from typing import Any

import pytest

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.operations.sessions import InputRequested
from tui_tasks.core.rules.agents.request_text import always_text, request_options
from tui_tasks.tui.asks import ask_text


def test_a_question_that_was_closed_says_why_behind_one_colon_and_an_answer_in_quotes_cannot_end_them() -> None:
    gone = Ask(1, "a", "ada", "Which way?", (), None, 0, None, "withdrawn", None, 0, reason="it is no more")
    assert ask_text.closed(gone, 23_000_000) == "closed 23s ago, as it is no more"
    answered = Ask(1, "a", "ada", "Which way?", (), None, 0, None, "answered", 'the "old" one', 0)
    assert ask_text.outcome(answered, 23_000_000) == """you answered "the 'old' one" 23s ago"""


def _of_bash(content: str | None, where: str = "localSettings") -> dict[str, Any]:
    rule = {"toolName": "Bash"} | ({"ruleContent": content} if content is not None else {})
    return {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": where}


@pytest.mark.parametrize(
    ("suggestion", "shown"),
    [
        (_of_bash("make:*"), 'every "make ..." in its project (settings.local.json)'),
        (_of_bash("make all", "session"), 'just "make all" until its session ends'),
        (
            _of_bash("git * x", "userSettings"),
            'all like "git * x" in all your projects (~/.claude/settings.json)',
        ),
        (_of_bash(None, "session"), "every use of Bash until its session ends"),
        (
            _of_bash('x" until its session ends: y'),
            'just "x\\" until its session ends: y" in its project (settings.local.json)',
        ),
        (_of_bash("a\nb\u200b", "session"), 'just "a\\nb<U+200B>" until its session ends'),
        (
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            "edits of files, unasked (mode acceptEdits) until its session ends",
        ),
        (
            {"type": "addDirectories", "directories": ["/a"], "destination": "session"},
            'work in "/a" until its session ends',
        ),
    ],
)
def test_what_would_be_allowed_says_for_how_long_and_where_it_is_kept_as_a_person_says_it(
    suggestion: dict[str, Any], shown: str
) -> None:
    asked = InputRequested("permission", "Bash", {"command": "x"}, suggestions=[suggestion])
    options = request_options(asked)
    assert options[1] == always_text(suggestion), "the answer stays as the hook knows it"
    ask = Ask(1, "u", "claude-1", "", options, None, 0, None, "open", None, None, {"suggestions": [suggestion]})
    assert ask_text.spoken_options(ask, options) == ["Allow once", f"Allow once, and from now on {shown}", "Deny"]
    in_api = ask_text.spoken_options(ask, options, "api")[1]
    assert in_api == f"Allow once, and from now on {shown.replace('in its project', 'in api')}"
    assert (
        ask_text.spoken_options(ask, options, 'api" until its session ends')[1]
        == f"Allow once, and from now on {shown}"
    )


@pytest.mark.parametrize(
    "suggestion",
    [
        _of_bash("make:*", "elsewhere"),
        _of_bash("make:*") | {"more": 1},
        _of_bash("make:*") | {"behavior": "deny"},
        _of_bash(":*"),
        _of_bash("*"),
        _of_bash(""),
        {"type": "addRules", "rules": [{"toolName": "Bash, in one", "ruleContent": "x"}], "destination": "session"},
        {"type": "addRules", "rules": [], "destination": "session"},
        {"type": "setMode", "mode": "new", "destination": "session"},
        ["git *"],
        "session",
    ],
)
def test_what_has_no_words_is_shown_as_it_is(suggestion: Any) -> None:
    assert ask_text.always_words(suggestion) is None
