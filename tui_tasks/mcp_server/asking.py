"""`ask` over MCP: a human may take hours, but a client waits for a minute at most.

With the Tasks extension, the question becomes a task of it. With elicitation, the client shows the question in its own
dialog as well as on the screen, and the first answer counts. Other clients get a ticket before their limit.
"""

from __future__ import annotations

from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from tui_tasks.core.agent_snapshots import Ask
from tui_tasks.core.errors import Refusal
from tui_tasks.core.operations.asks import AnswerAsk, CloseAsk
from tui_tasks.core.read import ask_queries
from tui_tasks.core.snapshots import iso
from tui_tasks.mcp_server.async_sessions import AsyncSession
from tui_tasks.mcp_server.results import result_of

TASKS: Final = "io.modelcontextprotocol/tasks"
# Below the shortest limit of known clients, 30 seconds.
TICKET_SECONDS: Final = 25
_POLL_MILLISECONDS: Final = 2_000
_YEAR: Final = 31_536_000
_ANSWER: Final = "answer"
# The keys of the fields of an elicitation.
_CHOICE, _OTHER = "choice", "answer"

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult | dict[str, Any]


async def ask(
    agent_session: AsyncSession, context: Context, params: types.CallToolRequestParams, request: dict[str, Any]
) -> Result:
    """Ask the human in the way that the client supports."""
    client = context.session.client_capabilities
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    given = request["arguments"].get("wait")
    if given is None and is_modern and client is not None and TASKS in (client.extensions or {}):
        return await _ask_as_task(agent_session, request)
    has_dialog = client is not None and _shows_forms(client.elicitation)
    if given is None and has_dialog and is_modern:
        return await _by_retry(agent_session, params, request)
    if given is None and has_dialog and context.session.can_send_request:
        return await _by_dialog(agent_session, context, request)
    if given is None:
        request["arguments"]["wait"] = TICKET_SECONDS
    return result_of(await agent_session.ask(request))


def _shows_forms(declared: types.ElicitationCapability | None) -> bool:
    """Return whether a client shows forms: in the first revision they were the only kind, without a name."""
    return declared is not None and (declared.form is not None or declared.url is None)


async def _open_question(agent_session: AsyncSession, request: dict[str, Any]) -> tuple[dict[str, Any], Ask | None]:
    """Open the question; return the reply, and the question, which is None if it was refused."""
    reply = await agent_session.ask({**request, "arguments": {**request["arguments"], "wait": 0}}, is_shown=False)
    uid = (reply.get("result") or {}).get("ask") if reply["ok"] else None
    return reply, ask_queries.ask(agent_session.session.store.db, uid) if uid is not None else None


# The Tasks extension


async def _ask_as_task(agent_session: AsyncSession, request: dict[str, Any]) -> Result:
    reply, asked = await _open_question(agent_session, request)
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
    """The parameters that name a task of the extension."""

    task_id: str


def _own_question(agent_session: AsyncSession, uid: str) -> Ask:
    try:
        asked = ask_queries.ask(agent_session.session.store.db, uid)
    except Refusal:
        asked = None
    if asked is None or asked.agent != agent_session.session.identity.agent:
        raise MCPError(code=types.INVALID_PARAMS, message=f"no task {uid[:100]}")
    return asked


async def get_task(agent_session: AsyncSession, uid: str) -> dict[str, Any]:
    """Return a question as a task, with its result once it has one (`tasks/get`)."""
    asked = _own_question(agent_session, uid)
    reply = await agent_session.ask({"tool": "control:answer_of", "arguments": {"ask": uid}}, is_shown=False)
    answer = reply.get("result") or {}
    state = answer.get("state", asked.state)
    if state == "open":
        return {"resultType": "complete", **_task(asked, "working")}
    if state == "withdrawn":
        return {"resultType": "complete", **_task(asked, "cancelled")}
    result = result_of(_closed_reply(uid, answer)).model_dump(by_alias=True, mode="json", exclude_none=True)
    return {"resultType": "complete", **_task(asked, "completed"), "result": result}


def cancel_task(agent_session: AsyncSession, uid: str) -> dict[str, Any]:
    """Withdraw a question (`tasks/cancel`)."""
    _withdraw(agent_session, _own_question(agent_session, uid).uid)
    return {"resultType": "complete"}


# Elicitation


