"""Codex by its app server: `codex app-server` with JSON-RPC over its standard streams (seen with 0.169.0).

The server has one thread, which is the session. What Codex may do unasked (its sandbox, when it asks) is decided by its
own configuration and the runner's `args`. It tells tokens, no money, and has no way to hold a tool that it does not ask
for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from tui_tasks.agent_runs import codex_messages
from tui_tasks.agent_runs.codex_messages import Replies
from tui_tasks.agent_runs.driver import Event, Line, Message, Request, Send, TurnOver, Used, Withdrawn, limit_reached
from tui_tasks.core.operations.sessions import (
    Busy,
    Fact,
    Heard,
    Interrupted,
    Item,
    Listed,
    Prompted,
    Said,
    Spent,
    Started,
    ToolBegan,
    ToolEnded,
    TurnEnded,
    TurnFailed,
)
from tui_tasks.hooks.programs.fields import number, table, tables, text
from tui_tasks.hooks.replies.forms import MESSAGE_BEGINS
from tui_tasks.runner.profiles import AgentSettings

# Notifications of every few words, of which nothing is needed.
_UNWANTED: Final = (
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
_PLAN_STATUSES: Final = {"pending": "pending", "inProgress": "in_progress", "completed": "done"}
_NO_METHOD: Final = -32601
# So the words begin that follow a denial.
_DENIED: Final = "That was denied: "


class CodexDriver:
    """See `driver.Driver`."""

    pause_holds = "what it asks for, and its next turn, wait"

    def __init__(self, settings: AgentSettings, send: Send) -> None:
        self._settings = settings
        self._send = send
        self.session: str | None = None
        self.used = Used()
        self._cwd = ""
        self._prompt = ""
        self._last_id = 0
        # What to do with the replies to this side's requests.
        self._replies: dict[int, Callable[[Message], list[Event]]] = {}
        # The requests that wait, with the id by which the server knows each and what answers it.
        self._pending: dict[str, tuple[Any, Replies]] = {}
        self._turn: str | None = None
        self._tokens: dict[str, int] = {}
        # The tool calls that began and have not ended; file changes with what they would change.
        self._items: dict[str, Message] = {}
        self._last_message: str | None = None
        self._is_answer_final = False
        self._is_interrupted = False
        # The limit for which this side has interrupted the turn.
        self._limit: str | None = None

    def arguments(self, system_prompt_file: str) -> Sequence[str]:
        """See `driver.Driver`."""
        return ["app-server", *self._settings.args]

    def begin(self, prompt: str, system_prompt: str, cwd: str) -> list[Event]:
        """See `driver.Driver`."""
        self._prompt, self._cwd = prompt, cwd
        capabilities = {"experimentalApi": True, "optOutNotificationMethods": _UNWANTED}
        client = {"name": "tui-tasks", "title": "tui-tasks", "version": "1"}
        self._request("initialize", {"clientInfo": client, "capabilities": capabilities})
        self._send({"method": "initialized"})
        thread: Message = {"cwd": cwd}
        if system_prompt.strip():
            thread["developerInstructions"] = system_prompt
        if self._settings.model is not None:
            thread["model"] = self._settings.model
        self._request("thread/start", thread, self._began)
        return []

    def say(self, words: str) -> None:
        """See `driver.Driver`."""
        if self._turn is None:
            self._request("turn/start", self._input(words), self._started)
        else:
            # The turn may be over by now: then it is one of its own.
            self._steer(words, lambda reply: self._steered(reply, words))

    def interrupt(self) -> None:
        """See `driver.Driver`."""
        self._is_interrupted = True
        if self._turn is not None:
            self._request("turn/interrupt", {"threadId": self.session, "turnId": self._turn})

    def release(self, tool_id: str) -> None:
        """See `driver.Driver`; none is ever held."""

    def answer(self, request_id: str, decision: dict[str, Any] | None, words: str) -> None:
        """See `driver.Driver`."""
        if request_id not in self._pending:
            return
        rpc_id, replies = self._pending.pop(request_id)
        result = replies.chosen(decision)
        self._send({"id": rpc_id, "result": result})
        why = words if decision is None else decision.get("words")
        if result == replies.deny and why and self._turn is not None:
            # A denial has no room for words of its own.
            self._steer(f"{_DENIED}{why}", _failure)

    def received(self, message: Message) -> list[Event]:
        """See `driver.Driver`."""
        method = text(message, "method")
        if method is None:
            reply = self._replies.pop(message["id"], None) if isinstance(message.get("id"), int) else None
            return reply(message) if reply is not None else []
        given = table(message, "params")
        if "id" in message:
            return self._asked(method, message["id"], given)
        told = _TOLD.get(method)
        return told(self, given) if told is not None else []

    # Requests of this side, and their replies

    def _request(self, method: str, given: Message, then: Callable[[Message], list[Event]] | None = None) -> None:
        self._last_id += 1
        self._replies[self._last_id] = then or _failure
        self._send({"id": self._last_id, "method": method, "params": given})

    def _began(self, reply: Message) -> list[Event]:
        thread = table(table(reply, "result"), "thread")
        self.session = text(thread, "id")
        if self.session is None:
            return [TurnOver(error=_error(reply) or "Codex has begun no thread")]
        self.say(self._prompt)
        model = text(table(reply, "result"), "model") or text(thread, "model")
        return [msgspec.structs.replace(self._heard(Started()), model=model)]

    def _started(self, reply: Message) -> list[Event]:
        self._turn = text(table(table(reply, "result"), "turn"), "id") or self._turn
        if (error := _error(reply)) is not None:
            return [self._heard(TurnFailed(error)), TurnOver(error=error)]
        return []

    def _input(self, words: str) -> Message:
        return {"threadId": self.session, "input": [{"type": "text", "text": words}]}

    def _steer(self, words: str, then: Callable[[Message], list[Event]]) -> None:
        self._request("turn/steer", {**self._input(words), "expectedTurnId": self._turn}, then)

    def _steered(self, reply: Message, words: str) -> list[Event]:
        if "error" in reply and not self._is_interrupted:
            self._request("turn/start", self._input(words), self._started)
        return []

    def _heard(self, *facts: Fact, thread: str | None = None) -> Heard:
        subagent = thread if thread not in (None, self.session) else None
        ends = any(isinstance(fact, TurnEnded | TurnFailed | Interrupted) for fact in facts)
        return Heard("codex", self.session or "", facts, cwd=self._cwd, subagent=subagent, ends_waiting=ends)

    # What the server asks

    def _asked(self, method: str, rpc_id: Any, given: Message) -> list[Event]:
        made = codex_messages.read(method, given, self._items.get(text(given, "itemId") or "", {}))
        if made is None:
            why = f"{method} is not supported here"
            self._send({"id": rpc_id, "error": {"code": _NO_METHOD, "message": why}})
            return []
        request_id = f"{self.session}/{rpc_id}"
        self._pending[request_id] = rpc_id, made[1]
        asked = msgspec.structs.replace(made[0], request=request_id)
        heard = self._heard(asked, thread=text(given, "threadId"))
        return [Request(id=request_id, heard=heard, asked=asked)]

    # What the server tells

    def _turn_started(self, given: Message) -> list[Event]:
        if text(given, "threadId") != self.session:
            return []
        self._turn = text(table(given, "turn"), "id")
        return []

    def _item_started(self, given: Message) -> list[Event]:
        item, thread = table(given, "item"), text(given, "threadId")
        named = codex_messages.tool_of(item)
        if named is None:
            if text(item, "type") == "userMessage":
                return self._prompted(item, given)
            return []
        tool, detail = named
        key = text(item, "id") or ""
        self._items[key] = item
        self._is_answer_final = False
        return [Line(f"> {tool}", detail), self._heard(ToolBegan(tool, key), thread=thread)]

    def _prompted(self, item: Message, given: Message) -> list[Event]:
        words = "\n".join(word for part in tables(item, "content") if (word := text(part, "text")) is not None)
        if text(given, "threadId") != self.session:
            return []
        is_own = words.startswith((MESSAGE_BEGINS, _DENIED))
        return [self._heard(Busy() if is_own else Prompted(words, text(given, "turnId")))]

    def _item_completed(self, given: Message) -> list[Event]:
        item, thread = table(given, "item"), text(given, "threadId")
        named, key = codex_messages.tool_of(item), text(item, "id") or ""
        if named is None:
            return self._said(item, thread)
        self._items.pop(key, None)
        error = codex_messages.error_of(item)
        found: list[Event] = [] if error is None else [Line(f"  failed: {error}")]
        return [*found, self._heard(ToolEnded(named[0], key, error), thread=thread)]

    def _said(self, item: Message, thread: str | None) -> list[Event]:
        words = text(item, "text")
        if text(item, "type") != "agentMessage" or words is None:
            return []
        if thread != self.session:
            return [Line(f"  (subagent) {words}")]
        self._last_message, self._is_answer_final = words, True
        return [Line(words), self._heard(Said(words))]

    def _usage(self, given: Message) -> list[Event]:
        """Tell the tokens; each such message comes after an answer of the model."""
        total = number(table(table(given, "tokenUsage"), "total"), "totalTokens")
        thread = text(given, "threadId") or ""
        if total is None or total <= self._tokens.get(thread, 0):
            return []  # the same is told again when a turn is interrupted
        self._tokens[thread] = int(total)
        self.used.tokens = sum(self._tokens.values())
        self.used.turns = (self.used.turns or 0) + 1
        goes_on, self._is_answer_final = not self._is_answer_final, False
        if goes_on and self._limit is None and (limit := limit_reached(self.used, self._settings)) is not None:
            self._limit = limit
            self.interrupt()
        return [self._heard(Spent(self.used.tokens))]

    def _planned(self, given: Message) -> list[Event]:
        steps = tables(given, "plan")
        items = tuple(
            Item(str(place), text(one, "step") or "?", None, _PLAN_STATUSES.get(text(one, "status") or ""))
            for place, one in enumerate(steps)
        )
        return [self._heard(Listed(items))] if text(given, "threadId") == self.session else []

    def _failed(self, given: Message) -> list[Event]:
        why = codex_messages.readable(text(table(given, "error"), "message"))
        again = "; it is tried again" if given.get("willRetry") is True else ""
        return [Line(f"[{why}{again}]")] if why is not None else []

    def _resolved(self, given: Message) -> list[Event]:
        request_id = f"{self.session}/{given.get('requestId')}"
        if self._pending.pop(request_id, None) is None:
            return []  # it was answered from here
        return [Withdrawn(request_id)]

    def _turn_completed(self, given: Message) -> list[Event]:
        if text(given, "threadId") != self.session:
            return []
        turn, self._turn = table(given, "turn"), None
        unanswered: list[Event] = [Withdrawn(request_id) for request_id in self._pending]
        self._pending.clear()
        ended, error = self._ended(turn)
        over = TurnOver(result=self._last_message, error=error, is_capped=self._limit is not None)
        return [*unanswered, self._heard(ended), over]

    def _ended(self, turn: Message) -> tuple[Fact, str | None]:
        """How a turn has ended, and why where it came to no good end."""
        status = text(turn, "status")
        if self._limit is not None:
            return TurnFailed(self._limit), self._limit
        if status == "completed":
            return TurnEnded(self._last_message), None
        if status == "interrupted":
            return Interrupted(), "its turn was interrupted"
        error = codex_messages.readable(text(table(turn, "error"), "message")) or "its turn has failed"
        return TurnFailed(error), error


_TOLD: Final[dict[str, Callable[[CodexDriver, Message], list[Event]]]] = {
    "turn/started": CodexDriver._turn_started,
    "item/started": CodexDriver._item_started,
    "item/completed": CodexDriver._item_completed,
    "thread/tokenUsage/updated": CodexDriver._usage,
    "turn/plan/updated": CodexDriver._planned,
    "error": CodexDriver._failed,
    "serverRequest/resolved": CodexDriver._resolved,
    "turn/completed": CodexDriver._turn_completed,
}


def _failure(reply: Message) -> list[Event]:
    error = _error(reply)
    return [] if error is None else [Line(f"[Codex: {error}]")]


def _error(reply: Message) -> str | None:
    return text(table(reply, "error"), "message")
