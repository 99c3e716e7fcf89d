"""The cards of a column as lines: how many each has, so that all fit, and how they are drawn."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from typing_extensions import override

from tui_tasks.core.read.pages.board_pages import Card
from tui_tasks.text.times import SECOND
from tui_tasks.tui.board.board_columns import WIDE
from tui_tasks.tui.board.cards import MOST_LINES, CardContent, content_of, lines_of, width_of
from tui_tasks.tui.painting.styles import Part, parts_width
from tui_tasks.tui.rows.row_painter import GUTTER, RowDrawing, RowLook, gutter
from tui_tasks.tui.tasks.task_text import EmptiedNote

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The lines that a card may have at least.
_LEAST: Final = 2


class CardDrawing(RowDrawing[Card]):
    """Draws the cards of a column in the way of its `spec`.

    `is_current`: whether keys are about this column, which alone shows its cursor.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.spec = WIDE[0]
        self.is_current = False
        # How many lines each card has at most where all fit.
        self._most: dict[str, int] = {}
        self._fitted: tuple[object, tuple[list[int], int] | None] | None = None
        self._emptied = EmptiedNote(context)
        # The lines of the card that is being drawn.
        self._lines: list[list[Part]] = []
        # What cards show, each with its row and when it is out of date, in seconds of the monotonic clock.
        self._contents: dict[str, tuple[Card, float, CardContent]] = {}
        # Of cards that are not all on screen: for which width, content and most lines each has how many.
        self._heights: dict[str, tuple[int, int, int, int]] = {}

    def forget(self) -> None:
        """Drop the content of all cards, as something that all show has changed."""
        self._contents, self._heights = {}, {}

    def heights(self, rows: Sequence[Card], width: int, height: int) -> tuple[list[int], int] | None:
        """Return how many lines each card has, and the empty lines after each, so that all fit into a height; None if
        they do not.

        Where not all that they say fits, cards at work get room first, then what needs the human or why something
        failed: the lines above the board say that too.
        """
        if len(rows) > height:
            self._most, self._fitted = {}, None
            return None
        self._contents = {row.uid: self._contents[row.uid] for row in rows if row.uid in self._contents}
        # Moving the cursor changes nothing of it.
        facts = (width, height, self.context.state.number_width)
        asked = (*facts, *((id(self._content(row)), row.uid in self.context.state.seen.new) for row in rows))
        if self._fitted is None or self._fitted[0] != asked:
            self._fitted = asked, self._fit(rows, width, height)
        return self._fitted[1]

    def height_of(self, row: Card, width: int) -> int:
        """Return how many lines a card has in a column whose cards are not all on screen."""
        content, most = self._content(row), self._most.get(row.uid, self.spec.lines)
        held = self._heights.get(row.uid)
        if held is None or held[:3] != (width, id(content), most):
            held = self._heights[row.uid] = (width, id(content), most, len(self._laid_out(row, width, most)))
        return held[3]

    def heights_until(self, rows: Sequence[Card], width: int, height: int, gap: int) -> list[int]:
        """Return the heights of the first cards, as many as fit into a height with a gap after each."""
        tall: list[int] = []
        for row in rows:
            lines = self.height_of(row, width)
            if height < lines:
                break
            height -= lines + gap
            tall.append(lines)
        return tall

    def keep(self, rows: Sequence[Card]) -> None:
        """Drop what is known of other cards."""
        uids = {row.uid for row in rows}
        self._contents = {uid: held for uid, held in self._contents.items() if uid in uids}
        self._heights = {uid: held for uid, held in self._heights.items() if uid in uids}

    def _fit(self, rows: Sequence[Card], width: int, height: int) -> tuple[list[int], int] | None:
        self._most = {}
        tall = {row.uid: len(self._laid_out(row, width, _LEAST)) for row in rows}
        at_work = [row for row in rows if row.part == "in_progress"]
        urgent = [row for row in rows if self._content(row).note_first]
        left = height - sum(tall.values())
        if left < 0:
            return None
        self._most = dict.fromkeys(tall, _LEAST)
        for some in (at_work, urgent, rows):
            for most in range(_LEAST + 1, MOST_LINES + 1):
                for row in some:
                    more = len(self._laid_out(row, width, most)) - tall[row.uid]
                    if self._most[row.uid] < most and 0 <= more <= left:
                        self._most[row.uid] = most
                        tall[row.uid] += more
                        left -= more
        return list(tall.values()), int(self.spec.gap and left >= len(rows) - 1)

    def draw(self, row: Card, look: RowLook, line: int) -> Sequence[Part]:
        """Return one line of a card. The card is laid out as a whole when its first line is drawn."""
        if line == 0:
            self._lines = self._lay_out(row, look)
        return self._lines[line] if line < len(self._lines) else ()

    def _content(self, row: Card) -> CardContent:
        """Return what a card shows, as it was read last while that is true."""
        held, now = self._contents.get(row.uid), time.monotonic()
        if held is None or held[0] is not row or held[1] <= now:
            content = content_of(self.context, row, has_mark=self.spec.is_mixed)
            ends = now + content.lasts / SECOND if content.lasts else math.inf
            held = self._contents[row.uid] = (row, ends, content)
        if held[1] < math.inf:
            self.lasts(max(1, int((held[1] - now) * SECOND)))
        return held[2]

    def width_for(self, rows: Sequence[Card]) -> int:
        """Return the width in which cards are read at a glance; 0 without cards."""
        contents = map(self._content, rows)
        ascii_only = self.context.ascii_only
        return max((self._indent(one) + width_of(one, ascii_only=ascii_only) + 1 for one in contents), default=0)

    def _laid_out(self, row: Card, width: int, most: int) -> list[list[Part]]:
        """Return at most so many lines of a card, without what is before its name."""
        content = self._content(row)
        return lines_of(content, width - self._indent(content) - 1, most, ascii_only=self.context.ascii_only)

    def _indent(self, content: CardContent) -> int:
        """Return how many cells are before the name of a card: `>• ◐ #5 `, the glyph only in a column of several
        states.
        """
        return (GUTTER if content.glyph is not None else GUTTER - 2) + self.context.state.number_width + 1

    def _lay_out(self, row: Card, look: RowLook) -> list[list[Part]]:
        """Return the lines of a card, with cursor, mark, glyph and number before the first."""
        ascii_only = self.context.ascii_only
        most = self._most.get(row.uid, self.spec.lines)
        lines = self._laid_out(row, look.width, most)
        more = "~" if ascii_only else "…"
        whole = self._laid_out(row, look.width, MOST_LINES)
        content, last = self._content(row), [text for text, _ in lines[-1]]
        # Of one that ends in its age, without a note or behind the answers that stand for it, the agent is missing.
        ends_in_age = content.age == last[-1] != "" and (not content.note[0] or content.choice in last)
        if len(whole) > len(lines) and not ends_in_age and not any(more in text for line in lines for text, _ in line):
            # A line that fills its cells has it in the margin.
            used = self._indent(content) + parts_width(lines[-1])
            lines[-1] = [*lines[-1], (f" {more}" if used + 2 <= look.width else more, "$muted")]
        if look.dragged:
            lines = [[(text, "$muted italic") for text, _ in line] for line in lines]
        cursor = look if not look.drop else replace(look, cursor=True, focused=True)
        is_new = row.uid in self.context.state.seen.new
        before = gutter(cursor, content.glyph, is_new=is_new, ascii_only=ascii_only)
        number: Part = (f"{f'#{row.number}':<{self.context.state.number_width}} ", "$muted")
        indent = " " * self._indent(content)
        return [[*before, number, *lines[0]], *([(indent, ""), *line] for line in lines[1:])]

    @override
    def draw_blank(self, line: int, width: int) -> Sequence[Part]:
        """Only the current column says why it is empty."""
        return super().draw_blank(line, width) if self.is_current else ()

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw, in the current column, that it is empty, or how to add the first task."""
        home = self.context.state.current_list
        if home is None or home.total or self.context.link.read_only:
            text = "   nothing here"
            return [(text if len(text) <= width else "   empty", "$muted")] if line == 0 else ()
        emptied, key = self._emptied.short(), self.context.keymap.key_of("take_back")
        words: dict[int, list[Part]] = {
            0: [(f"   {emptied or 'No tasks yet'}.", "")],
            1: [(f"   {key}", "$key"), (f"  {self._emptied.way_back()}", "$muted")] if emptied else [],
            2: [(f"   {self.context.keymap.key_of('new')}", "$key"), ("  add one", "$muted")],
        }
        return words.get(line, ())
