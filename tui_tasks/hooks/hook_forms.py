"""Our hooks in the form of each agent program: the settings with an entry for each event, or the plugin, that make it
run them; and what a hook prints: messages, stops, refusals and the human's answers.

`cli.admin` writes the settings into a program's files; `work.program_commands` gives them to a program that it starts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Final

# Seconds after which a program is to end a hook.
_LIMIT: Final = 10
# The same for a hook that may wait for the human: longer than `[sessions] wait` can be.
WAIT_LIMIT: Final = 3600 + 10
# Whatever happens to the command, the hook ends with success and prints no error: a missing installation keeps no agent
# from its work. The shell in quotes says "Killed" there, and every shell that a program may use reads this.
ALWAYS_SUCCEEDS: Final = " || true"

# Events for which the program waits for the hook, which can return an answer or a message.
_ANSWERED: Final = {
    "claude": (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
    ),
    "codex": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop"),
    "gemini": ("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"),
}
# Events that are only reported.
_REPORT_ONLY: Final = {
    "claude": (
        "Notification",
        "SubagentStart",
        "SubagentStop",
        "StopFailure",
        "TaskCreated",
        "TaskCompleted",
        "SessionEnd",
    ),
    "codex": ("SubagentStart", "SubagentStop", "Interrupt", "SessionEnd"),
    "gemini": ("Notification", "SessionEnd"),
}
# Events in which a hook may wait for the human.
WAITING: Final = frozenset({"PermissionRequest", "PreToolUse", "BeforeTool"})
# Claude Code need not wait for these. At the end of a session nothing waits for the hook.
_ASYNC: Final = frozenset(_REPORT_ONLY["claude"]) - {"SessionEnd"}


def hook_settings(program: str, command: Sequence[str]) -> dict[str, Any]:
    """Return the object for our hook in the settings of `claude`, `codex` or `gemini`; `command` is the argv to run."""
    hooks = {event: [{"hooks": [_hook(program, event, command)]}] for event in events(program)}
    return {"hooks": hooks} | ({"hooksConfig": {"enabled": True}} if program == "gemini" else {})


def events(program: str) -> tuple[str, ...]:
    """Return the events of a program at which our hook is run."""
    return (*_ANSWERED[program], *_REPORT_ONLY[program])


def shell_command(command: Sequence[str]) -> str:
    """Return the line that a program's shell runs for an argv."""
    import shlex  # hooks that reply start without

    return f"sh -c {shlex.quote(shlex.join(command) + ALWAYS_SUCCEEDS)} 2>/dev/null"


def _hook(program: str, event: str, command: Sequence[str]) -> dict[str, Any]:
    limit = WAIT_LIMIT if event in WAITING else _LIMIT
    entry: dict[str, Any] = {"type": "command", "command": shell_command(command)}
    if program == "gemini":
        return {"name": "tui-tasks", **entry, "timeout": limit * 1000}
    if program == "codex" and event in ("SessionEnd", "Interrupt"):
        return entry | {"timeout": 3}
    return entry | {"timeout": limit} | ({"async": True} if program == "claude" and event in _ASYNC else {})


def opencode_plugin(command: Sequence[str]) -> str:
    """Return the text of the plugin for opencode; `command` is the argv to run for each event."""
    from importlib import resources  # hooks that reply start without

    text = resources.files("tui_tasks.hooks").joinpath("opencode_plugin.js").read_text("utf-8")
    return text.replace('["tui-tasks", "hook", "opencode"]', json.dumps(list(command)))


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
    output = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": why}
    return {"hookSpecificOutput": output}


def stop(program: str, event: str, why: str) -> Form | None:
    """Return the form that ends the turn; None when the event cannot. For Codex it only refuses the next tool."""
    if event not in STOP_EVENTS[program]:
        return None
    if program == "codex":
        return refuse_tool(program, event, why)
    if program == "opencode":
        return {"abort": True, "message" if event == MAILBOX else "refuse": why}
    return {"continue": False, "stopReason": why}


# The text that the model reads for a denial without a reason.
_DENIED = "The human denied this."


def formed(program: str, payload: dict[str, Any], decision: dict[str, Any]) -> Form | None:
    """Return the answer to a payload in its program's form; None if the program accepts no such answer.

    Args:
        program: the name of the program.
        payload: the request, as the program sent it.
        decision: for a permission `allow`, with `words` (the reason of a denial), `always` (the index of the chosen
            suggestion of the program, or None) and `updated_input` (the edited input of the tool, or None); for
            questions `answer`, the human's whole text, `lines`, its lines that are not blank, and `choices`, the index
            of the chosen option of each question, or None where its line is the answer.
    """
    if "answer" in decision:
        return _question_form(program, payload, decision)
    if program == "opencode":
        reply: Form = {"id": _own_id(payload), "reply": _opencode_reply(decision)}
        return {"permission": reply if decision["allow"] else reply | {"message": decision["words"] or _DENIED}}
    if program == "gemini":
        return None
    if not decision["allow"]:
        return _permission_form({"behavior": "deny", "message": decision["words"] or _DENIED})
    said: Form = {"behavior": "allow"}
    if program == "claude" and decision.get("updated_input") is not None:
        said["updatedInput"] = decision["updated_input"]
    if program == "claude" and decision.get("always") is not None:
        said["updatedPermissions"] = [payload["permission_suggestions"][decision["always"]]]
    return _permission_form(said)


def _permission_form(said: Form) -> Form:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": said}}


def _opencode_reply(decision: dict[str, Any]) -> str:
    if not decision["allow"]:
        return "reject"
    return "once" if decision.get("always") is None else "always"


def _own_id(payload: dict[str, Any]) -> Any:
    properties = payload.get("properties")
    return properties.get("id") if isinstance(properties, dict) else None


def _question_form(program: str, payload: dict[str, Any], decision: dict[str, Any]) -> Form | None:
    place = payload.get("properties" if program == "opencode" else "tool_input")
    questions = place.get("questions") if isinstance(place, dict) else None
    questions = questions if isinstance(questions, list) else []
    given = _given(questions, decision)
    if given is None:
        return None
    if program == "opencode":
        return {"question": {"id": _own_id(payload), "answers": [[text] for text in given]}}
    asked = [question.get("question", "") if isinstance(question, dict) else "" for question in questions]
    by_question = dict(zip(asked, given, strict=True))
    if program == "claude":
        return _permission_form({"behavior": "allow", "updatedInput": {**(place or {}), "answers": by_question}})
    if program == "gemini":
        answer_text = "; ".join(f"{question} {text}" for question, text in by_question.items())
        return {"decision": "deny", "reason": f"The human has answered already: {answer_text}"}
    return None


def _given(questions: list[Any], decision: dict[str, Any]) -> list[str] | None:
    """Return the answer to each question; None where one has none."""
    lines = [decision["answer"]] if len(questions) == 1 else decision["lines"]
    choices = decision.get("choices") or [None] * len(questions)
    if not len(lines) == len(choices) == len(questions):
        return None
    given = []
    for question, line, choice in zip(questions, lines, choices, strict=True):
        labels = _labels(question)
        if choice is not None and choice >= len(labels):
            return None
        given.append(line if choice is None else labels[choice])
    return given


def _labels(question: Any) -> list[str]:
    """Return the labels of a question's options, as `core.rules.agents.request_text.labels` does."""
    options = question.get("options") if isinstance(question, dict) else None
    options = options if isinstance(options, list) else []
    texts = [one.get("label") if isinstance(one, dict) else one for one in options]
    return [label for label in texts if isinstance(label, str) and label.strip()]
