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
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.worker import Worker, WorkerError

from tui_tasks.core.engine.storage_errors import READ_ERRORS
from tui_tasks.core.errors import Refusal
from tui_tasks.tui.app.actions import has_left

if TYPE_CHECKING:
    from tui_tasks.tui.app.database_link import DatabaseLink

# Turns of the loop after which a flow that was begun has pushed the screen that it pushes first.
_TURNS = 3
_ACTION_SECONDS = 10.0


class KeyQueue(App[None]):
    """The App's part: bindings are looked at when the key comes in.

    A screen may have `take_key`, to be asked first; a line of text `does`, which says what a key does beside writing.
    """

    _known_screen: Screen[Any] | None = None
    _newest_opening: Worker[None] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._opening_now = asyncio.Lock()

    bridge: DatabaseLink

    def get_driver_class(self) -> type[Driver]:
        """Textual's driver for the terminal, reading keys in our way."""
        driver = super().get_driver_class()
        if driver.__name__ != "LinuxDriver":
            return driver
        from tui_tasks.tui.app.keyboard import Keyboard

        return Keyboard

    def say(self, text: str) -> None:
        """Tell the human something."""
        raise NotImplementedError

    def flow(self, work: Coroutine[Any, Any, None]) -> None:
        """Run an action that waits (for a write, for an answer); a refusal is told."""
        self.run_worker(self._flow(work), exit_on_error=True)

    def opening(self, work: Coroutine[Any, Any, None]) -> None:
        """Run what makes widgets and shows them: one after another, and the next key is looked at once it is done."""
        self._newest_opening = self.run_worker(self._opened_in_turn(work), exit_on_error=True)

    async def on_event(self, event: events.Event) -> None:
        """Do what a key is bound to at once; what is written goes to the line that takes it."""
        if isinstance(event, events.Key):
            # One that is forwarded comes back where nothing had a use for it.
            if not event.is_forwarded:
                self.app_focus = True
                await self._catch_up()
                await self._take(event)
            return
        if isinstance(event, events.Paste) and not event.is_forwarded:
            await self._catch_up()
            await super().on_event(event)
            if self.focused is not None:
                # What is pasted may ask something, and the next key is the answer.
                await _caught_up(self.focused)
                await self._begun()
            return
        await super().on_event(event)

    async def push_screen_wait(self, screen: Any, *, mode: str | None = None) -> Any:
        """As `App.push_screen_wait`, but the screen is there at once, to have the next key."""
        return await self.push_screen(screen, wait_for_dismiss=True, mode=mode)

    async def _flow(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Refusal as refusal:
            self.say(refusal.message)
        except READ_ERRORS as error:
            self.bridge.cannot_read(error)

    async def _opened_in_turn(self, work: Coroutine[Any, Any, None]) -> None:
        async with self._opening_now:
            await self._flow(work)

    async def _catch_up(self) -> None:
        """Let what was begun be written, be opened, be made, and give the focus away."""
        if await self.bridge.written():
            await self._begun()
        while (opening := self._newest_opening) is not None:
            with contextlib.suppress(WorkerError):
                await opening.wait()
            if opening is self._newest_opening:
                self._newest_opening = None
        if self.screen is not self._known_screen:
            self._known_screen = self.screen
            await _caught_up(self.screen)

    async def _take(self, event: events.Key) -> None:
        take: Any = getattr(self.screen, "take_key", None)
        line = self.focused
        if take is not None and take(event):
            await self._begun()
        elif line is not None and line.check_consume_key(event.key, event.character):
            line._forward_event(event)
        elif line is None or not line.check_consume_key("a", "a"):
            if await self._did_binding(event):
                await self._begun()
            else:
                (line or self.screen)._forward_event(event)
        else:
            await self._take_beside_writing(line, event)

    async def _take_beside_writing(self, line: Any, event: events.Key) -> None:
        """Do what a key does in a line of text, once all that was typed before is written and known around it."""
        around = [node for node in line.ancestors if node is not self]
        for node in (line, *around):
            await _caught_up(node)
        if has_left(line) or line.screen is not self.screen:
            # A click has closed what the line is in.
            await self._take(event)
            return
        does = line.does(event.key) if hasattr(line, "does") else None
        if does is not None:
            does()
        elif not await self._did_binding(event):
            line._forward_event(event)
            return
        for node in around:
            await _caught_up(node)
        await self._begun()

    async def _did_binding(self, event: events.Key) -> bool:
        return await self._check_bindings(event.key, priority=True) or await self._check_bindings(event.key)

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
