"""A small app that wears the themes: what our panes write, and the widgets of Textual that are used."""

from __future__ import annotations

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.content import Content
from textual.strip import Strip
from textual.visual import RenderOptions
from textual.widget import Widget
from textual.widgets import Button, DataTable, Footer, Input, Markdown, OptionList, ProgressBar, Static, TextArea, Tree

from tui_tasks.text import safe
from tui_tasks.tui.painting import styles, theme_file
from tui_tasks.tui.painting.theme_file import ThemeManager
from tui_tasks.tui.widgets import screen_bases as contents

THEMES, PROBLEMS = theme_file.load()


class Rows(Widget):
    """A pane as ours are made: strips of segments, styled by component classes."""

    COMPONENT_CLASSES = {"rows--cursor", "rows--muted", *(f"rows--{state}" for state in styles.STATES)}
    DEFAULT_CSS = """
    Rows { color: $foreground; background: $background; }
    Rows > .rows--cursor { color: $cursor-text; background: $cursor-background; text-style: $cursor-style; }
    Rows > .rows--muted { color: $muted; text-style: $muted-style; }
    """ + "".join(f"Rows > .rows--{state} {{ color: $state-{state}; }}\n" for state in styles.STATES)

    def render_line(self, y: int) -> Strip:
        state = styles.STATES[y % len(styles.STATES)]
        cursor = ("rows--cursor",) if y == 1 else ()
        style = self.get_visual_style(*cursor, f"rows--{state}").rich_style
        age = self.get_visual_style(*cursor, "rows--muted").rich_style
        return Strip([Segment(safe.fit(state, self.size.width - 3), style), Segment("40s", age)])

    def as_content(self, state: str) -> Strip:
        content = contents.plain("x", f"$state-{state}")
        return content.render_strips(1, 1, self.visual_style, RenderOptions(self._get_style, {}))[0]


class Wardrobe(App[None]):
    """Wears every theme, with every widget of Textual's that the app uses."""

    def __init__(self, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self.themes = ThemeManager(self, None, None)
        self.themes.load()
        self.themes.apply_first(theme_file.NO_COLOR if self.no_color else theme_file.DEFAULT)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return styles.variable_defaults()

    def compose(self) -> ComposeResult:
        yield Rows()
        yield Input(placeholder="filter")
        yield OptionList("one", Content("two"))
        yield from (Button("b"), TextArea("t"), ProgressBar(), DataTable(), Tree("t"), Markdown("# h"), Static("s"))
        yield Footer()
