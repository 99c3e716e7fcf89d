"""Keys that are typed faster than the screen follows do what they would have done slowly.

Textual hands a key to what has the focus at that moment and looks for its binding once it has bubbled up to the App.
With `s` and `d` typed at once, `d` would still reach the list, where it deletes, and not the menu that `s` opens. Here
a key's action has begun, and what it opens is there, before the next key is looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

# Turns of the loop after which an action that was begun has opened what it opens first.
_TURNS = 3
_PATIENCE = 1.0


class TypeAhead(App[None]):
    """The App's part: bindings are looked at when the key comes in.

    A screen may have `take_key`, to be asked first; a line of text `does`, which says what a key does beside writing.
    """

    _waited_for: Any = None

    async def on_event(self, event: events.Event) -> None:
        """Do what a key is bound to at once; keys for lines of text go their ways."""
        if isinstance(event, events.Key):
            if not event.is_forwarded and await self._took(event):
                return
            if event.is_forwarded and self._is_late(event):
                return
        await super().on_event(event)

    async def push_screen_wait(self, screen: Any, *, mode: str | None = None) -> Any:
        """As `App.push_screen_wait`, but the screen is there at once, to have the next key."""
        return await self.push_screen(screen, wait_for_dismiss=True, mode=mode)

    async def _took(self, event: events.Key) -> bool:
        self.app_focus = True
        screen = self.screen
        if screen is not self._waited_for:
            # Opened a moment ago: let it be made, and give the focus away.
            self._waited_for = screen
            await _caught_up(screen)
        take: Any = getattr(screen, "take_key", None)
        took = bool(take is not None and take(event))
        line: Any = self.focused
        does = line.does(event.key) if hasattr(line, "does") else None
        if does is not None:
            took = True
            around = [node for node in line.ancestors if node is not self]
            await _caught_up(line)
            does()
            for node in around:
                await _caught_up(node)
        if not took and not self._is_typing(event):
            took = await self._check_bindings(event.key, priority=True) or await self._check_bindings(event.key)
        if took:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
        else:
            event.aimed_at = self.focused or self.screen  # type: ignore[attr-defined]  # for `_is_late`
        return took

    def _is_typing(self, event: events.Key) -> bool:
        focused = self.focused
        if focused is None:
            return False
        # What takes letters has a use for other keys too.
        return focused.check_consume_key("a", "a") or focused.check_consume_key(event.key, event.character)

    def _is_late(self, event: events.Key) -> bool:
        """Hand a key on that nobody took, where the focus has come to be elsewhere since it was typed."""
        target = self.focused or self.screen
        if getattr(event, "aimed_at", target) is target:
            return False
        again = events.Key(event.key, event.character)
        again.aimed_at = target  # type: ignore[attr-defined]
        target._forward_event(again)
        return True


async def _caught_up(node: MessagePump) -> None:
    """Wait until a node has done all that it was told before."""
    done = asyncio.Event()
    if node.call_later(done.set):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _PATIENCE)
