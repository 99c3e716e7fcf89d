"""`ask` over MCP: a human may take hours, and a client waits for a minute at the most.

Where the client has the Tasks extension, the question is a task of it. Where it has elicitation, it shows the question
in a dialog of its own, beside the screen; the first answer counts. Any other client is given a ticket in time.
"""

from __future__ import annotations

from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk
from tui_tasks.core.read import asks
from tui_tasks.core.snapshots import Ask, iso
from tui_tasks.mcp_server.conversations import Conversation
from tui_tasks.mcp_server.tools.results import result_of

TASKS: Final = "io.modelcontextprotocol/tasks"
# Before the limit of the least patient clients, 30 seconds.
TICKET_SECONDS: Final = 25
_POLL_MILLISECONDS: Final = 2_000
_YEAR: Final = 31_536_000
_ANSWER: Final = "answer"
# The keys of a dialog's fields.
_CHOICE, _OTHER = "choice", "answer"

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult | dict[str, Any]


async def ask(
    conversation: Conversation, context: Context, params: types.CallToolRequestParams, request: dict[str, Any]
) -> Result:
    """Ask the human by whatever the client has for it."""
    client = context.session.client_capabilities
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    given = request["arguments"].get("wait")
    if given is None and is_modern and client is not None and TASKS in (client.extensions or {}):
        return await _as_task(conversation, request)
    has_dialog = client is not None and _shows_forms(client.elicitation)
    if given is None and has_dialog and is_modern:
        return await _by_retry(conversation, params, request)
    if given is None and has_dialog and context.session.can_send_request:
        return await _by_dialog(conversation, context, request)
    if given is None:
        request["arguments"]["wait"] = TICKET_SECONDS
    return result_of(await conversation.ask(request))


def _shows_forms(declared: types.ElicitationCapability | None) -> bool:
    """Whether a client shows forms: the first revision had nothing else, and no word for it."""
    return declared is not None and (declared.form is not None or declared.url is None)


async def _opened(conversation: Conversation, request: dict[str, Any]) -> tuple[dict[str, Any], Ask | None]:
    """Put the question, and return the reply with the question, or None where it was refused."""
    reply = await conversation.ask({**request, "arguments": {**request["arguments"], "wait": 0}}, is_shown=False)
    uid = (reply.get("result") or {}).get("ask") if reply["ok"] else None
    return reply, asks.ask(conversation.session.store.db, uid) if uid is not None else None


# The Tasks extension


async def _as_task(conversation: Conversation, request: dict[str, Any]) -> Result:
    reply, asked = await _opened(conversation, request)
    if asked is None:
        return result_of(reply)
    return {"resultType": "task", **_task(asked, "working")}


def _task(asked: Ask, status: str) -> dict[str, Any]:
    changed = asked.answered_at if asked.answered_at is not None else asked.opened_at
    return {
        "taskId": asked.uid,
        "status": status,
        "statusMessage": "The human has been asked." if status == "working" else f"The question is {asked.state}.",
        "createdAt": iso(asked.opened_at),
        "lastUpdatedAt": iso(changed),
        "ttlMs": None,
        "pollIntervalMs": _POLL_MILLISECONDS,
    }


class TaskParams(types.RequestParams):
    """What names a task of the extension."""

    task_id: str


def _own(conversation: Conversation, uid: str) -> Ask:
    try:
        asked = asks.ask(conversation.session.store.db, uid)
    except Refusal:
        asked = None
    if asked is None or asked.agent != conversation.session.identity.agent:
        raise MCPError(code=types.INVALID_PARAMS, message=f"no task {uid[:100]}")
    return asked


async def get_task(conversation: Conversation, uid: str) -> dict[str, Any]:
    """The state of a question as that of a task, with the result once it has one (`tasks/get`)."""
    asked = _own(conversation, uid)
    reply = await conversation.ask({"tool": "control:answer_of", "arguments": {"ask": uid}}, is_shown=False)
    found = reply.get("result") or {}
    state = found.get("state", asked.state)
    if state == "open":
        return {"resultType": "complete", **_task(asked, "working")}
    if state == "withdrawn":
        return {"resultType": "complete", **_task(asked, "cancelled")}
    result = result_of(_ended(uid, found)).model_dump(by_alias=True, mode="json", exclude_none=True)
    return {"resultType": "complete", **_task(asked, "completed"), "result": result}


def cancel_task(conversation: Conversation, uid: str) -> dict[str, Any]:
    """Withdraw a question (`tasks/cancel`)."""
    _withdraw(conversation, _own(conversation, uid).uid)
    return {"resultType": "complete"}


# Elicitation


