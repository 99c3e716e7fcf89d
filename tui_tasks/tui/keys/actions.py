"""What performs actions: widgets, screens and the App, and the controllers that they compose; those among these that
move in every list and every text.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar

from typing_extensions import override

from tui_tasks.tui.keys.action_table import ACTIONS, Action

if TYPE_CHECKING:
    from tui_tasks.tui.rows.row_list import VirtualList
    from tui_tasks.tui.state.context import Context

READ_ONLY: Final = "This screen is read only: it changes nothing."
PRESS_AGAIN: Final = "look, and press the key again."
"""How the refusal of a key ends for which something has changed just now."""
FAR: Final = 2**31
"""More rows than anything has: it is scrolled to its end."""


class Controller:
    """Performs some actions of the pane or screen that it is given, each by its method `do_<id>`."""

    def does(self, id: str) -> bool:
        """Return whether it performs an action."""
        return hasattr(self, f"do_{id}")

    def why_not(self, action: Action) -> str | None:
        """Return a sentence that says why one of its actions cannot be performed now, and what to do instead; None when
        it can.
        """
        return None

    def title(self, action: Action) -> str:
        """Return what one of its actions does now, for people."""
        return action.title

    def takes_key(self, action: Action) -> bool:
        """Return whether a key of one of its actions is for that action now, and not for another with this key."""
        return True

    def opens_input(self, action: Action) -> bool:
        """Return whether an action that takes words opens an input now. If not, keys after it act at once."""
        return True


C = TypeVar("C", bound=Controller)


class LateController(Controller, Generic[C]):
    """Performs actions by a controller that is made, and its module imported, when the first of them is needed: the
    first paint waits for none.

    The other controller overrides neither `takes_key` nor `opens_input`, which each key asks for.
    """

    def __init__(self, make: Callable[[], C], *ids: str, may_refuse: bool = True) -> None:
        """`ids` are its actions. Without `may_refuse` it never refuses one, so that the foot line need not ask it."""
        self._make = make
        self.ids = frozenset(ids)
        self.may_refuse = may_refuse

    @cached_property
    def made(self) -> C:
        """The controller, made at the first use."""
        return self._make()

    @override
    def does(self, id: str) -> bool:
        return id in self.ids

    @override
    def why_not(self, action: Action) -> str | None:
        return self.made.why_not(action) if self.may_refuse else None

    @override
    def title(self, action: Action) -> str:
        return self.made.title(action)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("do_"):
            raise AttributeError(name)
        return getattr(self.made, name)


class RowMoves(Controller):
    """Moves in the list that `row_list` returns, the one that keys act on at that moment."""

    def __init__(self, row_list: Callable[[], VirtualList[Any]]) -> None:
        self._row_list = row_list

    def do_down(self) -> None:
        """Next row."""
        self._row_list().move(1)

    def do_up(self) -> None:
        """Previous row."""
        self._row_list().move(-1)

    def do_first(self) -> None:
        """First row."""
        self._row_list().move_first()

    def do_last(self) -> None:
        """Last row."""
        self._row_list().move_last()

    def do_page_down(self) -> None:
        """A screen down."""
        self._row_list().move_page(1)

    def do_page_up(self) -> None:
        """A screen up."""
        self._row_list().move_page(-1)


class Scrolled(Protocol):
    """Interface of what keys scroll."""

    @property
    def page_rows(self) -> int:
        """The rows of a page: those shown, less those that stay visible."""
        ...

    def scroll_rows(self, by: int) -> None:
        """Scroll by rows, down when `by` is above 0, at most to the end."""


class ScrollKeys(Controller):
    """Scrolls a widget without a cursor by the keys that otherwise move a cursor."""

    def __init__(self, scrolled: Scrolled) -> None:
        self._scrolled = scrolled

    def do_down(self) -> None:
        """A row on."""
        self._scrolled.scroll_rows(1)

    def do_up(self) -> None:
        """A row back."""
        self._scrolled.scroll_rows(-1)

    def do_page_down(self) -> None:
        """A page on."""
        self._scrolled.scroll_rows(max(1, self._scrolled.page_rows))

    def do_page_up(self) -> None:
        """A page back."""
        self._scrolled.scroll_rows(-max(1, self._scrolled.page_rows))

    def do_first(self) -> None:
        """To the first row."""
        self._scrolled.scroll_rows(-FAR)

    def do_last(self) -> None:
        """To the last row."""
        self._scrolled.scroll_rows(FAR)


class Actor:
    """Mixin for widgets, screens and the App that offer the actions of their scopes.

    An action is performed by the actor's own method `do_<id>`, else by the first of its `controllers` that has one. A
    class that sets `SCOPES` also sets `BINDINGS = bindings(*SCOPES)`. A key whose action it cannot perform goes on
    to the nodes around it.
    """

    SCOPES: ClassVar[tuple[str, ...]] = ()
    context: Context
    controllers: Sequence[Controller] = ()

    def offers(self) -> list[Action]:
        """Return the actions that it offers, in the order of the table."""
        return [action for action in ACTIONS.values() if self.does_offer(action)]

    def does_offer(self, action: Action) -> bool:
        """Return whether it offers an action."""
        return not action.scopes.isdisjoint(self.SCOPES) and self._doer(action.id) is not None

    def why_not(self, action: Action) -> str | None:
        """Return the reason for which an action cannot be performed now, for people; None when it can."""
        if action.writes and self.context.link.read_only:
            return READ_ONLY
        doer = self._doer(action.id)
        return doer.why_not(action) if isinstance(doer, Controller) else None

    def opens_input(self, action: Action) -> bool:
        """Return whether an action that takes words opens an input now."""
        doer = self._doer(action.id)
        return not isinstance(doer, Controller) or doer.opens_input(action)

    def title_of(self, action: Action) -> str:
        """Return what an action does now, for people."""
        doer = self._doer(action.id)
        return doer.title(action) if isinstance(doer, Controller) else action.title

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """As `DOMNode.check_action`: a key goes on to the nodes around this one if its action is not performed here."""
        if action == "act":
            doer = self._doer(str(parameters[0]))
            return doer.takes_key(ACTIONS[str(parameters[0])]) if isinstance(doer, Controller) else doer is not None
        result: bool | None = super().check_action(action, parameters)  # type: ignore[misc]  # every widget has it
        return result

    def action_act(self, id: str) -> None:
        """Perform an action by its id, or show why it cannot be performed."""
        action = ACTIONS[id]
        refused = self.why_not(action) or ""
        if action.takes_words and (refused or self.opens_input(action)):
            keeps = action.takes_text and refused.endswith(PRESS_AGAIN)
            self.context.words.expect_words(refused, id, keeps=keeps)
        if refused:
            if action.takes_words or action.verb == "edit":
                self.context.words.esc_stays()
            self.context.say(refused)
            return
        done = getattr(self._doer(id), f"do_{id}")()
        if inspect.iscoroutine(done):
            self.context.run(done)

    def _doer(self, id: str) -> Any:
        """Return the object with the method of an action: the actor itself, one of its controllers, or None."""
        return self if hasattr(self, f"do_{id}") else next((each for each in self.controllers if each.does(id)), None)
