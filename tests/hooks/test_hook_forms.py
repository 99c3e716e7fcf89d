"""What a hook prints in the form of each program: answers, words for the model, refused tools, ended turns."""

from typing import Any

import pytest

from tui_tasks.hooks import hook_forms
from tui_tasks.hooks.hook_forms import formed

DENIED = "The human denied this."
INPUT = {"command": "make -n"}
OPENCODE = {"type": "permission.asked", "properties": {"id": "per_1"}}
BASH = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "permission_suggestions": ["a", "b"]}


def permission_decision(decision: dict[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


@pytest.mark.parametrize(
    ("decision", "reply"),
    [
        ({"allow": True}, {"reply": "once"}),
        ({"allow": True, "always": 0}, {"reply": "always"}),
        ({"allow": False, "words": "not there"}, {"reply": "reject", "message": "not there"}),
        ({"allow": False, "words": ""}, {"reply": "reject", "message": DENIED}),
    ],
)
def test_opencode_is_told_of_a_permission_by_its_id(decision: dict[str, Any], reply: dict[str, str]) -> None:
    assert formed("opencode", OPENCODE, decision) == {"permission": {"id": "per_1", **reply}}


def test_only_claude_takes_an_edited_input_and_what_it_has_suggested() -> None:
    decision = {"allow": True, "always": 1, "updated_input": INPUT}
    changed = {"behavior": "allow", "updatedInput": INPUT, "updatedPermissions": ["b"]}
    assert formed("claude", BASH, decision) == permission_decision(changed)
    assert formed("codex", BASH, decision) == permission_decision({"behavior": "allow"})


@pytest.mark.parametrize("program", ["claude", "codex"])
def test_a_denial_has_the_humans_words_and_nothing_that_allows(program: str) -> None:
    decision = {"allow": False, "words": "use ninja", "always": 1, "updated_input": INPUT}
    assert formed(program, BASH, decision) == permission_decision({"behavior": "deny", "message": "use ninja"})
    assert formed(program, BASH, decision | {"words": ""}) == permission_decision(
        {"behavior": "deny", "message": DENIED}
    )


def test_gemini_takes_no_answer_to_a_permission() -> None:
    assert formed("gemini", BASH, {"allow": True}) is None


@pytest.mark.parametrize(
    ("questions", "answer", "given"),
    [
        (["Which?"], "pg", ["pg"]),
        (["Which?"], "pg\n", ["pg\n"]),
        (["Which?"], "pg\nor none", ["pg\nor none"]),
        (["Which?", "Where?"], "pg\nhere", ["pg", "here"]),
    ],
)
def test_one_question_gets_the_whole_answer_and_each_of_several_its_line(
    questions: list[str], answer: str, given: list[str]
) -> None:
    decision = {"answer": answer, "lines": answer.splitlines()}
    place = {"id": "que_1", "questions": [{"question": question} for question in questions]}
    asked = {"properties": place, "tool_input": place}
    by_question = dict(zip(questions, given, strict=True))
    told = {"id": "que_1", "answers": [[text] for text in given]}
    assert formed("opencode", asked, decision) == {"question": told}
    changed = {"behavior": "allow", "updatedInput": {**place, "answers": by_question}}
    assert formed("claude", asked, decision) == permission_decision(changed)
    told_to_gemini = formed("gemini", asked, decision)
    assert told_to_gemini is not None
    assert told_to_gemini["decision"] == "deny"
    assert told_to_gemini["reason"].endswith("; ".join(f"{question} {text}" for question, text in by_question.items()))


@pytest.mark.parametrize("program", ["claude", "gemini", "opencode"])
@pytest.mark.parametrize(
    "decision",
    [
        {"answer": "whatever", "lines": ["whatever"]},
        {"answer": "a\nb\nc", "lines": ["a", "b", "c"]},
        {"answer": "x\ny", "lines": ["x", "y"], "choices": [None, 2]},
        {"answer": "x", "lines": ["x"], "choices": [0]},
    ],
    ids=["one line", "three lines", "an option that is not there", "one choice"],
)
def test_several_questions_without_an_answer_for_each_get_none(program: str, decision: dict[str, Any]) -> None:
    questions = [{"question": text, "options": ["a", {"label": "b"}]} for text in ("Which?", "Where?")]
    asked = {"properties": {"id": "q", "questions": questions}, "tool_input": {"questions": questions}}
    assert formed(program, asked, decision) is None


def test_a_chosen_option_is_answered_in_the_words_of_its_program() -> None:
    questions = [{"question": "Which?", "options": [" ", {"label": "a"}, "token=abcdefgh"]}]
    decision = {"answer": "token=[redacted]", "lines": ["token=[redacted]"], "choices": [1]}
    place = {"questions": questions}
    changed = {"behavior": "allow", "updatedInput": {**place, "answers": {"Which?": "token=abcdefgh"}}}
    assert formed("claude", {"tool_input": place}, decision) == permission_decision(changed)


def of_hook(event: str, **fields: str) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


REFUSED = of_hook("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")


@pytest.mark.parametrize(
    ("program", "event", "form"),
    [
        ("claude", "UserPromptSubmit", of_hook("UserPromptSubmit", additionalContext="no")),
        ("claude", "Stop", {"decision": "block", "reason": "no"}),
        ("codex", "Stop", {"decision": "block", "reason": "no"}),
        ("gemini", "AfterAgent", {"decision": "deny", "reason": "no"}),
        ("opencode", hook_forms.MAILBOX, {"message": "no"}),
        ("claude", "SessionEnd", None),
        ("opencode", "chat.message", None),
    ],
)
def test_words_for_the_model(program: str, event: str, form: object) -> None:
    assert hook_forms.context(program, event, "no") == form


@pytest.mark.parametrize(
    ("program", "event", "form"),
    [
        ("claude", "PreToolUse", REFUSED),
        ("codex", "PreToolUse", REFUSED),
        ("gemini", "BeforeTool", {"decision": "deny", "reason": "no"}),
        ("opencode", "tool.execute.before", {"refuse": "no"}),
        ("claude", "PostToolUse", None),
        ("opencode", hook_forms.MAILBOX, None),
    ],
)
def test_a_tool_is_refused(program: str, event: str, form: object) -> None:
    assert hook_forms.refuse_tool(program, event, "no") == form


@pytest.mark.parametrize(
    ("program", "event", "form"),
    [
        ("claude", "PostToolUse", {"continue": False, "stopReason": "no"}),
        ("gemini", "AfterTool", {"continue": False, "stopReason": "no"}),
        ("codex", "PreToolUse", REFUSED),
        ("opencode", "tool.execute.before", {"refuse": "no", "abort": True}),
        ("opencode", hook_forms.MAILBOX, {"abort": True, "message": "no"}),
        ("claude", "SessionEnd", None),
    ],
)
def test_a_turn_is_ended(program: str, event: str, form: object) -> None:
    assert hook_forms.stop(program, event, "no") == form
