"""Codex by its app server: `codex app-server` with JSON-RPC over its standard streams (tested with 0.169.0).

The server has one thread, which is the session. What Codex may do without asking is decided by its own configuration
and the runner's `args`. It reports tokens but no cost, and cannot hold a tool for which it does not ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from tui_tasks.agent_runs import codex_requests
from tui_tasks.agent_runs.codex_requests import RequestReplies
from tui_tasks.agent_runs.program_protocol import (
    DriverEvent,
    HumanRequest,
    Message,
    OutputLine,
    RequestWithdrawn,
    RunUsage,
    Send,
    TurnFinished,
    limit_reached,
)
from tui_tasks.core.operations.sessions import (
    MessageWritten,
    PromptSubmitted,
    SessionEvent,
    SessionReport,
    SessionStarted,
    TaskListReported,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnInterrupted,
    UsageReported,
    Working,
)
from tui_tasks.hooks.hook_forms import MESSAGE_BEGINS
from tui_tasks.hooks.programs.payload_fields import number, table, tables, text, whole_list
from tui_tasks.runner.runner_settings import AgentSettings

# Frequent notifications that are not needed.
_UNUSED_NOTIFICATIONS: Final = (
    "item/agentMessage/delta",
    "item/commandExecution/outputDelta",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/plan/delta",
    "item/reasoning/summaryPartAdded",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta",
    "account/rateLimits/updated",
    "turn/diff/updated",
)
_NO_METHOD: Final = -32601
# The beginning of the text that is sent after a denial.
_DENIED: Final = "That was denied: "


class CodexDriver:
    """The driver for Codex; see `program_protocol.AgentDriver`."""

    pause_holds = "what it asks for, and its next turn, wait"

    def __init__(self, settings: AgentSettings, send: Send) -> None:
        self._settings = settings
        self._send = send
        self.session: str | None = None
        self.usage = RunUsage()
        self._cwd = ""
        self._prompt = ""
        self._last_id = 0
        # The handlers of replies to this side's requests, by id.
        self._replies: dict[int, Callable[[Message], list[DriverEvent]]] = {}
        # The open requests of the server: its id of each, and the replies to choose from.
        self._pending: dict[str, tuple[Any, RequestReplies]] = {}
        self._turn: str | None = None
        self._tokens: dict[str, int] = {}
        # The items of running tool calls, by id.
        self._items: dict[str, Message] = {}
        self._last_message: str | None = None
        self._is_answer_final = False
        self._is_interrupted = False
        # Why this side interrupted the turn, if it reached a limit.
        self._limit: str | None = None

    def arguments(self, system_prompt_file: str) -> Sequence[str]:
        """See `program_protocol.AgentDriver`."""
        return ["app-server", *self._settings.args]

    def begin(self, prompt: str, system_prompt: str, cwd: str) -> list[DriverEvent]:
        """See `program_protocol.AgentDriver`."""
        self._prompt, self._cwd = prompt, cwd
        capabilities = {"experimentalApi": True, "optOutNotificationMethods": _UNUSED_NOTIFICATIONS}
        client = {"name": "tui-tasks", "title": "tui-tasks", "version": "1"}
        self._request("initialize", {"clientInfo": client, "capabilities": capabilities})
        self._send({"method": "initialized"})
        thread: Message = {"cwd": cwd}
        if system_prompt.strip():
            thread["developerInstructions"] = system_prompt
        if self._settings.model is not None:
            thread["model"] = self._settings.model
        self._request("thread/start", thread, self._thread_started)
        return []

    def say(self, words: str) -> None:
        """See `program_protocol.AgentDriver`."""
        if self._turn is None:
            self._request("turn/start", self._turn_input(words), self._turn_accepted)
        else:
            # The turn may have ended meanwhile: then the text begins a new one.
            self._steer(words, lambda reply: self._steer_answered(reply, words))

    def interrupt(self) -> None:
        """See `program_protocol.AgentDriver`."""
        self._is_interrupted = True
        if self._turn is not None:
            self._request("turn/interrupt", {"threadId": self.session, "turnId": self._turn})

    def release(self, tool_id: str) -> None:
        """Do nothing: tools are never held."""

    def answer(self, request_id: str, decision: dict[str, Any] | None, words: str) -> None:
        """See `program_protocol.AgentDriver`."""
        if request_id not in self._pending:
            return
        rpc_id, replies = self._pending.pop(request_id)
        result = replies.result_for(decision)
        self._send({"id": rpc_id, "result": result})
        why = words if decision is None else decision.get("words")
        if result == replies.deny and why and self._turn is not None:
            # A denial has no field for a reason.
            self._steer(f"{_DENIED}{why}", _error_lines)

    def handle(self, message: Message) -> list[DriverEvent]:
        """See `program_protocol.AgentDriver`."""
        method = text(message, "method")
        if method is None:
            reply = self._replies.pop(message["id"], None) if isinstance(message.get("id"), int) else None
            return reply(message) if reply is not None else []
        given = table(message, "params")
        if "id" in message:
            return self._handle_request(method, message["id"], given)
        handler = _HANDLERS.get(method)
        return handler(self, given) if handler is not None else []

    # Requests of this side, and their replies

    def _request(self, method: str, given: Message, then: Callable[[Message], list[DriverEvent]] | None = None) -> None:
        self._last_id += 1
        self._replies[self._last_id] = then or _error_lines
        self._send({"id": self._last_id, "method": method, "params": given})

    def _thread_started(self, reply: Message) -> list[DriverEvent]:
        thread = table(table(reply, "result"), "thread")
        self.session = text(thread, "id")
        if self.session is None:
            return [TurnFinished(error=_error(reply) or "Codex has begun no thread")]
        self.say(self._prompt)
        model = text(table(reply, "result"), "model") or text(thread, "model")
        return [msgspec.structs.replace(self._report(SessionStarted()), model=model)]

    def _turn_accepted(self, reply: Message) -> list[DriverEvent]:
        self._turn = text(table(table(reply, "result"), "turn"), "id") or self._turn
        if (error := _error(reply)) is not None:
            return [self._report(TurnFailed(error)), TurnFinished(error=error)]
        return []

    def _turn_input(self, words: str) -> Message:
        return {"threadId": self.session, "input": [{"type": "text", "text": words}]}

    def _steer(self, words: str, then: Callable[[Message], list[DriverEvent]]) -> None:
        self._request("turn/steer", {**self._turn_input(words), "expectedTurnId": self._turn}, then)

    def _steer_answered(self, reply: Message, words: str) -> list[DriverEvent]:
        if "error" in reply and not self._is_interrupted:
            self._request("turn/start", self._turn_input(words), self._turn_accepted)
        return []

    def _report(self, *events: SessionEvent, thread: str | None = None) -> SessionReport:
        subagent = thread if thread not in (None, self.session) else None
        ends = any(isinstance(event, TurnEnded | TurnFailed | TurnInterrupted) for event in events)
        return SessionReport("codex", self.session or "", events, cwd=self._cwd, subagent=subagent, ends_waiting=ends)

    # Requests of the server

    def _handle_request(self, method: str, rpc_id: Any, given: Message) -> list[DriverEvent]:
        made = codex_requests.read(method, given, self._items.get(text(given, "itemId") or "", {}))
        if made is None:
            why = f"{method} is not supported here"
            self._send({"id": rpc_id, "error": {"code": _NO_METHOD, "message": why}})
            return []
        request_id = f"{self.session}/{rpc_id}"
        self._pending[request_id] = rpc_id, made[1]
        asked = msgspec.structs.replace(made[0], request=request_id)
        report = self._report(asked, thread=text(given, "threadId"))
        return [HumanRequest(id=request_id, report=report, asked=asked)]

    # Notifications of the server

    def _turn_started(self, given: Message) -> list[DriverEvent]:
        if text(given, "threadId") != self.session:
            return []
        self._turn = text(table(given, "turn"), "id")
        return []

    def _item_started(self, given: Message) -> list[DriverEvent]:
        item, thread = table(given, "item"), text(given, "threadId")
        named = _tool_of(item)
        if named is None:
            if text(item, "type") == "userMessage":
                return self._prompt_started(item, given)
            return []
        tool, detail = named
        key = text(item, "id") or ""
        self._items[key] = item
        self._is_answer_final = False
        return [OutputLine(f"> {tool}", detail), self._report(ToolStarted(tool, key), thread=thread)]

    def _prompt_started(self, item: Message, given: Message) -> list[DriverEvent]:
        words = "\n".join(word for part in tables(item, "content") if (word := text(part, "text")) is not None)
        if text(given, "threadId") != self.session:
            return []
        is_own = words.startswith((MESSAGE_BEGINS, _DENIED))
        return [self._report(Working() if is_own else PromptSubmitted(words, text(given, "turnId")))]

    def _item_completed(self, given: Message) -> list[DriverEvent]:
        item, thread = table(given, "item"), text(given, "threadId")
        named, key = _tool_of(item), text(item, "id") or ""
        if named is None:
            return self._message_completed(item, thread)
        self._items.pop(key, None)
        error = _error_of(item)
        events: list[DriverEvent] = [] if error is None else [OutputLine(f"  failed: {error}")]
        return [*events, self._report(ToolEnded(named[0], key, error), thread=thread)]

    def _message_completed(self, item: Message, thread: str | None) -> list[DriverEvent]:
        words = text(item, "text")
        if text(item, "type") != "agentMessage" or words is None:
            return []
        if thread != self.session:
            return [OutputLine(f"  (subagent) {words}")]
        self._last_message, self._is_answer_final = words, True
        return [OutputLine(words), self._report(MessageWritten(words))]

    def _usage_updated(self, given: Message) -> list[DriverEvent]:
        """Report the tokens. Such a message comes once after each message of the model."""
        total = number(table(table(given, "tokenUsage"), "total"), "totalTokens")
        thread = text(given, "threadId") or ""
        if total is None or total <= self._tokens.get(thread, 0):
            return []  # repeated when a turn is interrupted
        self._tokens[thread] = int(total)
        self.usage.tokens = sum(self._tokens.values())
        self.usage.turns = (self.usage.turns or 0) + 1
        goes_on, self._is_answer_final = not self._is_answer_final, False
        if goes_on and self._limit is None and (limit := limit_reached(self.usage, self._settings)) is not None:
            self._limit = limit
            self.interrupt()
        return [self._report(UsageReported(self.usage.tokens))]

    def _plan_updated(self, given: Message) -> list[DriverEvent]:
        is_own = text(given, "threadId") == self.session
        return [self._report(TaskListReported(whole_list(given, "plan", "step")))] if is_own else []

    def _error_reported(self, given: Message) -> list[DriverEvent]:
        why = _readable(text(table(given, "error"), "message"))
        again = "; it is tried again" if given.get("willRetry") is True else ""
        return [OutputLine(f"[{why}{again}]")] if why is not None else []

    def _request_resolved(self, given: Message) -> list[DriverEvent]:
        request_id = f"{self.session}/{given.get('requestId')}"
        if self._pending.pop(request_id, None) is None:
            return []  # this side answered it
        return [RequestWithdrawn(request_id)]

    def _turn_completed(self, given: Message) -> list[DriverEvent]:
        if text(given, "threadId") != self.session:
            return []
        turn, self._turn = table(given, "turn"), None
        unanswered: list[DriverEvent] = [RequestWithdrawn(request_id) for request_id in self._pending]
        self._pending.clear()
        ended, error = self._end_of_turn(turn)
        over = TurnFinished(result=self._last_message, error=error, is_capped=self._limit is not None)
        return [*unanswered, self._report(ended), over]

    def _end_of_turn(self, turn: Message) -> tuple[SessionEvent, str | None]:
        """Return the event of a turn's end, and why it failed; None if it did not."""
        status = text(turn, "status")
        if self._limit is not None:
            return TurnFailed(self._limit), self._limit
        if status == "completed":
            return TurnEnded(self._last_message), None
        if status == "interrupted":
            return TurnInterrupted(), "its turn was interrupted"
        error = _readable(text(table(turn, "error"), "message")) or "its turn has failed"
        return TurnFailed(error), error


