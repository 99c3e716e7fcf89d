"""The forms in which a hook passes words to the model, refuses a tool, and ends a turn."""

import pytest

from tui_tasks.hooks.replies import forms


def of_hook(event: str, **fields: str) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


DENIED = of_hook("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")


@pytest.mark.parametrize(
    ("program", "event", "form"),
    [
        ("claude", "UserPromptSubmit", of_hook("UserPromptSubmit", additionalContext="no")),
        ("claude", "Stop", {"decision": "block", "reason": "no"}),
        ("codex", "Stop", {"decision": "block", "reason": "no"}),
        ("gemini", "AfterAgent", {"decision": "deny", "reason": "no"}),
        ("opencode", forms.MAILBOX, {"message": "no"}),
        ("claude", "SessionEnd", None),
        ("opencode", "chat.message", None),
    ],
)
def test_words_for_the_model(program: str, event: str, form: object) -> None:
    assert forms.context(program, event, "no") == form


@pytest.mark.parametrize(
    ("program", "event", "form"),
    [
        ("claude", "PreToolUse", DENIED),
        ("codex", "PreToolUse", DENIED),
        ("gemini", "BeforeTool", {"decision": "deny", "reason": "no"}),
        ("opencode", "tool.execute.before", {"refuse": "no"}),
        ("claude", "PostToolUse", None),
        ("opencode", forms.MAILBOX, None),
    ],
)
def test_a_tool_is_refused(program: str, event: str, form: object) -> None:
    assert forms.refuse_tool(program, event, "no") == form


@pytest.mark.parametrize(
    ("program", "event", "form"),
    [
        ("claude", "PostToolUse", {"continue": False, "stopReason": "no"}),
        ("gemini", "AfterTool", {"continue": False, "stopReason": "no"}),
        ("codex", "PreToolUse", DENIED),
        ("opencode", "tool.execute.before", {"refuse": "no", "abort": True}),
        ("opencode", forms.MAILBOX, {"abort": True}),
        ("claude", "SessionEnd", None),
    ],
)
def test_a_turn_is_ended(program: str, event: str, form: object) -> None:
    assert forms.stop(program, event, "no") == form
