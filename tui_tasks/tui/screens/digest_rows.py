"""The rows of the digest: how lines and the entries below them are drawn, and how many lines each has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec
from typing_extensions import override

from tui_tasks.core.read.digest_entries import GROUPS, STATES, DigestLine
from tui_tasks.core.read.pages.log_lines import LogLine
from tui_tasks.text.glyphs import LOOKS, Look
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.layout import WIDE
from tui_tasks.tui.log.log_text import mark_of, text_of, who_of
from tui_tasks.tui.painting.styles import Part
from tui_tasks.tui.painting.text_lines import wrapped
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import RowDrawing, RowLook
from tui_tasks.tui.state.context import Context

_LOOKS: Final[dict[str, Look]] = {
    "needs_you": LOOKS["needs_you"],
    "in_your_name": Look("!", "in your name", "!", "$changed"),
    "failed": LOOKS["failed"],
    "interrupted": LOOKS["interrupted"],
    "claim_lapsed": LOOKS["stuck"]._replace(word="claim lapsed"),
    "check_failed": LOOKS["pending"]._replace(word="check failed", letter="o"),
    "refused": Look("·", "refused", ".", "$muted"),
    "tool_error": Look("·", "tool error", ".", "$muted"),
    "open_again": LOOKS["pending"]._replace(word="open again", letter="o"),
    "dropped": LOOKS["skipped"]._replace(word="dropped"),
    "gone": Look("·", "gone", ".", "$muted"),
    "ok_again": LOOKS["done"]._replace(word="ok again"),
    "late": LOOKS["overdue"],
    "not_proven": LOOKS["pending"]._replace(word="not proven", letter="o"),
    "proven": LOOKS["done"]._replace(word="proven"),
    "done": LOOKS["done"],
    "filed": Look("+", "filed", "+", "$muted"),
    "spent": Look("$", "spent", "$", "$muted"),
}
assert set(_LOOKS) == {*GROUPS, "late"}
# What still matters of what went wrong: it stands before what is late.
LOUD: Final = STATES[: STATES.index("check_failed") + 1]
# Widths in cells: of a part's title, and of the actor.
_TITLE: Final = 13
_WHO: Final = 10
# In cells: an age with the spaces around it, and more than a line has.
_WHEN: Final = 6
_WIDEST: Final = 400
# In cells: the name on a narrow screen.
_SHORT_NAME: Final = 16
# How many lines a text has at most.
_MOST_LINES: Final = 3


def _text_of(line: DigestLine, time_of: Callable[[int], str]) -> tuple[str, str]:
    """Return what is said beside the name of a line, if that does not say it all, and its style."""
    if line.part == "needs_you":
        return "" if line.kind == "ask" else line.text, ""
    if line.part == "failed":
        text = line.words(time_of)
        if line.state in LOUD:
            text = text.removeprefix(f"{_LOOKS[line.state].word}: ").removeprefix("error: ")
        return text, "" if line.state in LOUD else "$muted"
    return line.text, "" if line.part == "late" else "$muted"


class DigestRow(msgspec.Struct, frozen=True):
    """A line of the digest or, with `entry`, a journal entry below its line."""

    order: tuple[int, int]
    line: DigestLine
    entry: LogLine | None = None

    @property
    def key(self) -> str:
        """Identifies the row among all rows."""
        return self.line.key if self.entry is None else f"{self.line.key} {self.entry.seq}"


class DigestRows(RowDrawing[DigestRow]):
    """Draws the lines of the digest, and entries below them. `is_read`: whether the journal has been read."""

    is_read = False
    longest_name = 0
    longest_who = 0
    """The widths in cells of the longest name, and of the longest agent's, cut."""
    heights: Mapping[str, int] = MappingProxyType({})
    """How many lines each row has on screen; one if it is not there."""
    job_numbers: Mapping[str, int] = MappingProxyType({})
    """The numbers of jobs on screen, by the uids of their lines."""

    def measure(self, lines: Iterable[DigestLine]) -> None:
        """Make room for the names and the agents of lines."""
        lines = list(lines)
        names = (
            safe_line(self.title(line), _WIDEST) for line in lines if _text_of(line, self.context.clock.time_of)[0]
        )
        self.longest_name = max(map(cell_len, names), default=0)
        whos = (cell_len(agent_text.who(line.who)) + 1 for line in lines)
        self.longest_who = min(_WHO, max(whos, default=0))

    def title(self, line: DigestLine) -> str:
        """Return the name of a line with the number of its task or job: `S4 Digest mail`."""
        number = self.job_numbers.get(line.uid) if line.kind in ("run", "job") else None
        return f"S{number} {line.name}" if number else line.title

    def draw(self, row: DigestRow, look_: RowLook, line: int) -> Sequence[Part]:
        """`> ? needs you   claude-1   #4 jose or pyjwt?   9m`; below it the rest of a text that is too long."""
        at = row.line.at if row.entry is None else row.entry.at
        now = self.context.clock.now()
        self.lasts(age_lasts(at, now))
        head, texts, style = self._laid_out(row, look_.width)
        indent = sum(cell_len(text) for text, _ in head)
        if line:
            return [(" " * indent, ""), (texts[line], style)] if line < len(texts) else ()
        room = look_.width - indent - _WHEN
        first = texts[0] if self.heights.get(row.key, 1) == len(texts) else " ".join(texts)
        cursor = look_.cursor_sign(after=" ")
        when = f" {age(at, now) if at else '':>{_WHEN - 2}} "
        said = (fit(first, max(0, room), ascii_only=self.context.ascii_only), style)
        return [cursor, *head[1:], said, (when, "$muted")]

    def height(self, row: DigestRow, width: int) -> int:
        """Return how many lines a row needs."""
        return len(self._laid_out(row, width)[1])

    def _laid_out(self, row: DigestRow, width: int) -> tuple[list[Part], list[str], str]:
        """Return what is before the text of a row, the lines of the text, and its style."""
        parts = self._entry(row.entry, width) if row.entry is not None else self._line(row, width)
        text, style = parts[-1]
        head: list[Part] = [("  ", ""), *parts[:-1]]
        room = max(8, width - sum(cell_len(part) for part, _ in head) - _WHEN)
        ascii_only = self.context.ascii_only
        lines = wrapped(safe_line(text, room * _MOST_LINES, ascii_only=ascii_only), room) or [""]
        if row.entry is not None or len(lines) > _MOST_LINES:
            lines = [safe_line(text, _WIDEST, ascii_only=ascii_only)]
        return head, lines, style

    def _line(self, row: DigestRow, width: int) -> list[Part]:
        line, ascii_only = row.line, self.context.ascii_only
        look = _LOOKS[line.group]
        parts: list[Part] = [(look.mark(ascii_only=ascii_only), look.color)]
        if width >= 60:
            parts += [(f" {look.word:<{_TITLE}}", "")]
            parts += [(f"{fit(agent_text.who(line.who), self.longest_who, ascii_only=ascii_only)} ", "$muted")]
        name = "" if line.name == line.who and width >= 60 else self.title(line)
        text, style = _text_of(line, self.context.clock.time_of)
        if not name or not text:
            return [*parts, (f"{' ' * (width < 60)}{name or text}", style)]
        if width < 60:
            return [*parts, (f" {name}: {text}", "")]
        room = width - _TITLE - self.longest_who - 11
        column = min(self.longest_name, room * 2 // 5 if width >= WIDE else _SHORT_NAME)
        return [*parts, (f"{fit(name, column, ascii_only=ascii_only)}  ", ""), (text, style)]

    def _entry(self, entry: LogLine, width: int) -> list[Part]:
        ascii_only = self.context.ascii_only
        mark, style = mark_of(entry, ascii_only=ascii_only)
        text = text_of(entry, ascii_only=ascii_only)
        if width < 60:
            return [(f"  {mark} ", style), (text, "$muted")]
        head = f"{self.context.clock.time_of(entry.at)}  {fit(who_of(entry), _WHO, ascii_only=ascii_only)} "
        return [(" " * (_TITLE + 2), ""), (f"{mark} ", style), (head, "$muted"), (text, "$muted")]

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw the text for a digest without lines."""
        back = self.context.keymap.key_of("back")
        said = f"Nothing new for you: {back} goes back." if self.is_read else "Reading the journal"
        return [(f"   {said}", "$muted")] if line == 1 else ()


class DigestList(VirtualList[DigestRow]):
    """The rows of the digest, each with as many lines as its text needs, as far as all fit."""

    def __init__(self, context: Context, drawing: DigestRows) -> None:
        super().__init__(context, drawing, id="digest")
        self._digest_rows = drawing

    @override
    def row_heights(self) -> Sequence[int] | None:
        """The first lines are those that need the human."""
        self._digest_rows.heights = {}
        rows, left = self._cache.rows, self.size.height - len(self._cache.rows)
        if not (self._cache.has_first and self._cache.has_last) or left <= 0:
            return None
        tall = []
        for row in rows:
            more = self._digest_rows.height(row, self.size.width) - 1
            tall.append(1 + more * (more <= left))
            left -= tall[-1] - 1
        self._digest_rows.heights = {row.key: lines for row, lines in zip(rows, tall, strict=True)}
        return tall