_HANDLERS: Final[dict[str, Callable[[CodexDriver, Message], list[DriverEvent]]]] = {
    "turn/started": CodexDriver._turn_started,
    "item/started": CodexDriver._item_started,
    "item/completed": CodexDriver._item_completed,
    "thread/tokenUsage/updated": CodexDriver._usage_updated,
    "turn/plan/updated": CodexDriver._plan_updated,
    "error": CodexDriver._error_reported,
    "serverRequest/resolved": CodexDriver._request_resolved,
    "turn/completed": CodexDriver._turn_completed,
}


def _error_lines(reply: Message) -> list[DriverEvent]:
    error = _error(reply)
    return [] if error is None else [OutputLine(f"[Codex: {error}]")]


def _error(reply: Message) -> str | None:
    return text(table(reply, "error"), "message")


def _tool_of(item: Message) -> tuple[str, str] | None:
    """Return the name and main input of the tool that an item calls, as hooks name it; None if it calls none."""
    kind = text(item, "type")
    if kind == "commandExecution":
        actions = list(tables(item, "commandActions"))
        own = text(actions[0], "command") if len(actions) == 1 else None
        return "Bash", own or text(item, "command") or ""
    if kind == "fileChange":
        return "apply_patch", ", ".join(text(one, "path") or "?" for one in tables(item, "changes"))
    if kind == "mcpToolCall":
        return f"mcp__{text(item, 'server')}__{text(item, 'tool')}", ""
    if kind == "webSearch":
        return "web_search", text(item, "query") or ""
    if kind in ("dynamicToolCall", "collabAgentToolCall"):
        return text(item, "tool") or kind, text(item, "prompt") or ""
    return None


def _error_of(item: Message) -> str | None:
    """Return why a tool call failed; None if it did not."""
    status = text(item, "status")
    if status == "declined":
        return "it was denied"
    code = item.get("exitCode")
    if status != "failed" and (not isinstance(code, int) or code == 0):
        return None
    output = text(item, "aggregatedOutput") or text(table(item, "error"), "message") or ""
    lines_ = [line.strip() for line in output.splitlines() if line.strip()][-1:]
    return ": ".join([*([f"exit {code}"] if isinstance(code, int) else []), *lines_])[:200] or "it failed"


def _readable(message: str | None) -> str | None:
    """Return an error's message; if that is JSON of the model's service, the message in it."""
    try:
        inner = msgspec.json.decode(message or "")
    except (msgspec.DecodeError, RecursionError):
        return message
    return text(table(inner, "error"), "message") or text(inner, "message") or message
