"""What needs the human and what has failed, whole, in lines above the panes: only in rows that a pane leaves free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from textual import events
from textual.geometry import Size

from tui_tasks.text.safe import cell_len, fit_ends, safe_ends, safe_line, safe_question
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, TextLines, wrapped
from tui_tasks.tui.widgets.frame import AROUND, is_compact
from tui_tasks.tui.widgets.now_entries import NowEntries
from tui_tasks.tui.widgets.now_entry import WHO, Entry
from tui_tasks.tui.widgets.now_line import NEEDS_YOU, Act, Line, add_entries

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The lines of the screen for each line here, rounded up, and the most lines of one text.
_SHARE: Final = 5
_MOST_OF_ONE: Final = 4
# In cells: an age with the gap before it.
_AGE: Final = 6


class NeedsText(TextDrawing):
    """Draws a line for each thing that needs the human, as far as the rows suffice; the rest share the last line.

    `rows` returns how many there are for the height of the screen; `kinds` are the kinds of entries.
    """

    def __init__(self, context: Context, rows: Callable[[], int], kinds: Collection[int]) -> None:
        super().__init__(context)
        self._rows = rows
        self._kinds = kinds
        self._entries = NowEntries(context, self.lasts)
        self.acts: list[list[tuple[int, Act | None]]] = []
        """For each line, where the parts end, and what a click on each does."""

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines, the most urgent thing first."""
        self.acts = []
        entries = [entry for entry in self._entries.of_needs() if entry.kind in self._kinds]
        rows = self._rows() if entries else 0
        if not rows:
            return []
        alone = entries if len(entries) <= rows else entries[: rows - 1]
        label = min(WHO, max((cell_len(_label(entry)) for entry in alone), default=0))
        room = max(8, width - label - _AGE - 6)
        texts = [wrapped(entry.whole, room, ascii_only=self.context.ascii_only) for entry in alone]
        shared = self._shared([len(text) for text in texts], rows - (len(alone) < len(entries)))
        drawn: list[Drawn] = []
        for entry, text, number in zip(alone, texts, shared, strict=True):
            drawn += self._alone(entry, text, number, label, room)
        if rest := entries[len(alone) :]:
            line = Line()
            add_entries(line, rest, width, ascii_only=self.context.ascii_only)
            drawn.append(line.parts)
            self.acts.append(_ends(line.parts, line.acts))
        return drawn

    @staticmethod
    def _shared(wanted: Sequence[int], rows: int) -> list[int]:
        """Return how many lines each text gets: one, and more in the order of their urgency."""
        left, shared = rows - len(wanted), []
        for number in wanted:
            more = min(number, _MOST_OF_ONE) - 1
            shared.append(1 + min(more, max(0, left)))
            left -= shared[-1] - 1
        return shared

    def _alone(self, entry: Entry, text: Sequence[str], number: int, label: int, room: int) -> list[Drawn]:
        """Return `? claude-1  #4 Which one?   9m`, and below it the rest of its words."""
        ascii_only, now = self.context.ascii_only, self.context.clock.now()
        since = ""
        if entry.since is not None:
            self.lasts(age_lasts(entry.since, now))
            since = age(entry.since, now)
        if len(text) > number and entry.brief:
            text = wrapped(entry.brief, room, ascii_only=ascii_only)
        shown = list(text[:number])
        if len(text) > number:
            cut = safe_question if entry.is_question else safe_line
            shown[-1] = cut(" ".join(text[number - 1 :]), room, ascii_only=ascii_only)
        head: list[Part] = [
            (f" {entry.mark} {fit_ends(_label(entry), label, ascii_only=ascii_only)}  ", entry.color),
            (shown[0], ""),
            (" " * max(0, room - cell_len(shown[0])) + f"{since:>{_AGE}} ", "$muted"),
        ]
        lines: list[Drawn] = [head, *([(" " * (label + 5), ""), (line, "")] for line in shown[1:])]
        self.acts += [_ends(line, [entry.act] * len(line)) for line in lines]
        return lines


def _label(entry: Entry) -> str:
    return entry.label or safe_ends(entry.name, WHO)


def _ends(parts: Sequence[Part], acts: Sequence[Act | None]) -> list[tuple[int, Act | None]]:
    ends, at = [], 0
    for (text, _), act in zip(parts, acts, strict=True):
        at += cell_len(text)
        ends.append((at, act))
    return ends


class NeedsLines(TextLines):
    """Those lines. It takes no room where nothing needs the human, or no row is free."""

    DEFAULT_CSS = "NeedsLines { height: auto; }"

    def __init__(
        self,
        context: Context,
        *,
        id: str,
        kinds: Collection[int] = NEEDS_YOU,
        rows: Callable[[], int] | None = None,
    ) -> None:
        """`rows` returns how many rows are free for it; without, it takes those that the pane leaves free."""
        self._needs = NeedsText(context, rows or self._free_rows, kinds)
        super().__init__(context, self._needs, id=id)

    def _free_rows(self) -> int:
        """Return how many rows it may take: those that the pane leaves free, up to a share of the screen."""
        size = self.app.size
        if is_compact(size):
            return 0
        height = size.height - AROUND
        free = height - self.context.navigation.pane.rows_wanted(height)
        return max(0, min(free, -(-size.height // _SHARE)))

    @property
    def is_shown(self) -> bool:
        """Whether it shows what needs the human."""
        return bool(self._needs.acts)

    def again(self) -> None:
        """Draw again, also while it has no lines and thus no size."""
        if self.size.width:
            super().again()
            return
        width = self.app.size.width
        if not self.is_attached or not width:
            return
        self._draw(width, 0)
        if self._shown:
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines in this size of the screen."""
        self._draw(width, 0)
        return len(self._shown)

    def on_resize(self) -> None:
        """Draw for the new size."""
        self._redraw_in_time()

    def on_click(self, event: events.Click) -> None:
        """Go to what was clicked."""
        if event.y < len(self._needs.acts):
            act = next((act for end, act in self._needs.acts[event.y] if event.x < end), None)
            if act is not None:
                act()
