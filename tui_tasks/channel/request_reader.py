"""A request that a session serves, and how it is parsed from the JSON value of a line."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import msgspec

from tui_tasks.channel import request_fields
from tui_tasks.channel.request_fields import RefusedValue, Request
from tui_tasks.core.errors import Forbidden, InvalidArgument, InvalidRequest, Refusal, ReservedName, UnknownTool
from tui_tasks.dialects.requests.arguments import Arguments, decode
from tui_tasks.dialects.requests.identity import Identity
from tui_tasks.dialects.tool_table import Table, Tool

_log = logging.getLogger(__name__)

# Refusals that are journaled as `agent.refused` (docs: protocol, section 3).
JOURNALED_REFUSALS: Final = (Forbidden, ReservedName)
DEFECT_MESSAGE: Final = "a defect in tui-tasks; the channel continues"


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


# The requests of one line, and whether the line is a batch.
Line = tuple[list[PendingRequest], bool]


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
            return [self._parse_request(value, unread)], False
        if not 1 <= len(value) <= request_fields.MAX_BATCH:
            size = f"a batch holds 1 to {request_fields.MAX_BATCH:,} requests, not {len(value):,}"
            return self._refused_line(unread or InvalidRequest(size))
        pending_requests = [self._parse_request(item, unread) for item in value]
        if unread is not None:
            return pending_requests, True
        for at, (item, pending) in enumerate(zip(value, pending_requests, strict=True)):
            if isinstance(item, list) or (pending.tool is not None and pending.tool.waits):
                return self._refused_line(
                    InvalidRequest(f"request {at} of the batch is itself a batch, or waits", failed=at)
                )
        return pending_requests, True

    def _refused_line(self, refusal: Refusal) -> Line:
        return [PendingRequest(None, self._identity.agent, refusal=refusal)], False

    def _parse_request(self, value: Any, unread: Refusal | None = None) -> PendingRequest:
        """Return the request of a JSON value; `unread`: why it is refused unread."""
        pending = PendingRequest(request_fields.request_id(value), self._identity.agent)
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
            pending.tool = pending.tool or self._table.find(request_fields.tool_name(value))
            if isinstance(value, dict) and type(refusal) in (InvalidRequest, UnknownTool) and refusal is not unread:
                self._add_problems(refusal, value, pending.tool)
        except Exception:
            _log.exception("a request could not be read")
            pending.refusal = Refusal(DEFECT_MESSAGE)
        return pending

    def _fill(self, pending: PendingRequest, value: Any) -> None:
        """Set the envelope, the tool and the arguments of a request, as far as they are valid and allowed."""
        identity = self._identity
        request = pending.request = request_fields.read(value, pending.id)
        if request.agent is not None and not identity.agent_only:
            pending.agent = request.agent
        if identity.agent_only or identity.list_only:
            self._refuse_others(request)
        tool = pending.tool = self._table.find(request.tool)
        if tool is None:
            from tui_tasks.channel import tool_names

            raise tool_names.unknown_tool(request.tool[:200], self._table)
        if not request.arguments:
            request_fields.refuse_flat(value, tool.name, tool.argument_names)
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
        name = request_fields.tool_name(value)
        if tool is None and name:
            from tui_tasks.channel import tool_names

            unknown = tool_names.unknown_tool(name[:200], self._table)
            if isinstance(refusal, InvalidRequest):
                refusal.add(f"; {unknown.message}", **unknown.data)
            near = unknown.data["did_you_mean"]
            tool = self._table.find(near[0]) if len(near) == 1 else None
        given = request_fields.misplaced_arguments(value)
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
