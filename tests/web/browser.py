"""A headless Chromium, driven by its DevTools protocol; `apt-get install chromium` or the like brings it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import aiohttp

PROGRAM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_SECONDS: Final = 30


class Page:
    """One page of the browser.

    Attributes:
        log: what the page has written to its console, and what the browser has said of it.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self.log: list[str] = []

    async def command(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command of the protocol; return its result."""
        number = next(self._ids)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(_SECONDS):
            async for message in self._socket:
                told = json.loads(message.data)
                if told.get("id") == number:
                    return told.get("result", {})
                self._note(told)
        raise EOFError("the browser has ended")

    def _note(self, told: dict[str, Any]) -> None:
        if told.get("method") == "Runtime.consoleAPICalled":
            self.log += [str(each.get("value")) for each in told["params"]["args"]]
        elif told.get("method") == "Runtime.exceptionThrown":
            self.log.append(str(told["params"]["exceptionDetails"]))
        elif told.get("method") == "Log.entryAdded":
            self.log.append(told["params"]["entry"]["text"])

    async def open(self, url: str) -> None:
        """Go to an address."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.command(f"{domain}.enable")
        # As in a window that somebody looks at, keys go to what has the focus.
        await self.command("Emulation.setFocusEmulationEnabled", enabled=True)
        await self.command("Page.navigate", url=url)

    async def value(self, script: str) -> Any:
        """The value of an expression in the page."""
        told = await self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return told["result"].get("value")

    async def until(self, script: str) -> None:
        """Wait until an expression is true."""
        async with asyncio.timeout(_SECONDS):
            while not await self.value(script):
                await asyncio.sleep(0.05)

    async def key(self, text: str) -> None:
        """Type a letter or digit."""
        for kind in ("keyDown", "keyUp"):
            await self.command(
                "Input.dispatchKeyEvent", type=kind, key=text, text=text if kind == "keyDown" else "",
                windowsVirtualKeyCode=ord(text.upper()),
            )  # fmt: skip

    async def click(self, x: float, y: float) -> None:
        """Click at a place, in pixels."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            await self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def picture(self, file: Path) -> bytes:
        """Write a picture of the page, and return it."""
        made = base64.b64decode((await self.command("Page.captureScreenshot", format="png"))["data"])
        file.write_bytes(made)
        return made


@contextlib.asynccontextmanager
async def browser(folder: Path, width: int = 1200, height: int = 800) -> AsyncIterator[Page]:
    """A browser with one empty page; `folder` is for what it keeps."""
    assert PROGRAM is not None
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader"),
        *("--enable-unsafe-swiftshader", f"--window-size={width},{height}", "--remote-debugging-port=0"),
        f"--user-data-dir={folder}",
        "about:blank",
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        port = await _port(folder / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as told:
                target = next(each for each in await told.json() if each["type"] == "page")
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        process.terminate()
        await process.wait()


async def _port(file: Path) -> int:
    async with asyncio.timeout(_SECONDS):
        while not (file.exists() and (text := file.read_text())):
            await asyncio.sleep(0.05)
    return int(text.splitlines()[0])