async def _by_retry(conversation: Conversation, params: types.CallToolRequestParams, request: dict[str, Any]) -> Result:
    """Let the client ask and call again with what it was told, as revisions from 2026-07-28 on do."""
    if params.request_state is None:
        reply, asked = await _opened(conversation, request)
        if asked is None:
            return result_of(reply)
        return types.InputRequiredResult(input_requests={_ANSWER: _dialog(asked)}, request_state=asked.uid)
    asked = _own(conversation, params.request_state)
    given = (params.input_responses or {}).get(_ANSWER)
    if isinstance(given, types.ElicitResult):
        _answer(conversation, asked, given, _client_of(params))
    return result_of(await _awaited(conversation, asked.uid, TICKET_SECONDS))


def _client_of(params: types.CallToolRequestParams) -> str:
    """What the client calls itself, as far as it says so."""
    client = (params.meta or {}).get("io.modelcontextprotocol/clientInfo")
    return str(client.get("name", "")) if isinstance(client, dict) else ""


async def _by_dialog(conversation: Conversation, context: Context, request: dict[str, Any]) -> Result:
    """Let the client ask as well, and take the first answer: from there or from the screen."""
    reply, asked = await _opened(conversation, request)
    if asked is None:
        return result_of(reply)
    client = context.session.client_params
    name = client.client_info.name if client is not None else ""
    given_up = anyio.Event()

    async def dialog() -> None:
        wanted = _dialog(asked).params
        assert isinstance(wanted, types.ElicitRequestFormParams)
        try:
            given = await context.session.elicit_form(wanted.message, wanted.requested_schema, context.request_id)
        except (MCPError, ValidationError):
            given_up.set()
            return
        if not _answer(conversation, asked, given, name):
            given_up.set()

    async def give_up() -> None:
        await given_up.wait()
        await anyio.sleep(TICKET_SECONDS)
        group.cancel_scope.cancel()

    reply = {"ok": True, "result": {"ask": asked.uid, "state": "open"}}
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(dialog)
            group.start_soon(give_up)
            reply = await _awaited(conversation, asked.uid, _YEAR)
            group.cancel_scope.cancel()
    except anyio.get_cancelled_exc_class():
        _withdraw(conversation, asked.uid)
        raise
    return result_of(reply)


def _dialog(asked: Ask) -> types.ElicitRequest:
    properties: dict[str, Any] = {_OTHER: {"type": "string", "title": "Answer"}}
    if asked.options:
        choice = {"type": "string", "title": "Choice", "enum": list(asked.options)}
        properties = {_CHOICE: choice, _OTHER: {"type": "string", "title": "Another answer"}}
    wanted: dict[str, Any] = {"type": "object", "properties": properties}
    if not asked.options:
        wanted["required"] = [_OTHER]
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=asked.question, requested_schema=wanted))


def _answer(conversation: Conversation, asked: Ask, given: types.ElicitResult, client: str) -> bool:
    """Keep what the human has said in the client's dialog; return whether that was an answer."""
    told = given.content or {}
    text = str(told.get(_OTHER) or told.get(_CHOICE) or "").strip()
    if given.action != "accept" or not text:
        return False
    session = conversation.session
    why = {"topic": f"answered in the dialog of {client[:100] or 'the MCP client'}"}
    try:
        session.store.commit(AnswerAsk(asked.uid, text), actor=session.identity.agent, now=session.clock(), why=why)
    except Refusal:
        # The screen was faster.
        return True
    conversation.wake()
    return True


# What has come of a question


async def _awaited(conversation: Conversation, uid: str, seconds: float) -> dict[str, Any]:
    """The reply to a question as soon as it has an answer, or a ticket after so many seconds."""
    reply = await conversation.ask({"tool": "control:answer_of", "arguments": {"ask": uid, "wait": seconds}})
    if not reply["ok"]:
        return reply
    found = reply["result"]
    if found["state"] == "open":
        return {**reply, "result": {"ask": uid, "state": "open"}}
    return {**reply, **_ended(uid, found)}


def _ended(uid: str, found: dict[str, Any]) -> dict[str, Any]:
    """The reply of `ask` to a question that is open no longer."""
    if found["state"] == "answered":
        return {"ok": True, "result": {"answer": found["answer"], "at": found["at"]}}
    told = {"code": "timeout", "message": f"the question was {found['state']}", "data": {"id": uid}}
    return {"ok": False, "error": told}


def _withdraw(conversation: Conversation, uid: str) -> None:
    """Take a question back that nobody waits for any more."""
    session = conversation.session
    try:
        session.store.commit(CloseAsk(uid, "withdrawn"), actor=session.identity.agent, now=session.clock())
    except Refusal:
        return  # it was answered meanwhile
