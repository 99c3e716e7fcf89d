"""The runs of a job and the output of one: their sources, and how they are drawn.

Output grows; its lines are drawn when they are needed, so length does not matter.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Sequence
from typing import Final

from textual.strip import Strip

from tui_tasks.core.engine.database import Database
from tui_tasks.core.read import job_lines
from tui_tasks.core.read.job_lines import RunLine
from tui_tasks.core.unjournaled.run_output import RunLog
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import age_lasts
from tui_tasks.tui.painting.line_painter import LinePainter, WheelScrolling, strip_of
from tui_tasks.tui.painting.styles import Part, StyleCache
from tui_tasks.tui.painting.text_lines import wrapped
from tui_tasks.tui.rows.row_painter import GUTTER, RowDrawing, RowLook, gutter
from tui_tasks.tui.schedule import job_text
from tui_tasks.tui.state.context import Context


class RunsOfJob:
    """The runs of a job, newest first: a `Source` of rows."""

    def __init__(self, db: Database, job_uid: str) -> None:
        self._db = db
        self._job = job_uid

    def first(self, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_lines.older(self._db, self._job, limit)

    def last(self, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_lines.newer(self._db, self._job, limit)

    def after(self, row: RunLine, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_lines.older(self._db, self._job, limit, row.id)

    def before(self, row: RunLine, limit: int) -> list[RunLine]:
        """See `Source`."""
        return job_lines.newer(self._db, self._job, limit, row.id)

    def find(self, keys: Collection[str]) -> dict[str, RunLine]:
        """See `Source`."""
        lines = (job_lines.run_line(self._db, key) for key in keys)
        return {run.uid: run for run in lines if run is not None and run.job_uid == self._job}

    def key(self, row: RunLine) -> str:
        """See `Source`."""
        return row.uid

    def order(self, row: RunLine) -> int:
        """See `Source`."""
        return -row.id

    def place(self, row: RunLine) -> int:
        """See `Source`; runs would have to be counted."""
        return -1

    def total(self) -> int:
        """See `Source`."""
        return -1


class RunRows(RowDrawing[RunLine]):
    """Draws runs, one in each line."""

    def draw(self, row: RunLine, row_look: RowLook, line: int) -> Sequence[Part]:
        """`>  ✗ failed after 41s  by hand  exit 1  smtp: 535 ...   Sat 21 Nov 08:00`."""
        context, width = self.context, row_look.width
        now, ascii_only = context.clock.now(), context.ascii_only
        shown = job_text.run_look(row)
        at = context.clock.time_of(row.at) if row.at is not None else ""
        if row.started_at is not None and row.ended_at is None:
            self.lasts(age_lasts(row.started_at, now))
        words = [job_text.went(row, now)]
        if row.trigger == "manual":
            words.append(job_text.trigger(row))
        if row.attempt > 1:
            words.append(f"attempt {row.attempt}")
        if row.exit_code and not (row.reason or "").startswith("exit"):
            words.append(f"exit {row.exit_code}")
        room = max(0, width - GUTTER - cell_len(at) - 3)
        head = safe_line("  ".join(words), room, ascii_only=ascii_only)
        why = f"  {row.why}" if row.why else ""
        return (
            *gutter(row_look, (shown.mark(ascii_only=ascii_only), shown.color), is_new=False, ascii_only=ascii_only),
            (head, ""),
            (fit(why, room - cell_len(head), ascii_only=ascii_only), "$muted"),
            (f"  {at} ", "$muted"),
        )

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw what to do next."""
        how = "" if self.context.link.read_only else f": {self.context.keymap.key_of('job_run')} runs it"
        return [(f"   Never run{how}.", "$muted")] if line == 1 else ()


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
        most, room = len(text) + 1, max(8, width - 1)
        self._rows = wrapped(text, room, most, most=most) if text else wrapped(self._note, room)

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
