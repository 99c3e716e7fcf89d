"""The web server for the page, restricted to whoever was given its address.

The address contains a token: whoever has it sees the screen. No cookie is set, as it would be sent to other servers on
this machine, too. The server listens on the loopback interface only.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import importlib.resources
import json
import secrets
import signal
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import textual_serve
from aiohttp import WSCloseCode, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from tui_tasks.core.errors import DatabaseRefused
from tui_tasks.http_connections import ConnectionGuard, guarded, listen
from tui_tasks.settings.http_tokens import LOOPBACK

MAX_TABS: Final = 20
_HOST: Final = "127.0.0.1"
_TOKEN_BYTES: Final = 32
_STATIC: Final = Path(textual_serve.__file__).parent / "static"
# Seconds between pings, by which a browser that is gone is noticed.
_HEARTBEAT: Final = 15.0

# The page loads nothing from other servers and runs no other scripts. As it may open no windows, a click on a row
# cannot open an address that an agent wrote into it.
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # the terminal widget sets inline styles
        "font-src 'self'",
        "img-src data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "sandbox allow-scripts allow-same-origin",
    )
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "tui-tasks",
}

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class OpenTabs:
    """The websockets of the open tabs, each with the process that draws its screen."""

    def __init__(self, command: Sequence[str]) -> None:
        """`command`: the argv of such a process."""
        self._command = command
        self._sockets: set[web.WebSocketResponse] = set()
        self._stopping: set[asyncio.Future[None]] = set()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Serve a tab until it is closed.

        Raises:
            HTTPServiceUnavailable: too many are open.
            HTTPBadRequest: the size that it asks for is no number.
        """
        if len(self._sockets) >= MAX_TABS:
            raise web.HTTPServiceUnavailable(text=f"{MAX_TABS} tabs are open: close one of them\n")
        try:
            width, height = (int(request.query.get(name, "80")) for name in ("width", "height"))
        except ValueError:
            raise web.HTTPBadRequest(text="width and height are numbers\n") from None
        socket_ = web.WebSocketResponse(heartbeat=_HEARTBEAT)
        self._sockets.add(socket_)
        tab = Tab(self._command, socket_)
        try:
            await socket_.prepare(request)
            await tab.serve(width, height)
        finally:
            self._sockets.discard(socket_)
            # The handler is cancelled if the browser vanishes; the process must end all the same.
            stopping = asyncio.ensure_future(tab.stop())
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)
            await asyncio.shield(stopping)
        return socket_

    async def close(self, app: web.Application) -> None:
        """Close the tabs, when the server is shut down."""
        for socket_ in tuple(self._sockets):
            await socket_.close(code=WSCloseCode.GOING_AWAY)

    async def stop_screens(self, app: web.Application) -> None:
        """Wait until the processes of closed tabs have ended."""
        await asyncio.gather(*self._stopping)


def application(command: Sequence[str], token: str) -> web.Application:
    """Return the application. Below the token it serves the page, its files and its websocket; nothing elsewhere.

    `command` is the argv of the process that draws the screen of a tab.
    """

    async def index(request: web.Request) -> web.Response:
        page = _resource("page.html").replace("{websocket}", f"ws://{request.host}/{token}/ws")
        return web.Response(text=page, content_type="text/html")

    @web.middleware
    async def refusing_others(request: web.Request, handler: _Handler) -> web.StreamResponse:
        refuse_others(request, token)
        return await handler(request)

    tabs = OpenTabs(command)
    app = web.Application(middlewares=[refusing_others])
    app.add_routes(
        [
            web.get(f"/{token}/", index),
            web.get(f"/{token}/page.css", _style),
            web.get(f"/{token}/page.js", _script),
            web.get(f"/{token}/ws", tabs.serve),
            web.static(f"/{token}/static", _STATIC),
        ]
    )
    app.on_response_prepare.append(_put_headers)
    app.on_shutdown.append(tabs.close)
    app.on_cleanup.append(tabs.stop_screens)
    return app


async def _style(request: web.Request) -> web.Response:
    return web.Response(text=_resource("page.css"), content_type="text/css")


async def _script(request: web.Request) -> web.Response:
    return web.Response(text=_resource("page.js"), content_type="text/javascript")


def _resource(name: str) -> str:
    return importlib.resources.files("tui_tasks.web").joinpath(name).read_text(encoding="utf-8")


