"""What needs the human, has failed or is late, in rows above every pane and screen, which keep most of the lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from textual import events
from textual.geometry import Size

from tui_tasks.text.safe import cell_len, safe_ends, safe_line, safe_question
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import Drawn, TextDrawing, TextLines, wrapped
from tui_tasks.tui.widgets.agent_line import WHO
from tui_tasks.tui.widgets.frame import WIDE, Act, is_compact
from tui_tasks.tui.widgets.needs_entries import ALL, MORE, Entry, NeedsEntries

if TYPE_CHECKING:
    from tui_tasks.tui.state.context import Context

# The lines of the screen for each row here, rounded up; the other lines around a pane: above it, the rule, the foot.
_SHARE: Final = 5
_AROUND: Final = 6
ROWS_BELOW: Final = 8
"""The rows that a pane keeps."""
ROWS_AND_DETAIL: Final = 14
"""The rows that a screen keeps which shows a detail below its list."""
_MOST_OF_ONE: Final = 4
"""The most lines of one text."""
# In cells, as in a list's rows: what stands around a number, an agent or a word, and an age with the margin after it.
_AROUND_NUMBER: Final = 5
_ASIDE: Final = 8
_WIDE_ASIDE: Final = 10
_AGE: Final = 5


class _Columns(NamedTuple):
    """The widths in cells of the number, of the words with nothing beside them, and of what stands beside them."""

    number: int
    words: int
    aside: int

    def room_beside(self, aside: str) -> int:
        """Return how many cells the words have beside an agent or a word."""
        return max(1, self.words - max(self.aside, cell_len(aside)) - 4) if aside else self.words


def rows_for_needs(size: Size, below: int) -> int:
    """Return how many rows there are for what needs the human on a screen of a size that keeps so many rows below."""
    return 0 if is_compact(size) else max(0, min(-(-size.height // _SHARE), size.height - _AROUND - below))


class NeedsText(TextDrawing):
    """Draws a row for each thing that needs the human, as far as the rows suffice, and how many more there are.

    `rows` returns how many there are, `kinds` the kinds of entries.
    """

    def __init__(self, context: Context, rows: Callable[[], int], kinds: Callable[[], Collection[int]]) -> None:
        super().__init__(context)
        self._rows = rows
        self._kinds = kinds
        self._entries = NeedsEntries(context, self.lasts)
        self.acts: list[Act] = []
        """For each line, what a click on it does."""

    def lines(self, width: int, height: int) -> list[Drawn]:
        """Return the lines, the most urgent thing first."""
        self.acts = []
        rows = self._rows()
        if not rows:
            return []
        kinds = self._kinds()
        entries = [entry for entry in self._entries.entries() if entry.kind in kinds]
        shown = _chosen(entries, rows)
        number = max((2, *(cell_len(entry.number) for entry in shown)))
        room = max(8, width - number - _AROUND_NUMBER - _AGE)
        columns = _Columns(number, room, _WIDE_ASIDE if width >= WIDE else _ASIDE)
        texts = [self._fitted(entry, columns) for entry in shown]
        rest = [entry for entry in entries if entry not in shown]
        shared = self._shared([len(text) for text, _ in texts], rows - bool(rest))
        drawn: list[Drawn] = []
        for entry, (text, aside), most in zip(shown, texts, shared, strict=True):
            lines = self._row(entry, text, aside, most, columns)
            drawn += lines
            self.acts += [entry.act] * len(lines)
        if rest:
            drawn.append([(f" {safe_line(_more(rest), width - 2)}", "$muted")])
            self.acts.append(rest[0].act)
        return drawn

    def _fitted(self, entry: Entry, columns: _Columns) -> tuple[Sequence[str], str]:
        """Return the lines of an entry's words, and what stands beside them.

        That gives way to the words, unless no number says what the entry is about.
        """
        ascii_only, aside = self.context.ascii_only, safe_ends(entry.aside, WHO, ascii_only=self.context.ascii_only)
        for text in filter(None, (entry.text, entry.brief)):
            for beside in dict.fromkeys((aside, "" if entry.number else aside)):
                lines = wrapped(text, columns.room_beside(beside), ascii_only=ascii_only)
                if len(lines) == 1:
                    return lines, beside
        return lines, beside

    @staticmethod
    def _shared(wanted: Sequence[int], rows: int) -> list[int]:
        """Return how many lines each text gets: one, and more in the order of their urgency."""
        left, shared = rows - len(wanted), []
        for number in wanted:
            more = min(number, _MOST_OF_ONE) - 1
            shared.append(1 + min(more, max(0, left)))
            left -= shared[-1] - 1
        return shared

    def _row(self, entry: Entry, text: Sequence[str], aside: str, most: int, columns: _Columns) -> list[Drawn]:
        """Return `? #4  Which one?   claude-1   9m`, and below it the rest of its words, in so many lines at most."""
        ascii_only, now = self.context.ascii_only, self.context.clock.now()
        since, room = "", columns.room_beside(aside)
        if entry.since is not None:
            self.lasts(age_lasts(entry.since, now))
            since = age(entry.since, now)
        shown = list(text[:most])
        if len(text) > most:
            cut = safe_question if entry.is_question else safe_line
            shown[-1] = cut(" ".join(text[most - 1 :]), room, ascii_only=ascii_only)
        beside = f"  {aside}{' ' * (columns.aside - cell_len(aside))}  " if aside else ""
        head: list[Part] = [
            (f" {entry.mark} ", entry.color),
            (f"{entry.number:<{columns.number}}  ", "$muted"),
            (shown[0], ""),
            (f"{' ' * (room - cell_len(shown[0]))}{beside}{since:>{_AGE - 1}} ", "$muted"),
        ]
        indent = " " * (columns.number + _AROUND_NUMBER)
        return [head, *([(indent, ""), (line, "")] for line in shown[1:])]


def _more(rest: Sequence[Entry]) -> str:
    """Return `+3 more: 2 ask, 1 failed`."""
    counts: Counter[str] = Counter()
    for entry in rest:
        counts[entry.word or entry.aside] += entry.count
    return f"+{counts.total():,} more: {', '.join(f'{number:,} {word}' for word, number in counts.items())}"


def _chosen(entries: Sequence[Entry], rows: int) -> list[Entry]:
    """Return the entries that have a row: those that block an agent, up to half of the rows, the first of each kind,
    the first of each agent, then the most urgent. One row is left for the number of the others.
    """
    if len(entries) <= rows:
        return list(entries)
    kinds, agents = [entry.kind for entry in entries], [(entry.kind, entry.aside) for entry in entries]
    # One entry stands for the questions beyond the first of them.
    is_first = [agents.index(agents[at]) == at and entry.aside != MORE for at, entry in enumerate(entries)]
    blocking = [at for at, entry in enumerate(entries) if entry.blocks and is_first[at]][: rows // 2]
    order = sorted(
        range(len(entries)), key=lambda at: (at not in blocking, kinds.index(kinds[at]) != at, not is_first[at])
    )
    return [entries[at] for at in sorted(order[: max(1, rows - 1)])]


class NeedsLines(TextLines):
    """Those rows. They take no room where nothing needs the human, or the screen is small."""

    DEFAULT_CSS = "NeedsLines { height: auto; }"

    def __init__(
        self,
        context: Context,
        *,
        id: str,
        kinds: Callable[[], Collection[int]] = lambda: ALL,
        below: int = ROWS_BELOW,
    ) -> None:
        """`below`: the rows that are kept for what stands below."""
        self._needs = NeedsText(context, lambda: rows_for_needs(self.app.size, below), kinds)
        super().__init__(context, self._needs, id=id)

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
            self._needs.acts[event.y]()
