"""The output of a run as it grows: lines are drawn when they are needed, so length does not matter."""

from __future__ import annotations

import codecs
import re
from typing import Final

from textual.strip import Strip

from tui_tasks.core.schedule.run_logs import RunLog
from tui_tasks.tui.painting.line_painter import LinePainter, WheelScrolling, strip_of
from tui_tasks.tui.painting.styles import StyleCache
from tui_tasks.tui.painting.text_lines import wrapped
from tui_tasks.tui.state.context import Context

# Sequences that colour or redraw lines are removed; all else is shown.
_STYLED: Final = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B])")
_KEPT: Final = 512 * 1024


def readable(text: str) -> str:
    """Return output as lines of text: without colours, and with the last version of a line that was redrawn."""
    text = _STYLED.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return text


class RunOutput(WheelScrolling, LinePainter, can_focus=True):
    """Output wrapped to the width. It follows the end until the human scrolls back."""

    DEFAULT_CSS = "RunOutput { height: 1fr; width: 1fr; }"

    def __init__(self, context: Context, *, id: str) -> None:
        super().__init__(context, id=id)
        self._text = ""
        self._rows: list[str] = []
        self._width = 0
        self._top = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.total = 0
        self.following = True
        self._note = ""

    def show(self, log: RunLog, note: str = "") -> None:
        """Show the output of another run from its beginning; `note` is shown when there is none."""
        self._decoder.reset()
        self._text, self.total, self._note = log.text, log.total, note
        self._lay_out()
        self._top = 0
        if self.following:
            self.scroll_rows(len(self._rows))
        self.refresh()

    def add(self, log: RunLog) -> bool:
        """Append new output; return False when some in between was dropped, so that all must be shown again."""
        for start, data in log.pieces:
            if start > self.total:
                return False
            fresh = data[self.total - start :]
            self._text += self._decoder.decode(fresh)
            self.total = start + len(data)
        if len(self._text) > 3 * _KEPT:
            return False
        if log.pieces:
            self._lay_out()
            if self.following:
                self._top = self._most_top
            self.refresh()
        return True

    @property
    def text(self) -> str:
        """The shown text, without control sequences."""
        return readable(self._text)

    def _lay_out(self) -> None:
        width = self.size.width
        if not width:
            return
        self._width = width
        text = readable(self._text).removesuffix("\n")
        self._rows = wrapped(text, max(8, width - 1), len(text) + 1) if text else wrapped(self._note, max(8, width - 1))

    @property
    def _most_top(self) -> int:
        return max(0, len(self._rows) - self.size.height)

    def scroll_rows(self, by: int) -> None:
        """Scroll; at the end it follows new output again."""
        self._top = max(0, min(self._top + by, self._most_top))
        self.following = self._top == self._most_top
        self.refresh()

    def on_resize(self) -> None:
        """Wrap the text anew; a view that was at the end stays there."""
        if self._width != self.size.width:
            self._lay_out()
        self._top = self._most_top if self.following else min(self._top, self._most_top)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint one line."""
        at = self._top + y
        text = f" {self._rows[at]}" if at < len(self._rows) else ""
        return strip_of([(text, "" if self._text else "$muted")], self.own_size.width, StyleCache.of(self.app))
