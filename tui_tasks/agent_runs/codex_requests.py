"""Reads the requests of Codex's app server to the human, with their possible replies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from tui_tasks.agent_runs.program_protocol import Message
from tui_tasks.core.operations.sessions import InputRequested
from tui_tasks.hooks.programs.payload_fields import items, table, tables, text


class RequestReplies(msgspec.Struct, frozen=True):
    """The possible results of a request.

    Attributes:
        allow: allows it once.
        always: allow it from now on, in the order of its suggestions.
        deny: denies it.
        questions: the ids of its questions, in order.
    """

    allow: Message
    always: list[Message]
    deny: Message
    questions: list[str] = []

    def result_for(self, decision: dict[str, Any] | None) -> Message:
        """Return the result for the human's decision (`hooks.replies.reply_sender.decision_for`); None: the denial."""
        if decision is not None and "answer" in decision:
            return {"answers": _answers(self.questions, decision)}
        if decision is None or not decision["allow"]:
            return self.deny
        place = decision.get("always")
        return self.allow if place is None else self.always[place]


def read(method: str, given: Message, item: Message) -> tuple[InputRequested, RequestReplies] | None:
    """Return the event of a server's request, and its possible replies; None if it is not supported.

    `item` is the tool call that the request is about, if it was reported.
    """
    make = _REQUESTS.get(method)
    return make(given, item) if make is not None else None


def _command_request(given: Message, item: Message) -> tuple[InputRequested, RequestReplies]:
    details = {name: given[name] for name in ("command", "cwd", "reason") if given.get(name) is not None}
    always = [
        one
        for one in items(given, "availableDecisions")
        if one == "acceptForSession" or (isinstance(one, dict) and "acceptWithExecpolicyAmendment" in one)
    ]
    event = InputRequested("permission", "Bash", details, suggestions=[_suggestion(one) for one in always])
    return event, _decisions([{"decision": one} for one in always])


def _change_request(given: Message, item: Message) -> tuple[InputRequested, RequestReplies]:
    details = {name: given[name] for name in ("reason", "grantRoot") if given.get(name) is not None}
    details |= {
        f"{text(table(change, 'kind'), 'type')} {text(change, 'path')}": change.get("diff")
        for change in tables(item, "changes")
    }
    event = InputRequested(
        "permission", "apply_patch", details, suggestions=["changes of these files, in this session"]
    )
    return event, _decisions([{"decision": "acceptForSession"}])


def _permissions_request(given: Message, item: Message) -> tuple[InputRequested, RequestReplies]:
    wanted = {name: value for name, value in table(given, "permissions").items() if value is not None}
    details = {name: value for name, value in (("reason", given.get("reason")), *wanted.items()) if value is not None}
    event = InputRequested("permission", "request_permissions", details, suggestions=["these, in this session"])
    allow, always = ({"permissions": wanted, "scope": scope} for scope in ("turn", "session"))
    return event, RequestReplies(allow, [always], {"permissions": {}, "scope": "turn"})


def _question_request(given: Message, item: Message) -> tuple[InputRequested, RequestReplies]:
    questions = tuple(tables(given, "questions"))
    event = InputRequested("question", "request_user_input", {"questions": list(questions)}, questions=questions)
    ids = [text(one, "id") or "" for one in questions]
    return event, RequestReplies({"answers": {}}, [], {"answers": {}}, ids)


def _server_request(given: Message, item: Message) -> tuple[InputRequested, RequestReplies] | None:
    """Return the request of an MCP server, or of Codex before it calls one of its tools; None for a form to fill in."""
    if table(table(given, "requestedSchema"), "properties"):
        return None
    details = {name: given[name] for name in ("message", "url", "_meta") if given.get(name) is not None}
    event = InputRequested("permission", text(given, "serverName"), details)
    return event, RequestReplies({"action": "accept", "content": {}}, [], {"action": "decline"})


_REQUESTS: Final[dict[str, Callable[[Message, Message], tuple[InputRequested, RequestReplies] | None]]] = {
    "item/commandExecution/requestApproval": _command_request,
    "item/fileChange/requestApproval": _change_request,
    "item/permissions/requestApproval": _permissions_request,
    "item/tool/requestUserInput": _question_request,
    "mcpServer/elicitation/request": _server_request,
}


def _decisions(always: list[Message]) -> RequestReplies:
    return RequestReplies({"decision": "accept"}, always, {"decision": "decline"})


def _suggestion(decision: Any) -> str:
    """Return what a decision would allow from now on, as text."""
    if decision == "acceptForSession":
        return "this very command, in this session"
    amendment = items(table(decision, "acceptWithExecpolicyAmendment"), "execpolicy_amendment")
    return f"commands that begin with: {' '.join(map(str, amendment))}"


def _answers(ids: list[str], decision: dict[str, Any]) -> Message:
    """Return the human's answer to each question: its line if there are as many, else the whole text."""
    lines = decision["lines"] if len(decision["lines"]) == len(ids) > 1 else [decision["answer"]] * len(ids)
    return {key: {"answers": [line]} for key, line in zip(ids, lines, strict=True)}
