"""The App's part with themes: which there are, which one is on, and which is kept for the next time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.app import App

from tui_tasks.tui.themes import theme_files, variables

if TYPE_CHECKING:
    from tui_tasks.tui.app.app import TaskApp


class ThemeManager(App[None]):
    """Mixed into the App. `theme_names` are those to choose from, once they were loaded."""

    user_themes: Path | None = None
    settings: Path | None = None
    theme_names: tuple[str, ...] = ()
    theme_problems: Sequence[object] = ()
    _are_themes_loaded = False

    def wear(self, name: str) -> None:
        """Put a theme on, reading no other where it can be found by its file's name."""
        theme = theme_files.find(name, self.user_themes)
        if theme is None:
            self.load_themes()
            if name not in self.theme_names:
                missing = f"there is no theme {name!r} that can be used, so it is {theme_files.DEFAULT!r}"
                self.theme_problems = [*self.theme_problems, missing]
                name = theme_files.DEFAULT
        else:
            self.register_theme(theme)
        if not self.is_running and self.current_theme.dark and theme is not None and theme.dark and not theme.ansi:
            # From one dark theme to another before anything is styled: nothing has to be styled again.
            self.set_reactive(App.theme, name)
            self.stylesheet.set_variables(self.get_css_variables())
        else:
            self.theme = name

    def load_themes(self) -> None:
        """Read all themes, for choosing; `theme_problems` then has what is wrong with the human's own."""
        if self._are_themes_loaded:
            return
        self._are_themes_loaded = True
        known, problems = theme_files.load(self.user_themes)
        self.theme_names = tuple(known)
        for theme in known.values():
            if theme.name != self.theme:
                self.register_theme(theme)
        self.theme_problems = problems

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The variables of ours, before there is a theme."""
        return variables.variable_defaults()

    async def keep_theme(self, name: str) -> None:
        """Put a theme on and, where there is a file of settings, write it there for the next time."""
        from tui_tasks.settings import config

        host = cast("TaskApp", self)
        self.theme = name
        if self.settings is None:
            return
        try:
            await asyncio.to_thread(config.keep_theme, self.settings, name)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            host.say(f"Theme {name} until you leave: {self.settings} cannot be changed ({why}).")
        else:
            host.say(f"Theme {name}, kept in {self.settings}.")
