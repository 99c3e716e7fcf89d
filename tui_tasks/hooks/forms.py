"""What each program takes from its hooks, in its own form (docs: protocol, section 10): one JSON object, or nothing."""

import json
from typing import Any

Form = dict[str, Any]

# What our plugin in opencode asks with while nothing happens there.
MAILBOX = "mailbox"

# Events with which a text can be given to the model, beside its own going on.
CONTEXT_EVENTS = {
    "claude": frozenset(
        {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"}
    ),
    "codex": frozenset({"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"}),
    "gemini": frozenset({"SessionStart", "BeforeAgent", "AfterTool"}),
    "opencode": frozenset({"tool.execute.after", "session.idle", MAILBOX}),
}
# Events that end a turn, and that can be turned into another with a text as its instruction.
END_EVENTS = {"claude": "Stop", "codex": "Stop", "gemini": "AfterAgent"}
# Events that can keep a tool from running.
TOOL_EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool", "opencode": "tool.execute.before"}
# Events with which a turn can be ended at once.
STOP_EVENTS = {
    "claude": frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"}),
    "codex": frozenset({"PreToolUse"}),
    "gemini": frozenset({"BeforeTool", "AfterTool"}),
    "opencode": frozenset({"tool.execute.before", MAILBOX}),
}
# Events at which no turn goes on: it is over, or the next has not begun.
TURN_EDGES = {
    "claude": frozenset({"SessionStart", "UserPromptSubmit", "Stop", "StopFailure"}),
    "codex": frozenset({"SessionStart", "UserPromptSubmit", "Stop", "Interrupt"}),
    "gemini": frozenset({"SessionStart", "BeforeAgent", "AfterAgent"}),
    "opencode": frozenset({"chat.message", "session.idle"}),
}


def encoded(form: Form) -> bytes:
    """A form as it is printed: one line, in ASCII, so that any locale of the program's takes it."""
    return json.dumps(form).encode() + b"\n"


def context(program: str, event: str, text: str) -> Form | None:
    """Give the model a text; None where the event cannot carry one."""
    if event in CONTEXT_EVENTS[program]:
        if program == "opencode":
            return {"message": text}
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    if event == END_EVENTS.get(program):
        return {"decision": "deny" if program == "gemini" else "block", "reason": text}
    return None


def refuse_tool(program: str, event: str, why: str) -> Form | None:
    """Keep a tool from running, and tell the model why; None where the event cannot do so."""
    if event != TOOL_EVENTS[program]:
        return None
    if program == "gemini":
        return {"decision": "deny", "reason": why}
    if program == "opencode":
        return {"refuse": why}
    said = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": why}
    return {"hookSpecificOutput": said}


def stop(program: str, event: str, why: str) -> Form | None:
    """End the turn; None where the event cannot do so. Codex can be kept from its next tool, no more."""
    if event not in STOP_EVENTS[program]:
        return None
    if program == "codex":
        return refuse_tool(program, event, why)
    if program == "opencode":
        return {"refuse": why, "abort": True} if event != MAILBOX else {"abort": True}
    return {"continue": False, "stopReason": why}


def permission(
    program: str,
    request: str | None,
    *,
    allow: bool,
    words: str = "",
    always: Any = None,
    updated_input: Any = None,
) -> Form | None:
    """Allow a tool, or deny it with the human's words; None where the program takes no such answer.

    Args:
        program: whose form it is.
        request: the program's own id of the request, where it has one.
        allow: whether the tool may run.
        words: why not.
        always: what the program suggested to allow from now on, and the human has chosen.
        updated_input: the tool's input as the human has edited it.
    """
    if program == "opencode":
        reply: Form = {"id": request, "reply": ("always" if always else "once") if allow else "reject"}
        return {"permission": reply | ({"message": words} if words and not allow else {})}
    if program == "gemini":
        return None
    if not allow:
        decision: Form = {"behavior": "deny", "message": words or "The human denied this."}
    else:
        decision = {"behavior": "allow"}
        if program == "claude" and updated_input is not None:
            decision["updatedInput"] = updated_input
        if program == "claude" and always is not None:
            decision["updatedPermissions"] = [always]
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


def answers(program: str, request: str | None, questions: list[Any], given: list[str]) -> Form | None:
    """Answer questions, each by the text given in its place; None where the program takes no answers from a hook."""
    if program == "opencode":
        return {"question": {"id": request, "answers": [[text] for text in given]}}
    asked = [question.get("question", "") if isinstance(question, dict) else "" for question in questions]
    by_question = dict(zip(asked, given, strict=False))
    if program == "claude":
        updated = {"questions": questions, "answers": by_question}
        return permission(program, request, allow=True, updated_input=updated)
    if program == "gemini":
        told = "; ".join(f"{question} {text}" for question, text in by_question.items())
        return {"decision": "deny", "reason": f"The human has answered already: {told}"}
    return None
