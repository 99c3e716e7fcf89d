"""What widgets and screens do otherwise than Textual, each with the gain that justifies it.

The terminal's driver has its own in `keys.keyboard`; `inputs.line_inputs` draws typed text safely.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from rich.console import Console
from rich.control import Control
from rich.text import Text
from textual import events, messages
from textual._compositor import ChopsUpdate, Compositor, CompositorMap, ReflowResult
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.dom import DOMNode, NoScreen
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import AwaitMount, Widget
from textual.worker import WorkerFailed
from typing_extensions import override

import tui_tasks.text.cells  # noqa: F401 - Textual measures by the table that it corrects
from tui_tasks.core.engine.driver import READ_ERRORS

R = TypeVar("R")


class CellsUpdate(ChopsUpdate):
    """Writes only the columns of a line that are to be painted.

    Textual begins at the widget's left edge: with 34 ages that change each second, 9.9 kB a second instead of 1.6.
    """

    @override
    def render_segments(self, console: Console) -> str:
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
    """Textual's compositor, which writes partial updates by `CellsUpdate` and paints all that a layout has moved."""

    def __init__(self) -> None:
        super().__init__()
        self._map_of_layout: CompositorMap = {}

    def has_laid_out(self, widget: Widget) -> bool:
        """Return whether a widget was there in the last layout."""
        return widget in self._map_of_layout

    @override
    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Compared with the layout before.

        Textual compares with `full_map`. It is computed anew when a widget that was just shown is asked for its place
        before the layout. The layout then differs in nothing, and neither that widget nor its neighbours are painted.

        When it fails, as where the database cannot be read, the layout before stays, with its size: Textual would paint
        places of the old size on a screen of the new one.
        """
        self._full_map, before = self._map_of_layout, self.size
        try:
            result = super().reflow(parent, size)
        except Exception:
            self.size = before
            raise
        self._map_of_layout = self._full_map
        return result

    @override
    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        return CellsUpdate(update.chops, update.spans, update.chop_ends) if update is not None else None


class NoRelayout(Widget):
    """A widget that requests no second layout after a layout: only Textual's scroll bars need one.

    Name it after a Textual widget among the bases, since CSS names follow the first base.
    """

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), repaint=False)


class PaintWhenVisible(Widget):
    """A widget that requests no repaint while it is not on screen: whoever shows it has all of it painted."""

    @override
    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """While it is on screen."""
        if not (layout or recompose) and self.is_mounted and not self.is_on_screen:
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class Focusable(Widget):
    """A widget that repaints only what differs with the focus, on which none of its styles depends.

    Textual would look up the styles of all parts and repaint them, a fifth of the time that showing a pane takes.
    """

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Override Textual's method, which looks up styles."""

    def on_focus(self, event: events.Focus) -> None:
        """Repaint for the focus."""
        self._focus_changed(event, events.DescendantFocus(self), has_focus=True)

    def on_blur(self, event: events.Blur) -> None:
        """Repaint without the focus."""
        self._focus_changed(event, events.DescendantBlur(self), has_focus=False)

    def follow_focus(self) -> None:
        """Repaint what differs with the focus: by default nothing."""

    def _focus_changed(self, event: events.Event, for_parent: events.Event, *, has_focus: bool) -> None:
        event.prevent_default()
        self.has_focus = has_focus
        if self.parent is not None:
            self.parent.post_message(for_parent)
        self.follow_focus()


class ResilientMessages:
    """Mixin for widgets and screens that keep working while the database cannot be read.

    Textual ends the App for any exception in a message handler, and the widget then handles no more messages. Here a
    failed read is passed to the App (`ResilientApp`), and what is shown stays. A message to a widget that has left the
    screen is dropped, as its children may be gone.
    """

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)  # type: ignore[misc]  # every widget, screen and App has it
        except READ_ERRORS as error:
            cast("DOMNode", self).app._handle_exception(error)
        except (NoMatches, NoScreen):
            if not has_left(cast("DOMNode", self)):
                raise


class TransparentContainer(ResilientMessages, Vertical, NoRelayout):
    """A container that paints nothing: its children cover it, or else the screen shows through."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return no lines. A screen has many containers, and Textual would first paint each of them blank."""
        return []


if TYPE_CHECKING:
    _AnyScreen = Screen[Any]
else:
    # As a base it would give a dialog its CSS name.
    _AnyScreen = object

LEAST_TIMER: Final = 0.02
"""The least seconds of a timer that fires once: Textual's timers skip a moment that is past as they begin, so that one
of a few milliseconds is lost on a busy machine.
"""


