"""The limits of MCP over HTTP: how often an address may ask, how long a body may be, and that it is strict JSON."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import mcp_types as types
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tui_tasks.channel.pipe.line_splitter import MAX_LINE
from tui_tasks.core.errors import ParseError
from tui_tasks.dialects.requests import strict_json

# The rate limit of one address: a burst, and requests per second.
_BURST_REQUESTS: Final = 200.0
_REQUESTS_PER_SECOND: Final = 50.0
_MAX_ADDRESSES: Final = 10_000


class RequestLimits:
    """Middleware that limits the rate of requests and refuses bodies that are no strict JSON."""

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        # The remaining requests of each address, and the time of that number.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response: Response | None = None
        if not self._is_allowed(str((scope.get("client") or ("",))[0])):
            response = Response("Too many requests", status_code=429, headers={"Retry-After": "1"})
        elif scope["method"] == "POST":
            body, receive = await _body(receive)
            response = _refusal(body)
        if response is not None:
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_allowed(self, address: str) -> bool:
        now = self._clock()
        left, since = self._left.pop(address, (_BURST_REQUESTS, now))
        left = min(_BURST_REQUESTS, left + (now - since) * _REQUESTS_PER_SECOND)
        self._left[address] = max(0.0, left - 1), now
        if len(self._left) > _MAX_ADDRESSES:
            self._left.popitem(last=False)
        return left >= 1


async def _body(receive: Receive) -> tuple[bytes, Receive]:
    """Return the body of a request, up to the limit, and a `receive` that yields it again."""
    parts: list[Message] = []
    size = 0
    while size <= MAX_LINE:
        message = await receive()
        parts.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    waiting = iter(parts)

    async def again() -> Message:
        found = next(waiting, None)
        return found if found is not None else await receive()

    return b"".join(part.get("body", b"") for part in parts), again


def _refusal(body: bytes) -> Response | None:
    """Return the response to a body that is no strict JSON or too long; None for any other."""
    if len(body) > MAX_LINE:
        return _error(413, types.INVALID_REQUEST, f"too_large: a body of over {MAX_LINE:,} bytes")
    try:
        strict_json.load_line(body)
    except ParseError as refused:
        return _error(400, types.PARSE_ERROR, f"{refused.code}: {refused.message}")
    return None


def _error(status: int, code: int, message: str) -> Response:
    told = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return JSONResponse(told, status_code=status)
