"""The requests over HTTP that are being served, so that no two of a session have one id at a time.

The SDK keeps the responses of a session by the id of their request, and answers one of two with the same id.
"""

from __future__ import annotations

from typing import Any, Final

import anyio
import mcp_types as types
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

# Seconds that a request waits for the end of the one that has its id.
_SAME_ID_SECONDS: Final = 1.0
_SESSION_HEADER: Final = b"mcp-session-id"


class OpenRequests:
    """Serves each message once no other request of its session has its id, or refuses it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._ends: dict[tuple[bytes, str], anyio.Event] = {}

    async def serve(self, message: Any, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a message, which is the body of the request."""
        session = next((value for name, value in scope["headers"] if name == _SESSION_HEADER), None)
        is_request = isinstance(message, dict) and "method" in message and "id" in message
        if session is None or not is_request:
            await self._app(scope, receive, send)
            return
        # The SDK takes 1 and "1" for one id.
        key = session, str(message["id"])
        with anyio.move_on_after(_SAME_ID_SECONDS):
            while key in self._ends:
                await self._ends[key].wait()
        if key in self._ends:
            await _refusal(message["id"])(scope, receive, send)
            return
        self._ends[key] = anyio.Event()
        try:
            await self._app(scope, receive, send)
        finally:
            self._ends.pop(key).set()


def _refusal(identifier: Any) -> JSONResponse:
    why = "invalid_request: an open request of this session has this id: give each request an id of its own"
    error = {"code": types.INVALID_REQUEST, "message": why}
    return JSONResponse({"jsonrpc": "2.0", "id": identifier, "error": error}, status_code=400)
