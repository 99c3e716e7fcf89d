"""What each program takes from its hooks, in its own form (docs: protocol, section 10): one JSON object, or nothing."""

import json
import os
from typing import Any

Form = dict[str, Any]

# The prefix of a message of the human's that a hook passes to the model.
MESSAGE_BEGINS = "The human who supervises you wrote at "
# The event with which our plugin in opencode polls while nothing happens there.
MAILBOX = "mailbox"

# Events at which a text can be passed to the model while it continues.
CONTEXT_EVENTS = {
    "claude": frozenset(
        {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"}
    ),
    "codex": frozenset({"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"}),
    "gemini": frozenset({"SessionStart", "BeforeAgent", "AfterTool"}),
    "opencode": frozenset({"tool.execute.after", "session.idle", MAILBOX}),
}
# Events at the end of a turn that can continue it with a text as the instruction.
END_EVENTS = {"claude": "Stop", "codex": "Stop", "gemini": "AfterAgent"}
# Events at which a tool can be refused.
TOOL_EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool", "opencode": "tool.execute.before"}
# Events at which a turn can be ended at once.
STOP_EVENTS = {
    "claude": frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"}),
    "codex": frozenset({"PreToolUse"}),
    "gemini": frozenset({"BeforeTool", "AfterTool"}),
    "opencode": frozenset({"tool.execute.before", MAILBOX}),
}
# Events at which no turn is in progress.
TURN_EDGES = {
    "claude": frozenset({"SessionStart", "UserPromptSubmit", "Stop", "StopFailure"}),
    "codex": frozenset({"SessionStart", "UserPromptSubmit", "Stop", "Interrupt"}),
    "gemini": frozenset({"SessionStart", "BeforeAgent", "AfterAgent"}),
    "opencode": frozenset({"chat.message", "session.idle"}),
}


def printed(form: Form) -> None:
    """Print a form on one line of ASCII, whatever the program's locale.

    Raises:
        OSError: it could not be printed.
    """
    output = json.dumps(form).encode() + b"\n"
    while output:
        output = output[os.write(1, output) :]


def context(program: str, event: str, text: str) -> Form | None:
    """Return the form that passes a text to the model; None when the event cannot carry one."""
    if event in CONTEXT_EVENTS[program]:
        if program == "opencode":
            return {"message": text}
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    if event == END_EVENTS.get(program):
        return {"decision": "deny" if program == "gemini" else "block", "reason": text}
    return None


def refuse_tool(program: str, event: str, why: str) -> Form | None:
    """Return the form that refuses a tool with a reason for the model; None when the event cannot."""
    if event != TOOL_EVENTS[program]:
        return None
    if program == "gemini":
        return {"decision": "deny", "reason": why}
    if program == "opencode":
        return {"refuse": why}
    said = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": why}
    return {"hookSpecificOutput": said}


def stop(program: str, event: str, why: str) -> Form | None:
    """Return the form that ends the turn; None when the event cannot. For Codex it only refuses the next tool."""
    if event not in STOP_EVENTS[program]:
        return None
    if program == "codex":
        return refuse_tool(program, event, why)
    if program == "opencode":
        return {"refuse": why, "abort": True} if event != MAILBOX else {"abort": True}
    return {"continue": False, "stopReason": why}
