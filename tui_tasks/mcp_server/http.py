"""MCP over HTTP, for agents on other machines: the SDK's streamable transport behind tokens and limits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, cast

import anyio
import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware, get_access_token
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route

from tui_tasks.channel.line_parser import MAX_LINE
from tui_tasks.channel.session import Session
from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.core.store import Store
from tui_tasks.dialects.requests import Identity
from tui_tasks.dialects.tool_table import Table
from tui_tasks.http_connections import ConnectionGuard, guarded, listen
from tui_tasks.mcp_server import handlers
from tui_tasks.mcp_server.async_sessions import AsyncSession, AsyncSessions
from tui_tasks.mcp_server.http_limits import RequestLimits
from tui_tasks.settings.http_tokens import LOOPBACK, Token, Tokens

_log = logging.getLogger(__name__)

PATH: Final = "/mcp"
_ALL_INTERFACES: Final = ("", "0.0.0.0", "::")
_MAX_SESSIONS: Final = 1_000
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
            entry = self._tokens.find(token)
        except DatabaseRefused as refused:
            _log.error("%s", refused)
            return None
        if entry is None:
            return None
        return AccessToken(token=entry.hash, client_id=entry.agent, scopes=["read"] if entry.read_only else ["write"])

    def current(self) -> AsyncSession:
        """Return the session of the agent that sent the current request."""
        access = get_access_token()
        assert access is not None, "no request is served without a token"
        entry = next((token for token in self._tokens.all() if token.hash == access.token), None)
        assert entry is not None, "the token was revoked while its request was read"
        key = entry.agent, entry.read_only
        if key not in self._known:
            self._known[key] = self._agent_sessions.add(self._session_of(entry))
        return self._known[key]


def application(
    store: Store, identity: Identity, table: Table, session_of: Callable[[Token], Session], options: HttpOptions
) -> Starlette:
    """Return the application; `session_of` returns the session for a token's agent, with the tools of `table`."""
    agent_sessions = AsyncSessions(store, lambda: identity)
    speakers = TokenSessions(agent_sessions, session_of, Tokens(store.path))
    manager = StreamableHTTPSessionManager(
        app=handlers.make_server(speakers.current, agent_sessions.changes, table, structured=options.structured),
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
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(speakers)),
            Middleware(AuthContextMiddleware),
            Middleware(RequestLimits),
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
    config.http_protocol_class = cast(type[asyncio.Protocol], guarded(ConnectionGuard(), config.http_protocol_class))
    try:
        bound = listen(options.host, options.port)
    except OSError as error:
        where = f"{options.host}:{options.port}"
        raise DatabaseRefused(f"cannot listen at {where}: {error.strerror}; name another with --port") from error
    host = f"[{options.host}]" if ":" in options.host else options.host
    scheme = "http" if options.certificate is None else "https"
    listening(f"{scheme}://{host}:{bound.getsockname()[1]}{PATH}")
    for ending in (signal.SIGTERM, signal.SIGINT):
        # uvicorn ends on these signals, and raises them again for the handlers set before.
        signal.signal(ending, lambda *_: None)
    uvicorn.Server(config).run(sockets=[bound])
