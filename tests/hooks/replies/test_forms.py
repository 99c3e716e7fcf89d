"""The forms in which a hook passes words to the model, refuses a tool, and ends a turn."""

import pytest

from tui_tasks.hooks.replies import hook_output


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
        ("opencode", hook_output.MAILBOX, {"message": "no"}),
        ("claude", "SessionEnd", None),
        ("opencode", "chat.message", None),
    ],
)
def test_words_for_the_model(program: str, event: str, form: object) -> None:
    assert hook_output.context(program, event, "no") == form


@pytest.mark.parametrize(
    ("program", "event", "form"),
    [
        ("claude", "PreToolUse", DENIED),
        ("codex", "PreToolUse", DENIED),
        ("gemini", "BeforeTool", {"decision": "deny", "reason": "no"}),
        ("opencode", "tool.execute.before", {"refuse": "no"}),
        ("claude", "PostToolUse", None),
        ("opencode", hook_output.MAILBOX, None),
    ],
)
def test_a_tool_is_refused(program: str, event: str, form: object) -> None:
    assert hook_output.refuse_tool(program, event, "no") == form


@pytest.mark.parametrize(
    ("program", "event", "form"),
    [
        ("claude", "PostToolUse", {"continue": False, "stopReason": "no"}),
        ("gemini", "AfterTool", {"continue": False, "stopReason": "no"}),
        ("codex", "PreToolUse", DENIED),
        ("opencode", "tool.execute.before", {"refuse": "no", "abort": True}),
        ("opencode", hook_output.MAILBOX, {"abort": True, "message": "no"}),
        ("claude", "SessionEnd", None),
    ],
)
def test_a_turn_is_ended(program: str, event: str, form: object) -> None:
    assert hook_output.stop(program, event, "no") == form
