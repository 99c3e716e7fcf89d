"""What each program takes from its hooks, in its own form (docs: protocol, section 10): one JSON object, or nothing."""

import json
import os
from typing import Any

Form = dict[str, Any]

# So a message of the human's begins that a hook gives to the model.
MESSAGE_BEGINS = "The human who supervises you wrote at "
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


def printed(form: Form) -> None:
    """Print a form: one line, in ASCII, whatever the program's locale.

    Raises:
        OSError: it could not be printed.
    """
    output = json.dumps(form).encode() + b"\n"
    while output:
        output = output[os.write(1, output) :]


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
