"""Claude Code by its control protocol: `claude -p` with JSON lines in and out (seen with 2.1.330).

Its hooks come over the same pipe (`hook_callback`) where the first message asks for them, in the form in which a hook's
process gets them.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tui_tasks.agent_runs.driver import (
    Event,
    Line,
    Message,
    Request,
    Send,
    ToolWaits,
    TurnOver,
    Used,
    Withdrawn,
    limit_reached,
)
from tui_tasks.core.operations.sessions import Asked, Fact, Heard, Interrupted, Said, Spent, Started, TurnFailed
from tui_tasks.hooks.programs import claude
from tui_tasks.hooks.programs.fields import number, table, tables, text
from tui_tasks.hooks.replies import answer_forms
from tui_tasks.runner.profiles import AgentSettings

# Permissions come as `can_use_tool`, and what it says as messages.
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
# Seconds for which a paused tool may wait: three weeks, about the longest time that Node.js can count.
_HOOK_LIMIT: Final = 2_000_000
_CAPPED: Final = frozenset({"error_max_turns", "error_max_budget_usd"})
_TOKENS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class ClaudeDriver:
    """See `driver.Driver`."""

    pause_holds = "its next tool waits"

    def __init__(self, settings: AgentSettings, send: Send) -> None:
        self._settings = settings
        self._send = send
        self.session: str | None = str(uuid.uuid4())
        self.used = Used()
        self._cwd = ""
        # The payloads of what waits for an answer, by request.
        self._requests: dict[str, dict[str, Any]] = {}
        # Tokens by the answer of the model that used them: one is told as often as it has parts.
        self._tokens: dict[str, int] = {}
        self._own_answers: set[str] = set()
        self._is_interrupted = False

    def arguments(self, system_prompt_file: str) -> Sequence[str]:
        """See `driver.Driver`."""
        given = self._settings
        words = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        words += ["--permission-prompt-tool", "stdio", "--session-id", self.session or ""]
        words += ["--append-system-prompt-file", system_prompt_file]
        words += ["--model", given.model] if given.model is not None else []
        words += ["--max-turns", str(given.max_turns)] if given.max_turns is not None else []
        words += ["--max-budget-usd", f"{given.max_cost:g}"] if given.max_cost is not None else []
        return [*words, *given.args]

    def begin(self, prompt: str, system_prompt: str, cwd: str) -> list[Event]:
        """See `driver.Driver`."""
        self._cwd = cwd
        hooks = {event: [{"matcher": None, "hookCallbackIds": ["h"], "timeout": _HOOK_LIMIT}] for event in _HOOKS}
        self._control({"subtype": "initialize", "hooks": hooks})
        self.say(prompt)
        return [self._heard(Started())]

    def say(self, text: str) -> None:
        """See `driver.Driver`."""
        message = {"role": "user", "content": text}
        self._send({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": self.session})

    def interrupt(self) -> None:
        """See `driver.Driver`."""
        self._is_interrupted = True
        self._control({"subtype": "interrupt"})

    def release(self, tool_id: str) -> None:
        """See `driver.Driver`."""
        self._reply(tool_id, {})

    def answer(self, request_id: str, decision: dict[str, Any] | None, words: str) -> None:
        """See `driver.Driver`."""
        payload = self._requests.pop(request_id, None)
        if payload is None:
            return
        form = None if decision is None else answer_forms.formed("claude", payload, decision)
        if form is None:
            self._reply(request_id, {"behavior": "deny", "message": words})
            return
        said = form["hookSpecificOutput"]["decision"]
        if said["behavior"] == "allow":
            said = {"updatedInput": payload["tool_input"], **said}
        self._reply(request_id, said)

    def received(self, message: Message) -> list[Event]:
        """See `driver.Driver`."""
        kind, inner = text(message, "type"), table(message, "request")
        request_id = text(message, "request_id") or ""
        if kind == "control_request":
            return self._asked(request_id, inner)
        if kind == "control_cancel_request":
            self._requests.pop(request_id, None)
            return [Withdrawn(request_id)]
        if kind == "system" and text(message, "subtype") == "init":
            model, mode = text(message, "model"), text(message, "permissionMode")
            return [msgspec.structs.replace(self._heard(), model=model, mode=mode)]
        if kind == "assistant":
            return self._answered(message)
        if kind == "user":
            return [Line(f"  failed: {reason}") for reason in _failures(message)]
        return self._turn_over(message) if kind == "result" else []

    def _control(self, request: Message) -> None:
        self._send({"type": "control_request", "request_id": str(uuid.uuid4()), "request": request})

    def _reply(self, request_id: str, response: Message) -> None:
        body = {"subtype": "success", "request_id": request_id, "response": response}
        self._send({"type": "control_response", "response": body})

    def _heard(self, *facts: Fact, subagent: str | None = None) -> Heard:
        return Heard("claude", self.session or "", facts, cwd=self._cwd, subagent=subagent, ends_waiting=False)

    def _asked(self, request_id: str, request: Message) -> list[Event]:
        subtype = text(request, "subtype")
        if subtype == "hook_callback":
            return self._hook(request_id, table(request, "input"))
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
            heard = claude.read(payload)
            assert heard is not None
            (asked,) = heard.facts
            assert isinstance(asked, Asked)
            asked = msgspec.structs.replace(asked, request=request_id)
            heard = msgspec.structs.replace(heard, facts=(asked,), cwd=self._cwd, ends_waiting=False)
            return [Request(id=request_id, heard=heard, asked=asked)]
        body = {"subtype": "error", "request_id": request_id, "error": f"{subtype} is not supported here"}
        self._send({"type": "control_response", "response": body})
        return []

    def _hook(self, request_id: str, payload: Message) -> list[Event]:
        heard = claude.read(payload)
        found: list[Event] = [] if heard is None else [msgspec.structs.replace(heard, ends_waiting=False)]
        if text(payload, "hook_event_name") == "PreToolUse":
            return [*found, ToolWaits(request_id)]
        self._reply(request_id, {})
        return found

    def _answered(self, message: Message) -> list[Event]:
        """An answer of the model, or a part of one: what it says and which tools it calls."""
        answer, parent = table(message, "message"), text(message, "parent_tool_use_id")
        facts: list[Fact] = []
        lines: list[Event] = []
        for block in tables(answer, "content"):
            if (said := text(block, "text")) is not None and block.get("type") == "text":
                facts += [Said(said)] if parent is None else []
                lines.append(Line(said if parent is None else f"  (subagent) {said}"))
            elif block.get("type") == "tool_use":
                lines.append(Line(f"> {text(block, 'name') or '?'}", _detail(block.get("input"))))
        # A failure of the model's service stands in the place of an answer.
        if (key := text(answer, "id")) is not None and text(answer, "model") != "<synthetic>":
            if usage := table(answer, "usage"):
                self._tokens[key] = int(sum(number(usage, name) or 0 for name in _TOKENS))
                self.used.tokens = sum(self._tokens.values())
            if parent is None:
                self._own_answers.add(key)
                self.used.turns = len(self._own_answers)
            facts.append(Spent(self.used.tokens))
        return [*lines, self._heard(*facts)]

    def _turn_over(self, message: Message) -> list[Event]:
        cost = number(message, "total_cost_usd")
        self.used.cost_usd = cost if cost is not None else self.used.cost_usd
        subtype, error = text(message, "subtype") or "", self._error(message)
        facts: list[Fact] = [Spent(None, cost)]
        if self._is_interrupted:
            facts.append(Interrupted())
        elif error is not None:
            facts.append(TurnFailed(error))
        over = TurnOver(
            result=text(message, "result"),
            error=error,
            is_capped=subtype in _CAPPED,
            goes_on=bool(number(message, "queued_turn_count")),
        )
        return [msgspec.structs.replace(self._heard(*facts), ends_waiting=len(facts) > 1), over]

    def _error(self, message: Message) -> str | None:
        """Why a turn came to no good end; None where it did."""
        if message.get("is_error") is not True:
            return None
        subtype, errors = text(message, "subtype"), message.get("errors")
        told = [one for one in errors if isinstance(one, str)] if isinstance(errors, list) else []
        why = text(message, "result") or "; ".join(told) or subtype or "the turn has failed"
        return (limit_reached(self.used, self._settings) or f"stopped: {why}") if subtype in _CAPPED else why


def _failures(message: Message) -> list[str]:
    """The first lines of what failed tools have said."""
    failed = [one for one in tables(table(message, "message"), "content") if one.get("is_error") is True]
    words = (one.get("content") for one in failed)
    return [word.strip().partition("\n")[0][:200] for word in words if isinstance(word, str) and word.strip()]


def _detail(given: Any) -> str:
    """The part of a tool's input that tells most of it."""
    named = (text(given, name) for name in ("command", "file_path", "path", "pattern", "url", "query", "description"))
    return next((one for one in named if one is not None), "")
