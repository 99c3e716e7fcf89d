"""Finds what performs an action now: the focused widget, its ancestors, the pane, the App."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from textual.app import App

from tui_tasks.tui.app.navigation import Navigation
from tui_tasks.tui.keys.action_table import ACTIONS, Action
from tui_tasks.tui.keys.actions import Actor
from tui_tasks.tui.widgets.bases import Overlay


class ActionLookup:
    """Looks actions up from the focused widget of the App's screen."""

    def __init__(self, app: App[Any], navigation: Navigation) -> None:
        self._app = app
        self._navigation = navigation

    def actors(self) -> Iterator[Actor]:
        """Yield the objects that perform actions now, nearest to the focus first."""
        seen: list[Actor] = []
        screen = next(each for each in reversed(self._app.screen_stack) if not each.is_modal)
        nodes = screen.focused.ancestors_with_self if screen.focused is not None else [screen]
        if not screen.is_mounted:
            # The screen is not composed yet.
            nodes = []
        for node in (*nodes, *([] if isinstance(screen, Overlay) else [self._navigation.pane]), self._app):
            if isinstance(node, Actor) and node not in seen:
                seen.append(node)
                yield node

    def actor_of(self, action: Action) -> Actor | None:
        """Return the object that performs an action now; None when none offers it."""
        return next((actor for actor in self.actors() if action in actor.offers()), None)

    def do(self, id: str) -> None:
        """Perform an action by its id, as its key would."""
        actor = self.actor_of(ACTIONS[id])
        if actor is not None:
            actor.action_act(id)
