"""A browser's tab: the process that draws the screen for it, and the messages between the two."""

from __future__ import annotations

import asyncio
import contextlib
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

# The most columns or rows. No browser's window is larger, and the screen keeps every cell in memory.
_MAX_CELLS: Final = 1_000
# Seconds within which the process must end after its tab is closed.
STOP_SECONDS: Final = 5.0


class Tab(AppService):
    """A tab and its process; each ends with the other."""

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
        """Close the tab when the process ends. Other requests of the process, to open pages or send files, are
        ignored.
        """
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