class OpensAtOnce(_AnyScreen):
    """Mixin for screens: their widgets are styled, laid out and painted once when they open.

    Textual styles and lays them out three times, and paints them four times: half of the time that opening takes.
    """

    _is_opening = True
    """True until the first layout, which paints all: requests before it would be done twice."""
    _opened_in: Size | None = None

    def _post_register(self, app: App[Any]) -> None:
        """Take the classes of the terminal's size before all styles. Textual takes them after the first layout."""
        super()._post_register(app)
        for cells, stops in zip(app.size, (app.HORIZONTAL_BREAKPOINTS, app.VERTICAL_BREAKPOINTS), strict=True):
            self.add_class(*self._get_breakpoint_classes(cells, stops or []), update=False)

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        """Come to the front; the first time, lay out and paint here."""
        event.prevent_default()
        if self._is_opening:
            event.refresh_styles = False
        super()._on_screen_resume(event)
        if self._is_opening:
            self._is_opening, self._opened_in = False, self.size
            for widget in self.walk_children(Widget):
                widget._repaint_required = False
                # Only scroll bars need a second layout, which Textual asks for after each change of size.
                widget._layout_required = widget._layout_required and any(widget.scrollbars_enabled)

    def remove(self) -> AwaitRemove:
        """Leave the App. Textual would lay out and paint the screen below twice more."""
        return self.app._prune(self)

    async def _on_resize(self, event: events.Resize) -> None:
        """Lay out for another size. The first layout tells the screen its size, too."""
        if event.size == self._opened_in:
            event.prevent_default()
        else:
            self._opened_in = None

    @override
    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Once it is open."""
        if self._is_opening:
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    @override
    def post_message(self, message: Message) -> bool:
        """But for what widgets ask for before it is open."""
        if self._is_opening and isinstance(message, (messages.Layout, messages.Update)):
            return False
        return super().post_message(message)


class AwaitScreen(AwaitMount):
    """Waits until a screen has its parts. Textual would then lay out and paint it again."""

    def __await__(self) -> Generator[None, None, None]:
        return self._mounted().__await__()

    async def _mounted(self) -> None:
        for screen in self._widgets:
            await screen._mounted_event.wait()


class CellsScreen(ResilientMessages, OpensAtOnce, Screen[R]):
    """A screen that paints with `CellsCompositor`."""

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._compositor: CellsCompositor = CellsCompositor()

    @override
    def post_message(self, message: Message) -> bool:
        """But for a layout that a hidden part asks for, such as one of a pane that is made: showing it asks again."""
        if isinstance(message, messages.Layout) and not self._compositor.has_laid_out(message.widget):
            parts = (part for part in message.widget.ancestors_with_self if isinstance(part, Widget))
            if not all(part.display for part in parts):
                return False
        return super().post_message(message)

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        """Return one blank line for all: only parts of a screen draw something. Textual would make each line anew."""
        return super().render_lines(Region(crop.x, crop.y, crop.width, min(1, crop.height))) * crop.height

    @property
    def is_open(self) -> bool:
        """Whether it is composed and has not been left. Work in the background asks before it draws what it has read:
        Textual removes the parts of a screen before the screen, which stays mounted.
        """
        return self.is_mounted and not has_left(self)


class ResilientApp(ResilientMessages, App[None]):
    """Keeps running while the database cannot be read: Textual ends the App for errors in workers, timers and
    layouts.
    """

    def cannot_read(self, error: Exception) -> None:
        """Handle a read that failed with one of `READ_ERRORS`."""
        raise NotImplementedError

    def damage(self) -> str:
        """Return what is damaged in the database, for people, after an error that no read explains; empty: nothing."""
        raise NotImplementedError

    def _get_screen(self, screen: Screen[Any] | str) -> tuple[Screen[Any], AwaitMount]:
        """Return a screen that is to be shown, and begin it when it is new."""
        found = self.get_screen(screen)
        return found, AwaitScreen(found, [] if found.is_running else self._register(self, found))

    def _handle_exception(self, error: Exception) -> None:
        reason = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(reason, READ_ERRORS):
            self.cannot_read(reason)
        elif damage := self.damage():
            if not self._exit:  # of several errors, the first has said it
                self.exit(return_code=1, message=Text(f"tui-tasks: {damage}"))
        else:
            super()._handle_exception(error)


def has_left(node: DOMNode) -> bool:
    """Return whether a widget or screen is on none of the open screens."""
    try:
        return not node.is_attached or node.screen not in node.app.screen_stack
    except NoScreen:
        return True


def is_closing(app: App[Any]) -> bool:
    """Return whether the App is ending: then no widget handles the callbacks that would be waited for."""
    return app._closing or app._closed or app._exception is not None


async def did_binding(app: App[Any], key: str) -> bool:
    """Perform what a key is bound to; return False when it is not bound. `App` looks it up only after forwarding the
    key.
    """
    return await app._check_bindings(key, priority=True) or await app._check_bindings(key)


def forward(node: DOMNode, event: events.InputEvent) -> None:
    """Pass an event to a widget or screen, as `App.on_event` does."""
    node._forward_event(event)  # type: ignore[attr-defined]  # widgets and screens have it


def write_to_terminal(app: App[Any], sequence: str) -> None:
    """Write a control sequence outside of painting, as Textual's clipboard does; there is no public way."""
    if sequence and not app.is_headless and app._driver is not None:
        app._driver.write(sequence)
