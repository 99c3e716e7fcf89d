"""Keys that are typed faster than the screen follows do what they would have done slowly.

Textual hands a key to what has the focus at that moment, looks for its binding once it has bubbled up to the App, and
meanwhile goes on to the next key. With `s` and `d` typed at once, `d` would still reach the list, where it deletes, and
not the menu that `s` opens; with `2` and `1`, the board would come to stand once the list has been asked for. Here a
letter has been written, an action has begun, what it opens is there, and so is what it writes unless that takes long,
before the next key is looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.worker import Worker, WorkerError

from tui_tasks.core.engine.storage_errors import READ_ERRORS
from tui_tasks.core.errors import Refusal
from tui_tasks.tui.state.database_link import DatabaseLink
from tui_tasks.tui.widgets.textual_overrides import did_binding, forward, has_left

# Turns of the loop after which an action that was begun has pushed the screen that it pushes first.
_TURNS = 3
_ACTION_SECONDS = 10.0


class KeyQueue:
    """Looks at bindings when a key comes in, and runs what keys begin.

    A screen may have `take_key`, to be asked first; a line of text `does`, which says what a key does beside writing.
    """

    def __init__(self, app: App[Any], link: DatabaseLink, say: Callable[[str], None]) -> None:
        """`app`: Textual's, for its focus, bindings and workers."""
        self._app = app
        self._link = link
        self._say = say
        self._opening = asyncio.Lock()
        self._known_screen: Screen[Any] | None = None
        self._newest_opening: Worker[None] | None = None

    def run(self, action: Coroutine[Any, Any, None]) -> None:
        """Run an action that waits (for a write, for an answer); a refusal is told."""
        self._app.run_worker(self._run(action), exit_on_error=True)

    def open_in_turn(self, opening: Coroutine[Any, Any, None]) -> None:
        """Run what makes widgets and shows them: one after another, and the next key is looked at once it is done."""
        self._newest_opening = self._app.run_worker(self._open_in_turn(opening), exit_on_error=True)

    async def take_key(self, event: events.Key) -> None:
        """Do what a key is bound to at once; what is written goes to the line that takes it."""
        await self._catch_up()
        await self._take(event)

    @contextlib.asynccontextmanager
    async def pasting(self) -> AsyncIterator[None]:
        """Hold the next key back until a paste is written: it may ask something, and the next key is the answer."""
        await self._catch_up()
        yield
        if self._app.focused is not None:
            await _caught_up(self._app.focused)
            await self._begun()

    async def _run(self, action: Coroutine[Any, Any, None]) -> None:
        try:
            await action
        except Refusal as refusal:
            self._say(refusal.message)
        except READ_ERRORS as error:
            self._link.cannot_read(error)

    async def _open_in_turn(self, opening: Coroutine[Any, Any, None]) -> None:
        async with self._opening:
            await self._run(opening)

    async def _catch_up(self) -> None:
        """Let what was begun be written, be opened, be made, and give the focus away."""
        if await self._link.written():
            await self._begun()
        while (opening := self._newest_opening) is not None:
            with contextlib.suppress(WorkerError):
                await opening.wait()
            if opening is self._newest_opening:
                self._newest_opening = None
        if self._app.screen is not self._known_screen:
            self._known_screen = self._app.screen
            await _caught_up(self._app.screen)

    async def _take(self, event: events.Key) -> None:
        app = self._app
        take: Any = getattr(app.screen, "take_key", None)
        line = app.focused
        if take is not None and take(event):
            await self._begun()
        elif line is not None and line.check_consume_key(event.key, event.character):
            forward(line, event)
        elif line is None or not line.check_consume_key("a", "a"):
            if await did_binding(app, event.key):
                await self._begun()
            else:
                forward(line or app.screen, event)
        else:
            await self._take_beside_writing(line, event)

    async def _take_beside_writing(self, line: Any, event: events.Key) -> None:
        """Do what a key does in a line of text, once all that was typed before is written and known around it."""
        around = [node for node in line.ancestors if node is not self._app]
        for node in (line, *around):
            await _caught_up(node)
        if has_left(line) or line.screen is not self._app.screen:
            # A click has closed what the line is in.
            await self._take(event)
            return
        does = line.does(event.key) if hasattr(line, "does") else None
        if does is not None:
            does()
        elif not await did_binding(self._app, event.key):
            forward(line, event)
            return
        for node in around:
            await _caught_up(node)
        await self._begun()

    @staticmethod
    async def _begun() -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)


async def _caught_up(node: MessagePump) -> None:
    """Wait until a node has done all that it was told before."""
    done = asyncio.Event()
    if node.call_later(done.set):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _ACTION_SECONDS)
