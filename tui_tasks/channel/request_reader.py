"""Reads requests: a JSON value of a line becomes a `Request` with checked fields, then a `PendingRequest` with its tool
and arguments (docs: protocol, section 2).
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Callable, Collection
from typing import Any, Final

import msgspec

from tui_tasks.core.errors import (
    Forbidden,
    InvalidArgument,
    InvalidRequest,
    ParseError,
    Refusal,
    ReservedName,
    UnknownTool,
)
from tui_tasks.dialects.requests import (
    ARGUMENT_KEYS,
    EXTRA_KEYS,
    REASONING_KEYS,
    TOOL_KEYS,
    Identity,
    checked_agent_name,
    checked_name,
    strict_json,
)
from tui_tasks.dialects.requests.arguments import Arguments, decode
from tui_tasks.dialects.tool_table import Table, Tool

_log = logging.getLogger(__name__)

# Wrong keys that models write for ARGUMENT_KEYS. Ignoring them would run the tool without arguments.
_MISNAMED_ARGUMENTS: Final = frozenset({"input", "inputs", "params", "parameters", "kwargs", "tool_input"})
# The types of ids; a bool is not valid.
_IDS: Final = frozenset({str, int, type(None)})
_ENVELOPE: Final = EXTRA_KEYS | {"id", *TOOL_KEYS, *ARGUMENT_KEYS}
_FENCED: Final = r"(?s)\s*(?:```|~~~)\w*\s(.*?)(?:```|~~~)?\s*"
_MAX_SHOWN: Final = 300
MAX_BATCH: Final = 1_000
_EXAMPLE: Final = '{"tool": "tasklist:add_task", "arguments": {"name": "..."}}'
# Refusals that are journaled as `agent.refused` (docs: protocol, section 3).
JOURNALED_REFUSALS: Final = (Forbidden, ReservedName)
DEFECT_MESSAGE: Final = "a defect in tui-tasks; the channel continues"


class Request(msgspec.Struct, frozen=True, gc=False):
    """A request, with everything checked that does not depend on the tool.

    Attributes:
        tool: the name of the tool, as given.
        arguments: the arguments, unchecked.
        agent: the agent that makes the request; None: the channel's.
        list: the list to work on; None: the channel's or dialect's.
        if_version: the version that the task must have.
        idempotency_key: the key under which the reply is stored.
        why: the reasoning, for the journal.
    """

    tool: str
    arguments: dict[str, Any]
    agent: str | None = None
    list: str | None = None
    if_version: int | None = None
    idempotency_key: str | None = None
    why: dict[str, Any] = {}


class RefusedValue(msgspec.Struct, frozen=True):
    """A JSON value that is refused unread.

    Attributes:
        value: a request or a batch; each request is refused under its own id.
        refusal: why.
    """

    value: Any
    refusal: Refusal


def request_id(value: Any) -> str | int | None:
    """Return the id to echo from any JSON value; None if it has no valid one."""
    id_ = value.get("id") if isinstance(value, dict) else None
    return id_ if type(id_) in _IDS else _integer(id_)


def _integer(value: Any) -> int | None:
    """Return an integer, also one written as `10.0` if it fits into 64 bits; None for anything else."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def tool_name(value: Any) -> str:
    """Return the name of the requested tool from any JSON value; "" if there is none."""
    tool = _first_value(value, TOOL_KEYS) if isinstance(value, dict) else None
    return tool if isinstance(tool, str) else ""


def misplaced_arguments(value: dict[str, Any]) -> Any:
    """Return the arguments of a request, also from where models put them wrongly; None if there are none."""
    return _first_value(value, (*ARGUMENT_KEYS, *(key for key in value if key in _MISNAMED_ARGUMENTS)))


def read(value: Any, echoed: str | int | None) -> Request:
    """Read a request from a JSON value; `echoed` is its `request_id`.

    Raises:
        InvalidRequest: the value is no valid request.
        ReservedName: the request's agent has a reserved name.
    """
    if not isinstance(value, dict):
        raise InvalidRequest(f"a request is a JSON object with the name of a tool, or an array of them: {_EXAMPLE}")
    if echoed is None and value.get("id") is not None:
        raise InvalidRequest("id is a string or an integer; leave it out if you need none")
    tool = tool_name(value)
    if not tool:
        raise InvalidRequest(_no_tool_message(value))
    if not _MISNAMED_ARGUMENTS.isdisjoint(value):
        key = next(key for key in value if key in _MISNAMED_ARGUMENTS)
        raise InvalidRequest(f"{key} would be ignored: the arguments of {tool[:100]} go under arguments", key=key)
    arguments = _arguments(value, tool)
    if EXTRA_KEYS.isdisjoint(value):
        return Request(tool, arguments)
    return Request(
        tool=tool,
        arguments=arguments,
        agent=checked_agent_name(checked_name("agent", value.get("agent")), tool),
        list=checked_name("list", value.get("list")),
        if_version=_checked_version(value.get("if_version")),
        idempotency_key=checked_name("idempotency_key", value.get("idempotency_key")),
        why={key: value[key] for key in REASONING_KEYS if value.get(key) is not None},
    )