async def _by_retry(
    agent_session: AsyncSession, params: types.CallToolRequestParams, request: dict[str, Any]
) -> Result:
    """Let the client show the question and repeat the call with the answer, as in revisions from 2026-07-28."""
    if params.request_state is None:
        reply, asked = await _open_question(agent_session, request)
        if asked is None:
            return result_of(reply)
        return types.InputRequiredResult(input_requests={_ANSWER: _elicitation(asked)}, request_state=asked.uid)
    asked = _own_question(agent_session, params.request_state)
    given = (params.input_responses or {}).get(_ANSWER)
    if isinstance(given, types.ElicitResult):
        _record_answer(agent_session, asked, given, _client_of(params))
    return result_of(await _wait_for_answer(agent_session, asked.uid, TICKET_SECONDS))


def _client_of(params: types.CallToolRequestParams) -> str:
    """Return the name that the client gives itself; "" if it gives none."""
    client = (params.meta or {}).get("io.modelcontextprotocol/clientInfo")
    return str(client.get("name", "")) if isinstance(client, dict) else ""


async def _by_dialog(agent_session: AsyncSession, context: Context, request: dict[str, Any]) -> Result:
    """Let the client show the question, and return the first answer, of the client or of the screen."""
    reply, asked = await _open_question(agent_session, request)
    if asked is None:
        return result_of(reply)
    client = context.session.client_params
    name = client.client_info.name if client is not None else ""
    given_up = anyio.Event()

    async def dialog() -> None:
        form = _elicitation(asked).params
        assert isinstance(form, types.ElicitRequestFormParams)
        try:
            given = await context.session.elicit_form(form.message, form.requested_schema, context.request_id)
        except (MCPError, ValidationError):
            given_up.set()
            return
        if not _record_answer(agent_session, asked, given, name):
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
            reply = await _wait_for_answer(agent_session, asked.uid, _YEAR)
            group.cancel_scope.cancel()
    except anyio.get_cancelled_exc_class():
        _withdraw(agent_session, asked.uid)
        raise
    return result_of(reply)


def _elicitation(asked: Ask) -> types.ElicitRequest:
    properties: dict[str, Any] = {_OTHER: {"type": "string", "title": "Answer"}}
    if asked.options:
        choice = {"type": "string", "title": "Choice", "enum": list(asked.options)}
        properties = {_CHOICE: choice, _OTHER: {"type": "string", "title": "Another answer"}}
    form: dict[str, Any] = {"type": "object", "properties": properties}
    if not asked.options:
        form["required"] = [_OTHER]
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=asked.question, requested_schema=form))


def _record_answer(agent_session: AsyncSession, asked: Ask, given: types.ElicitResult, client: str) -> bool:
    """Record the human's answer from the client's dialog; return whether there was one."""
    content = given.content or {}
    text = str(content.get(_OTHER) or content.get(_CHOICE) or "").strip()
    if given.action != "accept" or not text:
        return False
    session = agent_session.session
    why = {"topic": f"answered in the dialog of {client[:100] or 'the MCP client'}"}
    try:
        session.store.commit(AnswerAsk(asked.uid, text), actor=session.identity.agent, now=session.clock(), why=why)
    except Refusal:
        # The question was answered on the screen before.
        return True
    agent_session.wake()
    return True


# The reply


async def _wait_for_answer(agent_session: AsyncSession, uid: str, seconds: float) -> dict[str, Any]:
    """Return the reply with the answer as soon as there is one, or a ticket after so many seconds."""
    reply = await agent_session.ask({"tool": "control:answer_of", "arguments": {"ask": uid, "wait": seconds}})
    if not reply["ok"]:
        return reply
    result = reply["result"]
    if result["state"] == "open":
        return {**reply, "result": {"ask": uid, "state": "open"}}
    return {**reply, **_closed_reply(uid, result)}


def _closed_reply(uid: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the reply of `ask` for a closed question."""
    if found["state"] == "answered":
        return {"ok": True, "result": {"answer": found["answer"], "at": found["at"]}}
    content = {"code": "timeout", "message": f"the question was {found['state']}", "data": {"id": uid}}
    return {"ok": False, "error": content}


def _withdraw(agent_session: AsyncSession, uid: str) -> None:
    """Withdraw a question whose caller is gone."""
    session = agent_session.session
    try:
        session.store.commit(CloseAsk(uid, "withdrawn"), actor=session.identity.agent, now=session.clock())
    except Refusal:
        return  # it was answered meanwhile
