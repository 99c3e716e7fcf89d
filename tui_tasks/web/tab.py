"""A tab of a browser: the process that draws the screen for it, and what is said between them."""

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

# Cells. A browser's window is never larger, and the screen holds every cell in memory.
_MOST_CELLS: Final = 1_000
# Seconds that the process has to end once its tab is closed.
STOP_SECONDS: Final = 5.0


class Tab(AppService):
    """One tab. It ends with its process, and its process with it."""

    def __init__(self, command: Sequence[str], socket: web.WebSocketResponse) -> None:
        """`command` is the program that draws the screen, as an argv."""
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
        """Show the screen in the tab until it is closed, or the screen left; `stop` must follow."""
        await self.start(_cells(width), _cells(height))
        async for message in self._socket:
            if message.type == web.WSMsgType.TEXT:
                await self._take(message.data)

    async def _take(self, text: str) -> None:
        """Pass on what the page sends; what is none of its messages is passed over."""
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
        """Pass on what the process draws, to its end."""
        await super().run()
        await self._close()

    async def on_meta(self, data: bytes) -> None:
        """End with the screen. Nothing else that it may ask of a page is done: it opens no pages and sends no files."""
        if json.loads(data).get("type") == "exit":
            await self._close()

    async def stop(self) -> None:
        """End the process; one that does not end by itself is killed."""
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
        # Not in the terminal's process group: Ctrl+C there ends the server, which ends the tabs in order.
        self._process = process = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=PIPE,
            stdout=PIPE,
            env=self._build_environment(width=width, height=height),
            start_new_session=True,
        )
        self._stdin = process.stdin
        # What it logs stands where the server's log does; AppService would hold it back and print it.
        process.stderr = asyncio.StreamReader()
        process.stderr.feed_eof()
        return process

    async def _close(self) -> None:
        await self._socket.close()

    # What is drawn for a tab that is closed goes nowhere: the process could not end if nobody read it.

    async def _send_bytes(self, data: bytes) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._socket.send_bytes(data)

    async def _send_text(self, text: str) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._socket.send_str(text)


def _cells(given: Any) -> int:
    """A width or height as a page sends it, within what a screen may be.

    Raises:
        ValueError, TypeError, OverflowError: it is no number.
    """
    return max(1, min(int(given), _MOST_CELLS))
