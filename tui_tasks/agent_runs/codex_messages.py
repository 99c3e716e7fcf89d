"""What the messages of Codex's app server tell: tool calls, errors, and what it asks of the human, with the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from tui_tasks.agent_runs.driver import Message
from tui_tasks.core.operations.sessions import Asked
from tui_tasks.hooks.programs.fields import table, tables, text


class Replies(msgspec.Struct, frozen=True):
    """The results that answer a request.

    `allow` allows it once, `always` from now on, in the order of its suggestions, and `deny` denies it. `questions` are
    the ids of its questions, in order.
    """

    allow: Message
    always: list[Message]
    deny: Message
    questions: list[str] = []

    def chosen(self, decision: dict[str, Any] | None) -> Message:
        """Return the result for what the human decided (`hooks.replies.answers.decision`); None: nothing."""
        if decision is not None and "answer" in decision:
            return {"answers": _answers(self.questions, decision)}
        if decision is None or not decision["allow"]:
            return self.deny
        place = decision.get("always")
        return self.allow if place is None else self.always[place]


def read(method: str, given: Message, item: Message) -> tuple[Asked, Replies] | None:
    """Return what a request asks, and what answers it; None where it cannot be asked here.

    `item` is the tool call that it is about, as far as that was told.
    """
    make = _REQUESTS.get(method)
    return make(given, item) if make is not None else None


def _command_asked(given: Message, item: Message) -> tuple[Asked, Replies]:
    shown = {name: given[name] for name in ("command", "cwd", "reason") if given.get(name) is not None}
    always = [
        one
        for one in _list(given, "availableDecisions")
        if one == "acceptForSession" or (isinstance(one, dict) and "acceptWithExecpolicyAmendment" in one)
    ]
    asked = Asked("permission", "Bash", shown, suggestions=[_suggestion(one) for one in always])
    return asked, _decisions([{"decision": one} for one in always])


def _change_asked(given: Message, item: Message) -> tuple[Asked, Replies]:
    shown = {name: given[name] for name in ("reason", "grantRoot") if given.get(name) is not None}
    shown |= {
        f"{text(table(change, 'kind'), 'type')} {text(change, 'path')}": change.get("diff")
        for change in tables(item, "changes")
    }
    asked = Asked("permission", "apply_patch", shown, suggestions=["changes of these files, in this session"])
    return asked, _decisions([{"decision": "acceptForSession"}])


def _rights_asked(given: Message, item: Message) -> tuple[Asked, Replies]:
    wanted = {name: value for name, value in table(given, "permissions").items() if value is not None}
    shown = {name: value for name, value in (("reason", given.get("reason")), *wanted.items()) if value is not None}
    asked = Asked("permission", "request_permissions", shown, suggestions=["these, in this session"])
    allow, always = ({"permissions": wanted, "scope": scope} for scope in ("turn", "session"))
    return asked, Replies(allow, [always], {"permissions": {}, "scope": "turn"})


def _question_asked(given: Message, item: Message) -> tuple[Asked, Replies]:
    questions = tuple(tables(given, "questions"))
    asked = Asked("question", "request_user_input", {"questions": list(questions)}, questions=questions)
    ids = [text(one, "id") or "" for one in questions]
    return asked, Replies({"answers": {}}, [], {"answers": {}}, ids)


def _server_asked(given: Message, item: Message) -> tuple[Asked, Replies] | None:
    """An MCP server, or Codex before it calls one of its tools. A form with fields to fill in is refused."""
    if table(table(given, "requestedSchema"), "properties"):
        return None
    shown = {name: given[name] for name in ("message", "url", "_meta") if given.get(name) is not None}
    asked = Asked("permission", text(given, "serverName"), shown)
    return asked, Replies({"action": "accept", "content": {}}, [], {"action": "decline"})


_REQUESTS: Final[dict[str, Callable[[Message, Message], tuple[Asked, Replies] | None]]] = {
    "item/commandExecution/requestApproval": _command_asked,
    "item/fileChange/requestApproval": _change_asked,
    "item/permissions/requestApproval": _rights_asked,
    "item/tool/requestUserInput": _question_asked,
    "mcpServer/elicitation/request": _server_asked,
}


def _decisions(always: list[Message]) -> Replies:
    return Replies({"decision": "accept"}, always, {"decision": "decline"})


def _suggestion(decision: Any) -> str:
    """What a decision would allow from now on, in words."""
    if decision == "acceptForSession":
        return "this very command, in this session"
    amendment = _list(table(decision, "acceptWithExecpolicyAmendment"), "execpolicy_amendment")
    return f"commands that begin with: {' '.join(map(str, amendment))}"


def _answers(ids: list[str], decision: dict[str, Any]) -> Message:
    """What the human has answered to each question; all of it to each where not each has a line."""
    lines = decision["lines"] if len(decision["lines"]) == len(ids) > 1 else [decision["answer"]] * len(ids)
    return {key: {"answers": [line]} for key, line in zip(ids, lines, strict=True)}


def _list(payload: Any, name: str) -> list[Any]:
    value = payload.get(name) if isinstance(payload, dict) else None
    return value if isinstance(value, list) else []


def tool_of(item: Message) -> tuple[str, str] | None:
    """The name of the tool that an item is a call of, as its hooks tell it, and with what; None where it is none."""
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


def error_of(item: Message) -> str | None:
    """Why a tool call failed; None where it did not."""
    status = text(item, "status")
    if status == "declined":
        return "it was denied"
    code = item.get("exitCode")
    if status != "failed" and (not isinstance(code, int) or code == 0):
        return None
    output = text(item, "aggregatedOutput") or text(table(item, "error"), "message") or ""
    told = [line.strip() for line in output.splitlines() if line.strip()][-1:]
    return ": ".join([*([f"exit {code}"] if isinstance(code, int) else []), *told])[:200] or "it failed"


def readable(message: str | None) -> str | None:
    """An error's message; of one that is the JSON of the model's service, the message in that."""
    try:
        inner = msgspec.json.decode(message or "")
    except (msgspec.DecodeError, RecursionError):
        return message
    return text(table(inner, "error"), "message") or text(inner, "message") or message