def _arguments(value: dict[str, Any], tool: str) -> dict[str, Any]:
    arguments = _first_value(value, ARGUMENT_KEYS)
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        # Models may write the arguments as a JSON string.
        with contextlib.suppress(ParseError):
            arguments = strict_json.loads(arguments)
    if not isinstance(arguments, dict):
        _refuse_fenced(arguments, tool)
        raise InvalidRequest(
            f'the arguments of {tool[:100]} are a JSON object of names and values: "arguments": {{"name": ...}}'
        )
    return arguments


def _refuse_fenced(arguments: Any, tool: str) -> None:
    """Refuse arguments that are a string in a Markdown fence, and show them as they are to be sent.

    Raises:
        InvalidRequest: they are.
    """
    match = re.fullmatch(_FENCED, arguments) if isinstance(arguments, str) else None
    if match is None:
        return
    shown = "{...}"
    with contextlib.suppress(ParseError):
        inside = json.dumps(strict_json.loads(match[1].strip()), ensure_ascii=False)
        shown = inside if len(inside) <= _MAX_SHOWN else shown
    raise InvalidRequest(
        f'the arguments of {tool[:100]} are a string in a Markdown fence: send the object itself, "arguments": {shown}'
    )


def _no_tool_message(value: dict[str, Any]) -> str:
    """Return the error message for a request that names no tool."""
    odd = next((key for key in TOOL_KEYS if value.get(key) is not None), None)
    if odd is not None:
        return f"no tool: {odd} must be a string, the name of a tool: {_EXAMPLE}"
    keys = f"; it has {', '.join(key[:40] for key in list(value)[:5])} alone" if value else ""
    return f"no tool: name it with {', '.join(TOOL_KEYS[:-1])} or {TOOL_KEYS[-1]}{keys}: {_EXAMPLE}"


def refuse_flat(value: dict[str, Any], tool: str, names: Collection[str]) -> None:
    """Refuse a request without arguments that has one of the tool's argument `names` beside the tool's name.

    Raises:
        InvalidRequest: the request has such a key.
    """
    if _first_value(value, ARGUMENT_KEYS) is not None:
        return
    for key in value:
        if key in names and key not in _ENVELOPE:
            raise InvalidRequest(
                f'{key} is an argument of {tool[:100]} and goes under arguments: "arguments": {{"{key}": ...}}', key=key
            )