def refuse_others(request: web.Request, token: str) -> None:
    """Refuse a request that does not come from a page of this server, or lacks the token.

    Raises:
        HTTPMisdirectedRequest: it was sent to another host name, which may be DNS rebinding.
        HTTPForbidden: its origin is another site, or the token is missing.
    """
    if _hostname(f"//{request.host}") not in LOOPBACK:
        raise web.HTTPMisdirectedRequest(text="this server goes by localhost alone\n")
    origin = request.headers.get("Origin")
    if origin is not None and _hostname(origin) not in LOOPBACK:
        raise web.HTTPForbidden(text="a page elsewhere may not look in here\n")
    given = request.path.split("/")[1]
    if not hmac.compare_digest(given.encode(), token.encode()):
        raise web.HTTPForbidden(text="this address lacks the token: open the one that tui-tasks web has printed\n")


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


async def _put_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)


def run(command: Sequence[str], port: int, listening: Callable[[str], None]) -> None:
    """Serve until a signal ends it; `listening` is called with the address.

    Raises:
        DatabaseRefused: the port cannot be bound.
    """
    try:
        bound = listen(_HOST, port)
    except OSError as error:
        where = f"{_HOST}:{port}"
        raise DatabaseRefused(f"cannot listen at {where}: {error.strerror}; name another with --port") from error
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    listening(f"http://{_HOST}:{bound.getsockname()[1]}/{token}/")
    asyncio.run(_serve(application(command, token), bound))


async def _serve(app: web.Application, bound: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(ending, ended.set)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=STOP_SECONDS + 1)
    await runner.setup()
    assert runner.server is not None
    server = await loop.create_server(guarded(ConnectionGuard(), runner.server), sock=bound)
    await ended.wait()
    server.close()
    await runner.cleanup()


# The most columns or rows. No browser's window is larger, and the screen keeps every cell in memory.
_MAX_CELLS: Final = 1_000
# Seconds within which the process must end after its tab is closed.
STOP_SECONDS: Final = 5.0


class Tab(AppService):
    """A browser's tab and the process that draws the screen for it; each ends with the other."""

    def __init__(self, command: Sequence[str], socket: web.WebSocketResponse) -> None:
        """`command` is the argv of the process that draws the screen."""
        super().__init__(
            "",
            write_bytes=self._send_bytes,
            write_str=self._send_text,
            close=self._close,
            download_manager=DownloadManager(),
        )
        self._argv = command
        self._socket = socket

    async def serve(self, width: int, height: int) -> None:
        """Show the screen until the tab is closed or the process ends; `stop` must follow."""
        await self.start(_cells(width), _cells(height))
        async for message in self._socket:
            if message.type == web.WSMsgType.TEXT:
                await self._handle(message.data)

    async def _handle(self, text: str) -> None:
        """Handle a message of the page; other texts are ignored."""
        try:
            match json.loads(text):
                case ["stdin", str(typed)]:
                    await self.send_bytes(typed.encode())
                case ["resize", {"width": width, "height": height}]:
                    await self.set_terminal_size(_cells(width), _cells(height))
                case ["ping", data]:
                    await self._send_text(json.dumps(["pong", data]))
                case ["blur" | "focus" as kind]:
                    await self.send_meta({"type": kind})
        except (ValueError, TypeError, OverflowError):
            pass

    async def run(self) -> None:
        """Forward what the process draws, until it ends."""
        await super().run()
        await self._close()

    async def on_meta(self, data: bytes) -> None:
        """Close the tab when the process ends. Its other requests, to open pages or send files, are ignored."""
        if json.loads(data).get("type") == "exit":
            await self._close()

    async def stop(self) -> None:
        """End the process; it is killed if it does not end in time."""
        process, reading = self._process, self._task
        if process is None or reading is None:
            return
        await self.send_meta({"type": "quit"})
        self.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
        await reading

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        # A session of its own, so that Ctrl+C reaches the server only, which then ends the tabs in order.
        self._process = process = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=PIPE,
            stdout=PIPE,
            env=self._build_environment(width=width, height=height),
            start_new_session=True,
        )
        self._stdin = process.stdin
        # The process writes its log to the server's standard error; AppService would collect and print it.
        process.stderr = asyncio.StreamReader()
        process.stderr.feed_eof()
        return process

    async def _close(self) -> None:
        await self._socket.close()

    # Output for a closed tab is read and discarded, as the process could not end if nobody read it.

    async def _send_bytes(self, data: bytes) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._socket.send_bytes(data)

    async def _send_text(self, text: str) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._socket.send_str(text)


def _cells(value: Any) -> int:
    """Return a width or height from the page, limited to what a screen may have.

    Raises:
        ValueError, TypeError, OverflowError: it is no number.
    """
    return max(1, min(int(value), _MAX_CELLS))
