"""The rows of the digest: how lines, and entries below them, are drawn and spaced; and the line that counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from tui_tasks.core.read.digest_lines import GROUPS, PARTS, STATES, DigestLine
from tui_tasks.core.read.pages.log_lines import LogLine
from tui_tasks.text.glyphs import LOOKS, PROOF_LOOKS, Look
from tui_tasks.text.safe import cell_len, fit, safe_line
from tui_tasks.text.times import age, age_lasts
from tui_tasks.text.word_cuts import safe_question
from tui_tasks.tui.agents import agent_text
from tui_tasks.tui.layout import NARROW, WIDE
from tui_tasks.tui.log.log_text import mark_of, text_of, who_of
from tui_tasks.tui.needs.need_counts import NeedCounts
from tui_tasks.tui.needs.open_needs import BY_TIME, Need, counted_by_word, tally
from tui_tasks.tui.painting.styles import Group, Part
from tui_tasks.tui.painting.text_lines import wrapped
from tui_tasks.tui.rows.row_list import VirtualList
from tui_tasks.tui.rows.row_painter import GUTTER, NUMBER_GAP, RowDrawing, RowLook, gutter
from tui_tasks.tui.state.context import Context

_LOOKS: Final[dict[str, Look]] = {
    "needs_you": LOOKS["needs_you"],
    "in_your_name": Look("!", "in your name", "!", "$changed"),
    "failed": LOOKS["failed"],
    "interrupted": LOOKS["interrupted"],
    "claim_lapsed": replace(LOOKS["stuck"], word="claim lapsed"),
    "check_failed": PROOF_LOOKS["failed"],
    "refused": Look("·", "refused", ".", "$muted"),
    "tool_error": Look("·", "tool error", ".", "$muted"),
    "open_again": replace(LOOKS["pending"], word="open again", letter="o"),
    "dropped": replace(LOOKS["skipped"], word="dropped"),
    "dismissed": Look("·", "dismissed", ".", "$muted"),
    "gone": Look("·", "gone", ".", "$muted"),
    "ok_again": replace(LOOKS["done"], word="ok again"),
    "late": LOOKS["overdue"],
    "not_proven": PROOF_LOOKS["unproven"],
    "proven": replace(LOOKS["done"], word="proven"),
    "done": LOOKS["done"],
    "filed": Look("+", "filed", "+", "$muted"),
    "spent": Look("$", "spent", "$", "$muted"),
}
assert set(_LOOKS) == {*GROUPS, "late"}
_STUCK: Final = LOOKS["stuck"]
# What needs the human, by its kind.
_NEEDING: Final = {
    "ask": replace(LOOKS["needs_you"], word="asks"),
    "check": _LOOKS["check_failed"],
    "held": LOOKS["held"],
    "job": LOOKS["held"],
    "work": replace(LOOKS["reviewable"], word="to review"),
}
# What still matters of what went wrong: it stands before what is late.
LOUD: Final = STATES[: STATES.index("check_failed") + 1]
# In cells: the most of an actor's name.
_WHO: Final = 10
# In cells: an age with the spaces around it, and more than a line has.
_WHEN: Final = 6
_WIDEST: Final = 400
# In cells: what is left of a name before a long text.
_LEAST_NAME: Final = 12
# The most lines of a row.
_MOST: Final = 3


def _text_of(line: DigestLine, time_of: Callable[[int], str]) -> tuple[str, str]:
    """Return what is said beside the name of a line, if that does not say it all, and its style."""
    if line.part == "needs_you":
        text = line.text if line.kind != "check" else line.text.removeprefix("reported done, but ")
        return "" if line.kind in ("ask", "left") else text.removeprefix("check "), ""
    if line.part == "failed":
        text = line.words(time_of)
        if line.state in LOUD:
            text = text.removeprefix(f"{_LOOKS[line.state].word}: ").removeprefix("error: ")
        return text, "" if line.state in LOUD else "$muted"
    return line.text, "" if line.part == "late" else "$muted"


def _look(line: DigestLine) -> Look:
    if line.is_gone or (line.part == "needs_you" and line.kind in ("stuck", "left")):
        return replace(_STUCK, word=line.counted_as)
    if line.is_later:
        return replace(_NEEDING["ask"], word="later", color="$muted")
    return _NEEDING[line.kind] if line.part == "needs_you" else _LOOKS[line.group]


_LEAST_URGENT: Final = 2


def _urgency(line: DigestLine) -> int:
    """Return 0 for a line that needs the human, 1 for one that says what went wrong, 2 for any other."""
    return 0 if line.part in PARTS[:2] else 1 if line.part == "late" or line.state in LOUD else _LEAST_URGENT


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
    longest_word = longest_who = longest_name = 0
    """The widths in cells of the longest word for a part, agent's name and name, cut; with a space but for the last."""
    job_numbers: Mapping[str, int] = MappingProxyType({})
    """The numbers of jobs on screen, by the uids of their lines."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.heights: dict[str, int] = {}
        """How many lines each row has on screen, by its key; without any, each has one."""
        self._number_width = 0

    def measure(self, lines: Iterable[DigestLine]) -> None:
        """Make room for the words, the agents and the names of lines."""
        lines = list(lines)
        named = (line for line in lines if _text_of(line, self.context.clock.time_of)[0] and line.name != line.who)
        self.longest_name = max((cell_len(safe_line(line.name, _WIDEST)) for line in named), default=0)
        self._number_width = max(self.context.state.number_width, *(len(self._number(line)) for line in lines), 0)
        self.longest_word = max((len(_look(line).word) + 1 for line in lines), default=0)
        whos = (cell_len(agent_text.who(line.who)) + 1 for line in lines)
        self.longest_who = min(_WHO, max(whos, default=0))

    def _number(self, line: DigestLine) -> str:
        """Return the number of its task or job, `#5` or `S4`; empty without one."""
        number = self.job_numbers.get(line.uid) if line.kind in ("run", "job") else None
        return f"S{number}" if number else f"#{line.number}" if line.number is not None else ""

    def draw(self, row: DigestRow, row_look: RowLook, line: int) -> Sequence[Part]:
        """`>• ? #4  asks   claude-1   jose or pyjwt?   9m`; what does not fit stands below, or is cut at the end."""
        at = row.line.state_since if row.entry is None else row.entry.at
        now, ascii_only = self.context.clock.now(), self.context.ascii_only
        self.lasts(age_lasts(at, now))
        *head, (text, style) = self._parts(row, row_look)
        indent = sum(cell_len(part) for part, _ in head)
        room, tall = max(0, row_look.width - _WHEN - indent), self.heights.get(row.key, 1)
        if tall > 1:
            lines = self._wrapped(text, room)
            text = lines[line] if line < tall - 1 else " ".join(lines[line:])
        elif row.line.kind == "ask" and row.entry is None:
            text = safe_question(text, room, ascii_only=ascii_only)
        shown: Part = fit(text, room, ascii_only=ascii_only), style
        if line:
            return [(" " * indent, ""), shown]
        return [*head, shown, (f" {age(at, now) if at else '':>{_WHEN - 2}} ", "$muted")]

    def _parts(self, row: DigestRow, row_look: RowLook) -> list[Part]:
        number_width = self._number_width + NUMBER_GAP
        if row.entry is not None:
            return [
                row_look.cursor_sign(after=" " * (GUTTER + number_width - 1)),
                *self._entry(row.entry, row_look.width),
            ]
        # What is late came by time alone.
        is_new = row.line.part != "late" and self.context.state.seen.is_new(row.line.state_since, row.line.task)
        ascii_only, look = self.context.ascii_only, _look(row.line)
        glyph = (look.mark(ascii_only=ascii_only), look.color)
        number = (f"{self._number(row.line):<{number_width}}", "$muted")
        before = gutter(row_look, glyph, is_new=is_new, ascii_only=ascii_only)
        return [*before, number, *self._line(row.line, row_look.width)]

    def _wrapped(self, text: str, room: int) -> list[str]:
        return wrapped(safe_line(text, ascii_only=self.context.ascii_only), max(1, room))

    def lines_of(self, row: DigestRow, width: int) -> int:
        """Return how many lines a row needs to be shown whole, at most a few; one where the screen is not wide."""
        *head, (text, _) = self._parts(row, RowLook(False, False, False, False, False, width))
        room = width - _WHEN - sum(cell_len(part) for part, _ in head)
        return min(_MOST, len(self._wrapped(text, room))) if width >= WIDE else 1

    def _line(self, line: DigestLine, width: int) -> list[Part]:
        """Return what is said behind the number of a line."""
        ascii_only = self.context.ascii_only
        name = "" if line.name == line.who and width >= NARROW else line.name
        text, style = _text_of(line, self.context.clock.time_of)
        before = GUTTER + self._number_width + NUMBER_GAP
        if width < NARROW:
            return [(self._named(line, name, width - before - _WHEN), style if not name else "")]
        parts: list[Part] = [(f"{_look(line).word:<{self.longest_word}} ", "")]
        parts += [(f"{fit(agent_text.who(line.who), self.longest_who, ascii_only=ascii_only)} ", "$muted")]
        if not name or not text:
            return [*parts, (name or text, style)]
        room = width - before - sum(cell_len(part) for part, _ in parts) - _WHEN
        if width < WIDE:
            return [*parts, (self._named(line, name, room), "")]
        column = min(self.longest_name, room * 2 // 5)
        return [*parts, (f"{fit(name, column, ascii_only=ascii_only)}  ", ""), (text, style)]

    def _named(self, line: DigestLine, name: str, room: int) -> str:
        """Return `Fix flaky DST test: test_dst_gap`; a long name gives way to the text of what still matters."""
        text, _ = _text_of(line, self.context.clock.time_of)
        if not name or not text:
            return name or text
        left = max(_LEAST_NAME, room - 2 - cell_len(safe_line(text, _WIDEST)))
        shown = safe_line(name, left, ascii_only=self.context.ascii_only) if _urgency(line) < _LEAST_URGENT else name
        return f"{shown}: {text}"

    def _entry(self, entry: LogLine, width: int) -> list[Part]:
        ascii_only = self.context.ascii_only
        mark, style = mark_of(entry, ascii_only=ascii_only)
        text = text_of(entry, ascii_only=ascii_only)
        if width < NARROW:
            return [(f"{mark} ", style), (text, "$muted")]
        head = f"{self.context.clock.time_of(entry.at)}  {fit(who_of(entry), _WHO, ascii_only=ascii_only)} "
        return [(f"{mark} ", style), (head, "$muted"), (text, "$muted")]

    def counts(
        self,
        needs: Iterable[Need],
        lines: Sequence[DigestLine],
        width: int,
        lasts: Callable[[int], None] = lambda span: None,
    ) -> list[Group]:
        """Return `? 3 questions`, `✗ 2 failed`, and so on: all that needs the human as every pane counts it, and how
        much of that has no line here; then how much there is of each other part. In little room words give way, first
        of what every pane counts, and gaps are smaller. `lasts`: see `NeedCounts`.
        """
        needs = list(needs)
        numbers = tally(need for need in needs if need.kind not in BY_TIME)
        here = counted_by_word((line.counted_as, line.who, line.things) for line in lines if line.counted_as)
        before = sum(max(0, number - here.get(word, 0)) for word, number in numbers.items())
        others: Counter[Look] = Counter()
        for line in lines:
            others[_look(line)] += 0 if line.counted_as or line.part == "late" else line.things
        ways = [
            [
                count.group(words, "")
                for words in (count.named or count.text, count.text, count.brief or count.text, count.short)
            ]
            for count in NeedCounts(self.context, lasts).of(needs)
        ]
        if before:
            ways.append([Group([(f"{before:,} {word}", "")]) for word in ("of them from before", "before")])
        ways += [self._ways(look, number) for look, number in others.items() if number]
        for gap, steps in _steps(len(ways)):
            groups = [replace(way[min(step, len(way) - 1)], gap=gap) for way, step in zip(ways, steps, strict=True)]
            ends = list(accumulate(group.size + len(gap) for group in groups))
            if ends[-1] - len(gap) <= width - 2:
                return groups
        return groups[: max(1, sum(end - len(gap) <= width - 2 for end in ends))]

    def _ways(self, look: Look, number: int) -> list[Group]:
        """Return a count with its word, and last with the number alone."""
        mark: Part = (f"{look.mark(ascii_only=self.context.ascii_only)} ", look.color)
        *words, least = *[f"{number:,} {look.word}"] * _BRIEFEST, f"{number:,}"
        return [Group([mark, (each, "$muted")]) for each in (*words, least)]

    def draw_empty(self, line: int, width: int) -> Sequence[Part]:
        """Draw the text for a digest without lines."""
        back = self.context.keymap.key_of("back")
        said = f"Nothing new for you: {back} goes back." if self.is_read else "Reading the journal"
        return [(f"   {said}", "$muted")] if line == 1 else ()


# The steps from a count's longest words to its number alone.
_BRIEFEST: Final = 3


def _steps(many: int) -> Iterator[tuple[str, list[int]]]:
    """Yield the gap between so many counts, and how brief each is, the longest first."""
    yield "   ", [0] * many
    for brief, short in (*((brief, 0) for brief in range(_BRIEFEST)), *((2, short) for short in range(1, many + 1))):
        yield "  ", [_BRIEFEST] * short + [brief] * (many - short)
    yield " ", [_BRIEFEST] * many


class DigestList(VirtualList[DigestRow]):
    """The rows of the digest: each whole, and apart from those that matter more, as far as all have room."""

    def __init__(self, context: Context, drawing: DigestRows) -> None:
        super().__init__(context, drawing, id="digest")
        self._digest_rows = drawing

    @override
    def row_heights(self) -> Sequence[int] | None:
        drawing, rows, size = self._digest_rows, self._cache.rows, self.size
        drawing.heights = {}
        left = size.height - len(rows)
        if not (self._cache.has_first and self._cache.has_last) or left <= 0:
            return None
        for row in rows:
            more = min(left, drawing.lines_of(row, size.width) - 1)
            drawing.heights[row.key] = 1 + more
            left -= more
        return [drawing.heights[row.key] for row in rows]

    @override
    def row_gaps(self) -> Sequence[int] | None:
        rows, high = self._cache.rows, self._digest_rows.heights
        gaps = [int(_urgency(row.line) != _urgency(after.line)) for row, after in pairwise(rows)]
        is_whole = bool(high) and sum(high.values()) + sum(gaps) <= self.size.height and self.size.width >= NARROW
        return [*gaps, 0] if is_whole else None