def _first_value(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    for key in keys:
        if (named := value.get(key)) is not None:
            return named
    return None


def _checked_version(version: Any) -> int | None:
    number = _integer(version)
    if version is not None and number is None:
        raise InvalidRequest("if_version is an integer, without quotes")
    return number


class PendingRequest(msgspec.Struct):
    """A parsed request. If `refusal` is set, it is refused instead of run.

    Attributes:
        id: its id, to echo.
        agent: the agent that it names if the channel allows that, else the channel's.
        request: the envelope; None if it is invalid.
        tool: the tool; None if there is no such tool.
        arguments: the checked arguments.
        refusal: why it is refused.
        writes: whether it needs a write transaction, as also the refusals of `JOURNALED_REFUSALS` do.
        in_steps: whether it may be written in several transactions; if it fails, all of it is rolled back.
        note: a text that the reply has beside the result (`Call.note`).
    """

    id: str | int | None
    agent: str
    request: Request | None = None
    tool: Tool | None = None
    arguments: Arguments | None = None
    refusal: Refusal | None = None
    writes: bool = False
    in_steps: bool = False
    note: str | None = None


class Line(msgspec.Struct, frozen=True):
    """The requests of one line, and whether the line is a batch."""

    requests: list[PendingRequest]
    is_batch: bool = False

    @property
    def writes(self) -> bool:
        """Whether it needs a write transaction."""
        return any(pending.writes for pending in self.requests)

    @property
    def in_steps(self) -> bool:
        """Whether it may be written in several transactions."""
        return any(pending.in_steps for pending in self.requests)


class RequestReader:
    """Parses the lines of a channel: the tool and arguments of each request, and whether it is allowed."""

    def __init__(self, table: Table, identity: Identity, clock: Callable[[], int]) -> None:
        """`clock` returns the time of day, in microseconds since the epoch."""
        self._table = table
        self._identity = identity
        self._clock = clock

    def line(self, value: Any) -> Line:
        """Return the requests of a line's JSON value.

        The value may be a `Refusal`, for a line that is no JSON, or a `RefusedValue`.
        """
        unread = None
        if isinstance(value, RefusedValue):
            value, unread = value.value, value.refusal
        if not isinstance(value, list):
            return Line([self._parse_request(value, unread)])
        if not 1 <= len(value) <= MAX_BATCH:
            size = f"a batch holds 1 to {MAX_BATCH:,} requests, not {len(value):,}"
            return self._refused_line(unread or InvalidRequest(size))
        pending_requests = [self._parse_request(item, unread) for item in value]
        if unread is not None:
            return Line(pending_requests, is_batch=True)
        for at, (item, pending) in enumerate(zip(value, pending_requests, strict=True)):
            if isinstance(item, list) or (pending.tool is not None and pending.tool.waits):
                return self._refused_line(
                    InvalidRequest(f"request {at} of the batch is itself a batch, or waits", failed=at)
                )
        return Line(pending_requests, is_batch=True)

    def _refused_line(self, refusal: Refusal) -> Line:
        return Line([PendingRequest(None, self._identity.agent, refusal=refusal)])

    def _parse_request(self, value: Any, unread: Refusal | None) -> PendingRequest:
        """Return the request of a JSON value; `unread`: why it is refused unread."""
        pending = PendingRequest(request_id(value), self._identity.agent)
        try:
            if isinstance(value, Refusal):
                raise value
            if unread is not None:
                raise unread
            self._fill(pending, value)
        except Refusal as refusal:
            pending.refusal = refusal
            pending.writes = isinstance(refusal, JOURNALED_REFUSALS)
            pending.in_steps = False
            if isinstance(refusal, InvalidArgument):
                from tui_tasks.channel import tool_names

                tool_names.drop_unserved(refusal, self._table)
            # The tool may define its own form of refusals.
            pending.tool = pending.tool or self._table.find(tool_name(value))
            if isinstance(value, dict) and type(refusal) in (InvalidRequest, UnknownTool) and refusal is not unread:
                self._add_problems(refusal, value, pending.tool)
        except Exception:
            _log.exception("a request could not be read")
            pending.refusal = Refusal(DEFECT_MESSAGE)
        return pending

    def _fill(self, pending: PendingRequest, value: Any) -> None:
        """Set the envelope, the tool and the arguments of a request, as far as they are valid and allowed."""
        identity = self._identity
        request = pending.request = read(value, pending.id)
        if request.agent is not None and not identity.agent_only:
            pending.agent = request.agent
        if identity.agent_only or identity.list_only:
            self._refuse_others(request)
        tool = pending.tool = self._table.find(request.tool)
        if tool is None:
            from tui_tasks.channel import tool_names

            raise tool_names.unknown_tool(request.tool[:200], self._table)
        if not request.arguments:
            refuse_flat(value, tool.name, tool.argument_names)
        if tool.human:
            raise Forbidden(f"only the human may call {tool.name}", tool=tool.name)
        pending.arguments = decode(tool.arguments, request.arguments, self._clock())
        pending.writes = tool.writes(pending.arguments)
        pending.in_steps = tool.in_steps is not None and pending.writes and tool.in_steps(pending.arguments)
        if identity.list_only:
            from tui_tasks.dialects.requests.confinement import refuse_beyond

            refuse_beyond(tool, pending.arguments, identity.list)
        if identity.read_only and pending.writes:
            raise Forbidden("this channel is read only", tool=tool.name)

    def _add_problems(self, refusal: Refusal, value: dict[str, Any], tool: Tool | None) -> None:
        """Add what is wrong with the name of the tool and with the arguments: one reply names all problems."""
        name = tool_name(value)
        if tool is None and name:
            from tui_tasks.channel import tool_names

            unknown = tool_names.unknown_tool(name[:200], self._table)
            if isinstance(refusal, InvalidRequest):
                refusal.add(f"; {unknown.message}", **unknown.data)
            near = unknown.data["did_you_mean"]
            tool = self._table.find(near[0]) if len(near) == 1 else None
        given = misplaced_arguments(value)
        if tool is None or tool.human or not given:
            return
        if not isinstance(given, dict):
            from tui_tasks.dialects.requests.argument_errors import names_text

            refusal.add(f"; {names_text(tool.arguments)}")
            return
        try:
            decode(tool.arguments, given, self._clock())
        except InvalidArgument as wrong:
            refusal.add(f"; of {tool.name}: {wrong.message}", problems=wrong.data["problems"])

    def _refuse_others(self, request: Request) -> None:
        """Refuse a request for another agent or list if the channel is limited to its own.

        Raises:
            Forbidden: the request names another agent or list.
        """
        identity = self._identity
        if identity.agent_only and request.agent not in (None, identity.agent):
            raise Forbidden(f"this channel speaks only as {identity.agent}", agent=identity.agent)
        if identity.list_only and request.list not in (None, identity.list):
            raise Forbidden(f"this channel is only for the list {identity.list}", list=identity.list)
