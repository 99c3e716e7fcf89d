"""What widgets and screens override or call of Textual's private parts, each with the gain that pays for it.

The terminal's driver has its own in `keys.keyboard`. `inputs.text_line` draws typed text safely, and is imported late.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from rich.console import Console
from rich.control import Control
from textual import events
from textual._compositor import ChopsUpdate, Compositor
from textual.app import App
from textual.css.query import NoMatches
from textual.dom import DOMNode, NoScreen
from textual.message import Message
from textual.screen import Screen
from textual.worker import WorkerFailed

from tui_tasks.core.engine.storage_errors import READ_ERRORS

R = TypeVar("R")


class CellsUpdate(ChopsUpdate):
    """Gives the terminal the columns of a line that are to be painted, and no more.

    Textual begins at the left edge of the widget: for 34 ages that tick, 9.9 kB a second in place of 1.6.
    """

    def render_segments(self, console: Console) -> str:
        """As `ChopsUpdate.render_segments`."""
        written: list[str] = []
        for y, first, end in self.spans:
            for chop_end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is None or x >= end or chop_end <= first:
                    continue
                start, stop = max(x, first), min(chop_end, end)
                part = strip if (start, stop) == (x, chop_end) else strip.crop(start - x, stop - x)
                written += (Control.move_to(start, y).segment.text, part.render(console))
        return "".join(written)


class CellsCompositor(Compositor):
    """As Textual's; what is painted again is given to the terminal by `CellsUpdate`."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """As `Compositor.render_partial_update`."""
        update = super().render_partial_update()
        return CellsUpdate(update.chops, update.spans, update.chop_ends) if update is not None else None


class CellsScreen(Screen[R]):
    """A screen that paints by `CellsCompositor`."""

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._compositor = CellsCompositor()


class ResilientMessages:
    """Mixed into widgets and screens. What cannot be done while the database cannot be read is left undone.

    Textual ends the App for any exception out of a message, and the widget takes no more messages. A failed read goes
    to the App (`ResilientApp`), and what is shown stays. A message that comes to what has left the screen is too late,
    its parts may be gone, and it is dropped.
    """

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)  # type: ignore[misc]  # every widget, screen and App has it
        except READ_ERRORS as error:
            cast("DOMNode", self).app._handle_exception(error)
        except (NoMatches, NoScreen):
            if not has_left(cast("DOMNode", self)):
                raise


class ResilientApp(App[None]):
    """Goes on while the database cannot be read: Textual ends the App for errors of workers, timers and layouts."""

    def cannot_read(self, error: Exception) -> None:
        """A read has failed, with one of `READ_ERRORS`."""
        raise NotImplementedError

    def _handle_exception(self, error: Exception) -> None:
        reason = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(reason, READ_ERRORS):
            self.cannot_read(reason)
        else:
            super()._handle_exception(error)


def has_left(node: DOMNode) -> bool:
    """Whether a widget, or a screen, is on none of the screens that are open."""
    try:
        return not node.is_attached or node.screen not in node.app.screen_stack
    except NoScreen:
        return True


async def did_binding(app: App[Any], key: str) -> bool:
    """Do what a key is bound to; False where it is bound to nothing. `App` looks it up only after it was forwarded."""
    return await app._check_bindings(key, priority=True) or await app._check_bindings(key)


def forward(node: DOMNode, event: events.InputEvent) -> None:
    """Hand an event to a widget or a screen, as `App.on_event` does."""
    node._forward_event(event)  # type: ignore[attr-defined]  # widgets and screens have it


def write_to_terminal(app: App[Any], sequence: str) -> None:
    """Send a control sequence beside what is painted, as Textual's own clipboard is sent; there is no public way."""
    if sequence and not app.is_headless and app._driver is not None:
        app._driver.write(sequence)
