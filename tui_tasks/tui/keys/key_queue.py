"""Handles keys one after the other, so that fast typing has the same effect as slow typing.

Textual hands a key to the focused widget, looks for its binding once the key has bubbled up to the App, and meanwhile
handles the next key. With `s` and `d` typed quickly, `d` would still reach the list, where it deletes, and not the menu
that `s` opens; with `2` and `1`, the board would appear after the list was asked for.

Here the next key is handled only when the letter before it is inserted, or the action before it has started, the screen
it opens is shown, and its write has ended (unless that takes long).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from time import monotonic
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.worker import Worker, WorkerError

from tui_tasks.core.engine.driver import READ_ERRORS
from tui_tasks.core.errors import Refusal
from tui_tasks.tui.keys.stray_words import StrayWords
from tui_tasks.tui.state.context import LastInput
from tui_tasks.tui.state.database_link import NOTICED, DatabaseLink
from tui_tasks.tui.widgets.textual_overrides import did_binding, forward, has_left, is_closing

# Turns of the event loop after which a started action has pushed its first screen.
_TURNS = 3
_ACTION_SECONDS = 10.0


class KeyQueue:
    """Looks bindings up when a key arrives, and runs the actions that keys start. `words` keeps words from acting as
    keys.

    A screen may have `take_key`, which is asked first; an input may have `does`, which returns the function of a key
    that does not insert text.
    """

    def __init__(
        self,
        app: App[Any],
        link: DatabaseLink,
        say: Callable[[str], None],
        hush: Callable[[], None],
        unbound: Callable[[str], None],
    ) -> None:
        """`app` is used for its focus, bindings and workers; `say` shows a message to the human, and `hush` removes it;
        `unbound` is called with a key that nothing is bound to.
        """
        self._app = app
        self._unbound = unbound
        self._link = link
        self._say = say
        self._hush = hush
        self._opening = asyncio.Lock()
        self._known_screen: Screen[Any] | None = None
        self._newest_opening: Worker[None] | None = None
        self.pressed = LastInput()
        self.clock: Callable[[], float] = monotonic
        self.words = StrayWords(app, say, self._release, lambda: self.clock(), read_only=link.read_only)

    def run(self, action: Coroutine[Any, Any, None]) -> None:
        """Run an action that awaits something (a write, an answer); show its refusal, if any."""
        self._app.run_worker(self._run(action), exit_on_error=True)

    def open_in_turn(self, opening: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that makes and shows widgets; they run in turn, and the next key is handled when the newest
        has ended.
        """
        self._newest_opening = self._app.run_worker(self._open_in_turn(opening), exit_on_error=True)

    async def take_key(self, event: events.Key) -> None:
        """Perform what a key is bound to at once; pass text to the input that takes it. An App that ends takes none.

        The message about the key before goes.
        """
        if is_closing(self._app):
            return
        await self._catch_up()
        self.pressed.at = event.time
        self.pressed.number += 1
        self._hush()
        is_taken = self.words.take_esc(event)
        if self.words.ends_word(event):
            await self._take_held(event)
        if not self.words.keep_back(event):
            await self._take_held(event)
            if not is_taken:
                await self._take(event)

    async def _take_held(self, event: events.Key) -> None:
        """Perform the key that is held before another one, if any."""
        held = self.words.take_held(event)
        if held is not None:
            await self._take(held)
            await self._catch_up()

    async def _release(self, event: events.Key) -> None:
        """Perform a key that was held, unless the human has done something else since."""
        if self.words.end_hold(event) and self.pressed.at == event.time:
            self._hush()
            await self._take(event)

    @contextlib.asynccontextmanager
    async def pasting(self) -> AsyncIterator[None]:
        """Hold the next key back until a paste is inserted: it may open a question, which that key answers."""
        await self._catch_up()
        self._hush()
        yield
        if self._app.focused is not None and not is_closing(self._app):
            await _caught_up(self._app.focused)
            await self._begun()

    async def _run(self, action: Coroutine[Any, Any, None]) -> None:
        try:
            try:
                await action
            except Refusal as refusal:
                from tui_tasks.core.read.tasks.task_names import refusal_text  # most actions are not refused

                self._say(refusal_text(self._link.db, refusal))
        except READ_ERRORS as error:
            self._link.cannot_read(error)

    async def _open_in_turn(self, opening: Coroutine[Any, Any, None]) -> None:
        async with self._opening:
            await self._run(opening)

    async def _catch_up(self) -> None:
        """Wait until the newest write has ended, with those that its action makes next, and what was being opened is
        shown and has set the focus. Writes that take longer than `NOTICED` together are not waited for.
        """
        until = self.clock() + NOTICED
        while await self._link.written():
            await self._begun()
            if self.clock() > until:
                break
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
        elif line is None or not self.words.is_writing:
            if await did_binding(app, event.key):
                await self._begun()
            else:
                forward(line or app.screen, event)
                if not app.screen.is_modal:
                    self._unbound(event.key)
        else:
            await self._take_beside_writing(line, event)

    async def _take_beside_writing(self, line: Any, event: events.Key) -> None:
        """Perform a key in an input once all that was typed before it is inserted, and the nodes around have handled
        it.
        """
        around = [node for node in line.ancestors if node is not self._app]
        for node in (line, *around):
            await _caught_up(node)
        if has_left(line) or line.screen is not self._app.screen:
            # A click has closed the screen of the input.
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
    """Wait until a node has handled the messages in its queue."""
    done = asyncio.Event()
    if node.call_later(done.set):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _ACTION_SECONDS)
