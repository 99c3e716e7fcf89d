"""MCP over HTTP, for agents on other machines: the SDK's streamable transport behind tokens and limits."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import mcp_types as types
import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware, get_access_token
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tui_tasks.channel.pipe.line_splitter import MAX_LINE
from tui_tasks.channel.session import Session
from tui_tasks.core.errors import DatabaseRefused, ParseError
from tui_tasks.core.store import Store
from tui_tasks.dialects.base import Table
from tui_tasks.dialects.requests import strict_json
from tui_tasks.dialects.requests.identity import Identity
from tui_tasks.mcp_server import server
from tui_tasks.mcp_server.async_sessions import AsyncSession, AsyncSessions
from tui_tasks.settings.remote_access import LOOPBACK, Token, Tokens

_log = logging.getLogger(__name__)

PATH: Final = "/mcp"
_ALL_INTERFACES: Final = ("", "0.0.0.0", "::")
_MAX_SESSIONS: Final = 1_000
# The rate limit of one address: a burst, and requests per second.
_BURST_REQUESTS: Final = 200.0
_REQUESTS_PER_SECOND: Final = 50.0
_MAX_ADDRESSES: Final = 10_000
_STOP_SECONDS: Final = 2


class HttpOptions(NamedTuple):
    """How the server listens.

    Attributes:
        host: the address to listen at.
        port: the port.
        hosts: further names by which clients may call it, such as a proxy's.
        certificate: the TLS certificate; None: plain HTTP.
        key: the key of the certificate.
        structured: whether results are structured content.
    """

    host: str
    port: int
    hosts: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    structured: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the traffic is readable on its way."""
        return self.host not in LOOPBACK and self.certificate is None

    def security(self) -> TransportSecuritySettings:
        """Return the allowed Host and Origin headers; others may be DNS rebinding by a page in a browser."""
        names = [*(LOOPBACK if self.host in LOOPBACK else (self.host,)), *self.hosts]
        named = [f"[{name}]" if ":" in name else name for name in names]
        allowed = [each for name in named for each in (name, f"{name}:*")]
        return TransportSecuritySettings(
            allowed_hosts=allowed,
            allowed_origins=[f"{scheme}://{each}" for scheme in ("http", "https") for each in allowed],
        )


def check_host(options: HttpOptions) -> None:
    """Refuse to listen at all interfaces without an allowed host name.

    Raises:
        DatabaseRefused: no host is named.
    """
    if options.host in _ALL_INTERFACES and not options.hosts:
        raise DatabaseRefused(
            f"--host {options.host or '(empty)'} is every address: name the host with --allow-host too"
        )


class TokenSessions:
    """The sessions by token: one for each agent that has shown a token."""

    def __init__(self, agent_sessions: AsyncSessions, session_of: Callable[[Token], Session], tokens: Tokens) -> None:
        self._agent_sessions = agent_sessions
        self._session_of = session_of
        self._tokens = tokens
        self._known: dict[tuple[str, bool], AsyncSession] = {}

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access that a token grants, for the SDK; None for an invalid token."""
        try:
            found = self._tokens.find(token)
        except DatabaseRefused as refused:
            _log.error("%s", refused)
            return None
        if found is None:
            return None
        return AccessToken(token=found.hash, client_id=found.agent, scopes=["read"] if found.read_only else ["write"])

    def current(self) -> AsyncSession:
        """Return the session of the agent that sent the current request."""
        shown = get_access_token()
        assert shown is not None, "no request is served without a token"
        found = next((token for token in self._tokens.all() if token.hash == shown.token), None)
        assert found is not None, "the token was revoked while its request was read"
        key = found.agent, found.read_only
        if key not in self._known:
            self._known[key] = self._agent_sessions.add(self._session_of(found))
        return self._known[key]


class RateLimit:
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
        if not self._may(str((scope.get("client") or ("",))[0])):
            response = Response("Too many requests", status_code=429, headers={"Retry-After": "1"})
        elif scope["method"] == "POST":
            body, receive = await _body(receive)
            response = _refusal(body)
        if response is not None:
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _may(self, address: str) -> bool:
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


def application(
    store: Store, identity: Identity, table: Table, session_of: Callable[[Token], Session], options: HttpOptions
) -> Starlette:
    """Return the application; `session_of` returns the session for a token's agent, with the tools of `table`."""
    agent_sessions = AsyncSessions(store, identity)
    speakers = TokenSessions(agent_sessions, session_of, Tokens(store.path))
    manager = StreamableHTTPSessionManager(
        app=server.make_server(speakers.current, agent_sessions.changes, table, structured=options.structured),
        security_settings=options.security(),
        max_request_body_size=MAX_LINE,
        max_sessions=_MAX_SESSIONS,
    )

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette):  # type: ignore[no-untyped-def]  # Starlette has no type for it
        async with anyio.create_task_group() as group, manager.run():
            group.start_soon(agent_sessions.run)
            yield
            group.cancel_scope.cancel()

    return Starlette(
        routes=[Route(PATH, endpoint=RequireAuthMiddleware(StreamableHTTPASGIApp(manager), []))],
        middleware=[
            Middleware(RateLimit),
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(speakers)),
            Middleware(AuthContextMiddleware),
        ],
        lifespan=lifespan,
    )


def run(app: Starlette, options: HttpOptions, listening: Callable[[str], None]) -> None:
    """Serve until a signal ends it; `listening` is called with the address.

    Raises:
        DatabaseRefused: the address or the certificate cannot be used.
    """
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
        timeout_graceful_shutdown=_STOP_SECONDS,
        server_header=False,
        proxy_headers=False,
    )
    try:
        config.load()
    except OSError as error:
        raise DatabaseRefused(f"cannot use the certificate {options.certificate} with its key: {error}") from error
    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        bound = socket.create_server((options.host, options.port), family=family)
    except (OSError, OverflowError) as error:
        raise DatabaseRefused(f"cannot listen at {options.host}:{options.port}: {error}") from error
    host = f"[{options.host}]" if ":" in options.host else options.host
    scheme = "http" if options.certificate is None else "https"
    listening(f"{scheme}://{host}:{bound.getsockname()[1]}{PATH}")
    for ending in (signal.SIGTERM, signal.SIGINT):
        # uvicorn ends on these signals, and raises them again for the handlers set before.
        signal.signal(ending, lambda *_: None)
    uvicorn.Server(config).run(sockets=[bound])
