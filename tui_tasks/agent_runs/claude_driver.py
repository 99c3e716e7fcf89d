"""Claude Code by its control protocol: `claude -p` with JSON lines on both streams (tested with 2.1.330).

The first message subscribes to its hooks, whose payloads then come over the same pipe (`hook_callback`) in the form in
which a hook's process gets them.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tui_tasks.agent_runs.program_protocol import (
    DriverEvent,
    HumanRequest,
    Message,
    OutputLine,
    RequestWithdrawn,
    RunUsage,
    Send,
    ToolHeld,
    TurnFinished,
    limit_reached,
)
from tui_tasks.core.operations.sessions import (
    InputRequested,
    MessageWritten,
    SessionEvent,
    SessionReport,
    SessionStarted,
    TurnFailed,
    TurnInterrupted,
    UsageReported,
)
from tui_tasks.hooks import hook_forms
from tui_tasks.hooks.programs import claude
from tui_tasks.hooks.programs.payload_fields import number, table, tables, text, tool_target
from tui_tasks.runner.runner_settings import AgentSettings

# Hooks for the rest are not needed: permissions come as `can_use_tool`, the agent's texts as messages.
_HOOKS: Final = (
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TaskCreated",
    "TaskCompleted",
)
# Seconds that a paused tool may wait: three weeks, about the longest timer of Node.js.
_HOOK_LIMIT: Final = 2_000_000
_CAPPED: Final = frozenset({"error_max_turns", "error_max_budget_usd"})


class ClaudeDriver:
    """The driver for Claude Code; see `program_protocol.AgentDriver`."""

    pause_holds = "its next tool waits"

    def __init__(self, settings: AgentSettings, send: Send) -> None:
        self._settings = settings
        self._send = send
        self.session: str | None = str(uuid.uuid4())
        self.usage = RunUsage()
        self._cwd = ""
        # The payloads of the requests that wait for an answer, by request id.
        self._requests: dict[str, dict[str, Any]] = {}
        # Tokens by the id of the model's message: a message is repeated for each of its parts.
        self._tokens: dict[str, int] = {}
        self._own_answers: set[str] = set()
        self._is_interrupted = False

    def arguments(self, system_prompt_file: str) -> Sequence[str]:
        """See `program_protocol.AgentDriver`."""
        given = self._settings
        words = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        words += ["--permission-prompt-tool", "stdio", "--session-id", self.session or ""]
        words += ["--append-system-prompt-file", system_prompt_file]
        words += ["--model", given.model] if given.model is not None else []
        words += ["--max-turns", str(given.max_turns)] if given.max_turns is not None else []
        words += ["--max-budget-usd", f"{given.max_cost:g}"] if given.max_cost is not None else []
        return [*words, *given.args]

    def begin(self, prompt: str, system_prompt: str, cwd: str) -> list[DriverEvent]:
        """See `program_protocol.AgentDriver`."""
        self._cwd = cwd
        hooks = {event: [{"matcher": None, "hookCallbackIds": ["h"], "timeout": _HOOK_LIMIT}] for event in _HOOKS}
        self._send_control({"subtype": "initialize", "hooks": hooks})
        self.say(prompt)
        return [self._report(SessionStarted())]

    def say(self, text: str) -> None:
        """See `program_protocol.AgentDriver`."""
        message = {"role": "user", "content": text}
        self._send({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": self.session})

    def interrupt(self) -> None:
        """See `program_protocol.AgentDriver`."""
        self._is_interrupted = True
        self._send_control({"subtype": "interrupt"})

    def release(self, tool_id: str) -> None:
        """See `program_protocol.AgentDriver`."""
        self._reply(tool_id, {})

    def answer(self, request_id: str, decision: dict[str, Any] | None, words: str) -> None:
        """See `program_protocol.AgentDriver`."""
        payload = self._requests.pop(request_id, None)
        if payload is None:
            return
        form = None if decision is None else hook_forms.formed("claude", payload, decision)
        if form is None:
            self._reply(request_id, {"behavior": "deny", "message": words})
            return
        response = form["hookSpecificOutput"]["decision"]
        if response["behavior"] == "allow":
            response = {"updatedInput": payload["tool_input"], **response}
        self._reply(request_id, response)

    def handle(self, message: Message) -> list[DriverEvent]:
        """See `program_protocol.AgentDriver`."""
        kind, inner = text(message, "type"), table(message, "request")
        request_id = text(message, "request_id") or ""
        if kind == "control_request":
            return self._handle_request(request_id, inner)
        if kind == "control_cancel_request":
            self._requests.pop(request_id, None)
            return [RequestWithdrawn(request_id)]
        if kind == "system" and text(message, "subtype") == "init":
            model, mode = text(message, "model"), text(message, "permissionMode")
            return [msgspec.structs.replace(self._report(), model=model, mode=mode)]
        if kind == "assistant":
            return self._model_message(message)
        if kind == "user":
            return [OutputLine(f"  failed: {reason}") for reason in _failures(message)]
        return self._turn_finished(message) if kind == "result" else []

    def _send_control(self, request: Message) -> None:
        self._send({"type": "control_request", "request_id": str(uuid.uuid4()), "request": request})

    def _reply(self, request_id: str, response: Message) -> None:
        body = {"subtype": "success", "request_id": request_id, "response": response}
        self._send({"type": "control_response", "response": body})

    def _report(self, *events: SessionEvent, subagent: str | None = None) -> SessionReport:
        return SessionReport("claude", self.session or "", events, cwd=self._cwd, subagent=subagent, ends_waiting=False)

    def _handle_request(self, request_id: str, request: Message) -> list[DriverEvent]:
        subtype = text(request, "subtype")
        if subtype == "hook_callback":
            return self._handle_hook(request_id, table(request, "input"))
        if subtype == "can_use_tool":
            payload = {
                "hook_event_name": "PermissionRequest",
                "session_id": self.session,
                "tool_name": text(request, "tool_name"),
                "tool_input": request.get("input"),
                "permission_suggestions": request.get("permission_suggestions"),
                "agent_id": request.get("agent_id"),
            }
            self._requests[request_id] = payload
            report = claude.read(payload)
            assert report is not None
            (asked,) = report.events
            assert isinstance(asked, InputRequested)
            asked = msgspec.structs.replace(asked, request=request_id)
            report = msgspec.structs.replace(report, events=(asked,), cwd=self._cwd, ends_waiting=False)
            return [HumanRequest(id=request_id, report=report, asked=asked)]
        body = {"subtype": "error", "request_id": request_id, "error": f"{subtype} is not supported here"}
        self._send({"type": "control_response", "response": body})
        return []

    def _handle_hook(self, request_id: str, payload: Message) -> list[DriverEvent]:
        report = claude.read(payload)
        events: list[DriverEvent] = [] if report is None else [msgspec.structs.replace(report, ends_waiting=False)]
        if text(payload, "hook_event_name") == "PreToolUse":
            return [*events, ToolHeld(request_id)]
        self._reply(request_id, {})
        return events

    def _model_message(self, message: Message) -> list[DriverEvent]:
        """Return the events of a message of the model, or of a part of one: its texts and its tool calls."""
        answer, parent = table(message, "message"), text(message, "parent_tool_use_id")
        events: list[SessionEvent] = []
        lines: list[DriverEvent] = []
        for block in tables(answer, "content"):
            if (text_ := text(block, "text")) is not None and block.get("type") == "text":
                events += [MessageWritten(text_)] if parent is None else []
                lines.append(OutputLine(text_ if parent is None else f"  (subagent) {text_}"))
            elif block.get("type") == "tool_use":
                lines.append(OutputLine(f"> {text(block, 'name') or '?'}", tool_target(block.get("input"), None) or ""))
        # A failure of the model's service comes as a synthetic message.
        if (key := text(answer, "id")) is not None and text(answer, "model") != "<synthetic>":
            if usage := table(answer, "usage"):
                self._tokens[key] = int(sum(number(usage, name) or 0 for name in claude.TOKEN_FIELDS))
                self.usage.tokens = sum(self._tokens.values())
            if parent is None:
                self._own_answers.add(key)
                self.usage.turns = len(self._own_answers)
            events.append(UsageReported(self.usage.tokens))
        return [*lines, self._report(*events)]

    def _turn_finished(self, message: Message) -> list[DriverEvent]:
        cost = number(message, "total_cost_usd")
        self.usage.cost_usd = cost if cost is not None else self.usage.cost_usd
        subtype, error = text(message, "subtype") or "", self._error(message)
        events: list[SessionEvent] = [UsageReported(None, cost)]
        if self._is_interrupted:
            events.append(TurnInterrupted())
        elif error is not None:
            events.append(TurnFailed(error))
        over = TurnFinished(
            result=text(message, "result"),
            error=error,
            is_capped=subtype in _CAPPED,
            goes_on=bool(number(message, "queued_turn_count")),
        )
        return [msgspec.structs.replace(self._report(*events), ends_waiting=len(events) > 1), over]

    def _error(self, message: Message) -> str | None:
        """Return why a turn failed; None if it did not."""
        if message.get("is_error") is not True:
            return None
        subtype, errors = text(message, "subtype"), message.get("errors")
        errors_ = [one for one in errors if isinstance(one, str)] if isinstance(errors, list) else []
        why = text(message, "result") or "; ".join(errors_) or subtype or "the turn has failed"
        return (limit_reached(self.usage, self._settings) or f"stopped: {why}") if subtype in _CAPPED else why


def _failures(message: Message) -> list[str]:
    """Return the first line of each failed tool's output."""
    failed = [one for one in tables(table(message, "message"), "content") if one.get("is_error") is True]
    words = (one.get("content") for one in failed)
    return [word.strip().partition("\n")[0][:200] for word in words if isinstance(word, str) and word.strip()]
