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
from tui_tasks.mcp_server.conversations import Conversation, Conversations
from tui_tasks.settings.remote_access import LOOPBACK, Token, Tokens

_log = logging.getLogger(__name__)

PATH: Final = "/mcp"
_ANY: Final = ("", "0.0.0.0", "::")
_MOST_SESSIONS: Final = 1_000
# Requests of one address: so many at once, and so many a second in the long run.
_BURST: Final = 200.0
_PER_SECOND: Final = 50.0
_MOST_ADDRESSES: Final = 10_000
_STOP_SECONDS: Final = 2


class Where(NamedTuple):
    """Where to listen, and as whom.

    Attributes:
        hosts: names beside `host` by which clients may call it, such as a proxy's.
        structured: whether results are data.
    """

    host: str
    port: int
    hosts: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    structured: bool = False

    @property
    def is_open(self) -> bool:
        """Whether what is said can be read on the way."""
        return self.host not in LOOPBACK and self.certificate is None

    def security(self) -> TransportSecuritySettings:
        """The Host and Origin headers that are taken: a page in a browser must not reach it by another name."""
        names = [*(LOOPBACK if self.host in LOOPBACK else (self.host,)), *self.hosts]
        named = [f"[{name}]" if ":" in name else name for name in names]
        allowed = [each for name in named for each in (name, f"{name}:*")]
        return TransportSecuritySettings(
            allowed_hosts=allowed,
            allowed_origins=[f"{scheme}://{each}" for scheme in ("http", "https") for each in allowed],
        )


def check(where: Where) -> None:
    """Refuse an address at which nobody could be told from anybody.

    Raises:
        DatabaseRefused: it has no name of its own.
    """
    if where.host in _ANY and not where.hosts:
        raise DatabaseRefused(f"--host {where.host or '(empty)'} is every address: name the host with --allow-host too")


class Speakers:
    """Who speaks: a conversation for each agent that has shown a token."""

    def __init__(self, conversations: Conversations, session_of: Callable[[Token], Session], tokens: Tokens) -> None:
        self._conversations = conversations
        self._session_of = session_of
        self._tokens = tokens
        self._known: dict[tuple[str, bool], Conversation] = {}

    async def verify_token(self, token: str) -> AccessToken | None:
        """What a token gives, for the SDK; None where it is none."""
        try:
            found = self._tokens.find(token)
        except DatabaseRefused as refused:
            _log.error("%s", refused)
            return None
        if found is None:
            return None
        return AccessToken(token=found.hash, client_id=found.agent, scopes=["read"] if found.read_only else ["write"])

    def current(self) -> Conversation:
        """The conversation of whoever has sent the request that is served."""
        shown = get_access_token()
        assert shown is not None, "no request is served without a token"
        found = next((token for token in self._tokens.all() if token.hash == shown.token), None)
        assert found is not None, "the token was revoked while its request was read"
        key = found.agent, found.read_only
        if key not in self._known:
            self._known[key] = self._conversations.begin(self._session_of(found))
        return self._known[key]


class RateLimit:
    """Middleware that turns away who asks too often, and what is no strict JSON."""

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        # What each address has left, and as of when.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
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
        left, since = self._left.pop(address, (_BURST, now))
        left = min(_BURST, left + (now - since) * _PER_SECOND)
        self._left[address] = max(0.0, left - 1), now
        if len(self._left) > _MOST_ADDRESSES:
            self._left.popitem(last=False)
        return left >= 1


async def _body(receive: Receive) -> tuple[bytes, Receive]:
    """The body of a request as far as it may be long, and what gives it once more."""
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
    """What a body gets that is no strict JSON, or too long; None for any other."""
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
    store: Store, identity: Identity, table: Table, session_of: Callable[[Token], Session], where: Where
) -> Starlette:
    """All that is served; `session_of` makes the session, with those tools, of the agent that a token names."""
    conversations = Conversations(store, identity)
    speakers = Speakers(conversations, session_of, Tokens(store.path))
    manager = StreamableHTTPSessionManager(
        app=server.make(speakers.current, conversations.changes, table, structured=where.structured),
        security_settings=where.security(),
        max_request_body_size=MAX_LINE,
        max_sessions=_MOST_SESSIONS,
    )

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette):  # type: ignore[no-untyped-def]  # Starlette has no word for it
        async with anyio.create_task_group() as group, manager.run():
            group.start_soon(conversations.run)
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


def run(app: Starlette, where: Where, listening: Callable[[str], None]) -> None:
    """Serve until a signal ends it; `listening` is told the address.

    Raises:
        DatabaseRefused: nobody can listen there.
    """
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        ssl_certfile=where.certificate,
        ssl_keyfile=where.key,
        timeout_graceful_shutdown=_STOP_SECONDS,
        server_header=False,
        proxy_headers=False,
    )
    try:
        config.load()
    except OSError as error:
        raise DatabaseRefused(f"cannot use the certificate {where.certificate} with its key: {error}") from error
    try:
        family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
        bound = socket.create_server((where.host, where.port), family=family)
    except (OSError, OverflowError) as error:
        raise DatabaseRefused(f"cannot listen at {where.host}:{where.port}: {error}") from error
    host = f"[{where.host}]" if ":" in where.host else where.host
    scheme = "http" if where.certificate is None else "https"
    listening(f"{scheme}://{host}:{bound.getsockname()[1]}{PATH}")
    for ending in (signal.SIGTERM, signal.SIGINT):
        # uvicorn ends by them, and raises them again for whoever was to be told before.
        signal.signal(ending, lambda *_: None)
    uvicorn.Server(config).run(sockets=[bound])
