"""The available themes, the applied one, and the one to be kept for the next start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from textual.app import App

from tui_tasks.tui.themes import theme_file


class ThemeManager:
    """Loads and applies themes. Once loaded, `names` are those to choose from, `problems` the mistakes in the human's
    own.
    """

    def __init__(self, app: App[Any], user_themes: Path | None, settings: Path | None) -> None:
        """`app` is the App to which themes are applied; `settings` is the file in which a choice is kept."""
        self.names: tuple[str, ...] = ()
        self.problems: Sequence[object] = ()
        self._app = app
        self._user_themes = user_themes
        self._settings = settings
        self._is_loaded = False

    @property
    def has_user_themes(self) -> bool:
        """Whether the human has a folder of themes."""
        return self._user_themes is not None and self._user_themes.is_dir()

    @property
    def current(self) -> str:
        """The name of the theme that is applied."""
        return self._app.theme

    def apply(self, name: str) -> None:
        """Apply a loaded theme."""
        self._app.theme = name

    def apply_first(self, name: str) -> None:
        """Apply a theme, without reading others if it can be found by its file's name."""
        app, theme = self._app, theme_file.find(name, self._user_themes)
        if theme is None:
            self.load()
            if name not in self.names:
                missing = f"there is no theme {name!r} that can be used, so it is {theme_file.DEFAULT!r}"
                self.problems = [*self.problems, missing]
                name = theme_file.DEFAULT
        else:
            app.register_theme(theme)
        if not app.is_running and app.current_theme.dark and theme is not None and theme.dark and not theme.ansi:
            # It changes between dark themes before anything is styled, so nothing has to be styled again.
            app.set_reactive(App.theme, name)
            app.stylesheet.set_variables(app.get_css_variables())
        else:
            app.theme = name

    def load(self) -> None:
        """Read all themes, for the choice of one."""
        if self._is_loaded:
            return
        self._is_loaded = True
        themes, problems = theme_file.load(self._user_themes)
        self.names = tuple(themes)
        for theme in themes.values():
            if theme.name != self._app.theme:
                self._app.register_theme(theme)
        self.problems = problems

    async def keep(self, name: str, say: Callable[[str], None]) -> None:
        """Apply a theme, write it to the settings file, if there is one, for the next start, and tell the human."""
        from tui_tasks.settings import config

        self._app.theme = name
        if self._settings is None:
            return
        try:
            await asyncio.to_thread(config.keep_theme, self._settings, name)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            say(f"Theme {name} until you leave: {self._settings} cannot be changed ({why}).")
        else:
            say(f"Theme {name}, kept in {self._settings}.")
